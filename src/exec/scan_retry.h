/*
 * scan_retry.h
 *	  Reads that lock a row because of which an earlier try of the transaction failed (P1), other
 *	  than look-ups of one row (scan.h).
 */
#ifndef TSURUGI_SCAN_RETRY_H
#define TSURUGI_SCAN_RETRY_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/base/names.h"
#include "src/exec/scan.h"
#include "src/txn/ladder.h"

/* Whether the scan, before it reads an area, has to call the next function. */
extern bool tsurugi_scan_retries_by_area(const tsurugi_scan *scan);

/*
 * Locks the remembered rows in an area that is about to be read, before anything of it is noted,
 * and may extend the snapshot.  Where tsurugi_ladder_has_rows.  Errors: as those of waits for rows.
 */
extern void tsurugi_retry_lock_rows(EState *estate, Relation relation, const tg_area *area);

#endif /* TSURUGI_SCAN_RETRY_H */

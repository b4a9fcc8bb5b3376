/*
 * seen_key.h
 *	  What an insertion learns from a row that has its key.
 */
#ifndef TSURUGI_SEEN_KEY_H
#define TSURUGI_SEEN_KEY_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/table/version.h"

/*
 * The key of a row to be stored is taken by this row.  True: the snapshot sees the row as it is
 * now, which is noted as a read.  False: the row has changed, or the transaction that held it has
 * ended, or the snapshot is now a later one; the caller stores its row again.  Raises 40001 as
 * tsurugi_renew_snapshot does.  *noted belongs to the caller, and is TG_VERSION_NONE at first: the
 * version noted by the last call for the same row to be stored; the next call removes that note.
 */
extern bool tsurugi_key_is_seen(EState *estate, Relation relation, tg_table *table, uint32_t row, tg_version *noted);

#endif /* TSURUGI_SEEN_KEY_H */

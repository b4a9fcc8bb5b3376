/*
 * scan_internal.h
 *	  What the files of a running scan (scan.c names them) know of each other.
 */
#ifndef TSURUGI_SCAN_INTERNAL_H
#define TSURUGI_SCAN_INTERNAL_H

#include "src/exec/scan.h"

#define TSURUGI_RANGE_ROWS_FIRST 16 /* rows of a range's first batch: LIMIT 1 is common */
#define TSURUGI_RANGE_ROWS 128		/* of the later ones */

_Static_assert(TSURUGI_RANGE_ROWS <= TG_RANGE_ROWS_AHEAD, "a batch is one that can be filtered");

/* --- scan_source.c ----------------------------------------------------------------------- */

/* Key or range of the turn.  False if no row has it. */
extern bool tsurugi_scan_make_source(tsurugi_scan *scan);

/* Of RANGE, without what levels and notes ask. */
extern bool tsurugi_scan_open_range(tsurugi_scan *scan);

/* The same as the first, and opens it, or the table; a key is made when it is looked up. */
extern bool tsurugi_scan_open_source(tsurugi_scan *scan);

/* Goes on to the next one.  False: all have had their turn. */
extern bool tsurugi_scan_next_source(tsurugi_scan *scan);

/* Ends the pool's part in it, if there is one. */
extern void tsurugi_scan_end_job(tsurugi_scan *scan);

/* --- scan_run.c -------------------------------------------------------------------------- */

/* The part of making a scan that its rows need. */
extern void tsurugi_scan_init_rows(tsurugi_scan *scan, ForeignScan *plan);

/* --- scan_level.c ------------------------------------------------------------------------ */

/* Before a source is read, where the transaction has one snapshot; key and range are known. */
extern void tsurugi_scan_begin_at_level(tsurugi_scan *scan);

/*
 * Notes, for SERIALIZABLE: a range or table that is about to be read; for good, the keys that one may get which no row has because a value in it
 * has no rank; the outcome of the look-up of a key, inside an epoch.
 */
extern void tsurugi_scan_note_source(tsurugi_scan *scan);
extern void tsurugi_scan_note_gap(tsurugi_scan *scan);
extern void tsurugi_scan_note_row(tsurugi_scan *scan, tg_status status, tg_version version);

/* The scan goes no further: a range that was not read to its end counts as far as it was read. */
extern void tsurugi_scan_end_notes(tsurugi_scan *scan);

/* --- scan_expect.c ----------------------------------------------------------------------- */

/* Of a range that begins at a key: in tables that were filled in the order of the index its rows need not wait for the leaf. */
extern void tsurugi_scan_expect_range(tsurugi_scan *scan);

/* After a range's first batch: where its rows lay. */
extern void tsurugi_scan_learn_range(tsurugi_scan *scan);

/* After a look-up that has found a row: where it lay. */
extern void tsurugi_scan_learn(tsurugi_scan *scan, tg_version version);

#endif /* TSURUGI_SCAN_INTERNAL_H */

/*
 * arbiter.h
 *	  INSERT ...  ON CONFLICT: the unique index that decides.
 */
#ifndef TSURUGI_ARBITER_H
#define TSURUGI_ARBITER_H

#include "nodes/pg_list.h"

#include "runtime/base/status.h"
#include "src/constraint/exclusion.h"
#include "src/table/row.h"

/*
 * Called before a row is inserted into a table with a DEFERRABLE index.  Like
 * ExecCheckIndexConstraints, it tests the arbiters (their OIDs; NIL: all) one after the other.
 * TG_OK: none of them is DEFERRABLE.  TG_EXISTS, TG_BUSY: an arbiter before the first DEFERRABLE
 * one has the row, or may have it, and *holder identifies it.  Raises 55000 if none of the arbiters
 * before it has the row.
 */
extern tg_status tsurugi_ask_before_deferrable(Relation relation, const tsurugi_row *row, const void *key,
											   size_t key_bytes, tsurugi_exclusions *exclusions, TupleTableSlot *slot,
											   const List *arbiters, tg_wait *holder);

/*
 * Called when a row has been refused (TG_EXISTS, TG_BUSY) because of a key that *holder names.
 * Tells whether the key is that of an arbiter (their OIDs; NIL: all indexes).  If not, tells
 * whether an arbiter refuses the row, too; then *holder names that one.  TG_EXISTS, with
 * *is_arbiter_out: if not set, no arbiter refused the row at a moment when another key did.
 * TG_BUSY: wait.  TG_AGAIN: the refusal has not lasted; insert again.  Otherwise as tg_txn_probe.
 */
extern tg_status tsurugi_ask_arbiters(const tg_writer *writer, const tsurugi_row *row, const void *key,
									  size_t key_bytes, const List *arbiters, tg_status refusal, tg_wait *holder,
									  bool *is_arbiter_out);

/*
 * The index that PostgreSQL would name for a row that an index (NULL: the primary key) has refused.
 * PostgreSQL tests indexes in the order of their OIDs, while the storage tests the primary key
 * first.  own: the row that is updated, or TG_ROW_MAX.
 */
extern Oid tsurugi_first_refusing(const tsurugi_row *row, const tg_index *refused, uint32_t own);

/*
 * For DO UPDATE of a row of a partition: raises 0A000 if a trigger of the partitioned table needs a
 * transition table of it.
 */
struct TransitionCaptureState;
extern void tsurugi_check_conflict_capture(const struct TransitionCaptureState *capture);

/*
 * Whether a locked version has the key of a row, under an index other than the primary key (NULL:
 * true).
 */
extern bool tsurugi_has_key(const tg_index *index, tg_version version, const tsurugi_row *row);

#endif /* TSURUGI_ARBITER_H */

/*
 * arbiter.h
 *	  INSERT ... ON CONFLICT: which unique index decides.
 */
#ifndef TSURUGI_ARBITER_H
#define TSURUGI_ARBITER_H

#include "nodes/pg_list.h"

#include "src/constraint/exclusion.h"
#include "src/table/row.h"

/*
 * Before a row is inserted into a table that has an index that is DEFERRABLE, as ExecCheckIndexConstraints asks the arbiters
 * (their OIDs; NIL: all) one after the other.  TG_OK: none of them is DEFERRABLE.  TG_EXISTS, TG_BUSY: one before the first
 * that is has the row, or may have it, and *holder says which.  Raises 55000 if none of those before it has the row.
 */
extern tg_status tsurugi_ask_before_deferrable(Relation relation, const tsurugi_row *row, const void *key,
											   size_t key_bytes, tsurugi_exclusions *exclusions, TupleTableSlot *slot,
											   const List *arbiters, tg_wait *holder);

/*
 * A row has been refused (TG_EXISTS, TG_BUSY) because of a key that *holder names.  Whether that is
 * an arbiter's (their OIDs; NIL: all are); if not, whether an arbiter refuses it, too,
 * and *holder is its.  TG_EXISTS and *is_arbiter_out; TG_BUSY: wait.
 */
extern tg_status tsurugi_ask_arbiters(const tg_writer *writer, const tsurugi_row *row, List *arbiters,
									  tg_status refusal, tg_wait *holder, bool *is_arbiter_out);

/*
 * The index that PostgreSQL would name for a row that one (NULL: the primary key) has refused: it goes through them in the order of
 * their OIDs, the storage asks the primary key first.  own: the row that is updated, or TG_ROW_MAX.
 */
extern Oid tsurugi_first_refusing(const tsurugi_row *row, const tg_index *refused, uint32_t own);

/* DO UPDATE of a row of a partition: raises 0A000 if a trigger of the table above wants a transition table of it. */
struct TransitionCaptureState;
extern void tsurugi_check_conflict_capture(const struct TransitionCaptureState *capture);

/* Whether a version that is held has the key of a row, under an index that is not the primary key (NULL: it has). */
extern bool tsurugi_has_key(const tg_index *index, tg_version version, const tsurugi_row *row);

#endif /* TSURUGI_ARBITER_H */

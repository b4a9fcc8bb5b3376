/*
 * exclusion.h
 *	  EXCLUDE constraints of tables in memory: whether a row conflicts with another one.
 */
#ifndef TSURUGI_EXCLUSION_H
#define TSURUGI_EXCLUSION_H

#include "nodes/execnodes.h"

#include "runtime/base/status.h"
#include "src/table/relation.h"
#include "src/table/row.h"
#include "src/txn/transaction.h"

/* The state that a statement needs to check constraints of one table. */
typedef struct tsurugi_exclusions tsurugi_exclusions;

/*
 * Both make it in the current memory context, which outlives it.  The first prepares the
 * constraints that are checked with each row; NULL: there are none.  The second prepares this one
 * alone (an index that has exclusion), whenever it is checked.
 */
extern tsurugi_exclusions *tsurugi_exclusions_prepare(Relation relation, const tsurugi_relation *described);
extern tsurugi_exclusions *tsurugi_exclusion_prepare_one(Relation relation, const tsurugi_relation *described,
														 const tsurugi_index *index);

extern void tsurugi_exclusions_free(tsurugi_exclusions *exclusions);

/* Whether an UPDATE changes an attribute that one of the constraints depends on. */
extern bool tsurugi_exclusions_are_touched(const tsurugi_exclusions *exclusions, const tsurugi_row *old,
										   const tsurugi_row *new);

/*
 * The slot's row has been written: waits for the transactions whose rows may conflict with it, and
 * raises 23P01 if one does.  estate: the statement's.
 */
extern void tsurugi_exclusions_enforce(tsurugi_exclusions *exclusions, EState *estate, TupleTableSlot *slot,
									   uint32_t row, tsurugi_purpose purpose);

/*
 * INSERT ... ON CONFLICT DO NOTHING: whether the slot's row would conflict by one of the arbiters
 * (NIL: all).  Returns TG_OK, TG_EXISTS (*wait_out names the row), TG_BUSY, or an error of the
 * runtime.  own: the row if it has been written, which is removed then unless the result is TG_OK;
 * otherwise TG_ROW_MAX.
 */
extern tg_status tsurugi_exclusions_probe(tsurugi_exclusions *exclusions, TupleTableSlot *slot, uint32_t own,
										  const List *arbiters, tg_wait *wait_out);

/*
 * Does the same with one constraint, for a row that had these values when it was written, and may
 * have been changed or deleted since.  waits: the caller will wait if the result is TG_BUSY.
 */
extern tg_status tsurugi_exclusion_recheck(tsurugi_exclusions *one, TupleTableSlot *slot, bool waits,
										   tg_wait *wait_out);

/* Raises 23P01 after a recheck that returned TG_EXISTS. */
extern void tsurugi_exclusion_fail(tsurugi_exclusions *one, TupleTableSlot *slot) pg_attribute_noreturn();

/* Verifies a constraint that has just been made: raises 23P01 if two existing rows conflict. */
extern void tsurugi_exclusion_verify(Relation relation, const tsurugi_relation *described, const tsurugi_index *index);

#endif /* TSURUGI_EXCLUSION_H */

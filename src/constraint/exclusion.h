/*
 * exclusion.h
 *	  EXCLUDE constraints of tables in memory: whether a row has to give way to another one.
 */
#ifndef TSURUGI_EXCLUSION_H
#define TSURUGI_EXCLUSION_H

#include "nodes/execnodes.h"

#include "src/table/relation.h"
#include "src/table/row.h"
#include "src/txn/transaction.h"

/* What a statement needs to check constraints of one table. */
typedef struct tsurugi_exclusions tsurugi_exclusions;

/*
 * In the current memory context, which outlives it.  Those that are checked with each row; NULL: there are none.  The second: this one
 * alone (an index that has exclusion), whenever it is checked.
 */
extern tsurugi_exclusions *tsurugi_exclusions_prepare(Relation relation, const tsurugi_relation *described);
extern tsurugi_exclusions *tsurugi_exclusion_prepare_one(Relation relation, const tsurugi_relation *described,
														 const tsurugi_index *index);

extern void tsurugi_exclusions_free(tsurugi_exclusions *exclusions);

/* Whether an UPDATE changes what one of them is about. */
extern bool tsurugi_exclusions_are_touched(const tsurugi_exclusions *exclusions, const tsurugi_row *old,
										   const tsurugi_row *new);

/*
 * The slot's row has been written: waits for whom it may have to give way to, and raises 23P01 if it has.  estate: the
 * statement's.
 */
extern void tsurugi_exclusions_enforce(tsurugi_exclusions *exclusions, EState *estate, TupleTableSlot *slot,
									   uint32_t row, tsurugi_purpose purpose);

/*
 * INSERT ... ON CONFLICT DO NOTHING: whether the slot's row would have to give way, by arbiters (NIL: all).  TG_OK, TG_EXISTS (*wait_out
 * names the row), TG_BUSY, or an error of the runtime.  own: the row if it has been written, which is taken back
 * then unless the answer is TG_OK; or TG_ROW_MAX.
 */
extern tg_status tsurugi_exclusions_probe(tsurugi_exclusions *exclusions, TupleTableSlot *slot, uint32_t own,
										  const List *arbiters, tg_wait *wait_out);

/*
 * The same of one constraint for a row that had these values when it was written, and may be another one now, or gone.  waits: the
 * caller is going to, if TG_BUSY.
 */
extern tg_status tsurugi_exclusion_recheck(tsurugi_exclusions *one, TupleTableSlot *slot, bool waits,
										   tg_wait *wait_out);

/* Raises 23P01 after a recheck that was TG_EXISTS. */
extern void tsurugi_exclusion_fail(tsurugi_exclusions *one, TupleTableSlot *slot) pg_attribute_noreturn();

/* A constraint that has just been made: raises 23P01 if two rows that are there stand against each other. */
extern void tsurugi_exclusion_verify(Relation relation, const tsurugi_relation *described, const tsurugi_index *index);

#endif /* TSURUGI_EXCLUSION_H */

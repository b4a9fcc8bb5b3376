/*
 * hidden.h
 *	  Stored values that users do not see: values that indexes need of a row besides its attributes.
 */
#ifndef TSURUGI_HIDDEN_H
#define TSURUGI_HIDDEN_H

#include "nodes/execnodes.h"

#include "runtime/base/names.h"
#include "runtime/order/value.h"
#include "src/table/relation.h"

typedef struct tg_hidden_values tg_hidden_values; /* index_spec.h */

typedef struct tsurugi_hidden_states tsurugi_hidden_states;

/*
 * Prepares a relation's hidden values, in the current memory context, for rows of this storage.
 * NULL: it has none.
 */
extern tsurugi_hidden_states *tsurugi_hidden_prepare(const tsurugi_relation *described, tg_table *table,
													 EState *estate);

/*
 * Computes the columns before the attributes, for a row in a slot of the relation's shape, in the
 * estate's per-tuple memory, into values and nulls by column of the storage.
 */
extern void tsurugi_hidden_compute_columns(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values,
										   bool *nulls);

/*
 * Computes the hidden values of one of the relation's indexes; the result is valid until they are
 * computed again.
 */
extern const tg_hidden_values *tsurugi_hidden_compute_index(tsurugi_hidden_states *states, TupleTableSlot *slot,
															int index);

/* Computes all hidden values. */
extern void tsurugi_hidden_compute(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values, bool *nulls);

/* The values that were last computed for the indexes, for writers; states may be NULL. */
extern const tg_hidden_row *tsurugi_hidden_row(const tsurugi_hidden_states *states);

#endif /* TSURUGI_HIDDEN_H */

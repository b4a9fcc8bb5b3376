/*
 * hidden.h
 *	  The values of columns that users do not see: what indexes need of a row
 *	  besides its attributes.
 */
#ifndef TSURUGI_HIDDEN_H
#define TSURUGI_HIDDEN_H

#include "nodes/execnodes.h"

#include "src/relation.h"

typedef struct tsurugi_hidden_states tsurugi_hidden_states;

/* Prepares a relation's hidden columns, in the current memory context.  NULL: it has none. */
extern tsurugi_hidden_states *tsurugi_hidden_prepare(const tsurugi_relation *described, EState *estate);

/*
 * Computes them for a row in a slot of the relation's shape, in the estate's
 * per-tuple memory, into values and nulls by column of the storage.
 */
extern void tsurugi_hidden_compute(tsurugi_hidden_states *states, TupleTableSlot *slot, tg_value *values, bool *nulls);

#endif /* TSURUGI_HIDDEN_H */

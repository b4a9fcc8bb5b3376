/*
 * hidden.h
 *	  Stored values that users do not see: values that indexes need of a row besides its attributes.
 */
#ifndef TSURUGI_HIDDEN_H
#define TSURUGI_HIDDEN_H

#include "nodes/execnodes.h"

#include "runtime/base/names.h"
#include "src/table/relation.h"
#include "src/value/codec.h"

/*
 * A stored value that users do not see: the value of an expression, or of a column whose own stored
 * form is not equal byte by byte, for a key; or the value of a predicate.
 */
struct tsurugi_hidden
{
	/* An expression on the table's columns, as in the catalogs. */
	Node *source;
	/* The tsurugi_canonical of the value is stored, unless comparison is valid. */
	bool canonical;
	/* If valid, the value's rank is stored (ranking.h). */
	Oid comparison;
	/* The tsurugi_cover of the value is stored. */
	bool cover;
	/* A hash is stored: that of the canonical bytes, unless hash is valid. */
	bool hashed;
	/* If valid, the function that computes the hash (hashed.h). */
	Oid hash;
	/* If not NULL, the source is a list of an index's columns, and their keys are stored. */
	const struct tsurugi_gin *gin;
	/* The codec of the source's value, if the stored one is converted from it. */
	tsurugi_codec origin;
	tsurugi_codec stored;
};

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

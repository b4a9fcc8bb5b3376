/*
 * keys.h
 *	  What the catalogs say of a table's indexes, as the storage understands it.
 */
#ifndef TSURUGI_KEYS_H
#define TSURUGI_KEYS_H

#include "utils/rel.h"

#include "src/table/relation.h"

/*
 * Describes the indexes of a relation and their hidden values, in the current
 * memory context; the rest of the description is there.
 */
extern void tsurugi_keys_describe(tsurugi_relation *described, Relation relation);

/* The expression of a column of an index that is no plain one; of position -1, of one that the catalogs' index has not (relation.h). */
extern Expr *tsurugi_index_expression(Relation index, int position);

/* Two keys are stored the same way. */
extern bool tsurugi_key_is_same(const tg_key_spec *a, const tg_key_spec *b);
extern bool tsurugi_index_is_same(const tg_index_spec *a, const tg_index_spec *b);

/* Two descriptions have the same indexes and hidden values. */
extern bool tsurugi_keys_are_same(const tsurugi_relation *a, const tsurugi_relation *b);

#endif /* TSURUGI_KEYS_H */

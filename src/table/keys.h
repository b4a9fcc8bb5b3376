/*
 * keys.h
 *	  Describes a table's indexes for the storage, from the catalogs.
 */
#ifndef TSURUGI_KEYS_H
#define TSURUGI_KEYS_H

#include "utils/rel.h"

#include "src/table/relation.h"


/*
 * Describes the indexes of a relation and their hidden values, in the current memory context; the
 * rest of the description has been made.
 */
extern void tsurugi_keys_describe(tsurugi_relation *described, Relation relation);

/*
 * The expression of an index column that is not a plain column; position -1: of a column that the
 * catalogs' index does not have (relation.h).
 */
extern Expr *tsurugi_index_expression(Relation index, int position);

/* Two keys are stored the same way. */
extern bool tsurugi_key_is_same(const tg_key_spec *a, const tg_key_spec *b);
extern bool tsurugi_index_is_same(const tg_index_spec *a, const tg_index_spec *b);

/* Their values are made by the same versions of collations, as far as these are known. */
extern bool tsurugi_key_is_in_order(const tg_key_spec *a, const tg_key_spec *b);

/* Two descriptions have the same indexes and hidden values. */
extern bool tsurugi_keys_are_same(const tsurugi_relation *a, const tsurugi_relation *b);

#endif /* TSURUGI_KEYS_H */

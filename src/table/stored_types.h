/*
 * stored_types.h
 *	  Whether a storage's values are of the types that the catalogs show.
 */
#ifndef TSURUGI_STORED_TYPES_H
#define TSURUGI_STORED_TYPES_H

#include "src/table/relation.h"

/* Sets what the columns mean, from this one on, in a storage that has got them. */
extern void tsurugi_stored_types_set(tg_table *table, const tsurugi_relation *described, unsigned first);

/* Whether the storage's values can be read as those of an attribute. */
extern bool tsurugi_stored_type_fits(const tg_table *table, const tsurugi_relation *described, int attribute);

/* The same of the first attributes, count of them; the second one raises XX001 otherwise. */
extern bool tsurugi_stored_types_fit(const tg_table *table, const tsurugi_relation *described, int count);
extern void tsurugi_stored_types_check(const tg_table *table, const tsurugi_relation *described, int count);

#endif /* TSURUGI_STORED_TYPES_H */

/*
 * keys.h
 *	  Primary keys of foreign tables as entries in PostgreSQL's catalogs.
 *
 * The one place that makes and reads them.
 */
#ifndef TSURUGI_KEYS_H
#define TSURUGI_KEYS_H

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "src/relation.h"

/*
 * Makes the entries of a primary key: pg_class, pg_index, pg_constraint, and
 * what depends on what.  name NULL: table_pkey or the like.  columns: String
 * nodes.  The relation is exclusively locked, its key columns are NOT NULL.
 * The storage does not follow by itself.
 */
extern void tsurugi_key_create(Relation relation, const char *name, List *columns);

/* Fills in the key's part of a description.  index is the key's entry in pg_class. */
extern void tsurugi_key_describe(tsurugi_relation *described, Oid index);

/* Two keys are stored the same way. */
extern bool tsurugi_key_is_same(const tg_key_spec *a, const tg_key_spec *b);

#endif /* TSURUGI_KEYS_H */

/*
 * type_parts.h
 *	  The parts of a type's values: elements, bounds, columns.
 */
#ifndef TSURUGI_TYPE_PARTS_H
#define TSURUGI_TYPE_PARTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Whether values of the type contain values of the other, which may be a domain. */
extern bool tsurugi_type_has_part(Oid type, Oid part);

/* The type, the type under it if it is a domain, and all types of its values' parts. */
extern List *tsurugi_type_and_parts(Oid type);

/*
 * From now on, parts of values are compared and hashed by the present defaults of their types.
 * PostgreSQL's functions for arrays and composites otherwise keep the functions that they have
 * called before.
 */
extern void tsurugi_type_refresh_parts(Oid type);

#endif /* TSURUGI_TYPE_PARTS_H */

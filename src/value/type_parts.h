/*
 * type_parts.h
 *	  What values of a type are made of: elements, bounds, columns.
 */
#ifndef TSURUGI_TYPE_PARTS_H
#define TSURUGI_TYPE_PARTS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Whether values of the type are made of values of the other, which may be domains. */
extern bool tsurugi_type_has_part(Oid type, Oid part);

/* The type, what it is a domain over, and all that its values are made of. */
extern List *tsurugi_type_and_parts(Oid type);

/*
 * Has parts of values compared and hashed by what is the default of their types by now.  PostgreSQL's functions of arrays and
 * composites keep what they have called before, until somebody asks for it anew.
 */
extern void tsurugi_type_refresh_parts(Oid type);

#endif /* TSURUGI_TYPE_PARTS_H */

/*
 * served.h
 *	  What serves a column of an index: by its access method and operator class.
 */
#ifndef TSURUGI_SERVED_H
#define TSURUGI_SERVED_H

#include "postgres.h"

typedef enum tsurugi_served
{
	TSURUGI_SERVED_BY_NOTHING,	/* the column is no part of the tree */
	TSURUGI_SERVED_BY_ORDER,	/* B-trees: that of the operator class; others: the usual one of the type */
	TSURUGI_SERVED_BY_EQUALITY, /* hash: that of the operator class; others: the usual one of the type */
	TSURUGI_SERVED_BY_COVER,	/* covers of what extends (cover.h) */
	TSURUGI_SERVED_BY_KEYS,		/* keys, as those of an index USING gin (gin.h) */
} tsurugi_served;

/* What would serve a column of this type, of an index that is made now. */
extern tsurugi_served tsurugi_served_of(Oid method, Oid class, Oid type, Oid collation);

/* Tells the user if nothing does. */
extern void tsurugi_served_tell(Oid method, Oid class, Oid type, Oid collation);

/* Makes an index's entry depend on the operator classes of gin that are to serve columns of it. */
extern void tsurugi_served_record(Oid index, Oid method, const Oid *classes, const Oid *types, const Oid *collations,
								  int count);

/* The operator class of gin that serves a column of an index since it was made; InvalidOid: none does. */
extern Oid tsurugi_served_gin(Oid index, Oid method, Oid class, Oid type);

/* The operator family that a method has for a type by default; InvalidOid: none. */
extern Oid tsurugi_usual_family(Oid type, Oid method);

#endif /* TSURUGI_SERVED_H */

/*
 * served.h
 *	  How a column of an index is served, by its access method and operator class.
 */
#ifndef TSURUGI_SERVED_H
#define TSURUGI_SERVED_H

#include "postgres.h"

typedef enum tsurugi_served
{
	TSURUGI_SERVED_BY_NOTHING, /* the column is not in the tree */
	/* B-trees: the order of the operator class; others: the usual order of the type. */
	TSURUGI_SERVED_BY_ORDER,
	/* Hash: the equality of the operator class; others: the usual one of the type. */
	TSURUGI_SERVED_BY_EQUALITY,
	/* Covers of values with an extent (cover.h). */
	TSURUGI_SERVED_BY_COVER,
	/* Keys, as those of an index USING gin (gin.h). */
	TSURUGI_SERVED_BY_KEYS,
} tsurugi_served;

/* How a column of this type would be served in an index that is made now. */
extern tsurugi_served tsurugi_served_of(Oid method, Oid class, Oid type, Oid collation);

/* Tells the user if the column is not served. */
extern void tsurugi_served_tell(Oid method, Oid class, Oid type, Oid collation);

/* Makes an index's entry depend on the operator classes of gin that will serve its columns. */
extern void tsurugi_served_record(Oid index, Oid method, const Oid *classes, const Oid *types, const Oid *collations,
								  int count);

/* The operator class of gin that serves a column of an index; InvalidOid: none. */
extern Oid tsurugi_served_gin(Oid index, Oid method, Oid class, Oid type);

/* The operator family that a method has for a type by default; InvalidOid: none. */
extern Oid tsurugi_usual_family(Oid type, Oid method);

#endif /* TSURUGI_SERVED_H */

/*
 * space_class.h
 *	  Operator classes of the access methods gist and spgist: what serves them in memory.
 */
#ifndef TSURUGI_SPACE_CLASS_H
#define TSURUGI_SPACE_CLASS_H

#include "postgres.h"

typedef enum tsurugi_space_form
{
	TSURUGI_SPACE_NONE,
	TSURUGI_SPACE_COVER, /* covers of what extends (cover.h) */
	TSURUGI_SPACE_ORDER, /* the usual order of the type */
	TSURUGI_SPACE_KEYS,	 /* keys, as those of an index USING gin (gin.h) */
} tsurugi_space_form;

/* Whether an access method is one of the two. */
extern bool tsurugi_space_has(Oid method);

/* What would serve a column of this type, of an index that is made now. */
extern tsurugi_space_form tsurugi_space_form_of(Oid class, Oid type, Oid collation);

/* Tells the user if nothing does. */
extern void tsurugi_space_tell(Oid class, Oid type, Oid collation);

/* Tells the user that an operator class is not served. */
extern void tsurugi_space_tell_unserved(Oid class);

/* Makes an index's entry depend on the operator classes of gin that are to serve columns of it. */
extern void tsurugi_space_record(Oid index, const Oid *classes, const Oid *types, const Oid *collations, int count);

/* The operator class of gin that serves a column of an index since it was made; InvalidOid: none does. */
extern Oid tsurugi_space_gin(Oid index, Oid class, Oid type);

#endif /* TSURUGI_SPACE_CLASS_H */

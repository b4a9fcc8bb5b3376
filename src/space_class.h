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
} tsurugi_space_form;

/* Whether an access method is one of the two. */
extern bool tsurugi_space_has(Oid method);

/* What serves a column of this type. */
extern tsurugi_space_form tsurugi_space_form_of(Oid class, Oid type);

/* Raises 0A000 if nothing does. */
extern void tsurugi_space_check(Oid class, Oid type);

#endif /* TSURUGI_SPACE_CLASS_H */

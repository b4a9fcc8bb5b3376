/*
 * collation.h
 *	  The order of texts under a collation.
 */
#ifndef TSURUGI_COLLATION_H
#define TSURUGI_COLLATION_H

#include "lib/stringinfo.h"

typedef enum tsurugi_text_order
{
	TSURUGI_ORDER_UNKNOWN,
	TSURUGI_ORDER_OF_BYTES,
	TSURUGI_ORDER_OF_KEYS
} tsurugi_text_order;

/*
 * How texts can be ordered under a collation, deterministic or not.  UNKNOWN is also the order of
 * no collation (InvalidOid): that of columns whose collations conflict, where PostgreSQL raises an
 * error when it compares.
 */
extern tsurugi_text_order tsurugi_collation_order(Oid collation);

/*
 * A number for the version of the collation that its provider has now
 * (get_collation_actual_version); 0: it has none, because its order does not change.
 */
extern uint32 tsurugi_collation_version(Oid collation);

/*
 * For OF_KEYS: appends bytes whose memcmp order is PostgreSQL's (varstr_cmp), and which are equal
 * exactly if the texts are.
 */
extern void tsurugi_collation_append_key(StringInfo bytes, Oid collation, const char *text, int length);

#endif /* TSURUGI_COLLATION_H */

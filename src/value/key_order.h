/*
 * key_order.h
 *	  Which versions of collations a column's key depends on.
 */
#ifndef TSURUGI_KEY_ORDER_H
#define TSURUGI_KEY_ORDER_H

#include "src/value/key_column.h"

/*
 * A number for the versions of the collations by which the key is made of the column's values; 0:
 * it does not depend on any that has a version.
 */
extern uint32 tsurugi_key_order(const tsurugi_key_column *column);

/* Whether there would be any in a key of such values, by their order or their equality. */
extern bool tsurugi_type_has_version(Oid type, Oid collation);

#endif /* TSURUGI_KEY_ORDER_H */

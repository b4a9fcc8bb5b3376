/*
 * type_order.h
 *	  Who makes keys of values, and who changes how values are ordered, wait for each other.
 */
#ifndef TSURUGI_TYPE_ORDER_H
#define TSURUGI_TYPE_ORDER_H

#include "nodes/pg_list.h"

/* Keys of values of the type are about to be made: what orders them, and what they are made of, stays until the transaction has ended. */
extern void tsurugi_type_order_hold(Oid type);

/* Waits until all who make keys of values that the types (OIDs) are, or are a part of, have ended; and keeps out whoever would come. */
extern void tsurugi_type_order_settle(const List *types);
extern void tsurugi_type_order_change(const List *types);

#endif /* TSURUGI_TYPE_ORDER_H */

/*
 * type_order.h
 *	  Mutual exclusion of transactions that make keys of values and those that change how values are
 *	  ordered.
 */
#ifndef TSURUGI_TYPE_ORDER_H
#define TSURUGI_TYPE_ORDER_H

#include "nodes/pg_list.h"

/*
 * Keys of values of the type are about to be made: the order and the parts of these values do not
 * change until the transaction has ended.
 */
extern void tsurugi_type_order_hold(Oid type);

/*
 * The first waits until all transactions have ended that make keys of values that have these types
 * (OIDs) or contain them.  The second keeps new ones out, too.
 */
extern void tsurugi_type_order_settle(const List *types);
extern void tsurugi_type_order_change(const List *types);

#endif /* TSURUGI_TYPE_ORDER_H */

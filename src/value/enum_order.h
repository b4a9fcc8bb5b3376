/*
 * enum_order.h
 *	  Whether an enum's labels are in the order of the numbers by which they are stored.
 */
#ifndef TSURUGI_ENUM_ORDER_H
#define TSURUGI_ENUM_ORDER_H

extern bool tsurugi_enum_is_in_order(Oid type);

#endif /* TSURUGI_ENUM_ORDER_H */

/*
 * enum_order.h
 *	  Whether an enum's labels are in the order of the numbers that they are stored by.
 */
#ifndef TSURUGI_ENUM_ORDER_H
#define TSURUGI_ENUM_ORDER_H

#include "src/base/utility.h"

extern bool tsurugi_enum_is_in_order(Oid type);

/* ALTER TYPE ... ADD VALUE, which may put an end to that. */
extern void tsurugi_alter_enum(const tsurugi_utility *utility, const AlterEnumStmt *statement);

#endif /* TSURUGI_ENUM_ORDER_H */

/*
 * type_users.h
 *	  ALTER DOMAIN and ALTER TYPE, for types of columns of tables in memory.
 */
#ifndef TSURUGI_TYPE_USERS_H
#define TSURUGI_TYPE_USERS_H

#include "postgres.h"

#include "utils/rel.h"

#include "src/ddl/utility.h"

/* ALTER DOMAIN; verifies the rows of tables in memory against the new condition. */
extern void tsurugi_alter_domain(const tsurugi_utility *utility, const AlterDomainStmt *statement);

/*
 * Refuses to change the type of a column of this relation, or composite type, if a table in memory
 * stores its rows.
 */
extern void tsurugi_check_row_type(Oid relation, const AlterTableStmt *statement);

/*
 * Likewise refuses a new column with values in existing rows, because rows that are stored
 * elsewhere would get none.
 */
extern void tsurugi_check_row_type_filled(Relation relation);

/*
 * The relation has lost a column: tables whose keys are made of its rows are stored anew.  Called
 * at the end of a statement.
 */
extern void tsurugi_follow_lost_columns(Oid relation);

/*
 * The relation gets a column: tables are stored anew if their keys rank its rows, or would have to
 * rank them now.  If the column's values are in no order, the order of keys is not used any more.
 * Called before the column is visible: the keys are described without it.
 */
extern void tsurugi_follow_new_column(Oid relation, AttrNumber attnum);

/*
 * Refuses another type of a column, also where it comes from a parent or a table's type.  Called
 * before it is visible.  (PostgreSQL does so by itself from 15.19 or 15.20 on.)
 */
extern void tsurugi_check_altered_column(Oid relation, AttrNumber attnum);

/*
 * The type of a default operator class of B-trees or hash, which may not be visible yet;
 * InvalidOid: it is no such class.
 */
extern Oid tsurugi_default_class_type(Oid class);

/*
 * Types have got or lost default operator classes: tables whose keys would now be made in another
 * way are locked, and noted to be stored anew.  Called at the end of a statement.
 */
extern void tsurugi_follow_classes(const List *types);

/* ALTER TYPE ... ADD VALUE, which may end the order of an enum's labels (enum_order.h). */
extern void tsurugi_alter_enum(const tsurugi_utility *utility, const AlterEnumStmt *statement);

#endif /* TSURUGI_TYPE_USERS_H */

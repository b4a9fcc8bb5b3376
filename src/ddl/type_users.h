/*
 * type_users.h
 *	  ALTER DOMAIN and ALTER TYPE, of types that columns of our tables have.
 */
#ifndef TSURUGI_TYPE_USERS_H
#define TSURUGI_TYPE_USERS_H

#include "postgres.h"

#include "utils/rel.h"

#include "src/ddl/utility.h"

/* ALTER DOMAIN, with the rows of our tables looked at for the new condition. */
extern void tsurugi_alter_domain(const tsurugi_utility *utility, const AlterDomainStmt *statement);

/* Refuses to change the type of a column of this relation, or composite type, if a table of ours stores its rows. */
extern void tsurugi_check_row_type(Oid relation, const AlterTableStmt *statement);

/* Likewise to give a new column values in the rows that are there: those that are stored elsewhere get none. */
extern void tsurugi_check_row_type_filled(Relation relation);

/* The relation has lost a column: tables whose keys are made of its rows are stored anew.  At the end of a statement. */
extern void tsurugi_follow_lost_columns(Oid relation);

/*
 * The relation gets a column: likewise, where keys rank its rows, or would have to from then on.  If the column is in no order, nobody
 * goes by that of keys any more.  Before it is visible: the keys are described without it.
 */
extern void tsurugi_follow_new_column(Oid relation, AttrNumber attnum);

/*
 * Refuses another type of a column, also where it comes from a parent or a table's type.  Before it is visible.
 * (PostgreSQL does so by itself from 15.19 or 15.20 on.)
 */
extern void tsurugi_check_altered_column(Oid relation, AttrNumber attnum);

/* The type of a default operator class of B-trees or hash, which may not be visible yet; InvalidOid: it is something else. */
extern Oid tsurugi_default_class_type(Oid class);

/*
 * Types have got, or lost, default operator classes: tables whose keys are made in another way by now are locked, and noted to be stored
 * anew.  At the end of a statement.
 */
extern void tsurugi_follow_classes(const List *types);

/* ALTER TYPE ... ADD VALUE, which may put an end to the order of an enum's labels (enum_order.h). */
extern void tsurugi_alter_enum(const tsurugi_utility *utility, const AlterEnumStmt *statement);

#endif /* TSURUGI_TYPE_USERS_H */

/*
 * view_rights.h
 *	  Which sessions and tables a user may see in views.
 */
#ifndef TSURUGI_VIEW_RIGHTS_H
#define TSURUGI_VIEW_RIGHTS_H

#include "postgres.h"

/*
 * Whether the user may see what belongs to a role: roles that the user is a member of and, with
 * pg_read_all_stats, all roles.
 */
extern bool tsurugi_sees_role(Oid role);

/*
 * Whether the user may see figures of a table: as its owner, with any right on it or on a column,
 * or with pg_read_all_stats.  Rights on tables of other databases are not known here.
 */
extern bool tsurugi_sees_table(Oid database, Oid relation);

#endif /* TSURUGI_VIEW_RIGHTS_H */

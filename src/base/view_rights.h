/*
 * view_rights.h
 *	  Who sees what of other sessions and of tables.
 */
#ifndef TSURUGI_VIEW_RIGHTS_H
#define TSURUGI_VIEW_RIGHTS_H

#include "postgres.h"

/*
 * Whether the user sees what belongs to a role: his own ones', and with pg_read_all_stats
 * everybody's.
 */
extern bool tsurugi_sees_role(Oid role);

/*
 * Whether the user sees figures of a table: as its owner, with any right on it or on a column, or
 * with pg_read_all_stats.  Rights on tables of other databases are not known here.
 */
extern bool tsurugi_sees_table(Oid database, Oid relation);

#endif /* TSURUGI_VIEW_RIGHTS_H */

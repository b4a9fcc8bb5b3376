/*
 * vacuum.h
 *	  VACUUM of tables in memory, and ANALYZE of all tables.
 */
#ifndef TSURUGI_VACUUM_H
#define TSURUGI_VACUUM_H

#include "src/ddl/utility.h"

/*
 * Executes the statement.  False: none of its tables is in memory, or has a partition in memory, or
 * it names none and does not analyze; nothing was done.
 */
extern bool tsurugi_vacuum_run(const tsurugi_utility *utility, VacuumStmt *written);

#endif /* TSURUGI_VACUUM_H */

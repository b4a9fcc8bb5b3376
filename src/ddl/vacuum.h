/*
 * vacuum.h
 *	  VACUUM of tables in memory, and ANALYZE of all tables.
 */
#ifndef TSURUGI_VACUUM_H
#define TSURUGI_VACUUM_H

#include "src/ddl/utility.h"

/* False: none of the statement's tables is ours, or has a partition of ours, or it names none and does not analyze; nothing was done. */
extern bool tsurugi_vacuum_run(const tsurugi_utility *utility, VacuumStmt *written);

#endif /* TSURUGI_VACUUM_H */

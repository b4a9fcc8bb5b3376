/*
 * analyze.h
 *	  ANALYZE of tables in memory without being asked, as autovacuum does it with ordinary ones.
 */
#ifndef TSURUGI_ANALYZE_H
#define TSURUGI_ANALYZE_H

#include "postmaster/bgworker.h"

/* The worker's main thread, now and then: has the tables analyzed that have changed much. */
extern void tsurugi_analyze_look(void);

/* The main function of who does it in one database, which PostgreSQL finds by name. */
extern PGDLLEXPORT void tsurugi_fdw_analyze_main(Datum argument);

#endif /* TSURUGI_ANALYZE_H */

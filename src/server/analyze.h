/*
 * analyze.h
 *	  Automatic ANALYZE of tables in memory, as autovacuum does it for ordinary ones.
 */
#ifndef TSURUGI_ANALYZE_H
#define TSURUGI_ANALYZE_H

#include "postmaster/bgworker.h"

/*
 * Called by the worker's main thread now and then: starts the analysis of tables that have changed
 * much.
 */
extern void tsurugi_analyze_look(void);

/* The main function of the process that analyzes in one database; PostgreSQL finds it by name. */
extern PGDLLEXPORT void tsurugi_fdw_analyze_main(Datum argument);

#endif /* TSURUGI_ANALYZE_H */

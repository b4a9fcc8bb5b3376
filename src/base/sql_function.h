/*
 * sql_function.h
 *	  Functions that SQL calls.
 */
#ifndef TSURUGI_SQL_FUNCTION_H
#define TSURUGI_SQL_FUNCTION_H

#include "fmgr.h"

/* Declares one, also for PostgreSQL, which looks for it in the library by its name. */
#define TSURUGI_SQL_FUNCTION(name)                                                                                     \
	extern PGDLLEXPORT Datum name(PG_FUNCTION_ARGS);                                                                   \
	PG_FUNCTION_INFO_V1(name)

#endif /* TSURUGI_SQL_FUNCTION_H */

/*
 * worker.h
 *	  The background worker in which the pool's threads run.
 */
#ifndef TSURUGI_WORKER_H
#define TSURUGI_WORKER_H

#include "postmaster/bgworker.h"

/* Registers it.  Called in the postmaster, when the library is loaded. */
extern void tsurugi_worker_register(void);

/* Its main function; PostgreSQL finds it by name. */
extern PGDLLEXPORT void tsurugi_fdw_worker_main(Datum argument);

#endif /* TSURUGI_WORKER_H */

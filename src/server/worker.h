/*
 * worker.h
 *	  The background worker that the pool's threads live in.
 */
#ifndef TSURUGI_WORKER_H
#define TSURUGI_WORKER_H

#include "postmaster/bgworker.h"

/* Registers it.  In the postmaster, where the library is loaded. */
extern void tsurugi_worker_register(void);

/* Its main function, which PostgreSQL finds by name. */
extern PGDLLEXPORT void tsurugi_fdw_worker_main(Datum argument);

#endif /* TSURUGI_WORKER_H */

/*
 * start.h
 *	  Starting and stopping the engine as a whole.
 *
 * In the server's first process, before any child exists: tg_runtime_create().  In each child:
 * tg_session_open().  In the worker process: tg_runtime_start() and tg_runtime_stop().
 */
#ifndef TG_START_H
#define TG_START_H

#include <stdbool.h>

#include "runtime/base/status.h"
#include "runtime/mem/arena.h"
#include "runtime/sched/scheduler.h"

typedef struct tg_runtime_config
{
	tg_arena_config arena;
	unsigned worker_max;
	unsigned prepared_max; /* prepared transactions at a time */
} tg_runtime_config;

/* Maps the arena: once per server, where the library is loaded. */
extern tg_status tg_runtime_map(const tg_arena_config *config) TG_MUST_USE;

/*
 * Empties the arena and makes every room's shared part: at each start, crash
 * restarts included.  No process may be attached.
 */
extern tg_status tg_runtime_create(const tg_runtime_config *config) TG_MUST_USE;

/*
 * In the worker process: starts the threads, the watcher's checks and the collector; stops them
 * (false: the process has to end hard).
 */
extern tg_status tg_runtime_start(const tg_scheduler_settings *settings) TG_MUST_USE;
extern bool tg_runtime_stop(unsigned limit_ms);

/*
 * All of the above for a program that is a single process: an arena of 256 MiB,
 * a pool of so many workers with default settings, and the caller's session.
 * False from close: a thread did not end in time, the process must end hard.
 */
extern tg_status tg_runtime_open(unsigned workers, tg_session **session_out) TG_MUST_USE;
extern bool tg_runtime_close(tg_session *session);

/*
 * Ends a session: gives its leases, snapshots and caches back.  Its transaction has ended.  From an
 * exit callback.
 */
extern void tg_runtime_session_end(tg_session *session);

#endif /* TG_START_H */

/*
 * runtime.h
 *	  The front door: all that the host's side (src/) may include.
 *
 * Starting, in the server's first process, before any child exists:
 * tg_runtime_create().  In each child: tg_session_open().  In the worker
 * process: tg_runtime_start() and tg_runtime_stop().
 */
#ifndef TG_RUNTIME_H
#define TG_RUNTIME_H

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/base/status.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/quota.h"
#include "runtime/mem/session.h"
#include "runtime/query/query.h"
#include "runtime/sched/condition.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/job.h"
#include "runtime/sched/lane.h"
#include "runtime/sched/park.h"
#include "runtime/sched/scheduler.h"
#include "runtime/sched/serial.h"
#include "runtime/order/collate.h"
#include "runtime/order/foretold.h"
#include "runtime/order/key.h"
#include "runtime/order/key_list.h"
#include "runtime/order/value.h"
#include "runtime/btree/btree.h"
#include "runtime/table/catalog.h"
#include "runtime/table/expect.h"
#include "runtime/table/lease.h"
#include "runtime/table/names.h"
#include "runtime/table/registry.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"
#include "runtime/index/dictionary.h"
#include "runtime/index/index.h"
#include "runtime/index/index_spec.h"
#include "runtime/index/long_key.h"
#include "runtime/index/rank_holders.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/reclaim/tax.h"
#include "runtime/txn/author.h"
#include "runtime/txn/carry.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/own.h"
#include "runtime/txn/prepared.h"
#include "runtime/txn/read.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/rival.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/terms.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/unflushed.h"
#include "runtime/exec/channel.h"
#include "runtime/exec/index_build.h"
#include "runtime/exec/index_fill.h"
#include "runtime/exec/row_set.h"
#include "runtime/exec/scan.h"
#include "runtime/exec/sought.h"
#include "runtime/exec/vectors.h"
#include "runtime/durable/base.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/definitions.h"
#include "runtime/durable/files.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/load.h"
#include "runtime/durable/operations.h"
#include "runtime/durable/ranks.h"
#include "runtime/durable/record.h"
#include "runtime/durable/roster.h"
#include "runtime/durable/state.h"
#include "runtime/durable/undecided.h"
#include "runtime/app/process.h"
#include "runtime/app/process_channel.h"
#include "runtime/app/process_txn.h"

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

#endif /* TG_RUNTIME_H */

/*
 * runtime.c
 *	  Starting and stopping the rooms, from the lowest up.
 */
#include "runtime/runtime.h"

/* The arena of a program that calls tg_runtime_open. */
#define ALONE_BYTES ((size_t) 256 << 20)
#define ALONE_RESERVE_BYTES ((size_t) 1 << 30)
#define ALONE_STOP_MS 5000

tg_status
tg_runtime_map(const tg_arena_config *config)
{
	return tg_arena_create(config);
}

tg_status
tg_runtime_create(const tg_runtime_config *config)
{
	const tg_scheduler_config scheduler = {.worker_max = config->worker_max};
	tg_status status;

	tg_arena_reset();
	tg_arena_limit_set(config->arena.limit_bytes);
	tg_arena_reserved_set(config->arena.reserved_percent);
	if ((status = tg_scheduler_create(&scheduler)) != TG_OK)
		return status;
	if ((status = tg_horizon_create()) != TG_OK)
		return status;
	if ((status = tg_lease_create()) != TG_OK)
		return status;
	if ((status = tg_quota_create()) != TG_OK)
		return status;
	if ((status = tg_catalog_create()) != TG_OK)
		return status;
	if ((status = tg_collector_create()) != TG_OK)
		return status;
	tg_prepared_set_max(config->prepared_max);
	return tg_txn_create();
}

/*
 * At every tick: a load; while memory grows, some huge pages now and then (0.1 ms each; on some
 * hypervisors 5 ms).
 */
static void
prepare_memory(tg_session *session)
{
	tg_arena_prepare();
}

static void
tend_memory(tg_session *session)
{
	tg_arena_mend();
	tg_arena_decay();
}

tg_status
tg_runtime_start(const tg_scheduler_settings *settings)
{
	tg_scheduler_settings_set(settings);
	tg_collector_attach();
	tg_txn_attach();
	tg_watcher_add(prepare_memory, 0);
	tg_watcher_add(tend_memory, TG_TEND_US);
	tg_processes_register();
	tg_process_channel_register();
	tg_process_txn_register();
	return tg_scheduler_start();
}

bool
tg_runtime_stop(unsigned limit_ms)
{
	if (!tg_scheduler_stop(limit_ms))
		return false;
	tg_arena_trim(); /* no thread tends the idle pages any more */
	return true;
}

tg_status
tg_runtime_open(unsigned workers, tg_session **session_out)
{
	const tg_runtime_config config = {.arena = {.reserve_bytes = ALONE_RESERVE_BYTES,
												.limit_bytes = ALONE_BYTES,
												.session_max = workers + 16,
												.huge_pages = true,
												.one_process = true},
									  .worker_max = workers};
	const tg_scheduler_settings settings = tg_scheduler_settings_default(workers);
	tg_status status = tg_runtime_map(&config.arena);

	if (status != TG_OK)
		return status;
	status = tg_runtime_create(&config);
	if (status == TG_OK)
		status = tg_session_open(session_out);
	if (status == TG_OK && (status = tg_runtime_start(&settings)) != TG_OK)
		tg_session_close(*session_out);
	if (status != TG_OK)
		tg_arena_destroy();
	return status;
}

bool
tg_runtime_close(tg_session *session)
{
	if (!tg_runtime_stop(ALONE_STOP_MS))
		return false;
	tg_runtime_session_end(session);
	tg_arena_destroy();
	return true;
}

void
tg_runtime_session_end(tg_session *session)
{
	tg_serial_abandon(session);
	tg_lane_abandon(session);
	tg_leases_end(session);
	tg_snapshot_withdraw_all(session);
	tg_tax_forget(session);
	tg_session_close(session);
}

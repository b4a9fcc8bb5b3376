/*
 * runtime.c
 *	  Starting and stopping the rooms, from the lowest up.
 */
#include "runtime/runtime.h"

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
	if ((status = tg_scheduler_create(&scheduler)) != TG_OK)
		return status;
	if ((status = tg_horizon_create()) != TG_OK)
		return status;
	if ((status = tg_lease_create()) != TG_OK)
		return status;
	if ((status = tg_catalog_create()) != TG_OK)
		return status;
	if ((status = tg_collector_create()) != TG_OK)
		return status;
	return tg_txn_create();
}

tg_status
tg_runtime_start(const tg_scheduler_settings *settings)
{
	tg_scheduler_settings_set(settings);
	tg_collector_attach();
	return tg_scheduler_start();
}

bool
tg_runtime_stop(unsigned limit_ms)
{
	return tg_scheduler_stop(limit_ms);
}

void
tg_runtime_session_end(tg_session *session)
{
	tg_leases_end(session);
	tg_snapshot_withdraw_all(session);
	tg_session_close(session);
}

/*
 * sweep.c
 *	  Quiet chunks lose their headers soon after these are marked, empty chunks are given back, and
 *	  then there is nothing left to do; rows that had to leave their chunk come home; the pool does
 *	  all this by itself; a dropped table's garbage goes with its last log.
 */
#include <unistd.h>

#include "test/unit/writers.h"

static void
test_sweep(void)
{
	client *a = &clients[0];
	tg_collector_report before;
	tg_collector_report after;
	unsigned runs = 0;
	bool rests;

	for (uint64_t key = 1000; key < 6000; key++)
		must_insert(a, key);
	commit(a);
	leases_end();
	for (unsigned i = 0; i < 10; i++)
		collect(7);
	unit_equal((uint64_t) table->header_bytes, 0, "quiet chunks have no headers");
	tg_collector_report_get(&before);
	unit_ok(before.chunks_settled > 0, "%" PRIu64 " were settled", before.chunks_settled);
	rests = !tg_collector_run(session, 1000) && !tg_collector_run(session, 1000);
	tg_collector_report_get(&after);
	unit_ok(rests && after.chunks_settled == before.chunks_settled, "then it rests");

	for (uint64_t key = 1000; key < 6000; key += 3)
		must_update(a, key);
	commit(a);
	check_exact(100, "settled rows updated");
	for (unsigned i = 0; i < 10; i++)
		collect(1000);
	unit_equal((uint64_t) table->header_bytes, 0, "and settled again");

	for (uint64_t key = 1000; key < 6000; key++)
		must_delete(a, key);
	commit(a);
	leases_end();
	do
		collect(1000);
	while (++runs < 10);
	tg_collector_report_get(&after);
	unit_ok(after.chunks_freed > before.chunks_freed, "%" PRIu64 " empty chunks were given back", after.chunks_freed);
	check_exact(100, "after reclaiming");
}

static unsigned
count_marked(void)
{
	unsigned marked = 0;

	tg_epoch_enter(session);
	for (uint32_t i = 0; i < tg_table_chunk_count(table); i++)
	{
		const tg_chunk *chunk = tg_table_chunk(table, i);

		marked += chunk != NULL && ((uintptr_t) tg_load_relaxed(&chunk->headers) & TG_HEADERS_MARK) != 0;
	}
	tg_epoch_leave(session);
	return marked;
}

/* Headers that are marked need not wait for the next interval. */
static void
test_follow(void)
{
	client *a = &clients[0];

	for (uint64_t key = 1000; key < 6000; key++)
		must_insert(a, key);
	commit(a);
	leases_end();
	collect(1000);
	unit_ok(table->header_bytes > 0 && count_marked() == 0, "chunks that were written since the sweep before are left");
	tg_sweep_interval_ms = 3600 * 1000;
	collect(1000);
	unit_ok(table->header_bytes > 0 && count_marked() > 0, "the next one marks their headers");
	for (unsigned i = 0; i < 1000 && table->header_bytes > 0; i++)
	{
		usleep(1000);
		collect(1000);
	}
	unit_equal((uint64_t) table->header_bytes, 0, "and is followed by one that takes them away");
	tg_store_relaxed(&tg_collector_shared->sweep.at_ms, 0);
	tg_sweep_interval_ms = 0;

	for (uint64_t key = 1000; key < 6000; key++)
		must_delete(a, key);
	commit(a);
	leases_end();
	for (unsigned i = 0; i < 10; i++)
		collect(1000);
}

/* --- rows that come home ----------------------------------------------------- */

#define HOME_FIRST 7000
#define HOME_ROWS 3000 /* several chunks of full size */

static tg_version
head_of(uint64_t key)
{
	unsigned char bytes[TG_KEY_BYTES_MAX];
	uint32_t row;

	if (tg_btree_find(table->index, bytes, key_of(key, bytes), &row) != TG_OK)
		abort();
	return tg_load_acquire(tg_row_head(table, row));
}

static tg_chunk *
chunk_of(uint64_t key)
{
	return tg_version_chunk(head_of(key));
}

/* Of rows that lie side by side, how many lie in the chunk of the one before. */
static unsigned
count_together(void)
{
	unsigned together = 0;

	for (uint64_t key = HOME_FIRST + 1; key < HOME_FIRST + HOME_ROWS; key++)
		together += chunk_of(key) == chunk_of(key - 1);
	return together;
}

static void
test_home(void)
{
	client *a = &clients[0];
	unsigned before;
	unsigned away;

	for (uint64_t key = HOME_FIRST; key < HOME_FIRST + HOME_ROWS; key++)
		must_insert(a, key);
	commit(a);
	leases_end();
	collect(1000);
	before = count_together();
	for (uint64_t key = HOME_FIRST; key < HOME_FIRST + HOME_ROWS; key += 3)
		must_update(a, key);
	commit(a);
	leases_end();
	collect(1000);
	away = count_together();
	unit_ok(away < before - 1000, "rows leave chunks that have no free slot: %u of %u are beside others", away, before);
	for (uint64_t key = HOME_FIRST; key < HOME_FIRST + HOME_ROWS; key += 3)
		must_update(a, key);
	commit(a);
	leases_end();
	collect(1000);
	unit_ok(count_together() > before - 400, "and come home with their next update: %u", count_together());
	check_exact(1000, "at home again");

	for (uint64_t key = HOME_FIRST; key < HOME_FIRST + HOME_ROWS; key++)
		must_delete(a, key);
	commit(a);
	leases_end();
	check_exact(1000, "after coming home");
}

/* --- the pool --------------------------------------------------------------- */

static bool
wait_for_logs(uint64_t count)
{
	for (unsigned i = 0; i < 1000 && logs_waiting() > count; i++)
		usleep(10000);
	return logs_waiting() <= count;
}

static void
test_pool(void)
{
	tg_scheduler_settings settings = {
		.workers = 2, .stealing = true, .worker_suspend_ms = 100, .watcher_interval_us = 1000, .hang_ms = 1000};
	client *a = &clients[0];
	unsigned entry;

	tg_sweep_interval_ms = TG_SWEEP_INTERVAL_MS;
	tg_scheduler_settings_set(&settings);
	tg_collector_attach();
	if (tg_scheduler_start() != TG_OK)
		abort();
	for (unsigned i = 0; i < 50; i++)
	{
		must_insert(a, 7);
		commit(a);
		must_delete(a, 7);
		commit(a);
	}
	unit_ok(wait_for_logs(0), "the pool collects by itself");
	must_insert(a, 7);
	commit(a);
	(void) tg_snapshot_publish(clients[5].session, &entry);
	must_delete(a, 7);
	commit(a);
	usleep(300000);
	unit_equal(logs_waiting(), 1, "not what a snapshot may see");
	tg_snapshot_withdraw(clients[5].session, entry);
	unit_ok(wait_for_logs(0), "but soon after it was withdrawn, though nothing was given");
	if (!tg_scheduler_stop(5000))
		abort();
	check_exact(100, "after the pool");
}

static void
test_drop(void)
{
	client *a = &clients[0];
	tg_arena_report report;

	for (uint64_t key = 0; key < 300; key++)
		must_insert(a, key);
	commit(a);
	collect(100);
	for (uint64_t key = 0; key < 300; key++)
		must_update(a, key);
	for (uint64_t key = 0; key < 300; key += 2)
		must_delete(a, key);
	commit(a);
	(void) tg_collector_run(session, 200);
	tg_leases_forget(table);
	tg_table_release(session, tg_catalog_take(session, 1, 1));
	unit_ok(logs_waiting() > 0, "a table is dropped with garbage left");
	collect(100);
	collect(100);
	tg_arena_report_get(&report);
	unit_ok(report.used_by[TG_USE_BLOB] == 0 && report.used_by[TG_USE_CHUNK] == 0 &&
				report.used_by[TG_USE_HEADER] == 0 && report.used_by[TG_USE_LOG] == 0,
			"nothing of it is left when the last log has gone");
}

int
main(void)
{
	begin();
	tg_sweep_interval_ms = 0;
	test_sweep();
	test_follow();
	test_home();
	test_pool();
	test_drop();
	end();
	return unit_done();
}

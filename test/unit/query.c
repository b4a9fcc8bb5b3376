/*
 * query.c
 *	  Queries as jobs against brute force: random plans over tables that transactions have filled,
 *	  changed and extended (query_world.h, query_shape.h); then queries that do not run smoothly.
 */
#include "test/unit/query_run.h"

#include "runtime/mem/session.h"
#include "runtime/table/summary.h"

/* --- bad luck -------------------------------------------------------------------------------- */

static void
check_memory(void)
{
	unsigned refused = 0;
	unsigned right = 0;
	bool expected = true;

	compute(&large, &views[2].world);
	for (uint64_t bytes = 100000; bytes < (uint64_t) 64 << 20 && right == 0; bytes = bytes * 5 / 4)
	{
		tg_query *query;
		tg_status status = start(&views[2], &large, &(terms){.tasks = 3, .memory_max = bytes}, &query);

		if (status == TG_OK)
			status = finish(query);
		refused += status == TG_NO_MEMORY;
		right += status == TG_OK && groups_are_right(query, &large);
		expected = expected && (status == TG_OK || status == TG_NO_MEMORY);
		tg_query_end(session, query);
		expected = expected && nothing_is_left();
	}
	unit_ok(expected && refused > 5 && right == 1, "with too little memory: refused, with enough: right (%u)", refused);
}

/* While rows have nearly all of the memory, a query gets no more than it is sure of. */
static void
check_room(void)
{
	static const shape small = {.key_count = 0, .marked = -1, .twice = -1};
	size_t limit = tg_arena_limit();
	tg_status status[3];

	for (unsigned i = 0; i < 3; i++)
	{
		const shape *shape = i == 1 ? &small : &large;
		tg_query *query;

		tg_arena_limit_set(i < 2 ? tg_arena_committed() + tg_arena_committed() / 8 : limit);
		compute(shape, &views[2].world);
		status[i] = start(&views[2], shape, &(terms){.tasks = 3}, &query);
		if (status[i] == TG_OK)
			status[i] = finish(query);
		tg_query_end(session, query);
	}
	unit_ok(status[0] == TG_NO_MEMORY && status[1] == TG_OK && status[2] == TG_OK,
			"the last eighth of the memory is for rows, but for small queries");
}

/* However many rows a query streams, it takes the same memory; so it does if nobody takes them. */
static void
check_stream(void)
{
	shape many = large;
	const tg_vectors *rows;
	uint64_t memory = 0;
	uint64_t count = 0;
	bool same = true;
	tg_query *query;
	tg_status status;

	many.result = STREAMS;
	many.probes[0].chained = false; /* many more rows */
	tg_check(start(&views[2], &many, &(terms){.tasks = 3}, &query) == TG_OK);
	while ((status = take_rows(query, &rows)) == TG_OK)
	{
		memory = memory == 0 ? tg_query_report_get(query).memory : memory;
		same = same && memory == tg_query_report_get(query).memory;
		count += rows->count;
	}
	tg_query_end(session, query);
	unit_ok(status == TG_NOT_FOUND && same && count > 50000, "a stream of %" PRIu64 " rows in %" PRIu64 " bytes", count,
			memory);
	for (unsigned i = 0; i < ENDS && same; i++)
	{
		many.fed = i % 3 == 0 ? FED_FACTS : 0;
		tg_check(start(&views[3], &many, &(terms){.tasks = 1 + i % 4}, &query) == TG_OK);
		for (unsigned j = 0; j < i % 5; j++)
			same = same && take_rows(query, &rows) == TG_OK && rows->count > 0;
		tg_query_end(session, query);
		same = same && (i % 10 != 0 || nothing_is_left());
	}
	unit_ok(same && nothing_is_left(), "ended after some rows: nothing is left");
}

static void
check_early_end(void)
{
	bool clean = true;

	for (unsigned i = 0; i < ENDS && clean; i++)
	{
		shape shape = large;
		tg_query *query;

		shape.fed = i % 4; /* a part of the rows, or none */
		tg_check(start(&views[3], &shape, &(terms){.tasks = 1 + i % 4}, &query) == TG_OK);
		for (unsigned j = 0; j < i % 20; j++)
			(void) feed(query);
		usleep(i * 100);
		tg_query_end(session, query);
		clean = i % 10 != 0 || nothing_is_left();
	}
	unit_ok(clean && nothing_is_left(), "ended at any moment: nothing is left");
}

static tg_status
take_until_end(tg_query *query)
{
	const tg_vectors *rows;
	tg_status status;

	while ((status = take_rows(query, &rows)) == TG_OK)
		continue;
	return status == TG_NOT_FOUND ? TG_OK : status;
}

static bool stopped_well; /* by stop_pool, read after it was joined */

static void *
stop_pool(void *argument)
{
	usleep(*(const unsigned *) argument);
	stopped_well = tg_scheduler_stop(WAIT_SECONDS * 1000);
	return NULL;
}

static void
check_stop(void)
{
	bool ended = true;
	bool clean = true;

	for (unsigned i = 0; i < 40 && clean; i++)
	{
		unsigned pause_us = i * 500;
		pthread_t thread;
		tg_query *query;
		tg_status status;

		shape shape = large;

		shape.result = i % 2 == 0 ? GROUPS : STREAMS;
		shape.fed = i / 2 % 2 == 0 ? 0 : FED_FACTS;
		tg_check(start(&views[2], &shape, &(terms){.tasks = 3}, &query) == TG_OK);
		tg_check(pthread_create(&thread, NULL, stop_pool, &pause_us) == 0);
		status = shape.result == GROUPS ? finish(query) : take_until_end(query);
		ended = ended && (status == TG_OK || status == TG_CANCELLED || status == TG_STOPPED);
		tg_query_end(session, query);
		pthread_join(thread, NULL);
		clean = stopped_well && nothing_is_left();
		if (i == 0)
		{
			unit_ok(start(&views[2], &large, &(terms){.tasks = 3}, &query) == TG_STOPPED, "no start without a pool");
			tg_query_end(session, query);
		}
		tg_check(tg_scheduler_start() == TG_OK);
	}
	unit_ok(ended && clean, "the pool stops at any moment: nothing is left");
}

static void
check_refused_start(void)
{
	unsigned entries[TG_SNAPSHOTS_OF_JOBS];
	unsigned count = 0;
	tg_query *query;

	while (count < TG_SNAPSHOTS_OF_JOBS &&
		   tg_snapshot_publish_job(tg_load_acquire(tg_clock), false, &entries[count]) == TG_OK)
		count++;
	unit_ok(start(&views[2], &large, &(terms){.tasks = 3}, &query) == TG_FULL, "no entry in the horizon: TG_FULL");
	tg_query_end(session, query);
	while (count > 0)
		tg_snapshot_withdraw_job(entries[--count]);
	unit_ok(nothing_is_left(), "nothing is left");
}

/* A numeric that does not fit into 64 bits; also NaN, stored as the largest number. */
static void
check_unfit(void)
{
	const tg_value wide[COLUMNS] = {[ID] = {.word = 1}, [NUMERIC] = {.bytes = {[8] = 1}}};
	const bool nulls[COLUMNS] = {false, true, true, true, true, false, true};
	const shape plain = {.key_count = 0, .marked = -1, .twice = -1};
	const shape kept = {.result = KEPT, .key_count = 1, .keys = {ID}, .filter = true, .marked = -1, .twice = -1};
	view view;
	tg_wait wait;
	uint32_t row;
	tg_query *query;

	tg_check(tg_txn_insert(&open_writer, tables[0], NULL, 0, wide, nulls, &row, &wait) == TG_OK);
	open_view(&view, "of a wide number");
	view.snapshot.command = 2;
	for (unsigned tasks = 1; tasks <= 3; tasks++)
	{
		tg_status status = start(&view, &plain, &(terms){.tasks = tasks}, &query);

		if (status == TG_OK)
			status = finish(query);
		unit_ok(status == TG_UNFIT, "a numeric beyond 64 bits, %u tasks: %d", tasks, (int) status);
		tg_query_end(session, query);
	}
	tg_check(start(&view, &kept, &(terms){.tasks = 2}, &query) == TG_OK);
	unit_ok(take_until_end(query) == TG_UNFIT, "the same in a filter of rows that are kept: none are handed out");
	tg_query_end(session, query);
	tg_snapshot_withdraw(session, view.entry);
	unit_ok(nothing_is_left(), "nothing is left");
}

/* The chunks of facts whose texts have codes. */
static unsigned
count_coded(void)
{
	unsigned count = 0;

	tg_epoch_enter(session);
	for (uint32_t i = 0; i < tg_table_chunk_count(tables[0]); i++)
	{
		const tg_chunk *chunk = tg_table_chunk(tables[0], i);

		count += chunk != NULL && tg_codes_get(chunk, TEXT) != NULL;
	}
	tg_epoch_leave(session);
	return count;
}

int
main(void)
{
	begin_world();
	for (unsigned workers = WORKERS_MIN; workers <= WORKERS; workers++)
	{
		set_workers(workers);
		check_plans(workers);
		check_deliveries(workers);
		check_order(workers);
	}
	unit_ok(looked_up > PLANS, "%" PRIu64 " keys were looked up", looked_up);
	unit_ok(count_coded() > 1, "texts of settled chunks have codes");
	check_memory();
	check_room();
	check_early_end();
	check_stream();
	check_stop();
	check_refused_start();
	check_unfit();
	return end_world();
}

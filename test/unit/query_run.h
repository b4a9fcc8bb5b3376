/*
 * query_run.h
 *	  For the tests of queries: running them, and comparing what they hand out with the oracle
 *	  (query_oracle.h).  Rows that are handed out are counted by the keys of the oracle's groups.
 */
#ifndef TG_UNIT_QUERY_RUN_H
#define TG_UNIT_QUERY_RUN_H

#include "runtime/runtime.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/exec/vectors.h"
#include "runtime/query/query.h"
#include "test/unit/query_oracle.h"
#include "test/unit/unit.h"
#include "test/unit/waiter.h"

#define WORKERS 3

/* A test may take one in so many of the random plans. */
#ifndef PLANS_SHARE
#define PLANS_SHARE 1
#endif

/* ThreadSanitizer finds with several workers what it finds with fewer. */
#if defined(__SANITIZE_THREAD__)
#define WORKERS_MIN WORKERS
#define PLANS 12
#define ENDS 15
#elif defined(__SANITIZE_ADDRESS__)
#define WORKERS_MIN 1
#define PLANS 30
#define ENDS 60
#else
#define WORKERS_MIN 1
#define PLANS 120
#define ENDS 150
#endif

/* --- comparing ------------------------------------------------------------------------------ */

static tg_vector_type
type_of(unsigned input)
{
	return (tg_vector_type) (input < COLUMNS ? fact_types[input] : dim_types[(input - COLUMNS) % DIM_COLUMNS]);
}

/* Those of groups of groups count groups; a count is a sum of counts. */
static bool
total_is_right(const shape *shape, unsigned index, const tg_total *got, const tg_total *expected)
{
	const tg_aggregate *aggregate = &aggregates[index];

	if (shape->twice >= 0)
	{
		if (is_wide_sum(aggregate))
			return true;
		if (aggregate->function == TG_COUNT)
			return got->sum == (__int128) expected->count;
		if ((got->count == 0) != (expected->count == 0))
			return false;
	}
	else if (got->count != expected->count)
		return false;
	if (got->count == 0 || aggregate->function == TG_COUNT)
		return true;
	if (aggregate->function == TG_SUM_INT)
		return got->sum == expected->sum;
	if (aggregate->function == TG_SUM_FLOAT)
		return got->total == expected->total || (isnan(got->total) && isnan(expected->total));
	return order_of(type_of(aggregate->argument), &got->value, &expected->value) == 0;
}

static bool
groups_are_right(tg_query *query, const shape *shape)
{
	tg_value keys[KEYS_MAX];
	bool nulls[KEYS_MAX];
	static tg_total totals[AGGREGATES * WIDE];
	unsigned total_count = aggregate_count(shape) * (shape->wide ? WIDE : 1);
	unsigned count = 0;

	for (; tg_query_next(query, keys, nulls, totals) == TG_OK; count++)
	{
		char key[KEY_TEXT] = "";
		group *expected;

		for (unsigned i = 0; i < shape->key_count; i++)
			append_key(key, type_of(shape->keys[i]), nulls[i], &keys[i]);
		expected = find_group(key);
		if (!expected->used || expected->met)
			return false;
		expected->met = true;
		for (unsigned i = 0; i < total_count; i++)
			if (!total_is_right(shape, i % aggregate_count(shape), &totals[i],
								&expected->totals[i % aggregate_count(shape)]))
			{
				printf("# aggregate %u of group %s\n", i, key);
				return false;
			}
	}
	return count == group_count;
}

/* --- queries -------------------------------------------------------------------------------- */

typedef struct terms
{
	unsigned tasks;
	bool in_place;
	uint64_t memory_max;
} terms;

static const tg_spill_config *spill_config; /* of all queries; NULL: they do not spill */

static uint64_t looked_up; /* keys, by all queries */

/*
 * The debug switches of queries: each is on for so many of every few of them, from a place on.  No
 * two of the periods have a factor in common, so that every combination comes.
 */
typedef struct query_switch
{
	const char *name;
	unsigned period;
	unsigned on;
} query_switch;

static const query_switch switches[] = {
	{"query_look_ups", 2, 1}, {"query_clusters", 3, 2},		{"query_vectors", 5, 1},	{"query_hashes", 7, 2},
	{"vector_bits", 11, 4},	  {"summary_any_chunk", 13, 8}, {"query_hash_joins", 17, 5}};

static uint32_t started; /* atomic, as tasks read it: queries */

static bool
refuse_scan(const char *name)
{
	uint32_t number = tg_load_relaxed(&started);

	for (unsigned i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
		if (strcmp(name, switches[i].name) == 0)
			return number % switches[i].period < switches[i].on;
	return false;
}

static bool in_place;						 /* the query in hand, */
static const world *fed_world;				 /* whose rows it is fed, */
static unsigned fed_rows[TG_PLAN_STEPS_MAX]; /* and how many of them each step has got */

/* Now and then: the requester then calls again, and the query has to come further. */
static bool
is_interrupted(void)
{
	static unsigned times;

	return ++times % 97 == 0;
}

static tg_status
start(const view *view, const shape *shape, const terms *terms, tg_query **query_out)
{
	const tg_query_config config = {.snapshot = view->snapshot,
									.tasks = terms->tasks,
									.in_place = terms->in_place,
									.is_interrupted = is_interrupted,
									.waiter = &waiter,
									.memory_max = terms->memory_max,
									.spill = spill_config};

	tg_store_relaxed(&started, started + 1);
	in_place = terms->in_place;
	fed_world = &view->world;
	memset(fed_rows, 0, sizeof(fed_rows));
	tg_check(tg_query_create(session, &config, query_out) == TG_OK);
	return tg_query_start(session, *query_out, make_plan(*query_out, shape));
}

/* --- feeds ----------------------------------------------------------------------------------- */

/* A long string of the row is copied to where it stays. */
static void
feed_value(tg_query *query, const tg_value *value, bool is_null, tg_vectors *rows, unsigned column)
{
	tg_value fed = is_null ? (tg_value){.word = 0} : *value;

	rows->nulls[column][rows->count] = is_null;
	if (rows->kinds[column] < TG_KIND_16)
		((uint64_t *) rows->data[column])[rows->count] = fed.word;
	else
	{
		if (!is_null && rows->kinds[column] == TG_KIND_STRING && tg_string_is_out(&fed.string))
		{
			uint32_t bytes = tg_string_blob_bytes(&fed.string);
			void *blob = tg_query_feed_bytes(session, query, bytes);

			tg_check(blob != NULL);
			fed.string.word = TG_STRING_OUT | bytes;
			fed.string.blob = memcpy(blob, value->string.blob, bytes);
		}
		((tg_value *) rows->data[column])[rows->count] = fed;
	}
}

/* Facts have more columns than dims. */
static bool
feed_row(tg_query *query, const tg_feed_call *call)
{
	bool facts = call->rows->column_count == COLUMNS;
	unsigned number = fed_rows[call->step]++;
	const row *from = facts ? &fed_world->facts[number] : &fed_world->dims[number];
	values values;

	if (number >= (facts ? FACTS : DIMS))
		return false;
	if (!from->alive)
		return true;
	make_row(facts ? 0 : 1, from, &values);
	for (unsigned i = 0; i < call->rows->column_count; i++)
		feed_value(query, &values.of[i], values.nulls[i], call->rows, i);
	call->rows->count++;
	return true;
}

/* Feeds some rows, if they are wanted. */
static bool
feed(tg_query *query)
{
	static const unsigned counts[] = {0, 1, 100, 1000, 1000, 1000, TG_VECTOR_ROWS};
	unsigned count = counts[unit_below(&fed_seed, sizeof(counts) / sizeof(counts[0]))];
	bool more = true;
	tg_feed_call call;

	if (!tg_query_feed_wants(query, &call))
		return false;
	if (call.from_start)
		fed_rows[call.step] = 0;
	while (more && call.rows->count < count && call.rows->count < call.rows->capacity)
		more = feed_row(query, &call);
	tg_query_feed_offer(session, query, &call, !more);
	return true;
}

/* A part of a query in place, or a wait for others to run it. */
static bool
go_on(tg_query *query)
{
	static unsigned times;

	if (feed(query))
		return true;
	if (!in_place)
		return wait_for_wake();
	return tg_query_run(session, query, ++times % 5) != TG_BUSY;
}

static tg_status
finish(tg_query *query)
{
	tg_status status;

	while ((status = tg_query_poll(query)) == TG_BUSY && go_on(query))
		continue;
	return status;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void
append_column(char *key, const tg_vectors *rows, const shape *shape, unsigned row, unsigned column)
{
	tg_value value = {.word = 0};

	if (rows->kinds[column] >= TG_KIND_16)
		memcpy(&value, (const tg_value *) rows->data[column] + row, sizeof(value));
	else
		value.word = ((const uint64_t *) rows->data[column])[row];
	append_key(key, type_of(shape->keys[column]), rows->nulls[column][row] != 0, &value);
}

static void
take_row(const tg_vectors *rows, const shape *shape, unsigned row)
{
	char key[KEY_TEXT] = "";

	for (unsigned i = 0; i < shape->key_count; i++)
		append_column(key, rows, shape, row, i);
	deliver(find_group(key));
}

/* The next rows; waits for them. */
static tg_status
take_rows(tg_query *query, const tg_vectors **rows)
{
	tg_status status;

	while ((status = tg_query_rows(session, query, rows)) == TG_BUSY && go_on(query))
		continue;
	return status;
}

/* Takes all rows: TG_OK if they are those of the oracle, each as often. */
static tg_status
check_rows(tg_query *query, const shape *shape, bool *right_out)
{
	const tg_vectors *rows;
	tg_status status;

	while ((status = take_rows(query, &rows)) == TG_OK)
		for (unsigned i = 0; i < rows->count; i++)
			take_row(rows, shape, i);
	*right_out = all_delivered();
	return status == TG_NOT_FOUND ? TG_OK : status;
}

/* Two probes of many pairs, and many groups: something of all phases. */
static const shape large = {.probe_count = 2,
							.probes = {{.join = TG_JOIN_INNER, .chained = true}, {.join = TG_JOIN_LEFT, .match = true}},
							.key_count = 2,
							.keys = {ID, TEXT},
							.marked = -1,
							.twice = -1};

/* --- rows in order ---------------------------------------------------------------------------- */

#define SORTED_MAX 4000000

static const group **sorted; /* those of the rows of a query, as they came */
static unsigned sorted_count;

/* Whether a row does not come before the one in front of it. */
static bool
is_in_order(const shape *shape, const tg_vectors *rows, unsigned row)
{
	for (unsigned i = 0; i < shape->key_count; i++)
	{
		bool cell = rows->kinds[i] >= TG_KIND_16;
		size_t width = cell ? sizeof(tg_value) : sizeof(uint64_t);
		bool nulls[] = {rows->nulls[i][row - 1] != 0, rows->nulls[i][row] != 0};
		tg_value values[2] = {{.word = 0}, {.word = 0}};
		int order;

		for (unsigned j = 0; j < 2; j++)
			memcpy(&values[j], (const char *) rows->data[i] + (row - 1 + j) * width, width);
		if (nulls[0] != nulls[1])
			return nulls[shape->nulls_first[i] ? 0 : 1];
		order = nulls[0] ? 0 : order_of(type_of(shape->keys[i]), &values[0], &values[1]);
		if (order != 0)
			return (order < 0) != shape->descending[i];
	}
	return true;
}

/* Takes all rows, which are to be in order; if these are not the first, they are as before. */
static tg_status
check_sorted(tg_query *query, const shape *shape, bool first, bool *right_out)
{
	const tg_vectors *rows;
	unsigned count = 0;
	tg_status status;

	*right_out = true;
	while ((status = take_rows(query, &rows)) == TG_OK)
		for (unsigned i = 0; i < rows->count; i++, count++)
		{
			char key[KEY_TEXT] = "";
			group *of;

			tg_check(count < SORTED_MAX);
			for (unsigned j = 0; j < shape->key_count; j++)
				append_column(key, rows, shape, i, j);
			*right_out = *right_out && (i == 0 || is_in_order(shape, rows, i));
			of = find_group(key);
			if (first)
			{
				deliver(of);
				sorted[count] = of;
			}
			else
				*right_out = *right_out && count < sorted_count && sorted[count] == of;
		}
	if (first)
		sorted_count = count;
	*right_out = *right_out && (!first || all_delivered()) &&
				 count == (sorted_count < shape->limit ? sorted_count : shape->limit);
	return status == TG_NOT_FOUND ? TG_OK : status;
}

static tg_arena_report bytes_before;
static uint32_t references_before[TABLES];

static bool
job_bytes_are_back(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB] == bytes_before.used_by[TG_USE_JOB];
}

static bool
no_job_snapshot(void)
{
	unsigned entries[TG_SNAPSHOTS_OF_JOBS];
	unsigned count = 0;

	while (count < TG_SNAPSHOTS_OF_JOBS &&
		   tg_snapshot_publish_job(tg_load_acquire(tg_clock), false, &entries[count]) == TG_OK)
		count++;
	for (unsigned i = 0; i < count; i++)
		tg_snapshot_withdraw_job(entries[i]);
	return count == TG_SNAPSHOTS_OF_JOBS;
}

#define LOGS_MAX 16 /* write logs, of copies that the collector makes, have references, too */

/* Memory, entries of the horizon and references on the tables are back. */
static bool
nothing_is_left(void)
{
	bool clean = holds_in_time(session, job_bytes_are_back) && holds_in_time(session, no_job_snapshot);

	for (unsigned i = 0; i < TABLES; i++)
		clean = clean && tg_load_acquire(&tables[i]->references) <= references_before[i] + LOGS_MAX;
	return clean;
}

static void
describe(const shape *shape)
{
	printf("# filter %d last %d, wide %d, marked %d, twice %d, fed %u, in parts %d %d, keys", shape->filter,
		   shape->filter_last, shape->wide, shape->marked, shape->twice, shape->fed, shape->dims_in_parts,
		   shape->facts_in_parts);
	for (unsigned i = 0; i < shape->key_count; i++)
		printf(" %u", shape->keys[i]);
	for (unsigned i = 0; i < shape->probe_count; i++)
		printf(", probe: join %u text %d match %d chained %d", (unsigned) shape->probes[i].join,
			   shape->probes[i].by_text, shape->probes[i].match, shape->probes[i].chained);
	printf("\n");
}

static unsigned
last_step(const shape *shape)
{
	unsigned step = shape->probe_count + (shape->marked >= 0);

	for (unsigned i = 0; i < shape->probe_count; i++)
		step += shape->probes[i].chained + (shape->dims_in_parts && shape->marked != (int) i);
	return step;
}

static void
check_plans(unsigned workers)
{
	unsigned most = 0;
	unsigned number;

	for (number = 0; number < PLANS / PLANS_SHARE; number++)
	{
		const view *view = &views[number % WORLDS];
		const terms terms = {.tasks = number % 5, .in_place = number % 6 == 0};
		shape shape = random_shape();
		tg_query *query;
		tg_status status = start(view, &shape, &terms, &query);

		if (status == TG_OK)
			status = finish(query);
		compute(&shape, &view->world);
		if (status != TG_OK || !groups_are_right(query, &shape))
		{
			printf("# plan %u, %s, %u tasks: %d, %u groups\n", number, view->name, terms.tasks, (int) status,
				   group_count);
			describe(&shape);
			tg_query_end(session, query);
			break;
		}
		most = group_count > most ? group_count : most;
		tg_query_stop(session, query);
		for (unsigned i = 0; i <= last_step(&shape); i++)
			looked_up += tg_query_step_report(query, i).keys_looked_up;
		tg_query_end(session, query);
	}
	unit_ok(number == PLANS / PLANS_SHARE, "random plans, %u workers", workers);
	unit_ok(most > 2048, "up to %u groups", most);
	unit_ok(nothing_is_left(), "nothing is left");
}

static void
check_deliveries(unsigned workers)
{
	uint64_t most = 0;
	unsigned number;

	for (number = 0; number < PLANS / PLANS_SHARE; number++)
	{
		const view *view = &views[number % WORLDS];
		const terms terms = {.tasks = number % 5, .in_place = number % 6 == 0};
		shape shape = random_shape();
		bool right = false;
		uint64_t rows;
		tg_query *query;
		tg_status status;

		shape.result = number % 2 == 0 ? KEPT : STREAMS;
		shape.twice = -1;
		compute(&shape, &view->world);
		status = start(view, &shape, &terms, &query);
		if (status == TG_OK)
			status = check_rows(query, &shape, &right);
		tg_query_stop(session, query);
		rows = status == TG_OK ? tg_query_step_report(query, last_step(&shape)).rows_kept : 0;
		tg_query_end(session, query);
		if (status != TG_OK || !right)
		{
			printf("# rows %u, %s, %u tasks: %d\n", number, view->name, terms.tasks, (int) status);
			describe(&shape);
			break;
		}
		most = rows > most ? rows : most;
	}
	unit_ok(number == PLANS / PLANS_SHARE, "rows of random plans, %u workers", workers);
	unit_ok(most > 20000, "up to %" PRIu64 " rows", most);
	unit_ok(nothing_is_left(), "nothing is left");
}

/* All rows in order, then the first ones of them: few, or more than a task keeps in a heap. */
static tg_status
sort_all_and_some(const view *view, shape *shape, const terms *terms, bool *right_out)
{
	static const uint64_t limits[] = {UINT64_MAX, 1, 30, 1000, 10000};
	tg_status status = TG_OK;

	*right_out = true;
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]) && status == TG_OK && *right_out; i++)
	{
		tg_query *query;

		shape->limit = limits[i];
		status = start(view, shape, terms, &query);
		if (status == TG_OK)
			status = check_sorted(query, shape, i == 0, right_out);
		tg_query_end(session, query);
	}
	return status;
}

static void
check_order(unsigned workers)
{
	unsigned most = 0;
	unsigned number;

	sorted = calloc(SORTED_MAX, sizeof(*sorted));
	for (number = 0; number < PLANS / PLANS_SHARE / 3; number++)
	{
		const view *view = &views[number % WORLDS];
		const terms terms = {.tasks = number % 5, .in_place = number % 6 == 0};
		shape shape = number == 2 ? large : random_shape(); /* one that has many rows for sure */
		bool right = false;
		tg_status status;

		shape.result = SORTED;
		shape.twice = -1;
		if (shape.key_count == 0)
			shape.keys[shape.key_count++] = number % 2 == 0 ? ID : NUMERIC;
		for (unsigned i = 0; i < shape.key_count; i++)
		{
			shape.descending[i] = unit_below(&seed, 2) == 0;
			shape.nulls_first[i] = unit_below(&seed, 2) == 0;
		}
		compute(&shape, &view->world);
		status = sort_all_and_some(view, &shape, &terms, &right);
		if (status != TG_OK || !right)
		{
			printf("# order %u, %s, %u tasks, limit %" PRIu64 ": %d\n", number, view->name, terms.tasks, shape.limit,
				   (int) status);
			describe(&shape);
			break;
		}
		most = sorted_count > most ? sorted_count : most;
	}
	free(sorted);
	unit_ok(number == PLANS / PLANS_SHARE / 3, "rows of random plans in order, %u workers", workers);
	unit_ok(most > 10000, "up to %u rows", most);
	unit_ok(nothing_is_left(), "nothing is left");
}

static void
set_workers(unsigned workers)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.lightweight_job_level = 30;
	settings.watcher_interval_us = 1000;
	tg_check(tg_scheduler_stop(WAIT_SECONDS * 1000));
	tg_scheduler_settings_set(&settings);
	tg_check(tg_scheduler_start() == TG_OK);
}

/* Starts the runtime, and makes the tables and views. */
static void
begin_world(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 2 << 30, .limit_bytes = (size_t) 1 << 30, .session_max = 16},
		.worker_max = WORKERS};
	tg_scheduler_settings settings = tg_scheduler_settings_default(WORKERS);

	printf("# seed %" PRIu64 "\n", seed);
	tg_host_wake = wake_waiter;
	tg_check(tg_runtime_map(&config.arena) == TG_OK);
	tg_check(tg_runtime_create(&config) == TG_OK);
	tg_check(tg_runtime_start(&settings) == TG_OK);
	tg_check(tg_session_open(&session) == TG_OK);
	make_tables();
	open_views();
#ifdef TG_FAILPOINTS
	tg_failpoint_set(refuse_scan);
#endif
	tg_arena_report_get(&bytes_before);
	for (unsigned i = 0; i < TABLES; i++)
		references_before[i] = tg_load_acquire(&tables[i]->references);
}

static int
end_world(void)
{
	tg_txn_abort(session, open_writer.txn);
	tg_check(tg_runtime_stop(WAIT_SECONDS * 1000));
	return unit_done();
}

#endif /* TG_UNIT_QUERY_RUN_H */

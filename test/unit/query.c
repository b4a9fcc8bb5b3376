/*
 * query.c
 *	  Queries as jobs against brute force: random plans over tables that transactions have filled,
 *	  changed and extended (query_world.h, query_shape.h); then queries that do not run smoothly.
 *
 * The oracle joins by nested loops and puts the results into groups by their keys as text.
 */
#include "runtime/runtime.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/query/query.h"
#include "test/unit/query_shape.h"
#include "test/unit/unit.h"
#include "test/unit/waiter.h"

#define WORKERS 3

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PLANS 30
#define ENDS 60
#else
#define PLANS 120
#define ENDS 150
#endif

/* --- brute force -------------------------------------------------------------------------- */

#define GROUPS_MAX 32768
#define KEY_TEXT 160

typedef struct group
{
	bool used;
	bool met; /* the query has it */
	char key[KEY_TEXT];
	tg_total totals[AGGREGATES];
	values extremes[AGGREGATES]; /* where texts point to */
} group;

static group groups[GROUPS_MAX];
static unsigned group_count;

/* A value of a tuple: its type, whether it is NULL, and the value. */
typedef struct datum
{
	tg_vector_type type;
	bool null;
	tg_value value;
} datum;

static datum
datum_at(const shape *shape, const values *fact, const values *const *matches, unsigned input)
{
	unsigned probe = input < COLUMNS ? 0 : (input - COLUMNS) / DIM_COLUMNS;
	unsigned field = input < COLUMNS ? input : (input - COLUMNS) % DIM_COLUMNS;
	const values *from = fact;
	datum made;

	if (input >= COLUMNS && has_fields(shape, probe))
	{
		from = matches[probe];
		made.type = (tg_vector_type) dim_types[field];
	}
	else
	{
		if (input >= COLUMNS)
			field = dim_types[field] == TG_V_TEXT ? TEXT : ID;
		made.type = (tg_vector_type) fact_types[field];
	}
	made.null = from == NULL || from->nulls[field];
	if (from != NULL)
		made.value = from->of[field];
	return made;
}

static double
float_of(const tg_value *value)
{
	double number;

	memcpy(&number, &value->word, sizeof(number));
	return number;
}

static void
append_key(char *key, tg_vector_type type, bool null, const tg_value *value)
{
	uint32_t bytes;
	const char *text;

	key += strlen(key);
	if (null)
		strcpy(key, "NULL|");
	else if (type == TG_V_TEXT)
	{
		text = tg_string_bytes(&value->string, &bytes);
		sprintf(key, "'%.*s'|", (int) bytes, text);
	}
	else if (type == TG_V_FLOAT && isnan(float_of(value)))
		strcpy(key, "NaN|");
	else if (type == TG_V_FLOAT)
		sprintf(key, "%g|", float_of(value) + 0.0);
	else
		sprintf(key, "%" PRId64 "|", (int64_t) value->word);
}

static group *
find_group(const char *key)
{
	uint64_t h = 7;
	unsigned at;

	for (const char *c = key; *c != 0; c++)
		h = hash(h ^ (unsigned char) *c);
	for (at = h % GROUPS_MAX; groups[at].used && strcmp(groups[at].key, key) != 0;)
		at = (at + 1) % GROUPS_MAX;
	return &groups[at];
}

static int
order_of(tg_vector_type type, const tg_value *a, const tg_value *b)
{
	uint32_t a_bytes;
	uint32_t b_bytes;
	const char *x;
	const char *y;
	int order;

	if (type == TG_V_FLOAT)
	{
		double v = float_of(a);
		double w = float_of(b);

		return isnan(v) || isnan(w) ? (isnan(v) != 0) - (isnan(w) != 0) : (v > w) - (v < w);
	}
	if (type != TG_V_TEXT)
		return ((int64_t) a->word > (int64_t) b->word) - ((int64_t) a->word < (int64_t) b->word);
	x = tg_string_bytes(&a->string, &a_bytes);
	y = tg_string_bytes(&b->string, &b_bytes);
	order = memcmp(x, y, a_bytes < b_bytes ? a_bytes : b_bytes);
	return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

static void
take_total(group *into, unsigned index, const datum *argument)
{
	tg_total *total = &into->totals[index];
	unsigned function = aggregates[index].function;

	total->count++;
	if (function == TG_SUM_INT)
		total->sum += (int64_t) argument->value.word;
	else if (function == TG_SUM_FLOAT)
		total->total += float_of(&argument->value);
	else if (function != TG_COUNT)
	{
		int order = total->count == 1 ? 0 : order_of(argument->type, &argument->value, &total->value);

		if (total->count > 1 && (function == TG_MIN ? order >= 0 : order <= 0))
			return;
		total->value = argument->value;
		if (argument->type == TG_V_TEXT && tg_string_is_out(&total->value.string))
		{
			char *copy = into->extremes[index].datum;

			memcpy(copy, total->value.string.blob, tg_string_blob_bytes(&total->value.string));
			total->value.string.blob = copy;
		}
	}
}

static void
take_tuple(const shape *shape, const values *fact, const values *const *matches)
{
	char key[KEY_TEXT] = "";
	group *into;

	for (unsigned i = 0; i < shape->key_count; i++)
	{
		datum part = datum_at(shape, fact, matches, shape->keys[i]);

		append_key(key, part.type, part.null, &part.value);
	}
	into = find_group(key);
	if (!into->used)
	{
		memset(into, 0, sizeof(*into));
		into->used = true;
		strcpy(into->key, key);
		tg_check(++group_count < GROUPS_MAX);
	}
	for (unsigned i = 0; i < aggregate_count(shape); i++)
	{
		datum argument = {.null = false};
		const tg_aggregate *aggregate = &aggregates[i];

		if (aggregate->argument != TG_REGISTER_NONE)
			argument = datum_at(shape, fact, matches, aggregate->argument);
		if (!argument.null && (aggregate->filter == TG_REGISTER_NONE || (!fact->nulls[BOOL] && fact->of[BOOL].word)))
			take_total(into, i, &argument);
	}
}

static values dim_values[DIMS];
static bool dim_chained[DIMS]; /* its key is in the third table */

static bool
pair_matches(const shape *shape, unsigned probe, const values *fact, unsigned dim)
{
	const values *other = &dim_values[dim];

	if (fact->nulls[KEY] || other->nulls[0] || fact->of[KEY].word != other->of[0].word)
		return false;
	if (shape->probes[probe].chained && !dim_chained[dim])
		return false;
	if (shape->probes[probe].by_text &&
		(fact->nulls[TEXT] || other->nulls[1] || order_of(TG_V_TEXT, &fact->of[TEXT], &other->of[1]) != 0))
		return false;
	return !shape->probes[probe].match ||
		   (!other->nulls[DIM_VALUE] && (int64_t) fact->of[ID].word < (int64_t) other->of[DIM_VALUE].word);
}

/* Whether a fact is not in the keys of the dims: unknown where a NULL is compared. */
static bool
is_not_in(const shape *shape, const world *world, unsigned probe, const values *fact)
{
	bool any = false;
	bool any_null = false;

	for (unsigned i = 0; i < DIMS; i++)
		if (world->dims[i].alive && (!shape->probes[probe].chained || (dim_chained[i] && !dim_values[i].nulls[0])))
		{
			any = true;
			any_null |= dim_values[i].nulls[0];
			if (pair_matches(shape, probe, fact, i))
				return false;
		}
	return !any || (!any_null && !fact->nulls[KEY]);
}

static void
join_tuple(const shape *shape, const world *world, unsigned probe, const values *fact, const values **matches)
{
	unsigned count = 0;
	tg_join join;

	if (probe == shape->probe_count)
	{
		take_tuple(shape, fact, matches);
		return;
	}
	join = shape->probes[probe].join;
	if (join == TG_JOIN_NOT_IN)
	{
		matches[probe] = NULL;
		if (is_not_in(shape, world, probe, fact))
			join_tuple(shape, world, probe + 1, fact, matches);
		return;
	}
	for (unsigned i = 0; i < DIMS; i++)
		if (world->dims[i].alive && pair_matches(shape, probe, fact, i))
		{
			count++;
			matches[probe] = &dim_values[i];
			if (join == TG_JOIN_INNER || join == TG_JOIN_LEFT)
				join_tuple(shape, world, probe + 1, fact, matches);
		}
	matches[probe] = NULL;
	if ((join == TG_JOIN_SEMI && count > 0) || (count == 0 && (join == TG_JOIN_ANTI || join == TG_JOIN_LEFT)))
		join_tuple(shape, world, probe + 1, fact, matches);
}

static void
compute(const shape *shape, const world *world)
{
	const values *matches[PROBES] = {NULL};

	for (unsigned i = 0; i < GROUPS_MAX; i++)
		groups[i].used = groups[i].met = false;
	group_count = 0;
	for (unsigned i = 0; i < DIMS; i++)
	{
		make_row(1, &world->dims[i], &dim_values[i]);
		dim_chained[i] = dim_values[i].of[0].word % 2 == 0;
	}
	if (shape->key_count == 0)
	{
		group *all = find_group("");

		memset(all, 0, sizeof(*all));
		all->used = true;
		group_count = 1;
	}
	for (unsigned i = 0; i < FACTS; i++)
	{
		values fact;

		make_row(0, &world->facts[i], &fact);
		if (world->facts[i].alive && (!shape->filter || (!fact.nulls[KEY] && fact.of[KEY].word < FILTERED)))
			join_tuple(shape, world, 0, &fact, matches);
	}
}

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

	for (; tg_query_next(query, keys, nulls, totals); count++)
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

static tg_status
start(const view *view, const shape *shape, const terms *terms, tg_query **query_out)
{
	const tg_query_config config = {.snapshot = view->snapshot,
									.tasks = terms->tasks,
									.rows = terms->in_place ? 100 : 1000000,
									.waiter = &waiter,
									.memory_max = terms->memory_max};
	tg_check(tg_query_create(session, &config, query_out) == TG_OK);
	return tg_query_start(session, *query_out, make_plan(*query_out, shape));
}

static tg_status
finish(tg_query *query)
{
	tg_status status;

	while ((status = tg_query_poll(query)) == TG_BUSY && wait_for_wake())
		continue;
	return status;
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
	printf("# filter %d last %d, wide %d, marked %d, twice %d, keys", shape->filter, shape->filter_last, shape->wide,
		   shape->marked, shape->twice);
	for (unsigned i = 0; i < shape->key_count; i++)
		printf(" %u", shape->keys[i]);
	for (unsigned i = 0; i < shape->probe_count; i++)
		printf(", probe: join %u text %d match %d chained %d", (unsigned) shape->probes[i].join,
			   shape->probes[i].by_text, shape->probes[i].match, shape->probes[i].chained);
	printf("\n");
}

static void
check_plans(unsigned workers)
{
	unsigned most = 0;
	unsigned number;

	for (number = 0; number < PLANS; number++)
	{
		const view *view = &views[number % 4];
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
		tg_query_end(session, query);
	}
	unit_ok(number == PLANS, "random plans, %u workers", workers);
	unit_ok(most > 2048, "up to %u groups", most);
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

/* --- bad luck -------------------------------------------------------------------------------- */

/* Two probes of many pairs, and many groups: something of all phases. */
static const shape large = {.probe_count = 2,
							.probes = {{.join = TG_JOIN_INNER, .chained = true}, {.join = TG_JOIN_LEFT, .match = true}},
							.key_count = 2,
							.keys = {ID, TEXT},
							.marked = -1,
							.twice = -1};

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

static void
check_early_end(void)
{
	bool clean = true;

	for (unsigned i = 0; i < ENDS && clean; i++)
	{
		tg_query *query;

		tg_check(start(&views[3], &large, &(terms){.tasks = 1 + i % 4}, &query) == TG_OK);
		usleep(i * 100);
		tg_query_end(session, query);
		clean = i % 10 != 0 || nothing_is_left();
	}
	unit_ok(clean && nothing_is_left(), "ended at any moment: nothing is left");
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

		tg_check(start(&views[2], &large, &(terms){.tasks = 3}, &query) == TG_OK);
		tg_check(pthread_create(&thread, NULL, stop_pool, &pause_us) == 0);
		status = finish(query);
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
	tg_snapshot_withdraw(session, view.entry);
	unit_ok(nothing_is_left(), "nothing is left");
}

int
main(void)
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
	tg_arena_report_get(&bytes_before);
	for (unsigned i = 0; i < TABLES; i++)
		references_before[i] = tg_load_acquire(&tables[i]->references);
	for (unsigned workers = 1; workers <= WORKERS; workers++)
	{
		set_workers(workers);
		check_plans(workers);
	}
	check_memory();
	check_room();
	check_early_end();
	check_stop();
	check_refused_start();
	check_unfit();
	tg_txn_abort(session, open_writer.txn);
	tg_check(tg_runtime_stop(WAIT_SECONDS * 1000));
	return unit_done();
}

/*
 * kinds_history.h
 *	  Small random histories of all kinds of transactions on the real code, and their judge.
 *
 * A scenario is a handful of scripts over two tables of three keys; every write stores a value of
 * its own.  Each script is run by a client: a coroutine or a thread, as the includer decides
 * (history).  All that clients saw and did is recorded, and judged when all have ended:
 *
 *	SNAPSHOT	every read, also of transactions that failed later, returned the value committed
 *				last at or before its snapshot (nothing dirty, nothing collected too early)
 *	ORDER		for SERIALIZABLE, SHORT, LONG and READ ONLY transactions that committed: all
 *				committed transactions, run one after the other, give each of their reads, and the
 *				contents of the tables at the end; their order is that of C (writers, and
 *				transactions that validated), R (SERIALIZABLE ones that wrote nothing), R_L and S
 *	LONG		fails only by L3, meets no other writer, and no two that overlap have both started
 *	READ ONLY	never fails
 *	STUCK		(the includer's) all wait, and none of the waits is part of a cycle
 */
#ifndef TG_UNIT_KINDS_HISTORY_H
#define TG_UNIT_KINDS_HISTORY_H

#include "test/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/txn/txn_internal.h"

#define TABLES 2
#define KEYS 3
#define ROWS (TABLES * KEYS)
#define CLIENTS 5
#define OPS 4
#define READS_MAX 256
#define ABSENT 0

typedef enum kind
{
	RC,
	RR,
	SER,
	SHORT,
	RTX,
	DEFERRABLE,
	LONG,
	KINDS
} kind;

static const char *const kind_names[] = {"RC", "RR", "SER", "SHORT", "READ ONLY", "DEFERRABLE", "LONG"};

typedef enum op_kind
{
	READ,
	SCAN,
	WRITE,
	INSERT,
	DELETE,
	ROLLBACK
} op_kind;

static const char *const op_names[] = {"read", "scan", "write", "insert", "delete", "rollback"};

typedef struct op
{
	op_kind what;
	int table;
	int key;
} op;

typedef struct script
{
	kind kind;
	int op_count;
	op ops[OPS];
	unsigned preserve; /* rows: bit table * KEYS + key */
	unsigned declared; /* LONG, READ ONLY: areas it reads; 0: not declared */
	int priority;
} script;

typedef struct scenario
{
	int count;
	script scripts[CLIENTS];
	unsigned initial; /* rows that are there at first */
	int collections;
	bool no_victims; /* no transaction needs to be the victim of a deadlock */
} scenario;

/* --- the record ------------------------------------------------------------------------ */

typedef struct read_record
{
	int row;
	int64_t value;
	tg_time snapshot;
} read_record;

typedef enum ending
{
	RUNNING,
	COMMITTED,
	SERIALIZATION, /* 40001 */
	EARLIER_LONG,  /* L3 */
	DEADLOCK,
	ASKED
} ending;

typedef struct client
{
	int number;
	const script *script;
	tg_session *session;
	tg_txn *txn;
	tg_reads *reads;
	tg_writer writer;
	tg_snapshot snapshot;
	unsigned entry;
	bool has_snapshot;
	bool wrote;
	bool rereads;
	ending ending;
	tg_time commit;		/* C, where one was drawn */
	tg_time place;		/* snapshot at the end */
	uint64_t sequence;	/* LONG */
	int64_t last[ROWS]; /* the value that it has written itself; -1: none */
	uint32_t woken;		/* for its start */
	read_record reads_done[READS_MAX];
	int read_count;
} client;

static client clients[CLIENTS];
static tg_session *collector;
static tg_table *tables[TABLES];
static int64_t next_value = 1;
static char fault[200];

/* The includer's. */
static struct
{
	void (*wait)(client *c, const tg_wait *wait); /* until that one has ended; or fails */
	void (*wait_start)(client *c);				  /* until c->woken */
	void (*started)(client *c);					  /* a LONG has */
} history;

static void __attribute__((format(printf, 1, 2))) report_fault(const char *format, ...)
{
	va_list arguments;

	pthread_mutex_lock(&unit_mutex);
	va_start(arguments, format);
	if (fault[0] == 0)
		vsnprintf(fault, sizeof(fault), format, arguments);
	va_end(arguments);
	pthread_mutex_unlock(&unit_mutex);
}

/* --- keys and areas ---------------------------------------------------------------------- */

static const tg_key_part key_part = {.column = 0, .code = TG_KEY_SIGNED};

static size_t
key_of(int key, unsigned char *bytes)
{
	const tg_value value = {.word = (uint64_t) key};

	return tg_key_append(bytes, 0, &key_part, TG_KIND_8, &value);
}

typedef struct area_list
{
	tg_area areas[ROWS];
	unsigned char bytes[ROWS][16];
	unsigned count;
} area_list;

/* The areas of a mask of rows: a table as a whole if all its keys are in, single keys otherwise. */
static void
areas_of(unsigned rows, area_list *list)
{
	list->count = 0;
	for (int table = 0; table < TABLES; table++)
	{
		unsigned mask = rows >> (table * KEYS) & ((1u << KEYS) - 1);

		if (mask == (1u << KEYS) - 1)
		{
			list->areas[list->count++] = (tg_area){.table = tables[table]};
			continue;
		}
		for (int key = 0; key < KEYS; key++)
		{
			unsigned char *bytes = list->bytes[list->count];
			size_t length;

			if ((mask >> key & 1) == 0)
				continue;
			length = key_of(key, bytes);
			list->areas[list->count++] = (tg_area){.table = tables[table],
												   .low = bytes,
												   .high = bytes,
												   .low_bytes = (uint32_t) length,
												   .high_bytes = (uint32_t) length,
												   .low_inclusive = true,
												   .high_inclusive = true};
		}
	}
}

static unsigned
rows_of(const op *o)
{
	return o->what == SCAN ? ((1u << KEYS) - 1) << (o->table * KEYS) : 1u << (o->table * KEYS + o->key);
}

/* --- failing and waiting --------------------------------------------------------------------- */

static bool
fail(client *c, ending how)
{
	if (c->script->kind == LONG && how == SERIALIZATION)
		report_fault("LONG %d was made to fail", c->number);
	if (c->script->kind == LONG && how == DEADLOCK)
		report_fault("LONG %d is the victim of a deadlock", c->number);
	if (c->script->kind == RTX || c->script->kind == DEFERRABLE)
		report_fault("READ ONLY %d failed", c->number);
	c->ending = how;
	return false;
}

/* False: it closes a circle, and gives up. */
static bool
wait_for(client *c, const tg_wait *wait)
{
	bool goes_on = true;

	tg_assert(!tg_epoch_inside(c->session));
	if (c->script->kind == LONG && wait->kind != TG_WAIT_WRITER && wait->kind != TG_WAIT_LONG &&
		wait->kind != TG_WAIT_OUTCOME)
		report_fault("LONG %d meets a writer", c->number);
	tg_wait_begin(c->session, wait);
	if (tg_wait_closes_circle(c->session, wait))
		goes_on = fail(c, DEADLOCK);
	else
		history.wait(c, wait);
	tg_wait_end(c->session);
	return goes_on && c->ending == RUNNING;
}

static bool
is_tracking(const client *c)
{
	return c->script->kind == SER || c->script->kind == SHORT;
}

/* --- snapshots -------------------------------------------------------------------------------- */

static bool
take_snapshot(client *c)
{
	const script *s = c->script;
	tg_areas *declared = NULL;
	area_list list;
	tg_wait wait;

	if (c->has_snapshot && s->kind != RC)
		return true;
	if (c->has_snapshot)
		tg_snapshot_withdraw(c->session, c->entry);
	c->has_snapshot = false;
	if (s->kind == RTX || s->kind == DEFERRABLE)
	{
		tg_status status;

		areas_of(s->declared, &list);
		if (tg_areas_create(c->session, list.areas, list.count, &declared) != TG_OK)
			abort();
		while ((status = tg_snapshot_publish_safe(c->session, s->kind == DEFERRABLE, declared, NULL, &c->snapshot.time,
												  &c->entry, &wait)) == TG_BUSY)
		{
			if (!wait_for(c, &wait))
				break;
		}
		tg_areas_destroy(c->session, declared);
		if (status != TG_OK)
			return false;
	}
	else if (is_tracking(c))
		c->snapshot.time = tg_snapshot_publish_from(c->session, &c->entry);
	else
		c->snapshot.time = tg_snapshot_publish(c->session, &c->entry);
	c->has_snapshot = true;
	return true;
}

static bool
validate(client *c)
{
	for (;;)
	{
		tg_conflict conflict;
		tg_wait wait;
		tg_status status = tg_validation_step(c->session, c->reads, &conflict, &wait);

		if (status == TG_OK || status == TG_CHANGED)
			return status == TG_OK;
		if (status == TG_BUSY && !wait_for(c, &wait))
			return false;
	}
}

/* W5. */
static bool
extend(client *c)
{
	tg_time later = tg_load_seq_cst(tg_clock);

	tg_validation_begin(c->reads, c->snapshot.time, later, false);
	if (!validate(c))
		return fail(c, SERIALIZATION);
	tg_snapshot_raise(c->session, c->entry, later);
	c->snapshot.time = later;
	return true;
}

/* A row to be written is newer than the snapshot. */
static bool
meet_newer(client *c)
{
	if (is_tracking(c))
		return extend(c);
	return c->script->kind == RC || fail(c, SERIALIZATION);
}

/* --- operations ------------------------------------------------------------------------------- */

static int64_t
value_of(tg_version version)
{
	tg_value value;

	tg_chunk_value(tg_version_chunk(version), 1, tg_version_slot(version), &value);
	return (int64_t) value.word;
}

static void
record_read(client *c, int row, int64_t value)
{
	if (c->last[row] >= 0)
	{
		if (c->last[row] != value)
			report_fault("client %d does not see what it wrote itself to row %d", c->number, row);
	}
	else if (c->read_count < READS_MAX)
		c->reads_done[c->read_count++] = (read_record){.row = row, .value = value, .snapshot = c->snapshot.time};
}

/* Reads a key at the snapshot; notes it if asked to.  False: it has failed. */
static bool
find(client *c, int table, int key, bool note, uint32_t *row_out, int64_t *value_out, tg_version *noted_out)
{
	unsigned char bytes[16];
	size_t length = key_of(key, bytes);

	for (;;)
	{
		tg_version version;
		tg_status status;
		tg_wait wait;

		*noted_out = TG_VERSION_NONE;
		tg_failpoint("read");
		tg_epoch_enter(c->session);
		status = tg_txn_find(&c->snapshot, tables[table], bytes, length, row_out, &version, &wait);
		if (status == TG_NOT_FOUND && note)
			tg_reads_add_key(c->session, c->reads, tables[table], NULL, bytes, length);
		if (status == TG_OK && note && tg_reads_add_version(c->session, c->reads, version))
			*noted_out = version;
		*value_out = status == TG_OK ? value_of(version) : ABSENT;
		tg_epoch_leave(c->session);
		if (status != TG_BUSY)
			return true;
		if (!wait_for(c, &wait))
			return false;
	}
}

static bool
scan(client *c, const op *o)
{
	tg_btree_cursor cursor;

	tg_btree_cursor_init(&cursor, tables[o->table]->index, NULL, 0, true, NULL, 0, true, false);
	if (is_tracking(c))
		(void) tg_reads_add_range(c->session, c->reads, tables[o->table], NULL, &cursor);
	for (int key = 0; key < KEYS; key++)
	{
		tg_version noted;
		int64_t value;
		uint32_t row;

		if (!find(c, o->table, key, false, &row, &value, &noted))
			return false;
		record_read(c, o->table * KEYS + key, value);
	}
	return true;
}

static bool
refused(client *c, tg_status status)
{
	if (status == TG_FORBIDDEN && c->script->kind == LONG)
		return fail(c, ASKED);
	if (status == TG_CONFLICT)
		return fail(c, SERIALIZATION);
	report_fault("client %d: status %d", c->number, (int) status);
	return fail(c, ASKED);
}

static void
make_values(tg_value values[2], int key, int64_t value)
{
	values[0].word = (uint64_t) key;
	values[1].word = (uint64_t) value;
}

static bool
put(client *c, const op *o)
{
	static const bool nulls[2];
	int64_t value = tg_fetch_add_relaxed(&next_value, 1);
	unsigned char bytes[16];
	tg_value values[2];

	make_values(values, o->key, value);
	for (;;)
	{
		tg_version noted;
		tg_status status;
		int64_t found;
		uint32_t row;
		tg_wait wait;

		if (!take_snapshot(c) || !find(c, o->table, o->key, is_tracking(c), &row, &found, &noted))
			return false;
		if (found != ABSENT)
		{
			record_read(c, o->table * KEYS + o->key, found);
			return true;
		}
		tg_failpoint("insert");
		status = tg_txn_insert(&c->writer, tables[o->table], bytes, key_of(o->key, bytes), values, nulls, &row, &wait);
		switch (status)
		{
			case TG_OK:
				record_read(c, o->table * KEYS + o->key, ABSENT);
				c->last[o->table * KEYS + o->key] = value;
				c->wrote = true;
				return true;
			case TG_BUSY:
				if (!wait_for(c, &wait))
					return false;
				break;
			case TG_EXISTS:
				if (c->script->kind == LONG)
					report_fault("LONG %d finds a key inserted", c->number);
				if (!meet_newer(c))
					return false;
				break;
			default:
				return refused(c, status);
		}
	}
}

/* UPDATE or DELETE of a key. */
static bool
change(client *c, const op *o)
{
	static const bool nulls[2];
	int64_t value = o->what == DELETE ? ABSENT : tg_fetch_add_relaxed(&next_value, 1);
	tg_value values[2];

	make_values(values, o->key, value);
	for (;;)
	{
		tg_version version;
		tg_version noted;
		tg_status status;
		int64_t found;
		uint32_t row;
		tg_wait wait;

		if (!take_snapshot(c) || !find(c, o->table, o->key, is_tracking(c), &row, &found, &noted))
			return false;
		if (found == ABSENT)
		{
			record_read(c, o->table * KEYS + o->key, found);
			return true;
		}
		tg_epoch_enter(c->session);
		status = tg_txn_newest(&c->writer, &c->snapshot, tables[o->table], &row, &version, &wait);
		tg_epoch_leave(c->session);
		if (status == TG_OK || (status == TG_CHANGED && c->script->kind == RC))
		{
			tg_failpoint("change");
			status = o->what == DELETE
						 ? tg_txn_delete(&c->writer, tables[o->table], row, version, &wait)
						 : tg_txn_update(&c->writer, tables[o->table], row, version, values, nulls, &wait);
			if (status == TG_OK)
			{
				record_read(c, o->table * KEYS + o->key, found);
				c->last[o->table * KEYS + o->key] = value;
				c->wrote = true;
				return true;
			}
		}
		if (noted != TG_VERSION_NONE)
			tg_reads_forget_version(c->reads, noted);
		switch (status)
		{
			case TG_AGAIN:
				break;
			case TG_BUSY:
				if (!wait_for(c, &wait))
					return false;
				break;
			case TG_CHANGED:
			case TG_NOT_FOUND:
				if (c->script->kind == LONG)
					report_fault("LONG %d finds a row changed", c->number);
				if (!meet_newer(c))
					return false;
				break;
			default:
				return refused(c, status);
		}
	}
}

static bool
run_op(client *c, const op *o)
{
	tg_version noted;
	int64_t value;
	uint32_t row;

	c->snapshot.command = ++c->writer.command;
	tg_failpoint("operation");
	if (o->what == ROLLBACK)
		return fail(c, ASKED);
	if (!take_snapshot(c))
		return false;
	if (c->script->kind == LONG)
	{
		area_list list;

		areas_of(rows_of(o), &list);
		for (unsigned i = 0; i < list.count; i++)
		{
			tg_status status = tg_long_check_read(c->session, c->txn, &list.areas[i]);

			if (status != TG_OK)
				return fail(c, status == TG_CONFLICT ? EARLIER_LONG : ASKED);
		}
	}
	switch (o->what)
	{
		case SCAN:
			return scan(c, o);
		case INSERT:
			return put(c, o);
		case WRITE:
		case DELETE:
			return change(c, o);
		default:
			if (!find(c, o->table, o->key, is_tracking(c), &row, &value, &noted))
				return false;
			record_read(c, o->table * KEYS + o->key, value);
			return true;
	}
}

/* --- a transaction ---------------------------------------------------------------------------- */

static bool
start_long(client *c)
{
	const script *s = c->script;
	area_list preserve;
	area_list declared;
	tg_status status;
	tg_wait wait;

	areas_of(s->preserve, &preserve);
	areas_of(s->declared, &declared);
	if (tg_long_publish(c->session, c->txn,
						&(tg_long_config){.preserve = preserve.areas,
										  .preserve_count = preserve.count,
										  .include = declared.areas,
										  .include_count = declared.count,
										  .priority = s->priority,
										  .waiter = c}) != TG_OK)
		abort();
	for (;;)
	{
		tg_store_seq_cst(&c->woken, 0);
		status = tg_long_start(c->session, c->txn, &c->snapshot.time, &wait);
		if (status == TG_OK)
			break;
		tg_wait_begin(c->session, &wait);
		history.wait_start(c);
		tg_wait_end(c->session);
		if (c->ending != RUNNING)
			return false;
	}
	c->has_snapshot = true;
	c->sequence = c->txn->preserve->sequence;
	return true;
}

static void
begin(client *c)
{
	static const tg_txn_kind txn_kinds[] = {
		[RC] = TG_TXN_ORDINARY,	  [RR] = TG_TXN_ORDINARY,		   [SER] = TG_TXN_ORDINARY, [SHORT] = TG_TXN_SHORT,
		[RTX] = TG_TXN_READ_ONLY, [DEFERRABLE] = TG_TXN_READ_ONLY, [LONG] = TG_TXN_LONG};
	static uint64_t hosts;

	c->ending = RUNNING;
	c->commit = c->place = c->sequence = 0;
	c->has_snapshot = c->wrote = false;
	c->read_count = 0;
	memset(c->last, -1, sizeof(c->last));
	c->snapshot = (tg_snapshot){.txn = c->session->id, .command = 1};
	c->txn = tg_txn_begin(c->session, tg_fetch_add_relaxed(&hosts, 1) + 1);
	tg_txn_describe(c->txn, txn_kinds[c->script->kind],
					c->script->kind == RC	? TG_READ_COMMITTED
					: c->script->kind == RR ? TG_REPEATABLE_READ
											: TG_SERIALIZABLE,
					kind_names[c->script->kind]);
	c->reads = NULL;
	if (is_tracking(c))
	{
		if (tg_reads_create(c->session, &c->reads) != TG_OK)
			abort();
		tg_txn_track(c->txn, c->reads);
	}
	c->writer = (tg_writer){.session = c->session, .txn = c->txn, .claim = TG_DATA, .command = 1};
}

/* What can fail at the end: S1 to S4. */
static bool
prepare(client *c)
{
	tg_conflict conflict;

	if (!is_tracking(c))
		return true;
	if (!tg_txn_has_writes(c->txn))
		return tg_reads_check_snapshot(c->session, c->reads, c->snapshot.time, &conflict) == TG_OK ||
			   fail(c, SERIALIZATION);
	tg_txn_prepare(c->session, c->txn, c->snapshot.time);
	return validate(c) || fail(c, SERIALIZATION);
}

static void
run_script(client *c)
{
	bool goes_on;

	begin(c);
	goes_on = c->script->kind != LONG || start_long(c);
	if (goes_on && c->script->kind == LONG)
		history.started(c);
	for (int i = 0; i < c->script->op_count && goes_on; i++)
		goes_on = run_op(c, &c->script->ops[i]);
	tg_failpoint("end");
	goes_on = goes_on && prepare(c);
	c->place = c->snapshot.time;
	if (goes_on)
		tg_txn_commit(c->session, c->txn); /* its C: history_note_commit, at a failpoint */
	else
		tg_txn_abort(c->session, c->txn);
	if (c->reads != NULL)
		tg_reads_destroy(c->session, c->reads);
	if (c->has_snapshot && c->script->kind != LONG)
		tg_snapshot_withdraw(c->session, c->entry);
	if (goes_on)
		c->ending = COMMITTED;
}

/* At the failpoint "txn_committed", by the client at hand. */
static void
history_note_commit(client *c)
{
	c->commit = tg_load_relaxed(&c->txn->state) >> TG_STATE_BITS;
}

static void
collect_some(void)
{
	tg_epoch_advance();
	(void) tg_collector_run(collector, 10000);
	tg_retire_poll(collector);
}

/* --- beginning -------------------------------------------------------------------------------- */

static void
start_history(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 4 << 30, .limit_bytes = (size_t) 1 << 30, .session_max = 16},
		.worker_max = 1,
	};
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK ||
		tg_session_open(&collector) != TG_OK)
		unit_bail("no runtime");
	for (int i = 0; i < TABLES; i++)
		if (tg_table_create(collector, 1, 70 + (uint32_t) i, kinds, 2, &key, TG_DATA, &tables[i]) != TG_OK)
			unit_bail("no table");
	for (int i = 0; i < CLIENTS; i++)
	{
		clients[i].number = i;
		if (tg_session_open(&clients[i].session) != TG_OK)
			unit_bail("no session");
	}
}

/* The present contents of the tables, by row. */
static void
read_tables(int64_t values[ROWS])
{
	client c = {.session = collector};
	static script nothing;

	c.script = &nothing;
	c.snapshot = (tg_snapshot){.time = tg_snapshot_publish(collector, &c.entry), .txn = collector->id, .command = 1};
	for (int row = 0; row < ROWS; row++)
	{
		tg_version noted;
		uint32_t at;

		if (!find(&c, row / KEYS, row % KEYS, false, &at, &values[row], &noted))
			abort();
	}
	tg_snapshot_withdraw(collector, c.entry);
}

/* Puts the tables into the scenario's first state; *initial gets the values. */
static void
reset_tables(const scenario *s, int64_t initial[ROWS])
{
	static script reset = {.kind = RC};
	client c = {.session = collector, .script = &reset, .number = -1};

	fault[0] = 0;
	begin(&c);
	for (int row = 0; row < ROWS; row++)
	{
		op o = {.what = (s->initial >> row & 1) != 0 ? INSERT : DELETE, .table = row / KEYS, .key = row % KEYS};

		if (!run_op(&c, &o))
			unit_bail("cannot reset the tables");
	}
	tg_txn_commit(collector, c.txn);
	tg_snapshot_withdraw(collector, c.entry);
	for (int i = 0; i < 3; i++)
		collect_some();
	read_tables(initial);
}

#endif /* TG_UNIT_KINDS_HISTORY_H */

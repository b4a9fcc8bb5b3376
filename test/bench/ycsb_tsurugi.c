/*
 * ycsb_tsurugi.c
 *	  ycsb.h by this engine: SERIALIZABLE, as runtime/README.md describes it.
 *
 * A transaction that is not declared read-only is going to write, so the rows that it reads must be
 * unchanged when it commits.  If a commit after its snapshot has changed a row, it extends the
 * snapshot (W5) before it reads, as it does before it writes.  If that fails it gives up at once,
 * because it could not commit.
 *
 * Collection is paid for as by the extension's sessions: between two transactions, when no other
 * transaction waits for a row that the payer holds.  A thread of the pool would instead take the
 * processor from a transaction that holds rows.
 */
#include <sched.h>

#include "runtime/runtime.h"
#include "test/bench/ycsb.h"

#define SPINS 50		/* looks at a held row before the processor is yielded */
#define SPIN_PAUSES 32	/* between two of them; a transaction takes some 15 us */
#define UTILIZATION 800 /* in a thousand, and the window: the extension's defaults */
#define TAX_WINDOW_US 10000
#define AHEAD 4 /* values of a scan that are asked for ahead of being copied */
#define HEADER_BYTES 4

static tg_table *table;
static tg_session *main_session;

static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_STRING};
static const tg_key_spec key_spec = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

struct ycsb_thread
{
	tg_session *session;
	tg_txn *txn;	 /* NULL: read-only */
	tg_reads *reads; /* likewise */
	tg_writer writer;
	tg_snapshot snapshot;
	unsigned entry;
	tg_row_guess guess;
	uint64_t writes;
	tg_vectors *vectors;
	tg_range_scan scan;
};

void
ycsb_open(const char *directory, unsigned threads)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 16 << 30,
				  .limit_bytes = (size_t) 4 << 30,
				  .session_max = threads + 16,
				  .huge_pages = true,
				  .one_process = true},
		.worker_max = 1,
	};
	const tg_scheduler_settings settings = tg_scheduler_settings_default(1);
	tg_table *old;

	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK ||
		tg_session_open(&main_session) != TG_OK || tg_runtime_start(&settings) != TG_OK ||
		tg_table_create(main_session, 1, 1, kinds, 2, &key_spec, TG_DATA, &table) != TG_OK ||
		tg_catalog_put(main_session, 1, 1, table, &old) != TG_OK) /* sweeps use the catalog */
		ycsb_fail("tsurugi", "does not start");
	tg_tax_settings(UTILIZATION, TAX_WINDOW_US);
}

void
ycsb_close(void)
{
	(void) tg_runtime_close(main_session);
}

ycsb_thread *
ycsb_thread_open(void)
{
	static const uint16_t columns[] = {1};
	static const uint8_t scanned[] = {TG_KIND_STRING};
	ycsb_thread *thread = calloc(1, sizeof(*thread));
	size_t bytes = (tg_vectors_bytes(scanned, 1, YCSB_SCAN_MAX) + TG_CACHE_LINE) & ~(size_t) (TG_CACHE_LINE - 1);

	if (tg_session_open(&thread->session) != TG_OK)
		ycsb_fail("tsurugi", "no session");
	thread->vectors = tg_vectors_init(aligned_alloc(TG_CACHE_LINE, bytes), columns, scanned, 1, YCSB_SCAN_MAX);
	return thread;
}

void
ycsb_thread_close(ycsb_thread *thread)
{
	tg_runtime_session_end(thread->session);
	free(thread->vectors);
	free(thread);
}

void
ycsb_begin(ycsb_thread *thread, bool read_only)
{
	tg_session *session = thread->session;

	thread->txn = NULL;
	thread->writes = 0;
	thread->snapshot.txn = session->id;
	thread->snapshot.command = 1;
	if (read_only)
	{
		tg_wait wait;

		/* not deferrable: never busy */
		(void) !tg_snapshot_publish_safe(session, false, NULL, NULL, &thread->snapshot.time, &thread->entry, &wait);
		tg_snapshot_set_reader(&thread->snapshot, session->id);
		return;
	}
	thread->snapshot.time = tg_snapshot_publish(session, &thread->entry);
	tg_snapshot_set_reader(&thread->snapshot, session->id);
	if (tg_reads_create(session, &thread->reads) != TG_OK)
		ycsb_fail("tsurugi", "no memory");
	thread->txn = tg_txn_begin(session, session->id + 1);
	tg_txn_track(thread->txn, thread->reads);
	thread->writer = (tg_writer){.session = session, .txn = thread->txn, .claim = TG_DATA, .command = 1};
	tg_tax_begin(session);
}

static void
end(ycsb_thread *thread, bool commit)
{
	tg_session *session = thread->session;

	if (thread->txn != NULL)
	{
		if (commit)
			tg_txn_commit(session, thread->txn);
		else
			tg_txn_abort(session, thread->txn);
		tg_reads_destroy(session, thread->reads);
	}
	tg_snapshot_withdraw(session, thread->entry);
	if (thread->txn == NULL)
		return;
	tg_tax_note(session, thread->writes, true);
	if (tg_tax_due(session) > 0)
		tg_tax_pay(session, NULL, NULL);
}

static bool
validate(ycsb_thread *thread)
{
	for (;;)
	{
		tg_conflict conflict;
		tg_wait wait;
		tg_status status = tg_validation_step(thread->session, thread->reads, &conflict, &wait);

		if (status == TG_OK || status == TG_CHANGED)
			return status == TG_OK;
		if (status == TG_BUSY)
			sched_yield();
	}
}

bool
ycsb_commit(ycsb_thread *thread)
{
	bool good = true;

	if (thread->txn != NULL)
	{
		tg_txn_prepare(thread->session, thread->txn, thread->snapshot.time);
		good = validate(thread);
	}
	end(thread, good);
	return good;
}

static bool
give_up(ycsb_thread *thread)
{
	end(thread, false);
	return false;
}

/* W5. */
static bool
extend(ycsb_thread *thread)
{
	tg_time later;

	/*
	 * R stands for every later time until R' is in its place: no version that is visible then is
	 * collected meanwhile.
	 */
	tg_snapshot_hold(thread->session, thread->snapshot.time);
	later = tg_load_seq_cst(tg_clock);
	tg_validation_begin(thread->reads, thread->snapshot.time, later, false);
	if (!validate(thread))
		return false;
	tg_snapshot_raise(thread->session, thread->entry, later);
	thread->snapshot.time = later;
	tg_snapshot_set_reader(&thread->snapshot, thread->session->id);
	return true;
}

static size_t
make_key(uint64_t key, unsigned char *bytes)
{
	const tg_value value = {.word = key};

	return tg_key_append(bytes, 0, &key_spec.part[0], TG_KIND_8, &value);
}

static void
copy_value(const tg_string *string, unsigned char *value)
{
	memcpy(value, (const char *) string->blob + HEADER_BYTES, YCSB_VALUE_BYTES);
}

/*
 * Finds the row of a key by the index alone; whether the snapshot sees it is asked next.  The data
 * that will be looked at in a row are prefetched as soon as the row is known, or can be guessed.
 */
static void
find_row(ycsb_thread *thread, uint64_t key, uint32_t *row_out)
{
	unsigned char bytes[16];
	size_t key_bytes = make_key(key, bytes);
	const uint16_t column = 1;
	uint32_t guessed = TG_ROW_MAX;

	if (tg_row_guess_get(&thread->guess, table, bytes, key_bytes, &guessed))
		tg_row_expect(table, guessed, &column, 1);
	if (tg_btree_find(tg_load_acquire(&table->index), bytes, key_bytes, row_out) != TG_OK)
		ycsb_fail("tsurugi", "a key is missing");
	tg_row_guess_learn(&thread->guess, bytes, key_bytes, *row_out);
	if (*row_out != guessed)
		tg_row_expect(table, *row_out, &column, 1);
}

bool
ycsb_read(ycsb_thread *thread, uint64_t key, unsigned char *value)
{
	for (;;)
	{
		tg_version version;
		tg_status status;
		uint32_t row;
		tg_wait wait;

		tg_epoch_enter(thread->session);
		find_row(thread, key, &row);
		status = tg_txn_read(&thread->snapshot, table, row, &version, &wait);
		if (status == TG_OK && thread->txn != NULL && tg_version_is_overtaken(&thread->snapshot, version))
			status = TG_CHANGED;
		if (status == TG_OK)
		{
			tg_value cell = {0};

			tg_chunk_value(tg_version_chunk(version), 1, tg_version_slot(version), &cell);
			copy_value(&cell.string, value);
			if (thread->txn != NULL)
				(void) tg_reads_add_version(thread->session, thread->reads, version);
		}
		tg_epoch_leave(thread->session);
		if (status == TG_OK)
			return true;
		if (status == TG_CHANGED)
		{
			if (!extend(thread))
				return give_up(thread);
			continue;
		}
		if (status != TG_BUSY)
			ycsb_fail("tsurugi", "a row is not seen");
		sched_yield();
	}
}

static void
make_row(uint64_t key, const unsigned char *value, char *memory, tg_value values[2])
{
	memset(memory, 0, HEADER_BYTES);
	memcpy(memory + HEADER_BYTES, value, YCSB_VALUE_BYTES);
	values[0].word = key;
	tg_string_make_host(&values[1].string, memory, HEADER_BYTES + YCSB_VALUE_BYTES, HEADER_BYTES);
}

static const bool no_nulls[2];

/*
 * For the holder of a row: it is about to end, unless it has lost its processor
 * or waits, too.  False: for this one, so one of both has to give up (W6).
 */
static bool
wait_for_holder(ycsb_thread *thread, const tg_wait *wait, unsigned looks)
{
	bool circle;

	tg_wait_begin(thread->session, wait);
	circle = tg_wait_closes_circle(thread->session, wait);
	if (!circle && looks >= SPINS)
		sched_yield();
	for (unsigned i = 0; i < SPIN_PAUSES && !circle && looks < SPINS; i++)
		tg_pause();
	tg_wait_end(thread->session);
	return !circle;
}

/* A client that only writes a row depends on nothing that it has read, so nothing is noted. */
bool
ycsb_update(ycsb_thread *thread, uint64_t key, const unsigned char *value)
{
	char memory[HEADER_BYTES + YCSB_VALUE_BYTES];
	tg_value values[2];
	unsigned looks = 0;

	make_row(key, value, memory, values);
	thread->writes++;
	for (;;)
	{
		tg_version version;
		tg_status status;
		uint32_t row;
		tg_wait wait;

		tg_epoch_enter(thread->session);
		find_row(thread, key, &row);
		status = tg_txn_newest(&thread->writer, &thread->snapshot, table, &row, &version, &wait);
		tg_epoch_leave(thread->session);
		/* its own earlier write */
		if (status == TG_SELF)
			status = TG_OK;
		if (status == TG_CHANGED)
		{
			if (!extend(thread))
				return give_up(thread);
			continue;
		}
		if (status == TG_OK)
			status = tg_txn_update(&thread->writer, table, row, version, values, no_nulls, &wait);
		if (status == TG_OK)
		{
			thread->snapshot.command = ++thread->writer.command;
			return true;
		}
		if (status != TG_BUSY && status != TG_AGAIN)
			ycsb_fail("tsurugi", "an update fails");
		if (status == TG_BUSY && !wait_for_holder(thread, &wait, looks++))
		{
			(void) give_up(thread);
			sched_yield(); /* else it would meet the same holder again, which has not gone on yet */
			return false;
		}
	}
}

bool
ycsb_insert(ycsb_thread *thread, uint64_t key, const unsigned char *value)
{
	char memory[HEADER_BYTES + YCSB_VALUE_BYTES];
	unsigned char bytes[16];
	tg_value values[2];
	uint32_t row;
	tg_wait wait;
	tg_status status;

	make_row(key, value, memory, values);
	thread->writes++;
	status = tg_txn_insert(&thread->writer, table, bytes, make_key(key, bytes), values, no_nulls, &row, &wait);
	if (status != TG_OK)
		ycsb_fail("tsurugi", "an insert fails");
	thread->snapshot.command = ++thread->writer.command;
	return true;
}

bool
ycsb_scan(ycsb_thread *thread, uint64_t key, unsigned count, unsigned char *values, unsigned *count_out)
{
	unsigned char bytes[16];
	size_t key_bytes = make_key(key, bytes);
	tg_read_range *noted = NULL;
	unsigned done = 0;
	uint32_t row;

	tg_range_scan_init(&thread->scan, table, NULL, &thread->snapshot, bytes, key_bytes, true, NULL, 0, true, false);
	if (thread->txn != NULL)
		noted = tg_reads_add_range(thread->session, thread->reads, table, NULL, &thread->scan.cursor);
	if (tg_row_guess_get(&thread->guess, table, bytes, key_bytes, &row))
		tg_range_scan_guess(&thread->scan, row);
	while (done < count)
	{
		unsigned got = tg_range_scan_next(thread->session, &thread->scan, thread->vectors, count - done);

		if (got == 0 && !thread->scan.busy)
			break;
		/* The guess learns from the row only if that is the row's key. */
		if (done == 0 && got > 0)
			tg_row_guess_learn(&thread->guess, bytes, key_bytes, thread->vectors->rows[0]);
		for (unsigned i = 0; i < got; i++)
		{
			const tg_value *cells = thread->vectors->data[0];

			if (i + AHEAD < got)
			{
				__builtin_prefetch(cells[i + AHEAD].string.blob);
				__builtin_prefetch((const char *) cells[i + AHEAD].string.blob + TG_CACHE_LINE);
			}
			copy_value(&cells[i].string, values + (size_t) done++ * YCSB_VALUE_BYTES);
		}
		if (thread->scan.busy)
			sched_yield();
	}
	if (noted != NULL)
		tg_reads_end_range(thread->reads, table, noted, &thread->scan.cursor);
	*count_out = done;
	return true;
}

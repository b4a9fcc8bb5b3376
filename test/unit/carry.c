/*
 * carry.c
 *	  A table's rows are copied into another storage with their past.  Every snapshot sees there
 *	  what it saw before, by key and chunk by chunk, while versions are collected and moved;
 *	  afterwards the versions are collected as if they had been written there.
 */
#include "runtime/txn/carry.h"

#include "runtime/exec/scan.h"
#include "runtime/reclaim/compact.h"
#include "runtime/exec/vectors.h"
#include "test/unit/writers.h"

#define KEYS 60
#define KEYS_MAX 2000 /* where chunks are to become sparse */
#define READERS 24
#define PAST_MAX 256

#if defined(__SANITIZE_THREAD__)
#define RANDOM_ROUNDS 2 /* of one thread */
#else
#define RANDOM_ROUNDS 12
#endif

/* --- carrying ----------------------------------------------------------------------------- */

/* Versions of a row, out of the epoch. */
static tg_past past[PAST_MAX];
static tg_value values[PAST_MAX][COLUMNS];
static bool nulls[PAST_MAX][COLUMNS];
static text texts[PAST_MAX][COLUMNS];

static void
copy_values(unsigned i)
{
	values_of(past[i].version, values[i], nulls[i]);
	for (unsigned column = 1; column < COLUMNS; column++)
	{
		tg_string *string = &values[i][column].string;

		if (nulls[i][column] || !tg_string_is_out(string))
			continue;
		memcpy(texts[i][column].bytes, string->blob, tg_string_blob_bytes(string));
		tg_string_make_host(string, texts[i][column].bytes, tg_string_blob_bytes(string), 0);
	}
}

static void
carry_row(const tg_carrier *carrier, uint32_t row)
{
	uint32_t stored = TG_ROW_MAX;
	unsigned count;
	bool own;

	tg_epoch_enter(carrier->session);
	count = tg_carrier_past(carrier, row, past, PAST_MAX, &own);
	if (count > PAST_MAX)
		unit_bail("a long past");
	for (unsigned i = 0; i < count; i++)
		copy_values(i);
	tg_epoch_leave(carrier->session);
	while (count-- > 0)
	{
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t key_bytes = key_of(values[count][0].word, key);

		must(tg_carrier_store(carrier, &past[count], key, key_bytes, values[count], nulls[count], &stored));
	}
}

static tg_table *
make_storage(void)
{
	tg_table *made;

	must(tg_table_create(session, 1, 1, kinds, COLUMNS, &key_spec, TG_DATA, &made));
	return made;
}

/* Carries all rows, those that a snapshot of now sees first.  Returns how many had a past. */
static unsigned
carry(tg_table *to, uint32_t txn, tg_write_log **garbage)
{
	static tg_carrier carrier;
	tg_session *carries = clients[0].session;
	unsigned entry;
	tg_snapshot now = {.time = tg_snapshot_publish(carries, &entry), .txn = txn, .command = UINT32_MAX};
	uint16_t columns[COLUMNS] = {0, 1, 2};
	static _Alignas(TG_CACHE_LINE) char memory[1 << 16];
	tg_vectors *vectors = tg_vectors_init(memory, columns, kinds, COLUMNS, 64);
	bool has_past[64];
	tg_chunk_scan scan;
	unsigned with_past = 0;

	tg_carrier_init(&carrier, carries, table, to, txn, garbage);
	tg_chunk_scan_init(&scan, table, &now, 0, UINT32_MAX);
	while (tg_chunk_scan_next(carries, &scan, vectors) > 0)
	{
		tg_carrier_look(&carrier, vectors->rows, vectors->count, has_past);
		for (unsigned i = 0; i < vectors->count; i++)
		{
			with_past += has_past[i];
			carry_row(&carrier, vectors->rows[i]);
		}
	}
	for (uint32_t row = 0; row != TG_ROW_MAX;)
		if (tg_carrier_find_ended(&carrier, &now, &row))
			carry_row(&carrier, row++);
	tg_snapshot_withdraw(carries, entry);
	return with_past;
}

/* The fresh storage is found in the place of the old one, which is returned. */
static tg_table *
put(tg_table *fresh)
{
	tg_table *old;

	must(tg_catalog_put(session, 1, 1, fresh, &old));
	table = fresh;
	return old;
}

static void
let_go(tg_table *old)
{
	leases_end();
	tg_table_release(session, old);
}

/* It takes that place, and the old one goes. */
static void
change_places(tg_table *fresh, tg_write_log *garbage)
{
	tg_table *old = put(fresh);

	tg_carried_give(garbage);
	let_go(old);
}

/* --- what is seen --------------------------------------------------------------------------- */

/* A number of all that a snapshot sees, by keys, and chunk by chunk. */
typedef struct sight
{
	uint64_t by_key;
	uint64_t by_chunk;
} sight;

static uint64_t
number_of(tg_version version)
{
	uint64_t number = 14695981039346656037u;
	tg_value value[COLUMNS];
	bool null[COLUMNS];

	values_of(version, value, null);
	for (unsigned column = 0; column < COLUMNS; column++)
	{
		const char *bytes = (const char *) &value[column];
		size_t count = column == 0 ? sizeof(uint64_t) : sizeof(tg_value);

		if (!null[column] && column > 0 && tg_string_is_out(&value[column].string))
		{
			bytes = value[column].string.blob;
			count = tg_string_blob_bytes(&value[column].string);
		}
		for (size_t i = 0; i < count && !null[column]; i++)
			number = (number ^ (unsigned char) bytes[i]) * 1099511628211u;
		number += column + 1;
	}
	return number;
}

static sight
see(tg_session *reader, tg_time time)
{
	tg_snapshot snapshot = {.time = time, .txn = reader->id};
	sight seen = {0, 0};
	tg_version version;
	tg_wait wait;

	tg_epoch_enter(reader);
	for (uint64_t key = 0; key < KEYS_MAX; key++)
	{
		unsigned char bytes[TG_KEY_BYTES_MAX];
		size_t key_bytes = key_of(key, bytes);
		uint32_t row;

		if (tg_txn_find(&snapshot, table, bytes, key_bytes, &row, &version, &wait) == TG_OK)
			seen.by_key += number_of(version);
	}
	for (uint32_t index = 0; index < tg_table_chunk_count(table); index++)
	{
		const tg_chunk *chunk = tg_table_chunk(table, index);
		uint64_t present[TG_SLOT_MAX / 64];
		const tg_header *headers = chunk != NULL ? tg_chunk_look(chunk, present) : NULL;

		for (unsigned slot = 0; chunk != NULL && slot < chunk->capacity; slot++)
		{
			if ((present[slot / 64] >> slot % 64 & 1) == 0 ||
				(headers != NULL && tg_txn_sees(&snapshot, &headers[slot], &wait) != TG_SEEN))
				continue;
			seen.by_chunk += number_of(tg_version_make(chunk, slot));
		}
	}
	tg_epoch_leave(reader);
	return seen;
}

typedef struct reader
{
	tg_session *session;
	unsigned entry;
	tg_time time;
	sight seen;
} reader;

static reader readers[READERS];

/* Some of them stand for later times, too. */
static void
begin_to_read(unsigned i)
{
	reader *reader = &readers[i];

	reader->session = clients[3 + i % 3].session;
	reader->time = i % 5 == 4 ? tg_snapshot_publish_from(reader->session, &reader->entry)
							  : tg_snapshot_publish(reader->session, &reader->entry);
	reader->seen = see(reader->session, reader->time);
}

static unsigned
count_faults(void)
{
	unsigned faults = 0;

	for (unsigned i = 0; i < READERS; i++)
	{
		sight seen;

		if (readers[i].time == 0)
			continue;
		seen = see(readers[i].session, readers[i].time);
		faults += seen.by_key != readers[i].seen.by_key || seen.by_chunk != readers[i].seen.by_chunk ||
				  seen.by_key != seen.by_chunk;
	}
	return faults;
}

static void
end_to_read(unsigned i)
{
	tg_snapshot_withdraw(readers[i].session, readers[i].entry);
	readers[i].time = 0;
}

/* --- at random ------------------------------------------------------------------------------ */

static void
write_some(client *client)
{
	for (unsigned i = 0; i < 40; i++)
	{
		uint64_t key = dice(client, KEYS);
		unsigned what = dice(client, 10);
		tg_status status = what < 3	  ? insert(client, key)
						   : what < 7 ? change_row(client, key, CHANGE_UPDATE, 0)
						   : what < 9 ? change_row(client, key, CHANGE_DELETE, 0)
									  : change_row(client, key, CHANGE_MOVE, dice(client, KEYS));

		if (status != TG_OK && status != TG_EXISTS && status != TG_NOT_FOUND)
			must(status);
		if (dice(client, 6) == 0)
			commit(client);
		else if (dice(client, 20) == 0)
			roll_back(client);
	}
	commit(client);
}

static void
test_random(void)
{
	client *a = &clients[1];

	for (unsigned round = 0; round < RANDOM_ROUNDS; round++)
	{
		tg_write_log *garbage = NULL;
		tg_table *fresh = make_storage();
		unsigned faults;

		for (unsigned i = 0; i < READERS; i++)
		{
			write_some(a);
			begin_to_read(i);
			if (dice(a, 3) == 0)
				collect(1 + dice(a, 50));
		}
		write_some(a);
		(void) carry(fresh, a->session->id, &garbage);
		change_places(fresh, garbage);
		faults = count_faults();
		/* and what is written afterwards does not change what they see */
		write_some(a);
		for (unsigned i = 0; i < READERS; i++)
		{
			faults += count_faults();
			end_to_read((i * 7 + round) % READERS);
			collect(20);
			if (i == READERS / 2)
				write_some(a);
		}
		if (faults != 0 || round == RANDOM_ROUNDS - 1)
			unit_equal(faults, 0, "every snapshot sees in the fresh storage what it saw (round %u)", round);
	}
	check_exact(100, "carried at random");
	empty();
}

/* --- by itself -------------------------------------------------------------------------------- */

static void
fill(client *a)
{
	for (uint64_t key = 0; key < KEYS; key++)
		must_insert(a, key);
	commit(a);
}

/* Each row has a version that a reader sees, and a newer one. */
static void
fill_with_past(client *a)
{
	fill(a);
	begin_to_read(0);
	for (uint64_t key = 0; key < KEYS; key++)
		must_update(a, key);
	commit(a);
}

/* Without an older snapshot nothing has a past, regardless of the changes before. */
static void
test_no_reader(void)
{
	client *a = &clients[1];
	tg_write_log *garbage = NULL;
	tg_table *fresh = make_storage();

	fill(a);
	for (uint64_t key = 0; key < KEYS; key++)
	{
		must_update(a, key);
		if (key % 3 == 0)
			must_delete(a, key);
	}
	commit(a);
	(void) carry(fresh, a->session->id, &garbage);
	unit_ok(garbage == NULL, "without readers there is no garbage to come");
	change_places(fresh, garbage);
	unit_equal(table->row_next - table->free_row_count, KEYS - KEYS / 3, "and rows that are gone are left behind");
	check_exact(100, "carried without a past");
	garbage = NULL;
	fresh = make_storage();
	unit_equal(carry(fresh, a->session->id, &garbage), 0, "rows that were carried so are settled");
	change_places(fresh, garbage);
	check_exact(100, "carried again");
	empty();
}

/* Own writes stay where they are; what they stand on goes. */
static void
test_own(void)
{
	client *a = &clients[1];
	tg_write_log *garbage = NULL;
	tg_table *fresh = make_storage();
	static tg_carrier carrier;
	unsigned owned = 0;
	unsigned live = 0;
	bool own;

	for (uint64_t key = 0; key < 4; key++)
		must_insert(a, key);
	commit(a);
	begin_to_read(0);
	must_update(a, 0);
	must_delete(a, 1);
	must_update(a, 2);
	must_delete(a, 2);
	must_insert(a, 2);
	must_insert(a, 4);
	tg_carrier_init(&carrier, clients[0].session, table, fresh, a->session->id, &garbage);
	tg_epoch_enter(clients[0].session);
	for (uint32_t row = 0; row < table->row_next; row++)
	{
		unsigned count = tg_carrier_past(&carrier, row, past, PAST_MAX, &own);

		owned += own;
		live += count == 1 && past[0].end == TG_TIME_NEVER;
	}
	tg_epoch_leave(clients[0].session);
	unit_equal(owned, 4, "rows that the transaction has written");
	unit_equal(live, 4, "committed ones are as they were before");
	roll_back(a);
	end_to_read(0);
	tg_table_release(session, fresh);
	check_exact(100, "not carried");
	empty();
}

/*
 * Own writes on top of the carried rows are committed at a time that was drawn long before the
 * carried versions are given to the collector.  The collector comes to both together, although
 * another transaction validates as of a time between the two.
 */
static void
test_prepared(void)
{
	client *a = &clients[1];
	client *b = &clients[2];
	tg_write_log *garbage = NULL;
	tg_table *fresh = make_storage();
	tg_table *old;
	unsigned entry;
	unsigned between;

	fill_with_past(a);
	(void) carry(fresh, a->session->id, &garbage);
	old = put(fresh);
	for (uint64_t key = 0; key < KEYS; key++)
		must_update(a, key);
	(void) tg_txn_prepare(a->session, a->txn, tg_snapshot_publish(a->session, &entry));
	tg_snapshot_withdraw(a->session, entry);
	(void) tg_snapshot_publish_from(session, &between);
	must_insert(b, KEYS);
	commit(b);
	end_to_read(0);
	tg_carried_give(garbage);
	commit(a);
	let_go(old);
	collect(100);
	must_insert(b, KEYS + 1);
	commit(b);
	tg_snapshot_withdraw(session, between);
	check_exact(100, "carried, and given late");
	empty();
}

/* The fresh storage is given up: what was noted for it goes with it. */
static void
test_taken_back(void)
{
	client *a = &clients[1];
	tg_write_log *garbage = NULL;
	tg_table *fresh = make_storage();

	fill_with_past(a);
	(void) carry(fresh, a->session->id, &garbage);
	unit_ok(garbage != NULL, "with a reader there is");
	tg_write_log_destroy(session, garbage);
	tg_leases_end(clients[0].session);
	tg_table_release(session, fresh);
	unit_equal(count_faults(), 0, "the old one is as it was");
	end_to_read(0);
	check_exact(100, "taken back");
	empty();
}

/* Copies equal their originals, also for sessions whose snapshot is older than the copy. */
static void
test_copies(void)
{
	client *a = &clients[1];
	tg_session *mover = clients[0].session;
	tg_write_log *garbage = NULL;
	tg_table *fresh = make_storage();
	tg_copy copies[TG_COPIES_MAX];
	unsigned count = 0;

	fill(a);
	collect(1000);
	begin_to_read(0);
	tg_epoch_enter(mover);
	for (uint64_t key = 0; key < 20; key++)
	{
		unsigned char bytes[TG_KEY_BYTES_MAX];
		tg_header *headers;
		uint32_t row;

		must(tg_btree_find(table->index, bytes, key_of(key, bytes), &row));
		copies[count].from = tg_load_acquire(tg_row_head(table, row));
		must(tg_slot_take(mover, table, TG_DATA, &copies[count].to));
		must(tg_chunk_headers_write(mover, tg_version_chunk(copies[count].from), TG_DATA, &headers));
		tg_version_copy(mover, copies[count].to, copies[count].from);
		count++;
	}
	unit_equal(tg_relocate(mover, table, copies, count), 20, "rows are copied to other chunks");
	tg_epoch_leave(mover);
	must_update(a, 1);
	must_delete(a, 2);
	must_update(a, KEYS - 1);
	commit(a);
	(void) carry(fresh, a->session->id, &garbage);
	change_places(fresh, garbage);
	unit_equal(count_faults(), 0, "versions that were copied since are seen");
	end_to_read(0);
	check_exact(100, "carried copies");
	empty();
}

/* --- beside the collector ------------------------------------------------------------------- */

static bool stop;

/* Collects, and moves versions out of sparse chunks. */
static void *
collect_always(void *argument)
{
	while (!tg_load_acquire(&stop))
		(void) tg_collector_run(session, 10);
	return NULL;
}

/* Readers go while rows are carried. */
static void *
stop_reading(void *argument)
{
	for (unsigned i = 0; i < READERS; i += 2)
		end_to_read(i);
	return NULL;
}

static void
test_beside(void)
{
	client *a = &clients[1];
	unsigned faults = 0;

	for (unsigned round = 0; round < 10; round++)
	{
		tg_write_log *garbage = NULL;
		tg_table *fresh = make_storage();
		pthread_t threads[2];

		for (uint64_t key = KEYS; key < KEYS_MAX; key++)
			must_insert(a, key);
		commit(a);
		for (uint64_t key = KEYS; key < KEYS_MAX; key++)
			if (key % 5 != round % 5)
				must_delete(a, key);
		commit(a);
		for (unsigned i = 0; i < READERS; i++)
		{
			write_some(a);
			begin_to_read(i);
		}
		write_some(a);
		tg_store_release(&stop, false);
		pthread_create(&threads[0], NULL, collect_always, NULL);
		pthread_create(&threads[1], NULL, stop_reading, NULL);
		(void) carry(fresh, a->session->id, &garbage);
		pthread_join(threads[1], NULL);
		tg_store_release(&stop, true);
		pthread_join(threads[0], NULL);
		change_places(fresh, garbage);
		faults += count_faults();
		for (unsigned i = 1; i < READERS; i += 2)
			end_to_read(i);
		for (uint64_t key = KEYS; key < KEYS_MAX; key++)
			if (key % 5 == round % 5)
				must_delete(a, key);
		commit(a);
	}
	unit_equal(faults, 0, "carried while others collect, move versions and leave");
	check_exact(1000, "carried beside the collector");
}

int
main(void)
{
	begin();
	tg_sweep_interval_ms = 0; /* versions go to other chunks all the time */
	if (UNIT_ONE_THREAD)
	{
		test_no_reader();
		test_own();
		test_prepared();
		test_taken_back();
		test_copies();
		test_random();
	}
	test_beside();
	end();
	return unit_done();
}

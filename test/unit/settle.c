/*
 * settle.c
 *	  Version headers come and go, and every version is judged correctly.
 *
 * First the steps one by one.  Then all at once: writers move amounts between rows, each
 * transaction two rows, some of them aborted; readers add up all rows as of a snapshot, by scan and
 * by chain, and must always find the same sum, each row once, and its own text; one thread settles
 * chunks, frees garbage in the order of commits, and moves the epochs on.  Readers also make
 * summaries of the chunks that they scan (summary.c), and what they see in a chunk must lie in the
 * bounds that they have read before.
 *
 * Commits are made one at a time here, and the clock is moved after all of a transaction's versions
 * are stamped.  So a reference is later than any snapshot that meets it, and the oracle needs no
 * transactions.
 */
#include "runtime/table/table.h"

#include <sched.h>

#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/summary.h"
#include "runtime/table/table_internal.h"
#include "runtime/table/write_log.h"
#include "test/unit/storage_unit.h"

#define SOME_REFERENCE tg_reference_make(3, 0, 1)

/* --- step by step -------------------------------------------------------------------- */

static bool
settle_once(tg_chunk *chunk, tg_time horizon)
{
	bool settled;

	tg_epoch_enter(session);
	settled = tg_chunk_settle(session, chunk, horizon);
	tg_epoch_leave(session);
	return settled;
}

static bool
is_marked(const tg_chunk *chunk)
{
	return ((uintptr_t) chunk->headers & TG_HEADERS_MARK) != 0;
}

/* Marks and takes away, an epoch apart. */
static bool
settle(tg_chunk *chunk, tg_time horizon)
{
	if (settle_once(chunk, horizon))
		return false;
	tg_epoch_advance();
	return settle_once(chunk, horizon);
}

static tg_header *
write_headers(tg_chunk *chunk)
{
	tg_header *headers;

	tg_epoch_enter(session);
	if (tg_chunk_headers_write(session, chunk, TG_DATA, &headers) != TG_OK)
		abort();
	tg_epoch_leave(session);
	return headers;
}

static void
test_steps(void)
{
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	tg_version versions[10];
	tg_chunk *chunk;
	tg_header *headers;
	unsigned wrong = 0;

	for (unsigned i = 0; i < 10; i++)
		versions[i] = add_version(table, i, NULL, 5);
	chunk = tg_version_chunk(versions[0]);
	unit_ok(!settle(chunk, 5) && !is_marked(chunk), "a leased chunk is left alone");
	tg_leases_end(session);
	unit_ok(!settle(chunk, 4) && !is_marked(chunk), "so is one with a begin after the horizon");
	chunk->touched = 6;
	unit_ok(!settle(chunk, 5) && !is_marked(chunk), "and one touched after it");
	chunk->touched = 5;

	unit_ok(!settle_once(chunk, 5) && is_marked(chunk), "the first step marks");
	unit_ok(tg_chunk_headers(chunk) != NULL, "readers still read them");
	unit_ok(!settle_once(chunk, 5) && is_marked(chunk), "nothing happens in the same epoch");
	tg_epoch_advance();
	unit_ok(settle_once(chunk, 5) && chunk->headers == NULL, "the second step takes them away");
	unit_equal((uint64_t) table->header_bytes, 0, "and off the account");
	unit_ok(!settle_once(chunk, 5), "there is nothing more to take");

	headers = write_headers(chunk);
	for (unsigned i = 0; i < chunk->capacity; i++)
		wrong += headers[i].begin != (i < 10 ? TG_TIME_FIRST : TG_TIME_NEVER) || headers[i].end != TG_TIME_NEVER ||
				 headers[i].older != TG_VERSION_NONE || headers[i].successor != 0;
	unit_equal(wrong, 0, "a writer brings them back: allocated versions are settled, free ones are not there");
	unit_equal((uint64_t) table->header_bytes, tg_headers_bytes(chunk->capacity), "and on the account");

	settle_once(chunk, 5);
	unit_ok(is_marked(chunk) && write_headers(chunk) == headers && !is_marked(chunk), "a writer takes the mark back");
	tg_epoch_advance();
	unit_ok(!settle_once(chunk, 5) && is_marked(chunk), "so that it has to be set again");
	unit_ok(!settle_once(chunk, 5) && chunk->headers != NULL, "for an epoch of its own");

	headers[3].end = SOME_REFERENCE;
	tg_epoch_advance();
	unit_ok(!settle_once(chunk, 5) && !is_marked(chunk) && chunk->headers == headers,
			"a version that became unsettled under the mark is found");
	unit_ok(!settle(chunk, 5), "a version being ended is not settled");
	headers[3].end = 4;
	unit_ok(!settle(chunk, 5), "nor one that was ended");
	headers[3].end = TG_TIME_NEVER;
	headers[3].older = versions[0];
	unit_ok(!settle(chunk, 5), "nor one with an older one");
	headers[3].older = TG_VERSION_NONE;
	headers[3].begin = SOME_REFERENCE;
	unit_ok(!settle(chunk, 5), "nor one that is being written");
	headers[3].begin = TG_TIME_NEVER;
	unit_ok(!settle(chunk, 5), "nor one that was cut out");
	tg_epoch_enter(session);
	tg_version_blobs_free(session, versions[3], TG_VERSION_NONE, TG_VERSION_NONE);
	tg_slot_give(session, versions[3]);
	tg_epoch_leave(session);
	unit_ok(settle(chunk, 5), "without it the chunk is settled");

	tg_epoch_enter(session);
	if (tg_slot_take(session, table, TG_DATA, &versions[3]) != TG_OK)
		abort();
	unit_ok(tg_version_chunk(versions[3]) == chunk && chunk->headers != NULL &&
				header_of(versions[3])->begin == TG_TIME_NEVER && header_of(versions[2])->begin == TG_TIME_FIRST,
			"taking a slot of a settled chunk brings headers back");
	tg_slot_give(session, versions[3]);
	tg_epoch_leave(session);
	tg_leases_end(session);

	/* A session that has been inside since before the mark holds up the second step. */
	tg_epoch_enter(session);
	unit_ok(!tg_chunk_settle(session, chunk, 5) && is_marked(chunk), "marked again");
	tg_epoch_advance();
	unit_ok(!tg_chunk_settle(session, chunk, 5) && is_marked(chunk), "not while a session is inside since then");
	tg_epoch_leave(session);
	unit_ok(settle_once(chunk, 5), "but when that session has left");
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left");
}

/* Another session's steps while the one under test is at a failpoint. */
static tg_session *other;
static tg_chunk *other_chunk;
static tg_table *other_table;
static const char *other_place;
static tg_version other_version;

static bool
write_meanwhile(const char *place)
{
	tg_header *headers;

	if (other_place == NULL || strcmp(place, other_place) != 0)
		return false;
	other_place = NULL;
	tg_epoch_enter(other);
	if (other_table != NULL)
	{
		if (tg_slot_take(other, other_table, TG_DATA, &other_version) != TG_OK)
			abort();
	}
	else if (tg_chunk_headers_write(other, other_chunk, TG_DATA, &headers) != TG_OK)
		abort();
	tg_epoch_leave(other);
	return false;
}

static void
test_meetings(void)
{
	size_t before = used_bytes();
	tg_table *table = make_table(NULL);
	tg_version version = add_version(table, 0, NULL, 1);
	tg_header *headers;

	if (tg_session_open(&other) != TG_OK)
		abort();
	tg_leases_end(session);
	other_chunk = tg_version_chunk(version);
	tg_failpoint_set(write_meanwhile);

	other_place = "settle_take_away";
	unit_ok(!settle(other_chunk, 1) && other_chunk->headers != NULL && !is_marked(other_chunk),
			"a writer that comes between the last look and the swap keeps the headers");
	unit_ok(settle(other_chunk, 1), "settled");

	other_place = "settle_bring_back";
	headers = write_headers(other_chunk);
	unit_ok(headers == tg_chunk_headers(other_chunk), "of two that bring headers back both get the same");
	unit_equal((uint64_t) table->header_bytes, tg_headers_bytes(other_chunk->capacity), "and they are booked once");
	unit_ok(settle(other_chunk, 1), "settled again");

	other_place = "settle_bring_back";
	other_table = table;
	headers = write_headers(other_chunk);
	unit_ok(tg_version_chunk(other_version) == other_chunk &&
				headers[tg_version_slot(other_version)].begin == TG_TIME_NEVER && headers[0].begin == TG_TIME_FIRST,
			"a slot taken while another brings headers back is not taken for settled");
	other_table = NULL;
	tg_failpoint_set(NULL);
	tg_leases_end(other);
	tg_session_close(other);
	end_table(table);
	unit_equal(used_bytes(), before, "nothing is left of the meetings");
}

/* --- all at once ---------------------------------------------------------------------- */

enum
{
	ROWS = 700,	   /* chunks of 16, 64, 256 and more */
	HOT_ROWS = 24, /* rows written to at a time: the other chunks come to rest */
	WRITERS = 2,
	READERS = 2,
	BURSTS = 60 * EFFORT, /* between them chunks come to rest */
	BURST_TRANSACTIONS = 20,
	REST_MAX = 10000, /* rounds of the collector; some are over before a reader gets the CPU again */
	ROWS_PER_TRANSACTION = 2,
	AMOUNT = 1000
};

/* A version to which no reference leads any more, or soon. */
typedef struct garbage
{
	struct garbage *next;
	tg_version version;
	tg_version newer; /* NONE: of an abort, and cut out already */
	tg_time ended;
	uint64_t epoch; /* in which it was cut out */
} garbage;

typedef struct stress
{
	tg_table *table;
	pthread_barrier_t rest; /* of writers */
	pthread_mutex_t commit; /* guards the clock's and the queue's moves */
	garbage *first;
	garbage **last;
	unsigned writers; /* still at work; atomic, as all below */
	unsigned readers;
	unsigned wrong;
	unsigned settled;
	unsigned settled_scans;
	unsigned bounded_scans; /* of chunks with a summary */
	unsigned scans;
	unsigned conflicts;
	unsigned rounds; /* of the collector */
} stress;

typedef struct change
{
	uint32_t row;
	tg_version old;
	tg_version new;
} change;

static void
pause_sometimes(unsigned *random)
{
	if (rand_r(random) % 32 == 0)
		(void) sched_yield();
}

static void
queue_garbage(stress *test, tg_version version, tg_version newer, tg_time ended)
{
	garbage *entry = malloc(sizeof(*entry));

	if (entry == NULL)
		abort();
	*entry = (garbage){.version = version, .newer = newer, .ended = ended};
	*test->last = entry;
	test->last = &entry->next;
}

static void
touch(tg_version version, tg_time time)
{
	tg_store_relaxed(&tg_version_chunk(version)->touched, time);
}

/* Text of its own, or that of the old version. */
static void
fill_values(tg_value values[4], uint32_t row, tg_version old, int64_t amount, bool share, unsigned char *memory)
{
	tg_value value = {.word = 0};

	make_values(values, row, memory);
	tg_chunk_value(tg_version_chunk(old), 0, tg_version_slot(old), &value);
	values[0].word = value.word + (uint64_t) amount;
	if (share)
		tg_chunk_value(tg_version_chunk(old), 3, tg_version_slot(old), &values[3]);
}

/* As txn/write.c does it; false if another has the row. */
static bool
change_row(stress *test, tg_session *own, change *change, int64_t amount, tg_time reference, unsigned *random)
{
	unsigned char memory[HEADER_BYTES + TEXT_BYTES];
	tg_value values[4];
	tg_header *headers;
	tg_header *header;
	tg_header *old;
	tg_time never = TG_TIME_NEVER;
	bool done = false;

	tg_epoch_enter(own);
	change->old = tg_load_acquire(tg_row_head(test->table, change->row));
	headers = tg_chunk_headers(tg_version_chunk(change->old));
	if (headers != NULL)
	{
		old = headers + tg_version_slot(change->old);
		if (tg_load_acquire(&old->begin) >= TG_TIME_NEVER || tg_load_acquire(&old->end) != TG_TIME_NEVER)
			goto out;
	}
	fill_values(values, change->row, change->old, amount, rand_r(random) % 2 != 0, memory);
	if (tg_slot_take(own, test->table, TG_DATA, &change->new) != TG_OK ||
		tg_version_store(own, change->new, change->row, values, no_nulls, TG_DATA) != TG_OK ||
		tg_chunk_headers_write(own, tg_version_chunk(change->old), TG_DATA, &headers) != TG_OK)
		abort();
	old = headers + tg_version_slot(change->old);
	header = header_of(change->new);
	touch(change->new, tg_load_relaxed(tg_clock));
	touch(change->old, tg_load_relaxed(tg_clock));
	tg_store_release(&header->older, change->old);
	tg_store_release(&header->begin, reference);
	pause_sometimes(random);
	if (rand_r(random) % 16 != 0 && tg_cas_acq_rel(&old->end, &never, reference))
	{
		tg_store_release(tg_row_head(test->table, change->row), change->new);
		done = true;
	}
	else
	{
		tg_store_release(&header->begin, TG_TIME_NEVER);
		tg_version_blobs_free(own, change->new, change->old, TG_VERSION_NONE);
		tg_slot_give(own, change->new);
	}
out:
	tg_epoch_leave(own);
	return done;
}

static void
commit(stress *test, tg_session *own, const change *changes)
{
	tg_time time;

	pthread_mutex_lock(&test->commit);
	time = tg_load_relaxed(tg_clock) + 1;
	tg_epoch_enter(own);
	for (unsigned i = 0; i < ROWS_PER_TRANSACTION; i++)
	{
		tg_store_release(&header_of(changes[i].new)->begin, time);
		tg_store_release(&header_of(changes[i].old)->end, time);
		touch(changes[i].new, time);
		touch(changes[i].old, time);
		queue_garbage(test, changes[i].old, changes[i].new, time);
	}
	tg_epoch_leave(own);
	tg_store_seq_cst(tg_clock, time);
	pthread_mutex_unlock(&test->commit);
}

static void
undo(stress *test, tg_session *own, const change *change)
{
	tg_epoch_enter(own);
	tg_version_strip(change->new, change->old);
	tg_store_release(tg_row_head(test->table, change->row), change->old);
	tg_store_release(&header_of(change->new)->begin, TG_TIME_NEVER);
	tg_store_release(&header_of(change->old)->end, TG_TIME_NEVER);
	tg_epoch_leave(own);
	pthread_mutex_lock(&test->commit);
	queue_garbage(test, change->new, TG_VERSION_NONE, 0);
	pthread_mutex_unlock(&test->commit);
}

static void
write_transaction(stress *test, tg_session *own, unsigned number, unsigned burst, unsigned *random)
{
	change changes[ROWS_PER_TRANSACTION];
	unsigned window = burst * 97 % (ROWS - HOT_ROWS);
	int64_t amount = rand_r(random) % 10;
	unsigned done = 0;
	unsigned entry;

	/* As every writer does: the old values that it reads and shares are not cleared away. */
	(void) tg_snapshot_publish(own, &entry);
	changes[0].row = window + (unsigned) rand_r(random) % (HOT_ROWS - 1);
	changes[1].row = changes[0].row + 1;
	while (done < ROWS_PER_TRANSACTION && change_row(test, own, &changes[done], done == 0 ? amount : -amount,
													 tg_reference_make(number, 0, burst), random))
	{
		done++;
		pause_sometimes(random);
	}
	if (done == ROWS_PER_TRANSACTION && rand_r(random) % 4 != 0)
		commit(test, own, changes);
	else
	{
		tg_fetch_add_relaxed(&test->conflicts, done < ROWS_PER_TRANSACTION);
		while (done > 0)
			undo(test, own, &changes[--done]);
	}
	tg_snapshot_withdraw(own, entry);
}

static void
write_body(stress *test, unsigned number)
{
	unsigned random = number + 1;
	tg_session *own;

	if (tg_session_open(&own) != TG_OK)
		abort();
	for (unsigned burst = 0; burst < BURSTS; burst++)
	{
		unsigned round;
		unsigned settled;

		for (unsigned i = 0; i < BURST_TRANSACTIONS; i++)
			write_transaction(test, own, number, burst, &random);
		tg_leases_end(own);
		if (burst % 2 != 0)
			continue;
		/* All rest until a chunk is settled, and then start at once. */
		round = tg_load_relaxed(&test->rounds);
		settled = tg_load_relaxed(&test->settled);
		while (tg_load_relaxed(&test->settled) == settled && tg_load_relaxed(&test->rounds) < round + REST_MAX)
			(void) sched_yield();
		pthread_barrier_wait(&test->rest);
	}
	tg_leases_end(own);
	tg_session_close(own);
	(void) tg_fetch_add_acq_rel(&test->writers, -1);
}

static bool
sees(const tg_header *header, tg_time time)
{
	return tg_load_acquire(&header->begin) <= time && tg_load_acquire(&header->end) > time;
}

/* Notes a row and its amount; checks its text. */
static void
note_row(stress *test, const tg_chunk *chunk, unsigned slot, uint64_t amounts[ROWS])
{
	uint32_t row = chunk->rows[slot];
	tg_value value = {.word = 0};

	if (row >= ROWS || amounts[row] != UINT64_MAX)
	{
		tg_fetch_add_relaxed(&test->wrong, 1);
		return;
	}
	tg_chunk_value(chunk, 3, slot, &value);
	if (((const char *) value.string.blob)[HEADER_BYTES + row % TEXT_BYTES] != (char) ('a' + row % 26))
		tg_fetch_add_relaxed(&test->wrong, 1);
	tg_chunk_value(chunk, 0, slot, &value);
	amounts[row] = value.word;
}

/* Whether the amount in a slot is one that the chunk was said to have. */
static bool
is_within(const tg_chunk *chunk, unsigned slot, const tg_bounds *bounds)
{
	tg_value value = {.word = 0};

	tg_chunk_value(chunk, 0, slot, &value);
	return (int64_t) value.word >= bounds->low && (int64_t) value.word <= bounds->high;
}

static void
scan_all(stress *test, tg_session *own, tg_time time, uint64_t amounts[ROWS], unsigned *random)
{
	uint32_t count = tg_table_chunk_count(test->table);

	for (uint32_t i = 0; i < count; i++)
	{
		uint64_t present[TG_SLOT_MAX / 64];
		const tg_header *headers;
		tg_chunk *chunk;
		tg_bounds bounds;
		bool is_bounded;

		tg_epoch_enter(own);
		chunk = tg_table_chunk(test->table, i);
		if (chunk != NULL)
		{
			is_bounded = tg_summary_get(chunk, 0, TG_BOUNDS_INT, &bounds);
			tg_fetch_add_relaxed(&test->bounded_scans, is_bounded);
			pause_sometimes(random);
			headers = tg_chunk_look(chunk, present);
			tg_fetch_add_relaxed(&test->settled_scans, headers == NULL);
			pause_sometimes(random);
			for (unsigned slot = 0; slot < chunk->capacity; slot++)
			{
				if ((present[slot / 64] >> slot % 64 & 1) == 0 || (headers != NULL && !sees(&headers[slot], time)))
					continue;
				note_row(test, chunk, slot, amounts);
				if (is_bounded && !is_within(chunk, slot, &bounds))
					tg_fetch_add_relaxed(&test->wrong, 1);
			}
			tg_summary_make(own, chunk, 0, TG_BOUNDS_INT);
		}
		tg_epoch_leave(own);
	}
}

static void
follow_all(stress *test, tg_session *own, tg_time time, uint64_t amounts[ROWS])
{
	for (uint32_t row = 0; row < ROWS; row++)
	{
		tg_version version;

		tg_epoch_enter(own);
		version = tg_load_acquire(tg_row_head(test->table, row));
		while (version != TG_VERSION_NONE)
		{
			const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

			if (headers == NULL || sees(&headers[tg_version_slot(version)], time))
				break;
			version = tg_load_acquire(&headers[tg_version_slot(version)].older);
		}
		if (version == TG_VERSION_NONE || tg_version_row(version) != row)
			tg_fetch_add_relaxed(&test->wrong, 1);
		else
			note_row(test, tg_version_chunk(version), tg_version_slot(version), amounts);
		tg_epoch_leave(own);
	}
}

static void
read_body(stress *test, unsigned number)
{
	unsigned random = number + 100;
	tg_session *own;

	if (tg_session_open(&own) != TG_OK)
		abort();
	while (tg_load_acquire(&test->writers) > 0)
	{
		uint64_t amounts[2][ROWS];
		uint64_t sum = 0;
		unsigned entry;
		tg_time time = tg_snapshot_publish(own, &entry);

		memset(amounts, 0xff, sizeof(amounts));
		scan_all(test, own, time, amounts[0], &random);
		follow_all(test, own, time, amounts[1]);
		tg_snapshot_withdraw(own, entry);
		for (unsigned row = 0; row < ROWS; row++)
			sum += amounts[0][row];
		if (sum != (uint64_t) ROWS * AMOUNT || memcmp(amounts[0], amounts[1], sizeof(amounts[0])) != 0)
			tg_fetch_add_relaxed(&test->wrong, 1);
		tg_fetch_add_relaxed(&test->scans, 1);
	}
	tg_session_close(own);
	(void) tg_fetch_add_acq_rel(&test->readers, -1);
}

/* Cuts out what no snapshot sees; in the order of commits. */
static void
cut_out(const garbage *entry)
{
	tg_store_release(&header_of(entry->newer)->older, TG_VERSION_NONE);
	tg_version_strip(entry->version, entry->newer);
	tg_store_release(&header_of(entry->version)->begin, TG_TIME_NEVER);
	touch(entry->newer, tg_load_relaxed(tg_clock));
}

static void
collect(stress *test, tg_session *own, garbage **cut_first, garbage ***cut_last, tg_time horizon)
{
	garbage *entry;

	for (;;)
	{
		pthread_mutex_lock(&test->commit);
		entry = test->first;
		if (entry == NULL || entry->ended > horizon)
		{
			pthread_mutex_unlock(&test->commit);
			break;
		}
		test->first = entry->next;
		if (test->first == NULL)
			test->last = &test->first;
		pthread_mutex_unlock(&test->commit);
		if (entry->newer != TG_VERSION_NONE)
			cut_out(entry);
		entry->epoch = tg_epoch_now();
		entry->next = NULL;
		**cut_last = entry;
		*cut_last = &entry->next;
	}
	while ((entry = *cut_first) != NULL && entry->epoch < tg_epoch_confirmed())
	{
		*cut_first = entry->next;
		if (*cut_first == NULL)
			*cut_last = cut_first;
		tg_epoch_enter(own);
		tg_version_blobs_free(own, entry->version, TG_VERSION_NONE, TG_VERSION_NONE);
		tg_slot_give(own, entry->version);
		tg_epoch_leave(own);
		free(entry);
	}
}

static void
collect_body(stress *test, unsigned number)
{
	garbage *cut_first = NULL;
	garbage **cut_last = &cut_first;
	tg_session *own;
	unsigned idle = 0;

	(void) number;
	if (tg_session_open(&own) != TG_OK)
		abort();
	while (idle < 8)
	{
		tg_time horizon = tg_horizon_compute();

		idle = tg_load_acquire(&test->writers) + tg_load_acquire(&test->readers) == 0 ? idle + 1 : 0;
		tg_epoch_enter(own);
		for (uint32_t i = 0; i < tg_table_chunk_count(test->table); i++)
		{
			tg_chunk *chunk = tg_table_chunk(test->table, i);

			if (chunk == NULL || tg_chunk_reclaim(own, chunk))
				continue;
			tg_fetch_add_relaxed(&test->settled, tg_chunk_settle(own, chunk, horizon));
			/* now and then as if memory were short */
			if (tg_load_relaxed(&test->rounds) % 64 == 0 && tg_retire_reserve(own, 1) == TG_OK)
				tg_summary_drop(own, chunk);
		}
		tg_epoch_leave(own);
		collect(test, own, &cut_first, &cut_last, horizon);
		tg_epoch_advance();
		tg_retire_poll(own);
		tg_fetch_add_relaxed(&test->rounds, 1);
		(void) sched_yield();
	}
	tg_session_close(own);
}

static void
stress_body(unsigned number, void *argument)
{
	if (number < WRITERS)
		write_body(argument, number);
	else if (number < WRITERS + READERS)
		read_body(argument, number);
	else
		collect_body(argument, number);
}

static void
test_stress(void)
{
	static stress test;
	size_t before = used_bytes();
	unsigned left = 0;
	tg_arena_report report;

	test.table = make_table(NULL);
	test.last = &test.first;
	test.writers = WRITERS;
	test.readers = READERS;
	pthread_mutex_init(&test.commit, NULL);
	pthread_barrier_init(&test.rest, NULL, WRITERS);
	for (uint32_t i = 0; i < ROWS; i++)
	{
		unsigned char memory[HEADER_BYTES + TEXT_BYTES];
		tg_value values[4];
		uint32_t row;

		if (tg_row_take(session, test.table, TG_DATA, &row) != TG_OK)
			abort();
		make_values(values, row, memory);
		values[0].word = AMOUNT;
		*tg_row_head(test.table, row) = add_version(test.table, row, values, TG_TIME_FIRST);
	}
	tg_leases_end(session);

	unit_threads(WRITERS + READERS + 1, stress_body, &test);
	unit_equal(test.wrong, 0, "rows and sums that a snapshot should not have seen, in %u scans", test.scans);
	unit_ok(test.settled > BURSTS / 4, "chunks were settled %u times", test.settled);
	unit_ok(test.settled_scans > BURSTS / 4, "and read without headers %u times", test.settled_scans);
	unit_ok(test.bounded_scans > 0, "and with a summary %u times", test.bounded_scans);
	unit_ok(test.conflicts > 0, "transactions met at a row %u times", test.conflicts);
	unit_ok(test.first == NULL, "no garbage waits");
	for (uint32_t i = 0; i < tg_table_chunk_count(test.table); i++)
	{
		tg_chunk *chunk = tg_table_chunk(test.table, i);

		left += chunk != NULL && chunk->headers != NULL;
	}
	unit_equal(left, 0, "chunks that still have headers");
	unit_equal((uint64_t) test.table->header_bytes, 0, "nor any on the account");
	tg_arena_report_get(&report);
	unit_equal((uint64_t) test.table->blob_bytes, report.used_by[TG_USE_BLOB], "blobs are booked exactly");
	unit_equal((uint64_t) test.table->blob_bytes / ROWS, 88, "one for each row");
	end_table(test.table);
	unit_equal(used_bytes(), before, "nothing is left of the stress");
}

int
main(void)
{
	start_storage();
	if (tg_horizon_create() != TG_OK)
		abort();
	test_steps();
	test_meetings();
	test_stress();
	return end_storage();
}

/*
 * serializable.h
 *	  A client at SERIALIZABLE, for unit tests: reads what it notes, writes,
 *	  extends its snapshot, prepares and ends.  One table of a key and an amount.
 */
#ifndef TG_UNIT_SERIALIZABLE_H
#define TG_UNIT_SERIALIZABLE_H

#include "test/unit/collecting.h"
#include "test/unit/integer_key.h"
#include "test/unit/unit.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/txn/txn_internal.h"
#include "runtime/exec/range_scan.h"

#define KEYS 24
#define ABSENT (-1)

static tg_table *table;

/* Called while a look-up or a validation waits for an outcome: lets others go on. */
static void (*while_busy)(void);

static inline void
yield_cpu(void)
{
	sched_yield();
}

static inline void
start(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 256 << 20, .limit_bytes = (size_t) 256 << 20, .session_max = 64},
		.worker_max = 2,
		.prepared_max = 8,
	};
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
	tg_session *session;

	while_busy = yield_cpu;
	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK ||
		tg_session_open(&session) != TG_OK || tg_table_create(session, 1, 77, kinds, 2, &key, TG_DATA, &table) != TG_OK)
		unit_bail("no runtime");
	tg_runtime_session_end(session);
}

/* --- a client ------------------------------------------------------------------------ */

typedef struct client
{
	tg_session *session;
	tg_txn *txn;
	tg_reads *reads;
	tg_writer writer;
	tg_snapshot snapshot;
	unsigned entry;
	tg_vectors *vectors;
} client;

static inline void
client_open(client *c)
{
	static const uint16_t columns[] = {0, 1};
	static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};

	memset(c, 0, sizeof(*c));
	if (tg_session_open(&c->session) != TG_OK)
		unit_bail("no session");
	c->vectors = tg_vectors_init(aligned_alloc(TG_CACHE_LINE, (tg_vectors_bytes(kinds, 2, 128) + 63) & ~(size_t) 63),
								 columns, kinds, 2, 128);
}

static inline void
client_close(client *c)
{
	free(c->vectors);
	tg_runtime_session_end(c->session);
}

static inline void
begin(client *c)
{
	c->snapshot.time = tg_snapshot_publish(c->session, &c->entry);
	c->snapshot.txn = c->session->id;
	c->snapshot.command = 1;
	if (tg_reads_create(c->session, &c->reads) != TG_OK)
		unit_bail("no read set");
	c->txn = tg_txn_begin(c->session, (uint64_t) c->session->id + 1);
	tg_txn_track(c->txn, c->reads);
	c->writer = (tg_writer){.session = c->session, .txn = c->txn, .claim = TG_DATA, .command = 1};
}

static inline void
next_command(client *c)
{
	c->snapshot.command = ++c->writer.command;
}

static inline void
end(client *c, bool commit)
{
	if (commit)
		tg_txn_commit(c->session, c->txn);
	else
		tg_txn_abort(c->session, c->txn);
	tg_reads_destroy(c->session, c->reads);
	tg_snapshot_withdraw(c->session, c->entry);
	c->txn = NULL;
}

/* Runs a validation to its end; it waits for another transaction's outcome by checking again. */
static inline bool
validate(client *c, tg_conflict *conflict)
{
	for (;;)
	{
		tg_wait wait;
		tg_status status = tg_validation_step(c->session, c->reads, conflict, &wait);

		if (status == TG_OK || status == TG_CHANGED)
			return status == TG_OK;
		if (status == TG_BUSY)
			while_busy();
	}
}

/* C of the commit, or 0: it failed. */
static inline tg_time
prepare(client *c)
{
	tg_conflict conflict;
	tg_time time;

	tg_txn_prepare(c->session, c->txn, c->snapshot.time);
	time = tg_load_relaxed(&c->txn->state) >> TG_STATE_BITS;
	return validate(c, &conflict) ? time : 0;
}

/* W5. */
static inline bool
extend(client *c)
{
	tg_conflict conflict;
	tg_time later;

	/* R stands for every later time until R' is in its place. */
	tg_snapshot_hold(c->session, c->snapshot.time);
	later = tg_load_seq_cst(tg_clock);
	tg_validation_begin(c->reads, c->snapshot.time, later, false);
	if (!validate(c, &conflict))
		return false;
	tg_snapshot_raise(c->session, c->entry, later);
	c->snapshot.time = later;
	return true;
}

static inline tg_status
put(client *c, int64_t id, int64_t amount)
{
	const tg_value values[2] = {{.word = (uint64_t) id}, {.word = (uint64_t) amount}};
	const bool nulls[2] = {false, false};
	unsigned char key[16];
	uint32_t row;
	tg_wait wait;

	return tg_txn_insert(&c->writer, table, key, key_of(id, key), values, nulls, &row, &wait);
}

static inline int64_t
amount_of(tg_version version)
{
	tg_value value;

	tg_chunk_value(tg_version_chunk(version), 1, tg_version_slot(version), &value);
	return (int64_t) value.word;
}

/* Looks a key up and notes it.  *noted_out is what may be forgotten. */
static inline tg_status
find(client *c, int64_t id, uint32_t *row_out, int64_t *amount_out, tg_version *noted_out)
{
	unsigned char key[16];
	size_t key_bytes = key_of(id, key);
	tg_version version;
	tg_status status;
	tg_wait wait;

	*noted_out = TG_VERSION_NONE;
	*amount_out = ABSENT;
	do
	{
		tg_epoch_enter(c->session);
		status = tg_txn_find(&c->snapshot, table, key, key_bytes, row_out, &version, &wait);
		if (status == TG_NOT_FOUND)
			tg_reads_add_key(c->session, c->reads, table, NULL, key, key_bytes);
		if (status == TG_OK)
		{
			*amount_out = amount_of(version);
			if (tg_reads_add_version(c->session, c->reads, version))
				*noted_out = version;
		}
		tg_epoch_leave(c->session);
		if (status == TG_BUSY)
			while_busy();
	} while (status == TG_BUSY);
	return status;
}

static inline int64_t
get(client *c, int64_t id)
{
	tg_version noted;
	int64_t amount;
	uint32_t row;

	(void) find(c, id, &row, &amount, &noted);
	return amount;
}

static inline bool
is_overtaken(client *c, tg_version version)
{
	bool overtaken;

	tg_epoch_enter(c->session);
	overtaken = tg_version_is_overtaken(&c->snapshot, version);
	tg_epoch_leave(c->session);
	return overtaken;
}

/*
 * The same for a read that is followed by a write: of a row that was changed since, as of a later
 * snapshot if there can be one (W5).
 */
static inline int64_t
get_ahead(client *c, int64_t id)
{
	for (bool extends = true;;)
	{
		tg_version noted;
		int64_t amount;
		uint32_t row;

		(void) find(c, id, &row, &amount, &noted);
		if (!extends || noted == TG_VERSION_NONE || !is_overtaken(c, noted))
			return amount;
		tg_reads_forget_version(c->reads, noted);
		extends = extend(c);
	}
}

/* Sets (or deletes, with ABSENT) a row that the snapshot sees; extends the snapshot if need be. */
static inline tg_status
set(client *c, int64_t id, int64_t amount, int64_t *old_out)
{
	for (;;)
	{
		tg_value values[2] = {{.word = (uint64_t) id}, {.word = (uint64_t) amount}};
		const bool nulls[2] = {false, false};
		tg_version version;
		tg_version noted;
		tg_status status;
		uint32_t row;
		tg_wait wait;

		status = find(c, id, &row, old_out, &noted);
		if (status != TG_OK)
			return status;
		tg_epoch_enter(c->session);
		status = tg_txn_newest(&c->writer, &c->snapshot, table, &row, &version, &wait);
		tg_epoch_leave(c->session);
		if (status == TG_CHANGED || status == TG_NOT_FOUND)
		{
			if (noted != TG_VERSION_NONE)
				tg_reads_forget_version(c->reads, noted);
			if (!extend(c))
				return TG_CHANGED;
			continue;
		}
		if (status != TG_OK)
			return status;
		status = amount == ABSENT ? tg_txn_delete(&c->writer, table, row, version, &wait)
								  : tg_txn_update(&c->writer, table, row, version, values, nulls, &wait);
		if (status != TG_AGAIN)
			return status;
	}
}

/*
 * Reads ids from low to below high, at most limit, into amounts[].  Returns the first id not read.
 */
static inline int64_t
get_range(client *c, int64_t low, int64_t high, unsigned limit, int64_t *amounts)
{
	unsigned char low_key[16];
	unsigned char high_key[16];
	size_t low_bytes = key_of(low, low_key);
	size_t high_bytes = key_of(high, high_key);
	tg_range_scan scan;
	tg_read_range *noted;
	int64_t read_to = high;
	unsigned count;

	for (int64_t id = low; id < high; id++)
		amounts[id] = ABSENT;
	tg_range_scan_init(&scan, table, NULL, &c->snapshot, low_key, low_bytes, true, high_key, high_bytes, false, false);
	noted = tg_reads_add_range(c->session, c->reads, table, NULL, &scan.cursor);
	while ((count = tg_range_scan_next(c->session, &scan, c->vectors, limit)) > 0 || scan.busy)
	{
		for (unsigned i = 0; i < count; i++)
		{
			int64_t id = (int64_t) ((uint64_t *) c->vectors->data[0])[i];

			amounts[id] = ((int64_t *) c->vectors->data[1])[i];
			read_to = id + 1;
		}
		if (count == limit)
			break;
		read_to = high;
		if (scan.busy)
			sched_yield();
	}
	tg_reads_end_range(c->reads, table, noted, &scan.cursor);
	return read_to;
}

static inline void
get_all(client *c, int64_t *amounts)
{
	tg_chunk_scan scan;
	unsigned count;

	for (int64_t id = 0; id < KEYS; id++)
		amounts[id] = ABSENT;
	tg_reads_add_table(c->session, c->reads, table, false);
	tg_chunk_scan_init(&scan, table, &c->snapshot, 0, UINT32_MAX);
	while ((count = tg_chunk_scan_next(c->session, &scan, c->vectors)) > 0 || scan.busy)
	{
		for (unsigned i = 0; i < count; i++)
			amounts[((int64_t *) c->vectors->data[0])[i]] = ((int64_t *) c->vectors->data[1])[i];
		if (scan.busy)
			sched_yield();
	}
}

static inline void
empty(client *c)
{
	int64_t old;

	begin(c);
	for (int64_t id = 0; id < KEYS; id++)
		(void) !set(c, id, ABSENT, &old);
	end(c, true);
	collect_all(c->session);
}

#endif /* TG_UNIT_SERIALIZABLE_H */

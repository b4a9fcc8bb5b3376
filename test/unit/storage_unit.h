/*
 * storage_unit.h
 *	  A table of (bigint, int, int, text) for unit tests, and its versions, made
 *	  without transactions.
 */
#ifndef TG_STORAGE_UNIT_H
#define TG_STORAGE_UNIT_H

#include <string.h>

#include "runtime/mem/arena.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/order/key_spec.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "runtime/table/table.h"
#include "test/unit/unit.h"

#define LIMIT_BYTES ((size_t) 1 << 30)
#define TEXT_BYTES 80
#define HEADER_BYTES 4

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EFFORT 1
#else
#define EFFORT 8
#endif

static tg_session *session; /* the main thread's */

/* bigint, int, int, text: the row of the budget */
__attribute__((unused)) static const uint8_t row_kinds[] = {TG_KIND_8, TG_KIND_4, TG_KIND_4, TG_KIND_STRING};
__attribute__((unused)) static const tg_key_spec row_key = {.part_count = 1,
															.part = {{.column = 0, .code = TG_KEY_SIGNED}}};
__attribute__((unused)) static const bool no_nulls[4];

/* Live bytes that belong to tables. */
static inline size_t
used_bytes(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_TABLE] + report.used_by[TG_USE_CHUNK] + report.used_by[TG_USE_HEADER] +
		   report.used_by[TG_USE_BLOB] + report.used_by[TG_USE_INDEX];
}

/* Frees memory that waits for an epoch; no session is inside. */
static inline void
drain_retired(void)
{
	tg_epoch_advance();
	tg_retire_poll(session);
}

static inline tg_table *
make_table(const tg_key_spec *key)
{
	tg_table *table;

	if (tg_table_create(session, 1, 2, row_kinds, 4, key, TG_DATA, &table) != TG_OK)
		abort();
	return table;
}

static inline void
end_table(tg_table *table)
{
	tg_leases_forget(table);
	tg_table_release(session, table);
	drain_retired();
}

static inline void
make_values(tg_value values[4], uint64_t number, unsigned char *memory)
{
	memset(memory, 'a' + (int) (number % 26), HEADER_BYTES + TEXT_BYTES);
	values[0].word = number;
	values[1].word = (uint64_t) - (int64_t) (number % 1000);
	values[2].word = number % 7;
	tg_string_make_host(&values[3].string, memory, HEADER_BYTES + TEXT_BYTES, HEADER_BYTES);
}

static inline tg_header *
header_of(tg_version version)
{
	return tg_chunk_headers(tg_version_chunk(version)) + tg_version_slot(version);
}

/* A version with values of its own, or of those given; committed at a time, or NEVER. */
static inline tg_version
add_version(tg_table *table, uint32_t row, const tg_value *values, tg_time begin)
{
	unsigned char memory[HEADER_BYTES + TEXT_BYTES];
	tg_value own[4];
	tg_version version;

	if (values == NULL)
	{
		make_values(own, row, memory);
		values = own;
	}
	tg_epoch_enter(session);
	if (tg_slot_take(session, table, TG_DATA, &version) != TG_OK ||
		tg_version_store(session, version, row, values, no_nulls, TG_DATA) != TG_OK)
		abort();
	header_of(version)->begin = begin;
	tg_epoch_leave(session);
	return version;
}

/* A version that takes over the text of another. */
static inline tg_version
add_sharing(tg_table *table, tg_version older, tg_time begin)
{
	tg_value values[4];
	tg_version version;

	for (unsigned i = 0; i < 4; i++)
		tg_chunk_value(tg_version_chunk(older), i, tg_version_slot(older), &values[i]);
	version = add_version(table, tg_version_row(older), values, begin);
	header_of(version)->older = older;
	header_of(older)->end = begin;
	return version;
}

static inline void
give_slot(tg_version version)
{
	tg_epoch_enter(session);
	header_of(version)->begin = TG_TIME_NEVER;
	tg_version_blobs_free(session, version, TG_VERSION_NONE, TG_VERSION_NONE);
	tg_slot_give(session, version);
	tg_epoch_leave(session);
}

/* Takes the headers of all chunks away that can be without; their number. */
static inline unsigned
settle_all(tg_table *table, tg_time horizon)
{
	unsigned settled = 0;

	for (unsigned step = 0; step < 2; step++)
	{
		for (uint32_t i = 0; i < tg_table_chunk_count(table); i++)
		{
			tg_epoch_enter(session);
			if (tg_table_chunk(table, i) != NULL)
				settled += tg_chunk_settle(session, tg_table_chunk(table, i), horizon);
			tg_epoch_leave(session);
		}
		tg_epoch_advance();
	}
	return settled;
}

/* Sets up arena, leases and session; then a test may begin. */
static inline void
start_storage(void)
{
	const tg_arena_config config = {.reserve_bytes = 2 * LIMIT_BYTES, .limit_bytes = LIMIT_BYTES, .session_max = 16};

	if (tg_arena_create(&config) != TG_OK || tg_lease_create() != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
}

static inline int
end_storage(void)
{
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}

#endif /* TG_STORAGE_UNIT_H */

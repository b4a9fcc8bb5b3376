/*
 * index_add.c
 *	  Builds of indexes entry by entry, while other transactions write.
 *
 * index_build.c tells why each entry is checked a second time, and how duplicate keys are judged.
 */
#include "runtime/txn/txn.h"
#include "runtime/exec/index_build_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/index/entry.h"

#define STEP_CHUNKS 4 /* of a step of ADD */

/* --- one by one --------------------------------------------------------------------------- */

/* Adds an entry, and looks again whether the version is there. */
static tg_status
add_entry(tg_session *session, const tg_index_build *build, tg_index_key *key, uint32_t row)
{
	tg_status status;

	if (build->index == NULL)
		return tg_btree_insert(session, build->table->index, key->entry, key->bytes, &row, build->claim);
	status = tg_index_entry_add(session, build->index, key, row, build->claim);
	if (status == TG_OK)
		tg_index_entry_recheck(session, build->index, key, row);
	return status;
}

static tg_status
add_chunk(tg_session *session, tg_index_build *build, const tg_chunk *chunk)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	for (unsigned slot = 0; slot < chunk->capacity; slot++)
	{
		tg_found_entries found;
		tg_status status;

		if ((present[slot / 64] >> slot % 64 & 1) == 0)
			continue;
		status = tg_build_find_entries(session, build, chunk, headers, slot, &found);
		if (status == TG_NOT_FOUND)
			continue;
		if (status != TG_OK)
			return status;
		tg_failpoint("index_build_found");
		while (tg_index_keys_next(&found.keys))
		{
			status = add_entry(session, build, &found.keys.key, found.row);
			if (status != TG_OK)
				return status;
		}
	}
	return TG_OK;
}

tg_status
tg_build_step_add(tg_session *session, tg_index_build *build)
{
	tg_status status = TG_OK;

	for (unsigned i = 0; i < STEP_CHUNKS && build->at_chunk < build->chunk_count && status == TG_OK; i++)
	{
		const tg_chunk *chunk;

		tg_epoch_enter(session);
		chunk = tg_table_chunk(build->table, build->at_chunk);
		if (chunk != NULL)
			status = add_chunk(session, build, chunk);
		tg_epoch_leave(session);
		tg_store_relaxed(&build->done, ++build->at_chunk);
	}
	if (status != TG_OK || build->at_chunk < build->chunk_count)
		return status != TG_OK ? status : TG_AGAIN;
	/* Every row has its entries; a thread that sees this store sees them. */
	tg_build_is_filled(build);
	build->phase = build->index != NULL && build->index->spec.unique ? TG_BUILD_VERIFY : TG_BUILD_DONE;
	return build->phase == TG_BUILD_DONE ? TG_OK : TG_AGAIN;
}

/* --- verifying ---------------------------------------------------------------------------- */

/* Whether the key is one that equals no other key, according to the row's versions that have it. */
static bool
is_distinct(const tg_index_build *build, const tg_index_key *key, uint32_t row)
{
	tg_version version = tg_load_acquire(tg_row_head(build->table, row));

	while (!tg_head_is_closed(version) && version != TG_VERSION_NONE)
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));
		tg_index_key own;

		if (tg_index_key_of_version(build->index, version, &own) == TG_OK && own.present && own.bytes == key->bytes &&
			memcmp(own.entry, key->entry, key->bytes) == 0)
			return own.distinct;
		if (headers == NULL)
			break;
		version = tg_load_acquire(&headers[tg_version_slot(version)].older);
	}
	return false;
}

/* Judges a key with several rows: are two of them live, or may they become live? */
static tg_status
judge_key(tg_session *session, tg_index_build *build, const tg_index_key *key, tg_index_build_report *report)
{
	tg_btree_cursor cursor;
	uint32_t row;
	uint32_t holder = TG_ROW_MAX;
	bool is_open = false; /* a running transaction's end decides */

	tg_btree_cursor_init(&cursor, build->index->tree, key->entry, key->bytes, true, key->entry, key->bytes, true,
						 false);
	while (tg_btree_cursor_next(&cursor, &row, 1) > 0)
	{
		tg_wait wait;
		tg_status status = tg_unique_judge(session, build->index, key, row, &wait);

		if (status == TG_OK)
			continue;
		if (is_distinct(build, key, row))
			return TG_OK;
		if (status == TG_BUSY)
		{
			report->wait = wait;
			is_open = true;
		}
		if (holder != TG_ROW_MAX && !is_open)
		{
			tg_build_report_twins(build, holder, row, report);
			return TG_EXISTS;
		}
		if (holder != TG_ROW_MAX)
			return TG_BUSY;
		holder = row;
	}
	return TG_OK;
}

static tg_status
verify_epoch(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	unsigned char bytes[TG_KEY_BYTES_MAX + sizeof(uint16_t)];

	for (unsigned i = 0; i < TG_BUILD_EPOCH_ENTRIES; i++)
	{
		tg_btree_keys keys = {.bytes = bytes, .capacity = sizeof(bytes)};
		const unsigned char *entry;
		tg_index_key key;
		size_t key_bytes;
		uint32_t row;
		tg_status status;

		if (tg_btree_cursor_next_keys(&build->cursor, &row, 1, &keys) == 0)
		{
			build->phase = TG_BUILD_DONE;
			return TG_OK;
		}
		(void) tg_index_entry_next(bytes, &entry, &key_bytes);
		if (!build->has_last || build->last_bytes != key_bytes || memcmp(build->last, entry, key_bytes) != 0)
		{
			memcpy(build->last, entry, key_bytes);
			build->last_bytes = (uint32_t) key_bytes;
			build->has_last = true;
			build->last_is_judged = false;
			continue;
		}
		if (build->last_is_judged)
			continue;
		memcpy(key.entry, entry, key_bytes);
		key.bytes = (uint32_t) key_bytes;
		status = judge_key(session, build, &key, report);
		if (status != TG_OK)
			return status;
		build->last_is_judged = true;
	}
	return TG_AGAIN;
}

tg_status
tg_build_step_verify(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	tg_status status;

	if (!build->in_verify)
	{
		tg_btree_cursor_init(&build->cursor, build->index->tree, NULL, 0, true, NULL, 0, true, false);
		build->has_last = false;
		build->in_verify = true;
	}
	tg_epoch_enter(session);
	status = verify_epoch(session, build, report);
	tg_epoch_leave(session);
	if (status == TG_BUSY || status == TG_EXISTS)
		build->in_verify = false; /* from the beginning */
	return status;
}

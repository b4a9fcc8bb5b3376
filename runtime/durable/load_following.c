/*
 * load_following.c
 *	  What a load adds to tables that have followed the journal, before sessions write to them.
 *
 *	RANKS	of the host's values, from the base and the journal, as any load gets them (load.c, 4),
 *			if there are keys with such
 *	CHECK	whether the records of transactions that the host has prepared can still be read: one
 *			whose records cannot is lost, and is not restored
 *	RESERVE	the ids of rows that prepared transactions have inserted
 *	RESTORE	these transactions
 *	DROP	ranks that are in no key
 *	FREE	rows without a version
 *
 * Readers go on meanwhile, but none by ranks of the host's values.  Nothing deleted is left that
 * the collector would have to remove, so no key has a rank that a later value may have got.
 */
#include "runtime/durable/load_internal.h"

#include <stdlib.h>

#include "runtime/index/dictionary.h"
#include "runtime/index/index.h"
#include "runtime/index/long_key.h"
#include "runtime/reclaim/rank_sweep.h"
#include "runtime/table/catalog.h"
#include "runtime/table/registry.h"
#include "runtime/table/store.h"
#include "runtime/durable/roster.h"

/* The tables that the roster has, each with a reference. */
static tg_status
find_tables(tg_loading *load)
{
	size_t count = 0;

	for (const tg_roster_storage *storage = tg_roster_first(load->roster); storage != NULL; storage = storage->next)
		count += storage->state == TG_STORAGE_PLACED;
	load->tables = calloc(count + 1, sizeof(*load->tables));
	if (load->tables == NULL)
		return TG_NO_MEMORY;
	for (const tg_roster_storage *storage = tg_roster_first(load->roster); storage != NULL; storage = storage->next)
	{
		tg_table *table = storage->state == TG_STORAGE_PLACED ? tg_storage_find(storage->id) : NULL;

		if (table != NULL)
			load->tables[load->table_count++] = (tg_loaded){.id = storage->id, .storage = storage, .table = table};
	}
	tg_load_sort(load);
	return TG_OK;
}

static void
release_tables(tg_loading *load)
{
	for (size_t i = 0; i < load->table_count; i++)
		tg_table_release(load->session, load->tables[i].table);
	free(load->tables);
}

/* --- RANKS, DROP ------------------------------------------------------------------------- */

static bool
has_ranking(const tg_key_spec *key)
{
	for (unsigned i = 0; i < key->part_count; i++)
		if (key->part[i].ranking.compare != 0)
			return true;
	return false;
}

/* Whether keys need ranks of the host's values, or some have been restored. */
static bool
has_ranks(const tg_table *table)
{
	for (const tg_dictionary *at = tg_dictionary_next(table, NULL); at != NULL; at = tg_dictionary_next(table, at))
		if (at != tg_key_dictionary(table))
			return true;
	if (has_ranking(table->key))
		return true;
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		if (has_ranking(&index->spec.key))
			return true;
	return false;
}

bool
tg_load_needs_quiet(const tg_undecided *undecided)
{
	if (undecided->count > 0)
		return true;
	for (const tg_roster_storage *of = tg_roster_first(undecided->roster); of != NULL; of = of->next)
	{
		if (of->state == TG_STORAGE_PLACED && has_ranking(&of->key))
			return true;
		for (const tg_roster_index *index = of->indexes; index != NULL; index = index->next)
			if (of->state == TG_STORAGE_PLACED && has_ranking(&index->spec.key))
				return true;
	}
	return false;
}

/* tg_load_frame */
static tg_status
take_ranks(tg_loading *load, const tg_journal_frame *frame, const void *data)
{
	tg_record record;

	if (frame->kind != TG_FRAME_RECORD || tg_record_read(data, frame->bytes, &record) != TG_OK)
		return TG_OK;
	load->end = frame->end; /* noted in the tables that get a rank: whoever has followed noted none */
	return tg_load_ranks(load, frame->start, record.definitions, record.definition_bytes);
}

/* What the base says of definitions is of no interest here. */
static tg_status
load_ranks(tg_loading *load)
{
	tg_roster *roster = load->roster;
	tg_status status = tg_roster_create(&load->roster);

	if (status == TG_OK)
	{
		status = tg_load_base_open(load);
		tg_roster_free(load->roster);
	}
	load->roster = roster;
	if (status == TG_OK)
		status = tg_load_base_ranks(load);
	tg_load_base_close(load);
	return status == TG_OK ? tg_load_journal(load, load->least, take_ranks) : status;
}

/*
 * Nobody can tell any more which value a rank belongs to, because a later record may say it.  The
 * table stays in memory, because readers may be in it.
 */
static tg_status
lose_ranks(tg_loading *load, tg_loaded *of)
{
	const tg_roster_storage *storage = of->storage;
	const tg_table *present = tg_catalog_find(storage->database, storage->relation);

	if (present == of->table)
		(void) tg_catalog_take(load->session, storage->database, storage->relation);
	return tg_load_note_damage(load, of, "the order of its keys cannot be read");
}

static tg_status
lose_all_ranks(tg_loading *load)
{
	tg_status status = TG_OK;

	for (size_t i = 0; i < load->table_count && status == TG_OK; i++)
		if (has_ranks(load->tables[i].table))
			status = lose_ranks(load, &load->tables[i]);
	return status;
}

static tg_status
restore_ranks(tg_loading *load)
{
	tg_status status;
	bool needed = false;

	for (size_t i = 0; i < load->table_count; i++)
		needed |= has_ranks(load->tables[i].table);
	if (!needed)
		return TG_OK;
	status = load_ranks(load);
	return status == TG_DAMAGED || status == TG_IO ? lose_all_ranks(load) : status;
}

static tg_status
drop_ranks(tg_loading *load)
{
	for (size_t i = 0; i < load->table_count; i++)
	{
		tg_loaded *of = &load->tables[i];
		tg_status status = TG_OK;

		if (!of->is_damaged && has_ranks(of->table))
			status = tg_ranks_drop_unused(load->session, of->table);
		if (status == TG_DAMAGED)
			status = lose_ranks(load, of);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

/* --- RESERVE ------------------------------------------------------------------------------ */

/* tg_load_frame */
static tg_status
reserve(tg_loading *load, const tg_journal_frame *frame, const void *data)
{
	tg_record record;

	if (frame->kind != TG_FRAME_RECORD || tg_record_read(data, frame->bytes, &record) != TG_OK ||
		tg_load_prepared_of(load, frame->start, &record) == NULL)
		return TG_OK;
	return tg_load_judge_rows(load, tg_replay_reserve(load->replay, record.rows, record.row_bytes));
}

static tg_status
reserve_all(tg_loading *load)
{
	tg_status status;

	if (load->prepared_count == 0)
		return TG_OK;
	status = tg_load_begin_replay(load);
	if (status != TG_OK)
		return status;
	status = tg_load_prepared_records(load, reserve);
	tg_replay_end(load->replay);
	return status;
}

/* --- the end of following ------------------------------------------------------------------- */

static void
free_rows(tg_loading *load)
{
	for (size_t i = 0; i < load->table_count; i++)
		tg_rows_follow_no_more(load->tables[i].table);
}

static tg_status
run(tg_loading *load)
{
	tg_status status = find_tables(load);

	if (status == TG_OK)
		status = restore_ranks(load);
	if (status == TG_OK)
		status = tg_load_prepared_note(load);
	if (status == TG_OK)
		status = tg_load_prepared_check(load);
	if (status == TG_OK)
		status = reserve_all(load);
	if (status == TG_OK)
		status = tg_load_restore(load);
	if (status == TG_OK)
		status = drop_ranks(load);
	if (status == TG_OK)
		free_rows(load);
	return status;
}

tg_status
tg_load_end_following(tg_session *session, const tg_load_config *config, const tg_undecided *undecided,
					  const tg_load_with *withs, size_t with_count, tg_load_report *report_out)
{
	tg_loading load = {.session = session,
					   .config = config,
					   .report = report_out,
					   .roster = undecided->roster,
					   .undecided = *undecided,
					   .withs = withs,
					   .with_count = with_count};
	tg_status status;

	*report_out = (tg_load_report){.undecided_least = tg_undecided_least(undecided)};
	tg_incarnation_start(tg_roster_id_max(load.roster));
	status = run(&load);
	if (status != TG_OK)
		tg_load_prepared_take_back(&load);
	else
		tg_load_prepared_leave(&load);
	release_tables(&load);
	free(load.prepared);
	return status;
}

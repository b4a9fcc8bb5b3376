/*
 * load.c
 *	  The load: a base, then the journal, twice, then keys and indexes.
 *
 *	BASE	definitions as of the place P, where the base was begun
 *	DECIDE	the first pass takes definitions and outcomes: which records count, and, in the roster,
 *			every storage and index that is ever named
 *	MAKE	tables of the storages that are placed in the end, with the columns and the complete
 *			indexes that they have in the end
 *	ROWS	of the base (load_base.c)
 *	APPLY	the second pass applies the rows of the records that count, in the order of the log, to
 *			these tables; operations on other storages are read and passed over (load_apply.c)
 *	BUILD	keys and indexes, table by table
 *	RESTORE	a third pass, if the host has prepared transactions: it repeats what they have done, as
 *			these transactions; then all tables enter the catalog
 *
 * 1. What a record does takes effect at its own place, although its outcome comes later (record.h).
 *	  So rows are applied in the second pass only, when all outcomes are known.
 * 2. A storage that ends within the journal is not made: nobody would ever see its rows.  Columns
 *	  that are added within the journal are there from the beginning: rows that do not have them get
 *	  NULLs, as they should.
 * 3. The roster keeps ended storages and indexes until the second pass is over, so that every
 *	  record can be read to its end.
 * 4. Ranks are valid whatever the outcome of their record (index/dictionary_log.c).  Those that are
 *	  in no key go after RESTORE, which makes keys, too.
 * 5. What a base has is passed over in the journal: definitions from before P, and rows of
 *	  transactions that were decided before P.  Ranks of a storage that was not placed at P are in
 *	  no base.  From P to its end E, the base's rows may be later than a record (replay.c, 3).
 * 6. A table that the journal does not change is noted as such, so that the next base names its
 *	  files again (base.c, 5).  Others are noted at the journal's end: all that was logged of them
 *	  lies below it.  So are tables that follow from there on (follow.c, 4).
 * 7. An operation that does not fit the rows makes its table damaged, and concerns no other table.
 *	  A record that cannot be read ends the load: nobody knows what it would have changed.
 */
#include "runtime/durable/load_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/load_build.h"
#include "runtime/durable/replay.h"
#include "runtime/durable/roster_table.h"
#include "runtime/durable/undecided.h"
#include "runtime/mem/quota.h"
#include "runtime/index/dictionary.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/rank_sweep.h"
#include "runtime/table/catalog.h"
#include "runtime/table/registry.h"
#include "runtime/table/table.h"
#include "runtime/durable/roster.h"

/* Between two looks whether to go on: some milliseconds of work. */
#define FRAMES_PER_LOOK 256
#define BYTES_PER_LOOK ((size_t) 256 << 10)

/* --- reports --------------------------------------------------------------------------------- */

tg_status
tg_load_note_problem(tg_loading *load, const char *what)
{
	if (load->report->problem == NULL)
	{
		load->report->problem = what;
		load->report->problem_position = load->position;
	}
	return load->config->ignore_damage ? TG_OK : TG_DAMAGED;
}

tg_status
tg_load_note_damage(tg_loading *load, tg_loaded *of, const char *what)
{
	tg_load_report *report = load->report;
	tg_load_damage *damages;

	if (of->is_damaged)
		return TG_OK;
	damages = realloc(report->damages, (report->damage_count + 1) * sizeof(*damages));
	if (damages == NULL)
		return TG_NO_MEMORY;
	damages[report->damage_count++] = (tg_load_damage){.database = of->storage->database,
													   .relation = of->storage->relation,
													   .storage = of->id,
													   .position = load->position,
													   .what = what};
	report->damages = damages;
	of->is_damaged = true;
	return TG_OK;
}

/* --- progress --------------------------------------------------------------------------------- */

void
tg_load_begin_phase(const tg_loading *load, tg_load_phase phase, uint64_t total)
{
	tg_load_progress *progress = load->config->progress;

	if (progress == NULL)
		return;
	tg_store_relaxed(&progress->done, 0);
	tg_store_relaxed(&progress->total, total);
	tg_store_relaxed(&progress->phase, (uint32_t) phase);
}

void
tg_load_note_progress(const tg_loading *load, uint64_t done)
{
	if (load->config->progress != NULL)
		(void) tg_fetch_add_relaxed(&load->config->progress->done, done);
}

/* --- the journal ------------------------------------------------------------------------------ */

/* What ended the frames: nothing is wrong, or it is to be ignored, or the load ends. */
static tg_status
judge_end(tg_loading *load, tg_status status)
{
	load->position = 0;
	if (status == TG_OK || status == TG_NOT_FOUND)
		return TG_OK;
	if (status == TG_NO_MEMORY)
		return status;
	/* TG_AGAIN: nobody writes it now, so what is no frame is damage, too. */
	if (tg_load_note_problem(load, "the journal cannot be read") == TG_OK)
		return TG_OK;
	return status == TG_IO ? TG_IO : TG_DAMAGED;
}

/* *bytes_out: of the records. */
static tg_status
take_some(tg_loading *load, tg_journal_reader *reader, tg_load_frame take, size_t *bytes_out)
{
	const void *record;
	tg_journal_frame frame;
	tg_status status;

	*bytes_out = 0;
	for (unsigned count = 0; count < FRAMES_PER_LOOK && *bytes_out < BYTES_PER_LOOK; count++)
	{
		status = tg_journal_read(reader, &frame, &record, &load->report->error);
		if (status != TG_OK)
			return judge_end(load, status);
		load->position = frame.start;
		status = take(load, &frame, record);
		if (status != TG_OK)
			return status;
		*bytes_out += frame.bytes;
		if (load->config->follows && frame.end >= load->config->until)
			return judge_end(load, TG_OK);
		if (load->part_of != NULL && frame.start >= load->part_of->last)
			return judge_end(load, TG_OK);
	}
	return TG_AGAIN;
}

tg_status
tg_load_journal_some(tg_loading *load, tg_journal_reader *reader, tg_load_frame take)
{
	size_t bytes;
	tg_status status = take_some(load, reader, take, &bytes);

	if (load->counts)
		tg_load_note_progress(load, bytes);
	return status;
}

tg_status
tg_load_journal_begin(tg_loading *load, uint64_t position, tg_journal_reader **reader_out)
{
	const tg_load_config *config = load->config;
	tg_status status;

	if (config->follows && config->until == 0)
		return TG_NOT_FOUND;
	status = tg_journal_read_begin(config->journal, config->system, position, reader_out, &load->report->error);
	if (status == TG_OK || status == TG_NOT_FOUND || status == TG_NO_MEMORY)
		return status;
	return tg_load_note_problem(load, "the journal cannot be read") == TG_OK ? TG_NOT_FOUND : status;
}

tg_status
tg_load_journal(tg_loading *load, uint64_t position, tg_load_frame take)
{
	tg_journal_reader *reader;
	tg_status status = tg_load_journal_begin(load, position, &reader);

	if (status != TG_OK)
		return status == TG_NOT_FOUND ? TG_OK : status;
	while ((status = tg_load_journal_some(load, reader, take)) == TG_AGAIN)
	{
		if (load->config->go_on(load->config->context, false))
			continue;
		status = TG_CANCELLED;
		break;
	}
	tg_journal_read_end(reader);
	return status;
}

/* --- DECIDE ----------------------------------------------------------------------------------- */

static tg_status
note_counting(tg_loading *load, uint64_t position)
{
	if (position == 0)
		return TG_OK;
	if (load->counting_count == load->counting_capacity)
	{
		size_t capacity = load->counting_capacity > 0 ? 2 * load->counting_capacity : 64;
		uint64_t *counting = realloc(load->counting, capacity * sizeof(*counting));

		if (counting == NULL)
			return TG_NO_MEMORY;
		load->counting = counting;
		load->counting_capacity = capacity;
	}
	load->counting[load->counting_count++] = position;
	return TG_OK;
}

/* tg_load_frame */
static tg_status
decide(tg_loading *load, const tg_journal_frame *frame, const void *record)
{
	tg_decision decision;
	tg_status status = tg_undecided_frame(&load->undecided, frame, record, &decision);

	load->report->records++;
	load->report->last = frame->start;
	load->report->end = frame->end;
	load->record_bytes += frame->bytes;
	if (status == TG_DAMAGED)
		status = tg_load_note_problem(load,
									  tg_record_fault(record, frame->bytes, "a record has a fault in its definitions"));
	if (status != TG_OK || frame->start < load->since)
		return status;
	status = note_counting(load, decision.first);
	return status == TG_OK ? note_counting(load, decision.with) : status;
}

static int
compare_positions(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *) left;
	uint64_t b = *(const uint64_t *) right;

	return (a > b) - (a < b);
}

static tg_status
note_in_doubt(tg_loading *load)
{
	const tg_undecided *undecided = &load->undecided;
	tg_load_report *report = load->report;

	report->undecided_least = tg_undecided_least(undecided);
	report->in_doubt = calloc(undecided->count + 1, sizeof(*report->in_doubt));
	if (report->in_doubt == NULL)
		return TG_NO_MEMORY;
	for (size_t i = 0; i < undecided->count; i++)
		if (undecided->txns[i].with != 0)
			report->in_doubt[report->in_doubt_count++] = undecided->txns[i].xid;
	return TG_OK;
}

static tg_status
decide_all(tg_loading *load)
{
	tg_status status;

	tg_load_begin_phase(load, TG_LOAD_DEFINITIONS, tg_journal_bytes(load->config->journal, load->least));
	load->counts = true;
	status = tg_load_journal(load, load->least, decide);
	load->counts = false;
	if (status != TG_OK)
		return status;
	load->end = load->report->end;
	if (load->counting_count > 0)
		qsort(load->counting, load->counting_count, sizeof(*load->counting), compare_positions);
	status = note_in_doubt(load);
	return status == TG_OK ? tg_load_prepared_note(load) : status;
}

bool
tg_load_does_count(const tg_loading *load, uint64_t position)
{
	return load->counting_count > 0 &&
		   bsearch(&position, load->counting, load->counting_count, sizeof(*load->counting), compare_positions) != NULL;
}

/* --- MAKE ------------------------------------------------------------------------------------- */

static int
compare_loaded(const void *left, const void *right)
{
	return compare_positions(&((const tg_loaded *) left)->id, &((const tg_loaded *) right)->id);
}

void
tg_load_sort(tg_loading *load)
{
	qsort(load->tables, load->table_count, sizeof(*load->tables), compare_loaded);
}

static tg_status
make_tables(tg_loading *load)
{
	size_t count = 0;
	tg_status status = TG_OK;

	for (const tg_roster_storage *storage = tg_roster_first(load->roster); storage != NULL; storage = storage->next)
		count += storage->state == TG_STORAGE_PLACED;
	load->tables = calloc(count + 1, sizeof(*load->tables));
	if (load->tables == NULL)
		return TG_NO_MEMORY;
	for (const tg_roster_storage *storage = tg_roster_first(load->roster); storage != NULL && status == TG_OK;
		 storage = storage->next)
	{
		tg_loaded *of = &load->tables[load->table_count];

		if (storage->state != TG_STORAGE_PLACED)
			continue;
		*of = (tg_loaded){.id = storage->id, .storage = storage};
		load->table_count++;
		status = tg_roster_table_make(load->session, storage, load->config->follows, &of->table);
	}
	tg_load_sort(load);
	return status;
}

tg_loaded *
tg_load_find(const tg_loading *load, uint64_t storage)
{
	const tg_loaded key = {.id = storage};

	if (load->table_count == 0)
		return NULL;
	return bsearch(&key, load->tables, load->table_count, sizeof(*load->tables), compare_loaded);
}

/* --- BUILD ------------------------------------------------------------------------------------ */

static void
drop_table(tg_loading *load, tg_loaded *of)
{
	if (of->table == NULL)
		return;
	tg_roster_table_drop(load->session, of->table);
	of->table = NULL;
}

static tg_status
build(tg_loading *load, tg_loaded *of)
{
	const char *what;
	tg_status status;

	if (of->is_damaged && !load->config->ignore_damage)
	{
		drop_table(load, of);
		return TG_OK;
	}
	tg_replay_finish(load->session, of->table);
	status = tg_load_build(load->session, of->table, load->config, &what);
	if (status != TG_DAMAGED)
		return status;
	drop_table(load, of);
	return tg_load_note_damage(load, of, what);
}

static tg_status
build_all(tg_loading *load)
{
	tg_load_begin_phase(load, TG_LOAD_KEYS, load->table_count);
	for (size_t i = 0; i < load->table_count; i++)
	{
		tg_status status =
			load->config->go_on(load->config->context, false) ? build(load, &load->tables[i]) : TG_CANCELLED;

		if (status != TG_OK)
			return status;
		tg_load_note_progress(load, 1);
	}
	return TG_OK;
}

/* --- RESTORE ---------------------------------------------------------------------------------- */

/* tg_load_frame */
static tg_status
restore(tg_loading *load, const tg_journal_frame *frame, const void *data)
{
	const tg_load_prepared *prepared;
	tg_record record;
	tg_status status;

	if (frame->kind != TG_FRAME_RECORD || tg_record_read(data, frame->bytes, &record) != TG_OK)
		return TG_OK; /* it was reported before */
	prepared = tg_load_prepared_of(load, frame->start, &record);
	if (prepared == NULL)
		return TG_OK;
	status = tg_load_judge_rows(load, tg_replay_restore(load->replay, prepared->txn, record.rows, record.row_bytes));
	return status == TG_DAMAGED ? tg_load_note_problem(load, "a prepared transaction cannot be restored") : status;
}

tg_status
tg_load_restore(tg_loading *load)
{
	tg_status status;

	if (load->prepared_count == 0)
		return TG_OK;
	load->restores = true;
	status = tg_load_prepared_take(load);
	if (status == TG_OK)
		status = tg_load_begin_replay(load);
	if (status != TG_OK)
		return status;
	status = tg_load_prepared_records(load, restore);
	tg_replay_end(load->replay);
	return status;
}

/* 4. */
static tg_status
drop_ranks(tg_loading *load, tg_loaded *of)
{
	tg_status status = of->table != NULL ? tg_ranks_drop_unused(load->session, of->table) : TG_OK;

	if (status != TG_DAMAGED)
		return status;
	if (load->prepared_count > 0) /* their writes may be in the table */
		return tg_load_note_problem(load, "a key has a rank that no value has");
	drop_table(load, of);
	return tg_load_note_damage(load, of, "a key has a rank that no value has");
}

static tg_status
drop_all_ranks(tg_loading *load)
{
	tg_status status = TG_OK;

	for (size_t i = load->config->follows ? load->table_count : 0; i < load->table_count && status == TG_OK; i++)
		status = drop_ranks(load, &load->tables[i]);
	return status;
}

/* --- the load --------------------------------------------------------------------------------- */

/*
 * A table that the base has whole, and that nothing in the journal changes, is as in the base: no
 * record of it lies above the base's least position (base.c, 5a).
 */
static void
note_unchanged(tg_loading *load, tg_loaded *of)
{
	uint64_t none = 0;

	if (load->base != NULL && !of->is_damaged)
		(void) tg_cas_acq_rel(&of->table->logged_at, &none, load->least);
}

static tg_status
enter(tg_loading *load, tg_loaded *of)
{
	tg_table *before;
	tg_status status;

	note_unchanged(load, of);
	status = tg_catalog_put(load->session, of->table->database, of->table->relation, of->table, &before);

	if (status != TG_OK)
		return status;
	tg_check(before == NULL);
	of->is_entered = true;
	load->report->storages++;
	load->report->rows += (uint64_t) tg_load_relaxed(&of->table->row_count);
	load->report->bytes += (uint64_t) tg_load_relaxed(&of->table->book->bytes);
	return TG_OK;
}

static tg_status
enter_all(tg_loading *load)
{
	tg_incarnation_start(tg_roster_id_max(load->roster));
	for (size_t i = 0; i < load->table_count; i++)
	{
		tg_status status = load->tables[i].table != NULL ? enter(load, &load->tables[i]) : TG_OK;

		if (status != TG_OK)
			return status;
	}
	tg_collector_rows_came();
	return TG_OK;
}

static tg_status
run(tg_loading *load)
{
	tg_status status = tg_roster_create(&load->roster);

	if (status != TG_OK)
		return status;
	status = tg_load_base_open(load);
	if (status != TG_OK)
		return status;
	tg_undecided_begin(&load->undecided, load->roster, load->since);
	status = decide_all(load);
	if (status == TG_OK)
		status = make_tables(load);
	if (status == TG_OK)
		status = tg_load_apply(load);
	if (status == TG_OK)
		status = build_all(load);
	if (status == TG_OK)
		status = tg_load_restore(load);
	if (status == TG_OK)
		status = drop_all_ranks(load);
	if (status == TG_OK)
		status = enter_all(load);
	return status;
}

/* The tables go again. */
static void
give_up(tg_loading *load)
{
	tg_load_prepared_take_back(load);
	for (size_t i = 0; i < load->table_count; i++)
	{
		tg_loaded *of = &load->tables[i];

		if (of->is_entered)
			(void) tg_catalog_take(load->session, of->storage->database, of->storage->relation);
		drop_table(load, of);
	}
	load->report->storages = 0;
}

tg_status
tg_load(tg_session *session, const tg_load_config *config, tg_load_report *report_out)
{
	tg_loading load = {.session = session, .config = config, .report = report_out};
	tg_status status;

	*report_out = (tg_load_report){.undecided_least = UINT64_MAX};
	status = run(&load);
	if (status != TG_OK)
		give_up(&load);
	else
		tg_load_prepared_leave(&load);
	tg_load_base_close(&load);
	if (status == TG_OK)
		tg_undecided_forget(&load.undecided);
	if (status == TG_OK && config->follows)
		report_out->undecided = load.undecided;
	else
		tg_undecided_end(&load.undecided);
	free(load.counting);
	free(load.tables);
	free(load.prepared);
	if (status == TG_OK)
		report_out->roster = load.roster;
	else
		tg_roster_free(load.roster);
	return status;
}


void
tg_load_report_free(tg_load_report *report)
{
	free(report->in_doubt);
	free(report->prepared);
	free(report->lost);
	free(report->damages);
	tg_undecided_end(&report->undecided);
	tg_roster_free(report->roster);
	*report = (tg_load_report){0};
}

/*
 * load_apply.c
 *	  APPLY: the second pass of a load, by several tasks of the pool.
 *
 * The row ids of all tables are dealt out in runs, and each task has a share of them.  Each reads
 * the whole journal, by itself, and applies the operations on the rows of its share, in the order
 * of the log; the others it only reads.  So nothing is passed from one task to another, and none
 * waits for another.  What all of them do is to find frames, to check them and to read operations:
 * a part of the work that does not get shorter with their number, so there are not many.
 *
 * 1. All that an operation of a row changes or looks at is the row's: its head, the slot of its one
 *	  version with what belongs to this, and the slot that it takes or gives.  So operations of
 *	  different rows commute, and those of one row are one task's, and come in the order of the
 *	  log.  Whether an operation fits its row is the same whatever other tasks have done.
 * 2. Unique keys move between rows by operations of both rows, which may be applied in any order
 *	  here: no key or index has entries before BUILD, which sees the rows as of the end.
 * 3. Definitions are no barriers.  Tables have from the beginning the columns and indexes that they
 *	  have in the end (load.c, 2), and an operation says itself which of them it knows.  The roster
 *	  is only read.
 * 4. Which records count is known (load.c, 1).  The rows that an undecided transaction has inserted
 *	  get their ids reserved by the tasks that have these rows, behind what ended the former life of
 *	  the id, as in the log.
 * 5. No row has ranks, and no key is made of them before BUILD.  So one task, the first, restores
 *	  all of them, in the order of the log.
 * 6. Chunks, their headers, companions and bitmaps, and the directory of rows, are those that
 *	  sessions of a running server change beside each other; each thread takes slots by leases of
 *	  its own session (table/chunk.c, table/lease.c, table/settle.c, index/hidden.c).
 * 7. A task is a load of its own over the same tables (tg_loading), which notes by itself what is
 *	  wrong.  Of a table, it goes on with the rows of its share until it finds that one does not
 *	  fit; the first fault of a table, or of the journal, in the order of the log, is the one that a
 *	  single task would have found.  At the end they are put together in that order.
 */
#include "runtime/durable/load_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/durable/definitions.h"
#include "runtime/durable/load_spread.h"
#include "runtime/durable/operations.h"
#include "runtime/durable/record.h"
#include "runtime/index/dictionary.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/write_log.h"
#include "runtime/durable/roster.h"

#define SHARE_MAX 8 /* with more, most of what each does would be to read */

/* --- rows and ranks --------------------------------------------------------------------------- */

/*
 * Notes that the journal changes what the base has of a table, or only adds a rank.  All tasks of
 * the load write the same.
 */
static void
note_change(const tg_loading *load, tg_table *table)
{
	tg_table_note_logged(table, load->end);
}

/* tg_replay_calls */
static size_t
shape_of(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes, unsigned index_count,
		 uint8_t *kinds, unsigned *cell_counts)
{
	const tg_loading *load = context;

	return tg_roster_shape(load->roster, storage, column_count, indexes, index_count, kinds, cell_counts, TG_CELLS_MAX);
}

static tg_table *
table_of(void *context, uint64_t storage)
{
	const tg_loading *load = context;
	const tg_loaded *of = tg_load_find(load, storage);

	if (of == NULL || (of->is_damaged && !load->config->ignore_damage))
		return NULL;
	if (of->table != NULL)
		note_change(load, of->table);
	return of->table;
}

static void
take_misfit(void *context, uint64_t storage)
{
	tg_loading *load = context;
	tg_status status = load->restores
						   ? tg_load_note_problem(load, "a prepared transaction does not fit the rows")
						   : tg_load_note_damage(load, tg_load_find(load, storage), "a change does not fit the rows");

	if (status != TG_OK)
		load->status = status;
}

/* load.c, 4.  Of a storage that has a table, unless it is in the base already. */
static tg_status
apply_rank(tg_loading *load, uint64_t position, const tg_definition *rank)
{
	tg_loaded *of = load->config->follows ? NULL : tg_load_find(load, rank->storage);
	tg_status status;

	if (of == NULL || of->table == NULL || (position < load->since && of->has_ranks))
		return TG_OK;
	if (position != UINT64_MAX)
		note_change(load, of->table);
	status = tg_dictionary_restore(load->session, of->table, rank->ranking, rank->value, rank->value_bytes, rank->rank,
								   rank->rank_bytes);
	return status == TG_DAMAGED ? tg_load_note_damage(load, of, "a rank cannot be one") : status;
}

tg_status
tg_load_ranks(tg_loading *load, uint64_t position, const void *data, size_t count)
{
	tg_reader reader = tg_reader_make(data, count);
	tg_definition definition;
	tg_status status = TG_OK;

	while (status == TG_OK && tg_definitions_next(&reader, &definition))
		if (definition.kind == TG_DEFINITION_RANK)
			status = apply_rank(load, position, &definition);
	if (status != TG_OK)
		return status;
	return reader.damaged ? TG_DAMAGED : TG_OK;
}

tg_status
tg_load_judge_rows(const tg_loading *load, tg_status status)
{
	return load->status != TG_OK ? load->status : status;
}

/* Whether the rows of a record count, and are not in the base already. */
static bool
rows_count(const tg_loading *load, const tg_journal_frame *frame, const tg_record *record)
{
	switch (record->kind)
	{
		case TG_RECORD_COMMIT:
			return frame->start >= load->since;
		case TG_RECORD_WITH:
			return tg_load_does_count(load, frame->start);
		case TG_RECORD_PART:
			return tg_load_does_count(load, record->first != 0 ? record->first : frame->start);
		default:
			return false;
	}
}

tg_status
tg_load_begin_replay(tg_loading *load)
{
	load->calls = (tg_replay_calls){.context = load, .shape = shape_of, .table = table_of, .misfit = take_misfit};
	return tg_replay_begin(load->session, &load->calls, &load->replay);
}

/* --- a share ---------------------------------------------------------------------------------- */

typedef struct share
{
	tg_loading load; /* a load of its own (7) */
	tg_load_report report;
	tg_journal_reader *reader; /* NULL: there is no journal */
	bool restores_ranks;
	size_t merged_count; /* of its report's damages */
} share;

typedef struct shares
{
	const tg_loading *load;
	unsigned count;
	share share[SHARE_MAX];
} shares;

static tg_status
apply_ranks(tg_loading *load, const tg_journal_frame *frame, const tg_record *record)
{
	tg_status status = tg_load_ranks(load, frame->start, record->definitions, record->definition_bytes);

	return status == TG_DAMAGED ? tg_load_note_problem(load, "a record has a fault in its definitions") : status;
}

/* tg_load_frame */
static tg_status
apply(tg_loading *load, const tg_journal_frame *frame, const void *data)
{
	const share *own = (const share *) load;
	tg_record record;
	tg_status status;

	if (frame->kind != TG_FRAME_RECORD)
		return TG_OK;
	status = tg_record_read(data, frame->bytes, &record);
	if (status != TG_OK)
		return tg_load_note_problem(load, tg_record_fault(data, frame->bytes, "a record cannot be read"));
	if (own->restores_ranks)
		status = apply_ranks(load, frame, &record);
	if (status != TG_OK || record.row_bytes == 0)
		return status;
	if (rows_count(load, frame, &record))
		status = tg_load_judge_rows(
			load, tg_replay_record(load->replay, record.rows, record.row_bytes, frame->start >= load->exact_from));
	else if (tg_load_prepared_of(load, frame->start, &record) != NULL)
		status = tg_load_judge_rows(load, tg_replay_reserve(load->replay, record.rows, record.row_bytes));
	return status == TG_DAMAGED ? tg_load_note_problem(load, "a record has a fault in its rows") : status;
}

static tg_status
begin_share(const shares *shares, size_t number, share *own)
{
	const tg_loading *load = shares->load;
	size_t bytes = load->table_count * sizeof(*load->tables);
	tg_status status;

	own->load = *load;
	own->load.report = &own->report;
	own->load.replay = NULL;
	own->load.tables = malloc(bytes + 1);
	own->restores_ranks = number == 0;
	own->load.counts = number == 0; /* all read the same */
	if (own->load.tables == NULL)
		return TG_NO_MEMORY;
	memcpy(own->load.tables, load->tables, bytes);
	status = tg_load_begin_replay(&own->load);
	if (status != TG_OK)
		return status;
	tg_replay_share(own->load.replay, (unsigned) number, shares->count);
	status = tg_load_journal_begin(&own->load, load->least, &own->reader);
	return status == TG_NOT_FOUND ? TG_OK : status;
}

/* Of tg_load_work: reads some frames. */
static tg_status
apply_some(void *context, size_t piece, tg_session *session, void **state_inout)
{
	shares *shares = context;
	share *own = &shares->share[piece];
	tg_status status = TG_OK;

	if (*state_inout == NULL)
	{
		*state_inout = own;
		status = begin_share(shares, piece, own);
	}
	if (status != TG_OK || own->reader == NULL)
		return status;
	own->load.session = session;
	tg_replay_go_on_with(own->load.replay, session);
	return tg_load_journal_some(&own->load, own->reader, apply);
}

/* Of tg_load_work. */
static void
end_share(void *context, tg_session *session, void *state)
{
	share *own = state;

	(void) context;
	(void) session;
	if (own->reader != NULL)
		tg_journal_read_end(own->reader);
	if (own->load.replay != NULL)
	{
		own->report.changes = tg_replay_changes(own->load.replay);
		tg_replay_end(own->load.replay);
	}
	free(own->load.tables);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* The position of a fault; that of the journal's end, which is 0, lies behind all others. */
static uint64_t
place_of(uint64_t position)
{
	return position - 1;
}

/* 7.  The share whose next damage comes first in the log; NULL: there are no more. */
static share *
next_damaged(shares *shares)
{
	share *found = NULL;

	for (unsigned i = 0; i < shares->count; i++)
	{
		share *at = &shares->share[i];

		if (at->merged_count < at->report.damage_count &&
			(found == NULL || place_of(at->report.damages[at->merged_count].position) <
								  place_of(found->report.damages[found->merged_count].position)))
			found = at;
	}
	return found;
}

static tg_status
merge_damages(tg_loading *load, shares *shares)
{
	tg_status status = TG_OK;
	share *at;

	while (status == TG_OK && (at = next_damaged(shares)) != NULL)
	{
		const tg_load_damage *damage = &at->report.damages[at->merged_count++];

		load->position = damage->position;
		status = tg_load_note_damage(load, tg_load_find(load, damage->storage), damage->what);
	}
	load->position = 0;
	return status;
}

/* What concerns no single table, unless the first pass has noted some. */
static void
merge_problems(tg_loading *load, const shares *shares)
{
	const tg_load_report *first = NULL;

	for (unsigned i = 0; i < shares->count; i++)
	{
		const tg_load_report *report = &shares->share[i].report;

		load->report->changes += report->changes;
		if (report->problem != NULL &&
			(first == NULL || place_of(report->problem_position) < place_of(first->problem_position)))
			first = report;
	}
	if (first == NULL || load->report->problem != NULL)
		return;
	load->report->problem = first->problem;
	load->report->problem_position = first->problem_position;
	load->report->error = first->error;
}

static tg_status
apply_journal(tg_loading *load)
{
	unsigned workers = tg_scheduler_is_running() ? tg_worker_count() : 1;
	shares *shares = calloc(1, sizeof(*shares));
	tg_load_work work = {.context = shares, .step = apply_some, .drop = end_share};
	tg_status status;
	tg_status merged;

	if (shares == NULL)
		return TG_NO_MEMORY;
	shares->load = load;
	shares->count = workers < SHARE_MAX ? workers : SHARE_MAX;
	work.count = shares->count;
	tg_load_begin_phase(load, TG_LOAD_CHANGES, load->record_bytes);
	status = tg_load_spread(load->session, load->config, &work);
	merge_problems(load, shares);
	merged = merge_damages(load, shares);
	for (unsigned i = 0; i < shares->count; i++)
		free(shares->share[i].report.damages);
	free(shares);
	return status == TG_OK ? merged : status;
}

tg_status
tg_load_apply(tg_loading *load)
{
	tg_status status = tg_load_base_apply(load);

	return status == TG_OK ? apply_journal(load) : status;
}

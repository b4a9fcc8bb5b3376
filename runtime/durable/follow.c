/*
 * follow.c
 *	  Frame by frame: what is decided is applied.
 *
 *	PART, NOW, COMMIT	definitions that are not taken back: at once
 *	WITH				is kept until its outcome
 *	COMMIT, COMMITTED	the rows of the transaction's PARTs, then those of its last record, as one
 *						transaction; then the definitions that it commits with
 *
 * 1. Until a transaction is decided, no other one changes its rows, gives its row ids or its keys
 *	  away, or names its storages (record.h).  So all of it can be applied at the place of the
 *	  decision.
 * 2. A large transaction's PARTs are read from the journal again.  What is kept in memory is a
 *	  record for each transaction in doubt.
 * 3. A frame is taken in two steps.  The first one, on roster and transactions, is never repeated.
 *	  The second one, on tables, may fail for want of memory; then the transaction is rolled back,
 *	  and tried again in the next call, with the same frame.
 * 4. Each transaction notes the end of the frame that decides it in the tables that it has changed
 *	  (logged_at), so that a base names the files of those that have not changed again (base.c, 5).
 *	  Indexes that have been completed since are found there by themselves (5b).
 * 5. What has ended is forgotten from time to time, so that a standby of any age knows as much as
 *	  a new one: with each base, and when the primary has started anew.  Not within a frame: a
 *	  transaction may have rows of a storage that it drops.
 */
#include "runtime/durable/follow_internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/durable/operations.h"
#include "runtime/durable/roster.h"

#define FRAMES_PER_LOOK 256 /* between two looks whether to go on, where frames are only passed over */

/* --- life ------------------------------------------------------------------------------------ */

/* tg_replay_calls */
static size_t
shape_of(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes, unsigned index_count,
		 uint8_t *kinds, unsigned *cell_counts)
{
	const tg_follow *follow = context;

	return tg_roster_shape(follow->roster, storage, column_count, indexes, index_count, kinds, cell_counts,
						   TG_CELLS_MAX);
}

static tg_table *
table_of(void *context, uint64_t storage)
{
	tg_follow *follow = context;
	tg_table *table = NULL;
	tg_status status = tg_follow_table(follow, storage, &table);

	if (status == TG_OK)
		return table;
	follow->status = status;
	return NULL;
}

static void
take_misfit(void *context, uint64_t storage)
{
	tg_follow *follow = context;
	tg_status status = tg_follow_note_damage(follow, storage, "a change does not fit the rows");

	if (status != TG_OK)
		follow->status = status;
}

static tg_status
await(void *context)
{
	const tg_follow *follow = context;

	return follow->config->await(follow->config->context);
}

/* Nothing that was read can be understood any more. */
static tg_status
fail(tg_follow *follow, const char *what)
{
	follow->problem = what;
	return TG_DAMAGED;
}

static tg_status
keep_with(tg_follow *follow, uint64_t position, const void *record, size_t count)
{
	tg_load_with *with;
	tg_status status;

	if (follow->with_count == follow->with_capacity)
	{
		size_t capacity = follow->with_capacity > 0 ? 2 * follow->with_capacity : 16;
		tg_load_with *withs = realloc(follow->withs, capacity * sizeof(*withs));

		if (withs == NULL)
			return TG_NO_MEMORY;
		follow->withs = withs;
		follow->with_capacity = capacity;
	}
	with = &follow->withs[follow->with_count];
	*with = (tg_load_with){.position = position};
	status = tg_bytes_reserve(&with->record, count);
	if (status != TG_OK)
		return status;
	tg_bytes_put(&with->record, record, count);
	follow->with_count++;
	return TG_OK;
}

static void
forget_with(tg_follow *follow, size_t place)
{
	tg_bytes_free(&follow->withs[place].record);
	follow->withs[place] = follow->withs[--follow->with_count];
}

static bool
is_undecided(const tg_follow *follow, uint64_t position)
{
	for (size_t i = 0; i < follow->undecided.count; i++)
		if (follow->undecided.txns[i].with == position)
			return true;
	return false;
}

/* Of transactions that have ended. */
static void
forget_withs(tg_follow *follow)
{
	for (size_t i = follow->with_count; i-- > 0;)
		if (!is_undecided(follow, follow->withs[i].position))
			forget_with(follow, i);
}

/* Storages that were placed, or whose transaction has been aborted. */
static void
forget_created(tg_follow *follow)
{
	for (size_t i = follow->created.count; i-- > 0;)
	{
		const tg_roster_storage *of = tg_roster_find(follow->roster, follow->created.id[i]);

		if (of == NULL || of->state != TG_STORAGE_CREATED)
			follow->created.id[i] = follow->created.id[--follow->created.count];
	}
}

/* Passes on the frames from a position on, and up to the end of one. */
static tg_status
read_again(tg_follow *follow, uint64_t from, uint64_t end,
		   tg_status (*take)(tg_follow *follow, const tg_journal_frame *frame, const void *data))
{
	const tg_load_config *load = follow->config->load;
	tg_journal_frame frame = {0};
	tg_journal_reader *reader;
	const void *data;
	tg_status status = tg_journal_read_begin(load->journal, load->system, from, &reader, &follow->error);

	if (status != TG_OK)
		return status == TG_NOT_FOUND ? fail(follow, "the journal is missing") : status;
	for (unsigned count = 1; status == TG_OK && frame.end < end; count++)
	{
		if (count % FRAMES_PER_LOOK == 0 && !load->go_on(load->context, false))
			status = TG_CANCELLED;
		else
			status = tg_journal_read(reader, &frame, &data, &follow->error);
		if (status == TG_OK && frame.start >= from && frame.kind == TG_FRAME_RECORD)
			status = take(follow, &frame, data);
	}
	tg_journal_read_end(reader);
	return status == TG_NOT_FOUND || status == TG_AGAIN ? fail(follow, "the journal cannot be read") : status;
}

static tg_status
take_undecided(tg_follow *follow, const tg_journal_frame *frame, const void *data)
{
	return is_undecided(follow, frame->start) ? keep_with(follow, frame->start, data, frame->bytes) : TG_OK;
}

/* What the load has left: records in doubt, and storages that are not placed. */
static tg_status
take_over(tg_follow *follow)
{
	uint64_t least = tg_undecided_least(&follow->undecided);
	tg_status status = TG_OK;

	for (const tg_roster_storage *of = tg_roster_first(follow->roster); of != NULL && status == TG_OK; of = of->next)
		if (of->state == TG_STORAGE_CREATED)
			status = tg_ids_add(&follow->created, of->id);
	if (status != TG_OK || least == UINT64_MAX)
		return status;
	return read_again(follow, least, follow->position, take_undecided);
}

tg_status
tg_follow_begin(tg_session *session, const tg_follow_config *config, tg_load_report *report, tg_follow **follow_out)
{
	tg_follow *follow = calloc(1, sizeof(*follow));
	tg_status status;

	*follow_out = follow;
	if (follow == NULL)
		return TG_NO_MEMORY;
	follow->session = session;
	follow->config = config;
	follow->roster = report->roster;
	follow->undecided = report->undecided;
	follow->position = report->end;
	follow->last = report->last;
	report->roster = NULL;
	report->undecided = (tg_undecided){0};
	follow->calls = (tg_replay_calls){
		.context = follow, .shape = shape_of, .table = table_of, .misfit = take_misfit, .await = await};
	status = tg_replay_begin(session, &follow->calls, &follow->replay);
	return status == TG_OK ? take_over(follow) : status;
}

void
tg_follow_end(tg_follow *follow)
{
	tg_follow_drop_fresh(follow);
	while (follow->with_count > 0)
		forget_with(follow, 0);
	if (follow->reader != NULL)
		tg_journal_read_end(follow->reader);
	tg_replay_end(follow->replay);
	tg_undecided_end(&follow->undecided);
	tg_roster_free(follow->roster);
	free(follow->withs);
	free(follow->fresh);
	free(follow->created.id);
	free(follow->lost.id);
	free(follow);
}

uint64_t
tg_follow_position(const tg_follow *follow)
{
	return follow->position;
}

uint64_t
tg_follow_last(const tg_follow *follow)
{
	return follow->last;
}

bool
tg_follow_is_between_frames(const tg_follow *follow)
{
	return !follow->is_pending;
}

const char *
tg_follow_problem(const tg_follow *follow, const tg_file_error **error_out)
{
	*error_out = &follow->error;
	return follow->problem;
}

const tg_undecided *
tg_follow_undecided(const tg_follow *follow)
{
	return &follow->undecided;
}

const tg_load_with *
tg_follow_withs(const tg_follow *follow, size_t *count_out)
{
	*count_out = follow->with_count;
	return follow->withs;
}

void
tg_follow_leave(tg_follow *follow, tg_undecided *undecided_out)
{
	tg_assert(!follow->is_pending);
	*undecided_out = follow->undecided;
	follow->undecided = (tg_undecided){0};
	follow->roster = NULL;
	tg_follow_end(follow);
}

/* 5. */
void
tg_follow_forget(tg_follow *follow)
{
	if (follow->is_pending)
		return;
	tg_undecided_forget(&follow->undecided);
}

/* --- transactions ---------------------------------------------------------------------------- */

typedef struct decided
{
	uint64_t first; /* its first PART, or 0 */
	uint32_t xid;	/* of the host's that it commits with, or 0 */
	tg_record last;
} decided;

static tg_status
apply_rows(tg_follow *follow, const tg_record *record)
{
	tg_status status;

	if (record->row_bytes == 0)
		return TG_OK;
	follow->status = TG_OK;
	status = tg_replay_live(follow->replay, follow->txn, record->rows, record->row_bytes);
	if (follow->status != TG_OK)
		return follow->status;
	return status == TG_DAMAGED ? fail(follow, "a record has a fault in its rows") : status;
}

static tg_status
take_part(tg_follow *follow, const tg_journal_frame *frame, const void *data)
{
	tg_record record;

	if (tg_record_read(data, frame->bytes, &record) != TG_OK || record.kind != TG_RECORD_PART)
		return TG_OK;
	return frame->start == follow->first || record.first == follow->first ? apply_rows(follow, &record) : TG_OK;
}

/* The host's transaction, if there is one, is made known to snapshots before C is drawn. */
static void
commit(const tg_follow *follow, const decided *txn)
{
	const tg_follow_config *config = follow->config;

	tg_txn_note_logged(follow->txn, follow->frame.end);
	if (txn->xid != 0)
	{
		config->prepare(config->context, follow->txn, txn->xid);
		config->commit(config->context, follow->frame.end);
	}
	tg_txn_commit(follow->session, follow->txn);
}

/* All rows, or none. */
static tg_status
apply_txn(tg_follow *follow, const decided *txn)
{
	tg_status status = TG_OK;

	follow->txn = tg_txn_begin(follow->session, 0);
	follow->first = txn->first;
	if (txn->first != 0)
		status = read_again(follow, txn->first, follow->position, take_part);
	if (status == TG_OK)
		status = apply_rows(follow, &txn->last);
	if (status == TG_OK)
		status = tg_follow_build_fresh(follow);
	if (status == TG_OK && tg_txn_has_writes(follow->txn))
		commit(follow, txn);
	else
		tg_txn_abort(follow->session, follow->txn);
	if (status != TG_OK)
		tg_follow_drop_fresh(follow);
	return status;
}

static tg_status
carry_out(tg_follow *follow, const decided *txn)
{
	const tg_record *last = &txn->last;
	tg_status status = TG_OK;

	if (!follow->is_committed && (txn->first != 0 || last->row_bytes > 0))
		status = apply_txn(follow, txn);
	if (status != TG_OK)
		return status;
	follow->is_committed = true;
	return tg_follow_place(follow, last->definitions, last->definition_bytes);
}

/* --- frames ---------------------------------------------------------------------------------- */

static tg_status
take_committed(tg_follow *follow)
{
	decided txn = {.first = follow->decision.first, .xid = follow->frame.xid};
	size_t place = 0;
	tg_status status;

	if (follow->decision.with == 0)
		return TG_OK;
	while (place < follow->with_count && follow->withs[place].position != follow->decision.with)
		place++;
	if (place == follow->with_count)
		return fail(follow, "the record of a transaction is missing");
	status = tg_record_read(follow->withs[place].record.data, follow->withs[place].record.count, &txn.last);
	if (status == TG_OK)
		status = tg_follow_define(follow, txn.last.definitions, txn.last.definition_bytes);
	return status == TG_OK ? carry_out(follow, &txn) : status;
}

static tg_status
take_record(tg_follow *follow)
{
	decided txn = {0};
	tg_status status = tg_record_read(follow->record, follow->frame.bytes, &txn.last);

	if (status != TG_OK)
		return fail(follow, tg_record_fault(follow->record, follow->frame.bytes, "a record cannot be read"));
	switch (txn.last.kind)
	{
		case TG_RECORD_PART:
			return tg_follow_define(follow, txn.last.definitions, txn.last.definition_bytes);
		case TG_RECORD_NOW:
		case TG_RECORD_COMMIT:
			txn.first = txn.last.first;
			status = tg_follow_define(follow, txn.last.definitions, txn.last.definition_bytes);
			return status == TG_OK ? carry_out(follow, &txn) : status;
		case TG_RECORD_CLEAN_START:
			tg_follow_finish(follow);
			break;
		case TG_RECORD_WITH:
		case TG_RECORD_MARK:
		case TG_RECORD_GIVEN_UP:
			break;
	}
	return TG_OK;
}

/* 3: the first step. */
static tg_status
decide(tg_follow *follow)
{
	const tg_journal_frame *frame = &follow->frame;
	tg_status status = tg_undecided_frame(&follow->undecided, frame, follow->record, &follow->decision);

	if (status == TG_OK && frame->kind == TG_FRAME_RECORD && is_undecided(follow, frame->start))
		status = keep_with(follow, frame->start, follow->record, frame->bytes);
	if (status == TG_NO_MEMORY)
		return fail(follow, "there is no memory for a transaction in doubt");
	return status == TG_OK ? TG_OK : fail(follow, "a record has a fault in its definitions");
}

static bool
is_clean_start(const tg_follow *follow)
{
	tg_record record;

	return follow->frame.kind == TG_FRAME_RECORD &&
		   tg_record_read(follow->record, follow->frame.bytes, &record) == TG_OK &&
		   record.kind == TG_RECORD_CLEAN_START;
}

/* The second one. */
static tg_status
carry_out_frame(tg_follow *follow)
{
	tg_status status = TG_OK;

	switch ((tg_frame_kind) follow->frame.kind)
	{
		case TG_FRAME_RECORD:
			status = take_record(follow);
			break;
		case TG_FRAME_COMMITTED:
			status = take_committed(follow);
			break;
		case TG_FRAME_ABORTED:
			break;
	}
	if (status != TG_OK)
		return status;
	follow->is_pending = false;
	follow->position = follow->frame.end;
	follow->last = follow->frame.start;
	forget_withs(follow);
	forget_created(follow);
	if (is_clean_start(follow))
		tg_follow_forget(follow);
	return TG_OK;
}

static tg_status
open_reader(tg_follow *follow)
{
	const tg_load_config *load = follow->config->load;

	return tg_journal_read_begin(load->journal, load->system, follow->position, &follow->reader, &follow->error);
}

/* The next frame that has not been applied, in hand.  TG_NOT_FOUND: there is none. */
static tg_status
take_in_hand(tg_follow *follow)
{
	tg_status status = follow->reader != NULL ? TG_OK : open_reader(follow);

	if (status != TG_OK)
		return status;
	do
		status = tg_journal_read(follow->reader, &follow->frame, &follow->record, &follow->error);
	while (status == TG_OK && follow->frame.end <= follow->position);
	if (status != TG_OK)
		return status;
	follow->is_pending = true;
	follow->is_committed = false;
	return decide(follow);
}

tg_status
tg_follow_step(tg_follow *follow, uint64_t until, unsigned frames_max)
{
	tg_status status = follow->problem != NULL ? TG_DAMAGED : TG_OK;

	while (status == TG_OK && follow->position < until && frames_max-- > 0)
	{
		if (!follow->is_pending)
			status = take_in_hand(follow);
		if (status == TG_OK)
			status = carry_out_frame(follow);
	}
	if (status != TG_NOT_FOUND && status != TG_AGAIN)
		return status;
	return fail(follow, "the journal cannot be read");
}

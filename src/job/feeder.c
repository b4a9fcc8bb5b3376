/*
 * feeder.c
 *	  The executor's side of feeds: children of the node, whose rows are offered to the query.
 *
 * The session runs a child for as many rows as fill a buffer, and converts the columns that the job
 * wants into stored values.  In between it takes results and looks at interrupts (node.c), so the
 * query is never left waiting for longer than that, nor does the session wait while it could feed.
 *
 * An error of a child is one of the statement: the transaction's end, or that of its part, ends the
 * query, and the executor's memory goes with what the children have.
 *
 * A child is run in the executor's own memory: scans make there what they keep.
 */
#include "postgres.h"

#include "src/job/feeder.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/exec/vectors.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/query/query.h"
#include "src/value/datum.h"

typedef struct Feed
{
	int step;
	PlanState *child;
	bool has_run; /* since its first row */
	int column_count;
	const tsurugi_fed_column *columns; /* of the translation in hand */
	int last;						   /* the greatest position of a column, from 1 */
} Feed;

struct tsurugi_job_feeder
{
	EState *estate;
	MemoryContext row; /* of the conversion of a row */
	int count;
	Feed feeds[FLEXIBLE_ARRAY_MEMBER];
};

/* --- life ----------------------------------------------------------------------------- */

tsurugi_job_feeder *
tsurugi_job_feeder_begin(const tsurugi_job *job, CustomScanState *node, int eflags)
{
	const List *plans = castNode(CustomScan, node->ss.ps.plan)->custom_plans;
	int count = list_length(plans) - 1; /* but for the fallback */
	EState *estate = node->ss.ps.state;
	tsurugi_job_feeder *feeder;
	ListCell *cell;

	if (count == 0)
		return NULL;
	feeder = palloc0(offsetof(tsurugi_job_feeder, feeds) + count * sizeof(Feed));
	feeder->estate = estate;
	feeder->row = AllocSetContextCreate(CurrentMemoryContext, "fed row", ALLOCSET_DEFAULT_SIZES);
	foreach (cell, job->steps)
	{
		Feed *feed = &feeder->feeds[feeder->count];

		if (((const tsurugi_job_step *) lfirst(cell))->source != TG_FROM_FEED)
			continue;
		feeder->count++;
		feed->step = foreach_current_index(cell);
		feed->child = ExecInitNode(list_nth(plans, feeder->count), estate, eflags);
		node->custom_ps = lappend(node->custom_ps, feed->child);
	}
	tg_assert(feeder->count == count);
	return feeder;
}

double
tsurugi_job_feeder_rows(const tsurugi_job_feeder *feeder)
{
	double rows = 0;

	for (int i = 0; feeder != NULL && i < feeder->count; i++)
		rows += feeder->feeds[i].child->plan->plan_rows;
	return rows;
}

static void
begin_anew(tsurugi_job_feeder *feeder, Feed *feed)
{
	MemoryContext before;

	if (!feed->has_run)
		return;
	before = MemoryContextSwitchTo(feeder->estate->es_query_cxt);
	ExecReScan(feed->child);
	MemoryContextSwitchTo(before);
	feed->has_run = false;
}

void
tsurugi_job_feeder_start(tsurugi_job_feeder *feeder, const tsurugi_job_code *code)
{
	for (int i = 0; feeder != NULL && i < feeder->count; i++)
	{
		Feed *feed = &feeder->feeds[i];

		begin_anew(feeder, feed);
		feed->columns = tsurugi_job_fed_columns(code, feed->step, &feed->column_count);
		feed->last = 0;
		for (int j = 0; j < feed->column_count; j++)
			feed->last = Max(feed->last, feed->columns[j].position + 1);
	}
}

void
tsurugi_job_feeder_rest(tsurugi_job_feeder *feeder)
{
	for (int i = 0; feeder != NULL && i < feeder->count; i++)
		if (feeder->feeds[i].has_run)
			(void) ExecShutdownNode(feeder->feeds[i].child);
}

void
tsurugi_job_feeder_restart(tsurugi_job_feeder *feeder, Bitmapset *changed)
{
	for (int i = 0; feeder != NULL && changed != NULL && i < feeder->count; i++)
		UpdateChangedParamSet(feeder->feeds[i].child, changed);
}

void
tsurugi_job_feeder_end(tsurugi_job_feeder *feeder)
{
	for (int i = 0; feeder != NULL && i < feeder->count; i++)
		ExecEndNode(feeder->feeds[i].child);
}

/* --- rows ----------------------------------------------------------------------------- */

/* A long string gets memory that stays.  False: that is refused. */
static bool
keep_string(tg_string *string, tg_session *session, tg_query *query)
{
	uint32_t bytes = tg_string_blob_bytes(string);
	void *kept = tg_query_feed_bytes(session, query, bytes);

	if (kept == NULL)
		return false;
	memcpy(kept, string->blob, bytes);
	string->word = TG_STRING_OUT | bytes;
	string->blob = kept;
	return true;
}

/* A column of a row as it is stored, behind those that the rows have. */
static bool
add_value(const tsurugi_codec *codec, Datum datum, bool is_null, tg_vectors *rows, int column, tg_session *session,
		  tg_query *query)
{
	tg_value value = {.bytes = {0}};

	rows->nulls[column][rows->count] = is_null;
	if (!is_null)
		tsurugi_value(codec, datum, &value);
	if (codec->kind < TG_KIND_16)
		((uint64_t *) rows->data[column])[rows->count] = value.word;
	else
	{
		if (!is_null && codec->kind == TG_KIND_STRING && tg_string_is_out(&value.string) &&
			!keep_string(&value.string, session, query))
			return false;
		((tg_value *) rows->data[column])[rows->count] = value;
	}
	return true;
}

static bool
add_row(tsurugi_job_feeder *feeder, const Feed *feed, TupleTableSlot *slot, tg_vectors *rows, tg_session *session,
		tg_query *query)
{
	MemoryContext before = MemoryContextSwitchTo(feeder->row);
	bool added = true;

	tg_assert(rows->count < rows->capacity && feed->last <= slot->tts_tupleDescriptor->natts);
	slot_getsomeattrs(slot, feed->last);
	for (int i = 0; added && i < feed->column_count; i++)
	{
		int position = feed->columns[i].position;

		added = add_value(&feed->columns[i].codec, slot->tts_values[position], slot->tts_isnull[position], rows, i,
						  session, query);
	}
	rows->count++;
	MemoryContextSwitchTo(before);
	MemoryContextReset(feeder->row);
	return added;
}

/* *is_last_out: the child has no more. */
static bool
fill(tsurugi_job_feeder *feeder, Feed *feed, tg_vectors *rows, tg_session *session, tg_query *query, bool *is_last_out)
{
	MemoryContext before = MemoryContextSwitchTo(feeder->estate->es_query_cxt);
	bool filled = true;

	*is_last_out = false;
	feed->has_run = true;
	while (filled && !*is_last_out && rows->count < rows->capacity)
	{
		TupleTableSlot *slot = ExecProcNode(feed->child);

		CHECK_FOR_INTERRUPTS();
		*is_last_out = TupIsNull(slot);
		if (!*is_last_out)
			filled = add_row(feeder, feed, slot, rows, session, query);
	}
	MemoryContextSwitchTo(before);
	return filled;
}

bool
tsurugi_job_feeder_offer(tsurugi_job_feeder *feeder, tg_session *session, tg_query *query, tg_status *status_out)
{
	tg_feed_call call;
	bool is_last;
	int number = 0;

	*status_out = TG_OK;
	if (feeder == NULL || !tg_query_feed_wants(query, &call))
		return false;
	while (feeder->feeds[number].step != (int) call.step)
	{
		number++;
		tg_assert(number < feeder->count);
	}
	if (call.from_start)
		begin_anew(feeder, &feeder->feeds[number]);
	if (fill(feeder, &feeder->feeds[number], call.rows, session, query, &is_last))
		tg_query_feed_offer(session, query, &call, is_last);
	else
		*status_out = TG_NO_MEMORY;
	return true;
}

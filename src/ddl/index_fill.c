/*
 * index_fill.c
 *	  Computes an index's hidden values for the existing rows.
 *
 * PostgreSQL evaluates the expressions, in this backend, and they may do anything; so this is done
 * outside an epoch.  One version at a time is copied in an epoch, with the strings that are needed
 * from it; its values are computed; and in the next epoch they are stored, and the next version is
 * found (exec/index_fill.h).  The pool does the sorting and building that follow.
 *
 * Values are computed not only for the rows that are visible now, but for every version that some
 * snapshot sees, however old, so that a reader that uses the index finds the same rows as without
 * it.  PostgreSQL computes values for the same versions.  But here, versions that have ended are
 * also kept for a while after commits that changed ordinary tables, whether or not a snapshot sees
 * them (mixed.c, 5).  Expressions that fail for rows which have just been deleted must not raise an
 * error.  So values of such versions are computed in a subtransaction.  If one fails, or there are
 * many, the backend waits, once, until the versions need not be kept.
 */
#include "postgres.h"

#include "src/ddl/index_fill.h"

#include "access/xact.h"
#include "commands/progress.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "storage/latch.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/index/index.h"
#include "runtime/index/index_spec.h"
#include "runtime/exec/index_fill.h"
#include "src/base/owner.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/base/subtransaction.h"
#include "src/table/hidden.h"
#include "src/table/row_copy.h"

#define HORIZON_LOOKS 150
#define HORIZON_WAIT_MS 10
/* Subtransactions; a table that was just emptied would otherwise have one for each row. */
#define TRIALS_MAX 1000

typedef struct Fill
{
	const tsurugi_relation *described;
	tg_table *table;
	int index; /* its place in the relation's list */
	tg_index_fill walk;
	tsurugi_row_copy copy;
	EState *estate;
	tsurugi_hidden_states *states;
	unsigned trials;
	bool has_waited;
} Fill;

/* Prepares the copy of the columns that the values are computed from. */
static void
open_copy(Fill *fill)
{
	const tsurugi_index *index = &fill->described->indexes[fill->index];
	Bitmapset *columns = NULL;

	for (int i = 0; i < index->spec->hidden_count; i++)
		pull_varattnos((Node *) fill->described->hidden[index->sources[i]].source, 1, &columns);
	tsurugi_row_copy_init(&fill->copy, fill->described, columns);
	bms_free(columns);
}

static void
make_states(Fill *fill)
{
	fill->estate = CreateExecutorState();
	fill->states = tsurugi_hidden_prepare(fill->described, fill->table, fill->estate);
}

static void
open_fill(Fill *fill, Relation relation, tg_index *index, bool exclusive)
{
	fill->described = tsurugi_relation_describe(relation);
	fill->table = index->table;
	for (fill->index = 0; fill->described->indexes[fill->index].oid != index->spec.host; fill->index++)
		;
	open_copy(fill);
	fill->trials = 0;
	fill->has_waited = false;
	tg_index_fill_begin(tsurugi_session(), &fill->walk, index, exclusive);
}

/*
 * Waits until the version need not be kept any more, or until a time limit, because other commits
 * may have taken over.
 */
static void
wait_for_horizon(Fill *fill)
{
	for (int i = 0; i < HORIZON_LOOKS && tg_index_fill_is_kept(&fill->walk); i++)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, HORIZON_WAIT_MS, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	tg_index_fill_renew(&fill->walk);
	fill->has_waited = true;
}

/*
 * Stores the values of the last version, if it had any, and goes to the next one.  False: there is
 * none to compute now.
 */
static bool
step(Fill *fill, Relation relation, const tg_hidden_values *values)
{
	tg_session *session = tsurugi_session();
	tg_version version = TG_VERSION_NONE;
	tg_status status = TG_OK;
	bool taken = false;

	tg_epoch_enter(session);
	if (values != NULL)
		status = tg_index_fill_put(session, &fill->walk, values->values, values->nulls);
	if (status == TG_OK)
		version = tg_index_fill_next(&fill->walk);
	if (version != TG_VERSION_NONE)
		taken = tsurugi_row_copy_take(&fill->copy, version);
	tg_epoch_leave(session);
	tsurugi_check(status, relation);
	if (version == TG_VERSION_NONE)
	{
		pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_DONE, fill->walk.chunk);
		return false;
	}
	if (!taken)
		tsurugi_row_copy_make_room(&fill->copy);
	return taken;
}

/*
 * Computes values that perhaps no reader needs.  False: it failed; the compiled expressions, which
 * may be in an inconsistent state, are left to their memory context and made again.
 */
static bool
try_to_compute(Fill *fill, TupleTableSlot *slot, const tg_hidden_values **values_out)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		*values_out = tsurugi_hidden_compute_index(fill->states, slot, fill->index);
		ReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		int code = geterrcode();

		MemoryContextSwitchTo(context);
		if (code == ERRCODE_QUERY_CANCELED || ERRCODE_TO_CATEGORY(code) == ERRCODE_OPERATOR_INTERVENTION)
			tsurugi_subtransaction_raise();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		make_states(fill);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

/* The values of the current version; NULL: examine it again. */
static const tg_hidden_values *
compute(Fill *fill, TupleTableSlot *slot)
{
	const tg_hidden_values *values = NULL;

	ResetPerTupleExprContext(fill->estate);
	tsurugi_row_to_slot(&fill->copy.row, 0, slot);
	if (fill->has_waited || !tg_index_fill_is_kept(&fill->walk))
		return tsurugi_hidden_compute_index(fill->states, slot, fill->index);
	if (fill->trials++ < TRIALS_MAX && try_to_compute(fill, slot, &values))
		return values;
	wait_for_horizon(fill);
	return NULL;
}

static void
fill_all(Fill *fill, Relation relation)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	const tg_hidden_values *values = NULL;

	slot->tts_tableOid = RelationGetRelid(relation);
	pgstat_progress_update_param(PROGRESS_SCAN_BLOCKS_TOTAL, fill->walk.chunk_count);
	while (!tg_index_fill_is_over(&fill->walk))
	{
		CHECK_FOR_INTERRUPTS();
		values = step(fill, relation, values) ? compute(fill, slot) : NULL;
	}
	ExecDropSingleTupleTableSlot(slot);
}

void
tsurugi_index_fill(Relation relation, tg_index *index, bool exclusive)
{
	MemoryContext context;
	MemoryContext caller_context;
	tsurugi_caller caller;
	Fill fill;

	if (index->spec.hidden_count == 0)
		return;
	context = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw index", ALLOCSET_DEFAULT_SIZES);
	caller_context = MemoryContextSwitchTo(context);
	open_fill(&fill, relation, index, exclusive);
	tsurugi_owner_begin(relation, &caller);
	make_states(&fill);
	fill_all(&fill, relation);
	tsurugi_owner_end(&caller);
	FreeExecutorState(fill.estate);
	MemoryContextSwitchTo(caller_context);
	MemoryContextDelete(context);
}

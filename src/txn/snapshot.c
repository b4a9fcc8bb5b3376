/*
 * snapshot.c
 *	  The snapshot at which a running statement reads foreign tables.
 *
 * There is a record for each executor run.  It lies in the run's own memory, or in that of a state
 * which is kept for many runs (prepared.c); records are linked innermost first.  A point query
 * makes one record, publishes one time, and withdraws it when its memory is released: no table is
 * searched, and the list has one element.
 *
 *	run (EState) ── es_snapshot ──▶ PostgreSQL's snapshot
 *	  record {run, snapshot, time, entry}
 *	  record {nested run, the same snapshot} ── source ──▶ the outer record: time shared
 *
 * 1. R belongs to a PostgreSQL snapshot (M4).  A nested run whose es_snapshot is the pointer in a
 *	  live record shares that record's time.  The pointer can be trusted while the record's run
 *	  holds a reference on it.  Records of a subtransaction that was rolled back, whose runs may
 *	  linger, are not shared.
 * 2. A time stays published while a record that uses it lives.  If the source ends first (a cursor
 *	  opened by a function lives on), a sharer takes over.
 * 3. The end of the transaction withdraws all times; the memory may be released later.
 * 4. At REPEATABLE READ and above, and in Tsurugi's kinds of transactions, every record has the
 *	  transaction's time and follows when that is renewed (isolation.c), except for fresh records.
 *	  Those are for callers that ask for them, and for runs with a crosscheck snapshot: the triggers
 *	  of foreign keys look for new rows at GetLatestSnapshot, and must not change any that the
 *	  transaction does not see (ri_PerformCheck, ri_triggers.c).
 * 5. A time fits PostgreSQL's snapshot (mixed.c): that of the run, or of the transaction.
 * 6. A run that calls functions has a record from its start, without a time.  The time is drawn by
 *	  the first function that reads foreign tables at the run's snapshot, and is the same for all
 *	  such functions; or it is drawn ahead of them for the run's parallel workers (parallel.c).
 * 7. On a standby, the session first waits for what PostgreSQL's snapshot shows (mixed.c, 11).  A
 *	  run that reads foreign tables does so before it starts, and its time is drawn when it has
 *	  started: nothing else waits in between.  Its relations were locked before, so that wait is
 *	  theirs, too.
 */
#include "postgres.h"

#include "src/txn/snapshot.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "utils/snapmgr.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/read.h"
#include "runtime/txn/snapshot.h"
#include "src/base/session.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/mixed.h"
#include "src/txn/moment.h"
#include "src/txn/parallel.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot_watch.h"
#include "src/txn/transaction.h"

typedef struct tsurugi_run_record
{
	struct tsurugi_run_record *outer;
	/* The EState, or the memory context; NULL: the run has ended, or not begun. */
	const void *run;
	Snapshot snapshot;				   /* NULL: not shared */
	SubTransactionId part;			   /* in which it was made */
	struct tsurugi_run_record *source; /* whose time this is; NULL: its own */
	unsigned entry;					   /* of its own time */
	bool of_transaction;			   /* its time is the transaction's */
	/* The run accesses foreign tables.  False: its functions may access some later. */
	bool is_access;
	TimestampTz taken; /* 0: not yet */
	tg_snapshot seen;  /* time 0: not drawn yet */
	MemoryContextCallback callback;
} tsurugi_run_record;

typedef tsurugi_run_record Record;

static Record *records;

/* At REPEATABLE READ and above: the transaction's one time.  0: none yet. */
static tg_time transaction_time;
static const tg_exclusions *transaction_excluded;
static TimestampTz transaction_taken;
static unsigned transaction_entry;
static bool is_fixed; /* others read at it, too */
static bool is_imported;

static bool fresh_runs;

/* A time that is no record's own. */
#define ENTRY_NONE TSURUGI_ENTRY_OF_LONG

static void
unlink_record(Record *record)
{
	Record **link = &records;

	while (*link != record)
		link = &(*link)->outer;
	*link = record->outer;
}

/* Rule 2. */
static void
hand_over_time(Record *record)
{
	Record *heir = NULL;

	for (Record *other = records; other != NULL; other = other->outer)
	{
		if (other->source != record)
			continue;
		other->source = heir;
		if (heir == NULL)
			heir = other;
	}
	if (heir != NULL)
	{
		heir->entry = record->entry;
		return;
	}
	tg_snapshot_withdraw(tsurugi_session(), record->entry);
	if (tg_unlikely(record->seen.excluded != NULL))
		pfree((void *) record->seen.excluded);
}

static void
end_record(void *argument)
{
	Record *record = argument;

	if (record->run == NULL)
		return; /* the transaction has ended */
	unlink_record(record);
	if (record->source == NULL && record->entry != ENTRY_NONE)
		hand_over_time(record);
}

Snapshot
tsurugi_snapshot_host(void)
{
	return IsolationUsesXactSnapshot() ? GetTransactionSnapshot() : tsurugi_moment_of_short();
}

/*
 * Reads of SERIALIZABLE are validated as of a later time (S1), so it publishes all times from its
 * own on.
 */
static tg_time
publish_transaction_time(unsigned *entry_out, const tg_exclusions **excluded_out)
{
	tg_session *session = tsurugi_session();
	tg_time time;

	if (tg_unlikely(tsurugi_follows) && tsurugi_session_caught_up == NULL)
		(void) tsurugi_session_catch_up(tsurugi_snapshot_host());
	time =
		tsurugi_is_validated() ? tg_snapshot_publish_from(session, entry_out) : tg_snapshot_publish(session, entry_out);
	tsurugi_session_follow_role();
	if (!tsurugi_mixed_match(tsurugi_snapshot_host(), *entry_out, &time, excluded_out))
	{
		tg_snapshot_withdraw(session, *entry_out);
		tsurugi_error_too_late();
	}
	return time;
}

static void
set_transaction_time(tg_time time, const tg_exclusions *excluded)
{
	transaction_time = time;
	transaction_excluded = excluded;
	for (Record *record = records; record != NULL; record = record->outer)
		if (record->of_transaction)
		{
			record->seen.time = time;
			record->seen.excluded = excluded;
		}
}

void
tsurugi_snapshot_draw(void)
{
	const tg_exclusions *excluded;
	unsigned entry;
	tg_time time;

	if (transaction_time != 0)
		return;
	(void) tsurugi_session();
	if (transaction_time != 0)
		return; /* on a standby, the session's first wait has drawn it */
	time = publish_transaction_time(&entry, &excluded);
	transaction_taken = GetCurrentStatementStartTimestamp();
	transaction_entry = entry;
	set_transaction_time(time, excluded);
}

static void
withdraw_transaction_time(void)
{
	if (transaction_time != 0 && transaction_entry != TSURUGI_ENTRY_OF_LONG)
		tg_snapshot_withdraw(tsurugi_session(), transaction_entry);
	transaction_time = 0;
	transaction_excluded = NULL;
	is_fixed = false;
	is_imported = false;
}

void
tsurugi_snapshot_adopt(tg_time time, TimestampTz taken, unsigned entry)
{
	withdraw_transaction_time();
	transaction_entry = entry;
	transaction_taken = taken;
	set_transaction_time(time, NULL);
}

void
tsurugi_snapshot_import(tg_time time, const tg_exclusions *excluded, TimestampTz taken, unsigned entry)
{
	withdraw_transaction_time();
	transaction_entry = entry;
	transaction_taken = taken;
	set_transaction_time(time, excluded);
	is_fixed = true;
	is_imported = true;
}

void
tsurugi_snapshot_fix(void)
{
	is_fixed = !tg_failpoint_refuses("skip_fix");
}

bool
tsurugi_snapshot_is_fixed(void)
{
	return is_fixed;
}

bool
tsurugi_snapshot_is_imported(void)
{
	return is_imported;
}

TimestampTz
tsurugi_snapshot_taken(void)
{
	return transaction_taken;
}

/*
 * The new time is published before the old one is withdrawn, so that there is always a lower bound
 * (W5).
 */
bool
tsurugi_snapshot_redraw(void)
{
	tg_time before = transaction_time;
	unsigned old = transaction_entry;
	const tg_exclusions *excluded;
	unsigned entry;
	tg_time time;

	tg_assert(before != 0);
	time = publish_transaction_time(&entry, &excluded);
	transaction_taken = GetCurrentStatementStartTimestamp();
	transaction_entry = entry;
	set_transaction_time(time, excluded);
	tg_snapshot_withdraw(tsurugi_session(), old);
	return time > before;
}

tg_time
tsurugi_snapshot_time(void)
{
	return transaction_time;
}

const tg_exclusions *
tsurugi_snapshot_excluded(void)
{
	return transaction_excluded;
}

bool
tsurugi_snapshot_find_later(tg_time *later_out, const tg_exclusions **excluded_out)
{
	*later_out = tg_load_seq_cst(tg_clock);
	return tsurugi_mixed_match(tsurugi_snapshot_host(), transaction_entry, later_out, excluded_out) &&
		   *later_out > transaction_time;
}

void
tsurugi_snapshot_extend(tg_time later, const tg_exclusions *excluded, bool has_scans)
{
	/*
	 * The entry of a session that has joined a shared transaction is as of the time when it joined,
	 * which may be later; others of its sessions may have scans (shared.c, 2).
	 */
	if (excluded == NULL && !has_scans && !tsurugi_shared_has_joined())
		tg_snapshot_raise(tsurugi_session(), transaction_entry, later);
	set_transaction_time(later, excluded);
}

static bool draw_time(Record *record);

/* False: it is not known any more which mixed commits PostgreSQL's snapshot does not show. */
static bool
find_time(Record *record, bool fresh)
{
	record->of_transaction = !fresh && tsurugi_has_one_snapshot();
	if (record->of_transaction)
	{
		tsurugi_snapshot_draw();
		record->seen.time = transaction_time;
		record->seen.excluded = transaction_excluded;
		record->taken = transaction_taken;
		tsurugi_snapshot_check_age(transaction_taken);
		return true;
	}
	for (Record *other = record->outer; other != NULL && record->snapshot != NULL; other = other->outer)
	{
		if (other->snapshot == record->snapshot && !tg_failpoint_refuses("skip_m4"))
		{
			if (tg_unlikely(other->seen.time == 0) && !draw_time(other))
				return false;
			record->source = other->source != NULL ? other->source : other;
			record->seen.time = other->seen.time;
			record->seen.excluded = other->seen.excluded;
			record->taken = other->taken;
			return true;
		}
	}
	record->taken = GetCurrentStatementStartTimestamp();
	(void) tsurugi_session();
	if (tg_unlikely(tsurugi_follows) &&
		(tsurugi_session_caught_up == NULL || tsurugi_session_caught_up != record->snapshot))
		(void) tsurugi_session_catch_up(record->snapshot);
	record->seen.time = tg_snapshot_publish(tsurugi_session(), &record->entry);
	tsurugi_session_follow_role();
	if (tsurugi_mixed_match(record->snapshot, record->entry, &record->seen.time, &record->seen.excluded))
		return true;
	tg_snapshot_withdraw(tsurugi_session(), record->entry);
	record->entry = ENTRY_NONE;
	record->seen.time = 0;
	return false;
}

void
tsurugi_snapshot_check(void)
{
	if (tg_likely(tsurugi_snapshot_age_limit_ms == 0))
		return;
	for (const Record *record = records; record != NULL; record = record->outer)
		tsurugi_snapshot_check_age(record->taken);
}

static void
init_record(Record *record, Snapshot snapshot)
{
	record->outer = records;
	record->snapshot = snapshot;
	record->part = GetCurrentSubTransactionId();
	record->source = NULL;
	record->entry = ENTRY_NONE;
	record->of_transaction = false;
	record->is_access = false;
	record->taken = 0;
	record->seen.time = 0;
}

static void
link_record(Record *record, const void *run)
{
	record->run = run;
	record->outer = records;
	records = record;
}

static void
set_author(Record *record, CommandId command)
{
	record->seen.txn = tsurugi_transaction_number();
	record->seen.command = command + tsurugi_shared_first_command;
}

/* An error leaves the record as it was, without a run. */
static void
begin_record(Record *record, const void *run, Snapshot snapshot, CommandId command, bool fresh)
{
	if (tg_unlikely(IsParallelWorker()))
		tsurugi_parallel_join();
	tsurugi_check_not_prepared();
	if (tg_unlikely(tsurugi_owes))
		tsurugi_pay();
	if (!fresh)
		tsurugi_access();
	init_record(record, snapshot);
	set_author(record, command);
	if (!find_time(record, fresh))
		tsurugi_error_too_late();
	record->is_access = true;
	link_record(record, run);
}

/* The record ends with the memory. */
static void
end_with(MemoryContext context, Record *record)
{
	record->callback.func = end_record;
	record->callback.arg = record;
	MemoryContextRegisterResetCallback(context, &record->callback);
}

static Record *
make_record(MemoryContext context, const void *run, Snapshot snapshot, CommandId command, bool fresh)
{
	Record *record = MemoryContextAlloc(context, sizeof(*record));

	begin_record(record, run, snapshot, command, fresh);
	end_with(context, record);
	return record;
}

static Record *
find_record(const EState *estate)
{
	Record *record = records;

	while (record != NULL && record->run != estate)
		record = record->outer;
	return record;
}

/* Rule 6. */
static bool
draw_time(Record *record)
{
	tg_assert(record->snapshot != NULL);
	set_author(record, record->snapshot->curcid);
	return find_time(record, false);
}

static Record *
note_run(EState *estate)
{
	Record *record = find_record(estate);

	if (record != NULL)
		return record;
	record = MemoryContextAlloc(estate->es_query_cxt, sizeof(*record));
	init_record(record, estate->es_snapshot);
	link_record(record, estate);
	end_with(estate->es_query_cxt, record);
	return record;
}

void
tsurugi_snapshot_note_run(EState *estate)
{
	if (!fresh_runs && !tsurugi_snapshot_is_of_now(estate) && estate->es_snapshot != InvalidSnapshot)
		(void) note_run(estate);
}

bool
tsurugi_snapshot_lend(EState *estate, tg_snapshot *snapshot_out, TimestampTz *taken_out)
{
	Record *record = note_run(estate);

	if (record->seen.time == 0 && !draw_time(record))
		return false;
	*snapshot_out = record->seen;
	*taken_out = record->taken;
	return true;
}

void
tsurugi_snapshot_borrow(EState *estate, tg_time time, const tg_exclusions *excluded, TimestampTz taken, unsigned entry)
{
	Record *record = note_run(estate);

	set_author(record, estate->es_snapshot->curcid);
	record->entry = entry;
	record->seen.time = time;
	record->seen.excluded = excluded;
	record->taken = taken;
}

tsurugi_run_record *
tsurugi_snapshot_record_make(void)
{
	return palloc0(sizeof(Record));
}

void
tsurugi_snapshot_record_begin(tsurugi_run_record *record, const EState *estate)
{
	tg_assert(record->run == NULL && estate->es_crosscheck_snapshot == InvalidSnapshot);
	begin_record(record, estate, estate->es_snapshot, estate->es_snapshot->curcid, fresh_runs);
}

void
tsurugi_snapshot_record_end(tsurugi_run_record *record)
{
	end_record(record);
	record->run = NULL;
}

bool
tsurugi_snapshot_begin_fresh(void)
{
	bool outer = fresh_runs;

	fresh_runs = true;
	tsurugi_isolation_suspend_notes();
	return outer;
}

void
tsurugi_snapshot_end_fresh(bool outer)
{
	tsurugi_isolation_resume_notes();
	fresh_runs = outer;
}

bool
tsurugi_snapshot_is_fresh(void)
{
	return fresh_runs;
}

bool
tsurugi_snapshot_is_of_now(const EState *estate)
{
	return estate->es_crosscheck_snapshot != InvalidSnapshot;
}

void
tsurugi_crosscheck(EState *estate, Relation relation, tg_table *table, uint32_t row, tg_version version)
{
	tg_session *session = tsurugi_session();
	tg_version seen = TG_VERSION_NONE;
	tg_snapshot snapshot;
	tg_status status;
	bool is_same;
	tg_wait wait;

	tsurugi_snapshot(estate, &snapshot);
	snapshot.time = transaction_time;
	snapshot.excluded = transaction_excluded;
	tg_snapshot_set_reader(&snapshot, tsurugi_snapshot_reader());
	tg_epoch_enter(session);
	status = tg_txn_read(&snapshot, table, row, &seen, &wait);
	is_same = seen == version || tg_version_is_copy(version);
	tg_epoch_leave(session);
	if (status == TG_NOT_FOUND || (status == TG_OK && !is_same))
		tsurugi_error_conflict(relation, TG_CONFLICT_UPDATED, row, false);
}

/* The run of a record that was only noted accesses a foreign table itself. */
static void
access_noted(Record *record)
{
	if (tg_unlikely(IsParallelWorker()))
		tsurugi_parallel_join();
	tsurugi_check_not_prepared();
	tsurugi_access();
	if (record->seen.time == 0 && !draw_time(record))
		tsurugi_error_too_late();
	record->is_access = true;
}

unsigned
tsurugi_snapshot_reader(void)
{
	return tg_unlikely(IsParallelWorker()) ? tsurugi_parallel_number() : tsurugi_session()->id;
}

static void
show(const Record *record, tg_snapshot *snapshot_out)
{
	*snapshot_out = record->seen;
	tg_snapshot_set_reader(snapshot_out, tsurugi_snapshot_reader());
}

void
tsurugi_snapshot(EState *estate, tg_snapshot *snapshot_out)
{
	Record *record;

	while (estate->es_epq_active != NULL)
		estate = estate->es_epq_active->parentestate;
	record = find_record(estate);
	if (tg_unlikely(record != NULL && !record->is_access))
		access_noted(record);
	if (record == NULL)
	{
		Snapshot snapshot = estate->es_snapshot != NULL ? estate->es_snapshot : GetActiveSnapshot();

		if (!fresh_runs)
			tsurugi_access(); /* for runs as of now, too */
		record = make_record(estate->es_query_cxt, estate, estate->es_snapshot, snapshot->curcid,
							 fresh_runs || tsurugi_snapshot_is_of_now(estate));
	}
	tsurugi_isolation_prepare_notes();
	show(record, snapshot_out);
}

void
tsurugi_snapshot_of(EState *estate, Relation relation, const tg_table *table, tg_snapshot *snapshot_out)
{
	tsurugi_snapshot(estate, snapshot_out);
	if (tg_unlikely(snapshot_out->time < tg_load_relaxed(&table->stored)))
		tsurugi_error_stored_anew(relation, tg_load_relaxed(&table->stored));
}

void
tsurugi_snapshot_take(MemoryContext context, tg_snapshot *snapshot_out)
{
	show(make_record(context, context, NULL, GetCurrentCommandId(false), true), snapshot_out);
}

bool
tsurugi_snapshot_is_taken(void)
{
	return records != NULL || transaction_time != 0;
}

void
tsurugi_snapshot_end(bool committed)
{
	while (records != NULL)
	{
		Record *record = records;

		records = record->outer;
		record->run = NULL;
		if (record->source == NULL && record->entry != ENTRY_NONE)
			tg_snapshot_withdraw(tsurugi_session(), record->entry);
	}
	withdraw_transaction_time();
}

void
tsurugi_snapshot_end_part(SubTransactionId part, SubTransactionId parent, bool committed)
{
	for (Record *record = records; record != NULL; record = record->outer)
	{
		if (record->part != part)
			continue;
		if (committed)
			record->part = parent;
		else
			record->snapshot = NULL;
	}
}

/*
 * participants.c
 *	  The ends of transactions and subtransactions: which parts have to act, in which order.
 *
 * The table says the order, once, for all of the callbacks:
 *
 *	PostgreSQL					from the first row to the last
 *	PRE_COMMIT					pre_commit of all, then validate of all
 *	COMMIT, PREPARE				commit of all, then end(true) of all
 *	ABORT						end(false) of all
 *	START_SUB					begin_part of all
 *	COMMIT_SUB, ABORT_SUB		end_part of all
 *
 *	PRE_PREPARE					pre_commit of all, then pre_prepare, from the last row to the first:
 *								of several reasons to refuse it, the more special one is told
 *
 * The ends of parallel workers are ends like others; they have no pre_commit and no validate.
 *
 * Every transaction of every backend passes here, also one that touches no table of ours.  So the
 * four walks of a commit go along lists of the callbacks that there are, made when the library is
 * loaded.
 */
#include "postgres.h"

#include "src/txn/participants.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "src/table/quota.h"
#include "src/table/storage.h"
#include "src/txn/deferred.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/ladder.h"
#include "src/txn/lease_owners.h"
#include "src/txn/logging.h"
#include "src/txn/mixed.h"
#include "src/txn/moment.h"
#include "src/txn/parallel.h"
#include "src/txn/prepared.h"
#include "src/txn/shared_load.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_export.h"
#include "src/txn/transaction.h"

static tsurugi_participant participants[] = {
	/*
	 * exec/table_scan.c.  Before all: tasks of the pool read tables, at snapshots, until they end
	 * here.
	 */
	{.name = "scan jobs"},

	/* job/node.c.  The same; and rollbacks to savepoints take back what a job may read. */
	{.name = "query jobs"},

	/* copy/load_running.c.  Before all: tasks of the pool write tables until they end here. */
	{.name = "loads"},

	/*
	 * After "loads": no task of it writes any more.  Before "session"; it has nothing to do with
	 * the transaction's own writes.
	 */
	{.name = "loads by a handle",
	 .pre_prepare = tsurugi_shared_load_check_prepare,
	 .validate = tsurugi_shared_load_validate,
	 .end = tsurugi_shared_load_end,
	 .end_part = tsurugi_shared_load_end_part,
	 .has_state = tsurugi_shared_load_is_open},

	/* ddl/index_drop.c.  Anywhere: the transaction that it waits for has changed catalogs alone. */
	{.name = "index drop"},

	/* durable/backup.c.  Anywhere: it asks PostgreSQL alone. */
	{.name = "base backup"},

	/* Before "mixed commit": it ends the one that it has announced for a prepared transaction. */
	{.name = "prepared transaction", .end = tsurugi_prepared_end, .has_state = tsurugi_prepared_is_in_hand},

	/*
	 * Before "transaction": the bound E of a mixed commit is loaded before that is COMMITTED(C)
	 * (mixed.c).
	 */
	{.name = "mixed commit",
	 .end = tsurugi_mixed_end,
	 .end_part = tsurugi_mixed_end_part,
	 .has_state = tsurugi_mixed_has_begun},

	/* Before "transaction": it looks at what that has written. */
	{.name = "ladder", .end = tsurugi_ladder_end, .end_part = tsurugi_ladder_end_part},

	/*
	 * The last to pre_prepare: nothing may refuse once it has logged what is prepared.  The first
	 * to validate: it draws C.  Its end comes before those of what it rests on: the
	 * storages that it has written to, its snapshot, and its notes.
	 */
	{.name = "transaction",
	 .pre_prepare = tsurugi_transaction_check_prepare,
	 .validate = tsurugi_transaction_validate,
	 .end = tsurugi_transaction_end,
	 .end_part = tsurugi_transaction_end_part,
	 .has_state = tsurugi_transaction_is_open},

	/*
	 * After "transaction", which stops working in the shared one before the session leaves or ends
	 * that.
	 */
	{.name = "shared transaction",
	 .pre_prepare = tsurugi_shared_check_prepare,
	 .validate = tsurugi_shared_validate,
	 .end = tsurugi_shared_end,
	 .end_part = tsurugi_shared_end_part,
	 .has_state = tsurugi_shared_has_joined},

	/*
	 * Its commit comes before any write to a new storage is committed (carry.c, 4).  Its end comes
	 * after "transaction", whose writes are committed, or taken back, while their storages are
	 * there; and before "kind", which it names as the author's of a new storage.
	 */
	{.name = "storage",
	 .commit = tsurugi_storage_begin_commit,
	 .end = tsurugi_storage_end,
	 .end_part = tsurugi_storage_end_part,
	 .has_state = tsurugi_storage_is_changed},

	/*
	 * Before "parallel workers" and every validate, which look at what the transaction has read and
	 * written: checks read, and may call users' functions.
	 */
	{.name = "deferred checks",
	 .pre_commit = tsurugi_deferred_run_all,
	 .end = tsurugi_deferred_end,
	 .begin_part = tsurugi_deferred_begin_part,
	 .end_part = tsurugi_deferred_end_part,
	 .has_state = tsurugi_deferred_any},

	/* After "deferred checks": functions that these call may change a quota. */
	{.name = "memory quotas",
	 .pre_prepare = tsurugi_quota_check_prepare,
	 .pre_commit = tsurugi_quota_pre_commit,
	 .end = tsurugi_quota_end,
	 .has_state = tsurugi_quota_is_changed},

	/*
	 * Its pre_commit comes after "deferred checks", whose functions could still drop a role.  Its
	 * end comes after "shared transaction": the session leaves that before it aborts those of
	 * dropped roles.
	 */
	{.name = "leases of dropped roles",
	 .pre_prepare = tsurugi_lease_check_prepare,
	 .pre_commit = tsurugi_lease_pre_commit,
	 .end = tsurugi_lease_end_dropped},

	/* Before "snapshot": a loan ends before what was lent. */
	{.name = "exported snapshots", .end = tsurugi_export_end},

	/*
	 * The last pre_commit: the validation begins after it, of what has been noted by then.  Its end
	 * comes before "snapshot", as that of all loans, and before "isolation", which would throw away
	 * the notes that a worker gives to its leader.
	 */
	{.name = "parallel workers", .pre_commit = tsurugi_parallel_collect, .end = tsurugi_parallel_end},

	/* After "transaction": what a snapshot shows may be garbage as soon as that is withdrawn. */
	{.name = "snapshot",
	 .end = tsurugi_snapshot_end,
	 .end_part = tsurugi_snapshot_end_part,
	 .has_state = tsurugi_snapshot_is_taken},

	/* After "transaction", which has the notes in hand (tg_txn_track) until it has ended. */
	{.name = "isolation", .end = tsurugi_isolation_end, .has_state = tsurugi_isolation_has_notes},

	/* After "storage", and whatever else asks of what kind the transaction was. */
	{.name = "kind", .end = tsurugi_kind_end},

	/*
	 * The last to validate but "log": until all have, PostgreSQL's snapshot is the transaction's.
	 */
	{.name = "moment", .pre_prepare = tsurugi_moment_drop, .validate = tsurugi_moment_drop, .end = tsurugi_moment_end},

	/*
	 * It validates after all that draw C, or may fail; it commits before any transaction of the
	 * engine is COMMITTED, and ends when they all have been (logging.c).
	 */
	{.name = "log",
	 .pre_commit = tsurugi_logging_pre_commit,
	 .validate = tsurugi_logging_validate,
	 .commit = tsurugi_logging_commit,
	 .end = tsurugi_logging_end},

	/* The last: when the session is away, others may free what it has retired. */
	{.name = "session", .end = tsurugi_transaction_leave_session},
};

#define PARTICIPANTS lengthof(participants)

/* What a commit walks along; each ends with NULL. */
static void (*pre_commits[PARTICIPANTS + 1])(void);
static void (*validations[PARTICIPANTS + 1])(void);
static void (*commits[PARTICIPANTS + 1])(void);
static void (*ends[PARTICIPANTS + 1])(bool committed);

/* --- walks ---------------------------------------------------------------------------- */

static inline void
call_all(void (*const *callback)(void))
{
	for (; *callback != NULL; callback++)
		(*callback)();
}

static void
check_no_state(void)
{
	for (size_t i = 0; i < PARTICIPANTS; i++)
		tg_assert(participants[i].has_state == NULL || !participants[i].has_state());
}

static void
end_all(bool committed)
{
	for (void (**end)(bool) = ends; *end != NULL; end++)
		(*end)(committed);
	check_no_state();
}

static void
at_transaction_event(XactEvent event, void *argument)
{
	switch (event)
	{
		case XACT_EVENT_PRE_PREPARE: /* H1: days may lie between the two commits */
			call_all(pre_commits);
			for (size_t i = PARTICIPANTS; i-- > 0;)
				if (participants[i].pre_prepare != NULL)
					participants[i].pre_prepare();
			break;
		case XACT_EVENT_PRE_COMMIT: /* M1: all that may fail; PostgreSQL may still fail after it */
			call_all(pre_commits);
			call_all(validations);
			break;
		case XACT_EVENT_PREPARE:
			tsurugi_transaction_prepared();
			/* FALLTHROUGH */
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PARALLEL_COMMIT: /* M1: nothing fails any more */
			tg_failpoint("commit");
			call_all(commits);
			end_all(true);
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PARALLEL_ABORT:
			tg_failpoint("abort");
			end_all(false);
			break;
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}

static void
at_subtransaction_event(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *argument)
{
	bool committed = event == SUBXACT_EVENT_COMMIT_SUB;

	if (event == SUBXACT_EVENT_PRE_COMMIT_SUB)
		return;
	for (size_t i = 0; i < PARTICIPANTS; i++)
	{
		const tsurugi_participant *participant = &participants[i];

		if (event == SUBXACT_EVENT_START_SUB && participant->begin_part != NULL)
			participant->begin_part();
		else if (event != SUBXACT_EVENT_START_SUB && participant->end_part != NULL)
			participant->end_part(id, parent, committed);
	}
}

/* --- loading ---------------------------------------------------------------------------- */

void
tsurugi_participant_register(const tsurugi_participant *participant)
{
	size_t i = 0;

	while (strcmp(participants[i].name, participant->name) != 0)
	{
		i++;
		tg_assert(i < PARTICIPANTS);
	}
	participants[i] = *participant;
}

static void
append(void (**list)(void), void (*callback)(void))
{
	while (*list != NULL)
		list++;
	*list = callback;
}

void
tsurugi_participants_init(void)
{
	size_t count = 0;

	for (size_t i = 0; i < PARTICIPANTS; i++)
	{
		append(pre_commits, participants[i].pre_commit);
		append(validations, participants[i].validate);
		append(commits, participants[i].commit);
		if (participants[i].end != NULL)
			ends[count++] = participants[i].end;
	}
	RegisterXactCallback(at_transaction_event, NULL);
	RegisterSubXactCallback(at_subtransaction_event, NULL);
}

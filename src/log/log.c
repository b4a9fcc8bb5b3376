/*
 * log.c
 *	  Records of this extension in PostgreSQL's log.
 *
 * A transaction is durable when its record is in the log, and the log is flushed.  Nothing else is
 * waited for.  The worker copies the records to the journal, before a checkpoint completes that
 * would let PostgreSQL forget them.
 *
 *	backend		LOGGING; CLOSED? no ....... record; COMMITTED ........... not LOGGING
 *	worker						CLOSED; is anybody LOGGING? ............ nobody: last copy, exit
 *
 * Rules.
 * R1. A record is in the log before COMMITTED is stored.  So if one transaction builds on another
 *	  (by a row, a key, a reused row id, a definition), their records are in that order.  A reader
 *	  of the log follows the log, not the time of the commit C: of other transactions, the orders
 *	  of C and of positions need not agree.
 * R3. After COMMIT is inserted, nothing can fail except by PANIC, as with PostgreSQL's own commit
 *	  record.  Only a transaction with a transaction id can abort after its record is inserted.
 * R6. A backend that inserts any record publishes LOGGING, then checks CLOSED.  It withdraws
 *	  LOGGING after COMMITTED or ABORTED; where PostgreSQL's record decides, that is after this
 *	  record.  If CLOSED is set, there is no worker to fill the journal: the backend withdraws
 *	  LOGGING and waits.  So no record of ours enters the log unless checkpoints wait for the
 *	  worker.  GIVEN UP cannot wait, and is left out then.
 * R7. If no commit of ours has had a transaction id for a second, the next one takes one, because
 *	  targets of recovery by time, recovery_min_apply_delay and pg_last_xact_replay_timestamp() go
 *	  by PostgreSQL's commit records alone.  Of records between two of these, the place in the log
 *	  counts, whatever their time.  The worker asks for such a commit, so the others need no clock.
 *
 * Ordering of R6.  A backend stores LOGGING, then loads CLOSED; the worker stores CLOSED, then
 * loads each LOGGING; all four are sequentially consistent.  So either the backend sees CLOSED, or
 * the worker sees LOGGING and waits for the record.
 *
 * A backend's LOGGING lies in a word of its own, by its number among PostgreSQL's processes.
 */
#include "postgres.h"

#include "src/log/log.h"

#include <limits.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "access/xloginsert.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/record.h"

/* What a word says, and in its other bits how often its process has been LOGGING. */
#define NOT_LOGGING 0
#define LOGGING_ALONE 1
#define LOGGING_WITH_XID 2
#define LOGGING_MASK 3
#define LOGGING_ONCE 4

/* Head, position of the first PART, length of the definitions. */
#define HEAD_BYTES_MAX (TG_RECORD_HEAD_BYTES + 2 * TG_NUMBER_BYTES_MAX)

#define LOOK_MS 1000 /* a waiter that nobody wakes looks so often */
#define TIME_MS 1000 /* R7 */

/* Written by the process with this number; read by the worker. */
typedef struct log_word
{
	uint32 logging;
} TG_CACHE_ALIGNED log_word;

/* In PostgreSQL's shared memory. */
typedef struct log_shared
{
	bool closed TG_CACHE_ALIGNED; /* written by the worker */
	bool full;					  /* written by the worker */
	ConditionVariable opened;
	bool time_is_due TG_CACHE_ALIGNED;	   /* R7: set by the worker, cleared by the commit that takes an id */
	log_word words[FLEXIBLE_ARRAY_MEMBER]; /* MaxBackends of them */
} log_shared;

static log_shared *shared;

int tsurugi_load_wait_ms;

Size
tsurugi_log_shared_bytes(void)
{
	return add_size(sizeof(log_shared), mul_size(MaxBackends, sizeof(log_word)));
}

void
tsurugi_log_shared_create(void)
{
	bool there;

	shared = ShmemInitStruct("tsurugi_fdw log", tsurugi_log_shared_bytes(), &there);
	memset(shared, 0, tsurugi_log_shared_bytes());
	shared->closed = true;
	ConditionVariableInit(&shared->opened);
}

void
tsurugi_log_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.load_wait",
							"Longest wait of a statement for tables that are not available yet.",
							"They are not while they are loaded, or while there is no worker.  -1 is without an end.",
							&tsurugi_load_wait_ms, 60000, -1, INT_MAX, PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
}

bool
tsurugi_load_wait_is_over(TimestampTz since)
{
	return tsurugi_load_wait_ms >= 0 && TimestampDifferenceExceeds(since, GetCurrentTimestamp(), tsurugi_load_wait_ms);
}

/* --- LOGGING ------------------------------------------------------------------------------- */

static uint32 *
own_word(void)
{
	tg_assert(MyProc->pgprocno < MaxBackends);
	return &shared->words[MyProc->pgprocno].logging;
}

static bool
is_logging(uint32 word)
{
	return (word & LOGGING_MASK) != NOT_LOGGING;
}

static void
withdraw(void)
{
	tg_store_release(own_word(), tg_load_relaxed(own_word()) & ~(uint32) LOGGING_MASK);
}

void
tsurugi_log_end(void)
{
	if (MyProc != NULL && is_logging(tg_load_relaxed(own_word())))
		withdraw();
}

/* R6.  Whether the log was open. */
static bool
publish(uint32 logging)
{
	tg_store_then_fence(own_word(), tg_load_relaxed(own_word()) + LOGGING_ONCE + logging);
	if (!tg_load_seq_cst(&shared->closed))
		return true;
	withdraw();
	return false;
}

static void
refuse(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_CANNOT_CONNECT_NOW), errmsg("changes to tables of tsurugi_fdw cannot be logged now"),
			 IsUnderPostmaster ? errdetail("The tsurugi_fdw worker has not been ready for %d ms.", tsurugi_load_wait_ms)
							   : errdetail("The tsurugi_fdw worker does not run in single-user mode."),
			 IsUnderPostmaster ? errhint("tsurugi_fdw.load_wait is the longest wait for it.") : 0));
}

void
tsurugi_log_begin(bool with_xid)
{
	uint32 logging = with_xid ? LOGGING_WITH_XID : LOGGING_ALONE;
	TimestampTz since;

	tg_assert(!is_logging(tg_load_relaxed(own_word())));
	if (tg_likely(publish(logging)))
		return;
	since = GetCurrentTimestamp();
	ConditionVariablePrepareToSleep(&shared->opened);
	while (!publish(logging))
	{
		if (!IsUnderPostmaster || tsurugi_load_wait_is_over(since))
			refuse();
		(void) ConditionVariableTimedSleep(&shared->opened, LOOK_MS, PG_WAIT_EXTENSION);
	}
	ConditionVariableCancelSleep();
}

bool
tsurugi_log_begin_if_open(void)
{
	return is_logging(tg_load_relaxed(own_word())) || publish(LOGGING_ALONE);
}

void
tsurugi_log_open(void)
{
	tg_assert(tg_load_relaxed(&shared->closed));
	tg_store_seq_cst(&shared->closed, false);
	ConditionVariableBroadcast(&shared->opened);
}

void
tsurugi_log_close(void)
{
	tg_store_then_fence(&shared->closed, true);
}

bool
tsurugi_log_is_quiet(void)
{
	for (int i = 0; i < MaxBackends; i++)
		if (is_logging(tg_load_seq_cst(&shared->words[i].logging)))
			return false;
	return true;
}

/* --- those that are LOGGING now ------------------------------------------------------------- */

/* Their words, by number; in the worker's memory. */
static uint32 *noted;

void
tsurugi_log_note(void)
{
	if (noted == NULL)
		noted = MemoryContextAlloc(TopMemoryContext, mul_size(MaxBackends, sizeof(uint32)));
	for (int i = 0; i < MaxBackends; i++)
		noted[i] = tg_load_seq_cst(&shared->words[i].logging);
}

bool
tsurugi_log_noted_have_ended(void)
{
	tg_assert(noted != NULL);
	for (int i = 0; i < MaxBackends; i++)
		if (is_logging(noted[i]) && tg_load_acquire(&shared->words[i].logging) == noted[i])
			return false;
	return true;
}

/* --- a journal that is too long ------------------------------------------------------------ */

void
tsurugi_log_set_full(bool full)
{
	if (tg_likely(full == tg_load_relaxed(&shared->full)))
		return;
	tg_store_relaxed(&shared->full, full);
	ereport(LOG,
			(full ? errmsg("tsurugi_fdw refuses changes, because its journal is longer than tsurugi_fdw.journal_max")
				  : errmsg("tsurugi_fdw accepts changes again")));
}

void
tsurugi_log_check_full(void)
{
	if (tg_unlikely(tg_load_relaxed(&shared->full)))
		ereport(ERROR,
				(errcode(ERRCODE_DISK_FULL),
				 errmsg("the journal of tsurugi_fdw is longer than tsurugi_fdw.journal_max"),
				 errdetail("It is cut when a base has been written."),
				 errhint("tsurugi.durability, or the server's log, says what keeps a base from being written.")));
}

/* --- R7 ------------------------------------------------------------------------------------ */

void
tsurugi_log_ask_for_time(void)
{
	static TimestampTz answered; /* at the last look, nothing was asked for */
	TimestampTz time = GetCurrentTimestamp();

	if (tg_load_relaxed(&shared->time_is_due))
		answered = time;
	else if (TimestampDifferenceExceeds(answered, time, TIME_MS))
		tg_store_relaxed(&shared->time_is_due, true);
}

bool
tsurugi_log_takes_time(void)
{
	if (tg_likely(!tg_load_relaxed(&shared->time_is_due)) || tg_failpoint_refuses("skip_r7"))
		return false;
	return tg_exchange_acq_rel(&shared->time_is_due, false);
}

/* --- records ---------------------------------------------------------------------------------- */

_Static_assert(TG_RECORD_GIVEN_UP <= 7, "the kind leaves a bit of the info");

/* As XactLogCommitRecord of xact.c says it for PostgreSQL's commits. */
static bool
is_awaited(tg_record_kind kind)
{
	return kind == TG_RECORD_COMMIT && synchronous_commit >= SYNCHRONOUS_COMMIT_REMOTE_APPLY &&
		   !tg_failpoint_refuses("skip_awaited");
}

/*
 * PostgreSQL 15 writes a record of any length, but reads it into memory of one palloc
 * (allocate_recordbuf of xlogreader.c).  From version 16 on XLogInsert refuses more than this.
 */
#define RECORD_BYTES_MAX ((size_t) 1020 * 1024 * 1024)

void
tsurugi_log_check_size(size_t bytes)
{
	if (tg_likely(bytes + HEAD_BYTES_MAX <= RECORD_BYTES_MAX) &&
		!(bytes > (size_t) 4 << 20 && tg_failpoint_refuses("log_record_short")))
		return;
	ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("row is too large for the log"),
					errdetail("It takes %zu bytes there, and a record has room for %zu.", bytes, RECORD_BYTES_MAX)));
}

static XLogRecPtr
insert(tg_record_kind kind, uint64 first_part, const void *definitions, size_t definition_bytes, const void *rows,
	   size_t row_bytes)
{
	unsigned char room[HEAD_BYTES_MAX];
	tg_bytes head = {.data = room, .capacity = sizeof(room)};

	tg_assert(is_logging(tg_load_relaxed(own_word())));
	tg_bytes_put_byte(&head, TG_RECORD_FORMAT);
	tg_bytes_put_byte(&head, (unsigned char) kind);
	if (kind != TG_RECORD_NOW)
		tg_bytes_put_number(&head, first_part);
	tg_bytes_put_number(&head, definition_bytes);
	XLogBeginInsert();
	XLogRegisterData((char *) head.data, (int) head.count);
	if (definition_bytes > 0)
		XLogRegisterData((char *) definitions, (int) definition_bytes);
	if (row_bytes > 0)
		XLogRegisterData((char *) rows, (int) row_bytes);
	return XLogInsert(TSURUGI_RM_ID, TSURUGI_RECORD_INFO(kind) | (is_awaited(kind) ? TSURUGI_RECORD_AWAITED : 0));
}

XLogRecPtr
tsurugi_log_insert(tg_record_kind kind, uint64 first_part, const void *definitions, size_t definition_bytes,
				   const void *rows, size_t row_bytes, XLogRecPtr *start_out)
{
	XLogRecPtr end;

	if (tg_failpoint_refuses("log_insert"))
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	end = insert(kind, first_part, definitions, definition_bytes, rows, row_bytes);
	if (start_out != NULL)
		*start_out = ProcLastRecPtr;
	return end;
}

XLogRecPtr
tsurugi_log_insert_mark(void)
{
	unsigned char head[TG_RECORD_HEAD_BYTES] = {TG_RECORD_FORMAT, TG_RECORD_MARK};

	XLogBeginInsert();
	XLogSetRecordFlags(XLOG_MARK_UNIMPORTANT);
	XLogRegisterData((char *) head, sizeof(head));
	return XLogInsert(TSURUGI_RM_ID, TSURUGI_RECORD_INFO(TG_RECORD_MARK));
}

XLogRecPtr
tsurugi_log_insert_clean_start(const tg_bytes *kept)
{
	unsigned char head[TG_RECORD_HEAD_BYTES] = {TG_RECORD_FORMAT, TG_RECORD_CLEAN_START};

	XLogBeginInsert();
	XLogRegisterData((char *) head, sizeof(head));
	if (kept->count > 0)
		XLogRegisterData((char *) kept->data, (int) kept->count);
	return XLogInsert(TSURUGI_RM_ID, TSURUGI_RECORD_INFO(TG_RECORD_CLEAN_START));
}

void
tsurugi_log_insert_given_up(uint64 first_part)
{
	unsigned char room[HEAD_BYTES_MAX];
	tg_bytes record = {.data = room, .capacity = sizeof(room)};

	tg_assert(is_logging(tg_load_relaxed(own_word())));
	tg_bytes_put_byte(&record, TG_RECORD_FORMAT);
	tg_bytes_put_byte(&record, TG_RECORD_GIVEN_UP);
	tg_bytes_put_number(&record, first_part);
	XLogBeginInsert();
	XLogRegisterData((char *) record.data, (int) record.count);
	(void) XLogInsert(TSURUGI_RM_ID, TSURUGI_RECORD_INFO(TG_RECORD_GIVEN_UP));
}

XLogRecPtr
tsurugi_log_now(const tg_bytes *definitions)
{
	bool was_logging = is_logging(tg_load_relaxed(own_word()));
	volatile XLogRecPtr end = InvalidXLogRecPtr;

	if (!was_logging)
		tsurugi_log_begin(false);
	PG_TRY();
	{
		end = tsurugi_log_insert(TG_RECORD_NOW, 0, definitions->data, definitions->count, NULL, 0, NULL);
	}
	PG_FINALLY();
	{
		if (!was_logging)
			tsurugi_log_end();
	}
	PG_END_TRY();
	return end;
}

void
tsurugi_log_now_if_open(const tg_bytes *definitions)
{
	bool was_logging = is_logging(tg_load_relaxed(own_word()));

	if (!tsurugi_log_begin_if_open())
		return;
	(void) insert(TG_RECORD_NOW, 0, definitions->data, definitions->count, NULL, 0);
	if (!was_logging)
		tsurugi_log_end();
}

/*
 * logging.c
 *	  What a transaction has done, in PostgreSQL's log.
 *
 *						without an xid						with an xid
 *	PRE_COMMIT												changes of storages, written as bytes
 *						LOGGING; written as bytes			LOGGING; written as bytes, WITH inserted
 *	PostgreSQL's part										commit record, flush, standbys
 *	COMMIT callback		COMMIT inserted, noted
 *						COMMITTED, versions stamped			COMMITTED, versions stamped
 *						LOGGING cleared						LOGGING cleared
 *	locks released
 *	release callback	flush, standbys, note closed
 *
 * A transaction that is prepared is logged in PRE_PREPARE, with its row locks; the record of COMMIT
 * or ROLLBACK PREPARED, which may come after any number of starts, decides.
 *
 * 1. A record is in the log before the transaction is COMMITTED (R1), so whatever builds on it
 *	  comes later in the log.
 * 2. Nothing that anybody can wait for is held across the flush (R2), so a hot row changes more
 *	  often than the disk flushes.  Others see the commit before it is durable; a note says so to
 *	  them (R4), and what they have seen they tell their clients once it is (R5, reply.c).  With
 *	  synchronous_commit off, as response.c may have set it, there is no note, or one without a
 *	  position: nobody waits for such a commit.  A transaction with an xid is flushed before it
 *	  is COMMITTED, by PostgreSQL; so is a shared one at SERIALIZABLE, here.
 * 3. After a COMMIT is inserted nothing fails (R3): the bytes are made in PRE_COMMIT, and LOGGING
 *	  is published there, because waiting for the worker can end with an error.
 * 4. Which changes of storages belong to which record: storage_log.c.  A transaction with such a
 *	  change has an xid, for these changes are in PostgreSQL's catalogs, too; TRUNCATE gets one
 *	  here.
 * 5. The bytes of a large transaction go into the log in parts of PART_BYTES while they are made,
 *	  so the memory that this takes does not grow with the transaction.  A part counts for nothing
 *	  without the last record.  A transaction that is aborted before that says so, because
 *	  otherwise the journal would be kept from its first part on, until the next start.
 * 6. The parts of a very large one are written by tasks of the pool (durable/parts.h).  The backend
 *	  only inserts them, which a thread of the pool cannot do.  After an error the tasks end before
 *	  the transaction is undone.
 * 7. Between two parts interrupts are served: nothing is decided yet, so a COMMIT that writes for
 *	  long can be cancelled.
 */
#include "postgres.h"

#include "src/txn/logging.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "replication/syncrep.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"
#include "runtime/txn/prepared.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/unflushed.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/operations.h"
#include "runtime/durable/parts.h"
#include "runtime/durable/record.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/log/log.h"
#include "src/table/storage.h"
#include "src/txn/errors.h"
#include "src/txn/response.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

#define PART_BYTES ((size_t) 1 << 20)
#define PART_BYTES_LEAST (PART_BYTES / 4) /* of a record that has what a task has written */
#define TASKS_WRITES_LEAST 16384		  /* of a transaction that tasks write */
#define BATCH_ROWS 256					  /* of a table that is logged as a whole, in one epoch */
#define KEPT_BYTES ((size_t) 64 << 10)	  /* a session keeps a buffer up to this size */

static tg_bytes definitions;	  /* of the record in hand */
static tg_bytes last_definitions; /* of the transaction's last record */
static tg_bytes rows;
static uint64 first_part; /* where the transaction's first PART starts; 0: it has none */
static bool has_last;	  /* its last record was inserted: it or PostgreSQL's decides */
static tg_txn *logged;	  /* its COMMIT is to be inserted; NULL: there is none */

static tg_session *noted_session; /* which has the transaction's note open; or NULL */
static XLogRecPtr noted_end;	  /* from the COMMIT to its flush: where it ends; or 0 */

static bool is_open; /* there is anything to end */
static bool is_logging;

/* --- bytes ------------------------------------------------------------------------------- */

static void
empty(tg_bytes *bytes)
{
	bytes->count = 0;
	if (bytes->capacity > KEPT_BYTES)
		tg_bytes_free(bytes);
}

/* Before the record is inserted, which may be in a critical section. */
static void
check_size(const tg_bytes *changes)
{
	tsurugi_log_check_size(definitions.count + changes->count);
}

/* Inserts a record of the definitions so far and these changes of rows; returns its end. */
static XLogRecPtr
insert(tg_record_kind kind, const tg_bytes *changes, XLogRecPtr *start_out)
{
	XLogRecPtr end = tsurugi_log_insert(kind, first_part, definitions.data, definitions.count, changes->data,
										changes->count, start_out);

	definitions.count = 0;
	return end;
}

/* Whether the transaction has done nothing that is logged. */
static bool
is_empty(void)
{
	return first_part == 0 && definitions.count == 0 && rows.count == 0;
}

/* 5.  LOGGING for as long as this takes, unless the backend is anyway. */
static void
insert_part_of(const tg_bytes *changes)
{
	bool begins = !is_logging;
	XLogRecPtr start;

	check_size(changes);
	if (begins)
		tsurugi_log_begin(true);
	(void) insert(TG_RECORD_PART, changes, &start);
	if (begins)
		tsurugi_log_end();
	if (first_part == 0)
		first_part = start;
	tg_failpoint("log_part");
}

/* Of what has been written so far. */
static void
insert_part(void)
{
	insert_part_of(&rows);
	rows.count = 0;
}

/* Called between two rows, inside an epoch. */
static void
make_part(void *context, tg_bytes *bytes)
{
	tg_session *session = tsurugi_session();

	tg_epoch_leave(session);
	CHECK_FOR_INTERRUPTS(); /* 7 */
	insert_part();
	tg_epoch_enter(session);
}

static void
check_bytes(tg_status status)
{
	if (status == TG_NO_MEMORY)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Failed while the changes of a transaction were written for the log.")));
	tsurugi_check(status, NULL);
}

static const tg_operations_sink parts = {.bytes_max = PART_BYTES, .empty = make_part};

/*
 * Takes over what a task has written: into a record of its own, or, if it is short, behind what
 * there is.
 */
static void
take_part(const tg_bytes *part)
{
	if (rows.count + part->count <= PART_BYTES_LEAST)
	{
		check_bytes(tg_bytes_reserve(&rows, part->count));
		tg_bytes_put(&rows, part->data, part->count);
		return;
	}
	if (rows.count > 0)
		insert_part();
	insert_part_of(part);
}

/* All parts, as they come. */
static void
take_parts(tg_parts *written)
{
	tg_session *session = tsurugi_session();
	const tg_bytes *part;
	tg_status status;

	while ((status = tg_parts_next(session, written, &part)) != TG_NOT_FOUND)
	{
		CHECK_FOR_INTERRUPTS(); /* 7 */
		if (status == TG_OK)
			take_part(part);
		else if (status != TG_BUSY)
			check_bytes(status);
		else
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
	}
}

/* 6.  False: the backend has to write them. */
static bool
write_rows_by_tasks(tg_txn *txn)
{
	const tg_parts_config config = {.bytes_max = PART_BYTES, .owner = MyProcPid, .waiter = MyLatch};
	tg_session *session = tsurugi_session();
	tg_parts *written;

	if (tg_txn_write_count(txn) < TASKS_WRITES_LEAST ||
		tg_parts_begin(session, tg_txn_log(txn), &config, &written) != TG_OK)
		return false;
	PG_TRY();
	{
		take_parts(written);
	}
	PG_FINALLY();
	{
		tg_parts_end(session, written);
	}
	PG_END_TRY();
	return true;
}

static void
write_rows(tg_txn *txn)
{
	tg_session *session = tsurugi_session();
	tg_status status;

	if (!tg_txn_has_writes(txn))
		return;
	tsurugi_log_check_full();
	if (write_rows_by_tasks(txn))
		return;
	tg_epoch_enter(session);
	status = tg_operations_write(tg_txn_log(txn), &rows, &parts);
	tg_epoch_leave(session);
	check_bytes(status);
}

static void
write_locks(const tg_txn *txn)
{
	tg_session *session = tsurugi_session();
	tg_status status;

	tg_epoch_enter(session);
	status = tg_operations_write_locks(txn, &rows, &parts);
	tg_epoch_leave(session);
	check_bytes(status);
}

/* --- contents ------------------------------------------------------------------------------ */

/* Writes all rows of a table, or the hidden values of one of its indexes, as of now. */
static void
write_contents(tg_table *table, tg_index *index)
{
	tg_session *session = tsurugi_session();
	MemoryContext published = AllocSetContextCreate(TopTransactionContext, "tsurugi_fdw log", ALLOCSET_SMALL_SIZES);
	tg_snapshot snapshot;
	uint32_t end = tg_load_relaxed(&table->row_next);
	uint32_t count;

	if (end > 0)
		tsurugi_log_check_full();
	tsurugi_snapshot_take(published, &snapshot);
	snapshot.command = UINT32_MAX; /* whatever this transaction has written */
	for (uint32_t first = 0; first < end; first += count)
	{
		tg_status status;
		tg_wait wait;

		count = Min(end - first, BATCH_ROWS);
		tg_epoch_enter(session);
		status = index == NULL ? tg_operations_write_rows(table, &snapshot, first, count, &rows, &wait)
							   : tg_operations_write_hidden(table, index, &snapshot, first, count, &rows, &wait);
		tg_epoch_leave(session);
		if (status == TG_BUSY)
		{
			tsurugi_wait_for_outcome(&wait);
			count = 0;
		}
		else
			check_bytes(status);
		if (rows.count >= PART_BYTES)
			insert_part();
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextDelete(published);
}

/* --- the end of PostgreSQL's transaction --------------------------------------------------- */

/* The engine's transaction that this one commits, or NULL. */
static tg_txn *
find_transaction(void)
{
	tg_txn *txn = tsurugi_transaction_to_commit();

	return txn != NULL ? txn : tsurugi_shared_to_commit();
}

static void
begin_logging(bool with_xid)
{
	tsurugi_log_begin(with_xid);
	is_logging = true;
}

static void
make_part_of_definitions(void)
{
	if (definitions.count >= PART_BYTES)
		insert_part();
}

void
tsurugi_logging_pre_commit(void)
{
	if (tg_likely(!tsurugi_storage_is_changed()))
		return;
	is_open = true;
	(void) GetTopTransactionId();
	tsurugi_storage_log_first(&definitions, make_part_of_definitions);
	tsurugi_storage_log_contents(write_contents);
	tsurugi_storage_log_last(&last_definitions);
}

/*
 * Whether PostgreSQL's record decides.  An id that is taken here stands for no change of ordinary
 * tables, so nothing else looks at it: the transaction is not a mixed one.
 */
static bool
has_xid(void)
{
	if (tg_unlikely(tsurugi_log_takes_time()))
		(void) GetTopTransactionId();
	return TransactionIdIsValid(GetTopTransactionIdIfAny());
}

/* What the last record has besides. */
static void
add_last(void)
{
	check_bytes(tg_bytes_reserve(&definitions, last_definitions.count));
	tg_bytes_put(&definitions, last_definitions.data, last_definitions.count);
	last_definitions.count = 0;
}

static void
insert_with(const tg_txn *txn)
{
	XLogRecPtr end = insert(TG_RECORD_WITH, &rows, NULL);

	has_last = true;
	if (txn != NULL)
		tg_txn_note_logged(txn, end);
	tg_failpoint("log_with");
}

void
tsurugi_logging_validate(void)
{
	tg_txn *txn = find_transaction();
	bool with_xid;

	if (tg_likely(!is_open && (txn == NULL || !tg_txn_is_logged(txn))))
		return;
	is_open = true;
	with_xid = has_xid();
	begin_logging(with_xid);
	if (txn != NULL)
		write_rows(txn);
	add_last();
	check_size(&rows);
	if (is_empty())
		return;
	tsurugi_response_for_transaction();
	if (with_xid)
		insert_with(txn);
	else
		logged = txn;
}

void
tsurugi_logging_prepare(tg_txn *txn)
{
	if (!tg_txn_is_logged(txn))
		return;
	is_open = true;
	begin_logging(false);
	write_rows(txn);
	check_size(&rows);
	logged = is_empty() ? NULL : txn;
}

bool
tsurugi_logging_pre_prepare(tg_txn *txn)
{
	if (!tg_prepared_is_logged(txn))
		return false;
	is_open = true;
	begin_logging(true);
	write_rows(txn);
	write_locks(txn);
	check_size(&rows);
	if (is_empty())
		return false;
	insert_with(txn);
	return true;
}

static void
open_note(tg_txn *txn)
{
	noted_session = tsurugi_session();
	tg_txn_open_note(noted_session, txn);
}

static void
close_note(void)
{
	if (noted_session != NULL)
		tg_unflushed_close(noted_session);
	noted_session = NULL;
	noted_end = 0;
}

void
tsurugi_logging_before_draw(tg_txn *txn)
{
	if (!tg_txn_is_logged(txn))
		return;
	is_open = true;
	open_note(txn);
}

static void
note(XLogRecPtr end)
{
	if (noted_session == NULL)
		open_note(logged);
	tg_unflushed_log(noted_session, end);
	noted_end = end;
}

/* As RecordTransactionCommit of xact.c does it, or later (2). */
static void
make_durable(XLogRecPtr end)
{
	if (synchronous_commit <= SYNCHRONOUS_COMMIT_OFF)
		XLogSetAsyncXactLSN(end);
	else if ((tg_txn_is_prepared(logged) && noted_session == NULL) || tg_failpoint_refuses("skip_r2"))
	{
		tg_failpoint("log_unflushed");
		XLogFlush(end);
		SyncRepWaitForLSN(end, true);
	}
	else
		note(end);
	XactLastCommitEnd = end;
	/* Otherwise the next transaction would take the record for its own. */
	XactLastRecEnd = 0;
}

void
tsurugi_logging_commit(void)
{
	XLogRecPtr end;

	if (tg_likely(logged == NULL))
		return;
	START_CRIT_SECTION();
	end = insert(TG_RECORD_COMMIT, &rows, NULL);
	END_CRIT_SECTION();
	has_last = true;
	tg_txn_note_logged(logged, end);
	tg_failpoint("log_commit");
	make_durable(end);
	if (noted_end == 0)
		tg_failpoint("log_durable");
}

void
tsurugi_logging_flush(void)
{
	if (tg_likely(noted_end == 0))
		return;
	tg_failpoint("log_unflushed");
	START_CRIT_SECTION(); /* others see the commit already */
	XLogFlush(noted_end);
	END_CRIT_SECTION();
	SyncRepWaitForLSN(noted_end, true);
	close_note();
	tg_failpoint("log_durable");
}

/* The resource owners of subtransactions and portals have no commits to flush. */
static void
at_release(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *argument)
{
	if (phase == RESOURCE_RELEASE_AFTER_LOCKS && is_top_level)
		tsurugi_logging_flush();
}

void
tsurugi_logging_init(void)
{
	RegisterResourceReleaseCallback(at_release, NULL);
}

/* PostgreSQL has set it for a transaction that its own record commits. */
uint64
tsurugi_logging_position(void)
{
	return is_open ? XactLastCommitEnd : 0;
}

/* 5. */
static void
give_up_parts(void)
{
	if (first_part == 0 || has_last || !tsurugi_log_begin_if_open())
		return;
	tsurugi_log_insert_given_up(first_part);
	tg_failpoint("log_given_up");
}

void
tsurugi_logging_end(bool committed)
{
	if (tg_likely(!is_open))
		return;
	give_up_parts();
	if (noted_end == 0)
		close_note();
	is_open = false;
	is_logging = false;
	logged = NULL;
	first_part = 0;
	has_last = false;
	empty(&definitions);
	empty(&last_definitions);
	empty(&rows);
	tsurugi_log_end();
}

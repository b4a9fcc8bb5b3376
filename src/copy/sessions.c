/*
 * sessions.c
 *	  Loads and batches that are not transactional, by sessions of their own: the caller's side.
 */
#include "postgres.h"

#include "src/copy/sessions.h"

#include "access/xact.h"
#include "libpq/pqmq.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "src/copy/client.h"
#include "src/copy/load_pool.h"
#include "src/copy/load_records.h"
#include "src/copy/progress.h"
#include "src/copy/reject.h"

#define SESSIONS 2 /* the setting's default */
#define SESSIONS_MAX 64
#define ORDERS_BYTES ((Size) 2 << 20) /* a queue: of a group or two */
#define ANSWERS_BYTES ((Size) 64 << 10)
#define BLOCKS_AHEAD 2	  /* that a session has at a time: one that it works on, and the next one */
#define COMMIT_ROWS 10000 /* of a transaction, unless the caller says how many */

int tsurugi_batch_sessions;

typedef struct Session
{
	BackgroundWorkerHandle *process; /* NULL: it has ended */
	shm_mq_handle *orders;
	shm_mq_handle *answers;
	const tsurugi_load_file *file; /* that it knows; NULL: none */
	int blocks;					   /* that it has got, and not committed */
	bool is_ready;
} Session;

typedef struct Sessions
{
	const tsurugi_load *load;
	tsurugi_rejects *rejects;
	dsm_segment *segment;
	tsurugi_sessions_shared *shared;
	Session *sessions;
	int count;
} Sessions;

void
tsurugi_sessions_define(void)
{
	DefineCustomIntVariable("tsurugi_fdw.batch_sessions", "Number of background processes of a load or a batch.",
							"For those that are not transactional, and that the pool cannot do.",
							&tsurugi_batch_sessions, SESSIONS, 1, SESSIONS_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* --- their end -------------------------------------------------------------------------------- */

/* Waits until all have ended.  is_forced: they are terminated. */
static void
end_sessions(Sessions *all, bool is_forced)
{
	HOLD_INTERRUPTS();
	for (int i = 0; i < all->count; i++)
		if (all->sessions[i].process != NULL)
		{
			if (is_forced)
				TerminateBackgroundWorker(all->sessions[i].process);
			if (all->sessions[i].orders != NULL)
				shm_mq_detach(all->sessions[i].orders);
			all->sessions[i].orders = NULL;
		}
	for (int i = 0; i < all->count; i++)
		if (all->sessions[i].process != NULL)
		{
			if (WaitForBackgroundWorkerShutdown(all->sessions[i].process) == BGWH_POSTMASTER_DIED)
				proc_exit(1);
			pfree(all->sessions[i].process);
			all->sessions[i].process = NULL;
		}
	RESUME_INTERRUPTS();
}

/* For PG_ENSURE_ERROR_CLEANUP. */
static void
give_up(int code, Datum all)
{
	end_sessions((Sessions *) DatumGetPointer(all), true);
}

/* --- their beginning -------------------------------------------------------------------------- */

static int64
rows_of_block(const tsurugi_load *load)
{
	return load->commit_rows > 0 ? load->commit_rows : COMMIT_ROWS;
}

/* No more than there are blocks, if that is known. */
static int
wanted_sessions(const tsurugi_load *load)
{
	int64 blocks = 0;
	ListCell *cell;

	foreach (cell, load->files)
	{
		const tsurugi_load_file *file = lfirst(cell);

		if (file->rows < 0)
			return tsurugi_batch_sessions;
		blocks += (file->rows + rows_of_block(load) - 1) / rows_of_block(load);
	}
	return (int) Max(Min(blocks, tsurugi_batch_sessions), 1);
}

static void
describe_caller(tsurugi_sessions_shared *shared)
{
	shared->database = MyDatabaseId;
	shared->authenticated_user = GetAuthenticatedUserId();
	shared->session_user = GetSessionUserId();
	shared->role = GetCurrentRoleId();
	GetUserIdAndSecContext(&shared->current_user, &shared->security_context);
	pg_atomic_init_u64(&shared->rows, 0);
	pg_atomic_init_u64(&shared->transactions, 0);
}

static void *
add_chunk(shm_toc *toc, uint64 key, Size bytes)
{
	void *chunk = shm_toc_allocate(toc, bytes);

	shm_toc_insert(toc, key, chunk);
	return chunk;
}

static shm_toc *
create_segment(Sessions *all, int count)
{
	char *task = tsurugi_task_write(all->load);
	Size settings_bytes = EstimateGUCStateSpace();
	shm_toc_estimator estimate;
	shm_toc *toc;

	shm_toc_initialize_estimator(&estimate);
	shm_toc_estimate_chunk(&estimate, sizeof(tsurugi_sessions_shared));
	shm_toc_estimate_chunk(&estimate, settings_bytes);
	shm_toc_estimate_chunk(&estimate, strlen(task) + 1);
	shm_toc_estimate_chunk(&estimate, mul_size(count, BUFFERALIGN(ORDERS_BYTES) + BUFFERALIGN(ANSWERS_BYTES)));
	shm_toc_estimate_keys(&estimate, TSURUGI_SESSIONS_QUEUES + 2 * count);
	all->segment = dsm_create(shm_toc_estimate(&estimate), 0);
	toc =
		shm_toc_create(TSURUGI_SESSIONS_MAGIC, dsm_segment_address(all->segment), dsm_segment_map_length(all->segment));
	all->shared = add_chunk(toc, TSURUGI_SESSIONS_SHARED, sizeof(tsurugi_sessions_shared));
	describe_caller(all->shared);
	SerializeGUCState(settings_bytes, add_chunk(toc, TSURUGI_SESSIONS_SETTINGS, settings_bytes));
	strcpy(add_chunk(toc, TSURUGI_SESSIONS_TASK, strlen(task) + 1), task);
	return toc;
}

/* A queue, in which this process has its place. */
static shm_mq *
create_queue(shm_toc *toc, int number, bool is_of_answers)
{
	Size bytes = is_of_answers ? ANSWERS_BYTES : ORDERS_BYTES;
	shm_mq *queue = shm_mq_create(add_chunk(toc, TSURUGI_SESSIONS_QUEUES + 2 * number + is_of_answers, bytes), bytes);

	if (is_of_answers)
		shm_mq_set_receiver(queue, MyProc);
	else
		shm_mq_set_sender(queue, MyProc);
	return queue;
}

/* False: there is no place for it. */
static bool
start_session(Sessions *all, shm_toc *toc)
{
	Session *session = &all->sessions[all->count];
	BackgroundWorker process = {.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
								.bgw_start_time = BgWorkerStart_ConsistentState,
								.bgw_restart_time = BGW_NEVER_RESTART,
								.bgw_library_name = "tsurugi_fdw",
								.bgw_function_name = "tsurugi_fdw_batch_main",
								.bgw_type = "tsurugi_fdw batch",
								.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(all->segment)),
								.bgw_notify_pid = MyProcPid};
	shm_mq *orders = create_queue(toc, all->count, false);
	shm_mq *answers = create_queue(toc, all->count, true);

	snprintf(process.bgw_name, BGW_MAXLEN, "tsurugi_fdw batch of process %d", MyProcPid);
	memcpy(process.bgw_extra, &all->count, sizeof(all->count));
	if (!RegisterDynamicBackgroundWorker(&process, &session->process))
		return false;
	all->count++;
	session->orders = shm_mq_attach(orders, all->segment, session->process);
	session->answers = shm_mq_attach(answers, all->segment, session->process);
	return true;
}

static void
start_sessions(Sessions *all)
{
	int wanted = wanted_sessions(all->load);
	shm_toc *toc = create_segment(all, wanted);

	all->sessions = palloc0(sizeof(*all->sessions) * wanted);
	while (all->count < wanted && start_session(all, toc))
		;
	if (all->count == 0)
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES), errmsg("could not register background process"),
						errhint("You may need to increase max_worker_processes.")));
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
take_reject(Sessions *all, StringInfo message)
{
	tsurugi_reject reject;
	bool has_column;

	reject.block = pq_getmsgint64(message);
	reject.row = pq_getmsgint64(message);
	reject.byte = pq_getmsgint64(message);
	reject.code = (int) pq_getmsgint(message, sizeof(int32));
	has_column = pq_getmsgbyte(message) != 0;
	reject.column = pq_getmsgrawstring(message);
	if (!has_column)
		reject.column = NULL;
	reject.file = pq_getmsgrawstring(message);
	reject.message = pq_getmsgrawstring(message);
	reject.record = pq_getmsgrawstring(message);
	tsurugi_rejects_add(all->rejects, &reject);
}

static void
take_done(Session *session, StringInfo message)
{
	tg_batch_progress *progress = tsurugi_batch_progress();
	tsurugi_done done;

	tg_assert(session->blocks > 0);
	pq_copymsgbytes(message, (char *) &done, sizeof(done));
	session->blocks--;
	tg_fetch_add_relaxed(&progress->rows, (uint64) done.rows);
	tg_fetch_add_relaxed(&progress->transactions, 1);
	tsurugi_records_note(&done.done);
}

/* Its error is the caller's. */
static void
take_error(StringInfo message)
{
	ErrorData error;

	pq_parse_errornotice(message, &error);
	error.elevel = Min(error.elevel, ERROR);
	ThrowErrorData(&error);
}

static void
take_answer(Sessions *all, Session *session, void *data, Size bytes)
{
	StringInfoData message;

	initStringInfo(&message);
	appendBinaryStringInfo(&message, data, (int) bytes);
	switch (pq_getmsgbyte(&message))
	{
		case TSURUGI_ANSWER_READY:
			session->is_ready = true;
			break;
		case TSURUGI_ANSWER_DONE:
			take_done(session, &message);
			break;
		case TSURUGI_ANSWER_REJECT:
			take_reject(all, &message);
			break;
		case 'E':
		case 'N':
			take_error(&message);
			break;
		default: /* notifications of LISTEN are for nobody */
			break;
	}
	pfree(message.data);
}

/* All that have come. */
static void
take_answers(Sessions *all)
{
	for (int i = 0; i < all->count; i++)
	{
		Session *session = &all->sessions[i];
		shm_mq_result result;
		Size bytes;
		void *data;

		while ((result = shm_mq_receive(session->answers, &bytes, &data, true)) == SHM_MQ_SUCCESS)
			take_answer(all, session, data, bytes);
		if (result == SHM_MQ_DETACHED)
			ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
							errmsg("a session of the %s has ended", all->load->statement != NULL ? "batch" : "load"),
							errhint("More details may be available in the server log.")));
	}
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* Adds the processes that this one waits for to the list. */
static List *
add_blockers(List *waiting, int process)
{
	ArrayType *array = DatumGetArrayTypeP(DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(process)));
	const int32 *blockers = (const int32 *) ARR_DATA_PTR(array);
	int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	for (int i = 0; i < count; i++)
		if (blockers[i] != 0) /* 0: a prepared transaction */
			waiting = list_append_unique_int(waiting, blockers[i]);
	return waiting;
}

/*
 * 3 of sessions.h: the caller waits for its sessions, which PostgreSQL does not know of.  So a
 * session that waits for the caller, if only by others, would wait for ever.
 */
static void
check_deadlock(const Sessions *all)
{
	List *waiting = NIL;
	int direct;

	for (int i = 0; i < all->count; i++)
	{
		pid_t process;

		if (GetBackgroundWorkerPid(all->sessions[i].process, &process) == BGWH_STARTED)
			waiting = add_blockers(waiting, process);
	}
	direct = list_length(waiting);
	for (int i = 0; i < list_length(waiting); i++)
	{
		if (list_nth_int(waiting, i) != MyProcPid)
		{
			waiting = add_blockers(waiting, list_nth_int(waiting, i));
			continue;
		}
		if (i < direct)
			ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
							errmsg("a %s that is not transactional cannot run in a transaction that holds locks "
								   "its sessions wait for",
								   all->load->statement != NULL ? "batch" : "load")));
		ereport(ERROR, (errcode(ERRCODE_T_R_DEADLOCK_DETECTED), errmsg("deadlock detected"),
						errdetail("A session of process %d waits for others that wait for this process.", MyProcPid)));
	}
	list_free(waiting);
}

/* For something to happen; then what has come is taken. */
static void
await(Sessions *all)
{
	int events =
		WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, DeadlockTimeout, PG_WAIT_EXTENSION);

	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	if ((events & WL_TIMEOUT) != 0)
		check_deadlock(all);
	take_answers(all);
}

static bool
are_ready(const Sessions *all)
{
	for (int i = 0; i < all->count; i++)
		if (!all->sessions[i].is_ready)
			return false;
	return true;
}

static bool
are_done(const Sessions *all)
{
	for (int i = 0; i < all->count; i++)
		if (all->sessions[i].blocks > 0)
			return false;
	return true;
}

/* The one with the fewest blocks. */
static Session *
next_session(Sessions *all)
{
	for (;;)
	{
		Session *next = &all->sessions[0];

		take_answers(all);
		for (int i = 1; i < all->count; i++)
			if (all->sessions[i].blocks < next->blocks)
				next = &all->sessions[i];
		if (next->blocks < BLOCKS_AHEAD)
			return next;
		await(all);
	}
}

/* --- orders ----------------------------------------------------------------------------------- */

static void
give(Sessions *all, Session *session, shm_mq_iovec *parts, int count)
{
	shm_mq_result result;

	while ((result = shm_mq_sendv(session->orders, parts, count, true, true)) == SHM_MQ_WOULD_BLOCK)
		await(all);
	if (result == SHM_MQ_DETACHED)
		for (;;) /* its last answer, or its end, is an error */
			await(all);
}

static void
send_file(Sessions *all, Session *session, const tsurugi_load_file *file, const tsurugi_records *records)
{
	char *words = tsurugi_task_write_file(file, tsurugi_records_columns(records), tsurugi_records_options(records));
	tsurugi_order order = {.kind = TSURUGI_ORDER_FILE, .text_bytes = (int64) strlen(words) + 1};
	shm_mq_iovec parts[] = {{(const char *) &order, sizeof(order)}, {words, strlen(words) + 1}};

	give(all, session, parts, lengthof(parts));
	session->file = file;
	pfree(words);
}

static void
send_group(Sessions *all, Session *session, const tsurugi_group *group)
{
	tsurugi_order order = {.kind = TSURUGI_ORDER_GROUP, .count = group->count, .text_bytes = group->text.len};
	shm_mq_iovec parts[] = {{(const char *) &order, sizeof(order)},
							{(const char *) group->records, sizeof(tsurugi_record) * group->count},
							{group->text.data, group->text.len}};

	give(all, session, parts, lengthof(parts));
}

static void
send_commit(Sessions *all, Session *session, tsurugi_records_place place, tsurugi_records_place *sent)
{
	tsurugi_order order = {.kind = TSURUGI_ORDER_COMMIT, .done = tsurugi_records_move(sent, place)};
	shm_mq_iovec part = {(const char *) &order, sizeof(order)};

	give(all, session, &part, 1);
}

/* --- files ------------------------------------------------------------------------------------ */

static void
send_records(Sessions *all, const tsurugi_load_file *file, tsurugi_group *group)
{
	tsurugi_records *records = tsurugi_records_open(all->load, file);
	int64 most = rows_of_block(all->load);
	tsurugi_records_place sent = {0};
	tsurugi_records_place place = {0};
	Session *session = NULL; /* that has the block */
	int64 rows = 0;			 /* of this */

	while (tsurugi_records_read(records, group, (int) Min(rows < most ? most - rows : most, TSURUGI_GROUP_ROWS)))
	{
		if (rows == most)
		{
			send_commit(all, session, place, &sent);
			session = NULL;
			rows = 0;
		}
		if (session == NULL)
		{
			session = next_session(all);
			session->blocks++;
		}
		if (session->file != file)
			send_file(all, session, file, records);
		send_group(all, session, group);
		place = tsurugi_records_place_behind(file, group);
		rows += group->count;
	}
	place = tsurugi_records_place_behind(file, NULL);
	if (session != NULL)
		send_commit(all, session, place, &sent);
	else /* it has no rows */
		tsurugi_records_note(&place);
	tsurugi_records_close(records);
}

static void
run(Sessions *all)
{
	tsurugi_group *group = palloc(sizeof(*group));
	ListCell *cell;

	start_sessions(all);
	while (!are_ready(all))
		await(all);
	initStringInfo(&group->text);
	foreach (cell, all->load->files)
		send_records(all, lfirst(cell), group);
	while (!are_done(all))
		await(all);
	end_sessions(all, false);
}

/* --- a load or a batch ------------------------------------------------------------------------ */

/* The locks that the sessions take are not this transaction's. */
static void
check_locks(const tsurugi_load *load)
{
	static const LOCKMODE modes[] = {ShareLock, ShareRowExclusiveLock, ExclusiveLock, AccessExclusiveLock};

	if (load->statement != NULL)
		return;
	for (int i = 0; i < lengthof(modes); i++)
		if (CheckRelationLockedByMe(load->relation, modes[i], false))
			ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
							errmsg("a load that is not transactional cannot run in a transaction that has locked "
								   "the table \"%s\"",
								   RelationGetRelationName(load->relation))));
}

/* Once all sessions have ended, the present error is raised with what they have committed. */
static void
raise_with_rows(Sessions *all, MemoryContext memory)
{
	const char *relation = all->load->statement == NULL ? RelationGetRelationName(all->load->relation) : NULL;
	ErrorData *error;
	char *place;

	MemoryContextSwitchTo(memory);
	error = CopyErrorData();
	FlushErrorState();
	end_sessions(all, true);
	place =
		psprintf("%s%s; " UINT64_FORMAT " rows are committed", relation != NULL ? "load of " : "batch",
				 relation != NULL ? relation : "", all->shared != NULL ? pg_atomic_read_u64(&all->shared->rows) : 0);
	error->context = error->context != NULL ? psprintf("%s\n%s", error->context, place) : place;
	ReThrowError(error);
}

void
tsurugi_load_by_sessions(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out, int64 *transactions_out)
{
	MemoryContext memory = CurrentMemoryContext;
	Sessions *all = palloc0(sizeof(*all));

	all->load = load;
	tsurugi_load_check_outside(load->statement != NULL ? "batch" : "load");
	check_locks(load);
	all->rejects = tsurugi_rejects_begin(load->statement == NULL ? RelationGetRelationName(load->relation) : NULL,
										 load->reject_file, load->reject_limit, load->files);
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(all));
	{
		PG_TRY();
		{
			run(all);
		}
		PG_CATCH();
		{
			raise_with_rows(all, memory);
		}
		PG_END_TRY();
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(all));
	*rows_out = (int64) pg_atomic_read_u64(&all->shared->rows);
	*transactions_out = (int64) pg_atomic_read_u64(&all->shared->transactions);
	*rejected_out = tsurugi_rejects_end(all->rejects);
	dsm_detach(all->segment);
}

/*
 * session_main.c
 *	  A session of a load or a batch: the process's side.
 *
 * Errors and notices go to the caller as those of parallel workers do, as messages of the protocol,
 * and so do rows that are left out.  An error ends the process: its transaction is rolled back, and
 * the caller ends the others.
 */
#include "postgres.h"

#include "src/copy/sessions.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "executor/spi.h"
#include "libpq/pqmq.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "storage/shm_mq.h"
#include "storage/shm_toc.h"
#include "tcop/tcopprot.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "src/copy/client.h"
#include "src/copy/load_rows.h"

typedef struct Working
{
	tsurugi_sessions_shared *shared;
	shm_mq_handle *orders;
	Oid relation; /* InvalidOid: of a batch */
	tsurugi_load *load;
	const char *text; /* what others see of it */
	MemoryContext file_memory;
	tsurugi_load_file *file; /* NULL: none yet */
	List *columns;
	List *options;
	tsurugi_group *group;
	/* of a block: */
	bool in_block;
	int64 rows;
	tsurugi_storing *storing;
	const tsurugi_load_file *storing_file;
	Oid user_before;
	int context_before;
} Working;

static Working *working;

/* --- the caller's role and settings ----------------------------------------------------------- */

/* As a parallel worker does (ParallelWorkerMain). */
static void
be_the_caller(tsurugi_sessions_shared *shared, void *settings)
{
	BackgroundWorkerInitializeConnectionByOid(shared->database, shared->authenticated_user, 0);
	StartTransactionCommand();
	InitializingParallelWorker = true;
	RestoreGUCState(settings);
	InitializingParallelWorker = false;
	SetSessionAuthorization(shared->session_user, superuser_arg(shared->session_user));
	SetCurrentRoleId(shared->role, OidIsValid(shared->role) && superuser_arg(shared->role));
	CommitTransactionCommand();
	SetClientEncoding(GetDatabaseEncoding()); /* the caller is the client */
}

/* --- locks (3 of sessions.h) ------------------------------------------------------------------ */

static void
keep_lock(Oid relation, LOCKMODE mode)
{
	LockRelId id = {.relId = relation, .dbId = IsSharedRelation(relation) ? InvalidOid : MyDatabaseId};

	LockRelationIdForSession(&id, mode);
}

/*
 * PostgreSQL releases them when a transaction is aborted, but not where none is open.  Once the
 * process's transaction has ended, and before its place is given up.
 */
static void
release_locks(int code, Datum argument)
{
	LockReleaseAll(DEFAULT_LOCKMETHOD, true);
}

/* What the analysis of the statement has locked. */
static bool
keep_locks_of_query(Node *node, void *argument)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		const RangeTblEntry *entry = (const RangeTblEntry *) node;

		if (entry->rtekind == RTE_RELATION)
			keep_lock(entry->relid, entry->rellockmode);
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, keep_locks_of_query, argument, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, keep_locks_of_query, argument);
}

/* Reads the task, and takes the locks. */
static void
begin_work(const char *words)
{
	on_shmem_exit(release_locks, 0);
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	MemoryContextSwitchTo(TopMemoryContext);
	working->load = tsurugi_task_read(words, &working->relation);
	if (working->load->statement == NULL)
	{
		keep_lock(working->relation, RowExclusiveLock);
		working->text = psprintf("load of %s", get_rel_name(working->relation));
	}
	else
	{
		Query *query;

		working->text = working->load->statement->text;

		(void) tsurugi_batch_statement(pstrdup(working->load->statement->text), &query);
		(void) keep_locks_of_query((Node *) query, NULL);
	}
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_activity(STATE_IDLE, NULL);
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void
send_reject(void *argument, const tsurugi_reject *reject)
{
	StringInfoData message;

	pq_beginmessage(&message, TSURUGI_ANSWER_REJECT);
	pq_sendint64(&message, (uint64) reject->block);
	pq_sendint64(&message, (uint64) reject->row);
	pq_sendint64(&message, (uint64) reject->byte);
	pq_sendint32(&message, (uint32) reject->code);
	pq_sendbyte(&message, reject->column != NULL);
	pq_sendstring(&message, reject->column != NULL ? reject->column : "");
	pq_sendstring(&message, reject->file);
	pq_sendstring(&message, reject->message);
	pq_sendstring(&message, reject->record);
	pq_endmessage(&message);
}

static void
begin_block(void)
{
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	GetUserIdAndSecContext(&working->user_before, &working->context_before);
	SetUserIdAndSecContext(working->shared->current_user, working->shared->security_context);
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	if (working->load->statement == NULL)
		working->load->relation = table_open(working->relation, RowExclusiveLock);
	debug_query_string = working->text;
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	working->storing = tsurugi_storing_begin(working->load, send_reject, NULL);
	working->storing_file = NULL;
	working->rows = 0;
	working->in_block = true;
}

static void
commit_block(const tsurugi_order *order)
{
	tsurugi_done done = {.rows = working->rows, .done = order->done};

	tsurugi_storing_end(working->storing);
	if (working->load->relation != NULL)
		table_close(working->load->relation, NoLock);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
	PopActiveSnapshot();
	CommitTransactionCommand();
	working->in_block = false;
	SetUserIdAndSecContext(working->user_before, working->context_before);
	debug_query_string = NULL;
	pgstat_report_stat(false);
	pgstat_report_activity(STATE_IDLE, NULL);
	(void) pq_putmessage(TSURUGI_ANSWER_DONE, (const char *) &done, sizeof(done));
}

/* 2 of sessions.h */
static void
count_commit(XactEvent event, void *argument)
{
	if (event != XACT_EVENT_COMMIT || !working->in_block)
		return;
	pg_atomic_fetch_add_u64(&working->shared->rows, working->rows);
	pg_atomic_fetch_add_u64(&working->shared->transactions, 1);
}

static void
describe_file(void *argument)
{
	if (working->file != NULL && working->load->statement == NULL)
		errcontext("load of file \"%s\"", working->file->name);
}

/* --- orders ----------------------------------------------------------------------------------- */

static void
take_file(const char *words)
{
	MemoryContext before;

	if (!working->in_block) /* the group that follows begins one; types are looked up in it */
		begin_block();
	before = MemoryContextSwitchTo(working->file_memory);
	/* a block is of one file, so that nothing uses the former one */
	MemoryContextReset(working->file_memory);
	working->file = tsurugi_task_read_file(words, &working->columns, &working->options);
	MemoryContextSwitchTo(before);
}

static void
take_group(const tsurugi_order *order)
{
	tsurugi_group *group = working->group;
	const char *records = (const char *) (order + 1);
	Size bytes = sizeof(tsurugi_record) * order->count;

	if (!working->in_block)
		begin_block();
	if (working->storing_file != working->file)
		tsurugi_storing_file(working->storing, working->file, working->columns, working->options);
	working->storing_file = working->file;
	group->count = order->count;
	memcpy(group->records, records, bytes);
	resetStringInfo(&group->text);
	appendBinaryStringInfo(&group->text, records + bytes, (int) order->text_bytes);
	working->rows += tsurugi_store_group(working->storing, group);
}

/* False: there are no more. */
static bool
take_order(void)
{
	const tsurugi_order *order;
	Size bytes;
	void *data;

	if (shm_mq_receive(working->orders, &bytes, &data, false) != SHM_MQ_SUCCESS)
		return false;
	order = data;
	CHECK_FOR_INTERRUPTS();
	switch ((tsurugi_order_kind) order->kind)
	{
		case TSURUGI_ORDER_FILE:
			take_file((const char *) (order + 1));
			break;
		case TSURUGI_ORDER_GROUP:
			take_group(order);
			break;
		case TSURUGI_ORDER_COMMIT:
			commit_block(order);
			break;
	}
	return true;
}

/* --- the process ------------------------------------------------------------------------------ */

static shm_mq_handle *
attach(shm_toc *toc, dsm_segment *segment, int number, bool sends)
{
	shm_mq *queue = shm_toc_lookup(toc, TSURUGI_SESSIONS_QUEUES + 2 * number + sends, false);

	if (sends)
		shm_mq_set_sender(queue, MyProc);
	else
		shm_mq_set_receiver(queue, MyProc);
	return shm_mq_attach(queue, segment, NULL);
}

static void
begin_working(shm_toc *toc, dsm_segment *segment)
{
	int number;

	memcpy(&number, MyBgworkerEntry->bgw_extra, sizeof(number));
	working = palloc0(sizeof(*working));
	working->shared = shm_toc_lookup(toc, TSURUGI_SESSIONS_SHARED, false);
	working->orders = attach(toc, segment, number, false);
	working->file_memory = AllocSetContextCreate(TopMemoryContext, "file of a batch", ALLOCSET_DEFAULT_SIZES);
	working->group = palloc(sizeof(*working->group));
	initStringInfo(&working->group->text);
	pq_redirect_to_shm_mq(segment, attach(toc, segment, number, true));
}

void
tsurugi_fdw_batch_main(Datum handle)
{
	ErrorContextCallback context = {.callback = describe_file};
	dsm_segment *segment;
	shm_toc *toc;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "tsurugi_fdw batch");
	MemoryContextSwitchTo(TopMemoryContext);
	segment = dsm_attach(DatumGetUInt32(handle));
	if (segment == NULL)
		proc_exit(0); /* the caller has gone */
	toc = shm_toc_attach(TSURUGI_SESSIONS_MAGIC, dsm_segment_address(segment));
	if (toc == NULL)
		elog(ERROR, "invalid magic number in dynamic shared memory segment");
	dsm_pin_mapping(segment);
	begin_working(toc, segment);
	be_the_caller(working->shared, shm_toc_lookup(toc, TSURUGI_SESSIONS_SETTINGS, false));
	begin_work(shm_toc_lookup(toc, TSURUGI_SESSIONS_TASK, false));
	RegisterXactCallback(count_commit, NULL);
	error_context_stack = &context;
	(void) pq_putmessage(TSURUGI_ANSWER_READY, NULL, 0);
	while (take_order())
		;
	proc_exit(working->in_block ? 1 : 0);
}

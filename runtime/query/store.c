/*
 * store.c
 *	  Rows that a query inserts: tasks store them in the requester's transaction.
 *
 *	tasks		evaluate -> rows -> piece of the task
 *	requester	waits ------------------------------> takes the pieces, or undoes them
 *
 * Each task has a piece of the transaction's writes of its own, and takes slots and row ids by the
 * leases of its worker's session; what tasks share is the table alone (txn/piece.c).
 *
 * 1. A task never waits, and raises no error.  Where a row cannot be stored at once (a key that
 *	  exists, or that another transaction holds; a NULL where there must be none; a check that is
 *	  false; a key too long; no memory), the job ends.  The requester undoes all pieces, and inserts
 *	  the rows by itself: it waits, and raises the error with all that it says of the row.
 * 2. The requester looks at the pieces when the job has ended, or when it is cancelled and no task
 *	  is in a turn (query.c, 2).  Until then the transaction neither ends nor writes.
 * 3. A command does not see its own rows, so the query may read the table that it stores into: its
 *	  snapshot is of this command, and what tasks insert is of this command, too.
 * 4. Strings of the rows read are copied while the task is inside the epoch of its batch; what the
 *	  batch points to stays, because the query's snapshot is published.
 * 5. Memory is claimed as by a transaction that has claimed much already.
 */
#include "runtime/query/store.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/index/long_key.h"
#include "runtime/mem/claim.h"
#include "runtime/order/key.h"
#include "runtime/sched/job.h"
#include "runtime/table/lease.h"
#include "runtime/table/table.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/wait.h"
#include "runtime/vector/decimal.h"

#define ROWS_BETWEEN_LOOKS 64 /* whether the job is cancelled */

/* A numeric as the host has it in memory, with its length. */
typedef struct host_decimal
{
	uint32_t header; /* bytes, in its upper 30 bits */
	char numeric[TG_DECIMAL_HOST_BYTES];
} host_decimal;

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "of the host's header as well");

static const tg_sink *
sink_of(const tg_query *query)
{
	return &query->plan->steps[query->plan->step_count - 1].sink;
}

tg_status
tg_store_prepare(tg_query_task *task, tg_session *session)
{
	unsigned count = sink_of(task->query)->store->column_count;

	task->values = tg_task_take(task, session, (count + 1) * (sizeof(tg_value) + sizeof(host_decimal)));
	task->value_nulls = tg_task_take(task, session, count + 1);
	return task->values != NULL && task->value_nulls != NULL ? TG_OK : TG_NO_MEMORY;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void
make_decimal(const tg_decimal *decimal, host_decimal *memory, tg_value *value)
{
	unsigned bytes = tg_decimal_to_host(tg_decimal_value(decimal), tg_decimal_scale(decimal), memory->numeric);

	if (bytes <= TG_STRING_INLINE_MAX)
	{
		tg_string_make_inline(&value->string, memory->numeric, bytes);
		return;
	}
	bytes += sizeof(memory->header);
	memory->header = bytes << 2;
	tg_string_make_host(&value->string, memory, bytes, sizeof(memory->header));
}

/* The value of a row that is not NULL there; memory: of the column. */
static inline void
make_value(tg_store_form form, const tg_vector *vector, unsigned row, host_decimal *memory, tg_value *value)
{
	switch (form)
	{
		case TG_STORE_BOOL:
			value->word = ((const uint8_t *) vector->data)[row];
			break;
		case TG_STORE_WORD:
			value->word = ((const uint64_t *) vector->data)[row];
			break;
		case TG_STORE_WIDE:
		{
			__int128 wide = ((const int64_t *) vector->data)[row];

			memcpy(value->bytes, &wide, sizeof(wide));
			break;
		}
		case TG_STORE_CELL:
			memcpy(value->bytes, (const tg_string *) vector->data + row, sizeof(value->bytes));
			break;
		case TG_STORE_DECIMAL:
			make_decimal((const tg_decimal *) vector->data + row, memory, value);
			break;
		default:
			value->string = ((const tg_string *) vector->data)[row];
			if (tg_string_is_out(&value->string))
				value->string.word |= TG_STRING_HOST; /* to be copied */
			break;
	}
}

/* False: it is NULL in a column that must not be. */
static bool
make_row(tg_query_task *task, const tg_sink *sink, unsigned row)
{
	const tg_store *store = sink->store;
	host_decimal *memory = (host_decimal *) (task->values + store->column_count + 1);

	for (unsigned i = 0; i < store->column_count; i++)
	{
		const tg_store_column *column = &store->columns[i];
		const tg_vector *vector;
		unsigned at;

		task->value_nulls[i] = true;
		if (column->form != TG_STORE_NULL)
		{
			vector = tg_evaluated(&task->sink, sink->fields[column->field]);
			at = vector->constant ? 0 : row;
			task->value_nulls[i] = vector->nulls != NULL && vector->nulls[at] != 0;
			if (!task->value_nulls[i])
				make_value((tg_store_form) column->form, vector, at, &memory[i], &task->values[i]);
		}
		if (tg_unlikely(task->value_nulls[i] && column->not_null))
			return false;
	}
	return true;
}

/* 1 */
static tg_status
store_row(const tg_writer *writer, const tg_store *store, const tg_query_task *task, unsigned char *key)
{
	bool has_key = store->table->key->part_count > 0;
	size_t key_bytes = 0;
	unsigned round = 0;
	tg_status status = TG_OK;
	tg_wait wait;

	if (has_key)
		status = tg_key_encode(writer->session, store->table, store->kinds, task->values, key, &key_bytes);
	for (; status == TG_OK; tg_spin(&round))
	{
		status = tg_txn_insert_apart(writer, store->table, has_key ? key : NULL, key_bytes, task->values,
									 task->value_nulls, &wait);
		if (status != TG_AGAIN)
			break;
		status = TG_OK;
	}
	return status == TG_BUSY ? TG_EXISTS : status; /* a task that is busy would come again */
}

/* Whether all rows pass all checks; a row passes one that is NULL. */
static bool
pass_checks(const tg_query_task *task, const tg_store *store, unsigned count)
{
	bool passed = true;

	for (unsigned i = 0; i < store->check_count; i++)
	{
		const tg_vector *check = tg_evaluated(&task->sink, store->checks[i]);
		unsigned step = check->constant ? 0 : 1;

		for (unsigned row = 0; row < count; row++)
			passed &= ((const uint8_t *) check->data)[row * step] != 0 ||
					  (check->nulls != NULL && check->nulls[row * step] != 0);
	}
	return passed;
}

tg_status
tg_store_take(tg_query_task *task, tg_session *session, unsigned count)
{
	const tg_query *query = task->query;
	const tg_sink *sink = sink_of(query);
	tg_writer writer = query->writer;
	unsigned char key[TG_KEY_BYTES_MAX];
	tg_status status = TG_OK;

	if (!pass_checks(task, sink->store, count))
		return TG_UNFIT;
	writer.session = session;
	writer.piece = &task->piece;
	writer.claim = TG_BULK;
	for (unsigned row = 0; row < count && status == TG_OK; row++)
	{
		if (row % ROWS_BETWEEN_LOOKS == 0)
		{
			if (query->job != NULL && tg_job_is_cancelled(query->job))
				return TG_CANCELLED;
			tg_failpoint("store_rows");
		}
		status = make_row(task, sink, row) ? store_row(&writer, sink->store, task, key) : TG_UNFIT;
	}
	return tg_failpoint_refuses("store_refused") ? TG_NO_MEMORY : status;
}

/* A worker keeps no lease between two turns: it may not be there for the next one. */
void
tg_store_pause(const tg_query *query, tg_session *session)
{
	if (session != query->writer.session)
		tg_leases_end(session);
}

/* --- the requester's side -------------------------------------------------------------------- */

/* The pieces of all tasks, in their order; returns their number. */
static unsigned
find_pieces(tg_query *query, tg_piece *pieces[TG_QUERY_TASK_MAX])
{
	unsigned count = query->tasks == NULL ? 0 : query->task_limit;

	for (unsigned i = 0; i < count; i++)
		pieces[i] = &query->tasks[i].piece;
	return count;
}

uint64_t
tg_query_keep(tg_session *session, tg_query *query)
{
	tg_piece *pieces[TG_QUERY_TASK_MAX];
	unsigned count = find_pieces(query, pieces);
	uint64_t rows = 0;

	tg_assert(tg_query_poll(query) == TG_OK);
	for (unsigned i = 0; i < count; i++)
		rows += pieces[i]->writes;
	tg_txn_take_pieces(session, query->writer.txn, pieces, count);
	return rows;
}

void
tg_store_undo(tg_query *query, tg_session *session)
{
	tg_piece *pieces[TG_QUERY_TASK_MAX];
	unsigned count = find_pieces(query, pieces);
	bool any = false;

	for (unsigned i = 0; i < count; i++)
		any |= pieces[i]->log != NULL;
	if (any)
		tg_txn_undo_pieces(session, query->writer.txn, pieces, count);
}

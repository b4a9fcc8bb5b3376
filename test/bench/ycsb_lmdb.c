/*
 * ycsb_lmdb.c
 *	  ycsb.h by LMDB: one writer at a time, so every transaction is serializable
 *	  and none conflicts.  No sync, and a writable map, as its manual
 *	  recommends for speed; readers keep their handle (reset, renew).
 */
#include <lmdb.h>

#include "test/bench/ycsb.h"

#define MAP_BYTES ((size_t) 8 << 30)

static MDB_env *env;
static MDB_dbi dbi;

struct ycsb_thread
{
	MDB_txn *reader;
	MDB_cursor *reader_cursor;
	MDB_txn *txn; /* the current one */
};

static void
check(int result)
{
	if (result != 0)
		ycsb_fail("lmdb", mdb_strerror(result));
}

void
ycsb_open(const char *directory, unsigned threads)
{
	MDB_txn *txn;

	check(mdb_env_create(&env));
	check(mdb_env_set_mapsize(env, MAP_BYTES));
	check(mdb_env_open(env, directory, MDB_NOSYNC | MDB_NOMETASYNC | MDB_WRITEMAP | MDB_NORDAHEAD, 0600));
	check(mdb_txn_begin(env, NULL, 0, &txn));
	check(mdb_dbi_open(txn, NULL, 0, &dbi));
	check(mdb_txn_commit(txn));
}

void
ycsb_close(void)
{
	mdb_env_close(env);
}

ycsb_thread *
ycsb_thread_open(void)
{
	ycsb_thread *thread = calloc(1, sizeof(*thread));

	check(mdb_txn_begin(env, NULL, MDB_RDONLY, &thread->reader));
	check(mdb_cursor_open(thread->reader, dbi, &thread->reader_cursor));
	mdb_txn_reset(thread->reader);
	return thread;
}

void
ycsb_thread_close(ycsb_thread *thread)
{
	mdb_cursor_close(thread->reader_cursor);
	mdb_txn_abort(thread->reader);
	free(thread);
}

void
ycsb_begin(ycsb_thread *thread, bool read_only)
{
	if (!read_only)
	{
		check(mdb_txn_begin(env, NULL, 0, &thread->txn));
		return;
	}
	check(mdb_txn_renew(thread->reader));
	thread->txn = thread->reader;
}

bool
ycsb_commit(ycsb_thread *thread)
{
	if (thread->txn == thread->reader)
		mdb_txn_reset(thread->reader);
	else
		check(mdb_txn_commit(thread->txn));
	return true;
}

bool
ycsb_read(ycsb_thread *thread, uint64_t key, unsigned char *value)
{
	unsigned char bytes[8];
	MDB_val name = {sizeof(bytes), bytes};
	MDB_val data;

	ycsb_key(key, bytes);
	check(mdb_get(thread->txn, dbi, &name, &data));
	memcpy(value, data.mv_data, YCSB_VALUE_BYTES);
	return true;
}

bool
ycsb_update(ycsb_thread *thread, uint64_t key, const unsigned char *value)
{
	unsigned char bytes[8];
	MDB_val name = {sizeof(bytes), bytes};
	MDB_val data = {YCSB_VALUE_BYTES, (void *) value};

	ycsb_key(key, bytes);
	check(mdb_put(thread->txn, dbi, &name, &data, 0));
	return true;
}

bool
ycsb_insert(ycsb_thread *thread, uint64_t key, const unsigned char *value)
{
	return ycsb_update(thread, key, value);
}

bool
ycsb_scan(ycsb_thread *thread, uint64_t key, unsigned count, unsigned char *values, unsigned *count_out)
{
	unsigned char bytes[8];
	MDB_val name = {sizeof(bytes), bytes};
	MDB_cursor *cursor = thread->reader_cursor;
	MDB_cursor_op step = MDB_SET_RANGE;
	unsigned done = 0;
	MDB_val data;

	ycsb_key(key, bytes);
	if (thread->txn == thread->reader)
		check(mdb_cursor_renew(thread->txn, cursor));
	else
		check(mdb_cursor_open(thread->txn, dbi, &cursor));
	while (done < count && mdb_cursor_get(cursor, &name, &data, step) == 0)
	{
		memcpy(values + (size_t) done++ * YCSB_VALUE_BYTES, data.mv_data, YCSB_VALUE_BYTES);
		step = MDB_NEXT;
	}
	if (cursor != thread->reader_cursor)
		mdb_cursor_close(cursor);
	*count_out = done;
	return true;
}

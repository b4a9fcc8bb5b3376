/*
 * ycsb_rocksdb.c
 *	  ycsb.h by RocksDB's optimistic transactions, without write-ahead log.
 *	  Reads of a transaction that writes are validated at its commit, as at
 *	  SERIALIZABLE (GetForUpdate); scans are not, RocksDB cannot.
 */
#include <rocksdb/c.h>

#include "test/bench/ycsb.h"

static rocksdb_optimistictransactiondb_t *db;
static rocksdb_t *base;

struct ycsb_thread
{
	rocksdb_writeoptions_t *write_options;
	rocksdb_optimistictransaction_options_t *options;
	rocksdb_readoptions_t *read_options;
	rocksdb_transaction_t *txn; /* kept for the next one */
	const rocksdb_snapshot_t *snapshot;
	bool read_only;
};

static void
check(char *error)
{
	if (error != NULL)
		ycsb_fail("rocksdb", error);
}

void
ycsb_open(const char *directory, unsigned threads)
{
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
	char *error = NULL;

	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_compression(options, rocksdb_no_compression);
	rocksdb_block_based_options_set_block_cache(table, rocksdb_cache_create_lru((size_t) 2 << 30));
	rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
	rocksdb_options_set_block_based_table_factory(options, table);
	db = rocksdb_optimistictransactiondb_open(options, directory, &error);
	check(error);
	base = rocksdb_optimistictransactiondb_get_base_db(db);
}

void
ycsb_close(void)
{
	rocksdb_optimistictransactiondb_close_base_db(base);
	rocksdb_optimistictransactiondb_close(db);
}

ycsb_thread *
ycsb_thread_open(void)
{
	ycsb_thread *thread = calloc(1, sizeof(*thread));

	thread->write_options = rocksdb_writeoptions_create();
	rocksdb_writeoptions_disable_WAL(thread->write_options, 1);
	thread->options = rocksdb_optimistictransaction_options_create();
	rocksdb_optimistictransaction_options_set_set_snapshot(thread->options, 1);
	thread->read_options = rocksdb_readoptions_create();
	return thread;
}

void
ycsb_thread_close(ycsb_thread *thread)
{
	if (thread->txn != NULL)
		rocksdb_transaction_destroy(thread->txn);
	rocksdb_readoptions_destroy(thread->read_options);
	rocksdb_optimistictransaction_options_destroy(thread->options);
	rocksdb_writeoptions_destroy(thread->write_options);
	free(thread);
}

void
ycsb_begin(ycsb_thread *thread, bool read_only)
{
	thread->read_only = read_only;
	if (read_only)
		thread->snapshot = rocksdb_create_snapshot(base);
	else
	{
		thread->txn = rocksdb_optimistictransaction_begin(db, thread->write_options, thread->options, thread->txn);
		thread->snapshot = rocksdb_transaction_get_snapshot(thread->txn);
	}
	rocksdb_readoptions_set_snapshot(thread->read_options, thread->snapshot);
}

bool
ycsb_commit(ycsb_thread *thread)
{
	char *error = NULL;

	rocksdb_readoptions_set_snapshot(thread->read_options, NULL);
	if (thread->read_only)
	{
		rocksdb_release_snapshot(base, thread->snapshot);
		return true;
	}
	rocksdb_free((void *) thread->snapshot);
	rocksdb_transaction_commit(thread->txn, &error);
	if (error == NULL)
		return true;
	/* "Resource busy": another transaction has written a key that was read or written */
	if (strstr(error, "busy") == NULL && strstr(error, "again") == NULL)
		check(error);
	rocksdb_free(error);
	error = NULL;
	rocksdb_transaction_rollback(thread->txn, &error);
	check(error);
	return false;
}

bool
ycsb_read(ycsb_thread *thread, uint64_t key, unsigned char *value)
{
	unsigned char bytes[8];
	char *error = NULL;
	char *found;
	size_t length;

	ycsb_key(key, bytes);
	found = thread->read_only ? rocksdb_get(base, thread->read_options, (char *) bytes, 8, &length, &error)
							  : rocksdb_transaction_get_for_update(thread->txn, thread->read_options, (char *) bytes, 8,
																   &length, 0, &error);
	check(error);
	memcpy(value, found, YCSB_VALUE_BYTES);
	rocksdb_free(found);
	return true;
}

bool
ycsb_update(ycsb_thread *thread, uint64_t key, const unsigned char *value)
{
	unsigned char bytes[8];
	char *error = NULL;

	ycsb_key(key, bytes);
	rocksdb_transaction_put(thread->txn, (char *) bytes, 8, (const char *) value, YCSB_VALUE_BYTES, &error);
	check(error);
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
	rocksdb_iterator_t *iterator = thread->read_only
									   ? rocksdb_create_iterator(base, thread->read_options)
									   : rocksdb_transaction_create_iterator(thread->txn, thread->read_options);
	unsigned char bytes[8];
	unsigned done = 0;

	ycsb_key(key, bytes);
	for (rocksdb_iter_seek(iterator, (char *) bytes, 8); done < count && rocksdb_iter_valid(iterator);
		 rocksdb_iter_next(iterator))
	{
		size_t length;

		memcpy(values + (size_t) done++ * YCSB_VALUE_BYTES, rocksdb_iter_value(iterator, &length), YCSB_VALUE_BYTES);
	}
	rocksdb_iter_destroy(iterator);
	*count_out = done;
	return true;
}

/*
 * ycsb_wiredtiger.c
 *	  ycsb.h by WiredTiger: in memory, without log, at snapshot isolation, the
 *	  strongest that it has.
 */
#include <wiredtiger.h>

#include "test/bench/ycsb.h"

static WT_CONNECTION *connection;

struct ycsb_thread
{
	WT_SESSION *session;
	WT_CURSOR *cursor;
};

static void
check(int result)
{
	if (result != 0)
		ycsb_fail("wiredtiger", wiredtiger_strerror(result));
}

void
ycsb_open(const char *directory, unsigned threads)
{
	WT_SESSION *session;

	check(wiredtiger_open(directory, NULL, "create,in_memory=true,cache_size=4GB", &connection));
	check(connection->open_session(connection, NULL, NULL, &session));
	check(session->create(session, "table:ycsb", "key_format=u,value_format=u"));
	check(session->close(session, NULL));
}

void
ycsb_close(void)
{
	check(connection->close(connection, NULL));
}

ycsb_thread *
ycsb_thread_open(void)
{
	ycsb_thread *thread = calloc(1, sizeof(*thread));

	check(connection->open_session(connection, NULL, "isolation=snapshot", &thread->session));
	check(thread->session->open_cursor(thread->session, "table:ycsb", NULL, "overwrite=true", &thread->cursor));
	return thread;
}

void
ycsb_thread_close(ycsb_thread *thread)
{
	check(thread->session->close(thread->session, NULL));
	free(thread);
}

void
ycsb_begin(ycsb_thread *thread, bool read_only)
{
	check(thread->session->begin_transaction(thread->session, NULL));
}

static bool
over(ycsb_thread *thread, int result)
{
	if (result != WT_ROLLBACK)
		check(result);
	if (result == 0)
		return false;
	check(thread->session->rollback_transaction(thread->session, NULL));
	return true;
}

bool
ycsb_commit(ycsb_thread *thread)
{
	int result = thread->session->commit_transaction(thread->session, NULL);

	if (result != WT_ROLLBACK)
		check(result);
	return result == 0;
}

static void
set_key(ycsb_thread *thread, uint64_t key, unsigned char *bytes)
{
	WT_ITEM item = {.data = bytes, .size = 8};

	ycsb_key(key, bytes);
	thread->cursor->set_key(thread->cursor, &item);
}

static void
get_value(ycsb_thread *thread, unsigned char *value)
{
	WT_ITEM item;

	check(thread->cursor->get_value(thread->cursor, &item));
	memcpy(value, item.data, YCSB_VALUE_BYTES);
}

bool
ycsb_read(ycsb_thread *thread, uint64_t key, unsigned char *value)
{
	unsigned char bytes[8];

	set_key(thread, key, bytes);
	if (over(thread, thread->cursor->search(thread->cursor)))
		return false;
	get_value(thread, value);
	return true;
}

bool
ycsb_update(ycsb_thread *thread, uint64_t key, const unsigned char *value)
{
	WT_ITEM item = {.data = value, .size = YCSB_VALUE_BYTES};
	unsigned char bytes[8];

	set_key(thread, key, bytes);
	thread->cursor->set_value(thread->cursor, &item);
	return !over(thread, thread->cursor->insert(thread->cursor));
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
	unsigned done = 0;
	int exact;
	int result;

	set_key(thread, key, bytes);
	result = thread->cursor->search_near(thread->cursor, &exact);
	if (result == 0 && exact < 0)
		result = thread->cursor->next(thread->cursor);
	while (result == 0)
	{
		get_value(thread, values + (size_t) done++ * YCSB_VALUE_BYTES);
		if (done == count)
			break;
		result = thread->cursor->next(thread->cursor);
	}
	*count_out = done;
	if (result != 0 && result != WT_NOTFOUND && over(thread, result))
		return false;
	check(thread->cursor->reset(thread->cursor));
	return true;
}

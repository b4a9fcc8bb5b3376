/*
 * btree_bench.c
 *	  Nanoseconds per operation of the B+tree, by one and by several threads.
 *
 *	btree_bench [keys [threads]]		default: 1000000 keys, 2 threads
 *
 * Keys are 8-byte integers.  Finds are of random keys that are there, each
 * independent of the one before; "chained" finds begin when the last one has
 * ended, as in a lookup by a value just read.  Times are the thread's own
 * processor time, so that a busy machine disturbs less (its caches still do).
 * Built from this file, runtime/btree, runtime/order, runtime/mem and runtime/base.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/mem/arena.h"
#include "runtime/mem/book.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"

#define THREADS_MAX 64
#define BATCH 1024

typedef struct job
{
	tg_btree *tree;
	unsigned number;
	unsigned threads;
	unsigned keys;
	void (*body)(struct job *job, tg_session *session);
	pthread_barrier_t *start;
	double seconds;
} job;

static tg_book book = {.granted = TG_QUOTA_NONE};

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* A key as the index stores a bigint: big-endian, sign bit turned. */
static uint64_t
encode(uint64_t value)
{
	return __builtin_bswap64(value ^ UINT64_C(0x8000000000000000));
}

static void
insert_value(job *job, tg_session *session, uint64_t value, uint32_t row)
{
	uint64_t key = encode(value);

	tg_epoch_enter(session);
	if (tg_btree_insert(session, job->tree, &key, 8, &row, TG_DATA) != TG_OK)
		abort();
	tg_epoch_leave(session);
}

static void
insert_ascending(job *job, tg_session *session)
{
	for (unsigned i = job->number; i < job->keys; i += job->threads)
		insert_value(job, session, i, i);
}

static void
insert_random(job *job, tg_session *session)
{
	for (unsigned i = job->number; i < job->keys; i += job->threads)
		insert_value(job, session, mix(i), i);
}

static uint32_t
find_value(job *job, tg_session *session, uint64_t value)
{
	uint64_t key = encode(value);
	uint32_t row;

	tg_epoch_enter(session);
	if (tg_btree_find(job->tree, &key, 8, &row) != TG_OK)
		abort();
	tg_epoch_leave(session);
	return row;
}

static void
find_dense(job *job, tg_session *session)
{
	for (unsigned i = job->number; i < job->keys; i += job->threads)
		(void) find_value(job, session, mix(i + 1) % job->keys);
}

static void
find_chained(job *job, tg_session *session)
{
	uint32_t row = job->number;

	for (unsigned i = job->number; i < job->keys; i += job->threads)
		row = find_value(job, session, mix(row + i) % job->keys);
}

static void
find_sparse(job *job, tg_session *session)
{
	for (unsigned i = job->number; i < job->keys; i += job->threads)
		(void) find_value(job, session, mix(mix(i) % job->keys));
}

static void
remove_sparse(job *job, tg_session *session)
{
	for (unsigned i = job->number; i < job->keys; i += job->threads)
	{
		uint64_t key = encode(mix(i));

		tg_epoch_enter(session);
		if (tg_btree_remove(session, job->tree, &key, 8, i) != TG_OK)
			abort();
		tg_epoch_leave(session);
	}
}

static void
scan_batches(job *job, tg_session *session, bool backward)
{
	tg_btree_cursor cursor;
	uint32_t rows[BATCH];
	uint64_t total = 0;
	unsigned got;

	tg_btree_cursor_init(&cursor, job->tree, NULL, 0, true, NULL, 0, true, backward);
	do
	{
		tg_epoch_enter(session);
		got = tg_btree_cursor_next(&cursor, rows, BATCH);
		tg_epoch_leave(session);
		total += got;
	} while (got > 0);
	if (total != job->keys)
		abort();
}

static void
scan_forward(job *job, tg_session *session)
{
	scan_batches(job, session, false);
}

static void
scan_backward(job *job, tg_session *session)
{
	scan_batches(job, session, true);
}

static void *
run_job(void *argument)
{
	job *job = argument;
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
		abort();
	pthread_barrier_wait(job->start);
	job->seconds = -now();
	job->body(job, session);
	job->seconds += now();
	tg_session_close(session);
	return NULL;
}

/* Prints nanoseconds of one thread per operation of that thread. */
static void
measure(const char *name, tg_btree *tree, unsigned keys, unsigned threads, void (*body)(job *, tg_session *),
		double operations)
{
	job jobs[THREADS_MAX];
	pthread_t ids[THREADS_MAX];
	pthread_barrier_t start;
	double seconds = 0;

	pthread_barrier_init(&start, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
	{
		jobs[i] = (job){tree, i, threads, keys, body, &start, 0};
		if (pthread_create(&ids[i], NULL, run_job, &jobs[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < threads; i++)
	{
		pthread_join(ids[i], NULL);
		seconds += jobs[i].seconds / threads;
	}
	pthread_barrier_destroy(&start);
	printf("%-18s %2u threads  %8.1f ns\n", name, threads, 1e9 * seconds / operations);
}

static tg_btree *
make_tree(tg_session *session)
{
	tg_btree *tree;

	if (tg_btree_create(session, &book, TG_DATA, &tree) != TG_OK)
		abort();
	return tree;
}

static void
measure_all(tg_session *session, unsigned keys, unsigned threads)
{
	double share = (double) keys / threads;
	tg_btree_report report;
	tg_btree *tree = make_tree(session);

	measure("insert ascending", tree, keys, threads, insert_ascending, share);
	measure("find dense", tree, keys, threads, find_dense, share);
	measure("find chained", tree, keys, threads, find_chained, share);
	measure("scan forward", tree, keys, threads, scan_forward, keys);
	measure("scan backward", tree, keys, threads, scan_backward, keys);
	tg_btree_report_get(tree, &report);
	printf("%.2f bytes an entry, height %u\n", (double) report.bytes / (double) report.entries, report.height);
	tg_btree_destroy(session, tree);

	tree = make_tree(session);
	measure("insert random", tree, keys, threads, insert_random, share);
	measure("find sparse", tree, keys, threads, find_sparse, share);
	tg_btree_report_get(tree, &report);
	printf("%.2f bytes an entry, height %u\n", (double) report.bytes / (double) report.entries, report.height);
	measure("remove random", tree, keys, threads, remove_sparse, share);
	tg_btree_destroy(session, tree);
}

int
main(int argc, char **argv)
{
	unsigned keys = argc > 1 ? (unsigned) atoi(argv[1]) : 1000000;
	unsigned threads = argc > 2 ? (unsigned) atoi(argv[2]) : 2;
	tg_arena_config config = {
		.reserve_bytes = (size_t) 8 << 30, .limit_bytes = (size_t) 4 << 30, .session_max = THREADS_MAX + 1};
	tg_session *session;

	if (threads < 1 || threads > THREADS_MAX || tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		return 1;
	tg_epoch_enter(session);
	measure_all(session, keys, 1);
	if (threads > 1)
		measure_all(session, keys, threads);
	tg_epoch_leave(session);
	tg_session_close(session);
	tg_arena_destroy();
	return 0;
}

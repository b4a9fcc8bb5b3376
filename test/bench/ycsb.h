/*
 * ycsb.h
 *	  What ycsb.c wants of a store: one file ycsb_NAME.c each.
 *
 * Keys are 8 bytes, big-endian; values YCSB_VALUE_BYTES.  A transaction that is
 * declared to be read-only gets reads and scans only.
 */
#ifndef YCSB_H
#define YCSB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YCSB_VALUE_BYTES 100
#define YCSB_SCAN_MAX 100

typedef struct ycsb_thread ycsb_thread; /* the store's own */

/* The store, empty, in memory; directory is on tmpfs and empty, for stores that want one. */
extern void ycsb_open(const char *directory, unsigned threads);
extern void ycsb_close(void);

/* By each thread that uses it, the loading one included. */
extern ycsb_thread *ycsb_thread_open(void);
extern void ycsb_thread_close(ycsb_thread *thread);

/*
 * False from an operation or the commit: a conflict.  The transaction is over
 * then, and is tried again from its beginning.
 */
extern void ycsb_begin(ycsb_thread *thread, bool read_only);
extern bool ycsb_commit(ycsb_thread *thread);

/* Copies the value; the key is there. */
extern bool ycsb_read(ycsb_thread *thread, uint64_t key, unsigned char *value);
extern bool ycsb_update(ycsb_thread *thread, uint64_t key, const unsigned char *value);
extern bool ycsb_insert(ycsb_thread *thread, uint64_t key, const unsigned char *value);
/*
 * From the first key at or above this one: copies up to count values one behind another;
 * *count_out.
 */
extern bool ycsb_scan(ycsb_thread *thread, uint64_t key, unsigned count, unsigned char *values, unsigned *count_out);

static inline void
ycsb_key(uint64_t key, unsigned char bytes[8])
{
	key = __builtin_bswap64(key);
	memcpy(bytes, &key, sizeof(key));
}

static inline void
ycsb_fail(const char *what, const char *why)
{
	fprintf(stderr, "ycsb: %s: %s\n", what, why);
	exit(1);
}

#endif /* YCSB_H */

/*
 * btree.h
 *	  B+tree from byte-string keys (memcmp order) to row ids.
 *
 * Optimistic lock coupling: readers take no lock and check node versions; writers lock the one or
 * two nodes that they change (Leis, Haubenschild, Neumann: Optimistic Lock Coupling, 2019).  Leaves
 * carry fence keys, so scans need no sibling pointers: they continue at the fence, in either
 * direction.
 *
 * Every function is called inside an epoch (session.h), by any number of sessions at once.
 */
#ifndef TG_BTREE_H
#define TG_BTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/order/key_spec.h"

typedef struct tg_book tg_book;	  /* quota.h */
typedef struct tg_btree tg_btree; /* opaque */

/* An empty tree whose nodes are counted in this book.  TG_NO_MEMORY, TG_OVER_QUOTA. */
extern tg_status tg_btree_create(tg_session *session, tg_book *book, tg_claim claim, tg_btree **tree_out) TG_MUST_USE;

/* Frees tree and nodes at once.  No session may use it any more. */
extern void tg_btree_destroy(tg_session *session, tg_btree *tree);

/* Finds the row of a key.  TG_OK or TG_NOT_FOUND. */
extern tg_status tg_btree_find(tg_btree *tree, const void *key, size_t key_bytes, uint32_t *row_out) TG_MUST_USE;

/* Prefetches the leaf that the key belongs to, for a later find. */
extern void tg_btree_expect(const tg_btree *tree, const void *key, size_t key_bytes);

/*
 * Finds or inserts, atomically: at this step two inserters of a key meet.  TG_OK: inserted.
 * TG_EXISTS: there is an entry already, *row_inout gets its row.  TG_NO_MEMORY, TG_OVER_QUOTA (the
 * claim is a parameter because a rollback may need an entry back), TG_TOO_LARGE.
 */
extern tg_status tg_btree_insert(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes,
								 uint32_t *row_inout, tg_claim claim) TG_MUST_USE;

/* One of several keys that are inserted together. */
typedef struct tg_btree_entry
{
	const unsigned char *key;
	uint32_t key_bytes; /* at most TG_KEY_BYTES_MAX */
	uint32_t row;		/* that the key is to lead to, or leads to, if it is there: */
	uint32_t tag;		/* the caller's */
	bool found;			/* out */
} tg_btree_entry;

/*
 * Finds or inserts each of these keys, as tg_btree_insert, one after the other in ascending order.
 * Equal ones follow each other: the first is inserted, and found by the others.  Keys that belong
 * to one leaf cost one descent together.  TG_OK, or as tg_btree_insert: then *done_out of them are
 * done.
 */
extern tg_status tg_btree_insert_run(tg_session *session, tg_btree *tree, tg_btree_entry *entries, unsigned count,
									 tg_claim claim, unsigned *done_out) TG_MUST_USE;

/* Removes the entry if it still leads to this row.  TG_OK or TG_NOT_FOUND. */
extern tg_status tg_btree_remove(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t row);

/*
 * Likewise, if moreover may_go permits it.  may_go is called once, with the leaf locked, after a
 * full fence: so it sees what another session did before a fence of its own, if that session then
 * looks for the entry and finds it.  TG_OK; TG_NOT_FOUND; TG_EXISTS: may_go refused.
 */
typedef bool (*tg_btree_may_go)(const void *argument);
extern tg_status tg_btree_remove_if(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes,
									uint32_t row, tg_btree_may_go may_go, const void *argument);

/*
 * A filter of the keys between a cursor's bounds.  For a rejected key it gives the place where the
 * next wanted one may be; the cursor continues there, by a descent, and does not return the keys
 * before it.  The caller keeps the sieve as long as the cursor.
 */
typedef struct tg_btree_sieve
{
	/*
	 * For a byte string, which need not be a key: 0 if it may be wanted.  Otherwise the length of a
	 * greater one, written to next (TG_KEY_BYTES_MAX bytes), such that no key from this one on and
	 * below that one is wanted.  Inside an epoch: it takes no lock and does not fail.
	 */
	size_t (*next)(const struct tg_btree_sieve *sieve, const unsigned char *key, size_t key_bytes, unsigned char *next);
} tg_btree_sieve;

/*
 * A position in a range scan.  Bounds are byte strings of the caller that live as long as the
 * cursor; NULL is unbounded.
 *
 *	low:  key >= low (low_inclusive) or key > low and not starting with low (!low_inclusive)
 *	high: key < high (!high_inclusive) or key <= high or starting with high (high_inclusive)
 *
 * So bounds on the first columns of a key of several columns work as they are.
 */
typedef struct tg_btree_cursor
{
	tg_btree *tree;
	const tg_btree_sieve *sieve; /* NULL, or set by the caller after init: forward, and with keys */
	const void *low;
	const void *high;
	uint32_t low_bytes;
	uint32_t high_bytes;
	bool low_inclusive;
	bool high_inclusive;
	bool backward;
	bool started;
	bool done;
	bool at_fence;			 /* position is the end of a leaf, not a key that was returned */
	uint32_t position_bytes; /* length of position */

	/* the last key returned; only the first position_bytes are ever accessed */
	unsigned char position[TG_KEY_BYTES_MAX];
} tg_btree_cursor;

extern void tg_btree_cursor_init(tg_btree_cursor *cursor, tg_btree *tree, const void *low, size_t low_bytes,
								 bool low_inclusive, const void *high, size_t high_bytes, bool high_inclusive,
								 bool backward);

/*
 * Returns the next rows in order, at most count, and their number.  0 means the end (then done is
 * set), or that a sieve has rejected all keys for a while.  An entry that is inserted or removed
 * meanwhile may or may not be returned; one that is there all the time is returned exactly once.
 * The epoch may have been left between two calls.
 */
extern unsigned tg_btree_cursor_next(tg_btree_cursor *cursor, uint32_t *rows, unsigned count);

/*
 * A buffer for keys: for each key two bytes with its length, in the machine's order, then the key.
 */
typedef struct tg_btree_keys
{
	unsigned char *bytes;
	size_t capacity; /* at least TG_KEY_BYTES_MAX + 2 */
	size_t used;
} tg_btree_keys;

/*
 * Likewise, with the keys, in an empty buffer; the call also ends when the buffer has no place for
 * the next one.
 */
extern unsigned tg_btree_cursor_next_keys(tg_btree_cursor *cursor, uint32_t *rows, unsigned count, tg_btree_keys *keys);

/* Figures for views and the planner: counted by a walk, not exact under concurrent changes. */
typedef struct tg_btree_report
{
	uint64_t entries;
	uint64_t nodes;
	uint64_t bytes;
	unsigned height;
} tg_btree_report;

extern void tg_btree_report_get(tg_btree *tree, tg_btree_report *report);

/*
 * The estimated share (0 … 1) of the entries between two bounds, from the positions in the inner
 * nodes on the two paths; bounds as in the cursor.
 */
extern double tg_btree_share(tg_btree *tree, const void *low, size_t low_bytes, const void *high, size_t high_bytes);

#endif /* TG_BTREE_H */

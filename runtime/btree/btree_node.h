/*
 * btree_node.h
 *	  Layout, version lock and changes of one node of the B+tree.
 *
 * Serves btree*.c and their unit test.  Searching is in btree_search.h.
 *
 *	 0          112                       heap                      bytes
 *	 +----------+-----------------+~~~~~~~+-------------------------+
 *	 | tg_node  | slots, sorted   | free  | tails, prefix, fences   |
 *	 +----------+-----------------+~~~~~~~+-------------------------+
 *	              grow to the right         grow to the left, with dead bytes between
 *
 *	 leaf slot   12 bytes: head | offset, length | row
 *	 inner slot  16 bytes: head | offset, length | child for keys >= this key
 *	 inner node: node->first is the child for keys below the first slot
 *
 * A key in a node is prefix + head + tail.  The prefix is common to all entries of the node.  The
 * head is the next four bytes, big-endian and padded with zeros.  The tail is the rest; length
 * counts head and tail.  A key that ends within the head occupies no heap at all, so dense 8-byte
 * keys cost one slot.  Hints are 16 heads taken at equal distances: with them a search in the
 * header's two cache lines is narrowed to neighbouring slots.
 *
 * Invariants (tg_btree_check asserts them):
 *	N1. sizeof(tg_node) + count * stride <= heap <= bytes.
 *	N2. bytes - heap = fences + prefix + tails + dead.
 *	N3. keys grow strictly; every key starts with the prefix.
 *	N4. low fence <= key < high fence, an absent fence (offset 0) being infinite; in inner nodes the
 *		low fence < key.
 *	N5. above 2 * TG_NODE_HINTS entries, hints[i] is the head of slot
 *		(i + 1) * (count / (TG_NODE_HINTS + 1)).
 *	N6. bytes and level never change; all other fields change only under the node's lock.
 *	N7. a child's fences are the separators on both sides of it in its parent.
 *
 * The prefix is that of the content, not of the fences: the fence of a right-most leaf is infinite,
 * and that is the leaf that ascending keys fill.  When a key arrives that does not have it, the
 * node is rebuilt with a shorter one.
 *
 * Sizes.  Any three entries fit a large node between any two fences, whatever their prefix:
 * 112 + 2 * 2704 (fences) + 3 * (2704 + 16) is 13680 < 16384; the prefix is paid for by the bytes
 * that it saves.  Half of a large node's content always fits a large node with a new fence.  So
 * splitting terminates.
 */
#ifndef TG_BTREE_NODE_H
#define TG_BTREE_NODE_H

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/btree/btree.h"

#define TG_NODE_BYTES 4096
#define TG_NODE_BYTES_LARGE 16384
#define TG_NODE_HINTS 16
#define TG_NODE_HEAD_BYTES 4

/*
 * A node with so many entries left, or fewer, is merged with a neighbour if possible, at some
 * removals.
 */
#define TG_NODE_SPARSE 64
#define TG_NODE_SPARSE_STEP 16

/*
 * For a key whose leaf has lost entries: merges the leaf with a neighbour if the two fit into one
 * node, and then its parents likewise.  Inside an epoch.  May do nothing.
 */
extern void tg_btree_merge(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes);

/* A full small node with fewer entries is grown rather than split. */
#define TG_NODE_GROW_ENTRIES 8

/* Levels; with three entries per node at worst, far more than any memory holds. */
#define TG_BTREE_LEVELS_MAX 32

typedef struct tg_node
{
	uint64_t version; /* see below */
	uint16_t bytes;	  /* constant: TG_NODE_BYTES or TG_NODE_BYTES_LARGE */
	uint16_t level;	  /* constant: 0 = leaf */
	uint16_t count;	  /* slots */
	uint16_t heap;	  /* lowest byte in use of the heap */
	uint16_t dead;	  /* unused bytes within the heap */
	uint16_t prefix_bytes;
	uint16_t prefix_offset;
	uint16_t low_bytes;
	uint16_t low_offset; /* 0: no low fence */
	uint16_t high_bytes;
	uint16_t high_offset;		   /* 0: no high fence */
	uint64_t prefix_first;		   /* first eight bytes of the prefix, big-endian, zeros behind */
	struct tg_node *first;		   /* inner: the child below the first slot */
	uint32_t hints[TG_NODE_HINTS]; /* heads at equal distances */
} tg_node;

typedef struct tg_slot
{
	uint32_t head;
	uint16_t offset; /* of the tail, if length > TG_NODE_HEAD_BYTES */
	uint16_t length; /* of the key without the prefix */
} tg_slot;

typedef struct tg_leaf_slot
{
	tg_slot slot;
	uint32_t row;
} tg_leaf_slot;

typedef struct tg_inner_slot
{
	tg_slot slot;
	tg_node *child;
} tg_inner_slot;

_Static_assert(sizeof(tg_node) == 112, "header and hints are two cache lines, slots start aligned");
_Static_assert(sizeof(tg_leaf_slot) == 12 && sizeof(tg_inner_slot) == 16, "slots have no holes");

struct tg_btree
{
	tg_node *root; /* written by the holder of the lock of the node that it names; read by all */
	tg_book *book; /* constant: counts its nodes */
} TG_CACHE_ALIGNED;

/* A byte string that is not owned; bytes == NULL is an open fence. */
typedef struct tg_span
{
	const unsigned char *bytes;
	unsigned length;
} tg_span;

static inline unsigned
tg_node_stride(const tg_node *node)
{
	return node->level == 0 ? sizeof(tg_leaf_slot) : sizeof(tg_inner_slot);
}

static inline tg_slot *
tg_node_slot(const tg_node *node, unsigned stride, unsigned index)
{
	return (tg_slot *) ((char *) node + sizeof(tg_node) + index * stride);
}

static inline unsigned
tg_slot_tail(unsigned length)
{
	return length > TG_NODE_HEAD_BYTES ? length - TG_NODE_HEAD_BYTES : 0;
}

/* The address of the pointer to an inner node's child, 0 to count. */
static inline tg_node **
tg_node_child(const tg_node *node, unsigned index)
{
	if (index == 0)
		return (tg_node **) &node->first;
	return &((tg_inner_slot *) tg_node_slot(node, sizeof(tg_inner_slot), index - 1))->child;
}

/* --- the version lock ------------------------------------------------------
 *
 *	 63                                  2          1        0
 *	 +-----------------------------------+----------+--------+
 *	 | changes                           | obsolete | locked |
 *	 +-----------------------------------+----------+--------+
 *
 * A sequence lock (Boehm, Can seqlocks get along with programming language memory models?, 2012).
 * A reader loads the version with acquire, reads the node, and loads the version again after an
 * acquire fence; only if it is the same is the result of the reads valid.  A writer locks by
 * compare-and-swap from a version that it read under, so that its findings still hold, and executes
 * a release fence before its first store.
 *
 * Ordering.  The release store in unlock pairs with the acquire load in tg_node_version: a session
 * that sees the new version sees the change.  If a reader sees any store of a writer, then the
 * release fence (writer, after locking) and the acquire fence (reader, before the second load of
 * the version) order the locking before that load: it finds the locked or a later version, and the
 * read fails.
 *
 * The reads between are data races by design: the node may change meanwhile.  Values that are used
 * as an address or a bound (count, offsets, lengths) are loaded once, by a relaxed atomic load, and
 * checked against the node's constant size before use; keys, heads and rows are only compared or
 * copied, and discarded if the version has changed.  A pointer to a child is followed only after
 * the check.  Such functions are marked TG_OPTIMISTIC, which excludes them from ThreadSanitizer,
 * and call no memcmp or memcpy, which it would intercept.  The lock itself stays visible to it.
 *
 * Upgrading never waits: it fails, and the caller releases all its locks.  So there is no order of
 * locks to keep, and no deadlock.
 */
#define TG_NODE_LOCKED UINT64_C(1)
#define TG_NODE_OBSOLETE UINT64_C(2)
#define TG_NODE_CHANGE UINT64_C(4)

#define TG_NODE_SPINS_MAX 64 /* pauses before the processor is yielded */

#ifdef __clang__
#if __has_feature(thread_sanitizer)
/*
 * clang's no_sanitize leaves atomic loads to the sanitizer, which reports them against plain stores
 */
#define TG_OPTIMISTIC __attribute__((no_sanitize("thread"), disable_sanitizer_instrumentation))
#endif
#endif
#ifndef TG_OPTIMISTIC
#define TG_OPTIMISTIC __attribute__((no_sanitize("thread")))
#endif

/* The version of a node that is not locked: waits for the holder of the lock.  May be obsolete. */
static inline uint64_t
tg_node_version(const tg_node *node)
{
	for (unsigned spins = 0;; spins++)
	{
		uint64_t version = tg_load_acquire(&node->version);

		if (tg_likely((version & TG_NODE_LOCKED) == 0))
			return version;
		if (spins < TG_NODE_SPINS_MAX)
			tg_pause();
		else
		{
			(void) sched_yield();
			spins = 0;
		}
	}
}

/* Whether the reads since this version are valid. */
static inline bool
tg_node_unchanged(const tg_node *node, uint64_t version)
{
	tg_fence_acquire();
	return tg_load_relaxed(&node->version) == version;
}

/* Locks the node if it is still at this version, which was not obsolete. */
static inline bool TG_MUST_USE
tg_node_lock(tg_node *node, uint64_t version)
{
	tg_assert((version & (TG_NODE_LOCKED | TG_NODE_OBSOLETE)) == 0);
	if (!tg_cas_acq_rel(&node->version, &version, version | TG_NODE_LOCKED))
		return false;
	tg_fence_release();
	return true;
}

/* Unlocks a node that was changed. */
static inline void
tg_node_unlock(tg_node *node)
{
	uint64_t version = tg_load_relaxed(&node->version);

	tg_assert((version & TG_NODE_LOCKED) != 0);
	tg_store_release(&node->version, (version & ~TG_NODE_LOCKED) + TG_NODE_CHANGE);
}

/* Unlocks a node that was not changed: reads of it before the lock stay valid. */
static inline void
tg_node_unlock_unchanged(tg_node *node)
{
	uint64_t version = tg_load_relaxed(&node->version);

	tg_assert((version & TG_NODE_LOCKED) != 0);
	tg_store_release(&node->version, version & ~TG_NODE_LOCKED);
}

/* Unlocks a node to which no pointer leads any more. */
static inline void
tg_node_unlock_obsolete(tg_node *node)
{
	uint64_t version = tg_load_relaxed(&node->version);

	tg_assert((version & TG_NODE_LOCKED) != 0);
	tg_store_release(&node->version, ((version & ~TG_NODE_LOCKED) + TG_NODE_CHANGE) | TG_NODE_OBSOLETE);
}

/*
 * A new node is complete; its parent, or the root's pointer, leads to it next.  A reader that comes
 * that way has its contents by the release of that.  The store here is for ThreadSanitizer: the
 * reader's loads are excluded from it, so it sees only the lock that the reader takes of the node.
 */
static inline void
tg_node_publish(tg_node *node)
{
	tg_store_release(&node->version, TG_NODE_CHANGE);
}

/* --- changes: node locked, or not yet reachable ---------------------------- */

static inline tg_span
tg_node_low(const tg_node *node)
{
	return (tg_span){node->low_offset == 0 ? NULL : (const unsigned char *) node + node->low_offset, node->low_bytes};
}

static inline tg_span
tg_node_high(const tg_node *node)
{
	return (tg_span){node->high_offset == 0 ? NULL : (const unsigned char *) node + node->high_offset,
					 node->high_bytes};
}

static inline tg_span
tg_node_prefix(const tg_node *node)
{
	return (tg_span){(const unsigned char *) node + node->prefix_offset, node->prefix_bytes};
}

/* Initializes a new allocation as a node that is not linked anywhere; then tg_node_clear. */
extern void tg_node_init(tg_node *node, unsigned bytes, unsigned level);

/* A node's content, on the stack, from which new content is built in its place. */
typedef union tg_node_copy
{
	tg_node node;
	unsigned char bytes[TG_NODE_BYTES_LARGE];
} tg_node_copy;

/* Copies all but the version, which other sessions may try to lock meanwhile. */
extern void tg_node_copy_from(tg_node_copy *copy, const tg_node *node);

/*
 * Makes the node empty, with these fences and this prefix; none of them may be stored in the node.
 */
extern void tg_node_clear(tg_node *node, tg_span low, tg_span high, tg_span prefix);

/* Copies the key of an entry to a buffer of TG_KEY_BYTES_MAX; returns its length. */
extern unsigned tg_node_key(const tg_node *node, unsigned index, unsigned char *key_out);

/* Length of an entry's key. */
extern unsigned tg_node_key_bytes(const tg_node *node, unsigned index);

/* The length of the common beginning of the keys of two entries, or of an entry and another key. */
extern unsigned tg_node_common(const tg_node *node, unsigned left, unsigned right);
extern unsigned tg_node_common_with(const tg_node *node, unsigned index, tg_span key);

/* The length of the prefix common to the entries from .. to-1; 0 if there are none. */
extern unsigned tg_node_range_prefix(const tg_node *node, unsigned from, unsigned to);

/* Bytes of a node that holds the entries from .. to-1 with such a prefix and fences. */
extern unsigned tg_node_need(const tg_node *node, unsigned from, unsigned to, unsigned prefix_bytes, unsigned low_bytes,
							 unsigned high_bytes);

/* Fills target, which is not source, with source's entries from .. to-1 and their own prefix. */
extern void tg_node_fill(tg_node *target, const tg_node *source, unsigned from, unsigned to, tg_span low, tg_span high);

/* Whether there is room for a key. */
typedef enum tg_room
{
	TG_ROOM,		 /* without rebuilding */
	TG_ROOM_REBUILD, /* after rebuilding, with a shorter prefix or without the dead bytes */
	TG_ROOM_PREFIX,	 /* none, because the key lacks the prefix */
	TG_ROOM_NONE
} tg_room;

extern tg_room tg_node_room(const tg_node *node, tg_span key);

/*
 * Inserts before entry index; room is a result of tg_node_room that permits it.  value: row or
 * child.
 */
extern void tg_node_insert(tg_node *node, unsigned index, tg_span key, uintptr_t value, tg_room room);

/*
 * Appends behind all other entries, where there is room without rebuilding.  Does not update the
 * hints: for a node that is only copied from.
 */
extern void tg_node_append(tg_node *node, tg_span key, uintptr_t value);

extern void tg_node_remove(tg_node *node, unsigned index);

/* --- the tree as a whole ---------------------------------------------------- */

/* A new node, counted in a book.  TG_NO_MEMORY, TG_OVER_QUOTA. */
extern tg_status tg_node_create(tg_session *session, tg_book *book, unsigned bytes, unsigned level, tg_claim claim,
								tg_node **node_out) TG_MUST_USE;

/* Frees a node that no session is in; or, for retire, once no session is in it any more. */
extern void tg_node_destroy(tg_session *session, tg_book *book, tg_node *node);
extern void tg_node_retire(tg_session *session, const tg_btree *tree, tg_node *node);

/* Frees a node and all below it; no session is in them. */
extern void tg_btree_free_subtree(tg_session *session, tg_book *book, tg_node *node);

/* Asserts the invariants of all nodes, in every build.  No session changes the tree meanwhile. */
extern void tg_btree_check(const tg_btree *tree);

#endif /* TG_BTREE_NODE_H */

/*
 * btree_search.h
 *	  Searching a node, with or without its lock.
 *
 * All functions may read a node while it changes (btree_node.h, "the version lock").  Their result
 * is then arbitrary, but they touch no memory outside the node.  They are inline because they are
 * the engine's point look-up.
 *
 * A search compares the prefix, narrows by the hints, halves the remaining
 * slots by their heads without a branch, and compares the tail of one entry.
 */
#ifndef TG_BTREE_SEARCH_H
#define TG_BTREE_SEARCH_H

#include "runtime/base/failpoint.h"
#include "runtime/btree/btree_node.h"

#define TG_SEARCH static inline TG_OPTIMISTIC __attribute__((always_inline, unused))

/*
 * Loads from any address, of memory that may change; without memcpy, which ThreadSanitizer
 * intercepts.
 */
typedef uint64_t __attribute__((aligned(1), may_alias)) tg_unaligned_64;
typedef uint32_t __attribute__((aligned(1), may_alias)) tg_unaligned_32;
typedef uint16_t __attribute__((aligned(1), may_alias)) tg_unaligned_16;

TG_SEARCH uint64_t
tg_big_endian_64(const unsigned char *bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(*(const tg_unaligned_64 *) bytes);
#else
	return *(const tg_unaligned_64 *) bytes;
#endif
}

TG_SEARCH uint32_t
tg_big_endian_32(const unsigned char *bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(*(const tg_unaligned_32 *) bytes);
#else
	return *(const tg_unaligned_32 *) bytes;
#endif
}

/* A key to search for. */
typedef struct tg_search_key
{
	const unsigned char *bytes;
	unsigned length;
	uint64_t first; /* its first eight bytes, big-endian, zeros behind */
} tg_search_key;

TG_SEARCH tg_search_key
tg_search_key_make(const void *bytes, size_t length)
{
	tg_search_key key = {bytes, (unsigned) length, 0};

	if (length >= 8)
		key.first = tg_big_endian_64(key.bytes);
	else if (length >= 4) /* two loads that overlap */
		key.first = (uint64_t) tg_big_endian_32(key.bytes) << 32 | (uint64_t) tg_big_endian_32(key.bytes + length - 4)
																	   << (64 - 8 * length);
	else
	{
		for (unsigned i = 0; i < length; i++)
			key.first |= (uint64_t) key.bytes[i] << (56 - 8 * i);
	}
	return key;
}

/* Like memcmp: negative, zero, positive. */
TG_SEARCH int
tg_bytes_compare(const unsigned char *left, const unsigned char *right, unsigned length)
{
	unsigned i = 0;

	for (; i + 8 <= length; i += 8)
	{
		uint64_t a = tg_big_endian_64(left + i);
		uint64_t b = tg_big_endian_64(right + i);

		if (a != b)
			return a < b ? -1 : 1;
	}
	for (; i < length; i++)
	{
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	}
	return 0;
}

/* The number of entries, never more than the node has room for. */
TG_SEARCH unsigned
tg_search_count(const tg_node *node, unsigned stride)
{
	unsigned count = tg_load_relaxed(&node->count);

	return tg_likely(sizeof(tg_node) + count * stride <= node->bytes) ? count : 0;
}

/*
 * Does the key sort before (< 0) or after (> 0) everything that starts with the prefix, or start
 * with it (0)?
 */
TG_SEARCH int
tg_search_prefix(const tg_node *node, const tg_search_key *key, unsigned prefix_bytes)
{
	unsigned common;
	unsigned offset;
	int order;

	if (tg_likely(prefix_bytes <= 8 && key->length >= prefix_bytes))
	{
		uint64_t prefix = tg_load_relaxed(&node->prefix_first);
		unsigned shift = 64 - 8 * prefix_bytes;

		if (prefix_bytes == 0 || (key->first ^ prefix) >> shift == 0)
			return 0;
		return key->first < prefix ? -1 : 1;
	}
	common = key->length < prefix_bytes ? key->length : prefix_bytes;
	offset = tg_load_relaxed(&node->prefix_offset);
	if (tg_unlikely(offset + common > node->bytes))
		return -1; /* not 0: the key must not seem longer than it is */
	order = tg_bytes_compare(key->bytes, (const unsigned char *) node + offset, common);
	if (order == 0 && key->length < prefix_bytes)
		return -1;
	return order;
}

/* The head of the bytes that follow a prefix of the key. */
TG_SEARCH uint32_t
tg_search_head(const tg_search_key *key, unsigned prefix_bytes)
{
	uint32_t head = 0;

	if (key->length <= 8)
		return prefix_bytes < 8 ? (uint32_t) (key->first << (8 * prefix_bytes) >> 32) : 0;
	if (tg_likely(key->length - prefix_bytes >= TG_NODE_HEAD_BYTES))
		return tg_big_endian_32(key->bytes + prefix_bytes);
	for (unsigned i = prefix_bytes; i < key->length; i++)
		head |= (uint32_t) key->bytes[i] << (24 - 8 * (i - prefix_bytes));
	return head;
}

/* Orders an entry against a key that has the node's prefix and the entry's head. */
TG_SEARCH int
tg_search_tail(const tg_node *node, const tg_slot *slot, const tg_search_key *key, unsigned prefix_bytes)
{
	unsigned entry_length = tg_load_relaxed(&slot->length);
	unsigned key_length = key->length - prefix_bytes;
	unsigned common = tg_slot_tail(entry_length < key_length ? entry_length : key_length);

	if (common > 0)
	{
		unsigned offset = tg_load_relaxed(&slot->offset);
		int order;

		if (tg_unlikely(offset + common > node->bytes))
			return 0;
		order = tg_bytes_compare((const unsigned char *) node + offset, key->bytes + prefix_bytes + TG_NODE_HEAD_BYTES,
								 common);
		if (order != 0)
			return order;
	}
	return entry_length < key_length ? -1 : entry_length > key_length;
}

/*
 * The number of hints below the head.  All are compared at once, because compilers do not make this
 * of a loop at -O2.
 */
typedef uint32_t __attribute__((vector_size(16), may_alias)) tg_hint_vector;

TG_SEARCH unsigned
tg_search_hints(const tg_node *node, uint32_t head)
{
	const tg_hint_vector *hints = (const tg_hint_vector *) node->hints;
	tg_hint_vector heads = {head, head, head, head};
	tg_hint_vector below; /* true is -1 */

	_Static_assert(TG_NODE_HINTS == 16, "four vectors");
	below = (tg_hint_vector) (hints[0] < heads) + (tg_hint_vector) (hints[1] < heads) +
			(tg_hint_vector) (hints[2] < heads) + (tg_hint_vector) (hints[3] < heads);
	return -(below[0] + below[1] + below[2] + below[3]);
}

/* The first of count entries whose head is not below this one. */
TG_SEARCH unsigned
tg_search_heads(const tg_node *node, unsigned stride, unsigned count, uint32_t head)
{
	unsigned low = 0;
	unsigned width = count;

	if (count > 2 * TG_NODE_HINTS)
	{
		unsigned step = count / (TG_NODE_HINTS + 1);
		unsigned below = tg_search_hints(node, head);

		low = below * step + (below > 0);
		width = (below < TG_NODE_HINTS ? (below + 1) * step : count) - low;
		/*
		 * the steps below depend on each other, the cache misses need not; a small node's range is
		 * four lines
		 */
		__builtin_prefetch((const char *) tg_node_slot(node, stride, low));
		__builtin_prefetch((const char *) tg_node_slot(node, stride, low) + TG_CACHE_LINE);
		__builtin_prefetch((const char *) tg_node_slot(node, stride, low) + 2 * TG_CACHE_LINE);
		__builtin_prefetch((const char *) tg_node_slot(node, stride, low) + 3 * TG_CACHE_LINE);
	}
	while (width > 1)
	{
		unsigned half = width / 2;

		low += tg_load_relaxed(&tg_node_slot(node, stride, low + half - 1)->head) < head ? half : 0;
		width -= half;
	}
	if (width == 1)
		low += tg_load_relaxed(&tg_node_slot(node, stride, low)->head) < head;
	return low;
}

/* The first entry from low on that is not below the key; found: it equals the key. */
TG_SEARCH unsigned
tg_search_equal_heads(const tg_node *node, unsigned stride, unsigned low, unsigned count, uint32_t head,
					  const tg_search_key *key, unsigned prefix_bytes, bool *found_out)
{
	unsigned high = count;

	*found_out = false;
	while (low < high)
	{
		unsigned middle = low + (high - low) / 2;
		const tg_slot *slot = tg_node_slot(node, stride, middle);
		uint32_t other = tg_load_relaxed(&slot->head);
		int order = other < head ? -1 : other > head;

		if (order == 0)
			order = tg_search_tail(node, slot, key, prefix_bytes);
		if (order == 0)
		{
			*found_out = true;
			return middle;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The number of entries below the key; found: the next one equals the key. */
TG_SEARCH unsigned
tg_search_node(const tg_node *node, unsigned stride, const tg_search_key *key, bool *found_out)
{
	unsigned count = tg_search_count(node, stride);
	unsigned prefix_bytes = tg_load_relaxed(&node->prefix_bytes);
	int order = tg_search_prefix(node, key, prefix_bytes);
	uint32_t head;
	unsigned index;

	*found_out = false;
	if (tg_unlikely(order != 0))
		return order < 0 ? 0 : count;
	head = tg_search_head(key, prefix_bytes);
	index = tg_search_heads(node, stride, count, head);
	if (index < count && tg_load_relaxed(&tg_node_slot(node, stride, index)->head) == head)
	{
		order = tg_search_tail(node, tg_node_slot(node, stride, index), key, prefix_bytes);
		*found_out = order == 0;
		if (order >= 0)
			return index;
		index++;
		if (index < count && tg_load_relaxed(&tg_node_slot(node, stride, index)->head) == head)
			return tg_search_equal_heads(node, stride, index, count, head, key, prefix_bytes, found_out);
	}
	return index;
}

/* Index of the child that the key belongs to. */
TG_SEARCH unsigned
tg_search_child(const tg_node *node, const tg_search_key *key)
{
	bool found;
	unsigned index = tg_search_node(node, sizeof(tg_inner_slot), key, &found);

	return index + found;
}

/* Does the key sort behind all entries? There is at least one.  This is quicker than the search. */
TG_SEARCH bool
tg_search_is_behind(const tg_node *node, unsigned stride, const tg_search_key *key, unsigned *count_out)
{
	unsigned count = tg_search_count(node, stride);
	unsigned prefix_bytes = tg_load_relaxed(&node->prefix_bytes);

	*count_out = count;
	return count > 0 && tg_search_prefix(node, key, prefix_bytes) == 0 &&
		   tg_load_relaxed(&tg_node_slot(node, stride, count - 1)->head) < tg_search_head(key, prefix_bytes);
}

TG_SEARCH uint32_t
tg_search_row(const tg_node *node, unsigned index)
{
	return tg_load_relaxed(&((const tg_leaf_slot *) tg_node_slot(node, sizeof(tg_leaf_slot), index))->row);
}

/*
 * The steps of every descent.  Enter: the root and its version.  Step: from a node to its child of
 * this index.  False: a node changed, start again.
 *
 * The second look at the parent's version comes after the child's version is known: a split of the
 * child between them would have changed the parent.  The root has no parent; there, the pointer to
 * it takes that part.  The obsolete bit tells the same earlier, and also to threads that hold a
 * node longer.
 */
TG_SEARCH bool
tg_descent_enter(const tg_btree *tree, tg_node **node_out, uint64_t *version_out)
{
	tg_node *node = tg_load_acquire(&tree->root);
	uint64_t version;

	tg_failpoint("btree_step");
	version = tg_node_version(node);
	*node_out = node;
	*version_out = version;
	if ((version & TG_NODE_OBSOLETE) != 0 || tg_load_acquire(&tree->root) != node)
		return false;
	tg_failpoint("btree_node");
	return true;
}

TG_SEARCH bool
tg_descent_step(tg_node **node_inout, uint64_t *version_inout, unsigned index)
{
	tg_node *node = *node_inout;
	tg_node *child = tg_load_relaxed(tg_node_child(node, index));
	uint64_t version;

	__builtin_prefetch(child);
	__builtin_prefetch((const char *) child + TG_CACHE_LINE);
	if (tg_unlikely(!tg_node_unchanged(node, *version_inout)))
		return false;
	tg_failpoint("btree_step");
	version = tg_node_version(child);
	if (tg_unlikely((version & TG_NODE_OBSOLETE) != 0 || !tg_node_unchanged(node, *version_inout)))
		return false;
	tg_failpoint("btree_node");
	*node_inout = child;
	*version_inout = version;
	return true;
}

#endif /* TG_BTREE_SEARCH_H */

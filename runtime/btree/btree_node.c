/*
 * btree_node.c
 *	  Changes of one B+tree node.
 *
 * Everything here runs under the node's lock, or on a node that no other thread can reach yet, so
 * it reads and writes plainly.  Layout and invariants are in btree_node.h, and so is the state that
 * readers may see meanwhile.
 *
 * A node is rebuilt (shorter prefix, dead bytes, new fences) from a copy on
 * the stack, in place: its address stays, so no parent has to be touched.
 */
#include "runtime/btree/btree_node.h"

#include <string.h>

#include "runtime/btree/btree_search.h"

static unsigned
min_unsigned(unsigned left, unsigned right)
{
	return left < right ? left : right;
}

static unsigned
common_bytes(const unsigned char *left, const unsigned char *right, unsigned length)
{
	unsigned i = 0;

	while (i < length && left[i] == right[i])
		i++;
	return i;
}

/* --- keys -------------------------------------------------------------------- */

/* The heap's part of an entry's key. */
static const unsigned char *
slot_tail(const tg_node *node, const tg_slot *slot)
{
	return (const unsigned char *) node + slot->offset;
}

unsigned
tg_node_key_bytes(const tg_node *node, unsigned index)
{
	return node->prefix_bytes + tg_node_slot(node, tg_node_stride(node), index)->length;
}

unsigned
tg_node_key(const tg_node *node, unsigned index, unsigned char *key_out)
{
	const tg_slot *slot = tg_node_slot(node, tg_node_stride(node), index);
	unsigned char *end = key_out + node->prefix_bytes;

	memcpy(key_out, (const char *) node + node->prefix_offset, node->prefix_bytes);
	for (unsigned i = 0; i < TG_NODE_HEAD_BYTES && i < slot->length; i++)
		*end++ = (unsigned char) (slot->head >> (24 - 8 * i));
	if (slot->length > TG_NODE_HEAD_BYTES)
		memcpy(end, slot_tail(node, slot), tg_slot_tail(slot->length));
	return node->prefix_bytes + slot->length;
}

unsigned
tg_node_common(const tg_node *node, unsigned left, unsigned right)
{
	unsigned stride = tg_node_stride(node);
	const tg_slot *a = tg_node_slot(node, stride, left);
	const tg_slot *b = tg_node_slot(node, stride, right);
	unsigned length = min_unsigned(a->length, b->length);
	unsigned common;

	if (a->head != b->head)
		common = min_unsigned((unsigned) __builtin_clz(a->head ^ b->head) / 8, length);
	else if (length <= TG_NODE_HEAD_BYTES)
		common = length;
	else
		common = TG_NODE_HEAD_BYTES + common_bytes(slot_tail(node, a), slot_tail(node, b), tg_slot_tail(length));
	return node->prefix_bytes + common;
}

unsigned
tg_node_common_with(const tg_node *node, unsigned index, tg_span key)
{
	unsigned char other[TG_KEY_BYTES_MAX];
	unsigned length = tg_node_key(node, index, other);

	return common_bytes(other, key.bytes, min_unsigned(length, key.length));
}

unsigned
tg_node_range_prefix(const tg_node *node, unsigned from, unsigned to)
{
	return from < to ? tg_node_common(node, from, to - 1) : 0;
}

/* --- building ------------------------------------------------------------------ */

/* Up to eight bytes without a call: as two words, which may overlap. */
static inline void
copy_bytes(void *to, const unsigned char *from, unsigned length)
{
	if (length > 8)
		memcpy(to, from, length);
	else if (length >= 4)
	{
		uint32_t first;
		uint32_t last;

		memcpy(&first, from, 4);
		memcpy(&last, from + length - 4, 4);
		memcpy(to, &first, 4);
		memcpy((char *) to + length - 4, &last, 4);
	}
	else if (length > 0)
	{
		((unsigned char *) to)[0] = from[0];
		((unsigned char *) to)[length / 2] = from[length / 2];
		((unsigned char *) to)[length - 1] = from[length - 1];
	}
}

/* Puts bytes into the heap; returns their offset. */
static uint16_t
push_heap(tg_node *node, const unsigned char *bytes, unsigned length)
{
	node->heap = (uint16_t) (node->heap - length);
	copy_bytes((char *) node + node->heap, bytes, length);
	return node->heap;
}

static void
set_value(tg_slot *slot, bool is_leaf, uintptr_t value)
{
	if (is_leaf)
		((tg_leaf_slot *) slot)->row = (uint32_t) value;
	else
		((tg_inner_slot *) slot)->child = (tg_node *) value;
}

static uintptr_t
get_value(const tg_slot *slot, bool is_leaf)
{
	return is_leaf ? ((const tg_leaf_slot *) slot)->row : (uintptr_t) ((const tg_inner_slot *) slot)->child;
}

/* Writes a slot for a key that has the node's prefix. */
static void
set_slot(tg_node *node, tg_slot *slot, tg_span key, uintptr_t value)
{
	unsigned length = key.length - node->prefix_bytes;
	const unsigned char *rest = key.bytes + node->prefix_bytes;
	uint32_t head = 0;

	if (tg_likely(length >= TG_NODE_HEAD_BYTES))
		head = tg_big_endian_32(rest);
	else
	{
		for (unsigned i = 0; i < length; i++)
			head |= (uint32_t) rest[i] << (24 - 8 * i);
	}
	slot->head = head;
	slot->length = (uint16_t) length;
	slot->offset = 0;
	if (length > TG_NODE_HEAD_BYTES)
		slot->offset = push_heap(node, rest + TG_NODE_HEAD_BYTES, tg_slot_tail(length));
	set_value(slot, node->level == 0, value);
}

/*
 * Updates the hints after the entries from index on have moved by one place, or (fresh) all are
 * new.
 */
static void
update_hints(tg_node *node, unsigned index, unsigned count_before)
{
	unsigned stride = tg_node_stride(node);
	unsigned step = node->count / (TG_NODE_HINTS + 1);
	unsigned i = 0;

	if (node->count <= 2 * TG_NODE_HINTS)
		return;
	if (step == count_before / (TG_NODE_HINTS + 1) && count_before > 2 * TG_NODE_HINTS && index >= step)
		i = index / step - 1;
	for (; i < TG_NODE_HINTS; i++)
		node->hints[i] = tg_node_slot(node, stride, (i + 1) * step)->head;
}

void
tg_node_init(tg_node *node, unsigned bytes, unsigned level)
{
	tg_assert(bytes == TG_NODE_BYTES || bytes == TG_NODE_BYTES_LARGE);
	node->bytes = (uint16_t) bytes;
	node->level = (uint16_t) level;
	tg_store_release(&node->version, TG_NODE_CHANGE);
}

void
tg_node_copy_from(tg_node_copy *copy, const tg_node *node)
{
	const size_t from = sizeof(node->version);

	memcpy(copy->bytes + from, (const char *) node + from, node->bytes - from);
}

void
tg_node_clear(tg_node *node, tg_span low, tg_span high, tg_span prefix)
{
	node->count = 0;
	node->dead = 0;
	node->first = NULL;
	node->heap = node->bytes;
	node->low_bytes = low.bytes == NULL ? 0 : (uint16_t) low.length;
	node->low_offset = low.bytes == NULL ? 0 : push_heap(node, low.bytes, low.length);
	node->high_bytes = high.bytes == NULL ? 0 : (uint16_t) high.length;
	node->high_offset = high.bytes == NULL ? 0 : push_heap(node, high.bytes, high.length);
	node->prefix_bytes = (uint16_t) prefix.length;
	node->prefix_offset = push_heap(node, prefix.bytes, prefix.length);
	node->prefix_first = tg_search_key_make(prefix.bytes, prefix.length).first;
}

unsigned
tg_node_need(const tg_node *node, unsigned from, unsigned to, unsigned prefix_bytes, unsigned low_bytes,
			 unsigned high_bytes)
{
	unsigned stride = tg_node_stride(node);
	unsigned bytes = (unsigned) sizeof(tg_node) + low_bytes + high_bytes + prefix_bytes + (to - from) * stride;

	for (unsigned i = from; i < to; i++)
		bytes += tg_slot_tail(node->prefix_bytes + tg_node_slot(node, stride, i)->length - prefix_bytes);
	return bytes;
}

/* Appends source's entries to an empty target whose prefix they all have. */
static void
append_entries(tg_node *target, const tg_node *source, unsigned from, unsigned to)
{
	unsigned stride = tg_node_stride(source);
	unsigned count = to - from;

	if (target->prefix_bytes == source->prefix_bytes)
	{
		memcpy(tg_node_slot(target, stride, 0), tg_node_slot(source, stride, from), (size_t) count * stride);
		for (unsigned i = 0; i < count; i++)
		{
			tg_slot *slot = tg_node_slot(target, stride, i);

			if (slot->length > TG_NODE_HEAD_BYTES)
				slot->offset = push_heap(target, slot_tail(source, slot), tg_slot_tail(slot->length));
		}
	}
	else
	{
		unsigned char key[TG_KEY_BYTES_MAX];

		for (unsigned i = 0; i < count; i++)
		{
			unsigned length = tg_node_key(source, from + i, key);

			set_slot(target, tg_node_slot(target, stride, i), (tg_span){key, length},
					 get_value(tg_node_slot(source, stride, from + i), source->level == 0));
		}
	}
	target->count = (uint16_t) count;
	tg_assert(sizeof(tg_node) + count * stride <= target->heap);
	update_hints(target, 0, 0);
}

void
tg_node_fill(tg_node *target, const tg_node *source, unsigned from, unsigned to, tg_span low, tg_span high)
{
	unsigned char prefix[TG_KEY_BYTES_MAX];
	unsigned prefix_bytes = tg_node_range_prefix(source, from, to);

	if (prefix_bytes > 0)
		(void) tg_node_key(source, from, prefix);
	tg_node_clear(target, low, high, (tg_span){prefix, prefix_bytes});
	append_entries(target, source, from, to);
}

/* Rebuilds the node in place with the prefix that it will share with the key. */
static __attribute__((noinline)) void
rebuild_for(tg_node *node, tg_span key)
{
	tg_node_copy copy;
	tg_span prefix = key;

	tg_node_copy_from(&copy, node);
	if (copy.node.count > 0)
	{
		prefix = tg_node_prefix(&copy.node);
		prefix.length = common_bytes(prefix.bytes, key.bytes, min_unsigned(prefix.length, key.length));
	}
	tg_node_clear(node, tg_node_low(&copy.node), tg_node_high(&copy.node), prefix);
	append_entries(node, &copy.node, 0, copy.node.count);
	node->first = copy.node.first;
}

/* --- inserting and removing -------------------------------------------------------- */

tg_room
tg_node_room(const tg_node *node, tg_span key)
{
	unsigned stride = tg_node_stride(node);
	unsigned fences = node->low_bytes + node->high_bytes;
	unsigned free_bytes = node->heap - (unsigned) sizeof(tg_node) - node->count * stride;
	unsigned common = common_bytes((const unsigned char *) node + node->prefix_offset, key.bytes,
								   min_unsigned(node->prefix_bytes, key.length));
	unsigned need = stride + tg_slot_tail(key.length - common);
	unsigned bytes;

	if (node->count == 0)
		return sizeof(tg_node) + fences + key.length + stride <= node->bytes ? TG_ROOM_REBUILD : TG_ROOM_NONE;
	if (common == node->prefix_bytes)
	{
		if (need <= free_bytes)
			return TG_ROOM;
		return need <= free_bytes + node->dead ? TG_ROOM_REBUILD : TG_ROOM_NONE;
	}
	bytes = tg_node_need(node, 0, node->count, common, node->low_bytes, node->high_bytes);
	if (bytes + need <= node->bytes)
		return TG_ROOM_REBUILD;
	return TG_ROOM_PREFIX;
}

void
tg_node_insert(tg_node *node, unsigned index, tg_span key, uintptr_t value, tg_room room)
{
	unsigned stride = tg_node_stride(node);
	unsigned count = node->count;
	tg_slot *slot;

	tg_assert(index <= count && (room == TG_ROOM || room == TG_ROOM_REBUILD));
	if (room == TG_ROOM_REBUILD)
		rebuild_for(node, key);
	slot = tg_node_slot(node, stride, index);
	memmove((char *) slot + stride, slot, (size_t) (count - index) * stride);
	set_slot(node, slot, key, value);
	tg_store_relaxed(&node->count, (uint16_t) (count + 1));
	tg_assert(sizeof(tg_node) + node->count * stride <= node->heap);
	update_hints(node, index, count);
}

void
tg_node_append(tg_node *node, tg_span key, uintptr_t value)
{
	set_slot(node, tg_node_slot(node, tg_node_stride(node), node->count), key, value);
	node->count++;
	tg_assert(sizeof(tg_node) + node->count * tg_node_stride(node) <= node->heap);
}

void
tg_node_remove(tg_node *node, unsigned index)
{
	unsigned stride = tg_node_stride(node);
	unsigned count = node->count;
	tg_slot *slot = tg_node_slot(node, stride, index);

	tg_assert(index < count);
	node->dead = (uint16_t) (node->dead + tg_slot_tail(slot->length));
	memmove(slot, (char *) slot + stride, (size_t) (count - index - 1) * stride);
	tg_store_relaxed(&node->count, (uint16_t) (count - 1));
	update_hints(node, index, count);
}

/*
 * btree_check.c
 *	  Asserts the B+tree's invariants by their numbers in btree_node.h.
 *
 * It serves tests, and is compiled always, so that they can test the shipped code.
 */
#include "runtime/btree/btree_node.h"
#include "runtime/order/key.h"

static int
compare_spans(tg_span left, tg_span right)
{
	return tg_key_compare(left.bytes, left.length, right.bytes, right.length);
}

/* N1, N2 */
static void
check_space(const tg_node *node)
{
	unsigned stride = tg_node_stride(node);
	unsigned used = node->low_bytes + node->high_bytes + node->prefix_bytes + node->dead;

	for (unsigned i = 0; i < node->count; i++)
	{
		const tg_slot *slot = tg_node_slot(node, stride, i);

		used += tg_slot_tail(slot->length);
		if (slot->length > TG_NODE_HEAD_BYTES)
			tg_check(slot->offset >= node->heap && slot->offset + tg_slot_tail(slot->length) <= node->bytes);
	}
	tg_check(node->bytes == TG_NODE_BYTES || node->bytes == TG_NODE_BYTES_LARGE);
	tg_check(sizeof(tg_node) + node->count * stride <= node->heap);
	tg_check(node->heap + used == node->bytes);
}

/* N3, N4; low and high: the fences by the parent */
static void
check_keys(const tg_node *node, tg_span low, tg_span high)
{
	unsigned char keys[2][TG_KEY_BYTES_MAX] = {{0}};
	tg_span last = {NULL, 0};

	for (unsigned i = 0; i < node->count; i++)
	{
		tg_span key = {keys[i % 2], tg_node_key(node, i, keys[i % 2])};

		tg_check(key.length == tg_node_key_bytes(node, i) && key.length <= TG_KEY_BYTES_MAX);
		tg_check(last.bytes == NULL || compare_spans(last, key) < 0);
		tg_check(low.bytes == NULL || compare_spans(low, key) < (node->level == 0));
		tg_check(high.bytes == NULL || compare_spans(key, high) < 0);
		last = key;
	}
}

/* N5, and the copy of the prefix */
static void
check_hints(const tg_node *node)
{
	unsigned step = node->count / (TG_NODE_HINTS + 1);
	uint64_t first = 0;

	for (unsigned i = 0; i < 8 && i < node->prefix_bytes; i++)
		first |= (uint64_t) tg_node_prefix(node).bytes[i] << (56 - 8 * i);
	tg_check(first == node->prefix_first);
	for (unsigned i = 0; i < TG_NODE_HINTS && node->count > 2 * TG_NODE_HINTS; i++)
		tg_check(node->hints[i] == tg_node_slot(node, tg_node_stride(node), (i + 1) * step)->head);
}

/* N7 */
static void
check_fence(tg_span fence, tg_span expected)
{
	tg_check((fence.bytes == NULL) == (expected.bytes == NULL));
	tg_check(fence.bytes == NULL || compare_spans(fence, expected) == 0);
}

static void
check_subtree(const tg_node *node, tg_span low, tg_span high)
{
	unsigned char keys[2][TG_KEY_BYTES_MAX] = {{0}};
	tg_span from = low;

	tg_check((node->version & (TG_NODE_LOCKED | TG_NODE_OBSOLETE)) == 0);
	check_fence(tg_node_low(node), low);
	check_fence(tg_node_high(node), high);
	check_space(node);
	check_keys(node, low, high);
	check_hints(node);
	if (node->level == 0)
		return;
	for (unsigned i = 0; i <= node->count; i++)
	{
		const tg_node *child = *tg_node_child(node, i);
		tg_span to = high;

		if (i < node->count)
			to = (tg_span){keys[i % 2], tg_node_key(node, i, keys[i % 2])};
		tg_check(child->level + 1 == node->level);
		check_subtree(child, from, to);
		from = to;
	}
}

void
tg_btree_check(const tg_btree *tree)
{
	check_subtree(tree->root, (tg_span){NULL, 0}, (tg_span){NULL, 0});
}

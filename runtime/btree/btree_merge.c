/*
 * btree_merge.c
 *	  Removal of sparse nodes: two neighbours are merged.
 *
 *	        parent                      parent
 *	     .. | s | ..        ==>         .. | ..
 *	       /     \                        |
 *	    left    right                  left+right
 *
 * A session that has removed an entry and left few behind merges, as far as that is possible at
 * once: locks are only tried, as everywhere in the tree, and three nodes are locked, the parent
 * first.  Then it merges the parent, if that has few entries by now, and so on; a root with one
 * child is replaced by the child.
 *
 *	1. The node that stays takes over the other's fence, so N7 holds: its bounds in the parent are
 *	   those that bounded the two.
 *	2. The other node becomes obsolete before the parent is unlocked, and is retired.  A session on
 *	   its way to it sees the parent's version changed (tg_descent_step); a session in it sees its
 *	   own version changed.
 *	3. Positions of scans are keys (btree_scan.c), so the next descent finds entries that have moved
 *	   to another node.  A read of a leaf during which it was merged finds its version changed.
 *	4. The root is replaced by the holder of its lock (btree_grow.c, 3).
 *	5. Nodes that would be split soon are not merged: the two have to leave a quarter of the node
 *	   free, unless one of them is empty.
 *
 * A merge that fails, because another session has a lock or memory is short, is tried again when a
 * few more entries have been removed.  An empty leaf has no further entries, so it is tried more
 * often; if that fails, it is removed with its neighbour's next merge.
 */
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/retire.h"
#include "runtime/btree/btree_node.h"
#include "runtime/btree/btree_search.h"

#define TRIES_MAX 16

/* Two neighbours and their parent, as seen by one descent; then locked. */
typedef struct node_pair
{
	tg_node *parent;
	uint64_t parent_version;
	unsigned index; /* of the left one; the separator's slot */
	tg_node *left;
	tg_node *right;
} node_pair;

typedef enum merge_result
{
	MERGED,
	MERGE_NOT,	/* they do not fit, or there is no neighbour */
	MERGE_AGAIN /* another session interfered */
} merge_result;

/*
 * Finds the pair of nodes of a level that consists of the key's node and its right or left
 * neighbour.  False: there is none of the same parent; or, if *again_out, the tree has changed.
 */
static TG_OPTIMISTIC bool
find_pair(const tg_btree *tree, const tg_search_key *key, unsigned level, bool to_left, node_pair *pair,
		  bool *again_out)
{
	tg_node *node;
	uint64_t version;
	unsigned count;

	*again_out = true;
	if (!tg_descent_enter(tree, &node, &version))
		return false;
	if (node->level <= level)
	{
		*again_out = false;
		return false;
	}
	while (node->level > level + 1U)
	{
		if (!tg_descent_step(&node, &version, tg_search_child(node, key)))
			return false;
	}
	pair->parent = node;
	pair->parent_version = version;
	pair->index = tg_search_child(node, key);
	count = tg_search_count(node, sizeof(tg_inner_slot));
	if (to_left ? pair->index == 0 : pair->index >= count)
	{
		*again_out = !tg_node_unchanged(node, version);
		return false;
	}
	pair->index -= to_left;
	pair->left = tg_load_relaxed(tg_node_child(node, pair->index));
	pair->right = tg_load_relaxed(tg_node_child(node, pair->index + 1));
	return tg_node_unchanged(node, version);
}

/* Locks a node, if it is free, at any version; its parent is locked, so it cannot be obsolete. */
static bool
lock_child(tg_node *node)
{
	uint64_t version = tg_load_acquire(&node->version);

	return (version & TG_NODE_LOCKED) == 0 && tg_node_lock(node, version);
}

static bool
lock_pair(node_pair *pair)
{
	if (!tg_node_lock(pair->parent, pair->parent_version))
		return false;
	if (lock_child(pair->left))
	{
		if (lock_child(pair->right))
			return true;
		tg_node_unlock_unchanged(pair->left);
	}
	tg_node_unlock_unchanged(pair->parent);
	return false;
}

static void
unlock_pair(node_pair *pair)
{
	tg_node_unlock_unchanged(pair->right);
	tg_node_unlock_unchanged(pair->left);
	tg_node_unlock_unchanged(pair->parent);
}

/* The common prefix of all keys of the merged node, in key (TG_KEY_BYTES_MAX). */
static unsigned
merged_prefix(const node_pair *pair, unsigned char *key)
{
	const tg_node *left = pair->left;
	const tg_node *right = pair->right;

	/* Inner nodes take the separator, too; merged_need allows for its prefix. */
	if (left->level > 0)
		return 0;
	if (left->count == 0 && right->count == 0)
		return 0;
	if (left->count == 0 || right->count == 0)
	{
		const tg_node *only = left->count == 0 ? right : left;

		(void) tg_node_key(only, 0, key);
		return tg_node_range_prefix(only, 0, only->count);
	}
	{
		unsigned char last[TG_KEY_BYTES_MAX];
		unsigned last_bytes = tg_node_key(right, right->count - 1U, last);

		(void) tg_node_key(left, 0, key);
		return tg_node_common_with(left, 0, (tg_span){last, last_bytes});
	}
}

static unsigned
merged_need(const node_pair *pair, unsigned prefix_bytes, unsigned separator_bytes)
{
	const tg_node *left = pair->left;
	const tg_node *right = pair->right;
	unsigned need = tg_node_need(left, 0, left->count, prefix_bytes, left->low_bytes, right->high_bytes) +
					tg_node_need(right, 0, right->count, prefix_bytes, 0, 0) - (unsigned) sizeof(tg_node) -
					prefix_bytes;

	/*
	 * An inner node gets a prefix as it is filled.  In the worst case, with keys no longer than a
	 * head, it saves nothing and is as long as one of them.
	 */
	if (left->level > 0)
		need += tg_node_stride(left) + tg_slot_tail(separator_bytes) + TG_NODE_HEAD_BYTES;
	return need;
}

static void
append(tg_node *target, tg_span key, uintptr_t value)
{
	tg_room room = tg_node_room(target, key);

	tg_node_insert(target, target->count, key, value, room);
}

static void
append_all(tg_node *target, const tg_node *source)
{
	unsigned char key[TG_KEY_BYTES_MAX];

	for (unsigned i = 0; i < source->count; i++)
	{
		unsigned bytes = tg_node_key(source, i, key);

		append(target, (tg_span){key, bytes},
			   source->level > 0
				   ? (uintptr_t) *tg_node_child(source, i + 1)
				   : (uintptr_t) ((const tg_leaf_slot *) tg_node_slot(source, sizeof(tg_leaf_slot), i))->row);
	}
}

/* Fills the node that stays with both contents; locked. */
static __attribute__((noinline)) void
fill_merged(tg_node *target, const node_pair *pair, tg_span prefix, tg_span separator)
{
	tg_node_copy left;
	tg_node_copy right;

	tg_node_copy_from(&left, pair->left);
	tg_node_copy_from(&right, pair->right);
	tg_node_clear(target, tg_node_low(&left.node), tg_node_high(&right.node), prefix);
	append_all(target, &left.node);
	if (target->level > 0)
	{
		append(target, separator, (uintptr_t) right.node.first);
		target->first = left.node.first;
	}
	append_all(target, &right.node);
	if (target->level > 0)
		target->first = left.node.first;
}

/*
 * Removes the pair's separator from the parent; the remaining pointer leads to the node that stays.
 */
static void
leave_parent(tg_session *session, tg_btree *tree, node_pair *pair, tg_node *stays)
{
	tg_node *parent = pair->parent;

	tg_node_remove(parent, pair->index);
	*tg_node_child(parent, pair->index) = stays;
	if (parent->count > 0 || tg_load_relaxed(&tree->root) != parent)
	{
		tg_node_unlock(parent);
		return;
	}
	tg_store_release(&tree->root, stays);
	tg_node_unlock_obsolete(parent);
	tg_node_retire(session, tree, parent);
}

/* Merges a locked pair; unlocks it. */
static merge_result
merge_locked(tg_session *session, tg_btree *tree, node_pair *pair)
{
	unsigned char prefix[TG_KEY_BYTES_MAX];
	unsigned char separator[TG_KEY_BYTES_MAX];
	unsigned prefix_bytes = merged_prefix(pair, prefix);
	unsigned separator_bytes = tg_node_key(pair->parent, pair->index, separator);
	bool is_empty = pair->left->count == 0 || pair->right->count == 0;
	tg_node *stays = pair->right->bytes > pair->left->bytes ? pair->right : pair->left;
	tg_node *goes = stays == pair->left ? pair->right : pair->left;

	if (merged_need(pair, prefix_bytes, separator_bytes) > (is_empty ? stays->bytes : stays->bytes / 4U * 3U))
	{
		unlock_pair(pair);
		return MERGE_NOT;
	}
	fill_merged(stays, pair, (tg_span){prefix, prefix_bytes}, (tg_span){separator, separator_bytes});
	tg_failpoint("btree_merge");
	tg_node_unlock_obsolete(goes);
	leave_parent(session, tree, pair, stays);
	tg_node_unlock(stays);
	tg_node_retire(session, tree, goes);
	return MERGED;
}

static merge_result
merge_once(tg_session *session, tg_btree *tree, const tg_search_key *key, unsigned level, bool to_left,
		   unsigned *parent_count_out)
{
	node_pair pair;
	bool again;

	if (!find_pair(tree, key, level, to_left, &pair, &again))
		return again ? MERGE_AGAIN : MERGE_NOT;
	tg_failpoint("btree_pair");
	if (!lock_pair(&pair))
		return MERGE_AGAIN;
	*parent_count_out = pair.parent->count - 1U;
	return merge_locked(session, tree, &pair);
}

void
tg_btree_merge(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes)
{
	tg_search_key search = tg_search_key_make(key, key_bytes);
	unsigned parent_count = 0;

	tg_assert(tg_epoch_inside(session));
	for (unsigned level = 0; level < TG_BTREE_LEVELS_MAX && parent_count < TG_NODE_SPARSE; level++)
	{
		merge_result result = MERGE_AGAIN;

		if (tg_retire_reserve(session, 2) != TG_OK)
			return;
		for (unsigned tries = 0; tries < TRIES_MAX && result == MERGE_AGAIN; tries++)
		{
			result = merge_once(session, tree, &search, level, false, &parent_count);
			if (result == MERGE_NOT)
				result = merge_once(session, tree, &search, level, true, &parent_count);
			if (result == MERGE_AGAIN)
				tg_pause();
		}
		if (result != MERGED)
			return;
	}
}

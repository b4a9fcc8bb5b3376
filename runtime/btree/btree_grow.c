/*
 * btree_grow.c
 *	  How the B+tree grows: nodes without room are split, or become large ones.
 *
 * An inserter that finds no room in its leaf has one node restructured, and descends again:
 *
 *	 lock leaf -> plan -> lock parent -> has the parent room for the separator?
 *	                          |                 | yes: split or grow, unlock, retire
 *	                          |                 | no: unlock the leaf; restructure the parent
 *	                          instead |                 v
 *	                          +---- or the root: a new root takes the separator
 *
 * So each round splits exactly one node, top-most first, and leaves a valid tree behind.  Rounds
 * are bounded: a split leaves two smaller nodes, and three entries always have room (btree_node.h,
 * Sizes).
 *
 *	1. Memory is taken with no node locked: a plan that lacks a node releases all locks, allocates,
 *	   and starts again.  If the allocation is refused, nothing was changed except by earlier
 *	   splits, which are complete in themselves.
 *	2. Locks are only tried (upgrades), so no session waits while it holds one.
 *	3. tree->root is written by the holder of the lock of the root that is replaced.
 *	4. A node that is replaced becomes obsolete before its lock is released, and is retired
 *	   afterwards; room in the retirements was reserved before.
 *	5. The parent is locked before the child is changed, and the new pointers are in it before it is
 *	   unlocked; tg_descent_step depends on that.
 *
 * Splits.  A node is split in the middle of its bytes, with the shortest separator between the two
 * halves (in leaves only: a separator in an inner node bounds a subtree).  Exception: if a key
 * arrives beyond all others of the right-most node (or, mirrored, the left-most), the node is split
 * at that end: ascending keys fill the nodes, and the new node begins empty.  A run of ascending
 * keys (tg_btree_insert_run) that goes on behind its leaf's entries, or between two of them, splits
 * the leaf there.  Where two loads run side by side, each into a range of keys of its own, both
 * ranges come to fill their leaves.
 *
 * Left out: a large node stays large.  Ascending keys within a group (a key's second column) that
 * come one by one are split in the middle; PostgreSQL's "split after new tuple" is not followed.
 */
#include "runtime/btree/btree_grow.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/mem/retire.h"

static const tg_span open_fence = {NULL, 0};

/* The restructuring of a node without room. */
typedef struct split_plan
{
	bool split;			  /* false: it only grows */
	unsigned at;		  /* entries below go left; in inner nodes this one goes up */
	unsigned left_bytes;  /* of the node that replaces this one as the left half; 0: itself */
	unsigned right_bytes; /* of the right half */
	unsigned separator_bytes;
	unsigned char separator[TG_KEY_BYTES_MAX];
} split_plan;

static unsigned
node_bytes_for(unsigned need)
{
	tg_assert(need <= TG_NODE_BYTES_LARGE);
	return need <= TG_NODE_BYTES ? TG_NODE_BYTES : TG_NODE_BYTES_LARGE;
}

/*
 * The separator of a split before entry at: above everything to the left and not above anything to
 * the right.  At the ends of a leaf the new key takes part: it goes to the empty side.
 */
static void
plan_separator(const tg_node *node, tg_span key, unsigned at, split_plan *plan)
{
	unsigned common = 0;

	if (node->level > 0)
		plan->separator_bytes = tg_node_key(node, at, plan->separator);
	else if (at == node->count)
	{
		common = tg_node_common_with(node, at - 1, key);
		memcpy(plan->separator, key.bytes, common + 1);
		plan->separator_bytes = common + 1;
	}
	else
	{
		common = at == 0 ? tg_node_common_with(node, 0, key) : tg_node_common(node, at - 1, at);
		(void) tg_node_key(node, at, plan->separator);
		plan->separator_bytes = common + 1;
	}
}

/* Computes the bytes that the two halves need if split before entry at. */
static void
plan_halves(const tg_node *node, const split_plan *plan, unsigned *left_out, unsigned *right_out)
{
	unsigned at = plan->at;
	unsigned right = node->level > 0 ? at + 1 : at;

	*left_out = tg_node_need(node, 0, at, tg_node_range_prefix(node, 0, at), node->low_bytes, plan->separator_bytes);
	*right_out = tg_node_need(node, right, node->count, tg_node_range_prefix(node, right, node->count),
							  plan->separator_bytes, node->high_bytes);
}

/* The entry at which half of the bytes are reached; both sides of a leaf keep at least one. */
static unsigned
find_middle(const tg_node *node)
{
	unsigned stride = tg_node_stride(node);
	unsigned total = tg_node_need(node, 0, node->count, node->prefix_bytes, 0, 0) - (unsigned) sizeof(tg_node);
	unsigned bytes = node->prefix_bytes;
	unsigned at = 0;

	while (at < node->count - 1U && bytes < total / 2)
		bytes += stride + tg_slot_tail(tg_node_slot(node, stride, at++)->length);
	return at > 0 ? at : 1;
}

/*
 * Splits at the end where the key goes, so that the other half stays as full as it is.  Its new
 * fence may need the room of a few entries: then these go along.
 */
static bool
plan_split_at_end(const tg_node *node, tg_span key, bool at_high, split_plan *plan)
{
	unsigned last = node->level > 0 ? node->count - 1U : node->count;

	for (unsigned tries = 0; tries < 4 && tries < last; tries++)
	{
		unsigned left;
		unsigned right;

		plan->at = at_high ? last - tries : tries;
		plan_separator(node, key, plan->at, plan);
		plan_halves(node, plan, &left, &right);
		if (left <= node->bytes && right <= node->bytes)
		{
			plan->right_bytes = node_bytes_for(right);
			return true;
		}
	}
	return false;
}

/*
 * Splits a leaf at the place of a run, between two entries, so that what is before it stays
 * together.
 */
static bool
plan_split_in_run(const tg_node *node, tg_span key, unsigned index, split_plan *plan)
{
	unsigned left;
	unsigned right;

	if (index == 0 || index == node->count)
		return false;
	plan->at = index;
	plan_separator(node, key, index, plan);
	plan_halves(node, plan, &left, &right);
	plan->right_bytes = node_bytes_for(right);
	return left <= node->bytes && right <= node->bytes;
}

/*
 * Decides how to restructure a node without room for a key at this place.  in_run: as
 * tg_tree_make_room.  Node locked.
 */
static void
plan_restructure(const tg_node *node, tg_span key, unsigned index, tg_room room, bool in_run, split_plan *plan)
{
	bool at_high = index == node->count && (node->high_offset == 0 || room == TG_ROOM_PREFIX || in_run);
	bool at_low = index == 0 && (node->low_offset == 0 || room == TG_ROOM_PREFIX);
	unsigned left;
	unsigned right;

	plan->left_bytes = 0;
	plan->right_bytes = 0;
	plan->split = node->bytes == TG_NODE_BYTES_LARGE || node->count >= TG_NODE_GROW_ENTRIES;
	if (!plan->split)
	{
		plan->left_bytes = TG_NODE_BYTES_LARGE;
		return;
	}
	tg_assert(node->count >= 3);
	if ((at_high || at_low) && plan_split_at_end(node, key, at_high, plan))
		return;
	if (in_run && plan_split_in_run(node, key, index, plan))
		return;
	plan->at = find_middle(node);
	plan_separator(node, key, plan->at, plan);
	plan_halves(node, plan, &left, &right);
	plan->left_bytes = left <= node->bytes ? 0 : TG_NODE_BYTES_LARGE;
	plan->right_bytes = node_bytes_for(right);
	tg_assert(left <= TG_NODE_BYTES_LARGE);
}

/* Ensures that one node of the supply has this size (0: not wanted).  No node is locked. */
static tg_status
supply_node(tg_session *session, const tg_btree *tree, tg_node **place, unsigned bytes, tg_claim claim)
{
	if (bytes == 0 || (*place != NULL && (*place)->bytes == bytes))
		return TG_OK;
	if (*place != NULL)
		tg_node_destroy(session, tree->book, *place);
	return tg_node_create(session, tree->book, bytes, 0, claim, place);
}

static tg_status
supply_plan(tg_session *session, const tg_btree *tree, const split_plan *plan, bool new_root, tg_node_supply *supply,
			tg_claim claim)
{
	tg_status status = supply_node(session, tree, &supply->left, plan->left_bytes, claim);

	if (status == TG_OK)
		status = supply_node(session, tree, &supply->right, plan->right_bytes, claim);
	if (status == TG_OK && new_root)
		status = supply_node(session, tree, &supply->root, TG_NODE_BYTES, claim);
	if (status == TG_OK && plan->left_bytes != 0 && !supply->retirement)
	{
		status = tg_retire_reserve(session, 1);
		supply->retirement = status == TG_OK;
	}
	return status;
}

static bool
supply_suffices(const split_plan *plan, bool new_root, const tg_node_supply *supply)
{
	return (plan->left_bytes == 0 ||
			(supply->left != NULL && supply->left->bytes == plan->left_bytes && supply->retirement)) &&
		   (plan->right_bytes == 0 || (supply->right != NULL && supply->right->bytes == plan->right_bytes)) &&
		   (!new_root || supply->root != NULL);
}

/* Takes a node out of the supply, for this level; the caller fills and publishes it. */
static tg_node *
take_node(tg_node **place, unsigned level)
{
	tg_node *node = *place;

	*place = NULL;
	tg_node_init(node, node->bytes, level);
	return node;
}

/*
 * Distributes a locked node's content as planned, to the left half (the node itself or its
 * replacement) and the right one (or NULL).
 */
static __attribute__((noinline)) void
divide_node(tg_node *node, const split_plan *plan, tg_node_supply *supply, tg_node **left_out, tg_node **right_out)
{
	tg_node_copy copy;
	const tg_node *source = &copy.node;
	tg_span low;
	tg_span high;
	tg_span separator = {plan->separator, plan->separator_bytes};
	tg_node *left = plan->left_bytes == 0 ? node : take_node(&supply->left, node->level);
	tg_node *right = NULL;

	tg_node_copy_from(&copy, node);
	low = tg_node_low(source);
	high = tg_node_high(source);
	if (plan->split)
	{
		unsigned from = source->level > 0 ? plan->at + 1 : plan->at;

		right = take_node(&supply->right, source->level);
		tg_node_fill(right, source, from, source->count, separator, high);
		if (source->level > 0)
			right->first = *tg_node_child(source, from);
		tg_node_publish(right);
		tg_node_fill(left, source, 0, plan->at, low, separator);
	}
	else
		tg_node_fill(left, source, 0, source->count, low, high);
	left->first = source->first;
	if (left != node)
		tg_node_publish(left);
	*left_out = left;
	*right_out = right;
}

/* Puts a new root above the two halves of the old one, which is locked. */
static void
raise_root(tg_btree *tree, tg_node *left, tg_node *right, tg_span separator, tg_node_supply *supply)
{
	tg_node *root = take_node(&supply->root, left->level + 1U);

	tg_check(root->level < TG_BTREE_LEVELS_MAX);
	tg_node_clear(root, open_fence, open_fence, open_fence);
	root->first = left;
	tg_node_insert(root, 0, separator, (uintptr_t) right, tg_node_room(root, separator));
	tg_node_publish(root);
	tg_store_release(&tree->root, root);
}

/*
 * Carries out a plan for a locked node; the parent (NULL: it is the root) is locked and has room.
 * Unlocks both.
 */
static void
restructure_node(tg_session *session, tg_btree *tree, tg_node *node, tg_node *parent, unsigned parent_index,
				 const split_plan *plan, tg_node_supply *supply)
{
	tg_span separator = {plan->separator, plan->separator_bytes};
	tg_node *left;
	tg_node *right;

	divide_node(node, plan, supply, &left, &right);
	if (parent != NULL)
	{
		*tg_node_child(parent, parent_index) = left;
		if (right != NULL)
			tg_node_insert(parent, parent_index, separator, (uintptr_t) right, tg_node_room(parent, separator));
		tg_node_unlock(parent);
	}
	else if (right != NULL)
		raise_root(tree, left, right, separator, supply);
	else
		tg_store_release(&tree->root, left);
	if (left == node)
		tg_node_unlock(node);
	else
	{
		tg_node_unlock_obsolete(node);
		tg_node_retire(session, tree, node);
		supply->retirement = false;
	}
}

tg_status
tg_tree_make_room(tg_session *session, tg_btree *tree, const tg_tree_path *path, tg_span key, tg_room room, bool in_run,
				  tg_node_supply *supply, tg_claim claim)
{
	split_plan plan;
	unsigned step = path->depth - 1;
	tg_node *node = path->steps[step].node;

	for (;;)
	{
		tg_node *parent = step > 0 ? path->steps[step - 1].node : NULL;
		bool new_root;

		plan_restructure(node, key, path->steps[step].index, room, in_run && step == path->depth - 1, &plan);
		new_root = parent == NULL && plan.split;
		if (parent != NULL && !tg_node_lock(parent, path->steps[step - 1].version))
		{
			tg_node_unlock_unchanged(node);
			return TG_AGAIN;
		}
		if (parent != NULL && plan.split)
		{
			key = (tg_span){plan.separator, plan.separator_bytes};
			room = tg_node_room(parent, key);
			if (room == TG_ROOM_NONE || room == TG_ROOM_PREFIX)
			{
				tg_node_unlock_unchanged(node);
				node = parent;
				step--;
				continue;
			}
		}
		if (!supply_suffices(&plan, new_root, supply))
		{
			tg_status status;

			tg_node_unlock_unchanged(node);
			if (parent != NULL)
				tg_node_unlock_unchanged(parent);
			status = supply_plan(session, tree, &plan, new_root, supply, claim);
			return status == TG_OK ? TG_AGAIN : status;
		}
		restructure_node(session, tree, node, parent, step > 0 ? path->steps[step - 1].index : 0, &plan, supply);
		return TG_AGAIN;
	}
}

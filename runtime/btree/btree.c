/*
 * btree.c
 *	  The B+tree's descents: find, insert, remove; and how it grows.
 *
 * Optimistic lock coupling (Leis, Haubenschild, Neumann: Optimistic Lock Coupling, 2019).  A
 * descent locks nothing.  An inserter locks its leaf, from the version under which it found the
 * place, so nothing has to be searched twice.  If the leaf has no room, one node is restructured,
 * and the descent starts again, until the leaf has room:
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
 * at that end: ascending keys fill the nodes, and the new node begins empty.
 *
 * Merging: btree_merge.c.
 *
 * Left out: a large node stays large.  Ascending keys within a group (a key's second column) are
 * split in the middle; PostgreSQL's "split after new tuple" is not followed.
 */
#include "runtime/btree/btree.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/book.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree_node.h"
#include "runtime/btree/btree_search.h"

/* The entries of a full leaf of keys without tails. */
#define LEAF_ENTRIES ((TG_NODE_BYTES - sizeof(tg_node)) / sizeof(tg_leaf_slot))

static const tg_span open_fence = {NULL, 0};

/* --- create and destroy ------------------------------------------------------ */

tg_status
tg_node_create(tg_session *session, tg_book *book, unsigned bytes, unsigned level, tg_claim claim, tg_node **node_out)
{
	tg_status status = tg_book_ask(book, bytes, claim);
	tg_node *node = status == TG_OK ? tg_alloc(session, bytes, TG_USE_INDEX, claim) : NULL;

	*node_out = node;
	if (node == NULL)
		return status == TG_OK ? TG_NO_MEMORY : status;
	tg_node_init(node, bytes, level);
	tg_book_add(book, (int64_t) bytes);
	return TG_OK;
}

void
tg_node_destroy(tg_session *session, tg_book *book, tg_node *node)
{
	tg_book_add(book, -(int64_t) node->bytes);
	tg_free(session, node, TG_USE_INDEX);
}

void
tg_node_retire(tg_session *session, const tg_btree *tree, tg_node *node)
{
	tg_book_add(tree->book, -(int64_t) node->bytes);
	tg_retire(session, node, TG_USE_INDEX);
}

tg_status
tg_btree_create(tg_session *session, tg_book *book, tg_claim claim, tg_btree **tree_out)
{
	tg_btree *tree = tg_alloc(session, sizeof(tg_btree), TG_USE_INDEX, claim);
	tg_status status = TG_NO_MEMORY;
	tg_node *root;

	if (tree == NULL)
		goto fail;
	status = tg_node_create(session, book, TG_NODE_BYTES, 0, claim, &root);
	if (status != TG_OK)
		goto fail;
	tree->book = book;
	tg_node_clear(root, open_fence, open_fence, open_fence);
	tg_store_release(&tree->root, root);
	*tree_out = tree;
	return TG_OK;

fail:
	if (tree != NULL)
		tg_free(session, tree, TG_USE_INDEX);
	return status;
}

void
tg_btree_free_subtree(tg_session *session, tg_book *book, tg_node *node)
{
	if (node->level > 0)
	{
		for (unsigned i = 0; i <= node->count; i++)
			tg_btree_free_subtree(session, book, *tg_node_child(node, i));
	}
	tg_node_destroy(session, book, node);
}

void
tg_btree_destroy(tg_session *session, tg_btree *tree)
{
	tg_btree_free_subtree(session, tree->book, tree->root);
	tg_free(session, tree, TG_USE_INDEX);
}

/* --- find ---------------------------------------------------------------------- */

/*
 * Prefetches the slots that a search of the leaf will read, guessing that its keys are numbers
 * without gaps: then their distance from the separator before the leaf is their place in it.  The
 * slots are those between two hints of a full leaf.
 */
TG_SEARCH void
expect_slots(const tg_node *parent, unsigned before, const tg_search_key *key, const char *leaf)
{
	const unsigned range = LEAF_ENTRIES / (TG_NODE_HINTS + 1);
	unsigned prefix_bytes = tg_load_relaxed(&parent->prefix_bytes);
	unsigned rest = key->length - prefix_bytes;
	unsigned distance;

	if (rest == 0 || rest > TG_NODE_HEAD_BYTES)
		return; /* also if the node has changed and rest is meaningless */
	distance = (tg_search_head(key, prefix_bytes) -
				tg_load_relaxed(&tg_node_slot(parent, sizeof(tg_inner_slot), before)->head)) >>
			   (8 * (TG_NODE_HEAD_BYTES - rest));
	if (distance >= LEAF_ENTRIES)
		return;
	for (unsigned line = 0; line < 4; line++)
		__builtin_prefetch(leaf + sizeof(tg_node) + distance / range * range * sizeof(tg_leaf_slot) +
						   line * TG_CACHE_LINE);
}

/* The leaf that the key belongs to.  False: start again. */
TG_SEARCH bool
find_leaf(const tg_btree *tree, const tg_search_key *key, tg_node **leaf_out, uint64_t *version_out)
{
	if (tg_unlikely(!tg_descent_enter(tree, leaf_out, version_out)))
		return false;
	while ((*leaf_out)->level > 0)
	{
		unsigned index = tg_search_child(*leaf_out, key);

		if ((*leaf_out)->level == 1 && index > 0)
			expect_slots(*leaf_out, index - 1, key, (const char *) tg_load_relaxed(tg_node_child(*leaf_out, index)));
		if (tg_unlikely(!tg_descent_step(leaf_out, version_out, index)))
			return false;
	}
	return true;
}

TG_OPTIMISTIC tg_status
tg_btree_find(tg_btree *tree, const void *key, size_t key_bytes, uint32_t *row_out)
{
	tg_search_key search = tg_search_key_make(key, key_bytes);

	for (;; tg_pause())
	{
		tg_node *leaf;
		uint64_t version;
		unsigned index;
		uint32_t row = 0;
		bool found;

		if (!find_leaf(tree, &search, &leaf, &version))
			continue;
		index = tg_search_node(leaf, sizeof(tg_leaf_slot), &search, &found);
		if (found)
			row = tg_search_row(leaf, index);
		tg_failpoint("btree_read");
		if (!tg_node_unchanged(leaf, version))
			continue;
		if (!found)
			return TG_NOT_FOUND;
		*row_out = row;
		return TG_OK;
	}
}

TG_OPTIMISTIC void
tg_btree_expect(const tg_btree *tree, const void *key, size_t key_bytes)
{
	tg_search_key search = tg_search_key_make(key, key_bytes);
	tg_node *node;
	uint64_t version;

	if (!tg_descent_enter(tree, &node, &version))
		return;
	while (node->level > 1)
	{
		if (!tg_descent_step(&node, &version, tg_search_child(node, &search)))
			return;
	}
	if (node->level == 1)
	{
		unsigned index = tg_search_child(node, &search);
		const char *leaf = (const char *) tg_load_relaxed(tg_node_child(node, index));

		__builtin_prefetch(leaf);
		__builtin_prefetch(leaf + TG_CACHE_LINE);
		if (index > 0)
			expect_slots(node, index - 1, &search, leaf);
	}
}

/* --- restructuring ---------------------------------------------------------------- */

/* The nodes from the root to a leaf, as seen by one descent. */
typedef struct tree_step
{
	tg_node *node;
	uint64_t version;
	unsigned index; /* child taken; in the leaf: place of the key */
} tree_step;

typedef struct tree_path
{
	unsigned depth; /* number of steps */
	tree_step steps[TG_BTREE_LEVELS_MAX];
} tree_path;

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

/* Memory and room that an insertion keeps for its next restructuring. */
typedef struct node_supply
{
	tg_node *left;
	tg_node *right;
	tg_node *root;
	bool retirement;
} node_supply;

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

/* Decides how to restructure a node without room for a key at this place.  Node locked. */
static void
plan_restructure(const tg_node *node, tg_span key, unsigned index, tg_room room, split_plan *plan)
{
	bool at_high = index == node->count && (node->high_offset == 0 || room == TG_ROOM_PREFIX);
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
supply_plan(tg_session *session, const tg_btree *tree, const split_plan *plan, bool new_root, node_supply *supply,
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
supply_suffices(const split_plan *plan, bool new_root, const node_supply *supply)
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

static void
release_supply(tg_session *session, const tg_btree *tree, node_supply *supply)
{
	tg_node *const nodes[] = {supply->left, supply->right, supply->root};

	for (unsigned i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
	{
		if (nodes[i] != NULL)
			tg_node_destroy(session, tree->book, nodes[i]);
	}
}

/*
 * Distributes a locked node's content as planned, to the left half (the node itself or its
 * replacement) and the right one (or NULL).
 */
static __attribute__((noinline)) void
divide_node(tg_node *node, const split_plan *plan, node_supply *supply, tg_node **left_out, tg_node **right_out)
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
raise_root(tg_btree *tree, tg_node *left, tg_node *right, tg_span separator, node_supply *supply)
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
				 const split_plan *plan, node_supply *supply)
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

/*
 * The leaf, locked and last on the path, has no room for the key.  Restructures one node on the
 * path and unlocks everything.  TG_AGAIN: descend again; or TG_NO_MEMORY.
 */
static __attribute__((noinline)) tg_status
make_room(tg_session *session, tg_btree *tree, const tree_path *path, tg_span key, tg_room room, node_supply *supply,
		  tg_claim claim)
{
	split_plan plan;
	unsigned step = path->depth - 1;
	tg_node *node = path->steps[step].node;

	for (;;)
	{
		tg_node *parent = step > 0 ? path->steps[step - 1].node : NULL;
		bool new_root;

		plan_restructure(node, key, path->steps[step].index, room, &plan);
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

/* --- insert and remove ------------------------------------------------------------- */

/*
 * As find_leaf, but records the path.  Ascending keys belong behind all others on each level, which
 * one comparison with the last entry shows.  A level is compared only if the one above was so;
 * other keys pay for one comparison in the root.
 */
TG_SEARCH bool
find_path(const tg_btree *tree, const tg_search_key *key, tree_path *path, bool *behind_out)
{
	tg_node *node;
	uint64_t version;
	unsigned depth = 0;
	bool behind = true;

	if (!tg_descent_enter(tree, &node, &version))
		return false;
	for (;;)
	{
		path->steps[depth].node = node;
		path->steps[depth].version = version;
		if (node->level == 0)
			break;
		behind = behind && tg_search_is_behind(node, sizeof(tg_inner_slot), key, &path->steps[depth].index);
		if (!behind)
			path->steps[depth].index = tg_search_child(node, key);
		if (!tg_descent_step(&node, &version, path->steps[depth].index))
			return false;
		depth++;
		tg_assert(depth < TG_BTREE_LEVELS_MAX);
	}
	path->depth = depth + 1;
	*behind_out = behind;
	return true;
}

/*
 * Finds the leaf and the key's place in it.  TG_EXISTS: the key is there, with
 * this row.  TG_NOT_FOUND: it is not.  The leaf is the last on the path.
 */
static TG_OPTIMISTIC tg_status
find_place(const tg_btree *tree, const tg_search_key *key, tree_path *path, uint32_t *row_out)
{
	for (;; tg_pause())
	{
		tree_step *leaf;
		bool behind;
		bool found = false;

		if (!find_path(tree, key, path, &behind))
			continue;
		leaf = &path->steps[path->depth - 1];
		if (!behind || !tg_search_is_behind(leaf->node, sizeof(tg_leaf_slot), key, &leaf->index))
			leaf->index = tg_search_node(leaf->node, sizeof(tg_leaf_slot), key, &found);
		if (found)
			*row_out = tg_search_row(leaf->node, leaf->index);
		tg_failpoint("btree_read");
		if (tg_node_unchanged(leaf->node, leaf->version))
			return found ? TG_EXISTS : TG_NOT_FOUND;
	}
}

tg_status
tg_btree_insert(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t *row_inout,
				tg_claim claim)
{
	tg_search_key search;
	tg_span span = {key, (unsigned) key_bytes};
	node_supply supply = {0};
	tg_status status;

	if (key_bytes > TG_KEY_BYTES_MAX)
		return TG_TOO_LARGE;
	search = tg_search_key_make(key, key_bytes);
	for (;;)
	{
		tree_path path;
		tg_node *leaf;
		uint32_t row;
		tg_room room;

		status = find_place(tree, &search, &path, &row);
		if (status == TG_EXISTS)
		{
			*row_inout = row;
			break;
		}
		leaf = path.steps[path.depth - 1].node;
		tg_failpoint("btree_lock");
		if (!tg_node_lock(leaf, path.steps[path.depth - 1].version))
			continue;
		room = tg_node_room(leaf, span);
		if (tg_likely(room == TG_ROOM || room == TG_ROOM_REBUILD))
		{
			tg_node_insert(leaf, path.steps[path.depth - 1].index, span, *row_inout, room);
			tg_node_unlock(leaf);
			status = TG_OK;
			break;
		}
		status = make_room(session, tree, &path, span, room, &supply, claim);
		if (status != TG_AGAIN)
			break;
	}
	release_supply(session, tree, &supply);
	return status;
}

tg_status
tg_btree_remove_if(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t row,
				   tg_btree_may_go may_go, const void *argument)
{
	tg_search_key search = tg_search_key_make(key, key_bytes);

	for (;;)
	{
		tree_path path;
		tg_node *leaf;
		uint32_t other;
		unsigned left;

		if (find_place(tree, &search, &path, &other) != TG_EXISTS || other != row)
			return TG_NOT_FOUND;
		leaf = path.steps[path.depth - 1].node;
		tg_failpoint("btree_lock");
		if (!tg_node_lock(leaf, path.steps[path.depth - 1].version))
			continue;
		if (may_go != NULL)
		{
			tg_fence_seq_cst();
			if (!may_go(argument))
			{
				tg_node_unlock_unchanged(leaf);
				return TG_EXISTS;
			}
		}
		tg_node_remove(leaf, path.steps[path.depth - 1].index);
		left = leaf->count;
		tg_node_unlock(leaf);
		if (left <= TG_NODE_SPARSE && left % TG_NODE_SPARSE_STEP == 0 && path.depth > 1)
			tg_btree_merge(session, tree, key, key_bytes);
		return TG_OK;
	}
}

tg_status
tg_btree_remove(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t row)
{
	return tg_btree_remove_if(session, tree, key, key_bytes, row, NULL, NULL);
}

/*
 * btree.c
 *	  The B+tree's descents: find, insert, remove.
 *
 * Optimistic lock coupling (Leis, Haubenschild, Neumann: Optimistic Lock Coupling, 2019).  A
 * descent locks nothing.  An inserter locks its leaf, from the version under which it found the
 * place, so nothing has to be searched twice.  If the leaf has no room, one node is restructured,
 * and the descent starts again, until the leaf has room (btree_grow.c).
 *
 * Merging: btree_merge.c.
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
#include "runtime/btree/btree_grow.h"
#include "runtime/btree/btree_node.h"
#include "runtime/btree/btree_search.h"

/* The entries of a full leaf of keys without tails. */
#define LEAF_ENTRIES ((TG_NODE_BYTES - sizeof(tg_node)) / sizeof(tg_leaf_slot))

/* Of a run: it is one from so many keys on; entered under one lock. */
#define RUN_LEAST 8
#define RUN_MOST 64

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

/* --- insert and remove ------------------------------------------------------------- */

/*
 * As find_leaf, but records the path.  Ascending keys belong behind all others on each level, which
 * one comparison with the last entry shows.  A level is compared only if the one above was so;
 * other keys pay for one comparison in the root.
 */
TG_SEARCH bool
find_path(const tg_btree *tree, const tg_search_key *key, tg_tree_path *path, bool *behind_out)
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
 * Finds the leaf and the key's place in it.  TG_EXISTS: the key is there, with this row.
 * TG_NOT_FOUND: it is not, and *row_out is as it was.  The leaf is the last on the path.
 */
static TG_OPTIMISTIC tg_status
find_place(const tg_btree *tree, const tg_search_key *key, tg_tree_path *path, uint32_t *row_out)
{
	for (;; tg_pause())
	{
		tg_tree_step *leaf;
		bool behind;
		bool found = false;
		uint32_t row = 0;

		if (!find_path(tree, key, path, &behind))
			continue;
		leaf = &path->steps[path->depth - 1];
		if (!behind || !tg_search_is_behind(leaf->node, sizeof(tg_leaf_slot), key, &leaf->index))
			leaf->index = tg_search_node(leaf->node, sizeof(tg_leaf_slot), key, &found);
		if (found)
			row = tg_search_row(leaf->node, leaf->index);
		tg_failpoint("btree_read");
		if (!tg_node_unchanged(leaf->node, leaf->version))
			continue;
		if (found)
			*row_out = row;
		return found ? TG_EXISTS : TG_NOT_FOUND;
	}
}

tg_status
tg_btree_insert(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t *row_inout,
				tg_claim claim)
{
	tg_search_key search;
	tg_span span = {key, (unsigned) key_bytes};
	tg_node_supply supply = {0};
	tg_status status;

	if (key_bytes > TG_KEY_BYTES_MAX)
		return TG_TOO_LARGE;
	search = tg_search_key_make(key, key_bytes);
	for (;;)
	{
		tg_tree_path path;
		tg_node *leaf;
		tg_room room;

		status = find_place(tree, &search, &path, row_inout);
		if (status == TG_EXISTS)
			break;
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
		status = tg_tree_make_room(session, tree, &path, span, room, false, &supply, claim);
		if (status != TG_AGAIN)
			break;
	}
	tg_supply_release(session, tree, &supply);
	return status;
}

/* Whether a key that is not below the leaf's keys is one of the leaf's.  Leaf locked. */
static bool
belongs_to(const tg_node *leaf, const tg_btree_entry *entry)
{
	unsigned common = entry->key_bytes < leaf->high_bytes ? entry->key_bytes : leaf->high_bytes;
	int order;

	if (leaf->high_offset == 0)
		return true;
	order = memcmp(entry->key, (const char *) leaf + leaf->high_offset, common);
	return order < 0 || (order == 0 && entry->key_bytes < leaf->high_bytes);
}

/*
 * The place of a key that is above the entry before `next`, or equal to it; most belong right
 * there.
 */
static unsigned
place_behind(const tg_node *leaf, unsigned next, const tg_btree_entry *entry, bool *found_out)
{
	tg_search_key key = tg_search_key_make(entry->key, entry->key_bytes);
	unsigned prefix_bytes = leaf->prefix_bytes;
	uint32_t head;

	*found_out = false;
	if (tg_search_prefix(leaf, &key, prefix_bytes) == 0)
	{
		head = tg_search_head(&key, prefix_bytes);
		if (tg_node_slot(leaf, sizeof(tg_leaf_slot), next - 1)->head < head &&
			(next == leaf->count || head < tg_node_slot(leaf, sizeof(tg_leaf_slot), next)->head))
			return next;
	}
	return tg_search_node(leaf, sizeof(tg_leaf_slot), &key, found_out);
}

/* Whether so many of the keys from this one on, which is not in the leaf, have the same place. */
static bool
is_run(const tg_node *leaf, unsigned index, const tg_btree_entry *entries, unsigned count)
{
	tg_search_key last;
	bool found;

	if (count < RUN_LEAST)
		return false;
	last = tg_search_key_make(entries[RUN_LEAST - 1].key, entries[RUN_LEAST - 1].key_bytes);
	return belongs_to(leaf, &entries[RUN_LEAST - 1]) &&
		   tg_search_node(leaf, sizeof(tg_leaf_slot), &last, &found) == index && !found;
}

/*
 * Enters the first keys, of which the first is not in the leaf and has this place; returns their
 * number.  *room_out: why the next one, if it is the first, has no room.  Leaf locked.
 */
static unsigned
enter_run(tg_node *leaf, unsigned index, tg_btree_entry *entries, unsigned count, tg_room *room_out)
{
	unsigned entered = 0;

	*room_out = TG_ROOM;
	while (entered < count && entered < RUN_MOST)
	{
		tg_btree_entry *entry = &entries[entered];
		tg_span span = {entry->key, entry->key_bytes};

		if (entered > 0 && !belongs_to(leaf, entry))
			break;
		if (entered > 0)
			index = place_behind(leaf, index, entry, &entry->found);
		if (entry->found)
			entry->row = tg_search_row(leaf, index);
		else
		{
			*room_out = tg_node_room(leaf, span);
			if (*room_out != TG_ROOM && *room_out != TG_ROOM_REBUILD)
				break;
			tg_node_insert(leaf, index, span, entry->row, *room_out);
		}
		index++;
		entered++;
	}
	return entered;
}

tg_status
tg_btree_insert_run(tg_session *session, tg_btree *tree, tg_btree_entry *entries, unsigned count, tg_claim claim,
					unsigned *done_out)
{
	tg_node_supply supply = {0};
	tg_status status = TG_OK;
	unsigned done = 0;

	while (done < count && status == TG_OK)
	{
		tg_btree_entry *entry = &entries[done];
		tg_search_key search = tg_search_key_make(entry->key, entry->key_bytes);
		tg_span span = {entry->key, entry->key_bytes};
		tg_tree_path path;
		tg_tree_step *leaf;
		tg_room room;
		unsigned entered;

		tg_assert(entry->key_bytes <= TG_KEY_BYTES_MAX);
		entry->found = find_place(tree, &search, &path, &entry->row) == TG_EXISTS;
		if (entry->found)
		{
			done++;
			continue;
		}
		leaf = &path.steps[path.depth - 1];
		tg_failpoint("btree_lock");
		if (!tg_node_lock(leaf->node, leaf->version))
			continue;
		entered = enter_run(leaf->node, leaf->index, entry, count - done, &room);
		done += entered;
		if (entered > 0)
			tg_node_unlock(leaf->node);
		else
		{
			status = tg_tree_make_room(session, tree, &path, span, room,
									   is_run(leaf->node, leaf->index, entry, count - done), &supply, claim);
			status = status == TG_AGAIN ? TG_OK : status;
		}
	}
	tg_supply_release(session, tree, &supply);
	*done_out = done;
	return status;
}

tg_status
tg_btree_remove_if(tg_session *session, tg_btree *tree, const void *key, size_t key_bytes, uint32_t row,
				   tg_btree_may_go may_go, const void *argument)
{
	tg_search_key search = tg_search_key_make(key, key_bytes);

	for (;;)
	{
		tg_tree_path path;
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

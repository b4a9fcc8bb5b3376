/*
 * btree_load.c
 *	  Building a B+tree bottom-up.
 *
 * Each level has one unfinished node, its draft: a large node outside the tree, to which entries
 * are appended until they would fill a node of the tree to its target.  Then the node is made from
 * the draft.  Its upper fence is the place where the next entry begins, its lower fence the
 * separator above it.
 *
 *		loading:	A -> B -> C, and draft 0: the entries behind C
 *		the end:	draft 1:	first | sep B | sep C | ...			low fence of the draft: that of
 *								  its first child |		  |		 |
 *					leaves:		  A		  B		 C
 *
 * Until the end the leaves are in a chain, linked by the word that inner nodes have for their first
 * child.  So several sessions can build parts of a tree at once: the last draft of one part becomes
 * a leaf up to where the next part begins, and the chains are joined.  The levels above are a
 * hundredth of the work.
 *
 * A separator between leaves is the shortest beginning of the next key that is above the last key,
 * or the place where a part begins.  Between inner nodes it is the entry that would have been next,
 * whose child becomes the first of the node to come.  So the nodes satisfy all of btree_node.h's
 * invariants, including N4 and N7.
 *
 * A node of few, long entries is made large, as splitting would do.
 */
#include "runtime/btree/btree_load.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree_node.h"

#define TARGET_BYTES (TG_NODE_BYTES * 9 / 10)			 /* leaves room for later insertions */
#define TARGET_BYTES_LARGE (TG_NODE_BYTES_LARGE * 3 / 4) /* leaves room for any fence */

_Static_assert(TARGET_BYTES_LARGE + TG_KEY_BYTES_MAX <= TG_NODE_BYTES_LARGE,
			   "a draft makes a node, whatever its fence");

typedef struct load_level
{
	tg_node_copy draft;
	bool is_begun; /* inner: it has its first child; leaf: a key */
} load_level;

struct tg_btree_load
{
	tg_node *leaves; /* finished ones, linked by their first */
	tg_node *last_leaf;
	tg_book *book;		  /* of the tree to be built */
	unsigned level_count; /* number of drafts; one until the end */
	load_level *levels[TG_BTREE_LEVELS_MAX];
};

static const tg_span open_fence = {NULL, 0};

/* Makes the draft empty, beginning at a fence. */
static void
begin_draft(load_level *level, unsigned number, tg_span low)
{
	tg_node_init(&level->draft.node, TG_NODE_BYTES_LARGE, number);
	tg_node_clear(&level->draft.node, low, open_fence, open_fence);
	level->is_begun = false;
}

static tg_status
need_level(tg_session *session, tg_btree_load *load, unsigned number)
{
	if (number < load->level_count)
		return TG_OK;
	tg_check(number < TG_BTREE_LEVELS_MAX);
	load->levels[number] = tg_alloc(session, sizeof(load_level), TG_USE_JOB, TG_DATA);
	if (load->levels[number] == NULL)
		return TG_NO_MEMORY;
	begin_draft(load->levels[number], number, open_fence);
	load->level_count = number + 1;
	return TG_OK;
}

tg_status
tg_btree_load_begin(tg_session *session, tg_book *book, const void *low, size_t low_bytes, tg_btree_load **load_out)
{
	tg_btree_load *load = tg_alloc_zeroed(session, sizeof(tg_btree_load), TG_USE_JOB, TG_DATA);

	if (load == NULL)
		return TG_NO_MEMORY;
	if (need_level(session, load, 0) != TG_OK)
	{
		tg_free(session, load, TG_USE_JOB);
		return TG_NO_MEMORY;
	}
	load->book = book;
	begin_draft(load->levels[0], 0, (tg_span){low, (unsigned) low_bytes});
	*load_out = load;
	return TG_OK;
}

/*
 * Whether the draft with one more key would exceed a node's target; if not, its room for the key.
 */
static bool
is_full(const tg_node *draft, tg_span key, tg_room *room_out)
{
	unsigned stride = tg_node_stride(draft);
	unsigned used = draft->bytes - draft->heap + (unsigned) sizeof(tg_node) + draft->count * stride;
	unsigned prefix_bytes = draft->prefix_bytes;
	tg_room room = tg_node_room(draft, key);

	*room_out = room;
	if (draft->count == 0)
		return false;
	if (room == TG_ROOM_NONE || room == TG_ROOM_PREFIX)
		return true;
	if (room == TG_ROOM_REBUILD)
	{
		/* with a shorter prefix */
		prefix_bytes = tg_node_common_with(draft, 0, key);
		used = tg_node_need(draft, 0, draft->count, prefix_bytes, draft->low_bytes, 0);
	}
	used += stride + tg_slot_tail(key.length - prefix_bytes);
	return used > (draft->count < TG_NODE_GROW_ENTRIES ? TARGET_BYTES_LARGE : TARGET_BYTES);
}

/*
 * Whether is_full is certainly false, quickly: there is room, and the key has the others' prefix.
 */
static inline bool
has_place(const tg_node *draft, tg_span key)
{
	tg_span prefix = tg_node_prefix(draft);
	unsigned common = 0;
	unsigned used;

	if (draft->count < TG_NODE_GROW_ENTRIES || key.length < prefix.length)
		return false;
	while (common < prefix.length && key.bytes[common] == prefix.bytes[common])
		common++;
	used = draft->bytes - draft->heap + (unsigned) sizeof(tg_node) + (draft->count + 1U) * tg_node_stride(draft);
	return common == prefix.length && used + tg_slot_tail(key.length - common) <= TARGET_BYTES;
}

static tg_status add_child(tg_session *session, tg_btree_load *load, unsigned number, tg_span low, tg_node *child);

/* Makes a node of the draft's entries, up to this fence. */
static tg_status
make_node(tg_session *session, tg_book *book, const tg_node *draft, tg_span high, tg_node **node_out)
{
	unsigned need = tg_node_need(draft, 0, draft->count, tg_node_range_prefix(draft, 0, draft->count), draft->low_bytes,
								 high.length);
	unsigned bytes = need <= TG_NODE_BYTES ? TG_NODE_BYTES : TG_NODE_BYTES_LARGE;
	tg_status status = tg_node_create(session, book, bytes, draft->level, TG_DATA, node_out);
	tg_node *node = *node_out;

	if (status != TG_OK)
		return status;
	tg_assert(need <= bytes);
	tg_node_fill(node, draft, 0, draft->count, tg_node_low(draft), high);
	node->first = draft->first;
	return TG_OK;
}

/* Likewise for a leaf, which is appended to the chain. */
static tg_status
finish_leaf(tg_session *session, tg_btree_load *load, tg_span high)
{
	load_level *level = load->levels[0];
	tg_node *leaf;
	tg_status status = make_node(session, load->book, &level->draft.node, high, &leaf);

	if (status != TG_OK)
		return status;
	leaf->first = NULL;
	if (load->leaves == NULL)
		load->leaves = leaf;
	else
		load->last_leaf->first = leaf;
	load->last_leaf = leaf;
	begin_draft(level, 0, high);
	return TG_OK;
}

/* Makes an inner node of the draft, up to this fence, and adds it to the level above. */
static tg_status
finish_draft(tg_session *session, tg_btree_load *load, unsigned number, tg_span high)
{
	const tg_node *draft = &load->levels[number]->draft.node;
	tg_node *node;
	tg_status status = need_level(session, load, number + 1);

	if (status == TG_OK)
		status = make_node(session, load->book, draft, high, &node);
	if (status != TG_OK)
		return status;
	status = add_child(session, load, number + 1, tg_node_low(draft), node);
	if (status != TG_OK)
	{
		tg_node_destroy(session, load->book, node); /* its children are still the draft's */
		return status;
	}
	begin_draft(load->levels[number], number, high);
	return TG_OK;
}

/* Adds a node of the level below that begins at this fence. */
static tg_status
add_child(tg_session *session, tg_btree_load *load, unsigned number, tg_span low, tg_node *child)
{
	load_level *level = load->levels[number];
	tg_node *draft = &level->draft.node;
	tg_room room;

	if (level->is_begun && is_full(draft, low, &room))
	{
		tg_status status = finish_draft(session, load, number, low);

		if (status != TG_OK)
			return status;
	}
	if (level->is_begun)
		tg_node_insert(draft, draft->count, low, (uintptr_t) child, room);
	else
		draft->first = child;
	level->is_begun = true;
	return TG_OK;
}

tg_status
tg_btree_load_add(tg_session *session, tg_btree_load *load, const void *key, size_t key_bytes, uint32_t row)
{
	tg_span span = {key, (unsigned) key_bytes};
	load_level *level = load->levels[0];
	tg_node *draft = &level->draft.node;
	tg_room room;

	if (key_bytes > TG_KEY_BYTES_MAX)
		return TG_TOO_LARGE;
	if (tg_likely(has_place(draft, span)))
	{
		tg_node_append(draft, span, row);
		return TG_OK;
	}
	if (is_full(draft, span, &room))
	{
		unsigned common = tg_node_common_with(draft, draft->count - 1U, span);
		tg_status status;

		/* The key is above the last one, so it is longer than their common beginning. */
		tg_assert(common < span.length);
		status = finish_leaf(session, load, (tg_span){span.bytes, common + 1});
		if (status != TG_OK)
			return status;
		room = tg_node_room(draft, span);
	}
	tg_node_insert(draft, draft->count, span, row, room);
	level->is_begun = true;
	return TG_OK;
}

/* --- parts ------------------------------------------------------------------------------ */

static void
free_levels(tg_session *session, tg_btree_load *load)
{
	for (unsigned i = 0; i < load->level_count; i++)
		tg_free(session, load->levels[i], TG_USE_JOB);
	tg_free(session, load, TG_USE_JOB);
}

tg_status
tg_btree_load_join(tg_session *session, tg_btree_load *load, tg_btree_load *next)
{
	load_level *draft = load->levels[0];
	tg_span begin = tg_node_low(next->leaves != NULL ? next->leaves : &next->levels[0]->draft.node);

	tg_assert(begin.bytes != NULL && load->level_count == 1 && next->level_count == 1);
	if (draft->is_begun)
	{
		tg_status status = finish_leaf(session, load, begin);

		if (status != TG_OK)
			return status;
	}
	/*
	 * (Without a leaf the part has had no entry, and no part would end where the next one begins.)
	 */
	tg_assert(load->last_leaf != NULL);
	load->last_leaf->first = next->leaves;
	if (next->last_leaf != NULL)
		load->last_leaf = next->last_leaf;
	load->levels[0] = next->levels[0];
	next->levels[0] = draft;
	next->leaves = NULL;
	free_levels(session, next);
	return TG_OK;
}

/* --- the end ---------------------------------------------------------------------------- */

void
tg_btree_load_abandon(tg_session *session, tg_btree_load *load)
{
	for (unsigned i = 1; i < load->level_count; i++)
	{
		const load_level *level = load->levels[i];

		for (unsigned j = 0; level->is_begun && j <= level->draft.node.count; j++)
			tg_btree_free_subtree(session, load->book, *tg_node_child(&level->draft.node, j));
	}
	while (load->leaves != NULL)
	{
		tg_node *leaf = load->leaves;

		load->leaves = leaf->first;
		tg_node_destroy(session, load->book, leaf);
	}
	free_levels(session, load);
}

/* Whether this draft has the root as its only child, and no node was finished before. */
static bool
is_above_root(const tg_btree_load *load, unsigned number)
{
	const tg_node *draft = &load->levels[number]->draft.node;

	return number + 1 == load->level_count && draft->count == 0 && draft->low_offset == 0;
}

static void
install(tg_session *session, tg_btree *tree, tg_node *root)
{
	for (;; tg_pause())
	{
		tg_node *old = tg_load_acquire(&tree->root);
		uint64_t version = tg_node_version(old);

		if ((version & TG_NODE_OBSOLETE) != 0 || !tg_node_lock(old, version))
			continue;
		tg_check(old->level == 0 && old->count == 0);
		tg_store_release(&tree->root, root);
		tg_node_unlock_obsolete(old);
		tg_node_retire(session, tree, old);
		return;
	}
}

/*
 * Builds the levels above the leaves; *root_out is NULL if there are none.  Resumable after
 * TG_NO_MEMORY.
 */
static tg_status
build_levels(tg_session *session, tg_btree_load *load, tg_node **root_out)
{
	tg_status status = TG_OK;
	unsigned number = 1;

	*root_out = NULL;
	if (load->levels[0]->is_begun)
		status = finish_leaf(session, load, open_fence);
	if (status == TG_OK && load->leaves != NULL)
		status = need_level(session, load, 1);
	while (status == TG_OK && load->leaves != NULL)
	{
		tg_node *leaf = load->leaves;
		tg_node *next = leaf->first;

		leaf->first = NULL;
		status = add_child(session, load, 1, tg_node_low(leaf), leaf);
		if (status == TG_OK)
			load->leaves = next;
		else
			leaf->first = next;
	}
	if (status != TG_OK || load->level_count == 1)
		return status;
	/*
	 * Finishing a level's last draft may make the level above grow, or add one, so this goes
	 * upwards.
	 */
	for (; !is_above_root(load, number); number++)
	{
		if (!load->levels[number]->is_begun)
			continue; /* a try that ended for want of memory has left it so */
		status = finish_draft(session, load, number, open_fence);
		if (status != TG_OK)
			return status;
	}
	*root_out = load->levels[number]->draft.node.first;
	return TG_OK;
}

tg_status
tg_btree_load_finish(tg_session *session, tg_btree_load *load, tg_btree *tree)
{
	tg_node *root;
	tg_status status = tg_retire_reserve(session, 1);

	if (status == TG_OK)
		status = build_levels(session, load, &root);
	if (status != TG_OK)
		return status;
	if (root != NULL)
		install(session, tree, root);
	free_levels(session, load);
	return TG_OK;
}

/*
 * btree_load.c
 *	  Making a B+tree bottom-up.
 *
 * Each level has one node in the making, its draft: a large node outside the
 * tree, which entries are appended to until they would fill a node of the tree
 * to TARGET_SHARE.  Then the node is made of the draft, with the place where the next
 * entry begins as its upper fence, and goes up as an entry of the draft above; its
 * lower fence is the separator there.
 *
 *		draft 1:	first | sep B | sep C | ...			low fence of the draft: that of its first child
 *					  |		  |		 |
 *		leaves:		  A		  B		 C		draft 0: what comes behind C
 *
 * A separator is the shortest beginning of the next key that is above the last
 * one; between inner nodes it is the entry that would have been next, whose child
 * becomes the first of the node to come.  So all of btree_node.h's invariants hold of
 * what is made, N4 and N7 among them.
 *
 * A node of few, long entries is made large, as splitting would have it.
 */
#include "runtime/storage/btree_load.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/storage/btree_node.h"

#define TARGET_BYTES (TG_NODE_BYTES * 9 / 10)			 /* what is inserted later shall find room */
#define TARGET_BYTES_LARGE (TG_NODE_BYTES_LARGE * 3 / 4) /* beside it there is room for any fence */

_Static_assert(TARGET_BYTES_LARGE + TG_KEY_BYTES_MAX <= TG_NODE_BYTES_LARGE,
			   "a draft makes a node, whatever its fence");

typedef struct load_level
{
	tg_node_copy draft;
	bool is_begun; /* inner: it has its first child; leaf: a key */
} load_level;

struct tg_btree_load
{
	unsigned level_count;
	load_level *levels[TG_BTREE_LEVELS_MAX];
};

static const tg_span open_fence = {NULL, 0};

tg_status
tg_btree_load_begin(tg_session *session, tg_btree_load **load_out)
{
	*load_out = tg_alloc_zeroed(session, sizeof(tg_btree_load), TG_USE_JOB, TG_DATA);
	return *load_out == NULL ? TG_NO_MEMORY : TG_OK;
}

/* An empty draft that begins at a fence. */
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

/* Whether the draft, with one more key, is more than a node should have; if not, what room it has for it. */
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

static tg_status add_child(tg_session *session, tg_btree_load *load, unsigned number, tg_span low, tg_node *child);

/* Makes a node of the draft, up to this fence, and hands it up. */
static tg_status
finish_draft(tg_session *session, tg_btree_load *load, unsigned number, tg_span high)
{
	const tg_node *draft = &load->levels[number]->draft.node;
	unsigned need = tg_node_need(draft, 0, draft->count, tg_node_range_prefix(draft, 0, draft->count), draft->low_bytes,
								 high.length);
	unsigned bytes = need <= TG_NODE_BYTES ? TG_NODE_BYTES : TG_NODE_BYTES_LARGE;
	tg_node *node;
	tg_status status = need_level(session, load, number + 1);

	if (status != TG_OK)
		return status;
	node = tg_alloc(session, bytes, TG_USE_INDEX, TG_DATA);
	if (node == NULL)
		return TG_NO_MEMORY;
	tg_assert(need <= bytes);
	tg_node_init(node, bytes, number);
	tg_node_fill(node, draft, 0, draft->count, tg_node_low(draft), high);
	node->first = draft->first;
	status = add_child(session, load, number + 1, tg_node_low(draft), node);
	if (status != TG_OK)
	{
		tg_free(session, node, TG_USE_INDEX); /* its children are still the draft's */
		return status;
	}
	begin_draft(load->levels[number], number, high);
	return TG_OK;
}

/* A node of the level below that begins at this fence. */
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
	load_level *level;
	tg_node *draft;
	tg_room room;
	tg_status status = need_level(session, load, 0);

	if (status != TG_OK)
		return status;
	if (key_bytes > TG_KEY_BYTES_MAX)
		return TG_TOO_LARGE;
	level = load->levels[0];
	draft = &level->draft.node;
	if (is_full(draft, span, &room))
	{
		unsigned common = tg_node_common_with(draft, draft->count - 1U, span);

		/* Above the last key, so it is longer than what they have in common. */
		tg_assert(common < span.length);
		status = finish_draft(session, load, 0, (tg_span){span.bytes, common + 1});
		if (status != TG_OK)
			return status;
		room = tg_node_room(draft, span);
	}
	tg_node_insert(draft, draft->count, span, row, room);
	level->is_begun = true;
	return TG_OK;
}

/* --- the end ---------------------------------------------------------------------------- */

static void
free_levels(tg_session *session, tg_btree_load *load)
{
	for (unsigned i = 0; i < load->level_count; i++)
		tg_free(session, load->levels[i], TG_USE_JOB);
	tg_free(session, load, TG_USE_JOB);
}

void
tg_btree_load_abandon(tg_session *session, tg_btree_load *load)
{
	for (unsigned i = 1; i < load->level_count; i++)
	{
		const load_level *level = load->levels[i];

		for (unsigned j = 0; level->is_begun && j <= level->draft.node.count; j++)
			tg_btree_free_subtree(session, *tg_node_child(&level->draft.node, j));
	}
	free_levels(session, load);
}

/* Whether this draft has the root as its only child, and nothing came before. */
static bool
is_above_root(const tg_btree_load *load, unsigned number)
{
	const tg_node *draft = &load->levels[number]->draft.node;

	return number + 1 == load->level_count && number > 0 && draft->count == 0 && draft->low_offset == 0;
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
		tg_retire(session, old, TG_USE_INDEX);
		return;
	}
}

tg_status
tg_btree_load_finish(tg_session *session, tg_btree_load *load, tg_btree *tree)
{
	unsigned number = 0;
	tg_status status = tg_retire_reserve(session, 1);

	if (status != TG_OK)
		return status;
	if (load->level_count > 0)
	{
		/* A level's last draft is finished before the one above it is looked at; that may make it grow, or a new one. */
		for (; !is_above_root(load, number); number++)
		{
			if (!load->levels[number]->is_begun)
				continue; /* as it was left by a try that memory ended */
			status = finish_draft(session, load, number, open_fence);
			if (status != TG_OK)
				return status;
		}
		install(session, tree, load->levels[number]->draft.node.first);
	}
	free_levels(session, load);
	return TG_OK;
}

/*
 * tree.c
 *	  The tree of a batch: which seat runs what next, and how the batch ends.
 *
 * 1. Children are counted before the first of them can end, all at once: so a count falls to 0 when
 *	  there is nothing more to come, and once.  A seat that goes on with another block of its file,
 *	  or a place that goes on with another file, stays counted.
 * 2. The count of a place falls to 0 by an acq_rel step: the thread that takes it there sees what
 *	  all other seats of the place have done, and is the only one that uses the place from then on.
 * 3. A seat is handed to its thread by the release of its statement's word, which the thread reads
 *	  with acquire.
 * 4. A reference is taken by a thread that has one, or while there is one (tg_batch_fail).  The
 *	  step from 1 to 0 is acq_rel: all uses of the tree come before drained.
 */
#include "runtime/batch/tree.h"

#include <stddef.h>

#include "runtime/base/check.h"

#define STATE_MASK 3u
#define CHILD 4u /* one active child in a word */

static uint32_t
word_of(tg_node_state state, uint32_t children)
{
	return (uint32_t) state | children * CHILD;
}

static tg_node_state
state_of(uint32_t word)
{
	return (tg_node_state) (word & STATE_MASK);
}

/* --- nodes ---------------------------------------------------------------------------------- */

static void
create_node(uint32_t *word)
{
	tg_store_relaxed(word, word_of(TG_NODE_CREATED, 0));
}

static void
activate_node(uint32_t *word, uint32_t children)
{
	tg_assert(tg_load_relaxed(word) == word_of(TG_NODE_CREATED, 0));
	tg_store_release(word, word_of(TG_NODE_ACTIVATED, children));
}

/* By the only thread that can change it. */
static void
deactivate_node(uint32_t *word, tg_node_state from)
{
	tg_assert(state_of(tg_load_relaxed(word)) == from);
	tg_store_relaxed(word, word_of(TG_NODE_DEACTIVATED, 0));
}

static void
dispose_node(uint32_t *word)
{
	tg_assert(tg_load_relaxed(word) == word_of(TG_NODE_DEACTIVATED, 0));
	tg_store_relaxed(word, word_of(TG_NODE_DISPOSED, 0));
}

/* A child has gone.  True: it was the last one, and the node is deactivated (2). */
static bool
leave_node(uint32_t *word)
{
	uint32_t before = tg_fetch_add_acq_rel(word, 0u - CHILD);

	tg_assert(state_of(before) == TG_NODE_ACTIVATED && before >= CHILD);
	if (before != word_of(TG_NODE_ACTIVATED, 1))
		return false;
	deactivate_node(word, TG_NODE_ACTIVATED);
	return true;
}

/* --- the end -------------------------------------------------------------------------------- */

/* B4 */
static void
dispose_all(tg_batch_tree *tree)
{
	for (uint32_t i = 0; i < tree->files_at_once; i++)
	{
		for (uint32_t j = 0; j < tree->blocks_at_once; j++)
		{
			tg_store_relaxed(&tree->places[i].seats[j].statement_word, word_of(TG_NODE_DISPOSED, 0));
			tg_store_relaxed(&tree->places[i].seats[j].block_word, word_of(TG_NODE_DISPOSED, 0));
		}
		tg_store_relaxed(&tree->places[i].word, word_of(TG_NODE_DISPOSED, 0));
	}
	tg_store_relaxed(&tree->word, word_of(TG_NODE_DISPOSED, 0));
}

/* B3 */
static bool
decide(tg_batch_tree *tree, tg_batch_outcome outcome)
{
	uint32_t running = TG_BATCH_RUNNING;

	return tg_cas_acq_rel(&tree->outcome, &running, (uint32_t) outcome);
}

static void
release_tree(tg_batch_tree *tree, void *context)
{
	if (tg_fetch_add_acq_rel(&tree->references, (uint32_t) -1) != 1)
		return;
	if (decide(tree, TG_BATCH_SUCCEEDED))
	{
		dispose_node(&tree->word);
		tree->ops->complete(tree->argument, TG_BATCH_SUCCEEDED, context);
	}
	else
		dispose_all(tree);
	tree->ops->drained(tree->argument, (tg_batch_outcome) tg_load_relaxed(&tree->outcome), context);
}

/* False: there is none left. */
static bool
retain_tree(tg_batch_tree *tree)
{
	uint32_t references = tg_load_relaxed(&tree->references);

	while (references > 0)
		if (tg_cas_acq_rel(&tree->references, &references, references + 1))
			return true;
	return false;
}

bool
tg_batch_fail(tg_batch_tree *tree, void (*note)(void *note_argument), void *note_argument, void *context)
{
	bool decides;

	if (!retain_tree(tree))
		return false;
	decides = decide(tree, TG_BATCH_ERROR_ABORTING);
	if (decides)
	{
		note(note_argument);
		tree->ops->complete(tree->argument, TG_BATCH_ERROR_ABORTING, context);
	}
	release_tree(tree, context);
	return decides;
}

/* --- seats ---------------------------------------------------------------------------------- */

/* 3: the last store is that of the statement's word. */
static void
begin_block(tg_batch_seat *seat, uint32_t block)
{
	seat->file = seat->place->file;
	seat->block = block;
	tg_store_relaxed(&seat->shown, (uint64_t) seat->file << 32 | block);
	create_node(&seat->block_word);
	create_node(&seat->statement_word);
	activate_node(&seat->block_word, 1);
	activate_node(&seat->statement_word, 0);
}

static void
dispose_block(tg_batch_seat *seat)
{
	(void) leave_node(&seat->block_word);
	dispose_node(&seat->block_word);
}

static void
begin_other(tg_batch_seat *seat, uint32_t block, void *context)
{
	tg_batch_tree *tree = seat->place->tree;

	/* the caller has a reference (4) */
	tg_fetch_add_relaxed(&tree->references, 1);
	begin_block(seat, block);
	tree->ops->schedule(tree->argument, seat, context);
}

/* The caller alone uses the place.  own: the seat that it runs; NULL: it runs none. */
static void
begin_file(tg_batch_place *place, tg_batch_seat *own, uint32_t file, uint32_t block_count, void *context)
{
	uint32_t most = place->tree->blocks_at_once;
	uint32_t seats = block_count < most ? block_count : most;
	uint32_t block = 0;

	place->file = file;
	tg_store_relaxed(&place->shown, file);
	place->block_count = block_count;
	tg_store_relaxed(&place->next_block, seats);
	activate_node(&place->word, seats); /* 1 */
	if (own != NULL)
		begin_block(own, block++);
	for (tg_batch_seat *seat = place->seats; block < seats; seat++)
		if (seat != own)
			begin_other(seat, block++, context);
}

/* The next file that has anything to do, in this place.  False: there is none. */
static bool
next_file(tg_batch_place *place, tg_batch_seat *own, void *context)
{
	tg_batch_tree *tree = place->tree;

	while (tg_batch_is_running(tree))
	{
		uint32_t file = tg_fetch_add_relaxed(&tree->next_file, 1);
		uint32_t block_count;

		if (file >= tree->file_count)
		{
			(void) leave_node(&tree->word);
			return false;
		}
		create_node(&place->word);
		block_count = tree->ops->count_blocks(tree->argument, file);
		if (block_count > 0)
		{
			begin_file(place, own, file, block_count, context);
			return true;
		}
		deactivate_node(&place->word, TG_NODE_CREATED);
		dispose_node(&place->word);
	}
	return false;
}

/* B2.  False: the seat stays empty. */
static bool
next_block(tg_batch_seat *seat, void *context)
{
	tg_batch_place *place = seat->place;
	uint32_t block = tg_fetch_add_relaxed(&place->next_block, 1);

	dispose_block(seat);
	if (block < place->block_count)
	{
		begin_block(seat, block);
		return true;
	}
	if (!leave_node(&place->word))
		return false;
	dispose_node(&place->word);
	return next_file(place, seat, context);
}

/* --- life ----------------------------------------------------------------------------------- */

void
tg_batch_tree_init(tg_batch_tree *tree, const tg_batch_ops *ops, void *argument, tg_batch_place *places,
				   tg_batch_seat *seats)
{
	tg_assert(tree->files_at_once > 0 && tree->blocks_at_once > 0);
	tree->ops = ops;
	tree->argument = argument;
	tree->places = places;
	tg_store_relaxed(&tree->next_file, 0);
	tg_store_relaxed(&tree->references, 1);
	tg_store_relaxed(&tree->outcome, TG_BATCH_RUNNING);
	create_node(&tree->word);
	for (uint32_t i = 0; i < tree->files_at_once; i++)
	{
		places[i] = (tg_batch_place){.tree = tree, .seats = seats + i * tree->blocks_at_once};
		for (uint32_t j = 0; j < tree->blocks_at_once; j++)
			places[i].seats[j] = (tg_batch_seat){.place = &places[i], .number = i * tree->blocks_at_once + j};
	}
}

void
tg_batch_tree_start(tg_batch_tree *tree, void *context)
{
	activate_node(&tree->word, tree->files_at_once);
	for (uint32_t i = 0; i < tree->files_at_once; i++)
		(void) next_file(&tree->places[i], NULL, context);
	release_tree(tree, context);
}

bool
tg_batch_seat_is_active(const tg_batch_seat *seat)
{
	return state_of(tg_load_acquire(&seat->statement_word)) == TG_NODE_ACTIVATED;
}

bool
tg_batch_statement_done(tg_batch_seat *seat, bool more, void *context)
{
	tg_batch_tree *tree = seat->place->tree;

	deactivate_node(&seat->statement_word, TG_NODE_ACTIVATED);
	dispose_node(&seat->statement_word);
	if (tg_batch_is_running(tree))
	{
		if (more)
		{
			create_node(&seat->statement_word);
			activate_node(&seat->statement_word, 0);
			return true;
		}
		if (next_block(seat, context))
			return true;
	}
	release_tree(tree, context);
	return false;
}

void
tg_batch_statement_ended(tg_batch_seat *seat, void *context)
{
	tg_assert(!tg_batch_is_running(seat->place->tree));
	(void) tg_batch_statement_done(seat, false, context);
}

/* --- for those who look ----------------------------------------------------------------------- */

/* Unless it is not there: no node has been in this place yet, or the last one is disposed. */
static unsigned
look_at(tg_batch_node *node, tg_batch_level level, const uint32_t *word, uint64_t shown, uint32_t seat)
{
	tg_node_state state = state_of(tg_load_relaxed(word));

	if (state == TG_NODE_DISPOSED || (state == TG_NODE_CREATED && level != TG_LEVEL_BATCH))
		return 0;
	*node = (tg_batch_node){
		.level = level, .state = state, .file = (uint32_t) (shown >> 32), .block = (uint32_t) shown, .seat = seat};
	return 1;
}

unsigned
tg_batch_tree_look(const tg_batch_tree *tree, tg_batch_node *nodes)
{
	unsigned count = look_at(nodes, TG_LEVEL_BATCH, &tree->word, 0, 0);

	for (uint32_t i = 0; i < tree->files_at_once; i++)
	{
		const tg_batch_place *place = &tree->places[i];

		count +=
			look_at(&nodes[count], TG_LEVEL_FILE, &place->word, (uint64_t) tg_load_relaxed(&place->shown) << 32, 0);
		for (uint32_t j = 0; j < tree->blocks_at_once; j++)
		{
			const tg_batch_seat *seat = &place->seats[j];
			uint64_t shown = tg_load_relaxed(&seat->shown);

			count += look_at(&nodes[count], TG_LEVEL_BLOCK, &seat->block_word, shown, seat->number);
			count += look_at(&nodes[count], TG_LEVEL_STATEMENT, &seat->statement_word, shown, seat->number);
		}
	}
	return count;
}

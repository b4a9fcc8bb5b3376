/*
 * tree.h
 *	  The tree of a batch: which seat runs what next, and how the batch ends.
 *
 *	batch ── file ── block ── statement
 *
 * A file has blocks, which different threads may work on; a block has statements, which follow one
 * another.  A seat is the place in which a block is worked on.  There are as many seats as blocks
 * may be worked on at once, and the tree has no other nodes than those in its seats.
 *
 * B1 Each node keeps its state, and how many of its children are active, in one word.
 *
 *	 created ──> activated ──> deactivated ──> disposed
 *	    │   first child  last child ↑  by the parent
 *	    └───────────────────────────┘
 *	           nothing to do
 *
 * B2 The thread that completes a statement finds out what its seat does next: the block's next
 *	  statement, the file's next block, or, if it is the last seat to leave the file, the next file,
 *	  for all seats of the file.  Nothing polls, and no node waits in a queue.
 * B3 One compare-and-swap decides the outcome: running -> succeeded, or running -> error_aborting.
 *	  The second calls complete at once, while other statements are still in flight; these see it
 *	  and end early, and no thread starts a new one.  drained is called when the last reference is
 *	  released; each activated statement has one, and so has the bootstrap.  If the batch succeeds,
 *	  both are called then.  Each is called once; complete returns before drained is called.
 * B4 After an error the nodes are disposed as a whole, by the thread that calls drained.
 */
#ifndef TG_BATCH_TREE_H
#define TG_BATCH_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"

#define TG_BATCH_FILES_AT_ONCE_MAX 16
#define TG_BATCH_BLOCKS_AT_ONCE_MAX 64 /* of a file */

typedef enum tg_node_state
{
	TG_NODE_CREATED,
	TG_NODE_ACTIVATED,
	TG_NODE_DEACTIVATED,
	TG_NODE_DISPOSED
} tg_node_state;

typedef enum tg_batch_outcome
{
	TG_BATCH_RUNNING,
	TG_BATCH_SUCCEEDED,
	TG_BATCH_ERROR_ABORTING
} tg_batch_outcome;

typedef struct tg_batch_tree tg_batch_tree;
typedef struct tg_batch_place tg_batch_place;

/* The place in which a block is worked on.  Its owner is the thread that runs its statement. */
typedef struct tg_batch_seat
{
	tg_batch_place *place; /* constant */
	uint32_t number;	   /* constant: among all seats */
	uint32_t file;		   /* owner only, as is the block */
	uint32_t block;
	uint32_t block_word; /* atomic, as all words: state and active children */
	uint32_t statement_word;
	uint64_t shown; /* atomic: file and block, for those who look at the tree */
} TG_CACHE_ALIGNED tg_batch_seat;

/* The place of a file that is worked on, with its seats. */
struct tg_batch_place
{
	tg_batch_tree *tree; /* constant */
	tg_batch_seat *seats;
	uint32_t file;		  /* written before its seats run */
	uint32_t block_count; /* likewise */
	uint32_t word;
	uint32_t next_block; /* atomic */
	uint32_t shown;		 /* atomic: the file, for those who look at the tree */
} TG_CACHE_ALIGNED;

typedef struct tg_batch_ops
{
	/* The number of a file's blocks; 0: nothing to do. */
	uint32_t (*count_blocks)(void *argument, uint32_t file);
	/* The seat has a statement to run, and its thread does not know.  context: the caller's. */
	void (*schedule)(void *argument, tg_batch_seat *seat, void *context);
	void (*complete)(void *argument, tg_batch_outcome outcome, void *context);
	/* Nothing of the tree is used after it. */
	void (*drained)(void *argument, tg_batch_outcome outcome, void *context);
} tg_batch_ops;

struct tg_batch_tree
{
	const tg_batch_ops *ops; /* constant, as the following */
	void *argument;
	tg_batch_place *places;
	uint32_t file_count;
	uint32_t files_at_once;
	uint32_t blocks_at_once;
	uint32_t word; /* atomic, as the following */
	uint32_t next_file;
	uint32_t references;
	uint32_t outcome; /* tg_batch_outcome */
};

/*
 * Prepares a tree, whose places, files_at_once of them, and seats, blocks_at_once of each, are the
 * caller's memory.
 */
extern void tg_batch_tree_init(tg_batch_tree *tree, const tg_batch_ops *ops, void *argument, tg_batch_place *places,
							   tg_batch_seat *seats);

/* The bootstrap: schedules the first statements.  May have drained the tree when it returns. */
extern void tg_batch_tree_start(tg_batch_tree *tree, void *context);

/* Whether a statement of the seat is to be run.  By the seat's thread. */
extern bool tg_batch_seat_is_active(const tg_batch_seat *seat);

/*
 * A statement has been run, well; more: its block goes on.  Called once for each, by its thread.
 * True: the seat has another statement, which this thread runs.
 */
extern bool tg_batch_statement_done(tg_batch_seat *seat, bool more, void *context);

/*
 * A statement has ended early: because the batch aborts, or because of an error that the caller has
 * told by tg_batch_fail.  The seat has no further one.
 */
extern void tg_batch_statement_ended(tg_batch_seat *seat, void *context);

/*
 * Something has failed.  True: this decides the outcome; note has been called then, before
 * complete, with the argument.  Any thread, as long as the tree is there.
 */
extern bool tg_batch_fail(tg_batch_tree *tree, void (*note)(void *note_argument), void *note_argument, void *context);

typedef enum tg_batch_level
{
	TG_LEVEL_BATCH,
	TG_LEVEL_FILE,
	TG_LEVEL_BLOCK,
	TG_LEVEL_STATEMENT
} tg_batch_level;

/* A node, as somebody sees it who looks at the tree. */
typedef struct tg_batch_node
{
	tg_batch_level level;
	tg_node_state state;
	uint32_t file;	/* not of a batch */
	uint32_t block; /* of blocks and statements */
	uint32_t seat;	/* likewise */
	uint64_t rows;	/* of a block: that it is done with, by the one who runs its statements */
} tg_batch_node;

#define TG_BATCH_NODES_MAX (1 + TG_BATCH_FILES_AT_ONCE_MAX * (1 + 2 * TG_BATCH_BLOCKS_AT_ONCE_MAX))

/*
 * The nodes that the tree has, each before its children: at most TG_BATCH_NODES_MAX; returns their
 * number.  By any thread, as long as the tree is there.  The tree changes meanwhile, so nodes need
 * not fit one another.
 */
extern unsigned tg_batch_tree_look(const tg_batch_tree *tree, tg_batch_node *nodes);

static inline bool
tg_batch_is_running(const tg_batch_tree *tree)
{
	return tg_load_acquire(&tree->outcome) == TG_BATCH_RUNNING;
}

#endif /* TG_BATCH_TREE_H */

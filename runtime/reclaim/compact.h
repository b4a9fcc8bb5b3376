/*
 * compact.h
 *	  Sparse chunks are emptied: their live versions go to other chunks.
 *
 * For the sweep, which decides when, and for the transactions' room, which knows
 * how a version can change its place without anybody noticing (txn/relocate.c).
 */
#ifndef TG_COMPACT_H
#define TG_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/mem/session.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"

#define TG_COPIES_MAX 32 /* made at once: so long may a writer of one of these rows have to spin */

/* A settled version, when it was looked at in this epoch, and a slot that has its values and is nobody's yet. */
typedef struct tg_copy
{
	tg_version from;
	tg_version to;
	bool taken; /* the relocator's */
} tg_copy;

/*
 * Puts the copies in the places of what they are copied from, all at one moment, as far as
 * nobody was faster; gives the other slots back.  Returns how many have taken
 * their places.  By one caller at a time, inside an epoch.
 */
typedef unsigned (*tg_relocator)(tg_session *session, tg_table *table, tg_copy *copies, unsigned count);

/* Set before there is a table, and inherited by children; NULL: no chunk is emptied. */
extern tg_relocator tg_relocate;

/* Where the emptying of a table's chunks is; all zero at the table's first one. */
typedef struct tg_compaction
{
	tg_chunk *target; /* leased; NULL: none */
	uint32_t cursor;  /* of it: slots before are taken */
	uint32_t slot;	  /* of the chunk in hand: where to go on */
	uint32_t begun;	  /* chunks */
} tg_compaction;

typedef enum tg_emptying
{
	TG_EMPTYING_NOT,   /* it is dense, or there is nowhere to go */
	TG_EMPTYING_LATER, /* it is to be emptied, and not now */
	TG_EMPTYING_WAITS, /* what is left in it is not settled yet */
	TG_EMPTYING_DONE,  /* nothing that lives is left in it */
	TG_EMPTYING_MORE   /* the budget is used up: call again */
} tg_emptying;

/*
 * Looks at the next chunk of a table, and moves its versions if it is sparse.
 * horizon: as of tg_horizon_compute, at any time before.  *moved_inout counts.  Inside an epoch.
 */
extern tg_emptying tg_compact_chunk(tg_session *session, tg_compaction *compaction, tg_chunk *chunk, tg_time horizon,
									unsigned *budget, uint64_t *moved_inout);

/* The table is left. */
extern void tg_compaction_end(tg_compaction *compaction);

#endif /* TG_COMPACT_H */

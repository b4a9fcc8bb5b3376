/*
 * compact.h
 *	  Emptying of sparse chunks: their live versions move to other chunks.
 *
 * The sweep decides when a chunk is emptied; the transactions' room knows how a version can change
 * its place without any reader or writer noticing (txn/relocate.c).
 */
#ifndef TG_COMPACT_H
#define TG_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/table/table.h"
#include "runtime/table/version.h"

#define TG_COPIES_MAX 32 /* per batch: bounds how long a writer of these rows may spin */

/*
 * A version that was settled when it was looked at in this epoch, and a slot with the same values
 * that no row refers to yet.
 */
typedef struct tg_copy
{
	tg_version from;
	tg_version to;
	bool taken; /* the relocator's */
} tg_copy;

/*
 * Puts the copies in the places of their originals, all at one moment, except those whose original
 * another transaction has changed; gives the slots of these back.  Returns how many copies have
 * taken their places.  One caller at a time, inside an epoch.
 */
typedef unsigned (*tg_relocator)(tg_session *session, tg_table *table, tg_copy *copies, unsigned count);

/* Set before there is a table, and inherited by children; NULL: no chunk is emptied. */
extern tg_relocator tg_relocate;

/* The state of emptying a table's chunks; all zero at the table's first chunk. */
typedef struct tg_compaction
{
	tg_chunk *target; /* leased; NULL: none */
	uint32_t cursor;  /* in the target: slots before it are taken */
	uint32_t slot;	  /* in the chunk being emptied: where to continue */
	uint32_t begun;	  /* chunks begun in this sweep */
} tg_compaction;

typedef enum tg_emptying
{
	TG_EMPTYING_NOT,   /* it is dense, or there are no slots to move to */
	TG_EMPTYING_LATER, /* it is to be emptied, but not now */
	TG_EMPTYING_WAITS, /* the remaining versions are not settled yet */
	TG_EMPTYING_DONE,  /* no live version is left in it */
	TG_EMPTYING_MORE   /* the budget is used up: call again */
} tg_emptying;

/*
 * Looks at the next chunk of a table, and moves its versions if it is sparse.  horizon: a result of
 * tg_horizon_compute, of any earlier time.  *moved_inout counts.  Inside an epoch.
 */
extern tg_emptying tg_compact_chunk(tg_session *session, tg_compaction *compaction, tg_chunk *chunk, tg_time horizon,
									unsigned *budget, uint64_t *moved_inout);

/* Ends the work on a table: gives the target's lease back. */
extern void tg_compaction_end(tg_compaction *compaction);

#endif /* TG_COMPACT_H */

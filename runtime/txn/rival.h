/*
 * rival.h
 *	  Rivals: the versions that a row which has been written may have to give way to.
 *
 * For constraints on two rows that the host judges by operators of its own (EXCLUDE).  The rows come from ranges of an index's keys; of
 * each the versions are handed out that are its newest, or may turn out to be.  Whether such a
 * version stands against the row written the host finds out from its values.  rival.c says why none is missed.
 */
#ifndef TG_RIVAL_H
#define TG_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/txn/txn.h"

typedef enum tg_rival_kind
{
	TG_RIVAL_LIVE,	   /* the row's newest, committed or own */
	TG_RIVAL_OPEN,	   /* one that may be when another transaction has ended: wait */
	TG_RIVAL_AT_START, /* of a LONG: the one that it sees, its own writes done (L5) */
	TG_RIVAL_UNKNOWN   /* no version is named; wait, and look again */
} tg_rival_kind;

typedef struct tg_rival
{
	tg_rival_kind kind;
	tg_version version;
} tg_rival;

#define TG_RIVALS_AHEAD 8 /* rows */

/* A walk through the rows of some ranges.  The caller's memory; nothing is held between two steps. */
typedef struct tg_rivals
{
	const tg_writer *writer;
	tg_index *index;
	uint32_t own;
	const tg_key_range *ranges;
	unsigned range_count;
	unsigned at; /* the range */
	bool entered;
	tg_btree_cursor cursor;
	unsigned taken;
	unsigned count;
	uint32_t rows[TG_RIVALS_AHEAD];
	const unsigned char *next; /* entry */
	unsigned char entries[TG_RIVALS_AHEAD * 64 + TG_KEY_BYTES_MAX + 2];
} tg_rivals;

/*
 * Begins one, for a row that has been written, and its entries added; or, as of now, for one that may be: own is TG_ROW_MAX
 * then.  The ranges, at least one, are in order and apart, and the caller's.
 */
extern void tg_rivals_begin(tg_rivals *rivals, const tg_writer *writer, tg_index *index, uint32_t own,
							const tg_key_range *ranges, unsigned range_count);

/*
 * The next row that may be one, at most once each entry; TG_NOT_FOUND: there are no more.  And, as often as
 * wanted, its versions that count: their number; if that is more than the capacity the rest is left out.  *wait_out: of those of
 * kind OPEN and UNKNOWN.  Between tg_rivals_enter and tg_rivals_leave, which go around the reading of the versions, too.
 */
extern tg_status tg_rivals_enter(tg_rivals *rivals) TG_MUST_USE;
extern tg_status tg_rivals_step(tg_rivals *rivals, uint32_t *row_out) TG_MUST_USE;
extern unsigned tg_rivals_look(tg_rivals *rivals, uint32_t row, tg_rival *versions, unsigned capacity,
							   tg_wait *wait_out);
extern void tg_rivals_leave(tg_rivals *rivals);

/*
 * One of the open ones stands against the row, and the writer is going to wait.  TG_BUSY: it may; TG_CONFLICT: it is a
 * SHORT.
 */
extern tg_status tg_rivals_wait(const tg_rivals *rivals, const tg_wait *wait) TG_MUST_USE;

/*
 * The insertion that this transaction has made last, of a row that has to give way: is undone, as a rollback would, and
 * nobody waits for it any more.
 */
extern void tg_rivals_take_back(const tg_writer *writer);

/* The writer is a LONG, and of what is newest and what it sees one stands against the row, and the other does not (L5).  TG_CONFLICT. */
extern tg_status tg_rivals_differ(const tg_rivals *rivals) TG_MUST_USE;

#endif /* TG_RIVAL_H */

/*
 * rival.h
 *	  Rivals: the versions that a row which has been written may have to give way to.
 *
 * For constraints on two rows that the host judges by operators of its own (EXCLUDE).  The rows
 * come from ranges of an index's keys.  Of each row, the versions that are its newest, or may turn
 * out to be, are handed out.  The host finds out from the values of such a version whether it
 * conflicts with the row written.  rival.c argues that none is missed.
 */
#ifndef TG_RIVAL_H
#define TG_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/order/key.h"
#include "runtime/btree/btree.h"

typedef enum tg_rival_kind
{
	TG_RIVAL_LIVE,	   /* the row's newest: committed, or the transaction's own */
	TG_RIVAL_OPEN,	   /* may be the newest once another transaction has ended: wait */
	TG_RIVAL_AT_START, /* for a LONG: the version that it sees, its own writes done (L5) */
	TG_RIVAL_UNKNOWN   /* no version is named: wait, and look again */
} tg_rival_kind;

typedef struct tg_rival
{
	tg_rival_kind kind;
	tg_version version;
} tg_rival;

#define TG_RIVALS_AHEAD 8 /* rows */

/*
 * A walk through the rows of some ranges, in the caller's memory.  Nothing is held between two
 * steps.
 */
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
 * Begins a walk for a row that has been written and whose index entries have been added.  If own is
 * TG_ROW_MAX, the walk is for a row that may be written, as of now.  The ranges, at least one, are
 * in order, do not overlap, and belong to the caller.
 */
extern void tg_rivals_begin(tg_rivals *rivals, const tg_writer *writer, tg_index *index, uint32_t own,
							const tg_key_range *ranges, unsigned range_count);

/*
 * tg_rivals_step goes to the next row that may be a rival, at most once for each entry;
 * TG_NOT_FOUND: there are no more.  tg_rivals_look hands out the versions of a row that count, as
 * often as wanted, and returns their number; if it exceeds the capacity, the rest is left out.
 * *wait_out: for versions of kind OPEN and UNKNOWN.  Both are called between tg_rivals_enter and
 * tg_rivals_leave, which must also enclose the reading of the versions.
 */
extern tg_status tg_rivals_enter(tg_rivals *rivals) TG_MUST_USE;
extern tg_status tg_rivals_step(tg_rivals *rivals, uint32_t *row_out) TG_MUST_USE;
extern unsigned tg_rivals_look(tg_rivals *rivals, uint32_t row, tg_rival *versions, unsigned capacity,
							   tg_wait *wait_out);
extern void tg_rivals_leave(tg_rivals *rivals);

/*
 * One of the open versions conflicts with the row, and the writer is going to wait.  TG_BUSY: it
 * may wait; TG_CONFLICT: it is a SHORT.
 */
extern tg_status tg_rivals_wait(const tg_rivals *rivals, const tg_wait *wait) TG_MUST_USE;

/*
 * Undoes the transaction's last insertion, that of a row that has to give way, as a rollback would.
 * No transaction waits for that row any more.
 */
extern void tg_rivals_take_back(const tg_writer *writer);

/*
 * The writer is a LONG.  Of the newest version and the one that the LONG sees, one conflicts with
 * the row and the other does not (L5).  TG_CONFLICT.
 */
extern tg_status tg_rivals_differ(const tg_rivals *rivals) TG_MUST_USE;

#endif /* TG_RIVAL_H */

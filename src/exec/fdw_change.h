/*
 * fdw_change.h
 *	  INSERT, UPDATE and DELETE, a row at a time, among the files that do it: what one statement knows of a table that
 *	  it changes, and the steps that they share.
 */
#ifndef TSURUGI_FDW_CHANGE_H
#define TSURUGI_FDW_CHANGE_H

#include "src/exec/fdw.h"

#include "access/htup.h"
#include "nodes/execnodes.h"

#include "src/constraint/exclusion.h"
#include "src/exec/row_follow.h"
#include "src/table/row.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

/* Of one result relation in one statement. */
typedef struct tsurugi_change
{
	const tsurugi_relation *described;
	Relation relation;
	ModifyTableState *mtstate;
	OnConflictAction on_conflict;
	AttrNumber ctid;	   /* UPDATE, DELETE: in the rows of the plan */
	bool copies;		   /* making a row to be stored may need memory */
	bool checks_partition; /* inserts: the executor has not done it */
	bool receives;		   /* rows that foreign keys may refer to, from ordinary partitions */
	bool asks_in_turn;	   /* ON CONFLICT, and there is an index that is DEFERRABLE */
	bool holds_existing;   /* ON CONFLICT DO UPDATE locks the row ahead, whatever else there is */
	bool has_old;		   /* old is wanted */
	bool old_is_own;	   /* the transaction itself has written it */
	bool has_snapshot;
	bool fires;				/* BEFORE ROW triggers, from here: the row is known */
	ResultRelInfo *holding; /* the executor fires some, ahead of which rows are locked (fdw_before.c); else NULL */
	uint32_t held;			/* the row that was locked for them last, or TG_ROW_MAX */
	tg_snapshot snapshot;
	bool *silenced;					/* a flag of the trigger descriptor to be set again, or NULL */
	tsurugi_exclusions *exclusions; /* NULL: the table has none that are checked with each row */
	TupleTableSlot *stored;			/* RETURNING names system columns: for a row as it has been stored; else NULL */
	tsurugi_row returned;			/* what is in it */
	tsurugi_move move;
	tsurugi_row row;		/* to be stored */
	tsurugi_row old;		/* UPDATE, DELETE, DO UPDATE: the newest version */
	unsigned char *key_old; /* UPDATE, DO UPDATE */
	unsigned char key[];
} tsurugi_change;

/* --- what the executor leaves to us ------------------------------------------------------ */

/* CHECK, NOT NULL, and the check options of this kind. */
extern void tsurugi_change_check(const tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo,
								 TupleTableSlot *slot, WCOKind kind);

/* Whether the new row of an UPDATE belongs to another partition. */
extern bool tsurugi_change_leaves_partition(const tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo,
											TupleTableSlot *slot);

/*
 * Makes the executor pass over the AFTER ROW triggers of this event for the
 * row in hand: the descriptor is the statement's own copy.  Every callback
 * begins with taking that back, by the next one.
 */
extern void tsurugi_change_silence(tsurugi_change *modify, bool *flag);

static inline void
tsurugi_change_restore(tsurugi_change *modify, ResultRelInfo *rinfo)
{
	if (tg_unlikely(modify->silenced != NULL))
	{
		*modify->silenced = true;
		modify->silenced = NULL;
	}
	if (tg_unlikely(modify->move.hidden))
		tsurugi_move_end(&modify->move, rinfo);
}

/* AFTER ROW UPDATE triggers for a row that is not the one the executor knows of. */
extern void tsurugi_change_fire_update(EState *estate, ResultRelInfo *rinfo, HeapTuple old, TupleTableSlot *slot);

/*
 * Tells triggers whose version has been replaced, if it is the one that was looked at: as in a heap by a bit of its tuple.
 * Without that bit it may be the transaction's own.
 */
extern void tsurugi_change_mark_old(const tsurugi_change *modify, HeapTuple old);

/* The old row for triggers, in memory of the row in hand. */
extern HeapTuple tsurugi_change_old_tuple(const tsurugi_change *modify, EState *estate, TupleTableSlot *old);

/*
 * Makes a computed row ready to be stored as ExecUpdate does: BEFORE ROW
 * triggers, then generated columns.  False if a trigger wants nothing done.
 */
extern bool tsurugi_change_finish_row(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, HeapTuple old,
									  TupleTableSlot *slot);

/* --- rows that are there ------------------------------------------------------------------- */

/*
 * Finds the newest version of found->row and reads it: tg_txn_newest's results.
 * Of the row that the snapshot has seen there, or of any.
 */
extern tg_status tsurugi_change_look(tsurugi_change *modify, EState *estate, tg_claim claim, bool seen,
									 tsurugi_found *found);

/*
 * The same, and a row that may be replaced, or deleted, is locked for that, in PostgreSQL's mode.
 */
extern tg_status tsurugi_change_hold(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, bool deletes,
									 bool seen, tsurugi_found *found);

/*
 * At REPEATABLE READ and above a row that has changed since the snapshot ends the transaction: the executor has been
 * told of it as it was.  One that is in another partition now does at READ COMMITTED, too: nobody knows where.
 */
extern void tsurugi_change_check_unchanged(const tsurugi_change *modify, tg_status status, uint32_t target);

/* UPDATE, DELETE: which row the plan's is about. */
extern uint32_t tsurugi_change_target(const tsurugi_change *modify, TupleTableSlot *planSlot);

/* EvalPlanQual with the newest version, which has been read, in place of the row: the plan's row for it, or NULL. */
extern TupleTableSlot *tsurugi_change_reevaluate(tsurugi_change *modify, ResultRelInfo *rinfo, uint32_t row);

/*
 * The new row of an UPDATE for a row that was committed after the snapshot, in the slot that the executor computes new rows
 * in; the row itself in the one it has for old ones.  NULL if the statement does not want it any more.
 */
extern TupleTableSlot *tsurugi_change_recompute(tsurugi_change *modify, ResultRelInfo *rinfo, uint32_t row);

/* At the beginning: whether RETURNING names system columns.  For a row that has just been stored, if it does: gives them to the slot. */
extern void tsurugi_change_prepare_system_columns(tsurugi_change *modify);
extern void tsurugi_change_add_system_columns(tsurugi_change *modify, TupleTableSlot *slot, uint32_t row,
											  bool replaced);

/* Stores the slot's row in the place of a version, under its key, old or new. */
extern tg_status tsurugi_change_replace(tsurugi_change *modify, EState *estate, tsurugi_found *found,
										TupleTableSlot *slot);

/*
 * The new key of a row is taken.  That counts only if the row is still as it was found: who has the key may be the same
 * row, moved there by somebody who was faster.
 */
extern void tsurugi_change_check_taken(tsurugi_change *modify, EState *estate, const tsurugi_found *found,
									   TupleTableSlot *slot, tg_version *noted);

/* --- BEFORE ROW triggers of UPDATE and DELETE ------------------------------------------------- */

/* At the beginning: sees to it that a row is locked ahead of them. */
extern void tsurugi_before_prepare(tsurugi_change *modify, ResultRelInfo *rinfo);

/* Before EXPLAIN ANALYZE looks at what triggers have been called. */
extern void tsurugi_before_hide(ResultRelInfo *rinfo);

#endif /* TSURUGI_FDW_CHANGE_H */

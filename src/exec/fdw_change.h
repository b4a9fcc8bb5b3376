/*
 * fdw_change.h
 *	  For the files that do INSERT, UPDATE and DELETE a row at a time: what one statement knows of a
 *	  table that it changes, and the steps that they share.
 */
#ifndef TSURUGI_FDW_CHANGE_H
#define TSURUGI_FDW_CHANGE_H

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/txn/snapshot.h"
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
	bool set_is_known;	   /* holds_existing takes into account whether SET changes a key */
	bool has_old;		   /* old is wanted */
	bool old_is_own;	   /* the transaction itself has written it */
	bool has_snapshot;
	bool fires;				/* BEFORE ROW triggers are being fired from here: the row is known */
	ResultRelInfo *holding; /* rows are locked ahead of its triggers (fdw_before.c); or NULL */
	uint32_t held;			/* the row that was locked for them last, or TG_ROW_MAX */
	tg_snapshot snapshot;
	bool *silenced;					/* a flag of the trigger descriptor to be set again, or NULL */
	tsurugi_exclusions *exclusions; /* NULL: the table has none that are checked with each row */
	TupleTableSlot *stored;			/* for a row's system columns in RETURNING; NULL: none */
	tsurugi_row returned;			/* what is in it */
	tsurugi_move move;
	tsurugi_row row;		/* to be stored */
	tsurugi_row old;		/* UPDATE, DELETE, DO UPDATE: the newest version */
	unsigned char *key_old; /* UPDATE, DO UPDATE */
	unsigned char key[];
} tsurugi_change;

/* A row that is there already, on the way to its newest version, and what it is to become. */
typedef struct tsurugi_change_row
{
	tsurugi_follow follow; /* first: the rules' functions are given it */
	tsurugi_change *modify;
	ResultRelInfo *rinfo;
	TupleTableSlot *slot; /* the new row; of a DELETE for RETURNING */
	HeapTuple old;		  /* for triggers; NULL: there are none, or it has not been made */
} tsurugi_change_row;

static inline tsurugi_change_row *
tsurugi_change_row_of(tsurugi_follow *follow)
{
	return (tsurugi_change_row *) follow;
}

static inline void
tsurugi_change_row_init(tsurugi_change_row *row, tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo,
						tsurugi_purpose purpose)
{
	tsurugi_follow_init(&row->follow, estate, modify->relation, modify->described, purpose);
	row->modify = modify;
	row->rinfo = rinfo;
	row->slot = NULL;
	row->old = NULL;
}

/* --- what the executor leaves to us ---------------------------------------------------------- */

/* CHECK, NOT NULL, and the check options of this kind. */
extern void tsurugi_change_check(const tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo,
								 TupleTableSlot *slot, WCOKind kind);

/* Whether the new row of an UPDATE belongs to another partition. */
extern bool tsurugi_change_leaves_partition(const tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo,
											TupleTableSlot *slot);

/*
 * Makes the executor pass over the AFTER ROW triggers of this event for the row in hand: the
 * descriptor is the statement's own copy.  Every callback begins with tsurugi_change_restore, which
 * takes that back.
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
 * Tells triggers by a bit of the old tuple, as in a heap, that the version which was replaced, the
 * last one looked at, is not the transaction's own.  Without the bit it may be.
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

/* --- rows that are there --------------------------------------------------------------------- */

/*
 * The statement's snapshot, for the looks.  Before a wait that comes before the first look, so that
 * it is not of a later time than PostgreSQL's.
 */
extern void tsurugi_change_draw(tsurugi_change *modify, EState *estate);

/*
 * Looks of row_follow.c: of the target as the snapshot has seen it, or (seen false) of whatever has
 * the row now.  The version is read into modify->old if the statement wants it there.
 */
extern tg_status tsurugi_change_look(tsurugi_change_row *row, tg_claim claim, bool seen);

/*
 * The same, and a row that may be replaced, or deleted, is locked for that, in PostgreSQL's mode.
 */
extern tg_status tsurugi_change_hold(tsurugi_change_row *row, bool deletes, bool seen);

/* UPDATE, DELETE: which row the plan's is about. */
extern uint32_t tsurugi_change_target(const tsurugi_change *modify, TupleTableSlot *planSlot);

/*
 * EvalPlanQual with the newest version, which has been read, in place of the row: the plan's row
 * for it, or NULL.
 */
extern TupleTableSlot *tsurugi_change_reevaluate(tsurugi_change *modify, ResultRelInfo *rinfo, uint32_t row);

/*
 * The new row of an UPDATE for a version that was committed after the snapshot, in the slot in
 * which the executor computes new rows; the version itself is in the slot for old ones.  NULL if
 * the statement does not want it any more.
 */
extern TupleTableSlot *tsurugi_change_recompute(tsurugi_change *modify, ResultRelInfo *rinfo, uint32_t row);

/*
 * At the beginning: notes whether RETURNING names system columns.  If so, for a row that has just
 * been stored: gives them to the slot.
 */
extern void tsurugi_change_prepare_system_columns(tsurugi_change *modify);
extern void tsurugi_change_add_system_columns(tsurugi_change *modify, TupleTableSlot *slot, uint32_t row,
											  bool replaced);

/*
 * Rules of row_follow.c.  Stores the slot's row in the place of the version found, under its key,
 * old or new; and raises 23505 for it.
 */
extern tg_status tsurugi_change_replace(tsurugi_follow *follow);
extern void tsurugi_change_raise_duplicate(tsurugi_follow *follow);

/* --- BEFORE ROW triggers of UPDATE and DELETE ------------------------------------------------ */

/* At the beginning: sees to it that a row is locked ahead of them. */
extern void tsurugi_before_prepare(tsurugi_change *modify, ResultRelInfo *rinfo);

/* Before EXPLAIN ANALYZE looks at what triggers have been called. */
extern void tsurugi_before_hide(ResultRelInfo *rinfo);

#endif /* TSURUGI_FDW_CHANGE_H */

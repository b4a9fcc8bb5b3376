/*
 * snapshot.h
 *	  What a running statement sees of the store.
 *
 * One moment of the commit clock for each executor run at READ COMMITTED,
 * for the transaction above it.  A nested run that uses its caller's snapshot
 * (functions that are not volatile) gets the caller's moment.
 */
#ifndef TSURUGI_SNAPSHOT_H
#define TSURUGI_SNAPSHOT_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/runtime.h"

/*
 * The snapshot of an executor run, published until the run's memory goes.
 * The same for every call with the same estate, but cheap to keep a copy of;
 * at REPEATABLE READ and above until the transaction's is renewed.
 */
extern void tsurugi_snapshot(EState *estate, tg_snapshot *snapshot_out);

/* The same for a run that reads the table: raises 40001 if the snapshot is from before its rows were stored. */
extern void tsurugi_snapshot_of(EState *estate, Relation relation, const tg_table *table, tg_snapshot *snapshot_out);

/*
 * For executor states that serve one run after the other: a record, in the current memory context, that such a
 * run begins before it asks for its snapshot, and ends when it is over, also after an error.
 */
typedef struct tsurugi_run_record tsurugi_run_record;

extern tsurugi_run_record *tsurugi_snapshot_record_make(void);
extern void tsurugi_snapshot_record_begin(tsurugi_run_record *record, const EState *estate);
extern void tsurugi_snapshot_record_end(tsurugi_run_record *record);

/* Between two batches of rows: raises 72000 if one of the session's snapshots is too old (snapshot_watch.h). */
extern void tsurugi_snapshot_check(void);

/*
 * A fresh one outside the executor (ANALYZE, ALTER …), published until the
 * memory context is reset or deleted.  Sees what commands before the current
 * one wrote, and at every isolation level what is committed by now.
 */
extern void tsurugi_snapshot_take(MemoryContext context, tg_snapshot *snapshot_out);

/*
 * Executor runs that begin between these two have a moment of their own at
 * every isolation level, and what they read is not noted.  The first returns what the second is to
 * be told; it is also called after an error.
 */
extern bool tsurugi_snapshot_begin_fresh(void);
extern void tsurugi_snapshot_end_fresh(bool outer);
extern bool tsurugi_snapshot_is_fresh(void);

/*
 * A run that changes rows as of now, within a transaction of REPEATABLE READ or
 * above: the actions of foreign keys.  Rows that the transaction does not see are no
 * business of its: raises 40001 for one.
 */
extern bool tsurugi_snapshot_is_of_now(const EState *estate);
extern void tsurugi_crosscheck(EState *estate, Relation relation, tg_table *table, uint32_t row, tg_version version);

/* A run that calls functions has started, at READ COMMITTED: those of them that read by its snapshot see one moment. */
extern void tsurugi_snapshot_note_run(EState *estate);

/*
 * For parallel.c: what a run sees, from its start on, though nothing of ours is accessed by it yet; false: it is not known any more what
 * goes with its snapshot.  And, in a worker at READ COMMITTED, what its outermost run sees, whose time is published in this entry.
 */
extern bool tsurugi_snapshot_lend(EState *estate, tg_snapshot *snapshot_out, TimestampTz *taken_out);
extern void tsurugi_snapshot_borrow(EState *estate, tg_time time, const tg_exclusions *excluded, TimestampTz taken,
									unsigned entry);

/*
 * For isolation.c, at REPEATABLE READ and above: draws the transaction's moment
 * if there is none yet; draws another one in its place, for runs that have not
 * told anybody anything yet.  False: that one is not later.
 */
extern void tsurugi_snapshot_draw(void);
extern bool tsurugi_snapshot_redraw(void);

/*
 * For kinds.c: a moment that is published already takes the place of what may have
 * been drawn; TSURUGI_ENTRY_OF_LONG: it is not to be withdrawn.  taken: when it was.
 */
#define TSURUGI_ENTRY_OF_LONG UINT_MAX
extern void tsurugi_snapshot_adopt(tg_time time, TimestampTz taken, unsigned entry);

/*
 * For snapshot_export.c: a moment of another session's, adopted in this entry, takes the place of what may have been drawn; the
 * transaction's one stays what it is, as do imported ones: others read at it, too.
 */
extern void tsurugi_snapshot_import(tg_time time, const tg_exclusions *excluded, TimestampTz taken, unsigned entry);
extern void tsurugi_snapshot_fix(void);
extern bool tsurugi_snapshot_is_imported(void);
extern bool tsurugi_snapshot_is_fixed(void);
extern TimestampTz tsurugi_snapshot_taken(void);

/* PostgreSQL's snapshot that the transaction's time belongs to; of Tsurugi's kinds at READ COMMITTED the present one, or NULL. */
extern Snapshot tsurugi_snapshot_host(void);

/* The moment drawn, and what is committed up to it and not seen (mixed.c). */
extern tg_time tsurugi_snapshot_time(void);
extern const tg_exclusions *tsurugi_snapshot_excluded(void);

/*
 * Finds a later one, with the same snapshot of PostgreSQL's; it takes that one's place when what was read
 * has been validated as of it.  False: there is none.
 */
extern bool tsurugi_snapshot_find_later(tg_time *later_out, const tg_exclusions **excluded_out);
extern void tsurugi_snapshot_extend(tg_time later, const tg_exclusions *excluded);

/* For participants.c: whether the transaction has any; ends of transactions and subtransactions. */
extern bool tsurugi_snapshot_is_taken(void);
extern void tsurugi_snapshot_end(bool committed);
extern void tsurugi_snapshot_end_part(SubTransactionId part, SubTransactionId parent, bool committed);

#endif /* TSURUGI_SNAPSHOT_H */

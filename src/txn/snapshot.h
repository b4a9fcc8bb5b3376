/*
 * snapshot.h
 *	  The snapshot at which a running statement reads foreign tables.
 *
 * A snapshot is one moment of the commit clock: one for each executor run at READ COMMITTED, one
 * for the whole transaction above it.  A nested run that uses its caller's snapshot (functions that
 * are not volatile) gets the caller's moment.
 */
#ifndef TSURUGI_SNAPSHOT_H
#define TSURUGI_SNAPSHOT_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/base/names.h"


/*
 * The snapshot of an executor run, published until the run's memory is released.  Every call with
 * the same estate gives the same snapshot, so a caller may keep a copy; at REPEATABLE READ and
 * above until the transaction's snapshot is renewed.
 */
extern void tsurugi_snapshot(EState *estate, tg_snapshot *snapshot_out);

/*
 * The same for a run that reads the table.  Raises 40001 if the snapshot is from before the table's
 * rows were stored.
 */
extern void tsurugi_snapshot_of(EState *estate, Relation relation, const tg_table *table, tg_snapshot *snapshot_out);

/*
 * For executor states that serve several runs, one after the other: a record in the current memory
 * context.  Such a run begins the record before it asks for its snapshot, and ends it when the run
 * is over, also after an error.
 */
typedef struct tsurugi_run_record tsurugi_run_record;

extern tsurugi_run_record *tsurugi_snapshot_record_make(void);
extern void tsurugi_snapshot_record_begin(tsurugi_run_record *record, const EState *estate);
extern void tsurugi_snapshot_record_end(tsurugi_run_record *record);

/*
 * Called between two batches of rows.  Raises 72000 if one of the session's snapshots is too old
 * (snapshot_watch.h).
 */
extern void tsurugi_snapshot_check(void);

/*
 * A fresh snapshot outside the executor (ANALYZE, ALTER …), published until the memory context is
 * reset or deleted.  It shows what commands before the current one wrote and, at every isolation
 * level, what is committed by now.
 */
extern void tsurugi_snapshot_take(MemoryContext context, tg_snapshot *snapshot_out);

/*
 * The number of the session whose client is told what this process reads: a parallel worker's
 * leader.
 */
extern unsigned tsurugi_snapshot_reader(void);

/*
 * Executor runs that begin between these two have a moment of their own at every isolation level,
 * and their reads are not noted.  The first returns the value that the second takes; the second is
 * also called after an error.
 */
extern bool tsurugi_snapshot_begin_fresh(void);
extern void tsurugi_snapshot_end_fresh(bool outer);
extern bool tsurugi_snapshot_is_fresh(void);

/*
 * A run that changes rows as of now, within a transaction of REPEATABLE READ or above: the actions
 * of foreign keys.  Such a run must not change rows that the transaction does not see:
 * tsurugi_crosscheck raises 40001 for one.
 */
extern bool tsurugi_snapshot_is_of_now(const EState *estate);
extern void tsurugi_crosscheck(EState *estate, Relation relation, tg_table *table, uint32_t row, tg_version version);

/*
 * A run that calls functions has started, at READ COMMITTED.  The functions that read at the run's
 * snapshot see one moment.
 */
extern void tsurugi_snapshot_note_run(EState *estate);

/*
 * For parallel.c.  The first gives what a run sees from its start on, even if the run has not
 * accessed a foreign table yet; false: the time that goes with the run's snapshot is not known any
 * more.  The second sets, in a worker at READ COMMITTED, what its outermost run sees; the time is
 * published in this entry.
 */
extern bool tsurugi_snapshot_lend(EState *estate, tg_snapshot *snapshot_out, TimestampTz *taken_out);
extern void tsurugi_snapshot_borrow(EState *estate, tg_time time, const tg_exclusions *excluded, TimestampTz taken,
									unsigned entry);

/*
 * For isolation.c, at REPEATABLE READ and above.  The first draws the transaction's moment if there
 * is none yet; the second replaces it by a new one, for runs that have not returned anything yet.
 * False: the new one is not later.
 */
extern void tsurugi_snapshot_draw(void);
extern bool tsurugi_snapshot_redraw(void);

/*
 * For kinds.c: a moment that is already published replaces any that was drawn before.
 * TSURUGI_ENTRY_OF_LONG: it must not be withdrawn.  taken: when it was drawn.
 */
#define TSURUGI_ENTRY_OF_LONG UINT_MAX
extern void tsurugi_snapshot_adopt(tg_time time, TimestampTz taken, unsigned entry);

/*
 * For snapshot_export.c: another session's moment, adopted in this entry, replaces any that was
 * drawn before.  tsurugi_snapshot_fix: the transaction's moment does not change any more, because
 * others read at it, too; imported ones do not either.
 */
extern void tsurugi_snapshot_import(tg_time time, const tg_exclusions *excluded, TimestampTz taken, unsigned entry);
extern void tsurugi_snapshot_fix(void);
extern bool tsurugi_snapshot_is_imported(void);
extern bool tsurugi_snapshot_is_fixed(void);
extern TimestampTz tsurugi_snapshot_taken(void);

/*
 * The snapshot of PostgreSQL's that the transaction's time belongs to.  In Tsurugi's kinds at READ
 * COMMITTED it is the present one, or NULL.
 */
extern Snapshot tsurugi_snapshot_host(void);

/* The moment that was drawn, and the commits up to it that are not visible (mixed.c). */
extern tg_time tsurugi_snapshot_time(void);
extern const tg_exclusions *tsurugi_snapshot_excluded(void);

/*
 * The first finds a later moment with the same snapshot of PostgreSQL's; false: there is none.  The
 * second makes it the transaction's, when what was read has been validated as of it.  has_scans:
 * some may go on at the former moment, which stays published for them.
 */
extern bool tsurugi_snapshot_find_later(tg_time *later_out, const tg_exclusions **excluded_out);
extern void tsurugi_snapshot_extend(tg_time later, const tg_exclusions *excluded, bool has_scans);

/*
 * For participants.c: whether the transaction has any snapshot; ends of transactions and
 * subtransactions.
 */
extern bool tsurugi_snapshot_is_taken(void);
extern void tsurugi_snapshot_end(bool committed);
extern void tsurugi_snapshot_end_part(SubTransactionId part, SubTransactionId parent, bool committed);

#endif /* TSURUGI_SNAPSHOT_H */

/*
 * row_follow.c
 *	  From a row that a statement has found to its newest version, which the statement writes or
 *	  locks.
 *
 * A scan, the executor or a unique key has named a row.  Since the snapshot, other transactions
 * may have changed it, and one may be about to.  All statements go the same way to the version
 * that they write:
 *
 *	        wanted          judge: to be locked
 *	 FIND ─────────▶ LOOK ─────────────────────▶ LOCK        three looks at the newest version
 *	   │              │ ▲                         │ ▲
 *	   │ judge        │ │ again             judge │ │ again
 *	   ▼              ▼ │                         ▼ │
 *	   └────────────▶ WRITE ◀───────────────────────┘
 *	                    │
 *	                    └──▶ DONE                             other ends: SKIPPED, RESTART
 *
 *	result of a look   edge           leads to
 *	TG_OK              judge          WRITE (DONE where the row is only to be locked), LOCK,
 *	                                  SKIPPED
 *	TG_CHANGED         leave_changed  READ COMMITTED: judge evaluates the newest version, as
 *	                                  EvalPlanQual does, and says as above; with one snapshot:
 *	                                  40001, or RESTART with a later one
 *	TG_NOT_FOUND       leave_changed  READ COMMITTED: SKIPPED; with one snapshot as TG_CHANGED
 *	TG_MOVED           leave_changed  40001: an UPDATE took the row to another partition
 *	TG_BUSY            wait_for_row   waits, then again; NOWAIT: 55P03; SKIP LOCKED: SKIPPED
 *	the last four      ask_wanted     in FIND: LOOK, SKIPPED
 *	TG_SELF            skip_own       27000 if another command of the transaction has changed the
 *	                                  row; else SKIPPED
 *	TG_AGAIN           again          the same look; RESTART for the statement that restarts
 *	others             refuse         TG_CONFLICT (a SHORT never waits), TG_FORBIDDEN: an
 *	                                  error; TG_NO_MEMORY: an error, or again when there is room
 *
 *	result of a write
 *	TG_OK                             DONE
 *	TG_AGAIN           again          another transaction was faster
 *	TG_BUSY            wait_for_row   as above
 *	TG_EXISTS          check_taken    another row has the new key: 23505, or again
 *	TG_SELF            skip_own       as above
 *	others             refuse         as above
 *
 * A row that got a new key goes on as another row of the table.  The look follows it there, and
 * says TG_CHANGED.  One snapshot: of REPEATABLE READ, SERIALIZABLE and Tsurugi's kinds.
 *
 *	statement                                       starts in     particular
 *	UPDATE, DELETE as a whole (fdw_direct.c)        FIND, LOOK
 *	UPDATE, DELETE by the executor (fdw_modify.c)   LOOK
 *	row locked for BEFORE triggers (fdw_before.c)   LOCK          nothing to write
 *	ON CONFLICT DO UPDATE (fdw_insert.c)            LOOK, LOCK    restarts: inserts again
 *	SELECT FOR UPDATE and the like (fdw_lock.c)     LOCK          nothing to write
 *	row locked by the scan (scan_lock.c)            LOCK          nothing to write
 *
 * 1. A write replaces exactly the version that judge was asked about last.  So the row need not be
 *	  locked before it is written.
 * 2. While it is not known whether the statement wants the row at all (FIND), the statement neither
 *	  waits for another transaction nor fails because of it: is_wanted is asked first.  When judge
 *	  has wanted the version that the snapshot sees, that is known.
 * 3. With one snapshot judge is never asked about a changed version.
 * 4. Each look begins at the target, which is the row that the snapshot sees (tg_txn_newest).
 * 5. Each way back to a look that another transaction can make long has CHECK_FOR_INTERRUPTS.
 * 6. A wait takes a place in the row's queue (row_queue.h).  Every end but RESTART gives it back.
 *	  A caller that begins again keeps it, unless it evaluates volatile functions or sub-selects
 *	  on the way (row_queue.c, 3).  If it comes to another row first, the end of that one, or its
 *	  queue, gives the place back; if it finds no row, its own end does.
 */
#include "postgres.h"

#include "src/exec/row_follow.h"

#include "miscadmin.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/session.h"
#include "src/txn/errors.h"
#include "src/txn/seen_key.h"
#include "src/txn/writer.h"

/* Whether the state machine in the drawing has this edge. */
static bool
is_edge(const tsurugi_follow *follow, const tsurugi_follow_rules *rules, tsurugi_follow_state from,
		tsurugi_follow_state to)
{
	switch (to)
	{
		case TSURUGI_FOLLOW_FIND:
		case TSURUGI_FOLLOW_LOOK:
		case TSURUGI_FOLLOW_LOCK:
			return to >= follow->look && !(from == TSURUGI_FOLLOW_WRITE && to == TSURUGI_FOLLOW_FIND);
		case TSURUGI_FOLLOW_WRITE:
			return from != TSURUGI_FOLLOW_WRITE && rules->write != NULL;
		case TSURUGI_FOLLOW_DONE:
			return (from == TSURUGI_FOLLOW_WRITE) == (rules->write != NULL);
		case TSURUGI_FOLLOW_SKIPPED:
			return true;
		case TSURUGI_FOLLOW_RESTART:
			return rules->restarts || (from != TSURUGI_FOLLOW_FIND && tsurugi_has_one_snapshot());
	}
	return false;
}

/* Checks an edge that has been taken.  The step may wait or raise an error, so it held no epoch. */
static inline tsurugi_follow_state
check_edge(const tsurugi_follow *follow, const tsurugi_follow_rules *rules, tsurugi_follow_state from,
		   tsurugi_follow_state to)
{
	tg_assert(is_edge(follow, rules, from, to));
	tg_assert(!tg_epoch_inside(tsurugi_session()));
	return to;
}

/* --- edges ----------------------------------------------------------------------------------- */

static tsurugi_follow_state
again(const tsurugi_follow *follow, const tsurugi_follow_rules *rules)
{
	CHECK_FOR_INTERRUPTS();
	return rules->restarts ? TSURUGI_FOLLOW_RESTART : follow->look;
}

/* Rule 2. */
static tsurugi_follow_state
ask_wanted(tsurugi_follow *follow, const tsurugi_follow_rules *rules)
{
	return rules->is_wanted(follow) ? TSURUGI_FOLLOW_LOOK : TSURUGI_FOLLOW_SKIPPED;
}

/* The row has been changed, deleted, or moved to another partition since the snapshot. */
static tsurugi_follow_state
leave_changed(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tg_status status)
{
	tg_assert(follow->look != TSURUGI_FOLLOW_FIND);
	if (tsurugi_has_one_snapshot())
	{
		rules->conflict(follow, tsurugi_conflict_of(status));
		return TSURUGI_FOLLOW_RESTART;
	}
	if (status == TG_MOVED)
		tsurugi_error_moved(follow->relation, follow->target);
	return status == TG_CHANGED ? tsurugi_follow_judge(follow, rules, true) : TSURUGI_FOLLOW_SKIPPED;
}

static tsurugi_follow_state
skip_own(tsurugi_follow *follow, const tsurugi_follow_rules *rules)
{
	if (rules->own != NULL)
		rules->own(follow);
	return TSURUGI_FOLLOW_SKIPPED;
}

static tsurugi_follow_state
wait_for_row(tsurugi_follow *follow, const tsurugi_follow_rules *rules)
{
	tg_assert(follow->look != TSURUGI_FOLLOW_FIND);
	return rules->wait(follow) ? again(follow, rules) : TSURUGI_FOLLOW_SKIPPED;
}

static tsurugi_follow_state
refuse(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tg_status status)
{
	rules->refused(status, follow->relation);
	return again(follow, rules);
}

/* Whether the version that was to be replaced is still the newest one of its row. */
static bool
is_newest(const tsurugi_follow *follow)
{
	uint32_t row = follow->found.row;
	tg_version newest;
	tg_writer writer;
	tg_status status;
	tg_wait wait;

	tsurugi_writer(follow->estate, TG_DATA, &writer);
	tg_epoch_enter(writer.session);
	status = tg_txn_newest(&writer, NULL, follow->described->table, &row, &newest, &wait);
	tg_epoch_leave(writer.session);
	return (status == TG_OK || status == TG_CHANGED) && newest == follow->found.version;
}

/*
 * The new key is taken.  That counts only if the row is still as it was found: the row that has
 * the key may be the same one, which another transaction has given that key meanwhile.
 */
static tsurugi_follow_state
check_taken(tsurugi_follow *follow, const tsurugi_follow_rules *rules)
{
	bool is_seen =
		!tsurugi_is_validated() || tsurugi_key_is_seen(follow->estate, follow->relation, follow->described->table,
													   follow->found.wait.row, &follow->noted);

	tg_assert(rules->duplicate != NULL);
	if (is_seen && is_newest(follow))
		rules->duplicate(follow);
	return again(follow, rules);
}

/* --- the machine ----------------------------------------------------------------------------- */

static tsurugi_follow_state
next_after_look(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tg_status status)
{
	if (follow->look == TSURUGI_FOLLOW_FIND && (status == TG_BUSY || tsurugi_is_changed(status)))
		return ask_wanted(follow, rules);
	switch (status)
	{
		case TG_OK:
			return tsurugi_follow_judge(follow, rules, false);
		case TG_CHANGED:
		case TG_NOT_FOUND:
		case TG_MOVED:
			return leave_changed(follow, rules, status);
		case TG_BUSY:
			return wait_for_row(follow, rules);
		case TG_SELF:
			return skip_own(follow, rules);
		case TG_AGAIN:
			return again(follow, rules);
		default:
			return refuse(follow, rules, status);
	}
}

tsurugi_follow_state
tsurugi_follow_leave_look(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tg_status status)
{
	return check_edge(follow, rules, follow->look, next_after_look(follow, rules, status));
}

static tsurugi_follow_state
next_after_write(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tg_status status)
{
	if (follow->look == TSURUGI_FOLLOW_FIND)
		follow->look = TSURUGI_FOLLOW_LOOK; /* rule 2 */
	switch (status)
	{
		case TG_OK:
			return TSURUGI_FOLLOW_DONE;
		case TG_AGAIN:
			return again(follow, rules);
		case TG_BUSY:
			return wait_for_row(follow, rules);
		case TG_EXISTS:
			return check_taken(follow, rules);
		case TG_SELF:
			return skip_own(follow, rules);
		default:
			return refuse(follow, rules, status);
	}
}

tsurugi_follow_state
tsurugi_follow_leave_write(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tg_status status)
{
	return check_edge(follow, rules, TSURUGI_FOLLOW_WRITE, next_after_write(follow, rules, status));
}

tsurugi_follow_state
tsurugi_follow_from(tsurugi_follow *follow, const tsurugi_follow_rules *rules, tsurugi_follow_state state)
{
	while (state < TSURUGI_FOLLOW_DONE)
		if (state == TSURUGI_FOLLOW_WRITE)
			state = tsurugi_follow_leave_write(follow, rules, rules->write(follow));
		else
		{
			follow->look = state;
			state = tsurugi_follow_leave_look(follow, rules, rules->look(follow));
		}
	return state;
}

/* --- rules of several statements ------------------------------------------------------------- */

bool
tsurugi_follow_wait(tsurugi_follow *follow)
{
	tsurugi_wait(&follow->found.wait, follow->relation, follow->purpose, follow->found.row);
	return true;
}

bool
tsurugi_follow_wait_as_found(tsurugi_follow *follow)
{
	tsurugi_wait(&follow->found.wait, follow->relation, follow->purpose, follow->target);
	return true;
}

void
tsurugi_follow_raise_conflict(tsurugi_follow *follow, tg_conflict_kind kind)
{
	tsurugi_error_conflict(follow->relation, kind, follow->target, false);
}

/*
 * row_follow.h
 *	  From a row that a statement has found to its newest version, which the statement writes or
 *	  locks.
 *
 * One state machine, drawn in row_follow.c, for all statements.  A statement states its part as a
 * table of functions.  Nothing here holds an epoch between two of their calls.
 */
#ifndef TSURUGI_ROW_FOLLOW_H
#define TSURUGI_ROW_FOLLOW_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/txn/txn.h"
#include "src/table/relation.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/row_queue.h"
#include "src/txn/transaction.h"

typedef enum tsurugi_follow_state
{
	/* looks at the newest version, in the order of what the statement knows and holds of the row */
	TSURUGI_FOLLOW_FIND, /* not known: whether the version that the snapshot sees is wanted */
	TSURUGI_FOLLOW_LOOK, /* that version is wanted */
	TSURUGI_FOLLOW_LOCK, /* likewise, and the look locks the row */
	/* the newest version is wanted, and is replaced */
	TSURUGI_FOLLOW_WRITE,
	/* ends */
	TSURUGI_FOLLOW_DONE,	/* the row is written; where none is to be written, it is locked */
	TSURUGI_FOLLOW_SKIPPED, /* the statement leaves the row as it is */
	TSURUGI_FOLLOW_RESTART	/* the caller begins again with what led it to the row */
} tsurugi_follow_state;

/* The result of the last look or write for a row. */
typedef struct tsurugi_found
{
	uint32_t row; /* of the newest version: another one than the target if the row got a new key */
	tg_version version;
	tg_wait wait;		   /* if TG_BUSY; if TG_EXISTS, the row that has the new key */
	bool by_other_command; /* if TG_SELF: another command than the running one changed the row */
} tsurugi_found;

/* A row that is followed: the first member of what a statement keeps of it. */
typedef struct tsurugi_follow
{
	EState *estate;
	Relation relation;
	const tsurugi_relation *described;
	tsurugi_purpose purpose;
	uint32_t target;		   /* the row as the statement has found it */
	tsurugi_follow_state look; /* the present look */
	tg_version noted;		   /* for tsurugi_key_is_seen */
	tsurugi_found found;
} tsurugi_follow;

/*
 * A statement's part.  The functions may raise errors and run other code.  Those of the straight
 * way, which is below, are inlined: look, judge, write.
 */
typedef struct tsurugi_follow_rules
{
	/*
	 * Looks for the newest version of the target and reads it; locks the row if follow->look is
	 * LOCK.  Results of tg_txn_newest, and TG_AGAIN.  Fills in found.
	 */
	tg_status (*look)(tsurugi_follow *follow);

	/* In FIND: whether the version that the snapshot sees is wanted.  NULL: never starts there. */
	bool (*is_wanted)(tsurugi_follow *follow);

	/*
	 * Whether the version that was read is wanted; changed: it is not the one that the snapshot
	 * sees.  The next state: WRITE or, where nothing is to be written, DONE; SKIPPED; LOCK: it
	 * can tell when the row is locked.
	 */
	tsurugi_follow_state (*judge)(tsurugi_follow *follow, bool changed);

	/*
	 * Replaces or ends the version found, and none but that.  Results of tg_txn_update; TG_SELF:
	 * what judge has called was faster.  NULL: judge never says WRITE.
	 */
	tg_status (*write)(tsurugi_follow *follow);

	/*
	 * In a transaction with one snapshot the row is not as that sees it.  Raises 40001; if it
	 * returns, the snapshot has been renewed, and the caller is to begin again.  NULL: looks do not
	 * tell.
	 */
	void (*conflict)(tsurugi_follow *follow, tg_conflict_kind kind);

	/*
	 * The transaction itself has changed the row since the command began: raises an error, or the
	 * row is skipped.  NULL: it is skipped.
	 */
	void (*own)(tsurugi_follow *follow);

	/* Another transaction holds the row: waits for it.  False: the row is skipped. */
	bool (*wait)(tsurugi_follow *follow);

	/* Raises 23505 for the row that was to be written.  NULL: its key stays, or there is none. */
	void (*duplicate)(tsurugi_follow *follow);

	/* Any other result.  Raises an error; if it returns, the same is tried again. */
	void (*refused)(tg_status status, Relation relation);

	/* Every way back to a look leads to RESTART instead. */
	bool restarts;
} tsurugi_follow_rules;

/* The machine beside its straight way: what follows a look, a write, a state. */
extern tsurugi_follow_state tsurugi_follow_leave_look(tsurugi_follow *follow, const tsurugi_follow_rules *rules,
													  tg_status status);
extern tsurugi_follow_state tsurugi_follow_leave_write(tsurugi_follow *follow, const tsurugi_follow_rules *rules,
													   tg_status status);
extern tsurugi_follow_state tsurugi_follow_from(tsurugi_follow *follow, const tsurugi_follow_rules *rules,
												tsurugi_follow_state state);

/*
 * Rules of several statements.  Wait until the holder has ended; the error context names the row as
 * it is now, or as the statement has found it.  Raise 40001.
 */
extern bool tsurugi_follow_wait(tsurugi_follow *follow);
extern bool tsurugi_follow_wait_as_found(tsurugi_follow *follow);
extern void tsurugi_follow_raise_conflict(tsurugi_follow *follow, tg_conflict_kind kind);

/* For all rows of a statement; then for each row, with the look that the machine starts with. */
static inline void
tsurugi_follow_init(tsurugi_follow *follow, EState *estate, Relation relation, const tsurugi_relation *described,
					tsurugi_purpose purpose)
{
	follow->estate = estate;
	follow->relation = relation;
	follow->described = described;
	follow->purpose = purpose;
}

static inline void
tsurugi_follow_begin(tsurugi_follow *follow, uint32_t target, tsurugi_follow_state look)
{
	tg_assert(look <= TSURUGI_FOLLOW_LOCK);
	follow->target = target;
	follow->look = look;
	follow->noted = TG_VERSION_NONE;
}

/* Judges the version that was found.  Rules 1 to 3. */
static pg_attribute_always_inline tsurugi_follow_state
tsurugi_follow_judge(tsurugi_follow *follow, const tsurugi_follow_rules *rules, bool changed)
{
	tg_version found = follow->found.version;
	tsurugi_follow_state state;

	tg_assert(!changed || (follow->look != TSURUGI_FOLLOW_FIND && !tsurugi_has_one_snapshot()));
	state = rules->judge(follow, changed);
	tg_assert(follow->found.version == found);
	return state;
}

/*
 * Follows the row to an end.  Nearly always the first look finds what the snapshot sees, and the
 * write succeeds: where the rules are known to the compiler, that is straight code of the caller's.
 */
static pg_attribute_always_inline tsurugi_follow_state
tsurugi_follow_row(tsurugi_follow *follow, const tsurugi_follow_rules *rules)
{
	tg_status status = rules->look(follow);
	tsurugi_follow_state state;

	if (tg_likely(status == TG_OK))
		state = tsurugi_follow_judge(follow, rules, false);
	else
		state = tsurugi_follow_leave_look(follow, rules, status);
	if (tg_likely(state == TSURUGI_FOLLOW_WRITE))
	{
		status = rules->write(follow);
		if (tg_likely(status == TG_OK))
			state = TSURUGI_FOLLOW_DONE;
		else
			state = tsurugi_follow_leave_write(follow, rules, status);
	}
	if (tg_unlikely(state < TSURUGI_FOLLOW_DONE))
		state = tsurugi_follow_from(follow, rules, state);
	if (state != TSURUGI_FOLLOW_RESTART)
		tsurugi_queue_leave(); /* rule 6 */
	return state;
}

/*
 * For looks: finds the newest version, and locks the row in a mode, or not (NULL).  A SHORT locks
 * nothing.
 */
static inline tg_status
tsurugi_find_newest(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table, const tg_lock_mode *lock,
					tsurugi_found *found)
{
	if (tg_likely(lock == NULL) || tsurugi_kind == TG_TXN_SHORT)
		return tg_txn_newest(writer, snapshot, table, &found->row, &found->version, &found->wait);
	return tg_txn_lock(writer, snapshot, table, &found->row, *lock, &found->version, &found->wait);
}

#endif /* TSURUGI_ROW_FOLLOW_H */

/*
 * unflushed.h
 *	  Commits that are visible before the host has flushed its log up to their records.
 *
 * A row is free for the next transaction as soon as its writer is COMMITTED, not when the disk has
 * the writer's record.  So a session may read, and build on, what a crash could still take back.
 * The log keeps what is built on it consistent, because records follow each other there in the same
 * order.  What is left is the client: the session that has met such a commit has the log flushed
 * before it answers.
 *
 * A position is the host's: a place in its log, where a record ends.  0 is none.
 */
#ifndef TG_UNFLUSHED_H
#define TG_UNFLUSHED_H

#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

/* Makes a note for each session.  At server start. */
extern tg_status tg_unflushed_create(tg_session *session) TG_MUST_USE;

/* --- the committer, owner of the session ---------------------------------------------- */

/* For tg_txn_open_note: opens the session's note, before the commit that it is about draws C. */
extern void tg_unflushed_open(tg_session *session);

/* Before tg_txn_commit: where the commit's record ends.  Until then, nobody waits for it. */
extern void tg_unflushed_log(tg_session *session, uint64_t position);

/*
 * For tg_txn_commit, between the draw of C and COMMITTED: completes the session's note, which gets
 * the snapshot entry from before C to keep.  False: the entry stays the caller's.
 */
extern bool tg_unflushed_commit(tg_session *session, tg_time time, unsigned entry);

/*
 * The log has been flushed up to the position, and whatever else the host promises has been done;
 * or there is no position, or the transaction has been aborted.  The session may be away
 * (presence.h): no other session touches its note or its snapshot entries.
 */
extern void tg_unflushed_close(tg_session *session);

/* --- readers ------------------------------------------------------------------------------ */

extern uint32_t *tg_unflushed_count; /* atomic: open notes; set by tg_unflushed_create */

/* Whether any note is open.  Any thread. */
static inline bool
tg_unflushed_any(void)
{
	return tg_unlikely(tg_load_acquire(tg_unflushed_count) != 0);
}

extern tg_time tg_unflushed_least(tg_time time);
extern void tg_unflushed_look(unsigned reader, tg_time time);

/*
 * The time up to which no commit has an open note, at most this one, which was loaded from the
 * clock before.  Any thread.
 */
static inline tg_time
tg_unflushed_before(tg_time time)
{
	return tg_unflushed_any() ? tg_unflushed_least(time) : time;
}

/*
 * The session with this number is shown something of the commit at this time, COMMITTED: if it has
 * an open note, remembers its position.  Any thread that works for the session, before it hands up
 * what it has found.
 */
static inline void
tg_unflushed_meet(unsigned reader, tg_time time)
{
	if (tg_unflushed_any())
		tg_unflushed_look(reader, time);
}

/*
 * The highest position that the session has to have flushed before it answers its client, 0: none;
 * it may be of an earlier owner of the session.  And that this has been done: it becomes 0, unless
 * more has been met since.  Owner.
 */
extern uint64_t tg_unflushed_met(const tg_session *session);
extern void tg_unflushed_forget(const tg_session *session, uint64_t position);

#endif /* TG_UNFLUSHED_H */

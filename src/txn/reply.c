/*
 * reply.c
 *	  Nothing leaves for the client that a crash could still take back.
 *
 * A session may be shown commits whose records are not flushed yet (runtime/txn/unflushed.h).  It
 * goes on with what it has found; the flush is due when the first byte that may tell of it leaves
 * for the client (R5): when the send buffer is flushed, or overflows.  Mostly the committer has
 * flushed by then, or the session's own commit has.
 *
 *	PqCommMethods --> here --> PostgreSQL's, for a socket
 *
 * 1. What is put into the buffer since it was last empty is counted.  As long as it fits, putting a
 *	  message sends nothing.
 * 2. A row may come from any function, and an error message may have been made of one, so every
 *	  kind of message counts.
 * 3. In a critical section, or while the log is being flushed, nothing can be waited for.  What is
 *	  put then are PostgreSQL's notices to the client, of its lowest levels.  They stay in the
 *	  buffer; those for which there is no room are dropped.
 * 4. At synchronous_commit = remote_apply a session waits for the standby, too, as for a commit of
 *	  its own.  At all other levels a standby that is down stops no reader.  What has been waited
 *	  for is forgotten: a session that meets the same commit again may have another level by then.
 * 5. A parallel worker sends to its leader, whose client it is for (snapshot.h).
 *
 * What leaves the server in files waits likewise if it is a dump (tsurugi_reply_wait).  Left out:
 * what leaves otherwise, in files of COPY, or in connections that functions open.
 */
#include "postgres.h"

#include "src/txn/reply.h"

/* libpq-be.h keeps its structures the same; without these it needs no other library's headers. */
#undef ENABLE_GSS
#undef USE_OPENSSL

#include "access/xact.h"
#include "access/xlog.h"
#include "libpq/libpq.h"
#include "miscadmin.h"
#include "replication/syncrep.h"

#include "runtime/base/failpoint.h"
#include "runtime/txn/unflushed.h"
#include "src/base/session.h"

#define MESSAGE_HEAD_BYTES 5   /* type and length */
#define SEND_BUFFER_BYTES 8192 /* PostgreSQL's; a larger one sends later */

static const PQcommMethods *next;
static uint64 put_bytes; /* since the buffer was empty */
static bool is_waiting;

/* The position that the client has to wait for; 0: none. */
static XLogRecPtr
due_position(void)
{
	const tg_session *session = tsurugi_session_known();

	return session == NULL ? 0 : tg_unflushed_met(session);
}

/* False: it cannot be waited for now. */
static bool
wait_for_log(void)
{
	XLogRecPtr due = due_position();

	if (likely(due == 0) || tg_failpoint_refuses("skip_r5_reply"))
		return true;
	if (CritSectionCount > 0 || is_waiting)
		return false;
	is_waiting = true;
	HOLD_INTERRUPTS();
	XLogFlush(due);
	if (synchronous_commit >= SYNCHRONOUS_COMMIT_REMOTE_APPLY)
		SyncRepWaitForLSN(due, true);
	RESUME_INTERRUPTS();
	is_waiting = false;
	tg_unflushed_forget(tsurugi_session_known(), due);
	return true;
}

void
tsurugi_reply_wait(void)
{
	if (!wait_for_log())
		elog(ERROR, "the log cannot be waited for");
}

static int
flush(void)
{
	int result;

	if (!wait_for_log())
		return 0;
	result = next->flush();
	put_bytes = 0;
	return result;
}

static int
flush_if_writable(void)
{
	return wait_for_log() ? next->flush_if_writable() : 0;
}

/* Whether a message may be put: it fits, or what it pushes out may leave. */
static bool
make_room(size_t bytes)
{
	put_bytes += MESSAGE_HEAD_BYTES + bytes;
	return likely(put_bytes < SEND_BUFFER_BYTES) || wait_for_log();
}

static int
put_message(char type, const char *bytes, size_t count)
{
	return make_room(count) ? next->putmessage(type, bytes, count) : 0;
}

void
tsurugi_reply_init(void)
{
	static PQcommMethods methods;

	next = PqCommMethods;
	methods = *next;
	methods.flush = flush;
	methods.flush_if_writable = flush_if_writable;
	methods.putmessage = put_message;
	PqCommMethods = &methods;
}

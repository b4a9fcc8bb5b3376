/*
 * keeper.c
 *	  The journal is filled from the log, and no checkpoint completes that would pass it by.
 *
 *	AWAITING	recovery goes on; nothing is logged; on a hot standby tables follow (follower.c)
 *	OPENING		the gate is there; CLEAN_START is in the log, not yet in the journal
 *	FILLING		the log is open
 *	CLOSING		it is closed; backends that are LOGGING finish
 *	SEALING		nobody is LOGGING; the journal gets the rest
 *	CLOSED		the journal has all of it
 *
 * When a checkpoint of PostgreSQL's completes, the log below its redo position may be removed, and
 * recovery begins there.  So the journal must durably have every record of ours below it by then.
 *
 * 1. The gate.  A checkpoint waits for each process that has one of two flags when it looks
 *	  (DELAY_CHKPT_START and DELAY_CHKPT_COMPLETE, storage/proc.h), until that process's virtual
 *	  transaction is another one.  The worker has both from before it opens the log until after it
 *	  has closed it.  It is given another virtual transaction (lxid) when it has found that the redo
 *	  position is below D.
 * 2. The redo position is compared first, and the lxid is incremented then.  A checkpoint may set
 *	  its position between the two, and look for the first flag before the increment: then it
 *	  passes the first wait, uncovered.  It looks for the second flag afterwards, and at the
 *	  comparison that lets it pass there, its position was set.
 * 3. If the redo position is not below D, the worker inserts a MARK, which lies above it, and
 *	  flushes the log up to the MARK's end.  (The redo position itself may lie behind a page header
 *	  that does not exist yet, so it is nothing to flush to.)  Then it reads the log up to there,
 *	  syncs the journal, and D is the end of the MARK.  So a record lies between the redo position
 *	  and that of the checkpoint, and recovery has redo to do.  Without any, PostgreSQL would not
 *	  call recovery.c, and nobody could tell whether the log has more than the journal.
 * 4. In recovery there is no gate: the checkpoint at its end would wait for the worker, which waits
 *	  for the end of recovery.  The startup process fills the journal (recovery.c), and the log is
 *	  closed.
 * 5. What the worker waits for (an error that may go away, backends that are LOGGING) it waits for
 *	  from one look to the next, so that rule 1 is kept meanwhile.
 * 6. An end without CLOSED is a crash: the caller leaves hard, and PostgreSQL starts over.
 *	  Otherwise the gate would be opened by the end of the process, while the journal lacks records.
 *
 * The next worker begins to read at a record that it inserts itself: behind the closed log there is
 * no record of ours before that one.
 */
#include "postgres.h"

#include "src/durable/keeper.h"

#include <signal.h>
#include <unistd.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/latch.h"
#include "storage/pmsignal.h"
#include "storage/proc.h"
#include "utils/timestamp.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/state.h"
#include "src/durable/availability.h"
#include "src/durable/base_writer.h"
#include "src/durable/filler.h"
#include "src/durable/follower.h"
#include "src/durable/loading.h"
#include "src/durable/log_reader.h"
#include "src/log/damage.h"
#include "src/log/log.h"
#include "src/txn/prepared.h"

/* Times between looks. */
#define IDLE_MS 200
#define BUSY_MS 20		   /* something was logged since D */
#define HELD_MS 10		   /* a checkpoint waits, or something else does */
#define CHECKPOINT_MS 1000 /* after a checkpoint has begun: a quick one ends by then, and the next begins */
#define COMPLAINT_MS 10000 /* between two reports of an error that stays */

/* 1. */
#define GATE (DELAY_CHKPT_START | DELAY_CHKPT_COMPLETE)

typedef enum phase
{
	AWAITING,
	OPENING,
	FILLING,
	CLOSING,
	SEALING,
	CLOSED
} phase;

static phase now = AWAITING;
static XLogRecPtr mark; /* the end of a MARK that D is to move to; 0: none */
static bool is_marking; /* for a base */
static TimestampTz complained;
static TimestampTz held_since; /* 0: no checkpoint is held */
static XLogRecPtr redo;		   /* the redo position at the last look, and when it was new */
static TimestampTz redo_since;
static tsurugi_durability told;
static bool follows;	  /* on a standby, AWAITING */
static tg_bytes going_on; /* numbers of prepared transactions that were loaded */

/* --- what is told ----------------------------------------------------------------------------- */

static void
tell(void)
{
	tg_state state = tsurugi_filler_state();

	told.durable = state.durable;
	told.base = state.base;
	tsurugi_durability_tell(&told);
}

/* An error that may go away. */
static void
complain(void)
{
	TimestampTz time = GetCurrentTimestamp();

	told.error_time = time;
	tsurugi_filler_describe(told.error, sizeof(told.error));
	tell();
	tsurugi_base_fail();
	is_marking = false;
	if (complained != 0 && !TimestampDifferenceExceeds(complained, time, COMPLAINT_MS))
		return;
	complained = time;
	tsurugi_filler_report(LOG);
}

static void
count_hold(void)
{
	int64 held_us;

	if (held_since == 0)
		return;
	told.checkpoints_held++;
	held_us = GetCurrentTimestamp() - held_since;
	told.longest_hold_us = Max(told.longest_hold_us, held_us);
	held_since = 0;
}

/* --- the gate --------------------------------------------------------------------------------- */

static void
next_lxid(void)
{
	LocalTransactionId next = MyProc->lxid + 1;

	MyProc->lxid = LocalTransactionIdIsValid(next) ? next : next + 1;
}

static void
close_gate(void)
{
	tg_assert((MyProc->delayChkptFlags & GATE) == 0);
	next_lxid();
	MyProc->delayChkptFlags |= GATE;
	pg_memory_barrier(); /* before any record that it is to cover */
}

static void
remove_gate(void)
{
	tg_assert((MyProc->delayChkptFlags & GATE) == GATE);
	pg_memory_barrier();
	MyProc->delayChkptFlags &= ~GATE;
}

/* 2.  Whether no checkpoint is held. */
static bool
let_pass(void)
{
	tg_assert((MyProc->delayChkptFlags & GATE) == GATE);
	if (GetRedoRecPtr() >= tsurugi_filler_durable())
	{
		if (held_since == 0)
			held_since = GetCurrentTimestamp();
		return false;
	}
	count_hold();
	next_lxid();
	return true;
}

/*
 * Whether a checkpoint has begun a moment ago.  It waits for each of the two flags, as long as the
 * worker sleeps; and CREATE DATABASE makes two checkpoints.  A checkpoint that PostgreSQL spreads
 * over minutes comes to the second flag when nobody expects it, and can wait.
 */
static bool
checkpoint_is_quick(void)
{
	TimestampTz time = GetCurrentTimestamp();
	XLogRecPtr newest = GetRedoRecPtr();

	if (redo != newest)
	{
		redo = newest;
		redo_since = time;
	}
	return !TimestampDifferenceExceeds(redo_since, time, CHECKPOINT_MS);
}

/* --- D ---------------------------------------------------------------------------------------- */

/* 3.  Moves D to the end of a MARK; false: not in this look. */
static bool
advance(bool clean)
{
	if (mark == InvalidXLogRecPtr)
	{
		mark = tsurugi_log_insert_mark();
		XLogFlush(mark);
	}
	while (tsurugi_log_reader_position() < mark)
		if (!tsurugi_log_reader_read())
			return false;
	if (!tsurugi_filler_sync(mark, clean))
	{
		complain();
		return false;
	}
	mark = InvalidXLogRecPtr;
	tell();
	return true;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* The files cannot be used, and say why. */
static void
refuse(void)
{
	tsurugi_filler_describe(told.error, sizeof(told.error));
	told.error_time = GetCurrentTimestamp();
	told.refusal = ERRCODE_DATA_CORRUPTED;
	tell();
	tsurugi_filler_report(LOG);
	tsurugi_stage_set(TSURUGI_REFUSED);
}

/*
 * 5.  Whether they were opened.  What is damaged stays so, and after a sync that has failed nobody
 * knows what the files have.  Any other error may go away, and the next look tries again.
 */
static bool
open_files(void)
{
	const tg_file_error *error = tsurugi_filler_error();

	if (tsurugi_filler_open(tsurugi_ignore_damage ? TSURUGI_FILES_DAMAGED : TSURUGI_FILES_WHOLE, InvalidXLogRecPtr))
		return true;
	if (error->error != 0 && !error->in_sync)
		complain();
	else
		refuse();
	return false;
}

/* The arena is empty, and gets what the files have.  False: tables cannot be reached. */
static bool
load(void)
{
	tg_status status;

	if (!open_files())
		return false;
	tsurugi_stage_set(TSURUGI_LOADING);
	tg_failpoint("load_begin");
	status = tsurugi_load_tables(&told, &going_on);
	tg_failpoint("load_end");
	tell();
	if (status != TG_OK)
		tsurugi_filler_close();
	if (status != TG_CANCELLED)
		tsurugi_stage_set(status == TG_OK ? TSURUGI_OPEN : TSURUGI_REFUSED);
	return status == TG_OK;
}

/*
 * The gate, and the first record behind it.  A worker that takes over has nothing to say of
 * transactions: those of its predecessor's time go on.  Returns where the record starts.
 */
static XLogRecPtr
begin_to_fill(bool takes_over)
{
	XLogRecPtr first;

	close_gate();
	(void) (takes_over ? tsurugi_log_insert_mark() : tsurugi_log_insert_clean_start(&going_on));
	first = ProcLastRecPtr;
	tg_failpoint("first_record");
	tsurugi_log_reader_begin(first);
	now = OPENING;
	return first;
}

/* In how many milliseconds there is more to do. */
static int
write_base_following(void)
{
	XLogRecPtr position;
	tsurugi_base_need need;

	if (!tsurugi_follower_is_between_frames(&position))
		return IDLE_MS;
	need = tsurugi_base_look(position);
	told.base = tsurugi_durability_get().base;
	return need == TSURUGI_BASE_NOTHING ? IDLE_MS : need == TSURUGI_BASE_WAIT ? HELD_MS : 0;
}

/* A base that was damaged when the tables were to be loaded is named no more, as in loading.c. */
static void
name_loaded_base(void)
{
	uint64 base = tsurugi_follower_base();

	if (tsurugi_filler_state().base != base && !tsurugi_filler_set_base(base))
		complain();
}

/* The tables have followed to the end of the journal, and sessions will change them. */
static int
go_on(tsurugi_followed *followed)
{
	bool is_known = followed->last != InvalidXLogRecPtr;
	XLogRecPtr first;

	if (is_known && !tsurugi_filler_go_on(followed->last, followed->end, &followed->undecided))
	{
		refuse();
		return IDLE_MS;
	}
	if (!is_known && !open_files())
	{
		refuse(); /* another look would find tables that follow no more */
		return IDLE_MS;
	}
	name_loaded_base();
	first = begin_to_fill(false);
	tsurugi_base_go_on(&followed->undecided, first);
	tsurugi_stage_set(TSURUGI_OPEN);
	return 0;
}

/* On a hot standby: the tables follow until recovery has ended. */
static int
follow(void)
{
	tsurugi_followed followed;
	int ms;

	if (RecoveryInProgress())
	{
		int base_ms;

		ms = tsurugi_follower_look(&told);
		follows = tsurugi_durability_get().stage == TSURUGI_FOLLOWING;
		if (!follows)
			return ms;
		base_ms = write_base_following();
		return Min(ms, base_ms);
	}
	if (!tsurugi_follower_end(&told, &going_on, &followed, &ms))
	{
		follows = tsurugi_durability_get().stage == TSURUGI_FOLLOWING && !ShutdownRequestPending;
		return ms;
	}
	follows = false;
	return go_on(&followed);
}

/* 4. */
static int
await(void)
{
	tsurugi_stage stage = tsurugi_durability_get().stage;

	if (follows)
		return follow();
	if (stage == TSURUGI_EMPTY && tsurugi_follower_may_begin())
	{
		follows = tsurugi_follower_begin(&told);
		return 0;
	}
	if (stage == TSURUGI_REFUSED || (RecoveryInProgress() && stage == TSURUGI_EMPTY))
		return IDLE_MS;
	if (stage == TSURUGI_LOADING || stage == TSURUGI_FOLLOWING)
	{
		/* Another worker was stopped meanwhile: only a new start empties the arena. */
		if (ShutdownRequestPending)
			return IDLE_MS;
		ereport(LOG, (errmsg("tsurugi_fdw was stopped while it loaded tables; the server starts over")));
		_exit(2);
	}
	if (stage == TSURUGI_OPEN ? !open_files() : !load())
		return IDLE_MS;
	if (stage == TSURUGI_OPEN)
		tsurugi_base_take_over();
	(void) begin_to_fill(stage == TSURUGI_OPEN);
	return 0;
}

/* When D is behind the first record, and the state says that more may follow, the log opens. */
static int
open_log(void)
{
	if (!advance(false))
		return HELD_MS;
	now = FILLING;
	tsurugi_log_open();
	return 0;
}

/* --- looks ------------------------------------------------------------------------------------ */

/* In how many milliseconds there is more to do. */
static int
write_base(void)
{
	if (!is_marking)
		switch (tsurugi_base_look(tsurugi_filler_durable()))
		{
			case TSURUGI_BASE_NOTHING:
				return IDLE_MS;
			case TSURUGI_BASE_LOOK:
				return 0;
			case TSURUGI_BASE_WAIT:
				return HELD_MS;
			case TSURUGI_BASE_MARK:
				is_marking = true;
				mark = InvalidXLogRecPtr; /* a new one */
		}
	if (advance(false))
		is_marking = false;
	return is_marking ? HELD_MS : 0;
}

static int
fill(void)
{
	bool all = tsurugi_log_reader_read();
	bool written;
	int most;
	int base_ms;

	tsurugi_prepared_finish_all();
	tsurugi_log_ask_for_time();
	written = tsurugi_filler_write(1);
	if (!written)
		complain();
	if (!let_pass())
	{
		if (advance(false))
			(void) let_pass();
		return HELD_MS;
	}
	if (!all)
		return written ? 0 : HELD_MS;
	most = checkpoint_is_quick() ? HELD_MS : tsurugi_filler_is_ahead() ? BUSY_MS : IDLE_MS;
	base_ms = now == FILLING ? write_base() : IDLE_MS;
	return Min(base_ms, most);
}

void
tsurugi_keeper_begin(void)
{
	tsurugi_availability_worker_begin();
	tsurugi_base_begin();
}

int
tsurugi_keeper_look(void)
{
	switch (now)
	{
		case AWAITING:
			return await();
		case OPENING:
			return open_log();
		default:
			return fill();
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Whether D is behind all records of ours, for good. */
static bool
seal(void)
{
	if (!advance(true))
		return false;
	remove_gate();
	return true;
}

/* One step towards CLOSED. */
static void
close_log(void)
{
	switch (now)
	{
		case AWAITING:
			tsurugi_base_abandon();
			now = CLOSED;
			break;
		case OPENING:
			now = SEALING;
			break;
		case FILLING:
			tsurugi_base_abandon();
			tsurugi_log_close();
			now = CLOSING;
			break;
		case CLOSING:
			(void) fill(); /* a backend that is LOGGING may wait for a checkpoint */
			if (!tsurugi_log_is_quiet())
				break;
			mark = InvalidXLogRecPtr; /* an older one covers too little */
			now = SEALING;
			break;
		case SEALING:
			if (seal())
				now = CLOSED;
			break;
		case CLOSED:
			break;
	}
}

bool
tsurugi_keeper_end(int *sleep_ms)
{
	phase before = now;

	close_log();
	*sleep_ms = now != before ? 0 : HELD_MS;
	if (now != CLOSED)
		return false;
	tsurugi_base_hand_over();
	tsurugi_log_reader_end();
	tsurugi_filler_close();
	tsurugi_availability_worker_end();
	return true;
}

void
tsurugi_keeper_abandon(void)
{
	Latch *latch = ProcGlobal->checkpointerLatch;

	if (now != AWAITING && !PostmasterIsAlive() && latch != NULL && latch->owner_pid != 0)
		(void) kill(latch->owner_pid, SIGQUIT);
}

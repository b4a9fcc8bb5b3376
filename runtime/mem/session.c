/*
 * session.c
 *	  The table of sessions, and epochs.
 *
 * Epoch-based reclamation (K. Fraser, "Practical lock-freedom", 2004) with "ragged" agreement on
 * the epochs: no session waits for another; each announces the epoch that it entered in.
 *
 *	  quiescent (0) --enter: global epoch--> inside (e) --leave--> quiescent
 *
 * 1. A session's epoch is written by its owner only; it is 0 outside.
 * 2. The global epoch only grows.
 * 3. The confirmed epoch is at most the global one, and at most that of any
 *	  session that was inside when it was taken.
 *
 * Claim: an object unlinked by U, for which U then read e = tg_epoch_now(),
 * may be reused by a thread F that knows e (so U's reading it happened before)
 * and then found tg_epoch_confirmed() > e.
 *
 * The four steps, with the full fences that they contain:
 *
 *	  enter   R1 read global = s; R2 store mine = s, release; fence FR; R3 read pointers
 *	  leave   R4 store mine = 0, release
 *	  now     U1 unlink; fence FU; U2 read global = e
 *	  confirm F1 read global; F2 read every session's epoch, acquire
 *
 * Suppose reader R meets the object, so R3 did not see U1.  Fences are totally
 * ordered; if FU were before FR, R3 would have seen U1.  So FR is before FU,
 * which happened before F2, and F2 sees R2: it reads s or what R stored later.
 *	  - It reads s <= e: no reuse.
 *	  - It reads s > e.  Then U2, which read e, came before the global epoch
 *		became s, which R1 read; U2 follows FU and R1 precedes FR, so FU is
 *		before FR.  A contradiction: a session that enters in a later epoch than
 *		the unlinking cannot meet the object.
 *	  - It reads a later value, 0 of R4 or of a later enter.  Both release, F2
 *		acquires: R's use of the object happened before the reuse.
 * A session that entered in e itself may have read the pointer before U1 or
 * after, so equality must not permit the reuse.  F1 bounds the result when no
 * session is inside.  The confirming thread needs no fence of its own.
 *
 * The top of the table, below which F2 looks, is stored before FR, too.
 *
 * R1 is repeated after FR.  The claim does not need it; it keeps a session that
 * slept between R1 and R2 from holding back the confirmed epoch with an old s.
 * For that moment the confirmed epoch may fall; an object that was confirmed
 * once stays safe, by the same claim.
 *
 * On x86 FR is the exchange that stores, a full fence; elsewhere it is a fence.
 * test/explore/explore_epoch.c tries every schedule of a few threads on this
 * code, with the stale reads that C11 allows: without FR or FU, with equality, or
 * with any of the three orders relaxed, it finds a use after reuse; as it is, none.
 */
#include "runtime/mem/session.h"

#include <string.h>

#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/session_internal.h"

typedef struct sessions_state
{
	uint64_t epoch TG_CACHE_ALIGNED; /* global; atomic, any thread advances it */

	tg_latch latch TG_CACHE_ALIGNED; /* guards the rest, unless said otherwise */
	uint32_t session_max;			 /* constant */
	uint32_t top;					 /* ids of sessions ever opened are smaller; read by all */
	uint32_t free_count;
	tg_session sessions[]; /* followed by the ids of free ones, uint32_t[session_max] */
} sessions_state;

uint64_t *tg_epoch_global;

static sessions_state *state;
static uint32_t *free_ids; /* a stack */

/* --- set-up ------------------------------------------------------------------- */

size_t
tg_sessions_state_bytes(unsigned session_max)
{
	return sizeof(sessions_state) + session_max * (sizeof(tg_session) + sizeof(uint32_t));
}

void
tg_sessions_setup(void *memory, unsigned session_max, tg_cache *caches, tg_retirement *retirements)
{
	state = memory;
	free_ids = (uint32_t *) &state->sessions[session_max];
	tg_epoch_global = &state->epoch;

	memset(state, 0, tg_sessions_state_bytes(session_max));
	state->epoch = 1;
	tg_latch_init(&state->latch, TG_RANK_SESSION);
	state->session_max = session_max;
	state->free_count = session_max;
	for (unsigned id = 0; id < session_max; id++)
	{
		state->sessions[id].id = id;
		state->sessions[id].cache = &caches[id];
		state->sessions[id].retirement = &retirements[id];
		free_ids[id] = session_max - 1 - id; /* small ids first, so that few are examined */
	}
}

/* --- the table ------------------------------------------------------------------ */

tg_status
tg_session_open(tg_session **session_out)
{
	tg_session *session = NULL;

	tg_latch_acquire(&state->latch);
	if (state->free_count > 0)
	{
		uint32_t id = free_ids[--state->free_count];

		session = &state->sessions[id];
		tg_store_relaxed(&session->open, true);
		if (id >= state->top)
			tg_store_relaxed(&state->top, id + 1); /* ordered by FR */
	}
	tg_latch_release(&state->latch);
	if (session == NULL)
		return TG_FULL;
	tg_assert(tg_load_relaxed(&session->epoch) == 0 && session->depth == 0);
	session->lane = NULL;
	tg_claims_end(session);
	tg_claims_privilege(session, false);
	/* it may have been asked while it had no owner */
	tg_store_relaxed(&session->presence, TG_PRESENT);
	*session_out = session;
	return TG_OK;
}

void
tg_session_close(tg_session *session)
{
	tg_assert(tg_load_relaxed(&session->open) && session->depth == 0);
	tg_retirement_depart(session);
	tg_alloc_flush(session);
	tg_latch_acquire(&state->latch);
	tg_store_relaxed(&session->open, false);
	free_ids[state->free_count++] = session->id;
	tg_latch_release(&state->latch);
}

unsigned
tg_session_max(void)
{
	return state->session_max;
}

bool
tg_session_is_open(unsigned id)
{
	tg_assert(id < state->session_max);
	return tg_load_relaxed(&state->sessions[id].open);
}

unsigned
tg_session_top(void)
{
	return tg_load_relaxed(&state->top);
}

tg_session *
tg_session_at(unsigned id)
{
	tg_assert(id < state->session_max);
	return &state->sessions[id];
}

void
tg_sessions_used_sum(int64_t used_sums[TG_USE_COUNT])
{
	uint32_t top = tg_load_relaxed(&state->top);

	for (uint32_t id = 0; id < top; id++)
		tg_cache_sum(state->sessions[id].cache, used_sums);
}

/* --- epochs ----------------------------------------------------------------------- */

uint64_t
tg_epoch_now(void)
{
	tg_fence_seq_cst(); /* FU */
	return tg_load_acquire(&state->epoch);
}

void
tg_epoch_advance(void)
{
	/*
	 * an FU for a thread that changes something and then advances, instead of asking for the epoch
	 */
	tg_fence_seq_cst();
	(void) tg_fetch_add_acq_rel(&state->epoch, 1);
}

uint64_t
tg_epoch_confirmed(void)
{
	uint64_t confirmed = tg_load_acquire(&state->epoch);
	uint32_t top = tg_load_relaxed(&state->top); /* stored before FR */

	for (uint32_t id = 0; id < top; id++)
	{
		/* pairs with enter's and leave's release */
		uint64_t epoch = tg_load_acquire(&state->sessions[id].epoch);

		if (epoch != 0 && epoch < confirmed)
			confirmed = epoch;
	}
	return confirmed;
}

bool
tg_epoch_holder(unsigned *session_id_out, uint64_t *epoch_out)
{
	uint32_t top = tg_load_relaxed(&state->top);

	*epoch_out = 0;
	for (uint32_t id = 0; id < top; id++)
	{
		uint64_t epoch = tg_load_relaxed(&state->sessions[id].epoch);

		if (epoch != 0 && (*epoch_out == 0 || epoch < *epoch_out))
		{
			*epoch_out = epoch;
			*session_id_out = id;
		}
	}
	return *epoch_out != 0;
}

/*
 * loader_needs.c
 *	  What seats of a loader park for, and how they go on: loader.c, 2, 4, 5 and 8.
 */
#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/batch/loader_internal.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/presence.h"

#define ROOM_LEAST 512 /* bytes; less would not be aligned for values (alloc.h) */

/* --- the seat's side -------------------------------------------------------------------------- */

static bool
take_back_need(tg_loader_seat *seat)
{
	uint32_t need = TG_SEAT_NEEDS_SEAT;

	return tg_cas_acq_rel(&seat->need, &need, TG_SEAT_NEEDS_NOTHING);
}

/* 8 */
void
tg_loader_note_end(tg_session *session, tg_loader *loader)
{
	tg_fetch_add_acq_rel(&loader->ended, 1);
	tg_fence_seq_cst();
	for (unsigned i = 0; i < loader->seat_count; i++)
		if (take_back_need(&loader->seats[i]))
			tg_task_unpark(session, &loader->seats[i].task);
}

/* 8.  The last use of the seat in this turn, but for its need. */
static tg_turn
wait_for_seat(tg_loader_seat *seat)
{
	uint32_t seen = seat->ended_seen;

	tg_failpoint("load_waits_for_seat");
	tg_session_go_away(seat->session);
	tg_store_release(&seat->need, TG_SEAT_NEEDS_SEAT);
	tg_fence_seq_cst();
	if (tg_load_acquire(&seat->loader->ended) != seen && take_back_need(seat))
		return TG_TURN_AGAIN;
	return TG_TURN_PARK;
}

tg_turn
tg_seat_ask(tg_loader_seat *seat, tg_seat_need need)
{
	void *waiter = seat->loader->config.waiter;

	if (need == TG_SEAT_NEEDS_SEAT)
		return wait_for_seat(seat);
	tg_session_go_away(seat->session);
	tg_store_release(&seat->need, need);
	tg_host_wake(waiter);
	return TG_TURN_PARK;
}

bool
tg_seat_is_parked(tg_loader_seat *seat)
{
	uint32_t need = tg_load_acquire(&seat->need);

	if (need <= TG_SEAT_NEEDS_OTHER && !tg_batch_is_running(&seat->loader->tree))
	{
		(void) take_back_need(seat);
		return false;
	}
	return need != TG_SEAT_NEEDS_NOTHING;
}

/* --- the requester's side --------------------------------------------------------------------- */

static bool
find_need(const tg_loader *loader, tg_seat_need need, unsigned *seat_out)
{
	for (unsigned i = 0; i < loader->seat_count; i++)
		if (tg_load_acquire(&loader->seats[i].need) == need)
		{
			*seat_out = i;
			return true;
		}
	return false;
}

/* What is the requester's comes first: one that waits does nothing else. */
bool
tg_loader_needs(const tg_loader *loader, tg_loader_need *need_out)
{
	const tg_loader_seat *seat;

	*need_out = (tg_loader_need){.seat = 0};
	if (find_need(loader, TG_SEAT_NEEDS_COMMIT, &need_out->seat))
		need_out->txn = loader->seats[need_out->seat].txn;
	else if (find_need(loader, TG_SEAT_NEEDS_ROWS, &need_out->seat))
	{
		seat = &loader->seats[need_out->seat];
		need_out->rows = seat->asks_odd ? seat->odd : seat->rows;
		need_out->row_count = seat->asks_odd ? seat->odd_count : seat->asked;
		need_out->file = seat->seat->file;
		need_out->block = seat->seat->block;
		need_out->rows_before = seat->reader.block_rows_before;
	}
	/* the end of a load that aborts does not wait for others */
	else if (tg_batch_is_running(&loader->tree) && find_need(loader, TG_SEAT_NEEDS_OTHER, &need_out->seat))
		need_out->wait = loader->seats[need_out->seat].wait;
	else
		return false;
	return true;
}

static void
let_go_on(tg_session *session, tg_loader_seat *seat)
{
	tg_store_release(&seat->need, TG_SEAT_NEEDS_NOTHING);
	tg_task_unpark(session, &seat->task);
}

void
tg_loader_go_on(tg_session *session, tg_loader *loader, const tg_loader_need *need)
{
	tg_loader_seat *seat = &loader->seats[need->seat];

	if (need->txn != NULL)
		tg_seat_note_commit(session, seat);
	let_go_on(session, seat);
}

void *
tg_loader_room(tg_session *session, tg_loader *loader, const tg_loader_need *need, size_t bytes)
{
	tg_loader_seat *seat = &loader->seats[need->seat];

	tg_assert(seat->converted == NULL);
	seat->converted = tg_alloc(session, bytes < ROOM_LEAST ? ROOM_LEAST : bytes, TG_USE_JOB, TG_DATA);
	return seat->converted;
}

void
tg_loader_give_back(tg_session *session, tg_loader *loader)
{
	for (unsigned i = 0; i < loader->seat_count; i++)
		if (tg_load_acquire(&loader->seats[i].need) >= TG_SEAT_NEEDS_COMMIT)
			let_go_on(session, &loader->seats[i]);
}

/*
 * shared_place.c
 *	  The places of transactions that several sessions work in; how a handle or number finds one.
 *
 * There are TG_SHARED_MAX.  A transaction keeps its place beyond its end, so that its outcome can
 * be asked for.  A role has a share of the places, for its running and its ended transactions
 * together: otherwise one role could fill all of them, for as long as its leases are.  An ended
 * transaction makes room for the role's next one.
 */
#include "runtime/txn/shared_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/sched/park.h"
#include "runtime/index/rank_holders.h"

#define PLACE_BITS 8

_Static_assert(TG_SHARED_MAX <= 1 << PLACE_BITS, "a place fits into the host's word");

/* Whether tg_shared_start draws its snapshot. */
static inline bool
is_started(tg_txn_kind kind)
{
	return kind == TG_TXN_LONG || kind == TG_TXN_READ_ONLY;
}

/* --- finding; under the latch ------------------------------------------------------------- */

/* Takes the same time however much of the handle is right, so timing reveals nothing. */
static bool
is_handle(const tg_handle *handle, const tg_handle *other)
{
	return ((handle->secret[0] ^ other->secret[0]) | (handle->secret[1] ^ other->secret[1])) == 0;
}

static tg_shared *
find(const tg_handle *handle)
{
	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
	{
		tg_shared *shared = &tg_shared_all->place[i];

		if (shared->in_use && is_handle(&shared->handle, handle))
			return shared;
	}
	return NULL;
}

/* Whether only its outcome is left, and no session has it open: shared.c, 4. */
static bool
is_over(const tg_shared *shared)
{
	return (shared->open_count == 0 || tg_failpoint_refuses("skip_open")) && tg_shared_has_ended(shared) &&
		   tg_lane_is_free(&shared->txn->lane);
}

bool
tg_shared_may_go(const tg_shared *shared, uint64_t now)
{
	return is_over(shared) && tg_load_relaxed(&shared->deadline_us) <= now;
}

/* The places of one role. */
typedef struct places
{
	unsigned count;
	unsigned working;  /* those that are not over */
	tg_shared *oldest; /* of those that are over */
} places;

static void
count_place(places *counted, tg_shared *shared)
{
	counted->count++;
	if (!is_over(shared))
		counted->working++;
	else if (counted->oldest == NULL ||
			 tg_load_relaxed(&shared->deadline_us) < tg_load_relaxed(&counted->oldest->deadline_us))
		counted->oldest = shared;
}

static tg_status
find_place(const tg_shared_config *config, tg_shared **place_out)
{
	unsigned max = config->place_max != 0 ? config->place_max : TG_SHARED_MAX;
	uint64_t now = tg_clock_us();
	tg_shared *unused = NULL;
	places own = {0};

	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
	{
		tg_shared *shared = &tg_shared_all->place[i];

		if (!shared->in_use || tg_shared_may_go(shared, now))
			unused = unused != NULL ? unused : shared;
		else if ((uint32_t) shared->role == (uint32_t) config->role)
			count_place(&own, shared);
	}
	if (own.working >= max)
		return max < TG_SHARED_MAX ? TG_TOO_LARGE : TG_FULL;
	*place_out = unused != NULL && own.count < max ? unused : own.oldest;
	return *place_out != NULL ? TG_OK : TG_FULL;
}

/* --- life --------------------------------------------------------------------------------- */

static tg_status
take_place(tg_session *session, const tg_shared_config *config, tg_reads *reads)
{
	tg_shared *shared;
	tg_status status;
	unsigned number;

	if (find(&config->handle) != NULL)
		return TG_EXISTS;
	status = find_place(config, &shared);
	if (status != TG_OK)
		return status;
	number = (unsigned) (shared - tg_shared_all->place);
	shared->handle = config->handle;
	shared->role = config->role;
	shared->open_count = 0;
	shared->reason = TG_SHARED_NOT_ABORTED;
	shared->text[0] = '\0';
	shared->lease_us = (uint64_t) config->lease_ms * 1000;
	shared->owner = config->owner;
	shared->kind = config->kind;
	shared->isolation = config->kind != TG_TXN_ORDINARY ? TG_SERIALIZABLE : config->isolation;
	shared->table_count = config->table_count;
	for (unsigned i = 0; i < config->table_count; i++)
		shared->tables[i] = config->tables[i];
	shared->reads = reads;
	shared->include = shared->exclude = NULL;
	shared->snapshot = 0;
	shared->logged = 0;
	shared->command = 0;
	shared->host = TG_HOST_SHARED | ++tg_shared_all->incarnation << PLACE_BITS | number;
	shared->txn = tg_txn_begin_at(session, tg_shared_all->first_txn + number, shared->host, config->kind,
								  config->isolation, config->label);
	shared->txn->shared = shared;
	/* the session may already have ranks in its hands that its declared areas contain */
	tg_rank_hold_with(tg_txn_number(shared->txn), session->id);
	if (reads != NULL)
		tg_txn_track(shared->txn, reads);
	tg_store_relaxed(&shared->state, is_started(config->kind) ? TG_SHARED_WAITING : TG_SHARED_RUNNING);
	tg_store_release(&shared->ending, 0);
	tg_shared_renew(shared);
	shared->in_use = true;
	return TG_OK;
}

tg_status
tg_shared_begin(tg_session *session, const tg_shared_config *config)
{
	tg_reads *reads = NULL;
	tg_status status;

	tg_assert(config->table_count <= TG_SHARED_TABLES_MAX);
	if (tg_shared_is_validated(config->kind, config->isolation))
	{
		status = tg_reads_create(session, &reads);
		if (status != TG_OK)
			return status;
	}
	tg_latch_acquire(&tg_shared_all->latch);
	status = take_place(session, config, reads);
	tg_latch_release(&tg_shared_all->latch);
	if (status != TG_OK && reads != NULL)
		tg_reads_destroy(session, reads);
	return status;
}

/* Takes the latch over. */
static tg_status
open_found(tg_shared *shared, tg_shared **shared_out)
{
	if (shared != NULL)
		shared->open_count++;
	tg_latch_release(&tg_shared_all->latch);
	*shared_out = shared;
	return shared != NULL ? TG_OK : TG_NOT_FOUND;
}

tg_status
tg_shared_open(const tg_handle *handle, uint64_t role, tg_shared **shared_out)
{
	tg_shared *shared;

	tg_latch_acquire(&tg_shared_all->latch);
	shared = find(handle);
	if (shared != NULL && (shared->role != role || tg_shared_may_go(shared, tg_clock_us())))
		shared = NULL;
	return open_found(shared, shared_out);
}

tg_status
tg_shared_open_number(uint64_t number, tg_shared **shared_out)
{
	tg_shared *shared = &tg_shared_all->place[number % (1 << PLACE_BITS) % TG_SHARED_MAX];

	tg_latch_acquire(&tg_shared_all->latch);
	if (!shared->in_use || tg_shared_number(shared) != number)
		shared = NULL;
	return open_found(shared, shared_out);
}

void
tg_shared_close(tg_shared *shared)
{
	tg_latch_acquire(&tg_shared_all->latch);
	tg_assert(shared->open_count > 0);
	shared->open_count--;
	tg_latch_release(&tg_shared_all->latch);
}

/*
 * kinds.c
 *	  SHORT, LONG and READ ONLY: when and how each kind checks the preserve list.
 *
 * A LONG is serialized at R_L, its start, although its versions carry the C_L of its end.  This is
 * right because no other transaction writes in its areas between the two (W0, L1, L2), and no
 * transaction that is serialized between the two has read there (S3, S4, L3, L6).
 *
 * Choices that leave fewer states:
 *
 * 1. The list is looked at only under its latch, and R_L (L1 c), C_L and A are drawn under it.  So
 *	  no transaction meets an entry whose R_L or C_L is being drawn: there is no state DRAWING, and
 *	  nothing spins.  Without the latch there are only one load of the count of entries (preserve.h)
 *	  and the question whether an entry has ended.
 * 2. A LONG passes over the writers that had seen its entry when they registered.  (L1 b says:
 *	  every registered writer.)  They check each write against its areas and wait, or fail, before
 *	  they write there (W0, L2); and before they registered they wrote nothing in that table.  So
 *	  they have no write in its areas, and will have none before it ends.  This removes the race in
 *	  which a LONG and a writer see each other and wait for each other, until the writer takes its
 *	  registration back.  A writer that waits still takes back the registrations of tables in which
 *	  it has not written, for the sake of LONGs that it has not seen.
 * 3. The LONGs that a LONG remembers at L1 (c) are not stored: they are the entries with a smaller
 *	  sequence number that have not aborted and have no C_L <= R_L.  All of them stay listed until
 *	  this LONG has ended, because it publishes R_L, and their ends are later (G1).
 */
#include "runtime/txn/kinds.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/reads_internal.h"
#include "runtime/txn/txn_internal.h"

static inline uint64_t
outcome_make(tg_outcome outcome, tg_time time)
{
	return time << TG_OUTCOME_BITS | outcome;
}

/* --- looking at entries; under the latch ------------------------------------------------ */

/* R_L < before, after < C_L, and not aborted. */
static bool
lies_around(const tg_preserve *entry, tg_time before, tg_time after)
{
	uint64_t outcome = tg_load_relaxed(&entry->outcome);

	if (entry->start == 0 || entry->start >= before || tg_outcome_state(outcome) == TG_OUTCOME_ABORTED)
		return false;
	return tg_outcome_state(outcome) == TG_OUTCOME_NONE || tg_outcome_time(outcome) > after;
}

/* R_L < time < C_L, and not aborted (S3, S4, L6). */
static bool
lies_within(const tg_preserve *entry, tg_time time)
{
	return lies_around(entry, time, time);
}

/* Rule 3. */
static bool
is_remembered(const tg_preserve *entry, const tg_preserve *by)
{
	uint64_t outcome = tg_load_relaxed(&entry->outcome);

	if (entry->start == 0 || entry->sequence >= by->sequence || tg_outcome_state(outcome) == TG_OUTCOME_ABORTED)
		return false;
	return tg_outcome_state(outcome) == TG_OUTCOME_NONE || tg_outcome_time(outcome) > by->start;
}

/* The conflict report for a transaction that fails because of a LONG that has not aborted. */
static tg_conflict
conflict_with(const tg_preserve *entry, tg_conflict_kind kind, uint32_t relation)
{
	uint64_t outcome = tg_load_relaxed(&entry->outcome);

	return (tg_conflict){.kind = kind,
						 .relation = relation,
						 .row = TG_ROW_MAX,
						 .time = tg_outcome_state(outcome) == TG_OUTCOME_COMMITTED ? tg_outcome_time(outcome) : 0,
						 .other = entry->host};
}

/* --- LONG: its start -------------------------------------------------------------------------- */

tg_status
tg_long_publish(tg_session *session, tg_txn *txn, const tg_long_config *config)
{
	tg_preserve *entry = tg_preserve_new(session);
	tg_status status;

	tg_assert(tg_load_relaxed(&txn->kind) == TG_TXN_LONG && txn->preserve == NULL && txn->log == NULL);
	if (entry == NULL)
		return TG_NO_MEMORY;
	if ((status = tg_areas_create(session, config->preserve, config->preserve_count, &entry->areas)) != TG_OK ||
		(status = tg_areas_create(session, config->include, config->include_count, &entry->include)) != TG_OK ||
		(status = tg_areas_create(session, config->exclude, config->exclude_count, &entry->exclude)) != TG_OK)
		goto fail;
	tg_store_relaxed(&txn->promoted_after, config->promoted_after);
	entry->priority = config->priority;
	entry->waiter = config->waiter;
	entry->txn = (uint32_t) (txn - tg_txns->txn);
	entry->host = tg_load_relaxed(&txn->host);
	/* L1 (a) */
	tg_preserve_lock();
	status = tg_preserve_list(entry);
	tg_preserve_unlock();
	if (status != TG_OK)
		goto fail;
	tg_failpoint("long_published");
	txn->preserve = entry;
	txn->remembered = UINT32_MAX; /* not started */
	return TG_OK;

fail:
	tg_preserve_free(session, entry);
	return status;
}

static void
set_waits(tg_preserve *entry, bool waits)
{
	if (entry->waits != waits)
		tg_fetch_add_seq_cst(&tg_txns->starters, waits ? 1 : UINT64_MAX);
	entry->waits = waits;
}

/* L1 (b), L7: whether the entry must wait for the other. */
static bool
goes_first(const tg_preserve *other, const tg_preserve *entry)
{
	if (tg_preserve_has_ended(other))
		return false;
	if (!tg_areas_meet(other->areas, entry->areas) &&
		((entry->include == NULL && entry->exclude == NULL) ||
		 !tg_areas_meet_declared(other->areas, entry->include, entry->exclude)))
		return false;
	if (other->start != 0)
		return !tg_failpoint_refuses("skip_l1b_long");
	if (other->priority != entry->priority && !tg_failpoint_refuses("skip_l7"))
		return other->priority > entry->priority;
	return other->published < entry->published;
}

/* The next obstacle to the entry's start, from descriptor *at on; *at 0: other LONGs come first. */
bool
tg_long_next_obstacle(const tg_preserve *entry, unsigned *at, const tg_preserve **long_at, tg_wait *wait_out)
{
	if (*at == 0)
	{
		const tg_preserve *other = *long_at == NULL ? tg_preserve_first() : (*long_at)->next;

		for (; other != NULL; other = other->next)
		{
			if (other == entry || !goes_first(other, entry))
				continue;
			*long_at = other;
			*wait_out = tg_wait_for_long(other, TG_WAIT_LONG);
			return true;
		}
	}
	for (unsigned i = *at; i < tg_txns->txn_max; i++)
	{
		const tg_txn *txn = &tg_txns->txn[i];

		if (i == entry->txn || tg_failpoint_refuses("skip_l1b_writers") || !tg_txn_is_writer_in(txn, entry))
			continue;
		*wait_out = (tg_wait){.host = tg_load_relaxed(&txn->host), .txn = i, .kind = TG_WAIT_WRITER};
		*at = i + 1;
		return true;
	}
	return false;
}

static bool
is_in_the_way(const tg_preserve *entry, tg_wait *wait_out)
{
	const tg_preserve *long_at = NULL;
	unsigned at = 0;

	return tg_long_next_obstacle(entry, &at, &long_at, wait_out);
}

/* L1 (c), L6.  Under the latch. */
static void
start(tg_session *session, tg_txn *txn, tg_preserve *entry)
{
	txn->remembered = 0;
	entry->start = tg_snapshot_publish(session, &txn->preserve_entry);
	entry->base = entry->start;
	entry->sequence = tg_preserve_sequence_next();
	for (const tg_preserve *other = tg_preserve_first(); other != NULL; other = other->next)
	{
		if (other == entry || !is_remembered(other, entry))
			continue;
		txn->remembered++;
		if (other->base < entry->base && !tg_failpoint_refuses("base_of_itself"))
			entry->base = other->base;
	}
}

tg_status
tg_long_start(tg_session *session, tg_txn *txn, tg_time *snapshot_out, tg_wait *wait_out)
{
	tg_preserve *entry = txn->preserve;
	bool waits;

	tg_assert(entry != NULL && entry->start == 0);
	tg_failpoint("long_start");
	tg_preserve_lock();
	set_waits(entry, true); /* before the look: see «Wake-ups» */
	tg_fence_seq_cst();
	waits = is_in_the_way(entry, wait_out);
	if (!waits)
	{
		set_waits(entry, false);
		start(session, txn, entry);
	}
	tg_preserve_unlock();
	if (waits)
		return TG_BUSY;
	*snapshot_out = entry->start;
	tg_txn_note_snapshot(txn, entry->start);
	return TG_OK;
}

bool
tg_long_may_start(const tg_txn *txn, tg_wait *wait_out)
{
	bool may;

	tg_preserve_lock();
	may = !is_in_the_way(txn->preserve, wait_out);
	tg_preserve_unlock();
	return may;
}

/* --- LONG: its reads and its end -------------------------------------------------------------- */

static tg_status
check_read(tg_txn *txn, const tg_area *area)
{
	const tg_preserve *own = txn->preserve;
	tg_status status = TG_OK;

	if ((own->include != NULL || own->exclude != NULL) && !tg_areas_cover_area(own->areas, area))
	{
		if ((own->include != NULL && !tg_areas_cover_area(own->include, area)) ||
			tg_areas_meet_area(own->exclude, area))
			return TG_FORBIDDEN;
	}
	if (tg_likely(txn->remembered == 0) || tg_failpoint_refuses("skip_l3"))
		return TG_OK;
	tg_preserve_lock();
	for (const tg_preserve *other = tg_preserve_first(); other != NULL && status == TG_OK; other = other->next)
	{
		/* L3: it does not matter whether the other LONG has committed meanwhile. */
		if (other == own || !is_remembered(other, own) || !tg_areas_meet_area(other->areas, area))
			continue;
		if (tg_failpoint_refuses("l3_active_only") && tg_preserve_has_ended(other))
			continue;
		txn->conflict = conflict_with(other, TG_CONFLICT_EARLIER_LONG, area->table->relation);
		status = TG_CONFLICT;
	}
	tg_preserve_unlock();
	return status;
}

tg_status
tg_long_check_read(tg_session *session, tg_txn *txn, const tg_area *area)
{
	tg_status status;
	bool entered;

	status = tg_txn_enter_shared(session, txn, NULL, &entered);
	if (status != TG_OK)
		return status;
	status = check_read(txn, area);
	tg_txn_leave(session, txn, entered);
	return status;
}

/* L5: C_L. */
tg_time
tg_long_draw_end(tg_txn *txn)
{
	tg_preserve *entry = txn->preserve;
	tg_time time;

	tg_assert(entry->start != 0);
	tg_preserve_lock();
	time = tg_txn_draw(txn);
	tg_store_release(&entry->outcome, outcome_make(TG_OUTCOME_COMMITTED, time));
	tg_preserve_unlock();
	tg_long_wake_starters();
	return time;
}

void
tg_long_begin_abort(tg_txn *txn)
{
	tg_preserve *entry = txn->preserve;

	tg_preserve_lock();
	if (txn->shared != NULL && entry->waits && entry->waiter != NULL)
		tg_host_wake(entry->waiter); /* its starter need not be the one that aborts it */
	set_waits(entry, false);
	tg_store_release(&entry->outcome, outcome_make(TG_OUTCOME_ABORTED, 0));
	tg_preserve_unlock();
}

/*
 * L5: a reader that has met the entry active may be about to publish its base; so the entry stays
 * until A has passed.
 */
void
tg_long_undone(tg_txn *txn)
{
	tg_preserve *entry = txn->preserve;

	tg_preserve_lock();
	tg_store_release(&entry->outcome, outcome_make(TG_OUTCOME_ABORTED, tg_fetch_add_seq_cst(tg_clock, 1) + 1));
	tg_preserve_unlock();
	tg_long_wake_starters();
}

void
tg_long_forget(tg_session *session, tg_txn *txn)
{
	txn->preserve = NULL;
	if (txn->shared != NULL)
		return; /* its snapshot goes with the last user (shared.c, 6) */
	if (txn->remembered != UINT32_MAX)
		tg_snapshot_withdraw(session, txn->preserve_entry);
	tg_long_tidy(session);
}

void
tg_long_tidy(tg_session *session)
{
	(void) tg_horizon_compute(); /* perhaps the entry is no longer needed */
	tg_preserve_tidy(session);
}

/* --- READ ONLY -------------------------------------------------------------------------------- */

tg_status
tg_snapshot_publish_safe(tg_session *session, bool deferrable, const tg_areas *include, const tg_areas *exclude,
						 tg_time *snapshot_out, unsigned *entry_out, tg_wait *wait_out)
{
	bool looked_first = tg_failpoint_refuses("list_first") && tg_preserve_is_empty();
	tg_time fresh = tg_snapshot_publish(session, entry_out);
	tg_time safe = fresh;
	const tg_preserve *in_question = NULL;

	*snapshot_out = fresh;
	tg_failpoint("safe_loaded");
	/* The clock was loaded before this look at the list. */
	if (tg_likely(tg_preserve_is_empty()) || looked_first || tg_failpoint_refuses("skip_l6"))
		return TG_OK;
	tg_preserve_lock();
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
	{
		if (!lies_within(entry, fresh))
			continue;
		if (entry->base < safe)
			safe = tg_failpoint_refuses("l6_start") ? entry->start : entry->base;
		if (tg_areas_meet_declared(entry->areas, include, exclude))
			in_question = entry;
	}
	if (in_question != NULL && !deferrable)
	{
		tg_snapshot_lower(session, *entry_out, safe);
		*snapshot_out = safe;
	}
	if (in_question != NULL && deferrable)
		*wait_out = tg_wait_for_long(in_question, TG_WAIT_PRESERVE);
	tg_preserve_unlock();
	if (in_question == NULL || !deferrable || tg_failpoint_refuses("skip_deferrable"))
		return TG_OK;
	tg_snapshot_withdraw(session, *entry_out);
	return TG_BUSY;
}

/* --- SERIALIZABLE and SHORT ------------------------------------------------------------------- */

tg_status
tg_preserve_look_at_read(const tg_area *area, tg_time snapshot, bool may_wait, tg_wait *wait_out,
						 tg_conflict *conflict_out)
{
	tg_status status = TG_OK;

	tg_preserve_lock();
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL && status == TG_OK; entry = entry->next)
	{
		if (may_wait ? entry->start == 0 || tg_preserve_has_ended(entry) : !lies_within(entry, snapshot))
			continue;
		if (!tg_areas_meet_area(entry->areas, area))
			continue;
		if (may_wait)
			*wait_out = tg_wait_for_long(entry, TG_WAIT_PRESERVE);
		else
			*conflict_out = conflict_with(entry, TG_CONFLICT_PRESERVED_READ, area->table->relation);
		status = may_wait ? TG_BUSY : TG_CONFLICT;
	}
	tg_preserve_unlock();
	return status;
}

static bool
range_meets(const tg_areas *areas, tg_table *table, const tg_read_range *range)
{
	bool has_low = range->low_bytes != TG_READ_OPEN;
	tg_area area = {.table = table};

	if (range->index != NULL)
		return true; /* the caller has found the table among them */
	if (range->is_key)
		return tg_areas_has_key(areas, table, range->bytes, range->low_bytes);
	area.low_inclusive = range->low_inclusive;
	area.high_inclusive = range->high_inclusive;
	if (has_low)
	{
		area.low = range->bytes;
		area.low_bytes = range->low_bytes;
	}
	if (range->high_bytes != TG_READ_OPEN)
	{
		area.high = range->bytes + (has_low ? range->low_bytes : 0);
		area.high_bytes = range->high_bytes;
	}
	return tg_areas_meet_area(areas, &area);
}

/*
 * Whether the reads of a table lie in the areas.  The area of a read is the key, or the range of
 * primary keys, that it was restricted to; for any other read it is the table.  Inside an epoch.
 */
static bool
table_meets(const tg_areas *areas, const tg_read_table *noted)
{
	const tg_area whole = {.table = noted->table};

	if (!tg_areas_has_table(areas, noted->table))
		return false;
	if (noted->whole || noted->tentative > 0 || noted->by_chunk || tg_areas_cover_area(areas, &whole))
		return true;
	for (uint32_t i = 0; i < noted->count; i++)
		if (tg_areas_has_version(areas, noted->words[i]))
			return true;
	for (const tg_read_range *range = noted->ranges; range != NULL; range = range->next)
		if (!range->forgotten && range_meets(areas, noted->table, range))
			return true;
	return false;
}

/* S3, S4: whether a LONG with R_L < before and after < C_L preserves an area that was read. */
static bool
reads_meet_long(tg_session *session, const tg_reads *reads, tg_time before, tg_time after, tg_conflict *conflict_out)
{
	bool meets = false;

	if (tg_likely(tg_preserve_is_empty()))
		return false;
	tg_epoch_enter(session);
	tg_preserve_lock();
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL && !meets; entry = entry->next)
	{
		const tg_read_table *noted = reads->tables;

		if (!lies_around(entry, before, after))
			continue;
		if (tg_failpoint_refuses("s3_active_only") && tg_preserve_has_ended(entry))
			continue;
		while (noted != NULL && !table_meets(entry->areas, noted))
			noted = noted->next;
		meets = reads->everything || noted != NULL;
		if (meets)
			*conflict_out =
				conflict_with(entry, TG_CONFLICT_PRESERVED_READ, noted != NULL ? noted->table->relation : 0);
	}
	tg_preserve_unlock();
	tg_epoch_leave(session);
	return meets;
}

tg_status
tg_reads_check_commit(tg_session *session, const tg_reads *reads, tg_time time, tg_conflict *conflict_out)
{
	tg_failpoint("s3");
	if (tg_failpoint_refuses("skip_s3"))
		return TG_OK;
	return reads_meet_long(session, reads, time, time, conflict_out) ? TG_CHANGED : TG_OK;
}

/* Its C will be above upto, and so above the R_L of every LONG that has started. */
tg_status
tg_reads_check_hold(tg_session *session, const tg_reads *reads, tg_time upto, tg_conflict *conflict_out)
{
	return reads_meet_long(session, reads, upto + 1, upto, conflict_out) ? TG_CHANGED : TG_OK;
}

tg_status
tg_reads_check_snapshot(tg_session *session, tg_reads *reads, tg_time snapshot, tg_conflict *conflict_out)
{
	tg_failpoint("s4");
	if (tg_failpoint_refuses("skip_s4"))
		return TG_OK;
	return reads_meet_long(session, reads, snapshot, snapshot, conflict_out) ? TG_CONFLICT : TG_OK;
}

/* --- figures ---------------------------------------------------------------------------------- */

unsigned
tg_preserve_report_get(tg_preserve_report *reports, unsigned max)
{
	unsigned count = 0;

	if (tg_preserve_is_empty())
		return 0;
	tg_preserve_lock();
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
		for (unsigned i = 0; i < tg_areas_count(entry->areas) && count < max; i++)
		{
			tg_preserve_report *report = &reports[count++];
			const tg_table *table = tg_areas_table(entry->areas, i, &report->is_range);

			report->txn = entry->txn;
			report->host = entry->host;
			report->ended = tg_preserve_has_ended(entry);
			report->start = entry->start;
			report->base = entry->base;
			report->end = tg_outcome_time(tg_load_relaxed(&entry->outcome));
			report->priority = entry->priority;
			report->database = table->database;
			report->relation = table->relation;
		}
	tg_preserve_unlock();
	return count;
}

/*
 * collector_pieces.c
 *	  The stages that any number of participants work in: PRUNE, FREE and CLOSE.
 *
 * A participant takes some pieces off the cycle's work, handles their entries (prune.c), and puts
 * back the pieces that it did not finish.  Nearly every entry belongs to another row that has not
 * been touched for long, and most pieces have one entry, so cache misses dominate the cost.
 * Therefore a participant takes enough pieces at a time for their misses to overlap.
 */
#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/collector_internal.h"

/* --- pieces taken together ------------------------------------------------- */

/*
 * The pieces that a participant has taken.  The memory that their entries lead to is prefetched
 * some entries ahead, across pieces, because most pieces have one entry.
 */
typedef struct batch
{
	tg_write_log *pieces; /* the first is the current one */
	unsigned expected;	  /* prefetched entries that are still to be handled */
	void (*expect)(tg_log_entry *const *entries, unsigned count);
} batch;

static batch
take_batch(void (*expect)(tg_log_entry *const *entries, unsigned count))
{
	return (batch){.pieces = tg_cycle_take(&tg_collector_shared->cycle, TG_ENTRIES_AHEAD), .expect = expect};
}

static void
look_ahead(batch *batch)
{
	tg_log_entry *ahead[TG_ENTRIES_AHEAD];
	unsigned count = 0;

	for (const tg_write_log *piece = batch->pieces; piece != NULL; piece = tg_load_relaxed(&piece->next))
		for (uint32_t i = piece->at_entry; piece->ended != 0 && i < piece->at_block->count; i++)
			if (count < TG_ENTRIES_AHEAD)
				ahead[count++] = &piece->at_block->entry[i];
	batch->expect(ahead, count);
	batch->expected = count;
}

/* The next entry of the current piece, or NULL. */
static inline tg_log_entry *
batch_next(batch *batch)
{
	if (batch->expected == 0)
		look_ahead(batch);
	else
		batch->expected--;
	return tg_piece_next(batch->pieces);
}

/* Removes the current piece, which is finished, from the batch; it is the caller's. */
static inline tg_write_log *
batch_pass(batch *batch)
{
	tg_write_log *piece = batch->pieces;

	batch->pieces = tg_load_relaxed(&piece->next);
	return piece;
}

/* --- pruning -------------------------------------------------------------- */

static uint32_t *
row_guard(const tg_log_entry *entry)
{
	uint64_t hash = (uint64_t) (uintptr_t) tg_version_chunk(entry->version)->table * 0x9e3779b97f4a7c15 + entry->count;

	return &tg_collector_shared->row_guards[(hash ^ hash >> 32) % TG_ROW_GUARDS];
}

/* False if another participant prunes this row, or one with the same guard. */
static bool
prune_guarded(tg_session *session, tg_log_entry *entry)
{
	uint32_t *guard = row_guard(entry);

	if (tg_load_relaxed(guard) != 0 || tg_exchange_acq_rel(guard, 1) != 0)
		return false;
	tg_failpoint("collector_prune");
	tg_prune_entry(session, entry, &tg_collector_shared->readings, &tg_collector_shared->counts);
	tg_store_release(guard, 0);
	return true;
}

static void
count_pruned(tg_write_log *piece, const tg_log_entry *entry)
{
	switch (entry->kind)
	{
		case TG_GARBAGE_NONE:
			break;
		case TG_GARBAGE_DEAD:
		case TG_GARBAGE_ROW:
			tg_store_relaxed(&tg_collector_shared->helped, true); /* the version above, if open */
			piece->rows++;
			piece->garbage++;
			break;
		case TG_GARBAGE_RUN:
			piece->garbage++;
			break;
		default:
			piece->kept++;
			break;
	}
}

/*
 * Prunes entries of the current piece; true at its end.  *guarded_out: it stopped because another
 * participant has a row.
 */
static bool
prune_piece(tg_session *session, batch *batch, unsigned *budget, bool *guarded_out)
{
	tg_write_log *piece = batch->pieces;
	tg_log_entry *entry;

	if (piece->ended == 0)
	{
		piece->garbage = 1; /* perhaps it has none; only 0 would make a difference */
		return true;
	}
	while (*budget > 0 && (entry = batch_next(batch)) != NULL)
	{
		unsigned cost = entry->kind == TG_WRITE_UPDATE ? 1 : TG_ROW_COST;

		switch (entry->kind)
		{
			case TG_WRITE_REVIVE:
				tg_store_relaxed(&tg_collector_shared->helped, true);
				entry->kind = TG_GARBAGE_NONE;
				break;
			case TG_WRITE_INSERT:
				entry->kind = TG_GARBAGE_NONE;
				break;
			case TG_GARBAGE_NONE:
				break;
			case TG_WRITE_UNDONE_ROW:
			case TG_WRITE_UNDONE_VERSION:
				entry->kind = entry->kind == TG_WRITE_UNDONE_ROW ? TG_GARBAGE_ROW : TG_GARBAGE_DEAD;
				count_pruned(piece, entry);
				break;
			default:
				if (!prune_guarded(session, entry))
				{
					piece->at_entry--;
					*guarded_out = true;
					return false;
				}
				count_pruned(piece, entry);
				break;
		}
		tg_spend(budget, cost);
	}
	return *budget > 0;
}

static void
pass_pruned(tg_session *session, tg_write_log *piece, unsigned *budget)
{
	tg_spend(budget, 1);
	if (piece->garbage > 0)
		tg_store_relaxed(&tg_collector_shared->progress, true);
	tg_piece_rewind(piece);
	if (piece->garbage > 0 || piece->kept > 0)
		tg_cycle_put_done(&tg_collector_shared->cycle, piece);
	else
		tg_piece_destroy(session, piece);
}

/* Counts the part of the budget that was used, and returns it. */
static inline unsigned
note_worked(unsigned before, unsigned left)
{
	if (before > left)
		tg_fetch_add_relaxed(&tg_collector_shared->cycle_worked, before - left);
	return before - left;
}

bool
tg_pieces_prune(tg_session *session, unsigned *budget)
{
	unsigned before = *budget;
	unsigned worked;
	bool is_guarded = false;
	batch batch;

	while (*budget > 0 && !is_guarded && (batch = take_batch(tg_prune_expect)).pieces != NULL)
	{
		tg_epoch_enter(session);
		while (*budget > 0 && batch.pieces != NULL && prune_piece(session, &batch, budget, &is_guarded))
			pass_pruned(session, batch_pass(&batch), budget);
		tg_epoch_leave(session);
		if (batch.pieces != NULL)
			tg_cycle_put_back(&tg_collector_shared->cycle, batch.pieces);
	}
	worked = note_worked(before, *budget);
	if (worked > 0)
		tg_fetch_add_relaxed(&tg_collector_shared->worked, worked);
	return !is_guarded;
}

/* --- freeing -------------------------------------------------------------- */

/* Frees entries of the current piece; true at its end. */
static bool
free_piece(tg_session *session, batch *batch, bool runs, unsigned *budget)
{
	tg_write_log *piece = batch->pieces;
	tg_log_entry *entry;

	if (piece->garbage == 0)
		return true;
	while (*budget > 0 && (entry = batch_next(batch)) != NULL)
		tg_spend(budget, piece->ended == 0 ? tg_free_undone(session, entry, &tg_collector_shared->counts)
										   : tg_free_pruned(session, entry, runs, &tg_collector_shared->counts));
	return *budget > 0;
}

/* Keeps a piece for TIDY. */
static void
keep(tg_write_log *piece)
{
	tg_write_log *top = tg_load_relaxed(&tg_collector_shared->kept);

	do
		tg_store_relaxed(&piece->next, top);
	/* pairs with the exchange in TIDY */
	while (!tg_cas_acq_rel(&tg_collector_shared->kept, &top, piece));
}

static void
pass_freed(tg_session *session, tg_write_log *piece, bool runs, unsigned *budget)
{
	tg_spend(budget, 1);
	tg_piece_rewind(piece);
	if (runs && piece->rows > 0)
		tg_cycle_put_done(&tg_collector_shared->cycle, piece);
	else if (piece->kept > 0)
	{
		piece->garbage = 0;
		keep(piece);
	}
	else
		tg_piece_destroy(session, piece);
}

void
tg_pieces_free(tg_session *session, bool runs, unsigned *budget)
{
	unsigned before = *budget;
	batch batch;

	while (*budget > 0 && (batch = take_batch(tg_free_expect)).pieces != NULL)
	{
		tg_epoch_enter(session);
		tg_failpoint("collector_free");
		while (*budget > 0 && batch.pieces != NULL && free_piece(session, &batch, runs, budget))
			pass_freed(session, batch_pass(&batch), runs, budget);
		tg_epoch_leave(session);
		if (batch.pieces != NULL)
			tg_cycle_put_back(&tg_collector_shared->cycle, batch.pieces);
		tg_store_relaxed(&tg_collector_shared->freed, true);
	}
	(void) note_worked(before, *budget);
}

/*
 * collector_file.c
 *	  Where entries that have to stay wait, and how they come up again.
 *
 * An entry is filed under its keeper, the lowest point within its version's lifetime (collector.c,
 * 2), or in open, if it waits for another transaction (3).  A piece that could not be filed stays
 * whole, as a stray.  GATHER makes the entries that have lost their keeper work again; TIDY files.
 * Both stages have one participant, so nothing here is locked.
 */
#include "runtime/reclaim/collector.h"

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/reclaim/collector_internal.h"
#include "runtime/reclaim/horizon.h"

#define FILED_ENTRIES_MAX 4096 /* of a piece with filed entries, which one participant works on */
#define OPEN_SHARE 8		   /* open entries per other entry, between two tries of them */

static void
put_all_to_work(tg_write_log **filed)
{
	while (*filed != NULL)
	{
		tg_write_log *piece = *filed;

		*filed = piece->below;
		tg_put_to_work(piece);
	}
}

/* Views read both fields meanwhile. */
static void
move_keeper(tg_keeper *to, const tg_keeper *from)
{
	tg_store_relaxed(&to->point, from->point);
	tg_store_relaxed(&to->count, from->count);
	to->filed = from->filed;
}

/* Makes the filed entries that may go now work of the cycle. */
void
tg_filed_call(void)
{
	unsigned left = 0;
	bool is_helped = tg_load_relaxed(&tg_collector_shared->helped);

	for (unsigned i = 0; i < tg_collector_shared->keeper_count; i++)
	{
		tg_keeper *keeper = &tg_collector_shared->keepers[i];
		unsigned place = tg_readings_from(&tg_collector_shared->readings, keeper->point);

		if (place < tg_collector_shared->readings.count && tg_collector_shared->readings.point[place] == keeper->point)
			move_keeper(&tg_collector_shared->keepers[left++], keeper);
		else
			put_all_to_work(&keeper->filed);
	}
	tg_store_relaxed(&tg_collector_shared->keeper_count, left);
	put_all_to_work(&tg_collector_shared->strays);

	if (is_helped && tg_collector_shared->helped_ms == 0)
		tg_collector_shared->helped_ms = tg_now_ms();
	if (is_helped && tg_collector_shared->open != NULL &&
		(tg_load_relaxed(&tg_collector_shared->worked) >= (int64_t) (tg_collector_shared->open_count / OPEN_SHARE) ||
		 tg_now_ms() >= tg_collector_shared->helped_ms + tg_open_ms_max))
	{
		tg_store_relaxed(&tg_collector_shared->helped, false);
		tg_store_relaxed(&tg_collector_shared->worked, -(int64_t) tg_collector_shared->open_count * TG_ROW_COST);
		tg_collector_shared->helped_ms = 0;
		tg_collector_shared->open_count = 0;
		put_all_to_work(&tg_collector_shared->open);
	}
}

/* --- filing --------------------------------------------------------------- */

/* The stack to file the entry in, or NULL. */
static tg_write_log **
file_for(const tg_log_entry *entry)
{
	unsigned number;
	tg_time point;

	if (entry->kind == TG_GARBAGE_OPEN)
	{
		tg_collector_shared->open_count++;
		return &tg_collector_shared->open;
	}
	point = tg_prune_keeper(entry, &tg_collector_shared->readings);
	if (point == 0)
		return NULL;
	for (number = 0; number < tg_collector_shared->keeper_count && tg_collector_shared->keepers[number].point != point;
		 number++)
		;
	if (number == TG_KEEPERS_MAX)
		return NULL;
	if (number == tg_collector_shared->keeper_count)
	{
		move_keeper(&tg_collector_shared->keepers[number], &(tg_keeper){.point = point});
		tg_store_relaxed(&tg_collector_shared->keeper_count, number + 1);
	}
	tg_store_relaxed(&tg_collector_shared->keepers[number].count, tg_collector_shared->keepers[number].count + 1);
	return &tg_collector_shared->keepers[number].filed;
}

static bool
file_entry(tg_session *session, tg_log_entry *entry)
{
	tg_write_log **file = file_for(entry);
	tg_write_log *top;

	if (file == NULL)
		return false;
	top = *file;
	if (tg_write_log_carry(session, file, tg_version_chunk(entry->version)->table, entry) != TG_OK)
		return false;
	if (*file != top)
	{
		(*file)->ended = TG_TIME_FIRST;
		tg_fetch_add_relaxed(&tg_collector_shared->freed_pieces, (uint64_t) -1);
	}
	if (++(*file)->kept >= FILED_ENTRIES_MAX)
		(*file)->sealed = true;
	entry->kind = TG_GARBAGE_NONE;
	return true;
}

/* True once all kept pieces are filed. */
bool
tg_filed_tidy(tg_session *session, unsigned *budget)
{
	tg_failpoint("collector_tidy");
	if (tg_collector_shared->filing == NULL)
		tg_collector_shared->filing = tg_exchange_acq_rel(&tg_collector_shared->kept, NULL);
	while (tg_collector_shared->filing != NULL)
	{
		tg_write_log *piece = tg_collector_shared->filing;
		bool is_stray = false;
		tg_log_entry *entry;

		while (*budget > 0 && (entry = tg_piece_next(piece)) != NULL)
		{
			if (entry->kind == TG_WRITE_UPDATE || entry->kind == TG_WRITE_DELETE || entry->kind == TG_GARBAGE_OPEN)
				is_stray |= !file_entry(session, entry);
			tg_spend(budget, 1);
		}
		piece->garbage |= is_stray; /* over several quanta */
		if (*budget == 0)
			return false;
		tg_spend(budget, 1);
		tg_collector_shared->filing = tg_load_relaxed(&piece->next);
		if (piece->garbage != 0)
		{
			piece->below = tg_collector_shared->strays;
			tg_collector_shared->strays = piece;
		}
		else
			tg_piece_destroy(session, piece);
	}
	return true;
}

uint64_t
tg_collector_held_for(tg_time time)
{
	unsigned count = tg_load_relaxed(&tg_collector_shared->keeper_count);
	bool is_bound = time == TG_TIME_NEVER || tg_load_relaxed(&tg_collector_shared->bound) == time;
	uint64_t held = is_bound ? tg_load_relaxed(&tg_collector_shared->held_back) : 0;

	for (unsigned i = 0; i < count; i++)
	{
		if (time == TG_TIME_NEVER || tg_load_relaxed(&tg_collector_shared->keepers[i].point) == time)
			held += tg_load_relaxed(&tg_collector_shared->keepers[i].count);
	}
	return held;
}

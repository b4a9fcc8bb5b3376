/*
 * dictionary_log.c
 *	  Ranks survive a restart: what is logged of a dictionary, and how it is restored.
 *
 *	1. Rows have ranks in them, as hidden values.  (Ranks of long strings, long_key.c, are in keys
 *	   alone, and are made again with these.)  So a session that puts a host's rank into a row looks
 *	   whether the entry is logged.  If not, it inserts a record with way, value and rank into the
 *	   log, and then marks the entry (release).  A session that meets the mark (acquire) logs its
 *	   rows after that.  So in the log the record precedes each row with the rank.  A new entry is
 *	   not logged, whatever was logged of its value or rank before.
 *	2. A load restores the entries in the order of the log; a rank belongs to the value of its
 *	   newest record.  When the trees have been built, entries that no key has are removed, before
 *	   anybody looks (tg_ranks_drop_unused).  What is left is as it was.  Let T be the moment at
 *	   which the last record that is loaded was inserted.
 *	   a. A row that the load has brought back was stored before T, and no transaction had committed
 *		  its end at T, because records come before commits.  So its keys were in their trees at T,
 *		  and their entries in the dictionaries, linked and in order.
 *	   b. Let E be one of these entries.  Another entry F that ever had E's rank was unlinked before
 *		  E was linked, or else linked after E was unlinked.  In the first case F's records are
 *		  older than E's: a session inserts one while it holds, and F is not unlinked before the
 *		  session has let go (dictionary.c, 6).  In the second case they are later than T, and not
 *		  loaded.  So the newest record of the rank is E's.
 *	   c. All other entries are in no key.  They may be out of order with those that are, or have
 *		  the same values; but nobody has looked at them.
 *	   So a record need not name the neighbours.  A transaction whose outcome is open at the end of
 *	   the log has its rows and keys restored before the unused entries go.
 *	3. A base has what a walk meets, and the records from a place P of the log on are loaded over
 *	   it.  The walk begins later than P.  If E was linked before the walk began, it is met; if E
 *	   was linked since, its records are above P, and so come later than an F that was met in its
 *	   place.  What is not logged is met, too: its record may be below P, and the mark still to
 *	   come.
 */
#include "runtime/mem/session.h"
#include "runtime/index/dictionary.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/index/dictionary_internal.h"

void
tg_rank_mark_logged(const tg_ranked *ranked)
{
	tg_rank_entry *of = ranked->entry;

	/* Pairs with the acquire in tg_rank_entry_describe: 1. */
	tg_store_release(&of->logged, 1);
}

/* Nobody else uses the dictionary. */
static void
remove_alone(tg_session *session, tg_dictionary *dictionary, tg_rank_entry *gone)
{
	tg_dictionary_place found;

	dictionary->at = NULL;
	gone->use = TG_RANK_ENTRY_GONE;
	tg_rank_entry_mark(gone);
	(void) tg_dictionary_search_rank(dictionary, tg_rank_entry_rank(gone), tg_rank_entry_rank_bytes(gone), &found);
	tg_rank_entry_free(session, dictionary->table, gone);
}

tg_status
tg_dictionary_restore(tg_session *session, tg_table *table, tg_ranking way, const void *value, size_t value_bytes,
					  const void *rank, size_t rank_bytes)
{
	tg_dictionary *dictionary;
	tg_rank_entry *made;
	tg_rank_entry *former;
	tg_dictionary_place found;
	tg_status status;

	if (!tg_rank_is_right(rank, rank_bytes))
		return TG_DAMAGED;
	status = tg_dictionary_find_or_make(session, table, way, TG_ESSENTIAL, &dictionary);
	if (status != TG_OK)
		return status;
	made = tg_rank_entry_make(session, table, tg_rank_entry_choose_levels(dictionary), value, value_bytes, rank,
							  rank_bytes, TG_ESSENTIAL);
	if (made == NULL)
		return TG_NO_MEMORY;
	made->logged = 1;
	former = tg_dictionary_search_rank(dictionary, rank, rank_bytes, &found);
	if (former != NULL)
	{
		remove_alone(session, dictionary, former);
		(void) tg_dictionary_search_rank(dictionary, rank, rank_bytes, &found);
	}
	for (unsigned level = 0; level < made->level_count; level++)
	{
		tg_store_relaxed(&made->next[level], found.after[level]);
		tg_store_release(&found.before[level]->next[level], made);
	}
	return TG_OK;
}

/* The host's dictionary behind this one; NULL: no more. */
static const tg_dictionary *
host_dictionary_behind(const tg_table *table, const tg_dictionary *dictionary)
{
	do
		dictionary = tg_dictionary_next(table, dictionary);
	while (dictionary != NULL && dictionary->way.compare == 0);
	return dictionary;
}

void
tg_rank_walk_begin(tg_rank_walk *walk, const tg_table *table)
{
	walk->table = table;
	walk->dictionary = host_dictionary_behind(table, NULL);
	walk->rank_bytes = 0;
	walk->at = NULL;
}

void
tg_rank_walk_resume(tg_session *session, tg_rank_walk *walk)
{
	tg_rank_entry *last;
	tg_dictionary_place found;

	tg_epoch_enter(session);
	if (walk->dictionary == NULL)
		return;
	last = tg_dictionary_search_rank(walk->dictionary, walk->rank, walk->rank_bytes, &found);
	walk->at = last != NULL ? last : found.before[0];
}

void
tg_rank_walk_pause(tg_session *session, tg_rank_walk *walk)
{
	const tg_rank_entry *at = walk->at;

	if (at != NULL)
	{
		walk->rank_bytes = (uint32_t) tg_rank_entry_rank_bytes(at);
		memcpy(walk->rank, tg_rank_entry_rank(at), walk->rank_bytes);
		walk->at = NULL;
	}
	tg_epoch_leave(session);
}

bool
tg_rank_walk_next(tg_rank_walk *walk, tg_ranking *way_out, tg_ranked *ranked_out)
{
	while (walk->dictionary != NULL)
	{
		tg_rank_entry *at = walk->at;

		at = tg_rank_entry_without_mark(tg_load_acquire(&at->next[0]));
		if (at == NULL)
		{
			walk->dictionary = host_dictionary_behind(walk->table, walk->dictionary);
			walk->at = walk->dictionary == NULL ? NULL : walk->dictionary->head;
			continue;
		}
		walk->at = at;
		if (tg_load_relaxed(&at->use) == TG_RANK_ENTRY_GONE)
			continue;
		*way_out = walk->dictionary->way;
		tg_rank_entry_describe(at, ranked_out);
		return true;
	}
	return false;
}

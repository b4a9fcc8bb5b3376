/*
 * companion.c
 *	  Companions: chunks of hidden values beside the chunks of a table.
 */
#include "runtime/table/companion.h"

#include "runtime/base/check.h"
#include "runtime/table/store.h"
#include "runtime/table/table_internal.h"

static inline const tg_index_link *
first_link(const tg_table *table)
{
	return tg_load_acquire(&table->indexes);
}

static inline const tg_index_link *
next_link(const tg_index_link *link)
{
	return tg_load_acquire(&link->next);
}

void
tg_companion_forget(tg_session *session, const tg_index_link *link, tg_version version)
{
	unsigned slot = tg_version_slot(version);
	tg_chunk *companion = link->hidden != NULL ? tg_companion_of(link, tg_version_chunk(version)) : NULL;

	if (!tg_companion_is_known(companion, slot))
		return;
	tg_version_blobs_free(session, tg_version_make(companion, slot), TG_VERSION_NONE, TG_VERSION_NONE);
	(void) tg_fetch_or_acq_rel(&companion->free[slot / 64], (uint64_t) 1 << slot % 64);
}

void
tg_companions_forget(tg_session *session, tg_version version)
{
	const tg_table *table = tg_version_chunk(version)->table;

	for (const tg_index_link *link = first_link(table); link != NULL; link = next_link(link))
		tg_companion_forget(session, link, version);
}

unsigned
tg_companions_count(const tg_table *table)
{
	unsigned count = 0;

	for (const tg_index_link *link = first_link(table); link != NULL; link = next_link(link))
		count += link->hidden != NULL;
	return count;
}

tg_chunk *
tg_companions_take(tg_chunk *chunk, unsigned count_max)
{
	tg_chunk *taken = NULL;

	for (const tg_index_link *link = first_link(chunk->table); link != NULL; link = next_link(link))
	{
		tg_chunk *companion = link->hidden != NULL ? tg_companion_of(link, chunk) : NULL;

		if (companion == NULL)
			continue;
		tg_assert(count_max > 0);
		count_max--;
		tg_chunk_remove_companion(companion);
		companion->next_partial = taken;
		taken = companion;
	}
	return taken;
}

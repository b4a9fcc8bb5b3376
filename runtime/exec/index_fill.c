/*
 * index_fill.c
 *	  Hidden values for the versions that an index finds: before it is built.
 *
 * Which versions get some: stamped ones, and the caller's own if nobody else writes (index_build.c, «Which versions»), but
 * for those that ended before every snapshot.  Nobody sees these, and nobody must be told that their values cannot
 * be computed, a division by zero say, which a row that has been deleted would have.
 *
 * A version is known by its place while the caller is outside the epoch: chunk and slot.  If by then the slot is another
 * one's, or the chunk is, that one was written later, so by somebody who knows the index, and has its values
 * before it is stamped (index/hidden.c, 1).  So whatever is found there without any is the same version.
 */
#include "runtime/exec/index_fill.h"

#include "runtime/base/failpoint.h"
#include "runtime/index/hidden.h"

void
tg_index_fill_begin(tg_session *session, tg_index_fill *fill, tg_index *index, bool exclusive)
{
	*fill = (tg_index_fill){.index = index,
							.exclusive = exclusive,
							.own = session->id,
							.horizon = tg_horizon_compute(),
							.chunk_count = tg_table_chunk_count(index->table)};
}

static bool
is_wanted(tg_index_fill *fill, const tg_header *header)
{
	tg_time begin = tg_load_acquire(&header->begin);
	tg_time end;

	fill->end = 0;
	if (tg_time_is_reference(begin) ? !fill->exclusive || tg_reference_txn(begin) != fill->own
									: begin >= TG_TIME_UNLINKED)
		return false;
	end = tg_load_acquire(&header->end);
	if (tg_time_is_reference(end) || tg_time_is_open(end))
		return true;
	fill->end = end;
	return end > fill->horizon;
}

/* From the walk's slot on; the slot is the chunk's capacity if there is none. */
static void
find_in_chunk(tg_index_fill *fill, const tg_chunk *chunk)
{
	const tg_chunk *companion = tg_hidden_chunk(fill->index, chunk);
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	fill->end = 0;

	for (; fill->slot < chunk->capacity; fill->slot++)
		if ((present[fill->slot / 64] >> fill->slot % 64 & 1) != 0 && !tg_hidden_is_known(companion, fill->slot) &&
			(headers == NULL || is_wanted(fill, &headers[fill->slot])))
			return;
}

/* A version without values at the walk's place, or NONE. */
static tg_version
find(tg_index_fill *fill)
{
	const tg_chunk *chunk = tg_table_chunk(fill->index->table, fill->chunk);

	if (chunk == NULL)
		return TG_VERSION_NONE;
	find_in_chunk(fill, chunk);
	return fill->slot < chunk->capacity ? tg_version_make(chunk, fill->slot) : TG_VERSION_NONE;
}

tg_version
tg_index_fill_next(tg_index_fill *fill)
{
	tg_version version;

	if (tg_index_fill_is_over(fill))
		return TG_VERSION_NONE;
	version = find(fill);
	if (version == TG_VERSION_NONE)
	{
		fill->chunk++;
		fill->slot = 0;
	}
	return version;
}

tg_status
tg_index_fill_put(tg_session *session, tg_index_fill *fill, const tg_value *values, const bool *nulls)
{
	unsigned slot = fill->slot;
	tg_version version;

	tg_failpoint("index_fill_computed");
	version = find(fill);
	if (version == TG_VERSION_NONE || fill->slot != slot)
		return TG_OK; /* it has gone; the walk is at the next one already */
	fill->slot++;
	return tg_hidden_store(session, fill->index, version, values, nulls, TG_DATA);
}

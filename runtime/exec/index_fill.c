/*
 * index_fill.c
 *	  Hidden values for the versions that an index finds, before it is built.
 *
 * Stamped versions get values, and so do the caller's own if no other transaction writes
 * (index_build.c, «Which versions»).  Versions that ended before every snapshot get none.  No
 * snapshot sees these, so an error in computing their values must not be reported: the value of a
 * deleted row may be a division by zero, for example.
 *
 * While the caller is outside the epoch, a version is identified by its place: chunk and slot.  If
 * the slot or the chunk has passed to another version by then, that version was written later, by a
 * transaction that knows the index.  Its writer gave it values before it was stamped
 * (index/hidden.c, 1).  So a version found there without values is the same version.
 */
#include "runtime/exec/index_fill.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/index/hidden.h"
#include "runtime/index/index.h"

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

/* Looks from the walk's slot on; the slot becomes the chunk's capacity if no version is found. */
static void
find_in_chunk(tg_index_fill *fill, const tg_chunk *chunk)
{
	const tg_chunk *companion = tg_companion_of(&fill->index->link, chunk);
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	fill->end = 0;

	for (; fill->slot < chunk->capacity; fill->slot++)
		if ((present[fill->slot / 64] >> fill->slot % 64 & 1) != 0 && !tg_companion_is_known(companion, fill->slot) &&
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
		return TG_OK; /* the version has been removed; the walk is at the next one already */
	fill->slot++;
	return tg_hidden_store(session, fill->index, version, values, nulls, TG_DATA);
}

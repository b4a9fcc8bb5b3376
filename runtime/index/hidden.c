/*
 * hidden.c
 *	  Hidden values: an index's data about a version beyond the version's columns.
 *
 * An index with hidden values keeps a table of its own, without rows and headers.  The chunk at an
 * entry of that table's directory is the companion of the main table's chunk at the same entry,
 * slot by slot.
 *
 *		table	  [x x . x x x . .]	  [x x x x x x x x]	  [x . .]
 *		hidden	  [h h . h h h . .]	  [h h h . . h h h]	  (none)
 *
 * A slot that is free in a companion says that the values of the version are unknown: for the index
 * the version does not exist.  So a new index begins without companions, and the session that has
 * the first values for a companion makes it.
 *
 * 1. A writer stores the values of a version before the version's begin is set, into every index in
 *	  the list for which the host has computed them.  From then on they do not change.
 * 2. A build gives values to the versions that were there before (exec/index_fill.h).  It does not
 *	  conflict with writers: it stores for versions without values that are stamped, or the caller's
 *	  own, and a version that was written since the index is known has its values before it is
 *	  stamped.  (Writers that do not know the index yet are waited for before the build begins, as
 *	  for its entries: index_build.c.)
 * 3. Nor does the build conflict with sessions that free slots: a slot is given no sooner than an
 *	  epoch after its version was cut out, and the version was not cut out yet when the build,
 *	  inside its epoch, found it stamped.
 * 4. A session that gives a slot back removes the slot's values first, so the next tenant begins
 *	  without any.
 * 5. A companion goes with its chunk, before the directory's entry can be used again; so a session
 *	  that uses this chunk never meets another chunk's companion by that entry.
 * 6. Versions that are moved (txn/relocate.c) take their values along, while no index is being
 *	  filled: an index that was filled before is in the list, and the creation of a new one waits.
 * 7. Strings belong to one version, and are never shared with another one: so each goes with its
 *	  slot, and all of them with the index.
 *
 * Left out: sharing strings that an UPDATE has not changed, and values between indexes on the same
 * expression.  Each index is complete by itself, and is dropped with all its values.
 */
#include "runtime/index/hidden.h"

#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/store.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"

tg_index *
tg_hidden_index(const tg_table *table, uint64_t id)
{
	tg_index *index = tg_index_first(table);

	while (index != NULL && index->id != id)
		index = tg_index_next(index);
	return index != NULL && index->link.hidden != NULL ? index : NULL;
}

tg_status
tg_hidden_create(tg_session *session, tg_index *index, tg_claim claim)
{
	const tg_index_spec *spec = &index->spec;

	return tg_table_create_hidden(session, index->table, spec->hidden_kinds, spec->hidden_count, claim,
								  &index->link.hidden);
}

/* The companion to store into, made if there is none yet. */
static tg_status
companion_of(tg_session *session, const tg_index *index, const tg_chunk *chunk, tg_claim claim, tg_chunk **out)
{
	*out = tg_companion_of(&index->link, chunk);
	if (tg_likely(*out != NULL))
		return TG_OK;
	return tg_companion_make(session, &index->link, chunk, claim, out);
}

tg_status
tg_hidden_store(tg_session *session, const tg_index *index, tg_version version, const tg_value *values,
				const bool *nulls, tg_claim claim)
{
	unsigned slot = tg_version_slot(version);
	tg_chunk *companion;
	tg_status status = companion_of(session, index, tg_version_chunk(version), claim, &companion);

	if (status == TG_OK)
		status =
			tg_version_store(session, tg_version_make(companion, slot), tg_version_row(version), values, nulls, claim);
	/* The release passes the values to sessions that find them known. */
	if (status == TG_OK)
		(void) tg_fetch_and_acq_rel(&companion->free[slot / 64], ~((uint64_t) 1 << slot % 64));
	return status;
}

void
tg_hidden_forget(tg_session *session, const tg_index *index, tg_version version)
{
	tg_companion_forget(session, &index->link, version);
}

tg_status
tg_hidden_store_all(tg_session *session, tg_version version, const tg_hidden_row *row, tg_claim claim)
{
	const tg_index *index = tg_index_first(tg_version_chunk(version)->table);
	tg_status status = TG_OK;

	for (; index != NULL && status == TG_OK; index = tg_index_next(index))
	{
		const tg_hidden_values *of = index->link.hidden != NULL ? tg_hidden_of(row, index) : NULL;

		if (of != NULL)
			status = tg_hidden_store(session, index, version, of->values, of->nulls, claim);
	}
	return status;
}

static tg_status
copy_values(tg_session *session, const tg_index *index, tg_version version, const tg_chunk *from, unsigned slot)
{
	tg_value values[TG_INDEX_HIDDEN_MAX];
	bool nulls[TG_INDEX_HIDDEN_MAX];

	for (unsigned i = 0; i < index->spec.hidden_count; i++)
	{
		nulls[i] = tg_chunk_is_null(from, i, slot);
		if (nulls[i])
			continue;
		tg_chunk_value(from, i, slot, &values[i]);
		if (index->spec.hidden_kinds[i] == TG_KIND_STRING && tg_string_is_out(&values[i].string))
			values[i].string.word |= TG_STRING_HOST;
	}
	return tg_hidden_store(session, index, version, values, nulls, TG_MAINTENANCE);
}

tg_status
tg_hidden_copy_all(tg_session *session, tg_version version, tg_version from)
{
	const tg_chunk *chunk = tg_version_chunk(from);
	const tg_index *index = tg_index_first(chunk->table);
	tg_status status = TG_OK;

	for (; index != NULL && status == TG_OK; index = tg_index_next(index))
	{
		const tg_chunk *companion = index->link.hidden != NULL ? tg_companion_of(&index->link, chunk) : NULL;

		if (tg_companion_is_known(companion, tg_version_slot(from)))
			status = copy_values(session, index, version, companion, tg_version_slot(from));
	}
	return status;
}

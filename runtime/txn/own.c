/*
 * own.c
 *	  The changes that a transaction has made itself.
 *
 * The versions that a transaction has written are the newest of their rows, and their begins are
 * references with the number of the command that wrote them.  So a walk from the newest version
 * downwards meets the commands from the last to the first, and then the version that the
 * transaction found.  No version of the walk can go while the caller is in its epoch.
 */
#include "runtime/txn/own.h"

#include "runtime/txn/read.h"
#include "runtime/txn/txn_internal.h"

static inline bool
is_by(tg_time time, unsigned txn)
{
	return tg_time_is_reference(time) && tg_reference_txn(time) == txn;
}

/* Whether the writer's transaction has written it since the writer's command began. */
static inline bool
is_own_since(tg_time time, const tg_writer *writer)
{
	return is_by(time, tg_writer_number(writer)) && tg_reference_command(time) >= writer->command;
}

/* NULL: the version is visible to everybody. */
static inline const tg_header *
header_of(tg_version version)
{
	const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	return headers != NULL ? headers + tg_version_slot(version) : NULL;
}

bool
tg_version_is_by(tg_version version, unsigned txn)
{
	const tg_header *header = header_of(version);

	return header != NULL && is_by(tg_load_acquire(&header->begin), txn);
}

bool
tg_row_is_by(tg_table *table, uint32_t row, unsigned txn)
{
	tg_version newest = tg_load_acquire(tg_row_head(table, row));

	return tg_head_is_closed(newest) || newest == TG_VERSION_NONE || tg_version_is_by(newest, txn);
}

/*
 * Whether the snapshot sees another version of the row than this one, which the transaction found:
 * another transaction had changed the row meanwhile.
 */
static bool
is_later(const tg_snapshot *snapshot, tg_table *table, tg_version version)
{
	tg_version seen;
	tg_wait wait;

	return version != TG_VERSION_NONE && tg_txn_read(snapshot, table, tg_version_row(version), &seen, &wait) == TG_OK &&
		   seen != version;
}

bool
tg_txn_changed_by_other_command(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table,
								tg_version newest)
{
	uint32_t first = writer->command;
	uint32_t last = writer->command; /* the command that made the row's present state */
	tg_version version = newest;

	while (version != TG_VERSION_NONE)
	{
		const tg_header *header = header_of(version);
		tg_time begin;
		tg_time end;

		if (header == NULL)
			break;
		end = tg_load_acquire(&header->end);
		begin = tg_load_acquire(&header->begin);
		if (is_own_since(end, writer))
			first = tg_reference_command(end);
		if (!is_own_since(begin, writer))
			break;
		first = tg_reference_command(begin);
		if (version == newest && !is_own_since(end, writer))
			last = first;
		version = tg_load_acquire(&header->older);
	}
	return (is_later(snapshot, table, version) ? last : first) != writer->command;
}

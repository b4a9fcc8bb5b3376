/*
 * load_ascending.c
 *	  The tree of primary keys that ascend with the row ids, as in a table that was filled in the
 *	  order of its keys.
 *
 * The row ids are cut into pieces.  Each piece's keys are loaded leaf by leaf (btree_load.h), and
 * nothing has to be sorted or kept meanwhile.  In the end the pieces are joined, if each begins
 * above the last key of the one before.  At the first key that does not ascend, all of it is given
 * up, and the keys are sorted (exec/index_build.h).  Mostly that is the second key of a piece.
 */
#include "runtime/durable/load_build.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree_load.h"
#include "runtime/durable/load_spread.h"
#include "runtime/index/long_key.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"

#define PIECES_MAX 256
#define STEP_ROWS TG_SEGMENT_ROWS

uint32_t tg_load_piece_rows = 8 * TG_SEGMENT_ROWS;

/* The rows of a piece: one task's at a time. */
typedef struct piece
{
	uint64_t row; /* the next one */
	uint64_t end;
	tg_btree_load *load; /* NULL: no row so far */
	uint32_t first_bytes;
	uint32_t last_bytes;
	unsigned char first[TG_KEY_BYTES_MAX];
	unsigned char last[TG_KEY_BYTES_MAX];
} piece;

typedef struct ascent
{
	tg_table *table;
	uint32_t least; /* the first row that has a version: its piece has the least keys */
	uint32_t over;	/* atomic: a key does not ascend, or memory is short */
	size_t count;
	piece *pieces;
} ascent;

/* --- a piece ---------------------------------------------------------------------------------- */

static tg_status
encode(tg_session *session, tg_table *table, tg_version version, unsigned char *key, size_t *bytes_out)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	tg_value values[TG_COLUMN_MAX];

	for (unsigned i = 0; i < table->key->part_count; i++)
		tg_chunk_value(chunk, table->key->part[i].column, tg_version_slot(version),
					   &values[table->key->part[i].column]);
	return tg_key_encode(session, table, chunk->layout->kinds, values, key, bytes_out);
}

static tg_status
begin_load(const ascent *ascent, piece *piece, tg_session *session, uint32_t row)
{
	bool is_least = row == ascent->least;

	memcpy(piece->first, piece->last, piece->last_bytes);
	piece->first_bytes = piece->last_bytes;
	return tg_btree_load_begin(session, ascent->table->book, is_least ? NULL : piece->first,
							   is_least ? 0 : piece->first_bytes, &piece->load);
}

/* Adds a row's key.  TG_EXISTS: it does not ascend. */
static tg_status
add_key(const ascent *ascent, piece *piece, tg_session *session, uint32_t row, tg_version version)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t bytes;
	tg_status status = encode(session, ascent->table, version, key, &bytes);

	if (status != TG_OK)
		return status;
	if (piece->load != NULL && tg_key_compare(piece->last, piece->last_bytes, key, bytes) >= 0)
		return TG_EXISTS;
	memcpy(piece->last, key, bytes);
	piece->last_bytes = (uint32_t) bytes;
	status = piece->load == NULL ? begin_load(ascent, piece, session, row) : TG_OK;
	return status == TG_OK ? tg_btree_load_add(session, piece->load, key, bytes, row) : status;
}

/* Of tg_load_work. */
static tg_status
add_keys(void *context, size_t number, tg_session *session, void **state_inout)
{
	ascent *ascent = context;
	piece *piece = &ascent->pieces[number];
	tg_status status = TG_OK;

	(void) state_inout;
	if (tg_load_relaxed(&ascent->over) != 0)
		return TG_OK;
	tg_epoch_enter(session);
	for (unsigned i = 0; i < STEP_ROWS && piece->row < piece->end && status == TG_OK; i++, piece->row++)
	{
		tg_version version = tg_row_newest(ascent->table, (uint32_t) piece->row);

		if (version != TG_VERSION_NONE)
			status = add_key(ascent, piece, session, (uint32_t) piece->row, version);
	}
	tg_epoch_leave(session);
	if (status == TG_OK)
		return piece->row < piece->end ? TG_AGAIN : TG_OK;
	if (status != TG_EXISTS && status != TG_NO_MEMORY && status != TG_OVER_QUOTA)
		return status;
	tg_store_relaxed(&ascent->over, 1);
	return TG_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */

static tg_status
cut(ascent *ascent, tg_table *table)
{
	uint64_t rows = tg_load_relaxed(&table->row_next);
	uint64_t each = rows / PIECES_MAX + 1;

	*ascent = (struct ascent){.table = table};
	while (ascent->least < rows && tg_row_newest(table, ascent->least) == TG_VERSION_NONE)
		ascent->least++;
	if (each < tg_load_piece_rows)
		each = tg_load_piece_rows;
	ascent->count = (size_t) ((rows + each - 1) / each);
	ascent->pieces = calloc(ascent->count + 1, sizeof(*ascent->pieces));
	if (ascent->pieces == NULL)
		return TG_NO_MEMORY;
	for (size_t i = 0; i < ascent->count; i++)
	{
		ascent->pieces[i].row = i * each;
		ascent->pieces[i].end = (i + 1) * each < rows ? (i + 1) * each : rows;
	}
	return TG_OK;
}

/* Joins all pieces to the one that has the least keys.  TG_EXISTS: they do not ascend. */
static tg_status
join(ascent *ascent, tg_session *session, piece **whole_out)
{
	const piece *before = NULL;
	piece *whole = NULL;

	for (size_t i = 0; i < ascent->count; i++)
	{
		piece *piece = &ascent->pieces[i];
		tg_status status = TG_OK;

		if (piece->load == NULL)
			continue;
		if (before != NULL && tg_key_compare(before->last, before->last_bytes, piece->first, piece->first_bytes) >= 0)
			return TG_EXISTS;
		before = piece;
		if (whole == NULL)
		{
			whole = piece;
			continue;
		}
		status = tg_btree_load_join(session, whole->load, piece->load);
		if (status != TG_OK)
			return status;
		piece->load = NULL;
	}
	*whole_out = whole;
	return TG_OK;
}

static tg_status
finish(ascent *ascent, tg_session *session)
{
	piece *whole;
	tg_status status;

	if (tg_load_relaxed(&ascent->over) != 0)
		return TG_EXISTS;
	status = join(ascent, session, &whole);
	if (status != TG_OK || whole == NULL)
		return status;
	tg_epoch_enter(session);
	status = tg_btree_load_finish(session, whole->load, ascent->table->index);
	tg_epoch_leave(session);
	if (status == TG_OK)
		whole->load = NULL;
	return status;
}

tg_status
tg_load_ascending(tg_session *session, tg_table *table, const tg_load_config *config)
{
	ascent ascent;
	tg_load_work work = {.context = &ascent, .step = add_keys};
	tg_status status = cut(&ascent, table);

	if (status == TG_OK)
	{
		work.count = ascent.count;
		status = tg_load_spread(session, config, &work);
	}
	if (status == TG_OK)
		status = finish(&ascent, session);
	for (size_t i = 0; i < ascent.count && ascent.pieces != NULL; i++)
		if (ascent.pieces[i].load != NULL)
			tg_btree_load_abandon(session, ascent.pieces[i].load);
	free(ascent.pieces);
	return status;
}

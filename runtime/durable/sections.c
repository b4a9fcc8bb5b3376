/*
 * sections.c
 *	  Rows as a base has them: how they are written.
 *
 * 1. Rows that were loaded together lie together, in ascending slots of one chunk.  Their values in
 *	  a column are copied at once; a row elsewhere is a run of one.
 * 2. Columns that a chunk's layout does not have are NULL, and so all rows of a section have the
 *	  same columns.
 * 3. Rows may have columns and indexes that the reader will not know yet, because they are newer
 *	  than the definitions that go with the rows.  The caller says which are known, and the others
 *	  are left out: their values are in records that come later.
 * 4. Hidden values may become known while they are written (index/hidden.c, 2).  Of which rows they
 *	  are known is found out once, before any is read; from then on they do not change.
 */
#include "runtime/durable/sections.h"

#include "runtime/order/kind.h"
#include "runtime/table/cell.h"
#include "runtime/durable/sections_internal.h"
#include "runtime/durable/operations_internal.h"
#include "runtime/index/hidden.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "runtime/txn/read.h"

/* Versions in ascending slots of one chunk. */
typedef struct run
{
	const tg_chunk *chunk;
	unsigned slot;
	unsigned at; /* of the section's rows */
	unsigned count;
} run;

typedef struct section
{
	unsigned count;
	unsigned run_count;
	unsigned column_count;
	unsigned index_count;
	size_t string_bytes; /* of the rows, about */
	run runs[TG_SECTION_ROWS];
	uint32_t rows[TG_SECTION_ROWS];
	const tg_index *indexes[TG_HIDING_MAX];
	unsigned char bits[TG_BITMAP_BYTES(TG_SECTION_ROWS)];  /* NULLs of a cell */
	unsigned char known[TG_BITMAP_BYTES(TG_SECTION_ROWS)]; /* of the index in hand */
} section;

static inline void
set_bit(unsigned char *bits, unsigned at)
{
	bits[at / 8] |= (unsigned char) (1 << at % 8);
}

/* --- the rows of a section -------------------------------------------------------------------- */

static void
add_version(section *section, tg_version version)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);
	run *last = section->run_count > 0 ? &section->runs[section->run_count - 1] : NULL;

	for (unsigned i = 0; i < chunk->layout->string_count; i++)
	{
		const tg_string *string = tg_chunk_cell(chunk, chunk->layout->strings[i], slot);

		if (tg_string_is_out(string))
			section->string_bytes += tg_string_blob_bytes(string);
	}
	section->rows[section->count] = tg_version_row(version);
	if (last != NULL && last->chunk == chunk && last->slot + last->count == slot)
		last->count++;
	else
		section->runs[section->run_count++] = (run){.chunk = chunk, .slot = slot, .at = section->count, .count = 1};
	section->count++;
}

/* Takes the rows.  TG_BUSY: the first one is not decided; a later one is for the next section. */
static tg_status
take_rows(section *section, tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t count,
		  size_t bytes_max, uint32_t *done_out, tg_wait *wait_out)
{
	uint32_t row_next = tg_load_acquire(&table->row_next);
	uint32_t rest = first < row_next ? row_next - first : 0;
	uint32_t end = first + (rest < count ? rest : count);
	uint32_t row;

	for (row = first; row < end && section->count < TG_SECTION_ROWS && section->string_bytes < bytes_max; row++)
	{
		tg_version version;
		tg_status status = tg_txn_read(snapshot, table, row, &version, wait_out);

		if (status == TG_OK)
			add_version(section, version);
		else if (status == TG_BUSY && row > first)
			break;
		else if (status != TG_NOT_FOUND)
			return status;
	}
	*done_out = row == end ? count : row - first;
	return TG_OK;
}

static bool
is_known_index(const tg_known_cells *known, const tg_index *index)
{
	for (unsigned i = 0; i < known->index_count; i++)
		if (known->indexes[i] == index->id)
			return true;
	return false;
}

/* 3.  TG_TOO_LARGE: the rows have too many cells. */
static tg_status
take_cells(section *section, const tg_table *table, const tg_known_cells *known)
{
	unsigned columns = tg_load_acquire(&table->layout)->column_count;
	unsigned cells;

	section->column_count = columns < known->column_count ? columns : known->column_count;
	cells = section->column_count;
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
	{
		if (index->link.hidden == NULL || !is_known_index(known, index))
			continue;
		if (section->index_count == TG_HIDING_MAX)
			return TG_TOO_LARGE;
		section->indexes[section->index_count++] = index;
		cells += index->spec.hidden_count;
	}
	return cells <= TG_CELLS_MAX ? TG_OK : TG_TOO_LARGE;
}

/* --- parts of a section ----------------------------------------------------------------------- */

static tg_status
put_head(tg_bytes *bytes, const tg_table *table, const section *section)
{
	unsigned count = section->count;
	size_t most = 1 + (4 + (size_t) section->index_count + count) * TG_NUMBER_BYTES_MAX;
	bool has_gaps = section->rows[count - 1] - section->rows[0] != count - 1;
	tg_status status = tg_bytes_reserve(bytes, most);

	if (status != TG_OK)
		return status;
	tg_bytes_put_number(bytes, table->incarnation);
	tg_bytes_put_number(bytes, section->column_count);
	tg_bytes_put_number(bytes, section->index_count);
	for (unsigned i = 0; i < section->index_count; i++)
		tg_bytes_put_number(bytes, section->indexes[i]->id);
	tg_bytes_put_number(bytes, count);
	tg_bytes_put_number(bytes, section->rows[0]);
	tg_bytes_put_byte(bytes, has_gaps);
	for (unsigned i = 1; i < count && has_gaps; i++)
		tg_bytes_put_number(bytes, section->rows[i] - section->rows[i - 1] - 1);
	return TG_OK;
}

/* A bitmap of all rows, of which so many bits are set. */
static tg_status
put_bits(tg_bytes *bytes, const unsigned char *bits, unsigned set, unsigned count)
{
	unsigned way = set == 0 ? TG_WAYS_NONE : set == count ? TG_WAYS_ALL : TG_WAYS_SOME;
	tg_status status = tg_bytes_reserve(bytes, 1 + TG_BITMAP_BYTES((size_t) count));

	if (status != TG_OK)
		return status;
	tg_bytes_put_byte(bytes, (unsigned char) way);
	if (way == TG_WAYS_SOME)
		tg_bytes_put(bytes, bits, TG_BITMAP_BYTES(count));
	return TG_OK;
}

/* Where the values of a cell are: those of a run; NULL, or a companion. */
static const tg_chunk *
place_of(const tg_index *index, const run *run)
{
	return index == NULL ? run->chunk : tg_companion_of(&index->link, run->chunk);
}

/* 4. */
static unsigned
find_known(section *section, const tg_index *index)
{
	unsigned set = 0;

	memset(section->known, 0, sizeof(section->known));
	for (unsigned i = 0; i < section->run_count; i++)
	{
		const run *run = &section->runs[i];
		const tg_chunk *companion = place_of(index, run);

		for (unsigned j = 0; j < run->count; j++)
		{
			if (!tg_companion_is_known(companion, run->slot + j))
				continue;
			set_bit(section->known, run->at + j);
			set++;
		}
	}
	return set;
}

/* The rows that have no value in a column: it is NULL, or not known. */
static unsigned
find_nulls(section *section, const tg_index *index, unsigned column)
{
	unsigned set = 0;

	memset(section->bits, 0, sizeof(section->bits));
	for (unsigned i = 0; i < section->run_count; i++)
	{
		const run *run = &section->runs[i];
		const tg_chunk *chunk = place_of(index, run);

		if (index == NULL && tg_chunk_has_column(chunk, column) && !tg_chunk_may_be_null(chunk, column))
			continue;
		for (unsigned j = 0; j < run->count; j++)
		{
			if ((index == NULL || tg_section_bit(section->known, run->at + j)) &&
				!tg_chunk_is_null(chunk, column, run->slot + j))
				continue;
			set_bit(section->bits, run->at + j);
			set++;
		}
	}
	return set;
}

static tg_status
put_words(tg_bytes *bytes, const section *section, const tg_index *index, unsigned column, unsigned kind, bool nulls)
{
	size_t width = (size_t) 1 << kind;
	unsigned char *at;
	tg_status status = tg_bytes_reserve(bytes, section->count * width);

	if (status != TG_OK)
		return status;
	at = bytes->data + bytes->count;
	for (unsigned i = 0; i < section->run_count; i++)
	{
		const run *run = &section->runs[i];
		const tg_chunk *chunk = place_of(index, run);

		if (!nulls)
			memcpy(at + run->at * width, tg_chunk_cell(chunk, column, run->slot), run->count * width);
		for (unsigned j = 0; j < run->count && nulls; j++)
		{
			if (tg_section_bit(section->bits, run->at + j))
				memset(at + (run->at + j) * width, 0, width);
			else
				memcpy(at + (run->at + j) * width, tg_chunk_cell(chunk, column, run->slot + j), width);
		}
	}
	bytes->count += section->count * width;
	return TG_OK;
}

/* The string of a row, which has one. */
static const tg_string *
string_of(const tg_index *index, unsigned column, const run *run, unsigned row)
{
	return tg_chunk_cell(place_of(index, run), column, run->slot + row);
}

static tg_status
put_strings(tg_bytes *bytes, const section *section, const tg_index *index, unsigned column)
{
	tg_status status = tg_bytes_reserve(bytes, (size_t) section->count * TG_NUMBER_BYTES_MAX);
	size_t all = 0;

	if (status != TG_OK)
		return status;
	for (unsigned i = 0; i < section->run_count; i++)
		for (unsigned j = 0; j < section->runs[i].count; j++)
		{
			uint64_t number = tg_section_bit(section->bits, section->runs[i].at + j)
								  ? FORM_INLINE
								  : tg_stored_number(string_of(index, column, &section->runs[i], j));

			tg_bytes_put_number(bytes, number);
			all += number >> FORM_BITS;
		}
	status = tg_bytes_reserve(bytes, all);
	if (status != TG_OK)
		return status;
	for (unsigned i = 0; i < section->run_count; i++)
		for (unsigned j = 0; j < section->runs[i].count; j++)
		{
			uint32_t count;
			const char *data;

			if (tg_section_bit(section->bits, section->runs[i].at + j))
				continue;
			data = tg_stored_bytes(string_of(index, column, &section->runs[i], j), &count);
			tg_bytes_put(bytes, data, count);
		}
	return TG_OK;
}

static tg_status
put_cell(tg_bytes *bytes, section *section, const tg_index *index, unsigned column, tg_kind kind)
{
	unsigned nulls = find_nulls(section, index, column);
	tg_status status = put_bits(bytes, section->bits, nulls, section->count);

	if (status != TG_OK || nulls == section->count)
		return status;
	if (kind == TG_KIND_STRING)
		return put_strings(bytes, section, index, column);
	return put_words(bytes, section, index, column, kind, nulls > 0);
}

static tg_status
put_hidden(tg_bytes *bytes, section *section, const tg_index *index)
{
	unsigned known = find_known(section, index);
	tg_status status = put_bits(bytes, section->known, known, section->count);

	for (unsigned i = 0; i < index->spec.hidden_count && status == TG_OK; i++)
		status = put_cell(bytes, section, index, i, (tg_kind) index->spec.hidden_kinds[i]);
	return status;
}

static tg_status
put_section(tg_bytes *bytes, const tg_table *table, section *section)
{
	const uint8_t *kinds = tg_load_acquire(&table->layout)->kinds;
	size_t begin = bytes->count;
	uint32_t rest = 0;
	tg_status status = tg_bytes_reserve(bytes, sizeof(rest));

	if (status != TG_OK)
		return status;
	tg_bytes_put(bytes, &rest, sizeof(rest));
	status = put_head(bytes, table, section);
	for (unsigned column = 0; column < section->column_count && status == TG_OK; column++)
		status = put_cell(bytes, section, NULL, column, (tg_kind) kinds[column]);
	for (unsigned i = 0; i < section->index_count && status == TG_OK; i++)
		status = put_hidden(bytes, section, section->indexes[i]);
	if (status == TG_OK && bytes->count - begin - sizeof(rest) > UINT32_MAX)
		status = TG_TOO_LARGE;
	rest = (uint32_t) (bytes->count - begin - sizeof(rest));
	memcpy(bytes->data + begin, &rest, sizeof(rest));
	return status;
}

tg_status
tg_section_write(tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t count, size_t bytes_max,
				 const tg_known_cells *known, tg_bytes *bytes, uint32_t *done_out, tg_wait *wait_out)
{
	size_t before = bytes->count;
	section section;
	tg_status status;

	section.count = section.run_count = section.index_count = 0;
	section.string_bytes = 0;
	status = take_rows(&section, table, snapshot, first, count, bytes_max, done_out, wait_out);
	if (status == TG_OK && section.count > 0)
	{
		status = take_cells(&section, table, known);
		if (status == TG_OK)
			status = put_section(bytes, table, &section);
	}
	if (status != TG_OK)
		bytes->count = before;
	return status;
}

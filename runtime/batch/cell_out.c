/*
 * cell_out.c
 *	  From values as a table stores them to values of a file: some rows at a time, a column of them
 *	  by a loop for each form.
 *
 * As many rows are in hand as have their values, and what refers to them, in the first cache; fewer
 * of long strings, so that a block gets little more than it may have.
 *
 * The loops also run over rows that are NULL, whose values are of no meaning; that of strings does
 * not, since it follows them.
 */
#include "runtime/batch/cell_out.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/exec/vectors.h"
#include "runtime/format/number.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"

#define ROWS 256
#define TEXT_BYTES (1 << 20) /* of the rows in hand, unless it is one */
#define BYTES_WIDE 16
#define NS_IN_US 1000

/* Values of the rows in hand. */
typedef struct hand
{
	union
	{
		int64_t words[ROWS];
		struct
		{
			tg_file_bytes bytes[ROWS];
			uint8_t wide[ROWS][BYTES_WIDE];
		};
	};
} hand;

/* --- words -------------------------------------------------------------------------------- */

static bool
take_since(const tg_cell_out *cell, const int64_t *from, const uint8_t *nulls, uint32_t count, int64_t *into)
{
	bool fits = true;

	for (uint32_t i = 0; i < count; i++)
	{
		bool overflows = __builtin_add_overflow(from[i], cell->offset, &into[i]);

		if (from[i] == cell->lowest)
			into[i] = cell->endless_low;
		else if (from[i] == cell->highest)
			into[i] = cell->endless_high;
		else
			fits &= !overflows || nulls[i];
	}
	return fits;
}

static bool
take_decimal(const int64_t *from, const uint8_t *nulls, uint32_t count)
{
	bool fits = true;

	for (uint32_t i = 0; i < count; i++)
		fits &= from[i] != INT64_MAX || nulls[i];
	return fits;
}

static void
take_float4(const int64_t *from, uint32_t count, int64_t *into)
{
	for (uint32_t i = 0; i < count; i++)
		into[i] = tg_word_of_float((uint32_t) from[i]);
}

/* --- bytes -------------------------------------------------------------------------------- */

static void
take_text(const tg_cell_out *cell, const tg_value *from, const uint8_t *nulls, uint32_t count, tg_file_bytes *into)
{
	for (uint32_t i = 0; i < count; i++)
	{
		const tg_string *string = &from[i].string;

		if (nulls[i])
			into[i] = (tg_file_bytes){0};
		else if (tg_string_is_out(string))
			into[i] = (tg_file_bytes){(const uint8_t *) string->blob + cell->header_bytes,
									  tg_string_blob_bytes(string) - cell->header_bytes};
		else
			into[i] = (tg_file_bytes){(const uint8_t *) string->bytes, tg_string_inline_bytes(string)};
	}
}

/* Big-endian. */
static bool
take_wide(const tg_value *from, const uint8_t *nulls, uint32_t count, hand *hand)
{
	bool fits = true;

	for (uint32_t i = 0; i < count; i++)
	{
		uint64_t low;
		uint64_t high;

		memcpy(&low, from[i].bytes, sizeof(low));
		memcpy(&high, from[i].bytes + sizeof(low), sizeof(high));
		fits &= (high != INT64_MAX || low != UINT64_MAX) || nulls[i];
		low = __builtin_bswap64(low);
		high = __builtin_bswap64(high);
		memcpy(hand->wide[i], &high, sizeof(high));
		memcpy(hand->wide[i] + sizeof(high), &low, sizeof(low));
		hand->bytes[i] = (tg_file_bytes){hand->wide[i], BYTES_WIDE};
	}
	return fits;
}

static void
take_16(const tg_value *from, uint32_t count, hand *hand)
{
	for (uint32_t i = 0; i < count; i++)
		hand->bytes[i] = (tg_file_bytes){from[i].bytes, BYTES_WIDE};
}

static bool
take_span(const tg_value *from, const uint8_t *nulls, uint32_t count, hand *hand)
{
	bool fits = true;

	for (uint32_t i = 0; i < count; i++)
	{
		int64_t time;
		int32_t days;
		int32_t months;

		memcpy(&time, from[i].bytes, sizeof(time));
		memcpy(&days, from[i].bytes + sizeof(time), sizeof(days));
		memcpy(&months, from[i].bytes + sizeof(time) + sizeof(days), sizeof(months));
		fits &= !__builtin_mul_overflow(time, (int64_t) NS_IN_US, &time) || nulls[i];
		memcpy(hand->wide[i], &months, sizeof(months));
		memcpy(hand->wide[i] + sizeof(months), &days, sizeof(days));
		memcpy(hand->wide[i] + sizeof(months) + sizeof(days), &time, sizeof(time));
		hand->bytes[i] = (tg_file_bytes){hand->wide[i], BYTES_WIDE};
	}
	return fits;
}

/* --- a column ----------------------------------------------------------------------------- */

/* The values of rows in the form of files.  False: the file cannot have one of them. */
static bool
take(const tg_cell_out *cell, const tg_vectors *vectors, uint32_t first, uint32_t count, hand *hand,
	 tg_file_values *values)
{
	const void *data = vectors->data[cell->vector];
	const uint8_t *nulls = vectors->nulls[cell->vector] + first;
	bool is_wide = vectors->kinds[cell->vector] >= TG_KIND_16;
	const int64_t *words = is_wide ? NULL : (const int64_t *) data + first;
	const tg_value *wide = is_wide ? (const tg_value *) data + first : NULL;

	*values = (tg_file_values){.nulls = nulls, .words = hand->words, .bytes = hand->bytes};
	switch ((tg_cell_out_form) cell->form)
	{
		case TG_OUT_WORD:
			values->words = words;
			return true;
		case TG_OUT_UINT4:
			for (uint32_t i = 0; i < count; i++)
				hand->words[i] = (uint32_t) words[i];
			return true;
		case TG_OUT_SINCE:
			return take_since(cell, words, nulls, count, hand->words);
		case TG_OUT_FLOAT4:
			take_float4(words, count, hand->words);
			return true;
		case TG_OUT_DECIMAL:
			values->words = words;
			return take_decimal(words, nulls, count) || cell->takes_largest;
		case TG_OUT_WIDE:
			return take_wide(wide, nulls, count, hand) || cell->takes_largest;
		case TG_OUT_TEXT:
			take_text(cell, wide, nulls, count, hand->bytes);
			return true;
		case TG_OUT_16:
			take_16(wide, count, hand);
			return true;
		case TG_OUT_SPAN:
			return take_span(wide, nulls, count, hand);
		case TG_OUT_HOST:
			break;
	}
	return false;
}

static tg_status
put_column(const tg_cells_out *cells, unsigned column, tg_columnar_block *block, const tg_vectors *vectors,
		   uint32_t first, uint32_t count)
{
	hand hand;
	tg_file_values values;

	if (take(&cells->cells[column], vectors, first, count, &hand, &values))
		return tg_columnar_put_values(block, column, &values, 0, count);
	return cells->host != NULL ? cells->host(cells->argument, column, vectors, first, count) : TG_UNFIT;
}

/* --- rows --------------------------------------------------------------------------------- */

/* The bytes of strings outside their values, of some rows. */
static size_t
text_bytes_of(const tg_vectors *vectors, uint32_t first, uint32_t count)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < vectors->column_count; i++)
	{
		const tg_value *values = (const tg_value *) vectors->data[i] + first;
		const uint8_t *nulls = vectors->nulls[i] + first;

		if (vectors->kinds[i] != TG_KIND_STRING)
			continue;
		for (uint32_t row = 0; row < count; row++)
			if (!nulls[row] && tg_string_is_out(&values[row].string))
				bytes += tg_string_blob_bytes(&values[row].string);
	}
	return bytes;
}

/* How many of the next rows are in hand at once: at least one. */
static uint32_t
choose_rows(const tg_vectors *vectors, uint32_t first, uint32_t most)
{
	while (most > 1 && text_bytes_of(vectors, first, most) > TEXT_BYTES)
		most /= 2;
	return most;
}

static tg_status
put_some(const tg_cells_out *cells, tg_columnar_block *block, const tg_vectors *vectors, uint32_t first, uint32_t count)
{
	tg_status status = TG_OK;

	tg_columnar_begin_rows(block);
	for (unsigned i = 0; i < cells->count && status == TG_OK; i++)
		status = put_column(cells, i, block, vectors, first, count);
	if (status != TG_OK)
		tg_columnar_drop_rows(block);
	return status;
}

tg_status
tg_cells_put(const tg_cells_out *cells, tg_columnar_block *block, const tg_vectors *vectors, uint32_t *first_inout,
			 uint32_t end)
{
	while (*first_inout < end)
	{
		uint32_t most = end - *first_inout;
		uint32_t room = tg_columnar_room(block);
		uint32_t count;
		tg_status status;

		tg_assert(room > 0);
		most = most < ROWS ? most : ROWS;
		count = choose_rows(vectors, *first_inout, most < room ? most : room);
		status = put_some(cells, block, vectors, *first_inout, count);
		if (status != TG_OK)
			return status;
		*first_inout += count;
		if (tg_columnar_put_rows(block, count))
			return TG_AGAIN;
	}
	return TG_OK;
}

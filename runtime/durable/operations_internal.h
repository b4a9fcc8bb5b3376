/*
 * operations_internal.h
 *	  Of operations.c, which writes them, operations_read.c, and sections.c: details of the format.
 */
#ifndef TG_OPERATIONS_INTERNAL_H
#define TG_OPERATIONS_INTERNAL_H

#include "runtime/base/check.h"
#include "runtime/durable/operations.h"

#define FORM_BITS 3	  /* of a string's length */
#define FORM_INLINE 0 /* else: out of line, 1 more than the length of the host's header */
#define UPDATE_END 0  /* in place of a step to the next changed cell */

#define HOST_HEADER_BYTES_MAX 6 /* in front of a blob's bytes */

/* The bytes of a string as it is stored. */
static inline const char *
tg_stored_bytes(const tg_string *string, uint32_t *bytes_out)
{
	if (tg_string_is_out(string))
	{
		*bytes_out = tg_string_blob_bytes(string);
		return string->blob;
	}
	*bytes_out = tg_string_inline_bytes(string);
	return string->bytes;
}

/* Whether the host's header in a blob may have this length: it makes the same prefix. */
static inline bool
tg_stored_header_is(const tg_string *string, unsigned header)
{
	uint32_t bytes = tg_string_blob_bytes(string);
	char prefix[sizeof(string->prefix)] = {0};

	if (header > bytes)
		return false;
	if (bytes - header < sizeof(prefix))
		memcpy(prefix, (const char *) string->blob + header, bytes - header);
	else
		memcpy(prefix, (const char *) string->blob + header, sizeof(prefix));
	return memcmp(prefix, string->prefix, sizeof(prefix)) == 0;
}

/*
 * The length and form of a stored string, as one number.  Where headers of several lengths would
 * have the prefix behind them, any of them makes the same string again; the host's usual ones are
 * looked at first.
 */
static inline uint64_t
tg_stored_number(const tg_string *string)
{
	unsigned header = 4;

	if (!tg_string_is_out(string))
		return (uint64_t) tg_string_inline_bytes(string) << FORM_BITS | FORM_INLINE;
	if (!tg_stored_header_is(string, header) && !tg_stored_header_is(string, header = 1))
		for (header = 0; !tg_stored_header_is(string, header);)
			tg_check(++header <= HOST_HEADER_BYTES_MAX); /* tg_string_make_host made the prefix */
	return (uint64_t) tg_string_blob_bytes(string) << FORM_BITS | (1 + header);
}

/*
 * The string of such a number and these bytes, marked as the host's if it is out of line.  False:
 * it cannot be one.
 */
static inline bool
tg_stored_make(tg_string *string, uint64_t number, const void *data)
{
	uint64_t bytes = number >> FORM_BITS;
	unsigned form = number & ((1 << FORM_BITS) - 1);

	if (form == FORM_INLINE ? bytes > TG_STRING_INLINE_MAX : bytes > TG_STRING_LENGTH || bytes < form - 1u)
		return false;
	if (form == FORM_INLINE)
		tg_string_make_inline(string, data, (unsigned) bytes);
	else
		tg_string_make_host(string, data, (uint32_t) bytes, form - 1);
	return true;
}

/* --- several rows (operations_rows.c, and operations_rows_read.c) --- */

/* Of which rows a cell is NULL. */
#define TG_NULLS_NONE 0
#define TG_NULLS_ALL 1
#define TG_NULLS_SOME 2

#define TG_ROWS_BITMAP_BYTES(count) (((count) + 7u) / 8)

/* The cells of a version: its chunk, and the companions of its indexes. */
typedef struct tg_row_cells
{
	const tg_chunk *chunk;
	unsigned slot;
	unsigned column_count; /* the chunk's first ones; 0: the cells are hidden values alone */
	unsigned index_count;
	const tg_index *indexes[TG_HIDING_MAX];
	const tg_chunk *companions[TG_HIDING_MAX];
} tg_row_cells;

/*
 * How many of count versions, in slots that follow one another from the cells' slot on, can be put
 * as one operation: those that have hidden values of the same indexes, and not many more than
 * bytes_max bytes of strings; 1 at least.
 */
extern unsigned tg_rows_fitting(const tg_row_cells *cells, unsigned count, size_t bytes_max);

/* Appends these versions.  TG_NO_MEMORY. */
extern tg_status tg_rows_put(tg_bytes *bytes, const tg_row_cells *cells, unsigned count) TG_MUST_USE;

/* Takes the operation apart, behind its kind; a fault is the reader's. */
extern void tg_rows_open(tg_operations *operations);

/* The next row, of those that are left; returns its id. */
extern uint32_t tg_rows_next(tg_operations *operations);

#endif /* TG_OPERATIONS_INTERNAL_H */

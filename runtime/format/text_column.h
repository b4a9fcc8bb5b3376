/*
 * text_column.h
 *	  From texts of rows to a column's values, for the readers of formats that are texts.
 */
#ifndef TG_TEXT_COLUMN_H
#define TG_TEXT_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/format/columns.h"
#include "runtime/format/csv_read.h"

/* The values of a column, of a number of rows. */
typedef struct tg_text_values
{
	uint8_t *nulls;
	int64_t *words; /* the column has either */
	tg_file_bytes *bytes;
	uint8_t *room; /* for bytes that are not in the text */
	uint32_t room_of_row;
} tg_text_values;

/* The longest value that is padded with blanks here, in characters. */
#define TG_TEXT_PAD_MAX 256

/*
 * The value of a row: false: the text is not one that is read here (csv_value.h).  The text may be
 * changed; values of bytes may lie in it.
 */
extern bool tg_text_take(const tg_csv_column *column, tg_text_values *values, unsigned row, uint8_t *text,
						 uint32_t bytes);

/* Memory for the values of columns, of so many rows, a multiple of 16: how much, and its parts. */
extern size_t tg_text_values_bytes(const tg_csv_column *columns, unsigned count, size_t rows);
extern void tg_text_values_place(const tg_csv_column *columns, unsigned count, size_t rows, void *memory,
								 tg_text_values *values);

#endif /* TG_TEXT_COLUMN_H */

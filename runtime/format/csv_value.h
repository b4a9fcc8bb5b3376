/*
 * csv_value.h
 *	  From texts to values of a file (parquet.h): the usual ways of writing them.
 *
 * Each function returns false for any other text, which need not be an error: PostgreSQL's input
 * function of the type decides.  What is accepted has the value that this gives it, whatever the
 * settings of the session are.
 */
#ifndef TG_CSV_VALUE_H
#define TG_CSV_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_UUID_BYTES 16
#define TG_DECIMAL_BYTES 16

/* t, f, true, false, 1, 0 */
extern bool tg_text_bool(const uint8_t *text, size_t bytes, int64_t *value_out);

/* Digits, perhaps with a minus, of an integer of so many bits. */
extern bool tg_text_int(const uint8_t *text, size_t bytes, unsigned bits, int64_t *value_out);

/* As the C library rounds it; of 32 bits: as a float.  The bits of a double. */
extern bool tg_text_float(const uint8_t *text, size_t bytes, unsigned bits, int64_t *value_out);

/* An integer times 10^-scale, rounded half away from zero; smaller than 10^precision. */
extern bool tg_text_decimal(const uint8_t *text, size_t bytes, int precision, int scale, __int128 *value_out);

/* 2024-02-29, of the years 1 to 9999: days since 1970-01-01. */
extern bool tg_text_date(const uint8_t *text, size_t bytes, int64_t *value_out);

/* 23:59:59.999999 with up to six digits behind the point, or none: microseconds. */
extern bool tg_text_time(const uint8_t *text, size_t bytes, int64_t *value_out);

/* What follows the time. */
typedef enum tg_text_offset
{
	TG_TEXT_NO_OFFSET,
	TG_TEXT_OFFSET,		/* +hh or +hh:mm */
	TG_TEXT_OFFSET_OR_Z /* or Z, for none: the session has not given that another meaning */
} tg_text_offset;

/* Both, with a space or T between: microseconds since 1970. */
extern bool tg_text_timestamp(const uint8_t *text, size_t bytes, tg_text_offset offset, int64_t *value_out);

/* With four hyphens in the usual places. */
extern bool tg_text_uuid(const uint8_t *text, size_t bytes, uint8_t *value_out);

/* \x and pairs of hexadecimal digits.  value_out: may be the text. */
extern bool tg_text_bytea(const uint8_t *text, size_t bytes, uint8_t *value_out, size_t *bytes_out);

/* UTF-8 without zeros. */
extern bool tg_text_is_utf8(const uint8_t *text, size_t bytes);

/* The characters of a text in UTF-8. */
extern size_t tg_text_characters(const uint8_t *text, size_t bytes);

#endif /* TG_CSV_VALUE_H */

/*
 * csv.c
 *	  Files in CSV, by the rules of PostgreSQL's COPY: where their records end.
 *
 * The state between two bytes is the cutter's.  Two decisions need bytes ahead: whether a CR is
 * followed by an NL, and whether `\.` is alone on its line.
 */
#include "runtime/format/csv.h"

/* Byte i; what is behind the file's end is a zero, which is no end of a line. */
static uint8_t
byte_at(const uint8_t *at, const uint8_t *end, size_t i)
{
	return (size_t) (end - at) > i ? at[i] : 0;
}

/* Whether the line that begins there is `\.`; the bytes that belong to it. */
static size_t
end_mark_bytes(const tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end)
{
	uint8_t next = byte_at(at, end, 2);

	if (byte_at(at, end, 0) != '\\' || byte_at(at, end, 1) != '.')
		return 0;
	switch ((tg_csv_end) cutter->dialect.end)
	{
		case TG_CSV_END_UNKNOWN:
			return next == '\r' || next == '\n' ? 3 : 0;
		case TG_CSV_END_NL:
			return next == '\n' ? 3 : 0;
		case TG_CSV_END_CR:
			return next == '\r' ? 3 : 0;
		case TG_CSV_END_CRNL:
			return next == '\r' && byte_at(at, end, 3) == '\n' ? 4 : 0;
	}
	return 0;
}

/* The bytes of a line's end there, outside of quotes; 0: it does not end. */
static size_t
line_end_bytes(tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end)
{
	uint8_t *known = &cutter->dialect.end;

	if (*at == '\n')
	{
		if (*known == TG_CSV_END_UNKNOWN)
			*known = TG_CSV_END_NL;
		return *known == TG_CSV_END_NL ? 1 : 0;
	}
	if (*known == TG_CSV_END_UNKNOWN)
		*known = byte_at(at, end, 1) == '\n' ? TG_CSV_END_CRNL : TG_CSV_END_CR;
	if (*known == TG_CSV_END_CRNL)
		return byte_at(at, end, 1) == '\n' ? 2 : 0;
	return *known == TG_CSV_END_CR ? 1 : 0;
}

static void
end_record(tg_csv_cutter *cutter)
{
	cutter->rows++;
	cutter->lines++;
	cutter->in_record = false;
	cutter->in_quotes = false;
	cutter->is_escaped = false;
}

/* Passes over what is at hand there: a byte, or the end of a line.  Returns the bytes. */
static size_t
step(tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end)
{
	const tg_csv_dialect *dialect = &cutter->dialect;
	bool has_escape = dialect->escape != dialect->quote;
	size_t line_end;
	uint8_t c = *at;

	cutter->in_record = true;
	if (cutter->in_quotes && has_escape && c == dialect->escape)
		cutter->is_escaped = !cutter->is_escaped;
	if (c == dialect->quote && !cutter->is_escaped)
		cutter->in_quotes = !cutter->in_quotes;
	if (!has_escape || c != dialect->escape)
		cutter->is_escaped = false;
	if (c != '\n' && c != '\r')
		return 1;
	if (cutter->in_quotes)
	{
		if (c == (dialect->end == TG_CSV_END_NL ? '\n' : '\r'))
			cutter->lines++;
		return 1;
	}
	line_end = line_end_bytes(cutter, at, end);
	if (line_end == 0)
		return 1;
	end_record(cutter);
	return line_end;
}

size_t
tg_csv_cut(tg_csv_cutter *cutter, const uint8_t *data, size_t bytes, bool is_last, uint64_t stop)
{
	const uint8_t *at = data;
	const uint8_t *end = data + bytes;
	uint64_t base = cutter->position;

	while (at < end && (is_last || end - at > TG_CSV_AHEAD))
	{
		if (!cutter->in_record)
		{
			size_t mark = end_mark_bytes(cutter, at, end);

			if (mark > 0)
				cutter->is_over = true;
			if (mark > 0 || cutter->position >= stop)
				return (size_t) (at - data);
		}
		at += step(cutter, at, end);
		cutter->position = base + (uint64_t) (at - data);
	}
	if (is_last && at == end && cutter->in_record)
		end_record(cutter);
	return (size_t) (at - data);
}

/*
 * csv.c
 *	  Files in CSV, by the rules of PostgreSQL's COPY: where their records end.
 *
 * The state between two bytes is the cutter's.  Two decisions need bytes ahead: whether a CR is
 * followed by an NL, and whether `\.` is alone on its line.
 */
#include "runtime/format/csv.h"

#include "runtime/format/csv_masks.h"

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

static size_t
step_text(tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end)
{
	size_t line_end = 0;

	if (cutter->is_escaped)
		cutter->is_unfit |= *at == '.';
	else if (*at == '\n' || *at == '\r')
		line_end = line_end_bytes(cutter, at, end);
	cutter->is_escaped = !cutter->is_escaped && *at == '\\';
	if (line_end == 0)
		return 1;
	end_record(cutter);
	return line_end;
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
	if (dialect->is_text)
		return step_text(cutter, at, end);
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

/* Whether one of these bytes is a point. */
static inline __attribute__((always_inline)) bool
has_point(const uint8_t *at, uint64_t bytes)
{
	for (; bytes != 0; bytes &= bytes - 1)
		if (at[__builtin_ctzll(bytes)] == '.')
			return true;
	return false;
}

/*
 * The same for whole strides of bytes, in a dialect whose quotes need no escapes, once the end of
 * lines is known.  Goes up to a stride that needs a closer look.  Returns the bytes.
 */
static inline __attribute__((always_inline)) size_t
cut_strides(tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end, uint64_t stop, tg_csv_finder *find)
{
	const uint8_t *begin = at;
	tg_csv_end known = (tg_csv_end) cutter->dialect.end;
	bool is_text = cutter->dialect.is_text;

	while (end - at >= TG_CSV_STRIDE + TG_CSV_AHEAD && cutter->position + TG_CSV_STRIDE <= stop)
	{
		tg_csv_masks masks;
		uint64_t quoted = cutter->in_quotes ? UINT64_MAX : 0;
		bool is_escaped = cutter->is_escaped;
		uint64_t ends;
		uint64_t counted;

		find(at, &cutter->dialect, &masks);
		/* `\.`, or an end that goes on behind the stride */
		if ((masks.backslashes != 0 && !is_text) ||
			(known == TG_CSV_END_CRNL && masks.returns >> (TG_CSV_STRIDE - 1) != 0))
			break;
		if (is_text)
		{
			uint64_t escaped = tg_csv_escaped(masks.backslashes, &is_escaped);

			if (has_point(at, escaped) || is_escaped) /* `\.` may go on behind it, too */
				break;
			masks.newlines &= ~escaped;
			masks.returns &= ~escaped;
		}
		else if (masks.quotes != 0)
			quoted ^= tg_csv_parity(masks.quotes);
		counted = known == TG_CSV_END_NL ? masks.newlines : masks.returns;
		ends = (known == TG_CSV_END_CRNL ? masks.newlines & masks.returns << 1 : counted) & ~quoted;
		cutter->rows += (unsigned) __builtin_popcountll(ends);
		cutter->lines += (unsigned) __builtin_popcountll(ends) + (unsigned) __builtin_popcountll(counted & quoted);
		cutter->in_quotes = quoted >> (TG_CSV_STRIDE - 1) != 0;
		cutter->is_escaped = false;
		cutter->in_record = ends >> (TG_CSV_STRIDE - 1) == 0;
		cutter->position += TG_CSV_STRIDE;
		at += TG_CSV_STRIDE;
	}
	return (size_t) (at - begin);
}

static size_t
cut_by_any(tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end, uint64_t stop)
{
	return cut_strides(cutter, at, end, stop, tg_csv_find_narrow);
}

TG_CSV_WIDE_TARGET static size_t
cut_by_wide(tg_csv_cutter *cutter, const uint8_t *at, const uint8_t *end, uint64_t stop)
{
	return cut_strides(cutter, at, end, stop, tg_csv_find_wide);
}

size_t
tg_csv_cut(tg_csv_cutter *cutter, const uint8_t *data, size_t bytes, bool is_last, uint64_t stop)
{
	const uint8_t *at = data;
	const uint8_t *end = data + bytes;
	const uint8_t *close = data; /* up to there bytes are looked at one by one */

	while (at < end && (is_last || end - at > TG_CSV_AHEAD))
	{
		size_t passed;

		if (!cutter->in_record)
		{
			size_t mark = end_mark_bytes(cutter, at, end);

			if (mark > 0)
				cutter->is_over = true;
			if (mark > 0 || cutter->position >= stop)
				return (size_t) (at - data);
		}
		if (at >= close && cutter->dialect.end != TG_CSV_END_UNKNOWN && cutter->dialect.escape == cutter->dialect.quote)
		{
			passed = tg_csv_has_wide() ? cut_by_wide(cutter, at, end, stop) : cut_by_any(cutter, at, end, stop);
			close = at + passed + TG_CSV_STRIDE;
			at += passed;
			if (passed > 0)
				continue;
		}
		passed = step(cutter, at, end);
		at += passed;
		cutter->position += passed;
	}
	if (is_last && at == end && cutter->in_record)
		end_record(cutter);
	return (size_t) (at - data);
}

/*
 * csv_split.c
 *	  Records of a block in CSV, and where their fields end.
 */
#include "runtime/format/csv_split.h"

#include <string.h>

#include "runtime/format/csv_masks.h"

#define MARKS_AT_ONCE 16

/* What is to be compiled for registers of the caller's width. */
#define INLINE static inline __attribute__((always_inline))

/* What structures 64 bytes, outside of quotes. */
typedef struct stride
{
	uint64_t delimiters;
	uint64_t ends;	 /* of lines; of two bytes: the first one */
	uint64_t strays; /* ends of another kind, or parts of one */
	uint8_t flags;	 /* of records that have a part in it */
} stride;

/* --- records ---------------------------------------------------------------------------------- */

INLINE uint32_t
end_bytes_of(const tg_csv_splitter *splitter)
{
	return splitter->dialect.end == TG_CSV_END_CRNL ? 2 : 1;
}

/* Where the marks of the record that has not ended are. */
INLINE uint32_t *
first_mark(const tg_csv_splitter *splitter)
{
	return splitter->marks + (size_t) splitter->count * splitter->column_count;
}

/* The lines of a record up to its line's end there, exactly as COPY counts them. */
static __attribute__((noinline)) uint64_t
count_lines(const tg_csv_splitter *splitter, const tg_csv_record *record, uint32_t mark)
{
	tg_csv_cutter cutter = {.dialect = splitter->dialect};
	const uint8_t *text = splitter->data + record->begin;
	int counted = cutter.dialect.end == TG_CSV_END_NL && !splitter->is_first ? '\n' : '\r';

	if (splitter->dialect.is_text || memchr(text, counted, mark - record->begin) == NULL ||
		memchr(text, splitter->dialect.quote, mark - record->begin) == NULL)
		return 1;
	if (splitter->is_first)
		cutter.dialect.end = TG_CSV_END_UNKNOWN;
	(void) tg_csv_cut(&cutter, text, record->end - record->begin, true, UINT64_MAX);
	return cutter.lines;
}

/* The record ends at a mark, which has been put, by so many bytes. */
INLINE void
end_record(tg_csv_splitter *splitter, uint32_t mark, uint32_t end_bytes)
{
	tg_csv_record *record = &splitter->records[splitter->count];
	uint8_t flags = splitter->now | (splitter->is_first ? TG_CSV_ODD : 0);

	*record = (tg_csv_record){.begin = splitter->begin, .end = mark + end_bytes, .lines = splitter->lines};
	splitter->lines += (flags & TG_CSV_QUOTES) != 0 ? count_lines(splitter, record, mark) : 1;
	splitter->flags[splitter->count++] = flags;
	splitter->is_first = false;
	splitter->begin = mark + end_bytes;
}

/* --- strides ---------------------------------------------------------------------------------- */

/* Some are written at once, whatever their number is: to look at each costs more. */
INLINE uint32_t *
put_marks(uint32_t *marks, uint64_t bits, uint32_t base)
{
	const uint64_t top = UINT64_C(1) << (TG_CSV_STRIDE - 1);
	unsigned count = (unsigned) __builtin_popcountll(bits);

	for (unsigned i = 0; i < count; i += MARKS_AT_ONCE)
#pragma GCC unroll 16
		for (unsigned j = 0; j < MARKS_AT_ONCE; j++)
		{
			marks[i + j] = base + (unsigned) __builtin_ctzll(bits | top);
			bits &= bits - 1;
		}
	return marks + count;
}

/*
 * The record has another number of fields than it should, with the end of the last one before
 * `stop`.  It gets the wanted number of marks, of which only the last one is one, and those behind
 * it are put there.  Returns where.
 */
static __attribute__((noinline)) uint32_t *
end_odd_record(tg_csv_splitter *splitter, uint32_t *stop, uint32_t mark)
{
	uint32_t *wanted = first_mark(splitter) + splitter->column_count;

	splitter->now |= TG_CSV_ODD;
	memmove(wanted, stop, (size_t) (splitter->next - stop) * sizeof(*stop));
	splitter->next += wanted - stop;
	wanted[-1] = mark;
	return wanted;
}

INLINE void
put_stride(tg_csv_splitter *splitter, const stride *found, uint32_t base)
{
	const uint32_t end_bytes = end_bytes_of(splitter);
	const uint64_t all = found->delimiters | found->ends;
	uint32_t *first = splitter->next; /* where the first mark of the stride is, or would be */
	uint64_t strays = found->strays;

	splitter->next = put_marks(first, all, base);
	splitter->now |= found->flags;
	for (uint64_t ends = found->ends; ends != 0; ends &= ends - 1)
	{
		uint64_t upto = ends ^ (ends - 1); /* the first one included */
		uint32_t mark = base + (unsigned) __builtin_ctzll(ends);
		unsigned count = (unsigned) __builtin_popcountll(all & upto);

		if (first + count != first_mark(splitter) + splitter->column_count)
			first = end_odd_record(splitter, first + count, mark) - count;
		if ((strays & upto) != 0)
			splitter->now |= TG_CSV_ODD;
		strays &= ~upto;
		end_record(splitter, mark, end_bytes);
		splitter->now = found->flags;
	}
	if (strays != 0)
		splitter->now |= TG_CSV_ODD;
	/* fields of a record that is too long are put one over the other */
	if (splitter->next - first_mark(splitter) >= (ptrdiff_t) splitter->column_count)
	{
		splitter->next = first_mark(splitter) + splitter->column_count - 1;
		splitter->now |= TG_CSV_ODD;
	}
}

/* Ends of lines, and strays. */
INLINE void
find_ends(const tg_csv_splitter *splitter, const tg_csv_masks *masks, uint64_t unquoted, uint32_t base, stride *found)
{
	uint64_t newlines = masks->newlines & unquoted;
	uint64_t returns = masks->returns & unquoted;
	bool newline_follows;
	bool newline_is_known;

	switch ((tg_csv_end) splitter->dialect.end)
	{
		case TG_CSV_END_NL:
			found->ends = newlines;
			found->strays = returns;
			break;
		case TG_CSV_END_CR:
			found->ends = returns;
			found->strays = newlines;
			break;
		case TG_CSV_END_CRNL:
			newline_follows = base + TG_CSV_STRIDE < splitter->bytes && splitter->data[base + TG_CSV_STRIDE] == '\n';
			newline_is_known = splitter->begin == base + 1;
			found->ends = returns & (newlines >> 1 | (uint64_t) newline_follows << (TG_CSV_STRIDE - 1));
			found->strays = (returns & ~found->ends) | (newlines & ~(found->ends << 1 | newline_is_known));
			break;
		case TG_CSV_END_UNKNOWN:
			found->ends = 0;
			found->strays = newlines | returns;
			break;
	}
}

/* Which bytes are in quotes, in dialects with an escape of its own. */
static __attribute__((noinline)) uint64_t
quoted_by_bytes(tg_csv_splitter *splitter, const uint8_t *at, unsigned bytes)
{
	const tg_csv_dialect *dialect = &splitter->dialect;
	uint64_t quoted = 0;

	for (unsigned i = 0; i < bytes; i++)
	{
		if (splitter->in_quotes && at[i] == dialect->escape)
			splitter->is_escaped = !splitter->is_escaped;
		if (at[i] == dialect->quote && !splitter->is_escaped)
			splitter->in_quotes = !splitter->in_quotes;
		if (at[i] != dialect->escape)
			splitter->is_escaped = false;
		quoted |= (uint64_t) splitter->in_quotes << i;
	}
	return quoted;
}

INLINE uint64_t
find_quoted(tg_csv_splitter *splitter, const uint8_t *at, unsigned bytes, uint64_t quotes)
{
	uint64_t quoted = splitter->in_quotes ? UINT64_MAX : 0;

	if (splitter->dialect.is_text)
		return tg_csv_escaped(quotes, &splitter->is_escaped);
	if (splitter->dialect.quote != splitter->dialect.escape)
		return quoted_by_bytes(splitter, at, bytes);
	if (quotes != 0)
		quoted ^= tg_csv_parity(quotes);
	splitter->in_quotes = quoted >> (TG_CSV_STRIDE - 1) != 0;
	return quoted;
}

INLINE void
split_strides(tg_csv_splitter *given, uint32_t wanted, tg_csv_finder *find)
{
	tg_csv_splitter splitter = *given; /* so that it is known what a store of a mark does not change */

	while (splitter.scanned < splitter.bytes && splitter.count < wanted)
	{
		const uint8_t *at = splitter.data + splitter.scanned;
		uint32_t left = splitter.bytes - splitter.scanned;
		unsigned bytes = left < TG_CSV_STRIDE ? left : TG_CSV_STRIDE;
		uint64_t valid = left < TG_CSV_STRIDE ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
		tg_csv_masks masks;
		stride found = {.ends = 0};
		uint64_t unquoted;

		find(at, &splitter.dialect, &masks);
		masks.quotes &= valid;
		masks.newlines &= valid;
		unquoted = ~find_quoted(&splitter, at, bytes, masks.quotes) & valid;
		found.delimiters = masks.delimiters & unquoted;
		found.flags =
			(uint8_t) ((masks.quotes != 0 ? TG_CSV_QUOTES : 0) | ((masks.wide & valid) != 0 ? TG_CSV_WIDE : 0));
		find_ends(&splitter, &masks, unquoted, splitter.scanned, &found);
		put_stride(&splitter, &found, splitter.scanned);
		splitter.scanned += bytes;
	}
	*given = splitter;
}

static void
split_by_any(tg_csv_splitter *splitter, uint32_t wanted)
{
	split_strides(splitter, wanted, tg_csv_find_narrow);
}

TG_CSV_WIDE_TARGET static void
split_by_wide(tg_csv_splitter *splitter, uint32_t wanted)
{
	split_strides(splitter, wanted, tg_csv_find_wide);
}

/* --- blocks ----------------------------------------------------------------------------------- */

void
tg_csv_split_begin(tg_csv_splitter *splitter, const uint8_t *data, uint32_t bytes, uint64_t lines, bool is_first)
{
	splitter->data = data;
	splitter->bytes = bytes;
	splitter->scanned = 0;
	splitter->count = 0;
	splitter->in_quotes = false;
	splitter->is_escaped = false;
	splitter->is_first = is_first;
	splitter->lines = lines;
	splitter->begin = 0;
	splitter->now = 0;
	splitter->next = splitter->marks;
	splitter->marks[-1] = 0 - end_bytes_of(splitter);
}

void
tg_csv_split(tg_csv_splitter *splitter, uint32_t wanted)
{
	uint32_t *begun = first_mark(splitter);

	memmove(splitter->marks - 1, begun - 1, (size_t) (splitter->next - begun + 1) * sizeof(*begun));
	splitter->next -= begun - splitter->marks;
	splitter->count = 0;
	if (tg_csv_has_wide())
		split_by_wide(splitter, wanted);
	else
		split_by_any(splitter, wanted);
	if (splitter->scanned < splitter->bytes || splitter->begin >= splitter->bytes)
		return;
	/* the last one of the file, without the end of its line */
	*splitter->next++ = splitter->bytes;
	if (splitter->in_quotes || (splitter->dialect.is_text && splitter->data[splitter->bytes - 1] == '\\'))
		splitter->now |= TG_CSV_ODD;
	if (splitter->next != first_mark(splitter) + splitter->column_count)
		(void) end_odd_record(splitter, splitter->next, splitter->bytes);
	end_record(splitter, splitter->bytes, 0);
}

/*
 * describe_csv.c
 *	  The columns of a file in CSV, guessed from its first records.
 *
 * A value leaves those of the types that read it as it is written; the column gets the narrowest
 * that all of its values have left.  A number with a zero before other digits is no number but a
 * name of something, as are postal codes.  Moments with an offset and without are not mixed: those
 * without would be what the session's time zone makes of them.
 */
#include "postgres.h"

#include "src/copy/describe.h"

#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "runtime/format/csv_value.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/sessions.h"

#define SAMPLE_ROWS 10000
#define SAMPLE_BYTES ((Size) 8 << 20)

/* In the order of preference. */
typedef enum Guess
{
	GUESS_BOOLEAN,
	GUESS_INTEGER,
	GUESS_BIGINT,
	GUESS_NUMERIC,
	GUESS_FLOAT8,
	GUESS_DATE,
	GUESS_TIMESTAMP,
	GUESS_TIMESTAMPTZ,
	GUESS_UUID,
	GUESS_TEXT
} Guess;

static const char *const guess_names[] = {"boolean", "integer",	  "bigint",		 "numeric", "double precision",
										  "date",	 "timestamp", "timestamptz", "uuid",	"text"};

#define BIT(guess) (1u << (guess))
#define ALL_GUESSES (BIT(GUESS_TEXT + 1) - 1)
#define OF_FLOATS (BIT(GUESS_FLOAT8) | BIT(GUESS_TEXT))
#define OF_DECIMALS (BIT(GUESS_NUMERIC) | OF_FLOATS)
#define OF_BIGINTS (BIT(GUESS_BIGINT) | OF_DECIMALS)
#define OF_INTEGERS (BIT(GUESS_INTEGER) | OF_BIGINTS)

typedef struct Column
{
	const char *name;
	unsigned guesses; /* bits: types that have all values so far */
	bool has_value;
	bool has_null;
} Column;

typedef struct Sample
{
	const char *file_name;
	MemoryContext memory; /* of the columns */
	bool has_header;
	bool is_begun; /* the columns are known */
	Column *columns;
	int count;
	int64 rows;
	Size bytes;
} Sample;

/* --- values ---------------------------------------------------------------------------------- */

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const char *
pass_digits(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

static unsigned
guesses_of_integer(const char *text)
{
	int64 value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 10);
	Assert(*end == '\0');
	if (errno != 0)
		return OF_DECIMALS;
	return value >= PG_INT32_MIN && value <= PG_INT32_MAX ? OF_INTEGERS : OF_BIGINTS;
}

/* 0: it is no number. */
static unsigned
guesses_of_number(const char *text)
{
	const char *digits = text + (*text == '-' || *text == '+');
	const char *at = pass_digits(digits);
	bool has_digit = at > digits;
	const char *behind;

	if (*digits == '0' && at > digits + 1)
		return 0;
	if (*at == '\0' && has_digit)
		return guesses_of_integer(text);
	if (*at == '.')
	{
		behind = pass_digits(at + 1);
		has_digit |= behind > at + 1;
		at = behind;
	}
	if (!has_digit || *at == '\0')
		return has_digit ? OF_DECIMALS : 0;
	if (*at != 'e' && *at != 'E')
		return 0;
	at += 1 + (at[1] == '-' || at[1] == '+');
	return is_digit(*at) && *pass_digits(at) == '\0' ? OF_FLOATS : 0;
}

static bool
is_word(const char *text, const char *const *words)
{
	while (*words != NULL && pg_strcasecmp(text, *words) != 0)
		words++;
	return *words != NULL;
}

static unsigned
guesses_of_moment(const uint8 *text, size_t bytes)
{
	int64 value;

	if (tg_text_date(text, bytes, &value))
		return BIT(GUESS_DATE) | BIT(GUESS_TIMESTAMP) | BIT(GUESS_TEXT);
	if (tg_text_timestamp(text, bytes, TG_TEXT_NO_OFFSET, &value))
		return BIT(GUESS_TIMESTAMP) | BIT(GUESS_TEXT);
	if (tg_text_timestamp(text, bytes, TG_TEXT_OFFSET_OR_Z, &value))
		return BIT(GUESS_TIMESTAMPTZ) | BIT(GUESS_TEXT);
	return 0;
}

static unsigned
guesses_of(const char *text)
{
	static const char *const booleans[] = {"true", "false", "t", "f", NULL};
	static const char *const floats[] = {"NaN", "Infinity", "-Infinity", NULL};
	size_t bytes = strlen(text);
	uint8 uuid[TG_UUID_BYTES];
	unsigned guesses = guesses_of_number(text);

	if (guesses == 0)
		guesses = guesses_of_moment((const uint8 *) text, bytes);
	if (guesses == 0 && is_word(text, booleans))
		guesses = BIT(GUESS_BOOLEAN);
	if (guesses == 0 && is_word(text, floats))
		guesses = OF_FLOATS;
	if (guesses == 0 && tg_text_uuid((const uint8 *) text, bytes, uuid))
		guesses = BIT(GUESS_UUID);
	return guesses | BIT(GUESS_TEXT);
}

static const char *
type_of(const Column *column)
{
	int guess = column->has_value ? 0 : GUESS_TEXT;

	while ((column->guesses & BIT(guess)) == 0)
		guess++;
	return guess_names[guess];
}

/* --- records --------------------------------------------------------------------------------- */

/* By the first record. */
static void
begin_columns(Sample *sample, char **fields, int count)
{
	MemoryContext before = MemoryContextSwitchTo(sample->memory);

	sample->columns = palloc0(sizeof(Column) * Max(count, 1));
	sample->count = count;
	for (int i = 0; i < count; i++)
	{
		if (sample->has_header && fields[i] == NULL)
			ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
							errmsg("column %d of file \"%s\" has no name", i + 1, sample->file_name)));
		sample->columns[i].name = sample->has_header ? pstrdup(fields[i]) : psprintf("column%d", i + 1);
		sample->columns[i].guesses = ALL_GUESSES;
	}
	sample->is_begun = true;
	MemoryContextSwitchTo(before);
}

static void
take_record(Sample *sample, char **fields, int count)
{
	sample->rows++;
	if (count != sample->count)
		ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
						errmsg("row " INT64_FORMAT " of file \"%s\" has %d columns, expected %d", sample->rows,
							   sample->file_name, count, sample->count)));
	for (int i = 0; i < count; i++)
	{
		Column *column = &sample->columns[i];

		column->has_null |= fields[i] == NULL;
		if (fields[i] == NULL)
			continue;
		column->has_value = true;
		sample->bytes += strlen(fields[i]);
		if (column->guesses != BIT(GUESS_TEXT))
			column->guesses &= guesses_of(fields[i]);
	}
}

/* Whether it wants more. */
static bool
take_fields(void *argument, char **fields, int count)
{
	Sample *sample = argument;
	bool is_header = sample->has_header && !sample->is_begun;

	CHECK_FOR_INTERRUPTS();
	if (!sample->is_begun)
		begin_columns(sample, fields, count);
	if (!is_header)
		take_record(sample, fields, count);
	return sample->rows < SAMPLE_ROWS && sample->bytes < SAMPLE_BYTES;
}

/* --- the file -------------------------------------------------------------------------------- */

/* The first record has names, unless an option says otherwise. */
static bool
has_header(const List *options)
{
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "header") == 0)
			return strcmp(defGetString(option), "match") == 0 || defGetBoolean(option);
	}
	return true;
}

void
tsurugi_describe_csv(const char *name, Jsonb *options, tsurugi_describe_put *put, void *argument)
{
	static const Oid types[] = {TEXTOID};
	tsurugi_load load = {0};
	tsurugi_load_file file = {.name = name, .format = TSURUGI_FORMAT_CSV};
	Sample sample = {.file_name = name, .memory = CurrentMemoryContext};
	bool is_whole;

	tsurugi_load_options_of_csv(options, &load);
	tsurugi_load_identify(&file);
	file.relation = tsurugi_batch_relation(list_make1(makeString(pstrdup("column1"))), types);
	sample.has_header = has_header(load.options);
	is_whole = tsurugi_csv_sample(&load, &file, take_fields, &sample);
	for (int i = 0; i < sample.count; i++)
		put(argument, i + 1, sample.columns[i].name, type_of(&sample.columns[i]),
			sample.columns[i].has_null || !is_whole, "text");
}

/*
 * json.c
 *	  Lines of NDJSON: random objects, whole and damaged, beside a plain recursive parser.
 *	  FUZZ: how many.  Then what the reader makes of the lines of a block.
 *
 * Lines lie in memory of their own size, so AddressSanitizer sees a look beyond their ends.
 */
#include "runtime/format/json_read.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/json_scan.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define BYTES_MAX 4000
#define MEMBERS_MAX 40
#define FUZZ 60000
#define NEST_DRAWN 4
#define LARGE 3000

static uint64_t state = 1;

static unsigned
draw(unsigned count)
{
	return unit_below(&state, count);
}

/* --- a plain parser --------------------------------------------------------------------------- */

typedef struct plain
{
	const char *at;
	const char *end;
	int depth;
	bool is_left;		/* there is something that the scanner may leave to others */
	bool has_escapes;	/* in the last string */
	bool odd_character; /* likewise: a zero, or half of a pair */
} plain;

static bool parse_value(plain *plain);

static void
skip(plain *plain)
{
	while (plain->at < plain->end && strchr(" \t\r\n", *plain->at) != NULL && *plain->at != '\0')
		plain->at++;
}

static bool
take(plain *plain, char c)
{
	if (plain->at < plain->end && *plain->at == c)
	{
		plain->at++;
		return true;
	}
	return false;
}

static bool
parse_string(plain *plain)
{
	plain->has_escapes = plain->odd_character = false;
	if (!take(plain, '"'))
		return false;
	for (; plain->at < plain->end && *plain->at != '"'; plain->at++)
	{
		unsigned character;

		if ((unsigned char) *plain->at < ' ')
			return false;
		if (*plain->at != '\\')
			continue;
		plain->has_escapes = true;
		if (++plain->at == plain->end || *plain->at == '\0' || strchr("\"\\/bfnrtu", *plain->at) == NULL)
			return false;
		if (*plain->at != 'u')
			continue;
		character = 0;
		for (int i = 0; i < 4; i++)
		{
			const char *digits = "0123456789abcdef0123456789ABCDEF";
			const char *digit;

			if (++plain->at == plain->end || *plain->at == '\0' || (digit = strchr(digits, *plain->at)) == NULL)
				return false;
			character = character * 16 + (unsigned) ((digit - digits) % 16);
		}
		plain->odd_character |= character == 0 || (character >= 0xd800 && character <= 0xdfff);
	}
	plain->is_left |= plain->odd_character;
	return take(plain, '"');
}

static bool
parse_digits(plain *plain)
{
	const char *begin = plain->at;

	while (plain->at < plain->end && *plain->at >= '0' && *plain->at <= '9')
		plain->at++;
	return plain->at > begin;
}

static bool
parse_number(plain *plain)
{
	const char *begin;

	take(plain, '-');
	begin = plain->at;
	if (!parse_digits(plain) || (*begin == '0' && plain->at > begin + 1))
		return false;
	if (take(plain, '.') && !parse_digits(plain))
		return false;
	if (take(plain, 'e') || take(plain, 'E'))
	{
		if (!take(plain, '+'))
			take(plain, '-');
		return parse_digits(plain);
	}
	return true;
}

static bool
parse_list(plain *plain, char open, char close, bool has_names)
{
	if (!take(plain, open))
		return false;
	plain->is_left |= ++plain->depth > TG_JSON_NESTING_MAX + 1;
	skip(plain);
	if (take(plain, close))
	{
		plain->depth--;
		return true;
	}
	do
	{
		skip(plain);
		if (has_names)
		{
			if (!parse_string(plain))
				return false;
			skip(plain);
			if (!take(plain, ':'))
				return false;
			skip(plain);
		}
		if (!parse_value(plain))
			return false;
		skip(plain);
	} while (take(plain, ','));
	plain->depth--;
	return take(plain, close);
}

static bool
parse_word(plain *plain, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t) (plain->end - plain->at) < bytes || memcmp(plain->at, word, bytes) != 0)
		return false;
	plain->at += bytes;
	return true;
}

static bool
parse_value(plain *plain)
{
	char c = plain->at < plain->end ? *plain->at : '\0';

	if (c == '"')
		return parse_string(plain);
	if (c == '{')
		return parse_list(plain, '{', '}', true);
	if (c == '[')
		return parse_list(plain, '[', ']', false);
	if (c == 't' || c == 'f' || c == 'n')
		return parse_word(plain, c == 't' ? "true" : c == 'f' ? "false" : "null");
	return parse_number(plain);
}

/* The members of a line; -1: it is malformed, or has what the scanner leaves. */
static int
parse_line(const char *line, size_t bytes, tg_json_member *members, bool *left_out)
{
	plain plain = {.at = line, .end = line + bytes, .depth = 1};
	int count = 0;

	*left_out = false;
	skip(&plain);
	if (!take(&plain, '{'))
		return -1;
	skip(&plain);
	if (!take(&plain, '}'))
	{
		do
		{
			tg_json_member *member = &members[count < MEMBERS_MAX ? count : MEMBERS_MAX];
			char c;

			skip(&plain);
			member->name = (uint32_t) (plain.at - line) + 1;
			if (!parse_string(&plain))
				return -1;
			plain.is_left |= plain.has_escapes || count >= MEMBERS_MAX;
			member->name_bytes = (uint32_t) (plain.at - line) - 1 - member->name;
			skip(&plain);
			if (!take(&plain, ':'))
				return -1;
			skip(&plain);
			member->begin = (uint32_t) (plain.at - line);
			c = plain.at < plain.end ? *plain.at : '\0';
			if (!parse_value(&plain))
				return -1;
			member->bytes = (uint32_t) (plain.at - line) - member->begin;
			member->has_escapes = c == '"' && plain.has_escapes;
			member->kind = c == '"'	  ? TG_JSON_STRING
						   : c == '{' ? TG_JSON_OBJECT
						   : c == '[' ? TG_JSON_ARRAY
						   : c == 't' ? TG_JSON_TRUE
						   : c == 'f' ? TG_JSON_FALSE
						   : c == 'n' ? TG_JSON_NULL
									  : TG_JSON_NUMBER;
			count++;
			skip(&plain);
		} while (take(&plain, ','));
		if (!take(&plain, '}'))
			return -1;
	}
	skip(&plain);
	if (plain.at != plain.end)
		return -1;
	*left_out = plain.is_left;
	return plain.is_left ? -1 : count;
}

/* --- random lines ----------------------------------------------------------------------------- */

static char drawn[BYTES_MAX + 100];
static size_t drawn_bytes;

static void
put(const char *text)
{
	if (drawn_bytes + strlen(text) < BYTES_MAX)
	{
		memcpy(drawn + drawn_bytes, text, strlen(text));
		drawn_bytes += strlen(text);
	}
}

static const char *
one_of(const char *const *texts)
{
	unsigned count = 0;

	while (texts[count] != NULL)
		count++;
	return texts[draw(count)];
}

static void
put_space(void)
{
	static const char *const spaces[] = {"", "", "", " ", "\t", "\r", "  ", NULL};

	put(one_of(spaces));
}

static void
put_string(void)
{
	static const char *const parts[] = {"a",   "bc",	   "\\n",	  "\\\"",	 "\\\\",
										"\\/", "\303\251", "\\u00e9", "\\u20AC", "\\u0000",
										" ",   "\\ud83d",  "{",		  ",",		 "longer than eight bytes",
										NULL};

	put("\"");
	for (unsigned left = draw(5); left > 0; left--)
		put(parts[draw(20) == 0 ? 9 + 2 * draw(2) : draw(9)]);
	put("\"");
}

static void
put_value(unsigned depth)
{
	static const char *const scalars[] = {
		"true", "false", "null", "0", "-1", "12.50", "1e3", "-0.5E-7", "123456789012345678901", NULL};
	bool is_object = draw(2) == 0;

	if (depth == 0 || draw(3) > 0)
	{
		if (draw(3) == 0)
			put_string();
		else
			put(one_of(scalars));
		return;
	}
	put(is_object ? "{" : "[");
	for (unsigned left = draw(4), first = 1; left > 0; left--, first = 0)
	{
		put_space();
		put(first != 0 ? "" : ",");
		put_space();
		if (is_object)
		{
			put_string();
			put_space();
			put(":");
			put_space();
		}
		put_value(depth - 1);
	}
	put_space();
	put(is_object ? "}" : "]");
}

static void
draw_line(void)
{
	static const char *const names[] = {"\"a\"", "\"b\"", "\"c\"", "\"\"", "\"\303\251\"", "\"d\\u0065\"", NULL};

	drawn_bytes = 0;
	put_space();
	put("{");
	for (unsigned left = draw(draw(20) == 0 ? MEMBERS_MAX + 3 : 6), first = 1; left > 0; left--, first = 0)
	{
		put_space();
		put(first != 0 ? "" : ",");
		put_space();
		put(draw(30) == 0 ? names[5] : names[draw(5)]);
		put_space();
		put(":");
		put_space();
		put_value(NEST_DRAWN);
	}
	put_space();
	put("}");
	put_space();
}

/* Changes, takes away, or repeats some bytes. */
static void
damage(void)
{
	static const char bytes[] = "\"\\{}[]:,0-1.eEtfnu \t\n\001\303a";

	for (unsigned left = 1 + draw(3); left > 0 && drawn_bytes > 0; left--)
	{
		size_t place = draw((unsigned) drawn_bytes);

		switch (draw(4))
		{
			case 0:
				drawn_bytes = place;
				break;
			case 1:
				memmove(drawn + place, drawn + place + 1, --drawn_bytes - place);
				break;
			case 2:
				drawn[place] = bytes[draw(sizeof(bytes) - 1)];
				break;
			default:
				memmove(drawn + place + 1, drawn + place, drawn_bytes++ - place);
		}
	}
}

static bool
is_same_member(const tg_json_member *a, const tg_json_member *b)
{
	return a->name == b->name && a->name_bytes == b->name_bytes && a->begin == b->begin && a->bytes == b->bytes &&
		   a->kind == b->kind && a->has_escapes == b->has_escapes;
}

static void
test_lines(unsigned times)
{
	static tg_json_member wanted[MEMBERS_MAX + 1];
	static tg_json_member found[MEMBERS_MAX];
	unsigned well = 0;
	unsigned malformed = 0;
	unsigned left = 0;
	unsigned wrong = 0;

	for (unsigned i = 0; i < times; i++)
	{
		uint8_t *line;
		bool is_left;
		int count;

		draw_line();
		if (draw(2) == 0)
			damage();
		line = malloc(drawn_bytes + 1);
		memcpy(line, drawn, drawn_bytes);
		line = realloc(line, drawn_bytes > 0 ? drawn_bytes : 1);
		count = parse_line(drawn, drawn_bytes, wanted, &is_left);
		wrong += tg_json_scan(line, (uint32_t) drawn_bytes, found, MEMBERS_MAX) != count;
		for (int member = 0; member < count; member++)
			wrong += !is_same_member(&wanted[member], &found[member]);
		free(line);
		well += count >= 0;
		left += is_left;
		malformed += count < 0 && !is_left;
	}
	unit_ok(wrong == 0, "members of %u lines, of which %u are malformed, and %u are left to others", well, malformed,
			left);
	unit_ok(well > times / 4 && malformed > times / 8 && left > times / 50, "there are many of each kind");
}

static void
test_nesting(void)
{
	char line[300];
	tg_json_member member;

	for (unsigned depth = TG_JSON_NESTING_MAX; depth <= TG_JSON_NESTING_MAX + 1; depth++)
	{
		size_t bytes = (size_t) sprintf(line, "{\"a\":");

		memset(line + bytes, '[', depth);
		memset(line + bytes + depth, ']', depth);
		line[bytes + 2 * depth] = '}';
		unit_ok(tg_json_scan((uint8_t *) line, (uint32_t) (bytes + 2 * depth + 1), &member, 1) ==
					(depth > TG_JSON_NESTING_MAX ? -1 : 1),
				"%u within each other", depth);
	}
}

static void
test_escapes(void)
{
	static const char written[] = "\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20aC\\uFFFFz";
	static const char meant[] = "\"\\/\b\f\n\r\tA\303\251\342\202\254\357\277\277z";
	char text[sizeof(written)];

	memcpy(text, written, sizeof(written));
	unit_ok(tg_json_unescape((uint8_t *) text, sizeof(written) - 1) == sizeof(meant) - 1 &&
				memcmp(text, meant, sizeof(meant) - 1) == 0,
			"all escapes");
}

/* --- the reader ------------------------------------------------------------------------------- */

static void *
resize(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	return realloc(memory, bytes);
}

static void
release(void *argument, void *memory)
{
	free(memory);
}

#define COLUMNS 4

static const tg_csv_column columns[COLUMNS] = {{.type = TG_FILE_INT, .bits = 32},
											   {.type = TG_FILE_STRING},
											   {.type = TG_FILE_JSON},
											   {.type = TG_FILE_STRING, .force_not_null = true}};
static const char *const names[COLUMNS] = {"i", "s", "j", "r"};
static const tg_json_format format = {.columns = columns, .names = names, .column_count = COLUMNS};
static const tg_file_source source = {.resize = resize, .free = release, .memory_max = 1 << 24};

/* What a row is, as text: its values, or that it is odd. */
static void
show_row(const tg_json_reader *reader, const tg_file_values *values, unsigned row, char *shown)
{
	const tg_csv_record *record = &tg_json_records(reader)[row];

	shown += sprintf(shown, "%llu:", (unsigned long long) record->lines);
	if (record->is_odd)
	{
		sprintf(shown, "odd, %u bytes", record->end - record->begin);
		return;
	}
	for (unsigned i = 0; i < COLUMNS; i++)
	{
		if (values[i].nulls[row])
			shown += sprintf(shown, "-|");
		else if (i == 0)
			shown += sprintf(shown, "%lld|", (long long) values[i].words[row]);
		else
			shown +=
				sprintf(shown, "%.*s|", (int) values[i].bytes[row].count, (const char *) values[i].bytes[row].data);
	}
}

/* Reads a block; the rows one after the other. */
static unsigned
read_block(const char *text, uint64_t lines, char *shown)
{
	uint32_t bytes = (uint32_t) strlen(text);
	uint8_t *block = malloc(bytes + 1);
	tg_file_values values[COLUMNS];
	tg_json_reader *reader;
	unsigned batches = 0;
	unsigned count;

	memcpy(block, text, bytes);
	tg_check(tg_json_reader_create(&source, &format, &reader) == TG_OK);
	for (unsigned round = 0; round < 2; round++) /* a block after another one */
	{
		memcpy(block, text, bytes);
		tg_json_begin(reader, block, bytes, lines);
		*shown = '\0';
		batches = 0;
		for (; (count = tg_json_read(reader, values)) > 0; batches++)
			for (unsigned i = 0; i < count; i++)
			{
				show_row(reader, values, i, shown + strlen(shown));
				strcat(shown, "\n");
			}
	}
	tg_json_reader_free(reader);
	free(block);
	return batches;
}

static void
test_rows(void)
{
	static const struct
	{
		const char *line;
		const char *row;
	} cases[] = {
		{"{\"i\":1,\"s\":\"x\",\"j\":{\"k\" : [1]},\"r\":\"y\"}", "7:1|x|{\"k\" : [1]}|y|\n"},
		{"{\"r\":12.50,\"i\":\"-7\"}\r", "7:-7|-|-|12.50|\n"},
		{" {\"j\":\"a\\n\",\"s\":\"a\\n\\u00e9\",\"r\":[1, 2]} ", "7:-|a\n\303\251|\"a\\n\"|[1, 2]|\n"},
		{"{\"r\":true,\"j\":null,\"s\":null}", "7:-|-|-|true|\n"},
		{"{\"r\":\"\"}", "7:-|-|-||\n"},
		{"{}", "7:odd, 2 bytes\n"},
		{"{\"r\":null}", "7:odd, 10 bytes\n"},
		{"{\"r\":1,\"i\":1.5}", "7:odd, 15 bytes\n"},
		{"{\"r\":1,\"i\":2147483648}", "7:odd, 22 bytes\n"},
		{"{\"r\":1,\"x\":1}", "7:odd, 13 bytes\n"},
		{"{\"r\":1,\"i\":1,\"i\":2}", "7:odd, 19 bytes\n"},
		{"{\"r\":\"\\u0000\"}", "7:odd, 14 bytes\n"},
		{"{\"r\":\"\xff\"}", "7:odd, 9 bytes\n"},
		{"{\"r\":1,\"j\":[\"\xff\"]}", "7:odd, 17 bytes\n"},
		{"{\"\\u0072\":1}", "7:odd, 12 bytes\n"},
		{"[1]", "7:odd, 3 bytes\n"},
		{"{\"r\":1", "7:odd, 6 bytes\n"},
		{"{\"r\":1\r\n", "7:odd, 6 bytes\n"},
		{"", ""},
		{" \t\r", ""},
		{"\n \n{\"r\":1}\n\n{\"r\":2}", "7:-|-|-|1|\n8:-|-|-|2|\n"},
	};
	char shown[1000];

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		read_block(cases[i].line, 7, shown);
		unit_ok(strcmp(shown, cases[i].row) == 0, "the rows of case %u", i);
	}
}

/* Rows of several batches. */
static void
test_batches(void)
{
	char *text = malloc(LARGE * 40);
	char *shown = malloc(LARGE * 40);
	char *wanted = malloc(LARGE * 40);
	size_t bytes = 0;
	size_t wanted_bytes = 0;

	for (unsigned i = 0; i < LARGE; i++)
	{
		bytes += (size_t) sprintf(text + bytes, "%s{\"r\":%u}%s\n", i % 7 == 0 ? "\n" : "", i, i % 5 == 0 ? "x" : "");
		wanted_bytes += (size_t) (i % 5 == 0 ? sprintf(wanted + wanted_bytes, "%u:odd, %u bytes\n", i,
													   (unsigned) strlen("{\"r\":}x") + (i > 999  ? 4
																						 : i > 99 ? 3
																						 : i > 9  ? 2
																								  : 1))
											 : sprintf(wanted + wanted_bytes, "%u:-|-|-|%u|\n", i, i));
	}
	unit_ok(read_block(text, 0, shown) == 3 && strcmp(shown, wanted) == 0, "rows of several batches");
	free(text);
	free(shown);
	free(wanted);
}

int
main(void)
{
	const char *fuzz = getenv("FUZZ");

	test_lines(fuzz != NULL ? (unsigned) atoi(fuzz) : FUZZ);
	test_nesting();
	test_escapes();
	test_rows();
	test_batches();
	return unit_done();
}

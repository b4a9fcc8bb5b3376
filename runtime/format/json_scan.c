/*
 * json_scan.c
 *	  An object of JSON on a line: where its members are.
 *
 * One pass from the first byte to the last, without recursion: of the objects and arrays that are
 * open, a word has a bit each.
 */
#include "runtime/format/json_scan.h"

#include <string.h>

#include "runtime/base/check.h"

#define HEX_DIGITS 4	   /* of \u */
#define SURROGATES 0xd800u /* the first of them; behind their last one: */
#define SURROGATES_END 0xe000u

typedef struct scanner
{
	const uint8_t *at;
	const uint8_t *end;
	uint64_t objects; /* bit i: what is open at depth i is an object */
	unsigned depth;	  /* of what is open within a member's value */
} scanner;

static bool
is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void
pass_spaces(scanner *scan)
{
	while (scan->at < scan->end && is_space(*scan->at))
		scan->at++;
}

static bool
pass_byte(scanner *scan, uint8_t c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

/* --- strings --------------------------------------------------------------------------------- */

/* More than 15: it is none. */
static unsigned
hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
}

/* The character of four digits; 0: it is none, or one that is not accepted. */
static unsigned
character_of(const uint8_t *digits)
{
	unsigned character = 0;

	for (unsigned i = 0; i < HEX_DIGITS; i++)
	{
		unsigned digit = hex_digit(digits[i]);

		if (digit > 15)
			return 0;
		character = character << 4 | digit;
	}
	return character >= SURROGATES && character < SURROGATES_END ? 0 : character;
}

/* Behind the backslash. */
static bool
pass_escape(scanner *scan)
{
	if (scan->at == scan->end)
		return false;
	if (*scan->at != 'u')
		return memchr("\"\\/bfnrt", *scan->at++, 8) != NULL;
	scan->at++;
	if (scan->end - scan->at < HEX_DIGITS || character_of(scan->at) == 0)
		return false;
	scan->at += HEX_DIGITS;
	return true;
}

/* With both quotes. */
static bool
pass_string(scanner *scan, bool *has_escapes)
{
	if (!pass_byte(scan, '"'))
		return false;
	while (scan->at < scan->end)
	{
		uint8_t c = *scan->at++;

		if (c == '"')
			return true;
		if (c < ' ')
			return false;
		if (c != '\\')
			continue;
		*has_escapes = true;
		if (!pass_escape(scan))
			return false;
	}
	return false;
}

uint32_t
tg_json_unescape(uint8_t *text, uint32_t bytes)
{
	static const char letters[] = "bfnrt";
	static const uint8_t controls[] = "\b\f\n\r\t";
	uint32_t count = 0;

	for (uint32_t i = 0; i < bytes; i++)
	{
		const char *letter;
		unsigned character;

		if (text[i] != '\\')
		{
			text[count++] = text[i];
			continue;
		}
		letter = memchr(letters, text[++i], sizeof(letters) - 1);
		if (text[i] != 'u')
		{
			text[count++] = letter != NULL ? controls[letter - letters] : text[i];
			continue;
		}
		character = character_of(text + i + 1);
		i += HEX_DIGITS;
		if (character < 0x80)
			text[count++] = (uint8_t) character;
		else if (character < 0x800)
		{
			text[count++] = (uint8_t) (0xc0 | character >> 6);
			text[count++] = (uint8_t) (0x80 | (character & 0x3f));
		}
		else
		{
			text[count++] = (uint8_t) (0xe0 | character >> 12);
			text[count++] = (uint8_t) (0x80 | (character >> 6 & 0x3f));
			text[count++] = (uint8_t) (0x80 | (character & 0x3f));
		}
	}
	return count;
}

/* --- other scalars --------------------------------------------------------------------------- */

static bool
pass_digits(scanner *scan)
{
	const uint8_t *begin = scan->at;

	while (scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9')
		scan->at++;
	return scan->at > begin;
}

static bool
pass_number(scanner *scan)
{
	(void) pass_byte(scan, '-');
	if (!pass_byte(scan, '0') && !pass_digits(scan))
		return false;
	if (pass_byte(scan, '.') && !pass_digits(scan))
		return false;
	if (scan->at < scan->end && (*scan->at | 0x20) == 'e')
	{
		scan->at++;
		if (!pass_byte(scan, '-'))
			(void) pass_byte(scan, '+');
		return pass_digits(scan);
	}
	return true;
}

static bool
pass_word(scanner *scan, const char *word)
{
	size_t bytes = strlen(word);

	if ((size_t) (scan->end - scan->at) < bytes || memcmp(scan->at, word, bytes) != 0)
		return false;
	scan->at += bytes;
	return true;
}

/* A value, or the beginning of one that is nested. */
static bool
pass_value(scanner *scan, uint8_t *kind_out, bool *has_escapes)
{
	if (scan->at == scan->end)
		return false;
	switch (*scan->at)
	{
		case '"':
			*kind_out = TG_JSON_STRING;
			return pass_string(scan, has_escapes);
		case 't':
			*kind_out = TG_JSON_TRUE;
			return pass_word(scan, "true");
		case 'f':
			*kind_out = TG_JSON_FALSE;
			return pass_word(scan, "false");
		case 'n':
			*kind_out = TG_JSON_NULL;
			return pass_word(scan, "null");
		case '{':
		case '[':
			*kind_out = *scan->at == '{' ? TG_JSON_OBJECT : TG_JSON_ARRAY;
			scan->at++;
			return true;
		default:
			*kind_out = TG_JSON_NUMBER;
			return pass_number(scan);
	}
}

/* --- nested values --------------------------------------------------------------------------- */

static bool
is_in_object(const scanner *scan)
{
	return (scan->objects >> (scan->depth - 1) & 1) != 0;
}

static bool
open_nested(scanner *scan, bool is_object)
{
	if (scan->depth == TG_JSON_NESTING_MAX)
		return false;
	scan->objects &= ~(UINT64_C(1) << scan->depth);
	scan->objects |= (uint64_t) is_object << scan->depth++;
	return true;
}

/* Closes what ends there. */
static bool
close_nested(scanner *scan)
{
	if (!pass_byte(scan, is_in_object(scan) ? '}' : ']'))
		return false;
	scan->depth--;
	return true;
}

/* A member or an element of what is open, or the beginning of a nested one. */
static bool
pass_part(scanner *scan, uint8_t *kind_out)
{
	bool has_escapes = false;

	pass_spaces(scan);
	if (is_in_object(scan))
	{
		if (!pass_string(scan, &has_escapes))
			return false;
		pass_spaces(scan);
		if (!pass_byte(scan, ':'))
			return false;
		pass_spaces(scan);
	}
	return pass_value(scan, kind_out, &has_escapes) &&
		   (*kind_out < TG_JSON_OBJECT || open_nested(scan, *kind_out == TG_JSON_OBJECT));
}

/* The rest of a nested value, whose beginning has been passed. */
static bool
pass_nested(scanner *scan, uint8_t kind)
{
	bool is_empty = true; /* what is open has no part yet */

	scan->depth = 0;
	if (!open_nested(scan, kind == TG_JSON_OBJECT))
		return false;
	while (scan->depth > 0)
	{
		pass_spaces(scan);
		if (close_nested(scan))
		{
			is_empty = false;
			continue;
		}
		if (!is_empty && !pass_byte(scan, ','))
			return false;
		if (!pass_part(scan, &kind))
			return false;
		is_empty = kind >= TG_JSON_OBJECT;
	}
	return true;
}

/* --- lines ----------------------------------------------------------------------------------- */

static bool
pass_member(scanner *scan, const uint8_t *line, tg_json_member *member)
{
	bool has_escapes = false;

	*member = (tg_json_member){.name = (uint32_t) (scan->at - line) + 1};
	if (!pass_string(scan, &has_escapes) || has_escapes)
		return false;
	member->name_bytes = (uint32_t) (scan->at - line) - 1 - member->name;
	pass_spaces(scan);
	if (!pass_byte(scan, ':'))
		return false;
	pass_spaces(scan);
	member->begin = (uint32_t) (scan->at - line);
	if (!pass_value(scan, &member->kind, &member->has_escapes))
		return false;
	if (member->kind >= TG_JSON_OBJECT && !pass_nested(scan, member->kind))
		return false;
	member->bytes = (uint32_t) (scan->at - line) - member->begin;
	return true;
}

int
tg_json_scan(const uint8_t *line, uint32_t bytes, tg_json_member *members, unsigned room)
{
	scanner scan = {.at = line, .end = line + bytes};
	unsigned count = 0;

	pass_spaces(&scan);
	if (!pass_byte(&scan, '{'))
		return -1;
	pass_spaces(&scan);
	while (!pass_byte(&scan, '}'))
	{
		if (count > 0 && !pass_byte(&scan, ','))
			return -1;
		pass_spaces(&scan);
		if (count == room || !pass_member(&scan, line, &members[count]))
			return -1;
		count++;
		pass_spaces(&scan);
	}
	pass_spaces(&scan);
	return scan.at == scan.end ? (int) count : -1;
}

bool
tg_json_is_blank(const uint8_t *line, size_t bytes)
{
	while (bytes > 0 && is_space(line[bytes - 1]))
		bytes--;
	return bytes == 0;
}

/*
 * json_scan.h
 *	  An object of JSON on a line: where its members are.
 *
 * What is accepted is JSON by RFC 8259, but for the encoding of characters, which is not looked
 * at.  Not all of JSON is accepted: what is rare is left to another parser, which also says what
 * is wrong with a line that is none.
 */
#ifndef TG_JSON_SCAN_H
#define TG_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_JSON_NESTING_MAX 64

typedef enum tg_json_kind
{
	TG_JSON_STRING,
	TG_JSON_NUMBER,
	TG_JSON_TRUE,
	TG_JSON_FALSE,
	TG_JSON_NULL,
	TG_JSON_OBJECT,
	TG_JSON_ARRAY
} tg_json_kind;

/* Places are in the line. */
typedef struct tg_json_member
{
	uint32_t name; /* behind its quote */
	uint32_t name_bytes;
	uint32_t begin; /* of the value, as it is written */
	uint32_t bytes;
	uint8_t kind; /* tg_json_kind */
	bool has_escapes;
} tg_json_member;

/*
 * The members of a line's object, in their order; their number.  -1: it is malformed, or has more
 * of them than there is room for, or a name with an escape, or an escape of a character that takes
 * two of them or is a zero, or is nested more deeply than TG_JSON_NESTING_MAX.
 */
extern int tg_json_scan(const uint8_t *line, uint32_t bytes, tg_json_member *members, unsigned room);

/*
 * What a string that has been accepted stands for, in its place: it becomes no longer.  text:
 * without its quotes.  Returns the bytes.
 */
extern uint32_t tg_json_unescape(uint8_t *text, uint32_t bytes);

/* Whether a line has nothing but blanks. */
extern bool tg_json_is_blank(const uint8_t *line, size_t bytes);

#endif /* TG_JSON_SCAN_H */

/*
 * index_spec.h
 *	  What the host says of a secondary index, and the values that it passes with a row for one.
 */
#ifndef TG_INDEX_SPEC_H
#define TG_INDEX_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/order/key_spec.h"

#define TG_INDEX_ROW_BYTES 4 /* of an entry, behind its key: the row's number, big-endian */

/* Longest key of a secondary index. */
#define TG_INDEX_KEY_BYTES_MAX (TG_KEY_BYTES_MAX - TG_INDEX_ROW_BYTES)

/*
 * Takes the place of a column's number, in a part of the key or in the predicate: the rest is the
 * number of one of the index's hidden values.
 */
#define TG_KEY_HIDDEN 0x8000
#define TG_INDEX_HIDDEN_MAX (TG_KEY_COLUMN_MAX + 1)

struct tg_index_spec
{
	/* the host's number for it (pg_class oid): for find and for messages */
	uint32_t host;
	bool unique;			 /* no two live rows have the same key */
	bool nulls_not_distinct; /* unique: a NULL equals a NULL; else a key with one never conflicts */
	bool several;			 /* a version has any number of entries: see the head comment */
	/* a version has an entry only if this column, of kind 1, is neither NULL nor 0 */
	bool partial;
	uint16_t predicate;
	uint8_t hidden_count;
	uint8_t hidden_kinds[TG_INDEX_HIDDEN_MAX]; /* tg_kind of each */
	/* parts of columns that may be NULL are TG_KEY_NULLABLE */
	tg_key_spec key;
};

/*
 * The hidden values of a row to be written or looked for: those of each index, by its host's
 * number.
 */
struct tg_hidden_values
{
	uint32_t host;
	const tg_value *values;
	const bool *nulls;
};

struct tg_hidden_row
{
	unsigned count;
	const tg_hidden_values *of;
};

#endif /* TG_INDEX_SPEC_H */

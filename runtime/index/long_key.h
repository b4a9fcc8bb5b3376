/*
 * long_key.h
 *	  Keys of a table: strings of any length have their place in them.
 *
 * A key has TG_KEY_BYTES_MAX bytes at most.  In the place of a string that is longer than its part allows (key.h) it has the
 * string's beginning and its rank among the table's long strings.
 */
#ifndef TG_LONG_KEY_H
#define TG_LONG_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/table/table.h"

/* What tg_key_append_of returns of a long string that has no rank, yet or any more: so no row of the table has it. */
#define TG_KEY_UNRANKED (SIZE_MAX - 1)

/*
 * Sets what the string parts of a key allow, so that any values fit; of part_count parts whose kinds are these.
 */
extern void tg_key_parts_share(tg_key_part *parts, const uint8_t *kinds, unsigned part_count);

/* The dictionary of the table's long strings, or NULL.  Whoever makes keys beyond an epoch holds (rank_holders.h). */
extern struct tg_dictionary *tg_key_dictionary(const tg_table *table);

/* Gives a string its rank, if it is long and has none.  TG_NO_MEMORY; TG_TOO_LARGE: too many came in between the same two. */
extern tg_status tg_key_rank(tg_session *session, tg_table *table, const tg_key_part *part, tg_kind kind,
							 const tg_value *value) TG_MUST_USE;

/* As tg_key_append, of a value of this table; TG_KEY_UNRANKED beside SIZE_MAX, and then nothing is appended. */
extern size_t tg_key_append_of(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part,
							   tg_kind kind, const tg_value *value);

typedef enum tg_key_side
{
	TG_KEY_BELOW,
	TG_KEY_ABOVE
} tg_key_side;

/*
 * The same of a value that is looked for.  If it is in none of the table's keys (*is_there), what is appended is on that side of it, and
 * all keys of the table lie on the same side of that as of the value, but for keys equal to it, which are on that side of the
 * value.  Keys that get this value later lie between the two.  Always has room: a key too long ends at TG_KEY_BYTES_MAX.
 */
extern size_t tg_key_append_near(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part,
								 tg_kind kind, const tg_value *value, tg_key_side side, bool *is_there);

/*
 * The primary key of a row that is going to be written: values[i] is the value of layout column i, and its strings have their ranks
 * as long as it has an entry, or the caller holds.  TG_TOO_LARGE past TG_KEY_BYTES_MAX, TG_NO_MEMORY.
 */
extern tg_status tg_key_encode(tg_session *session, tg_table *table, const uint8_t *kinds, const tg_value *values,
							   unsigned char *key, size_t *key_bytes_out) TG_MUST_USE;

#endif /* TG_LONG_KEY_H */

/*
 * long_key.h
 *	  Keys of a table that may have strings of any length.
 *
 * A key has TG_KEY_BYTES_MAX bytes at most.  In the place of a string that is longer than its part
 * allows (key_spec.h) it has the string's beginning and its rank among the table's long strings.
 */
#ifndef TG_LONG_KEY_H
#define TG_LONG_KEY_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/order/kind.h"

typedef struct tg_key_part tg_key_part; /* key.h */

/*
 * The result of tg_key_append_of for a long string that has no rank, or none any more: no row of
 * the table has the string.
 */
#define TG_KEY_UNRANKED (SIZE_MAX - 1)

/*
 * Sets the long_above of a key's string parts, so that any values fit; kinds are those of its
 * part_count parts.
 */
extern void tg_key_parts_share(tg_key_part *parts, const uint8_t *kinds, unsigned part_count);

/*
 * The dictionary of the table's long strings, or NULL.  A caller that makes keys beyond an epoch
 * holds (rank_holders.h).
 */
extern struct tg_dictionary *tg_key_dictionary(const tg_table *table);

/*
 * Gives a string its rank, if it is long and has none.  TG_NO_MEMORY, TG_OVER_QUOTA; TG_TOO_LARGE:
 * too many strings were added between the same two.
 */
extern tg_status tg_key_rank(tg_session *session, tg_table *table, const tg_key_part *part, tg_kind kind,
							 const tg_value *value) TG_MUST_USE;

/*
 * As tg_key_append, for a value of this table.  TG_KEY_UNRANKED and SIZE_MAX: nothing was appended.
 */
extern size_t tg_key_append_of(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part,
							   tg_kind kind, const tg_value *value);

typedef enum tg_key_side
{
	TG_KEY_BELOW,
	TG_KEY_ABOVE
} tg_key_side;

/*
 * As tg_key_append_of, for a value that is looked for.  If no key of the table has the value
 * (*is_there), the appended bytes are on that side of it.  All keys of the table lie on the same
 * side of these bytes as of the value, except keys equal to these bytes, which are on that side of
 * the value.  Keys that get this value later lie between the two.  There is always room: a key too
 * long ends at TG_KEY_BYTES_MAX.
 */
extern size_t tg_key_append_near(const tg_table *table, unsigned char *key, size_t at, const tg_key_part *part,
								 tg_kind kind, const tg_value *value, tg_key_side side, bool *is_there);

/*
 * The primary key of a row that is going to be written: values[i] is the value of layout column i.
 * Its strings keep their ranks as long as it has an entry, or the caller holds.  TG_TOO_LARGE: more
 * than TG_KEY_BYTES_MAX bytes; TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_key_encode(tg_session *session, tg_table *table, const uint8_t *kinds, const tg_value *values,
							   unsigned char *key, size_t *key_bytes_out) TG_MUST_USE;

/*
 * The key of a stored version.  It is never too large: it was encoded when the version was stored.
 * TG_KEY_UNRANKED: the version has no entry any more, nor has its row.
 */
extern size_t tg_key_of_version(const tg_key_spec *spec, tg_version version, unsigned char *key);

#endif /* TG_LONG_KEY_H */

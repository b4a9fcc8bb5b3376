/*
 * ranking.h
 *	  Keys of types that only their own function can compare, and of long values.
 */
#ifndef TSURUGI_RANKING_H
#define TSURUGI_RANKING_H

#include "src/codec.h"

/*
 * The rank of a value that is not NULL, in the table's dictionary of values that this function compares
 * (storage/dictionary.h), as a bytea in the current memory context.  Calls the function.
 */
extern Datum tsurugi_rank_add(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value);

/* The same, if the value is there; else false, and the rank of the greatest one below it, or 0: there is none. */
extern bool tsurugi_rank_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value,
							  Datum *rank_out);

/*
 * Bytes in the place of canonical ones (canonical.h), in the same order, and short enough for a key: these, or
 * their beginning and their rank among the table's long ones.  The second: if they are there; else false, and what is
 * in the place of the greatest ones below.
 */
extern Datum tsurugi_shorten_add(tg_table *table, Datum bytes);
extern bool tsurugi_shorten_look(tg_table *table, Datum bytes, Datum *short_out);

#endif /* TSURUGI_RANKING_H */

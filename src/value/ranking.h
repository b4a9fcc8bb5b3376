/*
 * ranking.h
 *	  What keys have in the place of values whose stored form would not do.
 *
 * Of values that are not NULL, of the codec's type under its collation; bytea in the current memory context:
 *	- if there is a function to compare them by: the value's rank in the table's dictionary of such values
 *	  (index/dictionary.h).  Calls the function.
 *	- else its canonical bytes (canonical.h), which may be longer than a key (index/long_key.h).
 */
#ifndef TSURUGI_RANKING_H
#define TSURUGI_RANKING_H

#include "src/value/codec.h"

/* The value is in its dictionary until the end of the transaction, if it has a rank, and as long as a key has it. */
extern Datum tsurugi_key_bytes(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value);

/*
 * True if it is there, or needs no rank; else false, and what is in the place of the greatest one below it, or of the least above; where
 * there is none, what is below, or above, all.  If the value comes before the transaction's end, its place is between these two.
 */
extern bool tsurugi_key_bytes_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value,
								   tg_key_side side, Datum *bytes_out);

#endif /* TSURUGI_RANKING_H */

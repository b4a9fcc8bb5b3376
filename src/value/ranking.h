/*
 * ranking.h
 *	  What keys have instead of values whose stored form is not suitable.
 *
 * For values that are not NULL, of the codec's type under its collation, a bytea in the current
 * memory context:
 * - if there is a function that compares them: the value's rank in the table's dictionary of such
 *	 values (index/dictionary.h).  Calls the function.
 * - otherwise the value's canonical bytes (canonical.h), which may be longer than a key
 *	 (index/long_key.h).
 */
#ifndef TSURUGI_RANKING_H
#define TSURUGI_RANKING_H

#include "runtime/order/key.h"
#include "runtime/index/long_key.h"
#include "src/value/codec.h"

/* The dictionary's name: values of the codec's type, under its collation, compared in this way. */
extern tg_ranking tsurugi_ranking(const tsurugi_codec *codec, Oid comparison);

/*
 * If the value has a rank, it is in its dictionary until the end of the transaction, and for as
 * long as a key has it.
 */
extern Datum tsurugi_key_bytes(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value);

/*
 * True: the value is there, or needs no rank.  False: returns the rank of the greatest value below
 * it, or of the least above it; if there is none, a rank below, or above, all.  If the value is
 * added before the transaction's end, its place is between these two.
 */
extern bool tsurugi_key_bytes_look(tg_table *table, const tsurugi_codec *codec, Oid comparison, Datum value,
								   tg_key_side side, Datum *bytes_out);

#endif /* TSURUGI_RANKING_H */

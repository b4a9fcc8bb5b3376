/*
 * meaning.h
 *	  What a column's bytes mean, as a number that is kept with them.
 */
#ifndef TSURUGI_MEANING_H
#define TSURUGI_MEANING_H

#include "src/value/codec.h"

/* The number of a column with this codec; 0: it has no values. */
extern uint64 tsurugi_meaning(const tsurugi_codec *codec);

/* Whether the codec reads values that were stored with this meaning; 0: it is not known. */
extern bool tsurugi_meaning_fits(uint64 meaning, const tsurugi_codec *codec);

/* The name of the type, palloc'd; NULL: there is no such type any more. */
extern char *tsurugi_meaning_name(uint64 meaning);

#endif /* TSURUGI_MEANING_H */

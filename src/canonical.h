/*
 * canonical.h
 *	  Values as bytes that are equal exactly where the values are.
 *
 * For keys of types whose stored form is not: one number with several scales,
 * arrays, ranges, jsonb.
 */
#ifndef TSURUGI_CANONICAL_H
#define TSURUGI_CANONICAL_H

/*
 * Whether there is such a form; *ordered_out: memcmp of the bytes is the order of the
 * type's default btree operators, too.
 */
extern bool tsurugi_canonical_is_possible(Oid type, Oid collation, bool *ordered_out);

/* The bytes of a value that is not NULL, of a base type, as a bytea in the current memory context. */
extern Datum tsurugi_canonical(Oid type, Oid collation, Datum value);

#endif /* TSURUGI_CANONICAL_H */

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
 * Whether there is such a form, for one who compares values by the usual order: of enums, arrays, ranges, and composites
 * PostgreSQL's for all of the kind, of others the type's default.  *ordered_out: memcmp of the bytes is that order, too.  sorted:
 * texts are to be in the order of their collation (collation.h), if that is known.
 */
extern bool tsurugi_canonical_is_possible(Oid type, Oid collation, bool sorted, bool *ordered_out);

/* The same of a part of a value, which may be of a domain; *ordered_inout: the parts before are in order, then with it. */
extern bool tsurugi_canonical_part_is_possible(Oid type, Oid collation, bool sorted, bool *ordered_inout);

/* The bytes of a value that is not NULL, of a base type, as a bytea in the current memory context. */
extern Datum tsurugi_canonical(Oid type, Oid collation, bool sorted, Datum value);

#endif /* TSURUGI_CANONICAL_H */

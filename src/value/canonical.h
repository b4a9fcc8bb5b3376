/*
 * canonical.h
 *	  Values as bytes that are equal exactly if the values are.
 *
 * For keys of types whose stored form is not: a number with several scales, arrays, ranges, jsonb.
 */
#ifndef TSURUGI_CANONICAL_H
#define TSURUGI_CANONICAL_H

/*
 * Whether the type has such a form, for a caller that compares values by the usual order: for
 * enums, arrays, ranges and composites PostgreSQL's order for all types of the kind, for others the
 * type's default.  *ordered_out: memcmp of the bytes gives that order, too.  sorted: texts must be
 * in the order of their collation (collation.h), if that is known.
 */
extern bool tsurugi_canonical_is_possible(Oid type, Oid collation, bool sorted, bool *ordered_out);

/*
 * The same for a part of a value; its type may be a domain.  *ordered_inout: whether the parts
 * before it are ordered; then also with it.
 */
extern bool tsurugi_canonical_part_is_possible(Oid type, Oid collation, bool sorted, bool *ordered_inout);

/*
 * The bytes of a value that is not NULL and of a base type, as a bytea in the current memory
 * context.
 */
extern Datum tsurugi_canonical(Oid type, Oid collation, bool sorted, Datum value);

#endif /* TSURUGI_CANONICAL_H */

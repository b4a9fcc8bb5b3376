/*
 * brin.h
 *	  Indexes USING brin: what columns of them are looked for by.
 *
 * PostgreSQL has summaries of ranges of blocks, which rows in memory do not lie in.  Here it is a tree like that of other
 * indexes, whose ranges are exact; but its order is nobody's, as PostgreSQL's has none.
 */
#ifndef TSURUGI_BRIN_H
#define TSURUGI_BRIN_H

typedef enum tsurugi_brin
{
	TSURUGI_BRIN_RANGES,   /* minmax, minmax_multi, in the usual order of the type */
	TSURUGI_BRIN_EQUALITY, /* bloom */
	TSURUGI_BRIN_COVERS,   /* inclusion, of types that have covers (cover.h) */
	TSURUGI_BRIN_NOTHING   /* the column is no part of the tree */
} tsurugi_brin;

/* Of a column of a base type, by its operator class. */
extern tsurugi_brin tsurugi_brin_of(Oid class, Oid type);

/* The family of the functions that values of what a class is for are hashed by. */
extern Oid tsurugi_brin_hash_family(Oid type);

/* Tells the user if none of an index's columns would be looked for by anything. */
extern void tsurugi_brin_tell(const Oid *classes, const Oid *types, int count);

#endif /* TSURUGI_BRIN_H */

/*
 * gin.h
 *	  Indexes USING gin: the keys that operator classes extract from values and conditions.
 *
 * The storage has them as indexes with several entries for a row (runtime/index/index.h).  The key
 * of an entry is
 *
 *	column and category (a byte) | the key from the operator class, encoded as in other indexes
 */
#ifndef TSURUGI_GIN_H
#define TSURUGI_GIN_H

#include "access/gin.h"
#include "nodes/execnodes.h"

#include "src/value/key_column.h"

/*
 * The category of a key, stored beside its column; placeholders are above ordinary keys, as in
 * PostgreSQL.
 */
typedef enum tsurugi_gin_category
{
	TSURUGI_GIN_KEY,
	TSURUGI_GIN_NULL,  /* a NULL among the keys */
	TSURUGI_GIN_EMPTY, /* the value has no keys */
	TSURUGI_GIN_LAST   /* above all others */
} tsurugi_gin_category;

/* The operator class of a column. */
typedef struct tsurugi_gin_column
{
	/* Its support functions, by number; InvalidOid: it has none. */
	Oid functions[GINNProcs + 1];
	Oid collation;	/* the functions' collation */
	bytea *options; /* NULL: none */
} tsurugi_gin_column;

typedef struct tsurugi_gin
{
	int column_count;
	tsurugi_gin_column *columns;
	tsurugi_key_column *keys; /* by column, for the keys of the operator class */
} tsurugi_gin;

/*
 * Describes a column of a type (no domain) with an operator class, in the current memory context:
 * its functions and, in *key, how their keys are encoded.  False: they cannot be encoded, because
 * they have an order of their own.
 */
extern bool tsurugi_gin_describe_column(Oid class, Oid type, Oid collation, const bytea *options,
										tsurugi_gin_column *column, tsurugi_key_column *key);

/*
 * Whether the keys of a column are its values, in the engine's order, and the operators that match
 * keys by a comparison are those of a B-tree, with the same strategy numbers: an operator class of
 * btree_gin.
 */
extern bool tsurugi_gin_compares_values(const tsurugi_gin *gin, int column);

/* Two columns have the same keys. */
extern bool tsurugi_gin_is_same(const tsurugi_gin *a, const tsurugi_gin *b);

/*
 * A support function, ready to be called, in the current memory context; fn_oid is InvalidOid if
 * there is none.
 */
extern void tsurugi_gin_function(const tsurugi_gin_column *column, int number, FmgrInfo *function);

/*
 * Writes the key of an entry to a buffer of TG_KEY_BYTES_MAX bytes; returns its length.  *cut: the
 * key is truncated, and other keys may have the same entry.
 */
extern size_t tsurugi_gin_encode(const tsurugi_gin *gin, int column, tsurugi_gin_category category, Datum key,
								 unsigned char *to, bool *cut);

/*
 * Makes the lists of keys of rows; prepared in the current memory context, for the columns' values
 * (List of Expr).
 */
typedef struct tsurugi_gin_maker tsurugi_gin_maker;
extern tsurugi_gin_maker *tsurugi_gin_prepare(const tsurugi_gin *gin, List *values, EState *estate);

/*
 * The list for the context's scan tuple, a varlena in the current memory context; *null: the tuple
 * has no keys.
 */
extern Datum tsurugi_gin_make_list(tsurugi_gin_maker *maker, ExprContext *context, bool *null);

#endif /* TSURUGI_GIN_H */

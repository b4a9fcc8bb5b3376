/*
 * gin.h
 *	  Indexes USING gin: the keys that operator classes make of values and of conditions.
 *
 * The storage has them as indexes with several entries for a row (runtime/index/index.h).  An
 * entry's key is
 *
 *	column and category (a byte) | the key that the operator class has made, as in other indexes
 */
#ifndef TSURUGI_GIN_H
#define TSURUGI_GIN_H

#include "access/gin.h"
#include "nodes/execnodes.h"

#include "src/value/key_column.h"

/* Of a key, beside its column; higher than an ordinary one's are placeholders, as PostgreSQL's. */
typedef enum tsurugi_gin_category
{
	TSURUGI_GIN_KEY,
	TSURUGI_GIN_NULL,  /* a NULL among the keys */
	TSURUGI_GIN_EMPTY, /* the value has no keys */
	TSURUGI_GIN_LAST   /* above all */
} tsurugi_gin_category;

/* A column: its operator class. */
typedef struct tsurugi_gin_column
{
	Oid functions[GINNProcs + 1]; /* its support functions, by number; InvalidOid: it has none */
	Oid collation;				  /* theirs */
	bytea *options;				  /* NULL: none */
} tsurugi_gin_column;

typedef struct tsurugi_gin
{
	int column_count;
	tsurugi_gin_column *columns;
	tsurugi_key_column *keys; /* by column, of what the operator class makes */
} tsurugi_gin;

/*
 * Describes a column of a type, which is no domain, with an operator class, in the current memory context: its functions, and
 * how the keys that they make are encoded, into *key.  False: they cannot be, for they are in an order of their own.
 */
extern bool tsurugi_gin_describe_column(Oid class, Oid type, Oid collation, const bytea *options,
										tsurugi_gin_column *column, tsurugi_key_column *key);

/*
 * The keys of a column are its values, in our order, and the operators that match keys by a comparison those of a B-tree,
 * by the strategies' numbers, too: an operator class of btree_gin.
 */
extern bool tsurugi_gin_compares_values(const tsurugi_gin *gin, int column);

/* Two columns make the same keys. */
extern bool tsurugi_gin_is_same(const tsurugi_gin *a, const tsurugi_gin *b);

/* A support function, ready to be called, in the current memory context; fn_oid is InvalidOid if there is none. */
extern void tsurugi_gin_function(const tsurugi_gin_column *column, int number, FmgrInfo *function);

/*
 * Appends the key of an entry to a buffer of TG_KEY_BYTES_MAX bytes; the new length.  *cut: long keys are cut off, and
 * others may have the same entry.
 */
extern size_t tsurugi_gin_encode(const tsurugi_gin *gin, int column, tsurugi_gin_category category, Datum key,
								 unsigned char *to, bool *cut);

/* What makes the lists of keys of rows: prepared in the current memory context, of the columns' values (List of Expr). */
typedef struct tsurugi_gin_maker tsurugi_gin_maker;
extern tsurugi_gin_maker *tsurugi_gin_prepare(const tsurugi_gin *gin, List *values, EState *estate);

/* The list of the context's scan tuple, a varlena in the current memory context; *null: it has no keys. */
extern Datum tsurugi_gin_make_list(tsurugi_gin_maker *maker, ExprContext *context, bool *null);

#endif /* TSURUGI_GIN_H */

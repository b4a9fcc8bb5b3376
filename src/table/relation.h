/*
 * relation.h
 *	  What the library knows of a foreign table: its storage, columns and key.
 *
 * Remembered per backend; looked at again when PostgreSQL says that the
 * relation may have changed, or when any storage has been created or replaced.
 */
#ifndef TSURUGI_RELATION_H
#define TSURUGI_RELATION_H

#include "foreign/foreign.h"
#include "utils/rel.h"

#include "runtime/runtime.h"
#include "src/value/codec.h"
#include "src/value/key_column.h"

/*
 * An index: an entry of PostgreSQL's catalogs, and what the storage makes of
 * it.  The primary key is one, too.
 */
typedef struct tsurugi_index
{
	Oid oid;
	Oid constraint; /* or InvalidOid */
	Oid method;		/* the access method */
	bool primary;
	bool valid; /* else the storage need not have it, or not all of it: nobody looks into it */
	bool
		deferrable; /* not checked with each row, and if it is unique the storage does not know of it (deferred_key.c) */
	Oid *exclusion; /* EXCLUDE: the operators' functions, by column of the catalogs' index; else NULL */
	int key_count;
	tsurugi_key_column *key;
	struct tsurugi_gin *gin; /* USING gin, or served as if it were; else NULL */
	Bitmapset *attributes;	 /* EXCLUDE: all that it is about, as pull_varattnos has them */
	int *sources;			 /* of its hidden values (spec.hidden_count): numbers in the relation's hidden */
	tg_index_spec spec;
} tsurugi_index;

/*
 * What is stored and users do not see: the value of an expression, or
 * of a column whose own stored form is not equal byte by byte, for a key; or
 * that of a predicate.
 */
typedef struct tsurugi_hidden
{
	Node *source;				   /* on the table's columns, as in the catalogs */
	bool canonical;				   /* stored is what tsurugi_canonical makes of it; or, */
	Oid comparison;				   /* if this is valid, its rank (ranking.h) */
	bool cover;					   /* stored is what tsurugi_cover makes of it */
	bool hashed;				   /* stored is a hash: of the canonical bytes, or, */
	Oid hash;					   /* if this is valid, what the function makes of the value (hashed.h) */
	const struct tsurugi_gin *gin; /* the source is a list, of an index's columns; stored are their keys; NULL: else */
	tsurugi_codec origin;		   /* of the source's value, if stored is made of it */
	tsurugi_codec stored;
} tsurugi_hidden;

/*
 * First come the hidden values that the primary key is made of, and then the attributes, dropped ones included: so that ADD COLUMN
 * moves nothing.  Hidden values of other indexes are not in the rows (index/hidden.h).  What lies
 * behind is left over from an ALTER that was rolled back: it is written as NULL and never read.
 */
typedef struct tsurugi_relation
{
	Oid oid;
	uint64_t
		revision; /* changes with column_count, and when PostgreSQL says that the relation may have changed; never comes again */
	tg_table *table;	   /* the storage; kept by the lock on the relation */
	int attribute_count;   /* the tuple descriptor's natts */
	int hidden_count;	   /* the first of hidden: columns of the storage, before the attributes */
	int source_count;	   /* all of hidden */
	int column_count;	   /* columns of the storage's layout: values of a row to write; >= both together */
	tsurugi_codec *codecs; /* column_count of them, by column */
	uint8_t *kinds;		   /* tg_kind of each, as in the layout */
	tsurugi_hidden *hidden;
	bool may_copy; /* storing a row may need memory of the current context */
	int index_count;
	tsurugi_index *indexes; /* the primary key first, if there is one */
	bool has_exclusions;	/* EXCLUDE that is checked with each row */
	/* of the primary key: */
	Oid key_index; /* pg_class entry, or InvalidOid */
	int key_count; /* columns, 0: none */
	tsurugi_key_column *key;
	tg_key_spec key_spec;
} tsurugi_relation;

/* Where an attribute is stored; from 0. */
static inline int
tsurugi_column_of(const tsurugi_relation *described, int attribute)
{
	return described->hidden_count + attribute;
}

/* Registers the callbacks.  Once, where the library is loaded. */
extern void tsurugi_relation_init(void);

/*
 * The description of an open, locked foreign table of ours.  The pointer stays
 * good to the end of the transaction; it is asked for again by the next statement.  Storage that is not there is created, empty.
 */
extern tsurugi_relation *tsurugi_relation_get(Relation relation);

/*
 * Whether this is what the function above would return for that relation, still of this revision, at little cost.  True means,
 * too, that PostgreSQL has not let go of the relation's descriptor since: that takes an invalidation.
 */
extern bool tsurugi_relation_is_as_described(Oid oid, const tsurugi_relation *described, uint64_t revision);

/* The entry in pg_class of an index that the storage names, which names the primary key by NULL. */
static inline Oid
tsurugi_index_oid(const tsurugi_relation *described, const tg_index *index)
{
	return index == NULL ? described->key_index : index->spec.host;
}

/*
 * What the catalogs say, without a look at the storage (table is NULL), in the
 * current memory context: for ALTER, before the storage follows.
 */
extern tsurugi_relation *tsurugi_relation_describe(Relation relation);

/* Whether a foreign table is of a server of our wrapper. */
extern bool tsurugi_is_ours(Oid relation);

/* Whether any relation is a foreign table of ours; InvalidOid is none. */
extern bool tsurugi_is_our_table(Oid relation);

/* The same of a server, and of a wrapper. */
extern bool tsurugi_is_our_server(Oid server);
extern bool tsurugi_is_our_wrapper(const ForeignDataWrapper *wrapper);

#endif /* TSURUGI_RELATION_H */

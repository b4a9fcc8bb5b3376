/*
 * relation.h
 *	  The library's description of a foreign table: its storage, columns and key.
 *
 * Descriptions are cached in each backend; they are checked again when PostgreSQL signals that the
 * relation may have changed, or when any storage has been created or replaced.
 */
#ifndef TSURUGI_RELATION_H
#define TSURUGI_RELATION_H

#include "foreign/foreign.h"
#include "utils/rel.h"

#include "runtime/base/names.h"

typedef struct tsurugi_codec tsurugi_codec;			  /* src/value/codec.h */
typedef struct tsurugi_hidden tsurugi_hidden;		  /* hidden.h */
typedef struct tsurugi_key_column tsurugi_key_column; /* src/value/key_column.h */

/*
 * An index: an entry of PostgreSQL's catalogs, and its counterpart in the storage.  The primary key
 * is one, too.
 */
typedef struct tsurugi_index
{
	Oid oid;
	Oid constraint; /* or InvalidOid */
	Oid method;		/* the access method */
	bool primary;
	/* If not, the storage may lack it or have it incomplete, and nothing reads it. */
	bool valid;
	bool
		/*
		 * Not checked with each row; if it is unique, the storage does not know that
		 * (deferred_key.c).
		 */
		deferrable;
	/* EXCLUDE: the operators' functions, by column of the catalogs' index; otherwise NULL. */
	Oid *exclusion;
	int key_count;
	tsurugi_key_column *key;
	/* For an index USING gin, or one that is served like it; otherwise NULL. */
	struct tsurugi_gin *gin;
	/* EXCLUDE: all attributes that it depends on, as pull_varattnos has them. */
	Bitmapset *attributes;
	/* For each of its spec's hidden_count hidden values: the number in the relation's hidden. */
	int *sources;
	tg_index_spec *spec;
} tsurugi_index;

/*
 * The first columns are the hidden values of the primary key.  Then come the attributes, dropped
 * ones included, so that ADD COLUMN moves nothing.  Hidden values of other indexes are not in the
 * rows (index/hidden.h).  Columns behind the attributes are left from an ALTER that was rolled
 * back: they are written as NULL and never read.
 */
typedef struct tsurugi_relation
{
	Oid oid;
	uint64_t
		/*
		 * Changes with column_count, and when PostgreSQL signals that the relation may have
		 * changed; a value is never used again.
		 */
		revision;
	/* The storage; it stays as long as the relation is locked. */
	tg_table *table;
	int attribute_count; /* the tuple descriptor's natts */
	/* Columns of the storage before the attributes: the first elements of hidden. */
	int hidden_count;
	int source_count; /* elements of hidden */
	/* Columns of the storage, and so of a row to be written; >= both together. */
	int column_count;
	tsurugi_codec *codecs; /* column_count of them, by column */
	uint8_t *kinds;		   /* tg_kind of each, as in the storage */
	tsurugi_hidden *hidden;
	/* Storing a row may need memory of the current context. */
	bool may_copy;
	/* Its contents are not logged: the option persistence. */
	bool unlogged;
	int index_count;
	tsurugi_index *indexes; /* the primary key first, if there is one */
	/* It has EXCLUDE constraints that are checked with each row. */
	bool has_exclusions;
	/* The primary key: */
	Oid key_index; /* pg_class entry, or InvalidOid */
	int key_count; /* columns; 0: none */
	tsurugi_key_column *key;
	const tg_key_spec *key_spec; /* that of its index, or one without parts */
} tsurugi_relation;

/* The column in which an attribute is stored; from 0. */
static inline int
tsurugi_column_of(const tsurugi_relation *described, int attribute)
{
	return described->hidden_count + attribute;
}

/* Registers the callbacks; called once, when the library is loaded. */
extern void tsurugi_relation_init(void);

/*
 * The description of an open, locked foreign table of this wrapper.  The pointer is valid until the
 * end of the transaction, but the next statement asks for it again.  A missing storage is created,
 * empty.
 */
extern tsurugi_relation *tsurugi_relation_get(Relation relation);

/*
 * Whether the function above would return this description for that relation, still with this
 * revision; costs little.  True also means that PostgreSQL has not released the relation's
 * descriptor since, because that takes an invalidation.
 */
extern bool tsurugi_relation_is_as_described(Oid oid, const tsurugi_relation *described, uint64_t revision);

/* The entry in pg_class of an index of the storage; NULL stands for the primary key. */
extern Oid tsurugi_index_oid(const tsurugi_relation *described, const tg_index *index);

/*
 * The description from the catalogs alone, without the storage (table is NULL), in the current
 * memory context: for ALTER, before the storage follows.
 */
extern tsurugi_relation *tsurugi_relation_describe(Relation relation);

/*
 * Why tasks, which run no code of the host's, cannot insert rows that meet all CHECK constraints;
 * NULL: they can.
 */
extern const char *tsurugi_relation_by_sessions(Relation relation, const tsurugi_relation *described);

/* Whether a foreign table belongs to a server of this wrapper. */
extern bool tsurugi_is_ours(Oid relation);

/* Whether any relation is such a foreign table; InvalidOid is not. */
extern bool tsurugi_is_our_table(Oid relation);

/*
 * The persistence of any relation, RELPERSISTENCE_...  That of a table in memory is in its option
 * TSURUGI_PERSISTENCE: PostgreSQL's own entry would make pg_dump write CREATE UNLOGGED FOREIGN
 * TABLE, which does not exist.
 */
#define TSURUGI_PERSISTENCE "persistence"
#define TSURUGI_LOGGED "logged" /* the default */
#define TSURUGI_UNLOGGED "unlogged"
extern char tsurugi_persistence(Oid relation);

/* Whether a server is of this wrapper. */
extern bool tsurugi_is_our_server(Oid server);

#endif /* TSURUGI_RELATION_H */

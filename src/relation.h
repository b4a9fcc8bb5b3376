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
#include "src/codec.h"

typedef struct tsurugi_key_column
{
	AttrNumber attnum;
	bool ordered; /* range conditions and ORDER BY may use it (and the columns before it) */
	Oid type;	  /* base type */
	Oid collation;
	Oid family; /* operator family of its btree operators */
	Oid opcintype;
	tg_key_part part; /* for tg_key_append */
} tsurugi_key_column;

/*
 * Attribute a is column a - 1, dropped ones included.  Columns from
 * attribute_count on are left over from an ALTER that was rolled back: they
 * are written as NULL and never read.
 */
typedef struct tsurugi_relation
{
	Oid oid;
	uint64_t revision;	   /* changes when PostgreSQL says that the relation may have changed; never comes again */
	tg_table *table;	   /* the storage; kept by the lock on the relation */
	int attribute_count;   /* the tuple descriptor's natts */
	int column_count;	   /* columns of the storage's layout: values of a row to write; >= attribute_count */
	tsurugi_codec *codecs; /* column_count of them */
	uint8_t *kinds;		   /* tg_kind of each, as in the layout */
	Oid key_index;		   /* pg_class entry of the primary key, or InvalidOid */
	Oid key_constraint;
	int key_count; /* columns of the key, 0: none */
	tsurugi_key_column *key;
	tg_key_spec key_spec;
} tsurugi_relation;

/* Registers the callbacks.  Once, where the library is loaded. */
extern void tsurugi_relation_init(void);

/*
 * The description of an open, locked foreign table of ours.  The pointer stays
 * good for as long as the relation stays open (a statement's run); it is asked
 * for again by the next one.  Storage that is not there is created, empty.
 */
extern tsurugi_relation *tsurugi_relation_get(Relation relation);

/*
 * What the catalogs say, without a look at the storage (table is NULL), in the
 * current memory context: for ALTER, before the storage follows.
 */
extern tsurugi_relation *tsurugi_relation_describe(Relation relation);

/* Whether a relation is a foreign table of a server of our wrapper. */
extern bool tsurugi_is_ours(Oid relation);

/* The same of a server, and of a wrapper. */
extern bool tsurugi_is_our_server(Oid server);
extern bool tsurugi_is_our_wrapper(const ForeignDataWrapper *wrapper);

#endif /* TSURUGI_RELATION_H */

/*
 * foreign_key_known.h
 *	  This backend's cache of foreign keys, for the triggers, which use it row by row.
 */
#ifndef TSURUGI_FOREIGN_KEY_KNOWN_H
#define TSURUGI_FOREIGN_KEY_KNOWN_H

#include "executor/spi.h"

typedef struct tsurugi_known_key
{
	Oid constraint; /* hash key */
	bool valid;		/* pg_constraint has not changed since */
	NameData name;
	Oid child;
	Oid parent;
	bool full; /* MATCH FULL */
	bool deferrable;
	bool initially_deferred;
	char on_update;
	char on_delete;
	int count;
	AttrNumber child_columns[INDEX_MAX_KEYS];
	AttrNumber parent_columns[INDEX_MAX_KEYS];
	Oid operators[INDEX_MAX_KEYS];		 /* referenced = referencing */
	Oid child_operators[INDEX_MAX_KEYS]; /* referencing = referencing */
	SPIPlanPtr plan;					 /* NULL: none yet */
} tsurugi_known_key;

/* Valid until something in pg_constraint changes. */
extern tsurugi_known_key *tsurugi_known_key_find(Oid constraint);

/* Whether the constraint is currently checked at the end of the transaction. */
extern bool tsurugi_known_key_waits(const tsurugi_known_key *key);

/*
 * Adds columns, numbered as in RelationGetIndexAttrBitmap; and makes a row with only these columns,
 * the others being NULL.
 */
extern Bitmapset *tsurugi_add_columns(Bitmapset *columns, const AttrNumber *more, int count);
extern MinimalTuple tsurugi_part_of_row(Relation relation, TupleTableSlot *row, const Bitmapset *columns);

#endif /* TSURUGI_FOREIGN_KEY_KNOWN_H */

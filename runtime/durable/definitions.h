/*
 * definitions.h
 *	  What a transaction has done to storages and indexes, as bytes of its record in the log.
 *
 *	create			a storage, which no relation means yet: relation, owner, columns, primary key
 *	place			from now on, the storage is what its relation means; what it meant before ends
 *	drop			what the relation means ends
 *	drop database	all storages of the database end
 *	index			an index of the storage, which has to be filled
 *	complete		the index has been filled: it is there again after a start
 *	unindex			the index ends
 *	columns			the storage has more columns at the end; as many or fewer: nothing changes
 *	meaning			of a column: what its bytes mean (table.h, tg_columns); the first one counts
 *	owner			the storage's bytes count for another owner
 *	rank			a value in an order of the host's, and its rank: the newest one of a rank counts
 *					(index/dictionary_log.c)
 *	ids				storages and indexes have had ids up to this one, in what a roster is written to
 *
 * Each begins with a byte that says which; numbers have variable length (bytes.h).
 *
 * A place or a drop counts with its transaction.  The others are not taken back: a storage that is
 * never placed, and an index that is never complete, are left out at a start (roster.h).
 */
#ifndef TG_DEFINITIONS_H
#define TG_DEFINITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/order/key_spec.h"
#include "runtime/index/index_spec.h"

typedef struct tg_bytes tg_bytes;	/* bytes.h */
typedef struct tg_reader tg_reader; /* bytes.h */

typedef enum tg_definition_kind
{
	TG_DEFINITION_CREATE = 1,
	TG_DEFINITION_PLACE,
	TG_DEFINITION_DROP,
	TG_DEFINITION_DROP_DATABASE,
	TG_DEFINITION_INDEX,
	TG_DEFINITION_COMPLETE,
	TG_DEFINITION_UNINDEX,
	TG_DEFINITION_COLUMNS,
	TG_DEFINITION_OWNER,
	TG_DEFINITION_RANK,
	TG_DEFINITION_IDS,
	TG_DEFINITION_MEANING
} tg_definition_kind;

/*
 * One definition; the fields that its kind does not have are 0.  What is pointed to is a caller's.
 */
typedef struct tg_definition
{
	tg_definition_kind kind;
	uint32_t database; /* CREATE, DROP, DROP DATABASE */
	uint32_t relation; /* CREATE, DROP */
	uint32_t owner;	   /* CREATE, OWNER */
	uint64_t storage;  /* all but DROP, DROP DATABASE; IDS: the greatest id */
	uint64_t index;	   /* INDEX, COMPLETE, UNINDEX */
	/* CREATE, COLUMNS: the tg_kind of each column */
	const uint8_t *kinds;
	uint32_t column_count;
	uint32_t hidden;	/* CREATE: so many columns come before the user's */
	tg_key_spec key;	/* CREATE; no part: there is no primary key */
	tg_index_spec spec; /* INDEX */
	/* MEANING */
	uint32_t column;
	uint64_t meaning;
	/* RANK */
	tg_ranking ranking;
	const void *value;
	const void *rank;
	uint32_t value_bytes;
	uint32_t rank_bytes;
} tg_definition;

/* Appends a definition.  TG_NO_MEMORY: nothing was appended. */
extern tg_status tg_definition_put(tg_bytes *bytes, const tg_definition *definition) TG_MUST_USE;

/*
 * Reads the next one; what it points to lies in the bytes that are read.  False: there is none, or
 * the reader is damaged.  Numbers are in the bounds that hold for each by itself: whether storage,
 * columns and keys fit together is for the caller to see (roster.h).
 */
extern bool tg_definitions_next(tg_reader *reader, tg_definition *definition_out);

#endif /* TG_DEFINITIONS_H */

/*
 * scan_key.h
 *	  The keys that a source looks for in an index.  For the sources that scan.h names.
 */
#ifndef TSURUGI_SCAN_KEY_H
#define TSURUGI_SCAN_KEY_H

#include "src/exec/scan.h"

/* One end of a range of keys; the bytes are a key's beginning, none: open. */
typedef struct tsurugi_range_end
{
	unsigned char *key; /* in the source's memory */
	size_t bytes;
	bool inclusive;
} tsurugi_range_end;

/* A column's part of a key, encoded. */
typedef struct tsurugi_key_bytes
{
	size_t bytes;
	unsigned char *data;
	/* NULL, or of a value without rank: between which two it would get one; data is the first's */
	tsurugi_range_end *gap;
} tsurugi_key_bytes;

/* The value that a column of an index is compared with. */
typedef struct tsurugi_key_value
{
	const tsurugi_key_column *column;
	Oid type;		  /* of the value, or of the array's elements; integers may be of another width */
	Expr *expr;		  /* if plain: read without an expression state */
	ExprState *state; /* everything else */
	bool is_array;
	/* an array's elements, sorted and without duplicates, and the one whose turn it is: */
	tsurugi_key_bytes *elements;
	int element_count;
	int turn;
} tsurugi_key_value;

/* What a plan asks of one index: a key, or a range, for each combination of arrays' elements. */
typedef struct tsurugi_keys
{
	tsurugi_scan *scan;
	tsurugi_shape shape;
	const tsurugi_index *index;
	tg_index *stored; /* the same, in the storage; NULL: the primary key */
	bool one_row;	  /* each is a whole key of a unique index */
	int value_count;
	tsurugi_key_value *values; /* fixed ones, low, high */
	MemoryContext elements;	   /* of the arrays among them; NULL: not computed */
	unsigned char *key;		   /* the key, or the low bound */
	unsigned char *high;
	size_t key_bytes;		  /* of a whole key; 0: not made yet */
	bool unranked;			  /* when key or range were made, a value had no rank */
	bool has_gap;			  /* so that no row has the key, which would be in a gap: */
	tsurugi_range_end gap[2]; /* between these, in the order of the index; neither is in it */
} tsurugi_keys;

/* Fills in zeroed keys, in the current memory context; the values are those of the plan. */
extern void tsurugi_keys_init(tsurugi_keys *keys, tsurugi_scan *scan, const tsurugi_shape *shape, const List *values);

/*
 * The keys are to outlive the plan: copies what they have of it.  None of the values may need an
 * expression state.
 */
extern void tsurugi_keys_outlive(tsurugi_keys *keys);

/* The index in the storage, as it is now; NULL: the primary key. */
static inline tg_index *
tsurugi_keys_stored(const tsurugi_keys *keys)
{
	return keys->index->primary ? NULL : tg_index_find(keys->scan->described->table, keys->index->oid);
}

/* A value, computed in the current memory context. */
extern Datum tsurugi_scan_value_of(const tsurugi_scan *scan, const tsurugi_key_value *value, bool *null);

/* The value that rows are to be near to: the last one. */
static inline const tsurugi_key_value *
tsurugi_keys_near_value(const tsurugi_keys *keys)
{
	return &keys->values[keys->value_count - 1];
}

/*
 * Makes the whole key of the current turn.  False if no row can have it.  Of this and the next: a
 * value that has no rank in the table (unranked) had none when it was looked up, so that no row of
 * a snapshot from before has it.
 */
extern bool tsurugi_keys_make_key(tsurugi_keys *keys);

/* Makes the range of the current turn, in the order of the index.  False if it is empty. */
extern bool tsurugi_keys_make_range(tsurugi_keys *keys, tsurugi_range_end *first, tsurugi_range_end *last);

/* Goes on to the next combination of arrays' elements.  False: all have had their turn. */
extern bool tsurugi_keys_next_turn(tsurugi_keys *keys);

/* Lets the arrays be computed again. */
extern void tsurugi_keys_forget_arrays(tsurugi_keys *keys);

#endif /* TSURUGI_SCAN_KEY_H */

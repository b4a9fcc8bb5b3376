/*
 * scan_key.h
 *	  The keys that a source or a job looks for in an index.  Sources are those that scan.h names.
 */
#ifndef TSURUGI_SCAN_KEY_H
#define TSURUGI_SCAN_KEY_H

#include "runtime/index/find.h"
#include "src/exec/scan.h"

/* One end of a range of keys; the bytes are the beginning of a key.  No bytes: an open end. */
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
	/*
	 * for a value without a rank: the two values between which it would get one; else NULL.  data
	 * belongs to the first.
	 */
	tsurugi_range_end *gap;
} tsurugi_key_bytes;

/* The value that a column of an index is compared with. */
typedef struct tsurugi_key_value
{
	const tsurugi_key_column *column;
	Oid type;		  /* of the value or array element; integers may have another width */
	Expr *expr;		  /* read without an expression state if plain */
	ExprState *state; /* for all other expressions */
	bool is_array;
	/* an array's elements, sorted and without duplicates, and the element whose turn it is */
	tsurugi_key_bytes *elements;
	int element_count;
	int turn;
} tsurugi_key_value;

/*
 * The keys or ranges that a plan looks for in one index: one for each combination of arrays'
 * elements.
 */
typedef struct tsurugi_keys
{
	const tsurugi_relation *described;
	PlanState *node; /* by whose means values are computed */
	tsurugi_shape shape;
	const tsurugi_index *index;
	tg_index *stored; /* the index in the storage; NULL: the primary key */
	bool one_row;	  /* each combination is a whole key of a unique index */
	int value_count;
	tsurugi_key_value *values; /* fixed ones, low, high */
	MemoryContext elements;	   /* of the arrays' elements; NULL: not computed */
	unsigned char *key;		   /* the key, or the low bound */
	unsigned char *high;
	size_t key_bytes;		  /* of a whole key; 0: not made yet */
	bool unranked;			  /* a value had no rank when the key or range was made */
	bool has_gap;			  /* so no row has the key; it would be in the gap */
	tsurugi_range_end gap[2]; /* between these, exclusive, in the order of the index */
} tsurugi_keys;

/* Fills in zeroed keys in the current memory context; the values belong to the plan. */
extern void tsurugi_keys_init(tsurugi_keys *keys, const tsurugi_relation *described, PlanState *node,
							  const tsurugi_shape *shape, const List *values);

/*
 * Lets the keys outlive the plan by copying their parts of it.  No value may need an expression
 * state.
 */
extern void tsurugi_keys_outlive(tsurugi_keys *keys);

/* The index in the storage, as it is now; NULL: the primary key. */
static inline tg_index *
tsurugi_keys_stored(const tsurugi_keys *keys)
{
	return keys->index->primary ? NULL : tg_index_find(keys->described->table, keys->index->oid);
}

/* Computes a value in the current memory context. */
extern Datum tsurugi_key_value_of(const PlanState *node, const tsurugi_key_value *value, bool *null);

/* The value to which rows must be near: the last one. */
static inline const tsurugi_key_value *
tsurugi_keys_near_value(const tsurugi_keys *keys)
{
	return &keys->values[keys->value_count - 1];
}

/*
 * Makes the whole key of the current turn; false if no row can have it.  For this function and the
 * next: a value without a rank in the table (unranked) had none when it was looked up, so no row of
 * an earlier snapshot has it.
 */
extern bool tsurugi_keys_make_key(tsurugi_keys *keys);

/* Makes the range of the current turn, in the order of the index; false if it is empty. */
extern bool tsurugi_keys_make_range(tsurugi_keys *keys, tsurugi_range_end *first, tsurugi_range_end *last);

/* Goes on to the next combination of arrays' elements.  False: all have had their turn. */
extern bool tsurugi_keys_next_turn(tsurugi_keys *keys);

/* Raises an error if an index, on a standby, is not there for the snapshot. */
extern void tsurugi_keys_check_index(const tsurugi_keys *keys, const tg_snapshot *snapshot);

/* Lets the arrays be computed again. */
extern void tsurugi_keys_forget_arrays(tsurugi_keys *keys);

#endif /* TSURUGI_SCAN_KEY_H */

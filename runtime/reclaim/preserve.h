/*
 * preserve.h
 *	  The preserve list: the areas that LONG transactions have reserved for themselves.
 *
 * There is an entry per LONG, from the beginning of its start until no transaction can have a
 * snapshot between its R_L and its end any more (L5).  The rules that use the list are in
 * txn/kinds.c; the list is in this lower room because the horizon needs it (G1: a transaction may
 * yet read at a listed entry's base).
 *
 * Everything except the count and an entry's outcome is read and changed under the list's latch.
 * The count is loaded first, without the latch: as long as there are no LONGs, that load is the
 * whole cost.
 */
#ifndef TG_PRESERVE_H
#define TG_PRESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

/* Listed entries, including those of LONGs that have ended. */
#define TG_PRESERVE_MAX 1024

/* Makes the list.  By tg_horizon_create. */
extern tg_status tg_preserve_create(tg_session *session) TG_MUST_USE;

/* --- areas ------------------------------------------------------------------------- */

/*
 * A table, or a range of its encoded primary keys (key.h).  Bounds mean the same as a cursor's
 * (btree.h): a prefix stands for all keys that start with it; NULL is unbounded.
 */
typedef struct tg_area
{
	tg_table *table;
	const void *low;
	const void *high;
	uint32_t low_bytes;
	uint32_t high_bytes;
	bool low_inclusive;
	bool high_inclusive;
} tg_area;

/*
 * Whether the area's table has a row with this number, which may be any, whose newest version has a
 * key in the area.  Inside an epoch.
 */
extern bool tg_area_has_row(const tg_area *area, uint32_t row);

/* A set of areas in the arena; holds a reference on each table. */
typedef struct tg_areas tg_areas;

/* count 0 gives NULL, the empty set.  TG_NO_MEMORY, TG_TOO_LARGE (a bound longer than any key). */
extern tg_status tg_areas_create(tg_session *session, const tg_area *area, unsigned count,
								 tg_areas **areas_out) TG_MUST_USE;
extern void tg_areas_destroy(tg_session *session, tg_areas *areas);

extern unsigned tg_areas_count(const tg_areas *areas);

/* The i-th area's table, and whether the area is only a range of it. */
extern tg_table *tg_areas_table(const tg_areas *areas, unsigned i, bool *is_range_out);

extern bool tg_areas_has_table(const tg_areas *areas, const tg_table *table);
extern bool tg_areas_has_key(const tg_areas *areas, const tg_table *table, const void *key, size_t key_bytes);

/* Reads the version's key only if a range of its table is in the set. */
extern bool tg_areas_has_version(const tg_areas *areas, tg_version version);

/* Whether they have a key in common, existing or not. */
extern bool tg_areas_meet(const tg_areas *a, const tg_areas *b);
extern bool tg_areas_meet_area(const tg_areas *areas, const tg_area *area);

/* Whether one of these areas covers the whole area. */
extern bool tg_areas_cover_area(const tg_areas *areas, const tg_area *area);

/* Whether they meet a declaration: include, or everything if it is NULL, less exclude. */
extern bool tg_areas_meet_declared(const tg_areas *areas, const tg_areas *include, const tg_areas *exclude);

/* --- the list ------------------------------------------------------------------------ */

/* The outcome of a LONG, in the low bits of its entry's outcome; C_L or A is above them. */
typedef enum tg_outcome
{
	TG_OUTCOME_NONE,	  /* it runs, or waits for its start */
	TG_OUTCOME_COMMITTED, /* at C_L; drawn and stored under the latch */
	TG_OUTCOME_ABORTED	  /* undone at A; 0: not yet */
} tg_outcome;

#define TG_OUTCOME_BITS 2

typedef struct tg_preserve
{
	struct tg_preserve *next; /* published later */
	uint64_t outcome;		  /* atomic */
	tg_time start;			  /* R_L; 0: it waits for its start */
	tg_time base;			  /* L6; 0 likewise */
	uint64_t sequence;		  /* of starts, from 1 */
	uint64_t published;		  /* order of publishing */
	uint32_t pins;			  /* transactions that remember it: not freed before */
	int32_t priority;
	bool listed;
	bool waits;	  /* for its start */
	void *waiter; /* to be woken then: the host's word, or NULL: conditions are poked */
	uint32_t txn; /* its descriptor's number; valid until it has ended */
	uint64_t host;
	tg_areas *areas;   /* what it preserves */
	tg_areas *include; /* what it declared to read; NULL: all tables */
	tg_areas *exclude;
} tg_preserve;

/* Listed entries; atomic.  Set by tg_preserve_create and inherited. */
extern uint64_t *tg_preserve_count;

/*
 * Whether no LONG has to be considered.  The load is sequentially consistent, and half of two
 * Dekker pairs.  A transaction has registered as a writer (W0), drawn a C (S3) or loaded a snapshot
 * (S4, L6) before; if it then finds no entry, it precedes any LONG that is published later: that
 * LONG sees the registration, and its R_L is not below the C or the snapshot.
 */
static inline bool
tg_preserve_is_empty(void)
{
	return tg_load_seq_cst(tg_preserve_count) == 0;
}

extern void tg_preserve_lock(void);
extern void tg_preserve_unlock(void);

/* The following are called under the latch. */

/* The entry published first; the next one follows by next.  All are listed. */
extern tg_preserve *tg_preserve_first(void);

/* Lists an entry, made by tg_preserve_new.  TG_FULL. */
extern tg_status tg_preserve_list(tg_preserve *entry) TG_MUST_USE;

/* The sequence number of the next start. */
extern uint64_t tg_preserve_sequence_next(void);

/*
 * Whether a listed entry preserves, or has declared, a range of the table's keys.  Without the
 * latch.
 */
extern bool tg_preserve_has_range(const tg_table *table);

/* Pins are taken on listed entries, and given back: plain counting. */
static inline void
tg_preserve_pin(tg_preserve *entry)
{
	entry->pins++;
}

static inline void
tg_preserve_unpin(tg_preserve *entry)
{
	tg_assert(entry->pins > 0);
	entry->pins--;
}

/* G1 (1): drops the entries that ended at or before a horizon; bases do not count in it. */
extern void tg_preserve_drop(tg_time horizon);

/* The following are called without the latch. */

/* A new, empty entry.  NULL: no memory. */
extern tg_preserve *tg_preserve_new(tg_session *session);

/* Frees an entry that was never listed, with its areas. */
extern void tg_preserve_free(tg_session *session, tg_preserve *entry);

/* Whether the table is preserved, or was by a LONG that has ended and is still listed. */
extern bool tg_preserve_has_table(const tg_table *table);

/*
 * Frees dropped entries without pins.  By the collector, and by a session that ends a LONG.
 * Outside an epoch.
 */
extern void tg_preserve_tidy(tg_session *session);

static inline tg_outcome
tg_outcome_state(uint64_t outcome)
{
	return (tg_outcome) (outcome & ((1 << TG_OUTCOME_BITS) - 1));
}

static inline tg_time
tg_outcome_time(uint64_t outcome)
{
	return outcome >> TG_OUTCOME_BITS;
}

/* Whether no transaction has to wait for it any more: it is committed, or aborted and undone. */
static inline bool
tg_preserve_has_ended(const tg_preserve *entry)
{
	uint64_t outcome = tg_load_acquire(&entry->outcome);

	return tg_outcome_state(outcome) == TG_OUTCOME_COMMITTED ||
		   (tg_outcome_state(outcome) == TG_OUTCOME_ABORTED && tg_outcome_time(outcome) != 0);
}

#endif /* TG_PRESERVE_H */

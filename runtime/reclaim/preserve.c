/*
 * preserve.c
 *	  The preserve list: areas, entries, and when an entry may go.
 *
 * An area is kept as a half-open range of byte strings in memcmp order, [low, high).  A bound that
 * includes, or excludes, all keys that start with it becomes the smallest string behind all of
 * those.  So two comparisons decide whether two areas overlap.
 *
 * 1. An entry is on the list from L1 (a) until every published snapshot and lower bound has reached
 *	  the time at which it ended (L5, G1).  A transaction with R or C between R_L and C_L has had a
 *	  snapshot at or below that time published since, so it finds the entry.
 * 2. G1 is computed in two steps under the latch: entries do not count in the horizon by which they
 *	  are dropped, because they would keep themselves; the bases of those that stay bound the
 *	  result.
 * 3. Once an entry is dropped, no transaction takes its base any more.  A READ ONLY transaction
 *	  takes a base under the latch, for an S that lies before the entry's end.  Its lower bound, at
 *	  or below that S, was stored before it took the latch.  If the drop's scan met the bound, the
 *	  entry was not dropped.  Otherwise the bound was stored after the scan's load of the clock, and
 *	  S, loaded later still, is not before the end.
 * 4. A pin on an entry keeps the struct and its areas, not its place on the list.
 */
#include "runtime/reclaim/preserve.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/order/key.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/index/long_key.h"

/* Keys low <= key < high.  high NULL: unbounded. */
typedef struct span
{
	tg_table *table;
	const unsigned char *low;
	const unsigned char *high;
	uint32_t low_bytes;
	uint32_t high_bytes;
} span;

struct tg_areas
{
	uint32_t count;
	span span[]; /* followed by the bounds' bytes */
};

/* In the arena. */
typedef struct preserve_shared
{
	uint64_t count TG_CACHE_ALIGNED; /* atomic; changed under the latch */
	tg_latch latch TG_CACHE_ALIGNED;
	tg_preserve *first; /* the rest under the latch */
	tg_preserve *last;
	tg_preserve *dropped; /* atomic: also read without the latch */
	uint64_t published;
	uint64_t sequence;
} preserve_shared;

uint64_t *tg_preserve_count;
static preserve_shared *shared; /* set by tg_preserve_create, inherited */

tg_status
tg_preserve_create(tg_session *session)
{
	shared = tg_alloc_zeroed(session, sizeof(preserve_shared), TG_USE_RUNTIME, TG_ESSENTIAL);
	if (shared == NULL)
		return TG_NO_MEMORY;
	tg_latch_init(&shared->latch, TG_RANK_PRESERVE);
	tg_preserve_count = &shared->count;
	return TG_OK;
}

/* --- spans --------------------------------------------------------------------------- */

static bool
is_below(const unsigned char *low, uint32_t low_bytes, const unsigned char *high, uint32_t high_bytes)
{
	return high == NULL || tg_key_compare(low, low_bytes, high, high_bytes) < 0;
}

/*
 * Writes the smallest string behind all that start with the bound to out; returns its bytes, 0 if
 * there is none.
 */
static uint32_t
bound_behind(const unsigned char *bound, uint32_t bytes, unsigned char *out)
{
	while (bytes > 0 && bound[bytes - 1] == 0xff)
		bytes--;
	if (bytes == 0)
		return 0;
	memcpy(out, bound, bytes);
	out[bytes - 1]++;
	return bytes;
}

/* out has room for low_bytes + high_bytes; the span says which of it is used. */
static span
make_span(const tg_area *area, unsigned char *out)
{
	static const unsigned char nothing[1];
	span made = {.table = area->table, .low = nothing};

	if (area->low != NULL)
	{
		made.low = out;
		made.low_bytes = area->low_bytes;
		if (area->low_inclusive)
			memcpy(out, area->low, area->low_bytes);
		else if ((made.low_bytes = bound_behind(area->low, area->low_bytes, out)) == 0)
			/* no such key exists */
			return (span){.table = area->table, .low = nothing, .high = nothing};
		out += made.low_bytes;
	}
	if (area->high != NULL)
	{
		made.high = out;
		made.high_bytes = area->high_bytes;
		if (!area->high_inclusive)
			memcpy(out, area->high, area->high_bytes);
		else if ((made.high_bytes = bound_behind(area->high, area->high_bytes, out)) == 0)
			made.high = NULL;
	}
	return made;
}

/* Whether the greater low is below the smaller high. */
static bool
spans_meet(const span *a, const span *b)
{
	return a->table == b->table && is_below(a->low, a->low_bytes, a->high, a->high_bytes) &&
		   is_below(b->low, b->low_bytes, b->high, b->high_bytes) &&
		   is_below(a->low, a->low_bytes, b->high, b->high_bytes) &&
		   is_below(b->low, b->low_bytes, a->high, a->high_bytes);
}

static bool
span_covers(const span *whole, const span *part)
{
	if (whole->table != part->table || tg_key_compare(whole->low, whole->low_bytes, part->low, part->low_bytes) > 0)
		return false;
	if (whole->high == NULL)
		return true;
	return part->high != NULL && tg_key_compare(part->high, part->high_bytes, whole->high, whole->high_bytes) <= 0;
}

static bool
is_whole(const span *s)
{
	return s->low_bytes == 0 && s->high == NULL;
}

/* --- areas ------------------------------------------------------------------------------ */

bool
tg_area_has_row(const tg_area *area, uint32_t row)
{
	tg_table *table = area->table;
	unsigned char bounds[2 * TG_KEY_BYTES_MAX];
	unsigned char key[TG_KEY_BYTES_MAX];
	uint32_t key_bytes;
	tg_version newest;
	span part;

	if (row >= tg_load_acquire(&table->row_next))
		return false;
	newest = tg_load_acquire(tg_row_head(table, row));
	if (tg_head_is_closed(newest) || newest == TG_VERSION_NONE)
		return false;
	if (area->low == NULL && area->high == NULL)
		return true;
	if (area->low_bytes > TG_KEY_BYTES_MAX || area->high_bytes > TG_KEY_BYTES_MAX)
		return false;
	key_bytes = (uint32_t) tg_key_of_version(table->key, newest, key);
	part = make_span(area, bounds);
	return tg_key_compare(part.low, part.low_bytes, key, key_bytes) <= 0 &&
		   is_below(key, key_bytes, part.high, part.high_bytes);
}

tg_status
tg_areas_create(tg_session *session, const tg_area *area, unsigned count, tg_areas **areas_out)
{
	size_t bytes = sizeof(tg_areas) + count * sizeof(span);
	unsigned char *out;
	tg_areas *areas;

	*areas_out = NULL;
	if (count == 0)
		return TG_OK;
	for (unsigned i = 0; i < count; i++)
	{
		if ((area[i].low != NULL && area[i].low_bytes > TG_KEY_BYTES_MAX) ||
			(area[i].high != NULL && area[i].high_bytes > TG_KEY_BYTES_MAX))
			return TG_TOO_LARGE;
		bytes += (area[i].low != NULL ? area[i].low_bytes : 0) + (area[i].high != NULL ? area[i].high_bytes : 0);
	}
	areas = tg_failpoint_refuses("areas_create") ? NULL : tg_alloc(session, bytes, TG_USE_LOG, TG_DATA);
	if (areas == NULL)
		return TG_NO_MEMORY;
	areas->count = count;
	out = (unsigned char *) &areas->span[count];
	for (unsigned i = 0; i < count; i++)
	{
		areas->span[i] = make_span(&area[i], out);
		out += (area[i].low != NULL ? area[i].low_bytes : 0) + (area[i].high != NULL ? area[i].high_bytes : 0);
		tg_table_retain(area[i].table);
	}
	*areas_out = areas;
	return TG_OK;
}

void
tg_areas_destroy(tg_session *session, tg_areas *areas)
{
	if (areas == NULL)
		return;
	for (unsigned i = 0; i < areas->count; i++)
		tg_table_release(session, areas->span[i].table);
	tg_free(session, areas, TG_USE_LOG);
}

unsigned
tg_areas_count(const tg_areas *areas)
{
	return areas == NULL ? 0 : areas->count;
}

tg_table *
tg_areas_table(const tg_areas *areas, unsigned i, bool *is_range_out)
{
	tg_assert(i < areas->count);
	*is_range_out = !is_whole(&areas->span[i]);
	return areas->span[i].table;
}

bool
tg_areas_has_table(const tg_areas *areas, const tg_table *table)
{
	for (unsigned i = 0; i < tg_areas_count(areas); i++)
		if (areas->span[i].table == table)
			return true;
	return false;
}

bool
tg_areas_has_key(const tg_areas *areas, const tg_table *table, const void *key, size_t key_bytes)
{
	for (unsigned i = 0; i < tg_areas_count(areas); i++)
	{
		const span *s = &areas->span[i];

		if (s->table == table && tg_key_compare(s->low, s->low_bytes, key, (uint32_t) key_bytes) <= 0 &&
			is_below(key, (uint32_t) key_bytes, s->high, s->high_bytes))
			return true;
	}
	return false;
}

bool
tg_areas_has_version(const tg_areas *areas, tg_version version)
{
	const tg_table *table = tg_version_chunk(version)->table;
	unsigned char key[TG_KEY_BYTES_MAX];
	bool in_part = false;

	for (unsigned i = 0; i < tg_areas_count(areas); i++)
	{
		if (areas->span[i].table != table)
			continue;
		if (is_whole(&areas->span[i]))
			return true;
		in_part = true;
	}
	return in_part && tg_areas_has_key(areas, table, key, tg_key_of_version(table->key, version, key));
}

static bool
has_range(const tg_areas *areas, const tg_table *table)
{
	for (unsigned i = 0; i < tg_areas_count(areas); i++)
		if (areas->span[i].table == table && !is_whole(&areas->span[i]))
			return true;
	return false;
}

bool
tg_areas_meet(const tg_areas *a, const tg_areas *b)
{
	for (unsigned i = 0; i < tg_areas_count(a); i++)
		for (unsigned k = 0; k < tg_areas_count(b); k++)
			if (spans_meet(&a->span[i], &b->span[k]))
				return true;
	return false;
}

bool
tg_areas_meet_area(const tg_areas *areas, const tg_area *area)
{
	unsigned char bytes[2 * TG_KEY_BYTES_MAX];
	span other;

	if (!tg_areas_has_table(areas, area->table))
		return false;
	other = make_span(area, bytes);
	for (unsigned i = 0; i < areas->count; i++)
		if (spans_meet(&areas->span[i], &other))
			return true;
	return false;
}

bool
tg_areas_cover_area(const tg_areas *areas, const tg_area *area)
{
	unsigned char bytes[2 * TG_KEY_BYTES_MAX];
	span part;

	if (!tg_areas_has_table(areas, area->table))
		return false;
	part = make_span(area, bytes);
	for (unsigned i = 0; i < areas->count; i++)
		if (span_covers(&areas->span[i], &part))
			return true;
	return false;
}

/* An area that only two excluded ones cover together counts as not excluded: this errs safely. */
bool
tg_areas_meet_declared(const tg_areas *areas, const tg_areas *include, const tg_areas *exclude)
{
	for (unsigned i = 0; i < tg_areas_count(areas); i++)
	{
		const span *s = &areas->span[i];
		bool included = include == NULL;
		bool excluded = false;

		for (unsigned k = 0; k < tg_areas_count(include) && !included; k++)
			included = spans_meet(s, &include->span[k]);
		for (unsigned k = 0; k < tg_areas_count(exclude) && !excluded; k++)
			excluded = span_covers(&exclude->span[k], s);
		if (included && !excluded)
			return true;
	}
	return false;
}

/* --- the list ---------------------------------------------------------------------------- */

void
tg_preserve_lock(void)
{
	tg_latch_acquire(&shared->latch);
}

void
tg_preserve_unlock(void)
{
	tg_latch_release(&shared->latch);
}

bool
tg_preserve_has_table(const tg_table *table)
{
	bool found = false;

	if (tg_preserve_is_empty())
		return false;
	tg_preserve_lock();
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL && !found; entry = entry->next)
		found = tg_areas_has_table(entry->areas, table);
	tg_preserve_unlock();
	return found;
}

tg_preserve *
tg_preserve_first(void)
{
	return shared->first;
}

uint64_t
tg_preserve_sequence_next(void)
{
	return ++shared->sequence;
}

/* L1 (a). */
tg_status
tg_preserve_list(tg_preserve *entry)
{
	if (tg_load_relaxed(&shared->count) >= TG_PRESERVE_MAX || tg_failpoint_refuses("preserve_full"))
		return TG_FULL;
	entry->published = ++shared->published;
	entry->listed = true;
	entry->next = NULL;
	if (shared->last != NULL)
		shared->last->next = entry;
	else
		shared->first = entry;
	shared->last = entry;
	/* Half of the Dekker pairs with tg_preserve_is_empty. */
	tg_fetch_add_seq_cst(&shared->count, 1);
	tg_fence_seq_cst();
	return TG_OK;
}

bool
tg_preserve_has_range(const tg_table *table)
{
	bool has = false;

	if (tg_preserve_is_empty())
		return false;
	tg_preserve_lock();
	for (const tg_preserve *entry = shared->first; entry != NULL && !has; entry = entry->next)
		has = has_range(entry->areas, table) || has_range(entry->include, table) || has_range(entry->exclude, table);
	tg_preserve_unlock();
	return has;
}

static inline bool
is_aborted(const tg_preserve *entry)
{
	return tg_outcome_state(tg_load_relaxed(&entry->outcome)) == TG_OUTCOME_ABORTED;
}

/* L5, and rule 2. */
void
tg_preserve_drop(tg_time horizon)
{
	tg_preserve **link = &shared->first;

	shared->last = NULL;
	while (*link != NULL)
	{
		tg_preserve *entry = *link;
		bool is_over = tg_outcome_time(tg_load_relaxed(&entry->outcome)) <= horizon;

		if (is_aborted(entry) ? tg_failpoint_refuses("drop_aborted") : tg_failpoint_refuses("drop_committed"))
			is_over = true;
		if (tg_preserve_has_ended(entry) && is_over)
		{
			*link = entry->next;
			entry->listed = false;
			entry->next = shared->dropped;
			tg_store_relaxed(&shared->dropped, entry);
			tg_fetch_add_seq_cst(&shared->count, UINT64_MAX);
			continue;
		}
		shared->last = entry;
		link = &entry->next;
	}
}

tg_preserve *
tg_preserve_new(tg_session *session)
{
	return tg_alloc_zeroed(session, sizeof(tg_preserve), TG_USE_LOG, TG_DATA);
}

void
tg_preserve_free(tg_session *session, tg_preserve *entry)
{
	tg_areas_destroy(session, entry->areas);
	tg_areas_destroy(session, entry->include);
	tg_areas_destroy(session, entry->exclude);
	tg_free(session, entry, TG_USE_LOG);
}

void
tg_preserve_tidy(tg_session *session)
{
	tg_preserve *free = NULL;
	tg_preserve *kept = NULL;
	tg_preserve *next;

	if (tg_likely(tg_load_relaxed(&shared->dropped) == NULL))
		return;
	tg_preserve_lock();
	for (tg_preserve *entry = shared->dropped; entry != NULL; entry = next)
	{
		tg_preserve **to = entry->pins > 0 ? &kept : &free;

		next = entry->next;
		entry->next = *to;
		*to = entry;
	}
	tg_store_relaxed(&shared->dropped, kept);
	tg_preserve_unlock();
	while (free != NULL)
	{
		tg_preserve *entry = free;

		free = entry->next;
		tg_preserve_free(session, entry);
	}
}

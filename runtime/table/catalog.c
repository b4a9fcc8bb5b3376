/*
 * catalog.c
 *	  A chained hash map under one latch.
 *
 * Entries lie in an array and are named by their index, which also chains them from the buckets;
 * there are as many buckets as places for entries, a power of two.  Growing copies entries to the
 * same indices, so a position of a walk stays right: an entry that exists all the time is seen
 * exactly once.
 *
 *	  bucket[hash] -> entry 5 -> entry 2 -> NOBODY		free -> entry 3 -> NOBODY
 *
 * Everything is read and written under the latch.  The generation is written under it, after the
 * change, with release; a reader loads it with acquire before its look-up and keeps both.  As long
 * as the number is the same, no change was complete after the look-up began.  A change that was
 * under way then concerns a relation whose lock the reader does not hold.
 *
 * Left out: shrinking, because a place takes 28 bytes.
 */
#include "runtime/table/catalog.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"

#define PLACES_MIN 64
#define PLACES_MAX ((uint32_t) 1 << 30)
#define NOBODY UINT32_MAX

typedef struct place
{
	tg_table *table; /* NULL: free */
	uint32_t database;
	uint32_t relation;
	uint32_t next; /* in the chain of its bucket, or of the free places */
} place;

/* In the arena. */
typedef struct catalog
{
	uint64_t generation TG_CACHE_ALIGNED; /* atomic; see above */
	tg_latch latch TG_CACHE_ALIGNED;	  /* TG_RANK_CATALOG: all below */
	uint32_t place_count;				  /* places and buckets */
	uint32_t place_used;				  /* places from here on were never used */
	uint32_t free;						  /* first free place below it */
	place *places;
	uint32_t *buckets;
} catalog;

uint64_t *tg_catalog_generation;
static catalog *shared; /* set by tg_catalog_create, inherited */

static inline uint32_t
bucket_of(uint32_t database, uint32_t relation)
{
	uint64_t hash = ((uint64_t) database << 32 | relation) * 0x9e3779b97f4a7c15;

	return (uint32_t) (hash >> 32) & (shared->place_count - 1);
}

/* Doubles the number of places; the entries stay in theirs.  Holds the latch. */
static tg_status
grow(tg_session *session)
{
	uint32_t count = shared->place_count == 0 ? PLACES_MIN : shared->place_count * 2;
	place *places;
	uint32_t *buckets;

	if (count > PLACES_MAX)
		return TG_NO_MEMORY;
	places = tg_alloc(session, count * sizeof(place), TG_USE_TABLE, TG_ESSENTIAL);
	buckets = tg_alloc(session, count * sizeof(uint32_t), TG_USE_TABLE, TG_ESSENTIAL);
	if (places == NULL || buckets == NULL)
	{
		if (places != NULL)
			tg_free(session, places, TG_USE_TABLE);
		if (buckets != NULL)
			tg_free(session, buckets, TG_USE_TABLE);
		return TG_NO_MEMORY;
	}
	if (shared->places != NULL)
	{
		memcpy(places, shared->places, shared->place_used * sizeof(place));
		tg_free(session, shared->places, TG_USE_TABLE);
		tg_free(session, shared->buckets, TG_USE_TABLE);
	}
	memset(buckets, 0xff, count * sizeof(uint32_t)); /* NOBODY */
	shared->places = places;
	shared->buckets = buckets;
	shared->place_count = count;
	for (uint32_t i = 0; i < shared->place_used; i++)
	{
		uint32_t *bucket;

		if (places[i].table == NULL)
			continue;
		bucket = &buckets[bucket_of(places[i].database, places[i].relation)];
		places[i].next = *bucket;
		*bucket = i;
	}
	return TG_OK;
}

/* The link that leads to the entry, or to NOBODY at the end of its chain.  Holds the latch. */
static uint32_t *
find_link(uint32_t database, uint32_t relation)
{
	uint32_t *link = &shared->buckets[bucket_of(database, relation)];

	while (*link != NOBODY)
	{
		place *entry = &shared->places[*link];

		if (entry->relation == relation && entry->database == database)
			break;
		link = &entry->next;
	}
	return link;
}

static void
changed(void)
{
	tg_store_release(&shared->generation, tg_load_relaxed(&shared->generation) + 1);
}

/* Removes the entry that a link leads to from the map.  Holds the latch. */
static tg_table *
remove_entry(uint32_t *link)
{
	uint32_t index = *link;
	place *entry = &shared->places[index];
	tg_table *table = entry->table;

	*link = entry->next;
	entry->table = NULL;
	entry->next = shared->free;
	shared->free = index;
	changed();
	return table;
}

tg_status
tg_catalog_create(void)
{
	tg_session *session;
	tg_status status;

	status = tg_session_open(&session);
	if (status != TG_OK)
		return status;
	shared = tg_alloc_zeroed(session, sizeof(catalog), TG_USE_RUNTIME, TG_ESSENTIAL);
	if (shared == NULL)
		status = TG_NO_MEMORY;
	else
	{
		tg_latch_init(&shared->latch, TG_RANK_CATALOG);
		shared->generation = 1;
		shared->free = NOBODY;
		status = grow(session);
		tg_catalog_generation = &shared->generation;
	}
	tg_session_close(session);
	return status;
}

tg_table *
tg_catalog_find(uint32_t database, uint32_t relation)
{
	tg_table *table = NULL;
	uint32_t index;

	tg_latch_acquire(&shared->latch);
	index = *find_link(database, relation);
	if (index != NOBODY)
		table = shared->places[index].table;
	tg_latch_release(&shared->latch);
	return table;
}

/*
 * Enters a table, in the place of another one if it may; *present_out is the table that was there
 * before.
 */
static tg_status
enter(tg_session *session, uint32_t database, uint32_t relation, tg_table *table, bool may_replace,
	  tg_table **present_out)
{
	tg_status status = TG_OK;
	uint32_t *link;
	place *entry;

	tg_latch_acquire(&shared->latch);
	link = find_link(database, relation);
	*present_out = NULL;
	if (*link != NOBODY)
	{
		entry = &shared->places[*link];
		*present_out = entry->table;
		if (!may_replace)
			goto done;
		entry->table = table;
		changed();
		goto done;
	}
	if (shared->free == NOBODY && shared->place_used == shared->place_count)
	{
		status = grow(session);
		if (status != TG_OK)
			goto done;
		link = find_link(database, relation);
	}
	if (shared->free != NOBODY)
	{
		*link = shared->free;
		entry = &shared->places[*link];
		shared->free = entry->next;
	}
	else
	{
		*link = shared->place_used++;
		entry = &shared->places[*link];
	}
	*entry = (place){.table = table, .database = database, .relation = relation, .next = NOBODY};
	changed();
done:
	tg_latch_release(&shared->latch);
	return status;
}

tg_status
tg_catalog_put(tg_session *session, uint32_t database, uint32_t relation, tg_table *table, tg_table **old_out)
{
	return enter(session, database, relation, table, true, old_out);
}

tg_status
tg_catalog_add(tg_session *session, uint32_t database, uint32_t relation, tg_table *table, tg_table **present_out)
{
	return enter(session, database, relation, table, false, present_out);
}

tg_table *
tg_catalog_take(tg_session *session, uint32_t database, uint32_t relation)
{
	tg_table *table = NULL;
	uint32_t *link;

	(void) session; /* a map that shrinks would free memory here */
	tg_latch_acquire(&shared->latch);
	link = find_link(database, relation);
	if (*link != NOBODY)
		table = remove_entry(link);
	tg_latch_release(&shared->latch);
	return table;
}

tg_table *
tg_catalog_take_any(tg_session *session, uint32_t database)
{
	tg_table *table = NULL;

	(void) session;
	tg_latch_acquire(&shared->latch);
	for (uint32_t i = 0; i < shared->place_used && table == NULL; i++)
	{
		const place *entry = &shared->places[i];

		if (entry->table != NULL && entry->database == database)
			table = remove_entry(find_link(database, entry->relation));
	}
	tg_latch_release(&shared->latch);
	return table;
}

tg_table *
tg_catalog_next(uint64_t *position)
{
	tg_table *table = NULL;

	tg_latch_acquire(&shared->latch);
	while (*position < shared->place_used && table == NULL)
		table = shared->places[(*position)++].table;
	if (table != NULL)
		tg_table_retain(table); /* before the map can drop its reference */
	tg_latch_release(&shared->latch);
	return table;
}

bool
tg_catalog_changed_next(uint64_t *position, double base, double share, uint32_t *database_out, uint32_t *relation_out)
{
	bool found = false;

	tg_latch_acquire(&shared->latch);
	while (*position < shared->place_used && !found)
	{
		const place *entry = &shared->places[(*position)++];

		found = entry->table != NULL && (double) tg_table_changes(entry->table) >
											base + share * (double) tg_load_relaxed(&entry->table->row_count);
		*database_out = entry->database;
		*relation_out = entry->relation;
	}
	tg_latch_release(&shared->latch);
	return found;
}

void
tg_catalog_not_analyzed(uint32_t database, uint32_t relation)
{
	uint32_t index;

	tg_latch_acquire(&shared->latch);
	index = *find_link(database, relation);
	if (index != NOBODY)
		tg_store_relaxed(&shared->places[index].table->analyzed_rows, INT64_MIN / 2);
	tg_latch_release(&shared->latch);
}

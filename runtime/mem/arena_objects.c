/*
 * arena_objects.c
 *	  Objects: size classes, slabs, and each session's cache.
 *
 * After J. Bonwick, "Magazines and Vmem" (2001), and its descendants in tcmalloc and mimalloc:
 *
 *	   session's cache          class (latch)                 pages
 *	  +---------------+ refill +----------------------+ take +-------+
 *	  | magazine of   |<-------| slabs with free ones |<-----| spans |
 *	  | each class    |------->| at most 1 wholly free|----->|       |
 *	  +---------------+ flush  +----------------------+ give +-------+
 *
 * A claim pops a pointer from the session's magazine, a free pushes one: no latch, no atomic
 * read-modify-write, and no access to the object itself.
 *
 * Classes: one for every 8 bytes up to 256, then 16 per doubling up to 16 KiB, so an object is at
 * most a 16th larger than requested (or 7 bytes).  The step is a power of two and slabs begin on a
 * page.  So if a power of two divides a size, it also divides the size of the class, and the object
 * has that alignment.  Larger objects are spans of pages.
 *
 * A slab is a span of 4 to 16 pages cut into objects of one class.  Its head is in the page
 * descriptors, so a class of 4096 bytes wastes nothing.  Objects that were never handed out are not
 * touched (carved counts the others); free ones are linked through their first bytes.
 *
 * 1. An object is live, or in one magazine, or free in its slab.
 * 2. A slab's `out` counts its objects that are live or in magazines.
 * 3. A slab is in its class's partial list exactly if 0 < out < object_count.  With out = 0 it is
 *	  the class's `empty` or it is given back; so a class keeps at most one wholly free slab.
 * 4. used is exact: each claim and free books the bytes that the object really occupies.  committed
 *	  is exact apart from the slabs of rule 3 and the magazines: it returns to its old value after a
 *	  flush of all sessions and a trim.
 *
 * Ordering: an object that goes from one session to another through the class is ordered by the
 * class's latch.  A page's kind is written before its first object is handed out; a session that
 * frees an object got the object from there, directly or not.
 */
#include "runtime/mem/arena_internal.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena_poison.h"
#include "runtime/mem/presence.h"

#define CLASS_EXACT_BYTES_MAX 256
#define CLASS_EXACT (CLASS_EXACT_BYTES_MAX / 8)
/* Bytes of one magazine, except of the largest classes; bounds a cache to about 2 MiB. */
#define MAGAZINE_BYTES_MAX 16384
#define MAGAZINE_MIN 2
#define SLAB_PAGES_MIN 4
#define SLAB_PAGES_MAX 16

_Static_assert(TG_SMALL_BYTES_MAX < SLAB_PAGES_MAX * TG_PAGE_BYTES, "a slab holds several objects");
_Static_assert(SLAB_PAGES_MAX *TG_PAGE_BYTES / 8 < TG_OBJECT_NONE, "an offset / 8 fits 16 bits");

/* A class's constants: in each process's own memory, which other processes cannot overwrite. */
typedef struct class_shape
{
	uint32_t bytes;
	uint16_t slot_first;   /* index of its magazine's first slot in tg_cache.slots */
	uint16_t magazine_max; /* objects in a magazine */
	uint16_t slab_pages;
	uint16_t object_count; /* objects in a slab */
} class_shape;

/* A class's slabs, guarded by its latch. */
typedef struct class_state
{
	tg_latch latch;
	uint32_t partial; /* list, by first page, of slabs with free objects and others */
	uint32_t empty;	  /* one wholly free slab, or TG_PAGE_NONE */
} TG_CACHE_ALIGNED class_state;

typedef struct objects_state
{
	class_state classes[TG_CLASS_COUNT + 1]; /* 0 is not used, so that a class is a page's kind */
	uint64_t refused;						 /* atomic */
} objects_state;

static class_shape shapes[TG_CLASS_COUNT + 1];
static objects_state *state;

/* --- classes ---------------------------------------------------------------- */

static inline unsigned
class_of(size_t bytes)
{
	unsigned log;

	if (tg_likely(bytes <= CLASS_EXACT_BYTES_MAX))
		return (unsigned) (bytes + 7 + (bytes == 0)) / 8;
	log = 63 - (unsigned) __builtin_clzll(bytes - 1);
	return CLASS_EXACT + 1 + (log - 8) * 16 + (unsigned) (((bytes - 1) >> (log - 4)) & 15);
}

static uint32_t
class_bytes(unsigned class)
{
	unsigned above;

	if (class <= CLASS_EXACT)
		return class * 8;
	above = class - CLASS_EXACT - 1;
	return (17 + above % 16) << (4 + above / 16);
}

/* The length, in pages, at which the smallest share of a slab is left over. */
static uint32_t
slab_pages_best(uint32_t bytes)
{
	uint32_t best = SLAB_PAGES_MIN;
	uint32_t best_over = UINT32_MAX;

	for (uint32_t pages = SLAB_PAGES_MIN; pages <= SLAB_PAGES_MAX; pages++)
	{
		uint32_t slab_bytes = pages * TG_PAGE_BYTES;
		uint32_t over = (slab_bytes % bytes) * 1000 / slab_bytes; /* per mille; ties: longer slab */

		if (slab_bytes >= bytes && over <= best_over)
		{
			best = pages;
			best_over = over;
		}
	}
	return best;
}

static void
shapes_fill(void)
{
	uint32_t slot_first = 0;

	for (unsigned class = 1; class <= TG_CLASS_COUNT; class ++)
	{
		class_shape *shape = &shapes[class];
		uint32_t magazine = MAGAZINE_BYTES_MAX / class_bytes(class);

		if (magazine > TG_MAGAZINE_MAX)
			magazine = TG_MAGAZINE_MAX;
		if (magazine < MAGAZINE_MIN)
			magazine = MAGAZINE_MIN;
		shape->bytes = class_bytes(class);
		shape->slot_first = (uint16_t) slot_first;
		shape->magazine_max = (uint16_t) magazine;
		shape->slab_pages = (uint16_t) slab_pages_best(shape->bytes);
		shape->object_count = (uint16_t) (shape->slab_pages * TG_PAGE_BYTES / shape->bytes);
		slot_first += magazine;
		tg_assert(class_of(shape->bytes) == class && class_of(shape->bytes - 1) == class);
	}
	tg_check(slot_first <= TG_CACHE_SLOTS);
	tg_check(shapes[TG_CLASS_COUNT].bytes == TG_SMALL_BYTES_MAX);
}

size_t
tg_objects_state_bytes(void)
{
	return sizeof(objects_state);
}

void
tg_objects_setup(void *memory)
{
	state = memory;
	memset(state, 0, sizeof(*state));
	for (unsigned class = 1; class <= TG_CLASS_COUNT; class ++)
	{
		tg_latch_init(&state->classes[class].latch, TG_RANK_CLASS);
		state->classes[class].partial = TG_PAGE_NONE;
		state->classes[class].empty = TG_PAGE_NONE;
	}
	shapes_fill();
}

/* --- slabs: all under the class's latch --------------------------------------- */

static void
slab_link(class_state *class, uint32_t slab)
{
	tg_pages[slab].prev = TG_PAGE_NONE;
	tg_pages[slab].next = class->partial;
	if (class->partial != TG_PAGE_NONE)
		tg_pages[class->partial].prev = slab;
	class->partial = slab;
}

static void
slab_unlink(class_state *class, uint32_t slab)
{
	tg_page *head = &tg_pages[slab];

	if (head->prev == TG_PAGE_NONE)
		class->partial = head->next;
	else
		tg_pages[head->prev].next = head->next;
	if (head->next != TG_PAGE_NONE)
		tg_pages[head->next].prev = head->prev;
}

/* Makes a new span a slab, which no other thread sees yet. */
static void
slab_format(uint32_t slab, const class_shape *shape)
{
	for (uint16_t page = 0; page < shape->slab_pages; page++)
		tg_pages[slab + page].back = page;
	tg_pages[slab].free_first = TG_OBJECT_NONE;
	tg_pages[slab].out = 0;
	tg_pages[slab].carved = 0;
	tg_poison(tg_page_address(slab), (size_t) shape->slab_pages * TG_PAGE_BYTES);
}

/* Takes an object from a slab that has one.  The object stays poisoned. */
static void *
slab_pop(uint32_t slab, const class_shape *shape)
{
	tg_page *head = &tg_pages[slab];
	char *memory = tg_page_address(slab);
	char *object;

	head->out++;
	if (head->free_first == TG_OBJECT_NONE)
		return memory + (size_t) head->carved++ * shape->bytes;
	object = memory + (size_t) head->free_first * 8;
	tg_unpoison(object, 8);
	memcpy(&head->free_first, object, sizeof(head->free_first));
	tg_poison(object, 8);
	return object;
}

static void
slab_push(uint32_t slab, void *object)
{
	tg_page *head = &tg_pages[slab];

	tg_unpoison(object, 8);
	memcpy(object, &head->free_first, sizeof(head->free_first));
	head->free_first = (uint16_t) ((size_t) ((char *) object - (char *) tg_page_address(slab)) / 8);
	tg_assert(head->out > 0);
	head->out--;
}

/* --- between magazines and slabs ------------------------------------------------ */

/* Moves up to count objects of the class into objects; returns how many. */
static unsigned
class_take(unsigned class, void **objects, unsigned count)
{
	class_state *place = &state->classes[class];
	const class_shape *shape = &shapes[class];
	unsigned taken = 0;

	while (taken < count)
	{
		uint32_t slab = place->partial;

		if (slab == TG_PAGE_NONE)
		{
			slab = place->empty;
			if (slab == TG_PAGE_NONE)
				break;
			place->empty = TG_PAGE_NONE;
			slab_link(place, slab);
		}
		while (taken < count && tg_pages[slab].out < shape->object_count)
			objects[taken++] = slab_pop(slab, shape);
		if (tg_pages[slab].out == shape->object_count)
			slab_unlink(place, slab);
	}
	return taken;
}

/* Gives objects back to their slabs, and slabs that become superfluous to the pages. */
static void
class_give(unsigned class, void **objects, unsigned count)
{
	class_state *place = &state->classes[class];
	const class_shape *shape = &shapes[class];
	uint32_t superfluous[TG_MAGAZINE_MAX];
	unsigned superfluous_count = 0;

	tg_assert(count <= TG_MAGAZINE_MAX);
	tg_latch_acquire(&place->latch);
	for (unsigned i = 0; i < count; i++)
	{
		uint32_t page = tg_page_of(objects[i]);
		uint32_t slab = page - tg_pages[page].back;

		if (tg_pages[slab].out == shape->object_count)
			slab_link(place, slab);
		slab_push(slab, objects[i]);
		if (tg_pages[slab].out == 0)
		{
			slab_unlink(place, slab);
			if (place->empty == TG_PAGE_NONE)
				place->empty = slab;
			else
				superfluous[superfluous_count++] = slab;
		}
	}
	tg_latch_release(&place->latch);
	for (unsigned i = 0; i < superfluous_count; i++)
		tg_span_give(superfluous[i], shape->slab_pages);
}

/* Gives back the wholly free slabs that the classes keep. */
static void
classes_trim(void)
{
	for (unsigned class = 1; class <= TG_CLASS_COUNT; class ++)
	{
		class_state *place = &state->classes[class];
		uint32_t slab;

		tg_latch_acquire(&place->latch);
		slab = place->empty;
		place->empty = TG_PAGE_NONE;
		tg_latch_release(&place->latch);
		if (slab != TG_PAGE_NONE)
			tg_span_give(slab, shapes[class].slab_pages);
	}
}

static void
cache_flush(tg_cache *cache)
{
	for (unsigned class = 1; class <= TG_CLASS_COUNT; class ++)
	{
		if (cache->counts[class] > 0)
			class_give(class, &cache->slots[shapes[class].slot_first], cache->counts[class]);
		cache->counts[class] = 0;
	}
}

/* Takes a span; before a refusal it flushes this cache and gives back all wholly free slabs. */
static bool
span_take_hard(tg_cache *cache, uint32_t page_count, uint8_t kind, tg_claim claim, uint32_t *first_out,
			   bool *zeroed_out)
{
	if (tg_likely(tg_span_take(page_count, kind, claim, first_out, zeroed_out)))
		return true;
	cache_flush(cache);
	classes_trim();
	return tg_span_take(page_count, kind, claim, first_out, zeroed_out);
}

/* Fills half of an empty magazine.  False if refused. */
static bool __attribute__((noinline)) magazine_fill(tg_cache *cache, unsigned class, tg_claim claim)
{
	class_state *place = &state->classes[class];
	const class_shape *shape = &shapes[class];
	unsigned half = shape->magazine_max / 2;
	void *objects[TG_MAGAZINE_MAX];
	unsigned count;

	tg_latch_acquire(&place->latch);
	count = class_take(class, objects, half);
	tg_latch_release(&place->latch);
	if (count == 0)
	{
		uint32_t slab;
		bool zeroed;

		if (!span_take_hard(cache, shape->slab_pages, (uint8_t) class, claim, &slab, &zeroed))
			return false;
		slab_format(slab, shape);
		tg_latch_acquire(&place->latch);
		slab_link(place, slab);
		count = class_take(class, objects, half);
		tg_latch_release(&place->latch);
	}

	/* Reversed, so that new objects are handed out in the order of their addresses. */
	for (unsigned i = 0; i < count; i++)
		cache->slots[shape->slot_first + i] = objects[count - 1 - i];
	cache->counts[class] = (uint16_t) count;
	return true;
}

/* Gives half of a full magazine back: the half that was not used for longer. */
static void __attribute__((noinline)) magazine_drain(tg_cache *cache, unsigned class)
{
	const class_shape *shape = &shapes[class];
	unsigned half = shape->magazine_max / 2;
	void **slots = &cache->slots[shape->slot_first];

	class_give(class, slots, half);
	memmove(slots, slots + half, (shape->magazine_max - half) * sizeof(*slots));
	cache->counts[class] = (uint16_t) (shape->magazine_max - half);
}

/* --- claims and frees --------------------------------------------------------- */

static inline void
cache_book(tg_cache *cache, tg_use use, int64_t bytes)
{
	tg_assert((unsigned) use < TG_USE_COUNT);
	tg_store_relaxed(&cache->used[use], tg_load_relaxed(&cache->used[use]) + bytes);
}

static void *
refuse(void)
{
	(void) tg_fetch_add_relaxed(&state->refused, 1);
	return NULL;
}

static inline tg_claim
claim_of(const tg_session *session, tg_claim claim)
{
	if (claim != TG_DATA)
		return claim;
	if (session->claimed > session->bulk_from)
		return TG_BULK;
	return session->privileged ? TG_MAINTENANCE : TG_DATA;
}

static void *
large_alloc(tg_session *session, size_t bytes, tg_use use, tg_claim claim, bool *zeroed_out)
{
	size_t page_count = (bytes + TG_PAGE_BYTES - 1) / TG_PAGE_BYTES;
	tg_cache *cache = session->cache;
	uint32_t span;

	session->claimed += page_count * TG_PAGE_BYTES;
	if (bytes > (size_t) tg_page_total * TG_PAGE_BYTES)
		return refuse();
	if (!span_take_hard(cache, (uint32_t) page_count, TG_KIND_LARGE, claim_of(session, claim), &span, zeroed_out))
		return refuse();
	cache_book(cache, use, (int64_t) (page_count * TG_PAGE_BYTES));
	return tg_page_address(span);
}

static inline void
expect_object(const char *object, uint32_t bytes)
{
	__builtin_prefetch(object, 1);
	if (bytes > TG_CACHE_LINE)
		__builtin_prefetch(object + TG_CACHE_LINE, 1);
}

static inline void *
small_alloc(tg_session *session, size_t bytes, tg_use use, tg_claim claim)
{
	unsigned class = class_of(bytes);
	const class_shape *shape = &shapes[class];
	tg_cache *cache = session->cache;
	void *object;

	if (tg_unlikely(cache->counts[class] == 0))
	{
		session->claimed += (uint64_t) shape->magazine_max / 2 * shape->bytes;
		if (!magazine_fill(cache, class, claim_of(session, claim)))
			return refuse();
	}
	object = cache->slots[shape->slot_first + --cache->counts[class]];
	/* prefetch the next one, which lies anywhere, so that its first write need not wait */
	if (tg_likely(cache->counts[class] > 0))
		expect_object(cache->slots[shape->slot_first + cache->counts[class] - 1], shape->bytes);
	cache_book(cache, use, shape->bytes);
	tg_unpoison(object, shape->bytes);
	tg_assert(tg_poison_is_intact(object, shape->bytes)); /* or it was written after it was freed */
	tg_poison_fill_new(object, shape->bytes);
	return object;
}

void *
tg_alloc(tg_session *session, size_t bytes, tg_use use, tg_claim claim)
{
	bool zeroed;

	tg_assert(tg_session_is_in_hand(session));
	if (tg_failpoint_refuses("alloc"))
		return refuse();
	if (tg_likely(bytes <= TG_SMALL_BYTES_MAX))
		return small_alloc(session, bytes, use, claim);
	return large_alloc(session, bytes, use, claim, &zeroed);
}

void *
tg_alloc_zeroed(tg_session *session, size_t bytes, tg_use use, tg_claim claim)
{
	bool zeroed = false;
	void *object;

	if (tg_failpoint_refuses("alloc"))
		return refuse();
	if (tg_likely(bytes <= TG_SMALL_BYTES_MAX))
		object = small_alloc(session, bytes, use, claim);
	else
		object = large_alloc(session, bytes, use, claim, &zeroed);
	if (object != NULL && !zeroed)
		memset(object, 0, bytes);
	return object;
}

/* Whether it may be an object that was handed out, as far as a quick check shows. */
static bool
object_is_sound(const void *object)
{
	uint32_t page;
	uint8_t kind;
	size_t offset;

	if ((const char *) object < tg_page_base || object >= tg_page_address(tg_page_total))
		return false;
	page = tg_page_of(object);
	kind = tg_page_kinds[page];
	if (kind == TG_KIND_LARGE)
		return object == tg_page_address(page);
	if (kind == TG_KIND_NONE || kind > TG_CLASS_COUNT)
		return false;
	offset = (size_t) ((const char *) object - (char *) tg_page_address(page - tg_pages[page].back));
	return offset % shapes[kind].bytes == 0 && !(kind > 1 && tg_poison_is_intact(object, shapes[kind].bytes));
}

void
tg_free(tg_session *session, void *object, tg_use use)
{
	tg_cache *cache = session->cache;
	uint32_t page = tg_page_of(object);
	uint8_t kind = tg_page_kinds[page];

	tg_assert(tg_session_is_in_hand(session));
	tg_assert(object_is_sound(object)); /* or it was freed before, or never handed out */
	if (tg_likely(kind <= TG_CLASS_COUNT))
	{
		const class_shape *shape = &shapes[kind];

		tg_poison(object, shape->bytes);
		if (tg_unlikely(cache->counts[kind] == shape->magazine_max))
			magazine_drain(cache, kind);
		cache->slots[shape->slot_first + cache->counts[kind]++] = object;
		cache_book(cache, use, -(int64_t) shape->bytes);
	}
	else
	{
		uint32_t page_count = tg_pages[page].page_count;

		tg_span_give(page, page_count);
		cache_book(cache, use, -(int64_t) page_count * TG_PAGE_BYTES);
	}
}

size_t
tg_alloc_bytes(const void *object)
{
	uint32_t page = tg_page_of(object);
	uint8_t kind = tg_page_kinds[page];

	tg_assert(object_is_sound(object));
	return kind <= TG_CLASS_COUNT ? shapes[kind].bytes : (size_t) tg_pages[page].page_count * TG_PAGE_BYTES;
}

/*
 * Sparse slabs are worth emptying because new claims come from the slabs that are first in the
 * lists, which so become dense one after the other.
 */
bool
tg_alloc_is_sparse(const void *object)
{
	uint32_t page = tg_page_of(object);
	uint8_t kind = tg_page_kinds[page];
	bool is_sparse;

	tg_assert(object_is_sound(object));
	if (kind > TG_CLASS_COUNT)
		return false;
	tg_latch_acquire(&state->classes[kind].latch);
	is_sparse = tg_pages[page - tg_pages[page].back].out <= shapes[kind].object_count / 2;
	tg_latch_release(&state->classes[kind].latch);
	return is_sparse;
}

void
tg_claims_begin(tg_session *session)
{
	session->bulk_from = session->claimed + tg_pages_limit() / TG_BULK_SHARE;
}

void
tg_claims_end(tg_session *session)
{
	session->bulk_from = UINT64_MAX;
}

void
tg_alloc_flush(tg_session *session)
{
	cache_flush(session->cache);
}

void
tg_arena_trim(void)
{
	classes_trim();
	tg_pages_trim();
}

/* --- check -------------------------------------------------------------------------- */

static bool
slab_is_listed(const class_state *class, uint32_t slab)
{
	uint32_t listed = class->partial;

	while (listed != TG_PAGE_NONE && listed != slab)
		listed = tg_pages[listed].next;
	return listed == slab;
}

/* Asserts invariant 3, and that every carved object that is not out is in the slab's list. */
static uint32_t
slab_check(uint32_t slab)
{
	uint8_t kind = tg_page_kinds[slab];
	const class_state *place = &state->classes[kind];
	const class_shape *shape = &shapes[kind];
	const tg_page *head = &tg_pages[slab];
	char *memory = tg_page_address(slab);
	unsigned listed = 0;

	tg_check(head->out <= head->carved && head->carved <= shape->object_count);
	tg_check((place->empty == slab) == (head->out == 0));
	tg_check(slab_is_listed(place, slab) == (head->out > 0 && head->out < shape->object_count));
	for (uint16_t page = 0; page < shape->slab_pages; page++)
		tg_check(tg_page_kinds[slab + page] == kind && tg_pages[slab + page].back == page);
	for (uint16_t object = head->free_first; object != TG_OBJECT_NONE; listed++)
	{
		tg_check(listed < shape->object_count && (size_t) object * 8 % shape->bytes == 0);
		memcpy(&object, memory + (size_t) object * 8, sizeof(object));
	}
	tg_check(listed == (unsigned) head->carved - head->out);
	return shape->slab_pages;
}

void
tg_arena_check(void)
{
	tg_pages_check(slab_check);
}

/* --- accounts ------------------------------------------------------------------- */

void
tg_cache_sum(const tg_cache *cache, int64_t used_sums[TG_USE_COUNT])
{
	for (unsigned use = 0; use < TG_USE_COUNT; use++)
		used_sums[use] += tg_load_relaxed(&cache->used[use]);
}

uint64_t
tg_objects_refused(void)
{
	return tg_load_relaxed(&state->refused);
}

/*
 * arena_internal.h
 *	  Shared by the arena's own files (arena*.c); session.c uses the caches.
 *
 * The one mapping, from low to high addresses:
 *
 *	  +-------+----------+-------+---------+-------------+------------------+
 *	  | head  | sessions | pages' | caches | kinds, page | data pages       |
 *	  | roots |          | bins   |        | descriptors | (2 MiB aligned)  |
 *	  +-------+----------+-------+---------+-------------+------------------+
 *
 * All parts before the data pages are sized for the reservation and become real memory only where
 * they are touched: 17 bytes for each data page that was ever used.
 */
#ifndef TG_ARENA_INTERNAL_H
#define TG_ARENA_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"

/* --- pages: arena_pages.c ------------------------------------------------- */

#define TG_PAGE_SHIFT 12
#define TG_HUGE_BYTES ((size_t) 2 << 20)
#define TG_HUGE_PAGES ((uint32_t) (TG_HUGE_BYTES >> TG_PAGE_SHIFT))
#define TG_PAGE_NONE UINT32_MAX

/*
 * The kind of a page, one byte per page.  Exact for every page of a slab and for the first and last
 * page of any other span; stale for pages between.  Written under the pages' latch.  The holder of
 * an object reads its page's kind without the latch, because it does not change before the object
 * is freed.
 */
enum
{
	TG_KIND_NONE = 0, /* never used */
	/* 1 to TG_CLASS_COUNT: slab of that class */
	TG_KIND_LARGE = 252,   /* span of one large object */
	TG_KIND_LEAVING = 253, /* free, on its way back to the system */
	TG_KIND_IDLE = 254,	   /* free, still backed by memory */
	TG_KIND_RETURNED = 255 /* free, given back to the system or never taken: reads as zeroes */
};

#define TG_OBJECT_NONE UINT16_MAX

/* One per page; the kind determines which part is valid. */
typedef struct tg_page
{
	uint32_t next; /* free span: its bin's list; slab: its class's list; first page only */
	uint32_t prev;
	union
	{
		uint32_t page_count; /* span: its length; first and last page */
		struct
		{
			uint16_t free_first; /* slab: its free objects, as offset / 8; first page only */
			uint16_t back;		 /* slab: pages from its first page to this one */
		};
	};
	uint16_t out;	 /* slab: objects in caches or in use */
	uint16_t carved; /* slab: objects that were ever handed out */
} tg_page;

_Static_assert(sizeof(tg_page) == 16, "the page map costs 17 bytes a page");

/* Constant after tg_arena_create, inherited by fork. */
extern char *tg_page_base;	   /* address of page 0 */
extern uint32_t tg_page_total; /* number of pages reserved */
extern uint8_t *tg_page_kinds;
extern tg_page *tg_pages;

static inline uint32_t
tg_page_of(const void *object)
{
	return (uint32_t) ((size_t) ((const char *) object - tg_page_base) >> TG_PAGE_SHIFT);
}

static inline void *
tg_page_address(uint32_t page)
{
	return tg_page_base + ((size_t) page << TG_PAGE_SHIFT);
}

/* Gives memory back to the system; it reads as zero afterwards.  False if the system refuses. */
extern bool tg_arena_empty(void *begin, size_t bytes);

#define TG_BULK_SHARE 64   /* a transaction that has claimed more than 1/64 of the limit */
#define TG_BULK_RESERVE 32 /* is refused from 1/32 of it before the reserved part on */

extern size_t tg_pages_state_bytes(void);
extern void tg_pages_setup(void *state, uint32_t give_back_pages);
extern void tg_pages_limit_set(size_t limit_bytes);
extern void tg_pages_reserved_set(unsigned percent);
extern size_t tg_pages_limit(void);
extern size_t tg_pages_committed(void);

/*
 * Takes a span of pages, for a large object or for a slab of a class.  False if refused.
 * *zeroed_out: its memory reads as zeroes.  Any thread; not under a latch of the arena, because it
 * may call the kernel.
 */
extern bool tg_span_take(uint32_t page_count, uint8_t new_kind, tg_claim claim, uint32_t *first_out,
						 bool *zeroed_out) TG_MUST_USE;

/* Gives a whole span back.  Like tg_span_take. */
extern void tg_span_give(uint32_t first, uint32_t page_count);

/* Gives all idle pages back to the system.  Like tg_span_take. */
extern void tg_pages_trim(void);

/*
 * Asserts the invariants of arena_pages.c over all pages; the callback asserts those of a slab and
 * returns its length.  No other thread may use the arena.
 */
extern void tg_pages_check(uint32_t (*slab_check)(uint32_t first));

/* Fills the report's figures about pages. */
extern void tg_pages_report(tg_arena_report *report);

/* --- huge pages: arena_huge.c; under the pages' latch, unless said otherwise --- */

/* A range of pages, in whole granules; empty if both are 0. */
typedef struct tg_huge_span
{
	uint32_t begin;
	uint32_t end;
} tg_huge_span;

extern size_t tg_huge_state_bytes(uint32_t page_total);
extern void tg_huge_setup(void *memory, bool asks);

/* Notes that pages in [begin, end) cease to be RETURNED without being taken; or are LEAVING. */
extern void tg_huge_backed(uint32_t begin, uint32_t end);
extern void tg_huge_leaving(uint32_t begin, uint32_t end);

/* Notes that RETURNED pages are being taken; returns the granules to ask for. */
extern tg_huge_span tg_huge_take(uint32_t first, uint32_t page_count);

/*
 * Whether granules should be asked for in advance (any thread, no latch); and these, so many at
 * most, or none.
 */
extern bool tg_huge_is_wanted(void);
extern tg_huge_span tg_huge_prepare(uint32_t granule_max);

/*
 * Whether mending can succeed (any thread, no latch); the granule to ask for once more, or empty;
 * and the outcome of that.
 */
extern bool tg_huge_can_mend(void);
extern tg_huge_span tg_huge_mend(void);
extern void tg_huge_mended(bool given);

/* Asks the kernel for these granules.  True if all were given.  Not under the latch. */
extern bool tg_huge_ask(tg_huge_span asked);

/*
 * Notes that pages in [begin, end) went back to the system and are now part of that RETURNED span.
 */
extern void tg_huge_returned(uint32_t begin, uint32_t end, uint32_t span_begin, uint32_t span_end);

/* Fills the report's figures about huge pages.  Any thread, no latch. */
extern void tg_huge_report(tg_arena_report *report);

/*
 * Asserts the rules of arena_huge.c about states, for a span; to be called for all spans in order.
 */
extern void tg_huge_check(uint32_t first, uint32_t page_count, bool returned);

/* --- objects: arena_objects.c --------------------------------------------- */

#define TG_SMALL_BYTES_MAX 16384
#define TG_CLASS_COUNT 128
#define TG_MAGAZINE_MAX 64	/* objects of one class in a cache */
#define TG_CACHE_SLOTS 3456 /* objects of all classes in a cache */

/*
 * One session's free objects and accounts.  The accounts outlive the session: the next session in
 * its place continues them, so that sums stay exact.
 */
typedef struct tg_cache
{
	int64_t used[TG_USE_COUNT];			 /* live bytes, taken less freed here; read by reports */
	uint16_t counts[TG_CLASS_COUNT + 1]; /* objects in each class's magazine; owner only */
	void *slots[TG_CACHE_SLOTS];		 /* the magazines, one after another; owner only */
} TG_CACHE_ALIGNED tg_cache;

extern size_t tg_objects_state_bytes(void);
extern void tg_objects_setup(void *state);

/* Adds the cache's accounts.  Any thread. */
extern void tg_cache_sum(const tg_cache *cache, int64_t used_sums[TG_USE_COUNT]);

extern uint64_t tg_objects_refused(void);

#endif /* TG_ARENA_INTERNAL_H */

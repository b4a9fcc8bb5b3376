/*
 * arena.c
 *	  The mapping, its parts, and the functions that other rooms call on it.
 *
 * The layout is in arena_internal.h.  Each process keeps the addresses of the parts in its own
 * memory, inherited by fork.  So a stray write into the arena cannot mislead a restart:
 * tg_arena_reset reads nothing from it.
 *
 * Left out: MAP_HUGETLB, which kills with SIGBUS if NORESERVE promised more pages than the pool
 * has; and growing the reservation, which is impossible at the same address in every process.
 */
#include "runtime/mem/arena.h"

#include <string.h>
#include <sys/mman.h>

#include "runtime/base/check.h"
#include "runtime/mem/arena_internal.h"
#include "runtime/mem/arena_poison.h"
#include "runtime/mem/session_internal.h"

#ifdef TG_POISON_ASAN
#include <pthread.h>
#endif

#define PAGE_TOTAL_MAX (TG_PAGE_NONE - 1)

/* The offsets of the parts from the start of the mapping. */
typedef struct layout
{
	size_t pages_state;
	size_t objects_state;
	size_t orphans_state;
	size_t sessions_state;
	size_t retirements;
	size_t caches;
	size_t huge_state;
	size_t kinds;
	size_t pages;
	size_t data;
	size_t end;
} layout;

/* This process's copy; constant except for the limit, inherited by fork. */
static struct
{
	char *mapping; /* NULL: no arena */
	layout parts;
	size_t limit_max; /* bytes: the reservation, without the reserve above it */
	size_t limit;	  /* bytes, last set by this process or an earlier one; as the next field */
	unsigned reserved_percent;
	unsigned session_max;
	bool huge_asked;
	bool one_process;
} arena;

#ifdef TG_POISON_ASAN
bool tg_poison_forked;
#endif

/* --- the mapping ------------------------------------------------------------------ */

/* Puts a part of so many bytes at the end of the layout; returns its offset. */
static size_t
layout_add(layout *parts, size_t bytes, size_t alignment)
{
	size_t begin = (parts->end + alignment - 1) & ~(alignment - 1);

	parts->end = begin + bytes;
	return begin;
}

/* Parts begin on pages of their own, so that unused parts cost nothing. */
static layout
layout_of(unsigned session_max, size_t page_total)
{
	layout parts = {.end = 0};

	parts.pages_state = layout_add(&parts, tg_pages_state_bytes(), TG_PAGE_BYTES);
	parts.objects_state = layout_add(&parts, tg_objects_state_bytes(), TG_PAGE_BYTES);
	parts.orphans_state = layout_add(&parts, tg_orphans_state_bytes(), TG_PAGE_BYTES);
	parts.sessions_state = layout_add(&parts, tg_sessions_state_bytes(session_max), TG_PAGE_BYTES);
	parts.retirements = layout_add(&parts, session_max * sizeof(tg_retirement), TG_PAGE_BYTES);
	parts.caches = layout_add(&parts, session_max * sizeof(tg_cache), TG_PAGE_BYTES);
	parts.huge_state = layout_add(&parts, tg_huge_state_bytes((uint32_t) page_total), TG_PAGE_BYTES);
	parts.kinds = layout_add(&parts, page_total * sizeof(*tg_page_kinds), TG_PAGE_BYTES);
	parts.pages = layout_add(&parts, page_total * sizeof(*tg_pages), TG_PAGE_BYTES);
	parts.data = layout_add(&parts, page_total << TG_PAGE_SHIFT, TG_HUGE_BYTES);
	return parts;
}

/*
 * Maps so many bytes, aligned to huge pages in the address space and also within the mapping:
 * shared memory gets huge pages only at multiples of their size in the mapping, so cutting off its
 * front would not do.  NULL if the system refuses.
 */
static char *
mapping_create(size_t bytes)
{
	size_t whole = bytes + TG_HUGE_BYTES;
	int sharing = arena.one_process ? MAP_PRIVATE : MAP_SHARED;
	char *room = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *memory;
	size_t before;

	if (room == MAP_FAILED)
		return NULL;
	before = (TG_HUGE_BYTES - (uintptr_t) room % TG_HUGE_BYTES) % TG_HUGE_BYTES;
	memory =
		mmap(room + before, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (memory == MAP_FAILED)
	{
		(void) munmap(room, whole);
		return NULL;
	}
	if (before > 0)
		(void) munmap(room, before);
	(void) munmap(memory + bytes, TG_HUGE_BYTES - before);
	return memory;
}

/* Maps room for a limit of so many bytes and the reserve above it. */
static bool
arena_map(size_t limit_max, unsigned session_max)
{
	size_t page_total = (limit_max + limit_max / 4) >> TG_PAGE_SHIFT;

	if (page_total == 0 || page_total > PAGE_TOTAL_MAX)
		return false;
	arena.parts = layout_of(session_max, page_total);
	arena.mapping = mapping_create(arena.parts.end);
	if (arena.mapping == NULL)
		return false;
	arena.limit_max = limit_max;
	tg_page_total = (uint32_t) page_total;
	return true;
}

/* Fills the empty mapping with its parts. */
static void
arena_setup(void)
{
	char *mapping = arena.mapping;
	const layout *parts = &arena.parts;

	tg_page_kinds = (uint8_t *) (mapping + parts->kinds);
	tg_pages = (tg_page *) (mapping + parts->pages);
	tg_page_base = mapping + parts->data;
	tg_pages_setup(mapping + parts->pages_state, arena.huge_asked ? TG_HUGE_PAGES : 1);
	tg_huge_setup(mapping + parts->huge_state, arena.huge_asked);
	tg_pages_limit_set(arena.limit);
	tg_pages_reserved_set(arena.reserved_percent);
	tg_objects_setup(mapping + parts->objects_state);
	tg_orphans_setup(mapping + parts->orphans_state);
	tg_sessions_setup(mapping + parts->sessions_state, arena.session_max, (tg_cache *) (mapping + parts->caches),
					  (tg_retirement *) (mapping + parts->retirements));
}

/*
 * Makes all of the memory usable again.  AddressSanitizer's shadow is an eighth of the memory that
 * it is told of, and becomes real memory: so it is told only of pages that have been handed out.
 */
static void
unpoison_all(void)
{
#ifdef TG_POISON_ASAN
	tg_unpoison(arena.mapping + arena.parts.data, (size_t) tg_poison_page_count << TG_PAGE_SHIFT);
	tg_poison_page_count = 0;
#endif
}

#ifdef TG_POISON_ASAN
static void
poison_end(void)
{
	if (arena.mapping != NULL && !tg_poison_forked)
		unpoison_all();
	tg_poison_forked = true;
}
#endif

/* --- in order of life ---------------------------------------------------------------- */

tg_status
tg_arena_create(const tg_arena_config *config)
{
	size_t reserve = config->reserve_bytes > config->limit_bytes ? config->reserve_bytes : config->limit_bytes;

	tg_check(arena.mapping == NULL);
	tg_assert(config->session_max > 0);
	arena.one_process = config->one_process;
	if (!arena_map(reserve, config->session_max) && !arena_map(config->limit_bytes, config->session_max))
		return TG_NO_MEMORY;
	arena.limit = config->limit_bytes & ~((size_t) TG_PAGE_BYTES - 1);
	arena.reserved_percent = config->reserved_percent;
	arena.session_max = config->session_max;
	arena.huge_asked = config->huge_pages && madvise(arena.mapping + arena.parts.data,
													 arena.parts.end - arena.parts.data, MADV_HUGEPAGE) == 0;
	arena_setup();
#ifdef TG_POISON_ASAN
	static bool registered;

	if (!registered)
		registered = pthread_atfork(poison_end, NULL, NULL) == 0;
#endif
	return TG_OK;
}

bool
tg_arena_empty(void *begin, size_t bytes)
{
	return madvise(begin, bytes, arena.one_process ? MADV_DONTNEED : MADV_REMOVE) == 0;
}

void
tg_arena_reset(void)
{
	tg_check(tg_arena_empty(arena.mapping, arena.parts.end));
	unpoison_all();
	arena_setup();
}

void
tg_arena_destroy(void)
{
	unpoison_all();
	tg_check(munmap(arena.mapping, arena.parts.end) == 0);
	arena.mapping = NULL;
}

void
tg_arena_limit_set(size_t limit_bytes)
{
	arena.limit = limit_bytes < arena.limit_max ? limit_bytes : arena.limit_max;
	tg_pages_limit_set(arena.limit);
}

void
tg_arena_reserved_set(unsigned percent)
{
	arena.reserved_percent = percent;
	tg_pages_reserved_set(percent);
}

/* --- figures ------------------------------------------------------------------------- */

void
tg_arena_report_get(tg_arena_report *report)
{
	int64_t used_sums[TG_USE_COUNT] = {0};

	memset(report, 0, sizeof(*report));
	tg_pages_report(report);
	tg_sessions_used_sum(used_sums);
	for (unsigned use = 0; use < TG_USE_COUNT; use++)
	{
		/* Sums over active sessions are not of one moment: a free may be seen without its claim. */
		report->used_by[use] = used_sums[use] > 0 ? (size_t) used_sums[use] : 0;
		report->used += report->used_by[use];
	}
	report->refused = tg_objects_refused();
	tg_huge_report(report);
}

size_t
tg_arena_committed(void)
{
	return tg_pages_committed();
}

size_t
tg_arena_limit(void)
{
	return tg_pages_limit();
}

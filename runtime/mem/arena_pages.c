/*
 * arena_pages.c
 *	  Spans of pages.
 *
 * A span is a run of pages with one purpose: a slab, a large object, or free.  Free spans are found
 * by length (bins with a bitmap over them, the first fit from the smallest bin: TLSF's good fit)
 * and joined with their neighbours by the descriptors of their first and last pages (boundary
 * tags).
 *
 * Free spans are of two sorts, after jemalloc's dirty and retained extents:
 *
 *	   take                    give                   purge
 *	  RETURNED --> allocated ------> IDLE --> LEAVING -------> RETURNED
 *					   ^              |
 *					   +-----take-----+
 *
 * 1. Every page belongs to exactly one span; two free spans of the same sort are never adjacent
 *	  while the latch is free.
 * 2. A RETURNED page reads as zeroes.  So the sorts are not joined with each other: otherwise a
 *	  large zeroed object would have to be cleared.  Exception: RETURNED pages in one huge page with
 *	  a span that becomes IDLE are joined to it; otherwise the huge page could never go back as a
 *	  whole.
 * 3. committed = pages of allocated spans.  idle = pages of IDLE spans.
 * 4. LEAVING pages belong to the thread that gives them back; no other thread joins or takes them.
 *
 * Giving pages back costs a system call and, when a page is used again, a fault, which is expensive
 * if a hypervisor has taken the page back meanwhile: loading a table that was emptied before spent
 * a sixth of its time there, and split huge pages.  So idle pages are kept.  Up to 8 MiB and a 16th
 * of the committed memory are kept permanently; beyond that, up to half of the memory that the
 * limit leaves free is kept while it is used again from time to time.  Pages that were idle for a
 * whole period of half a minute go back gradually (tg_arena_decay): their number is the least that
 * was idle at any moment of the period, as in TCMalloc's caches.  If tg_arena_decay is not called,
 * because there is no pool, the first bound is the only one, and past it half goes at once.  The
 * longest spans go first.  If huge pages are asked for (arena_huge.c), whole ones go, because a
 * hole splits one; small pages go only if idle ones exceed twice the first bound.
 *
 * The kernel is never called under the latch.  A claim that finds no span while others are leaving
 * waits for those; that is rare, because the reservation usually is larger than the limit.
 */
#include "runtime/mem/arena_internal.h"

#include <sched.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/mem/arena_poison.h"

#define BIN_EXACT 64  /* lengths below have a bin of their own */
#define BIN_COUNT 272 /* then 8 bins per doubling, up to 2^32 pages */
#define BIN_WORDS ((BIN_COUNT + 63) / 64)
#define BIN_LOOKS_MAX 32 /* spans examined in a bin whose spans may be too short */

#define IDLE_PAGES_MIN 2048 /* 8 MiB */
#define IDLE_SHARE 16
#define DECAY_PERIOD (30000000 / TG_TEND_US) /* calls */
#define DECAY_STEP 2048						 /* pages per call: 400 MiB a second */

/* Free spans of one sort, by length. */
typedef struct span_bins
{
	uint64_t filled[BIN_WORDS]; /* bit of each bin that has a span */
	uint32_t first[BIN_COUNT];
} span_bins;

/* Guarded by the latch, unless said otherwise. */
typedef struct pages_state
{
	tg_latch latch;
	uint32_t give_back_pages; /* constant: granule, a power of two */
	bool give_back_fails;	  /* the kernel has refused: all are kept */

	/*
	 * Figures, in pages: written under the latch (the limit and its reserved part: by any thread at
	 * any time), read by any thread, relaxed.
	 */
	size_t limit;
	size_t reserved_percent; /* not pages: of the limit */
	size_t reserve_base;	 /* committed when the limit was set */
	size_t committed;
	size_t peak;
	size_t idle;
	size_t leaving;

	bool tended;		  /* tg_arena_decay is being called */
	uint32_t decay_calls; /* in this period */
	size_t idle_low;	  /* the fewest idle pages in it */
	size_t surplus;		  /* pages still to go of those idle throughout the period before */

	span_bins idle_bins;
	span_bins returned_bins;
} pages_state;

char *tg_page_base;
uint32_t tg_page_total;
uint8_t *tg_page_kinds;
tg_page *tg_pages;
#ifdef TG_POISON_ASAN
uint32_t tg_poison_page_count;
#endif

static pages_state *state;

/* Under the latch; atomic only for threads that read without it. */
static void
figure_add(size_t *figure, size_t page_count)
{
	tg_store_relaxed(figure, *figure + page_count);
}

static void
figure_subtract(size_t *figure, size_t page_count)
{
	tg_assert(*figure >= page_count);
	tg_store_relaxed(figure, *figure - page_count);
}

static void
idle_subtract(size_t page_count)
{
	figure_subtract(&state->idle, page_count);
	if (state->idle < state->idle_low)
		state->idle_low = state->idle;
}

/* --- bins ----------------------------------------------------------------- */

static unsigned
bin_of(uint32_t page_count)
{
	unsigned log;

	if (page_count < BIN_EXACT)
		return page_count;
	log = 31 - (unsigned) __builtin_clz(page_count);
	return BIN_EXACT + (log - 6) * 8 + ((page_count >> (log - 3)) & 7);
}

static span_bins *
bins_of_kind(uint8_t kind)
{
	return kind == TG_KIND_IDLE ? &state->idle_bins : &state->returned_bins;
}

/* The first bin from here on that has a span, or BIN_COUNT. */
static unsigned
bin_filled_from(const span_bins *bins, unsigned bin)
{
	for (unsigned word = bin / 64; word < BIN_WORDS; word++)
	{
		uint64_t filled = bins->filled[word];

		if (word == bin / 64)
			filled &= ~UINT64_C(0) << (bin % 64);
		if (filled != 0)
			return word * 64 + (unsigned) __builtin_ctzll(filled);
	}
	return BIN_COUNT;
}

/* A span of at least page_count pages, or TG_PAGE_NONE. */
static uint32_t
bins_find(const span_bins *bins, uint32_t page_count)
{
	unsigned own = bin_of(page_count);
	unsigned larger = bin_filled_from(bins, own + 1);
	unsigned looks = larger < BIN_COUNT ? BIN_LOOKS_MAX : UINT32_MAX; /* last chance: examine all */

	for (uint32_t span = bins->first[own]; span != TG_PAGE_NONE && looks > 0; span = tg_pages[span].next, looks--)
	{
		if (tg_pages[span].page_count >= page_count)
			return span;
	}
	return larger < BIN_COUNT ? bins->first[larger] : TG_PAGE_NONE;
}

static void
span_mark(uint32_t first, uint32_t page_count, uint8_t kind)
{
	uint32_t last = first + page_count - 1;

	tg_page_kinds[first] = kind;
	tg_page_kinds[last] = kind;
	tg_pages[first].page_count = page_count;
	tg_pages[last].page_count = page_count;
}

static void
span_unlink(uint32_t first)
{
	span_bins *bins = bins_of_kind(tg_page_kinds[first]);
	tg_page *page = &tg_pages[first];
	unsigned bin = bin_of(page->page_count);

	if (page->prev == TG_PAGE_NONE)
		bins->first[bin] = page->next;
	else
		tg_pages[page->prev].next = page->next;
	if (page->next != TG_PAGE_NONE)
		tg_pages[page->next].prev = page->prev;
	if (bins->first[bin] == TG_PAGE_NONE)
		bins->filled[bin / 64] &= ~(UINT64_C(1) << (bin % 64));
}

static void
span_link(uint32_t first, uint32_t page_count, uint8_t kind)
{
	span_bins *bins = bins_of_kind(kind);
	unsigned bin = bin_of(page_count);
	tg_page *page = &tg_pages[first];

	span_mark(first, page_count, kind);
	page->prev = TG_PAGE_NONE;
	page->next = bins->first[bin];
	if (page->next != TG_PAGE_NONE)
		tg_pages[page->next].prev = first;
	bins->first[bin] = first;
	bins->filled[bin / 64] |= UINT64_C(1) << (bin % 64);
}

/*
 * Links a span that becomes free, joined with free neighbours of its sort (invariant 1).  Returns
 * the first page of the whole.
 */
static uint32_t
span_link_joined(uint32_t first, uint32_t page_count, uint8_t kind)
{
	uint32_t behind = first + page_count;

	if (first > 0 && tg_page_kinds[first - 1] == kind)
	{
		uint32_t before = first - tg_pages[first - 1].page_count;

		span_unlink(before);
		page_count += first - before;
		first = before;
	}
	if (behind < tg_page_total && tg_page_kinds[behind] == kind)
	{
		page_count += tg_pages[behind].page_count;
		span_unlink(behind);
	}
	span_link(first, page_count, kind);
	return first;
}

/* --- giving back to the system --------------------------------------------- */

static size_t
unused(void)
{
	size_t limit = tg_load_relaxed(&state->limit);

	return limit > state->committed ? limit - state->committed : 0;
}

/* The number of pages that are kept idle permanently. */
static size_t
idle_share(void)
{
	size_t share = IDLE_PAGES_MIN + state->committed / IDLE_SHARE;

	return share < unused() ? share : unused();
}

/* The part of a span that consists of whole granules.  False if there is none. */
static bool
span_granules(uint32_t first, uint32_t granule, uint32_t *begin_out, uint32_t *end_out)
{
	uint64_t begin = ((uint64_t) first + granule - 1) & ~((uint64_t) granule - 1);
	uint64_t end = ((uint64_t) first + tg_pages[first].page_count) & ~((uint64_t) granule - 1);

	*begin_out = (uint32_t) begin;
	*end_out = (uint32_t) end;
	return begin < end;
}

/*
 * An idle span with whole granules, long ones first; TG_PAGE_NONE if none is found in a bounded
 * search.
 */
static uint32_t
idle_find(uint32_t granule, uint32_t *begin_out, uint32_t *end_out)
{
	unsigned looks = BIN_LOOKS_MAX;

	for (unsigned bin = BIN_COUNT; bin-- > bin_of(granule);)
	{
		for (uint32_t span = state->idle_bins.first[bin]; span != TG_PAGE_NONE; span = tg_pages[span].next)
		{
			if (span_granules(span, granule, begin_out, end_out))
				return span;
			if (--looks == 0)
				return TG_PAGE_NONE;
		}
	}
	return TG_PAGE_NONE;
}

/* Marks whole granules of an idle span as leaving; the rest stays idle. */
static void
span_leave(uint32_t span, uint32_t begin, uint32_t end)
{
	uint32_t span_end = span + tg_pages[span].page_count;

	span_unlink(span);
	if (begin > span)
		span_link(span, begin - span, TG_KIND_IDLE);
	if (span_end > end)
		span_link(end, span_end - end, TG_KIND_IDLE);
	span_mark(begin, end - begin, TG_KIND_LEAVING);
	tg_huge_leaving(begin, end);
	idle_subtract(end - begin);
	figure_add(&state->leaving, end - begin);
}

/* Ends the leaving: the kernel has taken the pages, or refused. */
static void
span_left(uint32_t begin, uint32_t end, bool taken)
{
	figure_subtract(&state->leaving, end - begin);
	if (taken)
	{
		uint32_t whole = span_link_joined(begin, end - begin, TG_KIND_RETURNED);

		tg_huge_returned(begin, end, whole, whole + tg_pages[whole].page_count);
	}
	else
	{
		state->give_back_fails = true;
		tg_huge_backed(begin, end);
		figure_add(&state->idle, end - begin);
		(void) span_link_joined(begin, end - begin, TG_KIND_IDLE);
	}
}

/*
 * Gives idle pages back, as whole granules, until at most keep are left or there is no such
 * granule.  Latch held on entry and exit, free in between.
 */
static void
idle_purge(size_t keep, uint32_t granule)
{
	while (state->idle > keep && !state->give_back_fails)
	{
		uint32_t begin;
		uint32_t end;
		uint32_t span = idle_find(granule, &begin, &end);
		size_t enough = (state->idle - keep + granule - 1) & ~((size_t) granule - 1);
		bool taken;

		if (span == TG_PAGE_NONE)
			break;
		if (end - begin > enough)
			begin = end - (uint32_t) enough;
		span_leave(span, begin, end);
		tg_latch_release(&state->latch);
		taken = tg_arena_empty(tg_page_address(begin), (size_t) (end - begin) << TG_PAGE_SHIFT);
		tg_latch_acquire(&state->latch);
		span_left(begin, end, taken);
	}
}

/* As idle_purge: whole huge pages; small ones only if there are too many of them. */
static void
idle_purge_huge(size_t keep)
{
	idle_purge(keep, state->give_back_pages);
	if (state->idle > 2 * idle_share())
		idle_purge(keep, 1);
}

/* Keeps idle pages within their bound.  Latch held on entry and exit. */
static void
idle_bound(void)
{
	size_t share = idle_share();
	size_t bound = state->tended && share < unused() / 2 ? unused() / 2 : share;

	if (tg_unlikely(state->idle > bound))
		idle_purge_huge(bound - share / 2);
}

/* --- set-up and figures ----------------------------------------------------- */

size_t
tg_pages_state_bytes(void)
{
	return sizeof(pages_state);
}

void
tg_pages_setup(void *memory, uint32_t give_back_pages)
{
	state = memory;
	memset(state, 0, sizeof(*state));
	tg_latch_init(&state->latch, TG_RANK_PAGES);
	state->give_back_pages = give_back_pages;
	for (unsigned bin = 0; bin < BIN_COUNT; bin++)
		state->idle_bins.first[bin] = state->returned_bins.first[bin] = TG_PAGE_NONE;
	span_link(0, tg_page_total, TG_KIND_RETURNED);
}

void
tg_pages_limit_set(size_t limit_bytes)
{
	/*
	 * A limit below the memory in use refuses new data, but not claims that free some: see
	 * claim_fits.
	 */
	tg_store_relaxed(&state->reserve_base, tg_load_relaxed(&state->committed));
	tg_store_relaxed(&state->limit, limit_bytes >> TG_PAGE_SHIFT);
}

void
tg_pages_reserved_set(unsigned percent)
{
	tg_store_relaxed(&state->reserved_percent, percent);
}

size_t
tg_pages_limit(void)
{
	return tg_load_relaxed(&state->limit) << TG_PAGE_SHIFT;
}

size_t
tg_pages_committed(void)
{
	return tg_load_relaxed(&state->committed) << TG_PAGE_SHIFT;
}

void
tg_pages_trim(void)
{
	tg_latch_acquire(&state->latch);
	state->tended = false;
	idle_purge(0, 1);
	tg_latch_release(&state->latch);
}

void
tg_arena_decay(void)
{
	size_t share;
	size_t step;

	tg_latch_acquire(&state->latch);
	state->tended = true;
	share = idle_share();
	if (++state->decay_calls >= DECAY_PERIOD)
	{
		state->surplus = state->idle_low > share ? state->idle_low - share : 0;
		state->idle_low = state->idle;
		state->decay_calls = 0;
	}
	step = state->surplus < DECAY_STEP ? state->surplus : DECAY_STEP;
	state->surplus -= step;
	if (step > 0 && state->idle > share)
		idle_purge_huge(state->idle - share > step ? state->idle - step : share);
	tg_latch_release(&state->latch);
}

void
tg_arena_prepare(void)
{
	tg_huge_span asked = {0};
	size_t limit = tg_load_relaxed(&state->limit);

	if (tg_likely(!tg_huge_is_wanted()))
		return;
	tg_latch_acquire(&state->latch);
	if (state->committed + TG_HUGE_PAGES <= limit)
		asked = tg_huge_prepare((uint32_t) ((limit - state->committed) / TG_HUGE_PAGES));
	tg_latch_release(&state->latch);
	(void) tg_huge_ask(asked);
}

void
tg_arena_mend(void)
{
	tg_huge_span asked;

	if (!tg_huge_can_mend())
		return;
	tg_latch_acquire(&state->latch);
	asked = tg_huge_mend();
	tg_latch_release(&state->latch);
	if (asked.end != 0)
		tg_huge_mended(tg_huge_ask(asked));
}

void
tg_pages_report(tg_arena_report *report)
{
	report->reserved = (size_t) tg_page_total << TG_PAGE_SHIFT;
	report->limit = tg_pages_limit();
	report->committed = tg_pages_committed();
	report->peak = tg_load_relaxed(&state->peak) << TG_PAGE_SHIFT;
	report->idle = tg_load_relaxed(&state->idle) << TG_PAGE_SHIFT;
}

/* Whether a free span is in the list of its bin, and that bin is marked. */
static bool
span_is_linked(uint32_t first)
{
	const span_bins *bins = bins_of_kind(tg_page_kinds[first]);
	unsigned bin = bin_of(tg_pages[first].page_count);
	uint32_t span = bins->first[bin];

	while (span != TG_PAGE_NONE && span != first)
		span = tg_pages[span].next;
	return span == first && (bins->filled[bin / 64] >> (bin % 64) & 1) != 0;
}

void
tg_pages_check(uint32_t (*slab_check)(uint32_t first))
{
	uint8_t kind_before = TG_KIND_NONE;
	uint32_t page_count;
	size_t idle = 0;
	size_t committed = 0;

	for (uint32_t first = 0; first < tg_page_total; first += page_count)
	{
		uint8_t kind = tg_page_kinds[first];

		tg_check(kind != TG_KIND_NONE && kind != TG_KIND_LEAVING);
		page_count = kind <= TG_CLASS_COUNT ? slab_check(first) : tg_pages[first].page_count;
		tg_check(page_count > 0 && page_count <= tg_page_total - first);
		tg_check(tg_page_kinds[first + page_count - 1] == kind);
		if (kind <= TG_KIND_LARGE)
			committed += page_count;
		else
		{
			tg_check(kind != kind_before); /* or they should have been joined */
			tg_check(tg_pages[first + page_count - 1].page_count == page_count);
			tg_check(span_is_linked(first));
			idle += kind == TG_KIND_IDLE ? page_count : 0;
		}
		tg_huge_check(first, page_count, kind == TG_KIND_RETURNED);
		kind_before = kind;
	}
	tg_check(idle == state->idle && committed == state->committed && state->leaving == 0);
}

/* --- take and give ---------------------------------------------------------- */

static bool
claim_fits(uint32_t page_count, tg_claim claim)
{
	size_t limit = tg_load_relaxed(&state->limit);

	if (claim == TG_ESSENTIAL)
	{
		size_t base = tg_load_relaxed(&state->reserve_base);

		limit = (base > limit ? base : limit) * (1 + TG_RESERVE);
	}
	else if (claim != TG_MAINTENANCE)
	{
		size_t reserved = limit * tg_load_relaxed(&state->reserved_percent) / 100;

		limit -= reserved + (claim == TG_BULK ? limit / TG_BULK_RESERVE : 0);
	}
	return state->committed + page_count <= limit;
}

/* Finds idle spans first: they are backed already.  Waits for leaving ones if there is no other. */
static uint32_t
span_find(uint32_t page_count)
{
	for (;;)
	{
		uint32_t span = bins_find(&state->idle_bins, page_count);

		if (span == TG_PAGE_NONE)
			span = bins_find(&state->returned_bins, page_count);
		if (span != TG_PAGE_NONE)
			return span;

		/* Neighbours of different sorts may together be long enough. */
		if (state->idle > 0 && !state->give_back_fails)
			idle_purge(0, 1);
		else if (state->leaving > 0)
		{
			tg_latch_release(&state->latch);
			(void) sched_yield();
			tg_latch_acquire(&state->latch);
		}
		else
			return TG_PAGE_NONE;
	}
}

bool
tg_span_take(uint32_t page_count, uint8_t new_kind, tg_claim claim, uint32_t *first_out, bool *zeroed_out)
{
	uint32_t span = TG_PAGE_NONE;
	tg_huge_span asked = {0};

	tg_assert(page_count > 0);
	tg_latch_acquire(&state->latch);
	if (claim_fits(page_count, claim))
		span = span_find(page_count);
	if (span != TG_PAGE_NONE && tg_unlikely(!claim_fits(page_count, claim)))
		span = TG_PAGE_NONE; /* others were faster while span_find had released the latch */
	if (span != TG_PAGE_NONE)
	{
		uint8_t kind = tg_page_kinds[span];
		uint32_t rest = tg_pages[span].page_count - page_count;

		span_unlink(span);
		if (rest > 0)
			span_link(span + page_count, rest, kind);
		if (kind == TG_KIND_RETURNED)
			asked = tg_huge_take(span, page_count);
		span_mark(span, page_count, new_kind);
#ifdef TG_POISON_ASAN
		if (span + page_count > tg_poison_page_count)
			tg_poison_page_count = span + page_count;
#endif
		if (new_kind != TG_KIND_LARGE)
			memset(&tg_page_kinds[span], new_kind, page_count);
		figure_add(&state->committed, page_count);
		if (state->committed > state->peak)
			tg_store_relaxed(&state->peak, state->committed);
		if (kind == TG_KIND_IDLE)
			idle_subtract(page_count);
		*first_out = span;
		*zeroed_out = kind == TG_KIND_RETURNED;
		idle_bound();
	}
	tg_latch_release(&state->latch);
	if (span != TG_PAGE_NONE)
		tg_unpoison(tg_page_address(span), (size_t) page_count << TG_PAGE_SHIFT);
	(void) tg_huge_ask(asked);
	return span != TG_PAGE_NONE;
}

/*
 * Joins RETURNED pages beside a span that becomes idle to it, as far as they lie in the same
 * granules: in huge granules these pages are backed, and so whole granules can go back.
 */
static void
span_absorb(uint32_t *first, uint32_t *page_count)
{
	uint32_t granule = state->give_back_pages;
	uint32_t begin = *first & ~(granule - 1);
	uint32_t behind = *first + *page_count;
	uint32_t end = (behind + granule - 1) & ~(granule - 1);

	if (begin < *first && tg_page_kinds[*first - 1] == TG_KIND_RETURNED)
	{
		uint32_t span = *first - tg_pages[*first - 1].page_count;

		span_unlink(span);
		if (span < begin)
			span_link(span, begin - span, TG_KIND_RETURNED);
		else
			begin = span;
		tg_huge_backed(begin, *first);
		*page_count += *first - begin;
		*first = begin;
	}
	if (behind < end && behind < tg_page_total && tg_page_kinds[behind] == TG_KIND_RETURNED)
	{
		uint32_t span_end = behind + tg_pages[behind].page_count;

		span_unlink(behind);
		if (span_end > end)
			span_link(end, span_end - end, TG_KIND_RETURNED);
		else
			end = span_end;
		tg_huge_backed(behind, end);
		*page_count += end - behind;
	}
}

void
tg_span_give(uint32_t first, uint32_t page_count)
{
	tg_assert(page_count > 0 && first < tg_page_total && page_count <= tg_page_total - first);
	tg_poison(tg_page_address(first), (size_t) page_count << TG_PAGE_SHIFT);
	tg_latch_acquire(&state->latch);
	figure_subtract(&state->committed, page_count);
	span_absorb(&first, &page_count);
	figure_add(&state->idle, page_count);
	(void) span_link_joined(first, page_count, TG_KIND_IDLE);
	idle_bound();
	tg_latch_release(&state->latch);
}

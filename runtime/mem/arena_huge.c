/*
 * arena_huge.c
 *	  Huge pages under the data pages.
 *
 * A look-up in a table that does not fit into the caches waits less for its data than for the
 * translation of their addresses: with pages of 4 KiB the page table itself is out of the caches.
 * Linux gives shared memory huge pages if the administrator has enabled that, which is rare, or if
 * a process asks for them range by range: MADV_COLLAPSE, since 6.1 (madvise(2): of the settings
 * below /sys/kernel/mm/transparent_hugepage it respects only "deny").
 *
 * A granule is an aligned range of 2 MiB.  It is asked for when its first page is taken: then there
 * is nothing to be copied and no thread that the copying would delay, and the kernel clears at once
 * the memory that it would otherwise clear page by page, in a tenth of the time (110 us).  But if a
 * hypervisor gives memory only at its first use, this takes 5 ms.  So the granule behind those in
 * use is asked for in advance, by a thread that no session waits for (tg_arena_prepare); a session
 * that takes pages asks only if it was faster.  Other processes map the granule as a whole at their
 * first access.
 *
 * A request makes the kernel wait for all processors to empty their lists of pages first, however
 * much is asked for: while they are busy, that takes longer than to clear the pages one by one.  So
 * when pages are taken faster than granules come, up to AHEAD_MAX of them are asked for at once.
 *
 *	  UNTOUCHED --take--> ASKING --given--> HUGE
 *	      ^                |  ^              |
 *	      |          declined |         part of it goes back
 *	      |                v  |mended        |
 *	      +-- all of it -- SMALL <-----------+
 *	          went back
 *
 * 1. All pages of an UNTOUCHED granule are RETURNED (arena_pages.c), so it lies within one free
 *	  span, because neighbours of one sort are joined.  A granule in another state whose pages are
 *	  all RETURNED was asked for in advance.
 * 2. A granule that was split, or declined, is never mended by a session that takes pages: a
 *	  session that takes and gives back at the memory's limit would have it collapsed and split time
 *	  and again.  The thread that no session waits for asks once more (tg_arena_mend) for a granule
 *	  whose pages are all taken or idle in two rounds, a second apart.  The kernel copies it (0.3
 *	  ms), and no more memory is in use than before.  Loads of data make this worthwhile: versions'
 *	  headers lie between the chunks that they belong to, and a third of all pages go back and are
 *	  taken again.
 * 3. Pages of a HUGE granule that have never been taken stay RETURNED, though they are backed: they
 *	  read as zeroes, and the next span taken may cross the granule's end.  They become idle, and go
 *	  back, together with a neighbour that is given back (span_absorb).
 *
 * States change under the pages' latch, except the outcome of ASKING: the asking thread sets it
 * without the latch, unless part of the granule went back meanwhile.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/check.h"
#include "runtime/mem/arena_internal.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1's number; older C libraries have no name for it */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* 5.14 */
#endif

enum
{
	UNTOUCHED, /* the state of all granules of an empty arena */
	ASKING,
	HUGE,
	SMALL,
	RIPE /* SMALL, and the previous round has found all its pages in use */
};

#define ASK_TRIES 3
#define AHEAD_MAX 8 /* 16 MiB */

#define MEND_LOOKS_MAX 64 /* granules per call */
#define MEND_PAUSE_MIN (1000000 / TG_TEND_US)
#define MEND_PAUSE_MAX (64 * MEND_PAUSE_MIN)

typedef struct granule
{
	uint8_t state;
	uint16_t backed; /* pages that are neither RETURNED nor LEAVING; under the latch */
} granule;

/* In the arena. */
typedef struct huge_state
{
	bool asks;			 /* constant: huge pages are wanted */
	bool given;			 /* the kernel has given one */
	bool refused;		 /* it does not know them, or must not give them: not asked any more */
	uint32_t next;		 /* the first granule to ask for in advance; 0: none */
	uint32_t ahead;		 /* how many; under the latch */
	bool is_late;		 /* one was taken before it was given, since the last request; likewise */
	uint32_t declined;	 /* requests declined */
	uint32_t behind;	 /* granules ever taken lie before this one; under the latch */
	uint32_t mend_at;	 /* position of the mending round; under the latch */
	uint32_t mend_calls; /* calls left of its pause; under the latch */
	uint32_t mend_pause; /* calls to pause after each round: more while all is declined */
	granule granules[];
} huge_state;

static huge_state *state;

static uint32_t
granule_of(uint32_t page)
{
	return page / TG_HUGE_PAGES;
}

/* The number of granules that are wholly or partly reserved. */
static uint32_t
granule_total(void)
{
	return granule_of(tg_page_total - 1) + 1;
}

/* The number of the granule's pages in [begin, end). */
static uint32_t
pages_within(uint32_t at, uint32_t begin, uint32_t end)
{
	uint32_t granule_begin = at * TG_HUGE_PAGES;
	uint32_t granule_end = granule_begin + TG_HUGE_PAGES;

	return (end < granule_end ? end : granule_end) - (begin > granule_begin ? begin : granule_begin);
}

size_t
tg_huge_state_bytes(uint32_t page_total)
{
	return sizeof(huge_state) + (page_total / TG_HUGE_PAGES + 1) * sizeof(granule);
}

void
tg_huge_setup(void *memory, bool asks)
{
	state = memory; /* the arena is empty: all granules are UNTOUCHED */
	state->asks = asks;
	state->ahead = 1;
	state->mend_pause = MEND_PAUSE_MIN;
}

static uint8_t
state_of(uint32_t at)
{
	return tg_load_relaxed(&state->granules[at].state);
}

static void
state_set(uint32_t at, uint8_t to)
{
	tg_store_relaxed(&state->granules[at].state, to);
}

static bool
is_asked(void)
{
	return state->asks && !tg_load_relaxed(&state->refused);
}

/*
 * Marks an UNTOUCHED granule that is about to be taken, or prepared.  Returns whether to ask for
 * it.
 */
static bool
begin_asking(uint32_t at)
{
	/* A granule that crosses the end of the reservation has no room for a huge page. */
	bool ask = is_asked() && (at + 1) * (uint64_t) TG_HUGE_PAGES <= tg_page_total;

	state_set(at, ask ? ASKING : SMALL);
	return ask;
}

static tg_huge_span
span_of(uint32_t at)
{
	return (tg_huge_span){.begin = at * TG_HUGE_PAGES, .end = (at + 1) * TG_HUGE_PAGES};
}

void
tg_huge_backed(uint32_t begin, uint32_t end)
{
	for (uint32_t at = granule_of(begin); at <= granule_of(end - 1); at++)
		state->granules[at].backed += pages_within(at, begin, end);
}

void
tg_huge_leaving(uint32_t begin, uint32_t end)
{
	for (uint32_t at = granule_of(begin); at <= granule_of(end - 1); at++)
		state->granules[at].backed -= pages_within(at, begin, end);
}

/* If less than half of what is asked for at once is left behind those that are being taken. */
static void
want_more(uint32_t behind)
{
	uint32_t at = behind;
	uint32_t end = behind + state->ahead / 2;

	if (!is_asked())
		return;
	while (at < end && at < granule_total() && state_of(at) != UNTOUCHED)
		at++;
	if (at < granule_total() && state_of(at) == UNTOUCHED)
		tg_store_relaxed(&state->next, at);
}

tg_huge_span
tg_huge_take(uint32_t first, uint32_t page_count)
{
	uint32_t behind = granule_of(first + page_count - 1) + 1;
	tg_huge_span asked = {0};

	for (uint32_t at = granule_of(first); at < behind; at++)
	{
		state->is_late |= state_of(at) == ASKING || (state_of(at) == UNTOUCHED && at != 0 && at == state->next);
		if (state_of(at) != UNTOUCHED || !begin_asking(at))
			continue;
		if (asked.end == 0)
			asked.begin = at * TG_HUGE_PAGES;
		asked.end = (at + 1) * TG_HUGE_PAGES;
	}
	if (state->behind < behind)
		state->behind = behind;
	want_more(behind);
	tg_huge_backed(first, first + page_count);
	return asked;
}

bool
tg_huge_is_wanted(void)
{
	return tg_load_relaxed(&state->next) != 0;
}

/* Twice as many at once as the last time, or one less. */
static void
adapt(void)
{
	if (state->is_late)
		state->ahead = state->ahead * 2 < AHEAD_MAX ? state->ahead * 2 : AHEAD_MAX;
	else if (state->ahead > 1)
		state->ahead--;
	state->is_late = false;
}

tg_huge_span
tg_huge_prepare(uint32_t granule_max)
{
	uint32_t at = state->next;
	tg_huge_span asked = {0};

	tg_store_relaxed(&state->next, 0);
	if (at == 0)
		return asked;
	adapt();
	for (uint32_t i = 0; i < state->ahead && i < granule_max && at + i < granule_total(); i++)
	{
		if (state_of(at + i) != UNTOUCHED || !begin_asking(at + i))
			break;
		asked.begin = at * TG_HUGE_PAGES;
		asked.end = (at + i + 1) * TG_HUGE_PAGES;
	}
	return asked;
}

bool
tg_huge_can_mend(void)
{
	return is_asked() && tg_load_relaxed(&state->given);
}

tg_huge_span
tg_huge_mend(void)
{
	if (state->mend_calls > 0)
	{
		state->mend_calls--;
		return (tg_huge_span){0};
	}
	for (unsigned looks = 0; looks < MEND_LOOKS_MAX && state->mend_at < state->behind; looks++)
	{
		uint32_t at = state->mend_at++;

		if (state->granules[at].backed < TG_HUGE_PAGES)
			continue;
		if (state_of(at) == RIPE)
		{
			state_set(at, ASKING);
			return span_of(at);
		}
		if (state_of(at) == SMALL)
			state_set(at, RIPE);
	}
	if (state->mend_at >= state->behind)
	{
		state->mend_at = 0;
		state->mend_calls = tg_load_relaxed(&state->mend_pause);
	}
	return (tg_huge_span){0};
}

void
tg_huge_mended(bool given)
{
	uint32_t longer = tg_load_relaxed(&state->mend_pause) * 2;

	tg_store_relaxed(&state->mend_pause, given ? MEND_PAUSE_MIN : longer < MEND_PAUSE_MAX ? longer : MEND_PAUSE_MAX);
}

/*
 * The kernel collapses existing pages: one of each granule has to exist.  Another session may own
 * it by now, so it is populated without writing to it.
 */
static bool
populate(tg_huge_span asked)
{
	for (uint32_t page = asked.begin; page < asked.end; page += TG_HUGE_PAGES)
		if (madvise(tg_page_address(page), TG_PAGE_BYTES, MADV_POPULATE_WRITE) != 0)
			return false;
	return true;
}

static bool
collapse(tg_huge_span asked)
{
	size_t bytes = (size_t) (asked.end - asked.begin) << TG_PAGE_SHIFT;

	return madvise(tg_page_address(asked.begin), bytes, MADV_COLLAPSE) == 0;
}

bool
tg_huge_ask(tg_huge_span asked)
{
	bool there = populate(asked);
	bool at_once = there && asked.end - asked.begin > TG_HUGE_PAGES && collapse(asked);
	bool all = true;

	for (uint32_t page = asked.begin; page < asked.end; page += TG_HUGE_PAGES)
	{
		tg_huge_span one = {.begin = page, .end = page + TG_HUGE_PAGES};
		uint8_t asking = ASKING;
		bool given = at_once;

		/* EAGAIN: one of the pages was busy, in another processor's list for example. */
		for (unsigned tries = 0; there && tries < ASK_TRIES && !given && (tries == 0 || errno == EAGAIN); tries++)
			given = collapse(one);
		if (given)
			tg_store_relaxed(&state->given, true);
		else
		{
			all = false;
			(void) tg_fetch_add_relaxed(&state->declined, 1);
			/*
			 * Once it has given one, EINVAL only says that pages of this granule went back
			 * meanwhile.
			 */
			if (errno == EINVAL && !tg_load_relaxed(&state->given))
				tg_store_relaxed(&state->refused, true);
		}
		(void) tg_cas_acq_rel(&state->granules[granule_of(page)].state, &asking, given ? HUGE : SMALL);
	}
	return all;
}

void
tg_huge_returned(uint32_t begin, uint32_t end, uint32_t span_begin, uint32_t span_end)
{
	for (uint32_t at = granule_of(begin); at <= granule_of(end - 1); at++)
	{
		uint32_t granule_begin = at * TG_HUGE_PAGES;
		bool whole =
			span_begin <= granule_begin && (span_end - granule_begin >= TG_HUGE_PAGES || span_end == tg_page_total);

		state_set(at, whole ? UNTOUCHED : SMALL);
	}
}

void
tg_huge_report(tg_arena_report *report)
{
	for (uint32_t at = 0; at < granule_total(); at++)
	{
		if (state_of(at) == HUGE)
			report->huge += TG_HUGE_BYTES;
	}
	report->huge_declined = tg_load_relaxed(&state->declined) * TG_HUGE_BYTES;
	report->huge_asked = state->asks;
	report->huge_refused = tg_load_relaxed(&state->refused);
}

void
tg_huge_check(uint32_t first, uint32_t page_count, bool returned)
{
	static uint32_t backed; /* of the present granule */

	for (uint32_t at = granule_of(first); at <= granule_of(first + page_count - 1); at++)
	{
		uint32_t begin = at * TG_HUGE_PAGES;
		uint32_t end = begin + TG_HUGE_PAGES < tg_page_total ? begin + TG_HUGE_PAGES : tg_page_total;
		bool whole = returned && first <= begin && end <= first + page_count;

		tg_check(state_of(at) != UNTOUCHED || whole);
		if (first <= begin)
			backed = 0;
		if (!returned)
			backed += pages_within(at, first, first + page_count);
		tg_check(first + page_count < end || backed == state->granules[at].backed);
	}
}

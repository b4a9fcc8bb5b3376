/*
 * arena_huge.c
 *	  Huge pages under the data pages.
 *
 * A look-up in a table that does not fit into the caches waits less for its data
 * than for the translation of their addresses: with pages of 4 KiB the page
 * table itself is out of the caches.  Linux gives shared memory huge pages only
 * if the administrator has set so, which hardly anybody has, or to who asks for
 * them stretch by stretch: MADV_COLLAPSE, since 6.1 (madvise(2): it is not bound
 * by the settings below /sys/kernel/mm/transparent_hugepage but "deny").
 *
 * A granule is an aligned stretch of 2 MiB.  It is asked for when the first page
 * of it is taken: then there is nothing to be copied and nobody whom that would
 * keep waiting, and the kernel clears at once what it would have cleared page by
 * page, in a tenth of the time (110 us); but where a hypervisor gives memory
 * only at its first use, 5 ms.  So the one behind those in use is asked for ahead, by a
 * thread that nobody waits for (tg_arena_prepare), and whoever takes pages asks himself only if
 * he was faster.  Other processes map it as a whole when they first touch it.
 *
 *	  UNTOUCHED --take--> ASKING --given--> HUGE
 *	      ^                 |                |
 *	      |              refused        part of it goes back
 *	      |                 v                |
 *	      +-- all of it -- SMALL <-----------+
 *	          went back
 *
 * 1. All pages of an UNTOUCHED granule are RETURNED (arena_pages.c), so that it lies within
 *	  one free span, as neighbours of a sort are joined.  If all pages of another one are, it was asked for ahead.
 * 2. A granule is asked for once: what was split stays so until all of it has gone back, or who
 *	  takes and gives at the memory's limit would have it put together and split time and again.
 * 3. Pages of a HUGE granule that nobody has taken yet stay RETURNED, though they are backed: they read
 *	  as zeroes, and what is taken next may lie across the granule's end.  They count as idle, and go back, with
 *	  whichever neighbour is given back (span_absorb).
 *
 * States change under the pages' latch, but for the outcome of an ASKING, which
 * its asker sets without, unless part of the granule went back meanwhile.
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
	UNTOUCHED, /* what an empty arena consists of */
	ASKING,
	HUGE,
	SMALL
};

/* In the arena. */
typedef struct huge_state
{
	bool asks;			/* constant: they were wanted */
	bool given;			/* the kernel has given one */
	bool refused;		/* it knows no such thing, or must not: not asked any more */
	uint32_t next;		/* the granule to ask for ahead; 0: none */
	uint32_t declined;	/* askings in vain */
	uint8_t granules[]; /* state of each */
} huge_state;

static huge_state *state;

static uint32_t
granule_of(uint32_t page)
{
	return page / TG_HUGE_PAGES;
}

/* Granules that are wholly or partly reserved. */
static uint32_t
granule_total(void)
{
	return granule_of(tg_page_total - 1) + 1;
}

size_t
tg_huge_state_bytes(uint32_t page_total)
{
	return sizeof(huge_state) + page_total / TG_HUGE_PAGES + 1;
}

void
tg_huge_setup(void *memory, bool asks)
{
	state = memory; /* the arena is empty: all are UNTOUCHED */
	state->asks = asks;
}

static bool
is_untouched(uint32_t granule)
{
	return tg_load_relaxed(&state->granules[granule]) == UNTOUCHED;
}

static bool
is_asked(void)
{
	return state->asks && !tg_load_relaxed(&state->refused);
}

/* Marks an UNTOUCHED granule that is about to be taken, or prepared.  Whether it is to be asked for. */
static bool
begin_asking(uint32_t granule)
{
	/* What does not end within the reservation has no room for a huge page. */
	bool ask = is_asked() && (granule + 1) * (uint64_t) TG_HUGE_PAGES <= tg_page_total;

	tg_store_relaxed(&state->granules[granule], ask ? ASKING : SMALL);
	return ask;
}

tg_huge_span
tg_huge_take(uint32_t first, uint32_t page_count)
{
	uint32_t behind = granule_of(first + page_count - 1) + 1;
	tg_huge_span asked = {0};

	for (uint32_t granule = granule_of(first); granule < behind; granule++)
	{
		if (!is_untouched(granule) || !begin_asking(granule))
			continue;
		if (asked.end == 0)
			asked.begin = granule * TG_HUGE_PAGES;
		asked.end = (granule + 1) * TG_HUGE_PAGES;
	}
	if (is_asked() && behind < granule_total() && is_untouched(behind))
		tg_store_relaxed(&state->next, behind);
	return asked;
}

bool
tg_huge_is_wanted(void)
{
	return tg_load_relaxed(&state->next) != 0;
}

tg_huge_span
tg_huge_prepare(void)
{
	uint32_t granule = state->next;

	tg_store_relaxed(&state->next, 0);
	if (granule == 0 || !is_untouched(granule) || !begin_asking(granule))
		return (tg_huge_span){0};
	return (tg_huge_span){.begin = granule * TG_HUGE_PAGES, .end = (granule + 1) * TG_HUGE_PAGES};
}

void
tg_huge_ask(tg_huge_span asked)
{
	for (uint32_t page = asked.begin; page < asked.end; page += TG_HUGE_PAGES)
	{
		char *memory = tg_page_address(page);
		uint8_t asking = ASKING;
		/* The kernel puts together what is there: one page has to be.  It may be somebody's by now: we do not write to it. */
		bool given = madvise(memory, TG_PAGE_BYTES, MADV_POPULATE_WRITE) == 0 &&
					 madvise(memory, TG_HUGE_BYTES, MADV_COLLAPSE) == 0;

		if (given)
			tg_store_relaxed(&state->given, true);
		else
		{
			(void) tg_fetch_add_relaxed(&state->declined, 1);
			/* Once it has given one, this says that somebody gave back pages of this granule meanwhile. */
			if (errno == EINVAL && !tg_load_relaxed(&state->given))
				tg_store_relaxed(&state->refused, true);
		}
		(void) tg_cas_acq_rel(&state->granules[granule_of(page)], &asking, given ? HUGE : SMALL);
	}
}

void
tg_huge_returned(uint32_t begin, uint32_t end, uint32_t span_begin, uint32_t span_end)
{
	for (uint32_t granule = granule_of(begin); granule <= granule_of(end - 1); granule++)
	{
		uint32_t granule_begin = granule * TG_HUGE_PAGES;
		bool whole =
			span_begin <= granule_begin && (span_end - granule_begin >= TG_HUGE_PAGES || span_end == tg_page_total);

		tg_store_relaxed(&state->granules[granule], whole ? UNTOUCHED : SMALL);
	}
}

void
tg_huge_report(tg_arena_report *report)
{
	for (uint32_t granule = 0; granule < granule_total(); granule++)
	{
		if (tg_load_relaxed(&state->granules[granule]) == HUGE)
			report->huge += TG_HUGE_BYTES;
	}
	report->huge_declined = tg_load_relaxed(&state->declined) * TG_HUGE_BYTES;
	report->huge_asked = state->asks;
	report->huge_refused = tg_load_relaxed(&state->refused);
}

void
tg_huge_check(uint32_t first, uint32_t page_count, bool returned)
{
	for (uint32_t granule = granule_of(first); granule <= granule_of(first + page_count - 1); granule++)
	{
		uint32_t begin = granule * TG_HUGE_PAGES;
		uint32_t end = begin + TG_HUGE_PAGES < tg_page_total ? begin + TG_HUGE_PAGES : tg_page_total;
		bool whole = returned && first <= begin && end <= first + page_count;

		tg_check(!is_untouched(granule) || whole);
	}
}

/*
 * explore_litmus.c
 *	  The explorer itself: small programs whose outcomes are known.
 *
 * For each program and memory the set of outcomes found must be exactly the one
 * that the memory's definition allows: not more, or searches would report what
 * cannot happen; not less, or they would miss what can.  Names and results are the
 * literature's (L. Maranget et al., "A tutorial introduction to the ARM and POWER
 * relaxed memory models", 2012; O. Lahav et al., "Repairing sequential consistency
 * in C/C++11", 2017).  Then: races of plain accesses, memory that was not published
 * or was freed, and a planted weakness that is never met.
 */
#include "runtime/base/atomic.h"

#include <string.h>

#include "test/explore/explore.h"
#include "test/unit/unit.h"

#define REGISTERS 4
#define OUTCOMES_MAX 32

typedef struct shared
{
	uint32_t x;
	uint32_t y;
	explore_plain plain;
	uint8_t registers[REGISTERS];
} shared;

static shared *world;
static char outcomes[OUTCOMES_MAX][REGISTERS + 1]; /* values of the registers, in order */
static unsigned outcome_count;

/* Outcomes are the values of the registers at the end. */
typedef struct litmus
{
	const char *name;
	unsigned thread_count;
	void (*thread)(unsigned number);
	void (*end)(void); /* after the threads */
	unsigned register_count;
	const char *allowed[EXPLORE_MEMORIES];
} litmus;

/* --- programs ------------------------------------------------------------------------ */

/* Store buffering. */
static void
sb(unsigned number)
{
	tg_store_release(number == 0 ? &world->x : &world->y, 1);
	world->registers[number] = (uint8_t) tg_load_acquire(number == 0 ? &world->y : &world->x);
}

static void
sb_fences(unsigned number)
{
	tg_store_relaxed(number == 0 ? &world->x : &world->y, 1);
	tg_fence_seq_cst();
	world->registers[number] = (uint8_t) tg_load_relaxed(number == 0 ? &world->y : &world->x);
}

/* An exchange in place of a fence: enough on x86, not in C11. */
static void
sb_exchanges(unsigned number)
{
	(void) tg_exchange_acq_rel(number == 0 ? &world->x : &world->y, 1);
	world->registers[number] = (uint8_t) tg_load_acquire(number == 0 ? &world->y : &world->x);
}

static void
sb_store_then_fence(unsigned number)
{
	tg_store_then_fence(number == 0 ? &world->x : &world->y, 1);
	world->registers[number] = (uint8_t) tg_load_relaxed(number == 0 ? &world->y : &world->x);
}

/* Message passing. */
static void
mp(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->x, 1);
		tg_store_release(&world->y, 1);
	}
	else
	{
		world->registers[0] = (uint8_t) tg_load_acquire(&world->y);
		world->registers[1] = (uint8_t) tg_load_relaxed(&world->x);
	}
}

static void
mp_relaxed_store(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->x, 1);
		tg_store_relaxed(&world->y, 1);
	}
	else
	{
		world->registers[0] = (uint8_t) tg_load_acquire(&world->y);
		world->registers[1] = (uint8_t) tg_load_relaxed(&world->x);
	}
}

static void
mp_relaxed_load(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->x, 1);
		tg_store_release(&world->y, 1);
	}
	else
	{
		world->registers[0] = (uint8_t) tg_load_relaxed(&world->y);
		world->registers[1] = (uint8_t) tg_load_relaxed(&world->x);
	}
}

static void
mp_fences(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->x, 1);
		tg_fence_release();
		tg_store_relaxed(&world->y, 1);
	}
	else
	{
		world->registers[0] = (uint8_t) tg_load_relaxed(&world->y);
		tg_fence_acquire();
		world->registers[1] = (uint8_t) tg_load_relaxed(&world->x);
	}
}

/* A relaxed read-modify-write of a third thread between release and acquire. */
static void
mp_sequence(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->x, 1);
		tg_store_release(&world->y, 1);
	}
	else if (number == 1)
		(void) tg_fetch_add_relaxed(&world->y, 1);
	else
	{
		world->registers[0] = (uint8_t) tg_load_acquire(&world->y);
		world->registers[1] = (uint8_t) tg_load_relaxed(&world->x);
	}
}

/* Two writers, two readers that disagree on their order. */
static void
iriw(unsigned number)
{
	if (number < 2)
		tg_store_release(number == 0 ? &world->x : &world->y, 1);
	else
	{
		world->registers[2 * number - 4] = (uint8_t) tg_load_acquire(number == 2 ? &world->x : &world->y);
		world->registers[2 * number - 3] = (uint8_t) tg_load_acquire(number == 2 ? &world->y : &world->x);
	}
}

static void
iriw_fences(unsigned number)
{
	if (number < 2)
		tg_store_relaxed(number == 0 ? &world->x : &world->y, 1);
	else
	{
		world->registers[2 * number - 4] = (uint8_t) tg_load_relaxed(number == 2 ? &world->x : &world->y);
		tg_fence_seq_cst();
		world->registers[2 * number - 3] = (uint8_t) tg_load_relaxed(number == 2 ? &world->y : &world->x);
	}
}

/* Coherence: one location is read in its order. */
static void
corr(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->x, 1);
		tg_store_relaxed(&world->x, 2);
	}
	else
	{
		world->registers[0] = (uint8_t) tg_load_relaxed(&world->x);
		world->registers[1] = (uint8_t) tg_load_relaxed(&world->x);
	}
}

/* Load buffering: not on these machines. */
static void
lb(unsigned number)
{
	world->registers[number] = (uint8_t) tg_load_relaxed(number == 0 ? &world->x : &world->y);
	tg_store_relaxed(number == 0 ? &world->y : &world->x, 1);
}

static void
end_with_memory(void)
{
	world->registers[0] = (uint8_t) tg_load_relaxed(&world->x);
	world->registers[1] = (uint8_t) tg_load_relaxed(&world->y);
}

/*
 * Two writers of two locations; to keep the first store of each requires one to go before
 * another's.
 */
static void
two_plus_two(unsigned number)
{
	uint32_t *first = number == 0 ? &world->x : &world->y;
	uint32_t *second = number == 0 ? &world->y : &world->x;

	tg_store_release(first, 1);
	tg_store_release(second, 2);
}

/* Read-modify-writes lose nothing. */
static void
adds(unsigned number)
{
	world->registers[number] = (uint8_t) tg_fetch_add_relaxed(&world->x, 1);
}

/* A store may go anywhere except between a read-modify-write and the store that this has read. */
static void
store_beside_add(unsigned number)
{
	if (number == 0)
		tg_store_relaxed(&world->x, 2);
	else
		(void) tg_fetch_add_relaxed(&world->x, 1);
}

static void
swaps(unsigned number)
{
	uint32_t expected = 0;

	world->registers[number] = tg_cas_acq_rel(&world->x, &expected, number + 1) ? 0 : (uint8_t) expected;
}

#define SB_STRONG "01 10 11"
#define SB_WEAK "00 01 10 11"
#define MP_STRONG "00 01 11"
#define MP_WEAK "00 01 10 11"
#define IRIW_STRONG "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"
#define IRIW_WEAK "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1010 1011 1100 1101 1110 1111"

static const litmus programs[] = {
	{"store buffering", 2, sb, NULL, 2, {SB_STRONG, SB_WEAK, SB_WEAK}},
	{"store buffering, fences", 2, sb_fences, NULL, 2, {SB_STRONG, SB_STRONG, SB_STRONG}},
	{"store buffering, exchanges", 2, sb_exchanges, NULL, 2, {SB_STRONG, SB_STRONG, SB_WEAK}},
	{"store buffering, store then fence", 2, sb_store_then_fence, NULL, 2, {SB_STRONG, SB_STRONG, SB_STRONG}},
	{"message passing", 2, mp, NULL, 2, {MP_STRONG, MP_STRONG, MP_STRONG}},
	{"message passing, relaxed store", 2, mp_relaxed_store, NULL, 2, {MP_STRONG, MP_STRONG, MP_WEAK}},
	{"message passing, relaxed load", 2, mp_relaxed_load, NULL, 2, {MP_STRONG, MP_STRONG, MP_WEAK}},
	{"message passing, fences", 2, mp_fences, NULL, 2, {MP_STRONG, MP_STRONG, MP_STRONG}},
	{"message passing through an addition",
	 3,
	 mp_sequence,
	 NULL,
	 2,
	 {"00 01 10 11 21", "00 01 10 11 21", "00 01 10 11 21"}},
	{"independent reads", 4, iriw, NULL, 4, {IRIW_STRONG, IRIW_STRONG, IRIW_WEAK}},
	{"independent reads, fences", 4, iriw_fences, NULL, 4, {IRIW_STRONG, IRIW_STRONG, IRIW_STRONG}},
	{"coherence", 2, corr, NULL, 2, {"00 01 02 11 12 22", "00 01 02 11 12 22", "00 01 02 11 12 22"}},
	{"load buffering", 2, lb, NULL, 2, {"00 01 10", "00 01 10", "00 01 10"}},
	{"two writers", 2, two_plus_two, end_with_memory, 2, {"12 21 22", "12 21 22", "11 12 21 22"}},
	{"additions", 3, adds, NULL, 3, {"012 021 102 120 201 210", "012 021 102 120 201 210", "012 021 102 120 201 210"}},
	{"a store beside an addition", 2, store_beside_add, end_with_memory, 2, {"20 30", "20 30", "20 30"}},
	{"swaps", 2, swaps, NULL, 2, {"01 20", "01 20", "01 20"}},
};

/* --- running them ----------------------------------------------------------------------- */

static void
setup(const void *config)
{
	(void) config;
	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	EXPLORE_FIELD(&world->x, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->y, EXPLORE_SHARED);
}

static void
thread(unsigned number, const void *config)
{
	((const litmus *) config)->thread(number);
}

/* Keeps the outcomes sorted. */
static void
finish(const void *config)
{
	const litmus *litmus = config;
	char outcome[REGISTERS + 1] = "";
	unsigned place = 0;

	if (litmus->end)
		litmus->end();
	for (unsigned i = 0; i < litmus->register_count; i++)
		outcome[i] = (char) ('0' + world->registers[i]);
	while (place < outcome_count && strcmp(outcomes[place], outcome) < 0)
		place++;
	if (place < outcome_count && strcmp(outcomes[place], outcome) == 0)
		return;
	if (outcome_count == OUTCOMES_MAX)
		explore_violation("too many outcomes");
	memmove(outcomes[place + 1], outcomes[place], (outcome_count - place) * sizeof(outcomes[0]));
	memcpy(outcomes[place], outcome, sizeof(outcome));
	outcome_count++;
}

static explore_result
run(const litmus *litmus, explore_memory memory, const explore_plant *plant, bool stores_come_first)
{
	explore_program program = {.thread_count = litmus->thread_count,
							   .alike_from = litmus->thread_count,
							   .stores_come_first = stores_come_first,
							   .config = litmus,
							   .setup = setup,
							   .thread = thread,
							   .finish = finish};

	outcome_count = 0;
	return explore(&program, memory, plant, 1000000);
}

/* The outcomes of the last run. */
static void
join_outcomes(char *text)
{
	text[0] = '\0';
	for (unsigned i = 0; i < outcome_count; i++)
	{
		strcat(text, i > 0 ? " " : "");
		strcat(text, outcomes[i]);
	}
}

/* Whether each outcome of a memory is one of the next memory, too. */
static bool
all_are_in(const char *outcomes_of_one, const char *of_next)
{
	size_t length = strcspn(outcomes_of_one, " ");

	for (const char *place = outcomes_of_one; *place != '\0'; place += length + (place[length] != '\0'))
	{
		const char *found = of_next;

		while (strncmp(found, place, length) != 0)
		{
			if (found[length] == '\0')
				return false;
			found += length + 1;
		}
	}
	return true;
}

/* With C11's stores in their turn, and before all else: nothing gets lost. */
static void
test_outcomes(void)
{
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
	{
		const litmus *litmus = &programs[i];
		bool nested = true;

		for (explore_memory memory = EXPLORE_SC; memory < EXPLORE_MEMORIES; memory++)
		{
			for (unsigned stores_come_first = 0; stores_come_first <= (memory == EXPLORE_C11); stores_come_first++)
			{
				explore_result result = run(litmus, memory, NULL, stores_come_first != 0);
				char found[OUTCOMES_MAX * (REGISTERS + 1) + 1];

				join_outcomes(found);
				unit_ok(!result.violated && result.complete && strcmp(found, litmus->allowed[memory]) == 0,
						"%s, %s%s: %s, %llu states", litmus->name, explore_memory_names[memory],
						stores_come_first != 0 ? " with stores first" : "", found, (unsigned long long) result.states);
			}
			nested =
				nested && (memory == EXPLORE_SC || all_are_in(litmus->allowed[memory - 1], litmus->allowed[memory]));
		}
		unit_ok(nested, "%s: what can be on one memory, can be on the next", litmus->name);
	}
}

/* --- what it reports --------------------------------------------------------------------- */

static void
passes_plain(unsigned number)
{
	if (number == 0)
	{
		explore_plain_write(&world->plain);
		tg_store_release(&world->x, 1);
	}
	else if (tg_load_acquire(&world->x) == 1)
		explore_plain_read(&world->plain);
}

/* Fences that order all atomics do not order plain accesses. */
static void
passes_plain_by_fences(unsigned number)
{
	if (number == 0)
	{
		explore_plain_write(&world->plain);
		tg_fence_seq_cst();
		tg_store_relaxed(&world->x, 1);
	}
	else
	{
		tg_fence_seq_cst();
		if (tg_load_relaxed(&world->x) == 1)
			explore_plain_read(&world->plain);
	}
}

static void
reads_before_write(unsigned number)
{
	if (number == 0)
	{
		explore_plain_read(&world->plain);
		tg_store_release(&world->x, 1);
	}
	else if (tg_load_acquire(&world->x) == 1)
		explore_plain_write(&world->plain);
}

/* The offset of new memory is passed on by x; 0 is none. */
static void
passes_memory(unsigned number)
{
	uint32_t offset;

	if (number == 0)
	{
		uint32_t *memory = explore_allocate(sizeof(uint32_t));

		EXPLORE_FIELD(memory, 0);
		tg_store_relaxed(memory, 1);
		tg_store_release(&world->x, (uint32_t) ((char *) memory - (char *) world));
		return;
	}
	offset = tg_load_acquire(&world->x);
	if (offset > 0)
		(void) tg_load_relaxed((uint32_t *) ((char *) world + offset));
}

static void
frees_memory(unsigned number)
{
	if (number == 0)
		explore_free(world);
	(void) tg_load_relaxed(&world->x);
}

/* While the other one may stand before its access. */
static void
frees_memory_of_other(unsigned number)
{
	if (number == 0)
	{
		tg_store_relaxed(&world->y, 1);
		explore_free(world);
	}
	else
		(void) tg_exchange_acq_rel(&world->x, 1);
}

static void
reads_plain_memory(unsigned number)
{
	if (number == 0)
		(void) tg_load_relaxed(&world->registers[0]);
}

typedef struct report
{
	litmus litmus;
	explore_plant plant;
	const char *reason; /* NULL: none */
} report;

static const report reports[] = {
	{{"what is plain, published", 2, passes_plain, NULL, 0, {NULL}}, {NULL, NULL, 0}, NULL},
	{{"what is plain, relaxed store", 2, passes_plain, NULL, 0, {NULL}},
	 {"passes_plain", "tg_store_release(&world->x)", EXPLORE_RELAX},
	 "a plain read races with thread 0"},
	{{"what is plain, relaxed load", 2, passes_plain, NULL, 0, {NULL}},
	 {"passes_plain", "tg_load_acquire(&world->x)", EXPLORE_RELAX},
	 "a plain read races with thread 0"},
	{{"what is plain, fences on the wrong sides", 2, passes_plain_by_fences, NULL, 0, {NULL}},
	 {NULL, NULL, 0},
	 "a plain read races with thread 0"},
	{{"a read, then a write", 2, reads_before_write, NULL, 0, {NULL}}, {NULL, NULL, 0}, NULL},
	{{"a read, then a write, relaxed store", 2, reads_before_write, NULL, 0, {NULL}},
	 {"reads_before_write", "tg_store_release(&world->x)", EXPLORE_RELAX},
	 "a plain write races with thread 0"},
	{{"new memory", 2, passes_memory, NULL, 0, {NULL}}, {NULL, NULL, 0}, NULL},
	{{"new memory, relaxed store", 2, passes_memory, NULL, 0, {NULL}},
	 {"passes_memory", "tg_store_release(&world->x)", EXPLORE_RELAX},
	 "passes_memory: tg_load_relaxed((uint32_t *) ((char *) world + offset)): memory that was not published to this "
	 "thread"},
	{{"memory that was freed", 2, frees_memory, NULL, 0, {NULL}},
	 {NULL, NULL, 0},
	 "frees_memory: tg_load_relaxed(&world->x): memory that was freed"},
	{{"memory that is freed meanwhile", 2, frees_memory_of_other, NULL, 0, {NULL}},
	 {NULL, NULL, 0},
	 "frees_memory_of_other: tg_exchange_acq_rel(&world->x): memory that was freed"},
	{{"no atomic field", 2, reads_plain_memory, NULL, 0, {NULL}},
	 {NULL, NULL, 0},
	 "reads_plain_memory: tg_load_relaxed(&world->registers[0]): not an atomic field"},
};

static void
test_reports(void)
{
	static const explore_plant nowhere = {"passes_plain", "tg_load_relaxed(&world->x)", EXPLORE_RELAX};

	for (unsigned i = 0; i < sizeof(reports) / sizeof(reports[0]); i++)
	{
		const report *report = &reports[i];
		explore_result result =
			run(&report->litmus, EXPLORE_C11, report->plant.function ? &report->plant : NULL, false);

		unit_ok(strcmp(result.reason, report->reason ? report->reason : "") == 0 &&
					result.violated == (report->reason != NULL),
				"%s: %s", report->litmus.name, result.violated ? result.reason : "right");
	}
	unit_ok(!run(&reports[0].litmus, EXPLORE_C11, &nowhere, false).planted,
			"says if what is to be planted is never met");
}

int
main(void)
{
	test_outcomes();
	test_reports();
	return unit_done();
}

/*
 * arena_huge.c
 *	  Huge pages below the data: asked for once, accounted for, given back as a whole; what
 *	  lies in them is zeroed and whole as it is in small ones.
 */
#include "runtime/mem/arena.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/mem/session.h"
#include "test/unit/filled.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

static tg_session *session;

/*
 * Takes and gives of many lengths over huge pages, which trims split and put together again: memory
 * that has to be zeroed is zeroed, and no two takes overlap.
 */
static void
huge_pages_random(void)
{
	enum
	{
		OBJECTS = 128,
		ROUNDS = 4000
	};
	char *objects[OBJECTS] = {NULL};
	size_t sizes[OBJECTS];
	uint64_t random = 7;
	unsigned not_zero = 0;
	unsigned damaged = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
	{
		unsigned place;

		place = unit_below(&random, OBJECTS);
		if (objects[place] == NULL)
		{
			sizes[place] = ((size_t) 20000 << unit_below(&random, 7)) + unit_below(&random, 256) * 8;
			objects[place] = tg_alloc_zeroed(session, sizes[place], TG_USE_CHUNK, TG_DATA);
			if (objects[place] == NULL) /* the limit is near */
				continue;
			for (size_t at = 0; at < sizes[place]; at += 8)
				not_zero += *(uint64_t *) (objects[place] + at) != 0;
			memset(objects[place], pattern_of(objects[place]), sizes[place]);
		}
		else
		{
			damaged += !is_filled(objects[place], sizes[place]);
			tg_free(session, objects[place], TG_USE_CHUNK);
			objects[place] = NULL;
		}
		if (i % 256 == 0)
		{
			if (i % 512 == 0)
				tg_arena_trim();
			tg_arena_check();
		}
	}
	unit_equal(not_zero, 0, "zeroed objects are, wherever they lie in huge pages");
	unit_equal(damaged, 0, "and none overlaps another");
	for (unsigned place = 0; place < OBJECTS; place++)
	{
		if (objects[place] != NULL)
			tg_free(session, objects[place], TG_USE_CHUNK);
	}
	tg_arena_check();
}

static void
test_huge_pages(bool one_process)
{
	tg_arena_config config = {.reserve_bytes = 256 * MIB,
							  .limit_bytes = 256 * MIB,
							  .session_max = 40,
							  .huge_pages = true,
							  .one_process = one_process};
	void *objects[64];
	tg_arena_report report;

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned i = 0; i < 64; i++)
		objects[i] = filled(session, MIB + i * 5000, TG_USE_CHUNK, TG_DATA);
	report = report_now();
	unit_ok(report.huge_asked && (report.huge_refused || report.huge + report.huge_declined >= report.committed),
			"huge pages are below all that is in use, or the system refuses them");
	unit_ok(report.huge <= report.committed + report.idle + 2 * MIB, "and all of them are accounted for");
	tg_arena_check();
	printf("# huge pages%s: refused %d, declined %zu, %zu of %zu bytes\n", one_process ? " in private memory" : "",
		   report.huge_refused, report.huge_declined, report.huge, report.committed);
	for (unsigned i = 0; i < 64; i++)
		tg_free(session, objects[i * 37 % 64], TG_USE_CHUNK);
	unit_ok(report_now().idle <= 10 * MIB, "idle huge pages are kept within the bound, too");
	tg_arena_limit_set(24 * MIB);
	huge_pages_random();
	tg_session_close(session);
	tg_arena_trim();
	unit_ok(arena_resident() < 4 * MIB, "and all go by a trim");
	tg_arena_destroy();
}

/* Bytes of huge pages, given or declined. */
static size_t
asked_so_far(void)
{
	tg_arena_report report = report_now();

	return report.huge + report.huge_declined;
}

/* The next one is asked for before anybody takes its pages, but not beyond the limit. */
static void
test_prepared(void)
{
	tg_arena_config config = {.reserve_bytes = 64 * MIB, .limit_bytes = 16 * MIB, .session_max = 4, .huge_pages = true};
	size_t before;
	char *object;

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	tg_free(session, filled(session, 100000, TG_USE_CHUNK, TG_DATA), TG_USE_CHUNK);
	before = asked_so_far();
	tg_arena_prepare();
	tg_arena_prepare();
	unit_ok(report_now().huge_refused || asked_so_far() == before + 2 * MIB,
			"one huge page is asked for ahead, and no other");
	tg_arena_check();
	object = tg_alloc_zeroed(session, 5 * MIB, TG_USE_CHUNK, TG_DATA);
	unit_ok(object != NULL && object[0] == 0 && memcmp(object, object + 1, 5 * MIB - 1) == 0, "it is zeroed");
	tg_arena_limit_set(6 * MIB);
	before = asked_so_far();
	tg_arena_prepare();
	unit_equal(asked_so_far(), before, "none beyond the limit");
	tg_arena_limit_set(16 * MIB);
	tg_arena_prepare();
	unit_ok(report_now().huge_refused || asked_so_far() == before + 2 * MIB, "but once that is raised");
	tg_free(session, object, TG_USE_CHUNK);
	tg_session_close(session);
	tg_arena_trim();
	tg_arena_check();
	tg_arena_destroy();
}

/* Takes pages up to the first granule that nobody has asked for before, or so much. */
static unsigned
take_until_asked(char **objects, unsigned most)
{
	size_t begin = asked_so_far();
	unsigned count = 0;

	while (count < most && asked_so_far() == begin)
		objects[count++] = tg_alloc(session, 1 * MIB, TG_USE_CHUNK, TG_DATA);
	return count;
}

/* How many are asked for in advance. */
static size_t
prepare_now(void)
{
	size_t before = asked_so_far();

	tg_arena_prepare();
	return (asked_so_far() - before) / (2 * MIB);
}

/* More of them at once, while they are taken before anybody has asked for them. */
static void
test_prepared_late(void)
{
	tg_arena_config config = {
		.reserve_bytes = 512 * MIB, .limit_bytes = 512 * MIB, .session_max = 4, .huge_pages = true};
	char *objects[400];
	unsigned count = 0;
	size_t most = 0;
	size_t last = 0;

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned i = 0; i < 5; i++)
	{
		count += take_until_asked(objects + count, 30);
		most = prepare_now();
	}
	for (unsigned i = 0; i < 40; i++)
	{
		size_t asked;

		count += take_until_asked(objects + count, 2);
		asked = prepare_now();
		last = asked > 0 ? asked : last;
	}
	unit_ok(report_now().huge_refused || most == 8, "where they come too late, more are asked for at once: %zu", most);
	unit_ok(report_now().huge_refused || last < most, "and fewer where they do not: %zu", last);
	while (count > 0)
		tg_free(session, objects[--count], TG_USE_CHUNK);
	tg_session_close(session);
	tg_arena_trim();
	tg_arena_check();
	tg_arena_destroy();
}

/* An object loses its huge pages when all others in them are freed; once full, they are mended. */
static void
test_mended(void)
{
	enum
	{
		OBJECTS = 128
	};
	tg_arena_config config = {.reserve_bytes = 64 * MIB, .limit_bytes = 64 * MIB, .session_max = 4, .huge_pages = true};
	char *objects[OBJECTS];
	tg_arena_report report;
	size_t before;
	unsigned damaged = 0;

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = filled(session, 100000, TG_USE_CHUNK, TG_DATA);
	for (unsigned i = 1; i < OBJECTS; i += 2)
		tg_free(session, objects[i], TG_USE_CHUNK);
	tg_arena_trim();
	tg_arena_check();
	before = asked_so_far();
	unit_ok(report_now().huge <= 2 * MIB, "holes split huge pages");
	for (unsigned i = 0; i < 1000; i++)
		tg_arena_mend();
	unit_equal(asked_so_far(), before, "with the holes in them they stay so");
	for (unsigned i = 1; i < OBJECTS; i += 2)
		objects[i] = filled(session, 100000, TG_USE_CHUNK, TG_DATA);
	unit_ok(report_now().huge <= 4 * MIB, "nor does filling them mend them");
	before = asked_so_far();
	for (unsigned i = 0; i < 1000000 / TG_TEND_US; i++)
		tg_arena_mend();
	unit_equal(asked_so_far(), before, "one round sees them, and asks for none");
	for (unsigned i = 0; i < 4000; i++)
		tg_arena_mend();
	report = report_now();
	unit_ok(report.huge_refused ||
				report.huge + report.huge_declined - before >= report.committed / (2 * MIB) * (2 * MIB),
			"the next ones ask for each that is full");
	unit_ok(report.huge <= report.committed + report.idle + 2 * MIB, "all of them are accounted for");
	for (unsigned i = 0; i < OBJECTS; i++)
	{
		damaged += !is_filled(objects[i], 100000);
		tg_free(session, objects[i], TG_USE_CHUNK);
	}
	unit_equal(damaged, 0, "and their objects stayed whole");
	tg_arena_check();
	tg_session_close(session);
	tg_arena_trim();
	tg_arena_check();
	tg_arena_destroy();
}

int
main(void)
{
	alarm(600);
	test_huge_pages(false);
	test_huge_pages(true);
	test_prepared();
	test_prepared_late();
	test_mended();
	return unit_done();
}

/*
 * arena.c
 *	  The arena hands out memory of the size and alignment it promises, within
 *	  its limit, counts every byte, and gives back what is free.
 *
 * Every object is filled with a pattern made from its address, so that two
 * objects that overlap, or one that is handed out twice, show.
 */
#include "runtime/mem/arena.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/session.h"
#include "test/unit/filled.h"
#include "test/unit/unit.h"

#define GIB ((size_t) 1 << 30)

static tg_session *session; /* main's own */

static void
arena_begin(size_t reserve_bytes, size_t limit_bytes)
{
	tg_arena_config config = {.reserve_bytes = reserve_bytes, .limit_bytes = limit_bytes, .session_max = 40};

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
}

static void
arena_end(void)
{
	tg_session_close(session);
	tg_arena_destroy();
}

/* --- sizes, alignment, contents ---------------------------------------------------- */

static size_t
alignment_promised(size_t bytes)
{
	size_t alignment = bytes & -bytes;
	size_t least = bytes > 16384 ? TG_PAGE_BYTES : bytes > 1024 ? 64 : bytes > 256 ? 16 : 8;

	if (alignment > TG_PAGE_BYTES)
		alignment = TG_PAGE_BYTES;
	return alignment > least ? alignment : least;
}

static size_t
bytes_promised(size_t bytes)
{
	size_t step = 8;

	if (bytes > 16384)
		step = TG_PAGE_BYTES;
	else if (bytes > 256)
	{
		for (step = 16; step * 32 < bytes; step *= 2)
			;
	}
	return (bytes + step - 1) / step * step;
}

static void
test_sizes(void)
{
	enum
	{
		SIZES = 20000
	};
	static void *objects[SIZES + 1];
	size_t start = report_now().used;
	size_t expected = start;
	unsigned misaligned = 0;
	unsigned wrong_size = 0;
	unsigned damaged = 0;

	for (size_t bytes = 1; bytes <= SIZES; bytes++)
	{
		objects[bytes] = filled(session, bytes, TG_USE_BLOB, TG_DATA);
		if (objects[bytes] == NULL)
			abort();
		misaligned += (uintptr_t) objects[bytes] % alignment_promised(bytes) != 0;
		wrong_size += tg_alloc_bytes(objects[bytes]) != bytes_promised(bytes);
		expected += bytes_promised(bytes);
	}
	unit_equal(misaligned, 0, "every size up to %d is aligned as promised", SIZES);
	unit_equal(wrong_size, 0, "every size occupies what is promised");
	unit_equal(report_now().used_by[TG_USE_BLOB], expected, "used is the sum of what objects occupy");
	unit_equal(bytes_promised(84), 88, "a blob of 84 bytes costs 88");
	for (size_t bytes = 1; bytes <= SIZES; bytes++)
	{
		damaged += !is_filled(objects[bytes], bytes);
		tg_free(session, objects[bytes], TG_USE_BLOB);
	}
	unit_equal(damaged, 0, "no object overlaps another");
	unit_equal(report_now().used, start, "used is exactly what it was");
	tg_arena_check();
}

/* Slabs that were full take objects back and hand them out again. */
static void
test_reuse(void)
{
	enum
	{
		OBJECTS = 10000
	};
	static void *objects[OBJECTS];
	size_t committed;

	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = filled(session, 200, TG_USE_BLOB, TG_DATA);
	committed = tg_arena_committed();
	for (unsigned i = 0; i < OBJECTS; i += 2)
		tg_free(session, objects[i], TG_USE_BLOB);
	tg_arena_check();
	for (unsigned i = 0; i < OBJECTS; i += 2)
		objects[i] = filled(session, 200, TG_USE_BLOB, TG_DATA);
	unit_equal(tg_arena_committed(), committed, "objects freed here and there are used again before new pages");
	tg_arena_check();
	for (unsigned i = 0; i < OBJECTS; i++)
		tg_free(session, objects[i], TG_USE_BLOB);
}

static bool
is_zero(const void *object, size_t bytes)
{
	const uint8_t *byte = object;

	return byte[0] == 0 && memcmp(byte, byte + 1, bytes - 1) == 0;
}

static void
test_zeroed(void)
{
	static const size_t sizes[] = {1, 84, 4096, 16384, 100000, 2 * MIB};
	unsigned dirty = 0;

	for (unsigned i = 0; i < 6; i++)
	{
		for (unsigned round = 0; round < 3; round++)
		{
			void *object = tg_alloc_zeroed(session, sizes[i], TG_USE_BLOB, TG_DATA);

			dirty += !is_zero(object, sizes[i]);
			memset(object, 0xee, sizes[i]);
			tg_free(session, object, TG_USE_BLOB);
			if (round == 1)
				tg_arena_trim();
		}
	}
	unit_equal(dirty, 0, "zeroed memory is zero, new, used before, and back from the system");
	tg_free(session, tg_alloc(session, 0, TG_USE_BLOB, TG_DATA), TG_USE_BLOB);
}

static void
test_values(void)
{
	size_t start = report_now().used;
	uint8_t *value = tg_alloc(session, GIB, TG_USE_BLOB, TG_DATA);

	unit_ok(value != NULL, "a value of 1 GB fits");
	value[0] = 1;
	value[GIB / 2] = 2;
	value[GIB - 1] = 3;
	unit_equal(tg_alloc_bytes(value), GIB, "it occupies 1 GB");
	unit_ok(value[0] == 1 && value[GIB / 2] == 2 && value[GIB - 1] == 3, "and holds what was written");
	tg_free(session, value, TG_USE_BLOB);
	unit_equal(report_now().used, start, "used is exactly what it was");
	unit_ok(tg_alloc(session, SIZE_MAX, TG_USE_BLOB, TG_ESSENTIAL) == NULL, "the largest size is refused");
	unit_ok(tg_alloc(session, 64 * GIB, TG_USE_BLOB, TG_ESSENTIAL) == NULL, "more than is reserved is refused");
}

/* --- limit ---------------------------------------------------------------------------- */

/* A session that has claimed much is refused before one that has not. */
static void
test_bulk(void)
{
	size_t limit = 8 * MIB;
	tg_session *other;
	void **objects = malloc(limit / 20000 * sizeof(void *));
	unsigned count = 0;
	void *small;

	if (tg_session_open(&other) != TG_OK)
		abort();
	tg_arena_limit_set(limit);
	tg_claims_begin(session);
	while ((objects[count] = tg_alloc(session, 20480, TG_USE_BLOB, TG_DATA)) != NULL)
		count++;
	unit_ok(tg_arena_committed() > limit / 100 * 95 && tg_arena_committed() <= limit - limit / 32,
			"a transaction that claims all it can get is refused a 32nd before the limit");
	tg_claims_begin(other);
	small = tg_alloc(other, limit / 64, TG_USE_BLOB, TG_DATA);
	unit_ok(small != NULL, "another one, that claims a 64th, is not");
	tg_free(other, small, TG_USE_BLOB);
	unit_ok(tg_alloc(session, 20480, TG_USE_BLOB, TG_DATA) == NULL, "the first still is");
	tg_claims_end(session);
	small = tg_alloc(session, 20480, TG_USE_BLOB, TG_DATA);
	unit_ok(small != NULL, "when it has ended it is like any other");
	tg_free(session, small, TG_USE_BLOB);
	while (count-- > 0)
		tg_free(session, objects[count], TG_USE_BLOB);
	free(objects);
	tg_session_close(other);
	tg_arena_limit_set(16 * GIB);
}

/* The last part of the limit is for privileged sessions, and for the collection. */
static void
test_reserved(void)
{
	size_t limit = 8 * MIB;
	size_t reserved_from = (limit / 10 * 9 + TG_PAGE_BYTES - 1) & ~((size_t) TG_PAGE_BYTES - 1);
	void **objects = malloc(limit / 20000 * sizeof(void *));
	unsigned count = 0;
	size_t committed;

	tg_arena_limit_set(limit);
	tg_arena_reserved_set(10);
	while ((objects[count] = tg_alloc(session, 20480, TG_USE_BLOB, TG_DATA)) != NULL)
		count++;
	committed = tg_arena_committed();
	unit_ok(committed <= reserved_from && committed + 20480 > reserved_from,
			"data is refused where the reserved part begins");
	objects[count] = tg_alloc(session, 20480, TG_USE_BLOB, TG_MAINTENANCE);
	unit_ok(objects[count++] != NULL, "claims of the collection are not");
	tg_claims_privilege(session, true);
	while ((objects[count] = tg_alloc(session, 20480, TG_USE_BLOB, TG_DATA)) != NULL)
		count++;
	committed = tg_arena_committed();
	unit_ok(committed <= limit && committed + 20480 > limit, "a privileged session's data goes up to the limit");
	tg_claims_begin(session);
	while (tg_arena_committed() > reserved_from)
		tg_free(session, objects[--count], TG_USE_BLOB);
	while ((objects[count] = tg_alloc(session, 20480, TG_USE_BLOB, TG_DATA)) != NULL)
		count++;
	unit_ok(tg_arena_committed() <= reserved_from + limit / 64,
			"but not that of a transaction that claims all it can get");
	tg_claims_end(session);
	tg_claims_privilege(session, false);
	while (count-- > 0)
		tg_free(session, objects[count], TG_USE_BLOB);
	free(objects);
	tg_arena_reserved_set(0);
	tg_arena_limit_set(16 * GIB);
}

/* Claims objects of this size until one is refused.  Returns how many pages were committed then. */
static size_t
fill_up(size_t bytes, tg_claim claim, void **objects, unsigned *count)
{
	for (;;)
	{
		void *object = filled(session, bytes, TG_USE_BLOB, claim);

		if (object == NULL)
			return tg_arena_committed();
		objects[(*count)++] = object;
	}
}

static void
test_limit(size_t bytes)
{
	static void *objects[400000];
	unsigned count = 0;
	size_t limit = 8 * MIB;
	size_t reserve_end = limit * (1 + TG_RESERVE);
	size_t span = bytes > 16384 ? bytes_promised(bytes) : 65536; /* most pages claimed at once */
	uint64_t refused = report_now().refused;
	size_t committed;

	tg_arena_limit_set(limit);
	committed = fill_up(bytes, TG_DATA, objects, &count);
	unit_ok(committed <= limit && committed + span > limit, "%zu bytes: data goes up to the limit", bytes);
	unit_ok(report_now().refused > refused, "the refusal is counted");
	committed = fill_up(bytes, TG_ESSENTIAL, objects, &count);
	unit_ok(committed <= reserve_end && committed + span > reserve_end, "essential claims go on through the reserve");

	tg_arena_limit_set(2 * reserve_end);
	objects[count++] = filled(session, bytes, TG_USE_BLOB, TG_DATA);
	unit_ok(objects[count - 1] != NULL, "a raised limit is in force at once");
	tg_arena_limit_set(limit / 2);
	unit_ok(tg_alloc(session, 16 * 4096 + 1, TG_USE_BLOB, TG_DATA) == NULL, "so is a lowered one");

	unsigned damaged = 0;

	while (count > 0)
	{
		damaged += !is_filled(objects[--count], bytes);
		tg_free(session, objects[count], TG_USE_BLOB);
	}
	unit_equal(damaged, 0, "nothing was damaged meanwhile");
	tg_arena_limit_set(2 * limit);
	objects[0] = tg_alloc(session, 2 * limit, TG_USE_BLOB, TG_DATA);
	unit_ok(objects[0] != NULL, "when all is free, one object gets all of the limit: caches and free slabs give way");
	if (objects[0] != NULL)
		tg_free(session, objects[0], TG_USE_BLOB);
	unit_ok(tg_alloc(session, 2 * limit + 1, TG_USE_BLOB, TG_DATA) == NULL, "a page more is refused");
	objects[0] = tg_alloc(session, 2 * reserve_end, TG_USE_BLOB, TG_ESSENTIAL);
	unit_ok(objects[0] != NULL, "an essential one gets all of the reserve");
	if (objects[0] != NULL)
		tg_free(session, objects[0], TG_USE_BLOB);
	unit_ok(tg_alloc(session, 2 * reserve_end + 1, TG_USE_BLOB, TG_ESSENTIAL) == NULL, "a page more is refused");
	tg_arena_check();
	tg_arena_limit_set(16 * GIB);
	unit_equal(tg_arena_limit(), 2 * GIB, "the limit is cut to what is reserved");
}

/* --- accounts and giving back ------------------------------------------------------------ */

static void
test_accounts(void)
{
	enum
	{
		OBJECTS = 50000,
		CLASSES = 7
	};
	static const size_t sizes[CLASSES] = {8, 24, 88, 272, 1024, 4096, 12288};
	static void *objects[OBJECTS];
	size_t committed;

	tg_alloc_flush(session);
	tg_arena_trim();
	committed = tg_arena_committed();
	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = filled(session, sizes[i % CLASSES], (tg_use) (i % TG_USE_COUNT), TG_DATA);
	for (unsigned i = 0; i < OBJECTS; i++)
		tg_free(session, objects[(i * 7919ul) % OBJECTS], (tg_use) ((i * 7919ul) % OBJECTS % TG_USE_COUNT));

	tg_arena_report report = report_now();

	for (unsigned use = 0; use < TG_USE_COUNT; use++)
	{
		if (report.used_by[use] != 0)
			unit_ok(false, "account of use %u is not zero", use);
	}
	unit_equal(report.used, 0, "every account is exactly zero again");
	tg_alloc_flush(session);
	unit_ok(tg_arena_committed() <= committed + CLASSES * 65536,
			"after a flush at most one slab of each class is kept");
	unit_ok(tg_arena_committed() >= committed + CLASSES * 16384, "and one is kept");
	tg_arena_trim();
	unit_equal(tg_arena_committed(), committed, "after a trim committed is exactly what it was");
	unit_equal(report_now().idle, 0, "and nothing is idle");
	unit_ok(report_now().peak > committed + MIB, "the peak remembers");
}


static uint64_t
page_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t) usage.ru_minflt;
}

static void
test_give_back(void)
{
	enum
	{
		OBJECTS = 1000
	};
	static void *objects[OBJECTS];
	size_t start = arena_resident();
	uint64_t faults;

	for (unsigned i = 0; i < OBJECTS; i++)
		objects[i] = filled(session, 100000, TG_USE_CHUNK, TG_DATA);
	unit_ok(arena_resident() > start + 90 * MIB, "100 MB written are resident");
	for (unsigned i = 0; i < OBJECTS; i += 2)
		tg_free(session, objects[i], TG_USE_CHUNK);
	unit_ok(arena_resident() < start + 70 * MIB, "half of them freed: that goes back to the system");
	for (unsigned i = 1; i < OBJECTS; i += 2)
		tg_free(session, objects[i], TG_USE_CHUNK);
	unit_ok(arena_resident() < start + 10 * MIB, "all freed: some megabytes are kept idle");
	tg_arena_trim();
	unit_ok(arena_resident() < start + MIB, "after a trim nothing is");

	tg_free(session, filled(session, 4 * MIB, TG_USE_BLOB, TG_DATA), TG_USE_BLOB);
	faults = page_faults();
	for (unsigned i = 0; i < 100; i++)
		tg_free(session, filled(session, 4 * MIB, TG_USE_BLOB, TG_DATA), TG_USE_BLOB);
	unit_ok(page_faults() < faults + 200, "a loop of claim and free does not reach the kernel");
	tg_arena_trim();
}

/* As the watcher does in so many seconds. */
static void
tend_for(unsigned seconds)
{
	for (unsigned i = 0; i < seconds * (1000000 / TG_TEND_US); i++)
		tg_arena_decay();
}

/* Where idle pages are looked after, they are kept as long as they are used again now and then. */
static void
test_decay(void)
{
	size_t start = arena_resident();
	uint64_t faults;
	size_t idle;

	tg_arena_limit_set(GIB);
	tend_for(1);
	tg_free(session, filled(session, 100 * MIB, TG_USE_CHUNK, TG_DATA), TG_USE_CHUNK);
	unit_ok(arena_resident() > start + 90 * MIB, "100 MB freed stay for a while");
	faults = page_faults();
	for (unsigned i = 0; i < 10; i++)
	{
		tend_for(20);
		tg_free(session, filled(session, 100 * MIB, TG_USE_CHUNK, TG_DATA), TG_USE_CHUNK);
	}
	unit_ok(page_faults() < faults + 200, "as long as they are used again every twenty seconds");
	tg_arena_check();
	for (unsigned i = 0; i < 10; i++)
	{
		tend_for(20);
		tg_free(session, filled(session, 50 * MIB, TG_USE_CHUNK, TG_DATA), TG_USE_CHUNK);
	}
	idle = report_now().idle;
	unit_ok(idle >= 50 * MIB && idle <= 70 * MIB, "of which half are used: the others go");
	tend_for(61);
	unit_ok(arena_resident() < start + 10 * MIB, "unused for a while, all but some megabytes go back");
	tg_free(session, filled(session, 700 * MIB, TG_USE_CHUNK, TG_DATA), TG_USE_CHUNK);
	unit_ok(report_now().idle <= 512 * MIB, "of what the limit leaves free half stays at the most");
	tg_arena_limit_set(2 * GIB);
	tg_arena_trim();
	unit_ok(arena_resident() < start + MIB, "a trim gives all of it back");
	tg_free(session, filled(session, 100 * MIB, TG_USE_CHUNK, TG_DATA), TG_USE_CHUNK);
	unit_ok(arena_resident() < start + 10 * MIB, "and until the next tending little is kept idle");
	tg_arena_trim();
}

#define JOINED 2000

#if defined(__SANITIZE_THREAD__)
#define JOIN_ROUNDS 2000 /* it looks at each byte that is filled */
#else
#define JOIN_ROUNDS 20000
#endif

/* Spans of all lengths, freed in another order, become one again. */
static void
test_joining(void)
{
	static void *objects[JOINED];
	static size_t sizes[JOINED];
	uint32_t random = 12345;
	unsigned damaged = 0;
	void *all;

	tg_alloc_flush(session);
	tg_arena_trim();
	tg_arena_limit_set(512 * MIB);
	for (unsigned i = 0; i < JOIN_ROUNDS + JOINED; i++)
	{
		unsigned place = (random = random * 1664525 + 1013904223) >> 8 & 2047;

		if (i >= JOIN_ROUNDS)
			place = i - JOIN_ROUNDS;
		if (place >= JOINED)
			continue;
		if (objects[place] != NULL)
		{
			damaged += !is_filled(objects[place], sizes[place]);
			tg_free(session, objects[place], TG_USE_JOB);
			objects[place] = NULL;
		}
		else if (i < JOIN_ROUNDS)
		{
			sizes[place] = (size_t) 16385 << ((random >> 20) % 5);
			objects[place] = filled(session, sizes[place], TG_USE_JOB, TG_DATA);
		}
	}
	unit_equal(damaged, 0, "spans of many lengths: none overlaps another");
	tg_arena_check();
	unit_equal(tg_arena_committed(), 0, "all are free again");
	tg_arena_limit_set(2 * GIB);
	all = tg_alloc(session, report_now().reserved, TG_USE_JOB, TG_ESSENTIAL);
	unit_ok(all != NULL, "and one object gets all that is reserved");
	tg_arena_reset(); /* a debug build's free would fill gigabytes */
	if (tg_session_open(&session) != TG_OK)
		abort();
}

/* --- many sessions ------------------------------------------------------------------------- */

#define EXCHANGE_PLACES 512

#if defined(__SANITIZE_THREAD__)
#define EXCHANGE_ROUNDS 10000
#else
#define EXCHANGE_ROUNDS 60000
#endif

/* A place where sessions swap objects: each frees what another took. */
typedef struct parcel
{
	size_t bytes;
	tg_use use;
	uint8_t content[];
} parcel;

static parcel *
parcel_make(tg_session *owner, uint32_t random)
{
	size_t bytes = sizeof(parcel) + 1 + (random % 61 == 0 ? random % 60000 : random % 400);
	tg_use use = (tg_use) (random % TG_USE_COUNT);
	parcel *made = tg_alloc(owner, bytes, use, TG_DATA);

	if (made != NULL)
	{
		made->bytes = bytes;
		made->use = use;
		memset(made->content, pattern_of(made), bytes - sizeof(parcel));
	}
	return made;
}

/* Frees a parcel; whether it was as it was made. */
static bool
parcel_end(tg_session *owner, parcel *old)
{
	bool sound = old->content[0] == pattern_of(old) &&
				 memcmp(old->content, old->content + 1, old->bytes - sizeof(parcel) - 1) == 0;

	tg_free(owner, old, old->use);
	return sound;
}

static void
exchange(unsigned number, void *argument)
{
	parcel **places = argument;
	uint32_t random = number * 77 + 1;
	unsigned damaged = 0;
	tg_session *owner;

	if (tg_session_open(&owner) != TG_OK)
		abort();
	for (unsigned round = 0; round < EXCHANGE_ROUNDS; round++)
	{
		parcel *old;

		random = random * 1664525 + 1013904223;
		old = tg_exchange_acq_rel(&places[(random >> 8) % EXCHANGE_PLACES], parcel_make(owner, random >> 12));
		if (old != NULL)
			damaged += !parcel_end(owner, old);
		if (round % 5000 == 0)
			tg_alloc_flush(owner);
	}
	tg_session_close(owner);
	if (damaged > 0)
		abort();
}

/* Frees what is left and checks that every account is back at zero. */
static void
exchange_end(parcel **places, const char *name)
{
	for (unsigned i = 0; i < EXCHANGE_PLACES; i++)
	{
		if (places[i] != NULL && !parcel_end(session, places[i]))
			abort();
	}
	tg_free(session, places, TG_USE_RUNTIME);
	tg_arena_check();
	tg_alloc_flush(session);
	tg_arena_trim();

	tg_arena_report report = report_now();
	unsigned wrong = 0;

	for (unsigned use = 0; use < TG_USE_COUNT; use++)
		wrong += report.used_by[use] != 0;
	unit_equal(wrong, 0, "%s: every account is exactly zero", name);
	unit_equal(report.committed, 0, "%s: committed is exactly zero", name);
}

static void
test_threads(void)
{
	parcel **places = tg_alloc_zeroed(session, EXCHANGE_PLACES * sizeof(*places), TG_USE_RUNTIME, TG_DATA);

	unit_threads(4, exchange, places);
	exchange_end(places, "threads free each other's objects");
}

/* Few pages, so that claims are refused and purges, trims and waits happen at once. */
static void
test_threads_at_limit(void)
{
	parcel **places;

	tg_arena_limit_set(2 * MIB);
	places = tg_alloc_zeroed(session, EXCHANGE_PLACES * sizeof(*places), TG_USE_RUNTIME, TG_ESSENTIAL);
	unit_threads(4, exchange, places);
	unit_ok(report_now().refused > 0, "threads at the limit: claims were refused");
	exchange_end(places, "threads at the limit");
	tg_arena_limit_set(2 * GIB);
}

static void
test_processes(void)
{
	enum
	{
		PROCESSES = 3
	};
	parcel **places = tg_alloc_zeroed(session, EXCHANGE_PLACES * sizeof(*places), TG_USE_RUNTIME, TG_DATA);
	unsigned sound = 0;

	for (unsigned number = 0; number < PROCESSES; number++)
	{
		if (fork() == 0)
		{
			exchange(number, places);
			_exit(0);
		}
	}
	for (unsigned number = 0; number < PROCESSES; number++)
	{
		int status;

		sound += wait(&status) > 0 && status == 0;
	}
	unit_equal(sound, PROCESSES, "processes free each other's objects");
	exchange_end(places, "processes");
}

/* --- reset and mapping ------------------------------------------------------------------------ */

static void
test_reset(void)
{
	tg_session *again;
	uint8_t *object;

	for (unsigned i = 0; i < 1000; i++)
		(void) filled(session, 10000, TG_USE_TABLE, TG_DATA);
	tg_arena_reset();
	unit_equal(report_now().used, 0, "after a reset nothing is used");
	unit_equal(report_now().committed, 0, "or committed");
	unit_ok(!tg_session_is_open(0), "no session is open");
	unit_ok(arena_resident() < MIB, "and the memory is back at the system");
	unit_equal(tg_arena_limit(), 2 * GIB, "the limit stays as it was set last");
	unit_ok(tg_session_open(&again) == TG_OK, "sessions can be opened");
	object = tg_alloc_zeroed(again, 100, TG_USE_TABLE, TG_DATA);
	unit_ok(object != NULL && is_zero(object, 100), "and memory claimed");
	tg_free(again, object, TG_USE_TABLE);
	session = again;
}

/* A larger reservation than the system grants: only the limit and its reserve are mapped. */
static void
test_fallback(void)
{
	tg_arena_config config = {.reserve_bytes = (size_t) 1 << 46, .limit_bytes = 64 * MIB, .session_max = 2};

	if (!unit_ok(tg_arena_create(&config) == TG_OK, "a reservation that is too large is given up"))
		return;
	unit_equal(report_now().reserved, 80 * MIB, "for the limit and a quarter");
	tg_arena_limit_set(128 * MIB);
	unit_equal(tg_arena_limit(), 64 * MIB, "the limit cannot exceed the reservation");
	tg_arena_destroy();
}

/* --- debug builds ------------------------------------------------------------------- */

#ifdef TG_DEBUG

/* Whether a process that does this is stopped, by an assertion or a sanitizer. */
static bool
stopped(void (*deed)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
	{
		(void) !freopen("/dev/null", "w", stderr);
		deed();
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && status != 0;
}

static void
free_twice(void)
{
	void *object = tg_alloc(session, 88, TG_USE_BLOB, TG_DATA);

	tg_free(session, object, TG_USE_BLOB);
	tg_free(session, object, TG_USE_BLOB);
}

static void
free_large_twice(void)
{
	void *object = tg_alloc(session, 100000, TG_USE_BLOB, TG_DATA);

	tg_free(session, object, TG_USE_BLOB);
	tg_free(session, object, TG_USE_BLOB);
}

static void
free_middle(void)
{
	tg_free(session, (char *) tg_alloc(session, 88, TG_USE_BLOB, TG_DATA) + 8, TG_USE_BLOB);
}

static void
free_foreign(void)
{
	static uint64_t mine;

	tg_free(session, &mine, TG_USE_BLOB);
}

static void
write_after_free(void)
{
	char *object = tg_alloc(session, 88, TG_USE_BLOB, TG_DATA);

	tg_free(session, object, TG_USE_BLOB);
	((volatile char *) object)[50] = 'x';
	(void) tg_alloc(session, 88, TG_USE_BLOB, TG_DATA);
}

static void
use_well(void)
{
	char *object = tg_alloc(session, 88, TG_USE_BLOB, TG_DATA);

	tg_free(session, object, TG_USE_BLOB); /* never written */
	object = tg_alloc(session, 88, TG_USE_BLOB, TG_DATA);
	memset(object, 1, 88);
	tg_free(session, object, TG_USE_BLOB);
}

static void
test_misuse(void)
{
	unit_ok(stopped(free_twice), "a second free is stopped");
	unit_ok(stopped(free_large_twice), "of a large object, too");
	unit_ok(stopped(free_middle), "a free of an object's middle is stopped");
	unit_ok(stopped(free_foreign), "a free of foreign memory is stopped");
	unit_ok(stopped(write_after_free), "a write after the free is found by the next claim");
	unit_ok(!stopped(use_well), "and right use is not");
}

#endif

int
main(void)
{
	alarm(600);
	arena_begin(2 * GIB, 2 * GIB);
	if (UNIT_ONE_THREAD)
	{
		test_sizes();
		test_reuse();
		test_zeroed();
		test_values();
		test_limit(88);
		test_limit(5000);
		test_limit(100000);
		test_bulk();
		test_reserved();
		test_accounts();
		test_give_back();
		test_decay();
		test_joining();
	}
	test_threads();
	test_threads_at_limit();
	test_processes(); /* from here on AddressSanitizer is not told what is free */
	test_reset();
#ifdef TG_DEBUG
	test_misuse();
#endif
	arena_end();
	test_fallback();
	return unit_done();
}

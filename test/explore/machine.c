/*
 * machine.c
 *	  Three memories: one that is sequential, x86's, and C11's.
 *
 * EXPLORE_SC	a value per location.
 *
 * EXPLORE_TSO	a value per location and a queue of stores per thread (P. Sewell
 *				et al., "x86-TSO", 2010).  A load sees its own thread's newest
 *				store in the queue, else memory.  The head of a queue goes to
 *				memory at any time; read-modify-writes, seq_cst stores and
 *				fences wait for their thread's queue to be empty.
 *
 * EXPLORE_C11	messages and views: the fragment without promises of J. Kang et
 *				al., "A promising semantics for relaxed-memory concurrency",
 *				2017, which is RC11 without its load buffering.
 *
 * A location's messages stand in its modification order, and a message's time
 * is its place there.  A view has a time for each location.  A thread has three:
 *
 *	current		what it may no longer read past: a load takes any message that is
 *				not older than that
 *	acquired	what an acquire fence would make its current view: the views of
 *				all messages it read, also by relaxed loads
 *	released	its current view at its last release fence
 *
 * A message carries a view: the writer's current one if it was released, else
 * the writer's released one.  A read with acquire joins it to current.  A store
 * may take any place after the writer's current one, but not between a
 * read-modify-write and the message this read; a read-modify-write comes right
 * after the message it read, and carries its view on (as in C++20, nothing else
 * continues a release sequence).  A seq_cst fence is an acquire and a release
 * fence that also exchanges its current view with a view that all seq_cst fences
 * share.  A fence everywhere (membarrier) is one in each thread, at one time.
 *
 * Weaker here than C11, so that what passes is right there, too: seq_cst
 * accesses count as acquire and release only.  Stronger: no load reads from a
 * store that comes later in its own thread's past (load buffering), which no
 * compiler and hardly any machine does with a dependency or a fence between.
 *
 * Happens-before of plain accesses: a view also has each thread's clock.  The
 * clocks travel like the rest, but not through the view of the fences, as
 * seq_cst fences alone order nothing but atomics.
 *
 * Messages that no running thread can read any more are dropped, and the times
 * of their location begin at 0 again: so a state is the same whatever the past.
 */
#include "test/explore/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCATIONS_MAX 48
#define MESSAGES_MAX 64
#define WAITING_MAX 64

/* Times of a view: the clocks first, then the locations. */
#define TIME_OF(location) (EXPLORE_THREADS + (location))
#define TIMES_MAX TIME_OF(LOCATIONS_MAX)

typedef struct view
{
	uint8_t times[TIMES_MAX];
} view;

typedef struct message
{
	uint64_t value;
	bool is_update; /* a read-modify-write: nothing may come between it and its predecessor */
	view view;
} message;

typedef struct waiting_store
{
	uint64_t value;
	uint64_t location;
} waiting_store;

typedef struct thread_views
{
	bool ended;
	view current;
	view acquired;
	view released;
} thread_views;

static explore_memory memory;
static unsigned thread_count;
static bool has_everywhere;
static unsigned location_count;
static int owners[LOCATIONS_MAX];

/* EXPLORE_SC and EXPLORE_TSO */
static uint64_t values[LOCATIONS_MAX];
static waiting_store waiting[EXPLORE_THREADS][WAITING_MAX];
static unsigned waiting_counts[EXPLORE_THREADS];

/* EXPLORE_C11 */
static message messages[LOCATIONS_MAX][MESSAGES_MAX];
static unsigned message_counts[LOCATIONS_MAX];
static thread_views threads[EXPLORE_THREADS];
static view fence_view;

void
machine_unsupported(const char *why)
{
	printf("Bail out! explorer: %s\n", why);
	exit(1);
}

void
machine_reset(explore_memory new_memory, unsigned new_thread_count, bool new_has_everywhere)
{
	memory = new_memory;
	thread_count = new_thread_count;
	has_everywhere = new_has_everywhere;
	location_count = 0;
	memset(waiting_counts, 0, sizeof(waiting_counts));
	memset(message_counts, 0, sizeof(message_counts));
	memset(threads, 0, sizeof(threads));
	memset(&fence_view, 0, sizeof(fence_view));
}

/* Nobody has seen anything of a new location, whatever views hold there from another schedule. */
static void
views_begin(unsigned location)
{
	unsigned time = TIME_OF(location);

	for (unsigned i = 0; i < location; i++)
	{
		for (unsigned j = 0; j < message_counts[i]; j++)
			messages[i][j].view.times[time] = 0;
	}
	for (unsigned i = 0; i < thread_count; i++)
	{
		threads[i].current.times[time] = 0;
		threads[i].acquired.times[time] = 0;
		threads[i].released.times[time] = 0;
	}
	fence_view.times[time] = 0;
}

unsigned
machine_location_add(uint64_t initial, int owner)
{
	unsigned location = location_count++;

	if (location >= LOCATIONS_MAX)
		machine_unsupported("too many locations");
	views_begin(location);
	owners[location] = owner;
	values[location] = initial;
	message_counts[location] = 1;
	memset(&messages[location][0], 0, sizeof(message));
	messages[location][0].value = initial;
	return location;
}

static bool
is_acquire(explore_order order)
{
	return order != EXPLORE_RELAXED && order != EXPLORE_RELEASE;
}

static bool
is_release(explore_order order)
{
	return order != EXPLORE_RELAXED && order != EXPLORE_ACQUIRE;
}

static bool
is_update(const machine_access *access)
{
	return access->kind == EXPLORE_CAS || access->kind == EXPLORE_EXCHANGE || access->kind == EXPLORE_ADD ||
		   access->kind == EXPLORE_OR || access->kind == EXPLORE_AND || access->kind == EXPLORE_TAKE;
}

static bool
writes(const machine_access *access)
{
	return is_update(access) || access->kind == EXPLORE_STORE;
}

uint64_t
machine_updated(const machine_access *access, uint64_t old)
{
	switch (access->kind)
	{
		case EXPLORE_ADD:
			return (old + access->value) & access->mask;
		case EXPLORE_OR:
			return old | access->value;
		case EXPLORE_AND:
			return old & access->value;
		default:
			return access->value;
	}
}

bool
machine_is_local(unsigned thread, const machine_access *access)
{
	if (access->kind == EXPLORE_FENCE)
		return memory == EXPLORE_SC || (access->order != EXPLORE_SEQ_CST && access->order != EXPLORE_EVERYWHERE) ||
			   (memory == EXPLORE_TSO && waiting_counts[thread] == 0 && access->order != EXPLORE_EVERYWHERE);
	if (access->kind == EXPLORE_STORE && memory == EXPLORE_TSO)
		return access->order != EXPLORE_SEQ_CST;
	if (access->kind == EXPLORE_LOAD)
		return owners[access->location] == (int) thread || owners[access->location] == EXPLORE_CONSTANT;
	/* other threads may go on reading the value that was there before */
	return access->kind == EXPLORE_STORE && owners[access->location] == (int) thread && memory == EXPLORE_C11 &&
		   !has_everywhere;
}

/* A load of EXPLORE_C11 may read an old value, and leaves a trace only in its own thread. */
bool
machine_can_be_late(const machine_access *access)
{
	return memory == EXPLORE_C11 && access->kind == EXPLORE_LOAD && !has_everywhere;
}

/*
 * A store of EXPLORE_C11 takes any place after what its own thread has seen there, and nobody has
 * to see it.  What it must not do, come between a read-modify-write and what this has read, is a
 * matter of places and not of time: were it done before, that would have come before it.
 */
bool
machine_can_be_early(const machine_access *access)
{
	return memory == EXPLORE_C11 && access->kind == EXPLORE_STORE && !has_everywhere;
}

/* --- values and queues: EXPLORE_SC and EXPLORE_TSO -------------------------------- */

static uint64_t
queued_read(unsigned thread, unsigned location)
{
	for (unsigned i = waiting_counts[thread]; i > 0; i--)
	{
		if (waiting[thread][i - 1].location == location)
			return waiting[thread][i - 1].value;
	}
	return values[location];
}

static unsigned
queued_alternatives(unsigned thread, const machine_access *access)
{
	/* acquire and release fences are nothing on x86 */
	bool is_strong = access->order == EXPLORE_SEQ_CST || access->order == EXPLORE_EVERYWHERE;
	bool needs_empty =
		is_update(access) || ((access->kind == EXPLORE_FENCE || access->kind == EXPLORE_STORE) && is_strong);

	for (unsigned i = 0; i < thread_count; i++)
	{
		if (waiting_counts[i] > 0 && needs_empty && (i == thread || access->order == EXPLORE_EVERYWHERE))
			return 0;
	}
	if (access->kind == EXPLORE_WAIT)
		return queued_read(thread, access->location) != access->expected;
	return access->kind != EXPLORE_TAKE || values[access->location] == access->expected;
}

static uint64_t
queued_perform(unsigned thread, const machine_access *access, bool *swapped_out)
{
	uint64_t old;

	if (access->kind == EXPLORE_FENCE)
		return 0;
	if (access->kind == EXPLORE_STORE && memory == EXPLORE_TSO && access->order != EXPLORE_SEQ_CST)
	{
		unsigned place = waiting_counts[thread]++;

		if (place >= WAITING_MAX)
			machine_unsupported("too many waiting stores");
		waiting[thread][place] = (waiting_store){.value = access->value, .location = access->location};
		return 0;
	}
	old = queued_read(thread, access->location);
	*swapped_out = access->kind != EXPLORE_CAS || old == access->expected;
	if (writes(access) && *swapped_out)
		values[access->location] = machine_updated(access, old);
	return old;
}

bool
machine_can_flush(unsigned thread)
{
	return waiting_counts[thread] > 0;
}

void
machine_flush(unsigned thread)
{
	values[waiting[thread][0].location] = waiting[thread][0].value;
	waiting_counts[thread]--;
	memmove(&waiting[thread][0], &waiting[thread][1], waiting_counts[thread] * sizeof(waiting_store));
}

/* --- messages and views: EXPLORE_C11 ------------------------------------------------ */

static void
join(view *into, const view *from)
{
	for (unsigned i = 0; i < TIME_OF(location_count); i++)
	{
		if (from->times[i] > into->times[i])
			into->times[i] = from->times[i];
	}
}

static unsigned
seen_time(unsigned thread, unsigned location)
{
	return threads[thread].current.times[TIME_OF(location)];
}

/* Whether a message can be put right after the one at this time. */
static bool
has_room_after(unsigned location, unsigned time)
{
	return time + 1 == message_counts[location] || !messages[location][time + 1].is_update;
}

/* Whether the access can read the message at this time, given it has not seen a later one. */
static bool
can_read(const machine_access *access, unsigned time)
{
	uint64_t value = messages[access->location][time].value;

	if (access->kind == EXPLORE_LOAD || (access->kind == EXPLORE_CAS && value != access->expected))
		return true;
	if (access->kind == EXPLORE_WAIT)
		return value != access->expected;
	if (access->kind == EXPLORE_TAKE && value != access->expected)
		return false;
	return has_room_after(access->location, time);
}

static unsigned
view_alternatives(unsigned thread, const machine_access *access)
{
	unsigned count = 0;

	if (access->kind == EXPLORE_FENCE)
		return 1;
	for (unsigned time = seen_time(thread, access->location); time < message_counts[access->location]; time++)
		count += can_read(access, time);
	return count;
}

/* The time of the alternative: 0 is the newest. For a store, that after which it comes. */
static unsigned
chosen_time(const machine_access *access, unsigned alternative)
{
	unsigned time = message_counts[access->location];

	for (;;)
	{
		time--;
		if (can_read(access, time) && alternative-- == 0)
			return time;
	}
}

static void
make_room(view *view, unsigned location, unsigned time)
{
	if (view->times[TIME_OF(location)] >= time)
		view->times[TIME_OF(location)]++;
}

/* Puts an empty message at this time; all later ones move up. */
static message *
message_insert(unsigned location, unsigned time)
{
	message *place = &messages[location][time];

	if (message_counts[location] >= MESSAGES_MAX)
		machine_unsupported("too many messages");
	if (time < message_counts[location])
	{
		memmove(place + 1, place, (message_counts[location] - time) * sizeof(message));
		for (unsigned i = 0; i < location_count; i++)
		{
			for (unsigned j = 0; j < message_counts[i] + (i == location); j++)
				make_room(&messages[i][j].view, location, time);
		}
		for (unsigned i = 0; i < thread_count; i++)
		{
			make_room(&threads[i].current, location, time);
			make_room(&threads[i].acquired, location, time);
			make_room(&threads[i].released, location, time);
		}
		make_room(&fence_view, location, time);
	}
	message_counts[location]++;
	memset(place, 0, sizeof(message));
	return place;
}

static void
see(thread_views *views, unsigned location, unsigned time, bool acquires)
{
	const message *message = &messages[location][time];

	if (views->current.times[TIME_OF(location)] < time)
		views->current.times[TIME_OF(location)] = (uint8_t) time;
	if (views->acquired.times[TIME_OF(location)] < time)
		views->acquired.times[TIME_OF(location)] = (uint8_t) time;
	join(&views->acquired, &message->view);
	if (acquires)
		join(&views->current, &message->view);
}

/* Writes right after the message at this time; read says that this was read, too. */
static void
put(thread_views *views, const machine_access *access, unsigned time, bool read, uint64_t value)
{
	unsigned location = access->location;
	message *message = message_insert(location, time + 1);

	message->value = value;
	message->is_update = read;
	views->current.times[TIME_OF(location)] = (uint8_t) (time + 1);
	if (views->acquired.times[TIME_OF(location)] < time + 1)
		views->acquired.times[TIME_OF(location)] = (uint8_t) (time + 1);
	message->view = is_release(access->order) ? views->current : views->released;
	message->view.times[TIME_OF(location)] = (uint8_t) (time + 1);
	if (read)
		join(&message->view, &messages[location][time].view);
}

static void
fence(thread_views *views, explore_order order)
{
	if (is_acquire(order))
		join(&views->current, &views->acquired);
	if (order == EXPLORE_SEQ_CST || order == EXPLORE_EVERYWHERE)
	{
		join(&views->current, &fence_view);
		fence_view = views->current;
		memset(&fence_view.times[0], 0, EXPLORE_THREADS); /* no clocks */
		join(&views->acquired, &views->current);
	}
	if (is_release(order))
		views->released = views->current;
}

static void
forget_before(view *view, unsigned location, unsigned time)
{
	uint8_t *own = &view->times[TIME_OF(location)];

	*own = *own > time ? (uint8_t) (*own - time) : 0;
}

/* Drops the messages of a location that no running thread can read any more. */
static void
prune(unsigned location)
{
	unsigned oldest = message_counts[location] - 1;

	for (unsigned i = 0; i < thread_count; i++)
	{
		if (!threads[i].ended && seen_time(i, location) < oldest)
			oldest = seen_time(i, location);
	}
	if (oldest == 0)
		return;
	message_counts[location] -= oldest;
	memmove(&messages[location][0], &messages[location][oldest], message_counts[location] * sizeof(message));
	messages[location][0].is_update = false; /* nothing comes before it any more */
	for (unsigned i = 0; i < location_count; i++)
	{
		for (unsigned j = 0; j < message_counts[i]; j++)
			forget_before(&messages[i][j].view, location, oldest);
	}
	for (unsigned i = 0; i < thread_count; i++)
	{
		forget_before(&threads[i].current, location, oldest);
		forget_before(&threads[i].acquired, location, oldest);
		forget_before(&threads[i].released, location, oldest);
	}
	forget_before(&fence_view, location, oldest);
}

static void
prune_all(void)
{
	for (unsigned i = 0; i < location_count; i++)
		prune(i);
}

static uint64_t
view_perform(unsigned thread, const machine_access *access, unsigned alternative, bool *swapped_out)
{
	thread_views *views = &threads[thread];
	uint64_t old = 0;

	if (access->kind == EXPLORE_FENCE)
	{
		fence(views, access->order);
		for (unsigned i = 0; i < thread_count && access->order == EXPLORE_EVERYWHERE; i++)
		{
			if (!threads[i].ended)
				fence(&threads[i], access->order);
		}
		fence(views, access->order); /* the views of the others */
	}
	else
	{
		unsigned time = chosen_time(access, alternative);

		if (access->kind == EXPLORE_STORE)
			put(views, access, time, false, access->value);
		else
		{
			old = messages[access->location][time].value;
			*swapped_out = access->kind != EXPLORE_CAS || old == access->expected;
			see(views, access->location, time, is_acquire(*swapped_out ? access->order : access->failure));
			if (writes(access) && *swapped_out)
				put(views, access, time, true, machine_updated(access, old));
		}
	}
	prune_all();
	return old;
}

/* --- all three ------------------------------------------------------------------------ */

unsigned
machine_alternatives(unsigned thread, const machine_access *access)
{
	return memory == EXPLORE_C11 ? view_alternatives(thread, access) : queued_alternatives(thread, access);
}

uint64_t
machine_perform(unsigned thread, const machine_access *access, unsigned alternative, bool *swapped_out)
{
	if (writes(access) && owners[access->location] != EXPLORE_SHARED &&
		(owners[access->location] != (int) thread || is_update(access)))
		machine_unsupported("a location is written by somebody else than its owner");
	return memory == EXPLORE_C11 ? view_perform(thread, access, alternative, swapped_out)
								 : queued_perform(thread, access, swapped_out);
}

uint64_t
machine_perform_alone(const machine_access *access, bool *swapped_out)
{
	uint64_t *newest;
	uint64_t old;

	if (access->kind == EXPLORE_FENCE)
		return 0;
	newest = memory == EXPLORE_C11 ? &messages[access->location][message_counts[access->location] - 1].value
								   : &values[access->location];
	old = *newest;
	*swapped_out = access->kind != EXPLORE_CAS || old == access->expected;
	if (writes(access) && *swapped_out)
		*newest = machine_updated(access, old);
	return old;
}

void
machine_thread_ended(unsigned thread)
{
	memset(&threads[thread], 0, sizeof(thread_views));
	threads[thread].ended = true;
	if (memory == EXPLORE_C11)
		prune_all();
}

unsigned
machine_tick(unsigned thread)
{
	unsigned tick = ++threads[thread].current.times[thread];

	if (tick == UINT8_MAX)
		machine_unsupported("too many plain accesses");
	threads[thread].acquired.times[thread] = (uint8_t) tick;
	return tick;
}

bool
machine_happened_before(unsigned thread, unsigned other, unsigned tick)
{
	return memory != EXPLORE_C11 || threads[thread].current.times[other] >= tick;
}

/* --- as bytes ----------------------------------------------------------------------------- */

static void
save(unsigned char **place, const void *from, size_t bytes)
{
	memcpy(*place, from, bytes);
	*place += bytes;
}

static void
restore(const unsigned char **place, void *to, size_t bytes)
{
	memcpy(to, *place, bytes);
	*place += bytes;
}

size_t
machine_save(unsigned char *bytes_out, size_t *part_ends_out)
{
	unsigned char *place = bytes_out;
	size_t view_bytes = TIME_OF(location_count);
	uint8_t count;

	for (unsigned i = 0; i < thread_count; i++)
	{
		save(&place, &threads[i].ended, 1);
		save(&place, &threads[i].current, view_bytes);
		save(&place, &threads[i].acquired, view_bytes);
		save(&place, &threads[i].released, view_bytes);
		count = (uint8_t) waiting_counts[i];
		save(&place, &count, 1);
		save(&place, waiting[i], waiting_counts[i] * sizeof(waiting_store));
		part_ends_out[i] = (size_t) (place - bytes_out);
	}
	save(&place, &fence_view, view_bytes);
	save(&place, values, location_count * sizeof(values[0]));
	save(&place, owners, location_count * sizeof(owners[0]));
	for (unsigned i = 0; i < location_count; i++)
	{
		count = (uint8_t) message_counts[i];
		save(&place, &count, 1);
		for (unsigned j = 0; j < message_counts[i]; j++)
		{
			save(&place, &messages[i][j].value, sizeof(uint64_t));
			save(&place, &messages[i][j].is_update, 1);
			save(&place, &messages[i][j].view, view_bytes);
		}
	}
	return (size_t) (place - bytes_out);
}

void
machine_restore(const unsigned char *bytes, unsigned old_location_count)
{
	const unsigned char *place = bytes;
	size_t view_bytes = TIME_OF(old_location_count);
	uint8_t count;

	location_count = old_location_count;
	for (unsigned i = 0; i < thread_count; i++)
	{
		restore(&place, &threads[i].ended, 1);
		restore(&place, &threads[i].current, view_bytes);
		restore(&place, &threads[i].acquired, view_bytes);
		restore(&place, &threads[i].released, view_bytes);
		restore(&place, &count, 1);
		waiting_counts[i] = count;
		restore(&place, waiting[i], waiting_counts[i] * sizeof(waiting_store));
	}
	restore(&place, &fence_view, view_bytes);
	restore(&place, values, location_count * sizeof(values[0]));
	restore(&place, owners, location_count * sizeof(owners[0]));
	for (unsigned i = 0; i < location_count; i++)
	{
		restore(&place, &count, 1);
		message_counts[i] = count;
		for (unsigned j = 0; j < message_counts[i]; j++)
		{
			restore(&place, &messages[i][j].value, sizeof(uint64_t));
			restore(&place, &messages[i][j].is_update, 1);
			restore(&place, &messages[i][j].view, view_bytes);
		}
	}
}

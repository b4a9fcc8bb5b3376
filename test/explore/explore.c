/*
 * explore.c
 *	  The search: states taken further step by step, and met again.
 *
 * Each thread of the program stops before every access that other threads could
 * notice (threads.c).  The search is depth first: it picks a thread and one of the
 * things its access may do (machine.c), runs it on to the next stop, and comes
 * back later for what it did not pick, by putting the state back as it was.
 *
 *		 world, machine  --hash-->  seen before?  --no-->  one step by each thread
 *		 threads' pasts				  |  yes: add its schedules
 *
 * A state is recognised by 64 bits of hash over the world, the machine, and each
 * thread's past: what its accesses returned since its last checkpoint, which is
 * all that its stack depends on.  Two states with one hash would hide one of
 * them: with 10^7 states that has a chance of 3 in 10^6.
 *
 * Reduction (R. Lipton, "Reduction", 1975)
 *	1. An access that is local (machine.h) is done at once.  It commutes with all
 *	   that others can do, so any schedule in which it comes later ends as one in
 *	   which it comes at once.  Choices are local, too.
 *	2. A load that can be late (machine.h) need not be followed by another thread:
 *	   what a thread reads before its next effect, it may as well read just before
 *	   this.  So a thread that has read goes on until it writes, fences, or says
 *	   that it changes what a check looks at (explore_effect).
 *	3. A store that can be early (machine.h) is done before all that other threads
 *	   do: they may go on reading what was there, and put their own stores before
 *	   and behind it.  With 2, a thread's loads and then stores are one step, and
 *	   what is left to be interleaved is read-modify-writes, waiting, and fences.
 *	   The program says that no check is in the way (stores_come_first).
 *	4. Threads that are alike may be exchanged: their parts of a state are hashed
 *	   in the order of their hashes.
 *
 * Schedules are counted, not run one by one: a state's number of schedules is
 * the sum over its steps, and is kept with its hash.  The programs end, so no
 * state leads to itself; a loop that waits must be bounded, or meet a state that
 * is still being explored, which counts as no schedule.
 */
#include "test/explore/explore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/explore/machine.h"
#include "test/explore/threads.h"

#define DEPTH_MAX 20000
#define STEPS_MAX 64
#define FLUSH 0xff /* an alternative that is no access: the thread's oldest waiting store */

const char *const explore_memory_names[EXPLORE_MEMORIES] = {"sc", "tso", "c11"};

typedef struct step
{
	uint8_t thread;
	uint8_t alternative;
} step;

typedef struct node
{
	unsigned char *saved; /* NULL if there is nothing to come back for */
	uint64_t key;		  /* 0 if it is not in the table */
	double schedules;
	unsigned log_count;
	unsigned step_count;
	unsigned next;
	step steps[STEPS_MAX];
} node;

typedef struct seen_state
{
	uint64_t key;
	double schedules;
} seen_state;

static const explore_program *program;
static node nodes[DEPTH_MAX];

static seen_state *table;
static uint64_t table_size;
static uint64_t table_used;

/* --- states ----------------------------------------------------------------------------------- */

static unsigned char machine_bytes[MACHINE_BYTES_MAX];

/* The parts of the threads, in the order of their hashes where they may be exchanged. */
static uint64_t
threads_key(const size_t *part_ends)
{
	uint64_t parts[EXPLORE_THREADS];
	uint64_t hash = 1;

	for (unsigned i = 0; i < program->thread_count; i++)
	{
		const thread_state *thread = &threads_now.threads[i];
		size_t from = i > 0 ? part_ends[i - 1] : 0;
		uint64_t part = threads_mix(threads_mix(thread->past, thread->stop), (int) i == threads_now.reading);
		unsigned place = i;

		part = threads_mix_bytes(part, &machine_bytes[from], part_ends[i] - from);
		for (; place > program->alike_from && parts[place - 1] > part; place--)
			parts[place] = parts[place - 1];
		parts[place] = part;
	}
	for (unsigned i = 0; i < program->thread_count; i++)
		hash = threads_mix(hash, parts[i]);
	return hash;
}

static uint64_t
state_key(const size_t *part_ends, size_t machine_used)
{
	size_t from = part_ends[program->thread_count - 1];
	uint64_t hash = threads_mix_bytes(threads_key(part_ends), &machine_bytes[from], machine_used - from);

	hash = threads_mix(hash, threads_world_key());
	return hash ? hash : 1;
}

static unsigned char *
state_save(size_t machine_used)
{
	unsigned char *saved = malloc(sizeof(size_t) + machine_used + threads_bytes());

	if (!saved)
		machine_unsupported("out of memory");
	memcpy(saved, &machine_used, sizeof(size_t));
	memcpy(saved + sizeof(size_t), machine_bytes, machine_used);
	threads_save(saved + sizeof(size_t) + machine_used);
	return saved;
}

static void
state_restore(const unsigned char *saved)
{
	size_t machine_used;

	memcpy(&machine_used, saved, sizeof(size_t));
	threads_restore(saved + sizeof(size_t) + machine_used);
	machine_restore(saved + sizeof(size_t), threads_now.location_count);
}

static void
table_grow(void)
{
	seen_state *old = table;
	uint64_t old_size = table_size;

	table_size = old_size ? old_size * 2 : 1 << 16;
	table = calloc(table_size, sizeof(seen_state));
	if (!table)
		machine_unsupported("out of memory");
	for (uint64_t i = 0; i < old_size; i++)
	{
		uint64_t place = old[i].key & (table_size - 1);

		if (old[i].key == 0)
			continue;
		while (table[place].key != 0)
			place = (place + 1) & (table_size - 1);
		table[place] = old[i];
	}
	free(old);
}

/* The entry of a state, new (key 0) if it was not seen before. */
static seen_state *
table_entry(uint64_t key)
{
	uint64_t place;

	if (table_used * 3 >= table_size * 2)
		table_grow();
	place = key & (table_size - 1);
	while (table[place].key != 0 && table[place].key != key)
		place = (place + 1) & (table_size - 1);
	return &table[place];
}

/* --- the search ------------------------------------------------------------------------------- */

static void
add_steps(node *node, unsigned thread)
{
	const thread_state *of = &threads_now.threads[thread];
	unsigned count = 0;

	if (of->stop == STOP_CHOICE)
		count = of->choices;
	else if (of->stop == STOP_ACCESS)
		count = machine_alternatives(thread, &of->access);
	if (node->step_count + count >= STEPS_MAX)
		machine_unsupported("too many steps");
	for (unsigned i = 0; i < count; i++)
		node->steps[node->step_count++] = (step){.thread = (uint8_t) thread, .alternative = (uint8_t) i};
}

/* What can come next: if a thread is reading, or has a choice or a store to make, only this. */
static void
find_steps(node *node)
{
	node->step_count = 0;
	node->next = 0;
	if (threads_now.reading >= 0)
	{
		add_steps(node, (unsigned) threads_now.reading);
		if (node->step_count > 0)
			return;
		threads_now.reading = -1; /* it has to wait for others */
	}
	for (unsigned i = 0; i < program->thread_count; i++)
	{
		if (threads_now.threads[i].stop == STOP_CHOICE)
		{
			add_steps(node, i);
			return;
		}
	}
	for (unsigned i = 0; i < program->thread_count && program->stores_come_first; i++)
	{
		const thread_state *thread = &threads_now.threads[i];

		if (thread->stop == STOP_ACCESS && machine_can_be_early(&thread->access))
		{
			add_steps(node, i);
			return;
		}
	}
	for (unsigned i = 0; i < program->thread_count; i++)
	{
		add_steps(node, i);
		if (machine_can_flush(i))
			node->steps[node->step_count++] = (step){.thread = (uint8_t) i, .alternative = FLUSH};
	}
}

static void
take_step(step step)
{
	thread_state *thread = &threads_now.threads[step.thread];

	if (step.alternative == FLUSH)
	{
		machine_flush(step.thread);
		return;
	}
	if (thread->stop == STOP_CHOICE)
		thread->answer = step.alternative;
	else
	{
		threads_now.reading = machine_can_be_late(&thread->access) ? step.thread : -1;
		threads_perform(step.thread, step.alternative);
		if (threads_result.violated)
			return;
	}
	threads_resume(step.thread);
}

/*
 * Looks at the state that the search has come to.  True if the search goes on
 * from there, and has a node for it; else *schedules_out is what it leads to.
 */
static bool
enter_state(unsigned depth, double *schedules_out)
{
	node *node = &nodes[depth];
	size_t part_ends[EXPLORE_THREADS];
	size_t machine_used;
	bool ended = true;

	if (depth + 1 >= DEPTH_MAX)
		machine_unsupported("too deep");
	if (depth > threads_result.depth)
		threads_result.depth = depth;
	*schedules_out = 0;
	if (threads_now.abandoned)
		return false;
	*node = (struct node){.log_count = threads_log_count};
	find_steps(node);
	if (node->step_count == 1)
		return true;
	machine_used = machine_save(machine_bytes, part_ends);
	node->key = state_key(part_ends, machine_used);
	{
		seen_state *entry = table_entry(node->key);

		if (entry->key != 0)
		{
			*schedules_out = entry->schedules;
			return false;
		}
		*entry = (seen_state){.key = node->key};
		table_used++;
	}
	if (node->step_count > 0)
	{
		node->saved = state_save(machine_used);
		return true;
	}
	for (unsigned i = 0; i < program->thread_count; i++)
		ended = ended && threads_now.threads[i].stop == STOP_ENDED;
	if (ended || program->may_wait)
		threads_finish();
	else
	{
		threads_result.violated = true;
		snprintf(threads_result.reason, sizeof(threads_result.reason), "a thread waits for ever");
	}
	table_entry(node->key)->schedules = 1;
	*schedules_out = 1;
	return false;
}

static void
search(uint64_t state_max)
{
	unsigned depth = 0;
	double schedules = 0;

	if (!enter_state(0, &schedules))
		return;
	for (;;)
	{
		node *node = &nodes[depth];

		if (node->next == node->step_count)
		{
			if (node->key)
				table_entry(node->key)->schedules = node->schedules;
			schedules = node->schedules;
			free(node->saved);
			if (depth-- == 0)
				break;
			nodes[depth].schedules += schedules;
			continue;
		}
		if (node->next > 0)
			state_restore(node->saved);
		threads_log_count = node->log_count;
		take_step(node->steps[node->next++]);
		if (!threads_result.violated && enter_state(depth + 1, &schedules))
			depth++;
		else
			nodes[depth].schedules += schedules;
		if (threads_result.violated || table_used >= state_max)
		{
			threads_result.complete = false;
			for (unsigned i = 0; i <= depth; i++)
				free(nodes[i].saved);
			return;
		}
	}
	threads_result.complete = true;
	threads_result.schedules = schedules;
}

explore_result
explore(const explore_program *new_program, explore_memory memory, const explore_plant *plant, uint64_t state_max)
{
	program = new_program;
	table_used = 0;
	if (table)
		memset(table, 0, table_size * sizeof(seen_state));
	threads_begin(program, memory, plant);
	if (!threads_result.violated)
		search(state_max);
	threads_result.states = table_used;
	return threads_result;
}

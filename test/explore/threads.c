/*
 * threads.c
 *	  Coroutines that stop before their accesses, and the memory they share.
 *
 * Each thread has a stack at a place of its own; so a state can be put back by
 * copying the used parts of the stacks, the world and the machine.  A stack needs
 * no comparing: all that it depends on is what the thread's accesses returned
 * since its last checkpoint, and that is hashed as they return.
 */
#include "test/explore/threads.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include "runtime/base/check.h"

#define WORLD_BYTES 16384
#define STACK_BYTES 16384
#define STACK_BELOW 512 /* bytes below the frame that stops which its leaving still needs */
#define LOG_MAX 8000
#define NO_LOCATION 0xff
#define UNWATCHED 0xfe

typedef struct log_entry
{
	unsigned thread;
	const char *function; /* NULL: a note of the thread */
	const char *text;
	explore_kind kind;
	uint64_t value;
} log_entry;

threads_state threads_now;
explore_result threads_result;
unsigned threads_log_count;

static const explore_program *program;
static const explore_plant *plant;
static unsigned run_number;

static unsigned char world[WORLD_BYTES] __attribute__((aligned(64)));
static uint8_t location_at[WORLD_BYTES / 4];
static unsigned char stacks[EXPLORE_THREADS][STACK_BYTES] __attribute__((aligned(64)));
static log_entry entries[LOG_MAX];

static int running; /* the thread that runs; < 0: setup or finish */
static jmp_buf searcher;
static ucontext_t starter;

/* --- the log ----------------------------------------------------------------------- */

static void
log_add(const char *function, const char *text, explore_kind kind, uint64_t value)
{
	if (threads_log_count < LOG_MAX)
		entries[threads_log_count++] =
			(log_entry){.thread = (unsigned) running, .function = function, .text = text, .kind = kind, .value = value};
}

void
explore_note(const char *text, uint64_t number)
{
	log_add(NULL, text, EXPLORE_FENCE, number);
}

void
explore_print_schedule(void)
{
	for (unsigned i = 0; i < threads_log_count; i++)
	{
		const log_entry *entry = &entries[i];

		if (entry->function == NULL)
			printf("# %*sthread %d: %s %llu\n", 4, "", (int) entry->thread, entry->text,
				   (unsigned long long) entry->value);
		else
			printf("# thread %d  %s: %s %s %#llx\n", (int) entry->thread, entry->function, entry->text,
				   entry->kind == EXPLORE_STORE ? "<-" : "->", (unsigned long long) entry->value);
	}
	printf("# %s\n", threads_result.reason);
}

/* --- coroutines ---------------------------------------------------------------------- */

/* Gives control back to the search, which will go on from here. */
static void __attribute__((noinline)) stop(void)
{
	thread_state *thread = &threads_now.threads[running];

	thread->stack_used = (unsigned char *) __builtin_frame_address(0) - STACK_BELOW;
	if (thread->stack_used < stacks[running])
		machine_unsupported("a stack is too small");
	if (_setjmp(thread->context) == 0)
		_longjmp(searcher, 1);
}

static void
thread_main(void)
{
	program->thread((unsigned) running, program->config);
	threads_now.threads[running].stop = STOP_ENDED;
	stop();
}

void
threads_resume(unsigned number)
{
	running = (int) number;
	if (_setjmp(searcher) == 0)
		_longjmp(threads_now.threads[number].context, 1);
	running = -1;
	if (threads_now.threads[number].stop == STOP_ENDED)
	{
		machine_thread_ended(number);
		threads_now.reading = -1;
	}
}

static void
thread_start(unsigned number)
{
	ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = stacks[number];
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, thread_main, 0);
	running = (int) number;
	if (_setjmp(searcher) == 0)
		swapcontext(&starter, &context);
	running = -1;
}

void
explore_violation(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(threads_result.reason, sizeof(threads_result.reason), format, arguments);
	va_end(arguments);
	threads_result.violated = true;
	_longjmp(searcher, 1);
}

void
explore_abandon(void)
{
	threads_now.abandoned = true;
	_longjmp(searcher, 1);
}

void
tg_check_failed(const char *condition, const char *file, int line)
{
	explore_violation("check failed: %s (%s:%d)", condition, file, line);
}

/* --- hashing --------------------------------------------------------------------------- */

uint64_t
threads_mix(uint64_t hash, uint64_t word)
{
	__uint128_t product = (__uint128_t) (hash ^ word ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);

	return (uint64_t) product ^ (uint64_t) (product >> 64);
}

uint64_t
threads_mix_bytes(uint64_t hash, const void *bytes, size_t count)
{
	const unsigned char *place = bytes;

	for (; count > 0; place += 8)
	{
		uint64_t word = 0;
		size_t part = count < 8 ? count : 8;

		memcpy(&word, place, part);
		hash = threads_mix(hash, word);
		count -= part;
	}
	return hash;
}

/* The running thread's clock, one tick on: that tells threads apart. */
static unsigned
tick(void)
{
	if (running >= (int) program->alike_from && program->alike_from + 1 < program->thread_count)
		machine_unsupported("threads that are alike can be told apart");
	return machine_tick((unsigned) running);
}

/* --- the world --------------------------------------------------------------------------- */

static unsigned
offset_of(const volatile void *address)
{
	return (unsigned) ((const volatile unsigned char *) address - world);
}

void *
explore_allocate(size_t bytes)
{
	world_block *block = &threads_now.blocks[threads_now.block_count++];

	if (threads_now.block_count > BLOCKS_MAX || threads_now.world_used + bytes + 64 > WORLD_BYTES)
		machine_unsupported("the world is too small");
	block->from = threads_now.world_used;
	block->to = threads_now.world_used + (unsigned) bytes;
	block->freed = false;
	block->thread = running;
	block->tick = running < 0 ? 0 : tick();
	threads_now.world_used = (block->to + 63) / 64 * 64;
	memset(&world[block->from], 0xa5, threads_now.world_used - block->from);
	memset(&location_at[block->from / 4], NO_LOCATION, (threads_now.world_used - block->from) / 4);
	return &world[block->from];
}

void
explore_free(void *memory)
{
	for (unsigned i = 0; i < threads_now.block_count; i++)
	{
		world_block *block = &threads_now.blocks[i];

		if (block->from == offset_of(memory))
		{
			block->freed = true;
			memset(&world[block->from], 0xdd, block->to - block->from);
		}
	}
}

void
explore_location(const volatile void *address, unsigned bytes, int owner)
{
	uint64_t initial = 0;

	memcpy(&initial, (const void *) address, bytes);
	location_at[offset_of(address) / 4] = (uint8_t) threads_now.location_count++;
	(void) machine_location_add(initial, owner);
}

void
explore_unwatched(const volatile void *address)
{
	location_at[offset_of(address) / 4] = UNWATCHED;
}

/* The location of an access; what others allocated must have been published to this thread. */
static unsigned
location_of(const volatile void *address, const explore_site *site)
{
	size_t offset = (size_t) ((const volatile unsigned char *) address - world);

	for (unsigned i = 0; i < threads_now.block_count; i++)
	{
		const world_block *block = &threads_now.blocks[i];

		if (offset < block->from || offset >= block->to)
			continue;
		if (block->freed)
			explore_violation("%s: %s: memory that was freed", site->function, site->text);
		if (running >= 0 && block->thread >= 0 &&
			!machine_happened_before((unsigned) running, (unsigned) block->thread, block->tick))
			explore_violation("%s: %s: memory that was not published to this thread", site->function, site->text);
		if (location_at[offset / 4] == NO_LOCATION)
			break;
		return location_at[offset / 4];
	}
	explore_violation("%s: %s: not an atomic field", site->function, site->text);
}

/* --- accesses -------------------------------------------------------------------------------- */

static explore_change
change_of(explore_site *site)
{
	if (site->run != run_number)
	{
		site->run = run_number;
		site->plant = plant && strcmp(plant->function, site->function) == 0 && strcmp(plant->access, site->text) == 0
						  ? plant
						  : NULL;
	}
	if (site->plant == NULL)
		return (explore_change) -1;
	threads_result.planted = true;
	return site->plant->change;
}

/* Does one of the things that an access may do. */
static uint64_t
perform(unsigned number, const machine_access *access, unsigned alternative, bool *swapped_out)
{
	uint64_t read = running < 0 && number == EXPLORE_THREADS
						? machine_perform_alone(access, swapped_out)
						: machine_perform(number, access, alternative, swapped_out);
	bool is_store = access->kind == EXPLORE_STORE;
	bool is_read = access->kind == EXPLORE_LOAD || access->kind == EXPLORE_WAIT || access->kind == EXPLORE_FENCE;

	/* for a thread that reads it plainly, as the holder of the mutex under which it is written */
	if (is_store || (!is_read && *swapped_out))
	{
		uint64_t value = machine_updated(access, read);

		memcpy(access->address, &value, access->bytes);
	}
	return read;
}

static bool
is_freed(const void *address)
{
	size_t offset = (size_t) ((const unsigned char *) address - world);

	for (unsigned i = 0; i < threads_now.block_count; i++)
	{
		const world_block *block = &threads_now.blocks[i];

		if (offset >= block->from && offset < block->to)
			return block->freed;
	}
	return false;
}

void
threads_perform(unsigned number, unsigned alternative)
{
	thread_state *thread = &threads_now.threads[number];

	if (thread->access.address && is_freed(thread->access.address))
	{
		/* while the thread stood before its access */
		snprintf(threads_result.reason, sizeof(threads_result.reason), "%s: %s: memory that was freed",
				 thread->access.site->function, thread->access.site->text);
		threads_result.violated = true;
		return;
	}
	thread->answer = perform(number, &thread->access, alternative, &thread->swapped);
}

/* One access of the running thread, when its time comes. */
static uint64_t
access_do(machine_access *access, bool *swapped_out)
{
	uint64_t read;

	if (running < 0)
		return perform(EXPLORE_THREADS, access, 0, swapped_out);
	if (machine_is_local((unsigned) running, access))
	{
		read = perform((unsigned) running, access, 0, swapped_out);
		if (access->kind == EXPLORE_STORE)
			explore_effect();
	}
	else
	{
		thread_state *thread = &threads_now.threads[running];

		thread->stop = STOP_ACCESS;
		thread->access = *access;
		stop();
		read = thread->answer;
		*swapped_out = thread->swapped;
	}
	threads_now.threads[running].past = threads_mix(threads_now.threads[running].past, read);
	log_add(access->site->function, access->site->text, access->kind,
			access->kind == EXPLORE_STORE ? access->value : read);
	return read;
}

/* A read-modify-write as two accesses. */
static uint64_t
access_split(machine_access *access, bool *swapped_out)
{
	machine_access load = *access;
	uint64_t read;

	load.kind = EXPLORE_LOAD;
	read = access_do(&load, swapped_out);
	*swapped_out = access->kind != EXPLORE_CAS || read == access->expected;
	if (*swapped_out)
	{
		machine_access store = *access;
		bool ignored;

		store.kind = EXPLORE_STORE;
		store.order = EXPLORE_RELEASE;
		if (access->kind == EXPLORE_ADD)
			store.value = (read + access->value) & access->mask;
		(void) access_do(&store, &ignored);
	}
	return read;
}

static uint64_t
access_changed(machine_access *access, bool *swapped_out)
{
	switch ((int) change_of(access->site))
	{
		case EXPLORE_OMIT:
			if (access->kind == EXPLORE_FENCE || access->kind == EXPLORE_STORE || access->kind == EXPLORE_LOAD)
				return 0;
			access->kind = EXPLORE_LOAD;
			break;
		case EXPLORE_RELAX:
			access->order = EXPLORE_RELAXED;
			break;
		case EXPLORE_SPLIT:
			return access_split(access, swapped_out);
	}
	return access_do(access, swapped_out);
}

static machine_access
access_to(explore_site *site, explore_kind kind, const volatile void *address, unsigned bytes, uint64_t value)
{
	machine_access access = {.site = site, .kind = kind};

	access.location = location_of(address, site);
	access.address = (void *) address;
	access.bytes = bytes;
	access.mask = UINT64_MAX >> (64 - 8 * bytes);
	access.value = value & access.mask;
	return access;
}

/* A load or store of a field that is not watched: it stays as setup left it. */
static uint64_t
unwatched_access(const machine_access *access)
{
	uint64_t value = 0;

	if (access->kind != EXPLORE_LOAD && access->kind != EXPLORE_STORE)
		machine_unsupported("a read-modify-write of a field that is not watched");
	if (access->kind == EXPLORE_LOAD || running < 0)
		memcpy(access->kind == EXPLORE_LOAD ? (void *) &value : access->address,
			   access->kind == EXPLORE_LOAD ? access->address : &access->value, access->bytes);
	return value;
}

uint64_t
explore_atomic(explore_site *site, explore_kind kind, explore_order order, const volatile void *address, unsigned bytes,
			   uint64_t value)
{
	bool ignored;
	machine_access access = {.site = site, .kind = kind};

	if (kind != EXPLORE_FENCE)
		access = access_to(site, kind, address, bytes, value);
	if (kind != EXPLORE_FENCE && access.location == UNWATCHED)
		return unwatched_access(&access);
	access.order = order;
	return access_changed(&access, &ignored);
}

bool
explore_cas(explore_site *site, explore_order order, explore_order failure, const volatile void *address,
			unsigned bytes, uint64_t *expected, uint64_t desired)
{
	bool swapped;
	machine_access access = access_to(site, EXPLORE_CAS, address, bytes, desired);
	uint64_t read;

	access.order = order;
	access.failure = failure;
	access.expected = *expected & access.mask;
	read = access_changed(&access, &swapped);
	if (!swapped)
		*expected = read;
	return swapped;
}

void
explore_lock(uint32_t *word)
{
	bool ignored;
	machine_access access = access_to(EXPLORE_SITE("lock"), EXPLORE_TAKE, word, sizeof(*word), 1);

	access.order = EXPLORE_ACQUIRE;
	(void) access_changed(&access, &ignored);
}

void
explore_unlock(uint32_t *word)
{
	(void) explore_atomic(EXPLORE_SITE("unlock"), EXPLORE_EXCHANGE, EXPLORE_RELEASE, word, sizeof(*word), 0);
}

void
explore_wait_while(const uint32_t *word, uint32_t value)
{
	bool ignored;
	machine_access access = access_to(EXPLORE_SITE("wait"), EXPLORE_WAIT, word, sizeof(*word), 0);

	access.order = EXPLORE_ACQUIRE;
	access.expected = value;
	(void) access_changed(&access, &ignored);
}

void
explore_fence_everywhere(void)
{
	(void) explore_atomic(EXPLORE_SITE("fence everywhere"), EXPLORE_FENCE,
						  program->has_everywhere ? EXPLORE_EVERYWHERE : EXPLORE_SEQ_CST, NULL, 0, 0);
}

unsigned
explore_choose(unsigned count)
{
	thread_state *thread = &threads_now.threads[running];

	thread->stop = STOP_CHOICE;
	thread->choices = count;
	stop();
	thread->past = threads_mix(thread->past, thread->answer);
	return (unsigned) thread->answer;
}

void
explore_checkpoint(uint64_t value, const void *private_memory, size_t bytes)
{
	threads_now.threads[running].past = threads_mix_bytes(threads_mix(1, value), private_memory, bytes);
}

void
explore_effect(void)
{
	threads_now.reading = -1;
}

void
explore_plain_write(explore_plain *plain)
{
	if (running < 0)
		return;
	for (unsigned i = 0; i < program->thread_count; i++)
	{
		if (!machine_happened_before((unsigned) running, i, plain->written[i]) ||
			!machine_happened_before((unsigned) running, i, plain->read[i]))
			explore_violation("a plain write races with thread %u", i);
	}
	plain->written[running] = (uint8_t) tick();
}

void
explore_plain_read_last(explore_plain *plain)
{
	for (unsigned i = 0; running >= 0 && i < program->thread_count; i++)
	{
		if (!machine_happened_before((unsigned) running, i, plain->written[i]))
			explore_violation("a plain read races with thread %u", i);
	}
}

void
explore_plain_read(explore_plain *plain)
{
	explore_plain_read_last(plain);
	if (running >= 0)
		plain->read[running] = (uint8_t) tick();
}

/* --- as a whole ----------------------------------------------------------------------- */

void
threads_begin(const explore_program *new_program, explore_memory memory, const explore_plant *new_plant)
{
	program = new_program;
	plant = new_plant;
	run_number++;
	machine_reset(memory, program->thread_count, program->has_everywhere);
	threads_now = (threads_state){.reading = -1};
	threads_result = (explore_result){0};
	threads_log_count = 0;
	running = -1;
	if (_setjmp(searcher) == 0)
		program->setup(program->config);
	for (unsigned i = 0; i < program->thread_count && !threads_result.violated; i++)
		thread_start(i);
}

void
threads_finish(void)
{
	if (_setjmp(searcher) == 0)
		program->finish(program->config);
}

uint64_t
threads_world_key(void)
{
	uint64_t hash = threads_mix_bytes(1, world, threads_now.world_used);

	for (unsigned i = 0; i < threads_now.block_count; i++)
		hash = threads_mix(hash, threads_now.blocks[i].tick);
	return hash;
}

static size_t
stack_bytes(unsigned thread)
{
	return (size_t) (stacks[thread] + STACK_BYTES - threads_now.threads[thread].stack_used);
}

size_t
threads_bytes(void)
{
	size_t bytes = sizeof(threads_now) + threads_now.world_used + threads_now.world_used / 4;

	for (unsigned i = 0; i < program->thread_count; i++)
		bytes += stack_bytes(i);
	return bytes;
}

void
threads_save(unsigned char *bytes_out)
{
	unsigned char *place = bytes_out;

	memcpy(place, &threads_now, sizeof(threads_now));
	place += sizeof(threads_now);
	memcpy(place, world, threads_now.world_used);
	place += threads_now.world_used;
	memcpy(place, location_at, threads_now.world_used / 4);
	place += threads_now.world_used / 4;
	for (unsigned i = 0; i < program->thread_count; i++)
	{
		memcpy(place, threads_now.threads[i].stack_used, stack_bytes(i));
		place += stack_bytes(i);
	}
}

void
threads_restore(const unsigned char *bytes)
{
	const unsigned char *place = bytes;

	memcpy(&threads_now, place, sizeof(threads_now));
	place += sizeof(threads_now);
	memcpy(world, place, threads_now.world_used);
	place += threads_now.world_used;
	memcpy(location_at, place, threads_now.world_used / 4);
	place += threads_now.world_used / 4;
	for (unsigned i = 0; i < program->thread_count; i++)
	{
		memcpy(threads_now.threads[i].stack_used, place, stack_bytes(i));
		place += stack_bytes(i);
	}
}

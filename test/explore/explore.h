/*
 * explore.h
 *	  Every schedule of a small program of threads, on three kinds of memory.
 *
 * A program sets up some shared memory and runs a few short threads on it.
 * The runtime's own code, compiled with this folder's atomics.h as the back
 * end of runtime/base/atomic.h, then has each of its atomic accesses executed
 * in every order, and with every value that the memory allows it to see.
 *
 *	EXPLORE_SC	 one memory, every access takes effect at once
 *	EXPLORE_TSO	 x86: a store waits in a queue of its thread
 *	EXPLORE_C11	 C11's orders, as a machine of views (machine.c)
 *
 * All shared memory lies in the world: what explore_allocate gives out.  Atomic
 * fields are declared by EXPLORE_FIELD; the rest of the world is plain and may only
 * be touched by one thread, by the holder of a mutex, or by a check that runs in
 * one step with the access before it.  Whether plain accesses happen in an order is
 * only looked at where explore_plain says so.
 */
#ifndef TG_EXPLORE_H
#define TG_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_THREADS 4

typedef enum explore_memory
{
	EXPLORE_SC,
	EXPLORE_TSO,
	EXPLORE_C11,
	EXPLORE_MEMORIES
} explore_memory;

extern const char *const explore_memory_names[EXPLORE_MEMORIES];

typedef struct explore_program
{
	unsigned thread_count;
	unsigned alike_from; /* threads from this number on are alike and leave equal traces */
	bool has_everywhere; /* explore_fence_everywhere is one; else it is only this thread's */
	bool may_wait;		 /* it may also end with threads that wait */
	/*
	 * Between a store and its next access, no thread touches plain memory of the world that
	 * others change or check meanwhile, except where explore_plain sees to the order; and memory
	 * is not freed.
	 */
	bool stores_come_first;
	const void *config;
	void (*setup)(const void *config); /* before the threads, alone */
	void (*thread)(unsigned number, const void *config);
	void (*finish)(const void *config); /* after them, alone: sees the newest of everything */
} explore_program;

/*
 * One access made weaker: the one with this text in this function, as written in the source:
 * tg_fence_seq_cst().
 */
typedef enum explore_change
{
	EXPLORE_OMIT,  /* not done; a load gives 0, a read-modify-write only reads */
	EXPLORE_RELAX, /* relaxed, both ways of it */
	EXPLORE_SPLIT, /* a read-modify-write becomes a read and a write */
} explore_change;

typedef struct explore_plant
{
	const char *function;
	const char *access;
	explore_change change;
} explore_plant;

typedef struct explore_result
{
	bool violated;
	bool planted;	  /* the access to be made weaker was met */
	bool complete;	  /* false if given up at state_max */
	char reason[160]; /* of the violation */
	uint64_t states;  /* with more than one way on, and the ends */
	double schedules; /* different ways through them */
	unsigned depth;	  /* longest schedule, in steps */
} explore_result;

/* Explores until done, a first violation, or state_max states. plant may be NULL. */
extern explore_result explore(const explore_program *program, explore_memory memory, const explore_plant *plant,
							  uint64_t state_max);

/* Prints the schedule that led to the last violation. */
extern void explore_print_schedule(void);

/* --- for setup --------------------------------------------------------------- */

/*
 * Memory of the world.  A thread may allocate, too; the others must not touch that memory before it
 * was published to them.
 */
extern void *explore_allocate(size_t bytes);

/* After this the memory's atomic fields must not be accessed. */
extern void explore_free(void *memory);

#define EXPLORE_SHARED (-1)
#define EXPLORE_CONSTANT (-2) /* written by setup only */

/*
 * Declares an atomic field.  If only one thread ever writes it, and only by
 * stores, say which: there is then less to explore.
 */
#define EXPLORE_FIELD(pointer, owner) explore_location((pointer), sizeof(*(pointer)), (owner))
extern void explore_location(const volatile void *address, unsigned bytes, int owner);

/*
 * Declares an atomic field that is no part of what is explored, as a statistic or
 * a setting: it keeps the value that setup gives it, whatever threads store.
 */
extern void explore_unwatched(const volatile void *address);

/* --- for threads ---------------------------------------------------------------- */

/* A free choice: 0 to count - 1. */
extern unsigned explore_choose(unsigned count);

/*
 * From here on the thread is determined by value, by the private memory and by
 * what its accesses return: no local variable may reach over this call but what
 * value says.  States before it can so be recognised as the same.
 */
extern void explore_checkpoint(uint64_t value, const void *private_memory, size_t bytes);

/* A mutex: 0 is free.  In place of latches, which are tested elsewhere. */
extern void explore_lock(uint32_t *word);
extern void explore_unlock(uint32_t *word);

/* Sleeps while the word is value; reads it with acquire. */
extern void explore_wait_while(const uint32_t *word, uint32_t value);

/* membarrier: a full fence in every thread. */
extern void explore_fence_everywhere(void);

/*
 * What this thread has just read makes it change plain memory of the world that
 * checks of other threads look at.
 */
extern void explore_effect(void);

/* Ends the exploration. */
extern void explore_violation(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* This schedule is not followed any further, as one in which a thread tries in vain too often. */
extern void explore_abandon(void) __attribute__((noreturn));

/* For the printed schedule. */
extern void explore_note(const char *text, uint64_t number);

/*
 * Something that threads write and read by plain accesses, in the world.  Each
 * of two accesses, one of them a write, must happen before the other.
 */
typedef struct explore_plain
{
	uint8_t written[EXPLORE_THREADS]; /* their clocks at the last access */
	uint8_t read[EXPLORE_THREADS];
} explore_plain;

extern void explore_plain_write(explore_plain *plain);
extern void explore_plain_read(explore_plain *plain);
extern void explore_plain_read_last(explore_plain *plain); /* no thread will write it again */

#endif /* TG_EXPLORE_H */

/*
 * threads.h
 *	  The threads of an explored program and its world, between explore.c, which decides which one
 *	  runs, and the machine.
 */
#ifndef TG_EXPLORE_THREADS_H
#define TG_EXPLORE_THREADS_H

#include <setjmp.h>

#include "test/explore/explore.h"
#include "test/explore/machine.h"

#define BLOCKS_MAX 32

typedef enum thread_stop
{
	STOP_ACCESS, /* before an access that others could notice */
	STOP_CHOICE,
	STOP_ENDED
} thread_stop;

typedef struct thread_state
{
	thread_stop stop;
	uint64_t past; /* hash of what determines its stack */
	machine_access access;
	unsigned choices;
	uint64_t answer; /* to the access or choice, given by the thread that resumes it */
	bool swapped;
	unsigned char *stack_used; /* from here on */
	jmp_buf context;
} thread_state;

typedef struct world_block
{
	unsigned from; /* offsets in the world */
	unsigned to;
	bool freed;
	int thread; /* that allocated it, at this tick of its clock; < 0: setup */
	unsigned tick;
} world_block;

/* All that is to be put back with a state, beside the machine, the world and the stacks. */
typedef struct threads_state
{
	int reading; /* the thread that goes on until it has an effect; < 0: none */
	bool abandoned;
	unsigned world_used;
	unsigned block_count;
	unsigned location_count;
	world_block blocks[BLOCKS_MAX];
	thread_state threads[EXPLORE_THREADS];
} threads_state;

extern threads_state threads_now;
extern explore_result threads_result; /* violations and whether the plant was met */

/* Sets up and runs each thread to its first stop. */
extern void threads_begin(const explore_program *program, explore_memory memory, const explore_plant *plant);

/* Does what the access at which a thread stopped may do. */
extern void threads_perform(unsigned number, unsigned alternative);

/* Runs a thread, which has its answer, to its next stop. */
extern void threads_resume(unsigned number);

/* After the last one has ended: the program's own check. */
extern void threads_finish(void);

/* The schedule so far is the first so many entries of a log. */
extern unsigned threads_log_count;

/* threads_now, the world and the stacks as bytes. */
extern size_t threads_bytes(void);
extern void threads_save(unsigned char *bytes_out);
extern void threads_restore(const unsigned char *bytes);

extern uint64_t threads_mix(uint64_t hash, uint64_t word);
extern uint64_t threads_mix_bytes(uint64_t hash, const void *bytes, size_t count);

/* Hash of the world. */
extern uint64_t threads_world_key(void);

#endif /* TG_EXPLORE_THREADS_H */

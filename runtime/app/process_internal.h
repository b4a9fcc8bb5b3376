/*
 * process_internal.h
 *	  A process' parts; for the files process*.c.
 */
#ifndef TG_PROCESS_INTERNAL_H
#define TG_PROCESS_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include <urcu/rculfhash.h>

#include "runtime/base/atomic.h"
#include "runtime/base/latch.h"
#include "runtime/app/process.h"
#include "runtime/app/process_state.h"

/* Yields lie in blocks of growing size, which do not move: block k holds TG_YIELD_FIRST << k. */
#define TG_YIELD_FIRST 8
#define TG_YIELD_BLOCKS 17

/* An event in a queue. */
typedef struct tg_event_node
{
	struct tg_event_node *next; /* under the latch, as event */
	tg_event event;
} tg_event_node;

typedef enum tg_yield_state
{
	TG_YIELD_FREE,
	TG_YIELD_OUTSTANDING, /* the process is Blocked by it */
	TG_YIELD_WATCHING,	  /* a child's exit, which is waited for beside others */
	TG_YIELD_QUEUED		  /* its event is in the queue */
} tg_yield_state;

/*
 * A yielded command.  It also has the room for its event, so that a completion always has a place.
 */
typedef struct tg_yield
{
	tg_event_node node; /* first */
	/* running worker only, as handler and argument: yielded ones in order, or free ones */
	struct tg_yield *next;
	const tg_command_handler *handler;
	void *kept;			 /* running worker only */
	uint32_t index;		 /* constant */
	uint32_t generation; /* under the latch, as state: of its use */
	tg_yield_state state;
	unsigned char argument[TG_COMMAND_ARGUMENT_BYTES] __attribute__((aligned(8)));
} tg_yield;

struct tg_process
{
	tg_task task; /* first */

	/* Constant once published. */
	struct cds_lfht_node node; /* rculfhash's */
	/* released with each try to publish, acquired by the thread that finds the process */
	tg_pid pid;
	const tg_application *application;
	const tg_entry *entry;
	void *state; /* the application's */
	void *transaction;
	tg_ticket exit_ticket; /* the spawner's; no PID: the job's first process */
	uint32_t queue_max;

	uint32_t word TG_CACHE_ALIGNED; /* process_state.h */

	tg_latch latch TG_CACHE_ALIGNED;
	bool closed;	   /* under the latch, as the next fields: takes nothing any more */
	bool is_cancelled; /* the cancel event has been queued */
	bool must_close;   /* ends without another Step */
	tg_event_node *first;
	tg_event_node *last; /* no meaning while first is NULL */
	tg_event_counts counts;
	uint32_t block_count;
	tg_yield *blocks[TG_YIELD_BLOCKS];
	tg_event_node cancel_node;

	/* The running worker's; the counts are read by views. */
	tg_yield *free_yields TG_CACHE_ALIGNED;
	tg_yield *yielded_first;
	tg_yield *yielded_last;
	bool is_started;  /* it has had its first Step */
	bool wants_again; /* as its last Step said */
	tg_status exit;
	uint64_t steps;
	uint64_t events;
};

/* --- process_event.c: the queue and the yields ---------------------------------------- */

extern void tg_process_events_init(tg_process *process);

/*
 * Add an event and wake the process.  Inside an epoch.  A message: on TG_FULL or TG_NOT_FOUND the
 * node is still the caller's.  A completion: false if the ticket is not valid for one.
 */
extern tg_status tg_process_event_add(tg_session *session, tg_process *process, tg_event_node *message) TG_MUST_USE;
extern bool tg_process_event_settle(tg_session *session, tg_process *process, tg_ticket ticket, tg_status error,
									void *data, tg_event_drop drop) TG_MUST_USE;
extern void tg_process_event_cancel(tg_session *session, tg_process *process, bool must_close);

/* Takes the first events out, at most count_max.  Running worker. */
extern unsigned tg_process_events_take(tg_session *session, tg_process *process, tg_event *events, unsigned count_max,
									   bool *must_close_out);

/* Drops the data that a Step has left.  Running worker. */
extern void tg_process_events_drop(tg_session *session, tg_event *events, unsigned count);

extern tg_event_counts tg_process_event_counts(tg_process *process);

/* A yield of its own, OUTSTANDING or WATCHING.  Running worker. */
extern tg_status tg_process_yield_take(tg_session *session, tg_process *process, tg_yield_state state,
									   tg_event_type type, uint64_t tag, tg_yield **yield_out) TG_MUST_USE;

/*
 * Gives a yield back: under the latch, or one that is WATCHING and whose ticket no other thread
 * has.
 */
extern void tg_process_yield_give(tg_process *process, tg_yield *yield);

extern tg_ticket tg_process_yield_ticket(const tg_process *process, const tg_yield *yield);

/*
 * Closes the queue, once: no event is accepted any more, queued events are dropped, outstanding
 * commands cancelled.
 */
extern void tg_process_events_close(tg_session *session, tg_process *process);

/* --- process_table.c: PIDs -------------------------------------------------------------- */

/* Make the table; destroy it, once it is empty and no thread looks at it any more.  Main thread. */
extern tg_status tg_process_table_create(void) TG_MUST_USE;
extern bool tg_process_table_destroy(uint64_t end_us);

/* Counts a process that may be published; TG_FULL, or TG_STOPPED after a close.  Any thread. */
extern tg_status tg_process_table_claim(void) TG_MUST_USE;
extern void tg_process_table_unclaim(void);

/* No claim succeeds after this. */
extern void tg_process_table_close(void);

/* Gives the process a PID and makes it known; it is claimed. */
extern void tg_process_table_add(tg_session *session, tg_process *process);
extern void tg_process_table_remove(tg_session *session, tg_process *process);

/*
 * Waits until all present epochs have ended, which are short.  False: one lasted until end_us.
 * Outside an epoch.
 */
extern bool tg_process_table_quiesce(uint64_t end_us);

/* NULL if there is none.  Inside an epoch, in which it stays valid. */
extern tg_process *tg_process_table_find(tg_pid pid);

/* Calls see, inside an epoch, with each process that exists at the moment. */
extern void tg_process_table_each(tg_session *session, void (*see)(tg_session *, tg_process *, void *), void *argument);

/* --- process.c ------------------------------------------------------------------------------ */

/*
 * Makes a child of a process, which runs once its task is spawned.  By the worker that runs the
 * parent.
 */
extern tg_status tg_process_spawn(const tg_command *command, const tg_spawn_command *spawn,
								  tg_process **child_out) TG_MUST_USE;

/* --- process_command.c ------------------------------------------------------------------------ */

/* Registers the built-in kinds of this room. */
extern void tg_process_commands_register(void);

#endif /* TG_PROCESS_INTERNAL_H */

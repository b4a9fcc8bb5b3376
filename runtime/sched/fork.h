/*
 * fork.h
 *	  Fork and join: a task splits, its parts run anywhere, it goes on when all have ended.
 *
 * A frame is a task with a parent.  A step of the frame makes children, forks all but one of them
 * (other workers may take those from that moment on) and returns the last child: this worker runs
 * it next.  When all children have ended, the frame continues with the step that tg_frame_then
 * named; if none was named, the frame has ended itself.  So no thread waits, and a worker's stack
 * holds one step.
 *
 *		typedef struct sum { tg_frame frame; ...; long *result; long parts[2]; } sum;
 *
 *		static tg_frame *
 *		sum_run(tg_frame *frame, tg_worker *worker)
 *		{
 *			...
 *			tg_frame_then(frame, sum_join);			 *result = parts[0] + parts[1]
 *			tg_frame_fork(worker, &left->frame);	 writes parts[0]
 *			return &right->frame;					 writes parts[1]
 *		}
 *
 * A frame lies in the arena and is freed when it has ended; a child writes its result to a place in
 * its parent's frame.  A job counts its root frame only: children end before their parents, so the
 * root stands for all of them.  The parent's next step sees everything that its children wrote.  A
 * step that does not return (the host's error path) leaves its parents waiting for ever: do such
 * work in tasks of other kinds.
 */
#ifndef TG_FORK_H
#define TG_FORK_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"

typedef struct tg_frame tg_frame;

/*
 * The work of one step.  Returns a child to run next, NULL for none.  The step may continue until
 * it returns, but must not touch a child that it has forked.
 */
typedef tg_frame *tg_step(tg_frame *frame, tg_worker *worker);

/* Comes first in the caller's structure; fields are fork.c's. */
struct tg_frame
{
	tg_task task;
	tg_frame *parent; /* constant, NULL for a root */
	tg_step *step;	  /* the next one, NULL: none */
	uint32_t open;	  /* see fork.c for this and the rest */
	uint32_t kept;
	uint32_t share; /* or, in a worker's list, which frame from its end this is */
	uint32_t class;
};

/*
 * A job's first frame, for tg_job_start(session, job, &frame->task); with NULL
 * as job, for tg_task_submit.  bytes is the caller's whole structure, of which
 * nothing but the frame is set.  NULL if there is no memory.
 */
extern void *tg_frame_root(tg_session *session, tg_job *job, size_t bytes, tg_step *step) TG_MUST_USE;

/* Frees a root that was never started. */
extern void tg_frame_drop(tg_session *session, tg_frame *root);

/* Frames that a worker keeps for its next children; a worker begins with them (worker.h). */
#define TG_FRAME_SHIFT 6   /* sizes are multiples of 64 bytes */
#define TG_FRAME_CLASSES 8 /* sizes of which frames are kept */

typedef struct tg_frame_lists
{
	tg_frame *first[TG_FRAME_CLASSES]; /* linked by task.next */
} tg_frame_lists;

/* tg_frame_child with memory of the arena. */
extern void *tg_frame_child_alloc(tg_worker *worker, tg_frame *parent, size_t bytes, tg_step *step) TG_MUST_USE;

/*
 * A child of the frame whose step runs, to be forked or returned by that step.
 * NULL if there is no memory: do its work in this step, or let the job fail.
 */
static inline void *TG_MUST_USE
tg_frame_child(tg_worker *worker, tg_frame *parent, size_t bytes, tg_step *step)
{
	tg_frame_lists *lists = (tg_frame_lists *) worker;
	size_t class = (bytes - 1) >> TG_FRAME_SHIFT;
	tg_frame *child;

	if (tg_unlikely(class >= TG_FRAME_CLASSES || !lists->first[class]))
		return tg_frame_child_alloc(worker, parent, bytes, step);
	child = lists->first[class];
	lists->first[class] = (tg_frame *) child->task.next;
	child->task.job = parent->task.job;
	child->parent = parent;
	child->step = step;
	return child;
}

/* Offers a child to all workers.  Called by its parent's step. */
extern void tg_frame_fork(tg_worker *worker, tg_frame *child);

/*
 * Names the step that follows when all children have ended, or at once if there are none.  Called
 * by a step of the frame.
 */
static inline void
tg_frame_then(tg_frame *frame, tg_step *step)
{
	frame->step = step;
}

static inline tg_job *
tg_frame_job(const tg_frame *frame)
{
	return frame->task.job;
}

/* --- for worker.c and serial.c ------------------------------------------------- */

/*
 * Frees the frames that the worker keeps for its next children.  Called on the worker's thread, or
 * after its end.
 */
extern void tg_frames_flush(tg_worker *worker);

#endif /* TG_FORK_H */

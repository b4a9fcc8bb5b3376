/*
 * fork.c
 *	  Fork and join without waiting, and without atomic operations where no thief comes.
 *
 * A frame has to know when all its children have ended.  A counter that each child lowers would
 * cost an atomic read-modify-write per child.  Instead, a step that forks divides TOTAL shares: one
 * for each child that it forks, the rest for the child that it returns (or, if it returns none, for
 * its worker).  A child that has ended passes its shares on to the sibling that its worker pops
 * next from its deque, which is a plain addition.  As long as no thief comes, a worker pops the
 * children one after another, and the last one to end holds TOTAL: the parent continues, and no
 * atomic operation was needed.
 *
 *		 F forks a, b and returns c		c: T-2	b: 1	a: 1	open T
 *		 c ends, b is popped					b: T-1	a: 1
 *		 b ends, a is stolen: b's shares are given back				open 1
 *		 a ends elsewhere, nothing to pop: given back				open 0: F goes on
 *
 * Only where the next task is not a sibling are the shares given back to open, the parent's
 * counter: once per run of siblings on one worker.  The worker that brings open to 0 continues with
 * the parent.  It does not matter which worker pops which sibling, nor in which order, so fairness
 * rounds, overflow into the global queue and thefts of a half need no special case.
 *
 * Invariants
 *	1. While children run: open is the sum of the shares that they and their
 *	   workers hold.  Otherwise open is TOTAL.
 *	2. kept is the number of shares that the running step has not handed out yet;
 *	   TOTAL before the step.
 *	3. Exactly one party finds that all have ended: it holds TOTAL (then no other
 *	   party holds a share, and open was never touched), or its subtraction ended
 *	   at 0.
 *	4. A party that has given its shares back does not touch the parent again,
 *	   which may be freed by then.
 *	5. A frame in a worker's list keeps task, open and kept as a new frame needs them.
 *
 * Orderings: the deque's release and acquire hand a child to its thief with all
 * that the parent wrote.  The subtractions are acq_rel, so the one that ends at
 * 0 sees what all children wrote; shares passed on stay in one thread.
 *
 * A worker runs frames in a loop of its own until TURN_MAX steps have run, or until there is work
 * that comes before the deque, or a task that is no frame.  Then the worker's own loop looks at all
 * queues in its order.
 *
 * Frames come from lists, one for each size and worker, of at most LIST_MAX.  Further frames, and
 * those that find their list empty, use the arena, whose own caches move memory from the sessions
 * that free frames to those that allocate them.
 *
 * Kin: Cilk's "full frames" (Frigo et al., 1998) pay for a join where a theft
 * took place only; weighted reference counts (Bevan, 1987) divide as the shares
 * here do.  Left out: a frame cannot park nor come again.
 */
#include "runtime/sched/fork.h"

#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/worker.h"

#define TOTAL (UINT32_C(1) << 30) /* more than a step can fork */
#define TURN_MAX 64				  /* steps from one look at other queues to the next */

/* Debug builds keep few, so that the arena sees most frames go and poisons them. */
#ifdef TG_DEBUG
#define LIST_MAX 2
#else
#define LIST_MAX 64
#endif

_Static_assert(sizeof(tg_frame) == 64, "a frame's own part is one cache line");
_Static_assert(offsetof(tg_worker, frames) == 0, "fork.h takes it from there");

static tg_turn run_frames(tg_task *task, tg_worker *worker);

/* --- frames' memory ------------------------------------------------------------ */

static void *
frame_alloc(tg_session *session, tg_job *job, size_t bytes, tg_step *step)
{
	uint32_t class = (uint32_t) ((bytes - 1) >> TG_FRAME_SHIFT);
	tg_frame *frame = tg_alloc(session, (size_t) (class + 1) << TG_FRAME_SHIFT, TG_USE_JOB, TG_DATA);

	tg_assert(bytes >= sizeof(tg_frame));
	if (!frame)
		return NULL;
	tg_task_init(&frame->task, run_frames, job);
	frame->parent = NULL;
	frame->step = step;
	frame->open = TOTAL;
	frame->kept = TOTAL;
	frame->share = 0;
	frame->class = class;
	return frame;
}

static inline void
frame_give(tg_worker *worker, tg_frame *frame)
{
	uint32_t class = frame->class;
	tg_frame *first;
	uint32_t place;

	tg_assert(frame->open == TOTAL && frame->kept == TOTAL);
	if (tg_likely(class < TG_FRAME_CLASSES))
	{
		first = worker->frames.first[class];
		place = first ? first->share + 1 : 0;
		if (tg_likely(place < LIST_MAX))
		{
			frame->share = place;
			frame->task.next = (tg_task *) first;
			worker->frames.first[class] = frame;
			return;
		}
	}
	tg_free(worker->session, frame, TG_USE_JOB);
}

void
tg_frames_flush(tg_worker *worker)
{
	for (unsigned i = 0; i < TG_FRAME_CLASSES; i++)
	{
		while (worker->frames.first[i])
		{
			tg_frame *frame = worker->frames.first[i];

			worker->frames.first[i] = (tg_frame *) frame->task.next;
			tg_free(worker->session, frame, TG_USE_JOB);
		}
	}
}

/* --- making and forking ------------------------------------------------------------ */

void *
tg_frame_root(tg_session *session, tg_job *job, size_t bytes, tg_step *step)
{
	return frame_alloc(session, job, bytes, step);
}

void
tg_frame_drop(tg_session *session, tg_frame *root)
{
	tg_assert(!root->parent);
	tg_free(session, root, TG_USE_JOB);
}

void *
tg_frame_child_alloc(tg_worker *worker, tg_frame *parent, size_t bytes, tg_step *step)
{
	tg_frame *child = frame_alloc(worker->session, parent->task.job, bytes, step);

	if (child)
		child->parent = parent;
	return child;
}

void
tg_frame_fork(tg_worker *worker, tg_frame *child)
{
	tg_assert(child->parent->kept > 1);
	child->parent->kept--;
	child->share = 1;
	tg_worker_push(worker, &child->task);
}

/* --- running and joining -------------------------------------------------------------- */

/*
 * A frame below this parent has ended, or the parent's step has, and leaves shares.  Returns the
 * worker's next task: a sibling, the parent, or any other task; NULL if there is none.
 */
static inline tg_task *
pass_on(tg_worker *worker, tg_frame *parent, uint32_t share)
{
	tg_task *next = tg_deque_pop(&worker->deque);

	if (next && next->run == run_frames && ((tg_frame *) next)->parent == parent)
	{
		((tg_frame *) next)->share += share;
		return next;
	}
	if (tg_fetch_add_acq_rel(&parent->open, -share) != share)
		return next;
	parent->open = TOTAL;
	if (next)
		tg_worker_push(worker, next);
	return &parent->task;
}

/*
 * Runs the frame's next step.  Returns the frame to continue with, which may be the same; NULL: its
 * children run elsewhere.
 */
static inline tg_frame *
run_step(tg_worker *worker, tg_frame *frame, tg_step *step)
{
	tg_frame *child;

	frame->step = NULL;
	child = step(frame, worker);
	if (child)
	{
		tg_assert(child->parent == frame);
		child->share = frame->kept;
		frame->kept = TOTAL;
		return child;
	}
	return frame->kept == TOTAL ? frame : NULL;
}

static tg_turn
root_end(tg_worker *worker, tg_frame *root)
{
	tg_job *job = root->task.job;

	frame_give(worker, root);
	if (job)
		tg_job_task_ended(worker->session, job);
	return TG_TURN_PASSED;
}

/*
 * Runs this frame and the frames that follow from it.  A frame that ends here reports that by its
 * shares; a root, which has none, reports to its job.
 */
static tg_turn
run_frames(tg_task *task, tg_worker *worker)
{
	uint64_t count = worker->tasks_run - 1; /* the worker has counted the first one */
	uint64_t count_max = count + TURN_MAX;
	tg_frame *frame = (tg_frame *) task;

	for (;;)
	{
		tg_step *step = frame->step;
		tg_frame *parent;
		uint32_t share;

		if (step)
		{
			tg_frame *next;

			if (count == count_max)
				break;
			tg_store_relaxed(&worker->tasks_run, ++count);
			next = run_step(worker, frame, step);
			if (next)
			{
				frame = next;
				continue;
			}
			parent = frame;
			share = frame->kept;
			frame->kept = TOTAL;
		}
		else
		{
			parent = frame->parent;
			share = frame->share;
			if (tg_unlikely(!parent))
				return root_end(worker, frame);
			frame_give(worker, frame);
			if (share == TOTAL)
			{
				frame = parent;
				continue;
			}
		}
		task = pass_on(worker, parent, share);
		if (!task)
			return TG_TURN_PASSED;
		frame = (tg_frame *) task;
		/*
		 * A frame of another job is dispatched anew, because privilege and reports are the job's.
		 */
		if (tg_unlikely(task->run != run_frames || task->job != worker->job || tg_worker_has_special(worker)))
			break;
	}
	tg_worker_push(worker, &frame->task);
	return TG_TURN_PASSED;
}

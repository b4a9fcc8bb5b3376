/*
 * first.c
 *	  A first program: a job that forks and joins, a lane, a condition.
 */
#include <semaphore.h>
#include <stdio.h>

#include "runtime/runtime.h"

typedef struct sum /* of the numbers from first to last */
{
	tg_frame frame;
	long first, last, *result, halves[2];
} sum;

static tg_frame *
sum_join(tg_frame *frame, tg_worker *worker)
{
	sum *whole = (sum *) frame;

	*whole->result = whole->halves[0] + whole->halves[1];
	return NULL; /* neither a child nor a next step: it has ended */
}

static tg_frame *
sum_run(tg_frame *frame, tg_worker *worker)
{
	sum *whole = (sum *) frame;
	sum *half = NULL;

	if (whole->first == whole->last)
	{
		*whole->result = whole->first;
		return NULL;
	}
	tg_frame_then(frame, sum_join); /* once both halves have ended */
	for (int i = 0; i < 2; i++)
	{
		if (half)
			tg_frame_fork(worker, &half->frame); /* for the first free worker */
		half = tg_frame_child(worker, frame, sizeof(sum), sum_run);
		if (!half)
		{
			tg_job_fail(tg_frame_job(frame), TG_NO_MEMORY);
			return NULL;
		}
		half->first = i == 0 ? whole->first : (whole->first + whole->last) / 2 + 1;
		half->last = i == 0 ? (whole->first + whole->last) / 2 : whole->last;
		half->result = &whole->halves[i];
	}
	return &half->frame; /* this worker goes on with it */
}

typedef struct line
{
	tg_operation operation;
	const char *text;
} line;

static int lines_said;

static void
line_say(tg_operation *operation, tg_session *session)
{
	puts(((line *) operation)->text);
	tg_fetch_add_acq_rel(&lines_said, 1);
}

static tg_job *job;
static sem_t over;

static bool
all_is_done(tg_condition *condition, tg_session *session)
{
	return tg_load_acquire(&lines_said) == 3 && tg_job_state_get(job) == TG_JOB_DONE;
}

static tg_turn
say_sum(tg_task *task, tg_worker *worker)
{
	printf("the sum is %ld\n", *(long *) tg_job_argument(job));
	sem_post(&over);
	return TG_TURN_DONE;
}

int
main(void)
{
	static line lines[] = {{.text = "a lane"}, {.text = "keeps"}, {.text = "its order"}};
	static tg_lane lane;
	static tg_condition condition;
	long result = 0;
	tg_job_config config = {.kind = "sum", .level = 60, .argument = &result};
	tg_session *session;
	sum *root;

	sem_init(&over, 0, 0);
	if (tg_runtime_open(2, &session) != TG_OK || tg_job_create(session, &config, &job) != TG_OK)
		return 1;

	/* once all below is done */
	tg_condition_init(&condition, say_sum, all_is_done, 1000, NULL);
	if (tg_condition_submit(session, NULL, &condition) != TG_OK)
		return 1;

	/* a job: a task that forks others */
	root = tg_frame_root(session, job, sizeof(sum), sum_run);
	if (!root)
		return 1;
	root->first = 1;
	root->last = 1000000;
	root->result = &result;
	if (tg_job_start(session, job, &root->frame.task) != TG_OK)
		return 1;

	/* a lane: one operation at a time, on any worker */
	tg_lane_init(&lane);
	for (int i = 0; i < 3; i++)
	{
		lines[i].operation.run = line_say;
		if (tg_lane_submit(session, &lane, &lines[i].operation) != TG_OK)
			return 1;
	}

	sem_wait(&over);
	tg_job_release(session, job);
	return tg_runtime_close(session) ? 0 : 1;
}

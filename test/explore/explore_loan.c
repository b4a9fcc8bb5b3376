/*
 * explore_loan.c
 *	  Loans of a shared transaction that is abandoned: every schedule of runtime/txn/loan.c.
 *
 * Lenders begin a loan each, whose tasks write, and end it, kept or undone, when their tasks have
 * ended; the first task of a loan is its lender's own thread.  The owner aborts the transaction at
 * any time, without waiting for them.  A mutex stands for the lane.
 *
 * Shown, for every schedule: nobody takes a piece while its task writes, and sees all that the task
 * has written; no task writes once its loan has been called in; each piece is taken once; a lender
 * is told whether the transaction has ended before its loan; at the end nothing is left in the log,
 * and all that was written has been undone.  Then the orders that loan.c's rule 5 names are planted
 * away.
 */
#include <string.h>

#include "test/explore/evidence.h"

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/shared_internal.h"

#define tg_txn_enter(session, txn) ((void) (txn), explore_lock(&world->lane), true)
#define tg_txn_leave(session, txn, entered) ((void) (entered), explore_unlock(&world->lane))
#define tg_epoch_enter(session) ((void) (session))
#define tg_epoch_leave(session) ((void) (session))
#define tg_spin(round) ((void) (round), wait_for_change(&loan->inside))

#define LOANS_MAX 2
#define TASKS_MAX 2 /* of a loan */

typedef struct scenario
{
	const char *name;
	unsigned lenders;
	unsigned tasks; /* of each; the last one's are threads of their own, but for the first */
	unsigned turns; /* of a task */
} scenario;

typedef struct shared_world
{
	tg_shared shared;
	tg_txn txn;
	tg_session sessions[EXPLORE_THREADS];
	tg_loan *loans[LOANS_MAX]; /* their memory */
	explore_plain pieces[LOANS_MAX][TASKS_MAX];
	uint32_t lane;	/* atomic, as the following */
	uint32_t begun; /* tasks may begin: 1; there are to be none: 2 */
	uint32_t tasks_ended;
	uint8_t written[LOANS_MAX][TASKS_MAX]; /* by the task */
	uint8_t log;						   /* under the lane, as the following */
	uint8_t undone;
	bool was_called_in;
} shared_world;

static shared_world *world;
static unsigned kept; /* in all schedules */
static unsigned called_in;

static void
wait_for_change(uint32_t *word)
{
	uint32_t value = tg_load_relaxed(word);

	if (value != 0)
		explore_wait_while(word, value);
}

#include "runtime/txn/loan.c"

/* --- what stands for the rest of the runtime -------------------------------------------------- */

static unsigned
loan_of(const tg_session *session)
{
	return (unsigned) (session - world->sessions) - 1;
}

void *
tg_alloc_zeroed(tg_session *session, size_t bytes, tg_use use, tg_claim claim)
{
	(void) bytes;
	(void) use;
	(void) claim;
	return world->loans[loan_of(session)];
}

void
tg_free(tg_session *session, void *memory, tg_use use)
{
	(void) session;
	(void) memory;
	(void) use;
}

tg_status
tg_shared_judge(const tg_shared *shared, const tg_table *table)
{
	(void) shared;
	(void) table;
	return world->was_called_in ? TG_STOPPED : TG_OK;
}

tg_status
tg_txn_mind_table(const tg_writer *writer, tg_table *table, tg_wait *wait_out)
{
	(void) writer;
	(void) table;
	(void) wait_out;
	return TG_OK;
}

static void
take_piece(tg_piece *piece)
{
	for (unsigned i = 0; i < LOANS_MAX; i++)
		for (unsigned j = 0; j < TASKS_MAX; j++)
			if (world->loans[i] != NULL && piece == &world->loans[i]->lots[j].piece)
				explore_plain_write(&world->pieces[i][j]);
	world->log += (uint8_t) piece->writes;
	piece->writes = 0;
}

void
tg_txn_take_pieces(tg_session *session, tg_txn *txn, tg_piece *const *pieces, unsigned count)
{
	(void) session;
	(void) txn;
	for (unsigned i = 0; i < count; i++)
		take_piece(pieces[i]);
}

tg_log_mark
tg_write_log_mark(tg_write_log *log)
{
	(void) log;
	return world->log;
}

void
tg_txn_rollback_to(tg_session *session, tg_txn *txn, tg_txn_mark mark)
{
	(void) session;
	(void) txn;
	world->undone += (uint8_t) (world->log - mark.log);
	world->log = (uint8_t) mark.log;
}

/* --- the program ------------------------------------------------------------------------------ */

static void
setup(const void *pointer)
{
	const scenario *scenario = pointer;

	world = explore_allocate(sizeof(*world));
	memset(world, 0, sizeof(*world));
	world->shared.txn = &world->txn;
	EXPLORE_FIELD(&world->lane, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->begun, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->tasks_ended, EXPLORE_SHARED);
	explore_unwatched(&world->txn.lock_count);
	for (unsigned i = 0; i < scenario->lenders; i++)
	{
		size_t bytes = sizeof(tg_loan) + TASKS_MAX * sizeof(lot);

		world->loans[i] = explore_allocate(bytes);
		memset(world->loans[i], 0, bytes);
		EXPLORE_FIELD(&world->loans[i]->inside, EXPLORE_SHARED);
		EXPLORE_FIELD(&world->loans[i]->is_over, EXPLORE_SHARED);
	}
}

static void
write_row(unsigned loan, unsigned task)
{
	explore_effect();
	explore_plain_write(&world->pieces[loan][task]);
	tg_loan_piece(world->loans[loan], task)->writes++;
	world->written[loan][task]++;
}

static void
run_task(const scenario *scenario, unsigned loan, unsigned task)
{
	for (unsigned turn = 0; turn < scenario->turns && tg_loan_enter(world->loans[loan]); turn++)
	{
		write_row(loan, task);
		if (!tg_loan_is_over(world->loans[loan]))
			write_row(loan, task);
		tg_loan_leave(world->loans[loan]);
	}
}

/* Of the last lender's loan. */
static void
run_other_task(const scenario *scenario)
{
	explore_wait_while(&world->begun, 0);
	if (tg_load_acquire(&world->begun) == 2)
		return;
	run_task(scenario, scenario->lenders - 1, 1);
	tg_store_release(&world->tasks_ended, 1);
}

static void
lend(const scenario *scenario, unsigned number)
{
	bool has_others = number == scenario->lenders - 1 && scenario->tasks > 1;
	bool keeps = explore_choose(2) == 1;
	tg_session *session = &world->sessions[number + 1];
	tg_status status;
	tg_loan *loan;
	bool is_there;

	status = tg_loan_begin(session, &world->shared, NULL, NULL, scenario->tasks, &loan, NULL);
	if (has_others)
		tg_store_release(&world->begun, status == TG_OK ? 1 : 2);
	if (status != TG_OK)
		return;
	run_task(scenario, number, 0);
	if (has_others)
		explore_wait_while(&world->tasks_ended, 0);
	is_there = tg_loan_end(session, loan, keeps);
	kept += is_there && keeps;
	called_in += !is_there;
}

static void
abandon(void)
{
	explore_lock(&world->lane);
	world->was_called_in = true;
	tg_loans_call_in(&world->sessions[0], &world->txn);
	world->undone += world->log;
	world->log = 0;
	explore_unlock(&world->lane);
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;

	if (number == 0)
		abandon();
	else if (number <= scenario->lenders)
		lend(scenario, number - 1);
	else
		run_other_task(scenario);
}

static void
finish(const void *pointer)
{
	unsigned written = 0;

	(void) pointer;
	for (unsigned i = 0; i < LOANS_MAX; i++)
		for (unsigned j = 0; j < TASKS_MAX; j++)
			written += world->written[i][j];
	if (world->txn.loans != NULL || world->log != 0 || world->undone != written)
		explore_violation("%u rows were written, %u undone, and %u are in the log", written, world->undone, world->log);
}

static explore_program
program_of(const void *pointer)
{
	const scenario *scenario = pointer;

	return (explore_program){.thread_count = 1 + scenario->lenders + (scenario->tasks - 1),
							 .alike_from = EXPLORE_THREADS,
							 .config = scenario,
							 .setup = setup,
							 .thread = thread,
							 .finish = finish};
}

/* --- as it is, and with something planted ----------------------------------------------------- */

static const scenario one = {.name = "a loan of a task, of 2 turns", .lenders = 1, .tasks = 1, .turns = 2};
static const scenario tasks = {.name = "a loan of 2 tasks", .lenders = 1, .tasks = 2, .turns = 1};
static const scenario loans = {.name = "2 loans of a task", .lenders = 2, .tasks = 1, .turns = 1};
static const scenario long_tasks = {.name = "a loan of 2 tasks, of 2 turns", .lenders = 1, .tasks = 2, .turns = 2};
static const scenario long_loans = {.name = "2 loans, one of 2 tasks", .lenders = 2, .tasks = 2, .turns = 1};

static void
test_as_it_is(const scenario *scenario)
{
	explore_as_it_is(program_of, scenario, scenario->name, EXPLORE_SC, EXPLORE_C11, &kept);
	unit_ok(called_in > 0, "and called in");
}

#define IN "tg_fetch_add_relaxed(&loan->inside)"
#define OUT "tg_fetch_add_acq_rel(&loan->inside)"
#define OVER "tg_store_then_fence(&loan->is_over)"

static const explore_weakness weaknesses[] = {
	{"a task counts itself in by two steps", &tasks, EXPLORE_SC, {"tg_loan_enter", IN, EXPLORE_SPLIT}},
	{"a task does not count itself in", &one, EXPLORE_SC, {"tg_loan_enter", IN, EXPLORE_OMIT}},
	{"a task does not fence", &one, EXPLORE_C11, {"tg_loan_enter", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"a task does not look", &one, EXPLORE_SC, {"tg_loan_is_over", "tg_load_relaxed(&loan->is_over)", EXPLORE_OMIT}},
	{"a task leaves by two steps", &tasks, EXPLORE_SC, {"tg_loan_leave", OUT, EXPLORE_SPLIT}},
	{"a task leaves relaxed", &one, EXPLORE_C11, {"tg_loan_leave", OUT, EXPLORE_RELAX}},
	{"a call-in does not say so", &one, EXPLORE_SC, {"wait_for_tasks", "store of " OVER, EXPLORE_OMIT}},
	{"a call-in does not fence", &one, EXPLORE_TSO, {"wait_for_tasks", "fence of " OVER, EXPLORE_OMIT}},
	{"a call-in does not wait", &one, EXPLORE_C11, {"wait_for_tasks", "tg_load_acquire(&loan->inside)", EXPLORE_OMIT}},
	{"a call-in waits relaxed", &one, EXPLORE_C11, {"wait_for_tasks", "tg_load_acquire(&loan->inside)", EXPLORE_RELAX}},
};

int
main(int argument_count, char **arguments)
{
	test_as_it_is(&one);
	test_as_it_is(&tasks);
	test_as_it_is(&loans);
	if (argument_count > 1 && strcmp(arguments[1], "long") == 0)
	{
		test_as_it_is(&long_tasks);
		test_as_it_is(&long_loans);
	}
	explore_planted(program_of, weaknesses, EXPLORE_COUNT(weaknesses));
	return unit_done();
}

/*
 * hold_model.c
 *	  Random schedules of transactions at SERIALIZABLE, of which some are prepared: those committed
 *	  have to be serializable in the order of C, and are not if a rule is left out.
 *
 * The schedules are of one thread, which takes a step of a random client at a time; commits and
 * second phases are several steps.  RULE_SCHEDULES=n: so many of them.
 */
#include "test/unit/hold.h"

#define CLIENTS 5
#define IDS 5
#define OPERATIONS 4
#define TXNS 64

typedef struct operation
{
	int64_t id;
	int64_t amount; /* read, or written */
	bool is_write;
} operation;

typedef struct history
{
	tg_time time;
	unsigned count;
	operation operations[OPERATIONS];
} history;

typedef enum phase
{
	IDLE,
	RUNS,
	VALIDATES,	   /* C is drawn */
	HOLDS,		   /* and is validated */
	IS_PREPARED,   /* the client's session is free, but idle */
	ENDS_PREPARED, /* with a C */
} phase;

typedef struct actor
{
	client client;
	phase phase;
	history history;
	tg_txn *second;
} actor;

static actor actors[CLIENTS];
static history committed[TXNS];
static unsigned committed_count;
static uint64_t seed;

static unsigned
chance(unsigned below)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned) (seed >> 33) % below;
}

static void
operate(actor *by)
{
	operation *next = &by->history.operations[by->history.count];
	int64_t old;

	*next = (operation){.id = (int64_t) chance(IDS), .is_write = chance(2) == 0};
	if (!next->is_write)
		next->amount = get(&by->client, next->id);
	else
	{
		tg_status status;

		next->amount = 100 + (int64_t) chance(1000000);
		next_command(&by->client);
		status = set(&by->client, next->id, next->amount, &old);
		if (status == TG_NOT_FOUND)
			status = put(&by->client, next->id, next->amount);
		next_command(&by->client);
		if (status != TG_OK)
		{
			end(&by->client, false);
			by->phase = IDLE;
			return;
		}
	}
	by->history.count++;
}

static void
note_commit(actor *by, tg_time time)
{
	if (committed_count == TXNS)
		unit_bail("too many");
	by->history.time = time;
	committed[committed_count++] = by->history;
}

static void
begin_end(actor *by)
{
	client *own = &by->client;

	if (!tg_txn_has_writes(own->txn))
	{
		note_commit(by, own->snapshot.time);
		end(own, true);
		by->phase = IDLE;
	}
	else if (chance(2) == 0)
	{
		(void) tg_txn_prepare(own->session, own->txn, own->snapshot.time);
		by->phase = VALIDATES;
	}
	else
	{
		tg_hold_publish(own->session, own->txn);
		tg_hold_validate(own->txn, own->snapshot.time);
		by->phase = HOLDS;
	}
}

static void
step_validation(actor *by)
{
	client *own = &by->client;
	tg_conflict conflict;
	tg_wait wait;
	tg_status status = tg_validation_step(own->session, own->reads, &conflict, &wait);

	if (status == TG_AGAIN || status == TG_BUSY)
		return;
	if (status == TG_OK && by->phase == HOLDS)
	{
		if (!tg_hold_is_valid(own->txn))
			tg_hold_validate(own->txn, own->snapshot.time);
		else
		{
			move(own, HOST(10 + (uint64_t) (by - actors)));
			by->phase = IS_PREPARED;
		}
		return;
	}
	if (status == TG_OK)
		note_commit(by, tg_load_relaxed(&own->txn->state) >> TG_STATE_BITS);
	end(own, status == TG_OK);
	by->phase = IDLE;
}

static void
step_second(actor *by)
{
	client *own = &by->client;

	if (by->phase == IS_PREPARED)
	{
		by->second = in_hand(HOST(10 + (uint64_t) (by - actors)));
		if (chance(4) == 0)
			tg_txn_abort(own->session, by->second);
		else
		{
			(void) tg_txn_prepare(own->session, by->second, 0);
			by->phase = ENDS_PREPARED;
			return;
		}
	}
	else if (!tg_hold_may_end(by->second))
		return;
	else
	{
		note_commit(by, tg_load_relaxed(&by->second->state) >> TG_STATE_BITS);
		tg_txn_commit(own->session, by->second);
	}
	tg_prepared_let_go(by->second);
	by->phase = IDLE;
}

static void
act(actor *by, bool may_begin)
{
	switch (by->phase)
	{
		case IDLE:
			if (!may_begin)
				return;
			begin(&by->client);
			by->history.count = 0;
			by->phase = RUNS;
			break;
		case RUNS:
			if (by->history.count < OPERATIONS && chance(4) != 0)
				operate(by);
			else
				begin_end(by);
			break;
		case VALIDATES:
		case HOLDS:
			step_validation(by);
			break;
		case IS_PREPARED:
		case ENDS_PREPARED:
			step_second(by);
			break;
	}
}

/* Those that a look-up may wait for. */
static void
act_for_outcomes(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (actors[i].phase == VALIDATES || actors[i].phase == ENDS_PREPARED)
			act(&actors[i], false);
}

static int
compare_histories(const void *left, const void *right)
{
	const history *one = left;
	const history *two = right;

	/* one that wrote nothing has its snapshot's time, and comes after the commit of that time */
	if (one->time != two->time)
		return one->time < two->time ? -1 : 1;
	for (unsigned i = 0; i < one->count; i++)
		if (one->operations[i].is_write)
			return -1;
	return 1;
}

/* Whether each has read what it reads if they run one after the other. */
static bool
is_serializable(int64_t *amounts)
{
	qsort(committed, committed_count, sizeof(history), compare_histories);
	for (unsigned i = 0; i < committed_count; i++)
		for (unsigned k = 0; k < committed[i].count; k++)
		{
			const operation *one = &committed[i].operations[k];

			if (one->is_write)
				amounts[one->id] = one->amount;
			else if (amounts[one->id] != one->amount)
				return false;
		}
	return true;
}

/* One schedule, and what is there behind it. */
static bool
run_schedule(void)
{
	int64_t amounts[IDS];
	bool open = true;

	begin(&a);
	for (int64_t id = 0; id < IDS; id++)
		amounts[id] = get(&a, id);
	end(&a, true);
	committed_count = 0;
	for (unsigned steps = 0; steps < 60; steps++)
		act(&actors[chance(CLIENTS)], true);
	for (unsigned steps = 0; open && steps < 100000; steps++)
	{
		open = false;
		for (unsigned i = 0; i < CLIENTS; i++)
		{
			act(&actors[i], false);
			open = open || actors[i].phase != IDLE;
		}
	}
	if (open || !is_serializable(amounts))
		return false;
	begin(&a);
	for (int64_t id = 0; id < IDS; id++)
		if (get(&a, id) != amounts[id])
			open = true;
	end(&a, true);
	return !open;
}

/* Whether all schedules are right. */
static bool
run_schedules(void)
{
	const char *given = getenv("RULE_SCHEDULES");
	unsigned count = given != NULL ? (unsigned) atoi(given) : 2000;

	for (unsigned i = 0; i < CLIENTS; i++)
		client_open(&actors[i].client);
	while_busy = act_for_outcomes;
	for (unsigned i = 0; i < count; i++)
	{
		seed = i;
		(void) chance(2);
		if (!run_schedule())
			return false;
	}
	return true;
}

/* The rules that such schedules show. */
static const char *const shown[] = {"skip_h1", "skip_h2", "skip_h3", "skip_h3_again", "skip_h4"};

int
main(void)
{
	unit_ok(run(run_schedules, NULL) == KEPT, "random schedules are serializable");
	for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		unit_ok(run(run_schedules, shown[i]) == BROKEN, "without %s some are not", shown[i]);
	return unit_done();
}

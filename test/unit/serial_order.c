/*
 * serial_order.c
 *	  SERIALIZABLE clients that read and write at random, with delays at every
 *	  step of a commit.
 *
 * Afterwards all committed transactions are replayed one by one in the order of C,
 * those that wrote nothing at their snapshot: each must have read exactly what is
 * there then.  The same with validation switched off must fail: so the replay would
 * have noticed.
 */
#include "test/unit/serializable.h"

#include <unistd.h>

#include "runtime/base/failpoint.h"

/* --- all at once -------------------------------------------------------------------- */

#define CLIENTS 4
#define ROUNDS 2000
#define OPERATIONS_MAX 5
#define EVENTS_MAX (OPERATIONS_MAX * (KEYS + 2))

typedef enum event_kind
{
	EVENT_READ,
	EVENT_WRITE
} event_kind;

typedef struct event
{
	int8_t kind;
	int8_t key;
	int64_t amount;
} event;

/* A committed transaction: what it read and wrote, in its order. */
typedef struct history
{
	tg_time at; /* C, or the snapshot of one that wrote nothing */
	bool wrote;
	unsigned count;
	event events[EVENTS_MAX];
} history;

static history *histories;
static unsigned history_count;	/* atomic */
static unsigned failed_count;	/* atomic */
static unsigned extended_count; /* to write */
static unsigned ahead_count;	/* to read */
static bool skips_validation;

static __thread unsigned delay_seed;

/* Delays where a commit goes from one state to the next. */
static bool
delay(const char *name)
{
	unsigned number;

	if (strcmp(name, "validate_skip") == 0)
		return skips_validation;
	if (strncmp(name, "txn_", 4) != 0 && strcmp(name, "validate") != 0)
		return false;
	number = (unsigned) rand_r(&delay_seed) % 16;
	if (number < 4)
		sched_yield();
	else if (number == 4)
		usleep(number * 5);
	return false;
}

static void
add_event(history *h, event_kind kind, int64_t key, int64_t amount)
{
	if (h->count == EVENTS_MAX)
		unit_bail("too many events");
	h->events[h->count++] = (event){.kind = (int8_t) kind, .key = (int8_t) key, .amount = amount};
}

/* One random operation.  False: the transaction cannot go on. */
static bool
do_something(client *c, history *h, unsigned *seed)
{
	int64_t key = rand_r(seed) % KEYS;
	int64_t amounts[KEYS];
	int64_t to;
	int64_t old = ABSENT;
	int64_t amount = rand_r(seed) % 1000000;
	tg_time before = c->snapshot.time;
	tg_status status;

	switch (rand_r(seed) % 10)
	{
		case 0:
			get_all(c, amounts);
			for (int64_t id = 0; id < KEYS; id++)
				add_event(h, EVENT_READ, id, amounts[id]);
			return true;
		case 1:
		case 2:
			to = key + 8 < KEYS ? key + 8 : KEYS;
			to = get_range(c, key, to, rand_r(seed) % 2 == 0 ? 2 : 100, amounts);
			for (int64_t id = key; id < to; id++)
				add_event(h, EVENT_READ, id, amounts[id]);
			return true;
		case 3:
		case 4:
			add_event(h, EVENT_READ, key, get_ahead(c, key));
			if (c->snapshot.time != before)
				__atomic_fetch_add(&ahead_count, 1, __ATOMIC_RELAXED);
			return true;
		case 5:
			status = put(c, key, amount);
			if (status == TG_EXISTS)
				return true; /* and no thread looks at that */
			if (status == TG_OK)
			{
				add_event(h, EVENT_READ, key, ABSENT);
				add_event(h, EVENT_WRITE, key, amount);
				h->wrote = true;
			}
			return status == TG_OK;
		default:
			if (rand_r(seed) % 4 == 0)
				amount = ABSENT;
			status = set(c, key, amount, &old);
			if (c->snapshot.time != before)
				__atomic_fetch_add(&extended_count, 1, __ATOMIC_RELAXED);
			if (status == TG_OK)
			{
				add_event(h, EVENT_READ, key, old);
				add_event(h, EVENT_WRITE, key, amount);
				h->wrote = true;
			}
			else if (status == TG_NOT_FOUND)
				add_event(h, EVENT_READ, key, ABSENT);
			return status == TG_OK || status == TG_NOT_FOUND;
	}
}

static void
run_transaction(client *c, unsigned *seed)
{
	history h = {.count = 0};
	bool goes_on = true;
	unsigned operations = 1 + (unsigned) rand_r(seed) % OPERATIONS_MAX;

	begin(c);
	for (unsigned i = 0; goes_on && i < operations; i++)
	{
		if (rand_r(seed) % 8 == 0 && h.wrote)
		{
			/* Something is done and taken back: what it read stays. */
			history part = h;
			tg_txn_mark mark;
			unsigned number;

			tg_txn_savepoint(c->session, c->txn, &mark, &number);
			goes_on = do_something(c, &part, seed);
			tg_txn_rollback_to(c->session, c->txn, mark);
			for (unsigned e = h.count; e < part.count; e++)
				if (part.events[e].kind == EVENT_READ)
					h.events[h.count++] = part.events[e];
		}
		else
			goes_on = do_something(c, &h, seed);
		next_command(c);
		if (rand_r(seed) % 4 == 0)
			sched_yield();
	}
	h.at = c->snapshot.time;
	h.wrote = h.wrote && tg_txn_has_writes(c->txn);
	if (goes_on && h.wrote)
		goes_on = (h.at = prepare(c)) != 0;
	end(c, goes_on);
	if (goes_on)
		histories[__atomic_fetch_add(&history_count, 1, __ATOMIC_RELAXED)] = h;
	else
		__atomic_fetch_add(&failed_count, 1, __ATOMIC_RELAXED);
}

static unsigned clients_left;

static void
stress(unsigned number, void *argument)
{
	unsigned seed = number * 7919 + 1;
	client c;

	(void) argument;
	delay_seed = seed;
	client_open(&c);
	if (number < CLIENTS)
	{
		for (int i = 0; i < ROUNDS; i++)
		{
			run_transaction(&c, &seed);
			if (i % 16 == 0)
				tg_epoch_advance();
		}
		__atomic_sub_fetch(&clients_left, 1, __ATOMIC_ACQ_REL);
	}
	else
		while (__atomic_load_n(&clients_left, __ATOMIC_ACQUIRE) > 0)
		{
			tg_epoch_advance();
			(void) tg_collector_run(c.session, 64);
			tg_retire_poll(c.session);
			sched_yield();
		}
	client_close(&c);
}

static int
compare_histories(const void *a, const void *b)
{
	const history *left = a;
	const history *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return (int) right->wrote - (int) left->wrote; /* a snapshot is behind the commit of its time */
}

/* Replays all; returns the number of transactions that read something else than was there. */
static unsigned
replay(void)
{
	int64_t amounts[KEYS];
	unsigned wrong = 0;

	for (int i = 0; i < KEYS; i++)
		amounts[i] = ABSENT;
	qsort(histories, history_count, sizeof(history), compare_histories);
	for (unsigned i = 0; i < history_count; i++)
	{
		const history *h = &histories[i];
		bool right = true;

		for (unsigned e = 0; e < h->count; e++)
		{
			const event *event = &h->events[e];

			if (event->kind == EVENT_WRITE)
				amounts[event->key] = event->amount;
			else if (amounts[event->key] != event->amount)
				right = false;
		}
		wrong += !right;
	}
	return wrong;
}

static void
test_all(bool skips)
{
	unsigned wrong;
	client c;

	history_count = failed_count = extended_count = ahead_count = 0;
	clients_left = CLIENTS;
	skips_validation = skips;
	tg_failpoint_set(delay);
	unit_threads(CLIENTS + 1, stress, NULL);
	tg_failpoint_set(NULL);
	wrong = replay();
	if (skips)
		unit_ok(wrong > 0, "without validation the replay finds what is wrong (%u of %u)", wrong, history_count);
	else
	{
		unit_ok(history_count > ROUNDS / 4 && failed_count > 0 && extended_count > 0 && ahead_count > 0,
				"transactions committed, failed and extended their snapshots (%u, %u; %u to write, %u to read)",
				history_count, failed_count, extended_count, ahead_count);
		unit_ok(wrong == 0, "each committed transaction read what is there at its C (%u did not)", wrong);
	}
	client_open(&c);
	empty(&c);
	client_close(&c);
}

int
main(void)
{
	start();
	histories = malloc(CLIENTS * ROUNDS * sizeof(history));
	test_all(false);
	test_all(true);
	free(histories);
	return unit_done();
}

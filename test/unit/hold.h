/*
 * hold.h
 *	  Transactions at SERIALIZABLE that are prepared, for unit tests: what they have read is held,
 *	  they move, and end.  Scenarios run in processes of their own, with a failpoint or without one.
 */
#ifndef TG_UNIT_HOLD_H
#define TG_UNIT_HOLD_H

#include "test/unit/serializable.h"

#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/failpoint.h"
#include "runtime/txn/hold.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/prepared.h"

#define HOST(i) (UINT64_C(1) << 62 | (i))

static client a;
static client b;
static client c;
static tg_table *other; /* another table than that of serializable.h */

/* --- the hook --------------------------------------------------------------------------- */

static const char *skipped;
static const char *place;
static void (*meanwhile)(void);

static inline bool
at_failpoint(const char *name)
{
	if (skipped != NULL && strcmp(name, skipped) == 0)
		return true;
	if (place != NULL && strcmp(name, place) == 0)
	{
		place = NULL;
		meanwhile();
	}
	return false;
}

static inline void
arm(const char *name, void (*what)(void))
{
	meanwhile = what;
	place = name;
}

/* --- two phases ------------------------------------------------------------------------- */

static inline bool
hold(client *by)
{
	tg_conflict conflict;
	bool valid;

	tg_hold_publish(by->session, by->txn);
	do
	{
		tg_hold_validate(by->txn, by->snapshot.time);
		valid = validate(by, &conflict);
	} while (valid && !tg_hold_is_valid(by->txn));
	return valid;
}

/* The first phase, once what was read is held; the client is free for another transaction. */
static inline void
move(client *by, uint64_t host)
{
	tg_txn *txn;

	if (tg_prepared_take(by->session, host, &txn) != TG_OK)
		unit_bail("no descriptor");
	tg_prepared_move(by->session, by->txn, txn);
	tg_prepared_let_go(txn);
	tg_snapshot_withdraw(by->session, by->entry);
	by->txn = NULL;
}

static inline bool
prepare_first(client *by, uint64_t host)
{
	bool valid = hold(by);

	if (valid)
		move(by, host);
	else
		end(by, false);
	return valid;
}

static inline tg_txn *
in_hand(uint64_t host)
{
	tg_txn *txn;

	if (tg_prepared_hold(host, &txn) != TG_OK)
		unit_bail("nothing is prepared");
	return txn;
}

static inline void
end_second(client *by, uint64_t host, bool commits)
{
	tg_txn *txn = in_hand(host);

	if (commits)
	{
		(void) tg_txn_prepare(by->session, txn, 0);
		while (!tg_hold_may_end(txn))
			sched_yield();
		tg_txn_commit(by->session, txn);
	}
	else
		tg_txn_abort(by->session, txn);
	tg_prepared_let_go(txn);
}

static inline void
write_row(client *by, int64_t id, int64_t amount)
{
	int64_t old;

	if (set(by, id, amount, &old) == TG_NOT_FOUND && put(by, id, amount) != TG_OK)
		unit_bail("no row");
}

static inline bool
commit_now(client *by)
{
	bool valid = prepare(by) != 0;

	end(by, valid);
	return valid;
}

/* Whether a transaction at SERIALIZABLE can change the row. */
static inline bool
can_change(client *by, int64_t id)
{
	begin(by);
	write_row(by, id, 70 + id);
	return commit_now(by);
}

/* A prepared transaction that has read row 2, and has written row 1. */
static inline void
prepare_reader(client *by)
{
	begin(by);
	(void) get(by, 2);
	write_row(by, 1, 11);
	if (!prepare_first(by, HOST(1)))
		unit_bail("not prepared");
}

/* --- scenarios ----------------------------------------------------------------------------- */

static inline void
open_all(void)
{
	const uint8_t kinds[] = {TG_KIND_8, TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

	start();
	client_open(&a);
	client_open(&b);
	client_open(&c);
	if (tg_table_create(a.session, 1, 78, kinds, 2, &key, TG_DATA, &other) != TG_OK)
		unit_bail("no table");
	for (int64_t id = 1; id <= 3; id++)
	{
		begin(&a);
		write_row(&a, id, id * 10);
		end(&a, true);
	}
}

typedef enum outcome
{
	KEPT,
	BROKEN,
	DEAD
} outcome;

/* In a process of its own, with the failpoint or without one. */
static inline outcome
run(bool (*keeps)(void), const char *failpoint)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		open_all();
		skipped = failpoint;
#ifdef TG_FAILPOINTS
		tg_failpoint_set(at_failpoint);
#endif
		_exit(keeps() ? KEPT : BROKEN);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		unit_bail("no process");
	return WIFEXITED(status) && WEXITSTATUS(status) <= BROKEN ? (outcome) WEXITSTATUS(status) : DEAD;
}

#endif /* TG_UNIT_HOLD_H */

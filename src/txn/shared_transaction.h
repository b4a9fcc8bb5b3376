/*
 * shared_transaction.h
 *	  Several sessions in one transaction.
 *
 * A session exports its transaction and ends it, or begins one that its lease owns; others attach to it.  What an
 * attached session does to tables of ours in transactions of its own is a part of that one: seen by nobody else before
 * that commits, and gone if it does not.
 */
#ifndef TSURUGI_SHARED_TRANSACTION_H
#define TSURUGI_SHARED_TRANSACTION_H

#include "storage/lock.h"
#include "utils/rel.h"

#include "runtime/runtime.h"

extern int tsurugi_shared_lease_ms; /* the setting */
#define TSURUGI_LEASE_MS_MAX (24 * 60 * 60 * 1000)

/* Makes the setting known to the server; when the library is loaded. */
extern void tsurugi_shared_define(void);

/*
 * At the first access to a table of ours: true if the session's transaction is part of another, or
 * exported; from then on it has the turn.  May wait, and raises errors: 25P02, 55P03, 0A000.
 */
extern bool tsurugi_shared_join(void);

/* Having joined: its number; and what to add to PostgreSQL's command numbers, 0 if it has not. */
extern unsigned tsurugi_shared_number(void);
extern uint32 tsurugi_shared_first_command;

/* Its snapshot is this one now (isolation.c); if the transaction has joined one. */
extern void tsurugi_shared_note_extended(tg_time later);

/* Whether the session is attached, or has exported its transaction; and whether the running one has joined. */
extern bool tsurugi_shared_is_open; /* read-only for everybody else */
extern bool tsurugi_shared_has_joined(void);

/* The session is attached to one that goes with a snapshot of ordinary tables, which all of them read by (moment.c, 10). */
extern bool tsurugi_shared_lends(void);

/* --- what the session may do; all of these return if it takes part in none -------------- */

/* 0A000: "cannot ... in a transaction that is shared". */
extern void tsurugi_shared_check_command(const char *what);

/* For errors.c, of what the runtime has refused: 55000 for a table that was not exported; 25P02. */
extern void tsurugi_shared_check_table(Relation relation);
extern void tsurugi_shared_check_alive(void);

/* --- waiting ---------------------------------------------------------------------------- */

/* Until a shared transaction has ended; 55P03 after the limit, 40P01 if that one waits for this.  Outside an epoch. */
extern void tsurugi_wait_for_shared(const tg_wait *wait);

/*
 * Around PostgreSQL's own waits in one that is shared, no longer than the lease: part of the
 * way to a deadlock may lead through sessions that do not wait, which no detector sees.  The latter also after an error.
 */
extern void tsurugi_shared_limit_wait(void);
extern void tsurugi_shared_unlimit_wait(void);

/* The lock that whoever works in a shared transaction holds, by its number, of this database. */
extern LOCKTAG tsurugi_shared_turn(unsigned txn);

/* --- for shared_functions.c ------------------------------------------------------------ */

/* From now on the session takes part in this one, which is open; owns: ends it.  Ahead of that: */
extern void tsurugi_shared_take_part(tg_shared *opened, bool owns);
extern void tsurugi_shared_register_exit(void);

/* Having exported it above READ COMMITTED: gives it the time that goes with the session's snapshot of ordinary tables.  False: there is none. */
extern bool tsurugi_shared_export(void);

/* Not any more: false if it did not; raises 55000, 25001. */
extern bool tsurugi_shared_detach(void);

/* Raises 25P02 if somebody has ended the one that the caller is about to start, on purpose. */
extern void tsurugi_shared_check_begun(const tg_shared *begun);

/* All of a commit that can fail: raises 40001, 25P02. */
extern void tsurugi_shared_commit(tg_shared *opened);

/* The name of its isolation level. */
extern const char *tsurugi_shared_isolation_name(const tg_shared_report *report);

/* Why it was aborted. */
extern const char *tsurugi_shared_describe_abort(const tg_shared_report *report);

/* --- for participants.c ------------------------------------------------------------------ */

extern void tsurugi_shared_check_prepare(void); /* PREPARE TRANSACTION */
extern void tsurugi_shared_validate(void);		/* all that can fail */
extern void tsurugi_shared_end(bool committed);
extern void tsurugi_shared_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

#endif /* TSURUGI_SHARED_TRANSACTION_H */

/*
 * shared_transaction.h
 *	  Several sessions in one transaction.
 *
 * A session exports its transaction and ends it, or begins a transaction that its lease owns; other
 * sessions attach to it.  The changes that an attached session makes to foreign tables, in
 * transactions of its own, are part of the shared transaction.  Nobody else sees them before that
 * commits, and they are gone if it does not.
 */
#ifndef TSURUGI_SHARED_TRANSACTION_H
#define TSURUGI_SHARED_TRANSACTION_H

#include "storage/lock.h"
#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/base/status.h"

typedef struct tg_loan tg_loan;					  /* loan.h */
typedef struct tg_shared tg_shared;				  /* shared.h */
typedef struct tg_shared_report tg_shared_report; /* shared.h */

extern int tsurugi_shared_lease_ms; /* the setting */
#define TSURUGI_LEASE_MS_MAX (24 * 60 * 60 * 1000)

/* Defines the setting, when the library is loaded. */
extern void tsurugi_shared_define(void);

/*
 * At the first access to a foreign table: returns true if the session's transaction is part of
 * another one, or exported; from then on it has the turn.  May wait; raises 25P02, 55P03 and 0A000.
 */
extern bool tsurugi_shared_join(void);

/*
 * For a transaction that has joined: the number of the shared transaction.  And the amount to add
 * to PostgreSQL's command numbers, which is 0 for others.
 */
extern unsigned tsurugi_shared_number(void);
extern uint32 tsurugi_shared_first_command;

/*
 * Of a transaction that has joined: lends the shared one to so many tasks, which insert into this
 * table as this write of the session would.  The session ends the loan before it does anything
 * else.  TG_UNFIT, TG_BUSY, TG_STOPPED, TG_FORBIDDEN, TG_NO_MEMORY: it has to insert the rows
 * itself.
 */
extern tg_status tsurugi_shared_lend(const tg_writer *writer, tg_table *table, unsigned tasks,
									 tg_loan **loan_out) TG_MUST_USE;

/*
 * The transaction has got a later snapshot (isolation.c); passes it on if the transaction has
 * joined a shared one.
 */
extern void tsurugi_shared_note_extended(tg_time later);

/*
 * Whether the session is attached, or has exported its transaction; and whether the running
 * transaction has joined.
 */
extern bool tsurugi_shared_is_open; /* only shared_transaction.c writes it */
extern bool tsurugi_shared_has_joined(void);

/* The shared transaction that the end of PostgreSQL's commits, or NULL. */
extern tg_txn *tsurugi_shared_to_commit(void);

/*
 * The session is attached to a transaction that comes with a snapshot of ordinary tables, at which
 * all its sessions read (moment.c, 10).
 */
extern bool tsurugi_shared_lends(void);

/* --- permitted actions; they return if the session takes part in no shared transaction ------ */

/* Raises 0A000: "cannot ... in a transaction that is shared". */
extern void tsurugi_shared_check_command(const char *what);

/*
 * For errors.c, when the runtime has refused something.  The first raises 55000 for a table that
 * was not exported, the second 25P02.
 */
extern void tsurugi_shared_check_table(Relation relation);
extern void tsurugi_shared_check_alive(void);

/* --- waiting ---------------------------------------------------------------------------- */

/*
 * Waits until a shared transaction has ended.  Raises 55P03 after the limit, and 40P01 if that
 * transaction waits for this one.  The caller is outside an epoch.
 */
extern void tsurugi_wait_for_shared(const tg_wait *wait);

/*
 * Limits PostgreSQL's own waits in a shared transaction to the lease: a deadlock may lead through
 * sessions that do not wait, which no detector sees.  The second function is also called after an
 * error.
 */
extern void tsurugi_shared_limit_wait(void);
extern void tsurugi_shared_unlimit_wait(void);

/*
 * The lock that a session holds while it works in the shared transaction of this number, in this
 * database.
 */
extern LOCKTAG tsurugi_shared_turn(unsigned txn);

/* --- for shared_load.c ------------------------------------------------------------------ */

/*
 * The turn of this shared transaction, until the transaction ends, and no longer.  Waits at most as
 * long as the limit says: 55P03.
 */
extern void tsurugi_shared_take_turn(unsigned txn, LOCKMODE mode);
extern void tsurugi_shared_give_turn(unsigned txn, LOCKMODE mode);

/* Raises 25P02 if this one has ended, or is going to be aborted. */
extern void tsurugi_shared_check_running(const tg_shared *opened);

/* Raises 55000: the table is none of the shared transaction's. */
extern void tsurugi_shared_error_table(Relation relation) pg_attribute_noreturn();

/* Opens that of a handle; 42704: there is none, 22023.  In shared_functions.c. */
extern tg_shared *tsurugi_shared_open_handle(const text *handle);

/* --- for shared_functions.c ------------------------------------------------------------ */

/*
 * From now on the session takes part in this transaction, which is open; owns: the session also
 * ends it.  tsurugi_shared_register_exit() must have been called before.
 */
extern void tsurugi_shared_take_part(tg_shared *opened, bool owns);
extern void tsurugi_shared_register_exit(void);

/*
 * Called when a transaction above READ COMMITTED has been exported: gives it the time that goes
 * with the session's snapshot of ordinary tables.  False: there is none.
 */
extern bool tsurugi_shared_export(void);

/* The session takes part no longer.  False: it did not; raises 55000 and 25001. */
extern bool tsurugi_shared_detach(void);

/* Raises 25P02 if the transaction that the caller is about to start has been ended on purpose. */
extern void tsurugi_shared_check_begun(const tg_shared *begun);

/* Does everything in a commit that can fail: raises 40001 and 25P02. */
extern void tsurugi_shared_commit(tg_shared *opened);

/* The name of its isolation level. */
extern const char *tsurugi_shared_isolation_name(const tg_shared_report *report);

/* Explains why it was aborted. */
extern const char *tsurugi_shared_describe_abort(const tg_shared_report *report);

/* --- for participants.c ------------------------------------------------------------------ */

extern void tsurugi_shared_check_prepare(void); /* PREPARE TRANSACTION */
extern void tsurugi_shared_validate(void);		/* everything that can fail */
extern void tsurugi_shared_end(bool committed);
extern void tsurugi_shared_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

#endif /* TSURUGI_SHARED_TRANSACTION_H */

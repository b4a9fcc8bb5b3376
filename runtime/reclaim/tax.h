/*
 * tax.h
 *	  The cost of collection: a share of the sessions' running time, while there is garbage.
 *
 * A session that writes owes a part of the time that it runs while a collection cycle is open; its
 * utilization target determines the part: time × (1 - target).  Threads with nothing else to do
 * collect, too, and deposit the time in a bank.  Debts are paid from the bank first; only the rest
 * is paid by doing quanta.  So on a machine with idle CPUs no session pays, and on a busy one each
 * session's part is bounded, quantum by quantum.
 */
#ifndef TG_TAX_H
#define TG_TAX_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

#define TG_QUANTUM_US 50 /* of collection: the longest delay of a session at a time */

extern tg_status tg_tax_create(void) TG_MUST_USE;

/*
 * Settings of the process's own session: its share of its time, in a thousand, and the window over
 * which this holds.
 */
extern void tg_tax_settings(unsigned utilization_permille, unsigned window_us);

/* --- a running session; by its owner, outside an epoch --------------------------------- */

/*
 * The session begins to run a transaction that writes.  No effect if it already does, or if no
 * cycle is open.
 */
extern void tg_tax_begin(tg_session *session);

/*
 * The session has written so many rows since the last call; it goes on, or (is_over) turns to its
 * client.  The debt for the time is noted; nothing is paid here.
 */
extern void tg_tax_note(tg_session *session, uint64_t writes, bool is_over);

/* Microseconds that are owed and amount to a quantum at least, or 0. */
extern unsigned tg_tax_due(const tg_session *session);

/* Pays: from the bank, then by quanta, as long as go_on permits (NULL: always). */
extern void tg_tax_pay(tg_session *session, bool (*go_on)(void *argument), void *argument);

/* The session has gone: its account is cleared. */
extern void tg_tax_forget(tg_session *session);

/* --- the pool, and the collector -------------------------------------------------------- */

/*
 * Does a quantum's worth of collection and deposits it.  True if there is more to do at once and
 * this thread should do it.
 */
extern bool tg_tax_work(tg_session *session);

/* Ends a cycle that has worked on so many entries: empties the bank, adjusts the surcharge. */
extern void tg_tax_cycle_ended(uint64_t worked);

/* --- figures ---------------------------------------------------------------------------- */

typedef struct tg_tax_report
{
	int64_t bank_us;
	uint64_t deposited_us; /* since start, as all below */
	uint64_t withdrawn_us;
	uint64_t paid_us;		  /* by sessions' own quanta */
	uint64_t pool_cpu_us;	  /* processor time of the pool's threads in quanta */
	uint64_t sessions_cpu_us; /* and of sessions */
	uint64_t quanta;
	uint64_t quanta_long; /* that took more than twice as long as meant, on a CPU */
	uint64_t stood_back;  /* times that a thread of the pool yielded for want of a CPU (tax.c, 6) */
	unsigned entry_ns;	  /* measured cost of an entry */
	unsigned surcharge;	  /* versions that a write pays for beside its time, in a thousand */
} tg_tax_report;

extern void tg_tax_report_get(tg_tax_report *report);

typedef struct tg_tax_session_report
{
	unsigned target_permille;	 /* as set */
	unsigned effective_permille; /* as memory allows */
	unsigned achieved_permille;	 /* over the last windows in which it ran */
	uint64_t ran_us;			 /* taxed time */
	uint64_t paid_us;
	uint64_t withdrawn_us;
	uint64_t debt_us;
} tg_tax_session_report;

extern void tg_tax_session_report_get(unsigned session_id, tg_tax_session_report *report);

#endif /* TG_TAX_H */

/*
 * tax.h
 *	  Who pays for the collection: a share of what sessions run, while there is garbage.
 *
 * A session that writes owes, for the time that it runs while a collection
 * cycle is open, the part that its utilization target leaves: time × (1 - target).
 * Who has nothing else to do collects too and deposits the time in a bank;
 * debts are paid from there first, and only the rest by doing quanta oneself.
 * So on a machine with idle CPUs nobody pays, and on a busy one each session's
 * part is bounded, quantum by quantum.
 */
#ifndef TG_TAX_H
#define TG_TAX_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"

#define TG_QUANTUM_US 50 /* of collection: a session is not kept longer at a time */

extern tg_status tg_tax_create(void) TG_MUST_USE;

/* Settings of the process's own session: what it keeps of its time, in a thousand; the window over which. */
extern void tg_tax_settings(unsigned utilization_permille, unsigned window_us);

/* --- the session that runs; owner, outside an epoch ------------------------------- */

/* It begins to run, on behalf of a transaction that writes; nothing if it does already, or no cycle is open. */
extern void tg_tax_begin(tg_session *session);

/*
 * It has written so many rows since it was last asked; it goes on, or (is_over) turns to
 * its client.  What it owes for the time is noted; nothing is paid here.
 */
extern void tg_tax_note(tg_session *session, uint64_t writes, bool is_over);

/* Microseconds owed and worth paying. */
extern unsigned tg_tax_due(const tg_session *session);

/* Pays: from the bank, then in quanta, one after the other while go_on says so (NULL: always). */
extern void tg_tax_pay(tg_session *session, bool (*go_on)(void *argument), void *argument);

/* The session has gone: its place owes nothing. */
extern void tg_tax_forget(tg_session *session);

/* --- who has time, and the collector ------------------------------------------------ */

/* Does a quantum's worth of collection and deposits it.  True if there is more to do at once, and nobody better for it. */
extern bool tg_tax_work(tg_session *session);

/* At a cycle's end: how many entries it has worked on.  Empties the bank, sets the pace. */
extern void tg_tax_cycle_ended(uint64_t worked);

/* --- figures ---------------------------------------------------------------------------- */

typedef struct tg_tax_report
{
	int64_t bank_us;
	uint64_t deposited_us; /* since start, as all below */
	uint64_t withdrawn_us;
	uint64_t paid_us;		  /* by sessions' own quanta */
	uint64_t pool_cpu_us;	  /* processor time that quanta took, of the pool's threads */
	uint64_t sessions_cpu_us; /* and of sessions */
	uint64_t quanta;
	uint64_t quanta_long; /* that took more than twice as long as meant, on a CPU */
	uint64_t stood_back;  /* how often a thread of the pool left it to the sessions, for want of a CPU */
	unsigned entry_ns;	  /* what an entry costs, as measured */
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

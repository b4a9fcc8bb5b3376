/*
 * process_table.c
 *	  PIDs: liburcu's resizable hash table, on the runtime's own epochs.
 *
 * The key is a PID's number.  PIDs are drawn from a counter whose low bits are the number and whose
 * high bits are the generation; a number that is in use is skipped.  So a number names at most one
 * process, a PID is never given twice, and an old PID finds no process, or one of another
 * generation.
 *
 * rculfhash requires that a thread that looks up, adds or removes is in a read-side section, and
 * that a removed node is not touched before all sections of that time have ended.  Here the section
 * is an epoch of the caller's session, and the thread that removes a process retires it
 * (tg_retire).  Departure: the design names liburcu's QSBR.  With it the workers' loop would have
 * to announce quiescent states and go offline around each sleep, and every other thread that
 * completes a command would have to be registered.  A task that ends a process would have to wait
 * for a grace period, or keep a thread that does (call_rcu).  Epochs exist already, every caller
 * has a session, and tg_retire does not wait. urcu-memb and urcu-bp avoid the hooks, but not the
 * waiting.
 *
 * rculfhash itself uses a flavour's functions when it resizes, and this table
 * does not: it has TABLE_BUCKETS, a chain of 16 each at TG_PROCESS_MAX, since
 * numbers in a row go to buckets in a row.  So no flavour is given to it, and
 * it starts no thread.
 *
 * 1. count is at least the number of processes in the table: it is raised
 *	  before a process is made (claim), lowered after it has been removed.
 * 2. claim raises count, fences, and looks whether the table is open; close clears is_open, fences,
 *    and looks at count (Dekker).  So once count is seen as 0 after a close, no thread adds a
 *    process any more.  claim acquires is_open, and with it the table's address, which stays until
 *    count is 0.  So a thread with a claim reads the address as it is, to add and to remove.
 * 3. A thread that looks up loads the table's address within its epoch; the table is destroyed an
 *    epoch after the address was removed.
 *
 * The library's internal orderings are invisible to ThreadSanitizer.  So a process' PID is released
 * before each try to add it, and acquired by the thread that finds it.
 */
#include "runtime/app/process_internal.h"

#include <stddef.h>
#include <time.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"

#define TABLE_BUCKETS 4096
#define NUMBER_MASK ((UINT64_C(1) << TG_PID_NUMBER_BITS) - 1)

_Static_assert(TG_PROCESS_MAX <= NUMBER_MASK / 8, "free numbers are found soon");

static struct cds_lfht *table; /* main thread writes, all read */
static uint32_t count;		   /* claims */
static bool is_open;		   /* main thread writes, all read */
static tg_pid pid_last = NUMBER_MASK;

static unsigned long
number_of(tg_pid pid)
{
	return (unsigned long) (pid & NUMBER_MASK);
}

static tg_process *
process_of(struct cds_lfht_node *node)
{
	return (tg_process *) ((char *) node - offsetof(tg_process, node));
}

/* rculfhash's: same number. */
static int
has_number(struct cds_lfht_node *node, const void *key)
{
	return number_of(tg_load_acquire(&process_of(node)->pid)) == number_of(*(const tg_pid *) key);
}

/* --- life ---------------------------------------------------------------------- */

tg_status
tg_process_table_create(void)
{
	struct cds_lfht *new_table = cds_lfht_new_flavor(TABLE_BUCKETS, TABLE_BUCKETS, TABLE_BUCKETS, 0, NULL, NULL);

	tg_assert(!table && tg_load_relaxed(&count) == 0);
	if (!new_table)
		return TG_NO_MEMORY;
	tg_store_release(&table, new_table);
	tg_store_seq_cst(&is_open, true);
	return TG_OK;
}

void
tg_process_table_close(void)
{
	tg_store_seq_cst(&is_open, false);
	tg_fence_seq_cst();
}

bool
tg_process_table_quiesce(uint64_t end_us)
{
	struct timespec pause = {.tv_nsec = 100000};
	uint64_t epoch = tg_epoch_now();

	for (;;)
	{
		tg_epoch_advance();
		if (tg_epoch_confirmed() > epoch)
			return true;
		if (tg_clock_us() >= end_us)
			return false;
		nanosleep(&pause, NULL);
	}
}

bool
tg_process_table_destroy(uint64_t end_us)
{
	struct cds_lfht *old_table = table;

	tg_assert(!tg_load_relaxed(&is_open) && tg_process_count() == 0);
	tg_store_release(&table, NULL);
	if (!tg_process_table_quiesce(end_us))
		return false;
	tg_check(cds_lfht_destroy(old_table, NULL) == 0);
	return true;
}

tg_status
tg_process_table_claim(void)
{
	tg_status status = TG_OK;

	if (tg_fetch_add_seq_cst(&count, 1) >= TG_PROCESS_MAX)
		status = TG_FULL;
	tg_fence_seq_cst();
	if (!tg_load_acquire(&is_open))
		status = TG_STOPPED;
	if (status != TG_OK)
		tg_process_table_unclaim();
	return status;
}

void
tg_process_table_unclaim(void)
{
	/* pairs with the load that sees 0 */
	uint32_t before = tg_fetch_add_acq_rel(&count, (uint32_t) -1);

	tg_assert(before > 0);
	(void) before;
}

unsigned
tg_process_count(void)
{
	return tg_load_acquire(&count);
}

/* --- one process ------------------------------------------------------------------ */

void
tg_process_table_add(tg_session *session, tg_process *process)
{
	struct cds_lfht_node *found;

	cds_lfht_node_init(&process->node);
	do
	{
		tg_pid pid = tg_fetch_add_relaxed(&pid_last, 1) + 1;

		tg_store_release(&process->pid, pid);
		tg_epoch_enter(session);
		found = cds_lfht_add_unique(table, number_of(pid), has_number, &pid, &process->node);
		tg_epoch_leave(session);
	} while (found != &process->node);
}

void
tg_process_table_remove(tg_session *session, tg_process *process)
{
	tg_epoch_enter(session);
	tg_check(cds_lfht_del(table, &process->node) == 0);
	tg_epoch_leave(session);
}

tg_process *
tg_process_table_find(tg_pid pid)
{
	struct cds_lfht *current = tg_load_acquire(&table);
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;
	tg_process *process;

	if (!current)
		return NULL;
	tg_failpoint("process_finding");
	cds_lfht_lookup(current, number_of(pid), has_number, &pid, &iter);
	node = cds_lfht_iter_get_node(&iter);
	if (!node)
		return NULL;
	process = process_of(node);
	tg_failpoint("process_found");
	return tg_load_acquire(&process->pid) == pid ? process : NULL;
}

void
tg_process_table_each(tg_session *session, void (*see)(tg_session *, tg_process *, void *), void *argument)
{
	struct cds_lfht *current;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	tg_epoch_enter(session);
	current = tg_load_acquire(&table);
	if (current)
	{
		cds_lfht_first(current, &iter);
		while ((node = cds_lfht_iter_get_node(&iter)))
		{
			tg_process *process = process_of(node);

			(void) tg_load_acquire(&process->pid);
			see(session, process, argument);
			cds_lfht_next(current, &iter);
		}
	}
	tg_epoch_leave(session);
}

/*
 * prepared.c
 *	  Descriptors of prepared transactions, and how a transaction moves into one.
 *
 * 1. References are replaced one by one while both descriptors are ACTIVE.  A session that has
 *	  loaded the old one finds its transaction open, or loads the word again (tg_time_resolve): then
 *	  it finds the new one, which is open, too.  The old descriptor is IDLE only when none of its
 *	  references is left (T3).
 * 2. The new references name no subtransaction: the whole transaction is waited for.
 * 3. A row lock changes its holder under the latch of its part (row_lock.c), so a session that has
 *	  to wait for it gets the host word of one of the two, and looks again after that wait.
 * 4. W0: the registrations are the new descriptor's before they go from the old one, so a LONG that
 *	  is about to start finds one of the two.
 * 5. in_hand is set by compare-and-swap (acquire), so one session at a time ends a prepared
 *	  transaction, or takes its descriptor; letting go is a release store.  So the next holder sees
 *	  the plain fields, log and locks among them, as the last one has left them.
 * 6. A transaction that was PREPARED(C) and is ACTIVE again draws another C later, above the
 *	  snapshot of any reader that has found it ACTIVE.
 */
#include "runtime/txn/prepared.h"

#include "runtime/mem/session.h"
#include "runtime/table/write_log.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/hold.h"
#include "runtime/txn/row_lock.h"
#include "runtime/txn/txn_internal.h"

static unsigned prepared_max;

void
tg_prepared_set_max(unsigned count)
{
	prepared_max = count;
}

unsigned
tg_prepared_max(void)
{
	return prepared_max;
}

/* The descriptors lie behind all others. */
static tg_txn *
descriptor(unsigned i)
{
	return &tg_txns->txn[tg_txns->txn_max - prepared_max + i];
}

static bool
is_idle(const tg_txn *txn)
{
	return (tg_load_acquire(&txn->state) & TG_STATE_MASK) == TG_TXN_IDLE;
}

static bool
take_in_hand(tg_txn *txn)
{
	uint32_t none = 0;

	return tg_cas_acq_rel(&txn->in_hand, &none, 1);
}

void
tg_prepared_let_go(tg_txn *txn)
{
	if (!is_idle(txn) && txn->log == NULL && txn->locks == NULL)
	{
		tg_hold_restore_none(txn);
		tg_store_release(&txn->state, TG_TXN_IDLE);
	}
	if (is_idle(txn))
		tg_store_relaxed(&txn->prepared_host, 0);
	tg_store_release(&txn->in_hand, 0);
}

tg_status
tg_prepared_take(tg_session *session, uint64_t host, tg_txn **txn_out)
{
	for (unsigned i = 0; i < prepared_max; i++)
	{
		tg_txn *txn = descriptor(i);

		if (!is_idle(txn) || !take_in_hand(txn))
			continue;
		if (is_idle(txn))
		{
			unsigned number = tg_txn_number(txn);

			*txn_out = tg_txn_begin_at(session, number, host, TG_TXN_ORDINARY, TG_READ_COMMITTED, NULL);
			tg_store_relaxed(&txn->prepared_host, host);
			return TG_OK;
		}
		tg_store_release(&txn->in_hand, 0);
	}
	return TG_FULL;
}

bool
tg_prepared_is_logged(const tg_txn *txn)
{
	const tg_row_lock *lock = NULL;
	tg_lock_mode mode;
	tg_table *table;
	uint32_t row;

	while ((lock = tg_row_lock_next(txn, lock, &table, &row, &mode)) != NULL)
		if (!table->unlogged)
			return true;
	return tg_txn_is_logged(txn);
}

/* --- moving ------------------------------------------------------------------------------- */

/* 2. */
static void
rename_word(tg_time *word, tg_time reference)
{
	tg_time time = tg_load_relaxed(word);

	if (tg_time_is_reference(time))
		tg_store_release(word, reference | (time & TG_REFERENCE_KEEPS_KEY));
}

static void
rename_write(const tg_log_entry *entry, tg_time reference)
{
	tg_header *header = tg_version_header(entry->version);

	switch ((tg_write) entry->kind)
	{
		case TG_WRITE_INSERT:
		case TG_WRITE_REVIVE:
			for (uint32_t i = 0; i < entry->count; i++)
				rename_word(&header[i].begin, reference);
			break;
		case TG_WRITE_UPDATE:
			rename_word(&tg_version_header(tg_load_relaxed(&header->older))->end, reference);
			rename_word(&header->begin, reference);
			break;
		case TG_WRITE_DELETE:
			rename_word(&header->end, reference);
			break;
		case TG_WRITE_UNDONE_ROW:
		case TG_WRITE_UNDONE_VERSION:
			break; /* nothing refers to it */
	}
}

static void
rename_writes(tg_session *session, tg_txn *from, const tg_txn *to)
{
	tg_time reference = tg_reference_make(tg_txn_number(to), 0, 0);
	tg_log_cursor cursor = tg_write_log_begin(from->log);
	const tg_log_entry *entry;

	tg_epoch_enter(session);
	while ((entry = tg_write_log_next(&cursor)) != NULL)
		rename_write(entry, reference);
	tg_epoch_leave(session);
}

void
tg_prepared_move(tg_session *session, tg_txn *from, tg_txn *to)
{
	tg_assert(from->shared == NULL && from->preserve == NULL);
	tg_txn_describe(to, (tg_txn_kind) from->kind, (tg_isolation) from->isolation, (const char *) from->label);
	tg_txn_move_registrations(from, to); /* 4 */
	from->reads = NULL;
	if (from->held != NULL)
		tg_hold_move(session, from, to);
	rename_writes(session, from, to);
	tg_store_release(&from->hold, 0);
	tg_row_lock_move(from, to);
	to->log = from->log;
	from->log = NULL;
	tg_store_relaxed(&to->writes, from->writes);
	tg_store_release(&from->state, TG_TXN_IDLE); /* 1 */
}

/* --- ending ------------------------------------------------------------------------------- */

tg_status
tg_prepared_hold(uint64_t host, tg_txn **txn_out)
{
	for (unsigned i = 0; i < prepared_max; i++)
	{
		tg_txn *txn = descriptor(i);

		if (tg_load_acquire(&txn->prepared_host) != host)
			continue;
		if (!take_in_hand(txn))
			return TG_BUSY;
		if (tg_load_relaxed(&txn->prepared_host) == host && !is_idle(txn))
		{
			*txn_out = txn;
			return TG_OK;
		}
		tg_store_release(&txn->in_hand, 0);
	}
	return TG_NOT_FOUND;
}

void
tg_prepared_name(tg_txn *txn, uint64_t host)
{
	tg_store_release(&txn->host, host);
}

void
tg_prepared_revoke(tg_session *session, tg_txn *txn)
{
	tg_assert((tg_load_relaxed(&txn->state) & TG_STATE_MASK) == TG_TXN_PREPARED);
	tg_store_release(&txn->state, TG_TXN_ACTIVE); /* 6 */
	tg_snapshot_withdraw(session, txn->prepared_entry);
}

bool
tg_prepared_next(unsigned *at_inout, uint64_t *host_out)
{
	while (*at_inout < prepared_max)
	{
		const tg_txn *txn = descriptor((*at_inout)++);

		*host_out = tg_load_acquire(&txn->prepared_host);
		if (*host_out != 0 && tg_load_acquire(&txn->in_hand) == 0)
			return true;
	}
	return false;
}

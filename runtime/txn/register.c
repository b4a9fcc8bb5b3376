/*
 * register.c
 *	  Writers observe the preserve list (W0, L2, L4).
 *
 * Registration and list are a Dekker pair (preserve.h): a writer stores its registration, fences,
 * and loads the count; a LONG raises the count, fences, and looks at the registrations.  A
 * registration stays until the transaction has committed and stamped, or undone.  L1 (b) accepts
 * COMMITTED as the end: it loads the registration before the state, so either the transaction that
 * registered has ended, or a later one of the descriptor has registered, which has seen the entry
 * because the entry was published before.
 *
 * Wake-ups: every event that a LONG may wait for at its start ends with a store of the registration
 * and a fence, or happens under the latch; afterwards the count of starters is loaded.  A starter
 * raises that count, under the latch, before it looks.
 */
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/sched/condition.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/reads_internal.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn_internal.h"

/* --- waking LONGs that wait for their start ------------------------------------------------ */

void
tg_long_wake_starters(void)
{
	bool poke = false;

	if (tg_likely(tg_load_seq_cst(&tg_txns->starters) == 0) || tg_failpoint_refuses("skip_wake"))
		return;
	tg_preserve_lock();
	for (tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
	{
		if (!entry->waits)
			continue;
		if (entry->waiter != NULL)
			tg_host_wake(entry->waiter);
		else
			poke = true;
	}
	tg_preserve_unlock();
	if (poke)
		tg_condition_poke();
}

/* --- W0: registering ------------------------------------------------------------------------ */

/* Whether it is registered for the table by name, be it for all others as well. */
static bool
is_named(const tg_txn *txn, const tg_table *table)
{
	for (unsigned i = 0; i < txn->registered_used; i++)
		if (tg_load_relaxed(&txn->registered[i]) == table)
			return true;
	return false;
}

static bool
is_registered(const tg_txn *txn, const tg_table *table)
{
	return tg_load_relaxed(&txn->registered_all) || is_named(txn, table);
}

/* Under the latch. */
static void
forget_seen(tg_session *session, tg_txn *txn, const tg_table *table, bool all)
{
	tg_seen **link = &txn->seen;

	while (*link != NULL)
	{
		tg_seen *seen = *link;

		if (!all && seen->table != table)
		{
			link = &seen->next;
			continue;
		}
		*link = seen->next;
		tg_preserve_unpin(seen->entry);
		tg_free(session, seen, TG_USE_LOG);
	}
}

/* Remembers the LONGs that are on the list (W0).  table as in tg_seen.  Under the latch. */
static tg_status
see_all(tg_session *session, tg_txn *txn, const tg_table *table, bool *any_out)
{
	for (tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
	{
		tg_seen *seen;

		if (entry->start == 0 && tg_failpoint_refuses("skip_l1a"))
			continue;
		if (tg_preserve_has_ended(entry) || (table != NULL && !tg_areas_has_table(entry->areas, table)))
			continue;
		seen = tg_failpoint_refuses("see") ? NULL : tg_alloc(session, sizeof(*seen), TG_USE_LOG, TG_DATA);
		if (seen == NULL)
			return TG_NO_MEMORY;
		*seen = (tg_seen){.next = txn->seen, .table = table, .entry = entry};
		tg_preserve_pin(entry);
		txn->seen = seen;
		*any_out = true;
	}
	return TG_OK;
}

/* Takes a place; NULL if there is none: then the transaction registers for all tables. */
static tg_table **
take_place(tg_txn *txn)
{
	for (unsigned i = 0; i < txn->registered_used; i++)
		if (tg_load_relaxed(&txn->registered[i]) == NULL)
			return &txn->registered[i];
	return txn->registered_used < TG_REGISTERED_MAX ? &txn->registered[txn->registered_used++] : NULL;
}

/* W0: registers, fences, looks at the list. */
static tg_status
register_writer(tg_session *session, tg_txn *txn, tg_table *table)
{
	tg_table **place = take_place(txn);
	tg_status status;
	bool any = false;

	if (tg_failpoint_refuses("skip_w0"))
		place = take_place(txn);
	else if (place != NULL)
	{
		txn->registered_as[place - txn->registered] = table->relation;
		tg_store_then_fence(place, table);
	}
	else
		tg_store_then_fence(&txn->registered_all, 1);
	tg_failpoint("w0_registered");
	if (tg_likely(tg_preserve_is_empty()))
		return TG_OK;
	tg_preserve_lock();
	status = see_all(session, txn, place != NULL ? table : NULL, &any);
	if (status != TG_OK)
	{
		forget_seen(session, txn, place != NULL ? table : NULL, false);
		if (place != NULL)
			tg_store_release(place, NULL);
		else
			tg_store_release(&txn->registered_all, 0);
	}
	tg_preserve_unlock();
	/* kinds.c, 2: the LONGs seen need not wait for this writer.  After a failure none has to. */
	if (any)
		tg_long_wake_starters();
	return status;
}

/*
 * W0: a transaction that has to wait withdraws its registrations for tables that it has not
 * written.
 */
static void
take_back(tg_session *session, tg_txn *txn)
{
	if (tg_failpoint_refuses("skip_take_back") || txn->loans != NULL) /* loan.c, 6 */
		return;
	txn->clear = NULL;
	tg_preserve_lock();
	if (tg_load_relaxed(&txn->registered_all))
	{
		if (txn->log == NULL)
		{
			tg_store_release(&txn->registered_all, 0);
			forget_seen(session, txn, NULL, false);
		}
	}
	for (unsigned i = 0; i < txn->registered_used; i++)
	{
		tg_table *table = tg_load_relaxed(&txn->registered[i]);

		if (table == NULL || tg_write_log_has_table(txn->log, table))
			continue;
		forget_seen(session, txn, table, false);
		tg_store_release(&txn->registered[i], NULL);
	}
	tg_preserve_unlock();
	tg_long_wake_starters();
}

/* --- W0, L2, L4: may the row be written? ------------------------------------------------------ */

static bool
has_read(const tg_txn *txn)
{
	return txn->reads != NULL && !tg_reads_is_empty(txn->reads);
}

/* L2: a writer meets a LONG's area: it gives up or waits. */
static tg_status
meet_long(const tg_writer *writer, const tg_table *table, tg_version version, const tg_preserve *entry,
		  tg_wait *wait_out)
{
	tg_txn *txn = writer->txn;

	if (tg_load_relaxed(&txn->kind) == TG_TXN_SHORT ||
		(tg_load_relaxed(&txn->isolation) == TG_SERIALIZABLE && has_read(txn)))
		return tg_txn_give_up_row(txn, TG_CONFLICT_PRESERVED_WRITE, table,
								  version != TG_VERSION_NONE ? tg_version_row(version) : TG_ROW_MAX, entry->host);
	*wait_out = tg_wait_for_long(entry, TG_WAIT_PRESERVE);
	take_back(writer->session, txn);
	return TG_BUSY;
}

static bool
has_target(const tg_areas *areas, const tg_table *table, tg_version version, const void *key, size_t key_bytes)
{
	return version != TG_VERSION_NONE ? tg_areas_has_version(areas, version)
									  : tg_areas_has_key(areas, table, key, key_bytes);
}

/* *minds_out: a LONG minds rows of the table. */
static tg_status
mind(const tg_writer *writer, tg_table *table, tg_version version, const void *key, size_t key_bytes, bool *minds_out,
	 tg_wait *wait_out)
{
	tg_txn *txn = writer->txn;
	bool named;

	/* L4.  A LONG does not register: its preserve is its registration. */
	if (tg_load_relaxed(&txn->kind) == TG_TXN_LONG && txn->preserve != NULL)
		return has_target(txn->preserve->areas, table, version, key, key_bytes) || tg_failpoint_refuses("skip_l4")
				   ? TG_OK
				   : TG_FORBIDDEN;
	if (!is_registered(txn, table))
	{
		tg_status status = register_writer(writer->session, txn, table);

		if (status != TG_OK)
			return status;
	}
	named = is_named(txn, table);
	/*
	 * Only the owner changes this list, so it reads it without the latch; the entries are pinned.
	 */
	for (tg_seen *seen = txn->seen; seen != NULL; seen = seen->next)
	{
		if (seen->table != (named ? table : NULL) || tg_preserve_has_ended(seen->entry))
			continue;
		*minds_out = true;
		if (tg_failpoint_refuses("skip_l2"))
			continue;
		if (has_target(seen->entry->areas, table, version, key, key_bytes))
			return meet_long(writer, table, version, seen->entry, wait_out);
	}
	if (!*minds_out && txn->shared == NULL)
		txn->clear = table;
	return TG_OK;
}

tg_status
tg_txn_mind_table(const tg_writer *writer, tg_table *table, tg_wait *wait_out)
{
	bool minds = false;
	tg_status status = mind(writer, table, TG_VERSION_NONE, "", 0, &minds, wait_out);

	return status == TG_OK && minds ? TG_UNFIT : status;
}

tg_status
tg_txn_enter_shared(tg_session *session, tg_txn *txn, const tg_table *table, bool *entered_out)
{
	tg_status status;

	*entered_out = false;
	if (tg_likely(txn->shared == NULL))
		return TG_OK;
	*entered_out = tg_txn_enter(session, txn);
	status = tg_shared_judge(txn->shared, table);
	if (status != TG_OK)
		tg_txn_leave(session, txn, *entered_out);
	return status;
}

tg_status
tg_txn_mind_preserve(const tg_writer *writer, tg_table *table, tg_version version, const void *key, size_t key_bytes,
					 tg_wait *wait_out)
{
	tg_status status;
	bool entered;
	bool minds = false;

	status = tg_txn_enter_shared(writer->session, writer->txn, table, &entered);
	if (status != TG_OK)
		return status;
	status = mind(writer, table, version, key, key_bytes, &minds, wait_out);
	tg_txn_leave(writer->session, writer->txn, entered);
	return status;
}

/* table as in tg_seen. */
static bool
has_seen(const tg_txn *txn, const tg_preserve *entry, const tg_table *table)
{
	for (const tg_seen *seen = txn->seen; seen != NULL; seen = seen->next)
		if (seen->entry == entry && seen->table == table)
			return true;
	return false;
}

/* Whether it is registered for a table of the entry's without having seen the entry for that. */
static bool
is_registered_in(const tg_txn *txn, const tg_preserve *entry)
{
	if (tg_load_acquire(&txn->registered_all) && !has_seen(txn, entry, NULL))
		return true;
	/* What is seen for all tables says nothing of those that it may have written before. */
	for (unsigned i = 0; i < TG_REGISTERED_MAX; i++)
	{
		const tg_table *table = tg_load_acquire(&txn->registered[i]);

		if (table != NULL && tg_areas_has_table(entry->areas, table) && !has_seen(txn, entry, table))
			return true;
	}
	return false;
}

/*
 * L1 (b); kinds.c, 2: whether the transaction is registered as a writer in the entry's areas,
 * without having seen the entry.
 */
bool
tg_txn_is_writer_in(const tg_txn *txn, const tg_preserve *entry)
{
	return is_registered_in(txn, entry) && (tg_load_acquire(&txn->state) & TG_STATE_MASK) != TG_TXN_COMMITTED;
}

bool
tg_txn_targets(const tg_txn *txn, tg_target targets_out[TG_TXN_TABLES_MAX], unsigned *count_out)
{
	*count_out = 0;
	if (tg_load_relaxed(&txn->registered_all))
		return false;
	for (unsigned i = 0; i < txn->registered_used; i++)
	{
		const tg_table *table = tg_load_relaxed(&txn->registered[i]);

		if (table != NULL)
			targets_out[(*count_out)++] =
				(tg_target){.relation = txn->registered_as[i], .is_written = tg_write_log_has_table(txn->log, table)};
	}
	return true;
}

void
tg_txn_unregister(tg_session *session, tg_txn *txn)
{
	unsigned used = txn->registered_used;

	txn->clear = NULL;
	if (tg_likely(used == 0 && !tg_load_relaxed(&txn->registered_all)))
		return;
	if (tg_unlikely(txn->seen != NULL))
	{
		tg_preserve_lock();
		forget_seen(session, txn, NULL, true);
		tg_preserve_unlock();
	}
	for (unsigned i = 1; i < used; i++)
		tg_store_release(&txn->registered[i], NULL);
	txn->registered_used = 0;
	if (tg_unlikely(tg_load_relaxed(&txn->registered_all)))
		tg_store_release(&txn->registered_all, 0);
	/* One fence, for all of these stores. */
	tg_store_then_fence(&txn->registered[0], NULL);
	tg_long_wake_starters();
}

/*
 * H5.  LONGs look at registrations under the latch (L1 (b)): one that has started before this is
 * found by S3, and one that has not waits for the end of the transaction, which does not wait for
 * it (kinds.c, 2) any more.
 */
void
tg_txn_register_reads(tg_session *session, tg_txn *txn)
{
	const tg_reads *reads = txn->reads;

	if (tg_failpoint_refuses("skip_h5"))
		return;
	tg_preserve_lock();
	for (const tg_read_table *noted = reads->tables; noted != NULL; noted = noted->next)
	{
		tg_table **place = is_registered(txn, noted->table) ? NULL : take_place(txn);

		if (place != NULL)
		{
			txn->registered_as[place - txn->registered] = noted->relation;
			tg_store_release(place, noted->table);
		}
		else if (!is_registered(txn, noted->table))
			tg_store_release(&txn->registered_all, 1);
		forget_seen(session, txn, noted->table, false);
	}
	if (reads->everything)
		tg_store_release(&txn->registered_all, 1);
	if (tg_load_relaxed(&txn->registered_all))
		forget_seen(session, txn, NULL, true);
	tg_preserve_unlock();
}

/* LONGs look at registrations under the latch (L1 (b)), so they find them in one of the two. */
void
tg_txn_move_registrations(tg_txn *from, tg_txn *to)
{
	unsigned used = from->registered_used;

	tg_preserve_lock();
	to->registered_used = used;
	to->seen = from->seen;
	from->seen = NULL;
	for (unsigned i = 0; i < used; i++)
	{
		to->registered_as[i] = from->registered_as[i];
		tg_store_release(&to->registered[i], tg_load_relaxed(&from->registered[i]));
		tg_store_release(&from->registered[i], NULL);
	}
	tg_store_release(&to->registered_all, tg_load_relaxed(&from->registered_all));
	tg_store_release(&from->registered_all, 0);
	tg_preserve_unlock();
	from->registered_used = 0;
	from->clear = NULL;
}

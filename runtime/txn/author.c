/*
 * author.c
 *	  The author of a commit time: for a transaction that has to be told whose commit it failed by.
 *
 * Once a version is stamped, it says when it began and ended, but no longer by which transaction.
 * So every descriptor remembers when its last transactions have committed, and their kinds and
 * labels:
 *
 *	commit_times	a ring of the last TG_AUTHOR_COMMITS; a time is in it before COMMITTED is stored
 *	(T2) stored_times	the last times at which the host has stored something anew
 *	described		the time since which it has its kind and label, which most transactions keep
 *	before			the TG_AUTHOR_LIVES kinds and labels before that, and the times that they were
 *	for
 *
 * 1. No two transactions have the same C.  So the author of C is the one whose ring has it.
 * 2. A session that meets a version of a commit finds its C in the ring, unless the ring has gone
 *	  round since.  C was stored before COMMITTED, whose release pairs with the acquire of a session
 *	  that resolves the reference; stamps come later still.
 * 3. A description changes between two transactions of a descriptor.  Its owner changes it, then
 *	  loads the clock: that value is at or after every C that the owner has drawn, and before every
 *	  C that it is going to draw.  So a description holds for each C in (since, until].  Readers
 *	  read it as reports do: they begin again if it has changed (life).
 *
 * The cost for a commit is one store to a line that no other session writes.
 *
 * Left out: longer memories.  Most conflicts are with one of the last commits of some session; for
 * older ones the message says what has changed, but not by which transaction.
 */
#include "runtime/txn/author.h"

#include <string.h>

#include "runtime/reclaim/horizon.h"
#include "runtime/txn/txn_internal.h"

tg_time
tg_author_draw(tg_session *session, tg_txn_kind kind, tg_isolation isolation, const char *label)
{
	tg_txn *txn = &tg_txns->txn[session->id];
	tg_time time;

	tg_txn_describe(txn, kind, isolation, label);
	time = tg_fetch_add_seq_cst(tg_clock, 1) + 1;
	tg_store_relaxed(&txn->stored_times[txn->stored_next], time);
	txn->stored_next = (txn->stored_next + 1) % TG_AUTHOR_STORED;
	return time;
}

void
tg_author_change(tg_txn *txn)
{
	tg_time now = tg_load_seq_cst(tg_clock);
	tg_authored *place = &txn->before[txn->before_next];

	tg_store_relaxed(&place->since, txn->described);
	tg_store_relaxed(&place->until, now);
	tg_store_relaxed(&place->kind, txn->kind);
	for (unsigned i = 0; i < TG_TXN_LABEL_BYTES / 8; i++)
		tg_store_relaxed(&place->label[i], txn->label[i]);
	txn->before_next = (txn->before_next + 1) % TG_AUTHOR_LIVES;
	tg_store_relaxed(&txn->described, now);
}

static bool
has_committed_at(const tg_txn *txn, tg_time time)
{
	for (unsigned i = 0; i < TG_AUTHOR_COMMITS; i++)
		if (tg_load_relaxed(&txn->commit_times[i]) == time)
			return true;
	for (unsigned i = 0; i < TG_AUTHOR_STORED; i++)
		if (tg_load_relaxed(&txn->stored_times[i]) == time)
			return true;
	return false;
}

/* The description of the descriptor at a time, if known: the result of one tg_txn_describe. */
static void
describe(const tg_txn *txn, tg_time time, tg_author *author)
{
	unsigned round = 0;

	for (;; tg_spin(&round))
	{
		uint32_t life = tg_load_acquire(&txn->life);
		uint64_t words[TG_TXN_LABEL_BYTES / 8] = {0};
		const uint64_t *label = NULL;
		uint32_t kind = TG_TXN_ORDINARY;

		if (time > tg_load_relaxed(&txn->described))
		{
			label = txn->label;
			kind = tg_load_relaxed(&txn->kind);
		}
		for (unsigned i = 0; i < TG_AUTHOR_LIVES && label == NULL; i++)
		{
			const tg_authored *before = &txn->before[i];

			if (time <= tg_load_relaxed(&before->since) || time > tg_load_relaxed(&before->until))
				continue;
			label = before->label;
			kind = tg_load_relaxed(&before->kind);
		}
		for (unsigned i = 0; i < TG_TXN_LABEL_BYTES / 8 && label != NULL; i++)
			words[i] = tg_load_relaxed(&label[i]);
		tg_fence_acquire();
		if ((life & 1) != 0 || tg_load_relaxed(&txn->life) != life)
			continue;
		author->kind = (tg_txn_kind) kind;
		memcpy(author->label, words, sizeof(words));
		return;
	}
}

bool
tg_author_find(tg_time time, tg_author *author_out)
{
	for (unsigned number = 0; number < tg_txns->txn_max; number++)
	{
		const tg_txn *txn = &tg_txns->txn[number];

		if (!has_committed_at(txn, time))
			continue;
		author_out->txn = number;
		describe(txn, time, author_out);
		return true;
	}
	return false;
}

/* --- versions -------------------------------------------------------------------------------- */

/* The commit time in a begin or end, or 0. */
static tg_time
committed_at(const tg_time *word)
{
	tg_time time;

	return tg_time_resolve(word, UINT32_MAX, &time) == TG_FATE_AT && time < TG_TIME_UNLINKED ? time : 0;
}

tg_time
tg_version_began_at(tg_version version)
{
	const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	if (headers == NULL || tg_header_is_copy(&headers[tg_version_slot(version)]))
		return 0;
	return committed_at(&headers[tg_version_slot(version)].begin);
}

tg_time
tg_version_ended_at(tg_version version)
{
	while (version != TG_VERSION_NONE)
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

		if (headers == NULL)
			return 0;
		if (!tg_header_has_copy(&headers[tg_version_slot(version)]))
			return committed_at(&headers[tg_version_slot(version)].end);
		version = tg_version_copy_of(version);
	}
	return 0;
}

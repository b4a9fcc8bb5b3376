/*
 * author.c
 *	  Who committed at a time: for those who have to be told whose commit they have failed by.
 *
 * Once a version is stamped it says when it began and ended, and no longer by whom.  So every descriptor
 * remembers when its last transactions have committed, and what they were:
 *
 *	commit_times	a ring of the last TG_AUTHOR_COMMITS; the time is there before COMMITTED is (T2)
 *	stored_times	the last ones that the host has stored something anew at
 *	described		since when it has its kind and label; most transactions have those of the one before
 *	before			the kinds and labels before that, TG_AUTHOR_LIVES of them, and the times that they were for
 *
 * 1. No two transactions have the same C.  So whose ring has it is its author.
 * 2. Who meets a version of a commit finds its C in the ring, unless that has gone round since: the C was stored before
 *	  COMMITTED, whose release pairs with the acquire of whoever resolves the reference; stamps come later still.
 * 3. A description changes between two transactions of a descriptor, by its owner, who then loads the clock: that is at
 *	  or after every C that he has drawn, and before every C that he is going to draw.  So a description is
 *	  that of the C in (since, until].  Readers read it as reports do: they begin again if it has changed (life).
 *
 * A commit pays for this with one store to a line that nobody else writes.
 *
 * Left out: longer memories.  A conflict is mostly with one of the last commits of somebody; of what is longer
 * ago the message says what has changed, and not by whom.
 */
#include "runtime/txn/author.h"

#include <string.h>

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

/* What the descriptor was at a time, if that is known: of one call of tg_txn_describe. */
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

/* Of a begin or end. */
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

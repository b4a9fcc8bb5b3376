/*
 * waits.c
 *	  Waits of transactions for each other, and cycles of waits (W6).
 *
 * The host's detector sees the waits that are its own.  This one sees those that the host cannot
 * see: a LONG's wait for its start, which ends when a writer takes a registration back, and every
 * other wait announced by tg_wait_begin.  An edge is published before its owner looks at others',
 * so the transaction that closes a cycle last sees all of it.  An edge counts only while its reason
 * holds, which is checked for each edge when the cycle is looked for: a LONG's edges are found
 * anew; for any other edge, the transaction waited for must still be the same, and must not have
 * ended.  A transaction that waits for its turn in the queue of a row sleeps while the queue goes
 * on.  So its edges are found anew, too: they lead to the transactions in the same queue that do
 * not wait for their turn.
 *
 * Mostly the transaction waited for does not wait itself: it has published no edge, and no LONG is
 * listed that could wait for its start.  Then neither latch nor search is needed: if it begins to
 * wait later, it looks after it has published its edge, and sees this one.
 */
#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/txn/txn_internal.h"

/* --- W6: circles of waits --------------------------------------------------------------------- */

void
tg_wait_begin_of(unsigned number, const tg_wait *wait)
{
	tg_txn *txn = &tg_txns->txn[number];

	tg_store_relaxed(&txn->waits_txn, wait->txn);
	tg_store_relaxed(&txn->waits_host, wait->host);
	/*
	 * The edge first, then the look at others' edges: the owner of a cycle's last edge sees all of
	 * it.
	 */
	tg_store_then_fence(&txn->waits, (uint32_t) wait->kind + 1);
}

void
tg_wait_queue_of(unsigned number, uint64_t queue)
{
	tg_store_release(&tg_txns->txn[number].queue, queue);
}

void
tg_wait_end_of(unsigned number)
{
	tg_store_release(&tg_txns->txn[number].waits, 0);
}

typedef struct search
{
	unsigned target;
	unsigned depth;
	uint64_t visited[TG_TXN_MAX / 64];
	uint32_t stack[TG_TXN_MAX]; /* 32 kB: entries above depth have no meaning */
} search;

static void
visit(search *s, unsigned txn)
{
	if (txn >= tg_txns->txn_max || (s->visited[txn / 64] >> txn % 64 & 1) != 0)
		return;
	s->visited[txn / 64] |= (uint64_t) 1 << txn % 64;
	s->stack[s->depth++] = txn;
}

static const tg_preserve *
starter_of(unsigned txn)
{
	for (const tg_preserve *entry = tg_preserve_first(); entry != NULL; entry = entry->next)
		if (entry->waits && entry->txn == txn)
			return entry;
	return NULL;
}

static void
visit_first_of_queue(search *s, const tg_txn *waiter)
{
	uint64_t queue = tg_load_acquire(&waiter->queue);

	for (unsigned i = 0; i < tg_txns->txn_max && queue != 0; i++)
	{
		const tg_txn *txn = &tg_txns->txn[i];

		if (tg_load_acquire(&txn->queue) == queue && tg_load_acquire(&txn->waits) != TG_WAIT_TURN + 1)
			visit(s, i);
	}
}

/*
 * The transactions that a transaction waits for, as far as the reason still holds.  Under the
 * latch.
 */
static void
visit_those_ahead(search *s, unsigned number)
{
	const tg_preserve *entry = starter_of(number);
	const tg_txn *txn = &tg_txns->txn[number];
	uint32_t kind = tg_load_acquire(&txn->waits);
	uint32_t ahead = tg_load_relaxed(&txn->waits_txn);
	uint64_t state;

	if (entry != NULL)
	{
		const tg_preserve *long_at = NULL;
		unsigned at = 0;
		tg_wait wait;

		while (tg_long_next_obstacle(entry, &at, &long_at, &wait))
			visit(s, wait.txn);
		return;
	}
	if (kind == TG_WAIT_TURN + 1)
		visit_first_of_queue(s, txn);
	if (kind == 0 || kind == TG_WAIT_TURN + 1 || ahead >= tg_txns->txn_max)
		return;
	state = tg_load_acquire(&tg_txns->txn[ahead].state) & TG_STATE_MASK;
	if (state != TG_TXN_IDLE && state != TG_TXN_COMMITTED &&
		tg_load_relaxed(&tg_txns->txn[ahead].host) == tg_load_relaxed(&txn->waits_host))
		visit(s, ahead);
}

bool
tg_wait_closes_circle_of(unsigned number, const tg_wait *wait)
{
	search s;
	bool found = false;

	if (tg_failpoint_refuses("skip_circle"))
		return false;
	if (tg_likely(wait->txn != number && wait->txn < tg_txns->txn_max &&
				  tg_load_acquire(&tg_txns->txn[wait->txn].waits) == 0 && tg_preserve_is_empty()))
		return false;
	/*
	 * A LONG is spared: others in the cycle look, too, and its waits in it are for ordinary ones
	 * only.
	 */
	if (tg_load_relaxed(&tg_txns->txn[number].kind) == TG_TXN_LONG &&
		(tg_load_relaxed(&tg_txns->txn[number].state) & TG_STATE_MASK) != TG_TXN_IDLE)
		return false;
	s.target = number;
	s.depth = 0;
	memset(s.visited, 0, sizeof(s.visited));
	tg_preserve_lock();
	visit(&s, wait->txn);
	while (s.depth > 0 && !found)
	{
		unsigned next = s.stack[--s.depth];

		found = next == s.target;
		if (!found)
			visit_those_ahead(&s, next);
	}
	tg_preserve_unlock();
	return found;
}

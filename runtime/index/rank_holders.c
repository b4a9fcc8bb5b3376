/*
 * rank_holders.c
 *	  The sessions that use ranks, or stand on an entry of a dictionary, beyond an epoch.
 *
 * The protocol is that of epochs (mem/session.c), with the length of transactions: a word for each
 * holder, into which the holder copies the generation that it holds from; 0: it does not hold.
 *
 *	  hold		H1 read the generation, g; H2 store mine = g; fence FH;
 *				H3 read it again, until it is g; H4 look
 *	  let go	H5 store mine = 0, release
 *	  begin		B1 the caller's changes; fence FB; B2 the generation becomes e
 *	  come		C1 read every word, acquire: 0, or at least e
 *
 * 1. The sweep waits for a holder that does not see B1 (H4).  Its FH was before FB, or it would see
 *    B1.  So C1, which comes after FB, sees H2 or a later store; and H1 and H3 were before B2, so g
 *    < e.
 * 2. Everything that a holder did until H5 has happened before a C1 that reads 0, or a later store.
 * 3. A holder that holds with another one copies that one's generation, before that one lets go.
 *    C1 reads the words from the lowest number on, and reads the number of words anew for each: if
 *    it has found the other's 0, it finds the generation of this holder.
 */
#include "runtime/index/rank_holders.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/table/table.h"

#define SHORT_PERMILLE 300 /* of the limit: with less memory free it is short */

typedef struct holder
{
	uint64_t from; /* atomic; written by the holder */
} TG_CACHE_ALIGNED holder;

typedef struct holders
{
	uint64_t generation TG_CACHE_ALIGNED; /* atomic; from 1 */
	uint32_t top;						  /* atomic: every number that ever held is below; grows */
	/* atomic: some table may need a sweep of its dictionaries */
	uint32_t sweep_wanted;
	unsigned count TG_CACHE_ALIGNED; /* constant */
	holder of[];
} holders;

void (*tg_rank_touch)(void);
static holders *shared; /* set by tg_rank_holders_create, inherited */

tg_status
tg_rank_holders_create(tg_session *session, unsigned count)
{
	shared = tg_alloc_zeroed(session, sizeof(holders) + count * sizeof(holder), TG_USE_RUNTIME, TG_ESSENTIAL);
	if (shared == NULL)
		return TG_NO_MEMORY;
	shared->count = count;
	shared->generation = 1;
	return TG_OK;
}

/* The word of this number, which C1 reads from now on. */
static holder *
holder_of(unsigned number)
{
	uint32_t top = tg_load_relaxed(&shared->top);

	tg_assert(number < shared->count);
	while (tg_unlikely(top <= number) && !tg_cas_seq_cst(&shared->top, &top, number + 1))
		;
	return &shared->of[number];
}

void
tg_rank_hold(unsigned number)
{
	holder *mine = holder_of(number);
	uint64_t generation;

	if (tg_load_relaxed(&mine->from) != 0)
		return;
	do
	{
		generation = tg_load_acquire(&shared->generation);
		tg_store_then_fence(&mine->from, generation);
	} while (tg_load_acquire(&shared->generation) != generation);
}

void
tg_rank_hold_with(unsigned number, unsigned other)
{
	uint64_t from = tg_load_relaxed(&shared->of[other].from);

	tg_assert(other < number);
	if (from == 0)
		tg_rank_hold(number);
	else
		tg_store_relaxed(&holder_of(number)->from, from);
}

void
tg_rank_let_go(unsigned number)
{
	/* Pairs with the acquire in tg_rank_generation_has_come. */
	tg_store_release(&shared->of[number].from, 0);
}

uint64_t
tg_rank_generation_begin(void)
{
	tg_fence_seq_cst();
	return tg_fetch_add_seq_cst(&shared->generation, 1) + 1;
}

bool
tg_rank_generation_has_come(uint64_t generation)
{
	for (uint32_t i = 0; i < tg_load_acquire(&shared->top); i++)
	{
		uint64_t from = tg_load_acquire(&shared->of[i].from);

		if (from != 0 && from < generation)
			return false;
	}
	return true;
}

bool
tg_rank_memory_is_short(void)
{
	size_t limit = tg_arena_limit();

	return tg_arena_committed() > limit - limit / 1000 * SHORT_PERMILLE;
}

bool
tg_dictionaries_have_grown(const tg_table *table)
{
	int64_t bytes = tg_load_relaxed(&table->dictionary_bytes);
	int64_t kept = tg_load_relaxed(&table->rank_bytes_kept);

	if (bytes >= 2 * kept + TG_RANK_SWEEP_BYTES_MIN)
		return true;
	if (bytes < kept + kept / 4 + TG_RANK_SWEEP_BYTES_MIN)
		return false;
	return tg_rank_memory_is_short();
}

void
tg_rank_sweep_want(void)
{
	if (shared != NULL && tg_load_relaxed(&shared->sweep_wanted) == 0)
		tg_store_relaxed(&shared->sweep_wanted, 1);
}

bool
tg_rank_sweep_is_wanted(void)
{
	return shared != NULL && tg_load_relaxed(&shared->sweep_wanted) != 0;
}

void
tg_rank_sweep_heed(void)
{
	tg_store_relaxed(&shared->sweep_wanted, 0);
}

/*
 * unflushed.c
 *	  One note per session, about the commit that it is making durable.
 *
 *	committer			note							reader
 *	open				bound = clock					R = clock
 *						counted, its bit is set			no note counted: all up to R is flushed
 *	C drawn												otherwise all up to the least bound is
 *	record in the log	position
 *						time = C
 *	COMMITTED											finds C above that, and not above R:
 *														looks for C among the notes
 *	locks released
 *	log flushed
 *	close				bit taken back, not counted
 *
 * R4. A note stands from before C is drawn until the record is flushed.  For as long, so does the
 *	  committer's snapshot from before C: no header that holds C goes (settle.c), and nothing that
 *	  C has ended is pruned, so whoever meets what the commit has done finds C.
 * R5. A reader that is shown something of a commit with a note remembers the note's position, and
 *	  its host has the log flushed up to there before it answers.
 *
 * Ordering.  The committer stores the bound, sets its bit and counts the note before it draws C,
 * which is an addition to the clock.  A reader whose R is not below C has loaded R from the clock
 * after that addition, which it acquires; so it sees those stores, or later ones.  If it finds the
 * bit not set, the note was closed.  If it finds the bit set, it finds the bound, below C, or that
 * of a later commit, whose note was opened when the first one had been closed.
 *
 * Time and position are stored before COMMITTED, by which a reader has found C.  If it finds
 * another time, or no note, the note was closed since.  If it finds its time beside the position of
 * a later commit, that is a position in the log, too, further on than need be, or none.
 *
 * The record and the draw come in either order: C is drawn last, except at SERIALIZABLE.
 *
 * A session's own notes make no difference to it: it has closed them before it reads again.
 */
#include "runtime/txn/unflushed.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"

#define NO_ENTRY UINT32_MAX
#define WORDS_PER_LINE 8 /* of bits: whole cache lines are aligned as such */

/* All but entry and is_open are atomic. */
typedef struct note
{
	/* written by the session's owner, read by all */
	tg_time bound;
	tg_time time; /* of the commit, once its C is drawn */
	uint64_t position;
	uint32_t entry; /* owner only: the snapshot from before C */
	bool is_open;	/* owner only */

	/* not the note's: what the session has met; all that work for it raise it */
	uint64_t met;
} TG_CACHE_ALIGNED note;

/* In the arena. */
typedef struct notes
{
	uint32_t count TG_CACHE_ALIGNED; /* atomic; committers, as the bits */
	uint32_t word_count;			 /* constant */
	note *note;						 /* constant: by the session's number */
	uint64_t open[];				 /* atomic: a bit for each session */
} notes;

uint32_t *tg_unflushed_count;
static notes *shared; /* set by tg_unflushed_create, inherited */

tg_status
tg_unflushed_create(tg_session *session)
{
	uint32_t words = (tg_session_max() + 63) / 64;
	uint32_t lines = (words + WORDS_PER_LINE - 1) / WORDS_PER_LINE;

	shared =
		tg_alloc_zeroed(session, sizeof(notes) + lines * WORDS_PER_LINE * sizeof(uint64_t), TG_USE_RUNTIME, TG_DATA);
	if (shared == NULL)
		return TG_NO_MEMORY;
	shared->note = tg_alloc_zeroed(session, tg_session_max() * sizeof(note), TG_USE_RUNTIME, TG_DATA);
	if (shared->note == NULL)
		return TG_NO_MEMORY;
	shared->word_count = words;
	tg_unflushed_count = &shared->count;
	return TG_OK;
}

/* --- the committer ---------------------------------------------------------------------- */

static inline uint64_t *
word_of(const tg_session *session, uint64_t *bit_out)
{
	*bit_out = UINT64_C(1) << session->id % 64;
	return &shared->open[session->id / 64];
}

static void
show(tg_session *session)
{
	uint64_t bit;
	uint64_t *word = word_of(session, &bit);

	(void) tg_fetch_or_acq_rel(word, bit);
	(void) tg_fetch_add_acq_rel(&shared->count, 1);
}

void
tg_unflushed_open(tg_session *session)
{
	note *mine = &shared->note[session->id];

	tg_assert(!mine->is_open);
	mine->is_open = true;
	mine->entry = NO_ENTRY;
	tg_store_relaxed(&mine->time, 0);
	tg_store_relaxed(&mine->position, 0);
	tg_store_release(&mine->bound, tg_load_seq_cst(tg_clock));
	if (!tg_failpoint_refuses("skip_r4"))
		show(session);
}

void
tg_unflushed_log(tg_session *session, uint64_t position)
{
	tg_store_relaxed(&shared->note[session->id].position, position);
}

bool
tg_unflushed_commit(tg_session *session, tg_time time, unsigned entry)
{
	note *mine = &shared->note[session->id];

	tg_assert(mine->is_open);
	if (tg_failpoint_refuses("skip_r4"))
		show(session); /* after C is drawn */
	tg_store_release(&mine->time, time);
	if (tg_failpoint_refuses("skip_r4_entry"))
		return false;
	mine->entry = entry;
	return true;
}

void
tg_unflushed_close(tg_session *session)
{
	note *mine = &shared->note[session->id];
	uint64_t bit;
	uint64_t *word = word_of(session, &bit);

	tg_assert(mine->is_open);
	(void) tg_fetch_and_acq_rel(word, ~bit);
	(void) tg_fetch_add_acq_rel(&shared->count, -1);
	if (mine->entry != NO_ENTRY)
		tg_snapshot_withdraw(session, mine->entry);
	mine->is_open = false;
}

/* --- readers -------------------------------------------------------------------------------- */

tg_time
tg_unflushed_least(tg_time time)
{
	for (uint32_t i = 0; i < shared->word_count; i++)
		for (uint64_t open = tg_load_acquire(&shared->open[i]); open != 0; open &= open - 1)
		{
			tg_time bound = tg_load_acquire(&shared->note[i * 64 + (unsigned) __builtin_ctzll(open)].bound);

			if (bound < time)
				time = bound;
		}
	return time;
}

static void
raise(uint64_t *word, uint64_t position)
{
	uint64_t before = tg_load_relaxed(word);

	while (before < position && !tg_cas_acq_rel(word, &before, position))
		;
}

void
tg_unflushed_look(unsigned reader, tg_time time)
{
	if (tg_failpoint_refuses("skip_r5"))
		return;
	for (uint32_t i = 0; i < shared->word_count; i++)
		for (uint64_t open = tg_load_acquire(&shared->open[i]); open != 0; open &= open - 1)
		{
			const note *one = &shared->note[i * 64 + (unsigned) __builtin_ctzll(open)];

			if (tg_load_acquire(&one->time) == time)
				raise(&shared->note[reader].met, tg_load_acquire(&one->position));
		}
}

uint64_t
tg_unflushed_met(const tg_session *session)
{
	return tg_load_acquire(&shared->note[session->id].met);
}

void
tg_unflushed_forget(const tg_session *session, uint64_t position)
{
	(void) tg_cas_acq_rel(&shared->note[session->id].met, &position, 0);
}

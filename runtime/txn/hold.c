/*
 * hold.c
 *	  What prepared transactions at SERIALIZABLE have read, and the looks of others at it (H1 to
 *	  H6).
 *
 * P is prepared: it has no session, cannot fail, and draws its C at some later time.  In the order
 * of C it must come before every W that has changed what P has read.  So W fails if its C is
 * smaller than P's; and as long as P has no C, that of W is.
 *
 * 1. H1, H2.  P publishes its read set, then loads upto from the clock, and validates as of it.
 *	  W draws its C, then looks at the count of holds; all four steps are sequentially
 *	  consistent.  If W's C is above upto, its look comes after P's publication, and finds the
 *	  hold.  If it is not, P's validation finds what W has written, and waits for W's outcome.
 * 2. H2.  A W that finds a P PREPARED(C) with a smaller C waits for P's outcome, as it does in
 *	  validation: if P commits, W comes later, and nothing is wrong.  W looks before it
 *	  validates.
 * 3. H3.  Two that are prepared end in any order.  So one of them must not have changed what
 *	  the other has read, whichever it is.  The one published later makes both tests: of what it
 *	  has written, as W does, against holds with a smaller number; and of what it has read, in
 *	  its validation, against versions of such transactions, which are ACTIVE (validate.c, 8).
 *	  It finds those by the number in the descriptor to which a version refers.  An earlier one
 *	  that commits meanwhile, with a C above upto, may be met when its versions are stamped; but
 *	  it has raised the count of ends before it was COMMITTED, so the validation is repeated,
 *	  with a later upto.
 * 4. H4.  P's hold goes when P has ended.  A W with a smaller C might look after that.  So P,
 *	  once its C is drawn, waits until each transaction with a smaller one has looked; from T1
 *	  it follows that P sees the state of each of them.  W's look never waits for a P with a
 *	  larger C, so this is no cycle.  A P that aborts need not wait.
 * 5. H5.  A LONG is serialized at R_L, whatever its C_L.  P is registered as a writer (W0) of
 *	  the tables that it has read.  So a LONG that preserves one of them starts before that
 *	  registration, and then S3 lets P fail, as of upto, if the areas meet; or it starts after
 *	  P's end (L1 (b)).
 * 6. What is held is a copy, for it must not keep garbage from being collected for days: of
 *	  versions the rows' numbers, sorted; of chunks the table.  A row that is changed by a
 *	  transaction at another level, which may ignore holds, and then by W, counts as changed by
 *	  W.  So may a row that has the number of one that was removed, and an entry of an index
 *	  from which the row has gone.  Ranges are read again, and tested for rows that W has
 *	  changed.  Where the table has been stored anew, or the index is gone, the table counts as
 *	  read as a whole.
 * 7. H6.  A read set does not survive the server.  The host has marks of the tables that were
 *	  read, which do; a restored transaction holds these tables as a whole, by the host's
 *	  numbers.  What it holds becomes known when the first transaction commits, or is prepared,
 *	  to which it matters: a standby has the host's marks only when it has been promoted.
 * 8. A look is made in steps, each under the latch.  A hold, its read set and its descriptor
 *	  belong together as long as the hold is on the list; between two steps W remembers its
 *	  number.
 *
 * A transaction that wrote nothing is serialized at its snapshot, before P or after it (S4, L6),
 * and needs no look, nor a hold if it is prepared: it cannot come between a change and P.
 *
 * Left out: to serialize P before W, as of upto.  For that, readers of what P has written would
 * have to fail, or wait, at all levels.  PostgreSQL lets W go unless another edge leads into P, or
 * out of W (its dangerous structure); here W fails at once, as everywhere.
 */
#include "runtime/txn/hold.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/index/entry.h"
#include "runtime/mem/alloc.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/prepared.h"
#include "runtime/txn/reads_internal.h"
#include "runtime/txn/txn_internal.h"

#define STEP_ENTRIES 512 /* of the write log */
#define STEP_ROWS 512	 /* entries of a range */
#define ROWS_AHEAD 128

void
tg_holds_create(void)
{
	tg_latch_init(&tg_txns->holds.latch, TG_RANK_HOLD);
}

static void
lock_holds(void)
{
	tg_latch_acquire(&tg_txns->holds.latch);
}

static void
unlock_holds(void)
{
	tg_latch_release(&tg_txns->holds.latch);
}

static tg_txn *
txn_of(const tg_reads *hold)
{
	return &tg_txns->txn[hold->own];
}

/* --- holding -------------------------------------------------------------------------- */

static int
compare_rows(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *) a;
	uint32_t right = *(const uint32_t *) b;

	return left < right ? -1 : left > right;
}

/* 6. */
static void
copy_rows(tg_session *session, tg_read_table *noted)
{
	noted->held_whole = noted->whole || noted->tentative > 0 || noted->by_chunk;
	if (noted->held_whole || noted->count == 0)
		return;
	noted->rows = tg_failpoint_refuses("hold_rows")
					  ? NULL
					  : tg_alloc(session, noted->count * sizeof(uint32_t), TG_USE_LOG, TG_DATA);
	if (noted->rows == NULL)
	{
		noted->held_whole = true;
		return;
	}
	tg_epoch_enter(session);
	for (uint32_t i = 0; i < noted->count; i++)
		noted->rows[i] = tg_version_row(noted->words[i]);
	tg_epoch_leave(session);
	noted->row_count = noted->count;
	qsort(noted->rows, noted->row_count, sizeof(uint32_t), compare_rows);
}

/* Lists the hold; under the latch. */
static void
list(tg_txn *txn, tg_reads *reads)
{
	tg_reads **link = &tg_txns->holds.first;

	while (*link != NULL)
		link = &(*link)->hold_next;
	reads->hold = ++tg_txns->holds.last;
	reads->hold_next = NULL;
	*link = reads;
	txn->held = reads;
	tg_store_release(&txn->hold, reads->hold);
	tg_fetch_add_seq_cst(&tg_txns->holds.count, 1); /* 1 */
}

void
tg_hold_publish(tg_session *session, tg_txn *txn)
{
	tg_reads *reads = txn->reads;

	tg_assert(reads != NULL && txn->log != NULL && txn->held == NULL);
	for (tg_read_table *noted = reads->tables; noted != NULL; noted = noted->next)
		copy_rows(session, noted);
	tg_txn_register_reads(session, txn);
	if (tg_failpoint_refuses("skip_h1"))
	{
		txn->held = reads; /* listed when it is moved */
		return;
	}
	lock_holds();
	list(txn, reads);
	unlock_holds();
	tg_failpoint("hold_published");
}

void
tg_hold_validate(tg_txn *txn, tg_time snapshot)
{
	txn->reads->hold_ends = tg_load_seq_cst(&tg_txns->holds.ends);
	tg_validation_begin_to_hold(txn->reads, snapshot, tg_load_seq_cst(tg_clock));
}

bool
tg_hold_is_valid(const tg_txn *txn)
{
	return tg_load_seq_cst(&tg_txns->holds.ends) == txn->reads->hold_ends || tg_failpoint_refuses("skip_h3_again");
}

bool
tg_hold_has_other(const tg_reads *reads)
{
	bool has;

	if (!reads->holds)
		return false;
	lock_holds();
	has = tg_txns->holds.first != reads;
	unlock_holds();
	return has;
}

/*
 * The number is that of the transaction which the word refers to, if the word has the same
 * reference before and after it is loaded: the descriptor keeps its number until none of its
 * references is left.
 */
bool
tg_hold_is_before(const tg_time *word, tg_time reference, uint64_t number, bool *again_out)
{
	uint64_t hold;

	if (tg_reference_txn(reference) == tg_txns->txn_max || tg_failpoint_refuses("skip_h3"))
		return false; /* the relocator's */
	hold = tg_load_acquire(&tg_txn_of_reference(reference)->hold);
	*again_out = tg_load_acquire(word) != reference;
	return !*again_out && hold != 0 && hold < number;
}

void
tg_hold_move(tg_session *session, tg_txn *from, tg_txn *to)
{
	tg_reads *held = from->held;

	lock_holds();
	if (held->hold == 0)
		list(from, held);
	to->held = held;
	held->own = tg_txn_number(to);
	tg_store_release(&to->hold, held->hold);
	unlock_holds();
	from->held = NULL;
	for (tg_read_table *noted = held->tables; noted != NULL; noted = noted->next)
	{
		if (noted->words != NULL)
			tg_free(session, noted->words, TG_USE_LOG);
		noted->words = NULL;
		noted->count = noted->capacity = 0;
	}
}

static bool
is_for_prepared(const tg_txn *txn)
{
	return tg_txn_number(txn) >= tg_txns->txn_max - tg_prepared_max();
}

void
tg_hold_end(tg_session *session, tg_txn *txn)
{
	tg_reads *held = txn->held;
	tg_reads **link = &tg_txns->holds.first;

	tg_hold_restore_none(txn);
	if (held == NULL)
		return;
	txn->held = NULL;
	tg_store_release(&txn->hold, 0);
	if (held->hold != 0)
	{
		lock_holds();
		while (*link != held)
			link = &(*link)->hold_next;
		*link = held->hold_next;
		held->hold = 0;
		tg_fetch_add_seq_cst(&tg_txns->holds.count, UINT64_MAX);
		unlock_holds();
	}
	if (is_for_prepared(txn))
		tg_reads_destroy(session, held);
}

/* 4. */
bool
tg_hold_may_end(const tg_txn *txn)
{
	uint64_t own = tg_load_relaxed(&txn->state);

	tg_assert((own & TG_STATE_MASK) == TG_TXN_PREPARED);
	if (txn->held == NULL || tg_failpoint_refuses("skip_h4"))
		return true;
	for (unsigned i = 0; i < tg_txns->txn_max; i++)
	{
		const tg_txn *other = &tg_txns->txn[i];
		uint64_t state = tg_load_seq_cst(&other->state);

		if (((state & TG_STATE_MASK) == TG_TXN_PREPARING ||
			 ((state & TG_STATE_MASK) == TG_TXN_PREPARED && state < own)) &&
			tg_load_acquire(&other->looks))
			return false;
	}
	return true;
}

/* --- looking at what others hold ---------------------------------------------------------- */

/* The next hold to look at: not the own one, nor, for one that is to be prepared, later ones. */
static tg_reads *
next_hold(const tg_reads *by)
{
	tg_reads *hold = tg_txns->holds.first;

	while (hold != NULL && (hold == by || hold->hold < by->look_hold))
		hold = hold->hold_next;
	return hold != NULL && by->holds && by->hold != 0 && hold->hold > by->hold ? NULL : hold;
}

static inline bool
is_by(const tg_time *word, unsigned txn)
{
	tg_time time = tg_load_acquire(word);

	return tg_time_is_reference(time) && tg_reference_txn(time) == txn;
}

/* Whether the transaction, which has not ended, has written the row. */
static bool
has_changed(unsigned txn, tg_table *table, uint32_t row)
{
	tg_version head = tg_load_acquire(tg_row_head(table, row));
	const tg_header *headers;

	if (tg_head_is_closed(head) || head == TG_VERSION_NONE)
		return false;
	headers = tg_chunk_headers(tg_version_chunk(head));
	if (headers == NULL)
		return false;
	headers += tg_version_slot(head);
	return is_by(&headers->begin, txn) || is_by(&headers->end, txn);
}

static bool
holds_row(const tg_read_table *noted, uint32_t row)
{
	return bsearch(&row, noted->rows, noted->row_count, sizeof(uint32_t), compare_rows) != NULL;
}

/* Whether a write is to a row that is held. */
static bool
is_held(const tg_read_table *noted, const tg_log_entry *entry)
{
	if (entry->kind > TG_WRITE_DELETE || tg_version_chunk(entry->version)->table != noted->table)
		return false; /* the others are undone */
	for (uint32_t i = 0; i < entry->count; i++)
		if (holds_row(noted, tg_version_row(entry->version + i)))
			return true;
	return false;
}

static tg_status
step_log(tg_reads *by, const tg_read_table *noted)
{
	for (unsigned i = 0; i < STEP_ENTRIES; i++)
	{
		const tg_log_entry *entry = tg_write_log_next(&by->look_log);

		if (entry == NULL)
			return TG_OK;
		if (is_held(noted, entry))
			return TG_CHANGED;
	}
	return TG_AGAIN;
}

static tg_status
step_range(tg_reads *by, tg_table *table, const tg_read_range *range)
{
	uint32_t rows[ROWS_AHEAD];
	uint32_t row;

	if (range->is_key && range->index == NULL)
		return tg_btree_find(tg_load_acquire(&table->index), range->bytes, range->low_bytes, &row) == TG_OK &&
					   has_changed(by->own, table, row)
				   ? TG_CHANGED
				   : TG_OK;
	if (range->index != NULL && tg_load_acquire(&range->index->unlinked))
		return TG_CHANGED;
	if (!by->in_range)
		tg_read_range_open(range, table, &by->cursor);
	by->in_range = true;
	for (unsigned looked = 0; looked < STEP_ROWS;)
	{
		unsigned count = tg_btree_cursor_next_keys(&by->cursor, rows, ROWS_AHEAD, NULL);

		if (count == 0)
		{
			by->in_range = false;
			return TG_OK;
		}
		for (unsigned i = 0; i < count; i++)
			if (has_changed(by->own, table, rows[i]))
				return TG_CHANGED;
		looked += count;
	}
	return TG_AGAIN;
}

static tg_status
step_ranges(tg_reads *by, const tg_read_table *noted)
{
	for (; by->look_range != NULL; by->look_range = by->look_range->next)
	{
		tg_status status = by->look_range->forgotten ? TG_OK : step_range(by, noted->table, by->look_range);

		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

static void
go_to_table(tg_reads *by, tg_read_table *noted)
{
	by->look_table = noted;
	by->look_log = tg_write_log_begin(txn_of(by)->log);
	by->look_range = noted != NULL ? noted->ranges : NULL;
	by->in_range = false;
}

/* A part of the look at one hold: TG_OK, TG_AGAIN, TG_CHANGED. */
static tg_status
step_hold(tg_reads *by, const tg_reads *hold)
{
	while (by->look_table != NULL)
	{
		tg_read_table *noted = by->look_table;
		const tg_table *written = tg_write_log_find_table(txn_of(by)->log, noted->database, noted->relation);
		tg_status status;

		if (written != NULL)
		{
			if (noted->held_whole || written != noted->table)
				return TG_CHANGED;
			status = step_log(by, noted);
			if (status == TG_OK)
				status = step_ranges(by, noted);
			if (status != TG_OK)
				return status;
		}
		go_to_table(by, noted->next);
	}
	return hold->everything ? TG_CHANGED : TG_OK;
}

/* 2.  What a change of what is held means. */
static tg_status
judge_holder(const tg_reads *by, const tg_reads *hold, tg_conflict *conflict_out, tg_wait *wait_out)
{
	const tg_txn *holder = txn_of(hold);
	uint64_t state = tg_load_acquire(&holder->state);
	uint64_t host = tg_load_relaxed(&holder->host);
	tg_time time = state >> TG_STATE_BITS;
	bool is_earlier = by->holds || time < by->upto;

	switch ((tg_txn_state) (state & TG_STATE_MASK))
	{
		case TG_TXN_COMMITTED:
			if (is_earlier)
				return TG_OK;
			break;
		case TG_TXN_ABORTED:
			return TG_OK;
		case TG_TXN_PREPARED:
			if (!is_earlier)
				break;
			/* FALLTHROUGH */
		case TG_TXN_PREPARING:
			*wait_out = (tg_wait){.host = host, .txn = hold->own, .kind = TG_WAIT_OUTCOME};
			return TG_BUSY;
		default:
			break;
	}
	*conflict_out = (tg_conflict){.kind = TG_CONFLICT_HELD,
								  .relation = by->look_table != NULL ? by->look_table->relation : 0,
								  .row = TG_ROW_MAX,
								  .other = host};
	return TG_CHANGED;
}

/* Under the latch, inside an epoch. */
static tg_status
look(tg_reads *by, tg_conflict *conflict_out, tg_wait *wait_out)
{
	tg_reads *hold = next_hold(by);
	tg_status status;

	if (hold == NULL)
		return TG_OK;
	if (!by->looks_at_one || hold->hold != by->look_hold)
		go_to_table(by, hold->tables);
	by->look_hold = hold->hold;
	by->looks_at_one = true;
	status = step_hold(by, hold);
	if (status == TG_CHANGED)
		status = judge_holder(by, hold, conflict_out, wait_out);
	if (status == TG_AGAIN || status == TG_CHANGED)
		return status;
	by->looks_at_one = false; /* after a wait: from its beginning */
	if (status == TG_OK)
		by->look_hold++;
	return status == TG_OK ? TG_AGAIN : status;
}

tg_status
tg_hold_look(tg_session *session, tg_reads *reads, tg_conflict *conflict_out, tg_wait *wait_out)
{
	tg_txn *txn = txn_of(reads);
	tg_status status = TG_OK;

	tg_failpoint("hold_look");
	if (tg_unlikely(tg_load_seq_cst(&tg_txns->holds.count) > 0) && txn->log != NULL && !tg_failpoint_refuses("skip_h2"))
	{
		tg_epoch_enter(session);
		lock_holds();
		status = look(reads, conflict_out, wait_out);
		unlock_holds();
		tg_epoch_leave(session);
	}
	if (status == TG_AGAIN || status == TG_BUSY)
		return status;
	reads->looks = false;
	reads->in_range = false;
	tg_store_release(&txn->looks, 0); /* 4 */
	return status;
}

/* --- after a start of the server ------------------------------------------------------------- */

void
tg_hold_note_unknown(tg_txn *txn)
{
	txn->holds_unknown = true;
	tg_fetch_add_seq_cst(&tg_txns->holds.unknown, 1);
}

bool
tg_hold_any_unknown(void)
{
	return tg_load_acquire(&tg_txns->holds.unknown) > 0;
}

bool
tg_hold_is_unknown(const tg_txn *txn)
{
	return txn->holds_unknown;
}

void
tg_hold_restore_none(tg_txn *txn)
{
	if (txn->holds_unknown)
		tg_fetch_add_seq_cst(&tg_txns->holds.unknown, UINT64_MAX);
	txn->holds_unknown = false;
}

tg_status
tg_hold_restore(tg_session *session, tg_txn *txn, uint32_t database, const uint32_t *relations, unsigned count,
				bool all)
{
	tg_reads *reads;

	if (tg_reads_create(session, &reads) != TG_OK)
		return TG_NO_MEMORY;
	tg_reads_follow(reads, tg_txn_number(txn));
	reads->everything = all;
	for (unsigned i = 0; i < count; i++)
	{
		tg_read_table *noted = tg_alloc_zeroed(session, sizeof(*noted), TG_USE_LOG, TG_ESSENTIAL);

		if (noted == NULL)
		{
			tg_reads_destroy(session, reads);
			return TG_NO_MEMORY;
		}
		noted->database = database;
		noted->relation = relations[i];
		noted->held_whole = true;
		noted->next = reads->tables;
		reads->tables = noted;
	}
	lock_holds();
	list(txn, reads);
	unlock_holds();
	tg_hold_restore_none(txn); /* once it is listed */
	return TG_OK;
}

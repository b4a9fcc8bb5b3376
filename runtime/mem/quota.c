/*
 * quota.c
 *	  Memory quotas: the accounts.
 *
 *	  owner 10 <---+--- owner 10 in database 1 ---> book, book, book
 *	               |
 *	  database 1 <-+--- owner 11 in database 1 ---> book
 *	               |
 *	  owner 11 <---+--- owner 11 in database 2 ---> (none)
 *
 * 1. A book is on the account of an owner in a database (a leaf), which has two parents.  An
 *	  account goes with its last reference; books, leaves and openers hold references.
 * 2. A leaf is bounded if it or a parent has a limit.  The books of other leaves have the grant
 *	  TG_QUOTA_NONE, and are counted in no sum.
 * 3. A bounded book is counted with its bytes in use or its grant; an account's counted is the sum
 *	  over its books.  A grant is given only if it fits all three accounts.  So the books of an
 *	  account stay together below its limit, except for bytes taken without asking and for rule 5.
 *	  If an account has exceeded its limit otherwise (the limit was lowered, a table has come with
 *	  its bytes), its books have no grant, and ask each time.
 * 4. Before a refusal, or a grant of less than TG_QUOTA_GRANT, all books that share an account with
 *	  the asking one are counted anew with their tables' bytes in use, because tables that have been
 *	  emptied, or have an unused grant, would keep others out.
 * 5. Bytes are added after the object was taken.  If a book is counted anew between the request and
 *	  the addition, the table exceeds the limit by that object, for each session that is at such a
 *	  point; the next request takes it into account.  Bytes of long values are added 64 kB at a time
 *	  (lease.c), but those of hidden values at once, because no session leases a table of these.
 *
 * One latch guards all of it.  Outside the latch only a book's two figures are read and written,
 * and its account is read by a session that has locked the table against a move.  The two figures
 * are relaxed.  The fence after grants are taken away orders that before the reading of the bytes
 * in use.  So an addition that is not counted is one that is under way, at a point as in rule 5;
 * this also holds where a locked addition is no full fence.
 *
 * Left out: an index over the accounts, which are walked when a table is created; there are as many
 * as owners of tables, in each database.
 */
#include "runtime/mem/quota.h"

#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/session.h"

struct tg_account
{
	tg_account *next;
	tg_quota_key key;
	uint32_t references;
	bool is_set; /* the host has set the limit */
	int64_t limit;
	int64_t counted;
	uint64_t refused;
	tg_account *parents[2]; /* of a leaf: its owner's and its database's; else NULL */
	tg_book *books;			/* of a leaf */
};

typedef struct quotas
{
	tg_latch latch; /* TG_RANK_QUOTA: all accounts */
	tg_account *accounts;
} quotas;

static quotas *shared; /* set by tg_quota_create, inherited by children */

tg_status
tg_quota_create(void)
{
	tg_session *session;
	tg_status status = tg_session_open(&session);

	if (status != TG_OK)
		return status;
	shared = tg_alloc_zeroed(session, sizeof(*shared), TG_USE_RUNTIME, TG_ESSENTIAL);
	tg_session_close(session);
	if (shared == NULL)
		return TG_NO_MEMORY;
	tg_latch_init(&shared->latch, TG_RANK_QUOTA);
	return TG_OK;
}

/* --- grants; under the latch --------------------------------------------------- */

/* The leaf itself and its parents, one after the other. */
#define LEVELS 3

static inline tg_account *
level_of(tg_account *leaf, unsigned level)
{
	return level == 0 ? leaf : leaf->parents[level - 1];
}

static bool
is_bounded(const tg_account *leaf)
{
	return leaf->limit != TG_QUOTA_NONE || leaf->parents[0]->limit != TG_QUOTA_NONE ||
		   leaf->parents[1]->limit != TG_QUOTA_NONE;
}

static int64_t
bytes_of(const tg_book *book)
{
	int64_t bytes = tg_load_relaxed(&book->bytes);

	return bytes > 0 ? bytes : 0; /* a release may be counted before the taking */
}

static void
count(tg_book *book, int64_t bytes)
{
	for (unsigned level = 0; level < LEVELS; level++)
		level_of(book->account, level)->counted += bytes;
	book->counted += bytes;
}

/* When a book comes to an account, or by rule 4. */
static void
count_anew(tg_book *book)
{
	count(book, (is_bounded(book->account) ? bytes_of(book) : 0) - book->counted);
}

/* The bytes that may still be granted. */
static int64_t
room_of(tg_account *leaf, tg_account **narrowest_out)
{
	int64_t room = TG_QUOTA_NONE;

	for (unsigned level = 0; level < LEVELS; level++)
	{
		tg_account *account = level_of(leaf, level);

		if (account->limit == TG_QUOTA_NONE || account->limit - account->counted >= room)
			continue;
		room = account->limit - account->counted;
		*narrowest_out = account;
	}
	return room;
}

/* Grants the book the bytes that it is counted with: 2, 3. */
static void
grant(tg_book *book)
{
	tg_account *narrowest;
	int64_t granted = book->counted;

	if (!is_bounded(book->account))
		granted = TG_QUOTA_NONE;
	else if (room_of(book->account, &narrowest) < 0)
		granted = 0;
	tg_store_relaxed(&book->granted, granted);
}

/* Whether the count of a book of one leaf affects the books of the other one. */
static bool
are_beside(const tg_account *leaf, const tg_account *other)
{
	return leaf->parents[0] == other->parents[0] || leaf->parents[1] == other->parents[1];
}

/*
 * Counts books anew, all of them or those of bounded leaves beside one (NULL: all), and grants
 * accordingly.  Grants are taken away first: so bytes that a table takes by its old grant are
 * counted, except an object in hand (5).
 */
static void
count_anew_beside(const tg_account *beside)
{
	for (unsigned step = 0; step < 3; step++)
	{
		for (tg_account *leaf = shared->accounts; leaf != NULL; leaf = leaf->next)
		{
			if (leaf->books == NULL || (beside != NULL && (!is_bounded(leaf) || !are_beside(leaf, beside))))
				continue;
			for (tg_book *book = leaf->books; book != NULL; book = book->next)
			{
				if (step == 0)
					tg_store_relaxed(&book->granted, 0);
				else
					step == 1 ? count_anew(book) : grant(book);
			}
		}
		if (step == 0)
			tg_fence_seq_cst();
	}
}

/* --- accounts; under the latch -------------------------------------------------- */

static tg_account *
find(tg_quota_key key)
{
	tg_account *account = shared->accounts;

	while (account != NULL && (account->key.database != key.database || account->key.owner != key.owner))
		account = account->next;
	return account;
}

/* The account, with a reference for the caller.  NULL: no memory. */
static tg_account *
find_or_make(tg_session *session, tg_quota_key key)
{
	tg_account *account = find(key);

	if (account == NULL)
	{
		account = tg_alloc_zeroed(session, sizeof(*account), TG_USE_TABLE, TG_ESSENTIAL);
		if (account == NULL)
			return NULL;
		account->key = key;
		account->limit = TG_QUOTA_NONE;
		account->next = shared->accounts;
		shared->accounts = account;
	}
	account->references++;
	return account;
}

static void
let_go(tg_session *session, tg_account *account)
{
	tg_account **link = &shared->accounts;

	if (account == NULL || --account->references > 0)
		return;
	tg_assert(account->books == NULL && account->counted == 0);
	while (*link != account)
		link = &(*link)->next;
	*link = account->next;
	let_go(session, account->parents[0]);
	let_go(session, account->parents[1]);
	tg_free(session, account, TG_USE_TABLE);
}

tg_status
tg_account_open(tg_session *session, uint32_t database, uint32_t owner, tg_account **account_out)
{
	tg_account *leaf;

	tg_assert(database != 0 && owner != 0);
	tg_latch_acquire(&shared->latch);
	leaf = find_or_make(session, (tg_quota_key){database, owner});
	if (leaf != NULL && leaf->parents[0] == NULL)
		leaf->parents[0] = find_or_make(session, (tg_quota_key){0, owner});
	if (leaf != NULL && leaf->parents[1] == NULL)
		leaf->parents[1] = find_or_make(session, (tg_quota_key){database, 0});
	if (leaf != NULL && (leaf->parents[0] == NULL || leaf->parents[1] == NULL))
	{
		let_go(session, leaf);
		leaf = NULL;
	}
	tg_latch_release(&shared->latch);
	*account_out = leaf;
	return leaf != NULL ? TG_OK : TG_NO_MEMORY;
}

void
tg_account_close(tg_session *session, tg_account *account)
{
	tg_latch_acquire(&shared->latch);
	let_go(session, account);
	tg_latch_release(&shared->latch);
}

uint32_t
tg_account_owner(const tg_account *account)
{
	return account->key.owner;
}

bool
tg_account_unset(const tg_account *account, tg_quota_key *key_out)
{
	bool found = false;

	tg_latch_acquire(&shared->latch);
	for (unsigned level = 0; level < LEVELS && !found; level++)
	{
		const tg_account *one = level_of((tg_account *) account, level);

		found = !one->is_set;
		*key_out = one->key;
	}
	tg_latch_release(&shared->latch);
	return found;
}

void
tg_quota_set(tg_quota_key key, int64_t limit)
{
	tg_account *changed;

	tg_latch_acquire(&shared->latch);
	changed = find(key);
	if (changed != NULL && changed->limit != limit)
	{
		changed->limit = limit;
		count_anew_beside(NULL); /* leaves may have become bounded by it, or are so no longer */
	}
	if (changed != NULL)
		changed->is_set = true;
	tg_latch_release(&shared->latch);
}

/* --- books -------------------------------------------------------------------- */

static void
take_off(tg_book *book)
{
	if (book->account == NULL)
		return;
	count(book, -book->counted);
	if (book->next != NULL)
		book->next->previous = book->previous;
	if (book->previous != NULL)
		book->previous->next = book->next;
	else
		book->account->books = book->next;
	book->account = NULL;
}

tg_account *
tg_book_move(tg_book *book, tg_account *account)
{
	tg_account *old;

	tg_latch_acquire(&shared->latch);
	old = book->account;
	take_off(book);
	book->account = account;
	book->previous = NULL;
	book->next = account->books;
	if (book->next != NULL)
		book->next->previous = book;
	account->books = book;
	count_anew(book);
	grant(book);
	if (book->granted == 0)
		count_anew_beside(account);
	tg_latch_release(&shared->latch);
	return old;
}

tg_account *
tg_book_account(const tg_book *book)
{
	return book->account;
}

void
tg_book_close(tg_session *session, tg_book *book)
{
	tg_account *account = book->account;

	if (account == NULL)
		return;
	tg_latch_acquire(&shared->latch);
	take_off(book);
	let_go(session, account);
	tg_latch_release(&shared->latch);
}

tg_status
tg_book_ask_accounts(tg_book *book, size_t bytes)
{
	tg_status status = TG_OK;
	tg_account *narrowest = NULL;
	int64_t need;
	int64_t room;

	tg_latch_acquire(&shared->latch);
	need = bytes_of(book) + (int64_t) bytes - book->counted;
	room = room_of(book->account, &narrowest);
	if (room < need + TG_QUOTA_GRANT)
	{
		count_anew_beside(book->account);
		need = bytes_of(book) + (int64_t) bytes - book->counted;
		room = room_of(book->account, &narrowest);
	}
	if (need > room)
	{
		narrowest->refused++;
		status = TG_OVER_QUOTA;
	}
	else if (is_bounded(book->account)) /* or it has become unbounded since the caller looked */
	{
		if (need > 0)
			count(book, room - need < TG_QUOTA_GRANT ? room : need + TG_QUOTA_GRANT);
		grant(book);
	}
	tg_latch_release(&shared->latch);
	return status;
}

/* --- figures ------------------------------------------------------------------- */

static int64_t
sum_bytes(const tg_account *account)
{
	int64_t bytes = 0;

	for (const tg_account *leaf = shared->accounts; leaf != NULL; leaf = leaf->next)
		if (leaf == account || leaf->parents[0] == account || leaf->parents[1] == account)
			for (const tg_book *book = leaf->books; book != NULL; book = book->next)
				bytes += bytes_of(book);
	return bytes;
}

static tg_quota_report
report_of(const tg_account *account)
{
	return (tg_quota_report){
		.key = account->key, .bytes = sum_bytes(account), .limit = account->limit, .refused = account->refused};
}

unsigned
tg_quota_reports(tg_quota_report *reports, unsigned count_max)
{
	unsigned count = 0;

	tg_latch_acquire(&shared->latch);
	for (const tg_account *account = shared->accounts; account != NULL; account = account->next, count++)
		if (count < count_max)
			reports[count] = report_of(account);
	tg_latch_release(&shared->latch);
	return count;
}

bool
tg_book_report(const tg_book *book, tg_quota_report *report_out)
{
	int64_t least = TG_QUOTA_NONE;

	tg_latch_acquire(&shared->latch);
	for (unsigned level = 0; level < LEVELS && book->account != NULL; level++)
	{
		const tg_account *account = level_of(book->account, level);
		tg_quota_report report;

		if (account->limit == TG_QUOTA_NONE)
			continue;
		report = report_of(account);
		if (report.limit - report.bytes >= least)
			continue;
		least = report.limit - report.bytes;
		*report_out = report;
	}
	tg_latch_release(&shared->latch);
	return least != TG_QUOTA_NONE;
}

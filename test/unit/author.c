/*
 * author.c
 *	  The author of a commit is found by the commit's time, with the label that the session had
 *	  then, or is not found.
 *
 * The race: a commit is never reported with the label of another one.
 */
#include "test/unit/integer_key.h"
#include "test/unit/unit.h"

#include <string.h>

#include "runtime/runtime.h"
#include "runtime/txn/txn_internal.h"

#define COMMITS 20000

static tg_table *table;
static tg_session *sessions[2];
/* by number; atomic, like the next one: the committer writes them in this order */
static tg_time commits[COMMITS + 1];
static uint64_t last_number;

static void
label_of(uint64_t number, char *label)
{
	snprintf(label, TG_TXN_LABEL_BYTES, "label %" PRIu64 " and some more words", number);
}

/* One row under this label; when it was committed. */
static tg_time
commit(unsigned session, tg_txn_kind kind, const char *label, int64_t id)
{
	tg_session *own = sessions[session];
	tg_txn *txn = tg_txn_begin_as(own, 100 + session, kind, TG_READ_COMMITTED, label);
	const tg_writer writer = {.session = own, .txn = txn, .command = 1, .claim = TG_DATA};
	const bool nulls[1] = {false};
	tg_value value = {.word = (uint64_t) id};
	unsigned char key[16];
	tg_version version;
	uint32_t row;
	tg_time time;
	tg_wait wait;

	if (tg_txn_insert(&writer, table, key, key_of(id, key), &value, nulls, &row, &wait) != TG_OK)
		abort();
	tg_epoch_enter(own);
	version = tg_load_acquire(tg_row_head(table, row));
	tg_epoch_leave(own);
	tg_txn_commit(own, txn);
	tg_epoch_enter(own);
	time = tg_version_began_at(version);
	tg_epoch_leave(own);
	return time;
}

static bool
is_of(tg_time time, unsigned session, tg_txn_kind kind, const char *label)
{
	tg_author author;

	return tg_author_find(time, &author) && author.txn == sessions[session]->id && author.kind == kind &&
		   strcmp(author.label, label) == 0;
}

static void
test_labels(void)
{
	tg_time times[TG_AUTHOR_LIVES + 2];
	tg_time other;
	tg_author author;
	char label[TG_TXN_LABEL_BYTES];

	for (unsigned i = 0; i < TG_AUTHOR_LIVES + 2; i++)
	{
		label_of(i, label);
		times[i] = commit(0, i == 1 ? TG_TXN_SHORT : TG_TXN_ORDINARY, label, (int64_t) i);
	}
	other = commit(1, TG_TXN_ORDINARY, "other", 100);
	unit_ok(times[0] != 0 && other != 0, "a version says when it was committed");
	for (unsigned i = 1; i < TG_AUTHOR_LIVES + 2; i++)
	{
		label_of(i, label);
		unit_ok(is_of(times[i], 0, i == 1 ? TG_TXN_SHORT : TG_TXN_ORDINARY, label), "the label of commit %u", i);
	}
	unit_ok(is_of(times[0], 0, TG_TXN_ORDINARY, ""), "too many labels since: its session is known");
	unit_ok(is_of(other, 1, TG_TXN_ORDINARY, "other"), "another session's");
	unit_ok(!tg_author_find(other + 1, &author), "no transaction has committed at that time");
	for (int i = 0; i < TG_AUTHOR_COMMITS; i++)
		(void) commit(0, TG_TXN_ORDINARY, label, 200 + i);
	unit_ok(!tg_author_find(times[1], &author), "too many commits since");
	unit_ok(is_of(other, 1, TG_TXN_ORDINARY, "other"), "but not of that session");
}

/* An entry that the host stores again is that of its session, under the label of that time. */
static void
test_stored(void)
{
	tg_time times[TG_AUTHOR_STORED + 1];
	tg_author author;
	char label[TG_TXN_LABEL_BYTES];

	for (unsigned i = 0; i < TG_AUTHOR_STORED + 1; i++)
	{
		label_of(i / 2, label);
		times[i] = tg_author_draw(sessions[0], TG_TXN_ORDINARY, TG_READ_COMMITTED, label);
	}
	unit_ok(!tg_author_find(times[0], &author), "too much stored since");
	label_of(0, label);
	unit_ok(is_of(times[1], 0, TG_TXN_ORDINARY, label), "the entry was stored under another label");
	label_of(TG_AUTHOR_STORED / 2, label);
	unit_ok(is_of(times[TG_AUTHOR_STORED], 0, TG_TXN_ORDINARY, label), "and at last");
	unit_ok(commit(0, TG_TXN_ORDINARY, label, 900) > times[TG_AUTHOR_STORED], "commits are later");
	unit_ok(is_of(times[TG_AUTHOR_STORED], 0, TG_TXN_ORDINARY, label), "and do not take its place");
}

static void *
commit_many(void *argument)
{
	char label[TG_TXN_LABEL_BYTES];

	for (uint64_t i = 1; i <= COMMITS; i++)
	{
		label_of(i, label);
		tg_store_relaxed(&commits[i], commit(0, TG_TXN_ORDINARY, label, 1000 + (int64_t) i));
		tg_store_release(&last_number, i);
	}
	return argument;
}

static void
test_race(void)
{
	uint64_t wrong = 0;
	uint64_t right = 0;
	uint64_t number;
	pthread_t thread;

	pthread_create(&thread, NULL, commit_many, NULL);
	while ((number = tg_load_acquire(&last_number)) < COMMITS)
	{
		char label[TG_TXN_LABEL_BYTES];
		tg_author author;

		if (number == 0 || !tg_author_find(tg_load_relaxed(&commits[number]), &author) || author.label[0] == '\0')
			continue;
		label_of(number, label);
		right += strcmp(author.label, label) == 0;
		wrong += strcmp(author.label, label) != 0;
	}
	pthread_join(thread, NULL);
	unit_equal(wrong, 0, "no commit is told under another's label (%" PRIu64 " under their own)", right);
}

int
main(void)
{
	const tg_runtime_config config = {
		.arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 8},
		.worker_max = 1,
	};
	const uint8_t kinds[] = {TG_KIND_8};
	const tg_key_spec key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

	if (tg_runtime_map(&config.arena) != TG_OK || tg_runtime_create(&config) != TG_OK)
		unit_bail("no runtime");
	for (int i = 0; i < 2; i++)
		if (tg_session_open(&sessions[i]) != TG_OK)
			unit_bail("no session");
	if (tg_table_create(sessions[0], 1, 70, kinds, 1, &key, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	test_labels();
	test_stored();
	test_race();
	return unit_done();
}

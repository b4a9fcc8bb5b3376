/*
 * base.c
 *	  A base, and the records from its P on, give the contents; whatever happens while it is
 *	  written.
 *
 * A table is changed at random while bases are written, in small parts and blocks; columns and
 * indexes come between P and E; a transaction's record may lie below P and its outcome above.  Each
 * base is read into a second table, and the records are replayed over it.  Calls fail, or the power
 * does, at any place: the base before is whole, and the next one is written under the same number.
 * Tables that do not change keep their files.
 */
#include "runtime/durable/base.h"

#include "runtime/durable/ranks.h"
#include "test/unit/base_unit.h"

static tg_status
write_hidden(const tg_snapshot *snapshot, uint32_t first, uint32_t count, tg_bytes *bytes)
{
	tg_wait wait;

	return tg_operations_write_hidden(source, tg_index_next(tg_index_first(source)), snapshot, first, count, bytes,
									  &wait);
}

/*
 * Writes a base while the source changes.  Of its columns and indexes, only so many are known at P.
 */
static tg_status
write_beside(tg_base *base, bool adds_columns, bool adds_index)
{
	tg_status status;

	do
	{
		change_source(1 + roll(&clients[0], 3));
		status = tg_base_step(base, clients[0].session, &error);
		if (adds_columns && roll(&clients[0], 3) == 0)
		{
			add_columns(source);
			adds_columns = false;
		}
		if (adds_index && roll(&clients[0], 10) == 0)
		{
			keep_rows(write_hidden, NULL);
			note(source);
			adds_index = false;
		}
	} while (status == TG_AGAIN || status == TG_BUSY);
	if (adds_columns)
		add_columns(source);
	if (adds_index)
	{
		keep_rows(write_hidden, NULL);
		note(source);
	}
	return status;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void
end_transactions(void)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		roll_back(&clients[i]);
}

static void
test_beside_writers(void)
{
	for (unsigned round = 0; round < 4 * EFFORT; round++)
	{
		bool adds_columns = round == 2;
		bool adds_index = round % 3 == 1;
		unsigned undecided = UINT32_MAX;
		uint64_t least = UINT64_MAX;
		tg_roster *roster;
		tg_base *base;

		change_source(100);
		roster = make_roster(column_count, adds_index ? 1 : INDEXES);
		if (round % 2 == 0)
		{
			/* its record comes before P, its outcome after */
			while (clients[1].txn == NULL || !tg_txn_has_writes(clients[1].txn))
				step(&clients[1]);
			least = position_now();
			undecided = record_count;
			keep_record(&clients[1]);
			note(source);
		}
		base = begin_base(finished + 1, finished, least, roster);
		tg_roster_free(roster);
		if (undecided != UINT32_MAX)
		{
			tg_status status = tg_base_step(base, clients[0].session, &error);

			while (status == TG_AGAIN && roll(&clients[0], 8) != 0)
				status = tg_base_step(base, clients[0].session, &error);
			tg_txn_commit(clients[1].session, clients[1].txn);
			clients[1].txn = NULL;
		}
		if (write_beside(base, adds_columns, adds_index) != TG_OK ||
			tg_base_finish(base, position_now(), &error) != TG_OK)
			unit_bail("a base was not written");
		tg_base_end(base, clients[0].session);
		finished++;
		change_source(100);
		end_transactions();
		check_base("beside writers", finished, undecided);
	}
}

static void
test_taken_over(void)
{
	uint64_t first = write_base(0, UINT64_MAX);
	uint64_t number;
	uint64_t least;

	change_source(50);
	end_transactions();
	number = write_base(first, UINT64_MAX);
	unit_ok(files_of(number, idle_id[0]) == first && files_of(number, idle_id[1]) == first &&
				files_of(number, source->incarnation) == number,
			"a storage that has not changed keeps its files");
	write_idle(0, 1);
	number = write_base(number, UINT64_MAX);
	unit_ok(files_of(number, idle_id[0]) == number && files_of(number, idle_id[1]) == first,
			"one that has gets new ones");
	check_base("with files of several bases", number, UINT32_MAX);

	least = position_now();
	write_idle(1, 1);
	number = write_base(number, least);
	unit_ok(files_of(number, idle_id[1]) == number, "also for a record that is undecided at P");
	number = write_base(number, UINT64_MAX);
	unit_equal(files_of(number, idle_id[1]), number, "which may be decided by the next base");
	number = write_base(number, UINT64_MAX);
	unit_equal(files_of(number, idle_id[1]), number - 1, "and then is in its files");
	check_base("with files of several bases", number, UINT32_MAX);
}

static int
compare_bytes(void *argument, const void *value, size_t value_bytes)
{
	(void) value_bytes;
	return memcmp(argument, value, sizeof(uint64_t));
}

/* Adds values at random to a dictionary of a table. */
static void
add_ranks(tg_table *table, unsigned count)
{
	const tg_ranking way = {.compare = 6, .collation = 7, .type = 8};
	tg_dictionary *dictionary;

	if (tg_dictionary_get(clients[0].session, table, way, &dictionary) != TG_OK)
		unit_bail("no dictionary");
	for (unsigned i = 0; i < count; i++)
	{
		uint64_t value = roll(&clients[0], 1000);
		tg_ranked ranked;

		if (tg_dictionary_add(clients[0].session, dictionary, compare_bytes, &value, &value, sizeof(value), &ranked) !=
			TG_OK)
			unit_bail("no rank");
	}
}

/* All ranks of a table. */
static tg_bytes
ranks_of(tg_table *table)
{
	tg_bytes bytes = {0};
	tg_rank_walk walk;
	bool more;

	tg_rank_walk_begin(&walk, table);
	if (tg_ranks_write(clients[0].session, &walk, SIZE_MAX, &bytes, &more) != TG_OK || more)
		unit_bail("no memory");
	return bytes;
}

static bool
are_equal(const void *left, size_t left_bytes, const void *right, size_t right_bytes)
{
	return left_bytes == right_bytes && memcmp(left, right, left_bytes) == 0;
}

/* The number of ranks that two tables have in common; 0: others differ. */
static unsigned
count_same_ranks(tg_table *left, tg_table *right)
{
	tg_bytes bytes[2] = {ranks_of(left), ranks_of(right)};
	tg_reader readers[2] = {tg_reader_make(bytes[0].data, bytes[0].count),
							tg_reader_make(bytes[1].data, bytes[1].count)};
	tg_definition ranks[2];
	unsigned count = 0;
	unsigned faults = 0;

	for (; tg_definitions_next(&readers[0], &ranks[0]); count++)
		faults += !tg_definitions_next(&readers[1], &ranks[1]) ||
				  ranks[0].ranking.compare != ranks[1].ranking.compare ||
				  !are_equal(ranks[0].value, ranks[0].value_bytes, ranks[1].value, ranks[1].value_bytes) ||
				  !are_equal(ranks[0].rank, ranks[0].rank_bytes, ranks[1].rank, ranks[1].rank_bytes);
	faults += tg_definitions_next(&readers[1], &ranks[1]);
	tg_bytes_free(&bytes[0]);
	tg_bytes_free(&bytes[1]);
	return faults == 0 ? count : 0;
}

static void
test_ranks(void)
{
	tg_base_facts facts;
	uint64_t number;
	unsigned count;

	add_ranks(idle[0], 300);
	write_idle(0, 1);
	number = write_base(finished, UINT64_MAX);
	make_targets();
	count = apply_base(number, &facts) == TG_OK ? count_same_ranks(idle[0], idle_target[0]) : 0;
	unit_ok(count > 100, "%u ranks are in the base", count);
	drop_targets();
	number = write_base(finished, UINT64_MAX);
	make_targets();
	count = apply_base(number, &facts) == TG_OK ? count_same_ranks(idle[0], idle_target[0]) : 0;
	unit_ok(files_of(number, idle_id[0]) == number - 1 && count > 100, "and in the next one, by the same file");
	drop_targets();
}

/* Writes a base; whether the rows of a storage are in files of its own. */
static bool
writes_anew(const tg_table *table)
{
	uint64_t number = write_base(finished, UINT64_MAX);

	return files_of(number, table->incarnation) == number;
}

/*
 * Rows in files name indexes, and lack hidden values of those that were not complete: without the
 * same indexes, they are written anew.
 */
static void
test_indexes(void)
{
	change_source(50);
	end_transactions();
	unit_ok(writes_anew(source), "a storage that has changed is written anew");
	unit_ok(!writes_anew(source), "with the same indexes, its files stay");
	completes = true;
	unit_ok(writes_anew(source), "but not when one is complete");
	unit_ok(!writes_anew(source), "and then again");
	defined_indexes = 1;
	unit_ok(writes_anew(source), "nor when one has gone");
	unit_ok(read_whole(finished), "its rows can be read without it");
	defined_indexes = INDEXES;
	unit_ok(writes_anew(source), "nor when one is new");
	check_base("after changes of indexes", finished, UINT32_MAX);
}

/* A storage of which nothing is known comes from a load. */
static void
test_unknown(void)
{
	unit_ok(!writes_anew(idle[0]), "the files of a storage stay");
	idle[0]->logged_at = 0;
	unit_ok(writes_anew(idle[0]), "but not if nothing is known of the storage");
	unit_ok(!writes_anew(idle[0]), "until it has been written");
}

/* A storage that is unlogged, gone, or not placed, has no files. */
static void
test_without_files(void)
{
	tg_table *another = make_idle(clients[0].session);
	tg_roster *roster = make_roster(column_count, INDEXES);
	const uint8_t kind = TG_KIND_8;
	tg_base *base;

	insert_words(another, 1, 1);
	define_storage(roster, another->incarnation, 50, &kind, 1, false);
	idle[1]->unlogged = true;
	drop_table(clients[0].session, idle[2]);
	idle[2] = NULL;
	base = begin_base(finished + 1, 0, UINT64_MAX, roster);
	tg_roster_free(roster);
	if (complete(base, true) != TG_OK)
		unit_bail("a base was not written");
	tg_base_end(base, clients[0].session);
	finished++;
	unit_ok(files_of(finished, idle_id[0]) == finished && files_of(finished, idle_id[1]) == 0 &&
				files_of(finished, idle_id[2]) == 0 && files_of(finished, another->incarnation) == 0,
			"storages that are unlogged, gone, or not placed have no files");
	idle[1]->unlogged = false;
	drop_table(clients[0].session, another);
}

/* A base is given up, or cut off, at any call; the next one has its number. */
static void
test_failures(void)
{
	unsigned given_up = 0;
	unsigned cut_off = 0;
	unsigned whole = 0;
	unsigned rounds = 60 * EFFORT;

	for (unsigned round = 0; round < rounds; round++)
	{
		tg_roster *roster = make_roster(column_count, INDEXES);
		tg_base *base;
		tg_status status;
		tg_base_facts facts;

		change_source(20);
		end_transactions();
		base = begin_base(finished + 1, finished, UINT64_MAX, roster);
		tg_roster_free(roster);
		calls_until_error = 1 + dice(60);
		status = complete(base, true);
		calls_until_error = 0;
		if (status != TG_OK && dice(2) == 0)
		{
			given_up += status == TG_IO && error.error != 0;
			tg_base_end(base, clients[0].session);
		}
		else if (status != TG_OK || dice(2) == 0)
		{
			cut_off++;
			end_as_killed(base);
			cut_power();
			finished += status == TG_OK;
		}
		else
		{
			finished++;
			tg_base_end(base, clients[0].session);
		}
		make_targets();
		status = apply_base(finished, &facts);
		whole += status == TG_OK;
		drop_targets();
		if (dice(8) == 0 && tg_base_forget(DIRECTORY, SYSTEM, &finished, 1, &error) != TG_OK)
			unit_bail("files were not removed");
	}
	unit_equal(whole, rounds, "the last base that was finished is always whole");
	unit_ok(given_up > 0 && cut_off > 0, "%u bases were given up, %u were cut off", given_up, cut_off);
	check_base("after all failures", write_base(finished, UINT64_MAX), UINT32_MAX);
}

int
main(void)
{
	start_bases();
	computes_all = true;
	test_beside_writers();
	test_taken_over();
	test_indexes();
	test_unknown();
	test_ranks();
	test_failures();
	test_without_files();
	return end_bases();
}

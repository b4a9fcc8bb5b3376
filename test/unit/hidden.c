/*
 * hidden.c
 *	  Hidden values of indexes: they come with versions, go with them, and are taken along where
 *	  versions are moved; versions that go while their values are computed get none.
 *
 * That indexes with hidden values are as right as others is shown by index_build.c, index.c and
 * index_race.c.
 */
#include "runtime/index/hidden.h"

#include "runtime/base/failpoint.h"
#include "runtime/reclaim/cycle.h"
#include "test/unit/indexed.h"

#define ROWS 6000
#define STAY 20		 /* one of so many */
#define NEW_ROWS 300 /* as many as all chunks have free slots */

static client a;
static client b;

static size_t
used_by(tg_use use)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[use];
}

static uint64_t
moved(void)
{
	tg_collector_report report;

	tg_collector_report_get(&report);
	return report.versions_moved;
}

static void
fill_table(unsigned rows)
{
	begin(&a);
	for (unsigned i = 0; i < rows; i++)
		if (put(&a, i, (int) i, (int) i, i % 2 == 0) != TG_OK)
			unit_bail("no row");
	end(&a, true);
}

static void
thin_out(void)
{
	begin(&a);
	for (unsigned i = 0; i < ROWS; i++)
		if (i % STAY != 0)
			(void) !drop(&a, i);
	end(&a, true);
	tg_leases_forget(table);
}

static unsigned
companions(const tg_index *index)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < tg_table_chunk_count(index->link.hidden); i++)
		count += tg_table_chunk(index->link.hidden, i) != NULL;
	return count;
}

static unsigned
chunks(void)
{
	tg_table_slots slots;

	tg_epoch_enter(a.session);
	tg_table_slots_count(table, &slots);
	tg_epoch_leave(a.session);
	return (unsigned) slots.chunks;
}

/* --- what is moved -------------------------------------------------------------------------- */

static void
test_moved(void)
{
	uint64_t before = moved();

	fresh_table(a.session, true);
	fill_table(ROWS);
	unit_equal(companions(indexes[BY_TEXT]), chunks(), "each chunk has a companion");
	thin_out();
	collect_all(a.session);
	unit_ok(moved() > before, "versions are moved");
	check_exact(&a, "moved");
	unit_ok(companions(indexes[BY_TEXT]) <= chunks(), "companions go with their chunks");
	begin(&a);
	for (unsigned i = 0; i < ROWS; i += STAY)
		(void) !change(&a, i, i, SAME, (int) (i + ROWS), SAME);
	end(&a, true);
	check_exact(&a, "changed after that");
}

#ifdef TG_FAILPOINTS

static bool
refuse_memory(const char *name)
{
	return strcmp(name, "alloc") == 0 && moved() % 2 == 0;
}

/* Where there is no memory to take values along, versions stay. */
static void
test_moved_without_memory(void)
{
	fresh_table(a.session, true);
	fill_table(ROWS);
	thin_out();
	tg_failpoint_set(refuse_memory);
	collect_all(a.session);
	tg_failpoint_set(NULL);
	begin(&a);
	for (unsigned which = 0; which < INDEXES; which++)
		unit_ok(index_is_right(&a, which), "without memory index %u is right", which);
	end(&a, false);
	check_exact(&a, "with memory again");
}

#endif

/* --- what is computed meanwhile --------------------------------------------------------------- */

static unsigned turns_left;

/*
 * The version whose values are being computed goes completely, and its slot becomes another row's.
 */
static void
replace_all(void)
{
	if (turns_left == 0)
		return;
	turns_left--;
	begin(&b);
	for (unsigned i = 0; i < 40; i++)
		(void) !(turns_left % 2 == 0 ? drop(&b, i) : change(&b, i, i, (int) i + 7000, (int) i + 7000, 1));
	end(&b, true);
	collect_all(b.session);
	tg_leases_forget(table); /* so that slots are taken that are free now */
	begin(&b);
	for (unsigned i = 0; i < NEW_ROWS; i++)
		(void) !put(&b, 1000 * (turns_left + 1) + i, (int) (10000 * (turns_left + 1) + i),
					(int) (10000 * (turns_left + 1) + i), true);
	end(&b, true);
}

static void
test_computed(void)
{
	for (unsigned which = 0; which < INDEXES; which++)
	{
		tg_index_build_report report;
		tg_index_build *running;
		tg_status status;

		fresh_table(a.session, false);
		fill_table(60);
		for (unsigned i = 0; i < INDEXES; i++)
			if (i != which)
				(void) make_index(a.session, i);
		for (unsigned i = 0; i < INDEXES; i++)
		{
			const tg_index_build_config config = {.index = i == which ? make_index(a.session, i) : indexes[i]};

			turns_left = i == which ? 4 : 0;
			while_computed = replace_all;
			status = fill_index(&a, config.index, false);
			while_computed = NULL;
			if (status == TG_OK)
				status = tg_index_build_begin(a.session, &config, &running);
			do
				status = tg_index_build_step(a.session, running, &report);
			while (status == TG_AGAIN);
			tg_index_build_end(a.session, running);
			unit_equal(status, TG_OK, "index %u, made while rows come and go", i);
		}
		check_exact(&a, "computed meanwhile");
	}
}

/* --- what is unknown ---------------------------------------------------------------- */

/* A writer that does not know the index leaves no values, and no entry. */
static void
test_unknown(void)
{
	tg_btree_report report;

	fresh_table(a.session, true);
	begin(&a);
	hides = false;
	(void) !put(&a, 1, 1, 1, true);
	hides = true;
	(void) !put(&a, 2, 2, 2, true);
	end(&a, true);
	tg_epoch_enter(a.session);
	tg_btree_report_get(indexes[BY_NUMBER]->tree, &report);
	tg_epoch_leave(a.session);
	unit_equal(report.entries, 1, "a version without known values has no entry");
	begin(&a);
	(void) !change(&a, 1, 1, 5, SAME, SAME);
	end(&a, true);
	check_exact(&a, "known by now");
}

int
main(void)
{
	size_t chunks_before;
	size_t blobs_before;

	tg_sweep_interval_ms = 0;
	hides = true;
	start(false);
	client_open(&a, 1);
	client_open(&b, 2);
	collect_all(a.session);
	fresh_table(a.session, false);
	chunks_before = used_by(TG_USE_CHUNK);
	blobs_before = used_by(TG_USE_BLOB);
	test_moved();
#ifdef TG_FAILPOINTS
	test_moved_without_memory();
#endif
	test_computed();
	test_unknown();
	for (unsigned which = 0; which < INDEXES; which++)
		tg_index_drop(a.session, indexes[which]);
	fresh_table(a.session, false);
	collect_all(a.session);
	tg_alloc_flush(a.session);
	unit_equal(used_by(TG_USE_CHUNK), chunks_before, "all chunks have gone");
	unit_equal(used_by(TG_USE_BLOB), blobs_before, "and all strings");
	client_close(&b);
	client_close(&a);
	return unit_done();
}

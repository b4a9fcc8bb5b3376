/*
 * load.c
 *	  What a journal says was committed is what is there after a load.
 *
 * A model of a server makes histories at random: transactions of several relations that create,
 * place and drop storages, make, complete and drop indexes, add columns, write rows and hidden
 * values; that log PARTs; that commit by a record of their own or by the host's outcome, abort, or
 * stay in doubt; and servers that start anew.  Their journal is loaded, and the tables must be
 * those of the model.  Then the same with bases, that are made in the middle of a history.
 */
#include "test/unit/load_unit.h"

static void
test_histories(void)
{
	unsigned faults = 0;
	unsigned tables = 0;
	uint64_t changes = 0;

	for (unsigned i = 0; i < 60; i++)
	{
		tg_load_report report;

		make_history(20 + below(1500));
		if (i % 2 == 0)
			start_anew();
		write_journal();
		if (load(false, &report) != TG_OK || (i % 2 == 0 && !all_are_placed(report.roster)))
			faults++;
		else
			faults += count_faults(&report) + (report.damage_count > 0) + !ids_are_new() +
					  (report.end != (frame_count > 0 ? frames[frame_count - 1].frame.end : 0));
		if (report.problem != NULL)
			fprintf(stderr, "# %s at %" PRIu64 "\n", report.problem, report.problem_position);
		for (size_t j = 0; j < report.damage_count; j++)
			fprintf(stderr, "# %u: %s\n", report.damages[j].relation, report.damages[j].what);
		changes += report.changes;
		tg_load_report_free(&report);
		tables += drop_tables();
	}
	unit_ok(faults == 0, "60 histories: %u tables, %" PRIu64 " changes", tables, changes);
}

/*
 * Beyond the limit of memory rows and primary keys are loaded all the same.  Secondary indexes are
 * not, so tables that have one end the load.
 */
static void
test_limit(void)
{
	unsigned faults = 0;
	unsigned loaded = 0;

	for (unsigned i = 0; i < 200; i++)
	{
		tg_load_report report;
		tg_status status;

		make_history(20 + below(100));
		write_journal();
		tg_arena_limit_set(1);
		status = load(false, &report);
		tg_arena_limit_set(LIMIT_BYTES);
		if (status == TG_OK)
			faults += count_faults(&report) + (report.damage_count > 0);
		loaded += status == TG_OK && report.rows > 0;
		faults += status != TG_OK && status != TG_NO_MEMORY;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && loaded > 50, "200 histories beyond the limit of memory: %u loaded, %u faults", loaded,
			faults);
}

static void
test_bases(void)
{
	unsigned faults = 0;
	uint64_t rows = 0;
	uint64_t changes = 0;

	for (unsigned i = 0; i < 60; i++)
	{
		tg_load_report report;
		unsigned end;

		make_history(200 + below(1500));
		end = below(frame_count + 1);
		forget_all();
		write_base(below(end + 1), end);
		write_frames("whole", frame_count);
		faults += load_from("whole", 1, false, &report) != TG_OK || count_faults(&report) > 0 || !ids_are_new() ||
				  report.damage_count > 0;
		if (report.problem != NULL)
			fprintf(stderr, "# %s at %" PRIu64 "\n", report.problem, report.problem_position);
		for (size_t j = 0; j < report.damage_count; j++)
			fprintf(stderr, "# %u: %s\n", report.damages[j].relation, report.damages[j].what);
		rows += report.rows;
		changes += report.changes;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0, "60 histories with a base: %" PRIu64 " rows, %" PRIu64 " changes", rows, changes);
}

int
main(void)
{
	size_t used;

	start_load_unit();
	used = used_bytes();
	test_histories();
	test_limit();
	test_bases();
	unit_equal(used_bytes(), used, "nothing is left of the tables");
	return unit_done();
}

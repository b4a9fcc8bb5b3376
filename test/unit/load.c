/*
 * load.c
 *	  What a journal says was committed is what is there after a load.
 *
 * A model of a server makes histories at random: transactions of several relations that create,
 * place and drop storages, make, complete and drop indexes, add columns, write rows and hidden
 * values; that log PARTs; that commit by a record of their own or by the host's outcome, abort, or
 * stay in doubt; and servers that start anew.  Their journal is loaded, and the tables must be
 * those of the model.  Then the same with bases, that are made in the middle of a history; and with
 * the next base, made after the load, which names files of the one before it again.
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

/* How many files of the second base are the first one's. */
static unsigned
count_former_files(void)
{
	tg_base_reader *reader;
	tg_file_error error;
	unsigned count = 0;

	if (tg_base_open("bases", SYSTEM, 2, &reader, &error) != TG_OK)
		unit_bail("no base");
	for (size_t i = 0; i < tg_base_facts_get(reader)->file_count; i++)
		count += tg_base_file_get(reader, i)->number == 1;
	tg_base_close(reader);
	return count;
}

/* A base of what was loaded, and a load of that; returns faults. */
static unsigned
go_on_with_base(tg_load_report *report)
{
	const tg_base_config config = {.directory = "bases",
								   .system = SYSTEM,
								   .number = 2,
								   .former = 1,
								   .begin = position_behind(frame_count),
								   .least = report->undecided_least,
								   .roster = report->roster};

	write_base_of(&config, config.begin);
	tg_load_report_free(report);
	(void) drop_tables();
	return load_from("whole", 2, false, report) != TG_OK || report->damage_count > 0 || count_faults(report) > 0;
}

static void
test_bases(void)
{
	unsigned faults = 0;
	unsigned former_files = 0;
	uint64_t rows = 0;
	uint64_t changes = 0;

	for (unsigned i = 0; i < 60; i++)
	{
		tg_load_report report;
		unsigned end;

		make_history(200 + below(1500));
		end = frame_count - (i % 2 == 0 ? below(frame_count + 1) : below(8));
		forget_all();
		write_base(i % 2 == 0 ? below(end + 1) : end - below(8), end);
		write_frames("whole", frame_count);
		faults += load_from("whole", 1, false, &report) != TG_OK || count_faults(&report) > 0 || !ids_are_new() ||
				  report.damage_count > 0;
		if (report.problem != NULL)
			fprintf(stderr, "# %s at %" PRIu64 "\n", report.problem, report.problem_position);
		for (size_t j = 0; j < report.damage_count; j++)
			fprintf(stderr, "# %u: %s\n", report.damages[j].relation, report.damages[j].what);
		rows += report.rows;
		changes += report.changes;
		faults += go_on_with_base(&report);
		former_files += count_former_files();
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && former_files > 20,
			"60 histories with a base, and another: %" PRIu64 " rows, %" PRIu64 " changes, %u files taken over", rows,
			changes, former_files);
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

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

#include "runtime/durable/base.h"
#include "runtime/durable/undecided.h"

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

/* A server that has not started anew has the ranks of all transactions, also of those undecided. */
static void
restore_ranks(const tg_bytes *bytes)
{
	tg_record record;
	tg_reader reader;
	tg_definition definition;

	if (bytes->count == 0 || tg_record_read(bytes->data, bytes->count, &record) != TG_OK)
		return;
	reader = tg_reader_make(record.definitions, record.definition_bytes);
	while (tg_definitions_next(&reader, &definition))
	{
		tg_table *table = definition.kind == TG_DEFINITION_RANK ? tg_storage_find(definition.storage) : NULL;

		if (table == NULL)
			continue;
		if (tg_dictionary_restore(session, table, definition.ranking, definition.value, definition.value_bytes,
								  definition.rank, definition.rank_bytes) != TG_OK)
			unit_bail("no rank");
		tg_table_release(session, table);
	}
}

/*
 * Rows as of the end of some frames, definitions as of the end of fewer.  The journal is read from
 * the first undecided transaction on, so its earlier files may go.
 */
static void
write_base(unsigned begin, unsigned end)
{
	tg_base_config config = {.directory = "bases", .system = SYSTEM, .number = 1};
	tg_load_report report;
	tg_file_error error;
	tg_undecided undecided;
	tg_decision decision;
	tg_roster *roster;
	tg_base *base;
	tg_status status;

	write_frames("journal", end);
	if (tg_roster_create(&roster) != TG_OK || load(false, &report) != TG_OK)
		unit_bail("no load");
	tg_undecided_begin(&undecided, roster, 0);
	for (unsigned i = 0; i < begin; i++)
	{
		tg_journal_frame frame = frames[i].frame;

		frame.bytes = (uint32_t) frames[i].record.count;
		if (tg_undecided_frame(&undecided, &frame, frames[i].record.data, &decision) != TG_OK)
			unit_bail("no roster");
	}
	for (unsigned i = 0; i < end; i++)
		restore_ranks(&frames[i].record);
	tg_roster_forget(roster);
	config.roster = roster;
	config.begin = begin > 0 ? frames[begin - 1].frame.end : 0;
	config.least = tg_undecided_least(&undecided);
	if (tg_base_begin(&config, &base, &error) != TG_OK)
		unit_bail("no base");
	while ((status = tg_base_step(base, session, &error)) == TG_AGAIN)
		;
	if (status != TG_OK || tg_base_finish(base, end > 0 ? frames[end - 1].frame.end : 0, &error) != TG_OK)
		unit_bail("no base");
	tg_base_end(base, session);
	tg_undecided_end(&undecided);
	tg_roster_free(roster);
	tg_load_report_free(&report);
	(void) drop_tables();
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

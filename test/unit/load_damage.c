/*
 * load_damage.c
 *	  Loads of journals that are torn, damaged or do not fit, and loads that are stopped.
 *
 * A fault that concerns one table leaves the others as they were; any other ends the load, unless
 * it is told to ignore damage.  Any bytes: an answer, no crash, and nothing left behind.
 *
 *	FUZZ=n		so many damaged journals (300)
 */
#include "test/unit/load_unit.h"

/* A relation that has a storage, and no open transaction; RELATIONS: there is none. */
static unsigned
any_relation(void)
{
	unsigned first = below(RELATIONS);

	for (unsigned i = 0; i < RELATIONS; i++)
		if (relations[(first + i) % RELATIONS].id != 0 && !is_taken[(first + i) % RELATIONS])
			return (first + i) % RELATIONS;
	return RELATIONS;
}

/* Loads; whether the tables are right but for that of one relation, which is damaged. */
static bool
one_is_damaged(unsigned relation)
{
	tg_load_report report;
	bool right;

	write_journal();
	right = load(false, &report) == TG_OK && report.damage_count == 1 && report.problem == NULL &&
			report.damages[0].storage == relations[relation].id && report.damages[0].relation == 10 + relation &&
			report.damages[0].what != NULL && tg_catalog_find(database_of(relation), 10 + relation) == NULL;
	for (unsigned i = 0; i < RELATIONS; i++)
		right &= i == relation || table_is(i);
	tg_load_report_free(&report);
	(void) drop_tables();
	return right;
}

static void
log_rows(const tg_bytes *rows)
{
	add_record(TG_RECORD_COMMIT, 0, 0, NULL, NULL, rows);
}

/* A change of a row that cannot be; the rest of the record is of other tables. */
static void
put_misfit(unsigned relation, tg_bytes *rows)
{
	model_storage *storage = &relations[relation];
	unsigned row = below(ROWS);

	if (storage->rows[row].there)
		put_insert(storage, rows, row, NULL, 0);
	else if (below(2) == 0)
		put_update(storage, rows, row, &storage->rows[row], NULL, 0);
	else
	{
		put_table(storage, rows, storage->column_count, NULL, 0);
		put_head(rows, TG_OPERATION_DELETE, row);
	}
}

static void
test_misfits(void)
{
	unsigned faults = 0;

	for (unsigned i = 0; i < 20; i++)
	{
		tg_load_report report;
		tg_bytes rows = {0};
		unsigned relation;

		make_history(200 + below(1000));
		relation = any_relation();
		if (relation == RELATIONS)
			continue;
		put_misfit(relation, &rows);
		put_misfit(relation, &rows);
		log_rows(&rows);
		tg_bytes_free(&rows);
		faults += !one_is_damaged(relation);
		write_journal();
		faults += load(true, &report) != TG_OK || report.damage_count != 1 || count_faults(&report) > 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_equal(faults, 0, "a change that does not fit damages its table, or is passed over if told so");
}

/* A row that has the key of another one. */
static bool
put_twin(unsigned relation, tg_bytes *rows)
{
	model_storage *storage = &relations[relation];
	model_storage copy = *storage;
	bool is_unique = storage->key_column < COLUMNS;
	unsigned twin;
	unsigned row;

	for (row = 0; row < ROWS && storage->rows[row].there; row++)
		;
	for (twin = 0; twin < ROWS && !storage->rows[twin].there; twin++)
		;
	for (unsigned i = 0; i < INDEXES; i++)
		is_unique |= storage->indexes[i].id != 0 && storage->indexes[i].way == BY_KEY && storage->indexes[i].complete &&
					 !storage->indexes[i].dropped;
	if (!is_unique || row == ROWS || twin == ROWS)
		return false;
	copy.rows[row] = copy.rows[twin];
	put_insert(&copy, rows, row, NULL, 0);
	return true;
}

static void
test_twins(void)
{
	unsigned faults = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < 40; i++)
	{
		tg_bytes rows = {0};
		unsigned relation;

		make_history(200 + below(1000));
		relation = any_relation();
		if (relation == RELATIONS || !put_twin(relation, &rows))
			continue;
		count++;
		log_rows(&rows);
		tg_bytes_free(&rows);
		faults += !one_is_damaged(relation);
	}
	unit_ok(faults == 0 && count > 5, "a key that occurs twice damages its table: %u", count);
}

/* 0 stands for all databases, or all owners: an account of such a one would never go away. */
static void
test_nobody(void)
{
	const tg_definition definitions[] = {
		{.kind = TG_DEFINITION_CREATE, .storage = 1, .database = 0, .relation = 10, .owner = 1, .kinds = kinds},
		{.kind = TG_DEFINITION_CREATE, .storage = 1, .database = 1, .relation = 10, .owner = 0, .kinds = kinds},
		{.kind = TG_DEFINITION_CREATE, .storage = 1, .database = 1, .relation = 10, .owner = 1, .kinds = kinds},
		{.kind = TG_DEFINITION_OWNER, .storage = 1, .owner = 0},
	};
	unsigned answers = 0;
	tg_roster *roster;

	if (tg_roster_create(&roster) != TG_OK)
		unit_bail("no memory");
	for (unsigned i = 0; i < 4; i++)
	{
		tg_bytes bytes = {0};

		put_definition(&bytes, definitions[i]);
		answers = answers << 1 | (tg_roster_apply(roster, bytes.data, bytes.count) == TG_DAMAGED);
		tg_bytes_free(&bytes);
	}
	unit_equal(answers, 0xd, "a storage has a database and an owner");
	tg_roster_free(roster);
}

static memory_file *
any_file(void)
{
	for (;;)
	{
		memory_file *file = &files[dice(FILES_MAX)];

		if (file->path[0] != '\0' && file->now.count > 0)
			return file;
	}
}

/* The end of the last file is missing. */
static void
test_torn(void)
{
	unsigned faults = 0;

	for (unsigned i = 0; i < 20; i++)
	{
		memory_file *last = NULL;
		tg_load_report report;

		make_history(50 + below(1000));
		write_journal();
		for (unsigned j = 0; j < FILES_MAX; j++)
			if (files[j].path[0] != '\0' && (last == NULL || strcmp(files[j].path, last->path) > 0))
				last = &files[j];
		if (last == NULL || last->now.count <= 100)
			continue;
		last->now.count = 100 + dice((unsigned) last->now.count - 100);
		faults += load(false, &report) != TG_DAMAGED && report.records == frame_count;
		tg_load_report_free(&report);
		(void) drop_tables();
		faults += load(true, &report) != TG_OK || report.records > frame_count;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_equal(faults, 0, "a journal that is torn is loaded up to there, if told so");
}

static void
test_damaged_files(void)
{
	unsigned answers[3] = {0};
	unsigned faults = 0;

	for (unsigned i = 0; i < 60; i++)
	{
		memory_file *file;
		tg_load_report report;
		tg_status status;

		make_history(500 + below(1000));
		write_journal();
		file = any_file();
		file->now.data[dice((unsigned) file->now.count)] ^= (unsigned char) (1 << dice(8));
		status = load(false, &report);
		answers[status == TG_OK ? 0 : status == TG_DAMAGED ? 1 : 2]++;
		faults += status != TG_OK && (drop_tables() > 0 || report.problem == NULL || report.roster != NULL);
		tg_load_report_free(&report);
		(void) drop_tables();
		faults += load(true, &report) != TG_OK;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && answers[1] > 50 && answers[2] == 0, "a damaged journal is loaded only if told so: %u, %u",
			answers[0], answers[1]);
}

static void
test_stopped(void)
{
	unsigned faults = 0;
	unsigned stopped = 0;

	make_history(1500);
	write_journal();
	for (unsigned looks = 1; looks < 40; looks++)
	{
		tg_load_report report;
		tg_status status;

		looks_left = looks;
		status = load(false, &report);
		stopped += status == TG_CANCELLED;
		faults += status == TG_CANCELLED ? drop_tables() > 0 : status != TG_OK;
		looks_left = 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && stopped > 0, "a load that is stopped leaves nothing: %u", stopped);
}

/* Any records, with the right checksums: an answer, and nothing else happens. */
static void
test_any_records(void)
{
	const char *text = getenv("FUZZ");
	unsigned times = text != NULL ? (unsigned) strtoul(text, NULL, 10) : 300;
	unsigned answers[3] = {0};
	unsigned damaged = 0;

	for (unsigned i = 0; i < times; i++)
	{
		tg_load_report report;
		tg_status status;

		make_history(100 + below(600));
		for (unsigned j = 1 + below(4); j > 0 && frame_count > 0; j--)
			damage_record(&frames[below(frame_count)].record);
		write_journal();
		status = load(below(3) != 0, &report);
		answers[status == TG_OK ? 0 : status == TG_DAMAGED ? 1 : 2]++;
		damaged += report.damage_count > 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(answers[0] > 0 && answers[1] > 0,
			"of damaged journals %u were loaded, %u were damage, for %u there was no memory; %u had damaged tables",
			answers[0], answers[1], answers[2], damaged);
}

int
main(void)
{
	size_t used;

	start_load_unit();
	used = used_bytes();
	test_misfits();
	test_twins();
	test_nobody();
	test_torn();
	test_damaged_files();
	test_stopped();
	test_any_records();
	unit_equal(used_bytes(), used, "nothing is left of the tables");
	return unit_done();
}

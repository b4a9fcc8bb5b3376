/*
 * load_race.c
 *	  Loads by a pool of workers: parts of bases at once, shares of the journal's rows, and trees of
 *	  keys and indexes.
 *
 * Histories of a model (load.c), of which a base was made in the middle, in small parts.  Whatever
 * the order in which the workers come to the parts, the tables are those of the model; a load that
 * is stopped, or that finds a damaged part, leaves nothing behind; and what is wrong with a journal
 * is what one thread finds.  Also trees of keys that ascend, which workers make piece by piece.
 */
#include "test/unit/load_unit.h"

#include "runtime/durable/load_build.h"
#include "runtime/sched/job.h"
#include "runtime/table/fill.h"
#include "runtime/table/store.h"

#define HISTORIES UNIT_ROUNDS(30)

static tg_status
load_by_pool(tg_load_report *report)
{
	const tg_load_config config = {.journal = "whole", .bases = "bases", .base = 1, .system = SYSTEM, .go_on = go_on};

	return tg_load(session, &config, report);
}

static void
make_base(void)
{
	unsigned end;

	make_history(200 + below(1000));
	end = below(frame_count + 1);
	forget_all();
	write_base(below(end + 1), end);
	write_frames("whole", frame_count);
}

static void
test_bases(void)
{
	unsigned faults = 0;
	uint64_t rows = 0;

	for (unsigned i = 0; i < HISTORIES; i++)
	{
		tg_load_report report;

		make_base();
		faults += load_by_pool(&report) != TG_OK || count_faults(&report) > 0 || report.damage_count > 0;
		rows += report.rows;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && rows > 0, "%u histories with a base: %" PRIu64 " rows", HISTORIES, rows);
}

/* Of tg_load_config: cancels whatever job of the load there is. */
static bool
cancel_all(void *context, bool sleep)
{
	unsigned *cancelled = context;

	for (unsigned i = 0; sleep && i < TG_JOB_MAX; i++)
	{
		tg_job_report job;

		if (tg_job_report_get(i, &job) && job.state == TG_JOB_RUNNING && strcmp(job.kind, "load") == 0)
			*cancelled += tg_job_cancel_id(session, job.id);
	}
	return true;
}

static void
test_cancelled(void)
{
	unsigned cancelled = 0;
	unsigned faults = 0;

	for (unsigned i = 0; i < HISTORIES; i++)
	{
		const tg_load_config config = {.journal = "whole",
									   .bases = "bases",
									   .base = 1,
									   .system = SYSTEM,
									   .go_on = cancel_all,
									   .context = &cancelled};
		tg_load_report report;

		make_base();
		faults += tg_load(session, &config, &report) != TG_OK || count_faults(&report) > 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && cancelled > 0, "jobs that users cancel, %u times, leave nothing out", cancelled);
}

static void
test_stopped(void)
{
	unsigned faults = 0;
	unsigned stopped = 0;

	for (unsigned i = 0; i < HISTORIES; i++)
	{
		tg_load_report report;
		tg_status status;

		make_base();
		looks_left = 2 + below(300);
		status = load_by_pool(&report);
		looks_left = 0;
		stopped += status == TG_CANCELLED;
		faults += status == TG_OK ? count_faults(&report) : status != TG_CANCELLED || drop_tables() > 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(faults == 0 && stopped > 0, "%u of %u loads were stopped", stopped, HISTORIES);
}

/* Any part of the base; NULL: it has none. */
static memory_file *
any_part(void)
{
	memory_file *found = NULL;
	unsigned seen = 0;

	for (unsigned i = 0; i < FILES_MAX; i++)
		if (strncmp(files[i].path, "bases/part.", strlen("bases/part.")) == 0 && !files[i].is_removed &&
			below(++seen) == 0)
			found = &files[i];
	return found;
}

static void
test_damaged(void)
{
	unsigned damaged = 0;
	unsigned named = 0;

	for (unsigned i = 0; i < HISTORIES; i++)
	{
		tg_load_report report;
		memory_file *part;

		make_base();
		part = any_part();
		if (part != NULL)
			part->now.data[below((unsigned) part->now.count)] ^= 1;
		if (load_by_pool(&report) != TG_OK)
			unit_bail("a load of a base with a damaged part has failed");
		/* a part of a table that ends in the journal is not read */
		damaged += report.damage_count;
		named += report.damage_count > 0 && strcmp(report.error.path, part->path) == 0;
		tg_load_report_free(&report);
		(void) drop_tables();
	}
	unit_ok(damaged > 0 && named == damaged, "%u damaged parts were named", damaged);
}

/* Changes of a table are counted until its damage is found, unless that is ignored. */
static bool
reports_are_same(const tg_load_report *a, const tg_load_report *b, bool ignore_damage)
{
	bool same = a->problem == b->problem && a->problem_position == b->problem_position && a->rows == b->rows &&
				a->storages == b->storages && a->damage_count == b->damage_count &&
				(a->changes == b->changes || (a->damage_count > 0 && !ignore_damage));

	for (size_t i = 0; i < a->damage_count && same; i++)
		same = a->damages[i].storage == b->damages[i].storage && a->damages[i].position == b->damages[i].position &&
			   a->damages[i].what == b->damages[i].what;
	return same;
}

/* What several tasks find wrong is what one finds, and so is what is there when that is ignored. */
static void
test_same_damage(void)
{
	unsigned different = 0;
	unsigned faults[2] = {0};

	for (unsigned i = 0; i < UNIT_ROUNDS(60); i++)
	{
		bool ignore_damage = i % 3 != 0;
		tg_load_report alone;
		tg_load_report by_pool;
		tg_status status;

		make_history(500 + below(1000));
		for (unsigned j = 1 + below(4); j > 0 && frame_count > 0; j--)
			damage_record(&frames[frame_count - 1 - below(frame_count / 2 + 1)].record);
		write_journal();
		status = load(ignore_damage, &alone);
		(void) drop_tables();
		start_pool();
		different += load(ignore_damage, &by_pool) != status ||
					 (status == TG_OK ? !reports_are_same(&alone, &by_pool, ignore_damage) : by_pool.problem == NULL);
		stop_pool();
		faults[0] += alone.problem != NULL;
		faults[1] += alone.damage_count > 0;
		tg_load_report_free(&alone);
		tg_load_report_free(&by_pool);
		(void) drop_tables();
	}
	unit_ok(different == 0 && faults[0] > 0 && faults[1] > 0,
			"a pool finds damage of %u journals and of tables of %u as one thread does", faults[0], faults[1]);
}

/* --- keys that ascend ------------------------------------------------------------------------- */

#define KEYS_MAX 300

static const tg_key_spec word_key = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};

/* A table with these keys, in the order of its rows, whose ids have gaps; the tree is empty. */
static tg_table *
make_rows(const uint64_t *keys, unsigned count, uint32_t *rows)
{
	const uint8_t kind = TG_KIND_8;
	uint32_t row = below(20);
	tg_table *table;
	tg_fill fill;

	if (tg_table_create(session, 1, 1, &kind, 1, &word_key, TG_DATA, &table) != TG_OK)
		unit_bail("no table");
	for (unsigned i = 0; i < count; i++, row += 1 + (below(10) == 0 ? below(20) : 0))
		rows[i] = row;
	if (tg_row_place(session, table, rows[count - 1], TG_ESSENTIAL) != TG_OK)
		unit_bail("no rows");
	tg_fill_begin(&fill, session, table);
	tg_epoch_enter(session);
	for (unsigned done = 0; done < count;)
	{
		tg_fill_room room;

		if (tg_fill_room_get(&fill, count - done, &room) != TG_OK)
			unit_bail("no room");
		tg_fill_words(&room, 0, keys + done);
		tg_fill_add(&fill, &room, rows + done);
		done += room.count;
	}
	tg_epoch_leave(session);
	tg_fill_end(&fill);
	return table;
}

/* Whether the tree has these keys, with their rows, and no others. */
static bool
tree_has(tg_table *table, const uint64_t *keys, const uint32_t *rows, unsigned count)
{
	tg_btree_report report;
	bool right = true;

	tg_epoch_enter(session);
	for (unsigned i = 0; i < count; i++)
	{
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t bytes = tg_key_append(key, 0, &word_key.part[0], TG_KIND_8, &(tg_value){.word = keys[i]});
		uint32_t found;

		right &= tg_btree_find(table->index, key, bytes, &found) == TG_OK && found == rows[i];
	}
	tg_btree_report_get(table->index, &report);
	tg_epoch_leave(session);
	return right && report.entries == count;
}

static void
test_ascending(void)
{
	const tg_load_config config = {.go_on = go_on};
	unsigned faults = 0;
	unsigned refused = 0;

	for (unsigned i = 0; i < UNIT_ROUNDS(100); i++)
	{
		unsigned count = 2 + below(KEYS_MAX - 1);
		unsigned at = below(count - 1);
		uint64_t keys[KEYS_MAX];
		uint32_t rows[KEYS_MAX];
		tg_table *table;
		tg_status status;

		for (unsigned j = 0; j < count; j++)
			keys[j] = 1000 * j + below(1000);
		if (i % 2 == 1)
			keys[at + 1] = keys[at] - (below(2) == 0 ? 0 : 1);
		table = make_rows(keys, count, rows);
		status = tg_load_ascending(session, table, &config);
		faults += i % 2 == 0 ? status != TG_OK || !tree_has(table, keys, rows, count)
							 : status != TG_EXISTS || !tree_has(table, keys, rows, 0);
		refused += status == TG_EXISTS;
		tg_table_release(session, table);
	}
	unit_ok(faults == 0, "100 trees of keys that ascend, but for one in %u of them", refused);
}

int
main(void)
{
	size_t used;

	start_load_unit();
	tg_base_part_rows = 7;
	tg_load_piece_rows = 7;
	tg_base_block_bytes = 200;
	start_pool();
	used = used_bytes();
	test_bases();
	test_cancelled();
	test_stopped();
	test_damaged();
	test_ascending();
	unit_equal(used_bytes(), used, "nothing is left of the tables");
	stop_pool();
	test_same_damage();
	unit_equal(used_bytes(), used, "nor of damaged ones");
	return unit_done();
}

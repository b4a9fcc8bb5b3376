/*
 * loader_csv.c
 *	  Loads of a file in CSV, and of one in NDJSON, by the pool, cut into blocks of any size: its
 *	  odd records are converted or rejected by the requester, records with keys that are there are
 *	  left out; and loads that are cancelled at any moment while the requester has such records.
 */
#include "runtime/runtime.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/random.h"
#include "test/unit/unit.h"

#define WORKERS 3
#define HOST 77
#define RECORDS 3000
#define RECORD_BYTES 40
#define LONG_BYTES 30 /* outside of the value */
#define CANCELS 60

static tg_session *session;
static char directory[] = "/tmp/loader_csv_XXXXXX";
static char name[64];
static unsigned char contents[RECORDS * RECORD_BYTES];
static size_t content_bytes;
static tg_csv_block blocks[RECORDS];

static const uint8_t kinds[] = {TG_KIND_8, TG_KIND_STRING};
static const tg_key_spec key_spec = {.part_count = 1, .part = {{.column = 0, .code = TG_KEY_SIGNED}}};
static const tg_cell cells[] = {{.source = 0,
								 .column = 0,
								 .form = TG_CELL_WORD,
								 .multiply = 1,
								 .divide = 1,
								 .low = INT64_MIN,
								 .high = INT64_MAX,
								 .not_null = true},
								{.source = 1, .column = 1, .form = TG_CELL_TEXT, .bytes_max = 1000}};
static const tg_csv_column columns[] = {{.type = TG_FILE_INT, .bits = 64}, {.type = TG_FILE_STRING}};
static const char *const names[] = {"k", "t"};
static bool is_json;
static tg_table *table;

static void
wake(void *waiter)
{
}

/* --- the file --------------------------------------------------------------------------------- */

/*
 * Record i has the key i.  Every 7th is odd and becomes a row, every 11th is odd and does not,
 * every 13th has the key 0, and every 17th has a newline in its text.  What is odd begins with a
 * byte that no record has.
 */
static bool
is_rejected(unsigned i)
{
	return i % 11 == 5;
}

static bool
is_twice(unsigned i)
{
	return !is_rejected(i) && i % 7 != 3 && i % 13 == 0;
}

static void
make_file(void)
{
	int descriptor = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	content_bytes = 0;
	for (unsigned i = 0; i < RECORDS; i++)
	{
		const char *first = is_rejected(i) ? "!" : i % 7 == 3 ? is_json ? "?" : " " : "";
		const char *form = is_json ? "%s{\"k\":%u,\"t\":\"%s%u\"}\n" : "%s%u,%s%u\n";
		const char *text = i % 17 > 0 ? "text of " : is_json ? "a\\nb" : "\"a\nb\"";

		content_bytes += (size_t) snprintf((char *) contents + content_bytes, RECORD_BYTES, form, first,
										   is_twice(i) ? 0 : i, text, i);
	}
	tg_check(write(descriptor, contents, content_bytes) == (ssize_t) content_bytes);
	close(descriptor);
}

/* Blocks of at least so many bytes. */
static uint32_t
cut_json(uint64_t bytes)
{
	uint64_t lines = 0;
	uint32_t count = 0;

	for (size_t at = 0; at < content_bytes; count++)
	{
		size_t begin = at;

		blocks[count] = (tg_csv_block){.offset = at, .rows = lines, .lines = lines};
		for (; at < content_bytes && at < begin + bytes; lines++)
			at = (size_t) ((unsigned char *) memchr(contents + at, '\n', content_bytes - at) - contents) + 1;
		blocks[count].bytes = (uint32_t) (at - begin);
	}
	tg_check(lines == RECORDS);
	return count;
}

static uint32_t
cut_csv(uint64_t bytes)
{
	tg_csv_cutter cutter = {.dialect = {.delimiter = ',', .quote = '"', .escape = '"'}};
	uint32_t count = 0;

	while (cutter.position < content_bytes)
	{
		tg_csv_block *block = &blocks[count++];

		*block = (tg_csv_block){.offset = cutter.position, .rows = cutter.rows, .lines = cutter.lines};
		(void) tg_csv_cut(&cutter, contents + cutter.position, content_bytes - cutter.position, true,
						  cutter.position + bytes);
		block->bytes = (uint32_t) (cutter.position - block->offset);
	}
	tg_check(cutter.rows == RECORDS);
	return count;
}

/* --- a load ----------------------------------------------------------------------------------- */

static tg_loader *
make_load(unsigned block_bytes, unsigned seats)
{
	struct stat status;
	const tg_loader_csv csv = {
		.names = is_json ? names : NULL,
		.format = {.dialect = {.delimiter = ',', .quote = '"', .escape = '"', .end = TG_CSV_END_NL},
				   .null_text = "",
				   .columns = columns,
				   .column_count = 2},
		.blocks = blocks};
	const tg_loader_config config = {.table = table,
									 .kinds = kinds,
									 .column_count = 2,
									 .file_count = 1,
									 .files_at_once = 1,
									 .blocks_at_once = seats,
									 .memory_max = 64 << 20,
									 .host = HOST,
									 .has_csv = true,
									 .skips = true};
	tg_loader_file file = {.name = name, .cells = cells, .cell_count = 2, .csv = &csv};
	tg_loader *loader;

	tg_check(stat(name, &status) == 0);
	file.bytes = (uint64_t) status.st_size;
	file.device = (uint64_t) status.st_dev;
	file.inode = (uint64_t) status.st_ino;
	file.changed_ns = status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec;
	file.block_count = is_json ? cut_json(block_bytes) : cut_csv(block_bytes);
	tg_check(tg_loader_create(session, &config, &loader) == TG_OK);
	tg_check(tg_loader_add(session, loader, &file) == TG_OK);
	tg_check(tg_loader_start(session, loader) == TG_OK);
	return loader;
}

/* The requester's: an odd record becomes a row, with a long text, unless it is rejected. */
static unsigned
convert_rows(tg_loader *loader, const tg_loader_need *need)
{
	size_t each = 2 * (sizeof(tg_value) + sizeof(bool)) + LONG_BYTES + 2;
	unsigned char *room = tg_loader_room(session, loader, need, need->row_count * each);
	unsigned rejected = 0;

	tg_check(room != NULL);
	for (unsigned i = 0; i < need->row_count; i++)
	{
		tg_loader_row *row = &need->rows[i];
		unsigned char *text = room + need->row_count * 2 * (sizeof(tg_value) + sizeof(bool)) + i * (LONG_BYTES + 2);
		uint32_t header = LONG_BYTES << 2;

		row->values = (tg_value *) room + (size_t) 2 * i;
		row->nulls = (bool *) ((tg_value *) room + (size_t) 2 * need->row_count) + (size_t) 2 * i;
		row->is_rejected = contents[row->offset] == '!';
		rejected += row->is_rejected;
		row->values[0].word =
			(uint64_t) strtoull((char *) contents + row->offset + (is_json ? strlen("?{'k':") : 1), NULL, 10);
		memset(text, 'x', LONG_BYTES);
		memcpy(text, &header, sizeof(header));
		tg_string_make_host(&row->values[1].string, text, LONG_BYTES, sizeof(header));
		row->nulls[0] = row->nulls[1] = false;
	}
	return rejected;
}

typedef struct seen
{
	unsigned rejected;
	unsigned left_out;
} seen;

static tg_loader_report
finish_load(tg_loader *loader, int needs_until_cancel, seen *seen_out)
{
	tg_loader_report report;

	*seen_out = (seen){.rejected = 0};
	while (tg_loader_poll(loader) == TG_BUSY)
	{
		tg_loader_need need;

		if (!tg_loader_needs(loader, &need))
		{
			sched_yield();
			continue;
		}
		if (needs_until_cancel-- == 0)
			tg_loader_cancel(session, loader);
		tg_check(need.rows != NULL && need.row_count > 0);
		if (need.rows[0].failure == TG_LOADER_ODD)
			seen_out->rejected += convert_rows(loader, &need);
		else
			seen_out->left_out += need.row_count;
		tg_loader_go_on(session, loader, &need);
	}
	tg_loader_report_get(loader, &report);
	tg_loader_end(session, loader);
	return report;
}

static void
make_table(void)
{
	tg_check(tg_table_create(session, 1, 2, kinds, 2, &key_spec, TG_DATA, &table) == TG_OK);
	table->unlogged = true;
}

static void
drop_table(void)
{
	tg_leases_forget(table);
	tg_table_release(session, table);
}

static void
test_blocks(void)
{
	static const unsigned sizes[] = {1, 2, 40, 700, 5000, 1 << 30};
	unsigned rejected = 0;
	unsigned twice = 0;

	for (unsigned i = 0; i < RECORDS; i++)
	{
		rejected += is_rejected(i);
		twice += is_twice(i);
	}
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		tg_loader_report report;
		seen seen;

		make_table();
		report = finish_load(make_load(sizes[i], i % 3 + 1), -1, &seen);
		unit_ok(report.failure == TG_LOADER_WELL && seen.rejected == rejected && seen.left_out == twice - 1 &&
					report.rows == RECORDS - rejected - twice + 1 &&
					report.rows == (uint64_t) tg_load_relaxed(&table->row_count),
				"%s, blocks of %u bytes: %llu rows, %u rejected, %u left out", is_json ? "NDJSON" : "CSV", sizes[i],
				(unsigned long long) report.rows, seen.rejected, seen.left_out);
		drop_table();
	}
}

static void
test_cancels(void)
{
	bool well = true;

	for (int i = 0; i < CANCELS; i++)
	{
		tg_loader_report report;
		seen seen;

		make_table();
		report = finish_load(make_load(i % 2 == 0 ? 60 : 3000, 3), i % 2 == 0 ? i * 10 : i / 10, &seen);
		well = well && report.rows == (uint64_t) tg_load_relaxed(&table->row_count) &&
			   (report.failure == TG_LOADER_CANCELLED || report.failure == TG_LOADER_WELL);
		drop_table();
	}
	unit_ok(well, "loads that are cancelled when the requester has rows: what is committed is in the table");
}

int
main(void)
{
	tg_check(mkdtemp(directory) != NULL);
	snprintf(name, sizeof(name), "%s/a.csv", directory);
	tg_check(tg_runtime_open(WORKERS, &session) == TG_OK);
	tg_host_wake = wake;
	for (int round = 0; round < 2; round++)
	{
		is_json = round == 1;
		make_file();
		test_blocks();
		test_cancels();
	}
	tg_check(tg_runtime_close(session));
	unlink(name);
	rmdir(directory);
	return unit_done();
}

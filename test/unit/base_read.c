/*
 * base_read.c
 *	  Any byte of a base's files is damaged: that is told, with the file, and nothing else happens.
 *	  Files that no base names are removed, and no others.
 */
#include "runtime/durable/base_internal.h"

#include "test/unit/base_unit.h"

/* --- damage ----------------------------------------------------------------------------------- */

/* Reads everything, and applies nothing. */
static tg_status
read_base(uint64_t number)
{
	tg_base_reader *reader;
	tg_status status = tg_base_open(DIRECTORY, SYSTEM, number, &reader, &error);

	if (status != TG_OK)
		return status;
	for (size_t i = 0; i < tg_base_facts_get(reader)->file_count && status == TG_OK; i++)
	{
		tg_base_stream *stream;
		const void *data;
		size_t count;

		status = tg_base_stream_open(reader, i, &stream, &error);
		if (status != TG_OK)
			break;
		do
			status = tg_base_stream_next(stream, &data, &count, &error);
		while (status == TG_OK);
		status = status == TG_NOT_FOUND ? TG_OK : status;
		tg_base_stream_close(stream);
	}
	tg_base_close(reader);
	return status;
}

/* Any one of the files that there are. */
static memory_file *
any_file(void)
{
	for (;;)
	{
		memory_file *file = &files[dice(FILES_MAX)];

		if (file->path[0] != '\0' && !file->is_removed)
			return file;
	}
}

static void
damage_file(contents *contents)
{
	size_t at = (size_t) unit_random(&state) % contents->count;

	switch (dice(3))
	{
		case 0:
			contents->data[at] ^= (unsigned char) (1 << dice(8));
			break;
		case 1:
			contents->data[at] = (unsigned char) (contents->data[at] + 1 + dice(255));
			break;
		default:
			contents->count = at;
			break;
	}
}

static void
test_damage(void)
{
	unsigned found = 0;
	unsigned named = 0;
	unsigned times = 400 * EFFORT;

	if (tg_base_forget(DIRECTORY, SYSTEM, &finished, 1, &error) != TG_OK)
		unit_bail("files were not removed");
	for (unsigned i = 0; i < times; i++)
	{
		memory_file *file = any_file();
		contents before = {0};

		copy_contents(&before, &file->now);
		damage_file(&file->now);
		found += read_base(finished) == TG_DAMAGED;
		named += strcmp(error.path, file->path) == 0 && error.error == 0 && error.offset <= before.count;
		copy_contents(&file->now, &before);
		free(before.data);
	}
	unit_equal(found, times, "each damaged file is noticed");
	unit_equal(named, times, "and named");
	unit_ok(read_base(finished) == TG_OK, "the whole ones are read");
}

/* Two blocks of the same length in each other's place. */
static bool
exchange_blocks(contents *contents)
{
	size_t at = sizeof(tg_part_header);

	while (at < contents->count)
	{
		tg_block_header headers[2];
		unsigned char *first = contents->data + at;
		unsigned char *second;

		memcpy(&headers[0], first, sizeof(headers[0]));
		at += sizeof(headers[0]) + headers[0].bytes;
		if (at >= contents->count)
			return false;
		second = contents->data + at;
		memcpy(&headers[1], second, sizeof(headers[1]));
		if (headers[0].bytes != headers[1].bytes)
			continue;
		for (size_t i = 0; i < sizeof(headers[0]) + headers[0].bytes; i++)
		{
			unsigned char byte = first[i];

			first[i] = second[i];
			second[i] = byte;
		}
		return true;
	}
	return false;
}

static void
test_other_files(void)
{
	contents before = {0};
	bool is_done = false;
	char path[TG_PATH_MAX];
	tg_base_reader *reader;
	tg_status status;
	memory_file *file;
	uint64_t other;

	for (unsigned i = 0; i < FILES_MAX && !is_done; i++)
	{
		if (strncmp(files[i].path, DIRECTORY "/part.", 7) != 0 || files[i].is_removed)
			continue;
		is_done = exchange_blocks(&files[i].now);
		if (is_done)
		{
			status = read_base(finished);
			unit_ok(status == TG_DAMAGED && strcmp(error.path, files[i].path) == 0,
					"blocks in another order are noticed: %s", error.what);
			(void) exchange_blocks(&files[i].now);
		}
	}
	unit_ok(is_done && read_base(finished) == TG_OK, "and those in their order are read");

	other = finished;
	unit_ok(read_base(write_base(0, UINT64_MAX)) == TG_OK, "another base of the same contents");
	snprintf(path, sizeof(path), DIRECTORY "/part.%" PRIx64 ".0.%" PRIx64, idle_id[0], finished);
	file = find_file(path);
	copy_contents(&before, &file->now);
	snprintf(path, sizeof(path), DIRECTORY "/part.%" PRIx64 ".0.%" PRIx64, idle_id[0], files_of(other, idle_id[0]));
	copy_contents(&file->now, &find_file(path)->now);
	status = read_base(finished);
	unit_ok(status == TG_DAMAGED && error.offset == 0, "a part of another base is noticed: %s", error.what);
	copy_contents(&file->now, &before);
	free(before.data);
	tg_manifest_path(DIRECTORY, other, path);
	file = find_file(path);
	tg_manifest_path(DIRECTORY, finished, path);
	copy_contents(&find_file(path)->now, &file->now);
	status = read_base(finished);
	unit_ok(status == TG_DAMAGED, "a manifest under another one's name: %s", error.what);
	status = tg_base_open(DIRECTORY, SYSTEM + 1, other, &reader, &error);
	unit_ok(status == TG_DAMAGED, "another server's: %s", error.what);
	unit_ok(tg_base_open(DIRECTORY, SYSTEM, 999, &reader, &error) == TG_NOT_FOUND, "none at all");

	write_base(finished, UINT64_MAX);
	unit_ok(error.what != NULL && files_of(finished, idle_id[0]) == finished,
			"without a former base that can be read, all is written anew");
}

static unsigned
count_files(void)
{
	unsigned count = 0;

	for (unsigned i = 0; i < FILES_MAX; i++)
		count += files[i].path[0] != '\0' && !files[i].is_removed;
	return count;
}

static void
test_forget(void)
{
	uint64_t kept[2];
	unsigned expected = 1; /* the foreign one */
	int file;

	kept[0] = write_base(finished, UINT64_MAX);
	write_idle(0, 1);
	kept[1] = write_base(finished, UINT64_MAX);
	if (memory_open(DIRECTORY "/part.0a.0.1", true, &file) != 0)
		unit_bail("no file");
	unit_ok(tg_base_forget(DIRECTORY, SYSTEM, (uint64_t[]){kept[1], 999}, 2, &error) == TG_NOT_FOUND &&
				read_base(kept[0]) == TG_OK,
			"nothing is removed when a base that is to be kept cannot be read");
	if (tg_base_forget(DIRECTORY, SYSTEM, kept, 2, &error) != TG_OK)
		unit_bail("files were not removed");
	unit_ok(read_base(kept[0]) == TG_OK && read_base(kept[1]) == TG_OK, "two bases are kept");
	unit_ok(find_file(DIRECTORY "/part.0a.0.1") != NULL, "so is a file with a name that is not a base's");
	expected += count_files() - 1;
	if (tg_base_forget(DIRECTORY, SYSTEM, &kept[1], 1, &error) != TG_OK)
		unit_bail("files were not removed");
	unit_ok(read_base(kept[1]) == TG_OK && count_files() < expected, "then one");
	unit_ok(tg_base_forget(DIRECTORY, SYSTEM, NULL, 0, &error) == TG_OK && count_files() == 1, "then none");
}

int
main(void)
{
	start_bases();
	write_some(50, NULL);
	(void) write_base(0, UINT64_MAX);
	test_damage();
	test_other_files();
	test_forget();
	return end_bases();
}

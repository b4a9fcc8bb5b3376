/*
 * journal_names.c
 *	  The journal's files by their names, which are positions in hexadecimal digits.
 *
 * The directory is listed for each question; other files in it are passed over.
 */
#include "runtime/durable/journal_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/durable/journal.h"

void
tg_journal_path(const char *directory, uint64_t name, char path[TG_PATH_MAX])
{
	snprintf(path, TG_PATH_MAX, "%s/%016" PRIX64, directory, name);
}

/* --- names ------------------------------------------------------------------------------- */

typedef struct search
{
	uint64_t low; /* names looked for: from here */
	uint64_t high;
	bool last; /* the highest of them, else the lowest */
	uint64_t found;
} search;

static bool
parse_name(const char *name, uint64_t *position_out)
{
	char again[TG_JOURNAL_NAME_DIGITS + 1];
	char *end;

	*position_out = strtoull(name, &end, 16);
	snprintf(again, sizeof(again), "%016" PRIX64, *position_out);
	return strcmp(name, again) == 0;
}

static void
consider(void *context, const char *name)
{
	search *search = context;
	uint64_t position;

	if (!parse_name(name, &position) || position < search->low || position > search->high)
		return;
	if (search->found == TG_JOURNAL_NO_NAME || (search->last ? position > search->found : position < search->found))
		search->found = position;
}

tg_status
tg_journal_find_name(const char *directory, uint64_t low, uint64_t high, bool last, uint64_t *name_out,
					 tg_file_error *error_out)
{
	search search = {.low = low, .high = high, .last = last, .found = TG_JOURNAL_NO_NAME};
	int error = tg_files->list(directory, consider, &search);

	*name_out = search.found;
	return error != 0 ? tg_file_fail(error_out, error, "list", directory, 0) : TG_OK;
}

tg_status
tg_journal_find_position(const char *directory, uint64_t position, uint64_t *name_out, tg_file_error *error_out)
{
	tg_status status = tg_journal_find_name(directory, 0, position, true, name_out, error_out);

	if (status == TG_OK && *name_out == TG_JOURNAL_NO_NAME)
		status = tg_journal_find_name(directory, 0, TG_JOURNAL_NO_NAME - 1, false, name_out, error_out);
	return status == TG_OK && *name_out == TG_JOURNAL_NO_NAME ? TG_NOT_FOUND : status;
}

tg_status
tg_journal_remove_files(const char *directory, uint64_t low, uint64_t high, tg_file_error *error_out)
{
	for (;;)
	{
		char path[TG_PATH_MAX];
		uint64_t name;
		tg_status status = tg_journal_find_name(directory, low, high, true, &name, error_out);
		int error;

		if (status != TG_OK || name == TG_JOURNAL_NO_NAME)
			return status;
		tg_journal_path(directory, name, path);
		error = tg_files->remove(path);
		if (error != 0)
			return tg_file_fail(error_out, error, "remove", path, 0);
	}
}

/* --- sizes ------------------------------------------------------------------------------------ */

typedef struct measure
{
	const char *directory;
	uint64_t from; /* the lowest name that counts */
	uint64_t bytes;
} measure;

static void
add_file(void *context, const char *name)
{
	measure *measure = context;
	char path[TG_PATH_MAX];
	uint64_t position;
	uint64_t bytes;
	int file;

	if (!parse_name(name, &position) || position < measure->from)
		return;
	tg_journal_path(measure->directory, position, path);
	if (tg_files->open(path, false, &file) != 0)
		return;
	if (tg_files->size(file, &bytes) == 0)
		measure->bytes += bytes;
	(void) tg_files->close(file);
}

uint64_t
tg_journal_bytes(const char *directory, uint64_t position)
{
	measure measure = {.directory = directory};
	tg_file_error ignored;

	if (tg_journal_find_name(directory, 0, position, true, &measure.from, &ignored) != TG_OK)
		return 0;
	if (measure.from == TG_JOURNAL_NO_NAME)
		measure.from = 0;
	(void) tg_files->list(directory, add_file, &measure);
	return measure.bytes;
}

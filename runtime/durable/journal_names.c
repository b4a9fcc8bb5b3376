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

/* --- errors ----------------------------------------------------------------------------- */

tg_status
tg_journal_fault(tg_file_error *error_out, int error, const char *what, const char *path, uint64_t offset)
{
	error_out->error = error;
	error_out->what = what;
	error_out->offset = offset;
	snprintf(error_out->path, sizeof(error_out->path), "%s", path);
	return error == 0 ? TG_DAMAGED : TG_IO;
}

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
	return error != 0 ? tg_journal_fault(error_out, error, "list", directory, 0) : TG_OK;
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
			return tg_journal_fault(error_out, error, "remove", path, 0);
	}
}

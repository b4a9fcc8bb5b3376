/*
 * base_forget.c
 *	  Removes files that no base names any more.
 *
 * Names are compared with those that the kept manifests give: sorted, so that a directory of many
 * files is gone through once.  A name that is not one of a base's files is left alone.
 */
#include "runtime/durable/base_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct names
{
	char (*name)[TG_BASE_NAME_MAX];
	size_t count;
	size_t capacity;
	bool lacks_memory;
} names;

static void
add_name(names *names, const char *name)
{
	if (names->count == names->capacity && !names->lacks_memory)
	{
		size_t capacity = names->capacity == 0 ? 256 : 2 * names->capacity;
		void *more = realloc(names->name, capacity * sizeof(*names->name));

		if (more == NULL)
			names->lacks_memory = true;
		else
		{
			names->name = more;
			names->capacity = capacity;
		}
	}
	if (!names->lacks_memory)
		snprintf(names->name[names->count++], TG_BASE_NAME_MAX, "%s", name);
}

static int
compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

/* The names of the files of the kept bases, sorted. */
static tg_status
kept_names(const char *directory, uint64_t system, const uint64_t *kept, size_t kept_count, names *names,
		   tg_file_error *error_out)
{
	for (size_t i = 0; i < kept_count; i++)
	{
		tg_manifest manifest = {0};
		tg_status status = tg_manifest_read(directory, system, kept[i], &manifest, error_out);
		char name[TG_BASE_NAME_MAX];

		if (status != TG_OK)
			return status;
		tg_manifest_name(kept[i], name);
		add_name(names, name);
		for (size_t j = 0; j < manifest.facts.file_count; j++)
		{
			tg_base_file_name(&manifest.files[j], name);
			add_name(names, name);
		}
		tg_manifest_free(&manifest);
	}
	if (names->lacks_memory)
		return TG_NO_MEMORY;
	if (names->count > 0)
		qsort(names->name, names->count, sizeof(*names->name), compare_names);
	return TG_OK;
}

/* tg_file_visitor: notes names of bases' files. */
static void
visit(void *context, const char *name)
{
	if (tg_base_is_name(name))
		add_name(context, name);
}

static tg_status
remove_others(const char *directory, const names *kept, const names *found, tg_file_error *error_out)
{
	for (size_t i = 0; i < found->count; i++)
	{
		char path[TG_PATH_MAX];
		int error;

		if (kept->count > 0 &&
			bsearch(found->name[i], kept->name, kept->count, sizeof(*kept->name), compare_names) != NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, found->name[i]);
		error = tg_files->remove(path);
		if (error != 0 && error != ENOENT)
			return tg_file_fail(error_out, error, "remove", path, 0);
	}
	return TG_OK;
}

tg_status
tg_base_forget(const char *directory, uint64_t system, const uint64_t *kept, size_t kept_count,
			   tg_file_error *error_out)
{
	names kept_ones = {0};
	names found = {0};
	tg_status status = kept_names(directory, system, kept, kept_count, &kept_ones, error_out);

	if (status == TG_OK)
	{
		int error = tg_files->list(directory, visit, &found);

		if (error != 0)
			status = tg_file_fail(error_out, error, "list", directory, 0);
		else if (found.lacks_memory)
			status = TG_NO_MEMORY;
	}
	if (status == TG_OK)
		status = remove_others(directory, &kept_ones, &found, error_out);
	free(kept_ones.name);
	free(found.name);
	return status;
}

/*
 * state.c
 *	  The file is written under another name, synced, and renamed.
 *
 * 1. The new file is synced before it has the name, and the directory after: so the name means a
 *	  whole file at any time.
 * 2. A sync that has failed says nothing of the next one on the same file (journal.c, 3).  So each
 *	  attempt writes a file that did not exist before; and the caller is told, because it may want
 *	  no further attempt.
 */
#include "runtime/durable/state.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "runtime/base/failpoint.h"
#include "runtime/durable/crc32c.h"

#define MAGIC UINT64_C(0x0001657461747374) /* "tstate", format 1 */

typedef struct contents
{
	uint64_t magic;
	uint64_t system;
	uint64_t base;
	uint64_t durable;
	uint64_t file;
	uint64_t offset;
	uint32_t clean;
	uint32_t crc;
} contents;

_Static_assert(sizeof(contents) == 56, "no padding is written");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");

static tg_status
make_path(const char *directory, const char *name, char path[TG_PATH_MAX])
{
	return snprintf(path, TG_PATH_MAX, "%s/%s", directory, name) < TG_PATH_MAX ? TG_OK : TG_TOO_LARGE;
}

/* --- reading ------------------------------------------------------------------------------ */

static const char *
fault_of(const contents *contents, size_t count, uint64_t system)
{
	if (count >= sizeof(contents->magic) && contents->magic != MAGIC)
		return "the file is no state of this format";
	if (count != sizeof(*contents) || tg_crc32c(0, contents, offsetof(struct contents, crc)) != contents->crc)
		return "the file is damaged";
	return contents->system != system ? "the file is another server's" : NULL;
}

static tg_status
read_contents(int file, const char *path, uint64_t system, contents *contents, tg_file_error *error_out)
{
	size_t count = sizeof(*contents);
	int error = tg_files->read(file, 0, contents, &count);
	const char *fault;

	if (error != 0)
		return tg_file_fail(error_out, error, "read", path, 0);
	fault = fault_of(contents, count, system);
	return fault != NULL ? tg_file_fail(error_out, 0, fault, path, 0) : TG_OK;
}

tg_status
tg_state_read(const char *directory, uint64_t system, tg_state *state_out, tg_file_error *error_out)
{
	contents contents = {0};
	char path[TG_PATH_MAX];
	tg_status status = make_path(directory, "state", path);
	int file;
	int error;

	if (status != TG_OK)
		return status;
	error = tg_files->open(path, false, &file);
	if (error != 0)
		return error == ENOENT ? TG_NOT_FOUND : tg_file_fail(error_out, error, "open", path, 0);
	status = read_contents(file, path, system, &contents, error_out);
	(void) tg_files->close(file);
	if (status != TG_OK)
		return status;
	*state_out = (tg_state){.base = contents.base,
							.durable = contents.durable,
							.place = {.file = contents.file, .offset = contents.offset},
							.clean = contents.clean != 0};
	return TG_OK;
}

/* --- writing ------------------------------------------------------------------------------ */

static tg_status
sync_file(int file, const char *path, tg_file_error *error_out)
{
	int error = tg_failpoint_refuses("state_sync") ? EIO : tg_files->sync(file);

	return error != 0 ? tg_file_fail_sync(error_out, error, path) : TG_OK;
}

/* 2. */
static tg_status
write_file(const char *path, const contents *contents, tg_file_error *error_out)
{
	tg_status status;
	int file;
	int error = tg_files->remove(path);

	if (error != 0 && error != ENOENT)
		return tg_file_fail(error_out, error, "remove", path, 0);
	error = tg_files->open(path, true, &file);
	if (error != 0)
		return tg_file_fail(error_out, error, "create", path, 0);
	error = tg_failpoint_refuses("state_write") ? ENOSPC : tg_files->write(file, 0, contents, sizeof(*contents));
	if (error != 0)
		status = tg_file_fail(error_out, error, "write", path, 0);
	else
		status = sync_file(file, path, error_out);
	(void) tg_files->close(file);
	return status;
}

/* 1. */
tg_status
tg_state_write(const char *directory, uint64_t system, const tg_state *state, tg_file_error *error_out)
{
	contents contents = {.magic = MAGIC,
						 .system = system,
						 .base = state->base,
						 .durable = state->durable,
						 .file = state->place.file,
						 .offset = state->place.offset,
						 .clean = state->clean ? 1 : 0};
	char path[TG_PATH_MAX];
	char new_path[TG_PATH_MAX];
	tg_status status = make_path(directory, "state", path);
	int error;

	if (status == TG_OK)
		status = make_path(directory, "state.new", new_path);
	if (status != TG_OK)
		return status;
	contents.crc = tg_crc32c(0, &contents, offsetof(struct contents, crc));
	status = write_file(new_path, &contents, error_out);
	if (status != TG_OK)
		return status;
	tg_failpoint("state_written");
	error = tg_files->rename(new_path, path);
	if (error != 0)
		return tg_file_fail(error_out, error, "rename", new_path, 0);
	tg_failpoint("state_renamed");
	error = tg_files->sync_directory(directory);
	return error != 0 ? tg_file_fail_sync(error_out, error, directory) : TG_OK;
}

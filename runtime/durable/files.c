/*
 * files.c
 *	  The calls as POSIX has them; and errors of any calls.
 */
#include "runtime/durable/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MODE 0640 /* less the process's mask, which a host sets as for its own files */

static int
open_file(const char *path, bool create, int *file_out)
{
	int file = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), FILE_MODE);

	*file_out = file;
	return file < 0 ? errno : 0;
}

static int
close_file(int file)
{
	return close(file) != 0 ? errno : 0;
}

static int
file_size(int file, uint64_t *bytes_out)
{
	struct stat status;

	if (fstat(file, &status) != 0)
		return errno;
	*bytes_out = (uint64_t) status.st_size;
	return 0;
}

static int
read_file(int file, uint64_t offset, void *data, size_t *count_inout)
{
	size_t done = 0;

	while (done < *count_inout)
	{
		ssize_t count = pread(file, (char *) data + done, *count_inout - done, (off_t) (offset + done));

		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return errno;
		if (count == 0)
			break;
		done += (size_t) count;
	}
	*count_inout = done;
	return 0;
}

static int
write_file(int file, uint64_t offset, const void *data, size_t count)
{
	for (size_t done = 0; done < count;)
	{
		ssize_t written = pwrite(file, (const char *) data + done, count - done, (off_t) (offset + done));

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? errno : ENOSPC; /* as PostgreSQL takes a write of nothing */
		done += (size_t) written;
	}
	return 0;
}

static int
cut_file(int file, uint64_t bytes)
{
	return ftruncate(file, (off_t) bytes) != 0 ? errno : 0;
}

static int
sync_file(int file)
{
	return fsync(file) != 0 ? errno : 0;
}

static int
remove_file(const char *path)
{
	return unlink(path) != 0 ? errno : 0;
}

static int
rename_file(const char *from, const char *to)
{
	return rename(from, to) != 0 ? errno : 0;
}

static int
sync_directory(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int error;

	if (directory < 0)
		return errno;
	error = sync_file(directory);
	(void) close(directory);
	return error;
}

static int
list_directory(const char *directory, tg_file_visitor visitor, void *context)
{
	DIR *open_directory = opendir(directory);
	struct dirent *entry;
	int error;

	if (open_directory == NULL)
		return errno;
	while (errno = 0, (entry = readdir(open_directory)) != NULL)
		if (entry->d_name[0] != '.')
			visitor(context, entry->d_name);
	error = errno;
	(void) closedir(open_directory);
	return error;
}

static const tg_file_calls posix_calls = {.open = open_file,
										  .close = close_file,
										  .size = file_size,
										  .read = read_file,
										  .write = write_file,
										  .cut = cut_file,
										  .sync = sync_file,
										  .remove = remove_file,
										  .rename = rename_file,
										  .sync_directory = sync_directory,
										  .list = list_directory};

const tg_file_calls *tg_files = &posix_calls;

/* --- errors ----------------------------------------------------------------------------------- */

tg_status
tg_file_fail(tg_file_error *error_out, int error, const char *what, const char *path, uint64_t offset)
{
	error_out->error = error;
	error_out->in_sync = false;
	error_out->what = what;
	error_out->offset = offset;
	snprintf(error_out->path, sizeof(error_out->path), "%s", path);
	return error == 0 ? TG_DAMAGED : TG_IO;
}

tg_status
tg_file_fail_sync(tg_file_error *error_out, int error, const char *path)
{
	tg_status status = tg_file_fail(error_out, error, "sync", path, 0);

	error_out->in_sync = true;
	return status;
}

void
tg_file_error_describe(const tg_file_error *error, char *text, size_t bytes)
{
	if (error->error == 0)
		snprintf(text, bytes, "%s: file \"%s\", offset %" PRIu64, error->what, error->path, error->offset);
	else
		snprintf(text, bytes, "could not %s file \"%s\": %s", error->what, error->path, strerror(error->error));
}

/*
 * spill.c
 *	  Temporary files of a query.
 *
 * All files together are one row of bytes, cut into files of FILE_BYTES: the n-th file has the n-th
 * part, and lies in one of the host's directories, in turn.  Bytes are given out from the beginning
 * on and are not used again; what is at them is known to those who have reserved them.
 *
 * 1. A task may run in any process, and goes from one to another.  So nobody keeps a file open: an
 *    access opens it by its name.  That costs some microseconds for a piece of up to IO_BYTES.
 * 2. Files are made by the first write that needs them.  Two may make the same file at the same
 *    time, and then write different parts of it.
 * 3. The requester removes them when it ends the query: when the job has ended, or is cancelled and
 *    no task is in a turn (query.c, 2).  A task that runs later finds the job cancelled, and writes
 *    nothing.  If the requester's process, or a worker's, is killed, the host removes them when it
 *    starts again, by the names that it has given.
 * 4. The first fault is kept, in one word; it is read when the job has ended, or by the thread that
 *    has noted it.
 * 5. Rows are written as they lie in memory.  Addresses in them are of the arena, which all
 *    processes have at the same place: strings of rows that the query's snapshot sees, which stay.
 */
#include "runtime/query/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/failpoint.h"
#include "runtime/sched/job.h"

#define FILE_BYTES ((uint64_t) 1 << 30)
#define IO_BYTES ((size_t) 256 << 10) /* of one call; then the task looks whether it is cancelled */

struct tg_spill
{
	uint64_t bytes; /* atomic: that were given out */
	uint64_t fault; /* atomic: 0: none (4); else kind, errno, and the number of the file */
	tg_spill_config config;
	char *directories[TG_SPILL_DIRECTORIES_MAX];
	char name[TG_SPILL_NAME_BYTES];
};

tg_status
tg_spill_create(tg_session *session, tg_query *query, const tg_spill_config *config)
{
	tg_spill *spill = tg_query_alloc(session, query, sizeof(*spill));

	tg_assert(config->directory_count > 0 && config->directory_count <= TG_SPILL_DIRECTORIES_MAX);
	if (spill == NULL)
		return TG_NO_MEMORY;
	spill->config = *config;
	spill->config.directories = NULL;
	spill->config.name = spill->name;
	tg_assert(strlen(config->name) < sizeof(spill->name));
	strcpy(spill->name, config->name);
	for (unsigned i = 0; i < config->directory_count; i++)
	{
		spill->directories[i] = tg_query_alloc(session, query, strlen(config->directories[i]) + 1);
		if (spill->directories[i] == NULL)
			return TG_NO_MEMORY;
		strcpy(spill->directories[i], config->directories[i]);
	}
	query->spill = spill;
	query->keeps_nothing = tg_failpoint_refuses("query_rows");
	return TG_OK;
}

/* --- files ----------------------------------------------------------------------------------- */

static const char *
directory_of(const tg_spill *spill, uint64_t file)
{
	return spill->directories[file % spill->config.directory_count];
}

static bool
make_path(const tg_spill *spill, uint64_t file, char *path, size_t bytes)
{
	int length = snprintf(path, bytes, "%s/%s.%llu", directory_of(spill, file), spill->name, (unsigned long long) file);

	return length > 0 && (size_t) length < bytes;
}

/* 4 */
static tg_status
note_fault(tg_spill *spill, tg_spill_kind kind, int error, uint64_t file)
{
	uint64_t none = 0;

	(void) tg_cas_acq_rel(&spill->fault, &none,
						  (uint64_t) kind << 56 | (uint64_t) (error & 0xffff) << 32 | (uint32_t) file);
	return TG_IO;
}

/* 2 */
static int
open_file(const tg_spill *spill, uint64_t file, bool writes)
{
	int flags = (writes ? O_WRONLY | O_CREAT : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW;
	char path[TG_SPILL_PATH_BYTES];
	int descriptor;

	if (!make_path(spill, file, path, sizeof(path)))
	{
		errno = ENAMETOOLONG;
		return -1;
	}
	descriptor = open(path, flags, (mode_t) spill->config.file_mode);
	if (descriptor < 0 && writes && errno == ENOENT)
	{
		/* the first file of all; somebody else may make it at the same time */
		(void) mkdir(directory_of(spill, file), (mode_t) spill->config.directory_mode);
		descriptor = open(path, flags, (mode_t) spill->config.file_mode);
	}
	return descriptor;
}

/* One call's part; returns the bytes, or -1 with errno. */
static ssize_t
move(int descriptor, bool writes, void *data, size_t bytes, uint64_t offset)
{
	ssize_t moved;

	if (bytes > IO_BYTES)
		bytes = IO_BYTES;
	if (!writes && tg_failpoint_refuses("query_spill_read"))
	{
		errno = EIO;
		return -1;
	}
	do
	{
		errno = 0;
		moved =
			writes ? pwrite(descriptor, data, bytes, (off_t) offset) : pread(descriptor, data, bytes, (off_t) offset);
	} while (moved < 0 && errno == EINTR);
	if (moved > 0)
		return moved;
	/* neither call says why it has moved nothing */
	if (errno == 0)
		errno = writes ? ENOSPC : EIO;
	return -1;
}

static tg_status
move_in_file(tg_query *query, bool writes, uint64_t at, unsigned char *data, size_t bytes)
{
	tg_spill *spill = query->spill;
	uint64_t file = at / FILE_BYTES;
	int descriptor = open_file(spill, file, writes);
	tg_status status = TG_OK;

	if (descriptor < 0)
		return note_fault(spill, writes ? TG_SPILL_MAKE : TG_SPILL_OPEN, errno, file);
	while (bytes > 0 && status == TG_OK)
	{
		ssize_t moved = -1;

		if (query->job != NULL && tg_job_is_cancelled(query->job))
			status = TG_CANCELLED;
		else if ((moved = move(descriptor, writes, data, bytes, at % FILE_BYTES)) < 0)
			status = note_fault(spill, writes ? TG_SPILL_WRITE : TG_SPILL_READ, errno, file);
		else
		{
			at += (uint64_t) moved;
			data += moved;
			bytes -= (size_t) moved;
		}
	}
	(void) close(descriptor);
	return status;
}

static tg_status
move_all(tg_query *query, bool writes, uint64_t at, unsigned char *data, size_t bytes)
{
	tg_status status = TG_OK;

	while (bytes > 0 && status == TG_OK)
	{
		uint64_t in_file = FILE_BYTES - at % FILE_BYTES;
		size_t part = bytes < in_file ? bytes : (size_t) in_file;

		status = move_in_file(query, writes, at, data, part);
		at += part;
		data += part;
		bytes -= part;
	}
	return status;
}

tg_status
tg_spill_write(tg_query *query, uint64_t at, const void *data, size_t bytes)
{
	tg_status status = move_all(query, true, at, (unsigned char *) data, bytes);

	tg_failpoint("query_spilled");
	return status;
}

tg_status
tg_spill_read(tg_query *query, uint64_t at, void *data, size_t bytes)
{
	return move_all(query, false, at, data, bytes);
}

tg_status
tg_spill_reserve(tg_query *query, uint64_t bytes, uint64_t *at_out)
{
	tg_spill *spill = query->spill;
	uint64_t at = tg_fetch_add_relaxed(&spill->bytes, bytes);

	if (at + bytes > spill->config.bytes_max)
	{
		tg_fetch_add_relaxed(&spill->bytes, (uint64_t) 0 - bytes);
		return note_fault(spill, TG_SPILL_LIMIT, 0, 0);
	}
	tg_fetch_add_relaxed(&query->reports[query->step].spilled, bytes);
	if (query->job != NULL)
		tg_job_spilled(query->job, bytes);
	*at_out = at;
	return TG_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

tg_status
tg_spill_end(tg_spill_writer *writer)
{
	tg_status status = tg_spill_write(writer->query, writer->at, writer->bytes, writer->used);

	writer->at += writer->used;
	writer->used = 0;
	return status;
}

tg_status
tg_spill_put(tg_spill_writer *writer, const void *row, size_t bytes)
{
	if (bytes > sizeof(writer->bytes) - writer->used)
	{
		tg_status status = tg_spill_end(writer);

		if (status != TG_OK)
			return status;
		if (bytes > sizeof(writer->bytes))
		{
			status = tg_spill_write(writer->query, writer->at, row, bytes);
			writer->at += bytes;
			return status;
		}
	}
	memcpy(writer->bytes + writer->used, row, bytes);
	writer->used += bytes;
	return TG_OK;
}

/* --- the requester's side ------------------------------------------------------------------- */

static uint64_t
count_files(const tg_spill *spill)
{
	return (tg_load_relaxed(&spill->bytes) + FILE_BYTES - 1) / FILE_BYTES;
}

void
tg_spill_remove(tg_query *query)
{
	const tg_spill *spill = query->spill;
	char path[TG_SPILL_PATH_BYTES];

	for (uint64_t file = 0; file < count_files(spill); file++)
		if (make_path(spill, file, path, sizeof(path)))
			(void) unlink(path);
}

uint64_t
tg_query_spilled(const tg_query *query)
{
	return query->spill == NULL ? 0 : tg_load_relaxed(&query->spill->bytes);
}

bool
tg_query_spill_file(const tg_query *query, uint64_t *number_inout, char *path, size_t path_bytes, uint64_t *bytes_out)
{
	struct stat found;

	for (; query->spill != NULL && *number_inout < count_files(query->spill); ++*number_inout)
		if (make_path(query->spill, *number_inout, path, path_bytes) && stat(path, &found) == 0)
		{
			*bytes_out = (uint64_t) found.st_size;
			return true;
		}
	return false;
}

void
tg_query_spill_fault(const tg_query *query, tg_spill_fault *fault_out)
{
	uint64_t fault = query->spill == NULL ? 0 : tg_load_acquire(&query->spill->fault);

	*fault_out = (tg_spill_fault){.kind = (tg_spill_kind) (fault >> 56), .error = (int) (fault >> 32 & 0xffff)};
	if (fault == 0 || !make_path(query->spill, (uint32_t) fault, fault_out->path, sizeof(fault_out->path)))
		fault_out->path[0] = '\0';
}

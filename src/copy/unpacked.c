/*
 * unpacked.c
 *	  The contents of a compressed file, in a temporary one, which other processes can read at any
 *	  place.
 */
#include "postgres.h"

#include "src/copy/unpacked.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "utils/wait_event.h"

#include "src/copy/copy.h"
#include "src/copy/packed_file.h"

#define NS_PER_S INT64CONST(1000000000)

static void
fail(const tsurugi_unpacked *unpacked, const char *what)
{
	ereport(ERROR, (errcode_for_file_access(), errmsg("could not %s temporary file \"%s\": %m", what, unpacked->name)));
}

static void
append(tsurugi_unpacked *unpacked, char *data, size_t bytes)
{
	if (FileWrite(unpacked->file, data, bytes, unpacked->bytes, WAIT_EVENT_BUFFILE_WRITE) != (int) bytes)
		fail(unpacked, "write to");
	unpacked->bytes += (int64) bytes;
}

static void
identify(tsurugi_unpacked *unpacked)
{
	struct stat status;

	if (stat(unpacked->name, &status) != 0)
		fail(unpacked, "stat");
	unpacked->device = status.st_dev;
	unpacked->inode = status.st_ino;
	unpacked->changed_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
}

tsurugi_unpacked *
tsurugi_unpack(const char *name, int descriptor)
{
	tsurugi_unpacked *unpacked = palloc0(sizeof(*unpacked));
	tsurugi_packed_file *packed = tsurugi_packed_file_begin(name, descriptor);
	char *data = palloc(TSURUGI_COPY_BUFFER);
	size_t count;

	unpacked->file = OpenTemporaryFile(false);
	unpacked->name = pstrdup(FilePathName(unpacked->file));
	while ((count = tsurugi_packed_file_read(packed, data, TSURUGI_COPY_BUFFER)) > 0)
		append(unpacked, data, count);
	identify(unpacked);
	tsurugi_packed_file_end(packed);
	pfree(data);
	return unpacked;
}

int
tsurugi_unpacked_open(const tsurugi_unpacked *unpacked)
{
	int descriptor = OpenTransientFile(unpacked->name, O_RDONLY | PG_BINARY);

	if (descriptor < 0)
		fail(unpacked, "open");
	return descriptor;
}

void
tsurugi_unpacked_remove(tsurugi_unpacked *unpacked)
{
	FileClose(unpacked->file);
	pfree((char *) unpacked->name);
	pfree(unpacked);
}

/*
 * target.c
 *	  Files that COPY writes: of the server, or to the client.
 *
 * A file of the server is written under a hidden name beside its own, synced, and then renamed:
 * over one that has its name already, or never over one.  So a file under its name is whole,
 * whatever happens.  Errors have the file's own name, which is the one that the user knows.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "tcop/tcopprot.h"

#include "src/copy/client.h"
#include "src/copy/server_file.h"

struct tsurugi_target
{
	char *name;		  /* NULL: the client */
	char *hidden;	  /* the name meanwhile */
	int directory;	  /* where these are: */
	const char *leaf; /* under such names there */
	const char *hidden_leaf;
	int descriptor;
	bool replaces;
};

/* --- the client ------------------------------------------------------------------------- */

static void
begin_client(int column_count)
{
	StringInfoData message;

	if (whereToSendOutput != DestRemote)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("COPY TO STDOUT in this format needs a client")));
	pq_beginmessage(&message, 'H');
	pq_sendbyte(&message, 1); /* bytes, not lines */
	pq_sendint16(&message, column_count);
	for (int i = 0; i < column_count; i++)
		pq_sendint16(&message, 1);
	pq_endmessage(&message);
}

static void
send_client(const char *data, size_t bytes)
{
	while (bytes > 0)
	{
		size_t part = Min(bytes, TSURUGI_COPY_BUFFER);

		CHECK_FOR_INTERRUPTS();
		(void) pq_putmessage('d', data, part);
		data += part;
		bytes -= part;
	}
}

/* --- a file of the server ---------------------------------------------------------------- */

static void
fail_there(const char *name)
{
	ereport(ERROR, (errcode(ERRCODE_DUPLICATE_FILE), errmsg("file \"%s\" already exists", name)));
}

static void
sync_directory(const tsurugi_target *target)
{
	char *directory;

	if (target->directory != AT_FDCWD)
	{
		if (pg_fsync(target->directory) != 0)
			ereport(data_sync_elevel(ERROR),
					(errcode_for_file_access(), errmsg("could not fsync directory of file \"%s\": %m", target->name)));
		return;
	}
	directory = pstrdup(target->name);
	*strrchr(directory, '/') = '\0';
	fsync_fname(directory[0] != '\0' ? directory : "/", true);
	pfree(directory);
}

/* By a link, which never replaces. */
static void
take_name(const tsurugi_target *target)
{
	if (linkat(target->directory, target->hidden_leaf, target->directory, target->leaf, 0) != 0)
	{
		if (errno == EEXIST)
			fail_there(target->name);
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not link file \"%s\" to \"%s\": %m", target->hidden, target->name)));
	}
	(void) unlinkat(target->directory, target->hidden_leaf, 0);
	sync_directory(target);
}

/* The same for a file that may be there. */
static void
replace_name(const tsurugi_target *target)
{
	if (target->directory == AT_FDCWD)
	{
		(void) durable_rename(target->hidden, target->name, ERROR);
		return;
	}
	if (renameat(target->directory, target->hidden_leaf, target->directory, target->leaf) != 0)
		ereport(ERROR, (errcode_for_file_access(),
						errmsg("could not rename file \"%s\" to \"%s\": %m", target->hidden, target->name)));
	sync_directory(target);
}

static void
open_directory(tsurugi_target *target)
{
	target->directory = tsurugi_file_directory(target->name, &target->leaf);
	if (target->directory == -1)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\" for writing: %m", target->name)));
	target->hidden_leaf =
		target->directory == AT_FDCWD ? target->hidden : target->hidden + (target->leaf - target->name);
}

static void
begin_file(tsurugi_target *target, const char *name)
{
	static unsigned number;
	const char *slash = strrchr(name, '/');
	int links;
	struct stat status;
	mode_t mask;

	if (!is_absolute_path(name))
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("relative path not allowed for COPY to file")));
	target->name = pstrdup(name);
	target->hidden = psprintf("%.*s.%s.%d.%u.tmp", (int) (slash + 1 - name), name, slash + 1, MyProcPid, ++number);
	open_directory(target);
	if (!target->replaces && fstatat(target->directory, target->leaf, &status, AT_SYMLINK_NOFOLLOW) == 0)
		fail_there(name);
	links = target->directory == AT_FDCWD ? 0 : AT_SYMLINK_NOFOLLOW;
	if (fstatat(target->directory, target->leaf, &status, links) == 0 && !S_ISREG(status.st_mode))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), S_ISDIR(status.st_mode)
																? errmsg("\"%s\" is a directory", name)
																: errmsg("\"%s\" is not a regular file", name)));
	(void) unlinkat(target->directory, target->hidden_leaf, 0); /* of a process that has crashed */
	mask = umask(S_IWGRP | S_IWOTH);
	PG_TRY();
	{
		target->descriptor = tsurugi_file_open_at(target->directory, target->hidden_leaf, O_WRONLY | O_CREAT | O_EXCL,
												  S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
	}
	PG_FINALLY();
	{
		umask(mask);
	}
	PG_END_TRY();
	if (target->descriptor < 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\" for writing: %m", target->name)));
}

static void
append_file(tsurugi_target *target, const char *data, size_t bytes)
{
	while (bytes > 0)
	{
		ssize_t written;

		CHECK_FOR_INTERRUPTS();
		errno = 0;
		written = write(target->descriptor, data, bytes);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
		{
			if (errno == 0)
				errno = ENOSPC;
			ereport(ERROR, (errcode_for_file_access(), errmsg("could not write to file \"%s\": %m", target->name)));
		}
		data += written;
		bytes -= (size_t) written;
	}
}

/* --- either ------------------------------------------------------------------------------ */

tsurugi_target *
tsurugi_target_begin(const char *name, int column_count, bool replaces)
{
	tsurugi_target *target = palloc0(sizeof(*target));

	target->descriptor = -1;
	target->replaces = replaces;
	if (name == NULL)
		begin_client(column_count);
	else
		begin_file(target, name);
	return target;
}

void
tsurugi_target_write(tsurugi_target *target, const void *data, size_t bytes)
{
	if (target->name == NULL)
		send_client(data, bytes);
	else
		append_file(target, data, bytes);
}

void
tsurugi_target_finish(tsurugi_target *target)
{
	if (target->name == NULL)
	{
		pq_putemptymessage('c');
		return;
	}
	/* no panic (data_sync_elevel): the file is removed, and nothing else is in doubt */
	if (pg_fsync(target->descriptor) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not fsync file \"%s\": %m", target->name)));
	if (CloseTransientFile(target->descriptor) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not close file \"%s\": %m", target->name)));
	target->descriptor = -1;
	if (target->replaces)
		replace_name(target);
	else
		take_name(target);
	tsurugi_file_directory_close(target->directory);
}

/* The end of the transaction closes the descriptors. */
void
tsurugi_target_abandon(tsurugi_target *target)
{
	if (target->name != NULL)
		(void) unlinkat(target->directory, target->hidden_leaf, 0);
}

/*
 * power.c
 *	  A library, loaded before all others by a server of the tests: which bytes of pg_tsurugi and
 *	  pg_wal a power cut leaves, and calls that fail; these also on files in a directory "exported",
 *	  wherever that is.
 *
 * The server's files are written as ever.  Beside them, a directory keeps what is durable: of each
 * file its contents as of its last sync, of each directory its names as of its last sync.  When all
 * processes of the server have been killed, t/Power.pm makes of both what the cut leaves.
 *
 *	kept/<inode>.<birth>			the contents; an inode that is used again has another birth
 *	names/<directory, / as +>		lines of "<inode>.<birth> <name>"
 *	control							struct control, shared by all processes
 *
 * 1. What is kept takes its place by a rename, under a lock, so the processes may be killed at any
 *	  moment, and of two syncs of a file the later one counts.
 * 2. A sync has ended when its caller may rely on it, so contents are kept before it returns.
 *	  Bytes that others write meanwhile may be kept or not, as on a disk.
 * 3. All other files count as durable, and are not synced: PostgreSQL writes none of them before
 *	  its log is.
 *
 * Environment: POWER_DATA, the server's directory; POWER_KEEP, the one described above.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* As t/Power.pm writes it.  The call of this kind, on a file whose path has the text, that makes
 * left 0 fails with the error; or is said to have been done. */
typedef struct control
{
	int32_t kind; /* 0: no call fails */
	int32_t left;
	int32_t error; /* 0: a sync that keeps nothing, and tells nobody */
	int32_t stays; /* further calls fail, too */
	int32_t count; /* of calls that have failed */
	char text[64];
} control;

typedef enum kind
{
	OPEN = 1,
	WRITE,
	SYNC,
	RENAME,
	REMOVE,
	CUT,
	SYNC_DIRECTORY
} kind;

static const char *data;
static const char *keep;
static control *shared;

static void __attribute__((constructor)) begin(void)
{
	char path[PATH_BYTES];
	int file;

	data = getenv("POWER_DATA");
	keep = getenv("POWER_KEEP");
	if (data == NULL || keep == NULL)
		return;
	data = strdup(data); /* the server writes what ps shows over its environment */
	keep = strdup(keep);
	snprintf(path, sizeof(path), "%s/control", keep);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (shared == MAP_FAILED)
		abort();
}

/* --- what is looked at ------------------------------------------------------------------------ */

/* Written by a statement for others, and not kept. */
static bool
is_exported(const char *path)
{
	return strstr(path, "/exported/") != NULL;
}

/* The path below the server's directory, or one that is exported; or NULL: another file. */
static const char *
path_within(const char *path)
{
	size_t count = data == NULL ? 0 : strlen(data);

	if (shared == NULL)
		return NULL;
	if (strncmp(path, data, count) == 0 && path[count] == '/')
		path += count + 1;
	if (is_exported(path))
		return path;
	if (strncmp(path, "pg_tsurugi", 10) != 0 && strncmp(path, "pg_wal", 6) != 0 &&
		strncmp(path, "base/pgsql_tmp", 14) != 0)
		return NULL;
	return path;
}

/* Of an open file; NULL as well if it was removed. */
static const char *
path_of(int file, char path[PATH_BYTES])
{
	char link[64];
	ssize_t count;

	if (shared == NULL)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
	count = readlink(link, path, PATH_BYTES - 1);
	path[count > 0 ? count : 0] = '\0';
	return strstr(path, " (deleted)") != NULL ? NULL : path_within(path);
}

static bool
is_of_log(const char *text)
{
	return strncmp(text, "pg_wal", 6) == 0;
}

/* Whether this call fails, or does nothing.  One on PostgreSQL's log does if that is asked for. */
static bool
fails(kind kind, const char *path, int *error_out)
{
	int left;

	if (shared->kind != (int) kind || is_of_log(path) != is_of_log(shared->text) || strstr(path, shared->text) == NULL)
		return false;
	left = __atomic_sub_fetch(&shared->left, 1, __ATOMIC_SEQ_CST);
	if (left > 0 || (left < 0 && !shared->stays))
		return false;
	__atomic_add_fetch(&shared->count, 1, __ATOMIC_SEQ_CST);
	*error_out = shared->error;
	return true;
}

/* The same of a call that returns -1 then. */
static bool
is_refused(kind kind, const char *path)
{
	int error;

	if (path == NULL || !fails(kind, path, &error))
		return false;
	errno = error;
	return true;
}

/* --- what is kept ----------------------------------------------------------------------------- */

static void
make_key(int directory, const char *name, int flags, char key[64])
{
	struct statx status;

	key[0] = '\0';
	if (statx(directory, name, flags | AT_SYMLINK_NOFOLLOW, STATX_INO | STATX_BTIME, &status) == 0)
		snprintf(key, 64, "%llu.%lld.%09u", (unsigned long long) status.stx_ino, (long long) status.stx_btime.tv_sec,
				 status.stx_btime.tv_nsec);
}

static int
create(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (file < 0)
		abort();
	return file;
}

static void
write_all(int file, const void *bytes, size_t count)
{
	if (write(file, bytes, count) != (ssize_t) count)
		abort();
}

static void
keep_contents(int file)
{
	static char buffer[1 << 20];
	char key[64];
	char path[PATH_BYTES];
	char new_path[PATH_BYTES];
	off_t offset = 0;
	ssize_t count;
	int kept;

	make_key(file, "", AT_EMPTY_PATH, key);
	snprintf(path, sizeof(path), "%s/kept/%s", keep, key);
	snprintf(new_path, sizeof(new_path), "%s/new", keep);
	kept = create(new_path);
	while ((count = pread(file, buffer, sizeof(buffer), offset)) > 0)
	{
		write_all(kept, buffer, (size_t) count);
		offset += count;
	}
	close(kept);
	if (rename(new_path, path) != 0)
		abort();
}

static void
keep_names(const char *directory)
{
	char path[PATH_BYTES];
	char new_path[PATH_BYTES];
	char line[PATH_BYTES];
	DIR *entries = opendir(directory);
	struct dirent *entry;
	int count = snprintf(path, sizeof(path), "%s/names/", keep);
	int kept;

	snprintf(path + count, sizeof(path) - (size_t) count, "%s", directory);
	for (char *at = path + count; *at != '\0'; at++)
		if (*at == '/')
			*at = '+';
	snprintf(new_path, sizeof(new_path), "%s/new", keep);
	kept = create(new_path);
	while (entries != NULL && (entry = readdir(entries)) != NULL)
	{
		char key[64];

		make_key(dirfd(entries), entry->d_name, 0, key);
		if (entry->d_name[0] != '.' && entry->d_type == DT_REG && key[0] != '\0')
			write_all(kept, line, (size_t) snprintf(line, sizeof(line), "%s %s\n", key, entry->d_name));
	}
	if (entries != NULL)
		closedir(entries);
	close(kept);
	if (rename(new_path, path) != 0)
		abort();
}

static int
sync_file(int file)
{
	char path[PATH_BYTES];
	const char *name = path_of(file, path);
	char lock_path[PATH_BYTES];
	struct stat status;
	int error = 0;
	int lock;

	if (name == NULL)
		return 0; /* 3 */
	if (fstat(file, &status) != 0)
		return -1;
	if (fails(S_ISDIR(status.st_mode) ? SYNC_DIRECTORY : SYNC, name, &error))
	{
		errno = error;
		return error == 0 ? 0 : -1;
	}
	if (is_exported(name))
		return 0;
	snprintf(lock_path, sizeof(lock_path), "%s/lock", keep);
	lock = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX) != 0) /* 1 */
		abort();
	if (S_ISDIR(status.st_mode))
		keep_names(name);
	else
		keep_contents(file);
	close(lock);
	return 0;
}

/* --- the calls -------------------------------------------------------------------------------- */

#define NEXT(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

int
fsync(int file)
{
	return sync_file(file);
}

int
fdatasync(int file)
{
	return sync_file(file);
}

int
open(const char *path, int flags, ...)
{
	static __typeof__(&open) next;
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	if (next == NULL)
		next = NEXT(open);
	return is_refused(OPEN, path_within(path)) ? -1 : next(path, flags, mode);
}

ssize_t
pwrite(int file, const void *bytes, size_t count, off_t offset)
{
	static __typeof__(&pwrite) next;
	char path[PATH_BYTES];

	if (next == NULL)
		next = NEXT(pwrite);
	if (shared != NULL && shared->kind == WRITE && is_refused(WRITE, path_of(file, path)))
		return -1;
	return next(file, bytes, count, offset);
}

ssize_t
write(int file, const void *bytes, size_t count)
{
	static __typeof__(&write) next;
	char path[PATH_BYTES];

	if (next == NULL)
		next = NEXT(write);
	if (shared != NULL && shared->kind == WRITE && is_refused(WRITE, path_of(file, path)))
		return -1;
	return next(file, bytes, count);
}

int
ftruncate(int file, off_t bytes)
{
	static __typeof__(&ftruncate) next;
	char path[PATH_BYTES];

	if (next == NULL)
		next = NEXT(ftruncate);
	return is_refused(CUT, path_of(file, path)) ? -1 : next(file, bytes);
}

int
rename(const char *from, const char *to)
{
	static __typeof__(&rename) next;

	if (next == NULL)
		next = NEXT(rename);
	return is_refused(RENAME, path_within(from)) ? -1 : next(from, to);
}

int
unlink(const char *path)
{
	static __typeof__(&unlink) next;

	if (next == NULL)
		next = NEXT(unlink);
	return is_refused(REMOVE, path_within(path)) ? -1 : next(path);
}

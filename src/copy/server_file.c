/*
 * server_file.c
 *	  Files of the server that users name: who may, and how they are opened.
 *
 * A user who may write into a directory below a root may change it at any moment, so a name does
 * not say where it leads.  Therefore the system resolves it in one step (openat2), from the root
 * on, and refuses what leads out of it, and every link.  What is done with a file afterwards is
 * done with its descriptor, or with a name in its directory's descriptor.  The pool's process,
 * which opens a file by its name again, compares it with the one that has been opened here
 * (block_reader.c).
 *
 * In a root with %u, what follows is another role's to change: the system resolves that in the same
 * way, from the directory above it to the root, and the rest of the name in a second step, which
 * does not lead out of the root either.
 *
 * Not seen are other names of the same file (hard links), which the system's protected_hardlinks
 * keeps users from making of files that are not theirs.
 */
#include "postgres.h"

#include "src/copy/server_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "catalog/pg_authid.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "runtime/base/failpoint.h"

#define TRIES 100 /* of a name while directories above it are renamed */
#define PLACEHOLDER "/dev/null"

static char *file_roots;

/* --- the setting ------------------------------------------------------------------------------ */

static bool
check_roots(char **value, void **extra, GucSource source)
{
	char *copy = pstrdup(*value);
	List *roots;
	ListCell *cell;

	if (!SplitDirectoriesString(copy, ',', &roots))
	{
		GUC_check_errdetail("List syntax is invalid.");
		return false;
	}
	foreach (cell, roots)
		if (!is_absolute_path((char *) lfirst(cell)) || strcmp(lfirst(cell), "/") == 0)
		{
			GUC_check_errdetail("\"%s\" is not the absolute path of a directory.", (char *) lfirst(cell));
			return false;
		}
	return true;
}

void
tsurugi_server_files_define(void)
{
	DefineCustomStringVariable("tsurugi_fdw.file_roots", "Directories whose files any role may name.",
							   "A list; %u is the role's name, %% is %.", &file_roots, "", PGC_SUSET, GUC_LIST_INPUT,
							   check_roots, NULL, NULL);
}

/* --- roots ------------------------------------------------------------------------------------ */

/* A place below a root. */
typedef struct Place
{
	char *base;		  /* a directory that nobody but a superuser has named */
	const char *root; /* from there; NULL: it is the same */
	const char *rest; /* of the name, below the root, */
	size_t begins;	  /* which so many of its bytes are */
} Place;

/* Whether the role's name can be that of a directory. */
static bool
is_directory_name(const char *name)
{
	return strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && name[0] != '\0';
}

/* A root with the role's name in it; NULL: none for this role.  *base_out: bytes of its base. */
static char *
expand(const char *root, size_t *base_out)
{
	StringInfoData path;

	initStringInfo(&path);
	*base_out = 0;
	for (const char *at = root; *at != '\0'; at++)
		if (at[0] == '%' && at[1] == 'u')
		{
			char *role = GetUserNameFromId(GetUserId(), false);

			if (!is_directory_name(role))
				return NULL;
			if (*base_out == 0)
			{
				char *slash;

				appendStringInfoChar(&path, '\0'); /* strrchr's end */
				slash = strrchr(path.data, '/');
				path.len--;
				*base_out = Max(slash - path.data, 1);
			}
			appendStringInfoString(&path, role);
			at++;
		}
		else
		{
			appendStringInfoChar(&path, *at);
			at += at[0] == '%' && at[1] == '%';
		}
	if (*base_out == 0)
		*base_out = path.len;
	return path.data;
}

static bool
find_place(const char *name, Place *place)
{
	List *roots;
	ListCell *cell;

	(void) SplitDirectoriesString(pstrdup(file_roots), ',', &roots);
	foreach (cell, roots)
	{
		size_t base;
		char *root = expand(lfirst(cell), &base);

		if (root == NULL || strncmp(name, root, strlen(root)) != 0 ||
			(name[strlen(root)] != '/' && name[strlen(root)] != '\0'))
			continue;
		place->base = pnstrdup(root, base);
		place->root = root[base] != '\0' ? root + base + strspn(root + base, "/") : NULL;
		place->begins = strlen(root);
		place->rest = name + place->begins;
		while (*place->rest == '/')
			place->rest++;
		if (*place->rest == '\0')
			place->rest = ".";
		return true;
	}
	return false;
}

/* A name in a directory, whose descriptor is closed; -1 and errno. */
static int
resolve(int directory, const char *name, int flags)
{
	const struct open_how how = {.flags = (uint64) (flags | O_CLOEXEC),
								 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	int descriptor = -1;
	int error;

	if (directory < 0)
		return -1;
	errno = EAGAIN;
	for (int i = 0; i < TRIES && descriptor < 0 && (errno == EAGAIN || errno == EINTR); i++)
		descriptor = (int) syscall(SYS_openat2, directory, name, &how, sizeof(how));
	error = errno == ELOOP || errno == EXDEV ? EACCES : errno;
	(void) close(directory);
	errno = error;
	return descriptor;
}

/* A plain descriptor of a file below a root, or of the root; -1 and errno. */
static int
open_below(const Place *place, int flags)
{
	int directory;

	if (tg_failpoint_refuses("openat2"))
	{
		errno = ENOSYS;
		return -1;
	}
	directory = open(place->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place->root != NULL)
		directory = resolve(directory, place->root, O_PATH | O_DIRECTORY);
	return resolve(directory, place->rest, flags);
}

/*
 * A descriptor that PostgreSQL closes at the end of the transaction, until one that it cannot open
 * itself takes its number.  It is there before that is opened, so no error leaves that open.
 */
static int
open_placeholder(void)
{
	return OpenTransientFile(PLACEHOLDER, O_RDONLY);
}

/* Makes the second number that of the first, which is closed.  False and errno. */
static bool
move_descriptor(int descriptor, int own)
{
	bool moved = descriptor >= 0 && dup3(descriptor, own, O_CLOEXEC) == own;
	int error = errno;

	if (descriptor >= 0)
		(void) close(descriptor);
	errno = error;
	return moved;
}

/* The placeholder, in its new meaning; -1 and errno: the other has not been opened. */
static int
take_place(int descriptor, int own)
{
	int error;

	if (move_descriptor(descriptor, own))
		return own;
	error = errno;
	(void) CloseTransientFile(own);
	errno = error;
	return -1;
}

static int
open_transient_below(const char *name, int flags)
{
	Place place;
	int own;

	if (!find_place(name, &place))
	{
		errno = EACCES;
		return -1;
	}
	own = open_placeholder();
	return own < 0 ? -1 : take_place(open_below(&place, flags), own);
}

/* --- rights ----------------------------------------------------------------------------------- */

bool
tsurugi_file_names_any(tsurugi_file_right right)
{
	return has_privs_of_role(GetUserId(),
							 right == TSURUGI_FILE_READ ? ROLE_PG_READ_SERVER_FILES : ROLE_PG_WRITE_SERVER_FILES);
}

/* Without it files below the roots cannot be opened safely. */
static void
check_system(const Place *place)
{
	const Place base = {.base = place->base, .rest = "."};
	int descriptor = open_below(&base, O_PATH | O_DIRECTORY);

	if (descriptor >= 0)
		(void) close(descriptor);
	else if (errno == ENOSYS)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("files below tsurugi_fdw.file_roots are not supported on this system"),
						errdetail("They need the system call openat2, of Linux 5.6 and later.")));
}

static void
refuse_right(tsurugi_file_right right, const char *purpose, const char *name, const char *hint)
{
	ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					errmsg("must be superuser or have privileges of the %s role to %s",
						   right == TSURUGI_FILE_READ ? "pg_read_server_files" : "pg_write_server_files", purpose),
					name != NULL && file_roots[0] != '\0'
						? errdetail("\"%s\" is not below a directory of tsurugi_fdw.file_roots.", name)
						: 0,
					hint != NULL ? errhint("%s", hint) : 0));
}

void
tsurugi_file_check(const char *name, tsurugi_file_right right, const char *purpose, const char *hint)
{
	Place place;

	if (tsurugi_file_names_any(right))
		return;
	if (!find_place(name, &place))
		refuse_right(right, purpose, name, hint);
	check_system(&place);
}

void
tsurugi_file_check_any(tsurugi_file_right right, const char *purpose, const char *hint)
{
	if (!tsurugi_file_names_any(right))
		refuse_right(right, purpose, NULL, hint);
}

/* --- reading ---------------------------------------------------------------------------------- */

int
tsurugi_file_open_to_read(const char *name)
{
	if (tsurugi_file_names_any(TSURUGI_FILE_READ))
		return OpenTransientFile(name, O_RDONLY | O_NONBLOCK | PG_BINARY);
	return open_transient_below(name, O_RDONLY | O_NONBLOCK);
}

/* As stat, of a name below a root. */
static int
stat_below(const char *name, struct stat *status)
{
	Place place;
	int descriptor = -1;
	int result;

	errno = EACCES;
	if (find_place(name, &place))
		descriptor = open_below(&place, O_PATH);
	if (descriptor < 0)
		return -1;
	result = fstat(descriptor, status);
	(void) close(descriptor);
	return result;
}

int
tsurugi_file_stat(const char *name, struct stat *status)
{
	return tsurugi_file_names_any(TSURUGI_FILE_READ) ? stat(name, status) : stat_below(name, status);
}

/* --- patterns --------------------------------------------------------------------------------- */

/*
 * What glob does not bound: the directories of a pattern multiply where a part of it leads back (a
 * link, "..", which a wildcard does not stand for here, and is refused behind one), it calls itself
 * for each part of a pattern, and sees no interrupts.  Its callbacks have no argument.
 */
static struct
{
	const char *pattern;
	bool names_any; /* by the rights of the role */
	Place place;	/* otherwise: of the pattern */
	int names_left; /* that it may look at */
} search;

/* False: from here on it finds nothing, and so comes to its end. */
static bool
look_at_name(void)
{
	if (QueryCancelPending || ProcDiePending || search.names_left == 0)
		return false;
	search.names_left--;
	return true;
}

/* A file that is found below the root of the pattern; -1 and errno. */
static int
open_found(const char *name, int flags)
{
	Place place = search.place;

	place.rest = name + place.begins;
	if (strncmp(name, search.pattern, place.begins) != 0 || strchr("/", *place.rest) == NULL)
	{
		errno = EACCES;
		return -1;
	}
	place.rest += strspn(place.rest, "/");
	if (*place.rest == '\0')
		place.rest = ".";
	return open_below(&place, flags);
}

static void *
open_directory(const char *name)
{
	DIR *directory;
	int descriptor;

	if (!look_at_name())
		return NULL;
	if (search.names_any)
		return opendir(name);
	descriptor = open_found(name, O_RDONLY | O_DIRECTORY);
	directory = descriptor >= 0 ? fdopendir(descriptor) : NULL;
	if (directory == NULL && descriptor >= 0)
		(void) close(descriptor);
	return directory;
}

static struct dirent *
read_directory(void *directory)
{
	struct dirent *entry;

	do
		entry = look_at_name() ? readdir(directory) : NULL;
	while (entry != NULL && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry;
}

static void
close_directory(void *directory)
{
	(void) closedir(directory);
}

static int
stat_found(const char *name, struct stat *status)
{
	int descriptor;
	int result;

	if (!look_at_name())
		return -1;
	if (search.names_any)
		return stat(name, status);
	descriptor = open_found(name, O_PATH);
	if (descriptor < 0)
		return -1;
	result = fstat(descriptor, status);
	(void) close(descriptor);
	return result;
}

static int
lstat_found(const char *name, struct stat *status)
{
	if (!search.names_any)
		return stat_found(name, status);
	return look_at_name() ? lstat(name, status) : -1;
}

static bool
is_pattern(const char *name)
{
	struct stat status;

	return strpbrk(name, "*?[") != NULL && tsurugi_file_stat(name, &status) != 0;
}

/* Whether a part of a pattern is ".."; glob reads \\x as x. */
static bool
is_dot_dot(const char *part, size_t bytes)
{
	size_t dots = 0;

	for (size_t i = 0; i < bytes; i++)
		if (part[i] == '.')
			dots++;
		else if (part[i] != '\\')
			return false;
	return dots == 2;
}

static void
check_pattern(const char *pattern)
{
	const char *part = pattern + strcspn(pattern, "*?[");

	if (strlen(pattern) >= MAXPGPATH)
		ereport(ERROR, (errcode(ERRCODE_NAME_TOO_LONG), errmsg("pattern of file names is too long"),
						errdetail("It has %zu bytes.  The limit is %d bytes.", strlen(pattern), MAXPGPATH - 1)));
	for (part = strchr(part, '/'); part != NULL; part = strchr(part + 1, '/'))
		if (is_dot_dot(part + 1, strcspn(part + 1, "/")))
			ereport(ERROR, (errcode(ERRCODE_INVALID_NAME),
							errmsg("\"..\" behind a wildcard is not allowed in pattern \"%s\"", pattern)));
}

static void
begin_search(const char *pattern, int names_left)
{
	search.pattern = pattern;
	search.names_any = tsurugi_file_names_any(TSURUGI_FILE_READ);
	search.names_left = tg_failpoint_refuses("pattern_without_limit") ? PG_INT32_MAX : names_left;
	if (!search.names_any && !find_place(pattern, &search.place))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied for file \"%s\"", pattern)));
}

/* Raises why a search has found nothing, or not all. */
static void
check_found(const char *pattern, int result)
{
	CHECK_FOR_INTERRUPTS();
	if (result == GLOB_NOSPACE)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	if (search.names_left == 0)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("too many files to look for \"%s\" among them", pattern),
						errdetail("Patterns are looked for among at most %d names.", TSURUGI_FILE_NAMES_MAX)));
	if (result != 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FILE), errmsg("no file matches \"%s\"", pattern)));
}

List *
tsurugi_file_names(const char *pattern, int *names_left)
{
	glob_t found = {.gl_opendir = open_directory,
					.gl_readdir = read_directory,
					.gl_closedir = close_directory,
					.gl_stat = stat_found,
					.gl_lstat = lstat_found};
	List *volatile names = NIL;
	int result;

	if (!is_pattern(pattern))
		return list_make1(pstrdup(pattern));
	check_pattern(pattern);
	begin_search(pattern, *names_left);
	result = glob(pattern, GLOB_ALTDIRFUNC, NULL, &found);
	*names_left = search.names_left;
	PG_TRY();
	{
		check_found(pattern, result);
		for (size_t i = 0; i < found.gl_pathc; i++)
			names = lappend(names, pstrdup(found.gl_pathv[i]));
	}
	PG_FINALLY();
	{
		globfree(&found);
	}
	PG_END_TRY();
	return names;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The name of a file's directory. */
static char *
directory_of(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash == name ? pstrdup("/") : pnstrdup(name, slash - name);
}

int
tsurugi_file_directory(const char *name, const char **leaf_out)
{
	*leaf_out = name;
	if (tsurugi_file_names_any(TSURUGI_FILE_WRITE))
		return AT_FDCWD;
	*leaf_out = strrchr(name, '/') + 1;
	if (!is_directory_name(*leaf_out)) /* nor is it one of a file */
	{
		errno = EISDIR;
		return -1;
	}
	return open_transient_below(directory_of(name), O_RDONLY | O_DIRECTORY);
}

void
tsurugi_file_directory_close(int directory)
{
	if (directory >= 0)
		(void) CloseTransientFile(directory);
}

/* A link is refused as what the role may not name. */
static int
open_no_link(int directory, const char *leaf, int flags, mode_t mode)
{
	int descriptor = openat(directory, leaf, flags | O_NOFOLLOW | O_CLOEXEC, mode);

	if (descriptor < 0 && errno == ELOOP)
		errno = EACCES;
	return descriptor;
}

int
tsurugi_file_open_at(int directory, const char *leaf, int flags, mode_t mode)
{
	int own;

	if (directory == AT_FDCWD)
		return OpenTransientFilePerm(leaf, flags | O_NOFOLLOW | PG_BINARY, mode);
	own = open_placeholder();
	return own < 0 ? -1 : take_place(open_no_link(directory, leaf, flags, mode), own);
}

FILE *
tsurugi_file_create_at(int directory, const char *leaf, mode_t mode)
{
	FILE *file = AllocateFile(PLACEHOLDER, PG_BINARY_W);
	int error;

	if (file == NULL)
		return NULL;
	if (move_descriptor(open_no_link(directory, leaf, O_WRONLY | O_CREAT | O_EXCL, mode), fileno(file)))
		return file;
	error = errno;
	(void) FreeFile(file);
	errno = error;
	return NULL;
}

void
tsurugi_file_remove(int directory, const char *name)
{
	(void) unlinkat(directory, directory == AT_FDCWD ? name : strrchr(name, '/') + 1, 0);
}

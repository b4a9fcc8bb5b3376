/*
 * server_file.h
 *	  Files of the server that users name: who may, and how they are opened.
 *
 * A role that has pg_read_server_files, or pg_write_server_files, names any file.  Others name
 * those below the directories of tsurugi_fdw.file_roots.
 */
#ifndef TSURUGI_SERVER_FILE_H
#define TSURUGI_SERVER_FILE_H

#include "postgres.h"

#include <stdio.h>
#include <sys/stat.h>

#include "nodes/pg_list.h"

/* Defines the setting, when the library is loaded. */
extern void tsurugi_server_files_define(void);

typedef enum tsurugi_file_right
{
	TSURUGI_FILE_READ,
	TSURUGI_FILE_WRITE
} tsurugi_file_right;

/* Whether the current role may name any file; otherwise only those below the roots. */
extern bool tsurugi_file_names_any(tsurugi_file_right right);

/* 42501: the role may not name this file, or pattern; purpose: "load files"; hint: may be NULL. */
extern void tsurugi_file_check(const char *name, tsurugi_file_right right, const char *purpose, const char *hint);

/* The same where the roots are of no use. */
extern void tsurugi_file_check_any(tsurugi_file_right right, const char *purpose, const char *hint);

/*
 * A descriptor for reading, as of OpenTransientFile; -1 and errno: it cannot be opened.  Of a FIFO
 * or a device no end is waited for.
 */
extern int tsurugi_file_open_to_read(const char *name);

/* As stat.  The file is not opened. */
extern int tsurugi_file_stat(const char *name, struct stat *status);

/* Names that all patterns of a call together are looked for among. */
#define TSURUGI_FILE_NAMES_MAX 1000000

/*
 * The names that a pattern stands for, sorted; itself if it is none.  58P01: there are none; 54000:
 * it would have to look at more than *names_left names, from which those that it looks at are
 * taken off.
 */
extern List *tsurugi_file_names(const char *pattern, int *names_left);

/*
 * The directory of a file that is written: for the system's functions that take one, with the
 * file's name in it, *leaf_out.  AT_FDCWD, and the whole name, for a role that may name any file;
 * otherwise as of OpenTransientFile, or -1 and errno.
 */
extern int tsurugi_file_directory(const char *name, const char **leaf_out);
extern void tsurugi_file_directory_close(int directory);

/*
 * As OpenTransientFilePerm, in such a directory.  A link is not followed.
 */
extern int tsurugi_file_open_at(int directory, const char *leaf, int flags, mode_t mode);

/* The same for a new file, as of AllocateFile.  NULL and errno. */
extern FILE *tsurugi_file_create_at(int directory, const char *leaf, mode_t mode);

/* Removes a file of such a directory, if it can be; name: the whole one.  Raises no error. */
extern void tsurugi_file_remove(int directory, const char *name);

#endif /* TSURUGI_SERVER_FILE_H */

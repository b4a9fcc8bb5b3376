/*
 * files.h
 *	  The calls that make contents durable: one table of them, POSIX's unless a test takes its
 *	  place.
 *
 * Each returns 0 or an errno.  Reads and writes are of all bytes: a short one goes on, or is an
 * error. After sync, what was written to the file stays after a power failure; its name stays once
 * the directory is synced, too.
 */
#ifndef TG_FILES_H
#define TG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

typedef void (*tg_file_visitor)(void *context, const char *name);

typedef struct tg_file_calls
{
	/* For reading and writing; create: a new one, which must not be there. */
	int (*open)(const char *path, bool create, int *file_out);
	int (*close)(int file);
	int (*size)(int file, uint64_t *bytes_out);
	/* *count_inout: bytes wanted; bytes read, fewer at the end of the file only */
	int (*read)(int file, uint64_t offset, void *data, size_t *count_inout);
	int (*write)(int file, uint64_t offset, const void *data, size_t count);
	int (*cut)(int file, uint64_t bytes);
	int (*sync)(int file);
	int (*remove)(const char *path);
	/* Within a directory; what has the other name is replaced. */
	int (*rename)(const char *from, const char *to);
	int (*sync_directory)(const char *path);
	int (*list)(const char *directory, tg_file_visitor visitor, void *context);
} tg_file_calls;

/* Those in use; set by tests only. */
extern const tg_file_calls *tg_files;

#define TG_PATH_MAX 1024

/* Why a file could not be used: errno, 0 if it was read, and is not what was written. */
typedef struct tg_file_error
{
	int error;
	bool in_sync;	  /* a sync of the journal or the state: what is durable is not known */
	uint64_t offset;  /* in the file, where that is known */
	const char *what; /* a constant text: the call, or what is wrong */
	char path[TG_PATH_MAX];
} tg_file_error;

/* Fills in an error.  TG_IO with an errno, else TG_DAMAGED. */
extern tg_status tg_file_fail(tg_file_error *error_out, int error, const char *what, const char *path,
							  uint64_t offset) TG_MUST_USE;

/* Likewise for a failed sync of the journal or the state.  TG_IO. */
extern tg_status tg_file_fail_sync(tg_file_error *error_out, int error, const char *path) TG_MUST_USE;

/* An error as a text, as much of it as there is room for. */
extern void tg_file_error_describe(const tg_file_error *error, char *text, size_t bytes);

#endif /* TG_FILES_H */

/*
 * journal_names.h
 *	  For journal.c: its files by their names.
 */
#ifndef TG_JOURNAL_NAMES_H
#define TG_JOURNAL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/files.h"

#define TG_JOURNAL_NAME_DIGITS 16
#define TG_JOURNAL_NO_NAME UINT64_MAX

extern void tg_journal_path(const char *directory, uint64_t name, char path[TG_PATH_MAX]);

/* The highest name in a range, or the lowest; TG_JOURNAL_NO_NAME if there is none.  TG_IO. */
extern tg_status tg_journal_find_name(const char *directory, uint64_t low, uint64_t high, bool last, uint64_t *name_out,
									  tg_file_error *error_out) TG_MUST_USE;

/* The file that has a position, or, if none has, the first one ever.  TG_NOT_FOUND; TG_IO. */
extern tg_status tg_journal_find_position(const char *directory, uint64_t position, uint64_t *name_out,
										  tg_file_error *error_out) TG_MUST_USE;

/* Removes the files with names in a range, the highest first.  TG_IO. */
extern tg_status tg_journal_remove_files(const char *directory, uint64_t low, uint64_t high,
										 tg_file_error *error_out) TG_MUST_USE;

#endif /* TG_JOURNAL_NAMES_H */

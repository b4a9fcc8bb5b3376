/*
 * file_window.h
 *	  A part of a file in memory, for a reader that takes many small pieces in order.
 *
 * The file may grow, and bytes in it may change.  The window does not follow: a reader that is not
 * content with what it was given drops the window and asks again.
 */
#ifndef TG_FILE_WINDOW_H
#define TG_FILE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/files.h"

/* In the process's own memory; all zero is empty.  One thread. */
typedef struct tg_file_window
{
	tg_bytes bytes;
	uint64_t offset; /* in the file */
} tg_file_window;

/*
 * So many bytes from this offset on, or, at the end of the file, those that there are.  They are
 * the window's, until the next call.  TG_NO_MEMORY; TG_IO: what is in *error_out but for the path.
 */
extern tg_status tg_file_window_read(tg_file_window *window, int file, uint64_t offset, size_t count,
									 const void **data_out, size_t *count_out, tg_file_error *error_out) TG_MUST_USE;

/* The window has nothing then; it keeps its memory. */
extern void tg_file_window_drop(tg_file_window *window);

extern void tg_file_window_free(tg_file_window *window);

#endif /* TG_FILE_WINDOW_H */

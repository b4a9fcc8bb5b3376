/*
 * file_window.c
 *	  A window is moved when it lacks a byte that is asked for: it then begins with the first one.
 *
 * A piece longer than the window makes that larger.  The file's size is asked for first, so that a
 * damaged length in the file leads to no more memory than the file has bytes.
 */
#include "runtime/durable/file_window.h"

#define WINDOW_BYTES ((size_t) 256 << 10)

/* Makes the window begin at the offset and have so many bytes at least, if there are so many. */
static tg_status
move(tg_file_window *window, int file, uint64_t offset, size_t count, tg_file_error *error_out)
{
	uint64_t size;
	tg_status status;
	int error = tg_files->size(file, &size);

	tg_file_window_drop(window);
	if (error != 0)
		return tg_file_fail(error_out, error, "size", "", offset);
	if (count < WINDOW_BYTES)
		count = WINDOW_BYTES;
	if (offset >= size)
		count = 0;
	else if (count > size - offset)
		count = (size_t) (size - offset);
	status = tg_bytes_reserve(&window->bytes, count);
	if (status != TG_OK)
		return status;
	error = tg_files->read(file, offset, window->bytes.data, &count);
	if (error != 0)
		return tg_file_fail(error_out, error, "read", "", offset);
	window->bytes.count = count;
	window->offset = offset;
	return TG_OK;
}

/* How many bytes the window has from the offset on. */
static size_t
bytes_from(const tg_file_window *window, uint64_t offset)
{
	uint64_t end = window->offset + window->bytes.count;

	return offset < window->offset || offset >= end ? 0 : (size_t) (end - offset);
}

tg_status
tg_file_window_read(tg_file_window *window, int file, uint64_t offset, size_t count, const void **data_out,
					size_t *count_out, tg_file_error *error_out)
{
	size_t here = bytes_from(window, offset);

	if (here < count || here == 0)
	{
		tg_status status = move(window, file, offset, count, error_out);

		if (status != TG_OK)
			return status;
		here = window->bytes.count;
	}
	*data_out = here > 0 ? (const void *) (window->bytes.data + (offset - window->offset)) : "";
	*count_out = here < count ? here : count;
	return TG_OK;
}

void
tg_file_window_drop(tg_file_window *window)
{
	window->bytes.count = 0;
}

void
tg_file_window_free(tg_file_window *window)
{
	tg_bytes_free(&window->bytes);
}

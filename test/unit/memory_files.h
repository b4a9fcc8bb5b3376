/*
 * memory_files.h
 *	  File calls for tests: of files in memory, which a power failure takes apart.
 *
 * Each file has its contents as they are and as they are durable.  A power failure leaves of it the
 * durable contents, with some pages of those that were written since; of names that were made or
 * removed since the directory was synced, some.  A call may be told to fail, a write after a part
 * of it.
 */
#ifndef TG_MEMORY_FILES_H
#define TG_MEMORY_FILES_H

#include <errno.h>
#include <string.h>

#include "runtime/durable/files.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define FILES_MAX 512
#define PAGE 64 /* bytes that reach the disk together */

typedef struct contents
{
	unsigned char *data;
	size_t count;
} contents;

typedef struct memory_file
{
	char path[64]; /* empty: none has this name, or it is gone */
	contents now;
	contents durable;
	bool is_named;	 /* the directory has its name, durably */
	bool is_removed; /* it has no name any more, not durably */
	/* The file that has the name durably until the directory is synced; NULL: none. */
	struct memory_file *replaced;
} memory_file;

static memory_file files[FILES_MAX];
static uint64_t state = 1;		   /* of random numbers */
static unsigned calls_until_error; /* 0: none fails */

static inline unsigned
dice(unsigned sides)
{
	return unit_below(&state, sides);
}

static inline void
resize(contents *contents, size_t count)
{
	contents->data = realloc(contents->data, count > 0 ? count : 1);
	if (contents->data == NULL)
		unit_bail("no memory");
	if (count > contents->count)
		memset(contents->data + contents->count, 0, count - contents->count);
	contents->count = count;
}

static inline void
copy_contents(contents *to, const contents *from)
{
	resize(to, from->count);
	if (from->count > 0)
		memcpy(to->data, from->data, from->count);
}

static inline void
forget_file(memory_file *file)
{
	free(file->now.data);
	free(file->durable.data);
	*file = (memory_file){0};
}

static inline bool
fails(void)
{
	return calls_until_error > 0 && --calls_until_error == 0;
}

static inline memory_file *
find_file(const char *path)
{
	for (unsigned i = 0; i < FILES_MAX; i++)
		if (files[i].path[0] != '\0' && !files[i].is_removed && strcmp(files[i].path, path) == 0)
			return &files[i];
	return NULL;
}

static inline int
memory_open(const char *path, bool create, int *file_out)
{
	memory_file *file = find_file(path);

	if (fails())
		return EIO;
	if (create ? file != NULL : file == NULL)
		return create ? EEXIST : ENOENT;
	for (unsigned i = 0; i < FILES_MAX && file == NULL; i++)
		if (files[i].path[0] == '\0')
			file = &files[i];
	if (file == NULL)
		unit_bail("too many files");
	if (create) /* files that are there may be opened by several threads at once */
		snprintf(file->path, sizeof(file->path), "%s", path);
	*file_out = (int) (file - files);
	return 0;
}

static inline int
memory_close(int file)
{
	(void) file;
	return 0;
}

static inline int
memory_size(int file, uint64_t *bytes_out)
{
	*bytes_out = files[file].now.count;
	return fails() ? EIO : 0;
}

static inline int
memory_read(int file, uint64_t offset, void *data, size_t *count_inout)
{
	const contents *contents = &files[file].now;
	size_t there = offset < contents->count ? contents->count - (size_t) offset : 0;

	if (fails())
		return EIO;
	if (*count_inout > there)
		*count_inout = there;
	if (*count_inout > 0)
		memcpy(data, contents->data + offset, *count_inout);
	return 0;
}

static inline int
memory_write(int file, uint64_t offset, const void *data, size_t count)
{
	contents *contents = &files[file].now;
	bool failed = fails();
	size_t done = failed ? dice((unsigned) count) : count;

	if (contents->count < offset + done)
		resize(contents, (size_t) offset + done);
	if (done > 0)
		memcpy(contents->data + offset, data, done);
	return failed ? ENOSPC : 0;
}

static inline int
memory_cut(int file, uint64_t bytes)
{
	if (fails())
		return EIO;
	resize(&files[file].now, (size_t) bytes);
	return 0;
}

static inline int
memory_sync(int file)
{
	if (fails())
		return EIO;
	copy_contents(&files[file].durable, &files[file].now);
	return 0;
}

static inline int
memory_remove(const char *path)
{
	memory_file *file = find_file(path);

	if (fails())
		return EIO;
	if (file == NULL)
		return ENOENT;
	if (file->is_named)
		file->is_removed = true;
	else
		forget_file(file);
	return 0;
}

/* After a power failure the name is that of one of the two. */
static inline int
memory_rename(const char *from, const char *to)
{
	memory_file *file = find_file(from);
	memory_file *old = find_file(to);

	if (fails())
		return EIO;
	if (file == NULL)
		return ENOENT;
	if (old != NULL && old->is_named)
	{
		old->is_removed = true;
		file->replaced = old;
	}
	else if (old != NULL)
	{
		file->replaced = old->replaced;
		forget_file(old);
	}
	file->is_named = false;
	snprintf(file->path, sizeof(file->path), "%s", to);
	return 0;
}

static inline int
memory_sync_directory(const char *path)
{
	(void) path;
	if (fails())
		return EIO;
	for (unsigned i = 0; i < FILES_MAX; i++)
	{
		if (files[i].is_removed)
			forget_file(&files[i]);
		files[i].replaced = NULL;
		files[i].is_named = files[i].path[0] != '\0';
	}
	return 0;
}

static inline int
memory_list(const char *directory, tg_file_visitor visitor, void *context)
{
	size_t length = strlen(directory);

	if (fails())
		return EIO;
	for (unsigned i = 0; i < FILES_MAX; i++)
		if (files[i].path[0] != '\0' && !files[i].is_removed)
			visitor(context, files[i].path + length + 1);
	return 0;
}

static const tg_file_calls memory_calls = {.open = memory_open,
										   .close = memory_close,
										   .size = memory_size,
										   .read = memory_read,
										   .write = memory_write,
										   .cut = memory_cut,
										   .sync = memory_sync,
										   .remove = memory_remove,
										   .rename = memory_rename,
										   .sync_directory = memory_sync_directory,
										   .list = memory_list};

/* Some pages that were written since the last sync are there, others are as they were then. */
static inline void
tear(memory_file *file)
{
	contents *now = &file->now;
	const contents *durable = &file->durable;
	size_t count =
		now->count < durable->count ? now->count : now->count - dice((unsigned) (now->count - durable->count) + 1);

	if (dice(4) == 0)
		count = durable->count; /* nor has its size changed */
	resize(now, count);
	for (size_t page = 0; page < count; page += PAGE)
	{
		size_t bytes = count - page < PAGE ? count - page : PAGE;
		size_t kept = page < durable->count ? durable->count - page : 0;

		if (dice(2) == 0)
			continue;
		if (kept > bytes)
			kept = bytes;
		if (kept > 0)
			memcpy(now->data + page, durable->data + page, kept);
		memset(now->data + page + kept, 0, bytes - kept);
	}
}

/* Of a file and the one that it has replaced, one stays. */
static inline void
settle_replaced(void)
{
	for (unsigned i = 0; i < FILES_MAX; i++)
	{
		memory_file *old = files[i].replaced;

		if (old == NULL)
			continue;
		files[i].replaced = NULL;
		files[i].is_named = true;
		old->is_removed = false;
		forget_file(dice(2) == 0 ? old : &files[i]);
	}
}

static inline void
cut_power(void)
{
	settle_replaced();
	for (unsigned i = 0; i < FILES_MAX; i++)
	{
		memory_file *file = &files[i];

		if (file->path[0] == '\0')
			continue;
		if (file->is_removed ? dice(2) == 0 : !file->is_named && dice(2) == 0)
		{
			forget_file(file);
			continue;
		}
		file->is_removed = false;
		file->is_named = true;
		tear(file);
		copy_contents(&file->durable, &file->now);
	}
}

static inline void
forget_all(void)
{
	for (unsigned i = 0; i < FILES_MAX; i++)
		forget_file(&files[i]);
}

#endif /* TG_MEMORY_FILES_H */

/*
 * packed_file.h
 *	  A file that is read from its beginning, decompressed if its name says that it is compressed.
 */
#ifndef TSURUGI_PACKED_FILE_H
#define TSURUGI_PACKED_FILE_H

#include "postgres.h"

typedef struct tsurugi_packed_file tsurugi_packed_file;

/* Whether a file of that name is compressed: it ends in .gz or .zst. */
extern bool tsurugi_file_is_packed(const char *name);

/* In the current memory context.  The descriptor stays the caller's. */
extern tsurugi_packed_file *tsurugi_packed_file_begin(const char *name, int descriptor);

/*
 * At most so many bytes; 0: there are no more.  22P04: it is not compressed so, or ends in the
 * middle.
 */
extern size_t tsurugi_packed_file_read(tsurugi_packed_file *file, void *into, size_t bytes);

/* Frees it.  What an error leaves goes with the memory context. */
extern void tsurugi_packed_file_end(tsurugi_packed_file *file);

#endif /* TSURUGI_PACKED_FILE_H */

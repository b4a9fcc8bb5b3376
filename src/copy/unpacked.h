/*
 * unpacked.h
 *	  The contents of a compressed file, in a temporary one, which other processes can read at any
 *	  place.
 */
#ifndef TSURUGI_UNPACKED_H
#define TSURUGI_UNPACKED_H

#include "postgres.h"

#include "storage/fd.h"

typedef struct tsurugi_unpacked
{
	File file;
	const char *name; /* as all of the server's processes open it */
	int64 bytes;
	uint64 device; /* which file it is, and when it was written last */
	uint64 inode;
	int64 changed_ns;
} tsurugi_unpacked;

/*
 * Decompresses what the descriptor has, as its name says.  The temporary file counts against
 * temp_file_limit, and goes with the resource owner if it is not removed before.  22P04: as of
 * packed_file.h.
 */
extern tsurugi_unpacked *tsurugi_unpack(const char *name, int descriptor);

/* Another descriptor, for CloseTransientFile. */
extern int tsurugi_unpacked_open(const tsurugi_unpacked *unpacked);

extern void tsurugi_unpacked_remove(tsurugi_unpacked *unpacked);

#endif /* TSURUGI_UNPACKED_H */

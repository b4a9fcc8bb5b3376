/*
 * journal_format.h
 *	  For journal.c: what the bytes of its files are (journal.h).
 */
#ifndef TG_JOURNAL_FORMAT_H
#define TG_JOURNAL_FORMAT_H

#include <stdint.h>

#define MAGIC UINT64_C(0x00016c6e726a6774) /* "tgjrnl", format 1 */

typedef struct file_header
{
	uint64_t magic;
	uint64_t system;
	uint64_t position;
	uint64_t previous; /* start of the last frame in the file before, 0 if there is none */
	uint32_t note_bytes;
	uint32_t crc; /* of all before it, and of the notes */
} file_header;

typedef struct frame_header
{
	uint32_t crc; /* of all behind it, and of the record */
	uint32_t bytes;
	uint64_t start;
	uint64_t end;
	uint64_t previous;
	uint32_t xid;
	uint32_t kind;
} frame_header;

_Static_assert(sizeof(file_header) == 40 && sizeof(frame_header) == 40, "no padding is written");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");

#endif /* TG_JOURNAL_FORMAT_H */

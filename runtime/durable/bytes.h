/*
 * bytes.h
 *	  Bytes of records: a buffer to write them to, and a reader that trusts nothing.
 *
 * Numbers have variable length: 7 bits a byte, the lowest first, the top bit set in all but the
 * last (LEB128).  Signed ones are mapped first, 0, -1, 1, -2 ... to 0, 1, 2, 3 ... ("zigzag"), so
 * that small ones of either sign are short.
 *
 * A reader is given bytes that may be damaged in any way.  It reads nothing beyond their end.
 * After the first fault it is damaged, and every further read gives 0; so a caller may read a whole
 * structure and ask once.
 */
#ifndef TG_BYTES_H
#define TG_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"

#define TG_NUMBER_BYTES_MAX 10

/*
 * A growing buffer; all zero is empty, and lies in the process's own memory.  One that other
 * processes read lies in the arena: it has the session of the thread that works with it.  One
 * thread at a time.
 */
typedef struct tg_bytes
{
	unsigned char *data;
	size_t count;
	size_t capacity;
	tg_session *session; /* NULL: the process's own memory */
} tg_bytes;

/* Makes room for so many more bytes.  TG_NO_MEMORY: nothing was changed. */
extern tg_status tg_bytes_reserve(tg_bytes *bytes, size_t more) TG_MUST_USE;

/* Gives the memory back; the buffer is empty then. */
extern void tg_bytes_free(tg_bytes *bytes);

/* --- writing: room was reserved --------------------------------------------------- */

static inline void
tg_bytes_put(tg_bytes *bytes, const void *data, size_t count)
{
	tg_assert(bytes->capacity - bytes->count >= count);
	if (count > 0)
		memcpy(bytes->data + bytes->count, data, count);
	bytes->count += count;
}

static inline void
tg_bytes_put_byte(tg_bytes *bytes, unsigned char byte)
{
	tg_assert(bytes->count < bytes->capacity);
	bytes->data[bytes->count++] = byte;
}

static inline void
tg_bytes_put_number(tg_bytes *bytes, uint64_t number)
{
	for (; number >= 0x80; number >>= 7)
		tg_bytes_put_byte(bytes, (unsigned char) (number | 0x80));
	tg_bytes_put_byte(bytes, (unsigned char) number);
}

static inline void
tg_bytes_put_signed(tg_bytes *bytes, int64_t number)
{
	tg_bytes_put_number(bytes, (uint64_t) number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

/* --- reading ------------------------------------------------------------------------ */

typedef struct tg_reader
{
	const unsigned char *at;
	const unsigned char *end;
	bool damaged;
} tg_reader;

static inline tg_reader
tg_reader_make(const void *data, size_t count)
{
	return (tg_reader){.at = data, .end = (const unsigned char *) data + count};
}

static inline bool
tg_reader_is_at_end(const tg_reader *reader)
{
	return reader->damaged || reader->at == reader->end;
}

static inline void
tg_reader_fail(tg_reader *reader)
{
	reader->damaged = true;
	reader->at = reader->end;
}

/* So many bytes where they lie, or NULL. */
static inline const unsigned char *
tg_reader_take(tg_reader *reader, uint64_t count)
{
	const unsigned char *at = reader->at;

	if (reader->damaged || count > (uint64_t) (reader->end - reader->at))
	{
		tg_reader_fail(reader);
		return NULL;
	}
	reader->at += count;
	return at;
}

static inline unsigned char
tg_reader_byte(tg_reader *reader)
{
	const unsigned char *at = tg_reader_take(reader, 1);

	return at != NULL ? *at : 0;
}

/* A number; one that does not fit into 64 bits is a fault. */
static inline uint64_t
tg_reader_number(tg_reader *reader)
{
	uint64_t number = 0;

	for (unsigned shift = 0; shift < 64; shift += 7)
	{
		unsigned char byte = tg_reader_byte(reader);

		if (shift == 63 && byte > 1)
			break;
		number |= (uint64_t) (byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return reader->damaged ? 0 : number;
	}
	tg_reader_fail(reader);
	return 0;
}

/* One that is below a limit; another is a fault. */
static inline uint64_t
tg_reader_number_below(tg_reader *reader, uint64_t limit)
{
	uint64_t number = tg_reader_number(reader);

	if (number < limit)
		return number;
	tg_reader_fail(reader);
	return 0;
}

static inline int64_t
tg_reader_signed(tg_reader *reader)
{
	uint64_t number = tg_reader_number(reader);

	return (int64_t) (number >> 1 ^ -(number & 1));
}

#endif /* TG_BYTES_H */

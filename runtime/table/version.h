/*
 * version.h
 *	  Versions: their names, their lifetimes, and the transactions that write them.
 *
 * A version is one slot of a chunk.  Its word (tg_version) is the chunk's
 * address << 16 | the slot: chunks are at least 64-byte aligned, and addresses
 * fit in 47 bits.  A row's head is the word of its newest version, or a closed
 * mark.  begin and end of a version are commit timestamps, or
 * references to a transaction that has not been stamped yet.
 */
#ifndef TG_VERSION_H
#define TG_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/table/limits.h"

/* In a head only: the row is closed (W3), or free and linked to the next free one. */
#define TG_HEAD_CLOSED ((tg_version) 0x8000)

static inline tg_version
tg_version_make(const tg_chunk *chunk, unsigned slot)
{
	return (uint64_t) (uintptr_t) chunk << 16 | slot;
}

static inline tg_chunk *
tg_version_chunk(tg_version version)
{
	return (tg_chunk *) (uintptr_t) (version >> 16);
}

static inline unsigned
tg_version_slot(tg_version version)
{
	return version & (TG_SLOT_MAX - 1);
}

static inline bool
tg_head_is_closed(tg_version head)
{
	return (head & TG_HEAD_CLOSED) != 0;
}

/* Of an end: the version has not been ended, whether the row is locked or not. */
static inline bool
tg_time_is_open(tg_time end)
{
	return (end | 1) == TG_TIME_NEVER;
}

/*
 * As a begin, values from here up to NEVER: no link leads to the version any more, and no snapshot
 * sees it. prune.c gives the meaning of the value.
 */
#define TG_TIME_UNLINKED ((tg_time) 1 << 62)

/*
 * A reference: 1 bit tag, 1 spare, 1 whether the key is kept, 13 transaction slot, 16
 * subtransaction (a numbering of its own for the subtransactions that wrote; the last number stands
 * for all further ones), 32 command.
 */
#define TG_REFERENCE ((tg_time) 1 << 63)
#define TG_REFERENCE_KEEPS_KEY ((tg_time) 1 << 61) /* of an end: by an UPDATE that keeps the key */
#define TG_TXN_MAX 8192
#define TG_SUBTXN_LAST 0xffff

static inline bool
tg_time_is_reference(tg_time time)
{
	return (time & TG_REFERENCE) != 0;
}

static inline tg_time
tg_reference_make(unsigned txn, unsigned subtxn, uint32_t command)
{
	return TG_REFERENCE | (tg_time) txn << 48 | (tg_time) subtxn << 32 | command;
}

static inline unsigned
tg_reference_txn(tg_time reference)
{
	return (reference >> 48) & (TG_TXN_MAX - 1);
}

static inline unsigned
tg_reference_subtxn(tg_time reference)
{
	return (reference >> 32) & 0xffff;
}

static inline uint32_t
tg_reference_command(tg_time reference)
{
	return (uint32_t) reference;
}

/*
 * The fields that a version needs only while it is unsettled; one record, so that a point read
 * costs one cache line.
 */
typedef struct tg_header
{
	tg_time begin;
	tg_time end;
	tg_version older; /* the row's version before this one */
	/* of an ended version: the row that an UPDATE of the key made, plus 1; or as below; else 0 */
	uint32_t successor;
	uint32_t life; /* flags, and with a successor its version's mark */
} tg_header;

/*
 * A row whose key is deleted and inserted again continues with another life (W3).  LIFE_NEW: the
 * version begins a life, on top of a dead version (or a version that stood between the two did), or
 * it was made by an UPDATE of the key.  LIFE_SEVERAL: the version begins a life, or a version below
 * it does.  LIFE_COPY: the version is a copy of the one below it, made to empty that one's chunk.
 * Its begin tells scans which of the two is theirs; its values are visible to every snapshot
 * (txn/relocate.c).
 */
#define TG_LIFE_NEW 1
#define TG_LIFE_SEVERAL 2
#define TG_LIFE_COPY 4
#define TG_LIFE_FLAGS (TG_LIFE_NEW | TG_LIFE_SEVERAL | TG_LIFE_COPY)

/*
 * As a successor: the version has ended because the one above is its copy.  No row has this number,
 * nor the next.
 */
#define TG_SUCCESSOR_COPY UINT32_MAX
#define TG_SUCCESSOR_ELSEWHERE (UINT32_MAX - 1) /* because the row goes on in another table */

/*
 * Distinguishes versions of one chain; leaves the flags' bits clear.  (A chunk has more than 128
 * bytes.)
 */
static inline uint32_t
tg_version_mark(tg_version version)
{
	return (uint32_t) (version >> 23 << 13) | tg_version_slot(version) << 3;
}

_Static_assert(sizeof(tg_header) == 32, "a header must not straddle cache lines");

#endif /* TG_VERSION_H */

/*
 * names.h
 *	  How other rooms, and the host, name tables, indexes, rows, versions and times.
 *
 * For headers that only pass these names on: whatever lies behind them may change without them.
 */
#ifndef TG_NAMES_H
#define TG_NAMES_H

#include <stdint.h>

typedef struct tg_table tg_table; /* table.h */
typedef struct tg_index tg_index; /* index.h */
typedef struct tg_chunk tg_chunk; /* table.h */

#define TG_ROW_MAX ((uint32_t) 0xfffffff0) /* rows of a table, with dead ones not yet collected */

/*
 * Address of the chunk << 16 | slot.  Chunks are at least 64-byte aligned; addresses fit in 47
 * bits.
 */
typedef uint64_t tg_version;

#define TG_VERSION_NONE ((tg_version) 0)
#define TG_SLOT_MAX 1024 /* slots of a chunk: one vector */

/*
 * A time is one of: a commit timestamp; TG_TIME_NEVER (as an end: not ended; as a begin: not
 * visible); TG_TIME_LOCKED (as an end only: not ended, and a transaction holds a lock on the row,
 * txn/row_lock.h); or, with the top bit set, a reference.
 */
typedef uint64_t tg_time;

/* the clock's first value; the time of rows that existed before all commits */
#define TG_TIME_FIRST ((tg_time) 1)
#define TG_TIME_NEVER ((tg_time) INT64_MAX)
#define TG_TIME_LOCKED (TG_TIME_NEVER - 1) /* later than every commit, like NEVER */

#endif /* TG_NAMES_H */

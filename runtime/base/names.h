/*
 * names.h
 *	  The things of the engine that rooms, and the host, pass on without looking into them.
 *
 * A header that only passes such a thing on includes this one, so that a change to what lies behind
 * a name does not reach those that include it.
 */
#ifndef TG_NAMES_H
#define TG_NAMES_H

#include <stdint.h>

typedef struct tg_session tg_session;			  /* mem/session.h */
typedef struct tg_table tg_table;				  /* table/table.h */
typedef struct tg_chunk tg_chunk;				  /* table/table.h */
typedef struct tg_index tg_index;				  /* index/index.h */
typedef struct tg_string tg_string;				  /* order/value.h */
typedef union tg_value tg_value;				  /* order/value.h */
typedef struct tg_key_spec tg_key_spec;			  /* order/key_spec.h */
typedef struct tg_index_spec tg_index_spec;		  /* index/index_spec.h */
typedef struct tg_exclusions tg_exclusions;		  /* reclaim/horizon.h */
typedef struct tg_hidden_row tg_hidden_row;		  /* index/index_spec.h */
typedef struct tg_hidden_values tg_hidden_values; /* index/index_spec.h */
typedef struct tg_txn tg_txn;					  /* txn/txn.h */
typedef struct tg_snapshot tg_snapshot;			  /* txn/snapshot.h */
typedef struct tg_writer tg_writer;				  /* txn/writer.h */
typedef struct tg_wait tg_wait;					  /* txn/wait.h */
typedef struct tg_conflict tg_conflict;			  /* txn/conflict.h */

/* A version of a row: table/version.h has the meaning of the bits. */
typedef uint64_t tg_version;

#define TG_VERSION_NONE ((tg_version) 0)

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

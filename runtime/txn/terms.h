/*
 * terms.h
 *	  The terms in which the host and transactions talk: kinds, levels, snapshots, writers, locks of
 *	  rows, waits, conflicts.
 */
#ifndef TG_TERMS_H
#define TG_TERMS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/mem/claim.h"
#include "runtime/table/names.h"

typedef struct tg_txn tg_txn;				/* txn.h */
typedef struct tg_exclusions tg_exclusions; /* horizon.h */
typedef struct tg_hidden_row tg_hidden_row; /* index_spec.h */

/* Ordinary transactions, and Tsurugi's kinds (kinds.h). */
typedef enum tg_txn_kind
{
	TG_TXN_ORDINARY,
	TG_TXN_SHORT,
	TG_TXN_LONG,
	TG_TXN_READ_ONLY
} tg_txn_kind;

typedef enum tg_isolation
{
	TG_READ_COMMITTED,
	TG_REPEATABLE_READ,
	TG_SERIALIZABLE
} tg_isolation;

#define TG_TXN_LABEL_BYTES 64 /* with the terminator; longer labels are cut */

/*
 * A statement's view: it sees commits up to time, except excluded ones, and the writes of earlier
 * commands of transaction txn.  Copied freely; valid while its time is published.
 */
typedef struct tg_snapshot
{
	tg_time time;
	uint32_t txn;				   /* own descriptor's number (the session's id) */
	uint32_t command;			   /* own writes of smaller commands are visible */
	const tg_exclusions *excluded; /* the owner's memory; NULL: none, the usual case */
	/*
	 * R5: what has begun or ended up to here needs no flush; not after time.  A session that
	 * answers to a client sets it, with its number; 0 is always right, and slow.
	 */
	tg_time flushed;
	uint32_t reader;
} tg_snapshot;

/* The writer: session and transaction, with the subtransaction and command of the write. */
typedef struct tg_writer
{
	tg_session *session;
	tg_txn *txn;
	uint32_t command;
	unsigned subtxn;
	tg_claim claim;				 /* TG_DATA; TG_ESSENTIAL for deletes */
	const tg_hidden_row *hidden; /* of the row to be written or looked for; NULL: it has none */

	/*
	 * an insertion that meets a unique key will not be the last action: it probes before it writes
	 */
	bool probes;
} tg_writer;

/* The strength of a row lock, as PostgreSQL defines it; row_lock.h has the table of conflicts. */
typedef enum tg_lock_mode
{
	TG_LOCK_KEY_SHARE,	   /* the row keeps its key */
	TG_LOCK_SHARE,		   /* the row stays as it is */
	TG_LOCK_NO_KEY_UPDATE, /* as an UPDATE that keeps the key */
	TG_LOCK_UPDATE		   /* as an UPDATE that changes the key, or a DELETE */
} tg_lock_mode;

/* The reason for a wait. */
typedef enum tg_wait_kind
{
	TG_WAIT_ROW,	  /* another transaction has written or locked a row, or a key */
	TG_WAIT_TURN,	  /* the same, behind others in the row's queue */
	TG_WAIT_OUTCOME,  /* another transaction's commit is under way */
	TG_WAIT_PRESERVE, /* a LONG preserves the area to be written or read */
	TG_WAIT_WRITER,	  /* a LONG's start: a transaction writes in its preserve */
	TG_WAIT_LONG	  /* a LONG's start: another LONG goes first */
} tg_wait_kind;

/*
 * The transaction that holds what a writer wants, or whose outcome a reader has to know (TG_BUSY).
 * For a write that met a unique key, also the place (TG_EXISTS, and TG_BUSY of a write that makes a
 * version).
 */
typedef struct tg_wait
{
	uint64_t host;	 /* of the holder */
	unsigned subtxn; /* its subtransaction's number, 0: top level or later than TG_SUBTXN_LAST */
	unsigned txn;	 /* its descriptor's number */
	tg_wait_kind kind;
	/* The wait is for the row itself, behind those that wait for it already (row_lock.h, 7). */
	bool queues;
	tg_lock_mode mode; /* if it queues: how the row is to be held */
	/* If it queues: the row; else the row that has the key, or may turn out to have it. */
	uint32_t row;
	tg_index *index; /* of the key; NULL: the primary key's, or no key is concerned */
} tg_wait;

/*
 * The reason why a transaction cannot be serialized: a change that another one has committed since.
 */
typedef enum tg_conflict_kind
{
	TG_CONFLICT_UPDATED,		 /* a row to be written was changed */
	TG_CONFLICT_DELETED,		 /* or deleted */
	TG_CONFLICT_ROW,			 /* a row that was read was changed or deleted */
	TG_CONFLICT_KEY,			 /* a key that was found absent was inserted */
	TG_CONFLICT_RANGE,			 /* a row of a range of keys was inserted, changed or deleted */
	TG_CONFLICT_TABLE,			 /* likewise of a table that was read as a whole */
	TG_CONFLICT_UNKNOWN,		 /* any change: memory was too short to note the reads */
	TG_CONFLICT_TAKEN,			 /* SHORT: another transaction holds a row to be written */
	TG_CONFLICT_PRESERVED_WRITE, /* a LONG preserves the area to be written */
	TG_CONFLICT_PRESERVED_READ,	 /* a LONG preserves an area that was read (S3, S4) */
	TG_CONFLICT_EARLIER_LONG,	 /* a LONG has read in the preserve of an earlier LONG (L3) */
	TG_CONFLICT_STORED_ANEW,	 /* a table to be read was emptied, or its rows were stored anew */
	TG_CONFLICT_COUNT
} tg_conflict_kind;

typedef struct tg_conflict
{
	tg_conflict_kind kind;
	uint32_t relation;	/* the host's number of the table; 0 if unknown */
	uint32_t row;		/* to be written, and held or preserved by another; TG_ROW_MAX if unknown */
	tg_version version; /* committed, begun or ended since; TG_VERSION_NONE if unknown */
	tg_time time;		/* of the commit that did it (author.h); 0 if unknown or open */

	/* the host word of the LONG that preserves the area, or of the row's holder; otherwise 0 */
	uint64_t other;
} tg_conflict;

#define TG_TXN_TABLES_MAX 8

/* A table in which a transaction has written or locked rows, or was about to. */
typedef struct tg_target
{
	uint32_t relation; /* the host's number; the table may be gone */
	bool is_written;   /* a row of it was written, and the write was not undone */
} tg_target;

#endif /* TG_TERMS_H */

/*
 * reads.h
 *	  The read set of a SERIALIZABLE transaction, for validation (S1, S2).
 *
 * A read set belongs to one transaction; only its owner uses it, in its lane.  Per table it notes
 * versions, keys that were not there, ranges of keys, or the whole table, and holds a reference on
 * the table.
 *
 * Noting a read never fails and is never lost.  When memory is short or a table's notes are full,
 * they become coarser (version -> chunk -> table, finally everything).  Coarser notes may make
 * validation fail without need, but never succeed wrongly.
 */
#ifndef TG_READS_H
#define TG_READS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/index/index.h"
#include "runtime/table/table.h"

typedef struct tg_reads tg_reads; /* opaque: see reads_internal.h */

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

/* An empty read set.  TG_NO_MEMORY. */
extern tg_status tg_reads_create(tg_session *session, tg_reads **reads_out) TG_MUST_USE;
extern void tg_reads_destroy(tg_session *session, tg_reads *reads);

/*
 * Notes a version that the snapshot sees.  True if it was new, so that it may be forgotten again;
 * false for the transaction's own versions and for those already noted.  Inside an epoch.
 */
extern bool tg_reads_add_version(tg_session *session, tg_reads *reads, tg_version version);

/* Notes a key of which the snapshot sees no row; index NULL: of the primary key. */
extern void tg_reads_add_key(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index, const void *key,
							 size_t key_bytes);

/*
 * Notes a whole table, with the absence of other rows.  tentative: the note may be forgotten again,
 * so further reads of the table are noted as well; another call, not tentative, makes it final.
 */
extern void tg_reads_add_table(tg_session *session, tg_reads *reads, tg_table *table, bool tentative);

/*
 * Notes a range of keys of an index (NULL: of the primary key), with the bounds of a cursor that is
 * about to begin.  The result names the range for the next two calls; it is valid as long as the
 * read set, even if the range is merged into something coarser.
 */
typedef struct tg_read_range tg_read_range;
extern tg_read_range *tg_reads_add_range(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index,
										 const tg_btree_cursor *cursor);

/* The cursor will not go on: the keys behind its position were not read. */
extern void tg_reads_end_range(tg_reads *reads, tg_table *table, tg_read_range *range, const tg_btree_cursor *cursor);

/*
 * Forget a note, of which no client has been told anything and which is going to be read again: a
 * range; a table, noted tentatively; the version noted last.  A note that has been merged into
 * something coarser stays.
 */
extern void tg_reads_forget_range(tg_reads *reads, tg_table *table, tg_read_range *range);
extern void tg_reads_forget_table(tg_reads *reads, tg_table *table);
extern void tg_reads_forget_version(tg_reads *reads, tg_version version);

extern bool tg_reads_is_empty(const tg_reads *reads);

/*
 * For several sessions that read in one transaction, each with a read set of its own.  follow: the
 * set belongs to the transaction of this number, not to its session's; to be called before anything
 * is noted.  merge: another set of the same transaction is merged into this one, and destroyed.
 */
extern void tg_reads_follow(tg_reads *reads, unsigned txn);
extern void tg_reads_merge(tg_session *session, tg_reads *reads, tg_reads *others);

/* --- validation ------------------------------------------------------------------ */

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

/*
 * Validation: has another transaction's commit in (from, upto] changed anything that was read at
 * from?  upto is the transaction's own C, or has been loaded from the clock.
 */
extern void tg_validation_begin(tg_reads *reads, tg_time from, tg_time upto, bool upto_is_own);

/*
 * To be called next: the commits up to from, and up to upto, that were not seen, or will not be
 * (M2).  Both sets have to stay until the validation is over.
 */
extern void tg_validation_exclude(tg_reads *reads, const tg_exclusions *from, const tg_exclusions *upto);

/*
 * One step, of a few hundred rows.  TG_OK: nothing has changed; TG_CHANGED: *conflict_out says
 * what; TG_AGAIN: call again; TG_BUSY: wait for the outcome of a commit, then call again.  Outside
 * an epoch.
 */
extern tg_status tg_validation_step(tg_session *session, tg_reads *reads, tg_conflict *conflict_out,
									tg_wait *wait_out) TG_MUST_USE;

#endif /* TG_READS_H */

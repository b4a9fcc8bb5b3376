/*
 * reads.h
 *	  What a SERIALIZABLE transaction has read, for validation (S1, S2).
 *
 * A read set belongs to one transaction and is touched by its owner alone, in
 * its lane.  It remembers versions, keys that were not there, ranges of keys and
 * whole tables, per table, and holds a reference on each table.
 *
 * Noting a read never fails and never gets lost: where memory is short or a
 * table's part is full, the part gets coarser (version -> chunk -> table, at
 * last everything), which may make validation fail for nothing, but never pass
 * wrongly.
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

/* What for. */
typedef enum tg_wait_kind
{
	TG_WAIT_ROW,	  /* somebody has written or locked a row, or a key */
	TG_WAIT_OUTCOME,  /* somebody's commit is under way */
	TG_WAIT_PRESERVE, /* a LONG preserves what is to be written or read */
	TG_WAIT_WRITER,	  /* a LONG's start: somebody writes what it preserves */
	TG_WAIT_LONG	  /* a LONG's start: another LONG goes first */
} tg_wait_kind;

/*
 * Who holds what a writer wants, or has to end before a reader knows what it
 * sees (TG_BUSY); and of a write that met a unique key, where (TG_EXISTS, and TG_BUSY of
 * a write that makes a version).
 */
typedef struct tg_wait
{
	uint64_t host;	 /* of the holder */
	unsigned subtxn; /* its subtransaction's number, 0: top level or later than TG_SUBTXN_LAST */
	unsigned txn;	 /* its descriptor's number */
	tg_wait_kind kind;
	uint32_t row;	 /* that has the key, or may turn out to have it */
	tg_index *index; /* whose key it is; NULL: the primary key's, or nobody's */
} tg_wait;

/* An empty one.  TG_NO_MEMORY. */
extern tg_status tg_reads_create(tg_session *session, tg_reads **reads_out) TG_MUST_USE;
extern void tg_reads_destroy(tg_session *session, tg_reads *reads);

/*
 * A version that the snapshot sees.  True if that was news, and may be forgotten
 * again; false for the transaction's own versions and for what is noted already.  Inside an epoch.
 */
extern bool tg_reads_add_version(tg_session *session, tg_reads *reads, tg_version version);

/* A key that the snapshot sees no row of; index NULL: of the primary key. */
extern void tg_reads_add_key(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index, const void *key,
							 size_t key_bytes);

/*
 * Every row of a table, there or not.  Tentative: it may be forgotten again, so
 * what else is read of the table is noted as well; one call more makes it final.
 */
extern void tg_reads_add_table(tg_session *session, tg_reads *reads, tg_table *table, bool tentative);

/*
 * A range of keys of an index (NULL: of the primary key), as a cursor has it
 * that is about to begin.  What is returned names it for the next two calls;
 * valid as long as the read set, whatever becomes of it.
 */
typedef struct tg_read_range tg_read_range;
extern tg_read_range *tg_reads_add_range(tg_session *session, tg_reads *reads, tg_table *table, tg_index *index,
										 const tg_btree_cursor *cursor);

/* The cursor will not go on: what lies behind its position was not read. */
extern void tg_reads_end_range(tg_reads *reads, tg_table *table, tg_read_range *range, const tg_btree_cursor *cursor);

/*
 * Nobody has been told anything of what was noted, and it is going to be read
 * again: a range; a table, noted tentatively; the version noted last.  What
 * has become part of something coarser stays.
 */
extern void tg_reads_forget_range(tg_reads *reads, tg_table *table, tg_read_range *range);
extern void tg_reads_forget_table(tg_reads *reads, tg_table *table);
extern void tg_reads_forget_version(tg_reads *reads, tg_version version);

extern bool tg_reads_is_empty(const tg_reads *reads);

/*
 * For several sessions that read in one transaction, each with a set of its own: the set is of the transaction of this number, not of
 * its session's, before anything is noted; and another set of the transaction becomes part of this one, and is gone.
 */
extern void tg_reads_follow(tg_reads *reads, unsigned txn);
extern void tg_reads_merge(tg_session *session, tg_reads *reads, tg_reads *others);

/* --- validation ------------------------------------------------------------------ */

/* Why a transaction cannot be serialized: what somebody else's commit has changed since its snapshot. */
typedef enum tg_conflict_kind
{
	TG_CONFLICT_UPDATED,		 /* a row that is to be written was changed */
	TG_CONFLICT_DELETED,		 /* or deleted */
	TG_CONFLICT_ROW,			 /* of what was read: a row was changed or deleted */
	TG_CONFLICT_KEY,			 /* a key that was not there was inserted */
	TG_CONFLICT_RANGE,			 /* a row of a range of keys was inserted, changed or deleted */
	TG_CONFLICT_TABLE,			 /* the same of a table read as a whole */
	TG_CONFLICT_UNKNOWN,		 /* something: memory was too short to remember what was read */
	TG_CONFLICT_TAKEN,			 /* SHORT: a row to be written is held by somebody else */
	TG_CONFLICT_PRESERVED_WRITE, /* what is to be written is preserved by a LONG */
	TG_CONFLICT_PRESERVED_READ,	 /* what was read is preserved by a LONG (S3, S4) */
	TG_CONFLICT_EARLIER_LONG,	 /* a LONG has read what an earlier LONG preserves (L3) */
	TG_CONFLICT_STORED_ANEW,	 /* a table to be read was emptied, or its rows were stored anew */
	TG_CONFLICT_COUNT
} tg_conflict_kind;

typedef struct tg_conflict
{
	tg_conflict_kind kind;
	uint32_t relation;	/* the host's number of the table; 0 if unknown */
	uint32_t row;		/* that is to be written, where somebody else holds or preserves it; TG_ROW_MAX if unknown */
	tg_version version; /* a committed one that has begun or ended since; TG_VERSION_NONE if unknown */
	tg_time time;		/* of the commit that did it (author.h); 0 if unknown, or if it is open */
	uint64_t
		other; /* the other transaction's host word: of a LONG that preserves the area, or who holds a row; else 0 */
} tg_conflict;

/*
 * Validation: has anybody else's commit in (from, upto] changed what was read at
 * from?  upto is the transaction's own C, or has been loaded from the clock.
 */
extern void tg_validation_begin(tg_reads *reads, tg_time from, tg_time upto, bool upto_is_own);

/* Next: which commits up to from, and up to upto, were not seen, or will not be (M2).  Both stay until it is over. */
extern void tg_validation_exclude(tg_reads *reads, const tg_exclusions *from, const tg_exclusions *upto);

/*
 * One step, of some hundred rows.  TG_OK: nothing has changed; TG_CHANGED:
 * *conflict_out; TG_AGAIN: call again; TG_BUSY: wait for the outcome of a commit,
 * then call again.  Outside an epoch.
 */
extern tg_status tg_validation_step(tg_session *session, tg_reads *reads, tg_conflict *conflict_out,
									tg_wait *wait_out) TG_MUST_USE;

#endif /* TG_READS_H */

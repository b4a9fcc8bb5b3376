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

#include "runtime/base/names.h"
#include "runtime/base/status.h"

typedef struct tg_btree_cursor tg_btree_cursor; /* btree.h */
typedef struct tg_reads tg_reads;				/* opaque: see reads_internal.h */

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
 * The host's numbers of the tables that were read, one after the other; *at_inout is NULL at first.
 * If everything counts as read, these are not all.
 */
extern bool tg_reads_next_relation(const tg_reads *reads, const void **at_inout, uint32_t *relation_out);
extern bool tg_reads_is_everything(const tg_reads *reads);

/*
 * How many rows were read, and keys that were not there, if nothing else was; UINT32_MAX: ranges,
 * tables or chunks are noted.
 */
extern uint32_t tg_reads_row_count(const tg_reads *reads);

/*
 * For several sessions that read in one transaction, each with a read set of its own.  follow: the
 * set belongs to the transaction of this number, not to its session's; to be called before anything
 * is noted.  merge: another set of the same transaction is merged into this one, and destroyed.
 */
extern void tg_reads_follow(tg_reads *reads, unsigned txn);
extern void tg_reads_merge(tg_session *session, tg_reads *reads, tg_reads *others);

/* --- validation ------------------------------------------------------------------ */

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

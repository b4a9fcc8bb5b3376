/*
 * carry.h
 *	  Rows that are stored anew take their past with them.
 *
 * For a host that writes a table anew while no other transaction may use it.  A snapshot from
 * before sees in the new storage exactly what it would have seen in the old one.
 */
#ifndef TG_CARRY_H
#define TG_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/reclaim/horizon.h"

typedef struct tg_write_log tg_write_log; /* write_log.h */

/* The times of a version, as they go into the new storage. */
typedef struct tg_past
{
	tg_version version; /* in the old storage; valid in the epoch that it was found in */
	tg_time begin;
	tg_time end; /* NEVER: no commit of another transaction has ended it */
	uint32_t successor;
	uint32_t life;
	bool is_last; /* it has ended, and is the last of its life */
} tg_past;

typedef struct tg_carrier
{
	tg_session *session;
	tg_table *from;
	tg_table *to;
	uint32_t txn;			/* the own transaction's number */
	tg_write_log **garbage; /* the caller's: versions that will be garbage one day */
	tg_readings readings;	/* as of the beginning */
	tg_time upto;			/* likewise: no carried version has ended later */
} tg_carrier;

/*
 * In the old storage no other transaction has an open write, or will write.  The new storage has no
 * secondary index yet, and is used by no other transaction.  The log is NULL at first.  Outside an
 * epoch, as the other functions.
 */
extern void tg_carrier_init(tg_carrier *carrier, tg_session *session, tg_table *from, tg_table *to, uint32_t txn,
							tg_write_log **garbage);

/* For rows that a snapshot of now sees: whether there is more to carry than one settled version. */
extern void tg_carrier_look(const tg_carrier *carrier, const uint32_t *rows, unsigned count, bool *has_past_out);

/*
 * Searches, from this row on, for the next row with something to carry that the snapshot, of now,
 * does not see.  False: not found yet, or, if *row_inout is TG_ROW_MAX then, there are no more.
 */
extern bool tg_carrier_find_ended(const tg_carrier *carrier, const tg_snapshot *snapshot, uint32_t *row_inout);

/*
 * The versions to be carried of a row, newest first: committed ones that a snapshot sees, or will.
 * Returns their number; those beyond the capacity are only counted.  *own_out: the own transaction
 * has written the row.  Inside an epoch.
 */
extern unsigned tg_carrier_past(const tg_carrier *carrier, uint32_t row, tg_past *past, unsigned capacity,
								bool *own_out);

/* The past of a row whose only version is settled. */
extern const tg_past tg_past_settled;

/*
 * Stores a version of a row.  The oldest one comes first: then *row_inout is TG_ROW_MAX, and the
 * row's key is needed, if the table has one.  values and nulls as for tg_version_store.  TG_EXISTS:
 * the key is there; TG_NO_MEMORY, TG_TOO_LARGE, TG_FULL.  After an error the new storage is
 * unusable.
 */
extern tg_status tg_carrier_store(const tg_carrier *carrier, const tg_past *past, const void *key, size_t key_bytes,
								  const tg_value *values, const bool *nulls, uint32_t *row_inout) TG_MUST_USE;

/*
 * Hands the garbage to the collector: the new storage is going to stay.  To be called before the
 * own transaction's log is given.  Cannot fail; NULL is allowed.
 */
extern void tg_carried_give(tg_write_log *garbage);

#endif /* TG_CARRY_H */

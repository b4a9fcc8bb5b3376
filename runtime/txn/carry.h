/*
 * carry.h
 *	  Rows that are stored anew take their past with them.
 *
 * For a host that writes a table anew while it alone may use it: who has a snapshot from before finds in the new storage
 * what he would have found in the old one.
 */
#ifndef TG_CARRY_H
#define TG_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/table.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/txn.h"

/* The times of a version, as they go into the new storage. */
typedef struct tg_past
{
	tg_version version; /* in the old one; valid in the epoch that it was found in */
	tg_time begin;
	tg_time end; /* NEVER: by nobody else's commit */
	uint32_t successor;
	uint32_t life;
	bool is_last; /* of a life, and ended */
} tg_past;

typedef struct tg_carrier
{
	tg_session *session;
	tg_table *from;
	tg_table *to;
	uint32_t txn;			/* own transaction's number */
	tg_write_log **garbage; /* the caller's: what somebody can see now, and nobody will */
	tg_readings readings;	/* as of the beginning */
	tg_time upto;			/* so is this: nothing that is carried has ended later */
} tg_carrier;

/*
 * Nobody else has written to the old storage and not ended, or will; nobody else uses the new one, which has no secondary index
 * yet.  The log is NULL at first.  Outside an epoch, as the rest.
 */
extern void tg_carrier_init(tg_carrier *carrier, tg_session *session, tg_table *from, tg_table *to, uint32_t txn,
							tg_write_log **garbage);

/* Of rows that a snapshot of now sees: those of which more has to be known than that it is there. */
extern void tg_carrier_look(const tg_carrier *carrier, const uint32_t *rows, unsigned count, bool *has_past_out);

/*
 * Goes from a row to the next one, it may be this, that the snapshot, of now, does not see though there is something to be
 * carried of it.  False: not found yet, or, if *row_inout is TG_ROW_MAX then, none is left.
 */
extern bool tg_carrier_find_ended(const tg_carrier *carrier, const tg_snapshot *snapshot, uint32_t *row_inout);

/*
 * What is to be carried of a row: committed versions that somebody sees, or will, newest first.  Returns how many there
 * are; of those beyond the capacity nothing is said.  *own_out: the own transaction has written the row.  Inside an epoch.
 */
extern unsigned tg_carrier_past(const tg_carrier *carrier, uint32_t row, tg_past *past, unsigned capacity,
								bool *own_out);

/* The past of a row that has none but to be there. */
extern const tg_past tg_past_settled;

/*
 * Stores a version of a row, the oldest one first: then *row_inout is TG_ROW_MAX, and its key, if the table has one, is
 * needed.  values and nulls as of tg_version_store.  TG_EXISTS: the key is there; TG_NO_MEMORY, TG_TOO_LARGE, TG_FULL.  After an error
 * the new storage is no good.
 */
extern tg_status tg_carrier_store(const tg_carrier *carrier, const tg_past *past, const void *key, size_t key_bytes,
								  const tg_value *values, const bool *nulls, uint32_t *row_inout) TG_MUST_USE;

/* Before the own transaction's log is given: the new storage is going to stay.  Cannot fail; NULL is allowed. */
extern void tg_carried_give(tg_write_log *garbage);

#endif /* TG_CARRY_H */

/*
 * undecided.h
 *	  Which records count: the transactions that the journal has records of, and no outcome yet.
 *
 * A process that goes through the frames of the journal passes each of them on, in order.  It is
 * told which transactions a frame decides, and a roster gets the definitions that count:
 *
 *	PART, NOW	at once: a PART only adds storages and indexes, which mean nothing by themselves
 *	COMMIT		at once
 *	WITH		when the host's transaction has committed
 *	CLEAN START	ends every transaction that is undecided, except those that the record names, and
 *				what the roster has left over
 *	GIVEN UP	ends the one with PARTs that it names
 *
 * Storages that a transaction has created in PARTs end with it, if it is aborted.
 *
 * In the process's memory.  One thread.
 */
#ifndef TG_UNDECIDED_H
#define TG_UNDECIDED_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/record.h"

typedef struct tg_roster tg_roster; /* roster.h */

/* The parts of a record, where they lie. */
typedef struct tg_record
{
	tg_record_kind kind;
	uint64_t first; /* position of the transaction's first PART; 0: none, or in a PART, this one */
	const void *definitions;
	const void *rows;
	size_t definition_bytes;
	size_t row_bytes;
	const void *kept; /* CLEAN START: numbers of transactions that go on */
	size_t kept_bytes;
} tg_record;

/* Takes a record apart.  TG_DAMAGED: it is none, or not of a format that is read. */
extern tg_status tg_record_read(const void *data, size_t count, tg_record *record_out) TG_MUST_USE;

/* Why a record could not be read, a constant: that its format is a later one, or otherwise. */
extern const char *tg_record_fault(const void *data, size_t count, const char *otherwise);

/* Of a CLEAN START: whether the host's transaction with this number goes on. */
extern bool tg_record_keeps(const tg_record *record, uint32_t xid);

typedef struct tg_undecided_txn
{
	uint32_t xid;		  /* the host's, or 0 */
	uint64_t first;		  /* its first PART, or 0 */
	uint64_t last;		  /* its last one, so far */
	uint64_t with;		  /* its WITH, or 0 */
	tg_bytes definitions; /* of WITH */
} tg_undecided_txn;

typedef struct tg_undecided
{
	tg_roster *roster;
	uint64_t since; /* what counts from an earlier position is in the roster */
	tg_undecided_txn *txns;
	size_t count;
	size_t capacity;
} tg_undecided;

/* What a frame has decided: these records of a transaction count; 0: none. */
typedef struct tg_decision
{
	uint64_t first; /* the PARTs with this first one */
	uint64_t with;	/* the WITH at this position */
} tg_decision;

/* Begins with none.  The roster stays the caller's, and has what counts from before since. */
extern void tg_undecided_begin(tg_undecided *undecided, tg_roster *roster, uint64_t since);
extern void tg_undecided_end(tg_undecided *undecided);

/*
 * The next frame, with its record.  TG_DAMAGED: the record, or its definitions do not fit the
 * roster; what can be done is done.  TG_NO_MEMORY: it may be passed on again, before any other.
 */
extern tg_status tg_undecided_frame(tg_undecided *undecided, const tg_journal_frame *frame, const void *record,
									tg_decision *decision_out) TG_MUST_USE;

/*
 * Forgets in the roster what has ended, but what a transaction that is undecided may name.  Between
 * two frames, when what they have decided is done.
 */
extern void tg_undecided_forget(const tg_undecided *undecided);

/* The position of the first record of those that are undecided; UINT64_MAX: there are none. */
extern uint64_t tg_undecided_least(const tg_undecided *undecided);

/*
 * Appends what makes the same, with its roster, of storages that have not ended.  TG_NO_MEMORY.
 */
extern tg_status tg_undecided_write(const tg_undecided *undecided, tg_bytes *bytes) TG_MUST_USE;

/*
 * Makes that again; only frames behind those that it has seen may follow.  The roster is the
 * caller's.  TG_NO_MEMORY, TG_DAMAGED: there is nothing to end.
 */
extern tg_status tg_undecided_read(const void *data, size_t count, tg_undecided *undecided_out) TG_MUST_USE;

#endif /* TG_UNDECIDED_H */

/*
 * shared_internal.h
 *	  Transactions that several sessions work in: internals, for shared*.c only.
 */
#ifndef TG_SHARED_INTERNAL_H
#define TG_SHARED_INTERNAL_H

#include "runtime/base/latch.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn_internal.h"

/* Set in the host word of a shared transaction, never in one of the host. */
#define TG_HOST_SHARED ((uint64_t) 1 << 63)

struct tg_shared
{
	uint64_t ending TG_CACHE_ALIGNED; /* atomic */
	uint64_t deadline_us;			  /* atomic: of the lease, or of the outcome */
	uint32_t state;					  /* atomic: tg_shared_state */

	/* under the latch */
	bool in_use;
	uint32_t open_count;
	tg_handle handle;
	uint64_t role;
	tg_shared_reason reason;
	char text[TG_SHARED_TEXT_BYTES];

	/* constant while it is in use */
	tg_txn *txn;
	uint64_t host;
	uint64_t lease_us;
	uint64_t owner;
	tg_txn_kind kind;
	tg_isolation isolation;
	unsigned table_count;
	uint32_t tables[TG_SHARED_TABLES_MAX];

	/* under the lane */
	tg_reads *reads;
	tg_areas *include; /* READ ONLY */
	tg_areas *exclude;
	tg_time snapshot; /* 0: none yet, or one for each operation */
	unsigned snapshot_entry;
	uint64_t drawn_us; /* atomic: when the snapshot was drawn */
	uint32_t command;
	unsigned operation_entry; /* published by the session at work */
	bool entered;			  /* it entered the lane for the operation */
	tg_conflict conflict;	  /* written before the state that publishes it */
	uint64_t logged;		  /* likewise: where the host's record of its commit ends; 0: there is none */
	tg_operation end;
};

/*
 * Of a session that waits for a shared transaction's end.  The session writes it, the session that
 * ends the transaction reads it.
 */
typedef struct tg_shared_waiter
{
	uint64_t host; /* atomic: host word of that transaction; 0: the session waits for none */
	void *waiter;  /* atomic: written before host */
} TG_CACHE_ALIGNED tg_shared_waiter;

/* All shared transactions; in the arena.  shared_place.c gives places out and takes them back. */
typedef struct tg_shareds
{
	tg_latch latch;
	unsigned first_txn;
	uint64_t incarnation; /* under the latch */
	tg_shared place[TG_SHARED_MAX];
	tg_shared_waiter waiters[]; /* first_txn of them: one for each session */
} tg_shareds;

extern tg_shareds *tg_shared_all;

/*
 * Whether its place is free for others: it has ended, no session has it open, and its outcome need
 * not be kept any more.  Under the latch.
 */
extern bool tg_shared_may_go(const tg_shared *shared, uint64_t now);

static inline uint64_t
tg_shared_number(const tg_shared *shared)
{
	return shared->host & ~TG_HOST_SHARED;
}

static inline bool
tg_shared_has_ended(const tg_shared *shared)
{
	uint32_t state = tg_load_acquire(&shared->state);

	return state == TG_SHARED_STORED || state == TG_SHARED_ABORTED;
}

static inline bool
tg_shared_waits_for_start(const tg_shared *shared)
{
	return tg_load_acquire(&shared->state) == TG_SHARED_WAITING;
}

/* Whether its reads are noted, and validated. */
static inline bool
tg_shared_is_validated(tg_txn_kind kind, tg_isolation isolation)
{
	return kind == TG_TXN_SHORT || (kind == TG_TXN_ORDINARY && isolation == TG_SERIALIZABLE);
}

static inline bool
tg_shared_tracks(const tg_shared *shared)
{
	return tg_shared_is_validated(shared->kind, shared->isolation);
}

#endif /* TG_SHARED_INTERNAL_H */

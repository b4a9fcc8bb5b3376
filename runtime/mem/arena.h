/*
 * arena.h
 *	  The shared memory that everything lives in.
 *
 * One mapping per server, made before any child exists, so that it lies at the
 * same address in every process and plain pointers work everywhere.  Address
 * space is reserved once; a limit that may change at any time bounds what is
 * used of it.  Past the limit TG_DATA claims are refused; TG_ESSENTIAL claims (what DELETE,
 * rollback, commit and collection need) go on into the reserve, TG_RESERVE times the limit (or what
 * was in use when the limit was lowered, if that is more), as far as address space goes.
 *
 * Before the limit, claims are refused by rank.  The last part of the limit, reserved_percent, is
 * for the collection and for privileged sessions.  A transaction that has claimed much is refused
 * before one that has claimed little: the last 32nd below the reserved part is for small ones.
 *
 *	  0 ------------------------------------+-------- 32nd --------+---- reserved ----+ limit
 *	    TG_BULK ------------------------> refused                  |                  |
 *	    TG_DATA ----------------------------------------------> refused               |
 *	    TG_DATA of a privileged session, TG_MAINTENANCE ------------------------> refused
 *
 * What counts against the limit are pages in use: objects, free parts of their
 * pages, and sessions' caches.  The map of pages (17 bytes for each ever used)
 * and the sessions' fixed parts do not count.
 */
#ifndef TG_ARENA_H
#define TG_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"

typedef struct tg_session tg_session; /* session.h */

#define TG_PAGE_BYTES 4096

/*
 * The reserve is never all that is claimed, but enough for a DELETE of everything: a header (32 bytes) and an entry in a log (16)
 * for each version, of which the smallest takes 16 bytes (a column of 4, the row's number, its head).
 */
#define TG_RESERVE 3

/* What memory is used for; the accounts that views show. */
typedef enum tg_use
{
	TG_USE_TABLE,	/* table structures, row heads, directories */
	TG_USE_CHUNK,	/* column chunks */
	TG_USE_HEADER,	/* version headers */
	TG_USE_BLOB,	/* long values */
	TG_USE_INDEX,	/* B+tree nodes */
	TG_USE_LOG,		/* write logs of transactions, garbage lists */
	TG_USE_LOCK,	/* row locks without a write */
	TG_USE_JOB,		/* jobs, tasks, output buffers */
	TG_USE_RUNTIME, /* sessions, queues and other fixed parts */
	TG_USE_COUNT
} tg_use;

typedef enum tg_claim
{
	TG_DATA,		/* refused where the reserved part begins */
	TG_BULK,		/* refused somewhat before it: made of TG_DATA, see tg_claims_begin */
	TG_MAINTENANCE, /* refused at the limit: the collection's, and TG_DATA of a privileged session */
	TG_ESSENTIAL	/* may use the reserve */
} tg_claim;

/* Maps the arena.  Once per server, before any child is forked, single-threaded. */
typedef struct tg_arena_config
{
	size_t reserve_bytes;	   /* address space to reserve; falls back to limit_bytes and a quarter */
	size_t limit_bytes;		   /* the limit to begin with */
	unsigned reserved_percent; /* of it, for privileged sessions and the collection */
	unsigned session_max;	   /* number of sessions */
	bool huge_pages;		   /* ask for them, see arena_huge.c */
	bool one_process;		   /* nobody is forked that uses it: private memory */
} tg_arena_config;

extern tg_status tg_arena_create(const tg_arena_config *config) TG_MUST_USE;

/* Empties the arena, giving every page back.  Nobody may be attached. */
extern void tg_arena_reset(void);

/* Unmaps it (unit tests). */
extern void tg_arena_destroy(void);

/*
 * Sets the limit in bytes, effective at once, up or down; cut to what is
 * reserved.  Takes no latch, so the postmaster may call it.
 */
extern void tg_arena_limit_set(size_t limit_bytes);

/* Sets the reserved part of the limit, in percent, effective at once.  As tg_arena_limit_set. */
extern void tg_arena_reserved_set(unsigned percent);

/* A moment's figures, in bytes. */
typedef struct tg_arena_report
{
	size_t reserved;			  /* address space */
	size_t limit;				  /* tsurugi_fdw.memory as in force */
	size_t committed;			  /* pages in use, caches and free parts of them included */
	size_t peak;				  /* highest committed since start */
	size_t idle;				  /* free pages not yet returned to the system; bounded, see arena_pages.c */
	size_t used;				  /* live objects, all uses */
	size_t used_by[TG_USE_COUNT]; /* live objects by use */
	size_t huge;				  /* bytes that the system has backed by huge pages */
	size_t huge_declined;		  /* bytes that it was asked for in vain, since start */
	bool huge_asked;			  /* they are wanted, and the system knows them */
	bool huge_refused;			  /* but it does not give them to such memory */
	uint64_t refused;			  /* claims refused since start */
} tg_arena_report;

/*
 * Any thread; for views.  Sums over sessions at work are not of one moment.
 */
extern void tg_arena_report_get(tg_arena_report *report);

/* Two of the figures at the price of a load: for pacing. */
extern size_t tg_arena_committed(void);
extern size_t tg_arena_limit(void);

/* --- objects -------------------------------------------------------------- */

/*
 * Allocates, not zeroed.  NULL if refused.  The session's owner only.
 *
 * Aligned to the largest power of two that divides the size, up to
 * TG_PAGE_BYTES: a structure whose size is a multiple of its alignment gets
 * that.  At least to 8 bytes; from 257 bytes on to 16, from 1025 on to 64, from
 * 16385 on to TG_PAGE_BYTES, whatever the size.
 *
 * Occupies the size rounded up to 8 bytes up to 256, to a 16th of the next
 * lower power of two up to 16 KiB, to pages above.
 */
extern void *tg_alloc(tg_session *session, size_t bytes, tg_use use, tg_claim claim);
extern void *tg_alloc_zeroed(tg_session *session, size_t bytes, tg_use use, tg_claim claim);

/* Gives it back; it may be handed out again at once.  Any session, the use it was taken for. */
extern void tg_free(tg_session *session, void *object, tg_use use);

/* Bytes that the object really occupies. */
extern size_t tg_alloc_bytes(const void *object);

/*
 * From here to the end the session's claims are one transaction's: once they are more
 * than a 64th of the limit, its TG_DATA claims are TG_BULK.  So a
 * transaction that is too big for the memory is refused while others still find some.
 * The session's owner only.
 */
extern void tg_claims_begin(tg_session *session);
extern void tg_claims_end(tg_session *session);

/*
 * Whether no more than half of the memory that the object shares with others of its size is in
 * use: if all that lie so are allocated anew, and freed, whole spans of pages become free.
 */
extern bool tg_alloc_is_sparse(const void *object);

/* Gives the session's cached objects back to the arena.  The session's owner only. */
extern void tg_alloc_flush(tg_session *session);

/*
 * Gives back what is kept for the next claim: one free slab for each size class
 * and idle pages.  After it, and a flush of every session, committed is what
 * live objects need.  Any thread that holds no latch of TG_RANK_CLASS or above;
 * before a claim is refused it is done anyway.
 */
extern void tg_arena_trim(void);

/*
 * Asks the system ahead for the huge page that is likely to be used next, if there is one: for
 * a thread that nobody waits for, now and then.  Like tg_arena_trim.
 */
extern void tg_arena_prepare(void);

/*
 * Has pages put together that once were, or should have been, a huge page and are all in use again: one at most
 * in a call (0.3 ms), and none but after two rounds, a second apart if it is called every TG_TEND_US.  Like tg_arena_prepare.
 */
extern void tg_arena_mend(void);

/*
 * Gives back what has been idle for five to ten seconds, 8 MiB in a call (1 ms), if it is called every TG_TEND_US;
 * once it has been called more is kept idle, until tg_arena_trim.  Like tg_arena_prepare.
 */
extern void tg_arena_decay(void);

#define TG_TEND_US 20000

/* Checks every page, slab and list, in every build: for tests.  Nobody else may be at work. */
extern void tg_arena_check(void);

#endif /* TG_ARENA_H */

/*
 * arena.h
 *	  The shared memory that everything lives in; alloc.h has the objects in it.
 *
 * There is one mapping per server, made before any child exists, so that it lies at the same
 * address in every process and plain pointers work everywhere.  Address space is reserved once; a
 * limit, which may change at any time, bounds its use.  Past the limit TG_DATA claims are refused.
 * TG_ESSENTIAL claims (the needs of DELETE, rollback, commit and collection) continue into the
 * reserve, TG_RESERVE times the limit (or the memory in use when the limit was lowered, if that is
 * more), as far as address space permits.
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
 * Pages in use count against the limit: objects, free parts of their pages, and sessions' caches.
 * The map of pages (17 bytes for each page ever used) and the sessions' fixed parts do not count.
 */
#ifndef TG_ARENA_H
#define TG_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/use.h"

#define TG_PAGE_BYTES 4096

/*
 * Claims never use the whole reserve, but it has to suffice for a DELETE of everything: a header
 * (32 bytes) and a log entry (16) for each version, of which the smallest takes 16 bytes (a column
 * of 4, the row's number, its head).
 */
#define TG_RESERVE 3

/* Maps the arena.  Once per server, before any child is forked, single-threaded. */
typedef struct tg_arena_config
{
	size_t reserve_bytes;	   /* address space to reserve; if refused, limit_bytes and a quarter */
	size_t limit_bytes;		   /* the initial limit */
	unsigned reserved_percent; /* of it, for privileged sessions and the collection */
	unsigned session_max;	   /* number of sessions */
	bool huge_pages;		   /* ask for them, see arena_huge.c */
	bool one_process;		   /* no forked process uses it: private memory */
} tg_arena_config;

extern tg_status tg_arena_create(const tg_arena_config *config) TG_MUST_USE;

/* Empties the arena and gives every page back.  No process may be attached. */
extern void tg_arena_reset(void);

/* Unmaps it (unit tests). */
extern void tg_arena_destroy(void);

/*
 * Sets the limit in bytes, effective at once, up or down; cut to the reservation.  Takes no latch,
 * so the postmaster may call it.
 */
extern void tg_arena_limit_set(size_t limit_bytes);

/* Sets the reserved part of the limit, in percent, effective at once.  As tg_arena_limit_set. */
extern void tg_arena_reserved_set(unsigned percent);

/* Figures of one moment, in bytes. */
typedef struct tg_arena_report
{
	size_t reserved;			  /* address space */
	size_t limit;				  /* tsurugi_fdw.memory as in force */
	size_t committed;			  /* pages in use, including caches and free parts of pages */
	size_t peak;				  /* highest committed since start */
	size_t idle;				  /* free pages not returned to the system: see arena_pages.c */
	size_t used;				  /* live objects, all uses */
	size_t used_by[TG_USE_COUNT]; /* live objects by use */
	size_t huge;				  /* bytes that the system has backed by huge pages */
	size_t huge_declined;		  /* bytes for which it has declined them, since start */
	bool huge_asked;			  /* they are wanted, and the system knows them */
	bool huge_refused;			  /* but it does not give them for such memory */
	uint64_t refused;			  /* claims refused since start */
} tg_arena_report;

/* For views.  Any thread; sums over active sessions are not of one moment. */
extern void tg_arena_report_get(tg_arena_report *report);

/* Two of the figures, each at the price of a load: for pacing. */
extern size_t tg_arena_committed(void);
extern size_t tg_arena_limit(void);

/*
 * Gives back the memory that is kept for the next claims: one free slab for each size class, and
 * idle pages.  After it, and a flush of every session, committed is the need of live objects.  Any
 * thread that holds no latch of TG_RANK_CLASS or above.  The arena does this itself before it
 * refuses a claim.
 */
extern void tg_arena_trim(void);

/*
 * Asks the system in advance for huge pages that are likely to be used next, if there are any.  To
 * be called periodically by a thread that no session waits for.  Otherwise as tg_arena_trim.
 */
extern void tg_arena_prepare(void);

/*
 * Has the kernel collapse pages into a huge page that were one before, or should have been, and are
 * all in use again.  At most one per call (0.3 ms), and each only after two rounds, which are a
 * second apart if this is called every TG_TEND_US.  Otherwise as tg_arena_prepare.
 */
extern void tg_arena_mend(void);

/*
 * Gives back the pages that have been idle for half a minute to a minute, 8 MiB per call (1 ms), if
 * it is called every TG_TEND_US.  From its first call on more is kept idle, until tg_arena_trim.
 * Otherwise as tg_arena_prepare.
 */
extern void tg_arena_decay(void);

#define TG_TEND_US 20000

/*
 * Checks every page, slab and list, in every build: for tests.  No other thread may use the arena.
 */
extern void tg_arena_check(void);

#endif /* TG_ARENA_H */

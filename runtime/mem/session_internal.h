/*
 * session_internal.h
 *	  Shared by session.c, session_retire.c and arena.c.
 */
#ifndef TG_SESSION_INTERNAL_H
#define TG_SESSION_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/arena_internal.h"
#include "runtime/mem/session.h"

/* --- table and epochs: session.c -------------------------------------------- */

/* Bytes of the shared state for that many sessions. */
extern size_t tg_sessions_state_bytes(unsigned session_max);

/* Makes the table; caches and retirements are arrays of session_max, all zero. */
extern void tg_sessions_setup(void *state, unsigned session_max, tg_cache *caches, struct tg_retirement *retirements);

/*
 * Adds the accounts of all sessions, also closed ones.  Any thread; exact when no session is
 * active.
 */
extern void tg_sessions_used_sum(int64_t used_sums[TG_USE_COUNT]);

/* --- retirements: session_retire.c ------------------------------------------ */

typedef struct retire_block retire_block;

/* One session's retired objects, oldest first.  Owner only.  All zero: none. */
typedef struct tg_retirement
{
	retire_block *oldest;
	retire_block *newest; /* the one that is being filled */
	retire_block *spares; /* empty ones */
	uint32_t spare_count;
	uint32_t polled_ago; /* retirements since the last poll */
	size_t count;		 /* objects that wait */
} TG_CACHE_ALIGNED tg_retirement;

extern size_t tg_orphans_state_bytes(void);
extern void tg_orphans_setup(void *state);

/* Gives all of the session's blocks away.  Cannot fail. */
extern void tg_retirement_depart(tg_session *session);

#endif /* TG_SESSION_INTERNAL_H */

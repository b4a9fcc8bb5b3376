/*
 * circle.h
 *	  Circles of waits through shared transactions and PostgreSQL's locks.
 */
#ifndef TSURUGI_CIRCLE_H
#define TSURUGI_CIRCLE_H

#include "utils/timestamp.h"

#include "runtime/base/names.h"

/* The state of one wait; zeroed when it begins. */
typedef struct tsurugi_circle
{
	TimestampTz looked; /* time of the last search; 0: none yet */
	uint64 found;		/* the circle that it has found; 0: none */
} tsurugi_circle;

/*
 * Called repeatedly, whenever it is due, during a wait for a transaction without a lock of
 * PostgreSQL's.  Searches each deadlock_timeout, and raises 40P01 if the wait leads back to this
 * process.  The caller is outside an epoch.
 */
extern void tsurugi_circle_check(tsurugi_circle *circle, const tg_wait *wait);

/* Milliseconds until it must be called again. */
extern long tsurugi_circle_due_ms(const tsurugi_circle *circle);

#endif /* TSURUGI_CIRCLE_H */

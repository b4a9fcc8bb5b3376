/*
 * circle.h
 *	  Circles of waits through shared transactions and PostgreSQL's locks.
 */
#ifndef TSURUGI_CIRCLE_H
#define TSURUGI_CIRCLE_H

#include "utils/timestamp.h"

#include "runtime/runtime.h"

/* Of one wait; zeroed when it begins. */
typedef struct tsurugi_circle
{
	TimestampTz looked; /* 0: not yet */
	uint64 found;		/* what the last look has found; 0: none */
} tsurugi_circle;

/*
 * To be called again when it is due, by who waits, without a lock of PostgreSQL's, for a transaction: looks each deadlock_timeout, and
 * raises 40P01 if the wait leads back to this process.  Outside an epoch.
 */
extern void tsurugi_circle_check(tsurugi_circle *circle, const tg_wait *wait);

/* Milliseconds after which it is to be called again. */
extern long tsurugi_circle_due_ms(const tsurugi_circle *circle);

#endif /* TSURUGI_CIRCLE_H */

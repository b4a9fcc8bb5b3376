/*
 * snapshot.h
 *	  What a statement sees.
 */
#ifndef TG_SNAPSHOT_H
#define TG_SNAPSHOT_H

#include <stdint.h>

#include "runtime/base/names.h"

/*
 * A statement's view: it sees commits up to time, except excluded ones, and the writes of earlier
 * commands of transaction txn.  Copied freely; valid while its time is published.
 */
struct tg_snapshot
{
	tg_time time;
	uint32_t txn;				   /* own descriptor's number (the session's id) */
	uint32_t command;			   /* own writes of smaller commands are visible */
	const tg_exclusions *excluded; /* the owner's memory; NULL: none, the usual case */
	/*
	 * R5: what has begun or ended up to here needs no flush; not after time.  A session that
	 * answers to a client sets it, with its number; 0 is always right, and slow.
	 */
	tg_time flushed;
	uint32_t reader;
};

#endif /* TG_SNAPSHOT_H */

/*
 * parts.h
 *	  The operations of a large transaction, written by tasks of the pool, a part of a record each.
 *
 * The transaction's session begins, takes one part after the other, in the order of the writes, and
 * inserts it into the log; in the meantime tasks write the next ones.  What tasks cannot write, as
 * the pool has been stopped or the arena has no memory, the session writes.
 *
 *	begin -> next, next ... -> end
 *
 * All functions are the session's, outside an epoch.  Until the end the transaction neither writes
 * nor ends.
 */
#ifndef TG_PARTS_H
#define TG_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/operations.h"

typedef struct tg_parts tg_parts;

typedef struct tg_parts_config
{
	size_t bytes_max; /* of a part, but for its last operation */
	uint64_t owner;	  /* as of a job */
	void *waiter;	  /* for tg_host_wake: a part has been written, or is to be by the session */
} tg_parts_config;

/*
 * Begins to write a log, as of tg_operations_write.  TG_NOT_FOUND: that is not worth it;
 * TG_NO_MEMORY, TG_FULL, TG_STOPPED: tasks cannot write it now.
 */
extern tg_status tg_parts_begin(tg_session *session, tg_write_log *log, const tg_parts_config *config,
								tg_parts **parts_out) TG_MUST_USE;

/*
 * The next part, which stays until the next call; it begins with a table operation, as a record's
 * operations do.  TG_NOT_FOUND: there is none; TG_BUSY: not yet, the waiter will be woken;
 * TG_NO_MEMORY, TG_TOO_LARGE: as of tg_operations_write.
 */
extern tg_status tg_parts_next(tg_session *session, tg_parts *parts, const tg_bytes **part_out) TG_MUST_USE;

/* At any time.  No task looks at the log, or at a version, any more. */
extern void tg_parts_end(tg_session *session, tg_parts *parts);

#endif /* TG_PARTS_H */

/*
 * replay.h
 *	  Puts the contents of tables back in place, from records, while nobody reads them.
 *
 * The records come in the order of the log.  Rows have the ids that they had; each has one version,
 * which everybody sees.  Keys and indexes have no entries afterwards: they are built from the rows.
 */
#ifndef TG_REPLAY_H
#define TG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"

typedef struct tg_replay tg_replay;

/* The table with this storage id, or NULL. */
typedef tg_table *(*tg_replay_find)(void *context, uint64_t storage);

/* In the process's memory.  TG_NO_MEMORY. */
extern tg_status tg_replay_begin(tg_session *session, tg_replay_find find, void *context,
								 tg_replay **replay_out) TG_MUST_USE;

extern void tg_replay_end(tg_replay *replay);

/*
 * Applies the operations of one record.  exact: the rows are as of the record's place in the log;
 * else they may be as of a later one, so a row that is to be changed or deleted may be missing, and
 * one that is to be inserted may be there, with other values.  TG_DAMAGED: the record has a fault,
 * or does not fit the rows; what came before the fault has been applied.  TG_NO_MEMORY,
 * TG_OVER_QUOTA: a part of the record may have been applied, and it may be tried again with exact
 * false. Outside an epoch.
 */
extern tg_status tg_replay_record(tg_replay *replay, const void *data, size_t count, bool exact) TG_MUST_USE;

/* The last record has been applied: what has no row is free, and may be taken. */
extern void tg_replay_finish(tg_session *session, tg_table *table);

#endif /* TG_REPLAY_H */

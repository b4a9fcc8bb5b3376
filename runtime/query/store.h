/*
 * store.h
 *	  STORE: rows that a query inserts into a table.
 */
#ifndef TG_QUERY_STORE_H
#define TG_QUERY_STORE_H

#include "runtime/query/query_internal.h"

/* What a task stores with.  TG_NO_MEMORY. */
extern tg_status tg_store_prepare(tg_query_task *task, tg_session *session) TG_MUST_USE;
/* Inserts the rows that were evaluated.  Any status but TG_OK: the job is to end with it. */
extern tg_status tg_store_take(tg_query_task *task, tg_session *session, unsigned count) TG_MUST_USE;
/* The end of a turn of a task that stores. */
extern void tg_store_pause(const tg_query *query, tg_session *session);
/* The requester's: undoes what it has not kept.  No task is in a turn. */
extern void tg_store_undo(tg_query *query, tg_session *session);

#endif /* TG_QUERY_STORE_H */

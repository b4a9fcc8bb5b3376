/*
 * cluster.h
 *	  Groups whose rows all lie in a few chunks, which are complete when these have been read.
 */
#ifndef TG_CLUSTER_H
#define TG_CLUSTER_H

#include "runtime/query/query_internal.h"

/* The present step begins, its builds are there: whether it may have such groups. */
extern void tg_clusters_find(tg_session *session, tg_query *query);

/* A task begins such a step.  TG_NO_MEMORY. */
extern tg_status tg_clusters_prepare(tg_query_task *task, tg_session *session) TG_MUST_USE;

/* The stretches of chunks that are the step's morsels, and the chunk where a task is in one. */
extern uint32_t tg_clusters_stretches(const tg_query *query);
extern uint32_t tg_clusters_chunk(const tg_query_task *task, uint32_t stretch);

/*
 * A task has read a chunk, of any step.  If it was the last one of a stretch, the complete groups
 * are set aside, or dropped, and the others come into its table of those that may have more rows.
 * TG_UNFIT, TG_NO_MEMORY.
 */
extern tg_status tg_clusters_end_chunk(tg_query_task *task, tg_session *session) TG_MUST_USE;

/* A task has no more rows: its groups are those that may have more of other tasks. */
extern void tg_clusters_end(tg_query_task *task, tg_session *session);

/*
 * The groups that are set aside are as all others of the task, and so will those be that it makes
 * from now on.  Before groups go to files.
 */
extern void tg_clusters_give_up(tg_query_task *task, tg_session *session);

/* All tasks have ended: the groups that are set aside are counted. */
extern void tg_clusters_report(tg_query *query);

#endif /* TG_CLUSTER_H */

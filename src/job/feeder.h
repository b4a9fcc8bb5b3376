/*
 * feeder.h
 *	  The executor's side of feeds: children of the node, whose rows are offered to the query.
 */
#ifndef TSURUGI_JOB_FEEDER_H
#define TSURUGI_JOB_FEEDER_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "src/job/code.h"
#include "src/job/job.h"

typedef struct tsurugi_job_feeder tsurugi_job_feeder;

/* Begins the children of a node, in the current context, which is the executor's.  NULL: none. */
extern tsurugi_job_feeder *tsurugi_job_feeder_begin(const tsurugi_job *job, CustomScanState *node, int eflags);

/* The rows that all children are expected to have. */
extern double tsurugi_job_feeder_rows(const tsurugi_job_feeder *feeder);

/* Before a query starts: the children begin with their first rows. */
extern void tsurugi_job_feeder_start(tsurugi_job_feeder *feeder, const tsurugi_job_code *code);

/*
 * Offers the query the rows that it wants, about a thousand at most.  False: it wants none.
 * *status_out: TG_NO_MEMORY: it cannot get them.  Errors of the child are raised.
 */
extern bool tsurugi_job_feeder_offer(tsurugi_job_feeder *feeder, tg_session *session, tg_query *query,
									 tg_status *status_out);

/* No rows are wanted until the next start. */
extern void tsurugi_job_feeder_rest(tsurugi_job_feeder *feeder);

/* The node is scanned again, with these parameters changed. */
extern void tsurugi_job_feeder_restart(tsurugi_job_feeder *feeder, Bitmapset *changed);

extern void tsurugi_job_feeder_end(tsurugi_job_feeder *feeder);

#endif /* TSURUGI_JOB_FEEDER_H */

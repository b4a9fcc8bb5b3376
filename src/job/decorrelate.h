/*
 * decorrelate.h
 *	  Correlated scalar aggregates, planned as joins, too.
 */
#ifndef TSURUGI_JOB_DECORRELATE_H
#define TSURUGI_JOB_DECORRELATE_H

/* Registers the hook that does it; behind the one of absorb.h. */
extern void tsurugi_job_decorrelate_init(void);

#endif /* TSURUGI_JOB_DECORRELATE_H */

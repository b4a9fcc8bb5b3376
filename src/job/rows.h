/*
 * rows.h
 *	  Jobs that hand rows out: joins.
 */
#ifndef TSURUGI_JOB_ROWS_H
#define TSURUGI_JOB_ROWS_H

/* Registers the hook; once, when the library is loaded. */
extern void tsurugi_job_rows_init(void);

#endif /* TSURUGI_JOB_ROWS_H */

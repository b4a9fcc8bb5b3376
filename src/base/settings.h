/*
 * settings.h
 *	  The settings of the scheduler, from the server's configuration.
 *
 * Only settings.c writes them.  The library can only be loaded by shared_preload_libraries, so they
 * are always defined.
 */
#ifndef TSURUGI_SETTINGS_H
#define TSURUGI_SETTINGS_H

#include <stdbool.h>

typedef struct tg_scheduler_settings tg_scheduler_settings; /* scheduler.h */

/*
 * Number of rows from which on a sequential scan is given to the pool; -1: never.  Any user may set
 * it.
 */
extern int tsurugi_scan_pool_rows;

/* Memory that a job of the pool may take, in kB; 0: no limit.  A superuser sets it for a role. */
extern int tsurugi_job_memory_kb;
extern int tsurugi_batch_memory_kb;

/*
 * Number of threads of the pool: the setting, or the number of CPUs.  Constant while the server
 * runs.
 */
extern unsigned tsurugi_worker_count(void);

/* Which queries become jobs: tsurugi_fdw.jobs; and the tasks of one at a time, 0: no bound. */
typedef enum tsurugi_jobs_choice
{
	TSURUGI_JOBS_OFF,
	TSURUGI_JOBS_ON,
	TSURUGI_JOBS_FORCE
} tsurugi_jobs_choice;

extern int tsurugi_jobs;
extern int tsurugi_job_tasks;

/* The pool's current settings. */
extern void tsurugi_scheduler_settings(tg_scheduler_settings *settings_out);

/*
 * Puts them into force in this process, if they have changed.  Called before work is given to the
 * runtime.
 */
extern void tsurugi_settings_follow(void);

/* Defines the settings, when the library is loaded. */
extern void tsurugi_settings_define(void);

#endif /* TSURUGI_SETTINGS_H */

/*
 * settings.h
 *	  The settings of the scheduler, as the server's configuration has them.
 *
 * Read-only for everybody but settings.c.  The library can only be
 * loaded by shared_preload_libraries, so what is here is always set.
 */
#ifndef TSURUGI_SETTINGS_H
#define TSURUGI_SETTINGS_H

#include <stdbool.h>

#include "runtime/runtime.h"

/* Rows from which on a sequential scan is given to the pool; -1: never.  Each user's. */
extern int tsurugi_scan_pool_rows;

/* Bytes that a job of the pool may take, in kB; 0: no bound.  Each role's, by a superuser. */
extern int tsurugi_job_memory_kb;

/* Threads of the pool: the setting, or the number of CPUs.  Constant while the server runs. */
extern unsigned tsurugi_worker_count(void);

/* The pool's settings as they are now. */
extern void tsurugi_scheduler_settings(tg_scheduler_settings *settings_out);

/* Puts them into force in this process, if they have changed.  Before work is given to the runtime. */
extern void tsurugi_settings_follow(void);

/* Makes the settings known to the server; when the library is loaded. */
extern void tsurugi_settings_define(void);

#endif /* TSURUGI_SETTINGS_H */

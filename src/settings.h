/*
 * settings.h
 *	  The settings, as the server's configuration has them.
 *
 * Defined in init.c.  Read-only for everybody else.  The library can only be
 * loaded by shared_preload_libraries, so what is here is always set.
 */
#ifndef TSURUGI_SETTINGS_H
#define TSURUGI_SETTINGS_H

#include <stdbool.h>

#include "runtime/runtime.h"


/* Rows from which on a sequential scan is given to the pool; -1: never.  Each user's. */
extern int tsurugi_scan_pool_rows;

/* Threads of the pool: the setting, or the number of CPUs.  Constant while the server runs. */
extern unsigned tsurugi_worker_count(void);

/* The pool's settings as they are now. */
extern void tsurugi_scheduler_settings(tg_scheduler_settings *settings_out);

#endif /* TSURUGI_SETTINGS_H */

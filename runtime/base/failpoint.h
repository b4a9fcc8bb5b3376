/*
 * failpoint.h
 *	  Named places where a test can stop a thread or make a step fail.
 *
 * Compiled in with TG_FAILPOINTS only; otherwise nothing is left of them.
 */
#ifndef TG_FAILPOINT_H
#define TG_FAILPOINT_H

#include <stdbool.h>

/* Called at each place by the thread that passes it.  True asks the step to fail, if it can. */
typedef bool (*tg_failpoint_hook)(const char *name);

#ifdef TG_FAILPOINTS

/* Sets the hook, NULL for none, for this process. */
extern void tg_failpoint_set(tg_failpoint_hook hook);

/* The hook's answer for a place that can fail; false without a hook. */
extern bool tg_failpoint_refuses(const char *name);

/* A place where a thread can only be stopped. */
#define tg_failpoint(name) ((void) tg_failpoint_refuses(name))

#else

#define tg_failpoint_refuses(name) (false)
#define tg_failpoint(name) ((void) 0)

#endif

#endif /* TG_FAILPOINT_H */

/*
 * check.h
 *	  Assertions, of callers' promises and of data from outside.
 *
 * tg_assert costs nothing unless built with TG_DEBUG.  tg_check stays in every build: if it fails
 * it ends the process, to which PostgreSQL responds with a crash restart, because shared memory can
 * no longer be trusted.
 */
#ifndef TG_CHECK_H
#define TG_CHECK_H

/* Prints the condition and its place to standard error and aborts. */
extern void tg_check_failed(const char *condition, const char *file, int line) __attribute__((noreturn, cold));

#define tg_likely(x) __builtin_expect(!!(x), 1)
#define tg_unlikely(x) __builtin_expect(!!(x), 0)

#define tg_check(condition) (tg_likely(condition) ? (void) 0 : tg_check_failed(#condition, __FILE__, __LINE__))

#ifdef TG_DEBUG
/* not by tg_check, which would print the condition with its macros expanded */
#define tg_assert(condition) (tg_likely(condition) ? (void) 0 : tg_check_failed(#condition, __FILE__, __LINE__))
#else
#define tg_assert(condition) ((void) sizeof(!(condition)))
#endif

#endif /* TG_CHECK_H */

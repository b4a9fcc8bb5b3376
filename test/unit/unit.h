/*
 * unit.h
 *	  What a unit test of runtime/ needs: TAP output and threads.
 *
 * A test is one program, test/unit/NAME.c: main() calls unit_ok() and its
 * sisters, then returns unit_done(), which prints the plan.  A failed check
 * does not end the test.  Any thread may check.
 */
#ifndef TG_UNIT_H
#define TG_UNIT_H

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define UNIT_THREADS_MAX 64

/*
 * Whether tests of one thread run, in a program that also has others.  ThreadSanitizer has nothing
 * to say of them: they run without it, and under AddressSanitizer.
 */
#ifdef __SANITIZE_THREAD__
#define UNIT_ONE_THREAD false
#else
#define UNIT_ONE_THREAD true
#endif

/*
 * Rounds of a loop, of which one is like another.  With ThreadSanitizer, which slows each down and
 * sees more in it, a quarter of them run.
 */
#ifdef __SANITIZE_THREAD__
#define UNIT_ROUNDS(rounds) (((rounds) + 3) / 4)
#else
#define UNIT_ROUNDS(rounds) (rounds)
#endif

static pthread_mutex_t unit_mutex = PTHREAD_MUTEX_INITIALIZER;
static int unit_count; /* both under unit_mutex */
static int unit_failed;

/* One check: its result and its name, as for printf. */
#define unit_ok(condition, ...) unit_check((condition), #condition, __FILE__, __LINE__, __VA_ARGS__)

/* Checks that two unsigned integers are equal and shows them if they are not. */
#define unit_equal(got, expected, ...) unit_check_equal((got), (expected), __FILE__, __LINE__, __VA_ARGS__)

static inline bool __attribute__((format(printf, 5, 0)))
unit_report(bool result, const char *condition, const char *file, int line, const char *name, va_list arguments)
{
	pthread_mutex_lock(&unit_mutex);
	unit_count++;
	printf("%sok %d - ", result ? "" : "not ", unit_count);
	vprintf(name, arguments);
	printf("\n");
	if (!result)
	{
		unit_failed++;
		fflush(stdout);
		fprintf(stderr, "# failed: %s (%s:%d)\n", condition, file, line);
	}
	fflush(stdout);
	pthread_mutex_unlock(&unit_mutex);
	return result;
}

static inline bool __attribute__((format(printf, 5, 6)))
unit_check(bool result, const char *condition, const char *file, int line, const char *name, ...)
{
	va_list arguments;

	va_start(arguments, name);
	unit_report(result, condition, file, line, name, arguments);
	va_end(arguments);
	return result;
}

static inline bool __attribute__((format(printf, 5, 6)))
unit_check_equal(uint64_t got, uint64_t expected, const char *file, int line, const char *name, ...)
{
	char text[80];
	va_list arguments;

	snprintf(text, sizeof(text), "got %" PRIu64 ", expected %" PRIu64, got, expected);
	va_start(arguments, name);
	unit_report(got == expected, text, file, line, name, arguments);
	va_end(arguments);
	return got == expected;
}

/* Prints the plan; what main() returns. */
static inline int
unit_done(void)
{
	printf("1..%d\n", unit_count);
	/* a sanitizer that finds something at exit leaves without flushing */
	fflush(stdout);
	return unit_failed == 0 ? 0 : 1;
}

/* Ends the program at once: what follows makes no sense without this. */
static inline void __attribute__((noreturn)) unit_bail(const char *reason)
{
	printf("Bail out! %s\n", reason);
	fflush(stdout);
	exit(1);
}

typedef void (*unit_body)(unsigned number, void *argument);

typedef struct unit_thread
{
	pthread_t id;
	unsigned number;
	unit_body body;
	void *argument;
	pthread_barrier_t *start;
} unit_thread;

static inline void *
unit_thread_main(void *pointer)
{
	unit_thread *thread = pointer;

	pthread_barrier_wait(thread->start);
	thread->body(thread->number, thread->argument);
	return NULL;
}

/*
 * Runs body(0 .. count - 1, argument) in as many threads, all let go at once,
 * and returns when the last one has ended.
 */
static inline void
unit_threads(unsigned count, unit_body body, void *argument)
{
	unit_thread threads[UNIT_THREADS_MAX];
	pthread_barrier_t start;

	if (count == 0 || count > UNIT_THREADS_MAX)
		abort();
	pthread_barrier_init(&start, NULL, count);
	for (unsigned i = 0; i < count; i++)
	{
		threads[i] = (unit_thread){.number = i, .body = body, .argument = argument, .start = &start};
		if (pthread_create(&threads[i].id, NULL, unit_thread_main, &threads[i]) != 0)
			abort();
	}
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i].id, NULL);
	pthread_barrier_destroy(&start);
}

#endif /* TG_UNIT_H */

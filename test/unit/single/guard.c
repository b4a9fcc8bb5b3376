/*
 * guard.c
 *	  Linked with programs that are said to have one thread: ends one that starts another, or a
 *	  process.
 *
 * These names come before those of the C library, for all that is linked with
 * them.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void
refuse(const char *what)
{
	printf("Bail out!  a program of one thread (\"single\" in test/unit/Makefile) starts %s\n", what);
	fflush(stdout);
	_exit(1);
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument)
{
	refuse("a thread");
	return 0;
}

pid_t
fork(void)
{
	refuse("a process");
	return 0;
}

/*
 * check.c
 *	  The end of a process that can no longer trust its memory.
 */
#include "runtime/base/check.h"

#include <stdio.h>
#include <stdlib.h>

void
tg_check_failed(const char *condition, const char *file, int line)
{
	fprintf(stderr, "tsurugi_fdw: check failed: %s (%s:%d)\n", condition, file, line);
	fflush(stderr);
	abort();
}

/*
 * describe.h
 *	  The columns of a file, as CREATE TABLE needs them.
 */
#ifndef TSURUGI_COPY_DESCRIBE_H
#define TSURUGI_COPY_DESCRIBE_H

#include "postgres.h"

#include "utils/jsonb.h"

/* Takes one of the columns: number from 1. */
typedef void tsurugi_describe_put(void *argument, int number, const char *name, const char *type, bool nullable,
								  const char *stored);

/*
 * Those of a file in CSV: of a sample, which is its beginning.  So a column is nullable, unless the
 * sample is the whole file, and it has no NULL.  options: of a load.
 */
extern void tsurugi_describe_csv(const char *name, Jsonb *options, tsurugi_describe_put *put, void *argument);

#endif /* TSURUGI_COPY_DESCRIBE_H */

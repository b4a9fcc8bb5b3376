/*
 * path.h
 *	  The values below a path: ltree, in its order.
 */
#ifndef TSURUGI_PATH_H
#define TSURUGI_PATH_H

#include "postgres.h"

/* Whether an operator's function tests that its left side is its right side, or below that. */
extern bool tsurugi_path_is_below(Oid function);

/*
 * Makes a value that is above everything below a path, and below all other values above the path;
 * for comparisons only.  False: the path has no others above it.
 */
extern bool tsurugi_path_end(Datum path, Datum *end_out);

#endif /* TSURUGI_PATH_H */

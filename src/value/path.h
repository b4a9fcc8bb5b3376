/*
 * path.h
 *	  What lies below a path: ltree, in its order.
 */
#ifndef TSURUGI_PATH_H
#define TSURUGI_PATH_H

#include "postgres.h"

/* Whether an operator's function says that its left side is its right side, or below that. */
extern bool tsurugi_path_is_below(Oid function);

/* What is above everything below a path, and below whatever else is above that; for comparisons only.  False: nothing else is. */
extern bool tsurugi_path_end(Datum path, Datum *end_out);

#endif /* TSURUGI_PATH_H */

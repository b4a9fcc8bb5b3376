/*
 * rights.h
 *	  Rights, comments and security labels of a table, for another relation that comes instead of it.
 */
#ifndef TSURUGI_RIGHTS_H
#define TSURUGI_RIGHTS_H

#include "postgres.h"

/* Of the table, its columns, and sequences of identity columns; the new relation's have the same names.  Both are locked, and of one owner. */
extern void tsurugi_copy_rights_and_labels(Oid from, Oid to);

#endif /* TSURUGI_RIGHTS_H */

/*
 * rights.h
 *	  Copies rights, comments and security labels of a table to a relation that replaces it.
 */
#ifndef TSURUGI_RIGHTS_H
#define TSURUGI_RIGHTS_H

#include "postgres.h"

/*
 * Copies those of the table, its columns, and the sequences of identity columns; columns have the
 * same names in both.  Both relations are locked and have the same owner.
 */
extern void tsurugi_copy_rights_and_labels(Oid from, Oid to);

#endif /* TSURUGI_RIGHTS_H */

/*
 * table_move.h
 *	  A table moves into memory, or back.
 */
#ifndef TSURUGI_TABLE_MOVE_H
#define TSURUGI_TABLE_MOVE_H

#include "postgres.h"

/* Moves a table that is locked, with what it inherits from; method: the access method that it gets.  Returns what it is afterwards. */
extern Oid tsurugi_move_table(Oid relation, const char *method);

#endif /* TSURUGI_TABLE_MOVE_H */

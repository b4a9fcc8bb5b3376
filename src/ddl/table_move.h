/*
 * table_move.h
 *	  Moves a table into memory, or back.
 */
#ifndef TSURUGI_TABLE_MOVE_H
#define TSURUGI_TABLE_MOVE_H

#include "postgres.h"

/*
 * Moves a table, which is locked together with the tables that it inherits from; method: its new
 * access method.  Returns the new relation.
 */
extern Oid tsurugi_move_table(Oid relation, const char *method);

#endif /* TSURUGI_TABLE_MOVE_H */

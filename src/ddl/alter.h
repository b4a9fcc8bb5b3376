/*
 * alter.h
 *	  ALTER TABLE: the parts that PostgreSQL leaves undone for foreign tables.
 */
#ifndef TSURUGI_ALTER_H
#define TSURUGI_ALTER_H

#include "src/ddl/utility.h"

/* Executes an ALTER TABLE of any table, inside tsurugi_altered_begin. */
extern void tsurugi_alter_run(const tsurugi_utility *utility, AlterTableStmt *written);

#endif /* TSURUGI_ALTER_H */

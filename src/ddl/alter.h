/*
 * alter.h
 *	  ALTER TABLE: what PostgreSQL leaves undone where a table is foreign.
 */
#ifndef TSURUGI_ALTER_H
#define TSURUGI_ALTER_H

#include "src/ddl/utility.h"

/* Runs an ALTER TABLE, of whatever table, inside tsurugi_altered_begin. */
extern void tsurugi_alter_run(const tsurugi_utility *utility, AlterTableStmt *written);

#endif /* TSURUGI_ALTER_H */

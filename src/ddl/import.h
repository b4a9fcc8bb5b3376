/*
 * import.h
 *	  IMPORT FOREIGN SCHEMA.
 */
#ifndef TSURUGI_IMPORT_H
#define TSURUGI_IMPORT_H

#include "postgres.h"

#include "src/ddl/utility.h"

/* Executes the statement; with OPTIONS (data 'true') it also copies the rows. */
extern void tsurugi_import_run(const tsurugi_utility *utility, ImportForeignSchemaStmt *statement);

/* FdwRoutine: returns the statements that make the tables. */
extern List *tsurugiImportForeignSchema(ImportForeignSchemaStmt *stmt, Oid serverOid);

#endif /* TSURUGI_IMPORT_H */

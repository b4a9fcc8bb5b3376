/*
 * import.h
 *	  IMPORT FOREIGN SCHEMA.
 */
#ifndef TSURUGI_IMPORT_H
#define TSURUGI_IMPORT_H

#include "postgres.h"

#include "src/base/utility.h"

/* The statement; with OPTIONS (data 'true') the rows come along. */
extern void tsurugi_import_run(const tsurugi_utility *utility, ImportForeignSchemaStmt *statement);

#endif /* TSURUGI_IMPORT_H */

/*
 * index_method.h
 *	  Access methods of indexes of foreign tables: what they cannot do, and their parameters.
 */
#ifndef TSURUGI_INDEX_METHOD_H
#define TSURUGI_INDEX_METHOD_H

#include "nodes/parsenodes.h"

/* The access method of an index.  InvalidOid of none. */
extern Oid tsurugi_index_method(Oid index);

/* That which a statement names, or does not; its name, which may be an obsolete one, is set. */
extern Oid tsurugi_index_method_choose(IndexStmt *statement);

/*
 * Raises what DefineIndex does where the method cannot do what the statement asks for, or has no such WITH parameters.  Returns
 * whether columns may have directions.
 */
extern bool tsurugi_index_method_check(Oid method, const IndexStmt *statement, Datum parameters);

/* Raises 0A000, in DefineIndex's words. */
extern void tsurugi_index_method_refuse(Oid method, const char *what) pg_attribute_noreturn();

/* ALTER INDEX ... SET, RESET: its WITH parameters, which have no meaning here, but are kept. */
extern void tsurugi_index_method_set_parameters(Oid index, List *parameters, bool reset);

#endif /* TSURUGI_INDEX_METHOD_H */

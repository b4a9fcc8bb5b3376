/*
 * index_method.h
 *	  Access methods of indexes of foreign tables: their limits and parameters.
 */
#ifndef TSURUGI_INDEX_METHOD_H
#define TSURUGI_INDEX_METHOD_H

#include "nodes/parsenodes.h"

/* The access method of an index; InvalidOid if there is no such index. */
extern Oid tsurugi_index_method(Oid index);

/*
 * The method that a statement names, or the default.  Sets the statement's method; a name may be
 * obsolete.
 */
extern Oid tsurugi_index_method_choose(IndexStmt *statement);

/*
 * Raises the errors of DefineIndex if the method cannot do what the statement requires, or has no
 * such WITH parameters.  Returns whether columns may have directions.
 */
extern bool tsurugi_index_method_check(Oid method, const IndexStmt *statement, Datum parameters);

/* Raises 0A000 with DefineIndex's message. */
extern void tsurugi_index_method_refuse(Oid method, const char *what) pg_attribute_noreturn();

/* ALTER INDEX ... SET, RESET: stores its WITH parameters, which have no effect here. */
extern void tsurugi_index_method_set_parameters(Oid index, List *parameters, bool reset);

#endif /* TSURUGI_INDEX_METHOD_H */

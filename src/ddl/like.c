/*
 * like.c
 *	  The parts that a table takes from its model (LIKE), with the rights of the model's owner.
 */
#include "postgres.h"

#include "src/ddl/like.h"

#include "access/table.h"
#include "access/xact.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_utilcmd.h"

#include "src/base/catalog_row.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/utility.h"

void
tsurugi_set_owner(Oid relation, Oid owner)
{
	tsurugi_catalog_row row;

	tsurugi_relation_row_open(relation, &row)->relowner = owner;
	tsurugi_catalog_row_write(&row);
	CommandCounterIncrement();
}

void
tsurugi_give_back(Oid relation, Oid owner)
{
	Relation table;

	tsurugi_set_owner(relation, owner);
	table = table_open(relation, NoLock);
	tsurugi_index_entries_own(table);
	table_close(table, NoLock);
}

void
tsurugi_indexes_like(Oid model, RangeVar *table)
{
	TableLikeClause *like = makeNode(TableLikeClause);
	ListCell *cell;

	like->relationOid = model;
	like->options = CREATE_TABLE_LIKE_INDEXES | CREATE_TABLE_LIKE_COMMENTS;
	foreach (cell, expandTableLikeClause(table, like))
		tsurugi_utility_run_own(lfirst(cell), "");
}

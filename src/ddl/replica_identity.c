/*
 * replica_identity.c
 *	  ALTER TABLE ... REPLICA IDENTITY.
 *
 * PostgreSQL refuses the command for foreign tables, and gives them NOTHING in the catalogs from
 * the start; no code reads that value, because foreign tables are not published.  Here the value is
 * that of ordinary tables, for clients that read the catalogs or move the table out of memory.
 * Follows ATExecReplicaIdentity and relation_mark_replica_identity.
 */
#include "postgres.h"

#include "src/ddl/replica_identity.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "src/base/catalog_row.h"
#include "src/ddl/cluster.h"

static void
write_kind(Oid relation, char kind)
{
	tsurugi_catalog_row row;
	Form_pg_class form = tsurugi_relation_row_open(relation, &row);

	if (form->relreplident == kind)
	{
		tsurugi_catalog_row_close(&row);
		return;
	}
	form->relreplident = kind;
	tsurugi_catalog_row_write(&row);
}

static void
write_mark(Relation table, Oid index, bool marked)
{
	tsurugi_catalog_row row;
	Form_pg_index form = tsurugi_index_row_open(index, &row);

	if (form->indisreplident == marked)
	{
		tsurugi_catalog_row_close(&row);
		return;
	}
	form->indisreplident = marked;
	tsurugi_catalog_row_write(&row);
	InvokeObjectPostAlterHookArg(IndexRelationId, index, 0, InvalidOid, true);
	CacheInvalidateRelcache(table);
}

void
tsurugi_replica_identity_mark_index(Relation table, Oid index)
{
	ListCell *cell;

	foreach (cell, RelationGetIndexList(table))
		write_mark(table, lfirst_oid(cell), lfirst_oid(cell) == index);
	CommandCounterIncrement();
}

/* Each column must be NOT NULL. */
static void
check_columns(Relation table, Relation index)
{
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
	{
		AttrNumber attnum = index->rd_index->indkey.values[i];
		const FormData_pg_attribute *column = TupleDescAttr(RelationGetDescr(table), attnum - 1);

		if (!column->attnotnull)
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
							errmsg("index \"%s\" cannot be used as replica identity because column \"%s\" is nullable",
								   RelationGetRelationName(index), NameStr(column->attname))));
	}
}

static void
check_index(Relation table, Relation index)
{
	const char *name = RelationGetRelationName(index);

	if (index->rd_index == NULL || index->rd_index->indrelid != RelationGetRelid(table))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not an index for table \"%s\"", name, RelationGetRelationName(table))));
	if (!index->rd_index->indisunique)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("cannot use non-unique index \"%s\" as replica identity", name)));
	if (!index->rd_index->indimmediate)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot use non-immediate index \"%s\" as replica identity", name)));
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot use expression index \"%s\" as replica identity", name)));
	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot use partial index \"%s\" as replica identity", name)));
	check_columns(table, index);
}

void
tsurugi_replica_identity_set(Oid relation, const AlterTableCmd *command)
{
	Relation table = table_open(relation, AccessExclusiveLock);
	const ReplicaIdentityStmt *statement = castNode(ReplicaIdentityStmt, command->def);
	Oid id = InvalidOid;

	if (statement->identity_type == REPLICA_IDENTITY_INDEX)
	{
		Relation index;

		id = tsurugi_index_of_name(table, statement->name);
		index = index_open(id, ShareLock);
		check_index(table, index);
		index_close(index, NoLock);
	}
	write_kind(relation, statement->identity_type);
	tsurugi_replica_identity_mark_index(table, id);
	table_close(table, NoLock);
}

void
tsurugi_replica_identity_begin(Oid relation)
{
	write_kind(relation, REPLICA_IDENTITY_DEFAULT);
	CommandCounterIncrement();
}

char *
tsurugi_replica_identity_clause(Relation table)
{
	ListCell *cell;

	switch (table->rd_rel->relreplident)
	{
		case REPLICA_IDENTITY_FULL:
			return "REPLICA IDENTITY FULL";
		case REPLICA_IDENTITY_NOTHING:
			return "REPLICA IDENTITY NOTHING";
		case REPLICA_IDENTITY_INDEX:
			foreach (cell, RelationGetIndexList(table))
				if (get_index_isreplident(lfirst_oid(cell)))
					return psprintf("REPLICA IDENTITY USING INDEX %s",
									quote_identifier(get_rel_name(lfirst_oid(cell))));
			return "REPLICA IDENTITY NOTHING"; /* which it is, without the index */
		default:
			return NULL;
	}
}

/*
 * views_index.c
 *	  The function behind the view tsurugi.indexes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"

#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/table/catalog.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "src/base/session.h"
#include "src/base/sql_function.h"
#include "src/base/view_rights.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_indexes);

/* An index; number 0 is the primary key. */
typedef struct IndexFigures
{
	Oid number;
	tg_btree_report report;
} IndexFigures;

/* Inside an epoch. */
static IndexFigures
figures_of(Oid number, tg_btree *tree)
{
	IndexFigures figures = {.number = number};

	tg_btree_report_get(tree, &figures.report);
	return figures;
}

/*
 * Reads the figures of a table's indexes, the primary key first if it has one.  Returns their
 * number; fills in as many as fit.
 */
static int
look_at_indexes(tg_session *session, tg_table *table, IndexFigures *figures, int capacity)
{
	int count = 0;

	tg_epoch_enter(session);
	if (tg_index_tree(table, NULL) != NULL && count++ < capacity)
		figures[0] = figures_of(InvalidOid, tg_index_tree(table, NULL));
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		if (!tg_index_is_retired(index) && tg_index_find(table, index->spec.host) == index && count++ < capacity)
		{
			figures[count - 1] = figures_of(index->spec.host, index->tree);
			figures[count - 1].report.bytes += tg_index_hidden_bytes(index);
		}
	tg_epoch_leave(session);
	return count;
}

static void
put_index(const ReturnSetInfo *result, Oid relation, const IndexFigures *figures)
{
	const bool nulls[4] = {false};
	const Datum values[] = {ObjectIdGetDatum(relation), ObjectIdGetDatum(figures->number),
							Int64GetDatum((int64) figures->report.entries),
							Int64GetDatum((int64) figures->report.bytes)};

	tuplestore_putvalues(result->setResult, result->setDesc, unconstify(Datum *, &values[0]),
						 unconstify(bool *, &nulls[0]));
}

/* The indexes of this database: the names of other databases' indexes are not known here. */
Datum
tsurugi_fdw_indexes(PG_FUNCTION_ARGS)
{
	tg_session *session = tsurugi_session();
	int capacity = 64;
	IndexFigures *figures = palloc(capacity * sizeof(IndexFigures));
	uint64_t position = 0;
	uint64_t next = 0;
	tg_table *table;

	InitMaterializedSRF(fcinfo, 0);
	while ((table = tg_catalog_next(&next)) != NULL)
	{
		Oid relation = table->relation;
		int count = table->database == MyDatabaseId ? look_at_indexes(session, table, figures, capacity) : 0;

		/* The table is released before anything can fail. */
		tg_table_release(session, table);
		if (count > capacity)
		{
			capacity = count;
			figures = repalloc(figures, capacity * sizeof(IndexFigures));
			next = position; /* read the same table again */
			continue;
		}
		position = next;
		if (count > 0 && !tsurugi_sees_table(MyDatabaseId, relation))
			continue;
		for (int i = 0; i < count; i++)
			put_index((ReturnSetInfo *) fcinfo->resultinfo, relation, &figures[i]);
	}
	return (Datum) 0;
}

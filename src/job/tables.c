/*
 * tables.c
 *	  The tables of a job that is executed: opened, described, counted.
 */
#include "postgres.h"

#include "src/job/tables.h"

#include "executor/executor.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "src/exec/scan_plan.h"
#include "src/job/store.h"
#include "src/table/building.h"
#include "src/txn/transaction.h"

void
tsurugi_job_open_tables(const tsurugi_job *job, EState *estate)
{
	ListCell *cell;
	ListCell *inner;

	if (tsurugi_job_stores(job))
		(void) ExecGetRangeTableRelation(estate, job->into->relation);
	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		if (step->tables != NIL)
			(void) ExecGetRangeTableRelation(estate, step->relation);
		foreach (inner, step->tables)
			(void) ExecGetRangeTableRelation(estate, ((const tsurugi_job_table *) lfirst(inner))->relation);
	}
}

List *
tsurugi_job_open_indexes(const tsurugi_job *job)
{
	List *indexes = NIL;
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
		foreach (inner, ((const tsurugi_job_step *) lfirst(cell))->tables)
		{
			const tsurugi_job_table *table = lfirst(inner);
			Relation index;

			if (table->access == NULL)
				continue;
			index = RelationIdGetRelation(table->access->shape.index);
			if (!RelationIsValid(index))
				elog(ERROR, "could not open index %u of a job", table->access->shape.index);
			indexes = lappend(indexes, index);
		}
	return indexes;
}

void
tsurugi_job_close_indexes(List *indexes)
{
	ListCell *cell;

	foreach (cell, indexes)
		RelationClose(lfirst(cell));
}

void
tsurugi_job_describe_tables(tsurugi_job *job, EState *estate)
{
	ListCell *cell;
	ListCell *inner;

	if (tsurugi_job_stores(job))
	{
		Relation into = ExecGetRangeTableRelation(estate, job->into->relation);

		tsurugi_building_check(into);
		if (!tsurugi_job_describe_into(job, into))
			elog(ERROR, "plan of an INSERT does not fit its table");
	}
	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		foreach (inner, step->tables)
		{
			tsurugi_job_table *table = lfirst(inner);

			tsurugi_job_describe(table, ExecGetRangeTableRelation(estate, step->relation),
								 ExecGetRangeTableRelation(estate, table->relation));
		}
	}
}

const tsurugi_job_table *
tsurugi_job_first_table(const tsurugi_job *job)
{
	ListCell *cell;

	foreach (cell, job->steps)
		if (((const tsurugi_job_step *) lfirst(cell))->tables != NIL)
			return linitial(((const tsurugi_job_step *) lfirst(cell))->tables);
	elog(ERROR, "job without a table");
}

uint64_t
tsurugi_job_table_rows(const tsurugi_job *job)
{
	uint64_t rows = 0;
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
		foreach (inner, ((const tsurugi_job_step *) lfirst(cell))->tables)
		{
			const tsurugi_job_table *table = lfirst(inner);

			rows += table->access != NULL ? (uint64_t) table->rows : tsurugi_row_count(table->described->table);
		}
	return rows;
}

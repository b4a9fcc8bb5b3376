/*
 * append.c
 *	  UNION ALL in a job: steps that have one sink together.
 *
 *	Step 1: scan orders_2024 a, append to 2
 *	Step 2: scan orders_2025 b, filter (b.open), probe ..., group by (u.region)
 *
 * A branch is a step of its own, with its own source and operators.  What is above UNION ALL, up to
 * the next sink, is done by each branch: its expressions have columns of the whole, of which the
 * branch says what they are there.  So no row is copied between the branch and the sink.
 *
 * While a job is made, only the last branch gets what is above; at the end the others get the same
 * (tsurugi_job_spread).  In a job the branches follow one another, the last one stands for all.
 */
#include "postgres.h"

#include "src/job/append.h"

#include "nodes/nodeFuncs.h"

void
tsurugi_job_put_step(tsurugi_job *job, tsurugi_job_step *step)
{
	ListCell *cell;

	foreach (cell, step->further)
	{
		tsurugi_job_step *branch = lfirst(cell);

		branch->goes_on = true;
		job->steps = lappend(job->steps, branch);
	}
	step->further = NIL;
	job->steps = lappend(job->steps, step);
}

bool
tsurugi_job_branches_are_fit(const tsurugi_job *job)
{
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		for_each_from(inner, step->operators, step->own_operators)
		{
			const tsurugi_job_operator *operator= lfirst(inner);

			if (step->append != 0 && operator->probe && tg_join_has_rest(operator->join))
				return false;
		}
	}
	return true;
}

static void
spread(const tsurugi_job_step *last, tsurugi_job_step *branch)
{
	List *own = list_truncate(list_copy(branch->operators), branch->own_operators);

	branch->operators = list_concat(own, list_copy_tail(last->operators, last->own_operators));
	branch->sink = last->sink;
	branch->marked = last->marked;
	branch->keeps_nulls = last->keeps_nulls;
	branch->keys = last->keys;
	branch->aggregates = last->aggregates;
	branch->distinct = last->distinct;
	branch->set = last->set;
	branch->all = last->all;
	branch->order = last->order;
	branch->relids = bms_union(branch->relids, last->relids);
}

void
tsurugi_job_spread(tsurugi_job *job)
{
	for (int last = 0; last < list_length(job->steps); last++)
	{
		tsurugi_job_step *step = list_nth(job->steps, last);

		for (int i = tsurugi_job_first_branch(job, last); i < last && !step->goes_on; i++)
			spread(step, list_nth(job->steps, i));
	}
}

void
tsurugi_job_add_group_rows(tsurugi_job_step *step, const List *having, Node *times)
{
	ListCell *cell;

	foreach (cell, having)
	{
		tsurugi_job_operator *filter = palloc0(sizeof(*filter));

		filter->clauses = list_make1(lfirst(cell));
		step->operators = lappend(step->operators, filter);
	}
	if (times != NULL)
	{
		tsurugi_job_operator *repeat = palloc0(sizeof(*repeat));

		repeat->repeat = true;
		repeat->clauses = list_make1(times);
		step->operators = lappend(step->operators, repeat);
	}
}

/* --- columns -------------------------------------------------------------------------- */

typedef struct Replacement
{
	Index relation;
	const List *columns;
} Replacement;

static Node *
replace(Node *node, void *context)
{
	const Replacement *replacement = context;
	const Var *var = (const Var *) node;

	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && var->varno == replacement->relation && var->varlevelsup == 0 && var->varattno > 0 &&
		var->varattno <= list_length(replacement->columns))
		return copyObject(list_nth(replacement->columns, var->varattno - 1));
	return expression_tree_mutator(node, replace, context);
}

List *
tsurugi_job_with_columns(const List *exprs, Index relation, const List *columns)
{
	Replacement replacement = {.relation = relation, .columns = columns};

	return (List *) replace((Node *) exprs, &replacement);
}

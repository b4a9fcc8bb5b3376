/*
 * explain.c
 *	  EXPLAIN of a job: its steps, and with ANALYZE what they did.
 *
 *	Step 1: scan orders, filter (o_orderdate < '1995-03-15'::date), build (o_orderkey)
 *	Step 1: scan orders key range ((o_orderkey >= 1) AND (o_orderkey < 5)), aggregate
 *	Step 1: scan p of 3 tables, 2 by ranges, aggregate
 *	Step 1: feed o, build										rows of a plan that is shown below
 *	Step 1: scan orders_2024, append to 2					a branch of UNION ALL
 *	Step 2: scan lineitem, probe 1 (l_orderkey = o_orderkey), group by (l_orderkey)
 *	Step 3: marked rows of 1, aggregate					or  ..., top 10 by (o_orderdate DESC)
 *														or	..., store into archive
 *	  Rows: 6001215 read, 3241776 left, 11620 groups			with ANALYZE
 *	Tasks: 2													or  Source: in place
 *	Fallback: not enough memory for the job						why the plan below was run
 *
 * Other formats have the same properties in a group for each step.
 */
#include "postgres.h"

#include "src/job/explain.h"

#include "access/relation.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "runtime/query/plan.h"
#include "src/exec/fdw.h"

/* What a step is described with. */
typedef struct Shown
{
	const tsurugi_job *job;
	ExplainState *es;
	List *context;
	bool prefix; /* columns have the names of their tables */
	StringInfoData text;
} Shown;

static void
add_expr(Shown *shown, Node *expr)
{
	appendStringInfoString(&shown->text, deparse_expression(expr, shown->context, shown->prefix, false));
}

/* " (a, b)"; a single condition has its own parentheses. */
static void
add_exprs(Shown *shown, const List *exprs, const char *separator)
{
	bool bare = list_length(exprs) == 1 && (IsA(linitial(exprs), OpExpr) || IsA(linitial(exprs), BoolExpr) ||
											IsA(linitial(exprs), ScalarArrayOpExpr));
	ListCell *cell;

	appendStringInfoString(&shown->text, bare ? " " : " (");
	foreach (cell, exprs)
	{
		if (cell != list_head(exprs))
			appendStringInfoString(&shown->text, separator);
		add_expr(shown, lfirst(cell));
	}
	if (!bare)
		appendStringInfoChar(&shown->text, ')');
}

static void
add_table(Shown *shown, Index relation, int count)
{
	const RangeTblEntry *rte = rt_fetch(relation, shown->es->rtable);
	const char *alias = list_nth(shown->es->rtable_names, relation - 1);
	const char *name = get_rel_name(rte->relid);

	appendStringInfo(&shown->text, "scan %s", quote_identifier(name));
	if (alias != NULL && strcmp(alias, name) != 0)
		appendStringInfo(&shown->text, " %s", quote_identifier(alias));
	if (count > 1)
		appendStringInfo(&shown->text, " of %d tables", count);
}

/* Which keys are read of a table; of several, how many are read by an index. */
static void
add_access(Shown *shown, const List *tables)
{
	const tsurugi_job_table *first = linitial(tables);
	int by_ranges = 0;
	Relation relation;
	ListCell *cell;

	foreach (cell, tables)
		by_ranges += ((const tsurugi_job_table *) lfirst(cell))->access != NULL;
	if (by_ranges == 0)
		return;
	if (list_length(tables) > 1)
	{
		appendStringInfo(&shown->text, ", %d by ranges", by_ranges);
		return;
	}
	relation = relation_open(rt_fetch(first->relation, shown->es->rtable)->relid, NoLock);
	appendStringInfo(&shown->text, " %s",
					 tsurugi_describe_access(relation, first->access, first->values, shown->context));
	relation_close(relation, NoLock);
}

static void
add_source(Shown *shown, const tsurugi_job_step *step)
{
	static const char *const rows[] = {
		[TG_FROM_ROWS] = "rows", [TG_FROM_MARKED] = "marked rows", [TG_FROM_UNMARKED] = "unmarked rows"};

	if (step->source == TG_FROM_TABLES)
	{
		add_table(shown, step->relation, list_length(step->tables));
		add_access(shown, step->tables);
	}
	else if (step->source == TG_FROM_FEED)
		appendStringInfo(&shown->text, "feed %s",
						 quote_identifier(list_nth(shown->es->rtable_names, step->relation - 1)));
	else if (((tsurugi_job_step *) list_nth(shown->job->steps, step->from))->sink == TG_GROUP)
	{
		appendStringInfo(&shown->text, "groups of %d", step->from + 1);
		if (step->subquery != 0)
			appendStringInfo(&shown->text, " %s",
							 quote_identifier(list_nth(shown->es->rtable_names, step->subquery - 1)));
	}
	else
		appendStringInfo(&shown->text, "%s of %d", rows[step->source], step->from + 1);
}

static void
add_operator(Shown *shown, const tsurugi_job_operator *operator)
{
	static const char *const joins[] = {
		[TG_JOIN_INNER] = "probe",	   [TG_JOIN_LEFT] = "left probe", [TG_JOIN_RIGHT] = "right probe",
		[TG_JOIN_FULL] = "full probe", [TG_JOIN_SEMI] = "semi probe", [TG_JOIN_ANTI] = "anti probe",
		[TG_JOIN_MARK] = "mark",	   [TG_JOIN_NOT_IN] = "not in"};

	if (operator->probe)
		appendStringInfo(&shown->text, ", %s %d", joins[operator->join], operator->build + 1);
	else
		appendStringInfoString(&shown->text, operator->repeat ? ", repeat" : ", filter");
	add_exprs(shown, operator->clauses, " AND ");
}

static const char *
kind_of_limit(Shown *shown, Node *expr)
{
	if (IsA(expr, Const))
		return ((const Const *) expr)->constisnull
				   ? "0"
				   : psprintf(INT64_FORMAT, DatumGetInt64(((const Const *) expr)->constvalue));
	return deparse_expression(expr, shown->context, shown->prefix, false);
}

/* How many rows are wanted: " 10", " 10 + 5". */
static void
add_limit(Shown *shown)
{
	const tsurugi_job *job = shown->job;

	appendStringInfo(&shown->text, ", top %s", kind_of_limit(shown, job->limit_count));
	if (job->limit_offset != NULL)
		appendStringInfo(&shown->text, " + %s", kind_of_limit(shown, job->limit_offset));
}

static bool
is_descending(const tsurugi_job_key *key)
{
	return lookup_type_cache(exprType(key->expr), TYPECACHE_GT_OPR)->gt_opr == key->sortop;
}

static void
add_order(Shown *shown, const tsurugi_job_step *step)
{
	ListCell *cell;

	if (shown->job->limit_count != NULL)
		add_limit(shown);
	else
		appendStringInfoString(&shown->text, ", sort");
	appendStringInfoString(&shown->text, " by (");
	foreach (cell, step->order)
	{
		const tsurugi_job_key *key = lfirst(cell);
		bool descending = is_descending(key);

		if (cell != list_head(step->order))
			appendStringInfoString(&shown->text, ", ");
		add_expr(shown, key->expr);
		appendStringInfoString(&shown->text, descending ? " DESC" : "");
		if (key->nulls_first != descending)
			appendStringInfoString(&shown->text, key->nulls_first ? " NULLS FIRST" : " NULLS LAST");
	}
	appendStringInfoChar(&shown->text, ')');
}

/* The branch that the sink is of. */
static int
last_branch(const tsurugi_job *job, int number)
{
	while (((const tsurugi_job_step *) list_nth(job->steps, number))->goes_on)
		number++;
	return number;
}

static void
describe_step(Shown *shown, int number)
{
	const tsurugi_job_step *step = list_nth(shown->job->steps, number);
	ListCell *cell;

	initStringInfo(&shown->text);
	add_source(shown, step);
	foreach (cell, step->operators)
		if (!step->goes_on || foreach_current_index(cell) < step->own_operators)
			add_operator(shown, lfirst(cell));
	if (step->goes_on)
	{
		appendStringInfo(&shown->text, ", append to %d", last_branch(shown->job, number) + 1);
		return;
	}
	if (step->sink == TG_NOTHING)
		return;
	if (step->sink == TG_DELIVER)
		appendStringInfoString(&shown->text, ", deliver");
	else if (step->sink == TG_SORT)
		add_order(shown, step);
	else if (step->sink == TG_STORE)
		appendStringInfo(
			&shown->text, ", store into %s",
			quote_identifier(get_rel_name(rt_fetch(shown->job->into->relation, shown->es->rtable)->relid)));
	else if (step->sink == TG_BUILD)
		appendStringInfoString(&shown->text, ", build");
	else if (step->keys == NIL)
		appendStringInfoString(&shown->text, ", aggregate");
	else
	{
		static const char *const sets[] = {[TSURUGI_SET_NONE] = "group",
										   [TSURUGI_SET_UNION] = "union",
										   [TSURUGI_SET_INTERSECT] = "intersect",
										   [TSURUGI_SET_EXCEPT] = "except"};

		appendStringInfo(&shown->text, ", %s%s by (", sets[step->set], step->all ? " all" : "");
		foreach (cell, step->keys)
		{
			if (cell != list_head(step->keys))
				appendStringInfoString(&shown->text, ", ");
			add_expr(shown, lfirst(cell));
		}
		appendStringInfoChar(&shown->text, ')');
	}
}

static void
show_figures(const Shown *shown, const tg_step_report *report, const tsurugi_job_step *step)
{
	tg_sink_kind sink = step->sink;
	bool keeps = sink != TG_NOTHING && !step->goes_on; /* what a branch has kept is the last one's */
	static const char *const kept_as[] = {[TG_BUILD] = "built",
										  [TG_GROUP] = "groups",
										  [TG_DELIVER] = "delivered",
										  [TG_SORT] = "sorted",
										  [TG_STORE] = "stored"};
	static const char *const properties[] = {[TG_BUILD] = "Rows Built",
											 [TG_GROUP] = "Groups",
											 [TG_DELIVER] = "Rows Delivered",
											 [TG_SORT] = "Rows Sorted",
											 [TG_STORE] = "Rows Stored"};
	ExplainState *es = shown->es;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		es->indent++;
		appendStringInfoSpaces(es->str, es->indent * 2);
		appendStringInfo(es->str, "Rows: %llu read", (unsigned long long) report->rows_in);
		if (sink != TG_NOTHING)
			appendStringInfo(es->str, ", %llu left", (unsigned long long) report->rows_out);
		if (keeps)
			appendStringInfo(es->str, ", %llu %s", (unsigned long long) report->rows_kept, kept_as[sink]);
		if (report->chunks_skipped > 0)
			appendStringInfo(es->str, ", %llu chunks skipped", (unsigned long long) report->chunks_skipped);
		if (report->keys_looked_up > 0)
			appendStringInfo(es->str, ", %llu keys looked up", (unsigned long long) report->keys_looked_up);
		if (report->spilled > 0)
			appendStringInfo(es->str, ", %llu kB spilled", (unsigned long long) (report->spilled + 1023) / 1024);
		if (es->timing)
			appendStringInfo(es->str, ", %.3f ms", (double) report->elapsed_us / 1000);
		appendStringInfoChar(es->str, '\n');
		es->indent--;
		return;
	}
	ExplainPropertyUInteger("Rows Read", NULL, report->rows_in, es);
	if (sink != TG_NOTHING)
		ExplainPropertyUInteger("Rows Left", NULL, report->rows_out, es);
	if (keeps)
		ExplainPropertyUInteger(properties[sink], NULL, report->rows_kept, es);
	ExplainPropertyUInteger("Chunks Skipped", NULL, report->chunks_skipped, es);
	ExplainPropertyUInteger("Keys Looked Up", NULL, report->keys_looked_up, es);
	ExplainPropertyUInteger("Spilled", "kB", (report->spilled + 1023) / 1024, es);
	if (es->timing)
		ExplainPropertyFloat("Step Time", "ms", (double) report->elapsed_us / 1000, 3, es);
}

static void
show_step(Shown *shown, int number, const tsurugi_job_report *report)
{
	ExplainState *es = shown->es;

	describe_step(shown, number);
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText(psprintf("Step %d", number + 1), shown->text.data, es);
	else
	{
		ExplainOpenGroup("Step", NULL, true, es);
		ExplainPropertyText("Operators", shown->text.data, es);
	}
	if (es->analyze && report->ran)
		show_figures(shown, &report->steps[number], list_nth(shown->job->steps, number));
	ExplainCloseGroup("Step", NULL, true, es);
}

void
tsurugi_job_explain(const tsurugi_job *job, const tsurugi_job_report *report, CustomScanState *node, List *ancestors,
					ExplainState *es)
{
	Shown shown = {.job = job,
				   .es = es,
				   .context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors),
				   .prefix = list_length(job->steps) > 1 || es->verbose};

	ExplainOpenGroup("Steps", "Steps", false, es);
	for (int i = 0; i < list_length(job->steps); i++)
		show_step(&shown, i, report);
	ExplainCloseGroup("Steps", "Steps", false, es);
	if (es->analyze && report->ran && es->costs && report->query.in_place)
		ExplainPropertyText("Source", "in place", es);
	else if (es->analyze && report->ran && es->costs)
		ExplainPropertyUInteger("Tasks", NULL, report->query.tasks, es);
	if (report->fallback != NULL)
		ExplainPropertyText("Fallback", report->fallback, es);
}

const char *
tsurugi_job_reason(tg_status status)
{
	switch (status)
	{
		case TG_UNFIT:
			return "a value or an error that jobs do not compute";
		case TG_NO_MEMORY:
			return "not enough memory for the job";
		case TG_FULL:
			return "too many jobs";
		case TG_STOPPED:
			return "the workers were stopped";
		case TG_EXISTS: /* of a job that stores, as the rest */
			return "a key that another row has, or may come to have";
		case TG_TOO_LARGE:
			return "a key that is too long";
		case TG_OVER_QUOTA:
			return "not enough memory for the rows";
		case TG_FORBIDDEN:
			return "tasks cannot write for this transaction";
		default:
			return NULL;
	}
}

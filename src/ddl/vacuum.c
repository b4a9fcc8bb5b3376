/*
 * vacuum.c
 *	  VACUUM of tables in memory, alone, among others and below partitioned tables.
 *
 * Garbage in memory is collected continuously.  What remains of VACUUM is FULL, which stores a
 * table anew (rewrite.h), and ANALYZE.  PostgreSQL vacuums ordinary tables in the same statement;
 * if it meets a table in memory, it warns, and omits its ANALYZE.  So a partitioned table with
 * partitions in memory is split into those, PostgreSQL's partitions, and an ANALYZE of the whole.
 *
 * ANALYZE without a table (and VACUUM's) processes all tables, but PostgreSQL leaves out foreign
 * ones, whose rows another server would have to send.  Tables in memory come after PostgreSQL's.
 */
#include "postgres.h"

#include "src/ddl/vacuum.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "postmaster/bgworker_internals.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "src/ddl/rewrite.h"

static bool
is_analyzing(const VacuumStmt *vacuum)
{
	bool analyzes = false;
	ListCell *cell;

	foreach (cell, vacuum->options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "analyze") == 0)
			analyzes = defGetBoolean(option);
	}
	return analyzes;
}

/* The options of VACUUM that ANALYZE accepts: VERBOSE and SKIP_LOCKED. */
static List *
options_of_analyze(VacuumStmt *vacuum)
{
	List *options = NIL;
	ListCell *cell;

	foreach (cell, vacuum->options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "verbose") == 0 || strcmp(option->defname, "skip_locked") == 0)
			options = lappend(options, copyObject(option));
	}
	return options;
}

static void
run_on(const tsurugi_utility *utility, VacuumStmt *written, List *tables, bool is_vacuum, List *options)
{
	VacuumStmt *statement = copyObject(written);
	MemoryContext caller = CurrentMemoryContext;

	statement->rels = tables;
	statement->is_vacuumcmd = is_vacuum;
	statement->options = options;
	tsurugi_utility_run_instead(utility, (Node *) statement);
	/* Several tables each have their own transaction, and so has the code that follows. */
	MemoryContextSwitchTo(caller);
}

/* As in ExecVacuum. */
static int
parallel_workers(ParseState *parse, DefElem *option)
{
	int workers;

	if (option->arg == NULL)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg("parallel option requires a value between 0 and %d", MAX_PARALLEL_WORKER_LIMIT),
						parser_errposition(parse, option->location)));
	workers = defGetInt32(option);
	if (workers < 0 || workers > MAX_PARALLEL_WORKER_LIMIT)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
						errmsg("parallel workers for vacuum must be between 0 and %d", MAX_PARALLEL_WORKER_LIMIT),
						parser_errposition(parse, option->location)));
	return workers;
}

/* The options of VACUUM that matter here. */
typedef struct VacuumOptions
{
	bool full;
	bool process_toast;
	bool disable_page_skipping;
	bool skip_locked;
	bool other; /* options without effect here */
} VacuumOptions;

/* The variable of an option that is on or off; NULL: there is no option of this name. */
static bool *
find_switch(VacuumOptions *options, const char *name)
{
	static const char *const others[] = {"verbose", "analyze", "freeze", "truncate", "index_cleanup"};

	if (strcmp(name, "full") == 0)
		return &options->full;
	if (strcmp(name, "process_toast") == 0)
		return &options->process_toast;
	if (strcmp(name, "disable_page_skipping") == 0)
		return &options->disable_page_skipping;
	if (strcmp(name, "skip_locked") == 0)
		return &options->skip_locked;
	for (int i = 0; i < lengthof(others); i++)
		if (strcmp(name, others[i]) == 0)
			return &options->other;
	return NULL;
}

static bool
is_auto(DefElem *option)
{
	return strcmp(option->defname, "index_cleanup") == 0 &&
		   (option->arg == NULL || pg_strcasecmp(defGetString(option), "auto") == 0);
}

/* As in ExecVacuum. */
static VacuumOptions
read_options(ParseState *parse, const VacuumStmt *vacuum)
{
	VacuumOptions options = {.process_toast = true};
	bool parallel = false;
	ListCell *cell;

	foreach (cell, vacuum->options)
	{
		DefElem *option = lfirst(cell);
		bool *value = find_switch(&options, option->defname);

		if (strcmp(option->defname, "parallel") == 0)
			parallel = parallel_workers(parse, option) > 0;
		else if (value == NULL)
			ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("unrecognized VACUUM option \"%s\"", option->defname),
							parser_errposition(parse, option->location)));
		else if (!is_auto(option))
			*value = defGetBoolean(option);
	}
	if (options.full && parallel)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("VACUUM FULL cannot be performed in parallel")));
	foreach (cell, vacuum->rels)
		if (((VacuumRelation *) lfirst(cell))->va_cols != NIL && !is_analyzing(vacuum))
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("ANALYZE option must be specified when a column list is provided")));
	return options;
}

/* As in vacuum(). */
static void
check_options(const VacuumOptions *options)
{
	if (options->full && options->disable_page_skipping)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL")));
	if (options->full && !options->process_toast)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("PROCESS_TOAST required with VACUUM FULL")));
}

/*
 * Whether the user may vacuum the table; otherwise a warning says so.  vacuum_open_relation reports
 * a table that has been dropped meanwhile.
 */
static bool
may_vacuum(Oid id)
{
	HeapTuple class = SearchSysCache1(RELOID, ObjectIdGetDatum(id));
	bool may;

	if (!HeapTupleIsValid(class))
		return true;
	may = vacuum_is_relation_owner(id, (Form_pg_class) GETSTRUCT(class), VACOPT_VACUUM);
	ReleaseSysCache(class);
	return may;
}

/*
 * VACUUM of tables in memory.  A table that another role owns is skipped with a warning, before the
 * wait for its lock; with SKIP_LOCKED, a locked table is skipped, too.  Returns the others.
 */
static List *
vacuum_ours(List *tables, const VacuumOptions *options)
{
	LOCKMODE mode = options->full ? AccessExclusiveLock : ShareUpdateExclusiveLock;
	bits32 flags = VACOPT_VACUUM | (options->skip_locked ? VACOPT_SKIP_LOCKED : 0);
	List *vacuumed = NIL;
	ListCell *cell;

	foreach (cell, tables)
	{
		const VacuumRelation *named = lfirst(cell);
		Relation table =
			may_vacuum(named->oid) ? vacuum_open_relation(named->oid, named->relation, flags, false, mode) : NULL;

		if (table == NULL)
			continue;
		if (vacuum_is_relation_owner(named->oid, table->rd_rel, VACOPT_VACUUM)) /* still */
		{
			vacuumed = lappend(vacuumed, lfirst(cell));
			if (options->full)
			{
				CheckTableNotInUse(table, "VACUUM");
				tsurugi_table_compact(table, InvalidOid);
			}
		}
		table_close(table, NoLock);
	}
	return vacuumed;
}

/* The tables that a VACUUM processes, by kind. */
typedef struct Vacuumed
{
	List *ours;
	/* Partitioned tables with partitions in memory; ANALYZE reaches all of these. */
	List *analyzed;
	List *partitions; /* the other partitions below them */
	List *others;
} Vacuumed;

static List *
partitions_of(const RangeVar *name)
{
	Oid id = RangeVarGetRelid(name, NoLock, true);

	if (!OidIsValid(id) || get_rel_relkind(id) != RELKIND_PARTITIONED_TABLE)
		return NIL;
	return find_all_inheritors(id, NoLock, NULL);
}

static bool
has_our_partition(const RangeVar *name)
{
	ListCell *cell;

	foreach (cell, partitions_of(name))
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			return true;
	return false;
}

/* A parent that another role owns is skipped with a warning, but not the tables below it. */
static void
add_partitions(VacuumRelation *table, Vacuumed *vacuumed)
{
	Relation parent = table_openrv(table->relation, AccessShareLock);
	ListCell *cell;

	if (vacuum_is_relation_owner(RelationGetRelid(parent), parent->rd_rel, VACOPT_VACUUM))
		vacuumed->analyzed = lappend(vacuumed->analyzed, copyObject(table));
	table_close(parent, AccessShareLock);
	foreach (cell, partitions_of(table->relation))
	{
		Oid id = lfirst_oid(cell);
		RangeVar *name = makeRangeVar(get_namespace_name(get_rel_namespace(id)), get_rel_name(id), -1);

		if (tsurugi_is_our_table(id))
			/* As in PostgreSQL, a skipped partition is not named. */
			vacuumed->ours = lappend(vacuumed->ours, makeVacuumRelation(NULL, id, NIL));
		else if (get_rel_relkind(id) == RELKIND_RELATION)
			vacuumed->partitions = lappend(vacuumed->partitions, makeVacuumRelation(name, InvalidOid, NIL));
	}
}

/* The options of VACUUM without ANALYZE. */
static List *
options_of_vacuum(const VacuumStmt *vacuum)
{
	List *options = copyObject(vacuum->options);
	ListCell *cell;

	foreach (cell, options)
		if (strcmp(((DefElem *) lfirst(cell))->defname, "analyze") == 0)
			options = foreach_delete_current (options, cell);
	return options;
}

static void
vacuum_tables(const tsurugi_utility *utility, VacuumStmt *written)
{
	ParseState *parse = make_parsestate(NULL);
	Vacuumed vacuumed = {0};
	/* The tables in memory that are named. */
	List *direct = NIL;
	List *analyzed;
	VacuumOptions options;
	ListCell *cell;

	parse->p_sourcetext = utility->text;
	options = read_options(parse, written);
	free_parsestate(parse);
	PreventInTransactionBlock(utility->context == PROCESS_UTILITY_TOPLEVEL, "VACUUM");
	check_options(&options);
	foreach (cell, written->rels)
	{
		VacuumRelation *table = lfirst(cell);
		Oid id = RangeVarGetRelid(table->relation, NoLock, true);

		if (tsurugi_is_our_table(id))
			direct = lappend(direct, makeVacuumRelation(copyObject(table->relation), id, copyObject(table->va_cols)));
		else if (has_our_partition(table->relation))
			add_partitions(table, &vacuumed);
		else
			vacuumed.others = lappend(vacuumed.others, copyObject(table));
	}
	analyzed = list_concat(vacuum_ours(direct, &options), vacuumed.analyzed);
	(void) vacuum_ours(vacuumed.ours, &options);
	/* VACUUM continues in transactions of its own, so it comes last. */
	if (is_analyzing(written) && analyzed != NIL)
		run_on(utility, written, analyzed, false, options_of_analyze(written));
	if (vacuumed.partitions != NIL)
		run_on(utility, written, vacuumed.partitions, true, options_of_vacuum(written));
	if (vacuumed.others != NIL)
		run_on(utility, written, vacuumed.others, true, copyObject(written->options));
}

static bool
is_ours(const RangeVar *name)
{
	return tsurugi_is_our_table(RangeVarGetRelid(name, NoLock, true)) || has_our_partition(name);
}

/*
 * The tables in memory, in this database, that the user may analyze.  PostgreSQL has processed all
 * tables before, and has warned of the others.
 */
static List *
all_of_ours(void)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List *tables = NIL;
	HeapTuple entry;

	while (HeapTupleIsValid(entry = systable_getnext(scan)))
	{
		Oid id = ((Form_pg_foreign_table) GETSTRUCT(entry))->ftrelid;

		if (tsurugi_is_our_table(id) &&
			(pg_class_ownercheck(id, GetUserId()) || pg_database_ownercheck(MyDatabaseId, GetUserId())))
			tables = lappend(tables, makeVacuumRelation(NULL, id, NIL));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return tables;
}

static void
run_on_all(const tsurugi_utility *utility, VacuumStmt *written)
{
	MemoryContext caller = CurrentMemoryContext;
	List *tables;

	tsurugi_utility_run(utility);
	MemoryContextSwitchTo(caller);
	tables = all_of_ours();
	if (tables != NIL)
		run_on(utility, written, tables, false, options_of_analyze(written));
}

bool
tsurugi_vacuum_run(const tsurugi_utility *utility, VacuumStmt *written)
{
	ListCell *cell;

	if (written->rels == NIL && (!written->is_vacuumcmd || is_analyzing(written)))
	{
		run_on_all(utility, written);
		return true;
	}
	if (!written->is_vacuumcmd)
		return false;
	foreach (cell, written->rels)
	{
		const VacuumRelation *table = lfirst(cell);

		if (table->relation != NULL && is_ours(table->relation))
		{
			vacuum_tables(utility, written);
			return true;
		}
	}
	return false;
}

/*
 * followers.c
 *	  Objects that belong or refer to a table and follow it when it becomes another relation.
 *
 * PostgreSQL writes definitions (pg_get_viewdef and the like) that name the table.  When they are
 * executed again after another relation has got its name, they refer to that one.
 *
 *	views						replaced, so that they stay the same objects, with their rights,
 *								triggers and everything that refers to them
 *	inheriting tables			inherit from the new relation (inherit_place.c)
 *	foreign keys, both ways		dropped, and made again as they were, valid or not
 *	triggers, statistics		dropped with the old relation, and made again
 *	enabled states of triggers	set again, also for triggers that belong to foreign keys or come
 *								from a table above the partition: these are new and enabled
 *
 * Comments, owners and settings of these objects follow, too.  PostgreSQL checks the rights that
 * each statement requires.
 *
 * No row is verified for a foreign key that is made again: PostgreSQL verifies rows as the role
 * that runs the statement, so casts written by the tables' owners would run with the rights of the
 * role that moves the table.  A key that was valid is still valid afterwards:
 * 1. The move has the same rows as before, those that are committed and the transaction's own: the
 *	  copy reads them at a snapshot that is taken after the table was locked against all others.
 * 2. A transaction that changes the other table holds ROW EXCLUSIVE on it until it ends.  Dropping
 *	  the old key and adding the new one take locks that conflict with it.  So each such transaction
 *	  either has ended before, and had its changes checked by the old key, or begins when the new
 *	  key is committed.  If the check of such a transaction needs the moved table, while the move
 *	  waits for that transaction's lock, this is a deadlock, and one of the two is ended.
 * 3. Deferred checks of either table by the transaction itself would be lost with the old key.  So
 *	  there must be none.  Means that circumvent a key (session_replication_role, functions that are
 *	  falsely declared immutable) leave it marked as valid, as when PostgreSQL rewrites a table.
 *
 * Queries, and therefore the definitions that PostgreSQL writes in them, run under the fixed search
 * path of query.h.  Definitions with expressions are executed under a search path fixed in the same
 * way: an operator without a schema is pg_catalog's.
 */
#include "postgres.h"

#include "src/ddl/followers.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"

#include "runtime/base/check.h"
#include "src/base/query.h"
#include "src/ddl/utility.h"
#include "src/txn/deferred.h"

/* --- objects that cannot follow -------------------------------------------------------------- */

/*
 * $1: the table; $2: it becomes a foreign table.  Finds the objects that depend on it (deptype n),
 * except for its own parts and for those that follow, and the extension that it is a member of.
 */
static const char *const others_question =
	"WITH own AS (SELECT 'pg_catalog.pg_class'::pg_catalog.regclass AS class, $1 AS object "
	"  UNION ALL SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass, oid FROM pg_catalog.pg_constraint WHERE conrelid = $1 "
	"  UNION ALL SELECT 'pg_catalog.pg_type'::pg_catalog.regclass, t.oid FROM pg_catalog.pg_class r "
	"    JOIN pg_catalog.pg_type b ON b.oid = r.reltype JOIN pg_catalog.pg_type t ON t.oid IN (b.oid, b.typarray) WHERE r.oid = $1), "
	"found AS (SELECT 'pg_catalog.pg_trigger'::pg_catalog.regclass AS class, oid AS object FROM pg_catalog.pg_trigger "
	"    WHERE tgrelid = $1 AND NOT tgisinternal AND $2 "
	"      AND (tgconstraint <> 0 OR tgoldtable IS NOT NULL OR tgnewtable IS NOT NULL OR tgtype::pg_catalog.int4 & 32 <> 0) "
	"  UNION SELECT 'pg_catalog.pg_policy'::pg_catalog.regclass, oid FROM pg_catalog.pg_policy WHERE polrelid = $1 "
	"  UNION SELECT 'pg_catalog.pg_rewrite'::pg_catalog.regclass, oid FROM pg_catalog.pg_rewrite WHERE ev_class = $1 "
	"  UNION SELECT 'pg_catalog.pg_publication_rel'::pg_catalog.regclass, oid FROM pg_catalog.pg_publication_rel WHERE prrelid = $1 "
	"  UNION SELECT 'pg_catalog.pg_subscription'::pg_catalog.regclass, srsubid FROM pg_catalog.pg_subscription_rel WHERE srrelid = $1 "
	"  UNION SELECT refclassid, refobjid FROM pg_catalog.pg_depend "
	"    WHERE classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND objid = $1 AND deptype = 'e' "
	"  UNION SELECT d.classid, d.objid FROM pg_catalog.pg_depend d JOIN own ON d.refclassid = own.class AND d.refobjid = own.object "
	"    WHERE d.deptype = 'n' "
	"      AND NOT (d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND EXISTS (SELECT FROM pg_catalog.pg_inherits "
	"        WHERE inhrelid = d.objid AND inhparent = d.refobjid)) "
	"      AND NOT (d.classid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND EXISTS (SELECT FROM pg_catalog.pg_constraint "
	"        WHERE oid = d.objid AND (conrelid = $1 OR (contype = 'f' AND confrelid = $1)))) "
	"      AND NOT (d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass AND EXISTS (SELECT FROM pg_catalog.pg_attrdef "
	"        WHERE oid = d.objid AND adrelid = $1)) "
	"      AND NOT (d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass AND EXISTS (SELECT FROM pg_catalog.pg_trigger "
	"        WHERE oid = d.objid AND (tgrelid = $1 OR tgisinternal))) "
	"      AND NOT (d.classid = 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass AND EXISTS (SELECT FROM pg_catalog.pg_statistic_ext "
	"        WHERE oid = d.objid AND stxrelid = $1)) "
	"      AND NOT (d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND EXISTS (SELECT FROM pg_catalog.pg_rewrite w "
	"        JOIN pg_catalog.pg_class v ON v.oid = w.ev_class WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND v.relkind = 'v') "
	"        AND d.refclassid <> 'pg_catalog.pg_type'::pg_catalog.regclass)) "
	"SELECT pg_catalog.string_agg(pg_catalog.pg_describe_object(class, object, 0), E'\\n' "
	"  ORDER BY pg_catalog.pg_describe_object(class, object, 0)) FROM found";

void
tsurugi_followers_check(Oid relation, const char *name, bool into_memory)
{
	Oid types[] = {OIDOID, BOOLOID};
	Datum values[] = {ObjectIdGetDatum(relation), BoolGetDatum(into_memory)};
	char *list;

	tsurugi_query_catalogs(others_question, 2, types, values);
	list = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (list != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
				 errmsg("cannot move table \"%s\" into or out of memory because other objects depend on it", name),
				 errdetail_internal("%s", list)));
}

/* --- objects that follow --------------------------------------------------------------------- */

/* Returns the rows of a query with one column of text. */
static List *
ask(const char *question, Oid relation)
{
	Oid types[] = {OIDOID};
	Datum values[] = {ObjectIdGetDatum(relation)};
	List *texts = NIL;

	tsurugi_query_catalogs(question, 1, types, values);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		char *text = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);

		if (text != NULL)
			texts = lappend(texts, text);
	}
	SPI_freetuptable(SPI_tuptable);
	return texts;
}

static const char *const views_question =
	"SELECT pg_catalog.format('CREATE OR REPLACE VIEW %I.%I%s AS %s', n.nspname, v.relname, "
	"  ' WITH (' || pg_catalog.array_to_string(v.reloptions, ', ') || ')', pg_catalog.pg_get_viewdef(v.oid)) "
	"FROM pg_catalog.pg_class v JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace WHERE v.relkind = 'v' AND v.oid IN ("
	"  SELECT w.ev_class FROM pg_catalog.pg_rewrite w JOIN pg_catalog.pg_depend d "
	"    ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid "
	"  WHERE w.rulename = '_RETURN' AND "
	"    ((d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = $1) OR "
	"     (d.refclassid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.refobjid IN "
	"       (SELECT oid FROM pg_catalog.pg_constraint WHERE conrelid = $1)))) ORDER BY v.oid";

/* Statements about foreign keys, with the alias c. */
#define OF_KEYS                                                                                                        \
	"FROM pg_catalog.pg_constraint c JOIN pg_catalog.pg_class r ON r.oid = c.conrelid "                                \
	"JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace "
#define DROP_KEYS                                                                                                      \
	"SELECT pg_catalog.format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, r.relname, c.conname) " OF_KEYS
#define ADD_KEYS                                                                                                       \
	"SELECT pg_catalog.format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', n.nspname, r.relname, c.conname, "             \
	"  pg_catalog.pg_get_constraintdef(c.oid)) " OF_KEYS
#define COMMENT_KEYS                                                                                                               \
	"SELECT pg_catalog.format('COMMENT ON CONSTRAINT %I ON %I.%I IS %L', c.conname, n.nspname, r.relname, d.description) " OF_KEYS \
	"JOIN pg_catalog.pg_description d "                                                                                            \
	"  ON d.classoid = 'pg_catalog.pg_constraint'::pg_catalog.regclass AND d.objoid = c.oid "

/* The keys that refer to a table of which $1 is a partition. */
#define OF_ABOVE                                                                                                       \
	"WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid <> $1 "                                               \
	"AND c.confrelid IN (SELECT relid FROM pg_catalog.pg_partition_ancestors($1)) ORDER BY c.oid"

static const char *const drops_question =
	DROP_KEYS "WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid = $1 AND c.conrelid <> $1 ORDER BY c.oid";

/*
 * Keys of partitions that refer to the table are made before the key of their parent, which adopts
 * them as they are, with their names and comments.  Keys to partitions that it refers to come with
 * the key to the parent.
 */
#define OF_TABLE "((c.conrelid = $1 AND c.conparentid = 0) OR (c.confrelid = $1 AND c.conrelid <> $1)) "
static const char *const keys_question =
	ADD_KEYS "WHERE c.contype = 'f' AND " OF_TABLE
			 "ORDER BY (SELECT pg_catalog.count(*) FROM pg_catalog.pg_partition_ancestors(c.conrelid)) DESC, c.oid";

/* Also for keys that LIKE makes: it omits the comments of keys. */
static const char *const comments_question = COMMENT_KEYS "WHERE " OF_TABLE "ORDER BY c.oid";

static const char *const unchecked_question = "SELECT pg_catalog.quote_ident(conname) FROM pg_catalog.pg_constraint "
											  "WHERE conrelid = $1 AND contype = 'c' AND NOT convalidated ORDER BY oid";

static const char *const checks_question =
	"SELECT pg_catalog.format('CONSTRAINT %I %s', conname, pg_catalog.pg_get_constraintdef(oid)) FROM pg_catalog.pg_constraint "
	"WHERE conrelid = $1 AND contype = 'c' AND NOT convalidated ORDER BY oid";

static const char *const triggers_question =
	"SELECT s.statement FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class r ON r.oid = t.tgrelid "
	"JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace, LATERAL (VALUES "
	"  (1, pg_catalog.pg_get_triggerdef(t.oid)), "
	"  (2, 'COMMENT ON TRIGGER ' || pg_catalog.quote_ident(t.tgname) || pg_catalog.format(' ON %I.%I IS ', n.nspname, r.relname) "
	"    || pg_catalog.quote_literal(pg_catalog.obj_description(t.oid, 'pg_trigger')))) AS s (place, statement) "
	"WHERE t.tgrelid = $1 AND NOT t.tgisinternal ORDER BY t.oid, s.place";

static const char *const statistics_question =
	"SELECT s.statement FROM pg_catalog.pg_statistic_ext e JOIN pg_catalog.pg_namespace n ON n.oid = e.stxnamespace, LATERAL (VALUES "
	"  (1, pg_catalog.pg_get_statisticsobjdef(e.oid)), "
	"  (2, CASE WHEN e.stxstattarget >= 0 THEN pg_catalog.format('ALTER STATISTICS %I.%I SET STATISTICS %s', n.nspname, e.stxname, "
	"    e.stxstattarget) END), "
	"  (3, pg_catalog.format('COMMENT ON STATISTICS %I.%I IS ', n.nspname, e.stxname) "
	"    || pg_catalog.quote_literal(pg_catalog.obj_description(e.oid, 'pg_statistic_ext'))), "
	"  (4, CASE WHEN e.stxowner <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER) "
	"    THEN pg_catalog.format('ALTER STATISTICS %I.%I OWNER TO %I', n.nspname, e.stxname, pg_catalog.pg_get_userbyid(e.stxowner)) "
	"    END)) AS s (place, statement) WHERE e.stxrelid = $1 ORDER BY e.oid, s.place";

/* Indexes and triggers that are dropped with an extension. */
static const char *const extensions_question =
	"SELECT pg_catalog.format('ALTER %s DEPENDS ON EXTENSION %I', CASE WHEN t.oid IS NULL THEN pg_catalog.format('INDEX %s', x.indexrelid::pg_catalog.regclass) "
	"  ELSE pg_catalog.format('TRIGGER %I ON %s', t.tgname, t.tgrelid::pg_catalog.regclass) END, e.extname) "
	"FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid "
	"LEFT JOIN pg_catalog.pg_index x ON d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass AND x.indexrelid = d.objid AND x.indrelid = $1 "
	"LEFT JOIN pg_catalog.pg_trigger t ON d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass AND t.oid = d.objid AND t.tgrelid = $1 "
	"WHERE d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.deptype = 'x' AND (x.indexrelid IS NOT NULL OR t.oid IS NOT NULL) "
	"ORDER BY 1";

/* The parameters of ALTER COLUMN for ANALYZE. */
static const char *const columns_question =
	"SELECT s.statement FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class r ON r.oid = a.attrelid "
	"JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace, LATERAL (VALUES "
	"  (CASE WHEN a.attstattarget >= 0 THEN pg_catalog.format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET STATISTICS %s', n.nspname, "
	"    r.relname, a.attname, a.attstattarget) END), "
	"  (pg_catalog.format('ALTER TABLE %I.%I ALTER COLUMN %I SET (', n.nspname, r.relname, a.attname) "
	"    || (SELECT pg_catalog.string_agg(o, ', ') FROM pg_catalog.unnest(a.attoptions) o WHERE pg_catalog.starts_with(o, 'n_distinct')) || ')')) "
	"  AS s (statement) "
	"WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";

static const char *const index_columns_question =
	"SELECT pg_catalog.format('ALTER INDEX %I.%I ALTER COLUMN %s SET STATISTICS %s', n.nspname, r.relname, a.attnum, a.attstattarget) "
	"FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class r ON r.oid = i.indexrelid "
	"JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid "
	"WHERE i.indrelid = $1 AND a.attstattarget >= 0 ORDER BY r.oid, a.attnum";

/*
 * PostgreSQL writes constraints at the transaction's snapshot, which does not show those that
 * others have made after it.  Constraints of other tables are not examined, because they may be
 * dropped meanwhile.
 */
static const char *const unseen_question =
	"SELECT conname::pg_catalog.text FROM pg_catalog.pg_constraint WHERE CASE WHEN (conrelid = $1 OR confrelid = $1 "
	"OR confrelid IN (SELECT relid FROM pg_catalog.pg_partition_ancestors($1))) AND contype IN ('c', 'f') "
	"THEN pg_catalog.pg_get_constraintdef(oid) IS NULL END";

static void
check_seen(Oid relation)
{
	if (ask(unseen_question, relation) != NIL)
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("could not serialize access due to concurrent update")));
}

void
tsurugi_followers_collect(Oid relation, tsurugi_followers *followers)
{
	check_seen(relation);
	followers->replace = ask(views_question, relation);
	followers->drop = ask(drops_question, relation);
	followers->unchecked = ask(unchecked_question, relation);
	followers->checks = ask(checks_question, relation);
	followers->keys = ask(keys_question, relation);
	followers->create = ask(comments_question, relation);
	followers->define = list_concat(ask(columns_question, relation), ask(index_columns_question, relation));
	followers->define = list_concat(followers->define, ask(triggers_question, relation));
	followers->define = list_concat(followers->define, ask(statistics_question, relation));
	followers->define = list_concat(followers->define, ask(extensions_question, relation));
}

void
tsurugi_followers_collect_above(Oid partition, tsurugi_followers *followers)
{
	check_seen(partition);
	followers->replace = NIL;
	followers->drop = ask(DROP_KEYS OF_ABOVE, partition);
	followers->keys = ask(ADD_KEYS OF_ABOVE, partition);
	followers->create = ask(COMMENT_KEYS OF_ABOVE, partition);
}

/* Checks a table and its partitions. */
static void
check_none_deferred(const RangeVar *table)
{
	List *parts = find_all_inheritors(RangeVarGetRelid(table, NoLock, false), NoLock, NULL);
	ListCell *cell;

	foreach (cell, parts)
	{
		tsurugi_deferred_check_none(lfirst_oid(cell), "ALTER TABLE");
		if (AfterTriggerPendingOnRel(lfirst_oid(cell)))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_IN_USE), errmsg("cannot %s \"%s\" because it has pending trigger events",
															"ALTER TABLE", get_rel_name(lfirst_oid(cell)))));
	}
}

void
tsurugi_follower_key_add(const char *statement)
{
	RawStmt *raw = linitial_node(RawStmt, raw_parser(statement, RAW_PARSE_DEFAULT));
	const AlterTableStmt *alter = castNode(AlterTableStmt, raw->stmt);
	Constraint *key = castNode(Constraint, linitial_node(AlterTableCmd, alter->cmds)->def);

	check_none_deferred(alter->relation);
	check_none_deferred(key->pktable);
	key->skip_validation = true; /* initially_valid tells whether it is valid */
	tsurugi_utility_run_own(raw->stmt, statement);
}

/* --- enabled states of triggers -------------------------------------------------------------- */

/*
 * The triggers of a table, of foreign keys that refer to it, and of those that refer to a table
 * partitioned with it.  A constraint's trigger is identified by the topmost constraint, by its side
 * of that, and by its event; it is not by the function, because tables in memory have other
 * functions.
 */
static const char *const states_question =
	"WITH RECURSIVE written AS (SELECT oid, conname FROM pg_catalog.pg_constraint WHERE conparentid = 0 "
	"  UNION ALL SELECT c.oid, w.conname FROM pg_catalog.pg_constraint c JOIN written w ON c.conparentid = w.oid), "
	"referring AS (SELECT oid FROM pg_catalog.pg_constraint WHERE contype = 'f' AND (conrelid = $1 OR confrelid = $1 "
	"  OR confrelid IN (SELECT relid FROM pg_catalog.pg_partition_tree(pg_catalog.pg_partition_root($1))))) "
	"SELECT t.oid, t.tgrelid, t.tgconstrrelid, t.tgenabled, t.tgtype::pg_catalog.text || ' ' || CASE WHEN t.tgisinternal "
	"  THEN pg_catalog.regexp_replace(t.tgname::pg_catalog.text, '[0-9]+$', '') || ' ' || coalesce(w.conname, '') ELSE t.tgname::pg_catalog.text END "
	"FROM pg_catalog.pg_trigger t LEFT JOIN written w ON w.oid = t.tgconstraint "
	"WHERE t.tgrelid = $1 OR t.tgconstraint IN (SELECT oid FROM referring)";

typedef struct TriggerState
{
	Oid trigger;
	Oid relation;
	Oid other; /* the foreign key's other table */
	char enabled;
	char *what;
} TriggerState;

static Datum
field(uint64 row, int column)
{
	bool null;
	Datum value = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column, &null);

	tg_assert(!null);
	return value;
}

List *
tsurugi_trigger_states_collect(Oid relation)
{
	Oid types[] = {OIDOID};
	Datum values[] = {ObjectIdGetDatum(relation)};
	List *states = NIL;

	tsurugi_query_catalogs(states_question, 1, types, values);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		TriggerState *state = palloc0(sizeof(*state));

		state->trigger = DatumGetObjectId(field(i, 1));
		state->relation = DatumGetObjectId(field(i, 2));
		state->other = DatumGetObjectId(field(i, 3));
		state->enabled = DatumGetChar(field(i, 4));
		state->what = TextDatumGetCString(field(i, 5));
		states = lappend(states, state);
	}
	SPI_freetuptable(SPI_tuptable);
	return states;
}

static void
set_enabled(const TriggerState *state, char enabled)
{
	Relation catalog = table_open(TriggerRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(state->trigger));
	scan = systable_beginscan(catalog, TriggerOidIndexId, true, NULL, 1, &key);
	tuple = heap_copytuple(systable_getnext(scan));
	((Form_pg_trigger) GETSTRUCT(tuple))->tgenabled = enabled;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	CacheInvalidateRelcacheByRelid(state->relation);
	systable_endscan(scan);
	table_close(catalog, RowExclusiveLock);
}

void
tsurugi_trigger_states_restore(const List *before, Oid old, Oid fresh)
{
	List *after = tsurugi_trigger_states_collect(fresh);
	ListCell *cell;

	foreach (cell, after)
	{
		const TriggerState *now = lfirst(cell);
		ListCell *cell2;

		foreach (cell2, before)
		{
			const TriggerState *was = lfirst(cell2);

			if ((was->relation == old ? fresh : was->relation) != now->relation ||
				(was->other == old ? fresh : was->other) != now->other || strcmp(was->what, now->what) != 0)
				continue;
			if (was->enabled != now->enabled)
				set_enabled(now, was->enabled);
			break;
		}
	}
}

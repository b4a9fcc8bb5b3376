/*
 * table_move.c
 *	  Moves a table into memory, or back.
 *
 * PostgreSQL cannot turn an ordinary table into a foreign one.  So a table of the other kind is
 * made beside it by LIKE ... INCLUDING ALL; the rows are copied; everything that belongs to the
 * table is handed over (owner, rights, comments, storage parameters, owned sequences and the state
 * of identity sequences); the old table is dropped, and the names are restored.  All of this
 * happens in the statement's transaction, under an exclusive lock, as statements of PostgreSQL's
 * own.
 *
 * A partition is detached before, and attached again.  Foreign keys that refer to the table above
 * are dropped before that, and made again at the end: PostgreSQL refuses to detach a partition that
 * rows refer to, and finds those rows by casts that the tables' owners have written.  If other
 * tables inherit from the table, or it inherits, the new relation takes the old one's place in the
 * catalogs (inherit_place.h).
 *
 * The relation gets a new OID.  Views, foreign keys, triggers and extended statistics follow
 * (followers.h).  Objects that cannot follow (policies, rules, publications, materialized views,
 * functions of its row type) make the statement fail with a list.  Publications of all tables, of a
 * whole schema, or of a table that this one is a partition of, silently leave out tables in memory,
 * so there is a warning.
 */
#include "postgres.h"

#include "src/ddl/table_move.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_publication.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_sequence.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"
#include "src/base/owner.h"
#include "src/base/query.h"
#include "src/ddl/cluster.h"
#include "src/ddl/create.h"
#include "src/ddl/followers.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/inherit_place.h"
#include "src/ddl/insert_as.h"
#include "src/ddl/like.h"
#include "src/ddl/partition_index.h"
#include "src/ddl/partition_join.h"
#include "src/ddl/replica_identity.h"
#include "src/ddl/rights.h"
#include "src/ddl/storage_parameters.h"
#include "src/table/relation.h"
#include "src/txn/snapshot.h"

/* One move; names that begin with "q" are quoted. */
typedef struct Move
{
	Oid old;
	Oid fresh;
	Oid owner;
	char *name;
	char *qold;
	char *qfresh;
	List *index_names; /* in the order of OIDs */
	/* The index that it was clustered by, or NULL. */
	char *clustered;
	char *identity; /* REPLICA IDENTITY ..., or NULL */
	/* Statements for a partition; otherwise NULL. */
	char *detach;
	char *attach;
	Oid above;	   /* the table of which it is a partition */
	List *without; /* indexes of that without a part in it */
	List *with;	   /* those that have a part which is not unique */
	List *parts;   /* the names of these parts */
} Move;

static void run(const char *format, ...) pg_attribute_printf(1, 2);

/* Runs one statement, as a part of the user's. */
static void
run(const char *format, ...)
{
	StringInfoData text;

	initStringInfo(&text);
	for (;;)
	{
		va_list arguments;
		int needed;

		va_start(arguments, format);
		needed = appendStringInfoVA(&text, format, arguments);
		va_end(arguments);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	tsurugi_utility_next_is_part(true);
	PG_TRY();
	{
		(void) tsurugi_query_run(text.data, 0, NULL, NULL, NULL, 0);
	}
	PG_FINALLY();
	{
		tsurugi_utility_next_is_part(false);
	}
	PG_END_TRY();
	CommandCounterIncrement();
}

static void
run_all(const List *statements)
{
	ListCell *cell;

	foreach (cell, statements)
		run("%s", (char *) lfirst(cell));
}

static void
add_keys(const List *keys)
{
	ListCell *cell;

	foreach (cell, keys)
		tsurugi_follower_key_add(lfirst(cell));
}

/*
 * Runs definitions that PostgreSQL has written, under the search path under which they were
 * written.
 */
static void
define_all(const List *definitions)
{
	int level = tsurugi_names_begin();

	run_all(definitions);
	tsurugi_names_end(level);
}

/* --- obstacles ------------------------------------------------------------------------------- */

static void
check_kind(Relation relation)
{
	const char *name = RelationGetRelationName(relation);
	const char *what = NULL;

	if (OidIsValid(relation->rd_rel->reloftype))
		what = "a typed table";
	else if (relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		what = "a temporary table";
	else if (relation->rd_rel->relrowsecurity || relation->rd_rel->relforcerowsecurity)
		what = "a table with row-level security";
	if (what != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot move table \"%s\" into or out of memory", name), errdetail("It is %s.", what)));
}

static AttrNumber
column_count(Oid relation_id)
{
	Relation relation = table_open(relation_id, NoLock);
	AttrNumber count = RelationGetNumberOfAttributes(relation);

	table_close(relation, NoLock);
	return count;
}

/* --- its place among other tables ------------------------------------------------------------ */

static char *
qualified(Oid relation)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation));
}

/* FOR VALUES ..., or DEFAULT. */
static char *
bound_of(Oid partition)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(partition));
	bool null;
	Datum bound = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_relpartbound, &null);
	Datum written = DirectFunctionCall2(pg_get_expr, bound, ObjectIdGetDatum(partition));

	ReleaseSysCache(tuple);
	return TextDatumGetCString(written);
}

/*
 * Notes which indexes of the table above have a part in the partition; those that were made for
 * ONLY it have none.
 */
static void
note_parts(Move *move)
{
	Relation partition = table_open(move->old, NoLock);
	ListCell *cell;

	foreach (cell, tsurugi_partition_indexes(move->above))
	{
		Oid part = index_get_partition(partition, lfirst_oid(cell));
		Relation index;

		if (!OidIsValid(part))
		{
			move->without = lappend_oid(move->without, lfirst_oid(cell));
			continue;
		}
		index = index_open(part, AccessShareLock);
		if (!index->rd_index->indisunique)
		{
			move->with = lappend_oid(move->with, lfirst_oid(cell));
			move->parts = lappend(move->parts, pstrdup(RelationGetRelationName(index)));
		}
		index_close(index, NoLock);
	}
	table_close(partition, NoLock);
}

static void
set_above(Oid part, Oid above)
{
	Relation index = index_open(part, AccessExclusiveLock);

	IndexSetParentIndex(index, above);
	index_close(index, NoLock);
	CommandCounterIncrement();
}

/*
 * Among equal indexes the first one has become the part; restores the original choice.  Unique
 * indexes are left as they are, because foreign keys may depend on them.
 */
static void
restore_parts(const Move *move)
{
	Oid namespace = get_rel_namespace(move->fresh);
	Relation partition = table_open(move->fresh, NoLock);
	ListCell *cell;
	ListCell *cell2;

	forboth (cell, move->with, cell2, move->parts)
	{
		Oid part = index_get_partition(partition, lfirst_oid(cell));

		if (part != get_relname_relid(lfirst(cell2), namespace))
			set_above(part, InvalidOid);
	}
	forboth (cell, move->with, cell2, move->parts)
		if (!OidIsValid(index_get_partition(partition, lfirst_oid(cell))))
			set_above(get_relname_relid(lfirst(cell2), namespace), lfirst_oid(cell));
	table_close(partition, NoLock);
}

/*
 * Detaches a partition; when it has moved, it is attached again.  Constraints, parts of indexes and
 * foreign keys from above are the table's own meanwhile and follow it as such.  They are merged
 * with those above again.
 */
static void
leave_place(Move *move, tsurugi_followers *above)
{
	char *parent;

	move->above = get_partition_parent(move->old, false);
	note_parts(move);
	parent = qualified(move->above);
	move->detach = psprintf("ALTER TABLE %s DETACH PARTITION %s", parent, move->qold);
	move->attach = psprintf("ALTER TABLE %s ATTACH PARTITION %s %s", parent, move->qold, bound_of(move->old));
	PushActiveSnapshot(GetLatestSnapshot()); /* the statement's is older than the lock */
	tsurugi_followers_collect_above(move->old, above);
	PopActiveSnapshot();
	run_all(above->drop);
	run("%s", move->detach);
}

/*
 * PostgreSQL evaluates the bounds on the rows of ordinary tables.  The owner of the table above has
 * written these expressions, so that role attaches the partition, and owns it meanwhile, which is
 * required for that.
 */
static void
attach(const Move *move)
{
	Oid author = tsurugi_owner_of(move->above);
	tsurugi_caller caller;

	tsurugi_set_owner(move->fresh, author);
	tsurugi_author_begin(author, &caller);
	run("%s", move->attach);
	tsurugi_owner_end(&caller);
	tsurugi_give_back(move->fresh, move->owner);
}

static void
return_to_place(const Move *move)
{
	tsurugi_partition_indexes_hide(move->above, move->without, true);
	attach(move);
	tsurugi_partition_indexes_hide(move->above, move->without, false);
	restore_parts(move);
}

/* --- objects that follow the table ----------------------------------------------------------- */

/*
 * A definition concerns all committed rows, not those that the transaction sees.  So at every
 * isolation level the rows are read as of now, on either side, and these reads are not noted as the
 * transaction's.  The role that moves a table need not have the right to insert into it.
 */
static void
insert_as_of_now(const Move *move, const char *columns)
{
	const char *target = *columns == '\0' ? "" : psprintf("(%s) OVERRIDING SYSTEM VALUE", columns);
	Snapshot now = RegisterSnapshot(GetLatestSnapshot());
	bool outer = tsurugi_snapshot_begin_fresh();

	PG_TRY();
	{
		tsurugi_insert_as(
			move->owner, InvalidOid,
			psprintf("INSERT INTO %s %s SELECT %s FROM ONLY %s", move->qfresh, target, columns, move->qold), now);
	}
	PG_FINALLY();
	{
		tsurugi_snapshot_end_fresh(outer);
	}
	PG_END_TRY();
	UnregisterSnapshot(now);
}

static void
copy_each_row(const Move *move)
{
	Relation relation = table_open(move->old, NoLock);
	StringInfoData columns;

	initStringInfo(&columns);
	for (int i = 0; i < RelationGetNumberOfAttributes(relation); i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), i);

		if (!attribute->attisdropped && attribute->attgenerated == '\0')
			appendStringInfo(&columns, "%s%s", columns.len > 0 ? ", " : "",
							 quote_identifier(NameStr(attribute->attname)));
	}
	table_close(relation, NoLock);
	insert_as_of_now(move, columns.data);
}

/*
 * When PostgreSQL rewrites a table, it does not check rows against NOT VALID constraints, nor does
 * it validate these.
 */
static void
copy_rows(const Move *move, const tsurugi_followers *followers)
{
	ListCell *cell;
	int level;

	foreach (cell, followers->unchecked)
		run("ALTER TABLE %s DROP CONSTRAINT %s", move->qfresh, (char *) lfirst(cell));
	copy_each_row(move);
	level = tsurugi_names_begin();
	foreach (cell, followers->checks)
		run("ALTER TABLE %s ADD %s", move->qfresh, (char *) lfirst(cell));
	tsurugi_names_end(level);
}

/* LIKE does not copy the type: PostgreSQL makes each such sequence a bigint. */
static void
continue_identity(Oid old, Oid fresh)
{
	HeapTuple tuple = SearchSysCache1(SEQRELID, ObjectIdGetDatum(old));
	Oid type;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for sequence %u", old);
	type = ((Form_pg_sequence) GETSTRUCT(tuple))->seqtypid;
	ReleaseSysCache(tuple);
	run("ALTER SEQUENCE %s AS %s", qualified(fresh), format_type_be_qualified(type));
	tsurugi_storage_set_persistence(fresh, get_rel_persistence(old));
	run("SELECT pg_catalog.setval(%u::pg_catalog.oid::pg_catalog.regclass, last_value, is_called) FROM %s", fresh,
		qualified(old));
}

/*
 * Sequences of serial columns change hands; those of identity columns are new, and continue from
 * the old ones.
 */
static void
hand_over_sequences(const Move *move)
{
	AttrNumber count = column_count(move->old);

	for (AttrNumber attnum = 1; attnum <= count; attnum++)
	{
		char *column = get_attname(move->old, attnum, true);
		List *sequences = getOwnedSequences(move->old);
		ListCell *cell;

		if (column == NULL || get_atttype(move->old, attnum) == InvalidOid)
			continue;
		foreach (cell, sequences)
		{
			Oid owner;
			int32 owned;

			if (sequenceIsOwned(lfirst_oid(cell), DEPENDENCY_AUTO, &owner, &owned) && owned == attnum)
				run("ALTER SEQUENCE %s OWNED BY %s.%s", qualified(lfirst_oid(cell)), move->qfresh,
					quote_identifier(column));
			else if (sequenceIsOwned(lfirst_oid(cell), DEPENDENCY_INTERNAL, &owner, &owned) && owned == attnum)
				continue_identity(lfirst_oid(cell),
								  getIdentitySequence(move->fresh, get_attnum(move->fresh, column), false));
		}
	}
}

/* The names of the identity sequences, as pairs of column and sequence. */
static List *
identity_names(const Move *move)
{
	Relation relation = table_open(move->old, NoLock);
	List *names = NIL;

	for (int i = 0; i < RelationGetNumberOfAttributes(relation); i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), i);

		if (!attribute->attisdropped && attribute->attidentity != '\0')
			names = lappend(names, list_make2(pstrdup(NameStr(attribute->attname)),
											  get_rel_name(getIdentitySequence(move->old, attribute->attnum, false))));
	}
	table_close(relation, NoLock);
	return names;
}

/* The names of a table's indexes in the order of OIDs, in which LIKE makes them, too. */
static List *
index_names(Oid relation_id)
{
	Relation relation = table_open(relation_id, NoLock);
	List *indexes = RelationGetIndexList(relation);
	List *names = NIL;
	ListCell *cell;

	table_close(relation, NoLock);
	foreach (cell, indexes)
		names = lappend(names, get_rel_name(lfirst_oid(cell)));
	return names;
}

/* LIKE makes each index in the default tablespace.  There are no rows yet. */
static void
place_indexes(const Move *move)
{
	Relation old = table_open(move->old, NoLock);
	Relation fresh = table_open(move->fresh, NoLock);
	List *fresh_indexes = RelationGetIndexList(fresh);
	List *old_indexes = RelationGetIndexList(old);
	ListCell *cell;
	ListCell *cell2;

	table_close(fresh, NoLock);
	table_close(old, NoLock);
	forboth (cell, old_indexes, cell2, fresh_indexes)
	{
		Oid wanted = get_rel_tablespace(lfirst_oid(cell));

		if (wanted != get_rel_tablespace(lfirst_oid(cell2)))
			run("ALTER INDEX %s SET TABLESPACE %s", qualified(lfirst_oid(cell2)),
				quote_identifier(get_tablespace_name(OidIsValid(wanted) ? wanted : MyDatabaseTableSpace)));
	}
}

/* --- the move ------------------------------------------------------------------- */

static void
make_fresh(Move *move, const char *method)
{
	Oid namespace = get_rel_namespace(move->old);
	char *name = ChooseRelationName(move->name, NULL, "moved", namespace, false);
	bool unlogged;
	char *storage = tsurugi_storage_clauses(move->old, &unlogged);

	move->qfresh = quote_qualified_identifier(get_namespace_name(namespace), name);
	run("CREATE %sTABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING STATISTICS) USING %s%s",
		unlogged ? "UNLOGGED " : "", move->qfresh, move->qold, quote_identifier(method), storage);
	move->fresh = get_relname_relid(name, namespace);
	/* The server's default is for new tables. */
	if (!unlogged && tsurugi_persistence(move->fresh) == RELPERSISTENCE_UNLOGGED)
		run("ALTER TABLE %s SET LOGGED", move->qfresh);
	run("ALTER TABLE %s OWNER TO %s", move->qfresh, quote_identifier(GetUserNameFromId(move->owner, false)));
	tsurugi_indexes_like(move->old, makeRangeVar(get_namespace_name(namespace), name, -1));
}

static void
give_names_back(const Move *move, List *identities)
{
	char *namespace = get_namespace_name(get_rel_namespace(move->fresh));
	List *fresh_names = index_names(move->fresh);
	ListCell *cell;
	ListCell *cell2;

	forboth (cell, move->index_names, cell2, fresh_names)
	{
		/* A constraint is renamed with its index. */
		if (strcmp(lfirst(cell), lfirst(cell2)) != 0)
			run("ALTER INDEX %s RENAME TO %s", quote_qualified_identifier(namespace, lfirst(cell2)),
				quote_identifier(lfirst(cell)));
	}
	if (move->clustered != NULL)
		run("ALTER TABLE %s CLUSTER ON %s", move->qfresh, quote_identifier(move->clustered));
	if (move->identity != NULL)
		run("ALTER TABLE %s %s", move->qfresh, move->identity);
	foreach (cell, identities)
	{
		Oid sequence = getIdentitySequence(move->fresh, get_attnum(move->fresh, linitial(lfirst(cell))), false);

		if (strcmp(get_rel_name(sequence), lsecond(lfirst(cell))) != 0)
			run("ALTER SEQUENCE %s RENAME TO %s", qualified(sequence), quote_identifier(lsecond(lfirst(cell))));
	}
}

/* Gives the new relation the name, and the old one another. */
static void
swap_names(Move *move)
{
	Oid namespace = get_rel_namespace(move->old);
	char *name = ChooseRelationName(move->name, NULL, "left", namespace, false);

	run("ALTER TABLE %s RENAME TO %s", move->qold, quote_identifier(name));
	run("ALTER TABLE %s RENAME TO %s", move->qfresh, quote_identifier(move->name));
	move->qfresh = move->qold;
	move->qold = quote_qualified_identifier(get_namespace_name(namespace), name);
}

/* The publications that include the table without naming it: also as a part of what they name. */
static List *
publications_of(Relation relation)
{
	List *found;
	ListCell *cell;

	if (!is_publishable_relation(relation))
		return NIL;
	found = list_concat_unique_oid(GetAllTablesPublications(), GetSchemaPublications(RelationGetNamespace(relation)));
	if (!relation->rd_rel->relispartition)
		return found;
	foreach (cell, get_partition_ancestors(RelationGetRelid(relation)))
	{
		Oid ancestor = lfirst_oid(cell);

		found = list_concat_unique_oid(found, GetRelationPublications(ancestor));
		found = list_concat_unique_oid(found, GetSchemaPublications(get_rel_namespace(ancestor)));
	}
	return found;
}

static void
warn_of_publications(const char *table, const List *publications)
{
	StringInfoData names;
	ListCell *cell;

	if (publications == NIL)
		return;
	initStringInfo(&names);
	foreach (cell, publications)
		appendStringInfo(&names, "%s\"%s\"", names.len > 0 ? ", " : "", get_publication_name(lfirst_oid(cell), false));
	ereport(WARNING, (errmsg("table \"%s\" is no longer published", table),
					  errdetail_plural("Publication %s does not include tables in memory.",
									   "Publications %s do not include tables in memory.",
									   (unsigned long) list_length(publications), names.data)));
}

Oid
tsurugi_move_table(Oid relation_id, const char *method)
{
	Relation relation = table_open(relation_id, NoLock);
	Move move = {.old = relation_id, .owner = relation->rd_rel->relowner};
	bool partition = relation->rd_rel->relispartition;
	tsurugi_followers above = {0};
	tsurugi_followers followers;
	List *publications = publications_of(relation);
	List *identities;
	List *states;

	tg_assert(CheckRelationLockedByMe(relation, AccessExclusiveLock, true));
	CheckTableNotInUse(relation, "ALTER TABLE");
	check_kind(relation);
	move.name = pstrdup(RelationGetRelationName(relation));
	move.clustered = get_rel_name(tsurugi_clustered_index(relation));
	move.identity = tsurugi_replica_identity_clause(relation);
	table_close(relation, NoLock);
	move.qold = qualified(relation_id);
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	PushActiveSnapshot(GetLatestSnapshot());
	states = tsurugi_trigger_states_collect(relation_id);
	PopActiveSnapshot();
	if (partition)
		leave_place(&move, &above);
	/* This snapshot shows the changes made here, and those made by others before the lock. */
	PushActiveSnapshot(GetLatestSnapshot());
	tsurugi_followers_check(relation_id, move.name, strcmp(method, TSURUGI_METHOD) == 0);
	tsurugi_followers_collect(relation_id, &followers);
	PopActiveSnapshot();
	move.index_names = index_names(relation_id);
	identities = identity_names(&move);
	make_fresh(&move, method);
	place_indexes(&move);
	copy_rows(&move, &followers);
	hand_over_sequences(&move);
	tsurugi_copy_rights_and_labels(move.old, move.fresh);
	CommandCounterIncrement();
	tsurugi_take_places(relation_id, move.fresh);
	swap_names(&move);
	define_all(followers.replace);
	run_all(followers.drop);
	run("DROP TABLE %s", move.qold);
	give_names_back(&move, identities);
	add_keys(followers.keys);
	run_all(followers.create);
	define_all(followers.define);
	if (partition)
		return_to_place(&move);
	add_keys(above.keys);
	run_all(above.create);
	PushActiveSnapshot(GetLatestSnapshot());
	tsurugi_trigger_states_restore(states, relation_id, move.fresh);
	PopActiveSnapshot();
	warn_of_publications(move.name, publications);
	SPI_finish();
	return move.fresh;
}

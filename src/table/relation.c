/*
 * relation.c
 *	  The library's description of a foreign table: its storage, columns and key.
 *
 * There is an entry for each relation in a backend-local hash table, and a pointer to the entry
 * used last.  While nothing has changed, a look-up costs four comparisons: the relation,
 * PostgreSQL's invalidation (columns, key), the map's generation (storage), and the storage's
 * number of columns (an ALTER that was rolled back leaves columns behind, and sends no
 * invalidation).
 *
 * A description is never changed under a statement that uses it: any change of it needs a lock on
 * the relation that conflicts with the statement's, or is refused by CheckTableNotInUse in the same
 * backend.  So a description that PostgreSQL has invalidated for other reasons (ANALYZE, GRANT) is
 * made again and found to be equal, and the old one is kept.  One that is not equal is kept until
 * the transaction ends, for planners and cursors.
 */
#include "postgres.h"

#include "src/table/relation.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_index.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/table/catalog.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "src/base/owner.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/value/codec.h"
#include "src/table/keys.h"
#include "src/table/storage.h"
#include "src/table/stored_types.h"

typedef struct Entry
{
	Oid oid; /* hash key */
	bool valid;
	uint64_t generation; /* of the map, when the storage was looked up */
	tsurugi_relation *described;
	MemoryContext context; /* of the description */
	/* On a standby: the transaction that has waited for the definition, and holds the lock. */
	LocalTransactionId caught_up_in;
	uint64 rollbacks;
} Entry;

static HTAB *entries;
static Entry *last_entry;
static uint64_t last_revision;
static uint64 rollbacks; /* of subtransactions */

/* --- describing ------------------------------------------------------------------- */

/* Whether storing a row may need memory, because a value must be detoasted or widened. */
static bool
may_copy(const tsurugi_relation *described)
{
	for (int i = 0; i < described->attribute_count + described->hidden_count; i++)
	{
		tsurugi_form form = (tsurugi_form) described->codecs[i].form;

		if (form == TSURUGI_VARLENA || form == TSURUGI_NUMERIC8 || form == TSURUGI_NUMERIC16)
			return true;
	}
	return described->source_count > described->hidden_count;
}

tsurugi_relation *
tsurugi_relation_describe(Relation relation)
{
	TupleDesc columns = RelationGetDescr(relation);
	tsurugi_relation *described = palloc0(sizeof(*described));
	tsurugi_caller caller;

	described->oid = RelationGetRelid(relation);
	described->attribute_count = columns->natts;
	described->codecs = palloc0(Max(columns->natts, 1) * sizeof(tsurugi_codec));
	described->kinds = palloc0(Max(columns->natts, 1));
	for (int i = 0; i < columns->natts; i++)
	{
		tsurugi_codec_init(&described->codecs[i], TupleDescAttr(columns, i));
		described->kinds[i] = described->codecs[i].kind;
	}
	/* Planning the expressions of indexes may call functions. */
	tsurugi_author_begin(tsurugi_lesser_role(relation->rd_rel->relowner), &caller);
	tsurugi_keys_describe(described, relation);
	tsurugi_owner_end(&caller);
	described->may_copy = may_copy(described);
	described->unlogged = tsurugi_persistence(described->oid) == RELPERSISTENCE_UNLOGGED || IsBinaryUpgrade;
	return described;
}

static bool
is_same(const tsurugi_relation *a, const tsurugi_relation *b)
{
	if (a->attribute_count != b->attribute_count || a->unlogged != b->unlogged)
		return false;
	for (int i = 0; i < a->attribute_count; i++)
	{
		if (!tsurugi_codec_same(&a->codecs[tsurugi_column_of(a, i)], &b->codecs[tsurugi_column_of(b, i)]))
			return false;
	}
	return tsurugi_keys_are_same(a, b);
}

/* Makes the entry's description again, or finds that it is still correct. */
static void
refresh_description(Entry *entry, Relation relation)
{
	MemoryContext context = AllocSetContextCreate(CacheMemoryContext, "tsurugi_fdw relation", ALLOCSET_SMALL_SIZES);
	MemoryContext caller;
	tsurugi_relation *described;

	/* An invalidation from now on, caused by the look-ups here, makes it stale again. */
	entry->valid = true;
	caller = MemoryContextSwitchTo(context);
	PG_TRY();
	{
		described = tsurugi_relation_describe(relation);
	}
	PG_CATCH();
	{
		entry->valid = false;
		MemoryContextDelete(context);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);

	if (entry->described != NULL && is_same(entry->described, described))
	{
		entry->described->revision = ++last_revision;
		MemoryContextDelete(context);
		return;
	}
	/* Running statements may still use it. */
	if (entry->context != NULL)
		MemoryContextSetParent(entry->context, TopTransactionContext);
	entry->described = described;
	entry->described->revision = ++last_revision;
	entry->context = context;
}

/* --- storage ---------------------------------------------------------------------- */

static void
mismatch(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
					errmsg("cannot access table \"%s\" while it is being altered", RelationGetRelationName(relation))));
}

/* The table's storage is what an earlier run of the server has left. */
static void
refuse_keys(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
					errmsg("foreign table \"%s\" was stored with other keys", RelationGetRelationName(relation)),
					errdetail("They are made in another way now: their definition has changed while the library was "
							  "not loaded, or an operator class has."),
					errhint("Store the table anew by VACUUM FULL.")));
}

static void
refuse_order(Relation relation)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("keys of foreign table \"%s\" have the order of another version of a collation",
					RelationGetRelationName(relation)),
			 errdetail("The operating system provides another version of the collation than when the keys were made."),
			 errhint("Store the table anew by VACUUM FULL.")));
}

/*
 * That a description does not agree with the storage is due to an ALTER of this transaction, which
 * has the lock then, or to a time when the library was not loaded, or to another version of the C
 * library or of ICU.  A standby may have another version than the primary: it does not use keys in
 * such an order (fdw_unique.c).
 */
static void
check_storage(const tsurugi_relation *described, Relation relation)
{
	bool is_in_order = tsurugi_storage_is_in_order(described->table, described);

	if (!is_in_order && !tsurugi_follows)
		refuse_order(relation);
	if (is_in_order && !tsurugi_storage_has_keys(described->table, described))
	{
		if (CheckRelationLockedByMe(relation, ShareUpdateExclusiveLock, true))
			mismatch(relation);
		refuse_keys(relation);
	}
	if (tsurugi_stored_types_fit(described->table, described, described->attribute_count))
		return;
	if (CheckRelationLockedByMe(relation, AccessExclusiveLock, true))
		mismatch(relation);
	tsurugi_stored_types_check(described->table, described, described->attribute_count);
}

/*
 * Makes description and storage agree.  A column that an ALTER has just added is added to the
 * storage by the session that altered the table and still has it locked.  A column that was left
 * behind is carried along as NULL.
 */
static void
follow_columns(tsurugi_relation *described, Relation relation)
{
	tg_columns stored = tg_table_columns(described->table);

	if (described->table->hidden != (uint32_t) described->hidden_count)
		mismatch(relation);
	if ((int) stored.count < described->attribute_count + described->hidden_count)
	{
		tsurugi_storage_extend(relation, described->table, described);
		stored = tg_table_columns(described->table);
	}
	if ((int) stored.count > described->column_count)
	{
		/* A row buffer made for the former columns is too small for these. */
		described->revision = ++last_revision;
		described->codecs = repalloc(described->codecs, stored.count * sizeof(tsurugi_codec));
		described->kinds = repalloc(described->kinds, stored.count);
		for (int i = described->column_count; i < (int) stored.count; i++)
		{
			memset(&described->codecs[i], 0, sizeof(tsurugi_codec));
			described->codecs[i].form = TSURUGI_NOTHING;
		}
	}
	described->column_count = stored.count;
	tg_assert(described->column_count >= described->hidden_count + described->attribute_count);
	for (int i = 0; i < described->column_count; i++)
	{
		if (described->codecs[i].form == TSURUGI_NOTHING)
			described->codecs[i].kind = stored.kinds[i];
		else if (described->codecs[i].kind != stored.kinds[i])
			mismatch(relation);
		described->kinds[i] = stored.kinds[i];
	}
}

static void
refresh_storage(Entry *entry, Relation relation)
{
	tsurugi_relation *described = entry->described;
	uint64_t generation = tg_load_acquire(tg_catalog_generation);

	described->table = tsurugi_storage_get(relation, described);
	check_storage(described, relation);
	follow_columns(described, relation);
	entry->generation = generation;
}

static inline bool
is_current(const Entry *entry)
{
	return entry->valid && entry->generation == tg_load_acquire(tg_catalog_generation) &&
		   tg_table_columns(entry->described->table).count == (unsigned) entry->described->column_count;
}

static Entry *
find_entry(Oid oid)
{
	bool found;
	Entry *entry;

	if (entries == NULL)
	{
		HASHCTL control = {.keysize = sizeof(Oid), .entrysize = sizeof(Entry), .hcxt = CacheMemoryContext};

		entries = hash_create("tsurugi_fdw relations", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	entry = hash_search(entries, &oid, HASH_ENTER, &found);
	if (!found)
		memset((char *) entry + sizeof(Oid), 0, sizeof(*entry) - sizeof(Oid));
	return entry;
}

Oid
tsurugi_index_oid(const tsurugi_relation *described, const tg_index *index)
{
	return index == NULL ? described->key_index : index->spec.host;
}

static void relation_changed(Datum argument, Oid oid);

/*
 * On a standby.  The relation is locked, so the definitions that the catalogs show are applied here
 * then, and no others are as long as the transaction holds the lock: it does not wait again, in
 * particular not with a snapshot for which the worker waits (follower.c).  A server that has been
 * promoted has keys again that a standby lacks.
 */
static void
catch_up(Oid oid)
{
	Entry *entry = find_entry(oid);

	if (entry->caught_up_in == MyProc->lxid && entry->rollbacks == rollbacks)
		return;
	if (tsurugi_session_caught_up == NULL)
		(void) tsurugi_session_catch_up(NULL);
	if (!tsurugi_follows)
		relation_changed((Datum) 0, InvalidOid);
	entry->caught_up_in = MyProc->lxid;
	entry->rollbacks = rollbacks;
}

tsurugi_relation *
tsurugi_relation_get(Relation relation)
{
	Oid oid = RelationGetRelid(relation);
	Entry *entry;

	if (tg_unlikely(tsurugi_follows))
		catch_up(oid);
	entry = last_entry;
	if (tg_likely(entry != NULL && entry->oid == oid && is_current(entry)))
		return entry->described;
	tg_assert(CheckRelationLockedByMe(relation, AccessShareLock, true));
	entry = find_entry(oid);
	last_entry = NULL;
	if (!entry->valid || entry->described == NULL)
		refresh_description(entry, relation);
	refresh_storage(entry, relation);
	last_entry = entry;
	return entry->described;
}

bool
tsurugi_relation_is_as_described(Oid oid, const tsurugi_relation *described, uint64_t revision)
{
	Entry *entry;

	if (tg_unlikely(tsurugi_follows))
		catch_up(oid);
	entry = last_entry;
	if (tg_unlikely(entry == NULL || entry->oid != oid))
	{
		entry = entries == NULL ? NULL : hash_search(entries, &oid, HASH_FIND, NULL);
		if (entry == NULL)
			return false;
	}
	if (entry->described != described || described->revision != revision || !is_current(entry))
		return false;
	last_entry = entry;
	return true;
}

/* --- invalidation -------------------------------------------------------------------- */

/* May be called at any lock, so it only marks entries. */
static void
relation_changed(Datum argument, Oid oid)
{
	HASH_SEQ_STATUS sequence;
	Entry *entry;

	if (entries == NULL)
		return;
	if (OidIsValid(oid))
	{
		entry = hash_search(entries, &oid, HASH_FIND, NULL);
		if (entry != NULL)
			entry->valid = false;
		return;
	}
	hash_seq_init(&sequence, entries);
	while ((entry = hash_seq_search(&sequence)) != NULL)
		entry->valid = false;
}

/* Locks that the subtransaction had taken are released. */
static void
subtransaction_ended(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *argument)
{
	rollbacks += event == SUBXACT_EVENT_ABORT_SUB;
}

void
tsurugi_relation_init(void)
{
	RegisterSubXactCallback(subtransaction_ended, NULL);
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/* --- ownership ------------------------------------------------------------------------------- */

/* The wrapper is recognized by its handler, whatever its name is. */
static bool
is_our_wrapper(const ForeignDataWrapper *wrapper)
{
	char *handler = OidIsValid(wrapper->fdwhandler) ? get_func_name(wrapper->fdwhandler) : NULL;

	return handler != NULL && strcmp(handler, "tsurugi_fdw_handler") == 0;
}

bool
tsurugi_is_our_server(Oid server)
{
	return is_our_wrapper(GetForeignDataWrapper(GetForeignServer(server)->fdwid));
}

bool
tsurugi_is_ours(Oid relation)
{
	HeapTuple tuple = SearchSysCache1(FOREIGNTABLEREL, ObjectIdGetDatum(relation));
	Oid server;

	if (!HeapTupleIsValid(tuple))
		return false;
	server = ((Form_pg_foreign_table) GETSTRUCT(tuple))->ftserver;
	ReleaseSysCache(tuple);
	return tsurugi_is_our_server(server);
}

bool
tsurugi_is_our_table(Oid relation)
{
	return OidIsValid(relation) && get_rel_relkind(relation) == RELKIND_FOREIGN_TABLE && tsurugi_is_ours(relation);
}

char
tsurugi_persistence(Oid relation)
{
	ListCell *cell;

	if (!tsurugi_is_our_table(relation))
		return get_rel_persistence(relation);
	foreach (cell, GetForeignTable(relation)->options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, TSURUGI_PERSISTENCE) == 0 && strcmp(defGetString(option), TSURUGI_UNLOGGED) == 0)
			return RELPERSISTENCE_UNLOGGED;
	}
	return RELPERSISTENCE_PERMANENT;
}

/* --- what tasks can insert into -------------------------------------------------------- */

/* Triggers that an INSERT fires; those of foreign keys that refer to the table are none of them. */
static bool
has_insert_triggers(Relation relation)
{
	const TriggerDesc *triggers = relation->trigdesc;

	return triggers != NULL &&
		   (triggers->trig_insert_before_row || triggers->trig_insert_after_row || triggers->trig_insert_instead_row ||
			triggers->trig_insert_before_statement || triggers->trig_insert_after_statement);
}

static bool
has_deferrable_keys(const tsurugi_relation *described)
{
	for (int i = 0; i < described->index_count; i++)
		if (described->indexes[i].deferrable)
			return true;
	return false;
}

const char *
tsurugi_relation_by_sessions(Relation relation, const tsurugi_relation *described)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	if (relation->rd_rel->relispartition)
		return "the table is a partition";
	if (has_insert_triggers(relation))
		return "the table has triggers";
	if (constraints != NULL && constraints->has_generated_stored)
		return "the table has a generated column";
	if (described->has_exclusions || has_deferrable_keys(described))
		return "the table has a constraint that sessions check";
	if (described->source_count > 0)
		return "the table has an index whose keys are made by sessions";
	return NULL;
}

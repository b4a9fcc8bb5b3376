/*
 * errors.c
 *	  Errors that name rows, keys and other transactions.
 */
#include "postgres.h"

#include "src/txn/errors.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "access/relation.h"
#include "executor/tuptable.h"
#include "utils/rel.h"

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"
#include "runtime/txn/author.h"
#include "runtime/txn/read.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn.h"
#include "src/base/others.h"
#include "src/base/owner.h"
#include "src/base/session.h"
#include "src/base/shown_text.h"
#include "src/base/status_error.h"
#include "src/table/row.h"
#include "src/txn/ladder.h"
#include "src/txn/promotion.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

static void
error_conflict(Relation relation)
{
	tsurugi_error_validation(tsurugi_transaction_conflict());
}

/* The table, or the row, is not one that the shared or the long transaction has named. */
static void
error_forbidden(Relation relation)
{
	tsurugi_shared_check_table(relation);
	if (tsurugi_is_promoted && relation != NULL)
		tsurugi_promotion_error_beyond(relation);
	ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
					errmsg("cannot write to what the long transaction has not preserved"),
					relation != NULL ? errdetail("The row of table \"%s\" is not in its write preserve.",
												 RelationGetRelationName(relation))
									 : 0,
					errhint("Name the table in tsurugi_fdw.write_preserve before the transaction's first access."),
					relation != NULL ? errtable(relation) : 0));
}

/* It is not the worker that has stopped, but the shared transaction that has ended. */
static void
check_stopped(Relation relation)
{
	tsurugi_shared_check_alive();
}

void
tsurugi_errors_init(void)
{
	tsurugi_error_register(TG_CONFLICT, error_conflict);
	tsurugi_error_register(TG_FORBIDDEN, error_forbidden);
	tsurugi_error_register(TG_STOPPED, check_stopped);
}

/* The key, "(id)=(1)", or NULL if the user may not see the columns of the index. */
static char *
describe_key(Relation index, TupleTableSlot *slot)
{
	EState *estate = CreateExecutorState();
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];
	char *key;

	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	FormIndexDatum(BuildIndexInfo(index), slot, estate, values, nulls);
	key = BuildIndexValueDescription(index, values, nulls);
	return key != NULL ? tsurugi_shown_key(key) : NULL;
}

void
tsurugi_error_duplicate(Relation relation, Oid index_id, TupleTableSlot *slot)
{
	Relation index = index_open(index_id, AccessShareLock);
	char *key = describe_key(index, slot);

	ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION),
					errmsg("duplicate key value violates unique constraint \"%s\"", RelationGetRelationName(index)),
					key != NULL ? errdetail("Key %s already exists.", key) : 0,
					errtableconstraint(relation, RelationGetRelationName(index))));
	pg_unreachable();
}

void
tsurugi_error_twice(void)
{
	ereport(ERROR, (errcode(ERRCODE_CARDINALITY_VIOLATION),
					errmsg("%s command cannot affect row a second time", "ON CONFLICT DO UPDATE"),
					errhint("Ensure that no rows proposed for insertion within the same command have duplicate "
							"constrained values.")));
	pg_unreachable();
}

void
tsurugi_error_not_unique(Relation relation, Oid index_id, TupleTableSlot *slot)
{
	Relation index = index_open(index_id, AccessShareLock);
	tsurugi_caller caller; /* the error restores it */
	char *key;

	tsurugi_owner_begin(relation, &caller);
	key = describe_key(index, slot);
	ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION),
					errmsg("could not create unique index \"%s\"", RelationGetRelationName(index)),
					key != NULL ? errdetail("Key %s is duplicated.", key) : errdetail("Duplicate keys exist."),
					errtableconstraint(relation, RelationGetRelationName(index))));
	pg_unreachable();
}

/* Follows check_exclusion_or_unique_constraint. */
void
tsurugi_error_excluded(Relation relation, Oid index_id, TupleTableSlot *slot, TupleTableSlot *existing, bool is_new)
{
	Relation index = index_open(index_id, AccessShareLock);
	const char *name = RelationGetRelationName(index);
	char *key = describe_key(index, slot);
	char *other = describe_key(index, existing);
	bool shows = key != NULL && other != NULL;

	if (is_new)
		ereport(ERROR,
				(errcode(ERRCODE_EXCLUSION_VIOLATION), errmsg("could not create exclusion constraint \"%s\"", name),
				 shows ? errdetail("Key %s conflicts with key %s.", key, other) : errdetail("Key conflicts exist."),
				 errtableconstraint(relation, name)));
	ereport(ERROR, (errcode(ERRCODE_EXCLUSION_VIOLATION),
					errmsg("conflicting key value violates exclusion constraint \"%s\"", name),
					shows ? errdetail("Key %s conflicts with existing key %s.", key, other)
						  : errdetail("Key conflicts with existing key."),
					errtableconstraint(relation, name)));
	pg_unreachable();
}

/*
 * "Row (id)=(1)", or "A row" if the key is not known or must not be shown.  version: one that a
 * published snapshot keeps, or TG_VERSION_NONE.  is_key: "Key (id)=(1)".
 */
static const char *
describe_version(Relation relation, tg_version version, bool is_key)
{
	const tsurugi_relation *described = tsurugi_relation_get(relation);
	TupleTableSlot *slot;
	Relation index;
	tsurugi_row row;
	char *key;

	if (version == TG_VERSION_NONE || described->key_count == 0)
		return is_key ? "A key" : "A row";
	tsurugi_row_init(&row, described);
	tsurugi_row_read(&row, version);
	slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	tsurugi_row_to_slot(&row, 0, slot);
	index = index_open(described->key_index, AccessShareLock);
	key = describe_key(index, slot);
	index_close(index, AccessShareLock);
	if (key == NULL)
		return is_key ? "A key" : "A row";
	return psprintf("%s %s", is_key ? "Key" : "Row", key);
}

/*
 * The version of a row that a snapshot sees.  The snapshot does not wait for anybody; it may be
 * none (time 0).
 */
static tg_version
find_version(const tg_snapshot *snapshot, tg_table *table, uint32_t row)
{
	tg_session *session = tsurugi_session();
	tg_version version;
	tg_status status;
	tg_wait wait;

	if (snapshot->time == 0)
		return TG_VERSION_NONE;
	tg_epoch_enter(session);
	status = tg_txn_read(snapshot, table, row, &version, &wait);
	tg_epoch_leave(session);
	return status == TG_OK ? version : TG_VERSION_NONE;
}

const char *
tsurugi_describe_row(Relation relation, uint32_t row)
{
	tg_table *table = tsurugi_relation_get(relation)->table;
	tg_snapshot snapshot = {.time = tsurugi_snapshot_time(),
							.txn = tsurugi_transaction_number(),
							.command = PG_UINT32_MAX,
							.reader = tsurugi_snapshot_reader()};
	tg_version version = find_version(&snapshot, table, row);

	if (version == TG_VERSION_NONE)
	{
		tsurugi_snapshot_take(CurrentMemoryContext, &snapshot);
		version = find_version(&snapshot, table, row);
	}
	return describe_version(relation, version, false);
}

/*
 * Describes the transaction that has changed the row since this transaction saw it, or that made
 * its present version; NULL: unknown.
 */
static const char *
describe_changer(Relation relation, uint32_t row)
{
	tg_table *table = tsurugi_relation_get(relation)->table;
	tg_session *session = tsurugi_session();
	tg_snapshot snapshot = {.time = tsurugi_snapshot_time(),
							.txn = tsurugi_transaction_number(),
							.command = PG_UINT32_MAX,
							.reader = tsurugi_snapshot_reader()};
	tg_version version = find_version(&snapshot, table, row);
	tg_time time = 0;

	tg_epoch_enter(session);
	if (version != TG_VERSION_NONE)
		time = tg_version_ended_at(version);
	version = tg_row_newest(table, row);
	if (time == 0 && version != TG_VERSION_NONE)
	{
		time = tg_version_ended_at(version);
		if (time == 0)
			time = tg_version_began_at(version);
	}
	tg_epoch_leave(session);
	return tsurugi_describe_author(time);
}

void
tsurugi_error_conflict(Relation relation, tg_conflict_kind kind, uint32_t row, bool locks)
{
	bool deleted = kind == TG_CONFLICT_DELETED;
	const char *subject = tsurugi_describe_row(relation, row);
	const char *changer = describe_changer(relation, row);
	const tsurugi_beaten_by by = {.relation = RelationGetRelid(relation), .row = row, .mode = TG_LOCK_NO_KEY_UPDATE};

	tg_conflict_note(kind);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 deleted && !locks ? errmsg("could not serialize access due to concurrent delete")
							   : errmsg("could not serialize access due to concurrent update"),
			 errdetail("%s of foreign table \"%s\" was %s by %s committed after this one's snapshot was taken.",
					   subject, RelationGetRelationName(relation), deleted ? "deleted" : "changed",
					   changer != NULL ? psprintf("%s, which", changer) : "a transaction that"),
			 errhint("%s", tsurugi_ladder_note_failure(deleted ? TSURUGI_NO_ROW : by, RelationGetRelid(relation))),
			 errtable(relation)));
	pg_unreachable();
}

void
tsurugi_error_moved(Relation relation, uint32_t row)
{
	const char *subject = tsurugi_describe_row(relation, row);
	const char *changer = describe_changer(relation, row);

	tg_conflict_note(TG_CONFLICT_UPDATED);
	(void) tsurugi_ladder_note_failure(TSURUGI_NO_ROW, RelationGetRelid(relation));
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("tuple to be locked was already moved to another partition due to concurrent update"),
					errdetail("%s of foreign table \"%s\" was moved by %s.", subject, RelationGetRelationName(relation),
							  changer != NULL ? changer : "a concurrent transaction")));
	pg_unreachable();
}

void
tsurugi_error_stored_anew(Relation relation, tg_time stored)
{
	const char *other = tsurugi_describe_author(stored);

	tg_conflict_note(TG_CONFLICT_STORED_ANEW);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to concurrent change of definition"),
			 errdetail("Foreign table \"%s\" was emptied, or its rows were stored anew, by %s committed after this "
					   "one's snapshot was taken.",
					   RelationGetRelationName(relation),
					   other != NULL ? psprintf("%s, which", other) : "a transaction that"),
			 errhint("%s", tsurugi_ladder_note_failure(TSURUGI_NO_ROW, InvalidOid)), errtable(relation)));
	pg_unreachable();
}

static int
describe_conflict(const tg_conflict *conflict, const char *table, const char *subject)
{
	const char *other = tsurugi_describe_author(conflict->time);

	if (other == NULL)
		other = conflict->other != 0 ? tsurugi_describe_other(conflict->other) : "a concurrent transaction";

	switch (conflict->kind)
	{
		case TG_CONFLICT_TAKEN:
			return errdetail("%s of foreign table \"%s\" is being changed by %s, and short transactions do not wait.",
							 subject, table, other);
		case TG_CONFLICT_PRESERVED_WRITE:
			return errdetail("%s of foreign table \"%s\" is in the write preserve of %s.", subject, table, other);
		case TG_CONFLICT_PRESERVED_READ:
			return errdetail("Foreign table \"%s\", which this transaction reads, is in the write preserve of %s.",
							 table, other);
		case TG_CONFLICT_EARLIER_LONG:
			return errdetail("Foreign table \"%s\" is in the write preserve of %s, which began before this long "
							 "transaction and had not ended.",
							 table, other);
		case TG_CONFLICT_ROW:
			return errdetail("%s of foreign table \"%s\", which this transaction has read, was changed by %s.", subject,
							 table, other);
		case TG_CONFLICT_KEY:
			return errdetail("%s of foreign table \"%s\", which this transaction has not found, was inserted by %s.",
							 subject, table, other);
		case TG_CONFLICT_RANGE:
			return errdetail("%s of foreign table \"%s\" was changed by %s, in a range of keys that this transaction "
							 "has read.",
							 subject, table, other);
		case TG_CONFLICT_TABLE:
			return errdetail("%s of foreign table \"%s\", which this transaction has read as a whole, was changed "
							 "by %s.",
							 subject, table, other);
		case TG_CONFLICT_STORED_ANEW:
			return errdetail(
				"Foreign table \"%s\", which this transaction has read, was dropped or emptied, or its rows "
				"were stored anew, by %s.",
				table, other);
		case TG_CONFLICT_HELD:
			return errdetail("Foreign table \"%s\", which this transaction has changed, was read by %s.", table, other);
		default:
			break;
	}
	return errdetail("There was too little memory to remember what this transaction has read, and a concurrent "
					 "transaction has committed.");
}

/*
 * The row, if locking that would keep it from being changed again.  written: the row that the
 * transaction is about to write, of which it needs the stronger lock.
 */
static tsurugi_beaten_by
changed_row(const tg_conflict *conflict, tsurugi_beaten_by written)
{
	tsurugi_beaten_by by = {.relation = conflict->relation, .mode = TG_LOCK_SHARE};
	bool is_row =
		conflict->kind == TG_CONFLICT_ROW || conflict->kind == TG_CONFLICT_KEY || conflict->kind == TG_CONFLICT_RANGE;

	if (!is_row || conflict->version == TG_VERSION_NONE)
		return TSURUGI_NO_ROW;
	by.row = tg_version_row(conflict->version);
	return by.relation == written.relation && by.row == written.row ? written : by;
}

/*
 * The words of the hint on the next try.  A failure because of a prepared transaction is not one
 * that the ladder helps against: the client that tries again may be the one that is to end it.
 */
static const char *
hint_of(const tg_conflict *conflict, tsurugi_beaten_by written)
{
	if ((conflict->other & TSURUGI_HOST_PREPARED) != 0)
		return "The transaction might succeed if retried, once the prepared transaction has ended.";
	switch (conflict->kind)
	{
		case TG_CONFLICT_EARLIER_LONG:
			if (!tsurugi_is_promoted)
				return "Declare what it reads in tsurugi_fdw.inclusive_read_areas: then its start waits.";
			return tsurugi_ladder_note_failure(TSURUGI_NO_ROW, conflict->relation);
		case TG_CONFLICT_HELD:
			return "The transaction might succeed if retried.";
		case TG_CONFLICT_PRESERVED_WRITE:
		case TG_CONFLICT_PRESERVED_READ:
			return tsurugi_ladder_note_long(conflict->other);
		default:
			return tsurugi_ladder_note_failure(changed_row(conflict, written), InvalidOid);
	}
}

void
tsurugi_error_validation(const tg_conflict *conflict)
{
	tsurugi_error_validation_to_write(conflict, TSURUGI_NO_ROW);
}

void
tsurugi_error_validation_to_write(const tg_conflict *conflict, tsurugi_beaten_by written)
{
	Relation relation =
		conflict->kind == TG_CONFLICT_UNKNOWN ? NULL : try_relation_open(conflict->relation, AccessShareLock);
	const char *subject = "";

	if (relation != NULL)
		subject = conflict->row != TG_ROW_MAX
					  ? tsurugi_describe_row(relation, conflict->row)
					  : describe_version(relation, conflict->version, conflict->kind == TG_CONFLICT_KEY);
	tg_conflict_note(conflict->kind);
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("could not serialize access due to read/write dependencies among transactions"),
					describe_conflict(conflict, relation != NULL ? RelationGetRelationName(relation) : "?", subject),
					errhint("%s", hint_of(conflict, written)), relation != NULL ? errtable(relation) : 0));
	pg_unreachable();
}

void
tsurugi_error_yielded(const tg_wait *wait)
{
	tg_conflict_note(TG_CONFLICT_ROW);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access due to read/write dependencies among transactions"),
			 errdetail("A row that this transaction has read, and locked because an earlier try failed by it, is to be "
					   "changed by %s, or by a transaction that this one waits for.",
					   tsurugi_describe_other(wait->host)),
			 errhint("%s", tsurugi_ladder_note_failure(TSURUGI_NO_ROW, InvalidOid))));
	pg_unreachable();
}

void
tsurugi_error_mixed(void)
{
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		 errmsg("cannot commit a serializable transaction that has written both foreign and ordinary tables"),
		 errdetail("Cycles of dependencies that lead through tables of tsurugi_fdw and ordinary tables would not be "
				   "found."),
		 errhint("Use REPEATABLE READ, or set tsurugi_fdw.serializable_mixed to \"relaxed\".")));
	pg_unreachable();
}

void
tsurugi_error_too_late(void)
{
	tg_conflict_note(TG_CONFLICT_UNKNOWN);
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("could not serialize access to foreign and ordinary tables"),
			 errdetail("Since the snapshot of ordinary tables was taken, transactions have committed that changed "
					   "tables of both kinds."),
			 errhint("%s", tsurugi_ladder_note_failure(TSURUGI_NO_ROW, InvalidOid))));
	pg_unreachable();
}

void
tsurugi_error_moment(tg_time misfit)
{
	const char *other = tsurugi_describe_author(misfit);

	tg_conflict_note(TG_CONFLICT_UNKNOWN);
	ereport(
		ERROR,
		(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		 errmsg("could not serialize access to foreign and ordinary tables"),
		 errdetail(
			 "The snapshot of ordinary tables and the one that this transaction reads foreign tables at do not show the "
			 "same of the transactions that changed tables of both kinds%s.",
			 other != NULL ? psprintf(", as %s did", other) : ""),
		 errhint("Read ordinary tables together with a foreign table in the transaction's first statement, at "
				 "READ COMMITTED or REPEATABLE READ.")));
	pg_unreachable();
}

void
tsurugi_error_new_index(Relation index)
{
	tg_conflict_note(TG_CONFLICT_UNKNOWN);
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("could not serialize access due to concurrent change of definition"),
					errdetail("Index \"%s\" was made, or made anew, after the snapshot of ordinary tables was taken.",
							  RelationGetRelationName(index)),
					errhint("%s", tsurugi_ladder_note_failure(TSURUGI_NO_ROW, InvalidOid))));
	pg_unreachable();
}

/* Like ExecUpdate and ExecDelete for TM_SelfModified (nodeModifyTable.c). */
void
tsurugi_check_own_change(bool by_other_command, const char *verb)
{
	if (by_other_command)
		ereport(ERROR,
				(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
				 errmsg("tuple to be %s was already modified by an operation triggered by the current command", verb),
				 errhint("Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to "
						 "other rows.")));
}

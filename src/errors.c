/*
 * errors.c
 *	  What the runtime's results are called in SQL.
 */
#include "postgres.h"

#include "src/errors.h"

#include "access/genam.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

static void
error_no_memory(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory for tables of tsurugi_fdw"),
					errdetail("The limit set by tsurugi_fdw.memory is reached."),
					errhint("Increase tsurugi_fdw.memory in the server's configuration and reload it, or delete "
							"rows."),
					relation != NULL ? errtable(relation) : 0));
}

/* Which of the maxima it is, nobody tells: a key's length is the one that data can reach. */
static void
error_too_large(Relation relation)
{
	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("value is too large")));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("key of a row of \"%s\" is too large", RelationGetRelationName(relation)),
			 errdetail("Keys can have up to %d bytes as they are stored.", TG_KEY_BYTES_MAX), errtable(relation)));
}

void
tsurugi_error(tg_status status, Relation relation)
{
	switch (status)
	{
		case TG_NO_MEMORY:
			error_no_memory(relation);
			break;
		case TG_TOO_LARGE:
			error_too_large(relation);
			break;
		case TG_FULL:
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							relation != NULL ? errmsg("foreign table \"%s\" has no room for more rows",
													  RelationGetRelationName(relation))
											 : errmsg("too many jobs or snapshots in tsurugi_fdw")));
			break;
		case TG_CANCELLED:
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED), errmsg("canceling statement because its job was cancelled")));
			break;
		case TG_STOPPED:
			ereport(ERROR, (errcode(ERRCODE_CANNOT_CONNECT_NOW), errmsg("the worker of tsurugi_fdw is not running"),
							errhint("It is restarted by itself; try again in a moment.")));
			break;
		default:
			elog(ERROR, "unexpected result %d of the runtime", (int) status);
	}
	pg_unreachable();
}

/* "(id)=(1)", or NULL for who may not see the columns of the key. */
static char *
describe_row_key(Relation index, const tsurugi_relation *described, const Datum *values, const bool *nulls)
{
	Datum key_values[INDEX_MAX_KEYS];
	bool key_nulls[INDEX_MAX_KEYS];

	for (int i = 0; i < described->key_count; i++)
	{
		key_values[i] = values[described->key[i].attnum - 1];
		key_nulls[i] = nulls[described->key[i].attnum - 1];
	}
	return BuildIndexValueDescription(index, key_values, key_nulls);
}

void
tsurugi_error_duplicate(Relation relation, const tsurugi_relation *described, const Datum *values, const bool *nulls)
{
	Relation index = index_open(described->key_index, AccessShareLock);
	char *key = describe_row_key(index, described, values, nulls);

	ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION),
					errmsg("duplicate key value violates unique constraint \"%s\"", RelationGetRelationName(index)),
					key != NULL ? errdetail("Key %s already exists.", key) : 0,
					errtableconstraint(relation, RelationGetRelationName(index))));
	pg_unreachable();
}

void
tsurugi_error_not_unique(Relation relation, const tsurugi_relation *described, const Datum *values, const bool *nulls)
{
	Relation index = index_open(described->key_index, AccessShareLock);
	char *key = describe_row_key(index, described, values, nulls);

	ereport(ERROR, (errcode(ERRCODE_UNIQUE_VIOLATION),
					errmsg("could not create unique index \"%s\"", RelationGetRelationName(index)),
					key != NULL ? errdetail("Key %s is duplicated.", key) : errdetail("Duplicate keys exist."),
					errtableconstraint(relation, RelationGetRelationName(index))));
	pg_unreachable();
}

void
tsurugi_error_conflict(Relation relation, tg_conflict_kind kind)
{
	bool deleted = kind == TG_CONFLICT_DELETED;

	tg_conflict_note(kind);
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					deleted ? errmsg("could not serialize access due to concurrent delete")
							: errmsg("could not serialize access due to concurrent update"),
					errdetail("A row of foreign table \"%s\" was %s by a transaction that committed after this one's "
							  "snapshot was taken.",
							  RelationGetRelationName(relation), deleted ? "deleted" : "changed"),
					errhint("The transaction might succeed if retried."), errtable(relation)));
	pg_unreachable();
}

static int
describe_conflict(const tg_conflict *conflict, const char *table)
{
	switch (conflict->kind)
	{
		case TG_CONFLICT_ROW:
			return errdetail("A row of foreign table \"%s\" that this transaction has read was changed by a "
							 "concurrent transaction.",
							 table);
		case TG_CONFLICT_KEY:
			return errdetail("A key of foreign table \"%s\" that this transaction has not found was inserted by a "
							 "concurrent transaction.",
							 table);
		case TG_CONFLICT_RANGE:
			return errdetail(
				"Foreign table \"%s\" was changed by a concurrent transaction in a range of keys that this "
				"transaction has read.",
				table);
		case TG_CONFLICT_TABLE:
			return errdetail("Foreign table \"%s\", which this transaction has read as a whole, was changed by a "
							 "concurrent transaction.",
							 table);
		default:
			break;
	}
	return errdetail("There was too little memory to remember what this transaction has read, and a concurrent "
					 "transaction has committed.");
}

void
tsurugi_error_validation(const tg_conflict *conflict)
{
	char *table = conflict->kind == TG_CONFLICT_UNKNOWN ? NULL : get_rel_name(conflict->relation);

	tg_conflict_note(conflict->kind);
	ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					errmsg("could not serialize access due to read/write dependencies among transactions"),
					describe_conflict(conflict, table != NULL ? table : "?"),
					errhint("The transaction might succeed if retried."),
					table == NULL ? 0
								  : (err_generic_string(PG_DIAG_SCHEMA_NAME,
														get_namespace_name(get_rel_namespace(conflict->relation))),
									 err_generic_string(PG_DIAG_TABLE_NAME, table))));
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
tsurugi_error_sessions(void)
{
	ereport(ERROR, (errcode(ERRCODE_TOO_MANY_CONNECTIONS), errmsg("all sessions of tsurugi_fdw are taken"),
					errhint("There are up to %d; use fewer connections.", TG_TXN_MAX)));
	pg_unreachable();
}

/* As ExecUpdate and ExecDelete do for TM_SelfModified (nodeModifyTable.c). */
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

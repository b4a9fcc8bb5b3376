/*
 * shared_refusal.c
 *	  What is refused of transactions that several sessions work in.
 *
 * What a session may do in a transaction of its own is allowed in such a transaction too, at each
 * isolation level and in each kind, unless this table excludes it, or the list of tables that was
 * given where the transaction began (tsurugi_shared_check_table).  Errors that say how a
 * transaction has ended are in shared_transaction.c.
 */
#include "postgres.h"

#include "src/txn/shared_refusal.h"

typedef struct Refusal
{
	int code;
	const char *message; /* %s: the subject */
	const char *detail;	 /* or NULL */
	const char *hint;	 /* likewise; %s: the subject */
} Refusal;

static const Refusal refusals[] = {
	[TSURUGI_SHARED_IN_PARALLEL] = {ERRCODE_INVALID_TRANSACTION_STATE, "cannot call %s during a parallel operation"},
	[TSURUGI_SHARED_ALREADY] = {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
								"the session takes part in a shared transaction already"},
	[TSURUGI_SHARED_TOO_LATE] = {ERRCODE_ACTIVE_SQL_TRANSACTION,
								 "%s must be called before any access to tables of tsurugi_fdw"},
	[TSURUGI_SHARED_IN_SUBTRANSACTION] = {ERRCODE_FEATURE_NOT_SUPPORTED,
										  "cannot export a transaction from within a subtransaction"},
	[TSURUGI_SHARED_OUTSIDE_BLOCK] = {ERRCODE_NO_ACTIVE_SQL_TRANSACTION, "%s can only be used in transaction blocks"},
	[TSURUGI_SHARED_AFTER_DEFINITIONS] = {ERRCODE_FEATURE_NOT_SUPPORTED,
										  "cannot begin a shared transaction in one that has changed definitions"},
	[TSURUGI_SHARED_OF_RANGES] = {ERRCODE_INVALID_PARAMETER_VALUE,
								  "transactions are shared with whole tables, not with ranges of keys"},
	[TSURUGI_SHARED_ENDED] = {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "the transaction has ended, or is about to"},
	[TSURUGI_SHARED_OTHER_KIND] = {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
								   "the shared transaction is of another kind than the session's", NULL,
								   "Reset tsurugi_fdw.transaction_type."},
	[TSURUGI_SHARED_OTHER_LEVEL] = {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
									"the shared transaction is of another isolation level than the session's", NULL,
									"Set transaction_isolation, or default_transaction_isolation, to \"%s\"."},
	[TSURUGI_SHARED_JOINED_IN_PARALLEL] = {ERRCODE_INVALID_TRANSACTION_STATE,
										   "cannot begin to work in a shared transaction during a parallel operation"},
	[TSURUGI_SHARED_COMMAND] = {ERRCODE_FEATURE_NOT_SUPPORTED,
								"cannot %s in a transaction that several sessions work in"},
	[TSURUGI_SHARED_PREPARED] = {ERRCODE_FEATURE_NOT_SUPPORTED,
								 "cannot PREPARE a transaction that several sessions work in"},
	[TSURUGI_SHARED_ORDINARY_WRITES] = {ERRCODE_FEATURE_NOT_SUPPORTED,
										"cannot write ordinary tables in a transaction that works in another session's",
										"They would be committed without the shared transaction.",
										"Write them in a transaction of their own, or in the one that was exported."},
	[TSURUGI_SHARED_LOADED_OTHER_KIND] =
		{ERRCODE_FEATURE_NOT_SUPPORTED,
		 "cannot load into a shared transaction of another kind than ordinary by its handle", NULL,
		 "Attach to it, and load without a handle."},
	[TSURUGI_SHARED_LOADS_INTO_ANOTHER] = {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
										   "the transaction loads into another shared transaction already"},
	[TSURUGI_SHARED_LOADED_PREPARED] = {ERRCODE_FEATURE_NOT_SUPPORTED,
										"cannot PREPARE a transaction that has loaded into a shared one"},
	[TSURUGI_SHARED_DETACHED_BY_OWNER] = {ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
										  "the transaction's own session cannot be detached from it"},
	[TSURUGI_SHARED_DETACHED_TOO_EARLY] = {ERRCODE_ACTIVE_SQL_TRANSACTION,
										   "cannot detach in a transaction that has worked in the shared one", NULL,
										   "Commit it first."},
	[TSURUGI_SHARED_OF_A_SESSION] =
		{ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, "the transaction is a session's",
		 "Only the session that has exported it ends it, by COMMIT or ROLLBACK, or by its own end."},
};

StaticAssertDecl(lengthof(refusals) == TSURUGI_SHARED_OF_A_SESSION + 1, "each refusal has its words");

void
tsurugi_shared_refuse(tsurugi_shared_refusal refusal, const char *subject)
{
	const Refusal *of = &refusals[refusal];

	ereport(ERROR,
			(errcode(of->code), errmsg(of->message, subject), of->detail != NULL ? errdetail("%s", of->detail) : 0,
			 of->hint != NULL ? errhint(of->hint, subject) : 0));
	pg_unreachable();
}

/*
 * owner.c
 *	  The door for code that a table's owner has written.
 */
#include "postgres.h"

#include "src/base/owner.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "runtime/base/check.h"

void
tsurugi_author_begin(Oid author, tsurugi_caller *caller_out)
{
	GetUserIdAndSecContext(&caller_out->role, &caller_out->context);
	SetUserIdAndSecContext(author, caller_out->context | SECURITY_RESTRICTED_OPERATION);
	caller_out->settings = NewGUCNestLevel();
}

void
tsurugi_owner_begin(Relation relation, tsurugi_caller *caller_out)
{
	tsurugi_author_begin(relation->rd_rel->relowner, caller_out);
}

void
tsurugi_owner_end(const tsurugi_caller *caller)
{
	tg_assert(InSecurityRestrictedOperation());
	AtEOXact_GUC(false, caller->settings);
	SetUserIdAndSecContext(caller->role, caller->context);
}

Oid
tsurugi_lesser_role(Oid author)
{
	return has_privs_of_role(GetUserId(), author) ? author : GetUserId();
}

Oid
tsurugi_owner_of(Oid relation)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

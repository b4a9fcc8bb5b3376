/*
 * view_rights.c
 *	  Which sessions and tables a user may see in views.
 */
#include "postgres.h"

#include "src/base/view_rights.h"

#include "access/htup_details.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/syscache.h"

static bool
sees_all(void)
{
	return has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS);
}

bool
tsurugi_sees_role(Oid role)
{
	return has_privs_of_role(GetUserId(), role) || sees_all();
}

bool
tsurugi_sees_table(Oid database, Oid relation)
{
	HeapTuple tuple;
	bool is_owner;

	if (sees_all())
		return true;
	tuple = database == MyDatabaseId ? SearchSysCache1(RELOID, ObjectIdGetDatum(relation)) : NULL;
	if (!HeapTupleIsValid(tuple))
		return false;
	is_owner = has_privs_of_role(GetUserId(), ((Form_pg_class) GETSTRUCT(tuple))->relowner);
	ReleaseSysCache(tuple);
	if (!is_owner)
	{
		bool is_missing = false;

		return pg_class_aclcheck_ext(relation, GetUserId(), ACL_ALL_RIGHTS_RELATION, &is_missing) == ACLCHECK_OK ||
			   (!is_missing &&
				pg_attribute_aclcheck_all(relation, GetUserId(), ACL_ALL_RIGHTS_COLUMN, ACLMASK_ANY) == ACLCHECK_OK);
	}
	return true;
}

/*
 * owner.c
 *	  Code that a table's owner has put into it runs as the owner.
 */
#include "postgres.h"

#include "src/base/owner.h"

#include "miscadmin.h"
#include "utils/guc.h"

void
tsurugi_owner_begin(Relation relation, tsurugi_caller *caller_out)
{
	GetUserIdAndSecContext(&caller_out->role, &caller_out->context);
	SetUserIdAndSecContext(relation->rd_rel->relowner, caller_out->context | SECURITY_RESTRICTED_OPERATION);
	caller_out->settings = NewGUCNestLevel();
}

void
tsurugi_owner_end(const tsurugi_caller *caller)
{
	AtEOXact_GUC(false, caller->settings);
	SetUserIdAndSecContext(caller->role, caller->context);
}

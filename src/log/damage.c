/*
 * damage.c
 *	  Tables that could not be loaded at the start.
 *
 * The worker writes the list while no session can reach a table; afterwards it is constant.
 */
#include "postgres.h"

#include "src/log/damage.h"

#include "access/xlogdefs.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/lsyscache.h"

typedef struct damages
{
	unsigned count;
	tsurugi_damage list[TSURUGI_DAMAGED_MAX];
} damages;

static damages *shared;

Size
tsurugi_damage_shared_bytes(void)
{
	return sizeof(damages);
}

void
tsurugi_damage_shared_create(void)
{
	bool there;

	shared = ShmemInitStruct("tsurugi_fdw damaged tables", sizeof(damages), &there);
	shared->count = 0;
}

bool
tsurugi_damage_add(const tsurugi_damage *damage)
{
	if (shared->count == TSURUGI_DAMAGED_MAX)
		return false;
	shared->list[shared->count++] = *damage;
	return true;
}

bool
tsurugi_damage_exists(void)
{
	return shared->count > 0;
}

static void
refuse(const tsurugi_damage *damage)
{
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
					errmsg("the contents of foreign table \"%s\" are damaged", get_rel_name(damage->relation)),
					damage->position != 0 ? errdetail("They could not be loaded: %s, at %X/%X in the log.",
													  damage->what, LSN_FORMAT_ARGS(damage->position))
										  : errdetail("They could not be loaded: %s.", damage->what),
					errhint("Restore a backup, or truncate or drop the table.")));
}

void
tsurugi_damage_check(Oid relation)
{
	for (unsigned i = 0; i < shared->count; i++)
		if (shared->list[i].relation == relation && shared->list[i].database == MyDatabaseId)
			refuse(&shared->list[i]);
}

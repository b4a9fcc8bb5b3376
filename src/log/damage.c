/*
 * damage.c
 *	  Tables that could not be loaded at the start.
 *
 * The worker adds to the list: while no session can reach a table, and on a standby later, too.  An
 * entry is whole before it counts.
 */
#include "postgres.h"

#include "src/log/damage.h"

#include "access/xlogdefs.h"
#include "miscadmin.h"
#include "storage/shmem.h"
#include "utils/lsyscache.h"

#include "runtime/base/atomic.h"

typedef struct damages
{
	unsigned count; /* atomic */
	tsurugi_damage list[TSURUGI_DAMAGED_MAX];
} damages;

static damages *shared;
bool tsurugi_ignore_damage;

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
	unsigned count = tg_load_relaxed(&shared->count);

	if (count == TSURUGI_DAMAGED_MAX)
		return false;
	shared->list[count] = *damage;
	tg_store_release(&shared->count, count + 1);
	return true;
}

bool
tsurugi_damage_is_missed(bool (*is_placed)(uint64 storage))
{
	unsigned count = tg_load_acquire(&shared->count);

	for (unsigned i = 0; i < count; i++)
		if (!shared->list[i].is_there && is_placed(shared->list[i].storage))
			return true;
	return false;
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
	unsigned count = tg_load_acquire(&shared->count);

	for (unsigned i = 0; i < count; i++)
		if (shared->list[i].relation == relation && shared->list[i].database == MyDatabaseId)
			refuse(&shared->list[i]);
}

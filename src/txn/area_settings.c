/*
 * area_settings.c
 *	  The settings that name areas of tables, and the role whose rights are checked for them.
 *
 * A setting's hook must not read the catalogs, because it is also called without a transaction.  So
 * it notes the current role, and the first access of a transaction looks the areas up and checks
 * them, for that role.  PostgreSQL stores the role beside the value, and restores both at a
 * rollback, at the end of a function with SET clauses, and at RESET.
 */
#include "postgres.h"

#include "src/txn/area_settings.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/resowner.h"

#include "runtime/table/table.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/kinds.h"
#include "src/txn/areas.h"

tsurugi_area_setting tsurugi_write_preserve;
tsurugi_area_setting tsurugi_inclusive_read_areas;
tsurugi_area_setting tsurugi_exclusive_read_areas;

/* --- the settings ---------------------------------------------------------------------- */

/* PostgreSQL frees *extra. */
static bool
note_setter(char **areas, void **extra, GucSource source)
{
	Oid *setter = malloc(sizeof(*setter));
	int context;

	if (setter == NULL)
		return false;
	*setter = InvalidOid;
	if (source >= PGC_S_INTERACTIVE)
		GetUserIdAndSecContext(setter, &context);
	*extra = setter;
	return true;
}

static void
assign_write_preserve(const char *areas, void *extra)
{
	tsurugi_write_preserve.setter = *(Oid *) extra;
}

static void
assign_inclusive(const char *areas, void *extra)
{
	tsurugi_inclusive_read_areas.setter = *(Oid *) extra;
}

static void
assign_exclusive(const char *areas, void *extra)
{
	tsurugi_exclusive_read_areas.setter = *(Oid *) extra;
}

static void
define(const char *name, const char *meaning, tsurugi_area_setting *setting, GucStringAssignHook assign)
{
	DefineCustomStringVariable(name, meaning,
							   "Tables, each with or without a range of keys, separated by commas; "
							   "found by search_path when the transaction first accesses a table.",
							   &setting->areas, "", PGC_USERSET, GUC_LIST_INPUT, note_setter, assign, NULL);
}

void
tsurugi_area_settings_define(void)
{
	define("tsurugi_fdw.write_preserve", "What a long transaction may write, and nobody else meanwhile.",
		   &tsurugi_write_preserve, assign_write_preserve);
	define("tsurugi_fdw.inclusive_read_areas",
		   "What a long or read-only transaction is going to read, and nothing else.", &tsurugi_inclusive_read_areas,
		   assign_inclusive);
	define("tsurugi_fdw.exclusive_read_areas", "What a long or read-only transaction is not going to read.",
		   &tsurugi_exclusive_read_areas, assign_exclusive);
}

Oid
tsurugi_area_setting_role(const tsurugi_area_setting *setting)
{
	return OidIsValid(setting->setter) ? setting->setter : GetSessionUserId();
}

/* --- their areas ------------------------------------------------------------------------- */

/*
 * The subject of an error: the failing statement may concern other tables, and be executed by
 * another role.
 */
typedef struct Subject
{
	const char *name;
	const char *role; /* NULL: the current one */
} Subject;

static void
tell_subject(void *argument)
{
	const Subject *subject = argument;

	if (subject->role != NULL)
		errcontext("while looking for the tables of parameter \"tsurugi_fdw.%s\", set by role \"%s\"", subject->name,
				   subject->role);
	else
		errcontext("while looking for the tables of parameter \"tsurugi_fdw.%s\"", subject->name);
}

/* The tables stay locked until the transaction ends, whatever happens to the subtransaction. */
static void
lock_tables(const tg_area *areas, unsigned count, LOCKMODE lock)
{
	ResourceOwner owner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	for (unsigned i = 0; i < count; i++)
		LockRelationOid(areas[i].table->relation, lock);
	CurrentResourceOwner = owner;
}

static tg_area *
resolve(const char *name, const tsurugi_area_setting *setting, tsurugi_area_use use, unsigned *count_out)
{
	Oid role = tsurugi_area_setting_role(setting);
	Subject subject = {.name = name, .role = role != GetUserId() ? GetUserNameFromId(role, true) : NULL};
	ErrorContextCallback teller = {.callback = tell_subject, .arg = &subject, .previous = error_context_stack};
	tg_area *areas;

	error_context_stack = &teller;
	areas = tsurugi_areas_resolve(setting->areas, use, role, count_out);
	error_context_stack = teller.previous;
	lock_tables(areas, *count_out, tsurugi_area_lock(use));
	return areas;
}

void
tsurugi_area_settings_resolve(tg_long_config *config)
{
	config->preserve =
		resolve("write_preserve", &tsurugi_write_preserve, TSURUGI_AREA_TO_PRESERVE, &config->preserve_count);
	config->include =
		resolve("inclusive_read_areas", &tsurugi_inclusive_read_areas, TSURUGI_AREA_TO_READ, &config->include_count);
	config->exclude =
		resolve("exclusive_read_areas", &tsurugi_exclusive_read_areas, TSURUGI_AREA_TO_READ, &config->exclude_count);
}

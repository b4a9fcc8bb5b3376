/*
 * areas.c
 *	  Areas that transactions declare to write or to read, in the users' notation.
 */
#include "postgres.h"

#include "src/txn/areas.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type_d.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/scansup.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "runtime/base/status.h"
#include "runtime/order/value.h"
#include "runtime/index/long_key.h"
#include "runtime/reclaim/preserve.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/table/relation.h"
#include "src/table/row.h"
#include "src/value/scan_fit.h"

/* --- reading the list ------------------------------------------------------------------------ */

static void refuse_list(const char *list) pg_attribute_noreturn();

static void
refuse_list(const char *list)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid list of areas: \"%s\"", list),
					errdetail("Areas are names of tables, each with or without a range of keys: name, "
							  "name [{low},{high}).")));
	pg_unreachable();
}

static const char *
skip_space(const char *at)
{
	while (scanner_isspace(*at))
		at++;
	return at;
}

/*
 * Skips a piece of text that ends with one of these characters outside of quotes; *piece is the
 * text without space at its ends.
 */
static const char *
take_until(const char *at, const char *ends, char **piece)
{
	const char *start = skip_space(at);
	const char *end;
	bool quoted = false;

	for (at = start; *at != '\0' && (quoted || strchr(ends, *at) == NULL); at++)
		if (*at == '"')
			quoted = !quoted;
	for (end = at; end > start && scanner_isspace(end[-1]); end--)
		;
	*piece = pnstrdup(start, end - start);
	return at;
}

/* A bound: an array in braces, or nothing. */
static const char *
take_bound(const char *at, const char **bound)
{
	bool quoted = false;
	int depth = 0;
	const char *start;

	at = start = skip_space(at);
	*bound = NULL;
	if (*at != '{')
		return at;
	do
	{
		if (*at == '\0')
			return at;
		if (*at == '\\' && at[1] != '\0')
			at++;
		else if (*at == '"')
			quoted = !quoted;
		else if (!quoted)
			depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
		at++;
	} while (depth > 0);
	*bound = pnstrdup(start, at - start);
	return skip_space(at);
}

List *
tsurugi_areas_parse(const char *list)
{
	const char *at = list == NULL ? "" : skip_space(list);
	List *areas = NIL;

	while (*at != '\0')
	{
		tsurugi_area_name *area = palloc0(sizeof(*area));
		char *name;

		at = take_until(at, ",[(", &name);
		if (name[0] == '\0')
			refuse_list(list);
		area->name = stringToQualifiedNameList(name);
		if (*at == '[' || *at == '(')
		{
			area->is_range = true;
			area->low_inclusive = *at == '[';
			at = take_bound(at + 1, &area->low);
			if (*at != ',')
				refuse_list(list);
			at = take_bound(at + 1, &area->high);
			if (*at != ']' && *at != ')')
				refuse_list(list);
			area->high_inclusive = *at == ']';
			at = skip_space(at + 1);
		}
		areas = lappend(areas, area);
		if (*at == '\0')
			break;
		if (*at != ',' || *skip_space(at + 1) == '\0')
			refuse_list(list);
		at++;
	}
	return areas;
}

/* --- tables and keys -------------------------------------------------------------------------- */

/* The role whose rights are checked, and the use of the areas. */
typedef struct Judged
{
	tsurugi_area_use use;
	Oid role;
} Judged;

LOCKMODE
tsurugi_area_lock(tsurugi_area_use use)
{
	return use == TSURUGI_AREA_TO_READ ? AccessShareLock : RowExclusiveLock;
}

bool
tsurugi_area_is_allowed(Oid relation, tsurugi_area_use use, Oid role)
{
	static const AclMode on_table[] = {[TSURUGI_AREA_TO_PRESERVE] = ACL_UPDATE | ACL_DELETE | ACL_TRUNCATE,
									   [TSURUGI_AREA_TO_WRITE] = ACL_INSERT | ACL_UPDATE | ACL_DELETE,
									   [TSURUGI_AREA_TO_READ] = ACL_SELECT};
	static const AclMode on_columns[] = {[TSURUGI_AREA_TO_PRESERVE] = ACL_NO_RIGHTS,
										 [TSURUGI_AREA_TO_WRITE] = ACL_INSERT | ACL_UPDATE,
										 [TSURUGI_AREA_TO_READ] = ACL_SELECT};

	return pg_class_aclmask(relation, role, on_table[use], ACLMASK_ANY) != 0 ||
		   pg_attribute_aclcheck_all(relation, role, on_columns[use], ACLMASK_ANY) == ACLCHECK_OK;
}

/* Before the lock is taken, as LOCK TABLE does it. */
static void
check_rights(const RangeVar *name, Oid relation, Oid old_relation, void *argument)
{
	const Judged *judged = argument;

	if (OidIsValid(relation) && !tsurugi_area_is_allowed(relation, judged->use, judged->role))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(relation)), name->relname);
}

/*
 * Finds the table as the role does, and locks it: this checks the role's rights on the schema, and
 * search_path may name the role's own schema.  Only this is done as the role, because the rest
 * could run other roles' code.  After an error PostgreSQL restores the current role.
 */
static Oid
find_table(List *name, const Judged *judged)
{
	RangeVar *table = makeRangeVarFromNameList(name);
	int context;
	Oid caller;
	Oid relation;

	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(judged->role, context | SECURITY_LOCAL_USERID_CHANGE);
	relation =
		RangeVarGetRelidExtended(table, tsurugi_area_lock(judged->use), 0, check_rights, unconstify(Judged *, judged));
	SetUserIdAndSecContext(caller, context);
	return relation;
}

/* Encodes the first columns of a key, from an array of text, as the index has them. */
static void
make_bound(Relation relation, const char *bound, const void **key_out, uint32_t *bytes_out)
{
	const tsurugi_relation *described = tsurugi_relation_get(relation);
	unsigned char *key = palloc(tsurugi_key_capacity(described));
	size_t bytes = 0;
	ArrayType *array;
	Datum *values;
	bool *nulls;
	int count;

	array = DatumGetArrayTypeP(OidInputFunctionCall(F_ARRAY_IN, unconstify(char *, bound), TEXTOID, -1));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &values, &nulls, &count);
	if (count == 0 || count > described->key_count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d values for the primary key of table \"%s\"", count, RelationGetRelationName(relation)),
				 errdetail_plural("The key has %d column.", "The key has %d columns.",
								  (unsigned long) described->key_count, described->key_count)));
	for (int i = 0; i < count; i++)
	{
		const tsurugi_key_column *column = &described->key[i];
		Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(relation), column->attnum - 1);
		tg_value value;
		Oid function;
		Oid parameter;
		Datum datum;

		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("bounds of keys must not contain nulls")));
		if (!column->ordered)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("column \"%s\" of table \"%s\" has no order that ranges could go by",
								   NameStr(attribute->attname), RelationGetRelationName(relation)),
							errhint("Preserve the whole table.")));
		getTypeInputInfo(attribute->atttypid, &function, &parameter);
		datum = OidInputFunctionCall(function, TextDatumGetCString(values[i]), parameter, attribute->atttypmod);
		tsurugi_place_value(described->table, column, datum, &value);
		tsurugi_check(
			tg_key_rank(tsurugi_session(), described->table, &column->part, (tg_kind) column->codec.kind, &value),
			relation);
		bytes = tg_key_append_of(described->table, key, bytes, &column->part, (tg_kind) column->codec.kind, &value);
		if (bytes == SIZE_MAX)
			tsurugi_error(TG_TOO_LARGE, relation);
	}
	*key_out = key;
	*bytes_out = (uint32_t) bytes;
}

static void
make_range(Relation relation, const tsurugi_area_name *name, tg_area *area)
{
	if (tsurugi_relation_get(relation)->key_count == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("table \"%s\" has no primary key", RelationGetRelationName(relation))));
	if (name->low != NULL)
		make_bound(relation, name->low, &area->low, &area->low_bytes);
	if (name->high != NULL)
		make_bound(relation, name->high, &area->high, &area->high_bytes);
	area->low_inclusive = name->low_inclusive;
	area->high_inclusive = name->high_inclusive;
}

/* Makes the area for one table, which is locked. */
static tg_area *
resolve_table(const tsurugi_area_name *name, Oid oid)
{
	tg_area *area = palloc0(sizeof(*area));
	Relation relation;

	if (!tsurugi_is_ours(oid))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not a table of tsurugi_fdw", get_rel_name(oid))));
	relation = table_open(oid, NoLock);
	area->table = tsurugi_relation_get(relation)->table;
	if (name->is_range)
		make_range(relation, name, area);
	table_close(relation, NoLock);
	return area;
}

static List *
resolve_partitions(const tsurugi_area_name *name, Oid parent, LOCKMODE lock)
{
	List *areas = NIL;
	ListCell *cell;

	if (name->is_range)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("ranges of keys are for single partitions, not for partitioned table \"%s\"",
							   get_rel_name(parent))));
	foreach (cell, find_all_inheritors(parent, lock, NULL))
		if (tsurugi_is_ours(lfirst_oid(cell)))
			areas = lappend(areas, resolve_table(name, lfirst_oid(cell)));
	return areas;
}

tg_area *
tsurugi_areas_resolve(const char *list, tsurugi_area_use use, Oid role, unsigned *count_out)
{
	const Judged judged = {.use = use, .role = role};
	List *areas = NIL;
	ListCell *cell;
	tg_area *result;

	foreach (cell, tsurugi_areas_parse(list))
	{
		const tsurugi_area_name *name = lfirst(cell);
		Oid oid = find_table(name->name, &judged);

		if (get_rel_relkind(oid) == RELKIND_PARTITIONED_TABLE)
			areas = list_concat(areas, resolve_partitions(name, oid, tsurugi_area_lock(use)));
		else
			areas = lappend(areas, resolve_table(name, oid));
	}
	*count_out = (unsigned) list_length(areas);
	result = palloc(Max(*count_out, 1) * sizeof(*result));
	foreach (cell, areas)
		result[foreach_current_index(cell)] = *(tg_area *) lfirst(cell);
	return result;
}

/* --- writing the list ------------------------------------------------------------------------- */

static char *
area_text(const tsurugi_area_name *area, Oid relation)
{
	char *name = quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation));

	if (!area->is_range)
		return name;
	return psprintf("%s %c%s,%s%c", name, area->low_inclusive ? '[' : '(', area->low != NULL ? area->low : "",
					area->high != NULL ? area->high : "", area->high_inclusive ? ']' : ')');
}

char *
tsurugi_areas_qualify(List *areas, tsurugi_area_use use, Oid role)
{
	const Judged judged = {.use = use, .role = role};
	StringInfoData list;
	unsigned count;
	ListCell *cell;

	initStringInfo(&list);
	foreach (cell, areas)
	{
		const tsurugi_area_name *area = lfirst(cell);

		appendStringInfo(&list, "%s%s", foreach_current_index(cell) == 0 ? "" : ", ",
						 area_text(area, find_table(area->name, &judged)));
	}
	(void) tsurugi_areas_resolve(list.data, use, role, &count);
	return list.data;
}

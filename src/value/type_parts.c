/*
 * type_parts.c
 *	  The parts of a type's values: elements, bounds, columns.
 */
#include "postgres.h"

#include "src/value/type_parts.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* Called for a part, and then for its own parts; a result of true ends the walk. */
typedef bool (*part_visitor)(Oid part, void *argument);

static bool walk_parts(Oid type, part_visitor visit, void *argument);

static bool
visit_part(Oid part, part_visitor visit, void *argument)
{
	Oid base = getBaseType(part);

	return visit(part, argument) || (base != part && visit(base, argument)) || walk_parts(base, visit, argument);
}

static bool
walk_columns(Oid type, part_visitor visit, void *argument)
{
	TupleDesc columns = lookup_rowtype_tupdesc_copy(type, -1);
	bool found = false;

	for (int i = 0; i < columns->natts && !found; i++)
		found = !TupleDescAttr(columns, i)->attisdropped &&
				visit_part(TupleDescAttr(columns, i)->atttypid, visit, argument);
	FreeTupleDesc(columns);
	return found;
}

/* The type is not a domain. */
static bool
walk_parts(Oid type, part_visitor visit, void *argument)
{
	check_stack_depth();
	if (OidIsValid(get_element_type(type)))
		return visit_part(get_element_type(type), visit, argument);
	if (type_is_range(type))
		return visit_part(get_range_subtype(type), visit, argument);
	if (type_is_multirange(type))
		return visit_part(get_multirange_range(type), visit, argument);
	return get_typtype(type) == TYPTYPE_COMPOSITE && walk_columns(type, visit, argument);
}

static bool
is_same(Oid part, void *sought)
{
	return part == *(const Oid *) sought;
}

bool
tsurugi_type_has_part(Oid type, Oid part)
{
	return walk_parts(getBaseType(type), is_same, &part);
}

static bool
note(Oid part, void *parts)
{
	List **noted = parts;

	*noted = list_append_unique_oid(*noted, part);
	return false;
}

List *
tsurugi_type_and_parts(Oid type)
{
	List *parts = NIL;

	(void) visit_part(type, note, &parts);
	return parts;
}

static bool
refresh(Oid part, void *argument)
{
	(void) lookup_type_cache(part, TYPECACHE_EQ_OPR_FINFO | TYPECACHE_CMP_PROC_FINFO | TYPECACHE_HASH_PROC_FINFO);
	return false;
}

void
tsurugi_type_refresh_parts(Oid type)
{
	(void) walk_parts(getBaseType(type), refresh, NULL);
}

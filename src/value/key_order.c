/*
 * key_order.c
 *	  Which versions of collations a column's key depends on.
 *
 * A sort key, a rank and the hash of a text under a collation that is not deterministic are made by
 * the C library or by ICU.  They are kept in files, and another version of the library makes other
 * ones.  The key of a text as it is, or of its bytes under a deterministic collation, depends on
 * none.
 *
 * jsonb, and types of extensions (citext), compare texts by the database's collation.  A type of an
 * extension may not do that; then the number changes without need, and keys are made anew once more
 * than they must be.
 */
#include "postgres.h"

#include "src/value/key_order.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/value/collation.h"

static void add_type(uint32 *number, Oid type, Oid collation, bool ordered);

static void
add_collation(uint32 *number, Oid collation)
{
	uint32 version = OidIsValid(collation) ? tsurugi_collation_version(collation) : 0;

	if (version != 0)
		*number = hash_combine(*number, version);
}

static void
add_columns(uint32 *number, Oid type, bool ordered)
{
	TupleDesc columns = lookup_rowtype_tupdesc_copy(type, -1);

	for (int i = 0; i < columns->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);

		if (!column->attisdropped)
			add_type(number, column->atttypid, column->attcollation, ordered);
	}
	FreeTupleDesc(columns);
}

/* ordered: the values' order is in the key, and not only their equality. */
static void
add_type(uint32 *number, Oid type, Oid collation, bool ordered)
{
	check_stack_depth();
	type = getBaseType(type);
	if (OidIsValid(get_element_type(type)))
		add_type(number, get_element_type(type), collation, ordered);
	else if (type_is_range(type))
		add_type(number, get_range_subtype(type), get_range_collation(type), ordered);
	else if (type_is_multirange(type))
		add_type(number, get_multirange_range(type), InvalidOid, ordered);
	else if (get_typtype(type) == TYPTYPE_COMPOSITE)
		add_columns(number, type, ordered);
	else
	{
		bool is_of_extension = type >= FirstNormalObjectId && get_typtype(type) == TYPTYPE_BASE;

		if (is_of_extension || (type == JSONBOID && ordered))
			add_collation(number, DEFAULT_COLLATION_OID);
		if (is_of_extension || ordered || (OidIsValid(collation) && !get_collation_isdeterministic(collation)))
			add_collation(number, collation);
	}
}

bool
tsurugi_type_has_version(Oid type, Oid collation)
{
	uint32 number = 0;

	add_type(&number, type, collation, true);
	return number != 0;
}

uint32
tsurugi_key_order(const tsurugi_key_column *column)
{
	uint32 number = 0;

	if (column->canonical || OidIsValid(column->comparison) || OidIsValid(column->hash_family))
		add_type(&number, column->origin.type, column->origin.collation,
				 column->origin.sorted || OidIsValid(column->comparison));
	return number;
}

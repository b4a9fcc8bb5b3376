/*
 * key_form.c
 *	  The form of a type's values in a key, for an order or for equality alone.
 *
 * The operator family tells whether values are compared as the makers of keys assume (canonical.h).
 * If so, keys are the stored values, or canonical bytes of them.  With any other family, values
 * have ranks (ranking.h) or hashes (hashed.h).
 */
#include "postgres.h"

#include "src/value/key_form.h"

#include "access/hash.h"
#include "access/nbtree.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "src/value/canonical.h"
#include "src/value/enum_order.h"
#include "src/value/hashed.h"
#include "src/value/ranking.h"

/* Whether these classes compare bytes, whatever the collation. */
static bool
is_pattern_family(Oid family)
{
	return family == TEXT_PATTERN_BTREE_FAM_OID || family == BPCHAR_PATTERN_BTREE_FAM_OID;
}

/*
 * Enums, arrays and the like have a class of PostgreSQL's for their kind, and may get one of their
 * own at any time.
 */
static bool
is_of_kind(Oid type)
{
	return get_typtype(type) != TYPTYPE_BASE || OidIsValid(get_element_type(type));
}

/*
 * Whether the family compares values as the makers of keys assume; input: the type that the
 * operator class is for.  The index's family decides, whatever the default is now: varchar, which
 * has the class of text, may get one of its own.
 */
static bool
is_usual_family(Oid type, Oid family, Oid input)
{
	Oid usual;

	if (is_of_kind(type))
	{
		Oid comparison = get_opfamily_proc(family, input, input, BTORDER_PROC);

		return comparison == F_ENUM_CMP || comparison == F_BTARRAYCMP || comparison == F_RANGE_CMP ||
			   comparison == F_MULTIRANGE_CMP || comparison == F_BTRECORDCMP;
	}
	if (is_pattern_family(family))
		return type < FirstNormalObjectId;
	if (input < FirstNormalObjectId && family >= FirstNormalObjectId)
		return false;
	usual = GetDefaultOpClass(input, BTREE_AM_OID);
	return OidIsValid(usual) && get_opclass_family(usual) == family;
}

void
tsurugi_key_form_by_order(const tsurugi_codec *codec, Oid family, Oid input, bool sorted, tsurugi_key_form *form)
{
	bool usual = is_usual_family(codec->type, family, input);

	*form = (tsurugi_key_form){0};
	if (usual && tsurugi_key_code(codec, &form->code, &form->ordered))
	{
		bool is_enum = type_is_enum(codec->type);

		form->ordered |= is_pattern_family(family) || (is_enum && tsurugi_enum_is_in_order(codec->type));
		if (form->ordered || !sorted)
			return;
		form->sorted = tsurugi_canonical_is_possible(codec->type, codec->collation, true, &form->ordered);
		if (!form->sorted && !is_enum)
			return;
	}
	form->canonical = true;
	form->code = TG_KEY_STRING;
	if (form->sorted)
		return;
	form->sorted = sorted;
	if (usual && tsurugi_canonical_is_possible(codec->type, codec->collation, sorted, &form->ordered))
		return;
	form->sorted = false;
	form->ordered = true;
	form->comparison = get_opfamily_proc(family, input, input, BTORDER_PROC);
	if (!OidIsValid(form->comparison))
		elog(ERROR, "missing support function %d for type %u of operator family %u", BTORDER_PROC, input, family);
}

void
tsurugi_key_form_codec(tsurugi_codec *codec)
{
	tsurugi_codec_init_type(codec, BYTEAOID, -1, InvalidOid);
}

void
tsurugi_key_form_set(tsurugi_key_column *column, const tsurugi_codec *origin, const tsurugi_codec *stored,
					 const tsurugi_key_form *form)
{
	tg_assert(form->canonical || (!form->sorted && !OidIsValid(form->comparison)));
	tg_assert(!form->hashed || !form->ordered);
	column->type = origin->type;
	column->ordered = form->ordered;
	column->canonical = form->canonical;
	column->comparison = form->comparison;
	column->cover = form->cover;
	column->hashed = form->hashed;
	column->hash_family = form->hash_family;
	column->origin = *origin;
	column->origin.sorted = form->sorted;
	column->codec = *stored;
	column->part.code = form->code;
	column->part.header_bytes = column->codec.header_bytes;
	column->part.ranking = OidIsValid(form->comparison) ? tsurugi_ranking(origin, form->comparison) : (tg_ranking){0};
}

bool
tsurugi_key_describe_value(Oid type, Oid collation, tsurugi_key_column *column)
{
	tsurugi_codec codec;
	tsurugi_codec stored;
	tsurugi_key_form form;
	Oid class;

	tsurugi_codec_init_type(&codec, type, -1, collation);
	class = GetDefaultOpClass(codec.type, BTREE_AM_OID);
	if (!OidIsValid(class))
		return false;
	tsurugi_key_form_by_order(&codec, get_opclass_family(class), get_opclass_input_type(class), false, &form);
	stored = codec;
	if (form.canonical)
		tsurugi_key_form_codec(&stored);
	tsurugi_key_form_set(column, &codec, &stored, &form);
	return !OidIsValid(form.comparison);
}

/*
 * Whether values that are equal by a hash family, for this type, are equal to the makers of keys.
 */
static bool
is_equality_of_btree(Oid type, Oid family, Oid input)
{
	Oid usual = GetDefaultOpClass(input, BTREE_AM_OID);

	if (is_of_kind(type) || (input < FirstNormalObjectId && family >= FirstNormalObjectId))
		return family < FirstNormalObjectId;
	return OidIsValid(usual) &&
		   get_op_opfamily_strategy(get_opfamily_member(family, input, input, HTEqualStrategyNumber),
									get_opclass_family(usual)) == BTEqualStrategyNumber;
}

void
tsurugi_key_form_by_equality(const tsurugi_codec *codec, Oid family, Oid input, tsurugi_key_form *form)
{
	bool is_usual = is_equality_of_btree(codec->type, family, input);
	bool is_plain;

	*form = (tsurugi_key_form){0};
	is_plain = is_usual && tsurugi_key_code(codec, &form->code, &form->ordered);
	if (is_plain && codec->kind != TG_KIND_STRING)
	{
		form->ordered = false;
		return;
	}
	form->canonical =
		is_usual && !is_plain && tsurugi_canonical_is_possible(codec->type, codec->collation, false, &form->ordered);
	*form = (tsurugi_key_form){.code = TG_KEY_UNSIGNED, .hashed = true, .canonical = form->canonical};
	if (!form->canonical)
	{
		form->hash_family = family;
		form->hash = tsurugi_hash_function(family, input);
	}
}

/*
 * brin.c
 *	  Indexes USING brin: what columns of them are looked for by.
 *
 * What an operator class does is told by the function that describes it to PostgreSQL's access method (opcinfo).  Its operators
 * have the strategies of a B-tree (minmax) or the one of a hash index (bloom); they have to be those of the type's default
 * operator class, whose order and hashes we know.  None is known of the others, «inclusion» among them: such a column is left out, which
 * is no error, for an index decides about nothing but speed.
 */
#include "postgres.h"

#include "src/value/brin.h"

#include "access/brin_internal.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "commands/defrem.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "src/value/space_class.h"

/* Whether an operator of the class is that of the default class, of another method, for what it is for, too. */
static bool
is_usual(Oid class, StrategyNumber strategy, Oid method, StrategyNumber usual_strategy)
{
	Oid input = get_opclass_input_type(class);
	Oid operator= get_opfamily_member(get_opclass_family(class), input, input, strategy);
	Oid usual = GetDefaultOpClass(input, method);

	return OidIsValid(operator) && OidIsValid(usual) &&
		   get_op_opfamily_strategy(operator, get_opclass_family(usual)) == usual_strategy;
}

tsurugi_brin
tsurugi_brin_of(Oid class, Oid type)
{
	Oid input = get_opclass_input_type(class);

	switch (get_opfamily_proc(get_opclass_family(class), input, input, BRIN_PROCNUM_OPCINFO))
	{
		case F_BRIN_MINMAX_OPCINFO:
		case F_BRIN_MINMAX_MULTI_OPCINFO:
			return is_usual(class, BTLessStrategyNumber, BTREE_AM_OID, BTLessStrategyNumber) ? TSURUGI_BRIN_RANGES
																							 : TSURUGI_BRIN_NOTHING;
		case F_BRIN_BLOOM_OPCINFO:
			return is_usual(class, HTEqualStrategyNumber, HASH_AM_OID, HTEqualStrategyNumber) ? TSURUGI_BRIN_EQUALITY
																							  : TSURUGI_BRIN_NOTHING;
		case F_BRIN_INCLUSION_OPCINFO:
			return tsurugi_space_form_of(class, type, InvalidOid) == TSURUGI_SPACE_COVER ? TSURUGI_BRIN_COVERS
																						 : TSURUGI_BRIN_NOTHING;
		default:
			return TSURUGI_BRIN_NOTHING;
	}
}

Oid
tsurugi_brin_hash_family(Oid type)
{
	return get_opclass_family(GetDefaultOpClass(type, HASH_AM_OID));
}

void
tsurugi_brin_tell(const Oid *classes, const Oid *types, int count)
{
	for (int i = 0; i < count; i++)
		if (tsurugi_brin_of(classes[i], getBaseType(types[i])) != TSURUGI_BRIN_NOTHING)
			return;
	tsurugi_space_tell_unserved(classes[0]);
}

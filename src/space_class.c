/*
 * space_class.c
 *	  Operator classes of the access methods gist and spgist: what serves them in memory.
 *
 * An access method is a promise which operators an index answers.  How is its own matter, and here it is ordered trees in any
 * case.  So an operator class is judged by its operators alone:
 *
 *	some of them ask how values extend (&&, <@ ...), and the type is one that has covers		covers
 *	the order of the type is among them (btree_gist, text_ops of spgist)						the tree is in that order
 *
 * Operators of an operator class that are not served so are evaluated on each row, as if the index were not there.
 */
#include "postgres.h"

#include "src/space_class.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_opclass.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/cover.h"

bool
tsurugi_space_has(Oid method)
{
	return method == GIST_AM_OID || method == SPGIST_AM_OID;
}

tsurugi_space_form
tsurugi_space_form_of(Oid class, Oid type)
{
	Oid base = getBaseType(type);
	Oid usual = GetDefaultOpClass(base, BTREE_AM_OID);
	Oid order = OidIsValid(usual) ? get_opclass_family(usual) : InvalidOid;
	CatCList *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(get_opclass_family(class)));
	bool extends = false;
	bool is_ordered = false;

	for (int i = 0; i < members->n_members; i++)
	{
		const FormData_pg_amop *member = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);
		int strategy;

		if (member->amoppurpose != AMOP_SEARCH)
			continue;
		strategy = OidIsValid(order) ? get_op_opfamily_strategy(member->amopopr, order) : 0;
		is_ordered |= strategy == BTLessStrategyNumber;
		extends |= strategy == 0 && tsurugi_cover_answers(get_opcode(member->amopopr));
	}
	ReleaseCatCacheList(members);
	if (extends && tsurugi_cover_is_possible(base))
		return TSURUGI_SPACE_COVER;
	return is_ordered ? TSURUGI_SPACE_ORDER : TSURUGI_SPACE_NONE;
}

void
tsurugi_space_check(Oid class, Oid type)
{
	HeapTuple tuple;

	if (tsurugi_space_form_of(class, type) != TSURUGI_SPACE_NONE)
		return;
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opclass %u", class);
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("operator class \"%s\" of access method \"%s\" is not supported for tables in memory",
						   NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname),
						   get_am_name(((Form_pg_opclass) GETSTRUCT(tuple))->opcmethod))));
}

/*
 * space_class.c
 *	  Operator classes of the access methods gist and spgist: what serves them in memory.
 *
 * An access method is a promise which operators an index answers.  How is its own matter, and here it is ordered trees in any
 * case.  So an operator class is judged by its operators alone:
 *
 *	some of them ask how values extend (&&, <@ ...), and the type is one that has covers		covers
 *	the order of the type is among them (btree_gist, text_ops of spgist)						the tree is in that order
 *	an operator class of gin for the type has some of them (tsvector_ops, gist_trgm_ops ...)		the keys that it makes
 *
 * Operators of an operator class that are not served so are evaluated on each row, as if the index were not there; of some
 * operator classes (cube, seg, tsquery_ops) that are all.  Such a column is left out of the index, and the user is told: an index decides about
 * nothing but speed, and a dump that has one is to be restored.
 *
 * Which operator class of gin that is must stay as long as the index does: what is stored follows from it.  So it is looked for
 * only when the index is made, among those of the same extension, or PostgreSQL's own, and the index is made to depend on it: it
 * cannot be dropped without the index, and one that comes later is not seen.  PostgreSQL's own are never dropped, nor do more of them
 * come; they have no dependencies, and are found again.
 */
#include "postgres.h"

#include "src/value/space_class.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/catalog.h"
#include "catalog/dependency.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_class_d.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_opclass.h"
#include "commands/defrem.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/value/cover.h"
#include "src/value/gin.h"

bool
tsurugi_space_has(Oid method)
{
	return method == GIST_AM_OID || method == SPGIST_AM_OID;
}

/* --- an operator class of gin instead ---------------------------------------------------------- */

/* The one found so far, and how many of the operators it has. */
typedef struct Best
{
	Oid class;
	int count;
} Best;

static bool
is_of_gin(Oid class)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	bool is;

	if (!HeapTupleIsValid(tuple))
		return false;
	is = ((Form_pg_opclass) GETSTRUCT(tuple))->opcmethod == GIN_AM_OID;
	ReleaseSysCache(tuple);
	return is;
}

/* How many of the operators of an operator class another one has; -1: it makes no keys of its type. */
static int
count_common(Oid class, Oid other)
{
	Oid family = get_opclass_family(other);
	CatCList *members;
	int count = 0;

	if (!is_of_gin(other) || get_opclass_input_type(other) != get_opclass_input_type(class))
		return -1;
	members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(get_opclass_family(class)));
	for (int i = 0; i < members->n_members; i++)
	{
		const FormData_pg_amop *member = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		count += member->amoppurpose == AMOP_SEARCH && op_in_opfamily(member->amopopr, family);
	}
	ReleaseCatCacheList(members);
	return count;
}

/* Most operators; of those with as many the oldest. */
static void
consider(Oid class, Oid other, Best *best)
{
	int count = count_common(class, other);

	if (count > best->count || (count == best->count && OidIsValid(best->class) && other < best->class))
		*best = (Best){.class = other, .count = count};
}

static bool
are_of_one_origin(Oid class, Oid other)
{
	Oid extension;

	if (IsPinnedObject(OperatorClassRelationId, class))
		return IsPinnedObject(OperatorClassRelationId, other);
	extension = getExtensionOfObject(OperatorClassRelationId, class);
	return OidIsValid(extension) && getExtensionOfObject(OperatorClassRelationId, other) == extension;
}

/* For an index that is being made. */
static Oid
choose_gin(Oid class)
{
	CatCList *others = SearchSysCacheList1(CLAAMNAMENSP, ObjectIdGetDatum(GIN_AM_OID));
	Best best = {0};

	for (int i = 0; i < others->n_members; i++)
	{
		Oid other = ((Form_pg_opclass) GETSTRUCT(&others->members[i]->tuple))->oid;

		if (are_of_one_origin(class, other))
			consider(class, other, &best);
	}
	ReleaseCatCacheList(others);
	return best.class;
}

/* Among those that the index depends on. */
static Oid
find_recorded(Oid index, Oid class)
{
	Relation depends = table_open(DependRelationId, AccessShareLock);
	Best best = {.count = -1};
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key[0], Anum_pg_depend_classid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_objid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(index));
	scan = systable_beginscan(depends, DependDependerIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		const FormData_pg_depend *depend = (Form_pg_depend) GETSTRUCT(tuple);

		if (depend->refclassid == OperatorClassRelationId)
			consider(class, depend->refobjid, &best);
	}
	systable_endscan(scan);
	table_close(depends, AccessShareLock);
	return best.class;
}

/* --- judging ------------------------------------------------------------------------------------- */

static tsurugi_space_form
form_by_operators(Oid class, Oid type)
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

tsurugi_space_form
tsurugi_space_form_of(Oid class, Oid type, Oid collation)
{
	tsurugi_space_form form = form_by_operators(class, type);
	tsurugi_gin_column column;
	tsurugi_key_column key;
	const char *reason;
	Oid gin;

	if (form != TSURUGI_SPACE_NONE)
		return form;
	gin = choose_gin(class);
	return OidIsValid(gin) &&
				   tsurugi_gin_describe_column(gin, getBaseType(type), collation, NULL, &column, &key, &reason)
			   ? TSURUGI_SPACE_KEYS
			   : TSURUGI_SPACE_NONE;
}

Oid
tsurugi_space_gin(Oid index, Oid class, Oid type)
{
	if (form_by_operators(class, type) != TSURUGI_SPACE_NONE)
		return InvalidOid;
	return IsPinnedObject(OperatorClassRelationId, class) ? choose_gin(class) : find_recorded(index, class);
}

void
tsurugi_space_record(Oid index, const Oid *classes, const Oid *types, const Oid *collations, int count)
{
	const ObjectAddress entry = {.classId = RelationRelationId, .objectId = index};

	for (int i = 0; i < count; i++)
	{
		ObjectAddress gin = {.classId = OperatorClassRelationId};

		if (tsurugi_space_form_of(classes[i], types[i], collations[i]) != TSURUGI_SPACE_KEYS)
			continue;
		gin.objectId = choose_gin(classes[i]);
		recordDependencyOn(&entry, &gin, DEPENDENCY_NORMAL);
	}
}

void
tsurugi_space_tell_unserved(Oid class)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opclass %u", class);
	ereport(NOTICE,
			(errmsg("operator class \"%s\" of access method \"%s\" is not served for tables in memory",
					NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname),
					get_am_name(((Form_pg_opclass) GETSTRUCT(tuple))->opcmethod)),
			 errdetail("The index is there, but conditions by this column's operators are evaluated on each row.")));
	ReleaseSysCache(tuple);
}

void
tsurugi_space_tell(Oid class, Oid type, Oid collation)
{
	if (tsurugi_space_form_of(class, type, collation) == TSURUGI_SPACE_NONE)
		tsurugi_space_tell_unserved(class);
}

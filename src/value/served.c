/*
 * served.c
 *	  What serves a column of an index: by its access method and operator class.
 *
 * A B-tree promises an order, and hash equality.  Other access methods are a promise which operators an index answers.  How is
 * its own matter, and here it is ordered trees in any case.
 *
 * What an operator class of BRIN does is told by the function that describes it to the access method (opcinfo): minmax and
 * minmax_multi answer by an order, bloom by equality, inclusion by what extends.
 *
 * Those of gist and spgist, and of whatever access methods extensions or users have made (bloom), are judged by their operators alone:
 *
 *	some of them ask how values extend (&&, <@ ...), and the type is one that has covers		covers
 *	the order of the type is among them (btree_gist, text_ops of spgist)						the tree is in that order
 *	all of them are its equality (those of bloom)											equality, or the order
 *	an operator class of gin for the type has some of them (tsvector_ops, gist_trgm_ops ...)		the keys that it makes
 *
 * Orders and equality have to be those of the type's default operator classes, whose keys and hashes we know.
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

#include "src/value/served.h"

#include "access/brin_internal.h"
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

/* Whether operator classes are judged by their operators. */
static bool
judges_operators(Oid method)
{
	return method != BTREE_AM_OID && method != HASH_AM_OID && method != GIN_AM_OID && method != BRIN_AM_OID;
}

Oid
tsurugi_usual_family(Oid type, Oid method)
{
	Oid class = GetDefaultOpClass(type, method);

	return OidIsValid(class) ? get_opclass_family(class) : InvalidOid;
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

/* By operators, but for keys. */
static tsurugi_served
served_by_operators(Oid class, Oid type)
{
	Oid base = getBaseType(type);
	Oid input = get_opclass_input_type(class);
	Oid order = tsurugi_usual_family(base, BTREE_AM_OID);
	Oid hash = tsurugi_usual_family(input, HASH_AM_OID);
	CatCList *members = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(get_opclass_family(class)));
	bool extends = false;
	bool is_ordered = false;
	int count = 0;
	int equal_count = 0; /* as the usual order says */
	int hashed_count = 0;

	for (int i = 0; i < members->n_members; i++)
	{
		const FormData_pg_amop *member = (Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);
		int strategy;

		if (member->amoppurpose != AMOP_SEARCH || member->amoplefttype != input)
			continue;
		strategy = OidIsValid(order) ? get_op_opfamily_strategy(member->amopopr, order) : 0;
		is_ordered |= strategy == BTLessStrategyNumber;
		count++;
		equal_count += strategy == BTEqualStrategyNumber;
		hashed_count += OidIsValid(hash) && op_in_opfamily(member->amopopr, hash);
		extends |= strategy == 0 && tsurugi_cover_answers(get_opcode(member->amopopr));
	}
	ReleaseCatCacheList(members);
	if (extends && tsurugi_cover_is_possible(base))
		return TSURUGI_SERVED_BY_COVER;
	if (count > 0 && hashed_count == count)
		return TSURUGI_SERVED_BY_EQUALITY;
	return is_ordered || (count > 0 && equal_count == count) ? TSURUGI_SERVED_BY_ORDER : TSURUGI_SERVED_BY_NOTHING;
}

/* By those that an operator class of gin makes: not if these are in an order of their own. */
static tsurugi_served
served_by_keys(Oid gin, Oid type, Oid collation)
{
	tsurugi_gin_column column;
	tsurugi_key_column key;

	return OidIsValid(gin) && tsurugi_gin_describe_column(gin, getBaseType(type), collation, NULL, &column, &key)
			   ? TSURUGI_SERVED_BY_KEYS
			   : TSURUGI_SERVED_BY_NOTHING;
}

static tsurugi_served
served_by_operators_or_keys(Oid class, Oid type, Oid collation)
{
	tsurugi_served served = served_by_operators(class, type);

	return served != TSURUGI_SERVED_BY_NOTHING ? served : served_by_keys(choose_gin(class), type, collation);
}

/* USING brin: whether an operator of the class is that of the default class, of another method, for what it is for, too. */
static bool
is_usual(Oid class, StrategyNumber strategy, Oid method, StrategyNumber usual_strategy)
{
	Oid input = get_opclass_input_type(class);
	Oid operator= get_opfamily_member(get_opclass_family(class), input, input, strategy);
	Oid usual = tsurugi_usual_family(input, method);

	return OidIsValid(operator) && OidIsValid(usual) && get_op_opfamily_strategy(operator, usual) == usual_strategy;
}

static tsurugi_served
served_of_brin(Oid class, Oid type)
{
	Oid input = get_opclass_input_type(class);
	tsurugi_served served = TSURUGI_SERVED_BY_NOTHING;

	switch (get_opfamily_proc(get_opclass_family(class), input, input, BRIN_PROCNUM_OPCINFO))
	{
		case F_BRIN_MINMAX_OPCINFO:
		case F_BRIN_MINMAX_MULTI_OPCINFO:
			if (is_usual(class, BTLessStrategyNumber, BTREE_AM_OID, BTLessStrategyNumber))
				served = TSURUGI_SERVED_BY_ORDER;
			break;
		case F_BRIN_BLOOM_OPCINFO:
			if (is_usual(class, HTEqualStrategyNumber, HASH_AM_OID, HTEqualStrategyNumber))
				served = TSURUGI_SERVED_BY_EQUALITY;
			break;
		case F_BRIN_INCLUSION_OPCINFO:
			if (served_by_operators(class, type) == TSURUGI_SERVED_BY_COVER)
				served = TSURUGI_SERVED_BY_COVER;
			break;
	}
	return served;
}

tsurugi_served
tsurugi_served_of(Oid method, Oid class, Oid type, Oid collation)
{
	switch (method)
	{
		case BTREE_AM_OID:
			return TSURUGI_SERVED_BY_ORDER;
		case HASH_AM_OID:
			return TSURUGI_SERVED_BY_EQUALITY;
		case GIN_AM_OID:
			return served_by_keys(class, type, collation);
		case BRIN_AM_OID:
			return served_of_brin(class, type);
		default:
			return served_by_operators_or_keys(class, type, collation);
	}
}

Oid
tsurugi_served_gin(Oid index, Oid method, Oid class, Oid type)
{
	if (method == GIN_AM_OID)
		return class;
	if (!judges_operators(method) || served_by_operators(class, type) != TSURUGI_SERVED_BY_NOTHING)
		return InvalidOid;
	return IsPinnedObject(OperatorClassRelationId, class) ? choose_gin(class) : find_recorded(index, class);
}

void
tsurugi_served_record(Oid index, Oid method, const Oid *classes, const Oid *types, const Oid *collations, int count)
{
	const ObjectAddress entry = {.classId = RelationRelationId, .objectId = index};

	for (int i = 0; i < count && judges_operators(method); i++)
	{
		ObjectAddress gin = {.classId = OperatorClassRelationId};

		if (tsurugi_served_of(method, classes[i], types[i], collations[i]) != TSURUGI_SERVED_BY_KEYS)
			continue;
		gin.objectId = choose_gin(classes[i]);
		recordDependencyOn(&entry, &gin, DEPENDENCY_NORMAL);
	}
}

void
tsurugi_served_tell(Oid method, Oid class, Oid type, Oid collation)
{
	HeapTuple tuple;

	if (tsurugi_served_of(method, class, type, collation) != TSURUGI_SERVED_BY_NOTHING)
		return;
	tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for opclass %u", class);
	ereport(NOTICE,
			(errmsg("operator class \"%s\" of access method \"%s\" is not served for tables in memory",
					NameStr(((Form_pg_opclass) GETSTRUCT(tuple))->opcname), get_am_name(method)),
			 errdetail("The index is there, but conditions by this column's operators are evaluated on each row.")));
	ReleaseSysCache(tuple);
}

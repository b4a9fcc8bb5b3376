/*
 * served.c
 *	  How a column of an index is served, by its access method and operator class.
 *
 * A B-tree promises an order, and hash promises equality.  Other access methods promise which
 * operators an index answers.  How they do so is their own matter, and here all of them are ordered
 * trees.
 *
 * An operator class of BRIN is recognized by the function that describes it to the access method
 * (opcinfo): minmax and minmax_multi are served by an order, bloom by equality, inclusion by
 * covers.
 *
 * Operator classes of gist and spgist, and of any access methods of extensions or users (bloom),
 * are judged by their operators alone:
 *
 *	some concern the extent of values (&&, <@ ...), and the type has covers		covers
 *	the order of the type is among them (btree_gist, text_ops of spgist)		that order
 *	all of them are the type's equality (those of bloom)			equality, or the order
 *	an operator class of gin for the type has some of them				the keys that it makes
 *		(tsvector_ops, gist_trgm_ops ...)
 *
 * Orders and equality must be those of the type's default operator classes, whose keys and hashes
 * are known.
 *
 * Operators of a class that are not served in this way are evaluated on each row, as if the index
 * did not exist; for some operator classes (cube, seg, tsquery_ops) these are all.  Such a column
 * is left out of the index, and the user is told.  It is not an error, because an index affects
 * nothing but speed, and a dump that has one must be restorable.
 *
 * The chosen operator class of gin must stay the same as long as the index exists, because the
 * stored keys depend on it.  So it is chosen only when the index is made, among those of the same
 * extension or PostgreSQL's own, and the index is made to depend on it.  Therefore it cannot be
 * dropped without the index, and classes that are added later are not considered.  PostgreSQL's own
 * classes are never dropped, and no new ones are added; they have no dependencies, and are found
 * again.
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

/* --- an operator class of gin instead ------------------------------------------- */

/* The best class found so far, and its number of common operators. */
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

/*
 * The number of operators of an operator class that another one has, too; -1: that makes no keys of
 * its type.
 */
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

/* Prefers the class with the most operators, then the oldest. */
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

/* Chooses a class for an index that is being made. */
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

/* Finds the class among those that the index depends on. */
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

/* --- judging -------------------------------------------------------------------- */

/* Judges by operators, except for keys. */
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
	int equal_count = 0; /* by the usual order */
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

/*
 * Judges by the keys of an operator class of gin: it cannot serve if these have an order of their
 * own.
 */
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

/*
 * USING brin: whether an operator of the class is also that of another method's default class, in
 * the given role.
 */
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

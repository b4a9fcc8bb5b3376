/*
 * fdw_unique.c
 *	  Tells the planner that primary keys of our tables are unique.
 *
 * get_relation_info (plancat.c) passes over the catalog entries of foreign
 * tables' keys, so the planner would not know that a key look-up finds one row,
 * that a join to a key can be removed or needs no duplicates.  The hook adds an
 * IndexOptInfo for the key; it is marked hypothetical, and PostgreSQL builds no index
 * paths for foreign tables, so nobody tries to open it.
 */
#include "postgres.h"

#include "src/fdw.h"

#include "catalog/pg_am_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/plancat.h"
#include "utils/rel.h"

static get_relation_info_hook_type previous_hook;

static IndexOptInfo *
key_info(const tsurugi_relation *described, RelOptInfo *rel, TupleDesc tupdesc)
{
	IndexOptInfo *info = makeNode(IndexOptInfo);
	int count = described->key_count;

	info->indexoid = described->key_index;
	info->rel = rel;
	info->ncolumns = info->nkeycolumns = count;
	info->indexkeys = palloc(sizeof(int) * count);
	info->indexcollations = palloc(sizeof(Oid) * count);
	info->opfamily = palloc(sizeof(Oid) * count);
	info->opcintype = palloc(sizeof(Oid) * count);
	info->canreturn = palloc0(sizeof(bool) * count);
	info->relam = BTREE_AM_OID;
	info->unique = true;
	info->immediate = true;
	info->hypothetical = true;
	info->tuples = rel->tuples;
	for (int i = 0; i < count; i++)
	{
		const tsurugi_key_column *key = &described->key[i];
		Form_pg_attribute attribute = TupleDescAttr(tupdesc, key->attnum - 1);
		Var *var =
			makeVar(rel->relid, key->attnum, attribute->atttypid, attribute->atttypmod, attribute->attcollation, 0);

		info->indexkeys[i] = key->attnum;
		info->indexcollations[i] = key->collation;
		info->opfamily[i] = key->family;
		info->opcintype[i] = key->opcintype;
		info->indextlist = lappend(info->indextlist, makeTargetEntry((Expr *) var, i + 1, NULL, false));
	}
	return info;
}

static void
add_key_info(PlannerInfo *root, Oid relation_oid, bool inhparent, RelOptInfo *rel)
{
	if (previous_hook != NULL)
		previous_hook(root, relation_oid, inhparent, rel);
	if (rel->fdwroutine != NULL && rel->fdwroutine->GetForeignPlan == tsurugiGetForeignPlan && !inhparent)
	{
		Relation relation = RelationIdGetRelation(relation_oid);
		const tsurugi_relation *described = tsurugi_relation_get(relation);

		if (described->key_count > 0)
			rel->indexlist = lappend(rel->indexlist, key_info(described, rel, RelationGetDescr(relation)));
		RelationClose(relation);
	}
}

void
tsurugi_unique_init(void)
{
	previous_hook = get_relation_info_hook;
	get_relation_info_hook = add_key_info;
}

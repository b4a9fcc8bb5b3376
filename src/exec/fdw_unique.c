/*
 * fdw_unique.c
 *	  Tells the planner about the indexes of this wrapper's tables.
 *
 * get_relation_info (plancat.c) passes over the catalog entries of foreign
 * tables' indexes, so the planner would not know that a key look-up finds one row,
 * that a join to a key can be removed or needs no duplicates.  The hook adds an
 * IndexOptInfo for each; they are marked hypothetical, and PostgreSQL builds no index
 * paths for foreign tables, so nobody tries to open them.  Our own paths
 * (fdw_plan.c) are made from them, too, with PostgreSQL's means.
 */
#include "postgres.h"

#include "runtime/order/key_spec.h"
#include "runtime/index/index_spec.h"
#include "src/exec/fdw.h"

#include "access/genam.h"
#include "catalog/pg_am_d.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/plancat.h"
#include "rewrite/rewriteManip.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "src/base/session.h"
#include "src/value/key_column.h"
#include "src/table/keys.h"

static get_relation_info_hook_type previous_hook;

/* The columns as a target list: plain ones, and expressions one after the other. */
static List *
index_tlist(const IndexOptInfo *info, TupleDesc columns)
{
	ListCell *next = list_head(info->indexprs);
	List *tlist = NIL;

	for (int i = 0; i < info->ncolumns; i++)
	{
		Expr *expr;

		if (info->indexkeys[i] != 0)
		{
			const FormData_pg_attribute *attribute = TupleDescAttr(columns, info->indexkeys[i] - 1);

			expr = (Expr *) makeVar(info->rel->relid, info->indexkeys[i], attribute->atttypid, attribute->atttypmod,
									attribute->attcollation, 0);
		}
		else
		{
			expr = lfirst(next);
			next = lnext(info->indexprs, next);
		}
		tlist = lappend(tlist, makeTargetEntry(expr, i + 1, NULL, false));
	}
	return tlist;
}

static IndexOptInfo *
index_info(const tsurugi_index *described, RelOptInfo *rel, Relation relation)
{
	IndexOptInfo *info = makeNode(IndexOptInfo);
	Relation index = index_open(described->oid, AccessShareLock);
	int count = described->key_count;

	info->indexoid = described->oid;
	info->rel = rel;
	info->ncolumns = info->nkeycolumns = count;
	info->indexkeys = palloc(sizeof(int) * count);
	info->indexcollations = palloc(sizeof(Oid) * count);
	info->opfamily = palloc(sizeof(Oid) * count);
	info->opcintype = palloc(sizeof(Oid) * count);
	info->sortopfamily = described->method == BTREE_AM_OID ? info->opfamily : NULL;
	info->reverse_sort = palloc(sizeof(bool) * count);
	info->nulls_first = palloc(sizeof(bool) * count);
	info->canreturn = palloc0(sizeof(bool) * count);
	info->relam = described->method;
	info->unique = described->spec->unique;
	info->immediate = true;
	info->hypothetical = true;
	info->tuples = rel->tuples;
	for (int i = 0; i < count; i++)
	{
		const tsurugi_key_column *key = &described->key[i];

		info->indexkeys[i] = key->attnum;
		info->indexcollations[i] = key->collation;
		info->opfamily[i] = key->family;
		info->opcintype[i] = key->opcintype;
		info->reverse_sort[i] = (key->part.order & TG_KEY_DESCENDING) != 0;
		info->nulls_first[i] = (key->part.order & TG_KEY_NULLS_FIRST) != 0;
		if (key->attnum == 0)
			info->indexprs = lappend(info->indexprs, tsurugi_index_expression(index, key->position));
	}
	/* as get_relation_info: simplified by the relcache already */
	info->indpred = RelationGetIndexPredicate(index);
	ChangeVarNodes((Node *) info->indexprs, 1, rel->relid, 0);
	ChangeVarNodes((Node *) info->indpred, 1, rel->relid, 0);
	info->indextlist = index_tlist(info, RelationGetDescr(relation));
	index_close(index, NoLock);
	return info;
}

static bool
has_ranks(const tsurugi_index *index)
{
	for (int i = 0; i < index->spec->key.part_count; i++)
		if (index->spec->key.part[i].ranking.compare != 0)
			return true;
	return false;
}

/*
 * Whether a standby has no use for the index: values whose order only PostgreSQL knows have no
 * ranks there (durable/follower.h), and the primary may have other versions of collations.
 */
static bool
is_foreign(const tsurugi_relation *described, const tsurugi_index *index)
{
	const tg_index *stored = index->primary ? NULL : tg_index_find(described->table, index->oid);
	const tg_key_spec *key = index->primary ? described->table->key : stored != NULL ? &stored->spec.key : NULL;

	return has_ranks(index) || (key != NULL && !tsurugi_key_is_same(key, &index->spec->key));
}

static void
add_index_infos(PlannerInfo *root, Oid relation_oid, bool inhparent, RelOptInfo *rel)
{
	if (previous_hook != NULL)
		previous_hook(root, relation_oid, inhparent, rel);
	if (rel->fdwroutine != NULL && rel->fdwroutine->GetForeignPlan == tsurugiGetForeignPlan && !inhparent)
	{
		Relation relation = RelationIdGetRelation(relation_oid);
		const tsurugi_relation *described = tsurugi_relation_get(relation);

		for (int i = 0; i < described->index_count; i++)
		{
			if (described->indexes[i].valid && !(tsurugi_follows && is_foreign(described, &described->indexes[i])))
				rel->indexlist = lappend(rel->indexlist, index_info(&described->indexes[i], rel, relation));
		}
		RelationClose(relation);
	}
}

void
tsurugi_unique_init(void)
{
	previous_hook = get_relation_info_hook;
	get_relation_info_hook = add_index_infos;
}

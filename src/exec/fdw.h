/*
 * fdw.h
 *	  The interface of the foreign data wrapper's files among themselves: the callbacks and their
 *	  common functions.
 */
#ifndef TSURUGI_FDW_H
#define TSURUGI_FDW_H

#include "postgres.h"

#include "commands/explain.h"
#include "foreign/fdwapi.h"
#include "nodes/pathnodes.h"

#include "src/exec/scan_plan.h"
#include "src/table/relation.h"

/* Returns a number for a plan whose executor state may be kept between executions (prepared.c). */
extern uint32_t tsurugi_plan_number_next(void);

/* Whether the number of computations of the new values of ON CONFLICT DO UPDATE can be observed. */
extern bool tsurugi_conflict_set_is_volatile(const ModifyTable *plan);

/*
 * The attribute numbers (an integer list) in a set made by pull_varattnos.  A whole-row reference
 * stands for all attributes.
 */
extern List *tsurugi_columns_of(const tsurugi_relation *described, Bitmapset *attributes);

extern void tsurugiGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid);
extern void tsurugiGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid);
extern List *tsurugiReparameterizeForeignPathByChild(PlannerInfo *root, List *fdw_private, RelOptInfo *child_rel);
extern ForeignScan *tsurugiGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid foreigntableid,
										  ForeignPath *best_path, List *tlist, List *scan_clauses, Plan *outer_plan);
extern List *tsurugiPlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index);

/* fdw_unique.c: registers the hook, once, when the library is loaded */
extern void tsurugi_unique_init(void);

/* fdw_scan.c */
extern void tsurugiBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *tsurugiIterateForeignScan(ForeignScanState *node);
extern void tsurugiReScanForeignScan(ForeignScanState *node);
extern void tsurugiEndForeignScan(ForeignScanState *node);

/* fdw_lock.c */
extern void tsurugiRefetchForeignRow(EState *estate, ExecRowMark *erm, Datum rowid, TupleTableSlot *slot,
									 bool *updated);
extern RowMarkType tsurugiGetForeignRowMarkType(RangeTblEntry *rte, LockClauseStrength strength);

/* Whether the last row that was locked by the mark has been changed since the snapshot. */
extern bool tsurugi_mark_is_updated(const ExecRowMark *erm);

/*
 * fdw_tid.c: adds a path by ctid if a condition asks for ctids.  Returns true if no other path can
 * answer the condition.
 */
extern bool tsurugi_tid_add_path(PlannerInfo *root, RelOptInfo *baserel);
extern bool tsurugi_is_tid_private(const List *fdw_private);
extern ForeignScan *tsurugi_tid_plan(RelOptInfo *baserel, const ForeignPath *path, List *tlist, List *scan_clauses);
extern bool tsurugi_is_tid_scan(const ForeignScan *plan);

/* The conditions on ctid of a scan's plan; part of its state. */
typedef struct tsurugi_recheck
{
	bool is_known;
	ExprState *condition; /* NULL: none */
} tsurugi_recheck;

extern bool tsurugiRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot);
extern void tsurugi_tid_begin(ForeignScanState *node);
extern TupleTableSlot *tsurugi_tid_next(ForeignScanState *node);
extern void tsurugi_tid_restart(ForeignScanState *node);
extern void tsurugi_tid_explain(ForeignScanState *node, ExplainState *es);

/* scan_lock.c: notes in the scan of the target table that it must lock its rows. */
extern void tsurugi_plan_early_locks(const ModifyTable *plan, Index relation);

/* fdw_direct.c */
extern bool tsurugiPlanDirectModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index);
extern void tsurugiBeginDirectModify(ForeignScanState *node, int eflags);
extern TupleTableSlot *tsurugiIterateDirectModify(ForeignScanState *node);
extern void tsurugiEndDirectModify(ForeignScanState *node);

/*
 * fdw_explain.c: which keys of an index are read, as EXPLAIN shows it: "key range (a > 10)".  The
 * relation is open.
 */
extern char *tsurugi_describe_access(Relation relation, const tsurugi_scan_access *access, const List *values,
									 List *context);

/*
 * For an executor state that serves several executions, one after the other (prepared_modify.c).
 * The first function makes the parts that follow from the plan and the table, in the current memory
 * context.  The caller starts their scan for each execution.  After the execution, the last
 * function forgets everything that belonged to it.
 */
extern void tsurugi_direct_make(ForeignScanState *node);
extern struct tsurugi_scan *tsurugi_direct_scan(const ForeignScanState *node);
extern void tsurugi_direct_rest(ForeignScanState *node);

/* fdw_modify.c */
extern void tsurugiAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte,
										   Relation target_relation);
extern void tsurugi_type_whole_rows(PlannerInfo *root, RelOptInfo *baserel, Oid row_type);
extern void tsurugiBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
									  int subplan_index, int eflags);
extern TupleTableSlot *tsurugiExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
												TupleTableSlot *planSlot);
extern TupleTableSlot *tsurugiExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
												TupleTableSlot *planSlot);
extern void tsurugiBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo);
extern int tsurugiIsForeignRelUpdatable(Relation rel);

/* fdw_insert.c */
extern TupleTableSlot *tsurugiExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
												TupleTableSlot *planSlot);

/* fdw_move.c: state of a result relation whose rows an UPDATE moves to other partitions */
typedef struct tsurugi_move
{
	bool hidden; /* the row in hand has moved; the executor does not see the next two */
	List *checks;
	ProjectionInfo *returning;
	ProjectionInfo *identity; /* NULL until a row with RETURNING moves */
	TupleTableSlot *returned;
} tsurugi_move;

/*
 * Stores a row in its new partition, after its old version has been deleted from the source, and
 * fires the triggers.  old is the old version for triggers; NULL if there are none.  The result is
 * for ExecForeignUpdate to return, with AFTER UPDATE triggers disabled; NULL if a trigger has
 * suppressed the row.
 */
extern TupleTableSlot *tsurugi_move_insert(tsurugi_move *move, ModifyTableState *mtstate, ResultRelInfo *source,
										   HeapTuple old, TupleTableSlot *slot, TupleTableSlot *planSlot);

/* Before the next row: restores for the executor everything that a hidden move kept from it. */
extern void tsurugi_move_end(tsurugi_move *move, ResultRelInfo *source);

/*
 * fdw_move_key.c: foreign keys that refer to rows which move.  Both functions are given the old
 * version of a row that leaves the source.  The first fires the triggers for its deletion.  The
 * second fires those for its update, when the row has been stored in the destination (NULL: it has
 * not been).
 */
extern void tsurugi_move_fire_delete(EState *estate, ResultRelInfo *source, HeapTuple old);
extern void tsurugi_move_fire_update(EState *estate, ResultRelInfo *source, HeapTuple old, ResultRelInfo *destination,
									 TupleTableSlot *new);

/*
 * For rows that the executor moves here from an ordinary partition.  The first function is called
 * at the beginning; it says whether the second must be called for each row that has been stored.
 */
extern bool tsurugi_move_prepare(ModifyTableState *mtstate);
extern void tsurugi_move_arrived(ModifyTableState *mtstate, ResultRelInfo *destination, TupleTableSlot *new);

/* fdw_explain.c */
extern void tsurugiExplainForeignScan(ForeignScanState *node, ExplainState *es);
extern void tsurugiExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private,
										int subplan_index, ExplainState *es);
extern void tsurugiExplainDirectModify(ForeignScanState *node, ExplainState *es);

/* fdw_truncate.c */
extern void tsurugiExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_sequences);

/* fdw_analyze.c */
extern bool tsurugiAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages);

#endif /* TSURUGI_FDW_H */

/*
 * prepared_modify.h
 *	  What is particular about modifications that keep their executor state
 *	  (prepared.c).
 */
#ifndef TSURUGI_PREPARED_MODIFY_H
#define TSURUGI_PREPARED_MODIFY_H

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "src/exec/scan.h"

/* The number of a modification's plan; 0: it has none, or is of another wrapper's table, as far as one can see. */
extern uint32_t tsurugi_modify_number(const ModifyTable *plan);

/*
 * Whether the plan and its table are of the kind whose state lasts.  *functions_out: those that its
 * expressions call, in the current memory context.
 */
extern bool tsurugi_modify_may_be_kept(const PlannedStmt *planned, List **functions_out);

/*
 * Adds our part to a state that ExecInitNode has made with EXEC_FLAG_EXPLAIN_ONLY, in the current
 * memory context.  False: it is not what we need.
 */
extern bool tsurugi_modify_make(ModifyTableState *state);

/* The node and the scan that find the row; NULL: INSERT. */
extern ForeignScanState *tsurugi_modify_node(const ModifyTableState *state);
extern tsurugi_scan *tsurugi_modify_scan(const ModifyTableState *state);

/* Before an execution, when the executor state has been filled in; the scan is started after it. */
extern void tsurugi_modify_begin(ModifyTableState *state);

/* Whether nothing has been made in an execution's memory that the nodes point to. */
extern bool tsurugi_modify_is_as_made(const ModifyTableState *state);

/* After an execution: forgets all of it. */
extern void tsurugi_modify_rest(ModifyTableState *state);

#endif /* TSURUGI_PREPARED_MODIFY_H */

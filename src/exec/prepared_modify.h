/*
 * prepared_modify.h
 *	  The parts of keeping executor state (prepared.c) that are specific to modifications.
 */
#ifndef TSURUGI_PREPARED_MODIFY_H
#define TSURUGI_PREPARED_MODIFY_H

#include "nodes/execnodes.h"
#include "nodes/plannodes.h"

#include "src/exec/scan.h"

/*
 * The number of a modification's plan; 0: it has none, or its table seems to be another wrapper's.
 */
extern uint32_t tsurugi_modify_number(const ModifyTable *plan);

/*
 * Whether the plan and its table allow the state to be kept.  *functions_out: the functions that
 * its expressions call, in the current memory context.
 */
extern bool tsurugi_modify_may_be_kept(const PlannedStmt *planned, List **functions_out);

/*
 * Adds the wrapper's part to a state that ExecInitNode has made with EXEC_FLAG_EXPLAIN_ONLY, in the
 * current memory context.  False: the state cannot be used.
 */
extern bool tsurugi_modify_make(ModifyTableState *state);

/* The node and the scan that find the row; NULL: INSERT. */
extern ForeignScanState *tsurugi_modify_node(const ModifyTableState *state);
extern tsurugi_scan *tsurugi_modify_scan(const ModifyTableState *state);

/*
 * Begins an execution, when the executor state has been filled in; the scan is started afterwards.
 */
extern void tsurugi_modify_begin(ModifyTableState *state);

/* Whether the nodes have no pointers to objects made in an execution's memory. */
extern bool tsurugi_modify_is_as_made(const ModifyTableState *state);

/* Forgets everything that belonged to an execution, after its end. */
extern void tsurugi_modify_rest(ModifyTableState *state);

#endif /* TSURUGI_PREPARED_MODIFY_H */

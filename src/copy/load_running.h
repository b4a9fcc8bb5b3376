/*
 * load_running.h
 *	  The load by the pool that this process runs, and why it has failed.
 */
#ifndef TSURUGI_LOAD_RUNNING_H
#define TSURUGI_LOAD_RUNNING_H

#include "postgres.h"

#include "runtime/batch/loader.h"
#include "runtime/txn/writer.h"
#include "src/copy/load.h"
#include "src/copy/reject.h"
#include "src/table/relation.h"

/* --- load_running.c ------------------------------------------------------------------------- */

/* There is at most one, from its start to its end. */
extern bool tsurugi_load_is_running(void);

/*
 * Starts one.  writer: as of tg_loader_config.  by_handle: it is of a shared transaction, which is
 * lent; TG_BUSY: not before *wait_out has ended; TG_UNFIT: never.  Unless it is TG_OK, none runs.
 */
extern tg_status tsurugi_load_start(const tsurugi_load *load, const tsurugi_relation *described,
									const tg_writer *writer, bool by_handle, tg_wait *wait_out);

/*
 * Does what its tasks need until it has drained.  rejects: of one that has transactions of its own;
 * else NULL.  The rollback of an error gives it up.
 */
extern void tsurugi_load_wait(const tsurugi_load *load, tsurugi_rejects *rejects, tg_loader_report *report_out);

/* Once it has drained. */
extern void tsurugi_load_end(void);

/* The same of one in the caller's transaction, which takes the rows; returns their number. */
extern uint64 tsurugi_load_end_lent(bool is_well);

/* What a load by a handle has been lent; stays when that has ended. */
extern tg_loan *tsurugi_load_loan(void);

/* --- load_failure.c ------------------------------------------------------------------------- */

/* Raises why it has failed, if it has.  is_lent: no rows of it are committed. */
extern void tsurugi_load_check_report(const tsurugi_load *load, const tg_loader_report *report, bool is_lent);

/* The message of that error, in the current memory context. */
extern char *tsurugi_load_failure_message(const tsurugi_load *load, const tg_loader_report *report);

/*
 * Whether the session can do better, or knows better what is wrong: with a row, or for want of
 * memory, of which a task has a part alone, or of descriptors.
 */
extern bool tsurugi_load_is_for_session(const tg_loader_report *report);

/* Why it then does, in the current memory context. */
extern const char *tsurugi_load_reason_for_session(const tsurugi_load *load, const tg_loader_report *report);

#endif /* TSURUGI_LOAD_RUNNING_H */

/*
 * own.h
 *	  The changes that a transaction has made itself.
 */
#ifndef TG_OWN_H
#define TG_OWN_H

#include <stdbool.h>

#include "runtime/base/names.h"

/* Whether this transaction, which has not ended, has written the version.  Inside an epoch. */
extern bool tg_version_is_by(tg_version version, unsigned txn);

/*
 * Whether this transaction, which has not ended, has written the row's newest version; also true
 * of a row that has no version.  Inside an epoch.
 */
extern bool tg_row_is_by(tg_table *table, uint32_t row, unsigned txn);

/*
 * For a row that the writer's transaction has changed since the writer's command began (TG_SELF of
 * tg_txn_newest, which gave newest): whether another command of the transaction was the first to
 * change it; or the last to change it, if another transaction had changed the row since the
 * snapshot.  Inside an epoch.
 */
extern bool tg_txn_changed_by_other_command(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table,
											tg_version newest);

#endif /* TG_OWN_H */

/*
 * seen_key.c
 *	  What an insertion learns from a row that has its key.
 *
 * That the key is taken is a read (isolation.c, 4): of the row, if the transaction's snapshot sees
 * it as it is now.  A later one asks for a later snapshot (W5).
 */
#include "postgres.h"

#include "src/txn/seen_key.h"

#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/table/limits.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/status_error.h"
#include "src/txn/isolation.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

bool
tsurugi_key_is_seen(EState *estate, Relation relation, tg_table *table, uint32_t row, tg_version *noted)
{
	uint32_t found = row;
	tg_snapshot snapshot;
	tg_version version;
	tg_writer writer;
	tg_status status;
	tg_wait wait;

	if (*noted != TG_VERSION_NONE)
		tg_reads_forget_version(tsurugi_reads(), *noted);
	*noted = TG_VERSION_NONE;
	tsurugi_snapshot(estate, &snapshot);
	tsurugi_writer(estate, TG_DATA, &writer);
	tg_epoch_enter(writer.session);
	status = tg_txn_newest(&writer, &snapshot, table, &found, &version, &wait);
	if (status == TG_NOT_FOUND || status == TG_MOVED || found != row)
	{
		/*
		 * The version that the snapshot saw under the key is gone, or has another key.  A row that
		 * has the key now was written later.
		 */
		found = row;
		status = tg_txn_newest(&writer, NULL, table, &found, &version, &wait);
	}
	if (status == TG_OK && found == row && tsurugi_tracks &&
		tg_reads_add_version(writer.session, tsurugi_reads(), version))
		*noted = version;
	tg_epoch_leave(writer.session);
	switch (status)
	{
		case TG_OK:
		case TG_SELF:
			return found == row;
		case TG_BUSY:
			tsurugi_wait(&wait, relation, TSURUGI_TO_INSERT, TG_ROW_MAX);
			return false;
		case TG_CHANGED:
			tsurugi_renew_snapshot(relation, TG_CONFLICT_UPDATED, row, true);
			return false;
		case TG_CONFLICT:
		case TG_FORBIDDEN:
			tsurugi_error(status, relation);
		default:
			return false; /* deleted meanwhile */
	}
}

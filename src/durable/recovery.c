/*
 * recovery.c
 *	  The startup process fills the journal from the records that it replays.
 *
 * It interprets none of them: so neither a fault in the contents nor one in our code keeps the
 * server from starting, and ordinary tables are recovered at their own pace.  The worker loads the
 * tables from the files when recovery has ended.
 *
 * 1. Recovery begins at or before D: D was above the redo position of each checkpoint that has
 *	  completed (keeper.c).  So what the journal has behind D is dropped, and filled again.
 * 2. At each checkpoint record, the journal is made durable before PostgreSQL's own redo sees it,
 *	  after which a restartpoint may let recovery begin there.
 *	  If the server was stopped there, a start that has nothing to replay calls nothing here; so
 *	  the state says that the log has no more, as rm_cleanup would (filler.c, 8).
 * 3. Before that, minRecoveryPoint is moved (XLogFlush does so in recovery): otherwise a restart
 *	  with an earlier recovery target would open with more in the journal than the target has.
 * 4. After the last record, the log has no record of ours behind D.
 * 5. On a hot standby each record is in the file, and the worker is told, before its redo: tables
 *	  follow it (follower.c), and readers of PostgreSQL's half of a commit wait for that.
 * 6. There the worker offers a base (base_writer.c, 8) that has nothing from the record in hand on,
 *	  because nothing of that was passed on.  It is named by the state when the journal is durable
 *	  up to that record, and minRecoveryPoint is there: a start that loads it has recovered as much
 *	  before sessions come.  The journal before the bases that are kept goes then.
 *
 * Files that cannot be written end recovery, as PostgreSQL's own do.  If they are damaged, the
 * server starts, and tables cannot be reached.
 */
#include "postgres.h"

#include "src/durable/recovery.h"

#include <sys/stat.h>

#include "access/rmgr.h"
#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogrecovery.h"
#include "access/xlogutils.h"
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "miscadmin.h"

#include "runtime/base/failpoint.h"
#include "src/durable/availability.h"
#include "src/durable/base_writer.h"
#include "src/durable/filler.h"
#include "src/durable/loading.h"
#include "src/log/damage.h"
#include "src/log/log.h"

/* Of the journal, written together. */
#define WRITE_BYTES (256 * 1024)

static void (*redo_transaction)(XLogReaderState *record);
static void (*redo_log)(XLogReaderState *record);

/* Whether the files are a copy that was made while a server wrote them. */
static bool
is_copy(void)
{
	bool crc_ok;
	ControlFileData *control = get_controlfile(DataDir, &crc_ok);
	bool copied = crc_ok && !XLogRecPtrIsInvalid(control->backupStartPoint);

	pfree(control);
	return copied;
}

/* Whether damage of the files is to be ignored: not on a standby, as in loading.c. */
static bool
may_ignore_damage(void)
{
	struct stat signal;

	return tsurugi_ignore_damage && stat(STANDBY_SIGNAL_FILE, &signal) != 0;
}

void
tsurugi_recovery_startup(void)
{
	tsurugi_durability told = {.refusal = ERRCODE_DATA_CORRUPTED};
	tsurugi_files files = may_ignore_damage() ? TSURUGI_FILES_DAMAGED
						  : is_copy()		  ? TSURUGI_FILES_COPIED
											  : TSURUGI_FILES_WHOLE;

	if (tsurugi_filler_open(files, GetRedoRecPtr()))
	{
		tsurugi_passed_on(tsurugi_filler_end(), tsurugi_filler_defined());
		tsurugi_redo_begins();
		return;
	}
	tsurugi_filler_report(LOG);
	tsurugi_filler_describe(told.error, sizeof(told.error));
	tsurugi_durability_tell(&told);
	tsurugi_stage_set(TSURUGI_REFUSED);
}

/* 2 to 4, 6. */
static void
make_durable(XLogRecPtr position, bool clean)
{
	uint64 base = tsurugi_base_offered();

	XLogFlush(position);
	if (!tsurugi_filler_sync(position, clean) || (base != 0 && !tsurugi_filler_set_base(base)))
		tsurugi_filler_report(FATAL);
	if (base == 0)
		return;
	tg_failpoint("base_counts");
	tsurugi_base_forget_journal();
	tsurugi_base_offer(0);
}

/* 5. */
static void
pass_on(void)
{
	XLogRecPtr end = tsurugi_filler_end();

	if (standbyState != STANDBY_DISABLED && end != tsurugi_passed_on_get())
		tsurugi_passed_on(end, tsurugi_filler_defined());
}

static void
copy(XLogReaderState *record)
{
	if (!tsurugi_filler_is_open())
		return;
	if (tsurugi_base_offered() != 0)
		make_durable(record->ReadRecPtr, false);
	tsurugi_filler_take(record);
	if (!tsurugi_filler_write(standbyState == STANDBY_DISABLED ? WRITE_BYTES : 1))
		tsurugi_filler_report(FATAL);
	pass_on();
}

/* A standby tells the primary at once how far it is, when a session waits for that. */
void
tsurugi_recovery_redo(XLogReaderState *record)
{
	copy(record);
	if (XLogRecGetInfo(record) & TSURUGI_RECORD_AWAITED)
		XLogRequestWalReceiverReply();
}

static void
see_transaction(XLogReaderState *record)
{
	copy(record);
	redo_transaction(record);
}

static void
see_log(XLogReaderState *record)
{
	uint8 info = XLogRecGetInfo(record) & ~XLR_INFO_MASK;

	if (tsurugi_filler_is_open() && (info == XLOG_CHECKPOINT_ONLINE || info == XLOG_CHECKPOINT_SHUTDOWN))
		make_durable(record->ReadRecPtr, info == XLOG_CHECKPOINT_SHUTDOWN);
	redo_log(record);
}

void
tsurugi_recovery_cleanup(void)
{
	if (!tsurugi_filler_is_open())
		return;
	make_durable(GetXLogReplayRecPtr(NULL), true);
	tsurugi_passed_on(tsurugi_filler_end(), tsurugi_filler_defined());
	tsurugi_filler_close();
}

void
tsurugi_recovery_init(void)
{
	redo_transaction = RmgrTable[RM_XACT_ID].rm_redo;
	RmgrTable[RM_XACT_ID].rm_redo = see_transaction;
	redo_log = RmgrTable[RM_XLOG_ID].rm_redo;
	RmgrTable[RM_XLOG_ID].rm_redo = see_log;
}

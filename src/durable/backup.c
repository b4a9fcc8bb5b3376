/*
 * backup.c
 *	  Whether a base backup of this server is being made.
 *
 * A base backup copies the files of pg_tsurugi/ one after the other, for minutes or hours.  Bases
 * that are written meanwhile take the place of older ones, so the copy could have a state that
 * names a base, and of no base all files.  Therefore no base is begun while a backup is made.  One
 * that had been begun before may be finished: then the one before it is kept, which the copy has.
 *
 * 1. A walsender says in PostgreSQL's shared memory that it sends a backup, but not when it has
 *	  ended; then it waits for a command of its client.
 * 2. A session that has called pg_backup_start knows it for itself.  It is counted, or not any
 *	  more, at the end of the transaction; so one that copies files in the same transaction is not.
 */
#include "postgres.h"

#include "src/durable/backup.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "replication/walsender.h"
#include "replication/walsender_private.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/wait_event.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "src/txn/participants.h"

static uint32 *session_count; /* in PostgreSQL's shared memory: those of rule 2 */
static bool is_counted;		  /* this session is one of them */

Size
tsurugi_backup_shared_bytes(void)
{
	return sizeof(*session_count);
}

void
tsurugi_backup_shared_create(void)
{
	bool there;

	session_count = ShmemInitStruct("tsurugi_fdw backups", tsurugi_backup_shared_bytes(), &there);
	*session_count = 0;
}

/* --- sessions --------------------------------------------------------------------------------- */

static void
set_counted(bool counts)
{
	if (counts == is_counted)
		return;
	is_counted = counts;
	(void) tg_fetch_add_acq_rel(session_count, counts ? 1 : UINT32_MAX);
}

static void
at_exit(int code, Datum argument)
{
	set_counted(false);
}

/* 2. */
static void
at_end(bool committed)
{
	static bool is_registered;
	bool counts = get_backup_status() != SESSION_BACKUP_NONE;

	if (tg_likely(counts == is_counted))
		return;
	if (!is_registered)
		before_shmem_exit(at_exit, 0);
	is_registered = true;
	set_counted(counts);
}

/* --- walsenders ------------------------------------------------------------------------------- */

/* 1. */
static bool
sends_backup(WalSnd *sender)
{
	PGPROC *process;
	bool sends;
	pid_t pid;

	SpinLockAcquire(&sender->mutex);
	pid = sender->pid;
	sends = pid != 0 && sender->state == WALSNDSTATE_BACKUP;
	SpinLockRelease(&sender->mutex);
	if (!sends)
		return false;
	process = BackendPidGetProc(pid);
	return process != NULL && process->wait_event_info != WAIT_EVENT_CLIENT_READ;
}

bool
tsurugi_backup_is_made(void)
{
	if (tg_load_acquire(session_count) > 0)
		return true;
	for (int i = 0; i < max_wal_senders; i++)
		if (sends_backup(&WalSndCtl->walsnds[i]))
			return true;
	return false;
}

void
tsurugi_backup_init(void)
{
	static const tsurugi_participant backup = {.name = "base backup", .end = at_end};

	tsurugi_participant_register(&backup);
}

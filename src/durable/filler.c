/*
 * filler.c
 *	  From PostgreSQL's log to the journal: one function that takes a record.
 *
 * The journal gets our records unchanged, except for MARK, and, for a transaction whose own record
 * does not decide it (WITH), the outcome: that PostgreSQL's commit or abort record of its xid was
 * in the log.  So the journal can be read without the log.
 *
 * 1. An xid is in doubt from its WITH to its outcome, or to a CLEAN_START, which says that of the
 *	  transactions from before none goes on but those that it names.  Only for xids in doubt are
 *	  outcomes of interest.
 * 2. The xids in doubt when a file of the journal begins are that file's notes.  So whoever opens
 *	  the journal reads no more than the last file to know them.
 * 3. D moves after the journal was synced, and to a position up to which all records were taken.
 *	  The place of D in the journal is noted beside it: what is behind it is not trusted after a
 *	  crash, and taken from the log again.
 * 4. A record that begins before the end of the journal's last one is in the journal already.
 * 5. The state is the first file that is made.  So other files without it are those of a server
 *	  that has lost it, and they are kept as they are.
 * 6. Files of a copy are of different times: the journal may be older than the state, or miss the
 *	  end of a file although another one follows.  What it lacks comes with the log, from where the
 *	  copy was begun.  So does what the journal has from there on: a copy of a standby may end
 *	  recovery before that, and the log go on there in another way.  So it is cut where the log
 *	  begins, but not before the base begins, to which recovery comes in any case.  The place where
 *	  it is cut is in the state before anything is added, because a later start does not know that
 *	  the files are a copy.
 * 7. After a sync that has failed nobody knows what the files have, so the server starts over from
 *	  what was durable before.  As in PostgreSQL, data_sync_retry permits another attempt with the
 *	  state, which is a new file each time; the journal permits none.
 * 8. Whoever opens the files reads the log from at or before D, or has nothing to read, because
 *	  the state is clean.  Otherwise records between the two are in neither: the state is one of
 *	  before, or the journal was not filled while it was damaged.  A copy lacks none, because it
 *	  was begun after the checkpoint from which its log is read.  The state is not clean any more
 *	  when redo goes on without the journal.
 * 9. Where tables have followed the journal, nothing of it is read at the promotion: what it has is
 *	  in memory, whatever has become of the files.  They go on with a file that has no part of what
 *	  came before, so that a base that is written since does not need that (base_writer.c, 9).
 */
#include "postgres.h"

#include "src/durable/filler.h"

#include <errno.h>

#include "access/rmgr.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/durable/base.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/files.h"
#include "runtime/durable/journal.h"
#include "runtime/durable/record.h"
#include "runtime/durable/state.h"
#include "runtime/durable/undecided.h"
#include "src/durable/base_writer.h"
#include "src/log/log.h"

static tg_journal *journal;
static XLogRecPtr filled;  /* 4: where the journal's last record ends */
static XLogRecPtr defined; /* where the last one of those ends that change definitions */
static tg_state state;
static uint64 added_bytes;
static tg_file_error last_error;

/* 1. */
typedef struct doubtful
{
	TransactionId xid;
	bool defines; /* its WITH has definitions; or that is not known */
} doubtful;

typedef struct doubt
{
	doubtful *txns;
	int count;
	int room;
} doubt;

static doubt in_doubt;

/* --- errors --------------------------------------------------------------------------------- */

void
tsurugi_filler_report(int level)
{
	if (last_error.error == 0)
	{
		ereport(level,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("the contents of tables of tsurugi_fdw are damaged: %s", last_error.what),
				 errdetail("File \"%s\", offset %llu.", last_error.path, (unsigned long long) last_error.offset)));
		return;
	}
	errno = last_error.error;
	ereport(level, (errcode_for_file_access(),
					errmsg("could not %s file \"%s\" of tsurugi_fdw: %m", last_error.what, last_error.path)));
}

const tg_file_error *
tsurugi_filler_error(void)
{
	return &last_error;
}

void
tsurugi_filler_describe(char *text, size_t bytes)
{
	tg_file_error_describe(&last_error, text, bytes);
}

/* Of a file that could not be used; whether it may be tried again. */
static bool
check(tg_status status)
{
	if (status == TG_OK)
		return true;
	if (status == TG_NO_MEMORY)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("The journal of tsurugi_fdw could not take a record.")));
	if (tg_journal_has_failed(journal))
		tsurugi_filler_report(PANIC);
	return false;
}

/* 7. */
static tg_status
write_state(const tg_state *next)
{
	tg_status status = tg_state_write(TSURUGI_DIRECTORY, GetSystemIdentifier(), next, &last_error);

	if (status == TG_IO && last_error.in_sync && !data_sync_retry)
		tsurugi_filler_report(PANIC);
	return status;
}

/* --- transactions in doubt -------------------------------------------------------------------- */

static void
doubt_add(TransactionId xid, bool defines)
{
	if (in_doubt.count == in_doubt.room)
	{
		int room = Max(64, in_doubt.room * 2);

		in_doubt.txns = in_doubt.txns == NULL ? MemoryContextAlloc(TopMemoryContext, room * sizeof(doubtful))
											  : repalloc(in_doubt.txns, room * sizeof(doubtful));
		in_doubt.room = room;
	}
	tg_assert(TransactionIdIsNormal(xid));
	in_doubt.txns[in_doubt.count++] = (doubtful){.xid = xid, .defines = defines};
}

/* The place of an xid; the number of those in doubt: it is none of them. */
static int
doubt_find(TransactionId xid)
{
	int place = 0;

	while (place < in_doubt.count && in_doubt.txns[place].xid != xid)
		place++;
	return place;
}

static void
doubt_remove(TransactionId xid)
{
	int place = doubt_find(xid);

	if (place < in_doubt.count)
		in_doubt.txns[place] = in_doubt.txns[--in_doubt.count];
}

/* After a start: those of before have ended, unless they are prepared. */
static void
doubt_start_anew(const void *data, size_t bytes)
{
	tg_record start;

	if (tg_record_read(data, bytes, &start) != TG_OK)
		return;
	for (int i = in_doubt.count; i-- > 0;)
		if (!tg_record_keeps(&start, in_doubt.txns[i].xid))
			in_doubt.txns[i] = in_doubt.txns[--in_doubt.count];
}

/* Whether a frame changes definitions: by its record, or by what it decides. */
static bool
defines(const tg_journal_frame *frame, const void *data)
{
	tg_record record;
	int place = doubt_find(frame->xid);

	if (frame->kind != TG_FRAME_RECORD)
		return frame->kind == TG_FRAME_COMMITTED && place < in_doubt.count && in_doubt.txns[place].defines;
	return tg_record_read(data, frame->bytes, &record) != TG_OK || record.definition_bytes > 0 ||
		   record.kind == TG_RECORD_CLEAN_START;
}

/* What a frame changes. */
static void
doubt_follow(const tg_journal_frame *frame, const unsigned char *record)
{
	if (frame->kind != TG_FRAME_RECORD)
		doubt_remove(frame->xid);
	else if (frame->bytes >= TG_RECORD_HEAD_BYTES && record[1] == TG_RECORD_WITH)
		doubt_add(frame->xid, defines(frame, record));
	else if (frame->bytes >= TG_RECORD_HEAD_BYTES && record[1] == TG_RECORD_CLEAN_START)
		doubt_start_anew(record, frame->bytes);
}

/* 2. */
static uint32
doubt_notes(tg_bytes *notes)
{
	if (tg_bytes_reserve(notes, (size_t) (in_doubt.count + 1) * TG_NUMBER_BYTES_MAX) != TG_OK)
		(void) check(TG_NO_MEMORY);
	tg_bytes_put_number(notes, (uint64) in_doubt.count);
	for (int i = 0; i < in_doubt.count; i++)
		tg_bytes_put_number(notes, in_doubt.txns[i].xid);
	return (uint32) notes->count;
}

static void
doubt_read_notes(const void *data, uint32 bytes)
{
	tg_reader reader = tg_reader_make(data, bytes);

	for (uint64 count = tg_reader_number(&reader); count > 0 && !reader.damaged; count--)
		doubt_add((TransactionId) tg_reader_number_below(&reader, (uint64) PG_UINT32_MAX + 1), true);
}

static tg_status
doubt_read_frames(tg_journal_reader *reader)
{
	const void *record;
	tg_journal_frame frame;
	tg_status status;

	while ((status = tg_journal_read(reader, &frame, &record, &last_error)) == TG_OK)
		doubt_follow(&frame, record);
	return status == TG_NOT_FOUND ? TG_OK : status;
}

/* From the last file. */
static tg_status
doubt_read(void)
{
	tg_journal_place place = tg_journal_place_get(journal);
	tg_journal_reader *reader;
	const void *notes;
	uint32 bytes;
	tg_status status;

	in_doubt.count = 0;
	if (place.offset == 0)
		return TG_OK;
	status = tg_journal_read_begin(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), place.file, &reader, &last_error);
	if (status != TG_OK)
		return status;
	notes = tg_journal_notes(reader, &bytes);
	doubt_read_notes(notes, bytes);
	status = doubt_read_frames(reader);
	tg_journal_read_end(reader);
	return status;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void
make_directory(const char *path)
{
	if (MakePGDirectory(path) == 0)
		fsync_fname(".", true);
	else if (errno != EEXIST)
		ereport(FATAL, (errcode_for_file_access(), errmsg("could not create directory \"%s\": %m", path)));
}

static void
see_file(void *context, const char *name)
{
	*(bool *) context = true;
}

static void
see_manifest(void *context, const char *name)
{
	uint64 *last = context;
	uint64 number;

	if (strncmp(name, "manifest.", 9) != 0)
		return;
	number = strtou64(name + 9, NULL, 16);
	*last = Max(*last, number);
}

/* The last base, and, if its manifest cannot be read, the one before it. */
static uint64
find_base(void)
{
	tg_base_reader *reader;
	tg_file_error ignored;
	uint64 number = 0;

	(void) tg_files->list(TSURUGI_BASE_DIRECTORY, see_manifest, &number);
	if (number == 0)
		return 0;
	if (tg_base_open(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), number, &reader, &ignored) != TG_OK)
		return number - 1;
	tg_base_close(reader);
	return number;
}

/* 5.  TG_NOT_FOUND: there are no files yet. */
static tg_status
read_state_file(tg_state *state_out)
{
	bool has_files = false;
	tg_status status;

	*state_out = (tg_state){.clean = true};
	status = tg_state_read(TSURUGI_DIRECTORY, GetSystemIdentifier(), state_out, &last_error);
	if (status != TG_NOT_FOUND)
		return status;
	(void) tg_files->list(TSURUGI_JOURNAL_DIRECTORY, see_file, &has_files);
	(void) tg_files->list(TSURUGI_BASE_DIRECTORY, see_file, &has_files);
	if (!has_files)
		return TG_NOT_FOUND;
	return tg_file_fail(&last_error, 0, "the file is missing", TSURUGI_DIRECTORY "/state", 0);
}

static tg_status
read_state(bool ignore_damage)
{
	tg_status status = read_state_file(&state);

	if (status == TG_NOT_FOUND)
		return write_state(&state);
	if (status == TG_DAMAGED && ignore_damage)
	{
		tsurugi_filler_report(LOG);
		state = (tg_state){.base = find_base()};
		status = TG_OK;
	}
	return status;
}

/* Of a base.  False: it cannot be read. */
static bool
read_least(uint64 number, uint64 *least_out)
{
	tg_base_reader *reader;
	const tg_base_facts *facts;
	tg_file_error ignored;

	if (number == 0 || tg_base_open(TSURUGI_BASE_DIRECTORY, GetSystemIdentifier(), number, &reader, &ignored) != TG_OK)
		return false;
	facts = tg_base_facts_get(reader);
	*least_out = Min(facts->least, facts->begin);
	tg_base_close(reader);
	return true;
}

/*
 * Where the journal is read from: for the last base, or for the one before it, which is loaded if
 * the last one is damaged, or is not in a copy.  That neither can be read is the load's concern.
 */
static uint64
base_least(void)
{
	uint64 least = 0;

	if (!read_least(state.base, &least) && state.base > 0)
		(void) read_least(state.base - 1, &least);
	return least;
}

/* 8. */
static tg_status
check_state(const tg_state *of, XLogRecPtr from)
{
	if (of->clean || (from != InvalidXLogRecPtr && of->durable >= from))
		return TG_OK;
	return tg_file_fail(&last_error, 0, "the file is older than the log", TSURUGI_DIRECTORY "/state", 0);
}

/* 6. */
static tg_status
open_journal(tsurugi_files files, XLogRecPtr from)
{
	bool is_copy = files == TSURUGI_FILES_COPIED;
	uint64 least = files != TSURUGI_FILES_WHOLE ? base_least() : 0;
	uint64 before = from != InvalidXLogRecPtr ? Max(from, least + 1) : UINT64_MAX;
	tg_status status = TG_OK;

	tg_assert(!is_copy || from != InvalidXLogRecPtr);
	if (files != TSURUGI_FILES_WHOLE)
		status = tg_journal_find_end(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), is_copy ? before - 1 : least,
									 before, files == TSURUGI_FILES_DAMAGED, &state.place, &last_error);
	if (status == TG_OK)
		status = tg_journal_open(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), state.place, &journal, &filled,
								 &last_error);
	if (status == TG_OK && files != TSURUGI_FILES_WHOLE && !tsurugi_filler_sync(Max(filled, from), false))
		status = TG_IO;
	return status;
}

/* 8.  What the log has from now on will be missing, even if somebody brings the files back. */
static void
note_gap(void)
{
	tg_file_error error = last_error;
	tg_state next = state;

	next.clean = false;
	if (write_state(&next) != TG_OK)
		tsurugi_filler_report(FATAL);
	last_error = error;
}

bool
tsurugi_filler_open(tsurugi_files files, XLogRecPtr from)
{
	bool has_state;
	tg_status status;

	tg_assert(journal == NULL);
	make_directory(TSURUGI_DIRECTORY);
	make_directory(TSURUGI_JOURNAL_DIRECTORY);
	make_directory(TSURUGI_BASE_DIRECTORY);
	fsync_fname(TSURUGI_DIRECTORY, true);
	status = read_state(files == TSURUGI_FILES_DAMAGED);
	has_state = status == TG_OK;
	if (status == TG_OK && files == TSURUGI_FILES_WHOLE)
		status = check_state(&state, from);
	if (status == TG_OK)
		status = open_journal(files, from);
	if (status == TG_OK)
		status = doubt_read();
	if (status == TG_NO_MEMORY)
		(void) check(status);
	defined = filled;
	if (status == TG_OK)
		return true;
	tsurugi_filler_close();
	if (!RecoveryInProgress())
		return false;
	if (status != TG_DAMAGED)
		tsurugi_filler_report(FATAL);
	if (has_state && state.clean)
		note_gap();
	return false;
}

bool
tsurugi_filler_go_on(XLogRecPtr last, XLogRecPtr end, const tg_undecided *of)
{
	tg_status status = read_state_file(&state);

	tg_assert(journal == NULL && last != InvalidXLogRecPtr);
	if (status == TG_OK)
		status = check_state(&state, InvalidXLogRecPtr);
	if (status == TG_OK)
		status = tg_journal_go_on(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), state.place, last, end, &journal);
	if (status == TG_NO_MEMORY)
		(void) check(status);
	if (status != TG_OK)
		return false;
	in_doubt.count = 0;
	for (size_t i = 0; i < of->count; i++)
		if (of->txns[i].with != 0 && of->txns[i].xid != InvalidTransactionId)
			doubt_add(of->txns[i].xid, of->txns[i].definitions.count > 0);
	filled = defined = end;
	return true;
}

bool
tsurugi_filler_look(XLogRecPtr from, tg_state *state_out, XLogRecPtr *end_out)
{
	tg_status status = read_state_file(state_out);

	*end_out = InvalidXLogRecPtr;
	if (status == TG_NOT_FOUND)
		return true;
	if (status == TG_OK)
		status = check_state(state_out, from);
	if (status == TG_OK)
		status =
			tg_journal_end_at(TSURUGI_JOURNAL_DIRECTORY, GetSystemIdentifier(), state_out->place, end_out, &last_error);
	if (status == TG_NO_MEMORY)
		(void) check(status);
	return status == TG_OK;
}

bool
tsurugi_filler_is_open(void)
{
	return journal != NULL;
}

void
tsurugi_filler_close(void)
{
	if (journal != NULL)
		tg_journal_close(journal);
	journal = NULL;
}

/* --- taking records --------------------------------------------------------------------------- */

static void
append(const tg_journal_frame *frame, const void *record)
{
	tg_bytes notes = {0};
	uint32 bytes = tg_journal_begins_file(journal) ? doubt_notes(&notes) : 0;
	tg_status status;

	tg_assert(frame->start >= filled && frame->end > frame->start); /* 4 */
	status = tg_journal_append(journal, frame, record, notes.data, bytes);
	tg_bytes_free(&notes);
	(void) check(status);
	filled = frame->end;
	if (defines(frame, record))
		defined = frame->end;
	added_bytes += frame->bytes;
	doubt_follow(frame, record);
}

/* A frame for the record that the reader has read, as yet without contents. */
static tg_journal_frame
frame_of(XLogReaderState *record, tg_frame_kind kind, TransactionId xid)
{
	return (tg_journal_frame){.kind = (uint8) kind, .xid = xid, .start = record->ReadRecPtr, .end = record->EndRecPtr};
}

static void
take_own(XLogReaderState *record)
{
	tg_journal_frame frame = frame_of(record, TG_FRAME_RECORD, XLogRecGetXid(record));
	tg_record_kind kind = TSURUGI_RECORD_KIND(XLogRecGetInfo(record) & ~XLR_INFO_MASK);

	if (kind == TG_RECORD_MARK)
		return;
	frame.bytes = XLogRecGetDataLen(record);
	append(&frame, XLogRecGetData(record));
}

static void
take_outcome(XLogReaderState *record, tg_frame_kind kind, TransactionId xid)
{
	tg_journal_frame frame = frame_of(record, kind, xid);

	if (doubt_find(xid) < in_doubt.count)
		append(&frame, NULL);
}

/* 1. */
static void
take_transaction(XLogReaderState *record)
{
	uint8 info = XLogRecGetInfo(record) & ~XLR_INFO_MASK;
	TransactionId xid = XLogRecGetXid(record);
	xl_xact_parsed_commit commit;
	xl_xact_parsed_abort abort;

	if (in_doubt.count == 0)
		return;
	switch (info & XLOG_XACT_OPMASK)
	{
		case XLOG_XACT_COMMIT:
			take_outcome(record, TG_FRAME_COMMITTED, xid);
			break;
		case XLOG_XACT_COMMIT_PREPARED:
			ParseCommitRecord(info, (xl_xact_commit *) XLogRecGetData(record), &commit);
			take_outcome(record, TG_FRAME_COMMITTED, commit.twophase_xid);
			break;
		case XLOG_XACT_ABORT:
			take_outcome(record, TG_FRAME_ABORTED, xid);
			break;
		case XLOG_XACT_ABORT_PREPARED:
			ParseAbortRecord(info, (xl_xact_abort *) XLogRecGetData(record), &abort);
			take_outcome(record, TG_FRAME_ABORTED, abort.twophase_xid);
			break;
		default:
			break;
	}
}

void
tsurugi_filler_take(XLogReaderState *record)
{
	tg_assert(journal != NULL);
	if (record->ReadRecPtr < filled) /* 4 */
		return;
	if (XLogRecGetRmid(record) == TSURUGI_RM_ID)
		take_own(record);
	else if (XLogRecGetRmid(record) == RM_XACT_ID)
		take_transaction(record);
}

/* --- making durable --------------------------------------------------------------------------- */

bool
tsurugi_filler_write(size_t unless_less)
{
	return tg_journal_pending(journal) < unless_less || check(tg_journal_write(journal, &last_error));
}

/* 3. */
bool
tsurugi_filler_sync(XLogRecPtr position, bool clean)
{
	tg_state next = state;

	tg_assert(journal != NULL);
	if (!check(tg_journal_sync(journal, &last_error)))
		return false;
	next.durable = position;
	next.place = tg_journal_place_get(journal);
	next.clean = clean;
	if (!check(write_state(&next)))
		return false;
	state = next;
	return true;
}

bool
tsurugi_filler_set_base(uint64 number)
{
	tg_state next = state;

	next.base = number;
	if (!check(write_state(&next)))
		return false;
	state = next;
	return true;
}

void
tsurugi_filler_forget(XLogRecPtr position)
{
	if (tg_journal_forget(journal, position, &last_error) != TG_OK)
		tsurugi_filler_report(LOG);
}

XLogRecPtr
tsurugi_filler_end(void)
{
	return filled;
}

XLogRecPtr
tsurugi_filler_defined(void)
{
	return defined;
}

XLogRecPtr
tsurugi_filler_durable(void)
{
	return state.durable;
}

tg_state
tsurugi_filler_state(void)
{
	return state;
}

uint64
tsurugi_filler_bytes(void)
{
	return added_bytes;
}

bool
tsurugi_filler_is_ahead(void)
{
	tg_journal_place place = tg_journal_place_get(journal);

	return tg_journal_pending(journal) > 0 || place.file != state.place.file || place.offset != state.place.offset;
}

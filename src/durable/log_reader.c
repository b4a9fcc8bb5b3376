/*
 * log_reader.c
 *	  Reads PostgreSQL's log while the server runs, as far as it is flushed.
 *
 * What is not flushed yet may be lost in a crash, and must not be in the journal then.
 *
 * Nothing further is read while the journal cannot be written, or all of it would be in memory.
 *
 * The reader is set to the end of the last record each time, because PostgreSQL's reader does not
 * go on by itself where it has met the end of what is there.
 */
#include "postgres.h"

#include "src/durable/log_reader.h"

#include "access/xlog.h"
#include "access/xlog_internal.h"
#include "access/xlogreader.h"
#include "access/xlogutils.h"

#include "src/durable/filler.h"

/* Of the log, at a time: some milliseconds. */
#define READ_BYTES_MAX (4 * 1024 * 1024)

/* Of the journal, written together. */
#define WRITE_BYTES (256 * 1024)

static XLogReaderState *reader;
static ReadLocalXLogPageNoWaitPrivate reader_private;
static XLogRecPtr position;

void
tsurugi_log_reader_begin(XLogRecPtr start)
{
	XLogReaderRoutine routine = {.page_read = read_local_xlog_page_no_wait,
								 .segment_open = wal_segment_open,
								 .segment_close = wal_segment_close};

	if (reader == NULL)
		reader = XLogReaderAllocate(wal_segment_size, NULL, &routine, &reader_private);
	if (reader == NULL)
		ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
						errdetail("Failed while allocating a reader of the log for tsurugi_fdw.")));
	position = start;
}

void
tsurugi_log_reader_end(void)
{
	if (reader != NULL)
		XLogReaderFree(reader);
	reader = NULL;
}

XLogRecPtr
tsurugi_log_reader_position(void)
{
	return position;
}

/* The next record, if all of it is there. */
static bool
read_next(void)
{
	char *message;

	reader_private.end_of_wal = false;
	if (XLogReadRecord(reader, &message) != NULL)
	{
		position = reader->EndRecPtr;
		return true;
	}
	if (!reader_private.end_of_wal)
		ereport(FATAL, (errcode_for_file_access(),
						errmsg("tsurugi_fdw could not read the log at %X/%X: %s", LSN_FORMAT_ARGS(position),
							   message != NULL ? message : "no record")));
	return false;
}

bool
tsurugi_log_reader_read(void)
{
	XLogRecPtr limit = position + READ_BYTES_MAX;

	if (GetFlushRecPtr(NULL) <= position)
		return true;
	XLogBeginRead(reader, position);
	while (position < limit && tsurugi_filler_write(WRITE_BYTES))
	{
		if (!read_next())
			return true;
		tsurugi_filler_take(reader);
	}
	return false;
}

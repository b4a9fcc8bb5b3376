/*
 * source.c
 *	  Files that COPY reads: of the server, or what the client sends.
 *
 * Parquet is read from its end, blocks of Arrow are found before any is read, and NDJSON is read
 * twice.  So what a client sends is put into a temporary file first, which counts against
 * temp_file_limit.  A file of the
 * server has to be an ordinary one.  It is read, never mapped: one that is cut short meanwhile is
 * an error, not a signal.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include <sys/stat.h>
#include <unistd.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "storage/fd.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "src/base/settings.h"
#include "src/base/shown_text.h"
#include "src/copy/client.h"
#include "src/copy/server_file.h"

typedef struct OpenFile
{
	tsurugi_file file;
	tsurugi_contents contents;
	MemoryContext memory;
} OpenFile;

/* --- contents ---------------------------------------------------------------------------- */

static bool
read_descriptor(int descriptor, uint64_t offset, char *into, size_t bytes)
{
	while (bytes > 0)
	{
		ssize_t read = pread(descriptor, into, bytes, (off_t) offset);

		if (read < 0 && errno == EINTR)
			continue;
		if (read <= 0)
			return false;
		into += read;
		offset += (uint64_t) read;
		bytes -= (size_t) read;
	}
	return true;
}

/* Nothing of the engine's is held when a reader calls this, so the spool may raise errors. */
static bool
read_contents(void *argument, uint64_t offset, void *into, size_t bytes)
{
	OpenFile *open = argument;

	CHECK_FOR_INTERRUPTS();
	if (open->contents.descriptor >= 0)
		return read_descriptor(open->contents.descriptor, offset, into, bytes);
	/* files of one gigabyte each, which BufFileSeek passes from one to the next */
	return BufFileSeek(open->contents.spool, 0, (off_t) offset, SEEK_SET) == 0 &&
		   BufFileRead(open->contents.spool, into, bytes) == bytes;
}

static void
open_server_file(tsurugi_contents *contents, const char *name, tsurugi_format format)
{
	struct stat status;

	contents->descriptor = tsurugi_file_open_to_read(name);
	if (contents->descriptor < 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\" for reading: %m", name)));
	if (fstat(contents->descriptor, &status) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not stat file \"%s\": %m", name)));
	if (S_ISDIR(status.st_mode))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is a directory", name)));
	if (!S_ISREG(status.st_mode))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("\"%s\" is not a regular file", name),
						format == TSURUGI_FORMAT_NDJSON
							? errdetail("Files in %s format are read twice.", tsurugi_format_name(format))
							: errdetail("Files in %s format are read at any place.", tsurugi_format_name(format))));
	contents->bytes = (uint64) status.st_size;
}

/* --- what a client sends ----------------------------------------------------------------- */

void
tsurugi_client_ask(int column_count, bool has_lines)
{
	StringInfoData message;

	pq_beginmessage(&message, 'G');
	pq_sendbyte(&message, !has_lines);
	pq_sendint16(&message, column_count);
	for (int i = 0; i < column_count; i++)
		pq_sendint16(&message, !has_lines);
	pq_endmessage(&message);
	pq_flush();
}

/* The limit of such a message, before the rest of it is read. */
static int
message_limit(int type)
{
	if (type == EOF)
		ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
						errmsg("unexpected EOF on client connection with an open transaction")));
	if (strchr("dcfHS", type) == NULL || type == 0)
		ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
						errmsg("unexpected message type 0x%02X during COPY from stdin", type)));
	return type == 'd' ? PQ_LARGE_MESSAGE_LIMIT : PQ_SMALL_MESSAGE_LIMIT;
}

bool
tsurugi_client_receive(StringInfo message)
{
	for (;;)
	{
		int type;

		HOLD_CANCEL_INTERRUPTS();
		pq_startmsgread();
		type = pq_getbyte();
		if (pq_getmessage(message, message_limit(type)))
			ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
							errmsg("unexpected EOF on client connection with an open transaction")));
		RESUME_CANCEL_INTERRUPTS();
		CHECK_FOR_INTERRUPTS();
		if (type == 'd')
			return true;
		if (type == 'c')
			return false;
		if (type == 'f')
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED), errmsg("COPY from stdin failed: %s", pq_getmsgstring(message))));
		/* Flush and Sync are ignored */
	}
}

static void
spool_client(tsurugi_contents *contents, tsurugi_format format, int column_count)
{
	StringInfoData message;

	if (whereToSendOutput != DestRemote)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("COPY FROM STDIN in %s format needs a client", tsurugi_format_name(format))));
	initStringInfo(&message);
	contents->spool = BufFileCreateTemp(false);
	tsurugi_client_ask(column_count, format == TSURUGI_FORMAT_NDJSON);
	while (tsurugi_client_receive(&message))
	{
		BufFileWrite(contents->spool, message.data, message.len);
		contents->bytes += (uint64) message.len;
	}
	pfree(message.data);
}

/* --- either ------------------------------------------------------------------------------ */

void
tsurugi_contents_open(tsurugi_contents *contents, const char *name, tsurugi_format format, int column_count)
{
	*contents = (tsurugi_contents){.descriptor = -1};
	if (name != NULL)
		open_server_file(contents, name, format);
	else
		spool_client(contents, format, column_count);
}

void
tsurugi_contents_close(tsurugi_contents *contents)
{
	tg_assert((contents->descriptor >= 0) != (contents->spool != NULL));
	if (contents->descriptor >= 0)
		CloseTransientFile(contents->descriptor);
	else
		BufFileClose(contents->spool);
}

/* --- files ------------------------------------------------------------------------------- */

static void *
resize(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	return tsurugi_format_resize(((OpenFile *) argument)->memory, memory, old_bytes, bytes);
}

/* The format that a file of the server begins as. */
static tsurugi_format
format_of_contents(OpenFile *open)
{
	char head[4] = {0};

	if (open->file.source.bytes >= sizeof(head))
		(void) read_contents(open, 0, head, sizeof(head));
	return memcmp(head, "ARRO", sizeof(head)) == 0 || memcmp(head, "\xff\xff\xff\xff", sizeof(head)) == 0
			   ? TSURUGI_FORMAT_ARROW
			   : TSURUGI_FORMAT_PARQUET;
}

tsurugi_file *
tsurugi_file_open(const char *name, tsurugi_format format, int column_count)
{
	OpenFile *open = palloc0(sizeof(*open));
	tg_file_fault fault;

	open->memory = AllocSetContextCreate(CurrentMemoryContext, "columnar file", ALLOCSET_DEFAULT_SIZES);
	open->file.name = name != NULL ? name : "stdin";
	open->file.format = format != TSURUGI_FORMAT_COUNT ? format : TSURUGI_FORMAT_PARQUET;
	open->file.source = (tg_file_source){.read = read_contents,
										 .resize = resize,
										 .free = tsurugi_format_free,
										 .argument = open,
										 .memory_max = (size_t) tsurugi_batch_memory_kb * 1024};
	tsurugi_contents_open(&open->contents, name, open->file.format, column_count);
	open->file.source.bytes = open->contents.bytes;
	if (format == TSURUGI_FORMAT_COUNT)
		open->file.format = format_of_contents(open);
	if (tg_columnar_open(&open->file.reader,
						 open->file.format == TSURUGI_FORMAT_ARROW ? TG_FORMAT_ARROW : TG_FORMAT_PARQUET,
						 &open->file.source, &fault) != TG_OK)
		tsurugi_file_fail(&open->file, &fault);
	return &open->file;
}

void
tsurugi_file_close(tsurugi_file *file)
{
	OpenFile *open = (OpenFile *) file;

	tg_columnar_close(&file->reader);
	tsurugi_contents_close(&open->contents);
	MemoryContextDelete(open->memory);
	pfree(open);
}

void
tsurugi_file_fail(const tsurugi_file *file, const tg_file_fault *fault)
{
	int code = ERRCODE_BAD_COPY_FILE_FORMAT;
	const char *text = tsurugi_shown_text(fault->text); /* it may have names of the file's */

	if (fault->status == TG_NO_MEMORY)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
				 errdetail("File \"%s\": %s.", file->name, text), errhint("Increase tsurugi_fdw.batch_memory.")));
	if (fault->status == TG_UNFIT)
		code = ERRCODE_FEATURE_NOT_SUPPORTED;
	else if (fault->status == TG_IO)
		code = ERRCODE_IO_ERROR;
	else if (fault->checksum)
		code = ERRCODE_DATA_CORRUPTED;
	ereport(ERROR, (errcode(code),
					errmsg("could not read %s file \"%s\": %s", tsurugi_format_name(file->format), file->name, text),
					fault->offset > 0 ? errdetail("At byte " UINT64_FORMAT ".", fault->offset) : 0));
}

/* --- names --------------------------------------------------------------------------------- */

typedef struct Named
{
	const tsurugi_file *file;
	unsigned column;
} Named;

static void
describe_name(void *argument)
{
	const Named *named = argument;

	errcontext("name of column %u of file \"%s\"", named->column + 1, named->file->name);
}

char *
tsurugi_file_column_name(const tsurugi_file *file, unsigned column)
{
	Named named = {file, column};
	ErrorContextCallback context = {.callback = describe_name, .arg = &named, .previous = error_context_stack};
	const char *utf8 = tg_columnar_column(&file->reader, column)->name;
	char *name;

	error_context_stack = &context;
	name = pg_any_to_server(utf8, (int) strlen(utf8), PG_UTF8);
	error_context_stack = context.previous;
	return name;
}

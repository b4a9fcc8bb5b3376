/*
 * plain_client.c
 *	  COPY t FROM STDIN in PostgreSQL's own formats, of tables in memory: by tasks of the pool.
 *
 *	messages -> data -> blocks of whole records -> a load by the pool (a chunk)
 *					 -> PostgreSQL's COPY, by a callback
 *
 * The client is asked for data once PostgreSQL's COPY has found nothing wrong with the statement.
 * If it sends little, PostgreSQL's COPY gets all of it.  Otherwise what comes is cut into chunks of
 * some megabytes, of which the pool stores one after the other, each in a part of the transaction.
 *
 * A chunk that the pool fails with is undone; those before it stay, as all of their rows are there.
 * The bytes of the chunk are still at hand: PostgreSQL's COPY reads them, and what follows, and
 * counts lines from where the chunk begins.  So errors are its own, and it waits for others.
 *
 * In text format the end of the data may also stand behind the last row, in its line.  PostgreSQL's
 * COPY then ignores what follows if a client sends it, but goes on if a callback gives it.  So the
 * end is looked for here, in bytes as they come.  In an encoding whose characters may have a
 * backslash as a part they do not tell; there the statement is left to PostgreSQL's COPY.
 */
#include "postgres.h"

#include "src/copy/plain.h"

#include "access/table.h"
#include "commands/copyfrom_internal.h"
#include "commands/progress.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/ipc.h"
#include "tcop/dest.h"
#include "utils/backend_progress.h"

#include "runtime/base/failpoint.h"
#include "runtime/batch/loader.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/load_pool.h"
#include "src/copy/progress.h"
#include "src/txn/kinds.h"

#define CHUNK_BYTES (8 << 20)
#define CHUNK_BYTES_TINY 4096
#define CHUNK_BLOCKS 16
#define CLIENT_BYTES_LEAST 262144 /* that are worth jobs of the pool */

/* How much of the end of the data, `\.` and the end of a line, has come; in text format. */
typedef enum Mark
{
	MARK_NONE,
	MARK_BACKSLASH,
	MARK_POINT,
	MARK_RETURN, /* a newline belongs to it, too */
	MARK_WHOLE
} Mark;

/* By what the first line has ended. */
typedef enum LineEnd
{
	LINE_OPEN,
	LINE_RETURN, /* a newline may follow */
	LINE_CRNL,
	LINE_OTHER
} LineEnd;

/* What the client sends. */
typedef struct Stream
{
	StringInfoData data;	/* of which the bytes before the cursor have been taken */
	StringInfoData message; /* likewise; behind the data */
	bool has_ended;			/* no message follows */
	bool is_text;
	bool has_header;
	LineEnd line_end; /* of text, as the mark */
	Mark mark;
	tg_csv_cutter cutter; /* at the cursor of the data */
	const char *table;
} Stream;

/* The statement that reads its own; a client has but one. */
static Stream *running;

/* --- what the client sends ---------------------------------------------------------------- */

static LineEnd
next_line_end(LineEnd known, char c)
{
	if (known == LINE_RETURN)
		return c == '\n' ? LINE_CRNL : LINE_OTHER;
	return c == '\r' ? LINE_RETURN : c == '\n' ? LINE_OTHER : LINE_OPEN;
}

static Mark
next_mark(const Stream *stream, char c)
{
	switch (stream->mark)
	{
		case MARK_NONE:
			return c == '\\' ? MARK_BACKSLASH : MARK_NONE;
		case MARK_BACKSLASH:
			return c == '.' ? MARK_POINT : MARK_NONE;
		case MARK_POINT: /* another byte is an error, which COPY raises */
			if (c == '\r' && stream->line_end == LINE_CRNL)
				return MARK_RETURN;
			return c == '\r' || c == '\n' ? MARK_WHOLE : MARK_NONE;
		default:
			return MARK_WHOLE;
	}
}

/* A message ends where the data do. */
static void
look_for_end(Stream *stream)
{
	StringInfo message = &stream->message;
	const char *end = message->data + message->len;
	const char *at = message->data;

	while (at < end && stream->mark != MARK_WHOLE)
	{
		if (stream->mark == MARK_NONE && stream->line_end < LINE_CRNL)
			stream->line_end = next_line_end(stream->line_end, *at);
		else if (stream->mark == MARK_NONE)
			at = memchr(at, '\\', end - at);
		if (at == NULL)
			return;
		stream->mark = next_mark(stream, *at++);
	}
	message->len = (int) (at - message->data);
}

static void
next_message(Stream *stream)
{
	do
		stream->has_ended = !tsurugi_client_receive(&stream->message);
	while (!stream->has_ended && stream->mark == MARK_WHOLE);
	if (stream->has_ended)
		resetStringInfo(&stream->message);
	else if (stream->is_text)
		look_for_end(stream);
}

/* As CopyFromErrorCallback, where COPY would have read whole lines as they come. */
static void
describe_place(void *argument)
{
	const Stream *stream = argument;
	const StringInfoData *data = &stream->data;
	tg_csv_cutter cutter = stream->cutter;
	int bytes = data->len - data->cursor;

	/* the cutter looks ahead, so something has to be there */
	memset(data->data + data->len, ' ', TG_CSV_AHEAD);
	(void) tg_csv_cut(&cutter, (const uint8 *) data->data + data->cursor, bytes + TG_CSV_AHEAD, false, UINT64_MAX);
	errcontext("COPY %s, line %llu", stream->table, (unsigned long long) cutter.lines + 1);
}

/* Has so many bytes at hand, unless the client sends no more. */
static void
fill(Stream *stream, int bytes)
{
	StringInfo data = &stream->data;
	StringInfo message = &stream->message;
	ErrorContextCallback context = {.callback = describe_place, .arg = stream, .previous = error_context_stack};

	error_context_stack = &context;
	enlargeStringInfo(data, TG_CSV_AHEAD);
	memmove(data->data, data->data + data->cursor, data->len - data->cursor);
	data->len -= data->cursor;
	data->cursor = 0;
	while (data->len < bytes)
	{
		int count = Min(bytes - data->len, message->len - message->cursor);

		enlargeStringInfo(data, count + TG_CSV_AHEAD); /* if it fails, the cutter has room to look ahead */
		appendBinaryStringInfo(data, message->data + message->cursor, count);
		message->cursor += count;
		if (message->cursor < message->len)
			continue;
		if (stream->has_ended)
			break;
		next_message(stream);
	}
	error_context_stack = context.previous;
}

static int
take(StringInfo from, void *into, int most)
{
	int bytes = Min(most, from->len - from->cursor);

	memcpy(into, from->data + from->cursor, bytes);
	from->cursor += bytes;
	return bytes;
}

/* COPY's callback. */
static int
give(void *into, int least, int most)
{
	Stream *stream = running;
	int bytes = take(&stream->data, into, most);

	while (bytes == 0)
	{
		bytes = take(&stream->message, into, most);
		if (bytes == 0 && stream->has_ended)
			break;
		if (bytes == 0)
			next_message(stream);
	}
	return bytes;
}

/* What follows the end of the data, as COPY knows it, is ignored. */
static void
pass_rest(Stream *stream)
{
	while (!stream->has_ended)
		next_message(stream);
}

/* --- PostgreSQL's COPY -------------------------------------------------------------------- */

/* It reads what is at hand, and follows. */
static CopyFromState
begin_copy(const tsurugi_copy *copy, ParseState *parse, Relation relation)
{
	CopyFromState state =
		BeginCopyFrom(parse, relation, NULL, NULL, false, give, copy->statement->attlist, copy->statement->options);

	pgstat_progress_update_param(PROGRESS_COPY_TYPE, PROGRESS_COPY_TYPE_PIPE);
	return state;
}

static uint64
finish_copy(Stream *stream, CopyFromState state)
{
	uint64 rows;

	state->cur_lineno = stream->cutter.lines;
	state->eol_type = tsurugi_csv_line_end((tg_csv_end) stream->cutter.dialect.end);
	state->bytes_processed = stream->cutter.position;
	rows = CopyFrom(state);
	EndCopyFrom(state);
	pass_rest(stream);
	return rows;
}

/* --- chunks ------------------------------------------------------------------------------- */

/* The data at hand, as a load. */
typedef struct Chunk
{
	tsurugi_load load;
	tsurugi_load_file file;
	int header_bytes; /* before the first record, in its chunk; else 0 */
	tg_csv_block blocks[CHUNK_BLOCKS];
	int block_count;
	tg_csv_cutter end;
} Chunk;

/* Goes on up to the first record that begins there or behind it.  False: there is none at hand. */
static bool
cut_at(Chunk *chunk, const Stream *stream, uint64 stop)
{
	const StringInfoData *data = &stream->data;
	tg_csv_cutter cutter = chunk->end;
	size_t at = (size_t) (cutter.position - stream->cutter.position);

	at += tg_csv_cut(&cutter, (const uint8 *) data->data + at, data->len - at, stream->has_ended, stop);
	if (cutter.is_unfit || cutter.in_record ||
		(cutter.position < stop && !cutter.is_over && !(stream->has_ended && at == (size_t) data->len)))
		return false;
	chunk->end = cutter;
	return true;
}

static void
put_block(Chunk *chunk, const Stream *stream, const tg_csv_cutter *begin)
{
	if (chunk->end.position == begin->position)
		return;
	chunk->blocks[chunk->block_count++] = (tg_csv_block){.offset = begin->position - stream->cutter.position,
														 .bytes = (uint32) (chunk->end.position - begin->position),
														 .rows = begin->rows - stream->has_header,
														 .lines = begin->lines};
}

/* Whether the client sends no more rows behind the chunk. */
static bool
is_last(const Chunk *chunk, const Stream *stream)
{
	return chunk->end.is_over ||
		   (stream->has_ended && chunk->end.position == stream->cutter.position + (uint64) stream->data.len);
}

/*
 * Cuts the whole records at hand into blocks.  False: there are none, though there is more, or
 * should be, or is a header.
 */
static bool
cut_chunk(Chunk *chunk, const Stream *stream)
{
	uint64 block_bytes = (uint64) stream->data.len / CHUNK_BLOCKS + 1;

	chunk->block_count = 0;
	chunk->header_bytes = 0;
	chunk->end = stream->cutter;
	if (stream->has_header && chunk->end.lines == 0)
	{
		if (!cut_at(chunk, stream, chunk->end.position + 1))
			return false;
		chunk->header_bytes = (int) chunk->end.position;
		if (chunk->header_bytes == 0)
			return false;
	}
	while (!is_last(chunk, stream))
	{
		tg_csv_cutter begin = chunk->end;

		if (!cut_at(chunk, stream, begin.position + block_bytes))
			break;
		put_block(chunk, stream, &begin);
	}
	return chunk->block_count > 0 || (is_last(chunk, stream) && chunk->header_bytes == 0);
}

static bool
store_chunk(void *argument, int64 *rows_out)
{
	Chunk *chunk = argument;
	tsurugi_load_file *file = &chunk->file;

	pgstat_track_activities = false; /* plain.c */
	if (file->csv == NULL)
	{
		const char *reason = tsurugi_load_pool_prepare(&chunk->load);

		if (reason == NULL)
			reason = tsurugi_load_pool_reason(&chunk->load);
		if (reason != NULL)
			return tsurugi_load_leave(&chunk->load, reason);
	}
	if (chunk->header_bytes > 0)
	{
		StringInfoData header = {.data = (char *) file->contents, .len = chunk->header_bytes};

		tsurugi_csv_check_header(&chunk->load, file, &header);
	}
	file->blocks = chunk->block_count;
	file->csv->blocks = chunk->blocks;
	file->csv->format.dialect = chunk->end.dialect;
	file->csv->has_header = chunk->header_bytes > 0 || chunk->blocks[0].lines > 0;
	return tsurugi_load_pool_try(&chunk->load, rows_out);
}

/* Stores what comes, chunk by chunk.  False: one of them, and what follows, is at hand. */
static bool
store_chunks(Stream *stream, Chunk *chunk, uint64 *rows)
{
	int chunk_bytes = tg_failpoint_refuses("load_tiny_blocks") ? CHUNK_BYTES_TINY : CHUNK_BYTES;

	do
	{
		int64 stored = 0;

		fill(stream, chunk_bytes);
		if (!cut_chunk(chunk, stream))
			return tsurugi_load_leave(&chunk->load, "no records can be cut from what is at hand");
		chunk->file.contents = stream->data.data;
		chunk->file.bytes = stream->data.len;
		chunk->file.rows = (int64) (chunk->end.rows - stream->cutter.rows);
		if (chunk->block_count > 0 && !tsurugi_plain_try(store_chunk, chunk, &stored))
			return false;
		*rows += (uint64) stored;
		if (chunk->load.shows_progress)
			tsurugi_batch_show_copy();
		stream->data.cursor = (int) (chunk->end.position - stream->cutter.position);
		stream->cutter = chunk->end;
	} while (!is_last(chunk, stream));
	pass_rest(stream);
	return true;
}

static bool
store_by_pool(const tsurugi_copy *copy, ParseState *parse, Relation relation, Stream *stream, uint64 *rows)
{
	Chunk chunk = {.load = {.relation = relation,
							.columns = copy->statement->attlist,
							.is_text = stream->is_text,
							.is_plain = true,
							.shows_progress = pgstat_track_activities,
							.is_part = true},
				   .file = {.name = "stdin", .format = TSURUGI_FORMAT_CSV, .columns = copy->statement->attlist}};
	tsurugi_batch *batch;
	volatile bool whole = false;

	tsurugi_load_copy_options(parse, copy->statement->options, TSURUGI_FORMAT_CSV, &chunk.load);
	chunk.load.files = list_make1(&chunk.file);
	tsurugi_plain_begin_progress(RelationGetRelid(relation), PROGRESS_COPY_TYPE_PIPE, 0);
	batch = tsurugi_batch_begin("copy", RelationGetRelid(relation));
	PG_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	{
		tsurugi_batch_expect("pool", NIL);
		whole = store_chunks(stream, &chunk, rows);
	}
	PG_END_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	tsurugi_batch_succeed(batch);
	pgstat_progress_end_command();
	return whole;
}

/* --- the statement ------------------------------------------------------------------------ */

static bool
copy_rows(const tsurugi_copy *copy, ParseState *parse, Relation relation, int column_count, Stream *stream,
		  uint64 *rows_out)
{
	int least = tg_failpoint_refuses("copy_any_by_pool") ? 1 : CLIENT_BYTES_LEAST;
	CopyFromState state = begin_copy(copy, parse, relation);

	*rows_out = 0;
	if (PG_ENCODING_IS_CLIENT_ONLY(state->file_encoding))
	{
		EndCopyFrom(state);
		return false;
	}
	stream->table = RelationGetRelationName(relation);
	stream->has_header = state->opts.header_line != COPY_HEADER_FALSE;
	stream->cutter.dialect = tsurugi_csv_dialect(&state->opts);
	/* however slowly rows come, a shared transaction has a session at work: its lease goes on */
	tsurugi_access();
	tsurugi_client_ask(column_count, true);
	fill(stream, least);
	if (!stream->has_ended || tg_failpoint_refuses("copy_any_by_pool"))
	{
		EndCopyFrom(state);
		if (store_by_pool(copy, parse, relation, stream, rows_out))
			return true;
		state = begin_copy(copy, parse, relation);
	}
	*rows_out += finish_copy(stream, state);
	return true;
}

bool
tsurugi_plain_from_client(const tsurugi_copy *copy, uint64 *rows_out)
{
	const CopyStmt *statement = copy->statement;
	Stream stream = {.is_text = tsurugi_plain_is_text(statement)};
	Relation relation = table_openrv(statement->relation, RowExclusiveLock);
	List *attributes = CopyGetAttnums(RelationGetDescr(relation), relation, statement->attlist);
	ParseState *parse = tsurugi_copy_parse_state(relation, attributes);
	volatile bool copied = false;

	parse->p_sourcetext = copy->text;
	parse->p_queryEnv = copy->environment;
	initStringInfo(&stream.data);
	initStringInfo(&stream.message);
	running = &stream;
	PG_TRY();
	{
		copied = copy_rows(copy, parse, relation, list_length(attributes), &stream, rows_out);
	}
	PG_FINALLY();
	{
		running = NULL;
	}
	PG_END_TRY();
	table_close(relation, NoLock);
	free_parsestate(parse);
	return copied;
}

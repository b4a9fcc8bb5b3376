/*
 * journal.c
 *	  Files of frames: appended by one process, read by any.
 *
 * 1. Frames are added in memory and written together.  What a write that failed has left in the
 *	  file is written over by the next one, at the same place: the place moves on success only.
 * 2. A file is ended after a write that has made it long enough.  It is synced then, before the
 *	  next one has a name: so a file that another one follows is whole, unless it was damaged.
 * 3. A sync that has failed is not tried again: the system may have dropped the pages that it could
 *	  not write, and would tell so once (as PostgreSQL does since 12, data_sync_retry).
 * 4. The chain: a frame names the start of the one before, a file that of the last one in the file
 *	  before.  Starts only grow.  So a frame that is missing, or left from an earlier use of the
 *	  same place in a file, breaks the chain.
 * 5. What is read is compared with lengths and CRCs before it is used.  The last file may end in
 *	  the middle of a frame: it is being written, or was torn.  In no other place may there be such
 *	  a frame.
 * 6. A reader has a window of the file in memory, because frames are small.  The file may be
 *	  written meanwhile, also over bytes that a write has left which failed.  So where the window
 *	  has no whole frame, the file is asked again.
 * 7. Between a look at the end of a file and one for the next file, the writer may add frames to
 *	  the first and begin the next.  So when there is a next file, the end of the first is looked at
 *	  once more: it is whole now (2).
 * 8. The last file may have no whole header: it is being written, or was torn, and has nothing.  A
 *	  file that another one follows has one (2); otherwise it was damaged, and nobody knows what it
 *	  had.
 */
#include "runtime/durable/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/failpoint.h"
#include "runtime/durable/crc32c.h"
#include "runtime/durable/file_window.h"
#include "runtime/durable/journal_format.h"
#include "runtime/durable/journal_names.h"

uint64_t tg_journal_file_bytes = (uint64_t) 64 << 20;

struct tg_journal
{
	char directory[TG_PATH_MAX - 2 * TG_JOURNAL_NAME_DIGITS];
	uint64_t system;
	uint64_t name; /* of the file that is written, TG_JOURNAL_NO_NAME if the next frame begins one */
	int file;
	uint64_t offset; /* behind what was written */
	tg_journal_place written;
	uint64_t last_start; /* of the last frame, in memory or not; 0: there is none */
	uint64_t last_end;
	bool unsynced;		  /* the file has bytes that are not known to be durable */
	bool directory_dirty; /* and the directory a name */
	bool failed;		  /* 3 */
	tg_bytes pending;	  /* what the next write writes */
};

/* --- reading ------------------------------------------------------------------------------ */

struct tg_journal_reader
{
	char directory[TG_PATH_MAX - 2 * TG_JOURNAL_NAME_DIGITS];
	uint64_t system;
	uint64_t name;
	int file; /* -1: none */
	uint64_t offset;
	uint64_t last_start;
	tg_bytes notes;
	tg_file_window window; /* 6 */
};

/* So many bytes, or those that there are; they stay until the next call. */
static tg_status
read_bytes(tg_journal_reader *reader, uint64_t offset, size_t count, const void **data_out, size_t *count_out,
		   tg_file_error *error_out)
{
	tg_status status =
		tg_failpoint_refuses("journal_read")
			? tg_file_fail(error_out, EIO, "read", "", offset)
			: tg_file_window_read(&reader->window, reader->file, offset, count, data_out, count_out, error_out);

	if (status == TG_IO)
		tg_journal_path(reader->directory, reader->name, error_out->path);
	return status;
}

/* What is wrong with the header of the file, or NULL. */
static const char *
header_fault(const tg_journal_reader *reader, const file_header *header)
{
	uint32_t crc = tg_crc32c(0, header, offsetof(file_header, crc));

	if (header->magic != MAGIC)
		return "the file is no journal of this format";
	if (tg_crc32c(crc, reader->notes.data, reader->notes.count) != header->crc)
		return "the file's header is damaged";
	if (header->system != reader->system)
		return "the file is another server's";
	if (header->position != reader->name)
		return "the file has another one's name";
	return NULL;
}

/* Those behind the header.  TG_AGAIN: they are not whole. */
static tg_status
read_notes(tg_journal_reader *reader, uint32_t bytes, tg_file_error *error_out)
{
	const void *data;
	size_t count;
	tg_status status = read_bytes(reader, sizeof(file_header), bytes, &data, &count, error_out);

	reader->notes.count = 0;
	if (status != TG_OK || count < bytes)
		return status != TG_OK ? status : TG_AGAIN;
	status = tg_bytes_reserve(&reader->notes, bytes);
	if (status == TG_OK)
		tg_bytes_put(&reader->notes, data, bytes);
	return status;
}

/* Reads the header of the file.  TG_AGAIN: it is not whole. */
static tg_status
read_header(tg_journal_reader *reader, file_header *header, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	const char *fault;
	const void *data;
	size_t count;
	tg_status status = read_bytes(reader, 0, sizeof(*header), &data, &count, error_out);

	if (status != TG_OK || count < sizeof(*header))
		return status != TG_OK ? status : TG_AGAIN;
	memcpy(header, data, sizeof(*header));
	tg_journal_path(reader->directory, reader->name, path);
	if (header->magic == MAGIC && header->note_bytes > TG_JOURNAL_RECORD_MAX)
		return tg_file_fail(error_out, 0, "the file's header is damaged", path, 0);
	status = read_notes(reader, header->magic == MAGIC ? header->note_bytes : 0, error_out);
	if (status != TG_OK)
		return status;
	fault = header_fault(reader, header);
	return fault != NULL ? tg_file_fail(error_out, 0, fault, path, 0) : TG_OK;
}

static void
leave_file(tg_journal_reader *reader)
{
	if (reader->file >= 0)
		(void) tg_files->close(reader->file);
	reader->file = -1;
}

/* Enters a file at its first frame.  TG_AGAIN: its header is not whole. */
static tg_status
enter_file(tg_journal_reader *reader, uint64_t name, file_header *header, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	tg_status status;
	int error;

	leave_file(reader);
	tg_file_window_drop(&reader->window);
	reader->name = name;
	tg_journal_path(reader->directory, name, path);
	error = tg_files->open(path, false, &reader->file);
	if (error != 0)
	{
		reader->file = -1;
		return error == ENOENT ? tg_file_fail(error_out, 0, "the file is missing", path, 0)
							   : tg_file_fail(error_out, error, "open", path, 0);
	}
	status = read_header(reader, header, error_out);
	reader->offset = sizeof(*header) + reader->notes.count;
	return status;
}

/* The header of the next frame.  TG_NOT_FOUND: the file ends here; TG_AGAIN: within it. */
static tg_status
read_frame_header(tg_journal_reader *reader, frame_header *header, tg_file_error *error_out)
{
	const void *data;
	size_t count;
	tg_status status = read_bytes(reader, reader->offset, sizeof(*header), &data, &count, error_out);

	if (status != TG_OK)
		return status;
	if (count < sizeof(*header))
		return count == 0 ? TG_NOT_FOUND : TG_AGAIN;
	memcpy(header, data, sizeof(*header));
	return TG_OK;
}

static bool
is_possible(const tg_journal_reader *reader, const frame_header *header)
{
	return header->bytes <= TG_JOURNAL_RECORD_MAX && header->previous == reader->last_start &&
		   header->start > reader->last_start && header->end >= header->start && header->kind <= UINT8_MAX;
}

/*
 * The frame at the reader's place; the reader is behind it then.  TG_NOT_FOUND, TG_AGAIN as above.
 */
static tg_status
take_frame(tg_journal_reader *reader, tg_journal_frame *frame_out, const void **record_out, tg_file_error *error_out)
{
	frame_header header;
	uint32_t crc;
	size_t count;
	tg_status status = read_frame_header(reader, &header, error_out);

	if (status != TG_OK)
		return status;
	if (!is_possible(reader, &header))
		return TG_AGAIN;
	status = read_bytes(reader, reader->offset + sizeof(header), header.bytes, record_out, &count, error_out);
	if (status != TG_OK)
		return status;
	crc = tg_crc32c(0, (const char *) &header + sizeof(header.crc), sizeof(header) - sizeof(header.crc));
	if (count < header.bytes || tg_crc32c(crc, *record_out, header.bytes) != header.crc)
		return TG_AGAIN;
	reader->offset += sizeof(header) + header.bytes;
	reader->last_start = header.start;
	*frame_out = (tg_journal_frame){.kind = (uint8_t) header.kind,
									.xid = header.xid,
									.start = header.start,
									.end = header.end,
									.bytes = header.bytes};
	return TG_OK;
}

/* 6. */
static tg_status
read_frame(tg_journal_reader *reader, tg_journal_frame *frame_out, const void **record_out, tg_file_error *error_out)
{
	tg_status status = take_frame(reader, frame_out, record_out, error_out);

	if (status != TG_NOT_FOUND && status != TG_AGAIN)
		return status;
	tg_file_window_drop(&reader->window);
	return take_frame(reader, frame_out, record_out, error_out);
}

static tg_status
make_reader(const char *directory, uint64_t system, tg_journal_reader **reader_out)
{
	tg_journal_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return TG_NO_MEMORY;
	if (strlen(directory) >= sizeof(reader->directory))
	{
		free(reader);
		return TG_TOO_LARGE;
	}
	strcpy(reader->directory, directory);
	reader->system = system;
	reader->file = -1;
	*reader_out = reader;
	return TG_OK;
}

void
tg_journal_read_end(tg_journal_reader *reader)
{
	leave_file(reader);
	tg_bytes_free(&reader->notes);
	tg_file_window_free(&reader->window);
	free(reader);
}

/*
 * 8.  A file whose header is not whole.  TG_AGAIN: it is the last one, and there is nothing in it
 * yet; TG_OK: the header is whole by now.
 */
static tg_status
judge_header(tg_journal_reader *reader, file_header *header, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	uint64_t next;
	tg_status status =
		tg_journal_find_name(reader->directory, reader->name + 1, TG_JOURNAL_NO_NAME - 1, false, &next, error_out);

	if (status != TG_OK || next == TG_JOURNAL_NO_NAME)
		return status != TG_OK ? status : TG_AGAIN;
	status = enter_file(reader, reader->name, header, error_out); /* 7 */
	tg_journal_path(reader->directory, reader->name, path);
	return status == TG_AGAIN ? tg_file_fail(error_out, 0, "the file's header is damaged", path, 0) : status;
}

/* TG_AGAIN: as above; also if the file begins at or behind a position, and nothing there counts. */
static tg_status
enter_first(tg_journal_reader *reader, uint64_t name, uint64_t before, tg_file_error *error_out)
{
	file_header header;
	tg_status status = enter_file(reader, name, &header, error_out);

	if (status == TG_AGAIN && name < before)
		status = judge_header(reader, &header, error_out);
	if (status == TG_OK)
		reader->last_start = header.previous;
	return status;
}

/* tg_journal_read_begin; before: as above. */
static tg_status
begin_before(const char *directory, uint64_t system, uint64_t position, uint64_t before, tg_journal_reader **reader_out,
			 tg_file_error *error_out)
{
	tg_journal_reader *reader;
	uint64_t name;
	tg_status status = tg_journal_find_position(directory, position, &name, error_out);

	if (status == TG_OK)
		status = make_reader(directory, system, &reader);
	if (status != TG_OK)
		return status;
	status = enter_first(reader, name, before, error_out);
	if (status == TG_OK && name > position && reader->last_start != 0)
		status = tg_file_fail(error_out, 0, "files before the first one are missing", directory, 0);
	if (status == TG_OK)
		*reader_out = reader;
	else
		tg_journal_read_end(reader);
	return status == TG_AGAIN ? TG_NOT_FOUND : status;
}

tg_status
tg_journal_read_begin(const char *directory, uint64_t system, uint64_t position, tg_journal_reader **reader_out,
					  tg_file_error *error_out)
{
	return begin_before(directory, system, position, UINT64_MAX, reader_out, error_out);
}

const void *
tg_journal_notes(const tg_journal_reader *reader, uint32_t *bytes_out)
{
	*bytes_out = (uint32_t) reader->notes.count;
	return reader->notes.data;
}

tg_journal_place
tg_journal_read_place(const tg_journal_reader *reader)
{
	return (tg_journal_place){.file = reader->name, .offset = reader->offset};
}

/*
 * Enters the next file, behind the last frame of this one.  torn: there is something that is no
 * frame.  TG_NOT_FOUND: the next one has no whole header yet.  Where a header is not whole, the
 * reader stays at the end of this one.
 */
static tg_status
enter_next(tg_journal_reader *reader, uint64_t name, bool torn, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	file_header header;
	uint64_t before = reader->name;
	uint64_t offset = reader->offset;
	bool is_cut;
	tg_status status;
	tg_status back;

	tg_journal_path(reader->directory, before, path);
	if (torn)
		return tg_file_fail(error_out, 0, "a frame is damaged", path, offset);
	status = enter_file(reader, name, &header, error_out);
	is_cut = status == TG_AGAIN;
	if (is_cut)
		status = judge_header(reader, &header, error_out);
	if (status == TG_OK && header.previous != reader->last_start)
		return tg_file_fail(error_out, 0, "a frame or a file is missing behind this one", path, offset);
	if (!is_cut || status == TG_OK)
		return status;
	back = enter_file(reader, before, &header, error_out);
	reader->offset = offset;
	return back != TG_OK ? back : status == TG_AGAIN ? TG_NOT_FOUND : status;
}

/* Says where the last file ends with something that is no whole frame.  TG_AGAIN. */
static tg_status
note_end(const tg_journal_reader *reader, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];

	tg_journal_path(reader->directory, reader->name, path);
	(void) !tg_file_fail(error_out, 0, "a frame is not whole", path, reader->offset);
	return TG_AGAIN;
}

tg_status
tg_journal_read(tg_journal_reader *reader, tg_journal_frame *frame_out, const void **record_out,
				tg_file_error *error_out)
{
	for (;;)
	{
		uint64_t next;
		tg_status status = read_frame(reader, frame_out, record_out, error_out);
		tg_status found;

		if (status != TG_NOT_FOUND && status != TG_AGAIN)
			return status;
		found =
			tg_journal_find_name(reader->directory, reader->name + 1, TG_JOURNAL_NO_NAME - 1, false, &next, error_out);
		if (found != TG_OK || next == TG_JOURNAL_NO_NAME)
			return found != TG_OK ? found : status == TG_AGAIN ? note_end(reader, error_out) : status;
		status = read_frame(reader, frame_out, record_out, error_out); /* 7 */
		if (status != TG_NOT_FOUND && status != TG_AGAIN)
			return status;
		status = enter_next(reader, next, status == TG_AGAIN, error_out);
		if (status != TG_OK)
			return status;
	}
}

/* Whether the frame at the reader's place lacks only its end, which the file does not have. */
static bool
is_torn(const tg_journal_reader *reader)
{
	frame_header header;
	size_t count = sizeof(header);
	uint64_t size;

	if (tg_files->size(reader->file, &size) != 0 || tg_files->read(reader->file, reader->offset, &header, &count) != 0)
		return false;
	return count < sizeof(header) ||
		   (is_possible(reader, &header) && reader->offset + sizeof(header) + header.bytes > size);
}

/* At the first file that can be entered, although others before it may be missing. */
static tg_status
begin_anywhere(const char *directory, uint64_t system, tg_journal_reader **reader_out, tg_file_error *error_out)
{
	uint64_t name = UINT64_MAX;
	tg_status status;

	do
	{
		status = tg_journal_find_name(directory, name + 1, TG_JOURNAL_NO_NAME - 1, false, &name, error_out);
		if (status != TG_OK || name == TG_JOURNAL_NO_NAME)
			return status != TG_OK ? status : TG_NOT_FOUND;
		status = tg_journal_read_begin(directory, system, name, reader_out, error_out);
	} while (status == TG_DAMAGED || status == TG_NOT_FOUND);
	return status;
}

tg_status
tg_journal_find_end(const char *directory, uint64_t system, uint64_t position, uint64_t before, bool ignore_damage,
					tg_journal_place *place_out, tg_file_error *error_out)
{
	tg_journal_reader *reader;
	tg_journal_place at;
	const void *record;
	tg_journal_frame frame;
	tg_status status = begin_before(directory, system, position, before, &reader, error_out);

	*place_out = (tg_journal_place){0};
	if (ignore_damage && (status == TG_DAMAGED || status == TG_NOT_FOUND))
		status = begin_anywhere(directory, system, &reader, error_out);
	if (status != TG_OK)
		return status == TG_NOT_FOUND ? TG_OK : status;
	if (reader->last_start != 0)
		*place_out = tg_journal_read_place(reader);
	while (at = tg_journal_read_place(reader),
		   (status = tg_journal_read(reader, &frame, &record, error_out)) == TG_OK && frame.start < before)
		*place_out = tg_journal_read_place(reader);
	if (status == TG_NOT_FOUND || status == TG_AGAIN ||
		(status == TG_DAMAGED && (ignore_damage || (reader->name == at.file && is_torn(reader)))))
		status = TG_OK;
	tg_journal_read_end(reader);
	return status;
}

/* --- what is to stay -------------------------------------------------------------------------- */

/* Reads the frames of the durable place's file up to there. */
static tg_status
pass_durable(tg_journal_reader *reader, tg_journal *journal, tg_journal_place durable, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	tg_status status = enter_first(reader, durable.file, UINT64_MAX, error_out);
	tg_journal_frame frame;
	const void *record;

	journal->last_end = durable.file; /* of the last frame in the file before, at most */
	while (status == TG_OK && reader->offset < durable.offset)
	{
		status = read_frame(reader, &frame, &record, error_out);
		if (status == TG_OK)
			journal->last_end = frame.end;
	}
	tg_journal_path(journal->directory, durable.file, path);
	if (status == TG_NOT_FOUND || status == TG_AGAIN)
		return tg_file_fail(error_out, 0, "a frame is missing or damaged", path, reader->offset);
	if (status == TG_OK && reader->offset != durable.offset)
		return tg_file_fail(error_out, 0, "no frame ends where one should", path, durable.offset);
	journal->last_start = reader->last_start;
	journal->written = durable;
	return status;
}

/* Reads what is to stay. */
static tg_status
pass_frames(tg_journal *journal, tg_journal_place durable, tg_file_error *error_out)
{
	tg_journal_reader *reader;
	tg_status status = make_reader(journal->directory, journal->system, &reader);

	if (status != TG_OK)
		return status;
	if (durable.offset > 0)
		status = pass_durable(reader, journal, durable, error_out);
	tg_journal_read_end(reader);
	return status;
}

/* --- making durable ------------------------------------------------------------------------ */

/* 3. */
static tg_status
sync_file(tg_journal *journal, const char *path, tg_file_error *error_out)
{
	int error;

	if (journal->unsynced)
	{
		error = tg_failpoint_refuses("journal_sync") ? EIO : tg_files->sync(journal->file);
		if (error != 0)
		{
			journal->failed = true;
			return tg_file_fail_sync(error_out, error, path);
		}
		journal->unsynced = false;
	}
	if (journal->directory_dirty)
	{
		error = tg_files->sync_directory(journal->directory);
		if (error != 0)
		{
			journal->failed = true;
			return tg_file_fail_sync(error_out, error, journal->directory);
		}
		journal->directory_dirty = false;
	}
	return TG_OK;
}

/* --- opening ------------------------------------------------------------------------------- */

/* Removes what is behind the place, and opens its file: 6. */
static tg_status
cut_back(tg_journal *journal, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	bool has_file = journal->written.offset > 0;
	tg_status status = tg_journal_remove_files(journal->directory, has_file ? journal->written.file + 1 : 0,
											   TG_JOURNAL_NO_NAME - 1, error_out);
	int error;

	journal->directory_dirty = true;
	if (status != TG_OK || !has_file)
		return status;
	tg_journal_path(journal->directory, journal->written.file, path);
	error = tg_files->open(path, false, &journal->file);
	if (error != 0)
		return tg_file_fail(error_out, error, "open", path, 0);
	journal->name = journal->written.file;
	journal->offset = journal->written.offset;
	journal->unsynced = true;
	error = tg_failpoint_refuses("journal_cut") ? EIO : tg_files->cut(journal->file, journal->offset);
	if (error != 0)
		return tg_file_fail(error_out, error, "cut", path, journal->offset);
	return sync_file(journal, path, error_out);
}

static tg_status
make_journal(const char *directory, uint64_t system, tg_journal **journal_out)
{
	tg_journal *journal = calloc(1, sizeof(*journal));

	if (journal == NULL)
		return TG_NO_MEMORY;
	if (strlen(directory) >= sizeof(journal->directory))
	{
		free(journal);
		return TG_TOO_LARGE;
	}
	strcpy(journal->directory, directory);
	journal->system = system;
	journal->name = TG_JOURNAL_NO_NAME;
	journal->file = -1;
	*journal_out = journal;
	return TG_OK;
}

tg_status
tg_journal_end_at(const char *directory, uint64_t system, tg_journal_place durable, uint64_t *end_out,
				  tg_file_error *error_out)
{
	tg_journal *journal;
	tg_status status = make_journal(directory, system, &journal);

	if (status != TG_OK)
		return status;
	status = pass_frames(journal, durable, error_out);
	*end_out = journal->last_end;
	tg_journal_close(journal);
	return status;
}

tg_status
tg_journal_open(const char *directory, uint64_t system, tg_journal_place durable, tg_journal **journal_out,
				uint64_t *end_out, tg_file_error *error_out)
{
	tg_journal *journal;
	tg_status status = make_journal(directory, system, &journal);

	if (status != TG_OK)
		return status;
	status = pass_frames(journal, durable, error_out);
	if (status == TG_OK)
		status = cut_back(journal, error_out);
	if (status != TG_OK)
	{
		tg_journal_close(journal);
		return status;
	}
	*journal_out = journal;
	*end_out = journal->last_end;
	return TG_OK;
}

tg_status
tg_journal_go_on(const char *directory, uint64_t system, tg_journal_place durable, uint64_t last_start,
				 uint64_t last_end, tg_journal **journal_out)
{
	tg_status status = make_journal(directory, system, journal_out);

	if (status != TG_OK)
		return status;
	(*journal_out)->written = durable;
	(*journal_out)->last_start = last_start;
	(*journal_out)->last_end = last_end;
	return TG_OK;
}

void
tg_journal_close(tg_journal *journal)
{
	if (journal->file >= 0)
		(void) tg_files->close(journal->file);
	tg_bytes_free(&journal->pending);
	free(journal);
}

/* --- appending ------------------------------------------------------------------------------- */

bool
tg_journal_begins_file(const tg_journal *journal)
{
	return journal->name == TG_JOURNAL_NO_NAME;
}

size_t
tg_journal_pending(const tg_journal *journal)
{
	return journal->pending.count;
}

tg_journal_place
tg_journal_place_get(const tg_journal *journal)
{
	return journal->written;
}

static void
put_file_header(tg_journal *journal, uint64_t position, const void *notes, uint32_t note_bytes)
{
	file_header header = {.magic = MAGIC,
						  .system = journal->system,
						  .position = position,
						  .previous = journal->last_start,
						  .note_bytes = note_bytes};

	header.crc = tg_crc32c(tg_crc32c(0, &header, offsetof(file_header, crc)), notes, note_bytes);
	tg_bytes_put(&journal->pending, &header, sizeof(header));
	tg_bytes_put(&journal->pending, notes, note_bytes);
	journal->name = position;
	journal->offset = 0;
}

tg_status
tg_journal_append(tg_journal *journal, const tg_journal_frame *frame, const void *record, const void *notes,
				  uint32_t note_bytes)
{
	frame_header header = {.bytes = frame->bytes,
						   .start = frame->start,
						   .end = frame->end,
						   .previous = journal->last_start,
						   .xid = frame->xid,
						   .kind = frame->kind};
	tg_status status;

	tg_assert(frame->bytes <= TG_JOURNAL_RECORD_MAX && frame->end >= frame->start);
	tg_assert(frame->start > journal->last_start && frame->start >= journal->last_end);
	tg_assert(note_bytes == 0 || tg_journal_begins_file(journal));
	status =
		tg_bytes_reserve(&journal->pending, sizeof(file_header) + (size_t) note_bytes + sizeof(header) + frame->bytes);
	if (status != TG_OK)
		return status;
	if (tg_journal_begins_file(journal))
		put_file_header(journal, frame->start, notes, note_bytes);
	header.crc = tg_crc32c(0, (const char *) &header + sizeof(header.crc), sizeof(header) - sizeof(header.crc));
	header.crc = tg_crc32c(header.crc, record, frame->bytes);
	tg_bytes_put(&journal->pending, &header, sizeof(header));
	tg_bytes_put(&journal->pending, record, frame->bytes);
	journal->last_start = frame->start;
	journal->last_end = frame->end;
	return TG_OK;
}

/* 2. */
static tg_status
end_file(tg_journal *journal, const char *path, tg_file_error *error_out)
{
	tg_status status = sync_file(journal, path, error_out);

	if (status != TG_OK)
		return status;
	(void) tg_files->close(journal->file);
	journal->file = -1;
	journal->name = TG_JOURNAL_NO_NAME;
	return TG_OK;
}

tg_status
tg_journal_write(tg_journal *journal, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	int error = 0;

	tg_assert(!journal->failed);
	if (journal->pending.count == 0)
		return TG_OK;
	tg_journal_path(journal->directory, journal->name, path);
	if (journal->file < 0)
	{
		error = tg_files->open(path, true, &journal->file);
		if (error != 0)
		{
			journal->file = -1;
			return tg_file_fail(error_out, error, "create", path, 0);
		}
		journal->directory_dirty = true;
	}
	journal->unsynced = true;
	error = tg_failpoint_refuses("journal_write")
				? ENOSPC
				: tg_files->write(journal->file, journal->offset, journal->pending.data, journal->pending.count);
	if (error != 0)
		return tg_file_fail(error_out, error, "write", path, journal->offset);
	journal->offset += journal->pending.count;
	journal->pending.count = 0;
	journal->written = (tg_journal_place){.file = journal->name, .offset = journal->offset};
	return journal->offset >= tg_journal_file_bytes ? end_file(journal, path, error_out) : TG_OK;
}

tg_status
tg_journal_sync(tg_journal *journal, tg_file_error *error_out)
{
	char path[TG_PATH_MAX];
	tg_status status = tg_journal_write(journal, error_out);

	if (status != TG_OK)
		return status;
	tg_journal_path(journal->directory, journal->written.file, path);
	return sync_file(journal, path, error_out);
}

bool
tg_journal_has_failed(const tg_journal *journal)
{
	return journal->failed;
}

tg_status
tg_journal_forget(tg_journal *journal, uint64_t position, tg_file_error *error_out)
{
	uint64_t name;
	tg_status status = tg_journal_find_name(journal->directory, 0, position, true, &name, error_out);

	if (status != TG_OK || name == TG_JOURNAL_NO_NAME || name == 0)
		return status;
	if (journal->written.offset > 0 && name > journal->written.file)
		name = journal->written.file;
	return tg_journal_remove_files(journal->directory, 0, name - 1, error_out);
}

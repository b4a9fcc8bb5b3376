/*
 * journal.h
 *	  Records of the host's log that are ours, unchanged and in its order, in files of our own.
 *
 * A position is a byte of the host's log (PostgreSQL's LSN).  A file begins with the position that
 * is its name, in 16 hexadecimal digits, and holds frames:
 *
 *	file	{magic and format, system identifier, position, the last frame's start in the file
 *			before, length of notes, CRC}, notes: what a reader that begins here has to know (the
 *			caller's)
 *	frame	{CRC, length, kind, xid, start and end of the record in the host's log, start of the
 *			frame before}, the record
 *
 * Numbers are little-endian, CRCs are CRC-32C of the rest of the header and what follows it.  Each
 * frame names the one before, so that a missing frame, or file, is noticed.
 *
 * One process appends, one thread of it; readers of the same directory see what was written.
 */
#ifndef TG_JOURNAL_H
#define TG_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/files.h"

#define TG_JOURNAL_RECORD_MAX ((uint32_t) 1 << 30) /* as PostgreSQL's own */

/* A file is ended when it has so many bytes: 64 MB; tests make it less. */
extern uint64_t tg_journal_file_bytes;

typedef struct tg_journal_frame
{
	uint8_t kind; /* the caller's */
	uint32_t xid; /* the host's, or 0 */
	uint64_t start;
	uint64_t end;
	uint32_t bytes; /* of the record */
} tg_journal_frame;

/* A place between two frames: in the file with this name, so many bytes from its beginning. */
typedef struct tg_journal_place
{
	uint64_t file;
	uint64_t offset; /* 0: there is no file */
} tg_journal_place;

static inline bool
tg_journal_place_is_before(tg_journal_place one, tg_journal_place other)
{
	return one.file < other.file || (one.file == other.file && one.offset < other.offset);
}

/* --- appending ------------------------------------------------------------------------- */

typedef struct tg_journal tg_journal;

/*
 * Opens the journal in a directory at a place up to which it is known to be durable, and drops what
 * comes after it.  *end_out: where the last frame's record ends in the host's log, or, in a file
 * without frames, where that begins; 0 without a file.  TG_DAMAGED: a frame or a file before the
 * place is missing or not as it was written; TG_IO; TG_NO_MEMORY.  *error_out says more.
 */
extern tg_status tg_journal_open(const char *directory, uint64_t system, tg_journal_place durable,
								 tg_journal **journal_out, uint64_t *end_out, tg_file_error *error_out) TG_MUST_USE;

/*
 * Likewise, but behind a last frame that the caller knows, which starts and ends there in the
 * host's log: all up to the place is durable, and there is nothing behind it.  The next frame
 * begins a file.  Nothing of what is there is read, so it may have faults.  TG_NO_MEMORY;
 * TG_TOO_LARGE: the directory's name.
 */
extern tg_status tg_journal_go_on(const char *directory, uint64_t system, tg_journal_place durable, uint64_t last_start,
								  uint64_t last_end, tg_journal **journal_out) TG_MUST_USE;

/* Gives up what has not been written. */
extern void tg_journal_close(tg_journal *journal);

/* Whether the next frame begins a file: then it takes notes, and else none. */
extern bool tg_journal_begins_file(const tg_journal *journal);

/*
 * Adds a frame in memory.  Its record starts where the last one ended, or later.  TG_NO_MEMORY:
 * nothing was added.
 */
extern tg_status tg_journal_append(tg_journal *journal, const tg_journal_frame *frame, const void *record,
								   const void *notes, uint32_t note_bytes) TG_MUST_USE;

/* Bytes that are in memory only. */
extern size_t tg_journal_pending(const tg_journal *journal);

/* Behind the last frame that was written. */
extern tg_journal_place tg_journal_place_get(const tg_journal *journal);

/*
 * Writes what is in memory, so that readers find it.  TG_IO: it is still in memory, and may be
 * written again, unless a sync has failed.
 */
extern tg_status tg_journal_write(tg_journal *journal, tg_file_error *error_out) TG_MUST_USE;

/*
 * Writes, and makes all of it durable.  TG_IO; if it was the sync that failed, nothing is known of
 * what was written since the last one, and the journal is not to be used any more (files.h).
 */
extern tg_status tg_journal_sync(tg_journal *journal, tg_file_error *error_out) TG_MUST_USE;

/* Whether a sync has failed; so may one that a write does, which ends a file. */
extern bool tg_journal_has_failed(const tg_journal *journal);

/* Removes the files before the one that has a position, or begins behind it; never the last one. */
extern tg_status tg_journal_forget(tg_journal *journal, uint64_t position, tg_file_error *error_out) TG_MUST_USE;

/*
 * Bytes of the files from the one on that has a position, or, if none has, of all files.  One that
 * goes meanwhile, and one that cannot be opened, has none.  Any process.
 */
extern uint64_t tg_journal_bytes(const char *directory, uint64_t position);

/* --- reading ---------------------------------------------------------------------------- */

typedef struct tg_journal_reader tg_journal_reader;

/*
 * From the file on that has a position, or, if none has, from the first one ever.  TG_NOT_FOUND:
 * there are no files; TG_DAMAGED, TG_IO, TG_NO_MEMORY.
 */
extern tg_status tg_journal_read_begin(const char *directory, uint64_t system, uint64_t position,
									   tg_journal_reader **reader_out, tg_file_error *error_out) TG_MUST_USE;
extern void tg_journal_read_end(tg_journal_reader *reader);

/* The notes of the file that the reader is in. */
extern const void *tg_journal_notes(const tg_journal_reader *reader, uint32_t *bytes_out);

/* Behind the frame that was read last. */
extern tg_journal_place tg_journal_read_place(const tg_journal_reader *reader);

/*
 * The next frame and its record, which stay until the next call.  TG_NOT_FOUND: there is none by
 * now; it may be called again.  TG_AGAIN: the last file ends with something that is no whole frame,
 * being written, or torn; *error_out says where.  TG_DAMAGED: anything else is wrong; TG_IO,
 * TG_NO_MEMORY.
 */
extern tg_status tg_journal_read(tg_journal_reader *reader, tg_journal_frame *frame_out, const void **record_out,
								 tg_file_error *error_out) TG_MUST_USE;

/*
 * Where the last frame's record before a place, up to which the journal is durable, ends in the
 * host's log; 0 without one.  Whatever comes after it may be written, or removed, meanwhile.
 * TG_DAMAGED, TG_IO, TG_NO_MEMORY.
 */
extern tg_status tg_journal_end_at(const char *directory, uint64_t system, tg_journal_place durable, uint64_t *end_out,
								   tg_file_error *error_out) TG_MUST_USE;

/*
 * Where the frames end that begin before a second position, and can be read from the file on that
 * has the first one: to open a journal that was copied while frames were added.  They may end with
 * one that its file does not have all of, even if others follow: files of a copy are of different
 * times.  ignore_damage: they may end at any fault, and begin where they can be read.  *place_out:
 * offset 0 if there are none, nor have been.  TG_DAMAGED, TG_IO, TG_NO_MEMORY.
 */
extern tg_status tg_journal_find_end(const char *directory, uint64_t system, uint64_t position, uint64_t before,
									 bool ignore_damage, tg_journal_place *place_out,
									 tg_file_error *error_out) TG_MUST_USE;

#endif /* TG_JOURNAL_H */

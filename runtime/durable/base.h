/*
 * base.h
 *	  The contents of all storages, in files that are never changed: a start reads these, and the
 *	  journal from there on.
 *
 *	manifest.<base>						definitions as of P, and the files that the base consists of
 *	part.<storage>.<part>.<base>		rows of 64 segments, column by column (sections.h)
 *	rank.<storage>.0.<base>				ranks of the storage's dictionaries, as definitions
 *
 * Numbers in names are hexadecimal.  A base has two positions in the host's log.  Each row is as of
 * some time between P, where the base was begun, and E, where it was finished.  A replay of the
 * journal from P over the rows gives the right contents from E on (replay.h).  Records from below P
 * count, too, if their transaction was undecided at P: the journal is read from the first of these
 * on.
 *
 * For a storage that has not changed since the base before, a base names the files of that one.
 */
#ifndef TG_BASE_H
#define TG_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/durable/files.h"

typedef struct tg_roster tg_roster; /* roster.h */

/* Tests make them less: rows of a part, bytes after which a block is ended, rows of a step. */
extern uint32_t tg_base_part_rows;
extern size_t tg_base_block_bytes;
extern uint32_t tg_base_step_rows;

/* --- writing -------------------------------------------------------------------------- */

typedef struct tg_base tg_base;

typedef struct tg_base_config
{
	const char *directory; /* of bases alone */
	uint64_t system;
	uint64_t number; /* above that of every base that was finished */
	uint64_t former; /* the base whose files may be named again; 0: none */
	uint64_t begin;	 /* P */
	/*
	 * where the first record of a transaction starts that is undecided at P (tg_undecided_least); P
	 * or above: there is none
	 */
	uint64_t least;
	const tg_roster *roster; /* as of P */
	/*
	 * The tables follow the journal in this directory (follow.h), so their dictionaries do not have
	 * the ranks of the host's values: those of the former base are named again, and the journal has
	 * the rest.  It is kept from the former base's least position on until the base is ended.
	 * NULL: the tables do not follow.
	 */
	const char *journal;
} tg_base_config;

/*
 * Begins a base, in memory.  The clock is at or above the time of every transaction that is decided
 * at P, and each of these has noted its last record's end in the tables that it has changed; so has
 * a session that has logged a rank (logged_at).  The config, and what it points to, may go
 * afterwards.  A former base that cannot be read counts as none, and *error_out says why; otherwise
 * its what is NULL.  If the tables follow, it cannot be done without: TG_DAMAGED, TG_IO.
 * TG_NO_MEMORY; TG_TOO_LARGE: a directory's name.
 */
extern tg_status tg_base_begin(const tg_base_config *config, tg_base **base_out, tg_file_error *error_out) TG_MUST_USE;

/*
 * Does a few milliseconds of the work, and the sync of a file now and then.  TG_AGAIN: there is
 * more.  TG_BUSY: likewise, but a row depends on a commit that is being decided, so it is for
 * later.  TG_OK: all is written.  TG_IO, TG_NO_MEMORY, TG_TOO_LARGE (operations.h), TG_DAMAGED (the
 * journal): the base is to be ended.  Any thread with a session of its own, one at a time; outside
 * an epoch.
 */
extern tg_status tg_base_step(tg_base *base, tg_session *session, tg_file_error *error_out) TG_MUST_USE;

/* The bytes of rows and ranks that have been written so far.  Any thread. */
extern uint64_t tg_base_bytes(const tg_base *base);

/*
 * All was written, and end (E) is at or above every record that was in the log by then.  Writes the
 * manifest; the base is durable afterwards.  TG_IO, TG_NO_MEMORY: it is not.
 */
extern tg_status tg_base_finish(tg_base *base, uint64_t end, tg_file_error *error_out) TG_MUST_USE;

/* Frees it.  Unless it was finished, removes its files, as far as possible. */
extern void tg_base_end(tg_base *base, tg_session *session);

/*
 * Removes the files of bases that no kept one names.  No base is being written.  TG_DAMAGED,
 * TG_NOT_FOUND: a kept one cannot be read, and nothing was removed; TG_IO, TG_NO_MEMORY.
 */
extern tg_status tg_base_forget(const char *directory, uint64_t system, const uint64_t *kept, size_t kept_count,
								tg_file_error *error_out) TG_MUST_USE;

/* --- reading ---------------------------------------------------------------------------- */

typedef struct tg_base_reader tg_base_reader;

/*
 * Reads the manifest.  TG_NOT_FOUND: there is none; TG_DAMAGED, TG_IO, TG_NO_MEMORY, TG_TOO_LARGE.
 */
extern tg_status tg_base_open(const char *directory, uint64_t system, uint64_t number, tg_base_reader **reader_out,
							  tg_file_error *error_out) TG_MUST_USE;
extern void tg_base_close(tg_base_reader *reader);

/* What the manifest says; pointers are the reader's. */
typedef struct tg_base_facts
{
	uint64_t number;
	uint64_t begin;		/* P */
	uint64_t end;		/* E */
	uint64_t least;		/* the journal is to be read from here on; P or below */
	uint64_t memory;	/* bytes that the storages took in memory */
	const void *roster; /* as of P: tg_roster_apply */
	size_t roster_bytes;
	size_t file_count;
} tg_base_facts;

extern const tg_base_facts *tg_base_facts_get(const tg_base_reader *reader);

typedef enum tg_base_kind
{
	TG_BASE_ROWS, /* blocks of sections (sections.h) */
	TG_BASE_RANKS /* blocks of definitions */
} tg_base_kind;

typedef struct tg_base_file
{
	tg_base_kind kind;
	uint64_t storage;
	uint64_t number; /* of the base that it was written for */
	uint64_t bytes;
	uint32_t part;
	uint32_t check; /* base_internal.h */
} tg_base_file;

/* The files, in the order of their storages; place is below file_count. */
extern const tg_base_file *tg_base_file_get(const tg_base_reader *reader, size_t place);

typedef struct tg_base_stream tg_base_stream;

/*
 * Begins to read a file.  Any thread; several may read different files of a base at once.
 * TG_DAMAGED: it is missing, or not the file that the manifest names; TG_IO, TG_NO_MEMORY.
 */
extern tg_status tg_base_stream_open(const tg_base_reader *reader, size_t place, tg_base_stream **stream_out,
									 tg_file_error *error_out) TG_MUST_USE;
extern void tg_base_stream_close(tg_base_stream *stream);

/*
 * The next block, which stays until the next call.  TG_NOT_FOUND: there are no more, and all of
 * them were as written; TG_DAMAGED, TG_IO, TG_NO_MEMORY.
 */
extern tg_status tg_base_stream_next(tg_base_stream *stream, const void **data_out, size_t *count_out,
									 tg_file_error *error_out) TG_MUST_USE;

/* For a fault in the contents of the last block: says where it is. */
extern void tg_base_stream_describe(const tg_base_stream *stream, const char *what, tg_file_error *error_out);

#endif /* TG_BASE_H */

/*
 * state.h
 *	  A small file that says what is durable: where to begin to read the contents, and how far they
 *	  go.
 *
 *	{magic and format, system identifier, base, D, place of D in the journal, clean, CRC}
 *
 * Numbers are little-endian; the CRC is CRC-32C of all before it.  The file is replaced as a whole,
 * so a reader finds what was written last, or before it.
 */
#ifndef TG_STATE_H
#define TG_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/files.h"
#include "runtime/durable/journal.h"

typedef struct tg_state
{
	uint64_t base;			/* number of the base to begin with, 0: none */
	uint64_t durable;		/* D: the journal has every record that begins before it, durably */
	tg_journal_place place; /* where the journal ended then */
	bool clean;				/* the log has no record behind D */
} tg_state;

/*
 * Reads the file in a directory.  TG_NOT_FOUND: there is none; TG_DAMAGED; TG_IO.  *error_out says
 * more of the last two.
 */
extern tg_status tg_state_read(const char *directory, uint64_t system, tg_state *state_out,
							   tg_file_error *error_out) TG_MUST_USE;

/*
 * Replaces the file, durably.  TG_IO: the file is the old one or the new one; it may be written
 * again, also after a sync that has failed (error_out->in_sync), if the system is trusted then.  Of
 * several threads, one at a time.
 */
extern tg_status tg_state_write(const char *directory, uint64_t system, const tg_state *state,
								tg_file_error *error_out) TG_MUST_USE;

#endif /* TG_STATE_H */

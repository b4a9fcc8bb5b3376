/*
 * conflict.h
 *	  Why a transaction cannot be serialized, and where it has written.
 */
#ifndef TG_CONFLICT_H
#define TG_CONFLICT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"

/*
 * The reason why a transaction cannot be serialized: a change that another one has committed since.
 */
typedef enum tg_conflict_kind
{
	TG_CONFLICT_UPDATED,		 /* a row to be written was changed */
	TG_CONFLICT_DELETED,		 /* or deleted */
	TG_CONFLICT_ROW,			 /* a row that was read was changed or deleted */
	TG_CONFLICT_KEY,			 /* a key that was found absent was inserted */
	TG_CONFLICT_RANGE,			 /* a row of a range of keys was inserted, changed or deleted */
	TG_CONFLICT_TABLE,			 /* likewise of a table that was read as a whole */
	TG_CONFLICT_UNKNOWN,		 /* any change: memory was too short to note the reads */
	TG_CONFLICT_TAKEN,			 /* SHORT: another transaction holds a row to be written */
	TG_CONFLICT_PRESERVED_WRITE, /* a LONG preserves the area to be written */
	TG_CONFLICT_PRESERVED_READ,	 /* a LONG preserves an area that was read (S3, S4) */
	TG_CONFLICT_EARLIER_LONG,	 /* a LONG has read in the preserve of an earlier LONG (L3) */
	TG_CONFLICT_STORED_ANEW,	 /* a table to be read was emptied, or its rows were stored anew */
	TG_CONFLICT_HELD,			 /* a prepared transaction has read what this one has changed (H2) */
	TG_CONFLICT_COUNT
} tg_conflict_kind;

struct tg_conflict
{
	tg_conflict_kind kind;
	uint32_t relation;	/* the host's number of the table; 0 if unknown */
	uint32_t row;		/* to be written, and held or preserved by another; TG_ROW_MAX if unknown */
	tg_version version; /* committed, begun or ended since; TG_VERSION_NONE if unknown */
	tg_time time;		/* of the commit that did it (author.h); 0 if unknown or open */

	/*
	 * The host word of the LONG that preserves the area, of the row's holder, or of the prepared
	 * transaction; otherwise 0.
	 */
	uint64_t other;
};

#define TG_TXN_TABLES_MAX 8

/* A table in which a transaction has written or locked rows, or was about to. */
typedef struct tg_target
{
	uint32_t relation; /* the host's number; the table may be gone */
	bool is_written;   /* a row of it was written, and the write was not undone */
} tg_target;

#endif /* TG_CONFLICT_H */

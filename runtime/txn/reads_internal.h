/*
 * reads_internal.h
 *	  The structure of a read set, for reads.c and validate.c.
 *
 *	reads -> table -> words: versions, later chunks (TG_READ_CHUNK)
 *			   |   -> ranges and keys, newest first
 *			   v
 *			 table ...
 */
#ifndef TG_READS_INTERNAL_H
#define TG_READS_INTERNAL_H

#include "runtime/btree/btree.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/reads.h"

/* In a word of a read set: the chunk as a whole.  A slot needs the ten lowest bits. */
#define TG_READ_CHUNK ((tg_version) 0x4000)

_Static_assert((TG_READ_CHUNK & (TG_SLOT_MAX - 1)) == 0 && (TG_READ_CHUNK & TG_HEAD_CLOSED) == 0,
			   "the mark of a chunk is none of a slot's bits");

/* The most words, and the most bytes of ranges, of one table before they are made coarser. */
#define TG_READ_WORDS_MAX 65536
#define TG_READ_RANGE_BYTES_MAX ((size_t) 1 << 20)

struct tg_read_range
{
	struct tg_read_range *next;
	tg_index *index;	/* NULL: the primary key; else a reference is held */
	uint32_t capacity;	/* of bytes */
	uint32_t low_bytes; /* TG_READ_OPEN: no bound */
	uint32_t high_bytes;
	bool is_key; /* an absent key, in low (of a secondary index: in high, too) */
	bool low_inclusive;
	bool high_inclusive;
	bool forgotten;
	unsigned char bytes[]; /* low, then high */
};

#define TG_READ_OPEN UINT32_MAX

typedef struct tg_read_table
{
	struct tg_read_table *next;
	tg_table *table;	/* a reference is held; NULL: of a set that has been restored (hold.c, 7) */
	bool whole;			/* words and ranges are not needed any more */
	bool by_chunk;		/* new words are chunks */
	uint32_t tentative; /* scans of the whole table that may be forgotten */
	uint32_t count;
	uint32_t capacity;
	uint32_t merged; /* words before this place may stand for several reads */
	tg_version *words;
	struct tg_read_range *ranges;
	size_t range_bytes;

	/* of a set that is held (hold.c), written before that is published; never changed then */
	uint32_t database; /* the host's numbers of the table */
	uint32_t relation;
	bool held_whole;
	uint32_t row_count;
	uint32_t *rows; /* sorted */
} tg_read_table;

/* From now on the whole table is noted. */
extern void tg_reads_make_whole(tg_session *session, tg_read_table *noted);

struct tg_reads
{
	tg_read_table *tables;
	tg_read_table *recent; /* table noted last, or NULL */
	uint32_t own;		   /* the transaction's number */
	bool everything;	   /* there was no memory to note a table: any commit is a conflict */

	/* validation in progress */
	tg_time from;
	tg_time upto;
	bool upto_is_own; /* the C of the transaction itself */
	bool holds;		  /* the transaction is going to be prepared (H1) */
	const tg_exclusions *from_excluded;
	const tg_exclusions *upto_excluded;
	tg_read_table *at_table;
	struct tg_read_range *at_range;
	uint32_t at_word;
	uint32_t at_chunk;
	bool in_range; /* cursor has begun */
	tg_btree_cursor cursor;

	/* hold.c's: the set is held; changed under its latch */
	uint64_t hold; /* its number; 0: it is not held */
	tg_reads *hold_next;
	uint64_t hold_ends; /* when the present validation began */

	/* hold.c's: the look at what others hold */
	bool looks; /* it is not over */
	bool looks_at_one;
	uint64_t look_hold; /* holds before this one are done with */
	tg_read_table *look_table;
	tg_log_cursor look_log;
	struct tg_read_range *look_range;
};

/* A cursor for the keys of a range, from its beginning. */
extern void tg_read_range_open(const tg_read_range *range, tg_table *table, tg_btree_cursor *cursor_out);

/* To hold them: the transaction's reads, from its snapshot on (tg_validation_begin). */
extern void tg_validation_begin_to_hold(tg_reads *reads, tg_time from, tg_time upto);

#endif /* TG_READS_INTERNAL_H */

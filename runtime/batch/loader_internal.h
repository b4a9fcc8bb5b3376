/*
 * loader_internal.h
 *	  What the files of a loader share.
 */
#ifndef TG_LOADER_INTERNAL_H
#define TG_LOADER_INTERNAL_H

#include "runtime/batch/loader.h"
#include "runtime/format/columnar.h"
#include "runtime/order/value.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "runtime/txn/piece.h"
#include "runtime/txn/wait.h"
#include "runtime/txn/writer.h"

/*
 * What a seat reads from.  It lies in memory of the pool's process, as nothing of it is of use to
 * another; so nothing of it stays when that process is killed.
 */
typedef struct tg_block_reader
{
	bool is_open;
	int descriptor; /* -1: none is open, or it is not read by one */
	uint32_t file;
	uint32_t block;
	tg_file_source source;
	tg_columnar columnar;
	tg_csv_reader *csv;	  /* NULL: another one is open: */
	tg_json_reader *json; /* likewise */
	unsigned char *data;  /* of texts: the block, with room for so many bytes */
	size_t room;
	tg_file_values *values;		/* of each of the file's columns */
	uint64_t rows_before;		/* in the file, before the values */
	uint64_t block_rows_before; /* and before the block */
	uint32_t counted;			/* Parquet and Arrow: so many of its blocks */
	uint64_t counted_rows;		/* have so many rows */
	unsigned count;				/* rows of the values */
	bool in_block;				/* the block's rows are being read */
	bool has_values;			/* which are not stored yet, */
	bool is_judged;				/* and of which the requester has converted the odd ones, */
	bool is_stored;				/* or of which the requester is told */
	bool is_at_end;				/* of the block */
	tg_cell_memory strings;		/* of a row */
} tg_block_reader;

/* What a seat is parked for. */
typedef enum tg_seat_need
{
	TG_SEAT_NEEDS_NOTHING,
	TG_SEAT_NEEDS_SEAT,	  /* the end of a transaction of another seat, which says so: loader.c, 8 */
	TG_SEAT_NEEDS_OTHER,  /* the end of another transaction: wait */
	TG_SEAT_NEEDS_COMMIT, /* of its own; this and what follows the requester gives back */
	TG_SEAT_NEEDS_ROWS	  /* the requester looks at the seat's rows */
} tg_seat_need;

typedef struct tg_loader_seat
{
	tg_task task; /* first */
	tg_loader *loader;
	tg_batch_seat *seat;
	tg_session *session; /* its own: used by one thread at a time, and away in between */
	tg_txn *txn;		 /* NULL: none of its own is open */
	tg_piece *piece;	 /* constant: what it has written of the requester's; NULL: it writes its own */
	tg_piece own_piece;	 /* that, unless it is of a loan */
	uint32_t row_count;	 /* that it has stored */
	uint32_t stored;	 /* of the values */
	tg_loader_row *rows; /* constant: TG_FILE_BATCH of them, of which the requester is told */
	tg_loader_row *odd;	 /* constant: likewise, which the requester converts */
	uint32_t odd_count;
	void *converted;	/* memory of their values; NULL: none */
	bool asks_odd;		/* the requester looks at these */
	uint32_t asked;		/* so many */
	tg_seat_need wants; /* what its statement could not do without */
	bool is_ending;		/* it has all its rows */
	tg_block_reader reader;
	uint32_t is_spawned; /* atomic: its task runs, is queued or parked */
	/*
	 * atomic: tg_seat_need; set by the seat, which then parks; taken back by the requester, or for
	 * SEAT by one that has ended its transaction, or by itself
	 */
	uint32_t need;
	uint64_t shown_rows; /* atomic: of its block, before the values, for those who look */
	uint32_t ended_seen; /* the loader's count of ends, before the seat has looked at rows */
	tg_wait wait;		 /* written before need */
} TG_CACHE_ALIGNED tg_loader_seat;

struct tg_loader
{
	tg_loader_config config;
	tg_writer writer; /* the requester's; its txn is NULL: seats have transactions of their own */
	tg_job *job;
	tg_batch_tree tree;
	tg_batch_place places[TG_BATCH_FILES_AT_ONCE_MAX];
	tg_batch_seat *tree_seats;
	tg_loader_seat *seats;
	tg_loader_row *rows_place; /* memory for those of all seats */
	unsigned seat_count;
	tg_loader_file *files;
	uint32_t files_added;
	bool is_started;
	uint32_t is_drained; /* atomic */
	uint32_t inside;	 /* atomic: so many seats are in a turn, 7 */
	uint32_t ended;		 /* atomic: so many transactions of seats, modulo 2^32; 8 */
	uint32_t references; /* atomic: the requester's, the job's */
	tg_task bootstrap;
	tg_batch_progress counted;	 /* unless the requester has another place for it */
	tg_batch_progress *progress; /* constant: that one */
	uint32_t *blocks_done;		 /* atomic: of each file */
	uint32_t has_failed;		 /* atomic: the report is there */
	tg_loader_report report;	 /* its failure: by the thread that has decided the outcome */
	void *memory;				 /* linked: what has been allocated for it */
};

/* Whether seats write the requester's transaction. */
static inline bool
tg_loader_is_lent(const tg_loader *loader)
{
	return loader->writer.txn != NULL;
}

/* --- loader_needs.c --- */

/*
 * The seat parks until it has what it needs, or goes on at once (TG_TURN_AGAIN): the last use of it
 * in this turn.
 */
extern tg_turn tg_seat_ask(tg_loader_seat *seat, tg_seat_need need) TG_MUST_USE;

/*
 * Whether the seat still needs what it has parked for.  One that waits for a transaction needs
 * nothing once the load aborts; but a transaction that is about to be committed, and rows that the
 * requester looks at, are the requester's until they come back.
 */
extern bool tg_seat_is_parked(tg_loader_seat *seat);

/* A transaction of a seat has ended: others that wait for that go on (loader.c, 8). */
extern void tg_loader_note_end(tg_session *session, tg_loader *loader);

/* Notes why the load fails.  TG_UNFIT. */
extern tg_status tg_loader_fail(tg_loader_report *report, tg_loader_failure failure) TG_MUST_USE;

/* --- loader_store.c --- */

/*
 * Stores all rows of the seat's values that are not left out, or none; or some, if the load fails,
 * in a transaction that is lent.  TG_BUSY: the seat is to
 * wait; TG_UNFIT: the report says why it has failed; TG_CANCELLED.
 */
extern tg_status tg_seat_store(tg_loader_seat *seat, tg_loader_report *report) TG_MUST_USE;

/* TG_AGAIN: the requester is to commit it (loader.c, 1). */
extern tg_status tg_seat_commit(tg_loader_seat *seat) TG_MUST_USE;

/* Its transaction has been committed, by the seat's thread or the requester: the session's. */
extern void tg_seat_note_commit(tg_session *session, tg_loader_seat *seat);

/* Its block is done: for whoever asks how far the load is. */
extern void tg_seat_note_block(const tg_loader_seat *seat);

/* Aborts it, if there is one: the requester may have committed it just before. */
extern void tg_seat_abort(tg_loader_seat *seat);

/* --- block_reader.c --- */

/*
 * Has the seat's next rows in values.  TG_NOT_FOUND: its block has no more.  TG_UNFIT: the report
 * says why it has failed.
 */
extern tg_status tg_block_read(tg_loader_seat *seat, tg_loader_report *report) TG_MUST_USE;
extern void tg_block_reader_close(tg_block_reader *reader);

/* Notes the odd ones among the values' rows. */
extern void tg_block_note_odd(tg_loader_seat *seat);

/* Where the record of one of the values' rows is; nothing for files that are not of texts. */
extern void tg_block_locate(const tg_loader_seat *seat, unsigned number, tg_loader_row *row);

/* Makes room for the strings of a row.  False: it is too much. */
extern bool tg_block_reader_reserve(tg_loader_seat *seat, size_t bytes);

#endif /* TG_LOADER_INTERNAL_H */

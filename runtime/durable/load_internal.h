/*
 * load_internal.h
 *	  The part that load.c, load_base.c, load_apply.c, load_prepared.c and load_following.c share.
 */
#ifndef TG_LOAD_INTERNAL_H
#define TG_LOAD_INTERNAL_H

#include "runtime/durable/journal.h"
#include "runtime/durable/load.h"
#include "runtime/durable/replay.h"
#include "runtime/durable/roster.h"
#include "runtime/durable/undecided.h"
#include "runtime/table/table.h"

/* A storage that is placed in the end. */
typedef struct tg_loaded
{
	uint64_t id;
	const tg_roster_storage *storage;
	tg_table *table;
	bool is_damaged;
	bool has_ranks;	 /* the base has its dictionaries */
	bool is_entered; /* in the catalog, which has the reference */
} tg_loaded;

/* A transaction that the host has prepared. */
typedef struct tg_load_prepared
{
	uint64_t host;
	uint64_t first; /* its first PART, or 0 */
	uint64_t last;	/* its last one */
	uint64_t with;	/* its WITH */
	uint32_t xid;
	tg_txn *txn; /* in hand, from when it is restored; or NULL */
} tg_load_prepared;

typedef struct tg_loading
{
	tg_session *session;
	const tg_load_config *config;
	tg_load_report *report;
	tg_roster *roster;
	tg_undecided undecided;
	uint64_t since;		 /* of the base (P): what counts from an earlier position is in it */
	uint64_t exact_from; /* of the base (E): from there on, its rows are as of the record in hand */
	uint64_t least;		 /* the journal is read from here on */
	uint64_t *counting;	 /* positions of first PARTs and of WITHs that count; ascending in the end */
	size_t counting_count;
	size_t counting_capacity;
	tg_loaded *tables; /* ascending by id */
	size_t table_count;
	tg_load_prepared *prepared;
	size_t prepared_count;
	bool restores;			   /* prepared transactions, in this pass */
	const tg_load_with *withs; /* of all that are undecided, where tables have followed; or NULL */
	size_t with_count;
	const tg_load_prepared *part_of; /* whose PARTs are read, each passed on to take_part; or NULL */
	uint64_t last_part;				 /* the last one that could be read */
	tg_status (*take_part)(struct tg_loading *load, const tg_journal_frame *frame, const void *record);
	tg_replay *replay;
	tg_replay_calls calls;
	struct tg_base_reader *base; /* NULL: none */
	uint64_t position;			 /* of the record in hand */
	uint64_t end;				 /* of the journal; known when all is decided */
	tg_status status;			 /* of a call back that has failed */
	uint64_t record_bytes;		 /* of the journal's records; known when all is decided */
	bool counts;				 /* what it reads of the journal is progress */
} tg_loading;

/* A phase begins; so much more of it is done.  Any thread. */
extern void tg_load_begin_phase(const tg_loading *load, tg_load_phase phase, uint64_t total);
extern void tg_load_note_progress(const tg_loading *load, uint64_t done);

/* --- load.c --- */

/* Passes on the frames of the journal, from the file on that has a position. */
typedef tg_status (*tg_load_frame)(tg_loading *load, const tg_journal_frame *frame, const void *record);
extern tg_status tg_load_journal(tg_loading *load, uint64_t position, tg_load_frame take) TG_MUST_USE;

/*
 * Likewise, some milliseconds at a time.  TG_NOT_FOUND: there is nothing to read, and no reader.
 * TG_AGAIN: there is more.
 */
extern tg_status tg_load_journal_begin(tg_loading *load, uint64_t position, tg_journal_reader **reader_out) TG_MUST_USE;
extern tg_status tg_load_journal_some(tg_loading *load, tg_journal_reader *reader, tg_load_frame take) TG_MUST_USE;

/* Whether a first PART, or a WITH, at this position counts. */
extern bool tg_load_does_count(const tg_loading *load, uint64_t position);

/* Puts the tables in the order of their ids. */
extern void tg_load_sort(tg_loading *load);

/* The storage with this id, if it is placed in the end; or NULL. */
extern tg_loaded *tg_load_find(const tg_loading *load, uint64_t storage);

/* A fault that concerns no single table; TG_OK: it is to be ignored; else TG_DAMAGED. */
extern tg_status tg_load_note_problem(tg_loading *load, const char *what) TG_MUST_USE;

/* A fault that concerns one table.  TG_NO_MEMORY. */
extern tg_status tg_load_note_damage(tg_loading *load, tg_loaded *of, const char *what) TG_MUST_USE;

/* Repeats what the host's prepared transactions have done. */
extern tg_status tg_load_restore(tg_loading *load) TG_MUST_USE;

/* --- load_apply.c --- */

/* The rows of the base and of the records that count, and ranks. */
extern tg_status tg_load_apply(tg_loading *load) TG_MUST_USE;

/* The ranks among definitions of a position in the log; of a block of a base: UINT64_MAX. */
extern tg_status tg_load_ranks(tg_loading *load, uint64_t position, const void *data, size_t count) TG_MUST_USE;

/* The replay of rows, and the status of one of its calls, or of a call back that has failed. */
extern tg_status tg_load_begin_replay(tg_loading *load) TG_MUST_USE;
extern tg_status tg_load_judge_rows(const tg_loading *load, tg_status status) TG_MUST_USE;

/* --- load_prepared.c --- */

/* Finds out which of those that are undecided are prepared. */
extern tg_status tg_load_prepared_note(tg_loading *load) TG_MUST_USE;

/* The one that a record at this position is of, or NULL. */
extern tg_load_prepared *tg_load_prepared_of(const tg_loading *load, uint64_t position, const tg_record *record);

/*
 * Where tables have followed, memory has all but PARTs.  Those whose PARTs cannot be read any more
 * are not restored, and reported as lost.
 */
extern tg_status tg_load_prepared_check(tg_loading *load) TG_MUST_USE;

/* Passes on their records, and perhaps others. */
extern tg_status tg_load_prepared_records(tg_loading *load, tg_load_frame take) TG_MUST_USE;

/* Takes their descriptors, for the tables that the load has made. */
extern tg_status tg_load_prepared_take(tg_loading *load) TG_MUST_USE;

/*
 * They wait for their ends; or they are taken back, before the tables are dropped: another load may
 * make these again at once, so nothing may hold them.
 */
extern void tg_load_prepared_leave(tg_loading *load);
extern void tg_load_prepared_take_back(tg_loading *load);

/* --- load_base.c --- */

/* Opens the base, if there is one, and gives the roster what it has. */
extern tg_status tg_load_base_open(tg_loading *load) TG_MUST_USE;

/* Loads its rows and ranks; or the ranks alone. */
extern tg_status tg_load_base_apply(tg_loading *load) TG_MUST_USE;
extern tg_status tg_load_base_ranks(tg_loading *load) TG_MUST_USE;

extern void tg_load_base_close(tg_loading *load);

#endif /* TG_LOAD_INTERNAL_H */

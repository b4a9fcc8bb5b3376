/*
 * write_log.h
 *	  The writes of a transaction, in order: its undo, its stamps, its garbage.
 *
 * One entry per write; consecutive inserts into neighbouring slots of one chunk
 * share one.  Read backwards to roll back, in any order to stamp; handed to the
 * collector when the transaction has ended, because it is the list of the
 * garbage it made.
 *
 * A log is a stack of pieces, newest on top; a tg_write_log is one piece, and the transaction holds
 * the newest (NULL: nothing written).  A mark (savepoint) closes the piece, so later writes lie in
 * pieces of their own.  Rolling back to a mark takes whole pieces off the stack, allocates nothing,
 * and can give them to the collector at once, while the transaction continues.  A piece has its own
 * references on tables and its own row counts, so undone writes are never counted.
 *
 * Only the transaction's lane touches a log until the collector has it.  A piece may be filled
 * apart, by a task that writes for the transaction; it is the task's until it is pushed
 * (txn/piece.h).
 */
#ifndef TG_WRITE_LOG_H
#define TG_WRITE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"

/*
 * Kinds of writes.  Only the new version of an UPDATE may share blobs, column by column, with its
 * older version.  The first version of a row shares none, not even that of a row that an UPDATE of
 * the key makes; nor does a reviving one.
 */
typedef enum tg_write
{
	TG_WRITE_INSERT, /* version … version + count - 1: first versions of fresh rows */
	TG_WRITE_REVIVE, /* version: on a dead row; its older is the dead version */
	TG_WRITE_UPDATE, /* version: its older is the version it replaced */
	TG_WRITE_DELETE, /* version: ended, nothing new */

	/* single writes undone while the transaction continues: they wait here for the collector */
	TG_WRITE_UNDONE_ROW,	/* of an INSERT: version and its row */
	TG_WRITE_UNDONE_VERSION /* of a REVIVE or an UPDATE: version */
} tg_write;

/*
 * An entry.  Once the commit has stamped it, the entry of an UPDATE names the replaced version:
 * from then on UPDATE and DELETE each own the one version that they ended.
 */
typedef struct tg_log_entry
{
	tg_version version;
	uint32_t count; /* INSERT: slots; UPDATE and DELETE, once stamped: the row; else 1 */
	uint16_t kind;	/* tg_write */
	/*
	 * UPDATE, once stamped: the slot of the version that replaced it, plus 1, if in the same
	 * chunk; else 0
	 */
	uint16_t above;
} tg_log_entry;

/* Entries of a block: the first one lies in the piece itself, further ones grow up to 4 KiB. */
#define TG_LOG_BLOCK_ENTRIES_MIN 6
#define TG_LOG_BLOCK_ENTRIES_MAX 254

typedef struct tg_log_block
{
	struct tg_log_block *next;
	struct tg_log_block *previous;
	uint32_t count;
	uint32_t capacity;
	tg_log_entry entry[];
} tg_log_block;

/* A table that the piece wrote to; the piece holds a reference. */
typedef struct tg_log_table
{
	tg_table *table; /* NULL: empty place */
	int64_t rows;	 /* rows inserted less deleted */
} tg_log_table;

#define TG_LOG_TABLES_MIN 2 /* places in the piece itself */

/*
 * One piece.  Any thread may read it; write_log.c writes it, and so does the collector once it has
 * it.
 */
typedef struct tg_write_log
{
	/* all fields that the collector reads before the entries, in one cache line */
	struct tg_write_log *below; /* the transaction's piece before this one */
	tg_time ended;				/* C of a commit; 0: rolled back */
	struct tg_write_log *next;	/* the collector's; atomic; in one of its lists */
	struct tg_write_log *previous;
	/* with at_entry: where undoing, or the collector, goes on; NULL: not begun */
	tg_log_block *at_block;
	uint32_t at_entry;
	uint32_t number;  /* of the piece in its stack, from 1 */
	uint32_t garbage; /* the collector's: entries with something to free */
	uint32_t rows;	  /* of them, dead versions, which go last */
	uint32_t kept;	  /* entries that stay for a later cycle */
	bool sealed;	  /* there is a mark above, or it is being undone: nothing is added any more */
	bool lasting;	  /* it has only inserts: no garbage once committed */

	uint32_t table_count;
	uint32_t table_capacity;
	uint32_t table_recent; /* place last reserved */
	tg_log_table *tables;  /* hashed by address, table_capacity places */
	tg_log_block *last;	   /* newest block; the oldest is first */
	tg_log_table tables_first[TG_LOG_TABLES_MIN];
	tg_log_block first; /* must be last: its entries follow */
} tg_write_log;

/* --- writing ------------------------------------------------------------------ */

/*
 * Makes room for one more entry of this table, so that the next append cannot
 * fail.  Called before anything is changed.  *log is the newest piece and may
 * be NULL or get a new one on top.  TG_NO_MEMORY: nothing was changed.
 */
extern tg_status tg_write_log_reserve(tg_session *session, tg_write_log **log, tg_table *table,
									  tg_claim claim) TG_MUST_USE;

/*
 * Likewise, for so many INSERTs that are noted together: entries at most, TG_LOG_BLOCK_ENTRIES_MAX
 * of them.
 */
extern tg_status tg_write_log_reserve_several(tg_session *session, tg_write_log **log, tg_table *table,
											  unsigned entries, tg_claim claim) TG_MUST_USE;

/*
 * Notes a write, for which room was reserved for this table just before. rows: +1, 0, -1.  Undoing
 * the noted write must be right at once.  So this is called after the write, and no step that can
 * fail comes in between.
 */
extern void tg_write_log_append(tg_write_log *log, tg_table *table, tg_write kind, tg_version version, int rows);

/* Notes INSERTs of rows whose versions are count slots that follow one another. */
extern void tg_write_log_append_run(tg_write_log *log, tg_table *table, tg_version first, unsigned count);

/*
 * Removes the newest write, an INSERT, REVIVE or UPDATE noted just before, which is being undone by
 * itself.  There is still room for an entry: an insertion that was merged into another entry has
 * not used its room.  rows as it was noted.  Returns its kind and version as they were.
 */
extern tg_log_entry tg_write_log_take_back(tg_write_log *log, int rows);

/*
 * Takes over an entry of another log, as it is, for the collector.  As
 * reserving and appending; TG_NO_MEMORY: nothing was changed.
 */
extern tg_status tg_write_log_carry(tg_session *session, tg_write_log **log, tg_table *table,
									const tg_log_entry *entry) TG_MUST_USE;

/*
 * Puts a piece that was filled apart, by another thread that is done with it, on top: its writes
 * count as the newest.  It is the only one of its stack, and has no mark.
 */
extern void tg_write_log_push(tg_write_log **log, tg_write_log *piece);

/* --- marks and undoing ----------------------------------------------------------- */

typedef uint32_t tg_log_mark;

#define TG_LOG_MARK_START ((tg_log_mark) 0) /* before everything */

/*
 * The present position of the log.  Costs nothing and cannot fail; log may be NULL.  Valid until
 * the log has been undone to an earlier mark.  Giving a mark up (RELEASE) takes no call.
 */
extern tg_log_mark tg_write_log_mark(tg_write_log *log);

/*
 * Steps backwards: true and the newest entry after the mark, which counts as undone once the caller
 * has undone it and calls again.  False when no entry is left: then all pieces after the mark are
 * in *undone (NULL at first), and *log is the rest, perhaps NULL.  An INSERT of several slots comes
 * as one entry, to be undone from its last slot to its first.  Allocates nothing, cannot fail, may
 * be called in several epochs.
 *
 *	tg_write_log *undone = NULL;
 *	while (tg_write_log_pop(&log, mark, &undone, &entry))
 *		undo(&entry);
 *	tg_collector_give(undone);
 *
 * Undoing an UPDATE begins with tg_version_strip(version, older), while older
 * is still locked; see there.
 */
extern bool tg_write_log_pop(tg_write_log **log, tg_log_mark mark, tg_write_log **undone, tg_log_entry *entry_out);

/*
 * Marks the string cells of a version that share a blob with the same column of neighbour as lent:
 * these blobs belong to neighbour, the version's other blobs to the version, whatever happens to
 * either.  For a version that is being undone, or that no snapshot sees.  prune.c, 9 and 10, argues
 * that this is correct.
 */
extern void tg_version_strip(tg_version version, tg_version neighbour);

/* --- reading, ending ----------------------------------------------------------------- */

/*
 * Every entry once, for stamping and validation: newest piece first, forward within a piece.
 *
 *	tg_log_cursor cursor = tg_write_log_begin(log);
 *	while ((entry = tg_write_log_next(&cursor)) != NULL)
 */
typedef struct tg_log_cursor
{
	tg_write_log *piece;
	tg_log_block *block;
	uint32_t entry;
} tg_log_cursor;

extern tg_log_cursor tg_write_log_begin(tg_write_log *log);
extern tg_log_entry *tg_write_log_next(tg_log_cursor *cursor);

/* Adds the rows inserted, less those deleted, to the row_count of each table: once, at commit. */
extern void tg_write_log_count_rows(const tg_write_log *log);

/* The number of rows that the transaction inserted into a table, less those that it deleted. */
extern int64_t tg_write_log_rows(const tg_write_log *log, const tg_table *table);

/* True if the transaction has written to the table. */
extern bool tg_write_log_has_table(const tg_write_log *log, const tg_table *table);

/* A table with these numbers of the host's that the transaction has written to, or NULL. */
extern const tg_table *tg_write_log_find_table(const tg_write_log *log, uint32_t database, uint32_t relation);

/* True if the transaction has written to a table whose writes are logged by the host. */
extern bool tg_write_log_is_logged(const tg_write_log *log);

/* Notes the end of a record that names the table (logged_at). */
extern void tg_table_note_logged(tg_table *table, uint64_t position);

/* Notes in all tables of the log that a record of the host's, with these writes, ends here. */
extern void tg_write_log_note(const tg_write_log *log, uint64_t position);

/*
 * True if the log has only inserts.  The collector does not need such a log once it is committed:
 * the committer may free it itself instead of handing it over.
 */
extern bool tg_write_log_is_lasting(const tg_write_log *log);

/* Frees all pieces and blocks and gives back the references on tables.  NULL is allowed. */
extern void tg_write_log_destroy(tg_session *session, tg_write_log *log);

#endif /* TG_WRITE_LOG_H */

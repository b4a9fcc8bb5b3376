/*
 * sessions.h
 *	  Loads and batches that are not transactional, by sessions of their own.
 *
 *	caller		   files -> records -> a queue for each session
 *	sessions	   groups of records -> COPY, or the statement -> COMMIT after each block
 *
 * A session is a background process that works as the caller's role, in its database and with its
 * settings.  It gets the rows of a block (commit_rows of them, or the last ones of a file), and
 * commits them.
 *
 * 1. The caller starts the sessions, and all of them have ended when it goes on, whatever comes: at
 *	  an error, an interrupt, or its own end it terminates them, and waits.
 * 2. A session counts the rows of a transaction in shared memory while it commits it.  So their
 *	  number is exact once all sessions have ended.
 * 3. Each session keeps the caller's locks on the tables, from its beginning to its end.  So it
 *	  never waits in a queue for one of them, behind a session that waits for the caller's.  Any
 *	  other lock of the caller's that a session waits for is an error: the caller looks for that
 *	  while it waits.
 */
#ifndef TSURUGI_SESSIONS_H
#define TSURUGI_SESSIONS_H

#include "postgres.h"

#include "port/atomics.h"

#include "src/copy/load.h"
#include "src/copy/load_records.h"

/* --- sessions.c --------------------------------------------------------------------------- */

/* The setting. */
extern int tsurugi_batch_sessions;

/*
 * Runs a load or a batch; what is committed stays, whatever comes.  25001: the transaction has
 * written, or holds locks that the sessions need.
 */
extern void tsurugi_load_by_sessions(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out,
									 int64 *transactions_out);

/* Defines the setting, when the library is loaded. */
extern void tsurugi_sessions_define(void);

/* --- between the two ---------------------------------------------------------------------- */

#define TSURUGI_SESSIONS_MAGIC 0x74675f73

/* Keys of the segment's contents. */
enum
{
	TSURUGI_SESSIONS_SHARED,
	TSURUGI_SESSIONS_SETTINGS,
	TSURUGI_SESSIONS_TASK,
	TSURUGI_SESSIONS_QUEUES /* for each session one to it, and one from it */
};

typedef struct tsurugi_sessions_shared
{
	Oid database;
	Oid authenticated_user; /* the caller's, as the following */
	Oid session_user;
	Oid role;
	Oid current_user;
	int security_context;
	pg_atomic_uint64 rows; /* committed */
	pg_atomic_uint64 transactions;
} tsurugi_sessions_shared;

/* What the caller sends.  A group is followed by its records and its text, a file by its words. */
typedef enum tsurugi_order_kind
{
	TSURUGI_ORDER_FILE,	 /* further groups are of this one; only at the beginning of a block */
	TSURUGI_ORDER_GROUP, /* store it */
	TSURUGI_ORDER_COMMIT
} tsurugi_order_kind;

typedef struct tsurugi_order
{
	int32 kind; /* tsurugi_order_kind */
	int32 count;
	int64 text_bytes;
	tsurugi_records_place done; /* COMMIT: what has been read more, for the view */
} tsurugi_order;

/* Types of messages that a session sends, beside errors and notices. */
#define TSURUGI_ANSWER_READY 'Y'
#define TSURUGI_ANSWER_DONE 'T'	  /* a block is committed: tsurugi_done */
#define TSURUGI_ANSWER_REJECT 'J' /* a row is left out */

typedef struct tsurugi_done
{
	int64 rows;
	tsurugi_records_place done;
} tsurugi_done;

/* --- session_task.c ----------------------------------------------------------------------- */

/* What is to be done, in words; *relation_out: InvalidOid of a batch. */
extern char *tsurugi_task_write(const tsurugi_load *load);
extern tsurugi_load *tsurugi_task_read(const char *words, Oid *relation_out);

/* The same of a file, and what COPY reads its records with. */
extern char *tsurugi_task_write_file(const tsurugi_load_file *file, const List *columns, const List *options);
extern tsurugi_load_file *tsurugi_task_read_file(const char *words, List **columns_out, List **options_out);

/* --- session_main.c ------------------------------------------------------------------------ */

/* The main function of a session; PostgreSQL finds it by name. */
extern PGDLLEXPORT void tsurugi_fdw_batch_main(Datum segment);

/* --- batch.c ------------------------------------------------------------------------------- */

/* A relation in no catalog, which has these columns. */
extern Relation tsurugi_batch_relation(const List *names, const Oid *types);

/* The statement of a batch, parsed. */
extern tsurugi_statement *tsurugi_batch_statement(char *text, struct Query **query_out);

#endif /* TSURUGI_SESSIONS_H */

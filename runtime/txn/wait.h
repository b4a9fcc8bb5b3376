/*
 * wait.h
 *	  Locks of rows, and waits for other transactions.
 */
#ifndef TG_WAIT_H
#define TG_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"

/* The strength of a row lock, as PostgreSQL defines it; row_lock.h has the table of conflicts. */
typedef enum tg_lock_mode
{
	TG_LOCK_KEY_SHARE,	   /* the row keeps its key */
	TG_LOCK_SHARE,		   /* the row stays as it is */
	TG_LOCK_NO_KEY_UPDATE, /* as an UPDATE that keeps the key */
	TG_LOCK_UPDATE		   /* as an UPDATE that changes the key, or a DELETE */
} tg_lock_mode;

/* The reason for a wait. */
typedef enum tg_wait_kind
{
	TG_WAIT_ROW,	  /* another transaction has written or locked a row, or a key */
	TG_WAIT_TURN,	  /* the same, behind others in the row's queue */
	TG_WAIT_OUTCOME,  /* another transaction's commit is under way */
	TG_WAIT_PRESERVE, /* a LONG preserves the area to be written or read */
	TG_WAIT_WRITER,	  /* a LONG's start: a transaction writes in its preserve */
	TG_WAIT_LONG	  /* a LONG's start: another LONG goes first */
} tg_wait_kind;

/*
 * The transaction that holds what a writer wants, or whose outcome a reader has to know (TG_BUSY).
 * For a write that met a unique key, also the place (TG_EXISTS, and TG_BUSY of a write that makes a
 * version).
 */
struct tg_wait
{
	uint64_t host;	 /* of the holder */
	unsigned subtxn; /* its subtransaction's number, 0: top level or later than TG_SUBTXN_LAST */
	unsigned txn;	 /* its descriptor's number */
	tg_wait_kind kind;
	/* The wait is for the row itself, behind those that wait for it already (row_lock.h, 7). */
	bool queues;
	tg_lock_mode mode; /* if it queues: how the row is to be held */
	/* If it queues: the row; else the row that has the key, or may turn out to have it. */
	uint32_t row;
	tg_index *index; /* of the key; NULL: the primary key's, or no key is concerned */
};

#endif /* TG_WAIT_H */

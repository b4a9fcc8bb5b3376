/*
 * author.h
 *	  The author of a commit time: for a transaction that has to be told whose commit it failed by.
 *
 * Known for the last commits of each session, and of each shared transaction.
 */
#ifndef TG_AUTHOR_H
#define TG_AUTHOR_H

#include <stdbool.h>

#include "runtime/base/names.h"
#include "runtime/txn/level.h"

typedef struct tg_author
{
	unsigned txn; /* the descriptor's number; from tg_session_max() on: of a shared transaction */
	tg_txn_kind kind;
	char label[TG_TXN_LABEL_BYTES]; /* "" if it had none, or if that is no longer known */
} tg_author;

/*
 * Draws a new time of the clock, for a commit of the host beside the writes of transactions:
 * storage is replaced or dropped.  The session's transaction, which has ended as far as the store
 * is concerned, is its author; the arguments describe it.  A few such times are remembered, too.
 */
extern tg_time tg_author_draw(tg_session *session, tg_txn_kind kind, tg_isolation isolation, const char *label);

/* The transaction that committed at this time.  False: that is too long ago.  Never waits. */
extern bool tg_author_find(tg_time time, tg_author *author_out);

/*
 * The time at which a version was committed, and at which it was replaced or deleted; 0: it is not,
 * or the time is unknown.  A copy (relocate.c) counts as the same version as its original: the copy
 * has no begin of its own, and the original has ended only when its copy has.  Inside an epoch.
 */
extern tg_time tg_version_began_at(tg_version version);
extern tg_time tg_version_ended_at(tg_version version);

#endif /* TG_AUTHOR_H */

/*
 * author.h
 *	  Who committed at a time: for those who have to be told whose commit they have failed by.
 *
 * Known of the last commits of each session, and of each shared transaction.
 */
#ifndef TG_AUTHOR_H
#define TG_AUTHOR_H

#include "runtime/txn/txn.h"

typedef struct tg_author
{
	unsigned txn; /* its descriptor's number: a session's, or from tg_session_max() on that of a shared one */
	tg_txn_kind kind;
	char label[TG_TXN_LABEL_BYTES]; /* "" if it had none, or if it is not known any more */
} tg_author;

/*
 * A new time of the clock, for what the host commits beside the writes of transactions: storage that takes the place of other, or goes.  The session's
 * transaction has ended, as far as it is one of the store's; it was this.  Known for some more such times.
 */
extern tg_time tg_author_draw(tg_session *session, tg_txn_kind kind, tg_isolation isolation, const char *label);

/* The transaction that committed at this time.  False: that is too long ago.  Waits for nobody. */
extern bool tg_author_find(tg_time time, tg_author *author_out);

/*
 * When a version was committed, or replaced or deleted; 0: it is not, or it is not known.  Copies
 * (relocate.c) are the version that they are copies of: they have not begun, and it has not ended before they have.
 * Inside an epoch.
 */
extern tg_time tg_version_began_at(tg_version version);
extern tg_time tg_version_ended_at(tg_version version);

#endif /* TG_AUTHOR_H */

/*
 * shown_text.h
 *	  Text as it is shown to users.
 */
#ifndef TSURUGI_SHOWN_TEXT_H
#define TSURUGI_SHOWN_TEXT_H

#include "postgres.h"

/*
 * Text from shared memory, as labels of transactions: a session of another database has written it
 * in that one's encoding.  Bytes that are no character of this one's are shown as question marks.
 */
extern char *tsurugi_shown_text(const char *text);

/*
 * "(id)=(1)" of a row, as details of errors have it.  Cut, with three dots, to the length that the
 * keys of PostgreSQL's own indexes can have: ours can be as long as any value, and details go to
 * the log.
 */
extern char *tsurugi_shown_key(char *key);

/* Copies as much of text as fits into bytes, the 0 at its end included, as whole characters. */
extern void tsurugi_copy_clipped(char *to, const char *text, size_t bytes);

#endif /* TSURUGI_SHOWN_TEXT_H */

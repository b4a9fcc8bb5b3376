/*
 * shown_text.h
 *	  Text as it is shown to users.
 */
#ifndef TSURUGI_SHOWN_TEXT_H
#define TSURUGI_SHOWN_TEXT_H

#include "postgres.h"

/*
 * Makes text from shared memory, such as labels of transactions, presentable: a session of another
 * database may have written it in that database's encoding.  Bytes that are not a character in this
 * one's encoding are shown as question marks.
 */
extern char *tsurugi_shown_text(const char *text);

/*
 * A row's key in details of errors, "(id)=(1)".  Truncated, with three dots, to the length that
 * keys of PostgreSQL's own indexes can have: keys in memory can be as long as any value, and
 * details go to the log.
 */
extern char *tsurugi_shown_key(char *key);

/* Copies as much of text as fits into bytes, including the terminating 0, in whole characters. */
extern void tsurugi_copy_clipped(char *to, const char *text, size_t bytes);

#endif /* TSURUGI_SHOWN_TEXT_H */

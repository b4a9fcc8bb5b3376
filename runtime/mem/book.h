/*
 * book.h
 *	  The bytes of a table, its indexes' included; quota.h has the limits.
 */
#ifndef TG_BOOK_H
#define TG_BOOK_H

#include <stdint.h>

#include "runtime/base/atomic.h"

#define TG_QUOTA_NONE INT64_MAX

typedef struct tg_account tg_account; /* opaque */

typedef struct tg_book
{
	int64_t bytes;		 /* atomic: in use; any session adds */
	int64_t granted;	 /* atomic: it may grow up to this unasked; written under the latch */
	int64_t counted;	 /* under the latch, as the rest: its part of the accounts' sums */
	tg_account *account; /* NULL: none */
	struct tg_book *next;
	struct tg_book *previous;
} tg_book;

/* A book that is on no account is unbounded. */
static inline void
tg_book_init(tg_book *book)
{
	*book = (tg_book){.granted = TG_QUOTA_NONE};
}

static inline void
tg_book_add(tg_book *book, int64_t bytes)
{
	tg_fetch_add_relaxed(&book->bytes, bytes);
}

#endif /* TG_BOOK_H */

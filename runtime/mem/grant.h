/*
 * grant.h
 *	  Whether a table may grow: quota.h has the limits.
 */
#ifndef TG_GRANT_H
#define TG_GRANT_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/book.h"
#include "runtime/mem/claim.h"

/* The slow half of tg_book_ask: asks the accounts. */
extern tg_status tg_book_ask_accounts(tg_book *book, size_t bytes) TG_MUST_USE;

/*
 * Whether the table may take so many bytes more: TG_OK or TG_OVER_QUOTA.  Any session, also under a
 * table's latch.
 */
static inline TG_MUST_USE tg_status
tg_book_ask(tg_book *book, size_t bytes, tg_claim claim)
{
	if ((claim != TG_DATA && claim != TG_BULK) ||
		tg_likely(tg_load_relaxed(&book->bytes) <= tg_load_relaxed(&book->granted) - (int64_t) bytes))
		return TG_OK;
	return tg_book_ask_accounts(book, bytes);
}

#endif /* TG_GRANT_H */

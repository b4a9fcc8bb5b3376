/*
 * alloc.h
 *	  Objects in the arena (arena.h).
 */
#ifndef TG_ALLOC_H
#define TG_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/names.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/use.h"

/*
 * Allocates, not zeroed.  NULL if refused.  The session's owner only.
 *
 * The object is aligned to the largest power of two that divides the size, up to TG_PAGE_BYTES: so
 * a structure whose size is a multiple of its alignment gets that alignment.  Whatever the size, it
 * is aligned at least to 8 bytes; from 257 bytes on to 16, from 1025 on to 64, from 16385 on to
 * TG_PAGE_BYTES.
 *
 * It occupies the size, rounded up to 8 bytes up to 256, to a 16th of the next lower power of two
 * up to 16 KiB, and to pages above.
 */
extern void *tg_alloc(tg_session *session, size_t bytes, tg_use use, tg_claim claim);
extern void *tg_alloc_zeroed(tg_session *session, size_t bytes, tg_use use, tg_claim claim);

/* Frees it; it may be allocated again at once.  Any session; use as in the allocation. */
extern void tg_free(tg_session *session, void *object, tg_use use);

/* The bytes that the object really occupies. */
extern size_t tg_alloc_bytes(const void *object);

/*
 * Between these two calls the session's claims belong to one transaction: once they exceed a 64th
 * of the limit, its TG_DATA claims are TG_BULK.  So a transaction that is too big for the memory is
 * refused while others still find some.  The session's owner only.
 */
extern void tg_claims_begin(tg_session *session);
extern void tg_claims_end(tg_session *session);

/*
 * Whether at most half of the slab that the object shares with others of its size is in use.  If
 * all such objects are allocated again elsewhere, and freed, whole spans of pages become free.
 */
extern bool tg_alloc_is_sparse(const void *object);

/* Gives the session's cached objects back to the arena.  The session's owner only. */
extern void tg_alloc_flush(tg_session *session);

#endif /* TG_ALLOC_H */

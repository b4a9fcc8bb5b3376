/*
 * btree_load.h
 *	  Making a B+tree of many entries at once, leaf by leaf.
 *
 * The entries come in ascending order.  The tree they are made for is empty all the
 * while, for everybody, and gets them in one step at the end.
 *
 * Several can each make a part, in sessions of their own: one load for the least
 * keys, and others that begin where the one before is to end, to be joined.
 */
#ifndef TG_BTREE_LOAD_H
#define TG_BTREE_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"

typedef struct tg_btree_load tg_btree_load;

/*
 * Of keys from low on, of which there will be one at least; NULL: of the least ones.  The nodes are
 * counted in the book of the tree that they are for.  TG_NO_MEMORY; later TG_OVER_QUOTA, too.
 */
extern tg_status tg_btree_load_begin(tg_session *session, tg_book *book, const void *low, size_t low_bytes,
									 tg_btree_load **load_out) TG_MUST_USE;

/* The next entry: its key is above that of the one before.  TG_NO_MEMORY; TG_TOO_LARGE as tg_btree_insert. */
extern tg_status tg_btree_load_add(tg_session *session, tg_btree_load *load, const void *key, size_t key_bytes,
								   uint32_t row) TG_MUST_USE;

/*
 * The part behind it is from now on part of this one; on failure both are as before.  Any session.
 */
extern tg_status tg_btree_load_join(tg_session *session, tg_btree_load *load, tg_btree_load *next) TG_MUST_USE;

/*
 * Puts what was loaded, from the least key on, into an empty tree, which nobody inserts into; others may look for
 * entries in it, and for ones to remove.  The load is over after TG_OK alone.  Inside an epoch.
 */
extern tg_status tg_btree_load_finish(tg_session *session, tg_btree_load *load, tg_btree *tree) TG_MUST_USE;

/* Instead: what was loaded goes. */
extern void tg_btree_load_abandon(tg_session *session, tg_btree_load *load);

#endif /* TG_BTREE_LOAD_H */

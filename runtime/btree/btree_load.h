/*
 * btree_load.h
 *	  Building a B+tree of many entries at once, leaf by leaf.
 *
 * The entries come in ascending order.  Meanwhile the tree for which they are loaded is empty for
 * all sessions; it gets the entries in one step at the end.
 *
 * Several sessions can each build a part: one load for the least keys, and others that begin where
 * the one before is to end; the parts are joined at the end.
 */
#ifndef TG_BTREE_LOAD_H
#define TG_BTREE_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/btree/btree.h"

typedef struct tg_btree_load tg_btree_load;

/*
 * Begins a load of keys from low on, of which there will be at least one; NULL: of the least keys.
 * The nodes are counted in the book of the tree to be built.  TG_NO_MEMORY; later TG_OVER_QUOTA,
 * too.
 */
extern tg_status tg_btree_load_begin(tg_session *session, tg_book *book, const void *low, size_t low_bytes,
									 tg_btree_load **load_out) TG_MUST_USE;

/*
 * Adds the next entry; its key is above that of the one before.  TG_NO_MEMORY; TG_TOO_LARGE as
 * tg_btree_insert.
 */
extern tg_status tg_btree_load_add(tg_session *session, tg_btree_load *load, const void *key, size_t key_bytes,
								   uint32_t row) TG_MUST_USE;

/* Appends the part behind this one to it; on failure both are as before.  Any session. */
extern tg_status tg_btree_load_join(tg_session *session, tg_btree_load *load, tg_btree_load *next) TG_MUST_USE;

/*
 * Puts the loaded entries, from the least key on, into an empty tree, into which no session
 * inserts; other sessions may look for entries in it, also to remove them.  The load ends only with
 * TG_OK.  Inside an epoch.
 */
extern tg_status tg_btree_load_finish(tg_session *session, tg_btree_load *load, tg_btree *tree) TG_MUST_USE;

/* Frees the load and its entries instead. */
extern void tg_btree_load_abandon(tg_session *session, tg_btree_load *load);

#endif /* TG_BTREE_LOAD_H */

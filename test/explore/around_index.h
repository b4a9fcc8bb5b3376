/*
 * around_index.h
 *	  For searches that compile runtime/index/index.c: functions that it refers to and that none of
 *	  them calls.  Included behind it.
 */
#ifndef TG_EXPLORE_AROUND_INDEX_H
#define TG_EXPLORE_AROUND_INDEX_H

#include <stdlib.h>

#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/session.h"
#include "runtime/mem/use.h"
#include "runtime/btree/btree.h"
#include "runtime/order/key.h"
#include "runtime/order/key_list.h"
#include "runtime/table/registry.h"
#include "runtime/table/table.h"
#include "runtime/txn/unflushed.h"

#define UNUSED_HERE(declaration)                                                                                       \
	declaration                                                                                                        \
	{                                                                                                                  \
		abort();                                                                                                       \
	}

uint32_t *tg_unflushed_count; /* NULL: there are no notes to look for */

UNUSED_HERE(void tg_latch_init(tg_latch *latch, tg_rank rank))
UNUSED_HERE(void tg_latch_acquire(tg_latch *latch))
UNUSED_HERE(void tg_latch_release(tg_latch *latch))
UNUSED_HERE(void *tg_alloc_zeroed(tg_session *session, size_t bytes, tg_use use, tg_claim claim))
UNUSED_HERE(void tg_free(tg_session *session, void *object, tg_use use))
UNUSED_HERE(tg_status tg_btree_create(tg_session *session, tg_book *book, tg_claim claim, tg_btree **tree_out))
UNUSED_HERE(void tg_btree_destroy(tg_session *session, tg_btree *tree))
UNUSED_HERE(tg_status tg_btree_find(tg_btree *tree, const void *key, size_t key_bytes, uint32_t *row_out))
UNUSED_HERE(tg_status tg_hidden_create(tg_session *session, tg_index *index, tg_claim claim))
UNUSED_HERE(void tg_key_list_open(tg_key_list *list, const tg_string *string, unsigned header_bytes))
UNUSED_HERE(bool tg_key_list_has(const tg_key_list *list, const void *key, size_t bytes))
UNUSED_HERE(void tg_table_release(tg_session *session, tg_table *table))
UNUSED_HERE(uint64_t tg_incarnation_next(void))
UNUSED_HERE(uint64_t tg_epoch_now(void))
UNUSED_HERE(void tg_epoch_advance(void))
UNUSED_HERE(uint64_t tg_epoch_confirmed(void))
UNUSED_HERE(void tg_unflushed_look(unsigned reader, tg_time time))
UNUSED_HERE(size_t tg_key_append_null(unsigned char *key, size_t at, const tg_key_part *part))

#endif /* TG_EXPLORE_AROUND_INDEX_H */

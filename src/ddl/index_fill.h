/*
 * index_fill.h
 *	  What an index keeps of the rows that are there, computed.
 */
#ifndef TSURUGI_INDEX_FILL_H
#define TSURUGI_INDEX_FILL_H

#include "utils/rel.h"

#include "runtime/runtime.h"

/*
 * Computes the hidden values of the versions that an index in the storage, which is to be built, finds.  exclusive: nobody
 * else writes to the table meanwhile.  Nothing to do for an index that has none.
 */
extern void tsurugi_index_fill(Relation relation, tg_index *index, bool exclusive);

#endif /* TSURUGI_INDEX_FILL_H */

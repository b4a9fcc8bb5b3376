/*
 * index_fill.h
 *	  Computes an index's hidden values for the existing rows.
 */
#ifndef TSURUGI_INDEX_FILL_H
#define TSURUGI_INDEX_FILL_H

#include "utils/rel.h"

#include "runtime/base/names.h"

/*
 * Computes the hidden values for the versions that an index in the storage, which is to be built,
 * finds.  exclusive: no other transaction writes to the table meanwhile.  Does nothing for an index
 * without hidden values.
 */
extern void tsurugi_index_fill(Relation relation, tg_index *index, bool exclusive);

#endif /* TSURUGI_INDEX_FILL_H */

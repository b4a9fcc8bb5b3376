/*
 * index_build.h
 *	  Builds the storage's indexes from the existing rows.
 */
#ifndef TSURUGI_INDEX_BUILD_H
#define TSURUGI_INDEX_BUILD_H

#include "utils/rel.h"

#include "runtime/base/names.h"
#include "src/table/relation.h"

/*
 * Fills an index that is in the table's list and empty.  Exclusive: no other transaction writes to
 * the relation (ShareLock); otherwise all transactions that have written to it since before the
 * index was in the list have ended.  Raises 23505 if the index must be unique and the rows are not;
 * can be interrupted.  After an error the index is unusable.
 */
extern void tsurugi_index_build(Relation relation, tg_index *index, bool exclusive);

#endif /* TSURUGI_INDEX_BUILD_H */

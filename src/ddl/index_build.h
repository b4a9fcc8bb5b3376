/*
 * index_build.h
 *	  Filling the storage's indexes from the rows that are there.
 */
#ifndef TSURUGI_INDEX_BUILD_H
#define TSURUGI_INDEX_BUILD_H

#include "utils/rel.h"

#include "src/table/relation.h"

/*
 * Fills an index that is in the table's list, and empty.  Exclusive: nobody else writes to the
 * relation (ShareLock); else all who have written to it since before the index was in the list have ended.
 * Raises 23505 if it is to be unique and rows are not; can be interrupted.  After an error the index is no good.
 */
extern void tsurugi_index_build(Relation relation, tg_index *index, bool exclusive);

#endif /* TSURUGI_INDEX_BUILD_H */

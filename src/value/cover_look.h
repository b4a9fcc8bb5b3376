/*
 * cover_look.h
 *	  Finds out which covers exist in an index.
 */
#ifndef TSURUGI_COVER_LOOK_H
#define TSURUGI_COVER_LOOK_H

#include "runtime/base/names.h"
#include "src/value/cover.h"
#include "src/value/key_column.h"

typedef struct tg_btree tg_btree; /* btree.h */

/*
 * Finds out which covers exist in an index with such a column, behind the encoding of all columns
 * before it.
 */
extern void tsurugi_covers_look(tg_session *session, tg_btree *tree, const tsurugi_key_column *column,
								const unsigned char *before, size_t before_bytes, tsurugi_cover_levels *levels);

#endif /* TSURUGI_COVER_LOOK_H */

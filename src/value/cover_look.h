/*
 * cover_look.h
 *	  Which covers there are in an index.
 */
#ifndef TSURUGI_COVER_LOOK_H
#define TSURUGI_COVER_LOOK_H

#include "runtime/runtime.h"
#include "src/value/cover.h"
#include "src/value/key_column.h"

/*
 * What covers there are in an index of such a column, behind what all columns before are encoded
 * to.
 */
extern void tsurugi_covers_look(tg_session *session, tg_btree *tree, const tsurugi_key_column *column,
								const unsigned char *before, size_t before_bytes, tsurugi_cover_levels *levels);

#endif /* TSURUGI_COVER_LOOK_H */

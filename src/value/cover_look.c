/*
 * cover_look.c
 *	  Finds out which covers exist in an index: a look-up or two for each level.
 */
#include "postgres.h"

#include "src/value/cover_look.h"

#include "runtime/base/check.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/btree/btree.h"
#include "src/value/plane.h"

/* The first or the last key with this prefix; false: there is none. */
static bool
find_key(tg_btree *tree, const unsigned char *low, size_t low_bytes, const unsigned char *high, size_t high_bytes,
		 bool backward, unsigned char *found, uint16 *bytes_out)
{
	unsigned char room[TG_KEY_BYTES_MAX + sizeof(uint16)];
	tg_btree_keys keys = {.bytes = room, .capacity = sizeof(room)};
	tg_btree_cursor cursor;
	uint32_t row;

	tg_btree_cursor_init(&cursor, tree, low, low_bytes, true, high, high_bytes, true, backward);
	if (tg_btree_cursor_next_keys(&cursor, &row, 1, &keys) == 0)
		return false;
	memcpy(bytes_out, keys.bytes, sizeof(*bytes_out));
	memcpy(found, keys.bytes + sizeof(*bytes_out), *bytes_out);
	return true;
}

void
tsurugi_covers_look(tg_session *session, tg_btree *tree, const tsurugi_key_column *column, const unsigned char *before,
					size_t before_bytes, tsurugi_cover_levels *levels)
{
	unsigned char low[TG_KEY_BYTES_MAX + 2];
	unsigned char found[TG_KEY_BYTES_MAX];
	uint16 bytes;
	size_t at;

	levels->present = 0;
	memcpy(low, before, before_bytes);
	at = tg_key_append_not_null(low, before_bytes, &column->part);
	if (at >= TG_KEY_BYTES_MAX) /* also SIZE_MAX */
		return;
	low[at] = TSURUGI_COVER_LEVEL(0);
	tg_epoch_enter(session);
	while (find_key(tree, low, at + 1, at > 0 ? low : NULL, at, false, found, &bytes))
	{
		int level = found[at] - TSURUGI_COVER_LEVEL_FIRST;

		tg_assert(level >= 0 && level <= TSURUGI_COVER_LEVEL_MAX);
		levels->present |= UINT64CONST(1) << level;
		low[at] = found[at];
		tg_key_string_bytes(found, bytes, at, levels->first[level], TSURUGI_COVER_BYTES_MAX);
		if (tsurugi_plane_has(column->type) && find_key(tree, low, at + 1, low, at + 1, true, found, &bytes))
			tg_key_string_bytes(found, bytes, at, levels->last[level], TSURUGI_COVER_BYTES_MAX);
		else
			memcpy(levels->last[level], levels->first[level], TSURUGI_COVER_BYTES_MAX);
		low[at]++;
	}
	tg_epoch_leave(session);
}

/*
 * sound.h
 *	  Whether keys can be made of values that were read.
 *
 * What was read need not be what was once written, whatever checksums say.  The code that makes
 * keys relies on what the host has made sure of: that a part of the primary key is not NULL, that a
 * string is as long as the host's header at least, that a list of keys is one.  So values are
 * looked at before.
 */
#ifndef TG_SOUND_H
#define TG_SOUND_H

#include <stdbool.h>

#include "runtime/order/key.h"
#include "runtime/order/value.h"

/*
 * Whether a part of a key can be made of this value (NULL: it is NULL) of this kind.  several: of
 * an index with a list of keys for each version.
 */
extern bool tg_part_is_sound(const tg_value *value, tg_kind kind, const tg_key_part *part, bool several);

#endif /* TG_SOUND_H */

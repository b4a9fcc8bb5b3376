/*
 * find.h
 *	  An index of a table, by the host's number.
 */
#ifndef TG_FIND_H
#define TG_FIND_H

#include <stdint.h>

#include "runtime/base/names.h"

/*
 * The table's index with this number (of two, the one that is not retired), or NULL.  Under the
 * host's lock, or in an epoch.
 */
extern tg_index *tg_index_find(const tg_table *table, uint32_t host);

#endif /* TG_FIND_H */

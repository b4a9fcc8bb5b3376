/*
 * failpoint.c
 *	  The hook that failpoints call.
 */
#include "runtime/base/failpoint.h"

#ifdef TG_FAILPOINTS

#include <stddef.h>

#include "runtime/base/atomic.h"

static tg_failpoint_hook failpoint_hook;

void
tg_failpoint_set(tg_failpoint_hook hook)
{
	tg_store_release(&failpoint_hook, hook); /* pairs with tg_failpoint_refuses */
}

bool
tg_failpoint_refuses(const char *name)
{
	tg_failpoint_hook hook = tg_load_acquire(&failpoint_hook); /* pairs with tg_failpoint_set */

	return hook != NULL && hook(name);
}

#endif

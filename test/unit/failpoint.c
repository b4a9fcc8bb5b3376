/*
 * failpoint.c
 *	  A hook sees the places that are passed and makes one of them fail.
 */
#include "runtime/base/failpoint.h"

#include <string.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "test/unit/unit.h"

#ifdef TG_FAILPOINTS

static unsigned passed;
static unsigned fails_at;

static bool
refuse_one(const char *name)
{
	return strcmp(name, "alloc") == 0 && ++passed == fails_at;
}

int
main(void)
{
	tg_arena_config config = {.reserve_bytes = 1 << 24, .limit_bytes = 1 << 24, .session_max = 1};
	tg_session *session;
	unsigned refused = 0;

	if (tg_arena_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		return 1;
	fails_at = 3;
	tg_failpoint_set(refuse_one);
	for (unsigned i = 1; i <= 5; i++)
	{
		void *object = tg_alloc(session, 64, TG_USE_BLOB, TG_ESSENTIAL);

		if (object == NULL)
			refused = refused == 0 ? i : 100;
		else
			tg_free(session, object, TG_USE_BLOB);
	}
	unit_equal(passed, 5, "the hook is called at each pass");
	unit_equal(refused, 3, "the pass that the hook refuses fails, no other");
	tg_failpoint_set(NULL);
	tg_free(session, tg_alloc(session, 64, TG_USE_BLOB, TG_DATA), TG_USE_BLOB);
	unit_equal(passed, 5, "without a hook nothing is called");
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}

#else

int
main(void)
{
	unit_ok(!tg_failpoint_refuses("alloc"), "compiled out: nothing is refused");
	tg_failpoint("alloc");
	return unit_done();
}

#endif

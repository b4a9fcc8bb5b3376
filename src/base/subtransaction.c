/*
 * subtransaction.c
 *	  Errors that a subtransaction has caught, and cannot handle.
 */
#include "postgres.h"

#include "src/base/subtransaction.h"

#include "access/xact.h"

void
tsurugi_subtransaction_raise(void)
{
	ErrorData *error = CopyErrorData();

	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
	ReThrowError(error);
}

/*
 * status_error.c
 *	  The errors of the runtime's results.
 */
#include "postgres.h"

#include "src/base/status_error.h"

#include "miscadmin.h"

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/order/key_spec.h"
#include "src/base/session.h"

static tsurugi_error_raiser raisers[TG_FORBIDDEN + 1]; /* by status */

void
tsurugi_error_register(tg_status status, tsurugi_error_raiser raise)
{
	raisers[status] = raise;
}

static void
error_no_memory(Relation relation)
{
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory for tables of tsurugi_fdw"),
					tsurugi_session()->privileged
						? errdetail("The limit set by tsurugi_fdw.memory is reached.")
						: errdetail("The limit set by tsurugi_fdw.memory is reached, but for the part that "
									"tsurugi_fdw.memory_reserved keeps for superusers."),
					errhint("Increase tsurugi_fdw.memory in the server's configuration and reload it, or delete "
							"rows."),
					relation != NULL ? errtable(relation) : 0));
}

/*
 * The runtime does not tell which maximum was exceeded; data can reach only that of a key's length.
 */
static void
error_too_large(Relation relation)
{
	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("value is too large")));
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("key of a row of \"%s\" is too large", RelationGetRelationName(relation)),
			 errdetail("Keys can have up to %d bytes as they are stored.", TG_KEY_BYTES_MAX), errtable(relation)));
}

void
tsurugi_error(tg_status status, Relation relation)
{
	if (raisers[status] != NULL)
		raisers[status](relation);
	switch (status)
	{
		case TG_NO_MEMORY:
			error_no_memory(relation);
			break;
		case TG_TOO_LARGE:
			error_too_large(relation);
			break;
		case TG_FULL:
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							relation != NULL ? errmsg("foreign table \"%s\" has no room for more rows",
													  RelationGetRelationName(relation))
											 : errmsg("too many jobs or snapshots in tsurugi_fdw")));
			break;
		case TG_CANCELLED:
			CHECK_FOR_INTERRUPTS();
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED), errmsg("canceling statement because its job was cancelled")));
			break;
		case TG_STOPPED:
			ereport(ERROR, (errcode(ERRCODE_CANNOT_CONNECT_NOW), errmsg("the worker of tsurugi_fdw is not running"),
							errhint("It is restarted by itself; try again in a moment.")));
			break;
		default:
			elog(ERROR, "unexpected result %d of the runtime", (int) status);
	}
	pg_unreachable();
}

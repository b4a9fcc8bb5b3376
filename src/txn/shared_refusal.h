/*
 * shared_refusal.h
 *	  What is refused of transactions that several sessions work in.
 */
#ifndef TSURUGI_SHARED_REFUSAL_H
#define TSURUGI_SHARED_REFUSAL_H

#include "postgres.h"

typedef enum tsurugi_shared_refusal
{
	/* where one begins, is exported, or is attached to */
	TSURUGI_SHARED_IN_PARALLEL,
	TSURUGI_SHARED_ALREADY,
	TSURUGI_SHARED_TOO_LATE,
	TSURUGI_SHARED_IN_SUBTRANSACTION,
	TSURUGI_SHARED_OUTSIDE_BLOCK,
	TSURUGI_SHARED_AFTER_DEFINITIONS,
	TSURUGI_SHARED_OF_RANGES,
	TSURUGI_SHARED_ENDED,
	/* while a session works in it */
	TSURUGI_SHARED_OTHER_KIND,
	TSURUGI_SHARED_OTHER_LEVEL,
	TSURUGI_SHARED_JOINED_IN_PARALLEL,
	TSURUGI_SHARED_COMMAND,
	TSURUGI_SHARED_PREPARED,
	TSURUGI_SHARED_ORDINARY_WRITES,
	/* where it is loaded into by its handle */
	TSURUGI_SHARED_LOADED_OTHER_KIND,
	TSURUGI_SHARED_LOADS_INTO_ANOTHER,
	TSURUGI_SHARED_LOADED_PREPARED,
	/* where it, or a session's part in it, ends */
	TSURUGI_SHARED_DETACHED_BY_OWNER,
	TSURUGI_SHARED_DETACHED_TOO_EARLY,
	TSURUGI_SHARED_OF_A_SESSION
} tsurugi_shared_refusal;

/* Raises the error; subject is what its message names, "" if it names nothing. */
extern void tsurugi_shared_refuse(tsurugi_shared_refusal refusal, const char *subject) pg_attribute_noreturn();

#endif /* TSURUGI_SHARED_REFUSAL_H */

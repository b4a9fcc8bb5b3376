/*
 * response.c
 *	  What a COMMIT waits for before it answers: tsurugi_fdw.commit_response.
 *
 * Tsurugi's words, and the levels of synchronous_commit that they mean:
 *
 *	accepted, available		off: the commit is visible to all; a crash may still take it back
 *	stored					local: its record is flushed
 *	propagated				what the session has, if that waits for standbys, otherwise on
 *	default					what the session has
 *
 * PostgreSQL answers a COMMIT when it is visible, so accepted, which means less in Tsurugi, is the
 * same as available.
 *
 * 1. The setting acts on synchronous_commit, as SET LOCAL does, in PRE_COMMIT.  So it decides in
 *	  the same way about a transaction that its own record commits (logging.c) and about one that
 *	  PostgreSQL's record commits, because that has changed ordinary tables, too.
 * 2. Transactions that have logged nothing of ours keep synchronous_commit.
 */
#include "postgres.h"

#include "src/txn/response.h"

#include "access/xact.h"
#include "utils/guc.h"

typedef enum response
{
	RESPONSE_DEFAULT,
	RESPONSE_ACCEPTED,
	RESPONSE_AVAILABLE,
	RESPONSE_STORED,
	RESPONSE_PROPAGATED
} response;

static const struct config_enum_entry responses[] = {
	{"default", RESPONSE_DEFAULT, false},		{"accepted", RESPONSE_ACCEPTED, false},
	{"available", RESPONSE_AVAILABLE, false},	{"stored", RESPONSE_STORED, false},
	{"propagated", RESPONSE_PROPAGATED, false}, {NULL, 0, false}};

static int commit_response;

/* NULL: what it is. */
static const char *
wanted_level(void)
{
	switch ((response) commit_response)
	{
		case RESPONSE_DEFAULT:
			return NULL;
		case RESPONSE_ACCEPTED:
		case RESPONSE_AVAILABLE:
			return "off";
		case RESPONSE_STORED:
			return "local";
		case RESPONSE_PROPAGATED:
			return synchronous_commit > SYNCHRONOUS_COMMIT_LOCAL_FLUSH ? NULL : "on";
	}
	return NULL;
}

static void
apply(GucAction action)
{
	const char *level = wanted_level();

	if (level != NULL)
		(void) set_config_option("synchronous_commit", level, PGC_USERSET, PGC_S_SESSION, action, true, 0, false);
}

void
tsurugi_response_for_transaction(void)
{
	apply(GUC_ACTION_LOCAL);
}

int
tsurugi_response_begin(void)
{
	int level = NewGUCNestLevel();

	apply(GUC_ACTION_SAVE);
	return level;
}

void
tsurugi_response_end(int level)
{
	AtEOXact_GUC(true, level);
}

void
tsurugi_response_define(void)
{
	DefineCustomEnumVariable("tsurugi_fdw.commit_response", "What a COMMIT waits for before it answers.",
							 "For transactions that have changed logged tables of tsurugi_fdw, instead of "
							 "synchronous_commit.  default is what synchronous_commit says.",
							 &commit_response, RESPONSE_DEFAULT, responses, PGC_USERSET, 0, NULL, NULL, NULL);
}

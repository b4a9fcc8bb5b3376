/*
 * utility.h
 *	  Utility statements, and ways to run them or parts of them.
 */
#ifndef TSURUGI_UTILITY_H
#define TSURUGI_UTILITY_H

#include "postgres.h"

#include "tcop/utility.h"

/* A statement as the hook receives it. */
typedef struct tsurugi_utility
{
	PlannedStmt *statement;
	const char *text;
	bool read_only;
	ProcessUtilityContext context;
	ParamListInfo parameters;
	QueryEnvironment *environment;
	DestReceiver *destination;
	QueryCompletion *completion;
} tsurugi_utility;

/* Passes the statement to the previous hook, finally to PostgreSQL. */
extern void tsurugi_utility_run(const tsurugi_utility *utility);

/* Runs another tree instead of the written one; this library's own hook does not see it. */
extern void tsurugi_utility_run_instead(const tsurugi_utility *utility, Node *tree);

/* Runs a statement of this library, through the hook, as a part of the written one. */
extern void tsurugi_utility_run_part(const tsurugi_utility *utility, Node *tree);

/*
 * The same without a utility statement at hand: with this text; the changes become visible to the
 * next command.
 */
extern void tsurugi_utility_run_own(Node *tree, const char *text);

/* Runs a part of the written statement without telling event triggers. */
extern void tsurugi_utility_run_untold(const tsurugi_utility *utility, Node *tree);

/* A part of a statement; it fires no event triggers, because its context is that of a part. */
typedef void (*tsurugi_utility_part)(const tsurugi_utility *utility, void *argument);

/*
 * Runs a part between the event triggers of the written statement, as ProcessUtilitySlow does, so
 * that they see the whole.  If the written statement is a part itself, there are none.
 */
extern void tsurugi_utility_with_events(const tsurugi_utility *utility, Node *written, tsurugi_utility_part run,
										void *argument);

/*
 * Sets whether the next statement, which SPI is about to run, is a part.  The caller resets it,
 * after an error, too.
 */
extern void tsurugi_utility_next_is_part(bool is_part);

#endif /* TSURUGI_UTILITY_H */

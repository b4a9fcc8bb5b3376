/*
 * utility.h
 *	  Utility statements, as the files that take part in them pass them on.
 */
#ifndef TSURUGI_UTILITY_H
#define TSURUGI_UTILITY_H

#include "postgres.h"

#include "tcop/utility.h"

/* A statement as the hook gets it. */
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

/* Hands the statement on to who was there before, PostgreSQL in the end. */
extern void tsurugi_utility_run(const tsurugi_utility *utility);

/* Runs another tree in the place of what was written; not seen by our own hook. */
extern void tsurugi_utility_run_instead(const tsurugi_utility *utility, Node *tree);

/* Runs a statement of ours, from the hook on, as a part of what was written. */
extern void tsurugi_utility_run_part(const tsurugi_utility *utility, Node *tree);

/* The same where the hook is not at hand: with this text, and visible to what comes next. */
extern void tsurugi_utility_run_own(Node *tree, const char *text);

/* As a part of what was written, of which event triggers are not told. */
extern void tsurugi_utility_run_untold(const tsurugi_utility *utility, Node *tree);

/* A part of a statement, which fires no event triggers: its context is a part's. */
typedef void (*tsurugi_utility_part)(const tsurugi_utility *utility, void *argument);

/*
 * Runs a part between the event triggers of what was written, as ProcessUtilitySlow has them: so
 * that they see the whole.  If what was written is a part itself, there are none.
 */
extern void tsurugi_utility_with_events(const tsurugi_utility *utility, Node *written, tsurugi_utility_part run,
										void *argument);

/*
 * Whether the next statement, which PostgreSQL's SPI is about to run, is a part.  To be taken back,
 * after an error, too.
 */
extern void tsurugi_utility_next_is_part(bool is_part);

#endif /* TSURUGI_UTILITY_H */

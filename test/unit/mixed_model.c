/*
 * mixed_model.c
 *	  The protocol of src/txn/mixed.c, all its interleavings.
 *
 * Transactions that change foreign and ordinary tables, followers that build on their changes,
 * readers at each level, and a collector.  Each step is one access to shared state, in any order
 * (so this shows the protocol, not the memory orders, for which mixed.c and horizon.c argue).  A
 * section under the lock of mixed.c is one step if it reads and changes only state that this lock
 * protects.
 *
 *	committer	tsurugi_mixed_begin (lock, newest, tg_horizon_keep,
 *				tg_txn_prepare: PREPARING, C, PREPARED(C); unlock),
 *				PostgreSQL's moment (ProcArrayEndTransaction: no longer among the running,
 *				latestCompletedXid grows) or its failure,
 *				tsurugi_mixed_end (lock, E and L, ring; unlock),
 *				tg_txn_commit (COMMITTED, stamps, the log given, entry withdrawn)
 *	statement	PostgreSQL's snapshot (GetSnapshotData),
 *				tg_snapshot_publish (bound, clock, point), tsurugi_mixed_match,
 *				then row by row tg_txn_read_chain, and tg_txn_newest for the row to write:
 *				with W5's redrawing at REPEATABLE READ and extension at SERIALIZABLE
 *				(isolation.c), validation (validate.c)
 *	gate		tsurugi_moment_begin (moment.c) for LONG and READ ONLY among ordinary
 *				tables, or tsurugi_mixed_misfit
 *	import		tg_snapshot_adopt (entry, count) of an exporter's time, under the lock of
 *				the list of exports (snapshot_export.c)
 *	collector	tg_readings_gather entry by entry, then all versions that
 *				tg_readings_miss, of logs that it was given
 *	time		mixed.c's rule 6: it is over at every look (forget_old), or never
 *
 * PostgreSQL's snapshot is the set of mixed commits that it shows, xmin and xmax.  When all have
 * ended, no reader may have seen one half of a commit without the other, nor a change without those
 * that it was built on, and the reads and writes of a SERIALIZABLE transaction must belong to one
 * moment in the order of C.  While they run, a version that is read must still be there, a written
 * one must have been the newest one seen, a snapshot of which all is known must not fail, and some
 * thread must be able to go on.
 *
 * All states are visited, for each of some small sets of transactions; with the argument «long» for
 * larger ones, too.  Then the same with each rule left out, which must show.
 */
#include "test/unit/mixed_steps.h"

#define STATES_BITS_LONG 27 /* a table of 1 GB */

/* --- the search ------------------------------------------------------------------------------- */

static bool
all_have_ended(const model *state)
{
	for (unsigned i = 0; i < THREADS; i++)
		if (takes_part(i) && state->threads[i].result == RUNNING)
			return false;
	return true;
}

static void
visit(model *state)
{
	bool stands = true;

	if (fault != NULL || !states_add(state, sizeof(*state)))
		return;
	if (all_have_ended(state))
	{
		judge(state);
		return;
	}
	for (unsigned i = 0; i < THREADS; i++)
	{
		for (unsigned choice = 0; choice < 2; choice++)
		{
			model next = *state;

			if (!step_thread(&next, i, choice))
				continue;
			stands = false;
			visit(&next);
		}
	}
	if (stands)
		fail("no thread can continue");
	for (unsigned i = 0; i < 2; i++)
	{
		model next = *state;

		if (i == 0 ? step_collector(&next) : step_age(&next))
			visit(&next);
	}
}

static void
start(model *state)
{
	memset(state, 0, sizeof(*state));
	state->clock = FIRST;
	for (unsigned row = 0; row < ROWS; row++)
		state->chain[row][state->count[row]++] = INITIAL;
	for (unsigned i = 0; i < THREADS; i++)
	{
		const script *me = script_of(i);

		state->threads[i].at = me->level == NONE		? PRE_COMMIT
							   : me->level == WHOLE		? GATE_CLOSE
							   : me->level == FITTED	? FIT_BOUND
							   : me->level == IMPORTED	? IMPORT
							   : left_out == HOST_FIRST ? TIME_EARLY
														: HOST;
		for (unsigned row = 0; row < ROWS && me->level == NONE; row++)
			if ((me->writes & bit(row)) != 0)
				state->chain[row][state->count[row]++] = (uint8_t) i;
	}
}

static const scenario scenarios[] = {
	{.name = "a commit, a reader",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true}, {.level = RC, .reads = X | Y}}},
	{.name = "two commits, a reader",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.writes = Y, .kind = MIXED},
				 {.level = RC, .reads = X | Y}}},
	{.name = "a commit, a change built on it, a reader",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.level = RC, .reads = X, .writes = Y, .kind = FOREIGN},
				 {.level = RR, .reads = X | Y}}},
	{.name = "a commit, a change built on its ordinary half, a reader",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.level = RC, .writes = Y, .kind = FOREIGN},
				 {.level = RR, .reads = X | Y}}},
	{.name = "a commit, a program's change built on it, a reader",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.level = RC, .reads = X, .writes = Y, .kind = FOREIGN, .is_native = true},
				 {.level = RR, .reads = X | Y}}},
	{.name = "a commit, another upon it, a reader",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.level = RC, .writes = X, .kind = MIXED},
				 {.level = RR, .reads = X | Y}}},
	{.name = "a commit, an ordinary one upon it, a reader",
	 .scripts = {{.writes = X, .kind = MIXED}, {.level = RC, .reads = X, .kind = ORDINARY}, {.level = RC, .reads = X}}},
	{.name = "a commit, a foreign one, a reader, a collector",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.writes = Y, .kind = FOREIGN},
				 {.level = RC, .reads = X | Y}},
	 .collections = 1,
	 .ages = 1},
	{.name = "two commits, a reader, a collector",
	 .scripts = {{.writes = X, .kind = MIXED}, {.writes = Y, .kind = MIXED}, {.level = RR, .reads = X | Y}},
	 .collections = 1},
	{.name = "commits, a reader, time",
	 .scripts = {{.writes = X, .kind = MIXED}, {.kind = ORDINARY}, {.level = RC, .reads = X}},
	 .ages = 2},
	{.name = "an update beside a commit",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.level = RR, .writes = X, .kind = FOREIGN},
				 {.level = RR, .reads = Y, .writes = X, .kind = FOREIGN}}},
	{.name = "an extension beside a commit",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.writes = Y, .kind = FOREIGN},
				 {.level = SER, .reads = X, .writes = Y, .kind = FOREIGN}}},
	{.name = "an extension that excludes, a collector",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.writes = Y, .kind = FOREIGN},
				 {.level = SER, .writes = Y, .kind = FOREIGN, .then = X}},
	 .collections = 1,
	 .ages = 1},
	{.name = "a commit in a circle",
	 .scripts = {{.level = SER, .reads = Y, .writes = X, .kind = MIXED},
				 {.level = SER, .writes = Y, .kind = FOREIGN},
				 {.level = SER, .reads = X | Y}}},
	{.name = "one moment, a commit, a change built on it",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.level = RC, .reads = X, .writes = Y, .kind = FOREIGN},
				 {.level = WHOLE, .reads = X | Y}}},
	{.name = "one moment, two commits",
	 .scripts = {{.writes = X, .kind = MIXED}, {.writes = Y, .kind = MIXED}, {.level = WHOLE, .reads = X | Y}}},
	{.name = "a moment that has to fit",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.writes = Y, .kind = MIXED},
				 {.level = FITTED, .reads = X | Y}},
	 .ages = 2},
	{.name = "an importer, its exporter, a commit, a collector",
	 .scripts = {{.level = IMPORTED, .reads = X}, {.level = RR, .reads = X | Y}, {.writes = X, .kind = MIXED}},
	 .collections = 1,
	 .ages = 1},
	{.name = "an importer, its exporter, a commit, a change built on it",
	 .scripts = {{.level = IMPORTED, .reads = X | Y},
				 {.level = RR, .reads = X},
				 {.writes = X, .kind = MIXED, .may_fail = true},
				 {.level = RC, .reads = X, .writes = Y, .kind = FOREIGN}},
	 .is_long = true},
	{.name = "three commits, a reader",
	 .scripts = {{.writes = X, .kind = MIXED, .may_fail = true},
				 {.writes = Y, .kind = MIXED},
				 {.level = RC, .writes = X, .kind = MIXED},
				 {.level = RC, .reads = X | Y}},
	 .is_long = true},
	{.name = "two commits, changes built on them, a reader",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.level = RC, .writes = X, .kind = MIXED},
				 {.level = RC, .reads = X, .writes = Y, .kind = FOREIGN},
				 {.level = RR, .reads = X | Y}},
	 .is_long = true},
	{.name = "two commits, a foreign one, a reader, a collector",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.writes = Y, .kind = FOREIGN},
				 {.level = RC, .writes = X, .kind = MIXED},
				 {.level = RR, .reads = X | Y}},
	 .collections = 1,
	 .ages = 1,
	 .is_long = true},
	{.name = "a commit, one that is extended, a change built on it, one moment",
	 .scripts = {{.writes = X, .kind = MIXED},
				 {.level = RC, .reads = X, .writes = Y, .kind = FOREIGN},
				 {.level = SER, .reads = X, .writes = Y, .kind = MIXED},
				 {.level = WHOLE, .reads = X | Y}},
	 .is_long = true},
	{.name = "commits in a circle, one that reads twice",
	 .scripts = {{.level = SER, .reads = Y, .writes = X, .kind = MIXED},
				 {.level = SER, .writes = Y, .kind = FOREIGN},
				 {.level = SER, .reads = X, .then = Y},
				 {.level = RC, .reads = X, .writes = Y, .kind = MIXED}},
	 .is_long = true},
};

#define SCENARIO_COUNT (sizeof(scenarios) / sizeof(scenarios[0]))

static void
search(const scenario *chosen, rule without)
{
	model state;

	at_hand = chosen;
	left_out = without;
	fault = NULL;
	start(&state);
	states_begin();
	visit(&state);
}

static void
check_rule(rule without, const char *scenario_name, const char *name)
{
	unsigned at = 0;

	while (strcmp(scenarios[at].name, scenario_name) != 0)
		tg_check(++at < SCENARIO_COUNT);
	search(&scenarios[at], without);
	unit_ok(fault != NULL, "without «%s»: %s (%s)", name, fault != NULL ? fault : "nothing shows", scenario_name);
}

static const struct
{
	rule rule;
	const char *scenario;
	const char *name;
} rules[] = {
	{MATCH, "a commit, a reader", "a time is matched with PostgreSQL's snapshot"},
	{BOUND, "a commit, a change built on it, a reader", "R is not above E of what is not shown"},
	{EXCLUSION, "a commit, a reader", "a commit that is not shown is excluded"},
	{HOST_FIRST, "a commit, a reader", "R is loaded after PostgreSQL's snapshot was taken"},
	{DRAWN_BEFORE, "a commit, a reader", "C is drawn before PostgreSQL's moment"},
	{BOUND_AFTER_HOST, "two commits, a reader", "E is loaded after PostgreSQL's moment"},
	{BOUND_BEFORE_COMMITTED, "a commit, a program's change built on it, a reader", "E is loaded before COMMITTED"},
	{NEWEST_BEFORE_DRAW, "a commit, a reader", "the newest xid is stored before C is drawn"},
	{TIME_BEFORE_LOOK, "a commit, a reader", "open transactions are looked at after R was loaded"},
	{DRAWN_UNDER_LOCK, "a commit, a reader", "C is drawn under the lock"},
	{KEPT, "a commit, a foreign one, a reader, a collector", "the horizon respects C - 1"},
	{KEPT_BEFORE_DRAW, "a commit, a foreign one, a reader, a collector", "it does so before C is drawn"},
	{KEPT_BEFORE_SESSIONS, "a commit, a foreign one, a reader, a collector",
	 "kept times are looked at before the sessions"},
	{LOWERED, "a commit, a foreign one, a reader, a collector", "a snapshot that excludes publishes C - 1"},
	{LOWERED_UNDER_LOCK, "a commit, a foreign one, a reader, a collector", "under the lock"},
	{LOWEST_OF_OPEN, "two commits, a reader, a collector", "an entry has the lowest C of those that were open"},
	{FORGOTTEN_UNKNOWN, "a commit, a foreign one, a reader, a collector",
	 "a forgotten commit is not known to be shown"},
	{LISTED_UNTIL_SHOWN, "two commits, a reader", "an entry stays until new snapshots are known to show it"},
	{LISTED_UNTIL_OLD, "two commits, a reader", "and those that are not old, either"},
	{LATEST_OF_ALL, "two commits, a reader", "L is the newest xid that has completed"},
	{LATE_BY_VIEW, "an update beside a commit", "an excluded commit is later (W5)"},
	{VALIDATED_BY_VIEW, "an extension beside a commit", "an excluded commit has not been read (S1)"},
	{READS_VALIDATED, "a commit in a circle", "a transaction that excludes is validated though it wrote nothing"},
	{EXTENSION_MATCHED, "an update beside a commit", "an extension is matched again"},
	{ENTRY_NOT_RAISED, "an extension that excludes, a collector", "its entry stays where it excludes"},
	{PREPARED_WAITED, "a commit, a reader", "PREPARED is waited for"},
	{FOLLOWER_WAITS, "a commit, a change built on its ordinary half, a reader",
	 "no transaction draws a C between the two moments of a commit that it may have seen"},
	{GATE, "one moment, a commit, a change built on it", "no mixed commit is under way when LONG takes its snapshots"},
	{FIT_ASKED, "a moment that has to fit", "a later snapshot is asked whether it fits"},
	{FIT_OF_LEFT, "a moment that has to fit", "also of those that have left the ring"},
	{ADOPTED_COUNTED, "an importer, its exporter, a commit, a collector",
	 "the collector starts again when a time has been taken over"},
	{ADOPTED_WHILE_THERE, "an importer, its exporter, a commit, a collector", "the exporter stays until it has been"},
	{ADOPTED_EXCLUSIONS, "an importer, its exporter, a commit, a collector", "exclusions go with the time"},
};

int
main(int argc, char **argv)
{
	bool is_long = argc > 1 && strcmp(argv[1], "long") == 0;

	if (is_long)
		states_bits = STATES_BITS_LONG;
	for (unsigned i = 0; i < SCENARIO_COUNT; i++)
	{
		if (scenarios[i].is_long && !is_long)
			continue;
		search(&scenarios[i], ALL_RULES);
		unit_ok(fault == NULL, "%s: right in all of %" PRIu64 " states%s%s", scenarios[i].name, states_count,
				fault != NULL ? ": " : "", fault != NULL ? fault : "");
	}
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		check_rule(rules[i].rule, rules[i].scenario, rules[i].name);
	states_end();
	return unit_done();
}

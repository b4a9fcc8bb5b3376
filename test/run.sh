#!/bin/bash
# make test: every test, or the suites named in SUITES, on a private cluster.
# Runs all, then tells: the last line is "N passed, N failed, N skipped", and the
# exit status is not 0 if one failed or none ran.
#
# The suites that need a server wait for much of their time, for locks, restarts and each other's
# turn.  So they run beside lint and unit, which compile and compute, and are printed after those.
#
#   SUITES="lint unit regress isolation pgtap tap"
#   TESTS="a b"    only these tests of the suites, by name without suffix
#   QUICK=1        for a change in hand: unit tests without sanitizers, isolation specs once, lint
#                  without cppcheck
#   EAGER=1        sessions of the tests with a server collect at every opportunity, an entry at a
#                  time (make test-eager: those of concurrency, as a whole; make test has some)
#   SANITIZE=address   the server of the tests runs under AddressSanitizer (make test-address: a
#                  choice of them)
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
tg_enter build test lint -- "$@"

: "${SUITES:=lint unit regress isolation pgtap tap}"
for suite in $SUITES; do
	[[ " lint unit regress isolation pgtap tap " == *" $suite "* ]] || tg_fail "there is no suite \"$suite\""
done
totals=$TG_WORK/totals
: >"$totals"
eager="-c tsurugi_fdw.failpoints=collector_eager"

title() { printf '\n== %s\n' "$*"; }

# A suite's totals: passed, failed, skipped.
count() { echo "$1 $2 $3" >>"$totals"; }

# The files that match a pattern and TESTS, one a line; none is no failure.
tests_in()
{
	local file
	for file in $1; do
		[ -f "$file" ] || continue
		[ -z "${TESTS:-}" ] || [[ " $TESTS " == *" $(basename "${file%.*}") "* ]] || continue
		echo "$file"
	done
}

# Programs that print TAP; a harness that ends without totals is a failure.
run_tap()
{
	local own
	own=$(mktemp "$TG_WORK/totals.XXXXXX")
	tg_run perl test/tap.pl "$own" "$@" || true
	if [ -s "$own" ]; then cat "$own" >>"$totals"; else count 0 1 0; fi
}

run_lint()
{
	title lint
	run_tap test/lint.sh
}

# The unit tests in one flavour: its name and what to sanitize.  The plain ones are linked with what
# has been compiled for the extension.  Their directory is named from the tree, so that a cache of
# compilations knows them in another run.
run_unit()
{
	local flavour=$1 sanitize=$2 out=../unit/$1 program how run=() programs=() built=()

	title "unit tests, $flavour"
	how=(-s -f test/unit/Makefile SANITIZE="$sanitize" OUT="$out" WERROR=1)
	[ "$installed,$sanitize,${SANITIZE:-}" != yes,, ] || how+=(RUNTIME=.)
	for program in $(make "${how[@]}" list); do
		[ -n "${TESTS:-}" ] && [[ " $TESTS " != *" $(basename "$program") "* ]] || programs+=("$program")
	done
	if [ ${#programs[@]} -eq 0 ]; then
		echo "none"
		return
	fi
	if ! tg_run make -k -j"$(nproc)" "${how[@]}" "${programs[@]}"; then
		echo "the build failed"
		count 0 1 0
	fi
	for program in "${programs[@]}"; do
		[ ! -x "$program" ] || built+=("$program")
	done
	[ ${#built[@]} -gt 0 ] || return 0
	# ThreadSanitizer cannot live with every layout that the kernel may randomize
	if [ "$flavour" = thread ] && setarch -R true 2>/dev/null; then
		run=(--exec "setarch -R")
	fi
	ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=second_deadlock_stack=1 \
		run_tap --jobs "$(nproc)" "${run[@]}" "${built[@]}"
}

# pg_regress or its isolation sister: make variable, pattern of the tests, directory of the output, what is special.
run_regress()
{
	local variable=$1 pattern=$2 output=$3 how=${4:-} names=() other=ISOLATION file log=$TG_WORK/$1.log status=0 passed failed

	title "$(tr '[:upper:]' '[:lower:]' <<<"$variable") tests$how"
	[ "$variable" = REGRESS ] || other=REGRESS
	for file in $(tests_in "$pattern"); do
		[[ $file == *--* ]] || names+=("$(basename "${file%.*}")")
	done
	if [ ${#names[@]} -eq 0 ]; then
		echo "none"
		return
	fi
	# the Makefile knows the order; a choice of tests is in that of the names
	tg_run make --no-print-directory installcheck "$other=" ${TESTS:+"$variable=${names[*]}"} >"$log" 2>&1 || status=$?
	grep -E '\.\.\. ' "$log" || cat "$log"
	passed=$(grep -cE '\.\.\. ok' "$log" || true)
	failed=$(grep -cE '\.\.\. FAILED' "$log" || true)
	if [ "$status" -ne 0 ]; then
		[ "$failed" -gt 0 ] || failed=1
		[ ! -f "$output/regression.diffs" ] || cat "$output/regression.diffs"
	fi
	count "$passed" "$failed" 0
}

run_pgtap()
{
	local files
	title "pgTAP tests"
	files=$(tests_in 'test/pgtap/*.sql')
	if [ -z "$files" ]; then
		echo "none"
		return
	fi
	if ! { createdb pgtap_template &&
		psql -Xq -d pgtap_template -c 'CREATE EXTENSION pgtap' -c 'CREATE EXTENSION tsurugi_fdw'; }; then
		count 0 1 0
		return
	fi
	run_tap --exec "bash test/pgtap.sh" $files
}

# Those that take longest come first, so that none is left alone at the end.
sort_longest_first()
{
	local long='012_same 072_circumstances 011_history 056_recovery 032_collation 071_failing_calls 034_key_churn
		047_foreign_key_begins 035_queries 013_garbage'
	awk -v long="$long" '
		BEGIN { count = split(long, names); for (i = 1; i <= count; i++) place[names[i]] = i }
		{ name = $0; gsub(/.*\/|\.pl$/, "", name); print (name in place ? place[name] : count + 1), $0 }' |
		sort -s -n -k1,1 | cut -d" " -f2
}

# Tests in Perl make their own clusters, so several of them run at a time.  They wait for servers to
# start and stop for half of their time: hence more than there are CPUs.
run_perl()
{
	local files
	title "TAP tests"
	files=$(tests_in 'test/t/*.pl' | sort_longest_first)
	if [ -z "$files" ]; then
		echo "none"
		return
	fi
	export TESTDIR=$TG_WORK PG_REGRESS PERL5LIB TG_INITDB
	export PERL_HASH_SEED=0 # what a seed draws does not depend on the order of hashes
	TG_INITDB=$(pg_config --bindir)/initdb
	mkdir -p "$TG_WORK/initdb"
	ln -sf "$TG_WORK/tree/test/initdb.sh" "$TG_WORK/initdb/initdb"
	PATH=$TG_WORK/initdb:$PATH
	PG_REGRESS=$(dirname "$(pg_config --pgxs)")/../test/regress/pg_regress
	PERL5LIB=$(dirname "$(pg_config --pgxs)")/../test/perl:$TG_WORK/tree/test/t
	run_tap --jobs 4 $files
}

# A server that went down under a test and came back may leave the test green.
look_for_crashes()
{
	if grep -nE 'check failed|was terminated by signal' "$TG_WORK/server.log"; then
		echo "the server crashed"
		count 0 1 0
	fi
}

# What AddressSanitizer has written, from each process that it has ended.
look_for_addresses()
{
	local report
	for report in "$TG_WORK"/address.*; do
		[ -f "$report" ] || continue
		cat "$report"
		count 0 1 0
	done
}

wanted() { [[ " $SUITES " == *" $1 "* ]]; }

runtime_suites()
{
	! wanted lint || run_lint
	wanted unit || return 0
	run_unit plain ""
	if [ -z "${QUICK:-}" ]; then
		run_unit thread thread
		run_unit address address,undefined
	fi
}

# On one server; what is expected was planned by what a test itself has analyzed.
shared_server_suites()
{
	[ -n "$(tests_in 'sql/*.sql' && tests_in 'test/specs/*.spec' && tests_in 'test/pgtap/*.sql')" ] || return 0
	title "private cluster"
	if ! tg_start "autovacuum = off"; then
		count 0 1 0
		return
	fi
	! wanted regress || run_regress REGRESS 'sql/*.sql' .
	if wanted isolation; then
		[ -n "${EAGER:-}" ] || run_regress ISOLATION 'test/specs/*.spec' output_iso
		[ -n "${QUICK:-}" ] || PGOPTIONS=$eager run_regress ISOLATION 'test/specs/*.spec' output_iso \
			", while every session collects an entry at a time"
	fi
	! wanted pgtap || run_pgtap
	look_for_crashes
	tg_stop || true # one that has crashed may still be on its way up
}

server_suites()
{
	trap 'kill $(jobs -p) 2>/dev/null; exit 143' TERM
	[ -z "${EAGER:-}" ] || export PGOPTIONS=$eager
	if wanted regress || wanted isolation || wanted pgtap; then
		shared_server_suites
	fi
	! wanted tap || run_perl
	look_for_addresses
}

installed=no
if wanted regress || wanted isolation || wanted pgtap || wanted tap; then
	title "build with assertions"
	if tg_install DEBUG=1 WERROR=1; then
		installed=yes
		: >"$TG_WORK/server_suites" # there for tail, whenever the suites begin
		server_suites >>"$TG_WORK/server_suites" 2>&1 &
		server=$!
	else
		count 0 1 0
	fi
fi
runtime_suites
if [ "$installed" = yes ]; then
	tg_run tail -n +1 -f --pid="$server" "$TG_WORK/server_suites"
	wait "$server" || count 0 1 0
fi

awk '{ passed += $1; failed += $2; skipped += $3 }
	END {
		printf "\n%d passed, %d failed%s\n", passed, failed, (skipped > 0 ? ", " skipped " skipped" : "")
		exit (failed > 0 || passed == 0)
	}' "$totals"

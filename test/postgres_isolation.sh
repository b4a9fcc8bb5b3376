#!/bin/bash
# make postgres-isolation: PostgreSQL's own isolation suite, with its tables in memory.
#
# Runs the suite of PostgreSQL's source package twice on private clusters, as it is and with
# tsurugi_fdw.create_table = on, and tells for each spec whether the answers are the same, and if
# not, why: postgres_isolation.causes names the causes.  Where transactions fail with 40001 in one
# run and not in the other, a third run, on ordinary tables, has their serial executions to compare
# with (postgres_isolation.pl).  Fails if a difference has no cause, if the server crashes, if a
# step hangs, and at internal errors of ours.
#
#   PG_SOURCE=dir   PostgreSQL 15's source; without, Debian's source package is fetched
#   FILES="a b"     only these specs
#   OUT=dir         keeps answers and differences there: foreign/unexplained.diff is the one to read
#   SERVER="a='b'"  one more line of postgresql.conf
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$(dirname "${BASH_SOURCE[0]}")/postgres_suite.sh"
tg_enter build -- "$@"

# A run into $1; $2: the setting; $3: the suite's directory; further: the specs.
run_suite()
{
	local out=$TG_WORK/$1 setting=$2 directory=$3

	shift 3
	mkdir -p "$out"
	# a hang ends, as a difference; what removes the tables waits for twice as long as a step
	suite_start isolation_regression "$setting" "statement_timeout = 40s"
	PGISOLATIONTIMEOUT=20 tg_run "$regress" --use-existing --dbname=isolation_regression --inputdir="$directory" \
		--outputdir="$out" --bindir="$tg_bin" "$@" >"$out/log" 2>&1 || true
	suite_stop "$out"
}

suite_source
suite=$TG_WORK/suite
cp -r "$PG_SOURCE/src/test/isolation" "$suite"
names=${FILES:-$(sed -n 's/^test: //p' "$suite/isolation_schedule") prepared-transactions}
perl test/postgres_isolation.pl prepare "$suite"
tg_install ${DEBUG:+DEBUG="$DEBUG"}
regress=$(dirname "$(pg_config --pgxs)")/../test/isolation/pg_isolation_regress
run_suite ordinary off "$suite" $names
run_suite foreign on "$suite" $names
mkdir -p "$TG_WORK/serial/specs"
concerned=$(perl test/postgres_isolation.pl serial "$suite" "$TG_WORK/ordinary" "$TG_WORK/foreign" "$TG_WORK/serial" $names)
cp -r "$suite/expected" "$TG_WORK/serial/"
run_suite serial off "$TG_WORK/serial" $concerned
status=0
perl test/postgres_isolation.pl compare "$suite" "$TG_WORK/ordinary" "$TG_WORK/foreign" "$TG_WORK/serial" $names || status=$?
suite_finish "$TG_WORK/ordinary" "$TG_WORK/foreign" "$TG_WORK/serial"
exit $status

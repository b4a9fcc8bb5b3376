#!/bin/bash
# make postgres-regress: PostgreSQL's own regression suite, with its tables in memory.
#
# Runs the suite of PostgreSQL's source package twice on private clusters: as it
# is, and with tsurugi_fdw.create_table = on, so that every plain CREATE TABLE of
# it makes a table of ours.  Then tells for each file whether the answers are the
# same, and if not, why: postgres_regress.causes names the causes.  Fails if a difference
# has none, if the server crashes, and at internal errors of ours.
#
#   PG_SOURCE=dir   PostgreSQL 15's source; without, Debian's source package is fetched
#   SCHEDULE=file   another schedule than the suite's own; or
#   FILES="a b"     only these files, after test_setup and create_index
#   OUT=dir         keeps answers and differences there: foreign/unexplained.diff is the one to read
#   SERVER="a='b'"  one more line of postgresql.conf
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
. "$(dirname "${BASH_SOURCE[0]}")/postgres_suite.sh"
tg_enter build -- "$@"

# The suite's library of C functions, where it looks for it.
build_library()
{
	local library

	mkdir -p "$TG_WORK/library"
	gcc -shared -fPIC -O1 -w -I"$(pg_config --includedir-server)" -D_GNU_SOURCE \
		-o "$TG_WORK/library/regress.so" "$suite/regress.c"
	for library in refint autoinc; do
		cp -L "$(pg_config --pkglibdir)/$library.so" "$TG_WORK/library/"
	done
}

# One run of the suite into $1, in the database "regression" of a fresh cluster; $2: the setting.
run_suite()
{
	local out=$TG_WORK/$1

	mkdir -p "$out"
	suite_start regression "$2"
	tg_run "$regress" --use-existing --dbname=regression --inputdir="$suite" --outputdir="$out" \
		--bindir="$tg_bin" --dlpath="$TG_WORK/library" --max-concurrent-tests=20 $schedule >"$out/log" 2>&1 || true
	suite_stop "$out"
}

suite_source
cp -r "$PG_SOURCE/src/test/regress" "$TG_WORK/suite"
suite=$TG_WORK/suite
if [ -n "${FILES:-}" ]; then
	printf 'test: %s\n' test_setup create_index $FILES >"$TG_WORK/schedule"
else
	# indexing looks at what it has just deleted, and at what \d says of its tables: nothing beside it may keep, or publish, them
	sed -E '/^test:.* indexing( |$)/ { s/ indexing( |$)/\1/; s/$/\ntest: indexing/ }' "${SCHEDULE:-$suite/parallel_schedule}" >"$TG_WORK/schedule"
fi
schedule=--schedule=$TG_WORK/schedule
tg_install ${DEBUG:+DEBUG="$DEBUG"}
regress=$(dirname "$(pg_config --pgxs)")/../test/regress/pg_regress
build_library
run_suite ordinary off
run_suite foreign on
status=0
perl test/postgres_regress.pl "$suite" "$TG_WORK/ordinary" "$TG_WORK/foreign" \
	$(sed -n -E 's/^(test|ignore): //p' "$TG_WORK/schedule" | tr ' ' '\n' | sort -u) || status=$?
suite_finish "$TG_WORK/ordinary" "$TG_WORK/foreign"
exit $status

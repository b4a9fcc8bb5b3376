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
tg_enter build -- "$@"

# Debian's source package, by apt's own means but in directories of our own.
fetch_source()
{
	local apt=$TG_WORK/apt options

	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	printf 'deb-src http://deb.debian.org/debian%s main\n' ' bookworm' '-security bookworm-security' >"$apt/sources.list"
	options=(-q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1)
	apt-get "${options[@]}" update >"$apt/log" 2>&1 || { cat "$apt/log" >&2; return 1; }
	cd "$apt"
	# the newest version in the index need not be there to be had
	apt-cache "${options[@]}" showsrc postgresql-15 | sed -n 's/^Version: //p' | sort -rV | while read -r version; do
		! apt-get "${options[@]}" source --download-only "postgresql-15=$version" >>"$apt/log" 2>&1 || break
	done
	cd "$TG_WORK/tree"
	mkdir "$TG_WORK/source"
	tar -C "$TG_WORK/source" --strip-components=1 -xf "$apt"/postgresql-15_*.orig.tar.*
}

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
	local out=$TG_WORK/$1 statement

	mkdir -p "$out"
	tg_start "max_prepared_transactions = 2" "tsurugi_fdw.memory = 2GB" "log_line_prefix = '%m [%p] %q%a %e '" \
		${SERVER:+"$SERVER"}
	createdb -T template0 --lc-collate=C --lc-ctype=C regression
	for statement in 'CREATE EXTENSION tsurugi_fdw' \
		'CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw' \
		'GRANT USAGE ON FOREIGN SERVER tsurugi TO PUBLIC' \
		"ALTER DATABASE regression SET tsurugi_fdw.create_table = $2" \
		"ALTER DATABASE regression SET lc_messages TO 'C'" "ALTER DATABASE regression SET lc_monetary TO 'C'" \
		"ALTER DATABASE regression SET lc_numeric TO 'C'" "ALTER DATABASE regression SET lc_time TO 'C'" \
		"ALTER DATABASE regression SET bytea_output TO 'hex'" \
		"ALTER DATABASE regression SET timezone_abbreviations TO 'Default'"; do
		psql -Xq -d regression -c "$statement" 2>/dev/null
	done
	tg_run "$regress" --use-existing --dbname=regression --inputdir="$suite" --outputdir="$out" \
		--bindir="$tg_bin" --dlpath="$TG_WORK/library" --max-concurrent-tests=20 $schedule >"$out/log" 2>&1 || true
	cp "$TG_WORK/server.log" "$out/server.log"
	tg_stop
	rm -rf "$tg_data" "$TG_WORK/server.log"
}

if [ -z "${PG_SOURCE:-}" ]; then
	fetch_source || tg_fail "PostgreSQL's source package cannot be had; name a directory by PG_SOURCE"
	PG_SOURCE=$TG_WORK/source
fi
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
if [ -n "${OUT:-}" ]; then
	mkdir -p "$OUT"
	cp -r "$TG_WORK/ordinary" "$TG_WORK/foreign" "$OUT/"
fi
if grep -E 'was terminated by signal|tsurugi_fdw: check failed' "$TG_WORK/foreign/server.log"; then
	tg_fail "the server crashed"
fi
exit $status

#!/bin/bash
# make bench-instructions: user-space instructions that the backend spends on one
# prepared statement, counted by callgrind: the difference between a long run of
# pgbench and a short one, by the number of statements between them.  Unlike times
# the counts are the same on a busy machine.
#
#   SHORT, LONG    statements of the two runs (300, 1300)
#   ROWS           rows in the table (10000)
#   LEVEL          isolation level (read committed)
#   PERSISTENCE    of both kinds of tables: unlogged, or logged (unlogged)
#   ONLY           only these statements, by name; names: those by a text, under several collations
#   TOP=N          show, after each measurement, where the most of its long run went:
#                  N functions; with ANNOTATE=--inclusive=yes including what they call
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build bench instructions -- "$@"

short=${SHORT:-300}
long=${LONG:-1300}
rows=${ROWS:-10000}
level=${LEVEL:-read committed}
persistence=${PERSISTENCE:-unlogged}
kept=
[ "$persistence" = logged ] || kept=UNLOGGED
counts=$TG_WORK/counts
mkdir "$counts"

tg_install
tg_start "shared_buffers = 32MB" "jit = off" "autovacuum = off" "max_parallel_workers_per_gather = 0" \
	"tsurugi_fdw.memory = '${MEMORY:-256MB}'" "tsurugi_fdw.memory_max = '${MEMORY:-256MB}'" "tsurugi_fdw.workers = 1"
tg_stop

# Every backend is forked below valgrind and leaves its own count.
valgrind -q --tool=callgrind --callgrind-out-file="$counts/%p" --log-file="$TG_WORK/valgrind.log" \
	"$tg_bin/postgres" -D "$tg_data" >"$TG_WORK/server.log" 2>&1 </dev/null &
server=$!
for try in $(seq 1 240); do
	! pg_isready -q || break
	[ "$try" -lt 240 ] || { cat "$TG_WORK/server.log" "$TG_WORK/valgrind.log" >&2; tg_fail "the server does not start under valgrind"; }
	sleep 0.5
done

children() { wc -w <"/proc/$server/task/$server/children"; }

# What runs besides backends; none of it ends before the server does.
sleep 3
residents=$(children)

# Returns when all backends have ended and so have written their counts.
wait_for_counts()
{
	local try
	for try in $(seq 1 600); do
		[ "$(children)" -gt "$residents" ] || return 0
		sleep 0.1
	done
	tg_fail "a backend does not end"
}

psql -Xq -v rows="$rows" -v kept="$kept" -v persistence="$persistence" -f test/bench/schema.sql

# Where the keys of the next INSERTs begin.
first=0

# Of names: what they begin with.
prefix=user

# Instructions of the backends that pgbench uses for $3 statements $2 on schema $1.
run_count()
{
	local schema=$1 statement=$2 times=$3 output

	wait_for_counts
	rm -f "$counts"/*
	output=$(PGOPTIONS="-c search_path=$schema -c default_transaction_isolation=${level// /\\ }" pgbench -n -M prepared -c 1 -t "$times" -f "test/bench/statements/$statement.sql" \
		-D rows="$rows" -D n=0 -D first="$first" -D prefix="$prefix" -D name="${prefix}105000" postgres 2>&1) || { echo "$output" >&2; return 1; }
	# pgbench has two sessions, one of them only to look; that one cancels out
	wait_for_counts
	awk '/^totals:/ { sum += $2 } END { print sum }' "$counts"/*
}

measure()
{
	local schema=$1 statement=$2 few many

	first=$((first + 1000000))
	few=$(run_count "$schema" "$statement" "$short")
	first=$((first + 1000000))
	many=$(run_count "$schema" "$statement" "$long")
	result=$(((many - few) / (long - short)))
}

# The functions of the last run, from its larger count.
profile()
{
	local largest

	[ -n "${TOP:-}" ] || return 0
	largest=$(ls -S "$counts"/* | head -1)
	callgrind_annotate ${ANNOTATE:-} "$largest" 2>/dev/null | sed -n '/file:function/,$p' |
		awk -v top="$TOP" 'NR <= top + 2'
	echo
}

# the first sessions build caches that later ones find
run_count heap select1 10 >/dev/null
run_count ours select1 10 >/dev/null

echo "commit      $TG_COMMIT"
echo "server      $(psql -XAtc 'SELECT version()')"
echo "counted     backend instructions per prepared statement, ($long - $short runs), $rows rows, $level, tables $persistence"
echo
printf '%-18s %10s %10s   %s\n' '' heap ours 'ours of heap'
measure heap select1
printf '%-18s %10d\n' 'SELECT 1' "$result"
profile
for line in 'point:0.68' 'range:0.50' 'update:0.50' 'insert:0.70' 'upsert:0.77' 'transaction:0.60' 'mix:0.60' \
	'index_point:0.77' 'index_range:0.77' 'index_update:0.77' 'index_upsert:0.77' \
	'aggregate:0.25' 'index_aggregate:0.25'; do
	statement=${line%:*}
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $statement "* ]] || continue
	measure heap "$statement"
	heap=$result
	profile
	measure ours "$statement"
	printf '%-18s %10d %10d   %s  (target <= %s)\n' "$statement" "$heap" "$result" \
		"$(awk -v ours="$result" -v heap="$heap" 'BEGIN { printf "%.2f", ours / heap }')" "${line#*:}"
	profile
done

[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" names "* ]] || exit 0
psql -Xq -v rows="$rows" -v kept="$kept" -f test/bench/names.sql
echo
printf '%-18s %10s %10s %10s\n' 'by a text' 'heap' 'ours' "ours, C"
for length in 10 40; do
	for collation in en icu; do
		for statement in name_point name_update name_insert; do
			[ $length = 10 ] && prefix=user || prefix='customer of the north east no '
			counted=()
			for schema in "heap_${collation}_$length" "ours_${collation}_$length" "ours_c_$length"; do
				measure "$schema" "$statement"
				counted+=("$result")
				profile
			done
			printf '%-18s %10d %10d %10d   %s\n' "${statement#name_} $collation $length" "${counted[@]}" \
				"$(awk -v ours="${counted[1]}" -v heap="${counted[0]}" 'BEGIN { printf "%.2f", ours / heap }')"
		done
	done
done

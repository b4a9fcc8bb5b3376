#!/bin/bash
# make soak: everything at once, for a while; then the books have to be right.
#
# Clients at each isolation level transfer between accounts in memory and ordinary
# ones, change, read and join them; some change definitions and the kind of their transactions in
# the middle of them; another session creates and drops indexes and columns and runs batches;
# another one cancels and terminates any of them.  A session that reads checks that all adds up at
# every moment.  In the end all memory must have come back.
#
#   SECONDS_EACH=60    how long
#   SERVER="a='b'"     one more line of postgresql.conf
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build -- "$@"

seconds=${SECONDS_EACH:-60}
here=test/soak
logs=$TG_WORK/logs
failed=0

verdict()
{
	[ "$2" = t ] || failed=1
	printf '%s - %s\n' "$([ "$2" = t ] && echo ok || echo 'not ok')" "$1"
}

left() { echo $((end - SECONDS)); }

# A client is started again when it has been terminated.
client()
{
	while [ "$(left)" -gt 0 ]; do
		PGOPTIONS="-c statement_timeout=20s -c tsurugi_fdw.serializable_mixed=relaxed" pgbench -n -c 1 -T "$(left)" --max-tries=20 -D level="$1" \
			-f "$here/$2.sql" >>"$logs/client" 2>&1 || true
	done
}

hunter()
{
	local end_it=(pg_cancel_backend pg_cancel_backend pg_terminate_backend)

	while [ "$(left)" -gt 0 ]; do
		psql -XAtqc "SELECT ${end_it[RANDOM % 3]}(pid) FROM pg_stat_activity
			WHERE application_name = 'pgbench' AND state <> 'idle' ORDER BY random() LIMIT 1" >>"$logs/hunter" 2>&1
		sleep 0.3
	done
}

definer()
{
	while [ "$(left)" -gt 0 ]; do
		psql -Xqf "$here/define.sql" >>"$logs/define" 2>&1 || true
	done
}

# What tables have in memory; the rest belongs to sessions and the pool.
kept="SELECT coalesce(sum(bytes), 0) FROM tsurugi.memory_uses WHERE use NOT IN ('runtime', 'jobs')"

tg_install DEBUG=1
tg_start "tsurugi_fdw.memory = 256MB" "autovacuum_naptime = 1s" ${SERVER:+"$SERVER"}
mkdir "$logs"
psql -Xqc 'CREATE EXTENSION tsurugi_fdw'
before=$(psql -XAtqc "$kept")
psql -Xqf "$here/schema.sql"
end=$((SECONDS + seconds))
for level in 'read committed' 'repeatable read' serializable; do
	for script in transfer change read join kinds; do
		client "$level" $script &
	done
done
hunter &
definer &
wait

# a session that was terminated may still be on its way out, and the worker's ANALYZE under way
for _ in $(seq 1800); do
	[ "$(psql -XAtqc 'SELECT count(*) FROM tsurugi.transactions WHERE pid IS DISTINCT FROM pg_backend_pid()')" != 0 ] || break
	sleep 0.1
done
psql -XAtq -F '|' -f "$here/books.sql" >"$TG_WORK/books" || failed=1
while IFS='|' read -r what holds; do
	verdict "$what" "$holds"
done <"$TG_WORK/books"
psql -Xqc 'DROP FOREIGN TABLE movement, account, unused, clause, contract'
for _ in $(seq 1800); do
	after=$(psql -XAtqc "$kept")
	[ "$after" != "$before" ] || break
	sleep 0.1
done
verdict "all memory has come back ($before bytes before, $after after)" "$([ "$after" = "$before" ] && echo t)"
verdict 'nobody saw what does not add up' "$(grep -q 'division by zero' "$logs/client" || echo t)"
count=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$logs/client" | awk '{ sum += $1 } END { print sum + 0 }')
verdict "clients got through with $count transactions" "$([ "$count" -gt 0 ] && echo t)"
verdict 'no key of an account was missing' "$(grep -q 'violates foreign key' "$logs/client" || echo t)"
verdict 'no error was internal, no process crashed' "$(grep -hE ' XX[0-9A-Z]{3} |PANIC|TRAP|was terminated by signal|check failed' \
	"$TG_WORK/server.log" "$logs"/* >&2 || echo t)"
echo
echo 'errors that clients and definitions got:'
grep -hoE '(ERROR|FATAL): .*' "$logs"/* | sed -E 's/[0-9]+/N/g' | sort | uniq -c | sort -rn | head -30 || true
exit $failed

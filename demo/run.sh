#!/bin/bash
# make demo: the guided tour, with its SQL visible, on a private cluster.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../test/cluster.sh"
tg_enter build -- "$@"

tg_install ${DEBUG:+DEBUG="$DEBUG"}
tg_start
export PAGER=

# Runs a file, its statements visible, with an empty line before each numbered part.
show()
{
	psql -X -a -v ON_ERROR_STOP=1 --pset=pager=off -f "$1" </dev/null | sed -u -E 's/^-- [0-9]+\. /\n&/'
}

# A psql that reads statements from descriptor $2 and says whose lines are whose.
session()
{
	local name=$1 pipe=$TG_WORK/session_$1
	mkfifo "$pipe"
	PGAPPNAME="session $name" psql -X -a -v ON_ERROR_STOP=1 --pset=pager=off <"$pipe" 2>&1 | sed -u "s/^/$name | /" &
	eval "exec $2>'$pipe'"
}

# Returns when the query says t; a demo does not wait for ever.
wait_until()
{
	local tries
	for tries in $(seq 1 200); do
		[ "$(psql -XAtc "SELECT coalesce(($1), false)")" != t ] || return 0
		sleep 0.05
	done
	tg_fail "waited in vain for: $1"
}

two_sessions()
{
	local a="FROM pg_stat_activity WHERE application_name = 'session A'"
	local b="FROM pg_stat_activity WHERE application_name = 'session B'"

	printf '\n%s\n' "-- 8. Two sessions: B wants the row that A has changed, and waits for A's end."
	session A 3
	session B 4
	echo "BEGIN; UPDATE planes SET seats = 100 WHERE tailnum = 'N102UW' RETURNING tailnum, seats;" >&3
	wait_until "SELECT state = 'idle in transaction' $a"
	echo "UPDATE planes SET seats = seats + 1 WHERE tailnum = 'N102UW' RETURNING tailnum, seats;" >&4
	wait_until "SELECT cardinality(pg_blocking_pids(pid)) > 0 $b"
	show demo/waiting.sql
	echo "COMMIT;" >&3
	exec 3>&-
	exec 4>&-
	wait
}

# All processes of the server end at once, as with a power failure.
kill_server()
{
	local postmaster

	read -r postmaster <"$tg_data/postmaster.pid"
	echo "# kill -9 of the postmaster and all its processes"
	kill -STOP "$postmaster" # so that it starts no others meanwhile
	# shellcheck disable=SC2046
	kill -KILL $(cat "/proc/$postmaster/task/$postmaster/children") "$postmaster"
	while kill -0 "$postmaster" 2>/dev/null; do sleep 0.05; done
}

crash()
{
	printf '\n%s\n' "-- 9. The whole server is killed, in the middle of a transaction, and started again."
	show demo/crash.sql
	session C 3
	echo "BEGIN; DELETE FROM airports; UPDATE planes SET seats = 0 WHERE tailnum = 'N102UW';" >&3
	wait_until "SELECT state = 'idle in transaction' FROM pg_stat_activity WHERE application_name = 'session C'"
	kill_server
	exec 3>&-
	wait || true
	rm "$tg_data/postmaster.pid" # or pg_ctl would take it for running
	tg_restart
	show demo/crash.sql
	show demo/recovered.sql
}

# A second server, at another port; what the first one acknowledges is there.
standby()
{
	local data=$TG_WORK/standby

	printf '\n%s\n' "-- 10. A standby: a copy of the running server follows its log, and answers queries."
	echo "# pg_basebackup, and the start of a second server"
	pg_basebackup -D "$data" -R -c fast --no-sync >"$TG_WORK/basebackup.log" 2>&1
	pg_ctl -D "$data" -l "$TG_WORK/standby.log" -o '-p 5433' -w -t 60 start >"$TG_WORK/pg_ctl.log" 2>&1 </dev/null
	wait_until "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'"
	psql -Xq -c "ALTER SYSTEM SET synchronous_standby_names = '*'" -c "SELECT pg_reload_conf()" >"$TG_WORK/psql.log"
	wait_until "SELECT sync_state = 'sync' FROM pg_stat_replication"
	show demo/acknowledged.sql
	echo "# on the standby"
	PGPORT=5433 show demo/standby.sql
	psql -Xq -c "ALTER SYSTEM RESET synchronous_standby_names" -c "SELECT pg_reload_conf()" >"$TG_WORK/psql.log"
	pg_ctl -D "$data" -m fast -w stop >"$TG_WORK/pg_ctl.log"
}

show demo/demo.sql
two_sessions
crash
standby
show demo/runtime.sql

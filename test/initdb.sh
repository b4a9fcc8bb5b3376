#!/bin/bash
# initdb of the TAP tests: the first call makes a cluster by PostgreSQL's initdb and keeps it, further
# ones with the same arguments, in the same locale, copy it, which takes a tenth of the time.  So the
# clusters of a run have one system identifier; a test for which this matters sets
# TG_INITDB_ANEW.  Called as initdb, by a link; TG_INITDB is PostgreSQL's.
set -euo pipefail

if [ -n "${TG_INITDB_ANEW:-}" ] || [ $# -ne 5 ] || [ "$1 ${*:3}" != "-D -A trust -N" ]; then
	exec "$TG_INITDB" "$@"
fi
model=$TG_WORK/model.$(env | grep -E '^(LC_|LANG)' | sort | cksum | cut -d' ' -f1)
exec 9>"$TG_WORK/model.lock"
flock 9
[ -f "$model.log" ] || "$TG_INITDB" -D "$model" "${@:3}" >"$model.new"
[ -f "$model.log" ] || mv "$model.new" "$model.log"
flock -u 9
cat "$model.log"
cp -a "$model" "$2"

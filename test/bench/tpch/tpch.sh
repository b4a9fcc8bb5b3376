#!/bin/bash
# make bench-tpch: the 22 queries of TPC-H on ordinary tables, on tables in memory and in DuckDB, on a
# private cluster built without assertions.  See tpch.pl for what is measured and its environment.
# DuckDB comes from npm, as a package of Node.js; where there is no Node.js its column is missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../cluster.sh"
tg_enter build bench -- "$@"

if command -v npm >/dev/null; then
	mkdir "$TG_WORK/duckdb"
	cp test/bench/tpch/duckdb.mjs "$TG_WORK/duckdb"
	(cd "$TG_WORK/duckdb" && npm install --silent --no-save @duckdb/node-api >/dev/null)
fi
gcc -O2 -o "$TG_WORK/rows" test/bench/tpch/rows.c
tg_install
tg_start "shared_buffers = 4GB" "work_mem = 256MB" "max_wal_size = 32GB" "checkpoint_timeout = 1h" "jit = off" \
	"autovacuum = off" "max_parallel_workers_per_gather = 2" "tsurugi_fdw.memory = '${MEMORY:-6GB}'"
tg_run perl test/bench/tpch/tpch.pl

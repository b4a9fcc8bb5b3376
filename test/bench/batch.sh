#!/bin/bash
# make bench-batch: loads and dumps of TPC-H's lineitem beside COPY of ordinary tables and DuckDB, on a
# private cluster built without assertions.  See batch.pl for what is measured and its environment.
# DuckDB comes from npm, as a package of Node.js; where there is no Node.js its column is missing.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build bench -- "$@"

if command -v npm >/dev/null; then
	mkdir "$TG_WORK/duckdb"
	cp test/bench/tpch/duckdb.mjs "$TG_WORK/duckdb"
	(cd "$TG_WORK/duckdb" && npm install --silent --no-save @duckdb/node-api >/dev/null)
fi
gcc -O2 -o "$TG_WORK/rows" test/bench/tpch/rows.c
gcc -std=gnu11 -O2 -D_GNU_SOURCE -I. -o "$TG_WORK/csv_bench" test/bench/csv_bench.c runtime/format/csv{,_masks,_read,_split,_value}.c runtime/format/text_column.c \
	runtime/format/source.c runtime/batch/cell.c runtime/base/check.c
tg_install
tg_start "shared_buffers = 4GB" "min_wal_size = 8GB" "max_wal_size = 32GB" "checkpoint_timeout = 1h" "jit = off" "autovacuum = off" \
	"tsurugi_fdw.memory = '${MEMORY:-6GB}'" "tsurugi_fdw.journal_size = '64GB'" "tsurugi_fdw.workers = ${WORKERS:-2}"
tg_run perl test/bench/batch.pl

#!/bin/bash
# make judges: files in Parquet and Arrow that DuckDB and Arrow's implementation in JavaScript read
# after us, or write for us, on a private cluster.  See judges.pl for what is compared and its
# environment.  Both come from npm, as packages of Node.js; without npm there is nothing to do it with.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
command -v npm >/dev/null || tg_fail "npm, of Node.js, is needed for DuckDB and Arrow, and is not there"
tg_enter build test -- "$@"

mkdir "$TG_WORK/node"
cp test/judges/judge.mjs "$TG_WORK/node"
packages="@duckdb/node-api apache-arrow@21.2 lz4js @bokuweb/zstd-wasm"
(cd "$TG_WORK/node" && tg_run npm install --silent --no-save $packages >/dev/null) ||
	tg_fail "npm did not install DuckDB and Arrow"
tg_install DEBUG=1
tg_start "autovacuum = off"
tg_run perl -Itest/t -Itest/judges test/judges/judges.pl

#!/bin/bash
# make bench-collection: memory and latencies while garbage is made and collected,
# tsurugi_fdw beside ordinary (unlogged) tables with autovacuum, on a private cluster
# built without assertions.  See collection.pl for what is measured and its
# environment: SECONDS_EACH, ROWS, CLIENTS, MEMORY_ROWS, ONLY.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build bench -- "$@"

tg_install
tg_start "shared_buffers = 1GB" "max_wal_size = 8GB" "jit = off" "autovacuum_naptime = 10s" "tsurugi_fdw.memory = '${MEMORY:-4GB}'"
tg_run perl test/bench/collection.pl

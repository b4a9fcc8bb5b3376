#!/bin/bash
# make bench: tsurugi_fdw against ordinary (unlogged) tables, on a private cluster,
# built without assertions.  See bench.pl for what is measured and its environment:
# ROUNDS, SECONDS_EACH, ROWS, COPY_ROWS, SCALE, ONLY; MEMORY for tsurugi_fdw.memory.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build bench -- "$@"

tg_install
tg_start "shared_buffers = 512MB" "max_wal_size = 8GB" "jit = off" "max_pred_locks_per_transaction = 4096" "tsurugi_fdw.memory = '${MEMORY:-2GB}'"
tg_run perl test/bench/bench.pl

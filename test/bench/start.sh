#!/bin/bash
# make bench-start: how long a server takes to answer after kill -9, with tables in memory and with
# ordinary ones, and what the log costs beside clients, on a private cluster built without assertions.
# See start.pl for what is measured and its environment: ONLY, ROWS, CHANGES, SECONDS_EACH, SYNC,
# ROUNDS; MEMORY for tsurugi_fdw.memory, FSYNC (off).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build bench -- "$@"

tg_install
tg_start "shared_buffers = 1GB" "max_wal_size = 32GB" "checkpoint_timeout = 1h" "jit = off" "autovacuum = off" \
	"restart_after_crash = off" "tsurugi_fdw.memory = '${MEMORY:-4GB}'" "tsurugi_fdw.journal_size = '64GB'" "fsync = ${FSYNC:-off}"
tg_run perl test/bench/start.pl

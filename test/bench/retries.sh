#!/bin/bash
# make bench-retries: serializable transactions that are tried again after 40001, on a private cluster.
# See retries.pl for what is measured and its environment: ROUNDS, SECONDS_EACH, CONTRACTS.  DEBUG=1
# builds with failpoints, so that the same is measured without what helps them; rates are low then.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cluster.sh"
tg_enter build bench -- "$@"

tg_install ${DEBUG:+DEBUG="$DEBUG"}
tg_start "jit = off" "tsurugi_fdw.memory = '1GB'"
tg_run perl test/bench/retries.pl

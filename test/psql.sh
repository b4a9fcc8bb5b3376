#!/bin/bash
# make psql: psql on a private cluster with tsurugi_fdw until the user quits;
# then all is gone.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/cluster.sh"
tg_enter build -- "$@"

tg_install ${DEBUG:+DEBUG="$DEBUG"}
tg_start
psql -Xqc 'CREATE EXTENSION tsurugi_fdw'
echo "A private cluster in $TG_WORK, with extension tsurugi_fdw; it is removed when you quit."
# an interrupt is for psql
trap : INT
psql "$@"

#!/bin/bash
# Runs one pgTAP file, in a database of its own that has the extensions pgtap and
# tsurugi_fdw.  Called by run.sh, which has made the template.
set -euo pipefail

database=pgtap_$(basename "$1" .sql)
trap 'dropdb --if-exists --force "$database"' EXIT
createdb -T pgtap_template "$database"
# what pgTAP says about a failure goes to standard error too, where a harness lets it through
psql -XqAt -v ON_ERROR_STOP=1 --pset=pager=off -d "$database" -f "$1" | awk '{ print } /^ *#/ { print >"/dev/stderr" }'

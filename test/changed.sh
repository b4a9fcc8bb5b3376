#!/bin/bash
# The tests that the changed files ask for (check.map), as TESTS takes them.
#
#   test/changed.sh [REVISION]   changed since REVISION; without it, what is not committed, and if
#                                there is nothing, the last commit
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git=(git -c "safe.directory=$PWD")

changed_files()
{
	if [ $# -gt 0 ]; then
		"${git[@]}" diff --name-only "$1"
	elif [ -n "$("${git[@]}" status --porcelain)" ]; then
		"${git[@]}" diff --name-only HEAD
	else
		"${git[@]}" diff --name-only HEAD~1 HEAD
	fi
	"${git[@]}" ls-files --others --exclude-standard
}

# Tests that a file is, or has the answers of.
own_tests()
{
	local name
	name=$(basename "${1%.*}")
	case $1 in
		sql/*--*) ;;
		test/unit/*.c | test/explore/explore_*.c | test/specs/* | test/pgtap/* | test/t/*.pl) echo "$name" ;;
		sql/* | expected/* | test/expected/* | test/same/*) echo "$name" ;;
	esac
}

changed_files "$@" | sort -u | while read -r file; do
	own_tests "$file"
	while read -r pattern names; do
		# shellcheck disable=SC2053 # a pattern it is
		[[ -z $pattern || $pattern == \#* || $file != $pattern ]] || tr ' ' '\n' <<<"$names"
	done <test/check.map
done | sort -u | while read -r name; do
	echo "$name"
	[ ! -f "test/same/$name.sql" ] || echo 012_same
done | sort -u | paste -sd' '

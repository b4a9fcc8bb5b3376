#!/bin/bash
# make bench-kernel: the transaction kernel without SQL beside what a C program would
# embed: LMDB, WiredTiger and RocksDB (Debian's packages), in memory, the same driver,
# the same run.  See ycsb.c for the workloads, ycsb_*.c for how each store is used.
#
#   ROUNDS          3: the stores take turns; medians
#   SECONDS_EACH    3, per part
#   RECORDS         1000000
#   STORES          "tsurugi lmdb wiredtiger rocksdb"
#   PARTS           WORKLOAD:ZIPF:THREADS, as "A:0.99:2"; all of A, B, C, E with 0, 0.99 and 1, 2
set -euo pipefail
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
bash "$top/test/setup.sh" kernel

work=$(mktemp -d "${TMPDIR:-/tmp}/tsurugi_fdw.XXXXXX")
shared=$(mktemp -d /dev/shm/tsurugi_fdw.XXXXXX)
trap 'rm -rf "$work" "$shared"' EXIT
trap 'exit 1' INT TERM HUP
cd "$top"

stores=${STORES:-tsurugi lmdb wiredtiger rocksdb}
# as the extension is built: PostgreSQL's own flags are -O2 -g
flags="-std=gnu11 -pthread -O2 -g -D_GNU_SOURCE -I. -Wall -Wextra -Wno-unused-parameter"

# The libraries of a store; ours is built from its sources.
libraries_of()
{
	case $1 in
		tsurugi) echo "$(ls runtime/*.c runtime/*/*.c | grep -v -e ^runtime/example/ -e ^runtime/format/ -e ^runtime/batch/) -lurcu-cds -lurcu-common -lm" ;;
		*) echo "-l$1" ;;
	esac
}

for store in $stores; do
	gcc $flags -o "$work/ycsb_$store" test/bench/ycsb.c "test/bench/ycsb_$store.c" $(libraries_of "$store") -lm
done

# run STORE PART...: its lines
run()
{
	local store=$1
	shift
	mkdir "$shared/$store"
	"$work/ycsb_$store" "$shared/$store" "${RECORDS:-1000000}" "${SECONDS_EACH:-3}" "$@"
	rm -rf "${shared:?}/$store"
}

echo "commit      $(git -c safe.directory="$top" describe --always --dirty 2>/dev/null || echo unknown)"
echo "runs        ${ROUNDS:-3} rounds of ${SECONDS_EACH:-3} s, ${RECORDS:-1000000} records, 10 operations a transaction; medians"
echo
for round in $(seq 1 "${ROUNDS:-3}"); do
	for store in $stores; do
		run "$store" ${PARTS:-} | sed "s/^/$store /"
	done
done >"$work/lines"
perl - "$work/lines" $stores <<'PERL'
use strict;
use warnings;

my ($file, @stores) = @ARGV;
my (@parts, %values);
open(my $in, '<', $file) or die;
while (<$in>)
{
	my ($store, $part, @figures) = split ' ';
	push @parts, $part unless grep { $_ eq $part } @parts;
	push @{ $values{$part}{$store}[$_] }, $figures[$_] for 0 .. 2;
}

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[ @sorted / 2 ]; }

for my $figure ([ 'transactions a second', 0, '%.0f' ], [ 'conflicts a second', 1, '%.0f' ], [ 'CPU of all threads, us a transaction', 2, '%.1f' ])
{
	my ($title, $column, $format) = @$figure;
	printf "%s\n%-12s%s   first of the others\n", $title, '', join '', map { sprintf '%12s', $_ } @stores;
	for my $part (@parts)
	{
		my @medians = map { median(@{ $values{$part}{$_}[$column] }) } @stores;
		printf '%-12s%s', $part, join '', map { sprintf "%12s", sprintf $format, $_ } @medians;
		my ($ours, @others) = @medians;
		my ($best) = $column == 2 ? (sort { $a <=> $b } @others) : (sort { $b <=> $a } @others);
		printf '   %.2f', $ours / $best if $best && $column != 1;
		print "\n";
	}
	print "\n";
}
PERL

#!/bin/bash
# make bench-sched: the scheduler against oneTBB and OpenMP tasks (libgomp, libomp), its
# settings against each other, and what it chose against what it did not; without
# PostgreSQL, without assertions.  Figures mean something on an idle machine only.
# See sched.pl for the environment of the parts that it measures: ROUNDS, THREADS.
#
#   ONLY    names of parts: fib skynet uts loop settings outside wake idle (sched.pl),
#           queue (sched_queue.c), distribution (sched_distribution.c),
#           serializer (serializer_bench.c), waiting (waiting_bench.c)
set -euo pipefail
top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
bash "$top/test/setup.sh" sched

work=$(mktemp -d "${TMPDIR:-/tmp}/tsurugi_fdw.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
cd "$top"

# as the extension is built: PostgreSQL's own flags are -O2 -g
flags="-std=gnu11 -pthread -O2 -g -D_GNU_SOURCE -I. -Wall -Wextra -Wno-unused-parameter"
objects=
for source in $(ls runtime/*.c runtime/*/*.c | grep -v -e ^runtime/example/ -e ^runtime/format/ -e ^runtime/batch/); do
	object=$work/$(tr / - <<<"${source%.c}").o
	gcc $flags -c -o "$object" "$source"
	objects="$objects $object"
done

# build_ours NAME [LINKER-FLAG...]
build_ours()
{
	local name=$1
	shift
	gcc $flags "$@" -o "$work/$name" "test/bench/$name.c" $objects -lurcu-cds -lurcu-common -lm
}

is_wanted()
{
	[ -z "${ONLY:-}" ] || [[ " $ONLY " == *" $1 "* ]]
}

build_ours sched -Wl,--wrap=syscall
g++ -std=c++17 -pthread -O2 -I. -Wall -Wextra -o "$work/sched_tbb" test/bench/sched_tbb.cpp -ltbb
g++ -std=c++17 -pthread -O2 -I. -Wall -Wextra -fopenmp -o "$work/sched_libgomp" test/bench/sched_openmp.cpp
clang++-14 -std=c++17 -pthread -O2 -I. -Wall -Wextra -fopenmp -o "$work/sched_libomp" test/bench/sched_openmp.cpp

commit=$(git -c safe.directory="$top" describe --always --dirty 2>/dev/null || echo unknown)
TG_COMMIT=$commit TG_BIN=$work perl test/bench/sched.pl

for part in queue:sched_queue distribution:sched_distribution serializer:serializer_bench waiting:waiting_bench; do
	is_wanted "${part%:*}" || continue
	build_ours "${part#*:}"
	printf '\n%s\n' "${part#*:}"
	"$work/${part#*:}"
done

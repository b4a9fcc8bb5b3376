# tsurugi_fdw
#
#   make [DEBUG=1]   build the extension; DEBUG=1 turns assertions and failpoints on,
#                    SANITIZE=address compiles it with AddressSanitizer
#   make install     install it into the PostgreSQL that PG_CONFIG belongs to
#   make installcheck  regression and isolation tests against a running server
#                    that has tsurugi_fdw in shared_preload_libraries
#   make unit        unit tests of runtime/, in place, without PostgreSQL;
#                    SANITIZE=thread or SANITIZE=address,undefined as well
#   make explore     the exhaustive checks of test/explore, the long searches (some minutes)
#   make fuzz        readers of records and files under AddressSanitizer: a million mutations
#                    (hours); FUZZ=n of each kind
#   make example     builds and runs the program of runtime/README.md, without PostgreSQL
#   make format      clang-format over all C files, in place
#
# These install the Debian packages they need, work on a copy in a temporary
# directory, start a private cluster there, and leave nothing behind (check leaves its objects):
#
#   make test [SUITES="lint unit regress isolation pgtap tap"]
#   make check       what a change in hand needs, within a minute: builds what has changed, and runs
#                    the tests that test/check.map has for the changed files (SINCE=revision)
#   make lint        the same as make test SUITES=lint
#   make test-eager  isolation specs, random histories and others of concurrency while every session
#                    collects garbage at every opportunity, an entry at a time
#   make test-address  tests with a server that runs under AddressSanitizer
#   make test-frozen  tests with a server while processes and threads are frozen at random (root)
#   make demo        the guided tour
#   make psql        psql on a private cluster until you quit
#   make postgres-regress   PostgreSQL's own regression suite with its tables in memory, compared
#   make postgres-isolation  its isolation suite likewise
#   make judges      files in Parquet and Arrow read and written by DuckDB and Arrow's own code (npm)
#   make hunt        the random tests, each for longer and with a new seed
#   make soak        everything at once for a minute, with cancels and terminations
#   make soak-crash  kill -9 of every process at every named place, power cuts, and calls on files
#                    that fail, for CYCLES rounds (20); damage at each DAMAGE-th byte (7) of all
#                    files
#   make bench       benchmark against ordinary tables
#   make bench-instructions   instructions per statement, by callgrind
#   make bench-start   how long a server takes to answer after kill -9; what checkpoints, bases and
#                    standbys cost beside clients
#   make bench-tpch   the queries of TPC-H beside ordinary tables and DuckDB
#   make bench-batch   loads and dumps of files beside ordinary tables and DuckDB
#   make bench-collection   memory and latencies while garbage is collected
#   make bench-retries   serializable transactions that are tried again
#   make bench-sched   the task scheduler against oneTBB and OpenMP
#   make bench-kernel   transactions without SQL against LMDB, WiredTiger and RocksDB

scripted = test check test-eager test-address test-frozen hunt lint demo psql judges postgres-regress postgres-isolation soak soak-crash restart-regress bench \
	bench-instructions bench-start bench-tpch bench-batch bench-collection bench-retries bench-sched bench-kernel
standalone = unit explore fuzz example format
address_tests = 040_reentry 002_interrupts 003_limits 008_prepared 012_same 016_shared 025_deferrable 044_kind_orders
random_tests = 007_random 030_foreign_key_random 031_foreign_key_sessions 032_collation 035_queries 044_kind_orders \
	054_definitions_sessions 061_recovery_random 070_power_cut 071_failing_calls 073_history_crash 079_load_csv 079_load_json 086_dump_csv \
	087_copy_plain 088_definitions_crash
eager_tests = 007_random 009_anomalies 011_history 027_mixed 014_beside 018_index_clients 019_shared_levels 020_hot_row
.PHONY: $(scripted) $(standalone)
.DEFAULT_GOAL := all

test:
	@test/run.sh
# PostgreSQL's makefiles have a target of this name, which only says that it is not supported.
ifneq ($(filter check,$(MAKECMDGOALS)),)
check:
	@names=$$(test/changed.sh $(SINCE)) && KEEP_BUILD=1 QUICK=1 TESTS="$${names:-none}" test/run.sh
endif
test-eager:
	@EAGER=1 SUITES="isolation tap" TESTS="$(basename $(notdir $(wildcard test/specs/*.spec))) $(eager_tests)" test/run.sh
test-address:
	@SANITIZE=address SUITES="$${SUITES:-regress tap}" TESTS="$${TESTS:-$(basename $(notdir $(wildcard sql/*.sql test/same/*.sql))) $(address_tests)}" test/run.sh
test-frozen:
	@test/frozen/frozen.pl
hunt:
	@export SEED="$${SEED:-random}" RANDOM_STATEMENTS="$${RANDOM_STATEMENTS:-100000}" QUERY_SCHEMAS="$${QUERY_SCHEMAS:-300}" \
		FOREIGN_KEY_SCHEMAS="$${FOREIGN_KEY_SCHEMAS:-300}" FOREIGN_KEY_ROUNDS="$${FOREIGN_KEY_ROUNDS:-30}" \
		KIND_ORDERS="$${KIND_ORDERS:-5000}" DEFINITIONS_ROUNDS="$${DEFINITIONS_ROUNDS:-20}" ROUNDS="$${ROUNDS:-30}" CYCLES="$${CYCLES:-5}" CSV_FILES="$${CSV_FILES:-2000}" CSV_DUMPS="$${CSV_DUMPS:-2000}"; \
	SUITES=tap TESTS="$${TESTS:-$(random_tests)}" test/run.sh
lint:
	@SUITES=lint test/run.sh
demo:
	@demo/run.sh
psql:
	@test/psql.sh
judges:
	@test/judges/judges.sh
postgres-regress:
	@test/postgres_regress.sh
postgres-isolation:
	@test/postgres_isolation.sh
soak:
	@test/soak/soak.sh
soak-crash:
	@SEED="$${SEED:-random}" CYCLES="$${CYCLES:-20}" DAMAGE="$${DAMAGE:-7}" POINTS=all SUITES=tap TESTS="057_crash 063_damage 065_crash_points 068_prepared_restart 070_power_cut 071_failing_calls 075_standby 080_standby_bases 087_promotion_crash 087_standby_power_cut 088_definition_points" test/run.sh
restart-regress:
	@SEED="$${SEED:-random}" SCRIPT_COUNT=all SUITES=tap TESTS=074_scripts_restart test/run.sh
bench:
	@test/bench/run.sh
bench-instructions:
	@test/bench/instructions.sh
bench-start:
	@test/bench/start.sh
bench-tpch:
	@test/bench/tpch/tpch.sh
bench-batch:
	@test/bench/batch.sh
bench-collection:
	@test/bench/collection.sh
bench-retries:
	@test/bench/retries.sh
bench-sched:
	@test/bench/sched.sh
bench-kernel:
	@test/bench/ycsb.sh
unit:
	@$(MAKE) --no-print-directory -f test/unit/Makefile check
explore:
	@$(MAKE) --no-print-directory -f test/unit/Makefile explore
fuzz:
	@$(MAKE) --no-print-directory -f test/unit/Makefile SANITIZE=address,undefined fuzz
example:
	@test/setup.sh runtime
	@mkdir -p build
	@gcc -std=gnu11 -pthread -O2 -D_GNU_SOURCE -I. -o build/first $(filter-out runtime/format/% runtime/batch/%,$(wildcard runtime/*.c runtime/*/*.c)) -lurcu-cds -lm
	@build/first
format:
	clang-format-14 -i $(wildcard src/*/*.[ch] runtime/*.[ch] runtime/*/*.[ch] test/unit/*.[ch] test/unit/single/*.c test/explore/*.[ch] test/history/*.[ch] test/plan_trees/*.c test/power/*.c)

# Everything else needs PostgreSQL's own makefiles.
ifneq ($(filter-out $(scripted) $(standalone),$(or $(MAKECMDGOALS),all)),)

EXTENSION = tsurugi_fdw
MODULE_big = tsurugi_fdw
DATA = sql/tsurugi_fdw--1.0.sql
PGFILEDESC = "tsurugi_fdw - in-memory transactional tables"
SOURCES := $(sort $(filter-out runtime/example/%,$(wildcard runtime/*.c runtime/*/*.c)) $(wildcard src/*/*.c))
OBJS = $(SOURCES:.c=.o)

# Tests stand on their own and may run in any order, so that a new one needs no entry here.  Both
# suites find the extension created in their database.
REGRESS = $(sort $(foreach file,$(wildcard sql/*.sql),$(if $(findstring --,$(file)),,$(basename $(notdir $(file))))))
REGRESS_OPTS = --load-extension=tsurugi_fdw
ISOLATION = $(sort $(basename $(notdir $(wildcard test/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test --load-extension=tsurugi_fdw

# Only what is marked PGDLLEXPORT is visible outside the library.
PG_CPPFLAGS = -MMD -MP '-DPGDLLEXPORT=__attribute__((visibility("default")))' $(if $(filter-out 0,$(DEBUG)),-DTG_DEBUG -DTG_FAILPOINTS)
PG_CFLAGS = -std=gnu11 -pthread -fvisibility=hidden -Wextra -Wno-declaration-after-statement \
	-Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	$(if $(filter-out 0,$(WERROR)),-Werror) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -O1)
SHLIB_LINK = -pthread -lurcu-cds -lsnappy -lzstd -llz4 -lz -lbrotlidec $(if $(SANITIZE),-fsanitize=$(SANITIZE))
EXTRA_CLEAN = $(SOURCES:.c=.d) .build-flags build results regression.diffs regression.out
override with_llvm = no

PG_CONFIG ?= $(firstword $(wildcard /usr/lib/postgresql/15/bin/pg_config) pg_config)
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)
ifeq ($(PGXS),)
$(error pg_config of PostgreSQL 15 not found: install postgresql-server-dev-15 or set PG_CONFIG)
endif
include $(PGXS)

# Rebuild what has changed: headers, this file, and the flags of the last build.
build_flags = $(CC) $(CPPFLAGS) $(CFLAGS)
.PHONY: force
.build-flags: force
	@printf '%s\n' '$(subst ','\'',$(build_flags))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(build_flags))' > $@
$(OBJS): .build-flags Makefile
# loops over vectors
$(filter runtime/vector/% runtime/query/% runtime/exec/vectors.o runtime/durable/operations_rows.o,$(OBJS)): \
  override CFLAGS += -O3
-include $(SOURCES:.c=.d)

endif

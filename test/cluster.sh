# shellcheck shell=bash
# cluster.sh: a private copy, a private PostgreSQL and a private cluster.
# To be sourced, by every script that needs them:
#
#   . test/cluster.sh
#   tg_enter GROUP... -- "$@"   packages (setup.sh), then starts the script again
#                               in a copy of the tree under a temporary directory,
#                               as an unprivileged user; there it returns, in the
#                               top directory of the copy
#   tg_install MAKE-ARGUMENT...   build and install into a private prefix
#   tg_start SETTING...         a cluster with these lines in postgresql.conf
#   tg_stop
#
# Nothing outside the temporary directory is written, so that two runs at once do
# not disturb each other, nor a build in the checkout.  All is stopped and removed
# at the end, whatever the end is; KEEP=1 keeps the directory, KEEP_BUILD=1 what was compiled, for
# the next run.
#
# The private prefix: a server finds its files relative to its own executable, so
# a copy of the executables next to links to everything else is a PostgreSQL of
# its own, into which one can install without touching the system's.

if [ -z "${BASH_VERSION:-}" ] || [ "${BASH_SOURCE[0]}" = "$0" ]; then
	echo "cluster.sh is to be sourced by bash" >&2
	exit 1
fi

tg_fail()
{
	echo "$(basename "$0"): $*" >&2
	exit 1
}

# A system's pg_config, the one of PostgreSQL 15.
tg_pg_config()
{
	local candidate
	for candidate in "${PG_CONFIG:-}" /usr/lib/postgresql/15/bin/pg_config pg_config; do
		if [ -n "$candidate" ] && [[ $("$candidate" --version 2>/dev/null) == "PostgreSQL 15"* ]]; then
			echo "$candidate"
			return
		fi
	done
	tg_fail "no pg_config of PostgreSQL 15"
}

# With KEEP_BUILD=1: the directory of this tree and user, which keeps what was built from one run to
# the next.  Of the last run's copy it keeps nothing that is not a build's, so that a file which has
# gone is gone.
tg_kept_directory()
{
	local work
	work=${TMPDIR:-/tmp}/tsurugi_fdw.check.$(id -u).$(cksum <<<"$1" | cut -d' ' -f1)
	mkdir -m 700 -p "$work"
	if [ -n "$(find "$work" -maxdepth 0 -not -user "$(id -u)" -not -user postgres)" ]; then
		tg_fail "$work is another user's"
	fi
	if ! mkdir "$work/busy" 2>/dev/null; then
		[ ! -d "/proc/$(cat "$work/busy/pid" 2>/dev/null)/" ] || tg_fail "another run is at work in $work"
	fi
	echo $$ >"$work/busy/pid"
	find "$work" -mindepth 1 -maxdepth 1 -not -name tree -not -name unit -not -name busy -exec rm -rf {} +
	[ ! -d "$work/tree" ] ||
		find "$work/tree" -type f -not -name '*.o' -not -name '*.d' -not -name '*.so' -not -name .build-flags -delete
	echo "$work"
}

tg_enter()
{
	local groups=() script top work user

	while [ "$1" != -- ]; do
		groups+=("$1")
		shift
	done
	shift

	script=$(realpath "$0")
	top=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
	if [ -n "${TG_WORK:-}" ] && [ "$top" = "$TG_WORK/tree" ]; then
		tg_enter_copy
		return
	fi

	bash "$top/test/setup.sh" "${groups[@]}"
	export TG_PG_CONFIG
	TG_PG_CONFIG=$(tg_pg_config)
	TG_COMMIT=$(git -c safe.directory="$top" -C "$top" describe --always --dirty 2>/dev/null || echo unknown)
	export TG_COMMIT

	if [ "${KEEP_BUILD:-0}" != 0 ]; then
		work=$(tg_kept_directory "$top")
	else
		work=$(mktemp -d "${TMPDIR:-/tmp}/tsurugi_fdw.XXXXXX")
		trap "rm -rf '$work'" EXIT
	fi
	work=$(realpath "$work")
	trap 'exit 1' INT TERM HUP
	mkdir -p "$work/tree" "$work/home"
	tar -C "$top" -c --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.d' --exclude='*.so' \
		--exclude=./.build-flags --exclude=./results --exclude=./output_iso --exclude='tmp_check*' . |
		tar -C "$work/tree" -x --no-same-owner

	# from here on the copy looks after itself
	export TG_WORK=$work HOME=$work/home TMPDIR=/tmp
	unset MAKEFLAGS MAKELEVEL MFLAGS MAKEOVERRIDES PG_CONFIG
	cd "$work/tree"
	set -- bash "$work/tree/${script#"$top"/}" "$@"
	if [ "$(id -u)" -eq 0 ]; then
		# PostgreSQL refuses root
		user=postgres
		id -u $user >/dev/null 2>&1 || user=nobody
		chown -R "$user:$(id -gn $user)" "$work"
		exec setpriv --reuid="$user" --regid="$(id -g $user)" --init-groups --inh-caps=-all \
			env USER=$user LOGNAME=$user "$@"
	fi
	exec "$@"
}

# Second half of tg_enter: in the copy, unprivileged.
tg_enter_copy()
{
	local variable

	# a user's connection settings are not ours
	for variable in $(compgen -v PG); do
		unset "$variable"
	done
	# seconds, as tests wait for other things; pg_ctl's own 60 are not enough on a machine with much load
	export PGCTLTIMEOUT=180
	export LC_ALL=C.UTF-8 LANG=C.UTF-8 TZ=UTC
	umask 077
	ulimit -c 0
	trap tg_leave EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	cd "$TG_WORK/tree"
}

# Stops whatever runs below the temporary directory and removes it.
tg_leave()
{
	local status=$? children

	trap '' INT TERM HUP
	children=$(jobs -p)
	[ -z "$children" ] || kill $children 2>/dev/null || true
	tg_stop_all
	cd /
	if [ "${KEEP_BUILD:-0}" != 0 ]; then
		rm -rf "$TG_WORK/busy" "$TG_WORK/data" "$TG_WORK/prefix"
	elif [ "${KEEP:-0}" != 0 ]; then
		echo "kept: $TG_WORK" >&2
	else
		rm -rf "$TG_WORK"
	fi
	exit "$status"
}

tg_stop_all()
{
	local pidfile

	[ -n "${tg_bin:-}" ] || return 0
	find "$TG_WORK" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
		"$tg_bin/pg_ctl" -D "$(dirname "$pidfile")" -m immediate -w stop >/dev/null 2>&1 || true
	done
}

# Runs a long command so that a signal to this script is acted on at once.
tg_run()
{
	local pid status=0

	"$@" </dev/null &
	pid=$!
	wait $pid || status=$?
	return $status
}

# Links everything in $1 into the new directory $2.
tg_link_all()
{
	mkdir -p "$2"
	find "$1" -mindepth 1 -maxdepth 1 -exec ln -s -t "$2" {} +
}

# Makes the private prefix and puts its executables first in PATH.
tg_prefix()
{
	local prefix=$TG_WORK/prefix bin lib share include

	[ ! -d "$prefix" ] || return 0
	bin=$("$TG_PG_CONFIG" --bindir)
	lib=$("$TG_PG_CONFIG" --pkglibdir)
	share=$("$TG_PG_CONFIG" --sharedir)
	include=$("$TG_PG_CONFIG" --includedir)

	mkdir -p "$prefix$bin"
	cp -pL "$bin"/* "$prefix$bin/"
	tg_link_all "$lib" "$prefix$lib"
	tg_link_all "$share" "$prefix$share"
	rm "$prefix$share/extension"
	tg_link_all "$share/extension" "$prefix$share/extension"
	# an installed tsurugi_fdw must neither be used nor written through a link
	rm -f "$prefix$lib/tsurugi_fdw.so" "$prefix$share/extension/"tsurugi_fdw{.control,--*.sql}
	mkdir -p "$prefix$(dirname "$include")"
	ln -s "$include" "$prefix$include"

	tg_bin=$prefix$bin
	export PATH="$tg_bin:$PATH" PG_CONFIG="$tg_bin/pg_config"
	[ "$(pg_config --sharedir)" = "$prefix$share" ] || tg_fail "PostgreSQL in $bin cannot be moved"
	[ "${SANITIZE:-}" != address ] || tg_address
}

# Puts AddressSanitizer's library before the server, which was not compiled with it, for the
# extension that was. What it finds ends the process by a signal, and is written to
# $TG_WORK/address.PID.
#
# That library begins when memory is first asked for. The first to ask is libgpg-error's
# constructor, by bindtextdomain(), under a lock of the C library's that the beginning takes and
# releases once more, after which nobody gets it. So a library that holds nothing comes before all
# other constructors and begins it.
tg_address()
{
	local first=$TG_WORK/address_first.so

	gcc -fsanitize=address -shared -fPIC -Wl,-z,initfirst -o "$first" -x c /dev/null
	mv "$tg_bin/postgres" "$tg_bin/postgres-itself"
	cat >"$tg_bin/postgres" <<-END
		#!/bin/bash
		export LD_PRELOAD="$(gcc -print-file-name=libasan.so) $first"
		export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:log_path=$TG_WORK/address
		exec -a "\$0" "$tg_bin/postgres-itself" "\$@"
	END
	chmod 755 "$tg_bin/postgres"
}

# Builds with these make arguments and installs into the private prefix.
tg_install()
{
	local log=$TG_WORK/build.log

	tg_prefix
	if ! tg_run make -j"$(nproc)" "$@" install >"$log" 2>&1; then
		cat "$log" >&2
		echo "the build failed" >&2
		return 1
	fi
	grep -E 'warning:' "$log" >&2 || true
}

# Starts the cluster; PGHOST and the like then lead there.
tg_start()
{
	tg_prefix
	tg_data=$TG_WORK/data
	mkdir -p "$TG_WORK/socket"
	if ! initdb -D "$tg_data" -U postgres -A trust -E UTF8 --no-locale --no-sync >"$TG_WORK/initdb.log" 2>&1 </dev/null; then
		cat "$TG_WORK/initdb.log" >&2
		return 1
	fi
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$TG_WORK/socket'" \
		"shared_preload_libraries = 'tsurugi_fdw'" "max_connections = 50" "fsync = off" \
		"log_min_messages = warning" "log_line_prefix = '%m [%p] %q%a %e '" "timezone = 'UTC'" \
		"$@" >>"$tg_data/postgresql.conf"
	export PGHOST=$TG_WORK/socket PGUSER=postgres PGDATABASE=postgres
	tg_restart
}

# (Re)starts the server of tg_start.
tg_restart()
{
	local verb=start

	[ ! -f "$tg_data/postmaster.pid" ] || verb=restart
	if ! pg_ctl -D "$tg_data" -l "$TG_WORK/server.log" -w $verb >"$TG_WORK/pg_ctl.log" 2>&1 </dev/null; then
		cat "$TG_WORK/server.log" >&2
		echo "the server does not start" >&2
		return 1
	fi
}

tg_stop()
{
	pg_ctl -D "$tg_data" -m fast -w stop >/dev/null 2>&1
}

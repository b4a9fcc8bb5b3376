#!/bin/bash
# Installs the Debian packages that a target needs, and only those missing; for tests, too,
# the locales that texts are compared under, which package locales has the sources of.
#
#   test/setup.sh GROUP...      groups: build, test, lint, bench, instructions, runtime, sched, kernel
#
# With everything there it asks dpkg and returns: nothing is fetched.  It needs
# root, or sudo.  Installing Debian's postgresql-15 would create and start a
# cluster "main" on a machine that has none and start the stopped clusters of
# one that has some; both are prevented, for as long as the installation lasts.
set -euo pipefail

packages_of()
{
	case $1 in
		build)
			echo gcc libc6-dev libbrotli-dev liblz4-dev libsnappy-dev liburcu-dev libzstd-dev make postgresql-15 \
				postgresql-server-dev-15 zlib1g-dev
			;;
		test) echo locales perl libipc-run-perl postgresql-15-pgtap zstd ;;
		lint) echo clang-format-14 cppcheck ;;
		bench) echo perl ;;
		instructions) echo locales valgrind libc6-dbg ;;
		runtime) echo gcc libc6-dev liburcu-dev locales ;;
		kernel) echo gcc libc6-dev liblmdb-dev librocksdb-dev liburcu-dev libwiredtiger-dev perl ;;
		sched) echo gcc g++ libc6-dev liburcu-dev clang-14 libomp-14-dev libtbb-dev perl ;;
		*) echo "setup.sh: unknown group \"$1\"" >&2; return 1 ;;
	esac
}

# The packages of these groups that are not installed.
missing_packages()
{
	local group package
	for group; do
		for package in $(packages_of "$group"); do
			# not grep -q: it would end dpkg before it has written all
			dpkg -s "$package" 2>/dev/null | grep '^Status: install ok installed$' >/dev/null || echo "$package"
		done
	done | sort -u
}

# The locales of these groups that are not there.
missing_locales()
{
	local there locale

	[[ " $* " =~ " "(test|runtime|instructions)" " ]] || return 0
	there=$(locale -a)
	for locale in cs_CZ de_DE en_US fr_CA ja_JP sv_SE; do
		grep -x "$locale.utf8" <<<"$there" >/dev/null || echo "$locale"
	done
}

conf=/etc/postgresql-common/createcluster.d/tsurugi_fdw.conf
policy=/usr/sbin/policy-rc.d
policy_made=no

# Takes back what install_packages has put there for its own time.
restore()
{
	rm -f "$conf"
	rmdir "${conf%/*}" 2>/dev/null || true
	[ "$policy_made" = no ] || rm -f "$policy"
}

# Runs as root: while it lasts, no cluster is created and none is started.
install_packages()
{
	trap restore EXIT
	trap 'exit 1' INT TERM HUP

	mkdir -p "${conf%/*}"
	echo 'create_main_cluster = false' >"$conf"
	if [ ! -e "$policy" ]; then
		policy_made=yes
		printf '%s\n' '#!/bin/sh' '# made by test/setup.sh of tsurugi_fdw for the time of an installation' \
			'case $1 in postgresql*) exit 101 ;; esac' >"$policy"
		chmod 755 "$policy"
	fi

	export DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1
	# another installation may hold the lock: wait for it
	local apt=(apt-get -q -y -o DPkg::Lock::Timeout=600)
	# the lists may be missing or old: fetch them only if what is there does not do
	if ! "${apt[@]}" install --no-install-recommends "$@" </dev/null; then
		"${apt[@]}" update </dev/null
		"${apt[@]}" install --no-install-recommends "$@" </dev/null
	fi
}

if [ "${1:-}" = --install ]; then
	shift
	install_packages "$@"
	exit
fi
if [ "${1:-}" = --locales ]; then
	shift
	for locale; do
		localedef -i "$locale" -f UTF-8 "$locale.UTF-8"
	done
	exit
fi

if ! command -v dpkg >/dev/null; then
	echo "setup.sh: not a Debian system; trusting that what is needed is installed" >&2
	exit 0
fi

# This script's other half, as root.
as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		bash "${BASH_SOURCE[0]}" "$@" >&2
	elif command -v sudo >/dev/null; then
		sudo bash "${BASH_SOURCE[0]}" "$@" >&2
	else
		echo "setup.sh: not root and no sudo; please install:" "${@:2}" >&2
		exit 1
	fi
}

missing=$(missing_packages "$@")
if [ -n "$missing" ]; then
	echo "Installing Debian packages:" $missing >&2
	as_root --install $missing
	still=$(missing_packages "$@")
	if [ -n "$still" ]; then
		echo "setup.sh: could not install:" $still >&2
		exit 1
	fi
fi

missing=$(missing_locales "$@")
if [ -n "$missing" ]; then
	echo "Making locales:" $missing >&2
	as_root --locales $missing
fi

# shellcheck shell=bash
# postgres_suite.sh: what the scripts that run PostgreSQL's own test suites share.
# To be sourced after cluster.sh.

# Writes the machine's package sources, which apt reads from the directory $1, to the directory $2
# as sources of source packages.  Where they name binary packages alone, the source packages are in
# the same archives.
suite_sources()
{
	local file

	mkdir -p "$2/sources.list.d"
	for file in "$1"/sources.list "$1"/sources.list.d/*.list; do
		[ ! -r "$file" ] || sed -nE 's/^[[:space:]]*deb(-src)?([[:space:]])/deb-src\2/p' "$file"
	done | sort -u >"$2/sources.list"
	for file in "$1"/sources.list.d/*.sources; do
		[ ! -r "$file" ] || sed -E 's/^Types:.*/Types: deb-src/I' "$file" >"$2/sources.list.d/${file##*/}"
	done
}

# The source package from the machine's own package sources, by apt's own means but in directories
# of our own.
suite_fetch()
{
	local apt=$TG_WORK/apt options

	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	suite_sources /etc/apt "$apt"
	options=(-q -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts="$apt/sources.list.d"
		-o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Debug::NoLocking=1)
	# a source without source packages, or out of reach, is a warning
	apt-get "${options[@]}" update >"$apt/log" 2>&1 || { cat "$apt/log" >&2; return 1; }
	cd "$apt"
	# the newest version in the index need not be there to be had
	apt-cache "${options[@]}" showsrc postgresql-15 | sed -n 's/^Version: //p' | sort -rV | while read -r version; do
		! apt-get "${options[@]}" source --download-only "postgresql-15=$version" >>"$apt/log" 2>&1 || break
	done
	cd "$TG_WORK/tree"
	mkdir "$TG_WORK/source"
	tar -C "$TG_WORK/source" --strip-components=1 -xf "$apt"/postgresql-15_*.orig.tar.*
}

# Leaves PostgreSQL's source in the directory PG_SOURCE.
suite_source()
{
	[ -z "${PG_SOURCE:-}" ] || return 0
	suite_fetch || tg_fail "PostgreSQL's source package cannot be had; name a directory by PG_SOURCE"
	PG_SOURCE=$TG_WORK/source
}

# A fresh cluster with the database $1, whose tables are in memory if $2 is on; further: lines of
# postgresql.conf.
suite_start()
{
	local database=$1 setting=$2 statement

	shift 2
	tg_start "max_prepared_transactions = 2" "tsurugi_fdw.memory = 2GB" \
		${SERVER:+"$SERVER"} "$@"
	createdb -T template0 --lc-collate=C --lc-ctype=C "$database"
	for statement in 'CREATE EXTENSION tsurugi_fdw' \
		'CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw' \
		'GRANT USAGE ON FOREIGN SERVER tsurugi TO PUBLIC' \
		"ALTER DATABASE $database SET tsurugi_fdw.create_table = $setting" \
		"ALTER DATABASE $database SET lc_messages TO 'C'" "ALTER DATABASE $database SET lc_monetary TO 'C'" \
		"ALTER DATABASE $database SET lc_numeric TO 'C'" "ALTER DATABASE $database SET lc_time TO 'C'" \
		"ALTER DATABASE $database SET bytea_output TO 'hex'" \
		"ALTER DATABASE $database SET timezone_abbreviations TO 'Default'"; do
		psql -Xq -d "$database" -c "$statement" 2>/dev/null
	done
}

# Stops that cluster and leaves its log in the directory $1.
suite_stop()
{
	cp "$TG_WORK/server.log" "$1/server.log"
	tg_stop
	rm -rf "$tg_data" "$TG_WORK/server.log"
}

# Copies the directories of answers, the arguments, to OUT; fails if the server with tables in
# memory crashed.
suite_finish()
{
	if [ -n "${OUT:-}" ]; then
		mkdir -p "$OUT"
		cp -r "$@" "$OUT/"
	fi
	if grep -E 'was terminated by signal|tsurugi_fdw: check failed' "$TG_WORK/foreign/server.log"; then
		tg_fail "the server crashed"
	fi
}

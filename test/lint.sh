#!/bin/bash
# Checks of the sources that need no run: layers, headers, words, format.
# Prints TAP, one line per rule; called by run.sh, works in a checkout as well:
#
#   test/lint.sh       QUICK=1: without the rules that take more than some seconds
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The rooms of runtime/ from the lowest up; each may include itself and those before it.
rooms="base mem sched order btree table index reclaim txn exec vector query durable format batch app"

# Those of src/ likewise.
source_rooms="base log value table txn constraint exec job copy ddl durable server"

number=0

# Result of a rule: what was found, nothing if it is kept.  Findings go to standard
# error, where a harness lets them through.
rule()
{
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		sed 's/^/# /' <<<"$2" >&2
	fi
}

# file:line:"included" of all quoted includes of the files given.
includes_of()
{
	[ $# -eq 0 ] || grep -nHoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' "$@" |
		sed -E 's/#[[:space:]]*include[[:space:]]*"([^"]+)"/\1/; s/:[[:space:]]+/:/'
}

shopt -s nullglob
runtime_files=(runtime/*.[ch] runtime/*/*.[ch])
source_files=(src/*/*.[ch])
unit_files=(test/unit/*.[ch] test/unit/single/*.c test/explore/*.[ch])
c_files=("${runtime_files[@]}" "${source_files[@]}" "${unit_files[@]}" test/history/*.[ch] test/plan_trees/*.c test/power/*.c)
shopt -u nullglob

# Includes in runtime/ that name no room, a room above their own, or PostgreSQL.
layer_faults()
{
	local file line included room allowed known
	includes_of "${runtime_files[@]}" | while IFS=: read -r file line included; do
		room=${file#runtime/}
		if [[ $room != */* ]]; then
			# the front door may include every room
			[[ $included == runtime/* ]] || echo "$file:$line: \"$included\" is not of runtime/"
			continue
		fi
		room=${room%%/*}
		if [ "$room" = example ]; then
			# a program of its own enters by the front door
			[ "$included" = runtime/runtime.h ] || echo "$file:$line: \"$included\" is not the front door"
			continue
		fi
		allowed=
		known=no
		for one in $rooms; do
			allowed="$allowed $one"
			[ "$one" != "$room" ] || { known=yes; break; }
		done
		[ "$known" = yes ] || echo "$file: \"$room\" is not a room"
		included=${included#runtime/}
		[[ $included == */* && " $allowed " == *" ${included%%/*} "* ]] ||
			echo "$file:$line: \"$included\" is not at or below $room"
	done
}

# The same for src/.
source_layer_faults()
{
	includes_of "${source_files[@]}" | awk -F'[:/]' -v rooms="$source_rooms" '
		BEGIN {
			count = split(rooms, names, " ")
			for (i = 1; i <= count; i++) level[names[i]] = i
		}
		!($2 in level) { print $0 ": \"" $2 "\" is not a room" }
		$5 == "src" && !(level[$6] <= level[$2] && $6 in level) { print $0 ": not at or below " $2 }'
}

# Functions that another room's header declares: calls by it would pass the floors by.
declaration_faults()
{
	[ ${#source_files[@]} -eq 0 ] || awk '
		match($0, /tsurugi[A-Za-z0-9_]*\(/) {
			name = substr($0, RSTART, RLENGTH - 1)
			if (FILENAME ~ /\.c$/ && RSTART == 1) defined[name] = FILENAME
			if (FILENAME ~ /\.h$/ && /^extern /) declared[name] = FILENAME
		}
		END {
			for (name in declared) {
				if (!(name in defined)) continue
				split(declared[name], header, "/")
				split(defined[name], source, "/")
				if (header[2] != source[2]) print declared[name] ": " name " is defined in " defined[name]
			}
		}' "${source_files[@]}"
}

# src/ includes parts of the front door, which are the headers that runtime.h lists, and never the sum.
front_door_faults()
{
	includes_of "${source_files[@]}" | awk -F: '
		NR == FNR { if ($3 ~ /^runtime\//) parts[$3] = 1; next }
		$3 ~ /^runtime\// && !($3 in parts) { print $0 ": not a part of the front door" }
		$3 ~ /^\.\.?\// { print $0 ": not from the root" }' <(includes_of runtime/runtime.h) -
}

# src/ names versions and asks the runtime about them: how they are linked, and how a chunk lies, it
# does not know.
version_faults()
{
	[ ${#source_files[@]} -eq 0 ] || grep -nHE \
		'\b(tg_chunk|tg_header|tg_layout|tg_row_head|tg_chunk_(headers|look|column|is_null|value|cell)|tg_version_(chunk|slot|make)|tg_head_is_closed|tg_time_is_reference|tg_reference_[a-z]+)\b' \
		"${source_files[@]}" | strip_comments
}

# A header included in a circle compiles, thanks to its guard, but means that two are one.
circle_faults()
{
	[ ${#c_files[@]} -eq 0 ] || includes_of "${c_files[@]}" | awk -F: '
		$1 ~ /\.h$/ && $3 ~ /^(runtime|src)\// { edges[$1] = edges[$1] " " $3 }
		function walk(node, path,    list, count, i) {
			if (index(path, " " node " ")) { print "circle:" path node; return }
			if (node in done) return
			count = split(edges[node], list, " ")
			for (i = 1; i <= count; i++) walk(list[i], path node " ")
			done[node] = 1
		}
		END { for (node in edges) walk(node, " ") }'
}

# A change to a header of runtime/ rebuilds at most a quarter of src/, so that it can be tried soon.
# Where one is over it, headers that only pass a thing on name it (base/names.h), or the part that
# many need gets a header of its own.  Those of base/ are for all.
reach_faults()
{
	[ ${#source_files[@]} -eq 0 ] || includes_of "${runtime_files[@]}" "${source_files[@]}" | awk -F: '
		{ edges[$1] = edges[$1] " " $3; if ($1 ~ /^src\/.*\.c$/) sources[$1] = 1 }
		function walk(node,    list, count, i) {
			count = split(edges[node], list, " ")
			for (i = 1; i <= count; i++)
				if (list[i] ~ /^(runtime|src)\// && reached[list[i]] != source) {
					reached[list[i]] = source
					objects[list[i]]++
					walk(list[i])
				}
		}
		END {
			for (source in sources) { all++; walk(source) }
			for (header in objects)
				if (header ~ /^runtime\// && header !~ /^runtime\/base\// && 4 * objects[header] > all)
					print header ": " objects[header] " of the " all " objects of src/ depend on it, more than a quarter"
		}' | sort
}

postgres_faults()
{
	[ ${#runtime_files[@]} -eq 0 ] || grep -nHE \
		'#[[:space:]]*include[[:space:]]*[<"](postgres|fmgr|utils/|storage/|access/|executor/|nodes/|commands/|catalog/|foreign/|miscadmin|libpq)|\b(ereport|elog|palloc0?|pfree|repalloc|CHECK_FOR_INTERRUPTS|PG_TRY|MemoryContext[A-Za-z]*)\b' \
		"${runtime_files[@]}" | strip_comments
}

# Drops lines of grep -nH that are a comment's.
strip_comments()
{
	grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*|//)'
}

# What a table's owner has written is evaluated behind the door (src/base/owner.h), but for the
# executor's own path in src/exec/, and src/table/keys.c, which is behind it as a whole.  These
# functions evaluate, or plan, as the current role.  A function that calls one of them has opened
# the door before, or is one of them, or is named below.
evaluators='ExecPrepare(Expr|ExprList|Check|Qual)|FormIndexDatum|BuildIndexValueDescription|build_column_default|expression_planner'
evaluators+='|tsurugi_hidden_(prepare|compute(_columns|_index)?)|tsurugi_gin_(prepare|make_list)|tsurugi_row_(from_slot|compute_hidden)'
evaluators+='|tsurugi_exclusions?_(prepare(_one)?|fail)|describe_key|tsurugi_error_(duplicate|excluded)|prepare_checks'
evaluators+='|(try_to_)?compute(_[a-z]+)?|make_states|fill_all'
evaluators+='|RelationGetIndex(Expressions|Predicate)|BuildIndexInfo|find_same|tsurugi_(index_expression|keys_describe)'

# First those for rows that an INSERT, UPDATE or DELETE has written, a load's INSERT, then what an
# ALTER TABLE says.
not_owned='init_exclusion values_of fail judge has_moved describe_version error_missing prepare_insert
tsurugi_anew_defaults tsurugi_table_rewrite_reason tsurugi_retype_add'

door_faults()
{
	awk -v evaluators="^($evaluators)\$" -v not_owned="$not_owned" '
		BEGIN { count = split(not_owned, names); for (i = 1; i <= count; i++) exempt[names[i]] }
		/^[ \t]*(\*|\/\*)/ { next }
		/^[a-z_][A-Za-z0-9_]*\(/ { function_name = substr($0, 1, index($0, "(") - 1); opened = 0; next }
		/tsurugi_(owner_begin|author_begin|insert_as)\(/ { opened = 1 }
		function_name ~ evaluators || function_name in exempt || opened { next }
		/"INSERT INTO / { print FILENAME ":" FNR ": rows are stored outside of the door" }
		{
			for (rest = $0; match(rest, /[A-Za-z_][A-Za-z0-9_]*\(/); rest = substr(rest, RSTART + RLENGTH))
				if ((called = substr(rest, RSTART, RLENGTH - 1)) ~ evaluators)
					print FILENAME ":" FNR ": " function_name " calls " called " outside of the door"
		}' $(printf '%s\n' "${source_files[@]}" | grep '\.c$' | grep -vE '^src/(exec/|table/keys\.c$)')
}

header_faults()
{
	local file pg_include
	pg_include=$("${PG_CONFIG:-/usr/lib/postgresql/15/bin/pg_config}" --includedir-server 2>/dev/null)
	for file in "${c_files[@]}"; do
		[[ $file == *.h ]] || continue
		case $file in
			src/*)
				[ -n "$pg_include" ] || continue
				printf '#include "postgres.h"\n#include "%s"\n' "$file" |
					gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -w -I. -Isrc -I"$pg_include" -x c - 2>&1 ;;
			*)
				printf '#include "%s"\n' "$file" |
					gcc -std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wno-unused -Wno-unused-parameter -I. -x c - 2>&1 ;;
		esac
	done
}

guard_faults()
{
	awk '
		function finish() { if (name != "" && !(guard != "" && defined)) print name ": no include guard" }
		FNR == 1 { finish(); name = FILENAME; guard = ""; defined = 0 }
		guard == "" && /^#ifndef [A-Z0-9_]+/ { guard = $2 }
		guard != "" && $0 == "#define " guard { defined = 1 }
		END { finish() }' $(printf '%s\n' "${c_files[@]}" | grep '\.h$')
}

own_header_faults()
{
	local file owners=()
	for file in "${c_files[@]}"; do
		[[ $file != *.c || ! -f ${file%.c}.h ]] || owners+=("$file")
	done
	includes_of "${owners[@]}" | awk -F: -v owners="${owners[*]}" '
		$3 != "postgres.h" && !($1 in first) { first[$1] = $3 }
		END {
			count = split(owners, files, " ")
			for (i = 1; i <= count; i++) {
				name = files[i]
				gsub(/.*\/|\.c$/, "", name)
				if (first[files[i]] !~ "(^|/)" name "(_internal)?[.]h$") print files[i] ": its own header does not come first"
			}
		}'
}

length_faults()
{
	wc -l "${c_files[@]}" | awk '$1 > 800 && $2 != "total" { print $2 ": " $1 " lines, more than 800" }'
}

# A tab counts as four columns.
comment_width_faults()
{
	perl -CSD -ne '
		$inside = 0 if $. == 1;
		$comment = $inside || m{^\s*/\*};
		$inside = m{/\*(?!.*\*/)} || ($inside && !m{\*/});
		$line = $_;
		1 while $line =~ s/^([^\t]*)\t/$1 . " " x (4 - length($1) % 4)/e;
		printf "%s:%d: a comment of %d columns\n", $ARGV, $., length($line) - 1
			if $comment && length($line) > 101;
		close ARGV if eof' "${c_files[@]}"
}

# PostgreSQL's Min, Max and Abs evaluate an argument twice: a call there is made twice.
macro_faults()
{
	perl -0777 -ne '
		my $harmless = qr/(?:sizeof|list_length|estimate_array_length|fabs|log|pow|pg_popcount64|Min|Max|Abs)\b/;
		while (/\b(?:Min|Max|Abs)(\((?:[^()]++|(?1))*\))/g) {
			my ($arguments, $line) = ($1, 1 + (substr($_, 0, $-[0]) =~ tr/\n//));
			print "$ARGV:$line: $1() is called twice\n" if $arguments =~ /\b(?!$harmless)([a-z_]\w*)\s*\(/;
		}' "${source_files[@]}"
}

head_faults()
{
	awk 'FNR == 1 && $0 != "/*" { print FILENAME ": no comment at its head" }' "${c_files[@]}"
}

# What a reader of the repository cannot know.
word_faults()
{
	grep -rnIE '\.\./[s]hared|/[w]ork/|\bC[E]O\b|\b[i]ssues? #?[0-9]+|\b(T[O]DO|F[I]XME|X[X]X)\b' \
		--exclude-dir=.git --exclude=.git --exclude-dir=build --exclude-dir=tmp_check --exclude=LICENSE --exclude='*.csv' .
}

# The table of runtime/txn/README.md: rules are named where they are said to be kept; failpoints are there, and in each test.
rule_faults()
{
	local table=runtime/txn/README.md rule code points tests file point
	while IFS='|' read -r _ rule _ code points tests _; do
		rule=${rule// /}
		for file in $(grep -oE '[^`, ]+\.[ch]\b' <<<"$code"); do
			grep -qE "\\b$rule\\b" "$file" || echo "$table: $file does not name $rule"
		done
		for point in $(grep -oE '[a-z0-9_]+' <<<"$points"); do
			grep -rqF --include='*.[ch]' "\"$point\"" runtime src || echo "$table: there is no failpoint $point"
		done
		for file in $(grep -oE '[^`, ]+\.(c|pl)\b' <<<"$tests"); do
			grep -qE "\\b($(grep -oE '[a-z0-9_]+' <<<"$points" | paste -sd'|'))\\b" "$file" || echo "$table: $file takes nothing of $rule out"
		done
		for point in $(grep -oE '[a-z0-9_]+' <<<"$points"); do
			grep -lqE "\\b$point\\b" $(grep -oE '[^`, ]+\.(c|pl)\b' <<<"$tests") || echo "$table: no test of $rule takes $point out"
		done
	done < <(grep -E '^\| [A-Z][0-9]' $table)
}

# A comment that cites a numbered paragraph of a file's head, as "prune.c, 8", cites one that is there.
citation_faults()
{
	awk '
		{ name = FILENAME; sub(/.*\//, "", name); files[name] = 1 }
		match($0, /^[ \t]*(\/\*|\*)[ \t]*[0-9]+\./) {
			number = $0
			gsub(/^[^0-9]*|\..*/, "", number)
			there[name, number] = 1
		}
		{
			for (rest = $0; match(rest, /[a-z_]+\.[ch], [0-9]+/); rest = substr(rest, RSTART + RLENGTH)) {
				split(substr(rest, RSTART, RLENGTH), cited, ", ")
				places[FILENAME ":" FNR] = places[FILENAME ":" FNR] " " cited[1] "," cited[2]
			}
		}
		END {
			for (place in places) {
				count = split(places[place], list, " ")
				for (i = 1; i <= count; i++) {
					split(list[i], cited, ",")
					if (cited[1] in files && !((cited[1], cited[2]) in there))
						print place ": " cited[1] " has no " cited[2]
				}
			}
		}' "${c_files[@]}"
}

# SQL of the extension's own is parsed in the user's session: one file sees to its names.
query_faults()
{
	grep -nE '\bSPI_(exec|execute|execute_extended|execute_with_args|prepare|prepare_cursor|prepare_extended|prepare_params|cursor_open_with_args|cursor_parse_open)[[:space:]]*\(' \
		"${source_files[@]}" | grep -v '^src/base/query\.c:' | strip_comments
}

# The same in the install script, whose schema may be somebody else's: views name tables, functions
# and types with their schemas, and functions in SQL set their search_path.
script_faults()
{
	awk 'function fault(what) { print FILENAME ":" FNR ": " what }
		/^CREATE (OR REPLACE )?VIEW/ { view = 1 }
		view {
			rest = $0
			gsub(/\047[^\047]*\047/, "", rest)
			if (rest ~ /(FROM|JOIN) +[a-z_]+([ (;]|$)/) fault("a table or function without its schema")
			if (rest ~ /(^|[^.a-z_])[a-z_]+\(/) fault("a function without its schema")
			if (rest ~ /::[a-z_]+([^a-z_.]|$)/) fault("a type without its schema")
		}
		/;$/ { view = 0 }
		/^CREATE (OR REPLACE )?(FUNCTION|PROCEDURE)/ { sql = 0; path = 0 }
		/LANGUAGE (sql|plpgsql)/ { sql = 1 }
		/SET search_path = pg_catalog, pg_temp$/ { path = 1 }
		/^(AS|RETURN|BEGIN)/ && sql && !path { fault("a function that does not set search_path"); sql = 0 }
	' sql/*--*.sql
}

answer_faults()
{
	local file
	for file in sql/*.sql; do
		[[ -f $file && $file != *--* ]] || continue
		[ -f "expected/$(basename "$file" .sql).out" ] || echo "$file: no expected/$(basename "$file" .sql).out"
	done
	for file in test/specs/*.spec; do
		[ -f "$file" ] || continue
		[ -f "test/expected/$(basename "$file" .spec).out" ] || echo "$file: no expected output"
	done
}

shell_faults()
{
	local file
	while read -r file; do
		bash -n "$file" 2>&1
	done < <(find .ci test demo -type f \( -name '*.sh' -o -path './.ci/run' -o -name run \))
}

format_faults()
{
	[ ${#c_files[@]} -eq 0 ] || clang-format-14 --dry-run -Werror "${c_files[@]}" 2>&1 | grep -E 'error:|rror' | head -50
}

# On x86-64: each combination of compilers, machines and sanitizers costs as much again, and they
# differ by some lines.  So does a build with assertions, which only narrow what cppcheck believes
# possible: of it, the sources that have lines of their own for it.  Headers are looked at where
# sources include them.
cppcheck_faults()
{
	local file sources=() own=()

	for file in "${runtime_files[@]}" "${source_files[@]}"; do
		[[ $file != *.c ]] || sources+=("$file")
	done
	[ ${#sources[@]} -eq 0 ] && return
	mapfile -t own < <(grep -lE '^#.*\bTG_(DEBUG|FAILPOINTS)\b' "${sources[@]}")
	cppcheck_build "-UTG_DEBUG -UTG_FAILPOINTS" "${sources[@]}"
	[ ${#own[@]} -eq 0 ] || cppcheck_build "-DTG_DEBUG -DTG_FAILPOINTS" "${own[@]}"
}

cppcheck_build()
{
	local build=$1
	shift
	# shellcheck disable=SC2086 # several options
	cppcheck -q -j"$(nproc)" --std=c11 --language=c -I. -D__x86_64__ $build --enable=warning,performance,portability \
		--inline-suppr --suppress=missingInclude --suppress=missingIncludeSystem --suppress=unknownMacro \
		--suppress=normalCheckLevelMaxBranches --suppress=preprocessorErrorDirective \
		--suppress=nullPointerRedundantCheck:src/* --error-exitcode=0 \
		--template='{file}:{line}: {id}: {message}' "$@" 2>&1
}

if [ -z "${QUICK:-}" ]; then
	exec {cppcheck}< <(cppcheck_faults) # takes longest: meanwhile the others
	trap "kill $! 2>/dev/null" EXIT
fi
rule "runtime/ includes only what lies at or below" "$(layer_faults)"
rule "src/ includes only what lies at or below" "$(source_layer_faults)"
rule "a function in src/ is declared in its own room" "$(declaration_faults)"
rule "src/ enters runtime/ by its front door" "$(front_door_faults)"
rule "src/ knows nothing of how versions and chunks lie" "$(version_faults)"
rule "no header includes itself in a circle" "$(circle_faults)"
rule "a header of runtime/ reaches a quarter of src/ at most" "$(reach_faults)"
rule "no PostgreSQL in runtime/" "$(postgres_faults)"
[ -n "${QUICK:-}" ] || rule "each header compiles alone" "$(header_faults)"
rule "what a table's owner has written is evaluated as the owner" "$(door_faults)"
rule "each header has an include guard" "$(guard_faults)"
rule "each source includes its own header first" "$(own_header_faults)"
rule "no file is longer than 800 lines" "$(length_faults)"
rule "no line of a comment has more than 100 columns" "$(comment_width_faults)"
rule "no call within Min, Max or Abs" "$(macro_faults)"
rule "each file begins with a comment" "$(head_faults)"
rule "no words that only insiders know" "$(word_faults)"
rule "rules are kept, and taken out, where their table says" "$(rule_faults)"
rule "a numbered paragraph that a comment cites is there" "$(citation_faults)"
rule "SQL of the extension's own goes through src/base/query.c" "$(query_faults)"
rule "the install script names everything with its schema" "$(script_faults)"
rule "each test has an expected output" "$(answer_faults)"
rule "scripts are well formed" "$(shell_faults)"
rule "clang-format has nothing to say" "$(format_faults)"
[ -n "${QUICK:-}" ] || rule "cppcheck has nothing to say" "$(cat <&"$cppcheck")"
echo "1..$number"

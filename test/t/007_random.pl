# Random tables, rows and statements, on an ordinary table and on one in memory:
# the answers must be the same, rows, row counts and errors alike.
#
# SEED takes another seed, RANDOM_STATEMENTS makes a run longer.  A statement
# names the table as T; compare() in the database runs it on both and returns
# what differs.  What depends on the order that rows are met in is not asked.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use PostgreSQL::Test::Utils;
use Test::More;

my $statements = $ENV{RANDOM_STATEMENTS} // 20000;
my $tables = 40;
srand seed();
note "RANDOM_STATEMENTS=$statements";

sub quoted { my $text = join '', map { pick('a' .. 'e', 'A' .. 'C', ' ', 'ä', '') } 1 .. rand 7; return "'$text'" }

# Of each type: values, whether it can be in a key, whether it has an order to ask for.
my %types = (
	'int' => { value => sub { int(rand 60) - 20 }, key => 1 },
	'bigint' => { value => sub { pick(int(rand 40), int(rand 40) * 1_000_000_007, -5) }, key => 1 },
	'smallint' => { value => sub { int(rand 40) - 10 }, key => 1 },
	'text' => { value => \&quoted, key => 1 },
	'text COLLATE "C"' => { value => \&quoted, key => 1 },
	'text COLLATE "en_US.utf8"' => { value => \&quoted, key => 1 },
	'text COLLATE "sv-x-icu"' => { value => \&quoted, key => 1 },
	'text COLLATE loose' => { value => \&quoted, key => 1 },
	'varchar(4)' => { value => \&quoted, key => 1 },
	'char(3)' => { value => sub { "'" . pick('a' .. 'd') x int(rand 4) . "'" }, key => 1 },
	'numeric(6,2)' => { value => sub { pick(int(rand 30), sprintf('%.3f', rand 20), "'NaN'", -1.5) }, key => 1 },
	'numeric' => { value => sub { pick(int(rand 30), sprintf('%.5f', rand 20), '1e30', "'NaN'") }, key => 1 },
	'float8' => { value => sub { pick(int(rand 30) / 4, "'NaN'", "'-Infinity'", 0, "'-0'") }, key => 1 },
	'boolean' => { value => sub { pick('true', 'false') }, key => 1 },
	'date' => { value => sub { "'2020-01-01'::date + " . int(rand 30) }, key => 1 },
	'timestamptz' => { value => sub { "'2020-01-01 00:00+00'::timestamptz + '" . int(rand 30) . " hours'" }, key => 1 },
	'uuid' => { value => sub { sprintf "'00000000-0000-0000-0000-%012d'", rand 30 }, key => 1 },
	'bytea' => { value => sub { pick("''", "'\\x00'", "'\\x0001ff'", "'\\xff'", "'abc'") }, key => 1 },
	'interval' => { value => sub { pick("'1 day'", "'24 hours'", "'1 mon'", "'30 days'", "'00:01'") }, key => 1 },
	'inet' => { value => sub { "'10.0.0." . int(rand 20) . pick('', '/24') . "'" }, key => 1 },
	'jsonb' => { value => sub { pick(q('{"a": 1}'), q('[1, 2]'), q('{"a": {"b": null}}'), q('"s"')) }, key => 1 },
	'int[]' => { value => sub { "'{" . join(',', map { int rand 4 } 1 .. rand 4) . "}'" }, key => 1 },
	'int4range' => { value => sub { "'[" . int(rand 9) . "," . (9 + int rand 9) . ")'" }, key => 1 },
	'text[] COLLATE "en_US.utf8"' => { value => sub { 'ARRAY[' . join(', ', map { quoted() } 1 .. 1 + rand 3) . ']::text[]' }, key => 1 },
	'text[] COLLATE "C"' => { value => sub { 'ARRAY[' . join(', ', map { quoted() } 1 .. 1 + rand 3) . ']::text[]' }, key => 1 },
	'nummultirange' => { value => sub { "'{" . join(',', map { '[' . 10 * $_ . ',' . (10 * $_ + 1 + int rand 4) . pick(']', ')') } 1 .. rand 3) . "}'" }, key => 1 },
	'timetz' => { value => sub { "'" . pick('00:00', '12:30') . pick('+00', '-01', '+12:30') . "'" }, key => 1 },
	# of an extension: by rank; and long ones
	'ltree' => { value => sub { "'" . join('.', map { pick('a' .. 'c') } 1 .. rand 4) . "'" }, key => 1 },
	'long' => { value => sub { 'array_fill(' . int(rand 3) . ', ARRAY[' . pick(3, 150, 300) . ']) || ' . int rand 4 }, key => 1 },
	'mood' => { value => sub { pick("'sad'", "'ok'", "'happy'") }, key => 1 },
	'small' => { value => sub { int rand 110 }, key => 1 },
	'pair' => { value => sub { 'row(' . int(rand 5) . ", 'p')" }, key => 1 });

sub value_of
{
	my ($column, $null_share) = @_;

	return rand() < $null_share ? 'NULL' : $types{ $column->{type} }{value}->();
}

sub literal
{
	my ($column) = @_;
	my $value = value_of($column, 0.05);

	# a cast that fails, fails when it is evaluated: for which rows it is depends on the plan
	$value = int rand 100 if $column->{type} eq 'small' && $value ne 'NULL';
	return $value eq 'NULL' ? 'NULL' : "($value)::$column->{type}" =~ s/ COLLATE.*//r;
}

sub make_table
{
	my @columns = map { { name => "c$_", type => pick(sort keys %types) } } 1 .. 2 + rand 5;
	my @able = grep { $types{ $_->{type} }{key} } @columns;
	my @key = @able && rand() < 0.85 ? splice(@able, 0, 1 + rand(@able < 3 ? @able : 3)) : ();

	push @columns, { name => 'n', type => 'int' };
	$_->{key} = 1 for @key;
	my $definition = join ', ', map { "$_->{name} $_->{type}" . (!$_->{key} && rand() < 0.1 ? ' NOT NULL' : '') } @columns;
	$definition .= ', PRIMARY KEY (' . join(', ', map { $_->{name} } @key) . ')' if @key;
	$definition .= ', CONSTRAINT bound CHECK (n < 55)' if rand() < 0.3;
	my $table = { columns => \@columns, key => \@key, uniques => [], indexed => [ @key ] };
	$table->{uniques} = [ { names => join(', ', map { $_->{name} } @key), where => '' } ] if @key;
	for (1 .. rand 3)
	{
		my @some = some_columns($table);
		my $names = join ', ', map { $_->{name} } @some;

		$definition .= ', UNIQUE ' . pick('', 'NULLS NOT DISTINCT ') . "($names)";
		push @{ $table->{uniques} }, { names => $names, where => '' };
		push @{ $table->{indexed} }, @some;
	}
	$table->{definition} = $definition;
	return $table;
}

# For a unique index: not n, which UPDATEs count up, so that it would depend on their order what is met.
sub some_columns
{
	my ($table) = @_;
	my @able = grep { $_->{name} ne 'n' } @{ $table->{columns} };

	return splice @able, rand @able, 1 if rand() < 0.5 || @able < 2;
	return splice @able, 0, 2;
}

# CREATE INDEX, on a table that may have rows; DROP INDEX; and what stores a table anew beside its indexes.
sub definition_statement
{
	my ($table) = @_;
	my $number = ++$table->{index_count};
	my $kind = rand;

	if ($kind < 0.25)
	{
		my @some = some_columns($table);
		my $names = join ', ', map { $_->{name} } @some;
		my $where = rand() < 0.5 ? ' WHERE n > ' . int rand 20 : '';

		push @{ $table->{uniques} }, { names => $names, where => $where };
		push @{ $table->{indexed} }, @some;
		return "CREATE UNIQUE INDEX T_$number ON T ($names)$where";
	}
	if ($kind < 0.7)
	{
		my @some = map { pick(@{ $table->{columns} }) } 1 .. 1 + rand 3;

		push @{ $table->{indexed} }, @some;
		return "CREATE INDEX T_$number ON T (" . join(', ', map { $_->{name} . pick('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') } @some) . ')' .
			pick('', '', ' WHERE n IS NOT NULL', ' WHERE n % 3 = ' . int rand 3);
	}
	if ($kind < 0.76)
	{
		my $column = pick(@{ $table->{columns} });
		my $method = $column->{type} eq 'ltree' ? 'btree' : $column->{type} =~ /range/ && rand() < 0.6 ? 'gist' : $column->{type} =~ /^(?:jsonb|int\[\]|text\[\])/ && rand() < 0.6 ? 'gin' : rand() < 0.6 || $column->{type} !~ /^(?:int|bigint|text|char|numeric|date|uuid|bytea|interval|small$)/ || $column->{type} =~ /range|\[/ ? 'hash' : 'brin';

		push @{ $table->{indexed} }, $column;
		return "CREATE INDEX T_$number ON T USING $method ($column->{name})" . pick('', '', ' WHERE n % 3 = ' . int rand 3);
	}
	return "CREATE INDEX T_$number ON T ((n % 3), (coalesce(n, 0) + 1))" if $kind < 0.8;
	return 'DROP INDEX IF EXISTS T_' . (1 + int rand $number) if $kind < 0.95;
	return 'ALTER TABLE T ALTER n TYPE ' . pick('int', 'bigint', 'numeric');
}

sub condition
{
	my ($table, $prefix) = @_;
	my $column = rand() < 0.6 && @{ $table->{indexed} } ? pick(@{ $table->{indexed} }) : pick(@{ $table->{columns} });
	my $name = "$prefix$column->{name}";

	return pick(sub { "$name = " . literal($column) },
		sub { "$name = " . literal($column) },
		sub { "$name " . pick('<', '<=', '>', '>=', '<>') . ' ' . literal($column) },
		sub { "$name BETWEEN " . literal($column) . ' AND ' . literal($column) },
		sub { "$name IN (" . join(', ', map { literal($column) } 1 .. 1 + rand 3) . ')' },
		sub { $column->{type} =~ /\[\]/ ? "$name <> '{}'" : "$name = ANY (ARRAY[" . join(', ', map { literal($column) } 1 .. 1 + rand 3) . "]::" . ($column->{type} =~ s/ COLLATE.*//r) . '[])' },
		sub { "$name IS " . pick('', 'NOT ') . 'NULL' },
		sub { my $other = pick(@{ $table->{columns} }); "($name, $prefix$other->{name}) " . pick('<', '<=', '>', '>=') . ' (' . literal($column) . ', ' . literal($other) . ')' },
		sub { my $other = pick(@{ $table->{columns} }); "($name, $prefix$other->{name}) IN (" . join(', ', map { '(' . literal($column) . ', ' . literal($other) . ')' } 1 .. 1 + rand 3) . ')' },
		sub { "$name IS DISTINCT FROM " . literal($column) },
		sub { "NOT ($name = " . literal($column) . ')' },
		sub { "${prefix}n > " . int(rand 25) },
		sub { "coalesce(${prefix}n, 0) + 1 " . pick('=', '>', '<') . ' ' . int(rand 25) },
		sub { "${prefix}n % 3 = " . int(rand 3) })->();
}

# What an index finds, and more; several of them are what several indexes find.
sub alternative
{
	my ($table, $prefix) = @_;
	my $column = pick(@{ $table->{indexed} });
	my $operator = $column->{type} =~ /^(?:jsonb|int\[\]|text\[\]|int4range|nummultirange)/ && rand() < 0.5 ? pick('@>', '@>', '&&') : pick('=', '=', '=', '<', '>=');
	$operator = '@>' if $column->{type} eq 'jsonb' && $operator eq '&&';
	my $found = "$prefix$column->{name} $operator " . literal($column);
	my $kind = rand;

	return $found if $kind < 0.5;
	return "$found AND " . condition($table, $prefix) if $kind < 0.8;
	return condition($table, $prefix) . " AND ($found OR " . condition($table, $prefix) . ')' if $kind < 0.9;
	return condition($table, $prefix);
}

# All of the key, often: a look-up.
sub conditions
{
	my ($table, $prefix) = @_;
	my @key = @{ $table->{key} };

	return join ' AND ', map { "$prefix$_->{name} = " . literal($_) } @key if @key && rand() < 0.3;
	return '(' . join(' OR ', map { alternative($table, $prefix) } 1 .. 2 + rand 3) . ')' . (rand() < 0.2 ? ' AND ' . condition($table, $prefix) : '')
		if @{ $table->{indexed} } && rand() < 0.3;
	my $joined = condition($table, $prefix);
	$joined .= pick(' AND ', ' AND ', ' OR ') . condition($table, $prefix) while rand() < 0.4;
	return "($joined)";
}

sub row { my ($table) = @_; return '(' . join(', ', map { value_of($_, $_->{key} ? 0.02 : 0.2) } @{ $table->{columns} }) . ')' }

sub assignment
{
	my ($table) = @_;
	my @others = grep { !$_->{key} } @{ $table->{columns} };
	my $column = pick(@others);

	# -n takes rows into the part of a table that a unique index is on, and others out of it: which come first matters there
	my @changes = ('n + 1', 'n - 1', 'coalesce(n, 0) + 7', (grep { $_->{where} } @{ $table->{uniques} }) ? () : '-n');

	return 'n = ' . pick(@changes) if rand() < 0.4;
	return "$column->{name} = " . literal($column);
}

sub statement
{
	my ($table) = @_;
	my @key = @{ $table->{key} };
	my $where = conditions($table, '');
	my $kind = rand 100;

	return 'INSERT INTO T VALUES ' . join(', ', map { row($table) } 1 .. 1 + rand 3) . ' RETURNING *' if $kind < 25;
	if ($kind < 32 && @{ $table->{uniques} })
	{
		my $unique = pick(@{ $table->{uniques} });

		return 'INSERT INTO T VALUES ' . row($table) . ' ON CONFLICT DO NOTHING RETURNING *' if rand() < 0.3;
		return 'INSERT INTO T VALUES ' . row($table) . " ON CONFLICT ($unique->{names})$unique->{where} " .
			pick('DO NOTHING', 'DO UPDATE SET n = EXCLUDED.n', 'DO UPDATE SET n = T.n + 1 WHERE T.n > 3') . ' RETURNING *';
	}
	return "UPDATE T SET " . assignment($table) . " WHERE $where RETURNING *" if $kind < 45;
	if ($kind < 50 && @key)
	{
		my $column = pick(@key);
		# one row at most, so that no order shows
		return "UPDATE T SET $column->{name} = " . literal($column) . ' WHERE ' .
			join(' AND ', map { "$_->{name} = " . literal($_) } @key) . ' RETURNING *';
	}
	return "DELETE FROM T WHERE $where RETURNING *" if $kind < 58;
	return 'UPDATE T SET n = s.n FROM (SELECT n, count(*) AS many FROM T GROUP BY n) s WHERE s.n + 1 = T.n RETURNING T.*' if $kind < 60;
	return "DELETE FROM T USING generate_series(1, 3) g WHERE T.n = g AND $where RETURNING T.*" if $kind < 61;
	return 'INSERT INTO T SELECT * FROM T WHERE ' . condition($table, '') . ' RETURNING *' if $kind < 62 && !@key;
	if ($kind < 75 && @key)
	{
		my $order = join ', ', map { $_->{name} } @key;
		$order = join ', ', map { "$_->{name} DESC" } @key if rand() < 0.5;
		return "SELECT * FROM (SELECT row_number() OVER (ORDER BY $order) AS place, * FROM T WHERE $where) q" .
			pick('', ' WHERE place <= 3') if rand() < 0.5;
		return "SELECT * FROM (SELECT * FROM T WHERE $where ORDER BY $order LIMIT " . int(rand 6) . ') q';
	}
	return "SELECT count(*), sum(n), min(n), max(n) FROM T WHERE $where" if $kind < 80;
	return 'SELECT a.*, b.n AS other FROM T a JOIN T b ON ' .
		(@key ? join(' AND ', map { "a.$_->{name} = b.$_->{name}" } @key) : 'a.n = b.n') . ' WHERE ' . conditions($table, 'a.')
		if $kind < 85;
	return "SELECT " . pick(@{ $table->{columns} })->{name} . " FROM T WHERE $where";
}

# --- running -----------------------------------------------------------------------

my $node = TestServer::start('random');
$node->safe_psql('postgres', q{
	CREATE EXTENSION ltree;
	CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
	CREATE DOMAIN long AS int[];
	CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
	CREATE DOMAIN small AS int CHECK (value < 100);
	CREATE TYPE pair AS (a int, b text);
	CREATE FUNCTION answer(statement text, target text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE rows text;
	BEGIN
		statement := regexp_replace(statement, '\mT\M', target, 'g');
		EXECUTE format('WITH q AS (%s) SELECT count(*) || coalesce(string_agg(q::text, E''\n'' ORDER BY q::text COLLATE "C"), '''') FROM q', statement) INTO rows;
		RETURN rows;
	EXCEPTION WHEN OTHERS THEN
		-- which of two keys is met first depends on the order of the rows
		RETURN sqlstate || ' ' || CASE WHEN sqlstate = '23505' AND statement !~ '^INSERT INTO \w+ VALUES' THEN '' ELSE replace(sqlerrm, target, 'T') END;
	END $$;
	CREATE FUNCTION define(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE target text; message text; before text;
	BEGIN
		FOREACH target IN ARRAY ARRAY['theirs', 'ours'] LOOP
			before := message;
			BEGIN
				EXECUTE regexp_replace(statement, '\mT(\M|_)', target || '\1', 'g');
				message := 'done';
			EXCEPTION WHEN OTHERS THEN
				message := sqlstate || ' ' || replace(replace(sqlerrm, target, 'T'), 'foreign table', 'table');
			END;
		END LOOP;
		RETURN CASE WHEN message = before THEN 'DEFINED ' || message ELSE format(E'DIFFERS %s\nordinary: %s\nin memory: %s', statement, before, message) END;
	END $$;
	CREATE FUNCTION kind_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE line text; kind text := '';
	BEGIN
		IF statement !~ ' OR ' THEN
			RETURN '';
		END IF;
		FOR line IN EXECUTE 'EXPLAIN ' || regexp_replace(statement, '\mT\M', 'ours', 'g') LOOP
			kind := CASE WHEN line ~ 'arms of an OR' THEN ', by arms' ELSE kind END;
		END LOOP;
		RETURN kind;
	EXCEPTION WHEN OTHERS THEN
		RETURN '';
	END $$;
	CREATE FUNCTION compare(statement text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE kind text := kind_of(statement); theirs text := answer(statement, 'theirs'); ours text := answer(statement, 'ours');
	BEGIN
		RETURN CASE WHEN ours IS DISTINCT FROM theirs THEN format(E'DIFFERS %s\nordinary: %s\nin memory: %s', statement, theirs, ours)
			ELSE 'SAME ' || CASE WHEN ours ~ '^[0-9A-Z]{5} ' THEN left(ours, CASE WHEN ours ~ '^42' THEN 200 ELSE 5 END) ELSE 'rows' || kind END END;
	END $$;
	CREATE FUNCTION compare_and_undo(statements text[]) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE difference text; statement text;
	BEGIN
		FOREACH statement IN ARRAY statements LOOP
			difference := concat_ws(E'\n', difference, compare(statement));
		END LOOP;
		RAISE EXCEPTION USING errcode = 'UNDOO';
	EXCEPTION WHEN SQLSTATE 'UNDOO' THEN
		RETURN difference;
	END $$;
});

my $script = $node->basedir . '/random.sql';
my $count = 0;
open my $out, '>:utf8', $script or die;
for my $number (1 .. $tables)
{
	my $table = make_table();
	my $left = $statements / $tables;

	print $out "DROP TABLE IF EXISTS ours, theirs;\n";
	print $out "CREATE FOREIGN TABLE ours ($table->{definition}) SERVER tsurugi;\nCREATE TABLE theirs ($table->{definition});\n";
	print $out "ANALYZE ours;\n" if rand() < 0.5;
	while ($left > 0)
	{
		my $size = rand() < 0.7 ? 1 : int(1 + rand 8);
		my @some = map { statement($table) } 1 .. $size;

		if (rand() < 0.1)
		{
			print $out 'SELECT compare_and_undo(ARRAY[' . join(', ', map { "\$s\$$_\$s\$" } @some) . "]);\n";
		}
		else
		{
			print $out "BEGIN;\n" if $size > 1;
			print $out "SELECT compare(\$s\$$_\$s\$);\n" for @some;
			print $out pick('COMMIT', 'COMMIT', 'ROLLBACK') . ";\n" if $size > 1;
		}
		print $out "SELECT compare('SELECT * FROM T');\n" if rand() < 0.05;
		print $out "ANALYZE ours, theirs;\n" if rand() < 0.003;
		print $out 'SELECT define($s$' . definition_statement($table) . "\$s\$);\n" if rand() < 0.02;
		$left -= $size;
		$count += $size;
	}
	print $out "SELECT compare('SELECT * FROM T');\n";
}
close $out;

my ($stdout, $stderr);
my $done = IPC::Run::run([ 'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') . ' client_encoding=utf8 options=\'-c client_min_messages=warning\'', '-f', $script ],
	'>', \$stdout, '2>', \$stderr);
ok($done, 'all statements were run') or diag $stderr;
cmp_ok($count, '>=', $statements, "$count statements");
my %answers;
$answers{$1}++ while $stdout =~ /^SAME (.*)$/mg;
note join ', ', map { "$_: $answers{$_}" } sort keys %answers;
cmp_ok($answers{rows}, '>', $statements / 2, 'most returned rows');
cmp_ok($answers{'rows, by arms'} // 0, '>', $statements / 400, 'some by the arms of an OR');
my $defined = () = $stdout =~ /^DEFINED done/mg;
cmp_ok($defined, '>', $statements / 250, "$defined indexes came and went");
# but that an arbiter may have been dropped, or not been made
is(join(' ', grep { /^(?:42|XX)/ && !/^42P10/ } keys %answers), '', 'none was wrong in itself');
my @differences = $stdout =~ /^DIFFERS .*\n(?:(?!DIFFERS).*\n?){0,6}/mg;
is(scalar @differences, 0, 'the answers are the same') or diag map { substr($_, 0, 600) } @differences[ 0 .. ($#differences < 4 ? $#differences : 4) ];
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

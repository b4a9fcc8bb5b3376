# Loads of files in NDJSON by the pool beside loads of the same files by sessions, into an ordinary
# table: random objects, well and badly written.  Either both have the same rows, or both fail with the
# same error at the same row; if rows that do not fit are left out, the rejects are the same, also if
# each line of the file is a block of its own.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use PostgreSQL::Test::Utils;
use Test::More;

srand(seed());
my $rounds = $ENV{JSON_FILES} // 60;
my $node = TestServer::start('load_json', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;

my %types = (i => 'int', b => 'bigint', f => 'float8', n => 'numeric(8,2)', d => 'date', tm => 'time', ts => 'timestamp', tz => 'timestamptz', t => 'text',
	v => 'varchar(5)', c => 'char(4)', o => 'boolean', u => 'uuid', y => 'bytea', j => 'json', "\xc3\xa9" => 'text');
my @columns = sort keys %types;
my $definition = join ', ', map { qq("$_" $types{$_}) } @columns;

sub string { return '"' . $_[0] =~ s/(["\\])/\\$1/gr =~ s/\n/\\n/gr =~ s/\t/\\t/gr . '"' }
my @words = ('a', 'bc', "\n", '"', '\\', "\t", "\xc3\xa9", "\xf0\x9f\x8e\x88", ' ', '{', ',');
sub text { return string(join '', map { pick(@words) } 1 .. some(0, 6)) }
sub nested
{
	my ($depth) = @_;
	my $space = pick('', '', ' ');

	return pick('1', 'null', 'true', '-0.5', text()) if $depth == 0 || chance(0.4);
	return chance(0.5) ? "[$space" . join(",$space", map { nested($depth - 1) } 1 .. some(0, 3)) . ']'
	  : '{' . join(',', map { text() . "$space:" . nested($depth - 1) } 1 .. some(0, 3)) . "$space}";
}

# Well written values; others that are values, too; and what is none.
my %good = (
	i => sub { pick(int(rand 1e9), '"' . int(rand 1e9) . '"', -5) }, b => sub { int(rand 1e15) }, f => sub { pick(1.5, '1e10', '"2.25"', -3) }, n => sub { pick(1.5, '"12.345"', 99999) },
	d => sub { sprintf '"20%02d-%02d-%02d"', some(0, 99), some(1, 12), some(1, 28) }, tm => sub { sprintf '"%02d:00:00.5"', some(0, 23) }, ts => sub { sprintf '"2024-01-%02d%s10:00:00"', some(1, 31), pick(' ', 'T') },
	tz => sub { sprintf '"2024-01-%02dT10:00:00%s"', some(1, 31), pick('Z', '+02', '-03:30') }, t => sub { pick(text(), text(), 1.50, 'true', nested(2)) }, v => sub { pick('"abc"', '""', 12) },
	c => sub { pick('"ab"', '"\\u00e9"', 'true') }, o => sub { pick('true', 'false', '"t"') }, u => sub { sprintf '"%08x-0123-4567-89ab-0123456789ab"', int rand 1e9 }, y => sub { pick('"\\\\x6162"', '"\\\\x"') },
	j => sub { nested(3) }, "\xc3\xa9" => sub { text() });
my %other = (i => [ '"+7"', '" 8 "' ], b => [ '9223372036854775807' ], f => [ '"NaN"', '1E400', '1e-320', '"Infinity"' ], n => [ '"NaN"', '1e3' ], d => [ '"today"', '"Jan 1 2024"' ], tm => [ '"24:00:00"', '"1:2"' ],
	ts => [ '"infinity"', '"2024-01-01"' ], tz => [ '"2024-01-01 00:00:00"' ], t => [ '"\\ud83d\\ude00"', '"\\u20ac"', '"a\\/b"' ], v => [ '"abcde   "' ], c => [ '"abcd  "' ], o => [ '"yes"', '1' ],
	u => [ '"{a0eebc999c0b4ef8bb6d6bb9bd380a11}"' ], y => [ '"abc"' ], j => [ '[' x 70 . ']' x 70 ], "\xc3\xa9" => [ '1' ]);
my %bad = (i => [ '2147483648', '1.5', '"x"', '[1]', 'true' ], b => [ '1e2', '9223372036854775808' ], f => [ '"1.2.3"', '{}' ], n => [ '1000000' ], d => [ '"2023-02-29"', '20240101x' ], tm => [ '12' ], ts => [ '"2024-02-30 00:00:00"' ],
	tz => [ '"2024-01-01 00:00:00 Nowhere"' ], t => [ '"\\u0000"', '"\\ud83d"', "\"\xff\"", "\"a\tb\"" ], v => [ '"abcdef"' ], c => [ '"abcde"' ], o => [ '2' ], u => [ '"a0"' ], y => [ '"\\\\xabc"' ], j => [ '[1,]', "\"\xff\"", '[01]' ], "\xc3\xa9" => [ 'nul' ]);

sub value
{
	my ($column, $faults) = @_;

	return 'null' if chance(0.1);
	return pick(@{ $bad{$column} }) if chance($faults);
	return chance(0.1) ? pick(@{ $other{$column} }) : $good{$column}->();
}

sub line
{
	my ($chosen, $faults) = @_;
	my @members = map { my $space = pick('', '', ' ', "\t"); "$space\"$_\"$space:$space" . value($_, $faults) . $space } grep { chance(0.9) } chance(0.8) ? @$chosen : shuffled(@$chosen);

	push @members, pick('"i":7', "\"t\":\"twice\"", '"\\u0074":"escaped"') if chance(0.05);
	my $line = '{' . join(',', @members) . '}';
	substr($line, rand length $line, 1) = pick('', '"', '}', ',', '\\', ':', "\x01") if chance($faults);
	return $line;
}

sub contents
{
	my ($chosen) = @_;
	my $faults = pick(0, 0, 0.01, 0.05);
	my $end = pick("\n", "\n", "\r\n");
	my @lines = map { line($chosen, $faults) } 1 .. some(0, 40);

	splice @lines, rand @lines, 0, pick('', '  ', "\t", '{}') if chance(0.5);
	splice @lines, rand @lines, 0, pick('[1]', 'x', '7', '"x"', '{"i":1}{}', '{"i":1', '\\.') if chance($faults * 5);
	return join($end, @lines) . (chance(0.8) ? $end : '');
}

# --- what is run ---

my $digest = 'SELECT count(*), md5(string_agg(x::text, E\'\\n\' ORDER BY x::text COLLATE "C"))';
my $script = "\\set VERBOSITY verbose\nSET TimeZone = 'Asia/Kathmandu';\n";
for my $round (1 .. $rounds)
{
	my $file = "$own/$round.ndjson";
	my $load = "'{$file}'" . ($round % 3 == 0 ? ", columns => '{" . join(',', @columns) . "}'" : '');
	my $skip = "on_error => 'skip', reject_file => '$own";

	append_to_file($file, contents([ (shuffled(@columns))[ 0 .. some(0, $#columns) ] ]));
	$script .= "TRUNCATE heap, memory, heap_rejects, memory_rejects;\n";
	for my $case ([ 'session', 'heap', '' ], [ 'pool', 'memory', '' ], [ 'apart', 'memory', ', transactional => false' ])
	{
		my ($name, $table, $more) = @$case;

		$script .= "TRUNCATE $table;\n\\echo == $round copy\nCOPY $table FROM '$file' (FORMAT ndjson);\n$digest FROM $table x;\n" if $name eq 'pool' && $round % 3 > 0;
		$script .= "TRUNCATE $table;\n\\echo == $round $name\nDO \$\$ BEGIN PERFORM tsurugi.load('$table', $load$more); END \$\$;\n$digest FROM $table x;\n";
	}
	$script .= "TRUNCATE heap, memory;\nSET tsurugi_fdw.failpoints = 'load_tiny_blocks';\n";
	for my $case ([ 'session skips', 'heap', '' ], [ 'pool skips', 'memory', ', transactional => false' ])
	{
		my ($name, $table, $more) = @$case;

		$script .= <<"SQL";
\\echo == $round $name
SELECT rows, rejected FROM tsurugi.load('$table', $load, $skip/$table.rejects'$more);
$digest FROM $table x;
COPY ${table}_rejects FROM '$own/$table.rejects' (FORMAT csv, HEADER);
SELECT row, byte, "column", sqlstate, message, record FROM ${table}_rejects ORDER BY row;
SQL
	}
	$script .= "RESET tsurugi_fdw.failpoints;\n";
}

# What one way has answered: its errors as code, message, line and column.
sub normal
{
	my ($answer) = @_;

	$answer =~ s/^psql:\S+ //mg;
	$answer =~ s/^CONTEXT:  SQL statement.*\n//mg;
	$answer =~ s/^(LOCATION|HINT|SQL statement|PL\/pgSQL|load of|COPY \d+$|DO$|SET$|RESET$|TRUNCATE TABLE$).*\n?//mg;
	$answer =~ s/^(CONTEXT:  )?COPY (heap|memory), line (\d+)(, column [^:\n]+)?.*\n?/"line $3" . ($4 \/\/ '') . "\n"/mge;
	return $answer =~ s/\b(heap|memory)\b/TABLE/gr;
}

my $rejects = 'file text, block bigint, row bigint, byte bigint, "column" text, sqlstate text, message text, record text';
$node->safe_psql('postgres', "CREATE TABLE heap ($definition); CREATE FOREIGN TABLE memory ($definition) SERVER tsurugi OPTIONS (persistence 'unlogged');
	CREATE TABLE heap_rejects ($rejects); CREATE TABLE memory_rejects ($rejects)");
append_to_file("$own/script.sql", $script);
system('sh', '-c', 'psql -Xqt -d "$1" -f "$2" >"$3" 2>&1', 'sh', $node->connstr('postgres'), "$own/script.sql", "$own/answers");
my %answers = map { /^(\d+) (.*?)\n(.*)$/s ? ("$1 $2" => normal($3)) : () } split /^== /m, slurp_file("$own/answers");
my ($failed, $whole) = (0, 0);
for my $round (1 .. $rounds)
{
	my ($session, $pool, $apart, $skips, $pool_skips) = @answers{ map { "$round $_" } 'session', 'pool', 'apart', 'session skips', 'pool skips' };

	$session =~ /ERROR/ ? $failed++ : $whole++;
	my $copy = $answers{"$round copy"} // $session;
	next if $session eq $pool && $session eq $apart && $session eq $copy && $skips eq $pool_skips;
	is($copy, $session, "a COPY of file $round is as by the session");
	is($pool, $session, "file $round by the pool is as by the session") or diag(slurp_file("$own/$round.ndjson"));
	is($apart, $session, "and in transactions of its own");
	is($pool_skips, $skips, "file $round with rows left out is as by the session") or diag(slurp_file("$own/$round.ndjson"));
}
pass("files are as by the session");
cmp_ok($failed, '>', $rounds / 20, "of which many do not fit: $failed");
cmp_ok($whole, '>', $rounds / 4, "and many do: $whole");

# --- which tables ---

sub way { return $node->safe_psql('postgres', "SELECT way, reason FROM tsurugi.load('$_[0]', '{$own/some.ndjson}', dry_run => true)") }

append_to_file("$own/some.ndjson", qq({"id":1,"j":[1]}\n) x 3);
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE plain (id int, j json) SERVER tsurugi; CREATE FOREIGN TABLE nested (id int, j jsonb) SERVER tsurugi;
	CREATE FOREIGN TABLE lists (id int, j int[]) SERVER tsurugi; CREATE FOREIGN TABLE others (id int, j json, x int DEFAULT 1) SERVER tsurugi});
is(way('plain'), 'pool|tasks of the pool can read, convert and store all rows', 'json');
is(way('nested'), qq(session|values of column "j" of file "$own/some.ndjson" are converted by sessions), 'jsonb');
is(way('lists'), qq(session|values of column "j" of file "$own/some.ndjson" are converted by sessions), 'arrays');
is(way('others'), qq(session|column "x" is not in file "$own/some.ndjson"), 'a default');
is($node->safe_psql('postgres', "SELECT rows, blocks, transactions, way FROM tsurugi.load('plain', '{$own/some.ndjson}', transactional => false)"), '3|1|1|pool', 'the result');
system_or_bail('gzip', "$own/some.ndjson");
is($node->safe_psql('postgres', "SELECT rows, way FROM tsurugi.load('plain', '{$own/some.ndjson.gz}', transactional => false)"), '3|pool', 'a compressed file');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');

$node->stop;
done_testing();

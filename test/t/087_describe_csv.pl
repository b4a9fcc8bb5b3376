# tsurugi.describe_file() of CSV: the types that it guesses, tables made by them, what is refused.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('describe_csv');
my $own = $node->basedir;
my $number = 0;

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub file
{
	my ($text) = @_;
	my $name = "$own/file_" . ++$number . '.csv';

	append_to_file($name, $text);
	return $name;
}

# The columns of a file.
sub describe
{
	my ($file, $more) = @_;

	return ask("SELECT string_agg(concat_ws(' ', name, type, CASE WHEN NOT nullable THEN 'not null' END), ', ' ORDER BY n) FROM tsurugi.describe_file('$file'" . ($more // '') . ')');
}

# --- types ---

my @columns = (
	[ 'boolean', qw(true F t) ], [ 'integer', qw(1 -2147483648 2147483647) ], [ 'bigint', qw(1 -2147483649 9223372036854775807) ],
	[ 'numeric', qw(1 9223372036854775808 2) ], [ 'numeric', qw(1.50 -.5 2.) ], [ 'double precision', qw(1 2.5 1e300) ],
	[ 'double precision', qw(NaN -Infinity 1) ], [ 'date', qw(2024-02-29 0001-01-01 9999-12-31) ],
	[ 'timestamp', '2024-02-29', '2024-02-29 23:59:59.5', '2024-02-29T00:00:00' ],
	[ 'timestamptz', '2024-02-29 12:00:00+02', '2024-02-29T12:00:00Z', '2024-02-29 12:00:00-03:30' ],
	[ 'uuid', map { "0123abcd-0123-4567-89AB-00000000000$_" } 1 .. 3 ],
	[ 'text', qw(01234 56789 1) ], [ 'text', qw(1 2 x) ], [ 'text', qw(true 1 0) ], [ 'text', qw(2024-02-30 2024-01-01 2024-01-01) ],
	[ 'text', '2024-02-29 12:00:00+02', '2024-02-29 12:00:00', '2024-02-29 12:00:00' ], [ 'text', qw(1e 2 3) ], [ 'text', qw(. 1 2) ],
	[ 'text', qw(- 1 2) ], [ 'text', qw(1.2.3 1 1) ], [ 'text', '1 ', '2', '3' ], [ 'text', ('') x 3 ], [ 'integer', '', 5, '' ], [ 'text', '""', 1, 2 ]);
my $types = file(join('', map { my $row = $_; join(',', map { $row ? $columns[$_][$row] : "c$_" } 0 .. $#columns) . "\n" } 0 .. 3));
my $described = describe($types);

is($described, join(', ', map { my ($type, @values) = @{ $columns[$_] }; "c$_ $type" . ((grep { $_ eq '' } @values) ? '' : ' not null') } 0 .. $#columns),
	'the narrowest type that all values have');
ask("CREATE TABLE found (" . $described =~ s/ not null//gr . "); COPY found FROM '$types' (FORMAT csv, HEADER)");
is(ask('SELECT count(*) FROM found'), '3', 'a table of these types takes the file');

# --- options and formats ---

is(describe(file("a;b\n1;'x;y'\n2;none\n"), q(, options => '{"delimiter": ";", "quote": "''", "null": "none"}')), 'a integer not null, b text', 'options of CSV');
is(describe(file("1,x\n2,y\n"), q(, options => '{"header": false}')), 'column1 integer not null, column2 text not null', 'without a header');
is(describe(file("a\n1\n"), q(, options => '{"header": "match", "force_null": ["a"]}')), 'a integer not null', 'options that say nothing of types');
is(describe(file("\xe9\n1\n"), q(, options => '{"encoding": "latin1"}')), "\xc3\xa9 integer not null", 'an encoding');
append_to_file("$own/named.data", "a\n7\n");
is(describe("$own/named.data", q(, 'csv')), 'a integer not null', 'a format that is given');
append_to_file("$own/packed.csv", "a\n7\n");
system_or_bail('gzip', "$own/packed.csv");
is(describe("$own/packed.csv.gz"), 'a integer not null', 'a compressed file');
append_to_file("$own/lines.data", qq({"a": 7}\n));
is(describe("$own/lines.data", q(, 'ndjson')), 'a bigint not null', 'NDJSON that is called so');
is(describe(file('')), '', 'an empty file');
is(describe(file("a,b\n")), 'a text not null, b text not null', 'a header alone');

# --- a sample ---

is(describe(file("a\n" . "1\n" x 9999 . "x\n")), 'a text', 'the last record of the sample');
is(describe(file("a\n" . "1\n" x 10000 . "x\n")), 'a integer', 'is all that counts: so it may have NULLs behind');
is(describe(file("a\n" . ('y' x 1000000 . "\n") x 9 . qq("no end\n))), 'a text', 'long values');

# --- what is refused ---

for my $case ([ "'" . file("a,b\n1,2\n3\n") . "'", qr/22P04: row 2 of file ".*" has 1 columns, expected 2.*description of file/s, 'a record of another length' ],
	[ "'" . file("a,\n1,2\n") . "'", qr/22P04: column 2 of file ".*" has no name/, 'a column without a name' ],
	[ "'" . file(qq(a\n"x\n)) . "'", qr/22P04: unterminated CSV quoted field/, 'quotes that do not end' ],
	[ "'" . file("a\n\xff\n") . "'", qr/22021/, 'bytes that are no characters' ],
	[ "'$types', 'xml'", qr/22023: format "xml" not recognized/, 'an unknown format' ],
	[ "'$types', options => '{\"max_concurrent_files\": 1}'", qr/22023: option "max_concurrent_files" of a load not recognized/, 'an option of loads alone' ],
	[ "'$own/lines.data', 'ndjson', '{\"delimiter\": \";\"}'", qr/22023: options of CSV cannot be used/, 'options of CSV for NDJSON' ],
	[ 'NULL', qr/22004/, 'no name' ], [ "'$own/none.csv'", qr/58P01/, 'no file' ])
{
	like(TestServer::psql_error($node, "SELECT tsurugi.describe_file($case->[0])"), $case->[1], $case->[2]);
}
ask('CREATE ROLE alice');
like(TestServer::psql_error($node, "SET ROLE alice; SELECT tsurugi.describe_file('$types')"), qr/42501/, 'a role that may not read files');
is(TestServer::internal_errors($node), '', 'no internal error in the log');
$node->stop;
done_testing();

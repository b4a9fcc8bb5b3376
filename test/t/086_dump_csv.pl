# Dumps to CSV whose text the pool makes, beside PostgreSQL's COPY of the same rows in an ordinary
# table: random values of all types, in random dialects, of which delimiters and quotes may be parts of
# numbers.  Files are the same byte for byte.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use PostgreSQL::Test::Utils;
use Test::More;

srand(seed());
my $rounds = $ENV{CSV_DUMPS} // 60;
my $node = TestServer::start('dump_csv', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;
my $session = TestServer::Session->new($node);

mkdir("$own/dump");
chmod(0777, "$own/dump");

sub digits { return join '', map { int rand 10 } 1 .. some(1, shift) }
sub sign { return chance(0.4) ? '-' : '' }
my @words = ('a', 'bc', "d\ne", 'f"g', 'h,i', '\\.', '\\', "''", "\xc3\xa9", "\xe2\x82\xac", ' ', "\r", ';', 'N', "\t", '1', '5', '|', 'NULL');
sub text { return join '', map { pick(@words) } 1 .. some(0, shift) }
sub moment { return sprintf '%02d:%02d:%02d%s', some(0, 23), some(0, 59), some(0, 59), chance(0.5) ? '.' . digits(6) : '' }
sub day { return sprintf '%04d-%02d-%02d', pick(some(1, 9999), some(1, 4000), some(1990, 2040), 1, 1600, 2000, 1900), some(1, 12), some(1, 28) }
sub old { return sprintf '%04d-%02d-%02d%s', some(1, 4000), some(1, 12), some(1, 28), $_[0] . ' BC' }

my %types = (
	b => ['bool', sub { pick('t', 'f') }], i2 => ['int2', sub { pick('-32768', '32767', sign() . digits(4)) }],
	i4 => ['int', sub { pick('-2147483648', '2147483647', 5, sign() . digits(9)) }], i8 => ['int8', sub { pick('-9223372036854775808', '9223372036854775807', sign() . digits(18)) }],
	o => ['oid', sub { pick('4294967295', digits(9)) }], f4 => ['float4', sub { sign() . digits(5) . '.' . digits(5) }], f8 => ['float8', sub { pick('NaN', '-Infinity', sign() . digits(9) . 'e' . some(-40, 40)) }],
	n0 => ['numeric(18,0)', sub { pick('NaN', '0', '-999999999999999999', sign() . digits(18)) }], n2 => ['numeric(12,2)', sub { pick('NaN', '0', '-0.01', sign() . digits(10) . '.' . digits(4)) }],
	n18 => ['numeric(18,18)', sub { pick('0', sign() . '0.' . digits(18)) }], w0 => ['numeric(38,0)', sub { pick('NaN', '0', '9' x 38, '-' . '9' x 38, sign() . digits(38)) }],
	w9 => ['numeric(30,9)', sub { pick('NaN', '-0.000000001', sign() . digits(21) . '.' . digits(9)) }], w38 => ['numeric(38,38)', sub { sign() . '0.' . digits(38) }],
	m => ['numeric', sub { sign() . digits(40) . '.' . digits(20) }], d => ['date', sub { pick('infinity', '-infinity', '5874897-12-31', '4714-11-24 BC', '99999-01-31', '0001-01-01 BC', old(''), day(), day()) }],
	tm => ['time', sub { pick('24:00', '00:00', moment()) }], tz => ['timetz', sub { moment() . '+05' }],
	ts => ['timestamp', sub { pick('infinity', '-infinity', '294276-12-31 23:59:59.999999', '4713-01-01 00:00:00 BC', old(' ' . moment()), day() . ' ' . moment(), day() . ' ' . moment()) }],
	tt => ['timestamptz', sub { pick('infinity', day() . ' ' . moment() . '+02') }], iv => ['interval', sub { digits(3) . ' mon ' . sign() . digits(3) . ' days ' . moment() }],
	t => ['text', sub { text(6) }], l => ['text', sub { text(200) }], v => ['varchar(9)', sub { pick('', 'abc', '5') }], c => ['char(4)', sub { pick('', 'a', 'abcd') }],
	u => ['uuid', sub { join '', map { sprintf '%04x', rand 65536 } 1 .. 8 }], y => ['bytea', sub { '\\x' . join '', map { sprintf '%02x', rand 256 } 1 .. some(0, 20) }],
	j => ['json', sub { '{"a": ' . some(0, 999) . '}' }], jb => ['jsonb', sub { '{"a": "x\\"' . digits(3) . '"}' }], a => ['int[]', sub { '{' . digits(3) . ',NULL}' }], p => ['positive', sub { digits(6) }]);

sub quoted { my ($text) = @_; return "'" . $text =~ s/''/'/gr =~ s/'/''/gr . "'" }
sub json { my ($text) = @_; return '"' . $text =~ s/([\\"])/\\$1/gr =~ s/\t/\\t/gr . '"' }

# A dialect: the options of COPY, and the same of a dump.
sub dialect
{
	my $delimiter = pick(',', ',', ';', '|', "\t", ' ', '1', '-', ':', 'a', '.');
	my $quote = pick(grep { $_ ne $delimiter } '"', '"', "'", '5', '-', 'e', '0');
	my %own = (delimiter => $delimiter, quote => $quote);

	$own{escape} = pick('"', '\\', "'", 'x', '5') if chance(0.4);
	$own{null} = pick(grep { index($_, $delimiter) < 0 && index($_, $quote) < 0 } 'NULL', '5', '0', '\\N', 't', '2000-01-01', '') if chance(0.5);
	my $header = chance(0.3);
	return (join(', ', 'FORMAT csv', ($header ? 'HEADER' : ()), map { "$_ " . quoted($own{$_}) } sort keys %own),
		'{' . join(', ', ($header ? '"header": true' : ()), map { "\"$_\": " . json($own{$_}) } sort keys %own) . '}');
}

$session->query('CREATE DOMAIN positive AS int CHECK (VALUE >= 0); SET tsurugi_fdw.scan_pool_rows = -1');
my $different = 0;
for my $round (1 .. $rounds)
{
	my @columns = sort { $a cmp $b } grep { chance(0.5) } keys %types;

	@columns = pick(keys %types) if !@columns || chance(0.15);
	my $definition = join ', ', 'n_row int', map { "$_ $types{$_}[0]" } @columns;
	my $names = join ', ', @columns;
	my @rows = map { my $row = $_; join ', ', $row, map { chance(0.1) ? 'NULL' : quoted($types{$_}[1]->()) } @columns } 1 .. some(1, 60);
	my ($copy, $dump) = dialect();
	my $style = pick('ISO, MDY', 'ISO, DMY', 'German', 'SQL, DMY');

	$session->query("DROP TABLE IF EXISTS heap; DROP FOREIGN TABLE IF EXISTS memory;
		CREATE TABLE heap ($definition); CREATE FOREIGN TABLE memory ($definition) SERVER tsurugi OPTIONS (persistence 'unlogged')");
	my $error = $session->query("SET datestyle = ISO; INSERT INTO heap VALUES " . join(', ', map { "($_)" } @rows) . '; INSERT INTO memory SELECT * FROM heap ORDER BY n_row');
	is($error, '', "rows of round $round") if $error =~ /ERROR/;
	my $first = $session->query("SET datestyle = $style; COPY (SELECT $names FROM heap ORDER BY n_row) TO '$own/copy.csv' ($copy)");
	my $second = $session->query("SELECT rows FROM tsurugi.dump('SELECT $names FROM memory', '$own/dump', 'csv', options => " . quoted($dump) . ')');

	if ($first =~ /ERROR/ || $second =~ /ERROR/)
	{
		is($second, $first, "the same error: $copy");
		next;
	}
	my ($expected, $got) = (slurp_file("$own/copy.csv"), slurp_file("$own/dump/part_00001.csv"));
	unlink("$own/dump/part_00001.csv");
	next if $expected eq $got;
	$different++;
	diag("$copy; $names:\n$expected---\n$got") if $different < 3;
}
is($different, 0, "$rounds files are those that COPY writes");

# --- many blocks ---

$session->query(q{CREATE FOREIGN TABLE long (i int, t text, n numeric(12,2)) SERVER tsurugi OPTIONS (persistence 'unlogged');
	INSERT INTO long SELECT i, CASE WHEN i % 9 > 0 THEN 'text, ' || i END, i / 7.0 FROM generate_series(1, 100000) i});
my $tasks = $session->query(q{SELECT sum(tasks_run) FROM tsurugi.workers});
is($session->query(qq{SELECT string_agg(rows::text, ' ') FROM tsurugi.dump('TABLE long', '$own/dump', 'csv', options => '{"max_rows_per_file": 70000}')}), '70000 30000', 'a long table in two files');
cmp_ok($session->query(q{SELECT sum(tasks_run) FROM tsurugi.workers}), '>=', $tasks + 4, 'which the pool has written');
$session->query("COPY (SELECT * FROM long ORDER BY i) TO '$own/long.csv' (FORMAT csv)");
ok(slurp_file("$own/dump/part_00001.csv") . slurp_file("$own/dump/part_00002.csv") eq slurp_file("$own/long.csv"), 'as COPY does');
$session->close;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

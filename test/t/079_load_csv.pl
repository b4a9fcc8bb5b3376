# Loads of files in CSV by the pool beside PostgreSQL's COPY into an ordinary table: random values,
# well and badly written, in random dialects.  Either both have the same rows, or both fail with the
# same error at the same line.  If rows that do not fit are left out, the rejects are those of a
# load by COPY, too, also if each record of the file is a block of its own.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use PostgreSQL::Test::Utils;
use Test::More;

srand(seed());
my $rounds = $ENV{CSV_FILES} // 80;
my $node = TestServer::start('load_csv', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;

my %types = (i => 'int', s => 'smallint', b => 'bigint', f => 'float8', g => 'float4', n => 'numeric(8,2)', w => 'numeric(30,5)', m => 'numeric', d => 'date',
	tm => 'time', ts => 'timestamp', tz => 'timestamptz', t => 'text', v => 'varchar(5)', c => 'char(4)', o => 'boolean', u => 'uuid', y => 'bytea', j => 'jsonb');
my @columns = sort keys %types;
my $definition = join ', ', map { "$_ $types{$_}" } @columns;

sub digits { return join '', map { int rand 10 } 1 .. some(1, shift) }
sub date { return sprintf '%04d-%02d-%02d', some(1, 9999), some(1, 12), some(1, 28) }
sub moment { return sprintf '%02d:%02d:%02d%s', some(0, 23), some(0, 59), some(0, 59), chance(0.5) ? '.' . digits(6) : '' }
sub number { return (chance(0.3) ? '-' : '') . digits(shift) . (chance(0.5) ? '.' . digits(shift) : '') }
my @words = ('a', 'bc', "d\ne", 'f"g', "h,i", "\\.", "\\", "'", "\xc3\xa9", "\xe2\x82\xac\xf0\x9f\x8e\x88", ' ', "\r\n", ';', 'N', "\t", '1');
sub text { return join '', map { pick(@words) } 1 .. some(0, shift) }

# Well written values; others that are values, too; and what is none.
my %good = (
	i => sub { number(9) =~ s/\..*//r }, s => sub { number(4) =~ s/\..*//r }, b => sub { number(18) =~ s/\..*//r },
	f => sub { number(17, 17) . (chance(0.3) ? 'e' . some(-300, 280) : '') }, g => sub { number(9, 9) . (chance(0.3) ? 'e' . some(-30, 20) : '') },
	n => sub { number(5, 4) }, w => sub { number(24, 12) }, m => sub { number(30, 30) }, d => \&date, tm => \&moment, ts => sub { date() . pick(' ', 'T') . moment() },
	tz => sub { date() . ' ' . moment() . pick('+00', '-05', '+05:30', '-11:45', '+14', 'Z') }, t => sub { text(6) }, v => sub { pick('', 'abc', "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 'a    ') },
	c => sub { pick('', 'a', 'abcd', "\xc3\xa9\xc3\xa9", 'b     ') }, o => sub { pick(qw(t f true false 0 1)) }, u => sub { sprintf '%08x-%04X-%04x-%04x-%012x', map { int rand 65536 } 1 .. 5 },
	y => sub { '\\x' . join '', map { sprintf '%02x', rand 256 } 1 .. some(0, 20) }, j => sub { '{"a": ' . int(rand 9) . '}' });
my %other = (
	i => [ '+7', ' 8', '2147483647', '-2147483648', '00000000000000000000012' ], s => [ '32767', '-32768', '+1' ], b => [ '9223372036854775807', '-9223372036854775808', '1 ' ],
	f => [ 'NaN', '-Infinity', '1e-310', '.5', '5.', '4.9406564584124654e-324', '0x10', '1e22', '9007199254740993', '-0', '1.7976931348623157e308' ],
	g => [ 'inf', '1e-40', '3.4028235e38', '16777217', '0.1', '1e10', '-0.0', '8388608.5' ], n => [ 'NaN', '1e3', '999999.994', '0.005', '-0.005', '.1', '00001.1' ], w => [ 'NaN', '1e20', '0.000005', '9999999999999999999999999.99999' ],
	m => [ 'Infinity', '1e100', '-0.0' ], d => [ '2024-02-29', 'today', 'infinity', '0044-03-15 BC', 'Jan 1 2024', '20240101', '2024-1-1', '10000-01-01', '9999-12-31', '0001-01-01' ],
	tm => [ '24:00:00', '1:2', '23:59:60', '00:00:00.1234567', 'allballs' ], ts => [ 'infinity', '2024-01-01', '2024-01-01 00:00', '2024-01-01 00:00:00+05', 'epoch', '294276-12-31 23:59:59' ],
	tz => [ '2024-01-01 00:00:00', '2024-01-01 00:00:00 Europe/Berlin', '-infinity', '2024-01-01T00:00:00Z', '2024-01-01 00:00:00+15:59:59', '2024-01-01 00:00:00-0130' ],
	t => [ 'x' x 300 ], v => [ 'abcde', 'abcde   ' ], c => [ 'abcd  ' ], o => [ 'yes', 'off', ' true ', 'TRUE', 'tr' ], u => [ '{a0eebc999c0b4ef8bb6d6bb9bd380a11}', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11' ],
	y => [ 'abc', '\\\\000', '\\xDE AD', '\\001' ], j => [ '[]', ' 1 ' ]);
my %bad = (
	i => [ '2147483648', 'x', '', '1.5', '-' ], s => [ '32768', '1e2' ], b => [ '9223372036854775808', '0x1' ], f => [ '1e400', '1.2.3', 'e5', '1e' ], g => [ '1e39', '1e-50', '--1' ],
	n => [ '1000000', '999999.995', '1 2' ], w => [ '9999999999999999999999999.999995', '-' ], m => [ 'one' ], d => [ '2023-02-29', '2024-13-01', '0000-01-01', '2024-04-31' ], tm => [ '24:00:01', '12' ],
	ts => [ '2024-02-30 00:00:00', '2024-01-01 25:00:00' ], tz => [ '2024-01-01 00:00:00+16', '2024-01-01 00:00:00 Nowhere' ], t => [ "\xff", "a\xc3", "\xed\xa0\x80" ], v => [ 'abcdef', "\xc3\xa9abcde" ],
	c => [ 'abcde' ], o => [ '2', 'y e s' ], u => [ 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1', 'g0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11' ], y => [ '\\xabc', '\\xzz', '\\8' ], j => [ '{', '' ]);

# A dialect: COPY's options, as of load's; and what a field looks like in it.
sub dialect
{
	my %dialect = (delimiter => pick(',', ',', ';', "\t", '|'), quote => pick('"', '"', "'"), null => pick('', '', 'N', '-'), end => pick("\n", "\n", "\r\n", "\r"), header => chance(0.3));

	$dialect{escape} = chance(0.7) ? $dialect{quote} : pick('\\', '^');
	return \%dialect;
}

sub field
{
	my ($dialect, $value) = @_;
	my ($quote, $escape) = ($dialect->{quote}, $dialect->{escape});

	return $dialect->{null} if !defined $value;
	if (chance(0.2) || $value eq $dialect->{null} || $value =~ /[\r\n]/ || index($value, $quote) >= 0 || index($value, $dialect->{delimiter}) >= 0)
	{
		$value =~ s/(\Q$quote\E|\Q$escape\E)/$escape$1/g;
		return $quote . $value . $quote if chance(0.95) || $value eq '';
		# a quote in the middle
		return substr($value, 0, 1) =~ /\w/ ? substr($value, 0, 1) . $quote . substr($value, 1) . $quote : $quote . $value . $quote;
	}
	return $value;
}

sub value
{
	my ($column, $faults) = @_;

	return undef if chance(0.1);
	return pick(@{ $bad{$column} }) if chance($faults);
	return chance(0.1) ? pick(@{ $other{$column} }) : $good{$column}->();
}

sub contents
{
	my ($dialect, $chosen) = @_;
	my $faults = pick(0, 0, 0.01);
	my @lines = map { join $dialect->{delimiter}, map { field($dialect, value($_, $faults)) } @$chosen } 1 .. some(0, 40);

	unshift @lines, join $dialect->{delimiter}, @$chosen if $dialect->{header};
	splice @lines, rand @lines, 0, pick("\\.", "\\.", '', 'x', "a$dialect->{delimiter}b", "$dialect->{quote}x", "\\.x", "a\nb", "a\rb") if chance(0.2);
	my $contents = join $dialect->{end}, @lines;
	$contents .= $dialect->{end} if chance(0.8);
	return $contents;
}

# --- what is run ---

my $digest = 'SELECT count(*), md5(string_agg(x::text, E\'\\n\' ORDER BY x::text COLLATE "C"))';
my $script = "\\set VERBOSITY verbose\nSET DateStyle = 'ISO, DMY'; SET TimeZone = 'Asia/Kathmandu';\n";
for my $round (1 .. $rounds)
{
	my $dialect = dialect();
	my @chosen = (shuffled(@columns))[ 0 .. some(0, $#columns) ];
	my $list = join ', ', @chosen;
	my ($file, @options) = ("$own/$round.csv");
	my %json;

	append_to_file($file, contents($dialect, \@chosen));
	for my $name (qw(delimiter quote null escape))
	{
		my $value = $dialect->{$name} =~ s/'/''/gr;

		push @options, "$name '$value'";
		$json{$name} = $value =~ s/([\\"])/\\$1/gr =~ s/\t/\\t/gr;
	}
	push @options, 'header' if $dialect->{header};
	push @options, "force_null ($chosen[0])" if $round % 5 == 0;
	push @options, "force_not_null ($chosen[-1])" if $round % 7 == 0;
	my $json = join ', ', (map { "\"$_\": \"$json{$_}\"" } sort keys %json), ($dialect->{header} ? '"header": true' : ()),
	  ($round % 5 == 0 ? "\"force_null\": [\"$chosen[0]\"]" : ()), ($round % 7 == 0 ? "\"force_not_null\": [\"$chosen[-1]\"]" : ());
	my $load = "'{$file}', columns => '{" . join(',', @chosen) . "}', options => '{$json}'";
	my $skip = "on_error => 'skip', reject_file => '$own";

	$script .= <<"SQL";
TRUNCATE heap, memory, heap_rejects, memory_rejects;
\\echo == $round copy
COPY heap ($list) FROM '$file' (FORMAT csv, @{[join ', ', @options]});
$digest FROM heap x;
\\echo == $round pool
DO \$\$ BEGIN PERFORM tsurugi.load('memory', $load, transactional => false); END \$\$;
$digest FROM memory x;
TRUNCATE heap, memory;
SET tsurugi_fdw.failpoints = 'load_tiny_blocks';
\\echo == $round session skips
SELECT rows, rejected FROM tsurugi.load('heap', $load, $skip/heap.rejects');
$digest FROM heap x;
COPY heap_rejects FROM '$own/heap.rejects' (FORMAT csv, HEADER);
SELECT row, byte, "column", sqlstate, message, record FROM heap_rejects ORDER BY row;
\\echo == $round pool skips
SELECT rows, rejected FROM tsurugi.load('memory', $load, transactional => false, $skip/memory.rejects');
$digest FROM memory x;
COPY memory_rejects FROM '$own/memory.rejects' (FORMAT csv, HEADER);
SELECT row, byte, "column", sqlstate, message, record FROM memory_rejects ORDER BY row;
RESET tsurugi_fdw.failpoints;
SQL
}

# What one way has answered: its errors as code, message, line and column.
sub normal
{
	my ($answer) = @_;

	$answer =~ s/^psql:\S+ //mg;
	$answer =~ s/^(LOCATION|HINT|SQL statement|PL\/pgSQL|load of|COPY \d+$|DO$|SET$|RESET$|TRUNCATE TABLE$).*\n?//mg;
	$answer =~ s/^CONTEXT:  JSON data.*\nCOPY/CONTEXT:  COPY/mg;
	$answer =~ s/^CONTEXT:  COPY (heap|memory), line (\d+)(, column \w+)?.*\n?/"line $2" . ($3 \/\/ '') . "\n"/mge;
	return $answer;
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
	my ($copy, $pool, $skips, $pool_skips) = @answers{ map { "$round $_" } 'copy', 'pool', 'session skips', 'pool skips' };

	$copy =~ /ERROR/ ? $failed++ : $whole++;
	next if $copy eq $pool && $skips eq $pool_skips;
	is($pool, $copy, "file $round by the pool is as by COPY") or diag(slurp_file("$own/$round.csv"));
	is($pool_skips, $skips, "file $round with rows left out is as by the session") or diag(slurp_file("$own/$round.csv"));
}
pass("files are as by COPY");
cmp_ok($failed, '>', $rounds / 20, "of which many do not fit: $failed");
cmp_ok($whole, '>', $rounds / 4, "and many do: $whole");
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');

$node->stop;
done_testing();

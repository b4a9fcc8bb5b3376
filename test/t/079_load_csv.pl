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
use CopyFiles;
use PostgreSQL::Test::Utils;
use Test::More;

srand(seed());
my $rounds = $ENV{CSV_FILES} // 80;
my $node = TestServer::start('load_csv', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;
my @columns = column_names();
my $definition = definition();

# --- what is run ---

my $digest = 'SELECT count(*), md5(string_agg(x::text, E\'\\n\' ORDER BY x::text COLLATE "C"))';
my $script = "\\set VERBOSITY verbose\nSET DateStyle = 'ISO, DMY'; SET TimeZone = 'Asia/Kathmandu';\n";
for my $round (1 .. $rounds)
{
	my $dialect = dialect('csv');
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

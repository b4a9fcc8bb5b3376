# Random queries and changes over several tables, on ordinary tables and on ones in memory: the answers must be the same, rows,
# their order where it is whole, SQLSTATEs, and the contents of the tables afterwards.
#
# QueryTables.pm makes the tables, Queries.pm the queries, QueryDefinitions.pm what alters tables, QueryChanges.pm the rest. A difference is printed with its statement,
# the script that made it and both answers. SEED takes another seed, QUERY_ONLY=n runs one schema of it, QUERY_SWITCHES=a,b has all
# schemas run under these debug switches instead of drawn ones, QUERY_OUT=directory keeps the scripts that differ. A long run:
#
#	QUERY_SCHEMAS=1000 make test SUITES=tap TESTS=035_queries
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use QueryChanges;
use Twice;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = seed();
my $schemas = $ENV{QUERY_SCHEMAS} // 25;
my $statements = 60;
note "QUERY_SCHEMAS=$schemas";

my $node = TestServer::start('queries', fsync => 'off', jit => 'off', 'tsurugi_fdw.workers' => $seed % 2 ? 1 : 2);
Twice::databases($node);

my (%count, @different);

# What no statement is to be refused for. 42804: PostgreSQL may have planned $1::numeric(8,2) without the length that it has described.
my $wrong = qr/^(?:22(?!012)|XX|58|08|42(?!804))/;

# The answers of a script, each { how, lines }.
sub answers
{
	my ($out) = @_;
	my @answers;

	for (split /^\@ /m, $out)
	{
		my ($how, @lines) = split /\n/, s/\n\z//r, -1;

		@lines = map { /(?:ERROR|FATAL):  (\w{5})/ ? "ERROR $1" : $_ } @lines;
		@lines = sort @lines if ($how // '') !~ /^[ow]/;
		push @answers, { how => $how, lines => \@lines };
	}
	return @answers;
}

sub same
{
	my ($ordinary, $memory) = @_;

	return 1 if "@{ $ordinary->{lines} }" eq "@{ $memory->{lines} }";
	# of several rows that are refused another may be met first
	return $ordinary->{how} =~ /^[vw]/ && "@{ $ordinary->{lines} }" =~ /^ERROR (?:2[13]|44|55)/ && "@{ $memory->{lines} }" =~ /^ERROR (?:2[13]|44|55)/;
}

# Compares a schema's answers up to the first that differ.
sub compare
{
	my ($number, $statements, $ordinary, $memory) = @_;

	for my $at (0 .. $#$statements)
	{
		my ($theirs, $ours) = map { $_->[$at] // { how => '', lines => ['nothing'] } } $ordinary, $memory;
		my ($error) = "@{ $theirs->{lines} }" =~ /ERROR (\w{5})/;

		# the query that it was to be made of has failed
		$error = 'not made' if ($error // '') eq '42P01' && $statements->[$at] =~ /\bmade\b/;
		diag "SEED=$seed QUERY_ONLY=$number $error: " . substr($statements->[$at], 0, 4000) if defined $error && $error =~ $wrong && !$count{$error};

		$count{statements}++;
		$count{ $error // 'answers' }++;
		$count{rows} += @{ $theirs->{lines} };
		# what takes too long, on either side, may have changed something on the other
		my @slow = map { "@{ $_->[1]{lines} }" =~ /ERROR 57014/ ? $_->[0] : () } [ 'ordinary', $theirs ], [ 'in memory', $ours ];
		if (@slow)
		{
			$count{slow}++;
			return note "SEED=$seed QUERY_ONLY=$number slow, @slow: " . $statements->[$at] =~ s/^\w\n//r;
		}
		next if same($theirs, $ours);
		push @different, $number;
		my $difference = ($statements->[$at] =~ s/^\w\n//r) . join "\n", 'ordinary:', @{ $theirs->{lines} }, 'in memory:', @{ $ours->{lines} }, '';
		diag "SEED=$seed QUERY_ONLY=$number\n" . substr($difference, 0, 4000) if @different <= 3;
		if (defined $ENV{QUERY_OUT})
		{
			append_to_file("$ENV{QUERY_OUT}/$seed.$number.sql", join '\echo @ ', @$statements[ 0 .. $at ]);
			append_to_file("$ENV{QUERY_OUT}/$seed.$number.diff", $difference);
		}
		return;
	}
}

# The debug switches of a schema.  Every fourth one reads ranges of indexes; in every third one all rows of
# jobs that can go to files do; in every other one keys of builds are looked up wherever they can be, in
# others index joins turn over to hash joins at once; in half of them small chunks have summaries and codes,
# too; in most, groups are set aside that few chunks have, of however few rows.  Vectors have 7 rows,
# hashes 3 bits, and integers count as too large for 64 bits, in a third of them each.  (In a fifth a job has
# five tasks, on the one worker that odd seeds have; and every other one has all jobs that there can be.)
sub switches
{
	my ($number) = @_;

	return (
		$number % 4 == 1 ? 'job_by_ranges' : (),
		$number % 3 == 2 ? 'query_rows' : (),
		$number % 2 ? 'query_look_ups' : $number % 7 < 4 ? 'query_hash_joins' : (),
		$number % 4 >= 2 ? 'summary_any_chunk' : (),
		$number % 5 < 3 ? 'query_clusters' : (),
		$number % 7 < 3 ? 'query_vectors' : (),
		$number % 11 < 4 ? 'query_hashes' : (),
		$number % 13 < 4 ? 'vector_bits' : ());
}

for my $number (defined $ENV{QUERY_ONLY} ? $ENV{QUERY_ONLY} : 1 .. $schemas)
{
	srand($seed * 1000 + $number);
	my @switches = defined $ENV{QUERY_SWITCHES} ? split /,/, $ENV{QUERY_SWITCHES} : switches($number);
	note "schema $number: @switches" if defined $ENV{QUERY_ONLY};
	# in the worker, too, where the tasks of jobs ask some of them
	TestServer::configure($node, scheduler => $number % 8 < 4 ? 'hybrid' : 'stealing', jobs => $number % 2 ? 'force' : 'on',
		job_tasks => $number % 5 == 3 ? 5 : 0, failpoints => join(',', @switches));
	my $text = QueryChanges::script($statements);
	my ($ordinary, $memory) = Twice::run($node, $text, '-t', '-v', 'VERBOSITY=sqlstate', '-v', 'ON_ERROR_ROLLBACK=on');

	utf8::encode($text);
	# before the first mark a script says nothing
	compare($number, [ split /^\\echo \@ /m, $text ], [ answers("u\n$ordinary") ], [ answers("u\n$memory") ]);
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
cmp_ok($count{answers}, '>', 0.9 * $count{statements}, 'most have an answer');
cmp_ok($count{rows}, '>', $count{statements}, 'and rows in it') unless defined $ENV{QUERY_ONLY};
cmp_ok($count{slow} // 0, '<=', 0.1 * $schemas, 'few take too long');
is("@different", '', 'the answers are the same');
is(join(' ', grep { /$wrong/ } sort keys %count), '', 'no statement is wrong in itself');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

# Random foreign keys, and random transactions on tables that have them: on ordinary tables and
# with some of the tables in memory the answers must be the same.
#
# ForeignKeys.pm makes the scripts; psql runs each twice (Twice.pm) and prints everything: the statements,
# their rows, and errors with all of their fields; and after each transaction the contents of all tables.
#
# SEED takes another seed, FOREIGN_KEY_ONLY=n runs one schema of it, FOREIGN_KEY_OUT=directory keeps what was
# printed.  A long run:
#
#	FOREIGN_KEY_SCHEMAS=1000 make test SUITES=tap TESTS=030_foreign_key_random
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use ForeignKeys;
use Twice;
use PostgreSQL::Test::Utils;
use Test::More;

my $seed = seed();
my $schemas = $ENV{FOREIGN_KEY_SCHEMAS} // 30;
my $transactions = 40;
note "FOREIGN_KEY_SCHEMAS=$schemas";

my $node = TestServer::start('foreign_key_random', statement_timeout => "'60s'",
	# one way to a row, so that the order is one
	enable_seqscan => 'off', enable_bitmapscan => 'off', enable_hashjoin => 'off', enable_mergejoin => 'off', enable_sort => 'off',
	'tsurugi_fdw.serializable_mixed' => 'relaxed');

# The script of a schema, with a seed of its own.
sub script
{
	my ($number) = @_;

	srand($seed + $number);
	my @kinds = @{ pick([ 'memory' ], [ 'memory', 'ordinary' ], [ 'memory', 'ordinary', 'partitioned' ]) };
	my $schema = ForeignKeys::make_schema(@kinds);
	my $triggers = chance(0.3);
	my $definitions = chance(0.3) ? 0.1 : 0;
	my $text = "\\echo SCHEMA $number\nCREATE SCHEMA s$number;\nSET search_path = s$number;\n" . ForeignKeys::create_schema($schema, chance(0.3));

	$text .= ForeignKeys::create_triggers($schema) if $triggers;
	$text .= ForeignKeys::prepared($schema) . ForeignKeys::contents($schema);
	for (1 .. $transactions)
	{
		my $transaction = ForeignKeys::transaction($schema, definitions => $definitions,
			isolation => pick('', '', '', ' ISOLATION LEVEL REPEATABLE READ', ' ISOLATION LEVEL SERIALIZABLE'));

		# of SET CONSTRAINTS in a savepoint that was released PostgreSQL does not undo what it says
		$text .= '\set ON_ERROR_ROLLBACK ' . ($transaction =~ /SET CONSTRAINTS/ ? 'off' : pick('on', 'on', 'on', 'off')) . "\n$transaction";
		$text .= ForeignKeys::contents($schema);
		$text .= "SELECT * FROM log ORDER BY at; TRUNCATE log RESTART IDENTITY;\n" if $triggers;
	}
	return $text . "DROP SCHEMA s$number CASCADE;\n";
}

sub lines { my ($out) = @_; return split /\n/, $out =~ s/^LOCATION:.*\n//mgr }

Twice::databases($node);
my @numbers = defined $ENV{FOREIGN_KEY_ONLY} ? $ENV{FOREIGN_KEY_ONLY} : 1 .. $schemas;
my ($ordinary, $memory) = Twice::run($node, join('', map { script($_) } @numbers), '-a', '-v', 'VERBOSITY=verbose');

if (defined $ENV{FOREIGN_KEY_OUT})
{
	append_to_file("$ENV{FOREIGN_KEY_OUT}/ordinary", $ordinary);
	append_to_file("$ENV{FOREIGN_KEY_OUT}/memory", $memory);
}

my %count;
$count{$1}++ while $ordinary =~ /(?:ERROR|FATAL):  (\w{5})/g;
$count{statements} = () = $ordinary =~ /;$/mg;
note join ', ', map { "$_: $count{$_}" } sort keys %count;
cmp_ok($count{23503}, '>', $count{statements} / 100, 'keys are violated') unless defined $ENV{FOREIGN_KEY_ONLY};
is(join(' ', grep { /^(?:22|XX|58|08|42(?!704|710|809))/ } keys %count), '', 'no statement is wrong in itself');

# Where a schema's answers begin to differ, with what was there before.
sub difference
{
	my ($ordinary, $memory) = @_;
	my $at = 0;

	$at++ while $at < @$ordinary && $at < @$memory && $ordinary->[$at] eq $memory->[$at];
	return undef if $at == @$ordinary && $at == @$memory;
	my $after = sub { my ($lines) = @_; return @$lines[ $at .. ($at + 12 < @$lines ? $at + 12 : $#$lines) ] };
	return join "\n", @$ordinary[ ($at < 25 ? 0 : $at - 25) .. $at - 1 ], '--- ordinary:', $after->($ordinary), '--- in memory:', $after->($memory);
}

my @ordinary = split /^SCHEMA (?=\d)/m, $ordinary;
my @memory = split /^SCHEMA (?=\d)/m, $memory;
my @different;
is(scalar @memory, scalar @ordinary, 'all scripts were run');
for my $i (0 .. $#ordinary)
{
	my $difference = difference([ lines($ordinary[$i]) ], [ lines($memory[$i] // '') ]);

	push @different, $numbers[ $i - 1 ] if defined $difference;
	diag "SEED=$seed FOREIGN_KEY_ONLY=$numbers[$i - 1]\n$difference" if defined $difference && @different <= 3;
}
is("@different", '', 'the answers are the same');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

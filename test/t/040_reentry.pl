# User code that runs in the middle of a statement reads and writes the very tables, alters them,
# fails, is cancelled, catches errors, or executes the statement once more. Functions are called by
# indexes, constraints, defaults, triggers, types, partitions, rules, and by queries.
#
# The statement has to end and to leave behind what it does on ordinary tables. Where PostgreSQL
# does not say what comes of it, at least indexes and tables have to agree. In all cases the server
# stays up, reports no internal error, keeps no snapshot, and gets all memory back.
#
# Reentry.pm has the combinations of a point at which code is called, an action, and a statement,
# about 18,000. A run takes an even share of them. All, or those whose names match a pattern:
#
#	REENTRY=all make test SUITES=tap TESTS=040_reentry
#	REENTRY='^index_expression inserts ' make test SUITES=tap TESTS=040_reentry
#
# REENTRY_OUT=file keeps the differences.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Reentry;
use Twice;
use PostgreSQL::Test::Utils;
use Test::More;

my $share = 31;  # one of so many combinations is taken; no divisor of the number of actions
my $batch = 100; # combinations in a session
my @combinations = Reentry::combinations();

if (($ENV{REENTRY} // 'all') ne 'all')
{
	@combinations = grep { "@$_" =~ /$ENV{REENTRY}/ } @combinations;
}
elsif (!defined $ENV{REENTRY})
{
	@combinations = @combinations[ grep { $_ % $share == 0 } 0 .. $#combinations ];
}

my $node = TestServer::start('reentry', fsync => 'off', jit => 'off', max_connections => 20, log_min_messages => 'log');
Twice::databases($node);

my (%count, @wrong);

# What a script has printed, by the names of its combinations.
sub answers
{
	my ($out) = @_;

	$out =~ s/(?:ERROR|FATAL):  (\w{5})$/ERROR $1/mg;
	return { map { /^(.*)\n((?s).*)/ ? ($1 => $2) : () } split /^\@ /m, $out };
}

# Lines that only one of two answers has.
sub difference
{
	my ($theirs, $ours) = @_;
	my %theirs = map { $_ => 1 } split /\n/, $theirs;
	my %ours = map { $_ => 1 } split /\n/, $ours;

	return join '', map({ "ordinary: $_\n" } grep { !$ours{$_} } sort keys %theirs), map({ "in memory: $_\n" } grep { !$theirs{$_} } sort keys %ours);
}

# What is wrong with an answer, '' if nothing is. The answer on ordinary tables is undefined where
# it does not count.
sub fault
{
	my ($ours, $theirs) = @_;

	return 'an internal error' if $ours =~ /ERROR XX/ && ($theirs // '') !~ /ERROR XX/;
	return 'a script that is wrong in itself' if $ours =~ /ERROR 42601/;
	return 'a snapshot is left' if $ours =~ /a snapshot is left/;
	return 'another answer' if defined $theirs && $theirs ne $ours;
	# what the action has dropped has no rows to compare
	return 'table and index differ' if $ours !~ /^consistent\nindexes/m && $ours !~ /ERROR 42P01/;
	return '';
}

# Runs combinations in one session; of tables in memory, and of ordinary ones if these are to be
# compared. Returns how many: one may have ended the server.
sub run
{
	my ($compare, @some) = @_;
	my $text = join '', map({ Reentry::script(@$_) } @some), "\\echo @ end\n\n";
	my @options = ('-t', '-v', 'VERBOSITY=sqlstate');
	my @answers = map { answers($_) } $compare ? Twice::run($node, $text, @options) : Twice::run_memory($node, $text, @options);
	my $memory = $answers[-1];
	my @names = map { "@$_" } @some;

	for my $at (0 .. $#names)
	{
		my $name = $names[$at];
		my $next = $names[ $at + 1 ] // 'end';
		my $lost = !exists $memory->{$next};
		# the session on ordinary tables may not have come as far when the other one ended the
		# server
		my ($ours, $theirs) = ($memory->{$name} // '', $compare && exists $answers[0]{$next} ? $answers[0]{$name} : undef);
		my $fault = $lost ? 'the session is lost' : fault($ours, $theirs);

		$count{ $ours =~ /^ERROR (\w+)/ ? $1 : 'done' }++;
		if ($fault ne '')
		{
			push @wrong, "$name: $fault";
			diag "$name: $fault" if @wrong <= 20;
			append_to_file($ENV{REENTRY_OUT}, "$name: $fault\n" . difference($theirs // '', $ours) . "\n") if defined $ENV{REENTRY_OUT};
		}
		next unless $lost;
		# psql may end before it has read its script
		1 until eval { $node->poll_query_until('postgres', 'SELECT true'); 1 };
		return $at + 1;
	}
	return scalar @some;
}

my $used = TestServer::bytes_used($node);
for my $compare (1, 0)
{
	my @some = grep { Reentry::is_defined(@$_) == $compare } @combinations;

	splice @some, 0, run($compare, @some[ 0 .. ($batch < @some ? $batch : @some) - 1 ]) while @some;
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
cmp_ok($count{done} // 0, '>', @combinations / 3, 'many are carried out') unless defined $ENV{REENTRY} && $ENV{REENTRY} ne 'all';
is(join("\n", @wrong), '', 'every statement ends as it has to');
is(TestServer::internal_errors($node), '', 'the server has stayed up');
$node->safe_psql($_, 'SET client_min_messages = error; DROP SCHEMA IF EXISTS r CASCADE') for 'ordinary', 'memory';
ok($node->poll_query_until('postgres', "SELECT used = $used FROM tsurugi.memory"), 'all memory has come back');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.sessions WHERE pid <> pg_backend_pid()'), '0', 'and no session is left');
$node->stop;
done_testing();

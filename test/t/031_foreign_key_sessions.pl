# Random foreign keys, and several sessions that run random transactions at once, at every level, with savepoints,
# deferred checks, actions and TRUNCATE: no row refers to nothing.
#
# That is asked whenever all of them have ended; and of tables in memory all the time, since what a
# snapshot shows has been committed, and so checked.  SEED takes other scripts; a long run:
#
#	FOREIGN_KEY_ROUNDS=200 make test SUITES=tap TESTS=031_foreign_key_sessions
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use ForeignKeys;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{FOREIGN_KEY_ROUNDS} // 5;
my $clients = 4;
my $transactions = 60;
srand seed();
note "FOREIGN_KEY_ROUNDS=$rounds";

my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
my $node = TestServer::start('foreign_key_sessions', deadlock_timeout => "'20ms'", 'tsurugi_fdw.serializable_mixed' => 'relaxed');
my $directory = $node->basedir;

# psql with a script, and what it prints.
sub start
{
	my ($name, $text) = @_;
	my $file = "$directory/$name.sql";
	my $out = '';

	open my $script, '>:utf8', $file or die;
	print $script $text;
	close $script;
	my $run = IPC::Run::start([ 'psql', '-XAtq', '-v', 'VERBOSITY=verbose', '-f', $file, '-d', $node->connstr('postgres') ],
		'<', \undef, '>', \$out, '2>&1');
	return { run => $run, out => \$out };
}

my %count;
for my $round (1 .. $rounds)
{
	my @kinds = @{ pick([ 'memory' ], [ 'memory' ], [ 'memory', 'ordinary' ], [ 'memory', 'ordinary', 'partitioned' ]) };
	my $schema = ForeignKeys::make_schema(@kinds);
	my $definition = "CREATE SCHEMA s$round;\nSET search_path = s$round;\n" . ForeignKeys::create_schema($schema, 0) . ForeignKeys::orphans($schema);

	start("schema$round", $definition)->{run}->finish;
	my @sessions = map {
		my $text = "SET search_path = s$round;\n\\set ON_ERROR_ROLLBACK " . pick('on', 'off') . "\n" . ForeignKeys::prepared($schema);

		for (1 .. $transactions)
		{
			$text .= "SET default_transaction_isolation = '" . lc(pick(@levels)) . "';\n" . ForeignKeys::transaction($schema);
		}
		start("session$_", $text)
	} 1 .. $clients;
	my $observer = @kinds == 1 ? start('observer', "SET search_path = s$round;\n" .
			join '', map { "BEGIN ISOLATION LEVEL " . pick(@levels) . " READ ONLY;\nSELECT 'ORPHAN', * FROM orphan;\nCOMMIT;\n" } 1 .. 2 * $transactions) : undef;
	$_->{run}->finish for @sessions, grep { defined } $observer;
	for my $out (map { ${ $_->{out} } } @sessions) { $count{$1}++ while $out =~ /(?:ERROR|FATAL):  (\w{5})/g }
	unlike(${ $observer->{out} }, qr/ORPHAN|XX000|FATAL/, "round $round: nobody sees a row that refers to nothing") if defined $observer;
	is($node->safe_psql('postgres', "SELECT * FROM s$round.orphan"), '', 'none is left') or diag $definition;
	is($node->safe_psql('postgres', "SELECT bytes FROM tsurugi.memory_uses WHERE use = 'locks'"), '0', 'nor is a lock');
	$node->safe_psql('postgres', "DROP SCHEMA s$round CASCADE");
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
is(join(' ', grep { /^(?:22|XX|42|58|08|57)/ } keys %count), '', 'no statement is wrong in itself');
cmp_ok($count{23503}, '>', 0, 'keys are violated');
cmp_ok($count{40001} // 0, '>', 0, 'transactions meet');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

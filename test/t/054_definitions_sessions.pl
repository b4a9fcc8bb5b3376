# Several sessions that run random definitions of a few tables at once, ordinary ones and ones in
# memory, among them partitions: they succeed, wait, or are refused, but no error is internal, and
# afterwards every table that is left can be read and dropped.
#
# SEED takes other scripts; how they meet is never the same.  A long run:
#
#	DEFINITIONS_ROUNDS=100 make test SUITES=tap TESTS=054_definitions_sessions
#
# What is an internal error among ordinary tables alone, too, does not count: "tuple concurrently
# updated" of an index or a trigger that another session changes meanwhile, a constraint that goes
# while ALTER COLUMN TYPE writes it down; there it comes up to ten times in 60 rounds.  It is told by
# its backtrace: PostgreSQL's function for the statement, or for DROP, has raised it, and nothing of
# ours stands in between.  Left out is CLUSTER ... USING an index that another session drops, and
# ALTER CONSTRAINT of a partition's part of a foreign key.  No column has a type whose values are
# kept aside, for PostgreSQL warns of indexes that REINDEX CONCURRENTLY has left there as of
# something internal.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use PostgreSQL::Test::Utils;
use Test::More;

my $rounds = $ENV{DEFINITIONS_ROUNDS} // 2;
my $clients = 5;
my $statements = 200;
srand seed();
note "DEFINITIONS_ROUNDS=$rounds";

my @leaves = qw(t1 t2 t3 p1 p2 f);
my $node = TestServer::start('definitions_sessions', deadlock_timeout => "'20ms'", lock_timeout => "'2s'", statement_timeout => "'20s'",
	'tsurugi_fdw.serializable_mixed' => 'relaxed', client_min_messages => 'error',
	backtrace_functions => "'simple_heap_update,simple_heap_delete,pg_get_constraintdef_worker,RangeVarCallbackOwnsRelation'");

sub leaf { return pick(@leaves) }
sub table { return pick(@leaves, 'p', 'p') }
sub column { return pick(qw(id v u w)) }
sub index_name { return 'ix_' . int rand 5 }
sub key { return 'fk_' . int rand 3 }
sub method { return pick('heap', 'tsurugi', 'tsurugi') }
sub type { return pick('smallint', 'int', 'bigint') }
sub bounds { my $low = 10 * int rand 3; return "FOR VALUES FROM ($low) TO (" . ($low + 10) . ')' }

# Each with how often it is drawn, and whether it may be in a transaction block.
my @kinds = (
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' ADD COLUMN ' . column() . ' int' . pick('', ' DEFAULT 4') } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' DROP COLUMN ' . column() . ' CASCADE' } ],
	[ 5, 1, sub { 'ALTER TABLE ' . table() . ' ALTER ' . column() . ' TYPE ' . type() } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' ADD PRIMARY KEY (id)' } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' ADD CONSTRAINT un_' . int(rand 2) . ' UNIQUE (id, ' . column() . ')' } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' DROP CONSTRAINT un_' . int(rand 2) . ' CASCADE' } ],
	[ 4, 1, sub { 'ALTER TABLE ' . table() . ' ADD CONSTRAINT ' . key() . ' FOREIGN KEY (' . column() . ') REFERENCES ' . table() . pick('', ' NOT VALID', ' ON DELETE CASCADE') } ],
	[ 2, 1, sub { 'ALTER TABLE ' . table() . ' DROP CONSTRAINT ' . key() } ],
	[ 1, 1, sub { 'ALTER TABLE p ALTER CONSTRAINT ' . key() . ' DEFERRABLE' } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' VALIDATE CONSTRAINT ' . key() } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' ADD CONSTRAINT ck_' . int(rand 2) . ' CHECK (' . column() . ' < 1000)' . pick('', ' NOT VALID') } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' DROP CONSTRAINT ck_' . int rand 2 } ],
	[ 3, 1, sub { 'CREATE ' . pick('', 'UNIQUE ') . 'INDEX ' . index_name() . ' ON ' . table() . pick(' (' . column() . ', id)', ' ((' . column() . ' + 1), id) WHERE v > 0') } ],
	[ 1, 0, sub { 'CREATE INDEX CONCURRENTLY ' . index_name() . ' ON ' . leaf() . ' (' . column() . ')' } ],
	[ 2, 1, sub { 'DROP INDEX ' . index_name() . pick(' CASCADE', ', ' . index_name()) } ],
	[ 1, 0, sub { 'DROP INDEX CONCURRENTLY ' . index_name() } ],
	[ 1, 1, sub { 'ALTER INDEX ' . index_name() . ' RENAME TO ' . index_name() } ],
	[ 2, 0, sub { 'REINDEX ' . pick('TABLE', 'TABLE CONCURRENTLY') . ' ' . table() } ],
	[ 1, 1, sub { 'REINDEX INDEX ' . index_name() } ],
	[ 3, 1, sub { 'ALTER TABLE ' . leaf() . ' SET ACCESS METHOD ' . method() } ],
	[ 2, 1, sub { 'ALTER TABLE ' . leaf() . ' SET ' . pick('LOGGED', 'UNLOGGED') } ],
	[ 3, 1, sub { 'ALTER TABLE p ATTACH PARTITION ' . leaf() . ' ' . bounds() } ],
	[ 2, 1, sub { 'ALTER TABLE p DETACH PARTITION ' . leaf() } ],
	[ 2, 1, sub { 'DROP TABLE ' . pick('', 'IF EXISTS ') . leaf() . ' CASCADE' } ],
	[ 4, 1, sub { 'CREATE TABLE ' . leaf() . ' (id int ' . pick('PRIMARY KEY', 'NOT NULL') . ', v int, u int' . pick('', ' REFERENCES ' . table()) . ') USING ' . method() } ],
	[ 2, 1, sub { 'CREATE TABLE ' . leaf() . ' PARTITION OF p ' . bounds() . ' USING ' . method() } ],
	[ 1, 1, sub { 'ALTER TABLE ' . leaf() . ' RENAME TO ' . leaf() } ],
	[ 1, 1, sub { 'ALTER TABLE ' . table() . ' RENAME ' . column() . ' TO ' . column() } ],
	[ 1, 1, sub { 'TRUNCATE ' . table() . ' CASCADE' } ],
	[ 1, 0, sub { 'VACUUM ' . pick('', 'FULL ', 'ANALYZE ') . table() } ],
	[ 3, 1, sub { 'INSERT INTO ' . table() . ' (id) VALUES (' . int(rand 30) . ') ON CONFLICT DO NOTHING' } ],
	[ 1, 1, sub { 'DELETE FROM ' . table() . ' WHERE id < ' . int rand 40 } ],
	[ 2, 1, sub { 'UPDATE ' . table() . ' SET ' . column() . ' = ' . int(rand 40) . ' WHERE id = ' . int rand 30 } ]);
my @drawn = map { ($_) x $_->[0] } @kinds;

sub transaction
{
	my @parts = ('BEGIN ISOLATION LEVEL ' . pick('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'));

	for (1 .. 1 + rand 3)
	{
		push @parts, 'SAVEPOINT a', pick(grep { $_->[1] } @drawn)->[2]->();
		push @parts, 'ROLLBACK TO a' if chance(0.3);
	}
	return join('', map { "$_;\n" } @parts, pick('COMMIT', 'COMMIT', 'ROLLBACK'));
}

my %count;
for my $round (1 .. $rounds)
{
	my $from_here = "SET search_path = s$round;\n";

	$node->safe_psql('postgres', "CREATE SCHEMA s$round; $from_here" . q{
		CREATE TABLE p (id int PRIMARY KEY, v int, u int) PARTITION BY RANGE (id);
		CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10) USING tsurugi;
		CREATE TABLE t1 (id int PRIMARY KEY, v int, u int) USING tsurugi});
	my @sessions = map {
		my $session = TestServer::Session->new($node);

		$session->send($from_here . join '', map { chance(0.2) ? transaction() : pick(@drawn)->[2]->() . ";\n" } 1 .. $statements)
	} 1 .. $clients;
	for my $session (@sessions)
	{
		my $messages = $session->wait_messages;

		$count{$1}++ while $messages =~ /(?:ERROR|FATAL|PANIC):\s+(\w{5})/g;
		$session->close;
	}
	my @left = split /\n/, $node->safe_psql('postgres', "SELECT relname FROM pg_class WHERE relnamespace = 's$round'::regnamespace AND relkind IN ('r', 'f', 'p')");
	is($node->safe_psql('postgres', $from_here . join '', map { "SELECT FROM $_;\n" } @left) =~ s/\s//gr, '', "round $round: " . @left . ' tables are left');
	$node->safe_psql('postgres', "SET client_min_messages = error; DROP SCHEMA s$round CASCADE");
}
note join ', ', map { "$_: $count{$_}" } sort keys %count;
is($node->safe_psql('postgres', "SELECT bytes FROM tsurugi.memory_uses WHERE use = 'locks'"), '0', 'no lock is left');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.tables'), '0', 'nor a table');
cmp_ok($count{42704} // 0, '>', 0, 'definitions meet');

# Without those that PostgreSQL has raised by itself.
my $log = slurp_file($node->logfile);
my $deeper = qr/(?:\t(?!.*tsurugi_fdw\.so).*\n)*/;
my $more = qr/(?:\t.*\n)*/;
$log =~ s/ XX000 ERROR: .*\n.* BACKTRACE: .*\n$deeper\t.*\b(?:standard_ProcessUtility|performMultipleDeletions)\b.*\n$more(?:.* XX000 STATEMENT: .*\n$more)?//g;
is(TestServer::internal_errors_in($log), '', 'no error was internal');
$node->stop;
done_testing();

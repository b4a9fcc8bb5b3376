# The worker is ended while tables begin to follow the log, or while they end to, at a promotion: then
# nothing is at fault, and the server starts over, or starts again, with all that it had.
#
# The worker stops at a failpoint before it reads the journal again, for a prepared transaction that
# lies far back, or the ranks of a base; there it gets SIGTERM, alone or with all of the server.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", 'max_prepared_transactions = 5', "tsurugi_fdw.load_wait = '60s'",
	'restart_after_crash = on';
$primary->start;
plan skip_all => 'no failpoints' unless TestServer::has_failpoints($primary);
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE EXTENSION ltree;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, n int) SERVER tsurugi;
	CREATE FOREIGN TABLE path (way ltree PRIMARY KEY, n int) SERVER tsurugi;
	INSERT INTO ours SELECT i, 0 FROM generate_series(1, 10) i;
	INSERT INTO path SELECT ('p' || i)::ltree, i FROM generate_series(1, 100) i});
$primary->safe_psql('postgres', q{BEGIN; UPDATE ours SET n = -1 WHERE id = 1; INSERT INTO path VALUES ('prepared', 0); PREPARE TRANSACTION 'far'});
$primary->safe_psql('postgres', 'SELECT tsurugi.write_base()');
$primary->safe_psql('postgres', q{SET synchronous_commit = off;
	DO $$ BEGIN FOR i IN 1 .. 600 LOOP UPDATE ours SET n = n + 1 WHERE id = 2; COMMIT; END LOOP; END $$});
$primary->backup('copy');

my $digest = 'SELECT (SELECT sum(hashtext(ours::text)) FROM ours), (SELECT sum(hashtext(path::text)) FROM path)';
my $expected = $primary->safe_psql('postgres', $digest);

sub standby
{
	my ($name, $failpoint) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup($primary, 'copy', has_streaming => 1);
	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = '$failpoint'");
	$node->start;
	return $node;
}

# The worker has stopped, and ends when it goes on.
sub terminate
{
	my ($node) = @_;
	my $worker = TestServer::worker_pid($node);

	ok(TestServer::has_stopped($worker), 'the worker stands');
	TestServer::write_settings($node, failpoints => ''); # for processes that start from then on
	is($node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)"), 't', 'and is ended');
	kill 'CONT', $worker;
}

# Waits until a process that stands has SIGTERM pending.
sub is_to_end
{
	my ($pid) = @_;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		my ($pending) = slurp_file("/proc/$pid/status") =~ /^ShdPnd:\s*([0-9a-f]+)/m;

		return 1 if hex($pending) & 1 << 14;
		select undef, undef, undef, 0.01;
	}
	return 0;
}

# Sessions are ended meanwhile.
sub becomes
{
	my ($node, $state) = @_;

	return $node->poll_query_until('postgres', "SELECT state = '$state' FROM tsurugi.durability");
}

sub promote
{
	my ($node) = @_;

	$node->poll_query_until('postgres', "SELECT state = 'following' FROM tsurugi.durability") or die;
	TestServer::configure($node, failpoints => 'stop:follower_ends');
	$node->promote;
}

sub has_all
{
	my ($node) = @_;

	is($node->safe_psql('postgres', $digest), $expected, 'it has all rows');
	$node->safe_psql('postgres', "COMMIT PREPARED 'far'");
	is($node->safe_psql('postgres', q{SELECT n FROM ours WHERE id = 1; SELECT n FROM path WHERE way = 'prepared'}), "-1\n0", 'and the prepared transaction');
}

# --- of the worker alone ------------------------------------------------------------------------------

my $alone = standby('alone', 'stop:follower_begins');

terminate($alone);
ok(becomes($alone, 'following'), 'a standby whose worker was ended while it began to follow follows');
is($alone->safe_psql('postgres', $digest), $expected, 'with all rows');
promote($alone);
terminate($alone);
ok(becomes($alone, 'open'), 'a server whose worker was ended while it was promoted opens');
has_all($alone);
is(scalar(() = slurp_file($alone->logfile) =~ /was stopped while it loaded tables; the server starts over/g), 2, 'it has started over');

# --- of the whole server ------------------------------------------------------------------------------

my $whole = standby('whole', '');

promote($whole);

my $worker = TestServer::worker_pid($whole);

ok(TestServer::has_stopped($worker), 'the worker stands');
TestServer::write_settings($whole, failpoints => '');
my ($postmaster) = slurp_file($whole->data_dir . '/postmaster.pid') =~ /^(\d+)/;
kill 'INT', $postmaster;
ok(is_to_end($worker), 'and is to end');
kill 'CONT', $worker;
$whole->stop('fast', fail_ok => 1);
is(TestServer::internal_errors($whole), '', 'a shutdown meanwhile ends the server cleanly');
$whole->start;
has_all($whole);
$_->stop for $alone, $whole, $primary;
done_testing();

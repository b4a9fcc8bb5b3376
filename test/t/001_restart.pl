# Restarts, reloads, and the ways the worker can end: definitions and contents
# stay, and the next statement works.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('restart');

sub wait_for_worker
{
	for (1 .. 600)
	{
		my $pid = TestServer::worker_pid($node);
		return $pid if defined $pid;
		select undef, undef, undef, 0.1;
	}
	return undef;
}

$node->safe_psql('postgres', 'CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi');
$node->safe_psql('postgres', "INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 50000) i");
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), '50000|1250025000', 'rows are there');

$node->restart;
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), '50000|1250025000', 'and after a restart');
is(TestServer::sqlstate($node, "INSERT INTO t VALUES (1, 'twice')"), '23505', 'with their keys');
is($node->safe_psql('postgres', "UPDATE t SET v = 'one' WHERE id = 1 RETURNING v"), 'one', 'and can be changed');

# A database made from another one has its definitions, not its contents.  A table that is altered
# there before anybody has looked at it, and the ALTER taken back.
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE altered (id int PRIMARY KEY) SERVER tsurugi;
	CREATE FOREIGN TABLE retyped (id int) SERVER tsurugi;
	CREATE FOREIGN TABLE once (id int) SERVER tsurugi;
	CREATE FOREIGN TABLE gone (id int) SERVER tsurugi;
	INSERT INTO altered VALUES (7);
	CREATE DATABASE copied TEMPLATE postgres STRATEGY file_copy});
is(TestServer::sqlstate($node, $_, 'copied'), '55000', "a table of a copied database is not taken for an empty one: $_")
	for 'SELECT count(*) FROM t', 'INSERT INTO t VALUES (1)', 'DELETE FROM t', 'CREATE INDEX ON t (v)', 'EXPLAIN SELECT * FROM t',
	'COPY (TABLE t) TO STDOUT', 'ALTER TABLE t SET ACCESS METHOD heap', 'ANALYZE t',
	'CREATE TABLE child (id int REFERENCES t); INSERT INTO child VALUES (1)';
is($node->safe_psql('copied', q{TRUNCATE once; INSERT INTO once VALUES (1); SELECT * FROM once}), '1', 'until it is truncated');
is($node->safe_psql('copied', 'DROP FOREIGN TABLE gone; SELECT 1'), '1', 'or dropped');
is(TestServer::sqlstate($node, 'CREATE ROLE reader; GRANT SELECT ON t TO reader; SET ROLE reader; SET tsurugi_fdw.missing_contents = empty; SELECT count(*) FROM t', 'copied'),
	'55000', 'nor by who may not empty it');
my ($code, $stdout, $stderr) = $node->psql('copied', 'SET tsurugi_fdw.missing_contents = empty; SELECT count(*) FROM t');
is($stdout, '0', 'or may be empty');
like($stderr, qr/WARNING:  foreign table "t" has no contents/, 'of which a warning tells');
is($node->safe_psql('copied', 'SELECT count(*) FROM t'), '0', 'from then on it is');
$node->safe_psql('copied', q{
	SET tsurugi_fdw.missing_contents = empty;
	BEGIN; ALTER FOREIGN TABLE altered DROP CONSTRAINT altered_pkey; INSERT INTO altered VALUES (1), (1); ROLLBACK;
	BEGIN; ALTER FOREIGN TABLE retyped ALTER COLUMN id TYPE text; INSERT INTO retyped VALUES ('text'); ROLLBACK;
	INSERT INTO altered VALUES (2);
	INSERT INTO retyped VALUES (3)});
is($node->safe_psql('copied', 'SELECT * FROM altered, retyped'), '2|3', 'a rolled back ALTER of such a table leaves it as it was');

# A crash of a backend: the server starts over by itself.
my $session = TestServer::Session->new($node);
my $pid = $session->query('SELECT pg_backend_pid();');
TestServer::crash_by($node, $pid);
$session->close;
$node->poll_query_until('postgres', 'SELECT count(*) = 50000 FROM t');
is($node->safe_psql('postgres', 'SELECT count(*), sum(id), count(*) FILTER (WHERE v = $$one$$) FROM t'),
	'50000|1250025000|1', 'after a crash of a backend the rows are there');
is($node->safe_psql('copied', 'SELECT * FROM altered, retyped'), '2|3', 'those of the copied database, too');
$node->safe_psql('postgres', "DELETE FROM t; INSERT INTO t SELECT i, 'again' FROM generate_series(1, 30000) i");

# The worker killed hard is a crash as well; terminated, it is started again.
my $worker = wait_for_worker();
ok(defined $worker, 'the worker is among the server\'s processes');
TestServer::crash_by($node, $worker);
ok($node->poll_query_until('postgres', 'SELECT count(*) = 30000 FROM t'), 'the worker killed: the server recovers by itself');
is($node->safe_psql('postgres', "UPDATE t SET v = 'once more'; SELECT count(*) FROM t"), '30000', 'and the next statements work');

$worker = wait_for_worker();
kill 'TERM', $worker;
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), '30000|450015000',
	'the worker terminated: statements go on in place, nothing is lost');
ok( $node->poll_query_until('postgres', "SELECT count(*) > 0 FROM tsurugi.workers WHERE state <> 'stopped'"),
	'and it is started again');
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), '30000|450015000', 'the contents are still there');

# The limit follows a reload, in both directions.
$node->append_conf('postgresql.conf', 'tsurugi_fdw.memory = 64MB');
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT limit_bytes = 64 * 1024 * 1024 FROM tsurugi.memory'), 'a reload lowers the limit');
is(TestServer::sqlstate($node, "INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(100001, 300000) i"),
	'53200', 'which then holds');
$node->append_conf('postgresql.conf', 'tsurugi_fdw.memory = 512MB');
$node->reload;
ok($node->poll_query_until('postgres', 'SELECT limit_bytes = 512 * 1024 * 1024 FROM tsurugi.memory'), 'and one raises it');
$node->safe_psql('postgres', "INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(100001, 200000) i");
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '130000', 'so that more fits');

# A shutdown that comes while the worker loads the tables.
SKIP:
{
	skip 'no failpoints', 3 unless TestServer::has_failpoints($node);
	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'stop:load_goes_on'");
	$node->restart;

	my $pid = TestServer::worker_pid($node);
	my ($postmaster) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	my $log_before = -s $node->logfile;

	ok(TestServer::has_stopped($pid), 'the worker loads the tables');
	kill 'INT', $postmaster;
	until (substr(slurp_file($node->logfile), $log_before) =~ /received fast shutdown request/) { select undef, undef, undef, 0.01 }
	# it may stop there more than once
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		kill 'CONT', $pid or last;
		select undef, undef, undef, 0.01;
	}
	$node->stop('fast', fail_ok => 1);
	is(TestServer::internal_errors_in(substr(slurp_file($node->logfile), $log_before)), '', 'a shutdown meanwhile ends the server cleanly');
	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '130000', 'and the next start loads them');
}

$node->stop('fast');
is($node->data_dir && -e $node->data_dir . '/postmaster.pid' ? 1 : 0, 0, 'a fast shutdown ends everything');
done_testing();

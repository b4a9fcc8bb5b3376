# A COMMIT that writes much for the log (txn/logging.c, 5 to 7): it can be cancelled, its worker can be ended
# or killed, and either all of the transaction is there or nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('large', 'tsurugi_fdw.load_wait' => '60s', 'max_prepared_transactions' => 2);

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi; CREATE TABLE heap (id int)});

sub rows { return $node->safe_psql('postgres', 'SELECT count(*) FROM t') }

# A session with a transaction of so many rows, and its pid.
sub begin
{
	my ($rows) = @_;
	my $session = TestServer::Session->new($node);
	my $pid = $session->query('SELECT pg_backend_pid()');

	$session->query("BEGIN; INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, $rows) i; INSERT INTO heap VALUES (1)");
	return ($session, $pid);
}

# Whether the worker writes its records, for which it stops at the first one.
sub stop_worker
{
	my ($name) = @_;

	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = '$name'");
	$node->restart;
}

# The answer, while a process goes on wherever it stops again.
sub answer
{
	my ($session, $stopped) = @_;

	until ($session->has_answered)
	{
		kill 'CONT', $stopped;
		select undef, undef, undef, 0.01;
	}
	return $session->wait;
}

# --- by the backend ----------------------------------------------------------------------------------

for my $end ('COMMIT', "PREPARE TRANSACTION 'p'")
{
	my ($session, $pid) = begin(5000);

	$session->send("SET tsurugi_fdw.failpoints = 'stop:log_part'; $end;");
	ok(TestServer::has_stopped($pid), "$end: a part of its record is in the log");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	is(answer($session, $pid), 'ERROR 57014', 'it is cancelled');
	is($session->query('SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM heap)'), '0', 'nothing of it is there');
	$session->close;
}

# --- by tasks of the pool -----------------------------------------------------------------------------

stop_worker('stop:parts_write');
my $worker = TestServer::worker_pid($node);
my ($session, $pid) = begin(40000);

$session->send('COMMIT;');
ok(TestServer::has_stopped($worker), 'tasks write what a COMMIT logs');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
is(answer($session, $worker), 'ERROR 57014', 'it is cancelled, too');
is($session->query('SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM heap)'), '0', 'nothing of it is there');

# the worker is ended meanwhile
$session->query("BEGIN; INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 40000) i; INSERT INTO heap VALUES (1)");
$session->send('COMMIT;');
ok(TestServer::has_stopped($worker), 'the worker stands again');
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
$node->reload;
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
is(answer($session, $worker), '', 'a COMMIT whose worker is ended goes on');
is($session->query('SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM heap)'), '40001', 'all of it is there');
$session->close;
$node->stop('immediate');
$node->start;
is(rows(), '40000', 'after a crash, too');
$node->safe_psql('postgres', 'TRUNCATE t, heap');

# the worker is killed meanwhile
stop_worker('stop:parts_write');
$worker = TestServer::worker_pid($node);
($session, $pid) = begin(40000);
$session->send('COMMIT;');
ok(TestServer::has_stopped($worker), 'the worker stands');
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
$node->reload;
kill 'KILL', $worker;
$session->wait;
$session->close;
ok($node->poll_query_until('postgres', 'SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM heap) = 0'),
	'a COMMIT whose worker is killed ends with the server, and nothing of it is there');
is(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
$node->stop;
done_testing();

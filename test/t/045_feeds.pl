# Jobs that are fed by plans of PostgreSQL's: rights, row security, snapshots, interrupts and errors while rows are on their
# way, in the pool and in place, memory, and what EXPLAIN shows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('feeds', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.failpoints' => 'collector_pool', max_prepared_transactions => 2);

# gate: waits for a lock when the scan has come to a row in its middle
$node->safe_psql('postgres', q{
	CREATE TABLE o (id int PRIMARY KEY, k int, owner text);
	INSERT INTO o SELECT g, g % 1000, CASE WHEN g % 2 = 0 THEN 'reader' ELSE 'other' END FROM generate_series(1, 60000) g;
	CREATE FOREIGN TABLE m (k int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO m SELECT g, g % 7 FROM generate_series(0, 799) g;
	ANALYZE;
	CREATE ROLE reader;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO reader;
	GRANT SELECT ON m TO reader;
	CREATE FUNCTION gate(int) RETURNS bool LANGUAGE plpgsql STABLE AS $$
		BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN true; END $$;
	CREATE FUNCTION strings() RETURNS TABLE (k int, t text) LANGUAGE plpgsql STABLE ROWS 10 AS $$
		BEGIN RETURN QUERY SELECT g % 1000, repeat(g::text, 300) FROM generate_series(1, 20000) g; END $$;
});

my $sum = 'SELECT count(*), sum(o.id), sum(m.v) FROM o JOIN m USING (k)';
my $expected = '48000|1430400000|143520';
my $force = 'SET tsurugi_fdw.jobs = force; SET max_parallel_workers_per_gather = 0';

sub configure { TestServer::configure($node, @_) }

my $session = TestServer::Session->new($node);
my $holder = TestServer::Session->new($node);
$session->query($force);
$expected = $session->query("SET tsurugi_fdw.jobs = off; $sum");
$session->query($force);
is($session->query($sum), $expected, 'the answer is that of ordinary plans');

# --- EXPLAIN ---
like($session->query("EXPLAIN (COSTS OFF) $sum"), qr/^Custom Scan \(Tsurugi Job\)\n  Step 1: scan m, build\n  Step 2: feed o, probe 1 .*\n  ->  Seq Scan on o$/, 'EXPLAIN shows the child');
like($session->query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $sum"), qr/Rows: 60000 read, 48000 left.*->  Seq Scan on o \(actual rows=60000 loops=1\)/s, 'which has its own figures');
like($session->query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) $sum"), qr/"Operators": "feed o.*"Plans": \[.*"Node Type": "Seq Scan".*"Actual Rows": 60000/s, 'also in JSON');
like($session->query("RESET tsurugi_fdw.jobs; EXPLAIN (COSTS OFF) SELECT m.v, count(*), sum(o.id), max(o.owner) FROM o JOIN m USING (k) GROUP BY m.v"), qr/feed o/, 'it costs less than a plan without');
unlike($session->query("EXPLAIN (COSTS OFF) SELECT m.v FROM o JOIN m USING (k) WHERE o.id = 5"), qr/feed/, 'of many rows alone');
$session->query($force);

# --- rights ---
my $reader = TestServer::Session->new($node);
$reader->query("$force; SET ROLE reader");
is($reader->query($sum), 'ERROR 42501', 'no SELECT on the ordinary table');
$node->safe_psql('postgres', 'GRANT SELECT (id) ON o TO reader');
is($reader->query($sum), 'ERROR 42501', 'nor on one of its columns');
$node->safe_psql('postgres', 'GRANT SELECT ON o TO reader');
is($reader->query($sum), $expected, 'with it there are rows');
$reader->query("SET plan_cache_mode = force_generic_plan; PREPARE p AS $sum");
is($reader->query('EXECUTE p'), $expected, 'also of a plan that is kept');
is($reader->query('EXECUTE p'), $expected, 'and of one whose job is');
$node->safe_psql('postgres', 'REVOKE SELECT ON o FROM reader');
is($reader->query('EXECUTE p'), 'ERROR 42501', 'until the right is taken back');
$node->safe_psql('postgres', q{GRANT SELECT ON o TO reader; ALTER TABLE o ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON o USING (owner = current_user)});
is($reader->query('SELECT count(*), min(owner), max(owner) FROM o JOIN m USING (k)'), '24000|reader|reader', 'only rows that a policy lets through');
is($reader->query('EXECUTE p'), $reader->query("SET tsurugi_fdw.jobs = off; $sum"), 'also of the plan that was kept');
$node->safe_psql('postgres', 'ALTER TABLE o DISABLE ROW LEVEL SECURITY; DROP POLICY own ON o');
$reader->close;

# --- snapshots ---
my $before = $session->query("BEGIN ISOLATION LEVEL REPEATABLE READ; $sum");
$node->safe_psql('postgres', 'BEGIN; INSERT INTO o VALUES (100000, 1, NULL); UPDATE m SET v = v + 1; COMMIT');
is($session->query("$sum; COMMIT"), $before, 'a transaction sees neither table change');
isnt($session->query($sum), $before, 'the next one sees both');
$node->safe_psql('postgres', 'DELETE FROM o WHERE id = 100000; UPDATE m SET v = v - 1');
is($session->query("BEGIN; DELETE FROM o WHERE id > 30000; DELETE FROM m WHERE k > 400; SELECT count(*) = (SELECT count(*) FROM generate_series(1, 30000) g WHERE g % 1000 <= 400) FROM o JOIN m USING (k); ROLLBACK"), 't', 'and its own changes of both');

# --- interrupts, errors ---
my $gated = "$sum WHERE o.id < 30000 OR o.id > 30000 OR gate(o.id)";
my $pid = $session->query('SELECT pg_backend_pid()');

# Waits until the child does.
sub in_the_midst
{
	my ($statement) = @_;

	$holder->query('SELECT pg_advisory_lock(1)');
	$session->send($statement);
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid AND wait_event_type = 'Lock'") or die 'the child does not wait';
}

sub go_on { $holder->query('SELECT pg_advisory_unlock(1)') }

sub nothing_runs { return $node->poll_query_until('postgres', "SELECT count(*) = 0 FROM tsurugi.jobs WHERE kind = 'query'") }

for my $where ('pool', 'place')
{
	configure(scheduler => $where eq 'pool' ? 'stealing' : 'serial');
	like($session->query("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) $sum"), $where eq 'pool' ? qr/Tasks: 2/ : qr/Source: in place/, "in the $where");
	in_the_midst("$gated;");
	go_on();
	is($session->wait, $expected, "a child that has waited feeds the rest: $where");
	in_the_midst("$gated;");
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	is($session->wait, 'ERROR 57014', "a cancel: $where");
	ok(nothing_runs(), 'ends the job');
	go_on();
	is($session->query("BEGIN; INSERT INTO m VALUES (-1, 5); SAVEPOINT s; $sum WHERE 1 / (o.id - 59000) > 5"), 'ERROR 22012', "an error of the child behind many rows: $where");
	is($session->query("ROLLBACK TO s; SELECT count(*) FROM m; COMMIT; DELETE FROM m WHERE k = -1"), '801', 'a rollback to a savepoint goes on');
	ok(nothing_runs(), 'and no job is left');
	is($session->query("BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT o.id, m.v FROM o JOIN m USING (k); FETCH 3 FROM c; ROLLBACK TO s; COMMIT") =~ tr/\n//, 2, "a cursor that is left: $where");
	is($session->query('SELECT count(*) FROM (SELECT o.id, m.v FROM o JOIN m USING (k) LIMIT 10) r'), '10', "a limit: $where");
	is($session->query("SET statement_timeout = '100ms'; SELECT count(*) FROM m JOIN (SELECT 1) r ON true JOIN o ON o.k % 2 = m.v % 2 JOIN o p ON p.k % 2 = m.v % 2 WHERE o.id + p.id < 0"), 'ERROR 57014', "a timeout within a batch: $where");
	$session->query('RESET statement_timeout');
	is($session->query($sum), $expected, 'afterwards all is as before');
	ok(nothing_runs(), 'and no job is left');
}
configure(scheduler => 'stealing');
in_the_midst("$gated;");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
is($session->wait, 'ERROR 57P01', 'a session that is terminated');
ok(nothing_runs(), 'takes its job with it');
go_on();
$session->close;
$session = TestServer::Session->new($node);
$session->query($force);
$pid = $session->query('SELECT pg_backend_pid()');

# The worker process ends meanwhile, and no other one is started yet.
my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
in_the_midst("$gated;");
kill 'STOP', $postmaster;
$holder->query('SELECT pg_terminate_backend(' . TestServer::worker_pid($node) . ')');
for (1 .. 6000) { last if $holder->query('SELECT phase FROM tsurugi.scheduler') eq 'stopped'; select undef, undef, undef, 0.01 }
is($holder->query('SELECT phase FROM tsurugi.scheduler'), 'stopped', 'the workers stop while rows are fed');
go_on();
like($session->wait, qr/^(?:ERROR 57014|\Q$expected\E)$/, 'a job that has got rows of them ends with the pool, or begins anew in place');
is($session->query($sum), $expected, 'the next one runs in place');
kill 'CONT', $postmaster;
$node->poll_query_until('postgres', q{SELECT phase = 'running' FROM tsurugi.scheduler}) or die;

# --- memory, parallel children ---
my $strings = 'SELECT count(*), sum(length(x.t)), max(left(x.t, 5)) FROM (SELECT s.t, m.v FROM strings() s JOIN m USING (k) OFFSET 0) x';
my $whole = $session->query("SET tsurugi_fdw.jobs = off; $strings");
$session->query("$force; SET tsurugi_fdw.job_memory = '8MB'");
is($session->query($strings), $whole, 'more strings than the job may have: the fallback reads all');
like($session->query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $strings"), qr/Fallback: not enough memory/, 'as EXPLAIN says');
$session->query('RESET tsurugi_fdw.job_memory');
is($session->query($strings), $whole, 'with enough memory it is not needed');
$session->query('SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0');
like($session->query("EXPLAIN (COSTS OFF) $sum"), qr/Step \d: feed o.*->  Gather.*->  Parallel Seq Scan on o/s, 'a child may be parallel');
is($session->query($sum), $expected, 'and has the same rows');
is($session->query("$sum WHERE 1 / (o.id - 59000) > 5"), 'ERROR 22012', 'or an error of a worker');
is($session->query('SELECT count(*) FROM (SELECT o.id, m.v FROM o JOIN m USING (k) LIMIT 10) r'), '10', 'or not all of them are wanted');

$session->close;
$holder->close;
ok(nothing_runs(), 'no job is left');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

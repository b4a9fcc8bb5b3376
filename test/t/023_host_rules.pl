# Rules that PostgreSQL's side keeps (src/): each is kept, and is broken when it is taken out by its
# failpoint.  The others': runtime/txn/README.md.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('host_rules', 'deadlock_timeout' => "'20ms'");
my ($a, $b) = map { TestServer::Session->new($node) } 1 .. 2;

if (!TestServer::has_failpoints($node))
{
	$_->close for $a, $b;
	$node->stop;
	plan skip_all => 'built without failpoints';
}
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE keys (id int PRIMARY KEY, u int UNIQUE) SERVER tsurugi;
	CREATE FOREIGN TABLE apart (r int4range, n int, EXCLUDE USING gist (r WITH &&)) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, v int);
	CREATE FUNCTION rows_stable() RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM t';
	CREATE FUNCTION rows_safe() RETURNS bigint STABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM t); END';
});
my $pid = $a->query('SELECT pg_backend_pid()');

sub wait_for_lock
{
	$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid") or die 'nobody waits';
}

# A scenario tells what comes of it: first as it is, then without the rule.
sub rule
{
	my ($name, $failpoint, $scenario, $kept, $broken) = @_;

	for my $planted ('', $failpoint)
	{
		$_->query('DISCARD ALL') for $a, $b; # no case is the next try of the one before
		$b->query('TRUNCATE t, ordinary; INSERT INTO t VALUES (1, 0), (2, 0); INSERT INTO ordinary VALUES (1, 0), (2, 0)');
		$_->query("SET tsurugi_fdw.failpoints = '$planted'") for $a, $b;
		is($scenario->(), $planted eq '' ? $kept : $broken, $planted eq '' ? $name : "left out, it shows ($failpoint)");
		$_->query('ROLLBACK; RESET tsurugi_fdw.failpoints') for $a, $b;
	}
}

# One has done one half, the other one does both; in whatever order, only one of the two rows stays.
rule('W8: rows that EXCLUDE each other: the write comes before the look', 'skip_w8', sub {
	my $second = q{INSERT INTO apart VALUES ('[4,9)');};
	my $it_ends_or_waits = "SELECT count(*) = 1 FROM pg_stat_activity WHERE query = \$\$$second\$\$ AND (state = 'idle' OR wait_event_type = 'Lock')";

	$b->query('TRUNCATE apart');
	$a->query("SELECT set_config('tsurugi_fdw.failpoints', concat_ws(',', nullif(current_setting('tsurugi_fdw.failpoints'), ''), 'stop:exclusion_between'), false)");
	$a->send("INSERT INTO apart VALUES ('[1,5)');");
	TestServer::has_stopped($pid) or die 'nobody has stopped';
	$b->send($second);
	$node->poll_query_until('postgres', $it_ends_or_waits) or die 'nobody waits';
	kill 'CONT', $pid;
	$_->wait for $a, $b;
	return $b->query('SELECT count(*) FROM apart');
}, '1', '2');

# The transaction that has replaced a rival of a row ends while the rival is looked at, and another
# transaction replaces what it leaves.
for my $end (qw(COMMIT ROLLBACK))
{
	rule("W8: a rival is replaced twice during the look, first $end", 'skip_w8_head', sub {
		$b->query("TRUNCATE apart; INSERT INTO apart VALUES ('[1,5)', 0); BEGIN; UPDATE apart SET n = 1");
		$a->query("SELECT set_config('tsurugi_fdw.failpoints', concat_ws(',', nullif(current_setting('tsurugi_fdw.failpoints'), ''), 'stop:rival_open'), false)");
		$a->send("INSERT INTO apart VALUES ('[4,9)');");
		TestServer::has_stopped($pid) or die 'nobody has stopped';
		$b->query("$end; UPDATE apart SET n = n + 2");
		kill 'CONT', $pid;
		return $a->wait;
	}, 'ERROR 23P01', '');
}

# The row that has refused another, by a key that is no arbiter, goes; what comes in its place conflicts with an arbiter, or nothing does.
for my $case ([ 'u', '1, 1', '', '1 1' ], [ 'id', '2, 1', 'INSERT INTO keys VALUES (1, 1)', '1 2' ])
{
	my ($arbiter, $refusing, $next, $kept) = @$case;

	rule("ON CONFLICT ($arbiter): the refusal of another key has to last", 'skip_ask_again', sub {
		$b->query("TRUNCATE keys; INSERT INTO keys VALUES ($refusing)");
		$a->query("SELECT set_config('tsurugi_fdw.failpoints', concat_ws(',', nullif(current_setting('tsurugi_fdw.failpoints'), ''), 'stop:arbiter_refused'), false)");
		$a->send("INSERT INTO keys VALUES (1, 1) ON CONFLICT ($arbiter) DO UPDATE SET u = 2 RETURNING id, u;");
		TestServer::has_stopped($pid) or die 'nobody has stopped';
		$b->query("DELETE FROM keys; $next");
		kill 'CONT', $pid;
		return $a->wait =~ s/\|/ /r;
	}, $kept, 'ERROR 23505');
}

rule('M1: what PostgreSQL does not commit is not there', 'skip_m1', sub {
	$_->query('SET default_transaction_isolation = serializable; SET tsurugi_fdw.serializable_mixed = relaxed') for $a, $b;
	$a->query('BEGIN; SELECT v FROM ordinary WHERE id = 1');
	$b->query('BEGIN; SELECT v FROM ordinary WHERE id = 2; UPDATE ordinary SET v = 1 WHERE id = 1');
	$a->query('UPDATE ordinary SET v = 1 WHERE id = 2; INSERT INTO t VALUES (3, 0)');
	$b->query('COMMIT');
	my $end = $a->query('COMMIT');
	$_->query('RESET ALL') for $a, $b;
	return $end . ' ' . $b->query('SELECT count(*) FROM t');
}, 'ERROR 40001 2', 'ERROR 40001 3');

# Each reads what the other writes, one of it here and one there: no order of the two is right.
rule('M3: SERIALIZABLE that wrote both is refused', 'skip_m3', sub {
	my ($x, $y) = ('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM', 'SET v = v + 1 WHERE id =');

	$a->query("$x t WHERE id = 1; UPDATE ordinary $y 1; UPDATE t $y 2");
	$b->query("$x ordinary WHERE id = 1; UPDATE t $y 1; UPDATE ordinary $y 2");
	return join ' ', map { $_->query('COMMIT') || 'COMMIT' } $a, $b;
}, 'ERROR 0A000 ERROR 0A000', 'COMMIT COMMIT');

rule('M4: who runs with the same snapshot reads at the same time', 'skip_m4', sub {
	$b->query('SELECT pg_advisory_lock(7)');
	$a->send("SELECT (SELECT count(*) FROM t), pg_advisory_xact_lock(7), rows_stable();");
	wait_for_lock();
	$b->query('INSERT INTO t VALUES (3, 0); SELECT pg_advisory_unlock(7)');
	return $a->wait;
}, '2||2', '2||3');

rule('M4: also of a statement that reads by functions alone', 'skip_m4', sub {
	$b->query('SELECT pg_advisory_lock(7)');
	$a->send("SELECT rows_stable(), pg_advisory_xact_lock(7), rows_stable();");
	wait_for_lock();
	$b->query('INSERT INTO t VALUES (3, 0); SELECT pg_advisory_unlock(7)');
	return $a->wait;
}, '2||2', '2||3');

rule('S1: what a parallel worker has read is validated', 'skip_worker_reads', sub {
	$a->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL force_parallel_mode = on; SELECT rows_safe()');
	$b->query('INSERT INTO t VALUES (3, 0)');
	return $a->query("INSERT INTO apart VALUES ('[100,101)'); COMMIT");
}, 'ERROR 40001', '');

rule('M4: and a transaction from its first run on', 'skip_m4_first', sub {
	$a->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$b->query('INSERT INTO t VALUES (3, 0)');
	return $a->query('SELECT count(*) FROM t');
}, '2', '3');

rule('M5: a subtransaction takes its own back', 'skip_m5', sub {
	$a->query('BEGIN; UPDATE t SET v = 1 WHERE id = 1; SAVEPOINT s; UPDATE t SET v = 2; INSERT INTO t VALUES (3, 3); ROLLBACK TO s; COMMIT');
	return $b->query("SELECT string_agg(id || ' ' || v, ', ' ORDER BY id) FROM t");
}, '1 1, 2 0', '1 2, 2 2, 3 3');

rule('W5: a snapshot is extended if what was read is the same', 'validate_skip', sub {
	$a->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM t WHERE id = 1');
	$b->query('UPDATE t SET v = 1');
	return $a->query('UPDATE t SET v = v + 1 WHERE id = 2 RETURNING v');
}, 'ERROR 40001', '2');

# A third session holds the row; the others wait for it, one after the other.
my $holder = TestServer::Session->new($node);
rule('W4: a row is waited for in turn', 'skip_queue', sub {
	my ($first, $second) = map { $_->query('SELECT pg_backend_pid()') } $a, $b;

	$holder->query('BEGIN; UPDATE t SET v = 1 WHERE id = 1');
	for ([ $a, $first ], [ $b, $second ])
	{
		my ($waiter, $process) = @$_;

		$waiter->send('UPDATE t SET v = v + 1 WHERE id = 1;');
		$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $process") or die 'nobody waits';
	}
	my $waits_for = $holder->query("SELECT pg_blocking_pids($second) = ARRAY[$first]");
	$holder->query('COMMIT');
	$_->wait for $a, $b;
	return ($waits_for eq 't' ? 'for the first' : 'for the holder') . ', then ' . $b->query('SELECT v FROM t WHERE id = 1');
}, 'for the first, then 3', 'for the holder, then 3');
$holder->close;

rule('W6: a circle of waits is found', 'skip_w6', sub {
	$a->query("SET statement_timeout = '5s'; BEGIN; UPDATE t SET v = 1 WHERE id = 1");
	$b->query('BEGIN; UPDATE t SET v = 2 WHERE id = 2');
	$b->send('UPDATE t SET v = 2 WHERE id = 1;');
	my $end = $a->query('UPDATE t SET v = 1 WHERE id = 2');
	$a->query('ROLLBACK; RESET statement_timeout');
	my $other = $b->wait;
	return "$end$other" eq 'ERROR 40P01' ? 'a deadlock' : $end;
}, 'a deadlock', 'ERROR 57014');

# PostgreSQL's detector follows the wait for a LONG, too; the session that looks first gives up
$b->query("TRUNCATE t, ordinary; INSERT INTO ordinary VALUES (1, 0); SET deadlock_timeout = '100s'; BEGIN; UPDATE ordinary SET v = 1 WHERE id = 1");
$a->query('BEGIN; SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = t; INSERT INTO t VALUES (1, 1)');
$b->send('INSERT INTO t VALUES (2, 2);');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'INSERT INTO t VALUES (2, 2);' AND wait_event_type IN ('Lock', 'Extension')}) or die 'nobody waits';
is($a->query('UPDATE ordinary SET v = 1 WHERE id = 1'), 'ERROR 40P01', 'W6: a circle through a LONG and a row of an ordinary table is found');
$a->query('ROLLBACK');
$b->wait;
$b->query('ROLLBACK; RESET deadlock_timeout');

# others come to wait all the time, and all that are in the circle are LONGs
{
	my @busy = map { TestServer::Session->new($node) } 1 .. 3;

	$_->send('DO $$BEGIN FOR i IN 1 .. 1000 LOOP PERFORM pg_advisory_lock(99), pg_sleep(0.005), pg_advisory_unlock(99); END LOOP; END$$;') for @busy;
	$b->query('TRUNCATE t');
	my $long = 'BEGIN; SET LOCAL tsurugi_fdw.transaction_type = long; SELECT count(*) FROM t; SELECT pg_advisory_xact_lock';
	$a->query("$long(1)");
	$b->query("$long(2)");
	$b->send('SELECT pg_advisory_xact_lock(1);');
	$a->query("SET statement_timeout = '60s'");
	my $end = $a->query('SELECT pg_advisory_xact_lock(2)');
	$a->query('ROLLBACK; RESET statement_timeout');
	is(join(' ', sort($end, $b->wait)), ' ERROR 40P01', 'W6: a circle of LONGs alone is found, though others come to wait all the time');
	$b->query('ROLLBACK');
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'DO %'");
	$_->wait, $_->close for @busy;
}

$_->close for $a, $b;
$node->stop;
done_testing();

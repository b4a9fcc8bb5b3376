# Parallel workers that read tables in memory: their leader's snapshot stays, whatever is written and collected meanwhile;
# cancelled, terminated and killed at either end nothing is left behind; more of them than there are connections; runs that go on
# when that snapshot is not the transaction's any more; a table that several find without its storage.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Wire;
use Test::More;

my $node = TestServer::start('parallel', 'max_connections' => 6, 'superuser_reserved_connections' => 0,
	'max_worker_processes' => 12, 'max_parallel_workers' => 10, 'max_parallel_workers_per_gather' => 8);

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE other (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO t SELECT i, 1 FROM generate_series(1, 1000) i;
	INSERT INTO other VALUES (1, 0);
	CREATE TABLE big AS SELECT g FROM generate_series(1, 5000) g;
	ALTER TABLE big SET (parallel_workers = 8);
	-- stands still in a worker, between two reads, as long as somebody has a lock
	CREATE FUNCTION slow(n int) RETURNS bigint STABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
		DECLARE
			before bigint;
		BEGIN
			SELECT sum(v) INTO before FROM t;
			WHILE n = 1 AND EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 9) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
			RETURN 10000 * before + (SELECT sum(v) FROM t);
		END $$;
	-- reads, and stands still as long as somebody has a lock
	CREATE FUNCTION process() RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM count(*) FROM t;
			WHILE EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 9) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
			RETURN pg_backend_pid();
		END $$;
	CREATE FUNCTION value_of_other() RETURNS int STABLE PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT v FROM other); END';
	-- ten times what is seen, and 1 more in a worker
	CREATE FUNCTION seen() RETURNS int STABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
		BEGIN
			RETURN 10 * (SELECT v FROM t WHERE id = 1) +
				(SELECT count(leader_pid) FROM pg_stat_activity WHERE pid = pg_backend_pid());
		END $$;
	ALTER DATABASE postgres SET parallel_setup_cost = 0;
	ALTER DATABASE postgres SET parallel_tuple_cost = 0;
	ALTER DATABASE postgres SET min_parallel_table_scan_size = 0;
	ALTER DATABASE postgres SET parallel_leader_participation = off;
});

my $read = 'SELECT min(s), max(s) FROM (SELECT slow(g) AS s FROM big WHERE g <= 2 OFFSET 0) s;';
my $a = TestServer::Session->new($node);
my $b = TestServer::Session->new($node);
my $pid = $a->query('SELECT pg_backend_pid();');

# Until a worker of a's has read, and stands still; its number.
sub has_read
{
	my $asleep = "pg_stat_activity WHERE leader_pid = $pid AND wait_event = 'PgSleep'";
	my $worker = '';

	# it wakes up now and then
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if ($worker = $b->query("SELECT min(pid) FROM $asleep;")) ne '';
		select(undef, undef, undef, 0.01);
	}
	return $worker;
}

# Nobody but open sessions is known to the store, or keeps a snapshot.
sub is_tidy
{
	my ($what) = @_;

	ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM tsurugi.sessions
			WHERE pid IS NOT NULL AND pid <> pg_backend_pid() AND (oldest_snapshot IS NOT NULL
				OR pid NOT IN (SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'))}),
		"$what: nothing is left");
}

# at each level: the same before and after, beside writers and the collector
for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	$b->query('UPDATE t SET v = 1; SELECT pg_advisory_lock(9);');
	$a->query("BEGIN ISOLATION LEVEL $level; UPDATE t SET v = 2 WHERE id = 1;");
	$a->send($read);
	ok(has_read(), "$level: a worker has read");
	$b->query("UPDATE t SET v = v + 1 WHERE id > 1;") for 1 .. 20;
	$b->query('SELECT pg_advisory_unlock(9);');
	is($a->wait, '10011001|10011001', "$level: it reads the same again, and what its transaction has changed");
	$a->query('ROLLBACK;');
	is_tidy($level);
}

# interrupts
my %interrupt = (
	'the leader is cancelled' => sub { $node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"); '57014' },
	'a worker is terminated' => sub { $node->safe_psql('postgres', "SELECT pg_terminate_backend($_[0])"); '57P01' },
);
for my $what (sort keys %interrupt)
{
	$b->query('SELECT pg_advisory_lock(9);');
	$a->send($read);
	my $worker = has_read();
	my $state = $interrupt{$what}->($worker);
	is($a->wait, "ERROR $state", "$what: an error");
	is_tidy($what);
	$b->query('SELECT pg_advisory_unlock(9);');
	like($a->query($read), qr/^(\d+)\|\1$/, "$what: the next statement works");

	# the same in a transaction that goes on, and commits
	$b->query('SELECT pg_advisory_lock(9);');
	$a->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE other SET v = v + 1; SAVEPOINT s;');
	$a->send($read);
	$interrupt{$what}->(has_read());
	is($a->wait, "ERROR $state", "$what, in a savepoint: an error");
	$b->query('SELECT pg_advisory_unlock(9);');
	like($a->query('ROLLBACK TO s; ' . $read), qr/^(\d+)\|\1$/, "$what: it goes on");
	is($a->query('COMMIT; SELECT 1;'), '1', "$what: and commits");
	is_tidy($what);
}

# what was read by a worker that was terminated is validated
$b->query('SELECT pg_advisory_lock(9);');
$a->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE other SET v = v + 1; SAVEPOINT s;');
$a->send($read);
$interrupt{'a worker is terminated'}->(has_read());
is($a->wait, 'ERROR 57P01', 'a worker that has read is terminated');
$b->query('SELECT pg_advisory_unlock(9); UPDATE t SET v = v + 1 WHERE id = 500;');
is($a->query('ROLLBACK TO s; COMMIT;'), 'ERROR 40001', 'what it has read counts');

$b->query('SELECT pg_advisory_lock(9);');
$a->send($read);
has_read();
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
is($a->wait, 'ERROR 57P01', 'the leader is terminated');
is_tidy('the leader is terminated');
$b->query('SELECT pg_advisory_unlock(9);');

# more workers than connections
my @others = map { TestServer::Session->new($node) } 1 .. 4;
$_->query('SELECT count(*) FROM t;') for @others;
$others[0]->query('SELECT pg_advisory_lock(9);');
my $leader = $b->query('SELECT pg_backend_pid();');
$b->send('SELECT count(DISTINCT p) FROM (SELECT process() AS p FROM big WHERE g % 500 = 0 OFFSET 0) s;');
my %asleep;
for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
{
	my $pids = $others[1]->query("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE leader_pid = $leader AND wait_event = 'PgSleep';");
	$asleep{$_} = 1 for split ' ', $pids;
	last if keys %asleep == 8;
	select(undef, undef, undef, 0.01);
}
$others[0]->query('SELECT pg_advisory_unlock(9);');
is($b->wait, '8', 'eight workers have read');
$_->close for @others;
is_tidy('many workers');

# A portal's run goes on long after it has started, and others have committed: without workers if what they were lent is not what
# the transaction reads by any more.
my $wire = Wire->new($node);

sub go_on
{
	my ($level, $query, $meanwhile) = @_;

	$b->query('UPDATE t SET v = 1 WHERE id = 1;');
	$wire->query("BEGIN ISOLATION LEVEL $level");
	$wire->parse('', $query)->bind('kept', '', 0)->sync;
	$b->query('UPDATE t SET v = 2 WHERE id = 1; UPDATE other SET v = v + 1;');
	$wire->query($meanwhile) if $meanwhile;
	my $seen = $wire->execute('kept', 0)->sync =~ s/ SELECT 1$//r;
	$wire->query('ROLLBACK');
	return pack('H*', $seen) || $seen;
}
my $seen = 'SELECT max(seen()) FROM big';
my $short = q{SET LOCAL tsurugi_fdw.transaction_type = 'short'};
is(go_on($_, $seen), '11', "$_: a portal's run goes on, in workers, with its snapshot") for 'READ COMMITTED', 'SERIALIZABLE';
is(go_on('SERIALIZABLE', $seen, 'UPDATE other SET v = v + 1'), '20', 'the transaction has extended its snapshot');
is(go_on('READ COMMITTED', $seen, $short), '20', 'it is a SHORT one by now');
my $handle = $b->query("SELECT tsurugi.begin_transaction('t');");
is(go_on('READ COMMITTED', $seen, "SELECT tsurugi.attach_transaction('$handle')"), '10', 'it is part of a shared one by now');
$b->query("SELECT tsurugi.abort_transaction('$handle');");

# an imported snapshot that does not do for the transaction does not do for its workers
$b->query("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL tsurugi_fdw.transaction_type = 'long'; SELECT count(*) FROM t;");
my $exported = $b->query('SELECT pg_export_snapshot();');
$a = TestServer::Session->new($node);
for my $query ('SELECT count(*) FROM t;', "$seen;")
{
	$a->query("BEGIN ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION SNAPSHOT '$exported';");
	is($a->query($query), 'ERROR 0A000', "SERIALIZABLE, at the snapshot of a LONG transaction: $query");
	$a->query('ROLLBACK;');
}
$b->query('COMMIT;');
$a->close;

# a crash
$a = TestServer::Session->new($node);
$pid = $a->query('SELECT pg_backend_pid();');
$b->query('SELECT pg_advisory_lock(9);');
$a->send($read);
TestServer::crash_by($node, has_read());
$node->poll_query_until('postgres', 'SELECT true');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '1000', 'after the crash of a worker the rows are there');
like($node->safe_psql('postgres', $read), qr/^(\d+)\|\1$/, 'and are read in workers');

# processes that find together that a table of a copied database has no storage make it once
if (TestServer::has_failpoints($node))
{
	eval { $b->close };
	$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_stat_activity WHERE datname IS NOT NULL');
	$node->safe_psql('template1', 'CREATE DATABASE copied TEMPLATE postgres');
	my @both = map { TestServer::Session->new($node, 'copied') } 1 .. 2;
	my @pids = map { $_->query('SELECT pg_backend_pid();') } @both;

	for my $session (@both)
	{
		$session->query("SET tsurugi_fdw.missing_contents = empty; SET tsurugi_fdw.failpoints = 'stop:storage_add';");
		$session->send('SELECT count(*) FROM other;');
	}
	is((grep { TestServer::has_stopped($_) } @pids), 2, 'both have found it missing');
	kill 'CONT', @pids;
	is(scalar(grep { $_->wait_messages =~ /WARNING/ } @both), 1, 'one has made it');
	$_->close for @both;
}

$node->stop;
done_testing();

# Cancelled and terminated at any moment: an error, nothing lost, nothing
# leaked, the next statement works.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('interrupts', 'tsurugi_fdw.scan_pool_rows' => 1000, 'deadlock_timeout' => "'100ms'");

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE other (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t SELECT i, repeat('v', 50) FROM generate_series(1, 100000) i;
});

# A statement that sleeps in the middle of a scan by the pool.
my $slow_scan = 'SELECT count(*) FROM (SELECT v, CASE WHEN id = 5000 THEN pg_sleep(600) END FROM t OFFSET 0) s;';
my $waiting = sub {
	my ($what) = @_;

	return $node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity WHERE $what");
};

my $a = TestServer::Session->new($node);
my $b = TestServer::Session->new($node);
my $pid_a = $a->query('SELECT pg_backend_pid();');

$a->send($slow_scan);
ok($waiting->("wait_event = 'PgSleep'"), 'a scan by the pool stands still in the middle');
ok($node->poll_query_until('postgres', "SELECT count(*) > 0 FROM tsurugi.jobs WHERE kind = 'scan' AND memory > 0"), 'and is seen as a job, with its memory');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid_a)");
is($a->wait, 'ERROR 57014', 'it can be cancelled');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM tsurugi.jobs WHERE kind = 'scan'"), 'its job ends');
is($a->query('SELECT count(*) FROM t;'), '100000', 'the session goes on');

is($a->query("SET statement_timeout = '200ms'; $slow_scan"), 'ERROR 57014', 'statement_timeout ends it');
$a->query('RESET statement_timeout;');

# What a function ran when it failed ends with the transaction's failure, not with the ROLLBACK that the client sends some day.
is($a->query("BEGIN; SET LOCAL statement_timeout = '200ms'; DO \$\$ BEGIN PERFORM 1 FROM (SELECT v, CASE WHEN id = 5000 THEN pg_sleep(600) END FROM t OFFSET 0) s; END \$\$;"),
	'ERROR 57014', 'statement_timeout ends a function in the middle of a scan');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM tsurugi.jobs WHERE kind = 'scan'"), 'its job ends, though the transaction is still there');
is($a->query('ROLLBACK; SELECT count(*) FROM t;'), '100000', 'the session goes on after it');

# A client that reads only the beginning holds back no epoch.
$a->query('BEGIN; DECLARE c CURSOR FOR SELECT * FROM t;');
like($a->query('FETCH 1 FROM c;'), qr/^\d+\|v+$/, 'a cursor is open in mid-scan');
my $epoch = $node->safe_psql('postgres', 'SELECT epoch_confirmed FROM tsurugi.runtime');
ok($node->poll_query_until('postgres', "SELECT epoch_confirmed > $epoch + 3 FROM tsurugi.runtime"),
	'a client that stops reading in mid-scan does not stop the confirmed epoch');
$node->safe_psql('postgres', 'UPDATE t SET v = v || 1 WHERE id <= 1000');
is($a->query('SELECT count(*) FROM t;'), '100000', 'the open transaction goes on');
is($a->query('MOVE ALL FROM c; CLOSE c; COMMIT; SELECT 1;'), '1', 'the cursor reads to its end');

# Waiting for a row.
my $pid_b = $b->query('SELECT pg_backend_pid();');
$b->query("BEGIN; UPDATE t SET v = 'b' WHERE id = 7;");
$a->send("UPDATE t SET v = 'a' WHERE id = 7;");
ok($waiting->("wait_event_type = 'Lock' AND pid = $pid_a"), 'an update waits for a row');
is($node->safe_psql('postgres', "SELECT pg_blocking_pids($pid_a)"), "{$pid_b}", 'pg_blocking_pids names the holder');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid_a)");
is($a->wait, 'ERROR 57014', 'the wait can be cancelled');
is($a->query("SET lock_timeout = '100ms'; UPDATE t SET v = 'a' WHERE id = 7;"), 'ERROR 55P03', 'lock_timeout ends it');
$a->query('RESET lock_timeout;');
$a->send("UPDATE t SET v = 'a' WHERE id = 7;");
$waiting->("wait_event_type = 'Lock' AND pid = $pid_a");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid_a)");
is($a->wait, 'ERROR 57P01', 'and the waiter can be terminated');
$a->close;
is($b->query('COMMIT; SELECT v FROM t WHERE id = 7;'), 'b', 'the holder is not disturbed');

# The holder terminated: the waiter goes on.
$a = TestServer::Session->new($node);
$pid_a = $a->query('SELECT pg_backend_pid();');
$b->query("BEGIN; UPDATE t SET v = 'lost' WHERE id = 8; INSERT INTO t VALUES (200000, 'lost'); SAVEPOINT s; DELETE FROM t WHERE id = 9;");
$a->send("UPDATE t SET v = v || 'kept' WHERE id = 8;");
$waiting->("wait_event_type = 'Lock' AND pid = $pid_a");
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid_b)");
is($a->wait, '', 'a waiter goes on when the holder is terminated');
is($a->query('SELECT id, right(v, 5) FROM t WHERE id IN (8, 9, 200000) ORDER BY id;'), "8|1kept\n9|vvvv1", 'what the holder wrote is taken back');
$b->close;

# COPY.
$b = TestServer::Session->new($node);
$pid_b = $b->query('SELECT pg_backend_pid();');
# more than it reads at a time, so that some of it is stored
my $endless = "COPY other FROM PROGRAM 'seq 1 50000 | sed ''s/\$/\\tx/''; sleep 600'";
$b->send("$endless;");
ok($node->poll_query_until('postgres', "SELECT tuples_processed > 0 FROM pg_stat_progress_copy WHERE pid = $pid_b"), 'COPY is under way');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid_b)");
$b->wait;
$b->close;
is($node->safe_psql('postgres', 'SELECT count(*) FROM other'), '0', 'COPY terminated in the middle leaves nothing');
is(TestServer::sqlstate($node, "SET statement_timeout = '300ms'; $endless"), '57014', 'COPY can be cancelled');
is($node->safe_psql('postgres', 'SELECT count(*) FROM other'), '0', 'and leaves nothing');
$node->safe_psql('postgres', "COPY other FROM PROGRAM 'seq 1 1000 | sed ''s/\$/\\tx/'''");
is($node->safe_psql('postgres', 'SELECT count(*) FROM other'), '1000', 'the keys are free again');

# A deadlock through a foreign and an ordinary row.
$node->safe_psql('postgres', 'CREATE TABLE ordinary (id int PRIMARY KEY, v int); INSERT INTO ordinary VALUES (1, 1)');
$b = TestServer::Session->new($node);
$a->query("BEGIN; UPDATE t SET v = 'a' WHERE id = 11;");
$b->query('BEGIN; UPDATE ordinary SET v = 2 WHERE id = 1;');
$a->send('UPDATE ordinary SET v = 3 WHERE id = 1;');
$waiting->("wait_event_type = 'Lock' AND pid = $pid_a");
$b->send("UPDATE t SET v = 'b' WHERE id = 11;");
my @ends = sort ($a->wait, $b->wait);
is_deeply(\@ends, [ '', 'ERROR 40P01' ], 'a deadlock through an ordinary and a foreign row is found');
$a->query('ROLLBACK;');
$b->query('ROLLBACK;');
$a->close;
$b->close;

# CREATE INDEX CONCURRENTLY in its second wait, when its index is there and empty: it is not waited for, whatever the end.
my $indexes = sub {
	return $node->safe_psql('postgres', "SELECT entries, indisvalid FROM pg_index LEFT JOIN tsurugi.indexes ON index = 'by_v' WHERE indexrelid = 'by_v'::regclass");
};
for my $end ('cancel', 'terminate')
{
	($a, $b) = (TestServer::Session->new($node), TestServer::Session->new($node));
	$pid_b = $b->query('SELECT pg_backend_pid();');
	$a->query("BEGIN; UPDATE other SET v = 'y' WHERE id = 1;");
	$b->send('CREATE INDEX CONCURRENTLY by_v ON other (v);');
	ok($node->poll_query_until('postgres', "SELECT phase = 'waiting for writers before build' FROM pg_stat_progress_create_index"),
		"$end: CREATE INDEX CONCURRENTLY waits");
	my $c = TestServer::Session->new($node);
	$c->query("BEGIN; UPDATE other SET v = 'z' WHERE id = 2;");
	$a->query('COMMIT;');
	ok($node->poll_query_until('postgres', "SELECT phase = 'waiting for writers before validation' FROM pg_stat_progress_create_index"),
		'and a second time');
	$node->safe_psql('postgres', "SELECT pg_${end}_backend($pid_b)");
	is($b->wait, $end eq 'cancel' ? 'ERROR 57014' : 'ERROR 57P01', 'its end');
	$c->query('COMMIT;');
	is($node->safe_psql('postgres', "UPDATE other SET v = v WHERE id > 100; INSERT INTO other VALUES (2000, 'new'); SELECT count(*) FROM other"),
		'1001', 'others write');
	is($indexes->(), '|f', 'and nobody keeps anything for its index');
	$node->safe_psql('postgres', 'REINDEX INDEX by_v');
	is($indexes->(), '1001|t', 'until REINDEX makes it whole');
	$node->safe_psql('postgres', "DROP INDEX by_v; UPDATE other SET v = 'x'; DELETE FROM other WHERE id = 2000");
	$_->close for $a, $b, $c;
}

# DROP INDEX and REINDEX CONCURRENTLY in each of their waits: others work, the next statement finishes what is left.
my $bytes = sub { return $node->safe_psql('postgres', "SELECT index_bytes FROM tsurugi.tables WHERE relation = 'other'"); };
my $index_flags = sub { return $node->safe_psql('postgres', "SELECT indisvalid, indislive FROM pg_index WHERE indexrelid = 'by_v'::regclass"); };
my $before = $bytes->();
my %progress = (build => 'waiting for writers before build', drop => 'waiting for readers before dropping');
for my $case (
	[ cancel => 'DROP INDEX CONCURRENTLY by_v', 1, undef, 'f|t' ], [ terminate => 'DROP INDEX CONCURRENTLY by_v', 2, undef, 'f|f' ],
	[ terminate => 'REINDEX INDEX CONCURRENTLY by_v', 1, 'build', 't|t' ], [ cancel => 'REINDEX INDEX CONCURRENTLY by_v', 1, 'drop', 't|t' ])
{
	my ($end, $statement, $wait, $phase, $flags) = @$case;
	my $name = "$end $statement, wait $wait" . ($phase ? ", $phase" : '');
	$node->safe_psql('postgres', 'CREATE INDEX by_v ON other (v)');
	my $bytes_with = $bytes->();
	($a, $b) = (TestServer::Session->new($node), TestServer::Session->new($node));
	my $c = TestServer::Session->new($node);
	$pid_b = $b->query('SELECT pg_backend_pid();');
	$a->query($phase && $phase eq 'build' ? 'BEGIN; UPDATE other SET id = id WHERE id = 1;' : 'BEGIN; SELECT count(*) FROM other;');
	$b->send("$statement;");
	$waiting->("pid = $pid_b AND wait_event = 'virtualxid'");
	if ($wait == 2)
	{
		$c->query('BEGIN; SELECT count(*) FROM other;');
		$a->query('COMMIT;');
		ok($node->poll_query_until('postgres', "SELECT NOT indislive FROM pg_index WHERE indexrelid = 'by_v'::regclass"), "$name: a second wait");
		$waiting->("pid = $pid_b AND wait_event = 'virtualxid'");
	}
	ok($node->poll_query_until('postgres', "SELECT phase = '$progress{$phase}' FROM pg_stat_progress_create_index"), "$name: waits") if $phase;
	$node->safe_psql('postgres', "SELECT pg_${end}_backend($pid_b)");
	is($b->wait, $end eq 'cancel' ? 'ERROR 57014' : 'ERROR 57P01', "$name: its end");
	is($index_flags->(), $flags, "$name: what it leaves behind");
	is($node->safe_psql('postgres', "INSERT INTO other VALUES (3000, 'new'); SET enable_seqscan = off; SELECT id FROM other WHERE v = 'new'"),
		'3000', "$name: others work");
	$_->query('COMMIT;') for $a, $c;
	$node->safe_psql('postgres', 'REINDEX INDEX CONCURRENTLY by_v');
	is($index_flags->(), 't|t', "$name: REINDEX makes it whole");
	is($node->safe_psql('postgres', "SET enable_seqscan = off; SELECT id FROM other WHERE v = 'new'"), '3000', "$name: every row is found");
	ok($node->poll_query_until('postgres', "SELECT index_bytes < 1.5 * $bytes_with FROM tsurugi.tables WHERE relation = 'other'"),
		"$name: there is one of it");
	$node->safe_psql('postgres', "DROP INDEX by_v; DELETE FROM other WHERE id = 3000");
	$_->close for $a, $b, $c;
}
is($bytes->(), $before, 'and none in the end');

# All is given back.
$node->safe_psql('postgres', 'DROP FOREIGN TABLE t, other');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM tsurugi.jobs'), 'no job is left');
ok($node->poll_query_until('postgres', "SELECT coalesce(sum(bytes), 0) = 0 FROM tsurugi.memory_uses WHERE use IN ('chunks', 'headers', 'blobs', 'indexes', 'logs')"),
	'no memory is left in use by data');
$node->stop;
done_testing();

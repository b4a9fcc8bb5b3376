# A serializable transaction that has failed with 40001 and is tried again: the row that was changed is
# locked when it is read again, so that the second try waits for others and gets through (P1), and gives
# way where its lock would make a circle of waits (P2).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('retries', 'deadlock_timeout' => "'1s'");
my $session = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);
my $pid = $session->query('SELECT pg_backend_pid();');
my $other_pid = $other->query('SELECT pg_backend_pid();');
my $begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE;';

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE counter (id int PRIMARY KEY, name text UNIQUE, n int) SERVER tsurugi;
	CREATE FOREIGN TABLE log (id int PRIMARY KEY, n int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, n int);
	INSERT INTO ordinary VALUES (1, 0);
	INSERT INTO counter SELECT i, 'c' || i, 0 FROM generate_series(1, 9) i;
	INSERT INTO log VALUES (1, 0), (2, 0);
});
$session->query('\set VERBOSITY verbose');
$session->query("PREPARE look (int) AS SELECT n FROM counter WHERE id = \$1;");

sub waits
{
	my ($of) = @_;
	return $node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $of");
}

sub locked { return $node->safe_psql('postgres', "SELECT count FROM tsurugi.retries WHERE event LIKE 'row locked%'"); }
sub yielded { return $node->safe_psql('postgres', "SELECT count FROM tsurugi.retries WHERE event LIKE 'gave way%'"); }

# A try that fails: the row is read by this statement, and changed by another session before the write.
sub try_and_fail
{
	my ($read, $write, $change) = @_;
	$session->query("$begin $read;");
	$other->query($change // 'UPDATE counter SET n = n + 1 WHERE id = 1;');
	$session->send("$write; COMMIT;");
	my $messages = $session->wait_messages;
	$session->query('ROLLBACK;');
	return $messages;
}

sub forget { $session->query('DISCARD ALL;'); $session->query("PREPARE look (int) AS SELECT n FROM counter WHERE id = \$1;"); }

# --- the row that was changed is locked when it is read

my $hint = qr/HINT:  The transaction might succeed if retried\. The next serializable transaction of this session locks the row when it reads it\./;
my %reads = (
	'by its key' => 'SELECT n FROM counter WHERE id = 1',
	'by another key' => "SELECT n FROM counter WHERE name = 'c1'",
	'prepared' => 'EXECUTE look(1)',
	'in a range' => 'SELECT n FROM counter WHERE id < 2',
	'in a list' => 'SELECT sum(n) FROM counter WHERE id IN (1, 11)',
	'by several keys' => "SELECT n FROM counter WHERE id = 1 OR name = 'c1'",
	'in a range of another key' => "SELECT n FROM counter WHERE name >= 'c1' AND name < 'c2'",
	'in a join' => 'SELECT c.n FROM log l JOIN counter c ON c.id = l.id WHERE l.id = 1');
for my $name (sort keys %reads)
{
	my $read = $reads{$name};

	for my $how ('changed', 'held')
	{
		forget();
		like(try_and_fail($read, 'UPDATE counter SET n = n + 1 WHERE id = 1'), $hint, "$name: a try fails, and says what the next one does");
		my $before = locked();
		my $n = $node->safe_psql('postgres', 'SELECT n FROM counter WHERE id = 1');

		if ($how eq 'changed')
		{
			is($session->query("$begin $read;"), $n, "$name: the next one reads the row");
			$other->send('UPDATE counter SET n = n + 1 WHERE id = 1;');
			ok(waits($other_pid), 'and has locked it');
		}
		else
		{
			$other->query('BEGIN; UPDATE counter SET n = n + 10 WHERE id = 1;');
			$session->query("$begin SELECT n FROM log WHERE id = 2;");
			$session->send("$read;");
			ok(waits($pid), "$name: the next one waits for the row");
			$other->query('COMMIT;');
			is($session->wait, $n + 10, 'and reads it as it has become');
		}
		is($session->query('UPDATE counter SET n = n + 1 WHERE id = 1 RETURNING n;'), $n + ($how eq 'held' ? 11 : 1), 'it writes it');
		is($session->query('COMMIT;'), '', 'and gets through');
		$other->wait if $how eq 'changed';
		is(locked(), $before + 1, 'which is counted');
	}
}

# --- until it is forgotten

sub locks_it
{
	my ($finally, $read) = @_;
	$session->query("$begin " . ($read // 'SELECT n FROM counter WHERE id = 1') . ';');
	$other->query("SET lock_timeout = '1ms';");
	my $locks = $other->query('UPDATE counter SET n = n + 1 WHERE id = 1;') eq 'ERROR 55P03' ? 1 : 0;
	$other->query('RESET lock_timeout;');
	$session->query($finally);
	return $locks;
}

my $write = 'UPDATE counter SET n = n + 1 WHERE id = 1';
forget();
try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
is(locks_it('ROLLBACK;'), 1, 'a row is locked');
is(locks_it('ROLLBACK;', $_), 1, "by $_") for 'SELECT n FROM counter WHERE n >= 0', "SELECT n FROM counter WHERE ctid = '(0,1)'",
	'SELECT FROM counter c JOIN log l USING (n)', 'SELECT sum(n) FROM counter', 'SELECT max(id) FROM counter';
$session->query('SET tsurugi_fdw.jobs = force;');
like($session->query('EXPLAIN SELECT sum(n) FROM counter;'), qr/Tsurugi Job/, 'a query is a job');
is(locks_it('ROLLBACK;', $_), 1, "by the job of $_") for 'SELECT sum(n) FROM counter', 'SELECT count(*), sum(n) FROM counter WHERE id < 5';
$session->query('RESET tsurugi_fdw.jobs;');
is(locks_it("$write; COMMIT;"), 1, 'again after a ROLLBACK');
is(locks_it('COMMIT;'), 1, 'and after it was written');
is(locks_it('COMMIT;'), 0, 'not after it was only read');
try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
$session->query("$begin SELECT n FROM counter WHERE id = 1; $write; COMMIT;") for 1 .. 15;
is(locks_it("$write; COMMIT;"), 1, 'a row that nobody else wants is locked for some transactions');
is(locks_it('ROLLBACK;'), 0, 'and then no more');
try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
$session->query('DISCARD ALL;');
is(locks_it('ROLLBACK;'), 0, 'nor after DISCARD ALL');

# --- who does not lock

try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
for my $case (
	[ 'READ COMMITTED', 'BEGIN;' ],
	[ 'REPEATABLE READ', 'BEGIN ISOLATION LEVEL REPEATABLE READ;' ],
	[ 'READ ONLY', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;' ],
	[ 'DEFERRABLE', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;' ],
	[ 'SHORT', "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL tsurugi_fdw.transaction_type = 'short';" ],
	[ 'LONG', "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL tsurugi_fdw.transaction_type = 'long';" ])
{
	my ($name, $start) = @$case;
	my $before = locked();

	$session->query("$start SELECT n FROM counter WHERE id = 1; COMMIT;");
	is(locked(), $before, "$name locks nothing");
}
{
	my $before = locked();

	$session->query("$begin SELECT n FROM counter WHERE id > 1; SELECT n FROM counter WHERE id IN (2, 3); SELECT n FROM log; ROLLBACK;");
	is(locked(), $before, 'nor does a read of other keys');
	$node->safe_psql('postgres', 'CREATE ROLE reader; GRANT SELECT ON counter, log TO reader; GRANT UPDATE ON log TO reader');
	$session->query("SET ROLE reader; $begin SELECT n FROM counter WHERE id = 1; UPDATE log SET n = 1; COMMIT; RESET ROLE;");
	is(locked(), $before, 'nor a role that may not lock rows of the table');
}

# --- what does not count

forget();
like(try_and_fail('SELECT n FROM counter', 'UPDATE log SET n = 0 WHERE id = 1'), qr/HINT:  The transaction might succeed if retried\.\n/,
	'a table that was read as a whole: nothing is remembered');
$session->query("$begin SAVEPOINT a; SELECT n FROM counter WHERE id = 1;");
$other->query("$write;");
$session->query("$write;");
is($session->query('ROLLBACK TO a; SELECT n FROM log WHERE id = 1;'), 1, 'an error is caught');
$session->query('ROLLBACK;');
is(locks_it('ROLLBACK;'), 0, 'and does not count');
$session->query("$begin SELECT n FROM counter WHERE id = 1;");
$other->query("BEGIN; $write;");
$session->send("$write;");
waits($pid);
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
is($session->wait, 'ERROR 57014', 'a try is cancelled');
$session->query('ROLLBACK;');
$other->query('ROLLBACK;');
is(locks_it('ROLLBACK;'), 0, 'which does not count');

# --- savepoints give the lock back

forget();
try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
$session->query("$begin SAVEPOINT a; SELECT n FROM counter WHERE id = 1; ROLLBACK TO a;");
is($other->query("SET lock_timeout = '1s'; $write; RESET lock_timeout;"), '', 'ROLLBACK TO releases the lock');
is($session->query('UPDATE log SET n = n + 1 WHERE id = 1; COMMIT;'), 'ERROR 40001', 'what was read stays read');
$session->query('ROLLBACK;');
$session->query("$begin SAVEPOINT a; TRUNCATE counter; INSERT INTO counter SELECT i, 'c' || i, 0 FROM generate_series(1, 9) i;
	SELECT n FROM counter WHERE id = 1; ROLLBACK TO a;");
is($session->query('COMMIT;'), '', 'a row of a storage that is gone');
forget();
try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
$session->query("$begin SELECT n FROM counter WHERE id = 1; SAVEPOINT a; SELECT 1; ROLLBACK TO a; COMMIT;");
is(locks_it('ROLLBACK;'), 0, 'a lock from before the savepoint stays, and the row is forgotten as without one');

# --- a snapshot that cannot be extended: the row is read as it was, as without the lock

forget();
try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
my $n = $node->safe_psql('postgres', 'SELECT n FROM counter WHERE id = 1');
$session->query("$begin SELECT n FROM counter WHERE id = 2;");
$other->query('UPDATE counter SET n = n + 1 WHERE id IN (1, 2);');
is($session->query('SELECT n FROM counter WHERE id = 1;'), $n, 'the snapshot stays');
is($session->query('COMMIT;'), '', 'and who writes nothing gets through');

# --- a deleted row

forget();
try_and_fail('SELECT n FROM counter WHERE id = 5', 'UPDATE counter SET n = 1 WHERE id = 5', 'UPDATE counter SET n = 9 WHERE id = 5;');
$other->query('BEGIN; DELETE FROM counter WHERE id = 5;');
$session->query("$begin SELECT n FROM log WHERE id = 2;");
$session->send('SELECT n FROM counter WHERE id = 5;');
waits($pid);
$other->query('COMMIT;');
is($session->wait, '', 'a row that is deleted meanwhile is gone');
is($session->query('UPDATE log SET n = n + 1 WHERE id = 2; COMMIT;'), '', 'as it is at the commit');

# --- circles of waits

# The session locks row 1 though it writes row 2 first; the other one writes both in the same order as it.
sub circle
{
	my ($first) = @_;

	forget();
	try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
	$session->query("$begin SELECT n FROM counter WHERE id = 1;");
	$other->query('BEGIN; UPDATE counter SET n = n + 1 WHERE id = 2;');
	for my $step ($first eq 'session' ? (0, 1) : (1, 0))
	{
		my ($who, $its_pid, $statement) = @{ [ [ $session, $pid, 'UPDATE counter SET n = n + 1 WHERE id = 2;' ],
			[ $other, $other_pid, 'UPDATE counter SET n = n + 1 WHERE id = 1;' ] ]->[$step] };
		$who->send($statement);
		waits($its_pid) if $step == ($first eq 'session' ? 0 : 1);
	}
}

for my $first ('session', 'other')
{
	my $before = yielded();

	circle($first);
	like($session->wait_messages, qr/40001|could not serialize access.*A row that this transaction has read, and locked because an earlier try failed by it/s,
		"the $first waits first: the one with the early lock gives way");
	$session->query('ROLLBACK;');
	is($other->wait, '', 'the other goes on');
	is($other->query('COMMIT;'), '', 'and commits');
	is(yielded(), $before + 1, 'which is counted');
}

# a transaction that has written, or locked, does not wait for such a lock
for my $holds ('UPDATE counter SET n = n + 1 WHERE id = 2', 'SELECT FROM counter WHERE id = 2 FOR UPDATE',
	'UPDATE ordinary SET n = n + 1')
{
	forget();
	try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
	$n = $node->safe_psql('postgres', 'SELECT n FROM counter WHERE id = 1');
	$session->query("$begin $holds;");
	$other->query("BEGIN; $write;");
	is($session->query('SELECT n FROM counter WHERE id = 1;'), $n, "no wait after $holds");
	$session->query('ROLLBACK;');
	$other->query('ROLLBACK;');
}

SKIP:
{
	skip 'built without failpoints', 3 if !TestServer::has_failpoints($node);
	forget();
	$session->query("SET tsurugi_fdw.failpoints = 'skip_p1';");
	try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
	is(locks_it('ROLLBACK;'), 0, 'P1: without it a try is like the one before');
	forget();
	$session->query("SET tsurugi_fdw.failpoints = 'skip_p2';");
	$session->query("SET deadlock_timeout = '1h';");
	try_and_fail('SELECT n FROM counter WHERE id = 1', $write);
	$session->query("$begin SELECT n FROM counter WHERE id = 1;");
	$other->query('BEGIN; UPDATE counter SET n = n + 1 WHERE id = 2;');
	$session->send('UPDATE counter SET n = n + 1 WHERE id = 2;');
	waits($pid);
	is($other->query($write . ';'), 'ERROR 40P01', 'P2: without it the other one is the victim');
	$other->query('ROLLBACK;');
	is($session->wait, '', 'of a deadlock that it has no part in');
	$session->query('ROLLBACK;');
}

$_->close for $session, $other;
$node->stop;
done_testing();

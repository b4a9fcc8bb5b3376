# Transactions that only a lease owns: begun by one session, worked in by others, ended by whoever has
# the handle, by the lease, or by the end of the worker; the locks that keep their tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction;
use Wire;
use PostgreSQL::Test::Utils;
use Test::More;

my $LOADERS = 3;
my $ROWS = 300;

my $node = TestServer::start('lease', deadlock_timeout => '50ms');
my $client = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);
my @loaders = map { TestServer::Session->new($node) } 1 .. $LOADERS;
my ($a, $b) = @loaders;

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE load (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE elsewhere (id int PRIMARY KEY) SERVER tsurugi;
	CREATE TABLE ordinary (id int);
});

sub begin
{
	my ($session) = @_;

	return ($session // $client)->query(q{SELECT tsurugi.begin_transaction('load')});
}

sub count
{
	return $other->query('SELECT count(*) FROM load');
}

# Modes in which the worker holds locks on the table.
sub locks
{
	return $other->query(q{SELECT string_agg(mode, ',') FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid)
		WHERE relation = 'load'::regclass AND b.pid IS NULL});
}

# --- a load of several sessions at once: files, each session one, into one table ------------------

my $directory = PostgreSQL::Test::Utils::tempdir();
append_to_file("$directory/$_", lines_of($_, $ROWS)) for 0 .. $#loaders;
my $handle = begin();
like($handle, qr/^[0-9a-f]{32}$/, 'a handle');
attach($handle, @loaders);
$client->query('CREATE TABLE meanwhile (id int); DROP TABLE meanwhile');
$loaders[$_]->send("\\copy load FROM '$directory/$_'") for 0 .. $#loaders;
is($_->wait, '', 'each loads its file') for @loaders;
is(count(), 0, 'nobody else sees anything of it');
is($node->safe_psql('postgres', q{SELECT state, owner, pid IS NULL, role = current_user, kind, isolation, users, writes, error IS NULL,
	lease_left BETWEEN '50s' AND '60s' FROM tsurugi.shared_transactions}), "running|lease|t|t|default|read committed|0|900|t|t", 'a view shows it');
detach(@loaders);
is(locks(), 'RowExclusiveLock', 'the worker keeps the table locked');
is(by_handle($b, 'commit_transaction', $handle), '', 'one of them commits it');
is(locks(), '', 'then the table is not locked any more');
is(count(), $LOADERS * $ROWS, 'all of it is there');
is(by_handle($other, 'transaction_status', $handle), 'stored', 'it is stored');
is(by_handle($other, 'commit_transaction', $handle), 'ERROR 25P02', 'it is not committed twice');
is(by_handle($other, 'abort_transaction', $handle), '', 'nor aborted');
is(by_handle($other, 'transaction_status', $handle), 'stored', 'afterwards');
is(by_handle($other, 'dispose_transaction', $handle), '', 'it can be forgotten');
is(by_handle($other, 'transaction_status', $handle), 'ERROR 42704', 'before its time');

# the same, and one file is wrong: nothing of any
append_to_file("$directory/wrong", "5\t5\n");
$node->safe_psql('postgres', 'DELETE FROM load');
$handle = begin();
load_with_a_wrong_file($directory, $handle, $other, @loaders);
like(by_handle($other, 'transaction_error', $handle), qr/^A session that worked in it failed with 23505: duplicate key/, 'it is known why');
is(count(), 0, 'nothing of it is there');

# --- its ends ---------------------------------------------------------------------------------

$handle = begin();
attach($handle, $a);
is($a->query('INSERT INTO load VALUES (1, 1)'), '', 'one writes');
is(by_handle($other, 'abort_transaction', $handle), '', 'another aborts it');
is(by_handle($other, 'transaction_status', $handle), 'aborted', 'at once');
like(by_handle($other, 'transaction_error', $handle), qr/by its handle/, 'it is known why');
is(locks(), '', 'its table is not locked any more');
is($a->query('SELECT 1 FROM load'), 'ERROR 25P02', 'a session that is attached is told');
detach($a);

# while somebody is at work: an abort is put off, a commit is refused and becomes one
for my $end ('abort', 'commit')
{
	$handle = begin();
	attach($handle, $a);
	$a->query('BEGIN; INSERT INTO load VALUES (1, 1)');
	is(by_handle($other, 'transaction_status', $handle), 'running', 'running');
	is(by_handle($other, "${end}_transaction", $handle), $end eq 'abort' ? '' : 'ERROR 25P02', "$end beside somebody at work");
	is(by_handle($other, 'transaction_status', $handle), 'aborting', 'is put off');
	is($node->safe_psql('postgres', q{SELECT users FROM tsurugi.shared_transactions WHERE state = 'aborting'}), '1', 'for one user');
	is($a->query('INSERT INTO load VALUES (2, 1)'), '', 'who goes on');
	is($a->query('COMMIT'), 'ERROR 25P02', 'and gets to know at the end');
	is(by_handle($other, 'transaction_status', $handle), 'aborted', 'then it is aborted');
	detach($a);
	is(count(), 0, 'nothing of it is there');
}

# whoever has begun it goes: that is nothing to it
my $gone = TestServer::Session->new($node);
$handle = begin($gone);
$gone->close;
attach($handle, $a);
is($a->query('INSERT INTO load VALUES (1, 1)'), '', 'it does not need the session that has begun it');
is($a->query("SELECT tsurugi.commit_transaction('$handle')"), '', 'a session that is attached commits it');
detach($a);
is(count(), 1, 'it is there');

# who works in it goes, in the middle of a statement
$gone = TestServer::Session->new($node);
$handle = begin();
attach($handle, $gone);
my $pid = $gone->query('SELECT pg_backend_pid()');
$gone->send('INSERT INTO load SELECT 2, 1 FROM (SELECT pg_sleep(1000)) s;');
$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") or die;
$other->query("SELECT pg_terminate_backend($pid)");
$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') = 'aborted'") or die;
like(by_handle($other, 'transaction_error', $handle), qr/57P01/, 'a session that is terminated takes it along');
$gone->close;

# who commits goes while it waits for the worker to let the tables go: no place is lost with it
$gone = TestServer::Session->new($node);
$handle = begin();
my ($keeper) = $other->query(q{SELECT DISTINCT pid FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid)
	WHERE relation = 'load'::regclass AND b.pid IS NULL});
$pid = $gone->query('SELECT pg_backend_pid()');
TestServer::stop_worker($node) == $keeper or die;
$gone->send("SELECT tsurugi.commit_transaction('$handle');");
$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') = 'stored'") or die;
$other->query("SELECT pg_terminate_backend($pid, 10000)");
kill 'CONT', $keeper;
is(by_handle($other, 'dispose_transaction', $handle), '', 'the session that commits goes');
is(by_handle($other, 'transaction_status', $handle), 'ERROR 42704', 'and leaves nothing open');
$gone->close;

# a client sends rows slowly: the session is at work, and holds the lease, before anything is stored
my $slow = Wire->new($node);
$handle = begin();
$slow->query("SELECT tsurugi.attach_transaction('$handle')");
$slow->begin_copy('COPY load FROM STDIN', "3\t3\n")->send;
ok($node->poll_query_until('postgres', "SELECT users = 1 FROM tsurugi.shared_transactions WHERE state = 'running'"), 'a client that sends rows is at work');
is($slow->add('c', '')->sync, 'COPY 1', 'until it has sent them');
$slow->query("SELECT tsurugi.abort_transaction('$handle')");
$slow->{socket}->close;

# its lease
$client->query(q{SET tsurugi_fdw.transaction_lease = '4s'});
$handle = begin();
attach($handle, $a);
is($a->query('INSERT INTO load VALUES (2, 1)'), '', 'one writes');
detach($a);
$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') = 'aborted'") or die;
like(by_handle($other, 'transaction_error', $handle), qr/transaction_lease/, 'nobody did anything for its lease');
is(by_handle($other, 'commit_transaction', $handle), 'ERROR 25P02', 'nobody commits it');
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_locks WHERE relation = 'load'::regclass AND mode = 'RowExclusiveLock'})
	or die 'its table stays locked';
is(count(), 1, 'nothing of it is there');
$client->query('RESET tsurugi_fdw.transaction_lease');

# --- its tables -----------------------------------------------------------------------------------

$handle = begin();
attach($handle, $a);
$a->query('INSERT INTO load VALUES (3, 1)');
$other->query(q{SET lock_timeout = '50ms'});
is($other->query($_), 'ERROR 55P03', "kept from: $_")
	for 'TRUNCATE load', 'DROP FOREIGN TABLE load', 'CREATE INDEX ON load (v)', 'ALTER FOREIGN TABLE load ADD COLUMN w int';
$other->query('RESET lock_timeout');
is($a->query('INSERT INTO elsewhere VALUES (1)'), 'ERROR 55000', 'it writes no other tables');
detach($a);

# without the worker's lock nothing is kept from anybody
SKIP: {
	skip 'built without failpoints', 2
		if !TestServer::has_failpoints($node);
	for my $rule ('', 'skip_lease_locks')
	{
		$client->query("SET tsurugi_fdw.failpoints = '$rule'");
		$handle = begin();
		is($other->query('BEGIN; LOCK TABLE load IN SHARE MODE NOWAIT'), $rule eq '' ? 'ERROR 55P03' : '', "a stronger lock: $rule");
		$other->query('ROLLBACK');
		by_handle($other, 'abort_transaction', $handle);
	}
	$client->query('RESET tsurugi_fdw.failpoints');
}

# an index that is made while others write has what it writes
$handle = begin();
attach($handle, $a);
$a->query('INSERT INTO load VALUES (50, 5000)');
$other->send('/* concurrently */ CREATE INDEX CONCURRENTLY load_v ON load (v);');
wait_for_waiter($node, '/* concurrently */');
is(by_handle($b, 'commit_transaction', $handle), '', 'committed beside the making of an index');
is($other->wait, '', 'which waits for it');
is($other->query('SET enable_seqscan = off; SELECT id FROM load WHERE v = 5000'), '50', 'and has its row');
$other->query('RESET enable_seqscan; DELETE FROM load WHERE id = 50; DROP INDEX load_v');
detach($a);

# somebody waits for a stronger lock: whoever begins another one then is told at once
$b->query('BEGIN; INSERT INTO load VALUES (4, 1)');
$other->send('/* stronger */ ALTER FOREIGN TABLE load ADD COLUMN w int;');
wait_for_waiter($node, '/* stronger */');
$client->query('BEGIN');
$b->query('ROLLBACK');
is($other->wait, '', 'a stronger lock is got when nobody is in the way');
is($client->query(q{LOCK TABLE load IN ROW EXCLUSIVE MODE}), '', 'a lock');
$other->send('/* stronger */ ALTER FOREIGN TABLE load DROP COLUMN w;');
wait_for_waiter($node, '/* stronger */');
is(begin(), 'ERROR 55P03', 'somebody waits for a stronger one');
$client->query('ROLLBACK');
is($other->wait, '', 'and gets it');
is($node->safe_psql('postgres', q{SELECT count(*) FROM tsurugi.shared_transactions WHERE state = 'running'}), '0', 'nothing is left of that');
is(count(), 1, 'nor elsewhere');

# --- what is refused -----------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	CREATE ROLE somebody LOGIN;
	GRANT USAGE ON SCHEMA tsurugi TO somebody;
});
$handle = begin();
is(TestServer::sqlstate($node, "SET ROLE somebody; SELECT tsurugi.$_('$handle')"), '42704', "another role: $_")
	for 'commit_transaction', 'abort_transaction', 'dispose_transaction', 'renew_transaction', 'transaction_error';
is(TestServer::sqlstate($node, q{SET ROLE somebody; SELECT tsurugi.begin_transaction('load')}), '42501', 'nor may it begin one');
is($node->safe_psql('postgres', 'SET ROLE somebody; SELECT count(*) FROM tsurugi.shared_transactions'), '0', 'or see one');
is(by_handle($other, 'transaction_status', $handle), 'running', 'it runs');
$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION tsurugi.begin_transaction(text[]) TO somebody');
is(TestServer::sqlstate($node, q{SET ROLE somebody; SELECT tsurugi.begin_transaction('load')}), '42501', 'without a right to write the table');
is($client->query(q{BEGIN READ ONLY; SELECT tsurugi.begin_transaction('load')}), 'ERROR 25006', 'in a read-only transaction');
$client->query('ROLLBACK');
is($client->query(q{BEGIN; CREATE FOREIGN TABLE young (id int PRIMARY KEY) SERVER tsurugi; SELECT tsurugi.begin_transaction('young')}),
	'ERROR 0A000', 'a table that is not there for others');
$client->query('ROLLBACK');
is($client->query(q{SELECT tsurugi.begin_transaction('load [{1},{2})')}), 'ERROR 22023', 'a range');
by_handle($other, 'dispose_transaction', $handle);
is(by_handle($other, 'transaction_status', $handle), 'ERROR 42704', 'a handle that was given back while it ran');
is(locks(), '', 'and nothing of it is left');

$client->query('BEGIN');
$handle = $client->query(q{SELECT tsurugi.export_transaction('load')});
is(by_handle($other, 'commit_transaction', $handle), 'ERROR 55000', 'one that a session owns is not committed by its handle');
is(by_handle($other, 'abort_transaction', $handle), 'ERROR 55000', 'nor aborted');
is(by_handle($other, 'dispose_transaction', $handle), '', 'to dispose of it');
is($client->query('COMMIT'), '', 'is nothing to it');

# a database that one runs in
$node->safe_psql('postgres', 'CREATE DATABASE another');
$node->safe_psql('another', q{CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY) SERVER tsurugi});
my $elsewhere = TestServer::Session->new($node, 'another');
$handle = $elsewhere->query(q{SELECT tsurugi.begin_transaction('t')});
is(by_handle($other, 'commit_transaction', $handle), 'ERROR 42704', 'a handle is for its database');
is($elsewhere->query("SELECT tsurugi.attach_transaction('$handle'); INSERT INTO t VALUES (1); SELECT tsurugi.detach_transaction()"), "\nt", 'written');
$elsewhere->close;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = 'another'}) or die;
is($other->query('DROP DATABASE another'), 'ERROR 55006', 'the database is in use');
is(TestServer::sqlstate($node, "SELECT tsurugi.abort_transaction('$handle')", 'another'), '00000', 'until it ends');
is($other->query('DROP DATABASE another'), '', 'dropped');

# as many as there can be
is($client->query(q{DO $$ BEGIN FOR i IN 1 .. 65 LOOP PERFORM tsurugi.begin_transaction('load'); END LOOP; END $$}), 'ERROR 54000', 'too many');

# --- the worker stops ---------------------------------------------------------------------------------

my ($worker) = $other->query(q{SELECT DISTINCT pid FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid)
	WHERE relation = 'load'::regclass AND b.pid IS NULL});
kill 'TERM', $worker;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM tsurugi.shared_transactions WHERE state = 'running'}) or die;
is($node->safe_psql('postgres', q{SELECT DISTINCT error FROM tsurugi.shared_transactions WHERE state = 'aborted' AND error LIKE '%worker%'}),
	'The worker of tsurugi_fdw was stopped.', 'with the worker all of them end');
$node->poll_query_until('postgres', 'SELECT running FROM tsurugi.runtime') or die;
is(count(), 1, 'nothing of them is there');
is($other->query('DROP FOREIGN TABLE load'), '', 'nor is any table locked');

$_->close for $client, $other, @loaders;
$node->stop;
done_testing();

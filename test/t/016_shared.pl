# One transaction that several sessions work in: a load by several sessions that is
# there as a whole or not at all, its ends, its lease, its handle, and what is refused.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction;
use PostgreSQL::Test::Utils;
use Test::More;

my $LOADERS = 4;
my $BATCHES = 5;
my $ROWS = 200;

my $node = TestServer::start('shared', deadlock_timeout => '50ms', wal_writer_delay => '10s');
my $owner = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);
my @loaders = map { TestServer::Session->new($node) } 1 .. $LOADERS;
my ($a, $b) = @loaders;

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE load (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE elsewhere (id int PRIMARY KEY) SERVER tsurugi;
	CREATE TABLE ordinary (id int);
	CREATE FUNCTION rows() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM load';
});

sub begin
{
	$owner->query('BEGIN');
	return $owner->query(q{SELECT tsurugi.export_transaction('load')});
}

sub status
{
	my ($handle) = @_;

	return by_handle($other, 'transaction_status', $handle);
}

sub count
{
	return $other->query('SELECT rows()');
}

# --- a load, committed -----------------------------------------------------------------

my $handle = begin();
like($handle, qr/^[0-9a-f]{32}$/, 'a handle is 128 bits');
attach($handle, @loaders);
for my $batch (0 .. $BATCHES - 1)
{
	for my $i (0 .. $#loaders)
	{
		my $first = ($i * $BATCHES + $batch) * $ROWS;
		$loaders[$i]->send("INSERT INTO load SELECT g, $i FROM generate_series($first, $first + $ROWS - 1) g;");
	}
	is(count(), 0, 'nothing is seen while it is loaded');
	is($_->wait, '', 'a batch is loaded') for @loaders;
}
is($a->query('SELECT rows()'), $LOADERS * $BATCHES * $ROWS, 'a session that works in it sees what the others have done');
is($a->query('UPDATE load SET v = v + 10 WHERE v = 1'), '', 'and changes it');
is(status($handle), 'running', 'it is running');
is(count(), 0, 'nothing is seen before the commit');
is($owner->query('SELECT count(*) FROM load WHERE v = 11'), $BATCHES * $ROWS, 'its owner sees it');
is($owner->query('COMMIT'), '', 'it is committed');
is(count(), $LOADERS * $BATCHES * $ROWS, 'all of it is seen after the commit');
is(status($handle), 'stored', 'it is stored');
is($other->query("SELECT tsurugi.transaction_error('$handle') IS NULL"), 't', 'without an error');
is($a->query('SELECT rows()'), 'ERROR 25P02', 'nobody works in it any more');
detach(@loaders);
is($a->query('SELECT rows()'), $LOADERS * $BATCHES * $ROWS, 'a session that is detached works for itself');
is($a->query('SELECT tsurugi.detach_transaction()'), 'f', 'and is not detached twice');

# --- committed, but not flushed ----------------------------------------------------------

for my $case (
	[ 'by its owner', sub { $_[0]->query('COMMIT') } ],
	[ 'by its handle', sub { by_handle($_[0], 'commit_transaction', $_[1]) } ])
{
	my ($name, $commit) = @$case;
	my $by_handle = $name eq 'by its handle';
	my $ends = TestServer::Session->new($node);
	my $wal_writer = TestServer::stop_wal_writer($other);

	$ends->query('SET synchronous_commit = off');
	$ends->query('BEGIN') unless $by_handle;
	$handle = $ends->query($by_handle ? q{SELECT tsurugi.begin_transaction('elsewhere')} : q{SELECT tsurugi.export_transaction('elsewhere')});
	attach($handle, $a);
	is($a->query('INSERT INTO elsewhere SELECT count(*) FROM elsewhere'), '', "$name: a row");
	detach($a);
	is($commit->($ends, $handle), '', "$name: committed");
	is(status($handle), 'available', "$name: it is available before its record is flushed");
	is($other->query("SELECT state FROM tsurugi.shared_transactions ORDER BY id DESC LIMIT 1"), 'available', "$name: the view says the same");
	is($other->query('INSERT INTO ordinary VALUES (0)'), '', "$name: another commit flushes the log");
	is(status($handle), 'stored', "$name: now it is stored");
	kill 'CONT', $wal_writer;
	$ends->close;
}
$other->query('TRUNCATE ordinary');

# --- a load that one session dooms ----------------------------------------------------

my $before = count();

sub doomed
{
	my ($name, $fail, $why) = @_;
	my $doomed = begin();

	attach($doomed, $a, $b);
	is($a->query('INSERT INTO load SELECT g, 0 FROM generate_series(100001, 100100) g'), '', "$name: one loads");
	$fail->($doomed);
	is(status($doomed), 'aborted', "$name: it is aborted");
	like($other->query("SELECT tsurugi.transaction_error('$doomed')"), $why // qr/failed with|rolled back, or went/, "$name: why");
	is($a->query('INSERT INTO load VALUES (100200, 0)'), 'ERROR 25P02', "$name: the others are told");
	is($owner->query('COMMIT'), 'ERROR 25P02', "$name: so is the owner");
	is(count(), $before, "$name: nothing is there");
	detach($a, $b);
}

doomed('an error', sub { is($b->query('INSERT INTO load VALUES (1, 1)'), 'ERROR 23505', 'a key is there twice') });
doomed('ROLLBACK', sub { $b->query('BEGIN; INSERT INTO load VALUES (100300, 1); ROLLBACK') });
doomed('an error elsewhere', sub { is($b->query('SELECT 1 / 0'), 'ERROR 22012', 'an error') });
doomed('statement_timeout', sub {
	$b->query("SET statement_timeout = '50ms'");
	is($b->query('INSERT INTO load SELECT 100300, 1 FROM (SELECT pg_sleep(100)) s'), 'ERROR 57014', 'too slow');
	$b->query('RESET statement_timeout');
});
doomed('cancelled', sub {
	my $pid = $b->query('SELECT pg_backend_pid()');
	$b->send('INSERT INTO load SELECT 100300, 1 FROM (SELECT pg_sleep(1000)) s;');
	$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") or die;
	$other->query("SELECT pg_cancel_backend($pid)");
	is($b->wait, 'ERROR 57014', 'cancelled');
});
doomed('disconnected', sub {
	my ($doomed) = @_;
	my $gone = TestServer::Session->new($node);

	attach($doomed, $gone);
	$gone->query('INSERT INTO load VALUES (100300, 1)');
	$gone->close;
	$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$doomed') = 'aborted'") or die;
});
doomed('lease', sub {
	my ($doomed) = @_;
	$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$doomed') = 'aborted'") or die;
}, qr/transaction_lease/) if $owner->query(q{SET tsurugi_fdw.transaction_lease = '4s'}) eq '';

# who works in it holds the lease
$handle = begin();
attach($handle, $a);
is($a->query('BEGIN; INSERT INTO load VALUES (100300, 1); SELECT FROM pg_sleep(6); COMMIT'), '', 'longer than the lease');
is($other->query("SELECT tsurugi.renew_transaction('$handle')"), 't', 'it is running');
$owner->query('ROLLBACK');
is($other->query("SELECT tsurugi.renew_transaction('$handle')"), 'f', 'it is not');
detach($a);
$owner->query('RESET tsurugi_fdw.transaction_lease');

# --- the owner ends first -----------------------------------------------------------------

$handle = begin();
attach($handle, $a, $b);
$a->query('BEGIN; INSERT INTO load VALUES (100400, 1)');
is($owner->query('COMMIT'), 'ERROR 25P02', 'no commit beside somebody at work');
is(count(), $before, 'nothing is there');
is($a->query('INSERT INTO load VALUES (100401, 1)'), 'ERROR 25P02', 'a session that was at work is told');
$a->query('ROLLBACK');
detach($a, $b);
is(status($handle), 'aborted', 'it is aborted');

$handle = begin();
attach($handle, $a);
$a->query('BEGIN; INSERT INTO load VALUES (100400, 1); DECLARE c CURSOR FOR SELECT id FROM load ORDER BY id; FETCH c');
$owner->query('ROLLBACK');
is($other->query('INSERT INTO load VALUES (100400, 2)'), '', 'rows of one that is rolled back are free at once');
is($a->query('COMMIT'), 'ERROR 25P02', 'the commit of a session that was at work fails');
detach($a);
is($other->query('SELECT v FROM load WHERE id = 100400'), '2', 'and has done nothing');
$other->query('DELETE FROM load WHERE id = 100400');

# an owner that goes
my $gone = TestServer::Session->new($node);
$gone->query('BEGIN');
$handle = $gone->query(q{SELECT tsurugi.export_transaction('load')});
attach($handle, $a);
$a->query('INSERT INTO load VALUES (100500, 1)');
$gone->close;
$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') = 'aborted'") or die;
is($a->query('SELECT 1 FROM load LIMIT 1'), 'ERROR 25P02', 'an owner that goes takes it along');
detach($a);
is(count(), $before, 'nothing is there');

# --- turns, and waits -----------------------------------------------------------------------

$handle = begin();
attach($handle, $a, $b);
$a->query('BEGIN; INSERT INTO load VALUES (100600, 1)');
$b->send('/* waits */ INSERT INTO load SELECT 100601, count(*) FROM load WHERE id = 100600;');
wait_for_waiter($node, '/* waits */');
$a->query('COMMIT');
is($b->wait, '', 'one after the other');
is($b->query('SELECT v FROM load WHERE id = 100601'), '1', 'the next sees all of the one before');
$other->query(q{SET lock_timeout = '100ms'});
is($other->query('UPDATE load SET v = 3 WHERE id = 100600'), '', 'what it wrote is not there for others');
is($other->query('INSERT INTO load VALUES (100600, 3)'), 'ERROR 55P03', 'nor is its key free');
$other->query('RESET lock_timeout');
$other->send('/* key */ INSERT INTO load VALUES (100600, 3);');
wait_for_waiter($node, '/* key */');
is($owner->query('COMMIT'), '', 'its end');
is($other->wait, 'ERROR 23505', 'is waited for');
detach($a, $b);
$other->query('DELETE FROM load WHERE id > 100000');

# a deadlock that leads through the turn
$handle = begin();
attach($handle, $a, $b);
$other->query('BEGIN; UPDATE load SET v = 1 WHERE id = 1; LOCK TABLE ordinary');
$a->query('BEGIN; INSERT INTO load VALUES (100700, 1)');
$b->query('BEGIN; LOCK TABLE elsewhere IN SHARE MODE');
$b->send('/* turn */ INSERT INTO load VALUES (100701, 1);');
wait_for_waiter($node, '/* turn */');
my @ends = ($a->query('LOCK TABLE elsewhere'), $b->wait);
is(scalar(grep { $_ eq 'ERROR 40P01' } @ends), 1, 'a deadlock through the turn is found');
is($owner->query('COMMIT'), 'ERROR 25P02', 'and dooms it');
$_->query('ROLLBACK') for $a, $b, $other, $owner;
detach($a, $b);

# ordinary tables of an owner go with it, of others with theirs
$handle = begin();
attach($handle, $a);
$owner->query('INSERT INTO ordinary VALUES (1)');
$a->query('INSERT INTO load VALUES (100800, 1)');
is($owner->query('COMMIT'), '', 'both halves are committed');
is($other->query('SELECT (SELECT count(*) FROM ordinary), (SELECT count(*) FROM load WHERE id = 100800)'), '1|1', 'and seen');
detach($a);
$other->query('DELETE FROM load WHERE id > 100000');

# --- what is refused ------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	CREATE ROLE somebody LOGIN;
	GRANT EXECUTE ON FUNCTION tsurugi.attach_transaction(text) TO somebody;
	GRANT USAGE ON SCHEMA tsurugi TO somebody;
});
$handle = begin();
is(TestServer::sqlstate($node, "SET ROLE somebody; SELECT tsurugi.attach_transaction('$handle')"), '42704', 'another role');
is(TestServer::sqlstate($node, "SET ROLE somebody; SELECT tsurugi.transaction_status('$handle')"), '42704', 'is told nothing');
is(TestServer::sqlstate($node, q{SET ROLE somebody; BEGIN; SELECT tsurugi.export_transaction('load')}), '42501', 'nor may it export');
is($other->query(q{SELECT tsurugi.attach_transaction(repeat('0', 32))}), 'ERROR 42704', 'no such handle');
is($other->query(q{SELECT tsurugi.attach_transaction('0x')}), 'ERROR 22023', 'no handle');
is($other->query(q{SELECT tsurugi.export_transaction('load')}), 'ERROR 25P01', 'export without a transaction block');
is($other->query(q{SELECT tsurugi.begin_transaction()}), 'ERROR 22023', 'no tables');
is($other->query(q{BEGIN; SELECT 1 FROM load LIMIT 1; SELECT tsurugi.export_transaction('load')}), 'ERROR 25001', 'too late');
$other->query('ROLLBACK');
is($other->query(q{BEGIN; SELECT tsurugi.export_transaction('ordinary')}), 'ERROR 42809', 'an ordinary table');
$other->query('ROLLBACK');

# each of these is an error of an attached session, so each dooms it
for my $case (
	[ 'a table that is not exported', 'INSERT INTO elsewhere VALUES (1)', '55000' ],
	[ 'another level', 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT FROM load LIMIT 1', '55000' ],
	[ 'another kind', q{BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'short'; SELECT FROM load LIMIT 1}, '55000' ],
	[ 'ordinary rows', 'BEGIN; INSERT INTO load VALUES (100900, 1); INSERT INTO ordinary VALUES (2); COMMIT', '0A000' ],
	[ 'ordinary rows by COPY', "BEGIN; INSERT INTO load VALUES (100900, 1); COPY ordinary FROM PROGRAM 'echo 3'; COMMIT", '0A000' ],
	[ 'a definition', 'CREATE FOREIGN TABLE refused (id int) SERVER tsurugi', '0A000' ],
	[ 'TRUNCATE', 'TRUNCATE elsewhere', '0A000' ],
	[ 'attach twice', "SELECT tsurugi.attach_transaction('%s')", '55000' ],
	[ 'detach at work', 'BEGIN; INSERT INTO load VALUES (100900, 1); SELECT tsurugi.detach_transaction()', '25001' ])
{
	my ($name, $sql, $code) = @$case;

	$owner->query('ROLLBACK');
	$handle = begin();
	attach($handle, $a);
	is($a->query(sprintf($sql, $handle)), "ERROR $code", "refused: $name");
	$a->query('ROLLBACK');
	is(status($handle), 'aborted', 'and it is doomed');
	detach($a);
}
$owner->query('ROLLBACK');
begin();
is($owner->query('INSERT INTO load VALUES (100900, 1)'), '', 'an owner works, too');
is($owner->query('SELECT tsurugi.detach_transaction()'), 'ERROR 55000', 'but is not detached');
is($owner->query('ROLLBACK'), '', 'and rolls back');
begin();
$owner->query('INSERT INTO load VALUES (100900, 1)');
$other->query("SET deadlock_timeout = '10min'"); # what it would look after by itself
$other->send('/* sleeps */ INSERT INTO load VALUES (100900, 2); DELETE FROM load WHERE id = 100900;');
wait_for_waiter($node, '/* sleeps */');
$owner->query('ROLLBACK');
is($other->wait, '', 'its end wakes a session that waits for it');
begin();
is($owner->query('DROP FOREIGN TABLE load'), 'ERROR 0A000', 'nor changes definitions');
$owner->query('ROLLBACK');
is(count(), $before, 'nothing has changed');

$_->close for $owner, $other, @loaders;
is($node->safe_psql('postgres', 'DROP FOREIGN TABLE load; SELECT 1'), '1', 'nothing is left behind');
$node->stop;
done_testing();

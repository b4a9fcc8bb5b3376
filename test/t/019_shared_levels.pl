# Several sessions in one transaction: isolation levels (one snapshot, one read set), subtransactions of
# attached sessions, what a statement sees of the others' changes, scans by the pool, circles of waits.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction qw(wait_for_waiter by_handle);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('levels', deadlock_timeout => '50ms', wal_level => 'replica', max_wal_senders => 1);
my ($owner, $a, $b, $other) = map { TestServer::Session->new($node) } 1 .. 4;

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE u (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO t SELECT g, 0 FROM generate_series(1, 10) g;
});

# Begins one at a level, with $a and $b attached, whose transactions are of that level, too.
sub begin
{
	my ($level, $type) = @_;

	$owner->query("BEGIN ISOLATION LEVEL $level");
	$owner->query("SET LOCAL tsurugi_fdw.transaction_type = '$type'") if defined $type;
	my $handle = $owner->query(q{SELECT tsurugi.export_transaction('t', 'u')});

	for my $session ($a, $b)
	{
		$session->query("SET default_transaction_isolation = '$level'");
		by_handle($session, 'attach_transaction', $handle);
	}
	return $handle;
}

sub detach
{
	$_->query('SELECT tsurugi.detach_transaction(); RESET default_transaction_isolation') for $a, $b;
}

sub reset_rows
{
	$other->query('DELETE FROM u; DELETE FROM t WHERE id > 10; UPDATE t SET v = 0');
}

# --- one snapshot -------------------------------------------------------------------------------

for my $level ('read committed', 'repeatable read', 'serializable')
{
	my $handle = begin($level);
	my $later = $level eq 'read committed' ? 1 : 0;

	is($a->query('SELECT sum(v) FROM t'), '0', "$level: a reads");
	is($other->query('INSERT INTO t VALUES (11, 1)'), '', 'somebody commits');
	is($b->query('SELECT sum(v) FROM t'), $later, 'b reads at the same moment, but at READ COMMITTED');
	is($owner->query('SELECT sum(v) FROM t'), $later, 'so does the owner');
	is($owner->query('ROLLBACK'), '', 'and gives up');
	detach();
	reset_rows();
}

# first committer wins, for all of them
my $handle = begin('repeatable read');
is($a->query('SELECT v FROM t WHERE id = 1'), '0', 'a reads');
is($other->query('UPDATE t SET v = 1 WHERE id = 1'), '', 'somebody changes the row');
is($b->query('UPDATE t SET v = v + 1 WHERE id = 2'), '', 'b writes another');
is($b->query('UPDATE t SET v = v + 1 WHERE id = 1'), 'ERROR 40001', 'but not that one');
is($owner->query('COMMIT'), 'ERROR 25P02', 'which dooms it');
like($other->query("SELECT tsurugi.transaction_error('$handle')"), qr/failed with 40001/, 'and it is known why');
detach();
is($other->query('SELECT v FROM t WHERE id = 2'), '0', 'nothing of it is there');
reset_rows();

# --- one read set: validation over what everybody has read -----------------------------------------

for my $type (undef, 'short')
{
	my $level = defined $type ? 'read committed' : 'serializable';

	$handle = begin($level, $type);
	is($a->query('SELECT sum(v) FROM t'), '0', 'a reads');
	is($b->query('INSERT INTO u VALUES (1, 0)'), '', 'b writes what that comes to');
	is($other->query('UPDATE t SET v = 5 WHERE id = 5'), '', 'somebody changes what a has read');
	is($owner->query('COMMIT'), 'ERROR 40001', 'it is not serializable');
	like($other->query("SELECT tsurugi.transaction_error('$handle')"), qr/could not be serialized/, 'and it is known why');
	detach();
	is($other->query('SELECT count(*) FROM u'), '0', 'nothing of it is there');
	reset_rows();

	begin($level, $type);
	is($a->query('SELECT sum(v) FROM t'), '0', 'a reads');
	is($b->query('UPDATE t SET v = 1 WHERE id = 5'), '', 'b changes that');
	is($a->query('SELECT sum(v) FROM t'), '1', 'which a sees');
	is($owner->query('COMMIT'), '', 'that is no conflict');
	detach();
	reset_rows();
}

# write skew between a shared transaction and another: read by one session, written by the other
$handle = begin('serializable');
is($a->query('SELECT v FROM t WHERE id = 1'), '0', 'a reads the first');
is($other->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM t WHERE id = 2; UPDATE t SET v = 1 WHERE id = 1'), '0', 'another the second, and writes the first');
is($b->query('UPDATE t SET v = 1 WHERE id = 2'), '', 'b writes the second');
is($other->query('COMMIT'), '', 'the other commits');
is($owner->query('COMMIT'), 'ERROR 40001', 'no write skew');
detach();
reset_rows();

# the snapshot is extended by one, for all of them, as long as what they have read is still so
begin('serializable');
is($a->query('SELECT v FROM t WHERE id = 1'), '0', 'a reads');
is($other->query('UPDATE t SET v = 7 WHERE id = 2'), '', 'somebody changes another row');
is($b->query('UPDATE t SET v = v + 1 WHERE id = 2'), '', 'which b goes on with');
is($a->query('SELECT v FROM t WHERE id = 2'), '8', 'a sees that');
is($other->query('UPDATE t SET v = 7 WHERE id = 3'), '', 'and what is committed later');
is($a->query('SELECT v FROM t WHERE id = 3'), '0', 'it does not');
is($owner->query('COMMIT'), 'ERROR 40001', 'but that is what it has read now');
detach();
reset_rows();

# read by a session that has gone on
begin('serializable');
is($a->query('SELECT count(*) FROM u'), '0', 'a reads');
detach();
is($owner->query('INSERT INTO t VALUES (12, 0)'), '', 'the owner writes');
is($other->query('INSERT INTO u VALUES (9, 9)'), '', 'somebody changes what a has read');
is($owner->query('COMMIT'), 'ERROR 40001', 'which counts, although a is not there any more');
reset_rows();

# M3
begin('serializable');
$node->safe_psql('postgres', 'CREATE TABLE ordinary (id int)');
is($owner->query('INSERT INTO ordinary VALUES (1)'), '', 'an owner that writes both kinds of tables');
is($a->query('INSERT INTO u VALUES (1, 1)'), '', 'or one of them by another');
is($owner->query('COMMIT'), 'ERROR 0A000', 'is refused at SERIALIZABLE');
detach();
begin('repeatable read');
is($owner->query('INSERT INTO ordinary VALUES (1)'), '', 'both kinds');
is($a->query('INSERT INTO u VALUES (1, 1)'), '', 'by two sessions');
is($owner->query('COMMIT'), '', 'are one transaction');
detach();
is($other->query('SELECT (SELECT count(*) FROM ordinary), (SELECT count(*) FROM u)'), '1|1', 'both are there');
reset_rows();

# --- subtransactions ---------------------------------------------------------------------------------

$handle = begin('read committed');
is($b->query('UPDATE t SET v = 1 WHERE id = 1'), '', 'b writes');
is($a->query('BEGIN; UPDATE t SET v = v + 10 WHERE id = 1; SAVEPOINT s; UPDATE t SET v = v + 100 WHERE id <= 2'), '', 'a does, and in a savepoint');
is($a->query('ROLLBACK TO s; SELECT sum(v) FROM t'), '11', 'which is taken back alone');
is($a->query('SAVEPOINT r; INSERT INTO t VALUES (20, 0); RELEASE r; SAVEPOINT r; INSERT INTO t VALUES (21, 0); ROLLBACK TO r; COMMIT'), '', 'one is released, one rolled back');
is($a->query(q{DO $$ BEGIN INSERT INTO t VALUES (22, 0); INSERT INTO t VALUES (1, 0); EXCEPTION WHEN unique_violation THEN INSERT INTO t VALUES (23, 0); END $$}), '', 'an exception that is caught');
is($other->query("SELECT tsurugi.transaction_status('$handle')"), 'running', 'does not doom it');
is($b->query('SELECT string_agg(id::text, \',\' ORDER BY id) FROM t WHERE id > 10'), '20,23', 'others see what is left');
# a row that a part has let go of is free at once
$a->query('BEGIN; SAVEPOINT s; UPDATE t SET v = 1 WHERE id = 9');
$other->send('/* part */ UPDATE t SET v = 99 WHERE id = 9;');
wait_for_waiter($node, '/* part');
is($a->query('ROLLBACK TO s'), '', 'a savepoint is rolled back');
is($other->wait, '', 'a session that waited for it goes on');
is($a->query('UPDATE t SET v = v + 1 WHERE id = 9; COMMIT'), '', 'and a after that one');
is($owner->query('COMMIT'), '', 'all of it is committed');
detach();
is($other->query('SELECT id, v FROM t WHERE v > 0 OR id > 10 ORDER BY id'), "1|11\n9|100\n20|0\n23|0", 'as it was seen');
reset_rows();

# an owner that ends it beside a subtransaction
begin('serializable');
$a->query('BEGIN; SAVEPOINT s; INSERT INTO t VALUES (30, 0); SAVEPOINT r; SELECT v FROM t WHERE id = 3');
is($owner->query('ROLLBACK'), '', 'the owner rolls back');
is($a->query('SELECT v FROM t WHERE id = 4; ROLLBACK TO r; INSERT INTO t VALUES (31, 0)'), 'ERROR 25P02', 'a session in a subtransaction is told');
is($a->query('ROLLBACK TO s; RELEASE s'), '', 'takes its parts back');
is($a->query('COMMIT'), 'ERROR 25P02', 'and ends');
detach();
is($other->query('INSERT INTO t VALUES (30, 1), (31, 1)'), '', 'nothing of it is there');
reset_rows();

# --- what a statement sees -----------------------------------------------------------------------------

# neither its own rows (Halloween), nor those that others add after it has begun: they wait for their turn
begin('read committed');
is($a->query('INSERT INTO t SELECT id + 100, v + 1 FROM t'), '', 'a statement does not meet its own rows');
is($b->query('INSERT INTO t SELECT id + 1000, v + 1 FROM t'), '', 'but all of those before');
is($a->query('SELECT count(*), max(v) FROM t'), '40|2', 'as within one session');
$a->query('BEGIN; DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE id > 0; UPDATE t SET v = 5 WHERE id = 1');
is($a->query('FETCH c; COMMIT'), '40', 'a cursor sees what was there when it was opened');
is($b->query('UPDATE t SET v = v + 1 WHERE id = 1 RETURNING v'), '6', 'a row that another has written is changed');
is($a->query('DELETE FROM t WHERE id = 1'), '', 'and deleted');
is($b->query('INSERT INTO t VALUES (1, 0) ON CONFLICT DO NOTHING RETURNING v'), '0', 'and inserted');
is($a->query('INSERT INTO t VALUES (1, 3) ON CONFLICT (id) DO UPDATE SET v = t.v + excluded.v RETURNING v'), '3', 'and met');
# all of it by the pool
is($b->query('SET tsurugi_fdw.scan_pool_rows = 0; EXPLAIN (COSTS off, ANALYZE, TIMING off, SUMMARY off) SELECT v FROM t') =~ /by tasks of the pool/ ? 1 : 0, 1,
	'scans are run by the pool');
is($b->query('SELECT count(*), sum(v) FROM t'), '40|43', 'which sees the same');
is($owner->query('ROLLBACK'), '', 'given up');
$b->query('RESET tsurugi_fdw.scan_pool_rows');
detach();
is($other->query('SELECT count(*), sum(v) FROM t'), '10|0', 'nothing is there');

# --- circles of waits ---------------------------------------------------------------------------------

# of an attached session and somebody else: found by who waits for the shared one
$handle = begin('read committed');
$a->query('UPDATE t SET v = 1 WHERE id = 1');
$other->query('BEGIN; UPDATE t SET v = 2 WHERE id = 2');
$b->send('/* attached */ UPDATE t SET v = 1 WHERE id = 2;');
wait_for_waiter($node, '/* attached');
is($other->query('UPDATE t SET v = 2 WHERE id = 1'), 'ERROR 40P01', 'a deadlock');
is($other->query('ROLLBACK'), '', 'is somebody else\'s');
is($b->wait, '', 'the shared one goes on');
is($owner->query('COMMIT'), '', 'and commits');
detach();
is($other->query('SELECT id, v FROM t WHERE v > 0 ORDER BY id'), "1|1\n2|1", 'all of it');
reset_rows();

# of two shared ones
my $second = TestServer::Session->new($node);
$handle = begin('read committed');
$a->query('UPDATE t SET v = 1 WHERE id = 1');
$second->query('BEGIN');
$second->query(q{SELECT tsurugi.export_transaction('t')});
$second->query('UPDATE t SET v = 2 WHERE id = 2');
$b->send('/* attached */ UPDATE t SET v = 1 WHERE id = 2;');
wait_for_waiter($node, '/* attached');
$second->send('/* other */ UPDATE t SET v = 2 WHERE id = 1;');
my @outcomes = ($second->wait, $b->wait);
cmp_ok(scalar(grep { $_ eq 'ERROR 40P01' } @outcomes), '>=', 1, 'a deadlock of two shared ones');
$_->query('ROLLBACK') for $second, $owner;
detach();

# through locks of PostgreSQL: of who works in it, and of its owner
$node->safe_psql('postgres', 'CREATE TABLE locked (id int)');
for my $through ($b, $owner)
{
	reset_rows();
	$handle = begin('read committed');
	$a->query('UPDATE t SET v = 1 WHERE id = 1');
	$other->query('BEGIN; LOCK TABLE locked');
	$through->send('/* through */ ' . ($through == $owner ? '' : 'BEGIN; UPDATE t SET v = 1 WHERE id = 3; ') . 'LOCK TABLE locked;');
	wait_for_waiter($node, 'LOCK TABLE locked') if $through == $b;
	wait_for_waiter($node, '/* through */') if $through == $owner;
	is($other->query('UPDATE t SET v = 2 WHERE id = 1'), 'ERROR 40P01', 'a deadlock through a lock of ' . ($through == $owner ? 'the owner' : 'who works in it'));
	is($other->query('ROLLBACK'), '', 'is somebody else\'s');
	is($through->wait, '', 'the shared one goes on');
	is($b->query('COMMIT'), '', 'to its end') if $through == $b;
	is($owner->query('COMMIT'), '', 'and commits');
	detach();
}

# who waits without a circle does so in peace: for longer than two looks
$handle = begin('read committed');
$a->query('UPDATE t SET v = 1 WHERE id = 1');
my $third = TestServer::Session->new($node);
$third->query('BEGIN; LOCK TABLE locked');
$b->query('BEGIN; UPDATE t SET v = 1 WHERE id = 3');
$b->send('/* through */ LOCK TABLE locked;');
wait_for_waiter($node, '/* through */');
$other->send('/* other */ UPDATE t SET v = 2 WHERE id = 1;');
wait_for_waiter($node, '/* other */');
$third->query('SELECT FROM pg_sleep(0.3)');
is($third->query('ROLLBACK'), '', 'the session that is waited for ends');
is($b->wait, '', 'then the session that worked in the shared one goes on');
is($b->query('COMMIT'), '', 'to its end');
is($owner->query('COMMIT'), '', 'that commits');
is($other->wait, '', 'and the one that waited for it goes on');
detach();
$third->close;

# a wait without a circle ends when the lease would
$handle = begin('read committed');
$a->query('UPDATE t SET v = 1 WHERE id = 1');
is($other->query(q{SET tsurugi_fdw.transaction_lease = '300ms'; UPDATE t SET v = 2 WHERE id = 1}), 'ERROR 55P03', 'nobody waits for longer than a lease');
is($owner->query('COMMIT'), '', 'the one waited for goes on');
detach();

# --- a commit that waits for another one's outcome ----------------------------------------------------

# Begins one of a lease's, in which row 1 is read and another row is written.
sub begin_leased
{
	my ($id) = @_;
	my $handle = $a->query(q{SELECT tsurugi.begin_transaction('t')});

	by_handle($a, 'attach_transaction', $handle);
	$a->query("SELECT v FROM t WHERE id = 1; UPDATE t SET v = 9 WHERE id = $id");
	$a->query('SELECT tsurugi.detach_transaction()');
	return $handle;
}

sub backend
{
	my ($session) = @_;

	return $session->query('SELECT pg_backend_pid()');
}

reset_rows();
$_->query('SET synchronous_commit = local') for $owner, $a, $b, $other;
$a->query(q{SET default_transaction_isolation = 'serializable'});
my ($cancelled, $limited, $terminated, $waiting) = map { begin_leased($_) } 2 .. 5;
$a->query('RESET default_transaction_isolation');
$handle = begin('serializable');
is($b->query('SELECT v FROM t WHERE id = 1; UPDATE t SET v = 9 WHERE id = 6'), '0', 'one of a session, too');

# PostgreSQL's half of a mixed commit waits for a standby that is down: so long its outcome is open.
my $mixed = TestServer::Session->new($node);
my $mixed_pid = backend($mixed);
$node->safe_psql('postgres', $_) for q{ALTER SYSTEM SET synchronous_standby_names = 'none'}, 'SELECT pg_reload_conf()', 'CHECKPOINT';
is($mixed->query('BEGIN; UPDATE t SET v = 1 WHERE id = 1; INSERT INTO ordinary VALUES (1)'), '', 'another changes what all have read');
$mixed->send('COMMIT;');
ok($node->poll_query_until('postgres', "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $mixed_pid"), 'its commit takes long');

my $committer = TestServer::Session->new($node);
my $pid = backend($committer);
my $owner_pid = backend($owner);
$committer->send("/* commit */ SELECT tsurugi.commit_transaction('$cancelled');");
wait_for_waiter($node, '/* commit */');
is(by_handle($other, 'transaction_status', $cancelled), 'committing', 'a commit waits for it');
is(by_handle($other, 'abort_transaction', $cancelled), '', 'nobody else ends it');
$other->query("SELECT pg_cancel_backend($pid)");
is($committer->wait, 'ERROR 57014', 'but its session can be cancelled');
is(by_handle($other, 'transaction_status', $cancelled), 'aborted', 'then it is aborted');
$committer->query(q{SET tsurugi_fdw.transaction_lease = '300ms'});
is(by_handle($committer, 'commit_transaction', $limited), 'ERROR 55P03', 'it does not wait for longer than a lease');
is(by_handle($other, 'transaction_status', $limited), 'aborted', 'then it is aborted');
$committer->query('RESET tsurugi_fdw.transaction_lease');
$committer->send("/* terminated */ SELECT tsurugi.commit_transaction('$terminated');");
wait_for_waiter($node, '/* terminated */');
is($other->query("SELECT pg_terminate_backend($pid, 100000)"), 't', 'its session can be terminated');
is(by_handle($other, 'transaction_status', $terminated), 'aborted', 'then it is aborted');
$committer->close;
$owner->send('/* owner */ COMMIT;');
wait_for_waiter($node, '/* owner */');
$other->query("SELECT pg_cancel_backend($owner_pid)");
is($owner->wait, 'ERROR 57014', 'an owner\'s commit can be cancelled');
is(by_handle($other, 'transaction_status', $handle), 'aborted', 'then it is aborted');
$third = TestServer::Session->new($node);
$third->send("/* waiting */ SELECT tsurugi.commit_transaction('$waiting');");
wait_for_waiter($node, '/* waiting */');
$other->query("SELECT pg_cancel_backend($mixed_pid)");
is($mixed->wait, '', 'the commit that was waited for ends');
is($third->wait, 'ERROR 40001', 'and one that still waits learns the outcome');
$node->safe_psql('postgres', $_) for 'ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()', 'CHECKPOINT';
is($other->query('SELECT sum(v) FROM t'), '1', 'nothing of the others is there');
detach();
$_->query('RESET synchronous_commit') for $owner, $a, $b, $other;
$_->close for $third, $mixed;

# --- without the rules: each promise is broken ---------------------------------------------------------

SKIP: {
	skip 'built without failpoints', 10
		if !TestServer::has_failpoints($node);

	# one read set for all
	reset_rows();
	begin('serializable');
	$a->query(q{SET tsurugi_fdw.failpoints = 'skip_shared_reads'});
	is($a->query('SELECT sum(v) FROM t'), '0', 'a reads, and it is noted nowhere');
	is($b->query('INSERT INTO u VALUES (1, 0)'), '', 'b writes what that comes to');
	is($other->query('UPDATE t SET v = 5 WHERE id = 5'), '', 'somebody changes what a has read');
	is($owner->query('COMMIT'), '', 'what is not serializable is committed');
	detach();
	reset_rows();

	# ordinary tables of attached sessions
	my $before = $other->query('SELECT count(*) FROM ordinary');
	begin('read committed');
	$a->query(q{SET tsurugi_fdw.failpoints = 'skip_shared_ordinary'});
	is($a->query('BEGIN; INSERT INTO u VALUES (7, 7); INSERT INTO ordinary VALUES (7); COMMIT'), '', 'both kinds of tables by an attached session');
	is($owner->query('ROLLBACK'), '', 'and the shared one is rolled back');
	$a->query('RESET tsurugi_fdw.failpoints');
	detach();
	is($other->query('SELECT count(*) FROM u'), '0', 'one half is not there');
	is($other->query('SELECT count(*) FROM ordinary'), $before + 1, 'the other is');

	# circles
	$handle = begin('read committed');
	$a->query('UPDATE t SET v = 1 WHERE id = 1');
	$other->query(q{BEGIN; UPDATE t SET v = 2 WHERE id = 2; SET LOCAL tsurugi_fdw.failpoints = 'skip_circle'; SET LOCAL lock_timeout = '300ms'});
	$b->send('/* attached */ UPDATE t SET v = 1 WHERE id = 2;');
	wait_for_waiter($node, '/* attached');
	is($other->query('UPDATE t SET v = 2 WHERE id = 1'), 'ERROR 55P03', 'a circle of waits that nobody looks for');
	$other->query('ROLLBACK');
	is($b->wait, '', 'ends with a timeout');
	$other->query(q{BEGIN; LOCK TABLE locked; SET LOCAL tsurugi_fdw.failpoints = 'skip_circle'; SET LOCAL lock_timeout = '300ms'});
	$owner->send('/* owner */ LOCK TABLE locked;');
	wait_for_waiter($node, '/* owner */');
	is($other->query('UPDATE t SET v = 2 WHERE id = 1'), 'ERROR 55P03', 'so does one through locks of PostgreSQL');
	$other->query('ROLLBACK');
	is($owner->wait, '', 'that goes on');
	$owner->query('ROLLBACK');
	detach();
}

is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'userlock'}), '0', 'no lock is left');
$_->close for $owner, $a, $b, $other, $second;
is($node->safe_psql('postgres', 'DROP FOREIGN TABLE t, u; SELECT 1'), '1', 'nothing is left behind');
$node->stop;
done_testing();

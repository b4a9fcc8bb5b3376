# Whose the transactions of several sessions are: how many a role may have and for how long, who may
# end them without their handle, what ends them with their role, and what those who work in one can
# do to each other's rows.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction;
use Test::More;

my $node = TestServer::start('owners', 'tsurugi_fdw.leases_per_role' => 3, max_prepared_transactions => 1);
my ($app, $other, $boss) = map { TestServer::Session->new($node) } 1 .. 3;

$node->safe_psql('postgres', q{
	CREATE ROLE app; CREATE ROLE stranger; CREATE ROLE helper IN ROLE pg_signal_backend; CREATE ROLE leader IN ROLE app;
	CREATE FOREIGN TABLE load (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE audit (id int PRIMARY KEY, who text DEFAULT current_user) SERVER tsurugi;
	CREATE TABLE ordinary_audit (id int);
	GRANT USAGE ON SCHEMA tsurugi TO PUBLIC;
	GRANT INSERT, SELECT, UPDATE ON load TO app;
	GRANT INSERT, SELECT ON audit, ordinary_audit TO app;
	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA tsurugi TO app;
});
$app->query('SET ROLE app');

sub begin
{
	my ($session, $table) = @_;

	return ($session // $app)->query("SELECT tsurugi.begin_transaction('" . ($table // 'load') . "')");
}

# One column of those transactions of a role, in the order of their beginning.
sub view
{
	my ($column, $role) = @_;

	return $boss->query("SELECT string_agg($column, ',' ORDER BY id) FROM tsurugi.shared_transactions WHERE role = '$role'");
}

sub id
{
	my ($role) = @_;

	return $boss->query("SELECT max(id) FROM tsurugi.shared_transactions WHERE role = '$role'");
}

sub abort_as
{
	my ($role, $id) = @_;
	my $result = $other->query("SET ROLE $role; SELECT tsurugi.abort_transaction($id)");

	$other->query('RESET ROLE');
	return $result;
}

# What the pool's worker has locked.
sub locks
{
	return $boss->query(q{SELECT count(*) FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid) WHERE b.pid IS NULL});
}

# --- how many -------------------------------------------------------------------------------

my @handles = map { begin() } 1 .. 3;
is(begin(), 'ERROR 53400', 'a role has no more than it may');
is($app->query(q{BEGIN; SELECT tsurugi.export_transaction('load')}), 'ERROR 53400', 'those of sessions included');
$app->query('ROLLBACK');
is($app->query('SET tsurugi_fdw.leases_per_role = 4'), 'ERROR 42501', 'nor changes that');
is(view('state', 'app'), 'running,running,running', 'it has three');
by_handle($app, 'abort_transaction', $handles[1]);
is(by_handle($app, 'transaction_status', $handles[1]), 'aborted', 'one has ended');
$handles[3] = begin();
is(by_handle($app, 'transaction_status', $handles[1]), 'ERROR 42704', 'it makes room for another one');
by_handle($app, 'dispose_transaction', $handles[2]);
is($app->query(q{BEGIN; SELECT length(tsurugi.export_transaction('load')); ROLLBACK}), 32, 'those that sessions have exported') for 1 .. 4;
is(view('state', 'app'), 'running,running,aborted', 'take no more places');
is(begin($boss) =~ /^[0-9a-f]{32}$/ ? 'begun' : 'not', 'begun', 'a superuser has no such limit') for 1 .. 4;
$boss->query(q{SELECT tsurugi.abort_transaction(id) FROM tsurugi.shared_transactions WHERE state = 'running'});
is($boss->query(q{SELECT count(*) FROM tsurugi.shared_transactions WHERE state = 'running'}), 0, 'and may end all there are');

# --- how long -------------------------------------------------------------------------------

$app->query(q{SET tsurugi_fdw.transaction_lease = '61min'});
is(begin(), 'ERROR 53400', 'a lease that is too long');
is($app->query(q{BEGIN; SELECT tsurugi.export_transaction('load')}), 'ERROR 53400', 'for one of a session, too');
$app->query('ROLLBACK');
is($app->query(q{SET tsurugi_fdw.transaction_lease_max = '2h'}), 'ERROR 42501', 'no longer by itself');
$app->query('RESET ROLE');
$app->query(q{SET tsurugi_fdw.transaction_lease_max = '2h'; SET ROLE app});
like(begin(), qr/^[0-9a-f]{32}$/, 'a superuser allows it');
$app->query('RESET tsurugi_fdw.transaction_lease');

# --- who ends them ----------------------------------------------------------------------------

my $id = id('app');
is($boss->query("SELECT database = 'postgres', role, owner FROM tsurugi.shared_transactions WHERE id = $id"), 't|app|lease', 'a view has its id and role');
is($other->query(qq{SELECT mode FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid) WHERE b.pid IS NULL AND locktype = 'userlock'
	AND l.database = (SELECT oid FROM pg_database WHERE datname = 'postgres') AND classid = 0 AND objid = $id AND objsubid = 1}),
	'ExclusiveLock', 'pg_locks has it by its id');
is(abort_as('stranger', $id), 'ERROR 42501', 'another role does not end it');
is(abort_as('helper', $id), 't', 'a member of pg_signal_backend does');
is(abort_as('helper', $id), 'f', 'once');
is(abort_as('helper', 1 << 40), 'f', 'or what is not there');
begin();
is(abort_as('leader', id('app')), 't', 'a member of its role does');
begin();
is(abort_as('app', id('app')), 't', 'the role itself does');
my $superuser = $boss->query('SELECT current_user');
begin($boss);
is(abort_as('helper', id($superuser)), 'ERROR 42501', 'of a superuser');
is(abort_as('app', id($superuser)), 'ERROR 42501', 'nobody else does');
is(abort_as($superuser, id($superuser)), 't', 'but another superuser');
is($app->query(q{BEGIN; SELECT length(tsurugi.export_transaction('load'))}), 32, 'one that a session owns');
is(abort_as($superuser, id('app')), 'ERROR 55000', 'ends with its session');
$app->query('ROLLBACK');
$app->query(q{SET tsurugi_fdw.transaction_type = read_only});
my $handle = $app->query('SELECT tsurugi.begin_transaction()');
is(locks(), 1, 'one without tables is in pg_locks, too');
is($boss->query("SELECT count(*) FROM tsurugi.shared_transactions t WHERE t::text LIKE '%$handle%'"), 0, 'handles are not in the view');
is(abort_as('helper', id('app')), 't', 'it ends');
is(locks(), 0, 'and nothing is locked');
$app->query(q{RESET tsurugi_fdw.transaction_type});

# at once, under somebody who is at work in it
$handle = begin();
attach($handle, $app);
is($app->query('BEGIN; INSERT INTO load VALUES (1, 1)'), '', 'a session works in one');
is(abort_as('helper', id('app')), 't', 'that is ended');
is(locks(), 0, 'at once');
is(view('error', 'app') =~ /by its id/ ? 'told' : 'not', 'told', 'for a reason that is told');
is($app->query('INSERT INTO load VALUES (2, 1)'), 'ERROR 25P02', 'as it is to the session');
$app->query('ROLLBACK');
detach($app);

# before it has started: the session that begins it is told when it looks again
$boss->query('BEGIN; INSERT INTO load VALUES (3, 1)');
$app->query('SET tsurugi_fdw.transaction_type = long');
$app->send(q{/* start */ SELECT tsurugi.begin_transaction('load');});
wait_for_waiter($node, '/* start */');
is(abort_as('helper', id('app')), 't', 'one that waits for its start');
$boss->query('ROLLBACK');
is($app->wait, 'ERROR 25P02', 'does not start');
$app->query('RESET tsurugi_fdw.transaction_type');

# --- ends with the role -------------------------------------------------------------------------

sub make_role
{
	$boss->query(q{CREATE ROLE brief; GRANT app TO brief});
	$app->query('RESET ROLE; SET ROLE brief');
}

make_role();
begin();
$boss->query('BEGIN; DROP ROLE brief; ROLLBACK');
$boss->query('BEGIN; SAVEPOINT s; DROP ROLE brief; ROLLBACK TO s; COMMIT');
is(view('state', 'brief'), 'running', 'a role that is not dropped keeps its transactions');
is($boss->query(q{BEGIN; DROP ROLE brief; PREPARE TRANSACTION 'p'}), 'ERROR 0A000', 'their end cannot be prepared');
is($boss->query(q{BEGIN; SAVEPOINT s; DROP ROLE brief; ROLLBACK TO s; PREPARE TRANSACTION 'p'; ROLLBACK PREPARED 'p'}), '',
	'but a transaction that has not dropped it in the end can be');
is(view('state', 'brief'), 'running', 'and ends nothing');
is($boss->query('BEGIN; DROP ROLE brief'), '', 'it is dropped');
$app->send(q{/* late */ SELECT tsurugi.begin_transaction('load');});
wait_for_waiter($node, '/* late */');
is($node->safe_psql('postgres', q{SELECT state FROM tsurugi.shared_transactions WHERE role = 'brief'}), 'running', 'until that is certain');
is($boss->query('COMMIT'), '', 'committed');
is($app->wait, 'ERROR 42704', 'it has no new ones');
is($boss->query(q{SELECT DISTINCT state FROM tsurugi.shared_transactions WHERE role IS NULL}), 'aborted', 'its transactions have ended');
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid) WHERE b.pid IS NULL}) or die;
make_role();
is($boss->query(q{BEGIN; DROP ROLE brief; PREPARE TRANSACTION 'p'}), '', 'where it has none that can be prepared');
is($boss->query(q{COMMIT PREPARED 'p'}), '', 'and committed');

make_role();
$boss->query(q{CREATE FOREIGN TABLE own (id int PRIMARY KEY) SERVER tsurugi; ALTER FOREIGN TABLE own OWNER TO brief});
begin($app, 'own');
is($other->query('SET ROLE stranger; DROP OWNED BY brief'), 'ERROR 42501', 'not allowed');
is($other->query('RESET ROLE; BEGIN READ ONLY; DROP OWNED BY brief'), 'ERROR 25006', 'nor in a read-only transaction');
$other->query('ROLLBACK');
is(view('state', 'brief'), 'running', 'then it runs');
is($boss->query(q{SET lock_timeout = '30s'; DROP OWNED BY brief}), '', 'DROP OWNED does not wait for the tables of the role');
is(view('state', 'brief'), 'aborted', 'its transactions are ended before');
$app->query('RESET ROLE; SET ROLE app');

# --- what those who work in one do to others' rows ------------------------------------------------

# a session takes back its own parts alone
$app->query('BEGIN');
$handle = $app->query(q{SELECT tsurugi.export_transaction('load', 'audit')});
$other->query('SET ROLE app');
attach($handle, $other);
is($other->query('BEGIN; INSERT INTO load VALUES (10, 1); SAVEPOINT s; UPDATE load SET v = 2; INSERT INTO load VALUES (11, 1);
	ROLLBACK TO s; COMMIT'), '', 'a part is taken back');
is($app->query('INSERT INTO audit VALUES (10); INSERT INTO ordinary_audit VALUES (10); SAVEPOINT s; ROLLBACK TO s; COMMIT'), '', 'the owner commits');
is($app->query('SELECT id, v FROM load'), '10|1', 'the rest is there');
is($app->query('SELECT a.id, o.id FROM audit a, ordinary_audit o'), '10|10', 'with all that its owner has recorded');
detach($other);

# it can do no more to rows that others have written than its role may do to any
$handle = begin($app, q{load', 'audit});
attach($handle, $app, $other);
$app->query('INSERT INTO load VALUES (20, 1); INSERT INTO audit VALUES (20)');
is($other->query('DELETE FROM audit'), 'ERROR 42501', 'no right is won by taking part');
is(by_handle($app, 'commit_transaction', $handle), 'ERROR 25P02', 'a failure dooms all of it');
detach($app, $other);
is($app->query('SELECT count(*) FROM load WHERE id = 20'), 0, 'what was done and');
is($app->query('SELECT count(*) FROM audit WHERE id = 20'), 0, 'what was recorded, together');

# nor is there a record of what was not done, or the other way round, where the owner records it in
# ordinary tables
$app->query('BEGIN');
$handle = $app->query(q{SELECT tsurugi.export_transaction('load')});
attach($handle, $other);
$other->query('INSERT INTO load VALUES (30, 1)');
$app->query('INSERT INTO ordinary_audit VALUES (30)');
$other->query('BEGIN; INSERT INTO load VALUES (31, 1); ROLLBACK');
is($app->query('COMMIT'), 'ERROR 25P02', 'then the owner does not commit');
is($app->query('SELECT count(*) FROM load WHERE id >= 30'), 0, 'nothing was done');
is($app->query('SELECT count(*) FROM ordinary_audit WHERE id = 30'), 0, 'nothing is recorded');

# a session that a pool of connections gives to somebody else
$handle = begin($app);
attach($handle, $app);
is($app->query('DISCARD ALL; SET ROLE app'), '', 'everything of the session is discarded');
is($app->query('INSERT INTO load VALUES (40, 1)'), '', 'it does not work in the transaction any more');
by_handle($app, 'abort_transaction', $handle);
is($app->query('SELECT count(*) FROM load WHERE id = 40'), 1, 'which ends without that');

# a role that is not the one of the handle may not take part, even in the same session
$app->query('BEGIN');
$handle = $app->query(q{SELECT tsurugi.export_transaction('load')});
detach($other);
is($other->query("RESET ROLE; SELECT tsurugi.attach_transaction('$handle')"), 'ERROR 42704', 'a handle is of its role');
$app->query('ROLLBACK');

$_->close for $app, $other, $boss;
$node->stop;
done_testing();

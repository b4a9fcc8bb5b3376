# LONG and READ ONLY transactions that several sessions work in: a load that is one atomic LONG, its wait for its
# start and the ways out of that, its areas, and one safe snapshot for several readers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction;
use PostgreSQL::Test::Utils;
use Test::More;

my $LOADERS = 3;
my $ROWS = 300;

my $node = TestServer::start('kinds', deadlock_timeout => '50ms');
my ($client, $other) = map { TestServer::Session->new($node) } 1 .. 2;
my @loaders = map { TestServer::Session->new($node) } 1 .. $LOADERS;
my ($a, $b) = @loaders;

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE load (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE elsewhere (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE TABLE ordinary (id int);
	INSERT INTO elsewhere VALUES (1, 0);
});

# The kind of what a session begins next, with its preserve.
sub set_kind
{
	my ($session, $kind, $preserve) = @_;

	$session->query("SET tsurugi_fdw.transaction_type = '$kind'");
	$session->query("SET tsurugi_fdw.write_preserve = '" . ($preserve // '') . "'");
}

sub begin
{
	my ($tables) = @_;

	return $client->query('SELECT tsurugi.begin_transaction(' . ($tables // '') . ')');
}

sub count
{
	return $other->query('SELECT count(*) FROM load');
}

# State and kind of those that have not ended.
sub view
{
	return $node->safe_psql('postgres',
		q{SELECT state, kind FROM tsurugi.shared_transactions WHERE state NOT IN ('stored', 'aborted')});
}

sub wait_for_view
{
	my ($shown) = @_;

	$node->poll_query_until('postgres',
		q{SELECT coalesce(string_agg(state, ','), '') FROM tsurugi.shared_transactions WHERE state NOT IN ('stored', 'aborted')}, $shown)
		or die "not $shown";
}

# --- a load of several sessions at once, in one LONG ----------------------------------------------

my $directory = PostgreSQL::Test::Utils::tempdir();
append_to_file("$directory/$_", lines_of($_, $ROWS)) for 0 .. $#loaders;
append_to_file("$directory/wrong", "5\t5\n");

set_kind($client, 'long', 'load');
my $handle = begin();
like($handle, qr/^[0-9a-f]{32}$/, 'a handle, for what is preserved');
is(view(), 'running|long', 'a view shows it');
attach($handle, @loaders);
is($other->query('UPDATE elsewhere SET v = 1 WHERE id = 1'), '', 'somebody else changes a table that is not preserved');
is($other->query(q{BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'short'; INSERT INTO load VALUES (-1, 0)}), 'ERROR 40001', 'what is preserved is not changed by a SHORT');
$other->query('ROLLBACK');
$other->send('/* writes */ INSERT INTO load VALUES (-1, 0);');
wait_for_waiter($node, '/* writes */');
$loaders[$_]->send("\\copy load FROM '$directory/$_'") for 0 .. $#loaders;
is($_->wait, '', 'each loads its file') for @loaders;
is($node->safe_psql('postgres', 'SELECT count(*) FROM load'), '0', 'nobody else sees anything of it');
is($a->query('SELECT count(*) FROM load'), $LOADERS * $ROWS, 'a session that works in it sees all of it');
is($b->query('SELECT v FROM elsewhere'), '0', 'and the rest as it was at its start');
is(by_handle($a, 'commit_transaction', $handle), '', 'one of them commits it');
is($other->wait, '', 'a session that waited to write there goes on');
detach(@loaders);
is(count(), $LOADERS * $ROWS + 1, 'all of it is there');
is(by_handle($other, 'transaction_status', $handle), 'stored', 'it is stored');

# the same, and one file is wrong: nothing of any
$node->safe_psql('postgres', 'DELETE FROM load');
$handle = begin();
load_with_a_wrong_file($directory, $handle, $other, @loaders);
is(count(), 0, 'nothing of it is there');
is($other->query('INSERT INTO load VALUES (5, 5); DELETE FROM load'), '', 'nor is it preserved any more');

# --- its wait for its start --------------------------------------------------------------------------

$other->query('BEGIN; INSERT INTO load VALUES (1, 1)');
$client->send('/* starts */ SELECT tsurugi.begin_transaction();');
wait_for_waiter($node, '/* starts */');
is(view(), 'waiting|long', 'it waits for the writer there');
is($other->query('COMMIT'), '', 'who ends');
$handle = $client->wait;
attach($handle, $a);
is($a->query('SELECT count(*) FROM load'), '1', 'it starts behind that');
by_handle($other, 'abort_transaction', $handle);
detach($a);

# for another one, of several sessions as well; a higher priority does not help against who has started
$handle = begin();
set_kind($other, 'long', 'load');
$other->query('SET tsurugi_fdw.transaction_priority = 7');
$other->send('/* starts */ SELECT tsurugi.begin_transaction();');
wait_for_waiter($node, '/* starts */');
is(view(), "running|long\nwaiting|long", 'LONGs that overlap, one behind the other');
is(by_handle($a, 'commit_transaction', $handle), '', 'the first one ends');
is(by_handle($a, 'abort_transaction', $other->wait), '', 'the second one starts');
$other->query('RESET ALL');

# ways out: each of them leaves nothing behind
for my $way ('lock_timeout', 'cancelled', 'exported', 'terminated')
{
	my $session = $way eq 'terminated' ? TestServer::Session->new($node) : $client;
	my $backend = $session->query('SELECT pg_backend_pid()');

	set_kind($session, 'long', 'load');
	$other->query('BEGIN; INSERT INTO load VALUES (2, 1)');
	$session->query(q{SET lock_timeout = '200ms'}) if $way eq 'lock_timeout';
	$session->query('BEGIN') if $way eq 'exported';
	$session->send('/* starts */ SELECT tsurugi.' . ($way eq 'exported' ? 'export' : 'begin') . '_transaction();');
	wait_for_view('waiting') if $way ne 'lock_timeout';
	$other->query('SELECT pg_' . ($way eq 'terminated' ? 'terminate' : 'cancel') . "_backend($backend)") if $way ne 'lock_timeout';
	is($session->wait, $way eq 'lock_timeout' ? 'ERROR 55P03' : 'ERROR 57014', "the wait is given up: $way") if $way ne 'terminated';
	$session->query('ROLLBACK') if $way eq 'exported';
	wait_for_view('');
	is($other->query('INSERT INTO load VALUES (3, 1); ROLLBACK'), '', 'and nobody minds it');
	is($a->query('INSERT INTO load VALUES (2, 1); DELETE FROM load WHERE id = 2'), '', 'nor later');
	$way eq 'terminated' ? $session->close : $session->query('RESET lock_timeout');
}

# behind oneself
$client->query('BEGIN; INSERT INTO load VALUES (2, 1)');
is(begin(), 'ERROR 40P01', 'what the session has written itself is in its way');
$client->query('ROLLBACK');
set_kind($client, 'default');
$client->query('BEGIN; UPDATE elsewhere SET v = 2 WHERE id = 1');
$client->query(q{SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 'load'});
$other->query('BEGIN; INSERT INTO load VALUES (2, 1)');
$client->send('/* starts */ SELECT tsurugi.begin_transaction();');
wait_for_view('waiting');
my $circle = $other->query('UPDATE elsewhere SET v = 3 WHERE id = 1');
$other->query('ROLLBACK');
my $started = $client->wait;
is(scalar(grep { $_ eq 'ERROR 40P01' } $circle, $started), 1, 'a circle through the start of one is found');
$client->query('ROLLBACK');
by_handle($other, 'abort_transaction', $started) if $started =~ /^[0-9a-f]+$/;

# through a lock of PostgreSQL's
$client->query('BEGIN; LOCK TABLE ordinary');
$client->query(q{SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 'load'});
$other->query('BEGIN; INSERT INTO load VALUES (2, 1)');
$client->send('/* starts */ SELECT tsurugi.begin_transaction();');
wait_for_view('waiting');
$other->send('/* locks */ LOCK TABLE ordinary;');
is($client->wait, 'ERROR 40P01', 'so is one that leads through a lock of the session that starts it');
$client->query('ROLLBACK');
is($other->wait, '', 'who goes on');
$other->query('ROLLBACK');

# --- its areas ---------------------------------------------------------------------------------------

# two on disjoint ranges of one table, side by side
set_kind($client, 'long', 'load [{0},{1000})');
my $first = begin(q{'elsewhere'});
set_kind($client, 'long', 'load [{1000},)');
my $second = begin();
attach($first, $a);
attach($second, $b);
is($a->query('INSERT INTO load SELECT g, 1 FROM generate_series(10, 19) g'), '', 'one writes its range');
is($b->query('INSERT INTO load SELECT g, 1 FROM generate_series(1010, 1019) g'), '', 'the other writes its own');
is(by_handle($other, 'commit_transaction', $first), '', 'both') ;
is(by_handle($other, 'commit_transaction', $second), '', 'are committed');
detach($a, $b);
is(count(), 21, 'side by side');

# what it may not
for my $case (
	[ 'beyond its range', 'INSERT INTO load VALUES (2000, 1)', 'ERROR 25006' ],
	[ 'a table it has named, and not preserved', 'INSERT INTO elsewhere VALUES (2, 2)', 'ERROR 25006' ],
	[ 'another table', 'INSERT INTO third VALUES (1)', 'ERROR 55000' ],
	[ 'what it has not declared to read', 'SELECT count(*) FROM third', 'ERROR 25006' ],
	[ 'in a SHORT', q{BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'short'; SELECT 1 FROM load}, 'ERROR 55000' ],
	[ 'TRUNCATE', 'TRUNCATE third', 'ERROR 0A000' ],
	[ 'TRUNCATE of its own table', 'TRUNCATE load', 'ERROR 0A000' ])
{
	my ($name, $sql, $error) = @$case;

	$node->safe_psql('postgres', 'CREATE FOREIGN TABLE IF NOT EXISTS third (id int PRIMARY KEY) SERVER tsurugi');
	set_kind($client, 'long', 'load [{0},{1000})');
	$client->query(q{SET tsurugi_fdw.inclusive_read_areas = 'elsewhere'});
	$handle = begin(q{'elsewhere'});
	attach($handle, $a);
	is($a->query('INSERT INTO load VALUES (500, 1)'), '', 'what it has preserved is written');
	is($a->query($sql), $error, "refused: $name");
	$a->query('ROLLBACK');
	is(by_handle($other, 'transaction_status', $handle), 'aborted', 'and it is doomed');
	detach($a);
}
is($other->query(q{SET lock_timeout = '50ms'}), '', 'impatient');
$handle = begin();
is($other->query('DROP FOREIGN TABLE elsewhere'), 'ERROR 55P03', 'what it reads is kept');
is($other->query('BEGIN; LOCK TABLE load IN SHARE MODE'), 'ERROR 55P03', 'what it writes is');
is($other->query('ROLLBACK; BEGIN; LOCK TABLE elsewhere IN EXCLUSIVE MODE; ROLLBACK; RESET lock_timeout'), '', 'each as strongly as that needs');
by_handle($other, 'abort_transaction', $handle);
$client->query('RESET tsurugi_fdw.inclusive_read_areas');
set_kind($client, 'default');
$client->query('SET tsurugi_fdw.transaction_priority = 1');
is(begin(q{'load'}), 'ERROR 0A000', 'priorities are for LONGs');
$client->query('RESET tsurugi_fdw.transaction_priority');

# exported by a session; its own ordinary tables go with it, if that is allowed
for my $allowed ('strict', 'relaxed')
{
	$node->safe_psql('postgres', 'DELETE FROM load');
	set_kind($client, 'long');
	$client->query("BEGIN; SET LOCAL tsurugi_fdw.serializable_mixed = '$allowed'");
	$handle = $client->query(q{SELECT tsurugi.export_transaction('load')});
	attach($handle, $a);
	is($a->query('INSERT INTO load VALUES (1, 1)'), '', 'an attached session writes');
	is($client->query('INSERT INTO ordinary VALUES (1)'), '', 'its owner an ordinary table');
	is($client->query('COMMIT'), $allowed eq 'strict' ? 'ERROR 0A000' : '', "both at once: $allowed");
	detach($a);
	is($other->query('SELECT (SELECT count(*) FROM ordinary), (SELECT count(*) FROM load)'), $allowed eq 'strict' ? '0|0' : '1|1', 'both or none');
}

# --- one safe snapshot for several readers -----------------------------------------------------------------

set_kind($client, 'read_only');
$handle = $client->query('BEGIN READ ONLY; SELECT tsurugi.begin_transaction(); COMMIT');
is(view(), 'running|read_only', 'it needs no tables');
attach($handle, $a, $b);
is($a->query('SELECT count(*), max(v) FROM load'), '1|1', 'one reads');
is($other->query('INSERT INTO load VALUES (2, 2); UPDATE elsewhere SET v = v + 1'), '', 'somebody else writes');
is($b->query('SELECT count(*), max(v) FROM load'), '1|1', 'another reads the same');
is($other->query('SELECT count(*), max(v) FROM load'), '2|2', 'which is not as it is now');
is($a->query('INSERT INTO load VALUES (3, 3)'), 'ERROR 25006', 'nobody writes in it');
detach($a, $b);
is($other->query("SELECT tsurugi.transaction_status('$handle')"), 'aborted', 'that is an error as any');
for my $sql ('SELECT 1 FROM load FOR UPDATE', 'BEGIN; SELECT 1 FROM load; INSERT INTO ordinary VALUES (3); COMMIT')
{
	$handle = begin();
	attach($handle, $a);
	is($a->query($sql), 'ERROR 25006', "nor: $sql");
	$a->query('ROLLBACK');
	detach($a);
}
$handle = begin(q{'load'});
attach($handle, $a, $b);
$other->query(q{SET lock_timeout = '50ms'});
is($other->query('TRUNCATE load'), 'ERROR 55P03', 'a table that is named is kept');
$other->query('RESET lock_timeout');
is($a->query('SELECT count(*) FROM load'), '2', 'as it is');
is(by_handle($b, 'commit_transaction', $handle), '', 'it ends');
detach($a, $b);

# a fresh snapshot waits for the LONG in its way
set_kind($other, 'long', 'load');
$other->query('BEGIN; INSERT INTO load VALUES (4, 4)');
$a->query('UPDATE elsewhere SET v = v + 1'); # within it
$client->query('BEGIN READ ONLY DEFERRABLE');
$client->send('/* starts */ SELECT tsurugi.begin_transaction();');
wait_for_waiter($node, '/* starts */');
is(view(), 'waiting|read_only', 'DEFERRABLE waits for a LONG');
is($other->query('COMMIT'), '', 'that commits');
$handle = $client->wait;
attach($handle, $a);
is($a->query('SELECT count(*) FROM load'), '3', 'and is seen');
is(by_handle($other, 'commit_transaction', $handle), '', 'it ends');
detach($a);
$client->query('COMMIT');

# --- the worker stops while one waits for its start ---------------------------------------------------------

set_kind($client, 'long', 'load');
$other->query(q{RESET ALL; BEGIN; INSERT INTO load VALUES (5, 5)});
$client->send('/* starts */ SELECT tsurugi.begin_transaction();');
wait_for_view('waiting');
my ($worker) = $other->query(q{SELECT DISTINCT pid FROM pg_locks l LEFT JOIN pg_stat_activity b USING (pid)
	WHERE relation = 'load'::regclass AND b.pid IS NULL});
kill 'TERM', $worker;
is($client->wait, 'ERROR 57P03', 'who waits is told');
is($other->query('COMMIT'), '', 'who was waited for is not concerned');
$node->poll_query_until('postgres', 'SELECT running FROM tsurugi.runtime') or die;
is(view(), '', 'nothing is left');

$_->close for $client, $other, @loaders;
is($node->safe_psql('postgres', 'DROP FOREIGN TABLE load, elsewhere, third; SELECT 1'), '1', 'nothing is left behind');
$node->stop;
done_testing();

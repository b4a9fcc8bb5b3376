# PREPARE TRANSACTION with unlogged tables in memory: who sees and waits for what until COMMIT or
# ROLLBACK PREPARED, by which session ever; constraints; what SERIALIZABLE holds; what is refused; what
# is left after a session has ended between PostgreSQL's part and ours, or that part came without the statement, and after a
# start.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('prepared', 'max_prepared_transactions' => 3);
my $a = TestServer::Session->new($node);
my $b = TestServer::Session->new($node);
my $b_pid = $b->query('SELECT pg_backend_pid();');
my $rows = 'SELECT string_agg(id || \':\' || v, \' \' ORDER BY id) FROM inmemory;';
my $heap = 'SELECT string_agg(v::text, \' \' ORDER BY v) FROM ordinary;';

$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE inmemory (id int PRIMARY KEY, v int, UNIQUE (v)) USING tsurugi;
	CREATE TABLE ordinary (v int);
	INSERT INTO inmemory VALUES (1, 10), (2, 20), (4, 40);
});

sub is_rows
{
	my ($expected, $name) = @_;

	return is($a->query($rows), $expected, $name);
}

sub b_waits
{
	return $node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Lock' AND 0 = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity WHERE pid = $b_pid");
}

# Changes of each kind, and those of a savepoint that is rolled back.
my $changes = q{INSERT INTO inmemory VALUES (3, 30); UPDATE inmemory SET v = 11 WHERE id = 1;
	DELETE FROM inmemory WHERE id = 2; SAVEPOINT s; UPDATE inmemory SET v = 41 WHERE id = 4; ROLLBACK TO s;
	SAVEPOINT t; UPDATE inmemory SET v = 12 WHERE id = 1; RELEASE t;};

# --- both ends -------------------------------------------------------------------------------

$a->query("BEGIN; $changes INSERT INTO ordinary VALUES (1); PREPARE TRANSACTION 'p';");
is_rows('1:10 2:20 4:40', 'nobody sees what is prepared, nor the session that has prepared it');
is($a->query('SELECT count(*) FROM pg_prepared_xacts;'), 1, 'pg_prepared_xacts shows it');
is($a->query('UPDATE inmemory SET v = 42 WHERE id = 4; SELECT v FROM inmemory WHERE id = 4;'), 42,
	'what a savepoint has taken back is free');
$b->send('UPDATE inmemory SET v = v + 100 WHERE id = 1; ' . $rows);
ok(b_waits(), 'a writer waits for the prepared transaction');
$a->query("COMMIT PREPARED 'p';");
is($b->wait, '1:112 3:30 4:42', 'and goes on with what it has committed');
is_rows('1:112 3:30 4:42', 'which is there');
is($a->query($heap), 1, 'in both kinds of tables');

$a->query("BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE inmemory SET v = 13 WHERE id = 1;
	INSERT INTO inmemory VALUES (5, 50); INSERT INTO ordinary VALUES (2); PREPARE TRANSACTION 'q';");
$b->send('INSERT INTO inmemory VALUES (5, 51); ' . $rows);
ok(b_waits(), 'an insertion waits for a prepared one of its key');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'q'");
is($b->wait, '1:112 3:30 4:42 5:51', 'and is done after ROLLBACK PREPARED, by another session');
is($a->query($heap), 1, 'in both kinds of tables');

# --- locks ------------------------------------------------------------------------------------

$a->query("BEGIN; SELECT FROM inmemory WHERE id = 1 FOR SHARE; PREPARE TRANSACTION 'l';");
is($b->query('SELECT id FROM inmemory WHERE id = 1 FOR KEY SHARE;'), 1, 'a row lock that passes');
is($b->query('SELECT id FROM inmemory WHERE id = 1 FOR UPDATE NOWAIT;'), 'ERROR 55P03', 'NOWAIT');
is($b->query('SELECT count(*) FROM (SELECT FROM inmemory WHERE id = 1 FOR UPDATE SKIP LOCKED) r;'), 0, 'SKIP LOCKED');
is($b->query("SET lock_timeout = '10ms'; DELETE FROM inmemory WHERE id = 1;"), 'ERROR 55P03', 'lock_timeout');
$b->query("SET lock_timeout = 0;");
$b->send('DELETE FROM inmemory WHERE id = 1; ' . $rows);
ok(b_waits(), 'a DELETE waits for the lock');
$a->query("COMMIT PREPARED 'l';");
is($b->wait, '3:30 4:42 5:51', 'until it is released');

# --- constraints -------------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	CREATE UNLOGGED TABLE parent (id int PRIMARY KEY) USING tsurugi;
	CREATE UNLOGGED TABLE child (id int PRIMARY KEY, parent int REFERENCES parent,
		later int REFERENCES parent DEFERRABLE INITIALLY DEFERRED) USING tsurugi;
	INSERT INTO parent VALUES (1), (2);
});
my $children = 'SELECT count(*) FROM child;';

$a->query("BEGIN; INSERT INTO child VALUES (1, 1, NULL); PREPARE TRANSACTION 'f';");
$b->send('DELETE FROM parent WHERE id = 1;');
ok(b_waits(), 'a referenced row is locked by what is prepared');
$a->query("COMMIT PREPARED 'f';");
is($b->wait, 'ERROR 23503', 'and cannot be deleted once that is committed');
$a->query("BEGIN; INSERT INTO child VALUES (2, 2, NULL); PREPARE TRANSACTION 'f';");
$b->send('DELETE FROM parent WHERE id = 2; SELECT count(*) FROM parent;');
ok(b_waits(), 'another one');
$a->query("ROLLBACK PREPARED 'f';");
is($b->wait, 1, 'is deleted after ROLLBACK PREPARED');
is($a->query("BEGIN; INSERT INTO child VALUES (3, NULL, 9); PREPARE TRANSACTION 'f';"), 'ERROR 23503',
	'a deferred check fails at PREPARE TRANSACTION');
is($a->query('SELECT count(*) FROM pg_prepared_xacts;'), 0, 'nothing is prepared');
is($a->query($children), 1, 'and the transaction is rolled back');
is($a->query("BEGIN; INSERT INTO child VALUES (3, NULL, 9); INSERT INTO parent VALUES (9);
	PREPARE TRANSACTION 'f'; COMMIT PREPARED 'f'; $children"), 2, 'one that holds by then is prepared');

# --- SERIALIZABLE -------------------------------------------------------------------------------

my $serializable = 'BEGIN ISOLATION LEVEL SERIALIZABLE;';

# Reads row 4, and writes row 5: it cannot fail any more, and what it has read is held.
sub prepare_reader
{
	my ($name) = @_;

	is($a->query("$serializable SELECT v FROM inmemory WHERE id = 4; UPDATE inmemory SET v = v + 1 WHERE id = 5; PREPARE TRANSACTION 'h';"),
		42, "$name: it is prepared");
}
sub prepare_mixed
{
	my ($setting, $expected) = @_;

	is($a->query("SET tsurugi_fdw.serializable_mixed = $setting; $serializable UPDATE inmemory SET v = 53 WHERE id = 5;
		INSERT INTO ordinary VALUES (8); PREPARE TRANSACTION 'm';"), $expected, "with writes to ordinary tables, $setting");
	$a->query('ROLLBACK;') if $expected;
	return;
}

my $skewed = "$serializable SELECT v FROM inmemory WHERE id = 5; UPDATE inmemory SET v = 42 WHERE id = 4;";

for my $end ('COMMIT', 'ROLLBACK')
{
	prepare_reader($end);
	# A promoted transaction, after several failures, would wait for what is prepared.
	is($b->query("$skewed COMMIT;"), 'ERROR 40001', "$end: a write skew fails") for 1 .. 3;
	like($b->query("$skewed PREPARE TRANSACTION 'i';"), qr/ERROR 40001/, "$end: also if it is to be prepared");
	is($b->query("$serializable UPDATE inmemory SET v = 42 WHERE id = 4; COMMIT;"), 'ERROR 40001', "$end: one that reads nothing else");
	is($b->query("$serializable UPDATE inmemory SET v = 30 WHERE id = 3; COMMIT; SELECT v FROM inmemory WHERE id = 3;"), 30, "$end: another row is free");
	is($b->query("$serializable SELECT sum(v) FROM inmemory; COMMIT;"), $end eq 'COMMIT' ? 123 : 124, "$end: readers do not fail");
	is($b->query('UPDATE inmemory SET v = 42 WHERE id = 4; SELECT v FROM inmemory WHERE id = 4;'), 42, "$end: nor writers at another level");
	$a->query("$end PREPARED 'h';");
	is($b->query("$skewed COMMIT;"), 52, "$end PREPARED: then it goes through");
}
is($node->safe_psql('postgres', "SELECT failures > 0 FROM tsurugi.conflicts WHERE reason = 'write to what a prepared transaction has read'"), 't',
	'tsurugi.conflicts counts it');
is($a->query('SELECT v FROM inmemory WHERE id = 5;'), 52, 'one was committed, the other rolled back');
$a->query("$serializable SELECT FROM inmemory WHERE id = 4; UPDATE inmemory SET v = 53 WHERE id = 5;");
$b->query('UPDATE inmemory SET v = 43 WHERE id = 4;');
is($a->query("PREPARE TRANSACTION 'h';"), 'ERROR 40001', 'what has changed before cannot be prepared');
$a->query('ROLLBACK;');
is($a->query("SELECT count(*) FROM pg_prepared_xacts;"), 0, 'nothing is prepared');
prepare_mixed('strict', 'ERROR 0A000');
prepare_mixed('relaxed', '');
is($a->query("ROLLBACK PREPARED 'm'; $serializable SELECT v FROM inmemory WHERE id = 4; INSERT INTO ordinary VALUES (8);
	PREPARE TRANSACTION 'm';"), 43, 'one that has only read tables in memory');
is($b->query("$serializable UPDATE inmemory SET v = 42 WHERE id = 4; COMMIT; SELECT v FROM inmemory WHERE id = 4;"), 42, 'holds nothing');
is($a->query("ROLLBACK PREPARED 'm'; $serializable SELECT v FROM inmemory WHERE id = 4 FOR UPDATE; PREPARE TRANSACTION 'm';"), 42, 'one that has only locked rows');
is($b->query('SELECT v FROM inmemory WHERE id = 4 FOR UPDATE NOWAIT;'), 'ERROR 55P03', 'has them still');
$a->query("COMMIT PREPARED 'm'; UPDATE inmemory SET v = 51 WHERE id = 5;");

$a->query('RESET tsurugi_fdw.serializable_mixed;');
is_rows('3:30 4:42 5:51', 'as before');

# --- refusals ------------------------------------------------------------------------------------

for my $case (
	['SHORT', "BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'short'", 'DELETE FROM inmemory'],
	['definitions', 'BEGIN', 'TRUNCATE inmemory'])
{
	my ($name, $begin, $statement) = @$case;

	is($a->query("$begin; $statement; PREPARE TRANSACTION 'r';"), 'ERROR 0A000', $name);
	is_rows('3:30 4:42 5:51', 'which is rolled back');
}
$a->query("BEGIN; DELETE FROM inmemory WHERE id = 3; PREPARE TRANSACTION 'p';");
is($a->query("BEGIN; DELETE FROM inmemory WHERE id = 4; PREPARE TRANSACTION 'p';"), 'ERROR 42710', 'a gid in use');
is($a->query("BEGIN; COMMIT PREPARED 'p';"), 'ERROR 25001', 'in a block');
$a->query('ROLLBACK;');
is($a->query("COMMIT PREPARED 'no';"), 'ERROR 42704', 'a gid that is not there');
$node->safe_psql('postgres', 'CREATE ROLE other LOGIN');
$b->query('SET ROLE other;');
is($b->query("COMMIT PREPARED 'p';"), 'ERROR 42501', 'a role that must not');
$b->query('RESET ROLE;');
is_rows('3:30 4:42 5:51', 'leaves it prepared');
$a->query("COMMIT PREPARED 'p';");
is_rows('4:42 5:51', 'and it can be committed');

# --- two sessions at once ------------------------------------------------------------------------

for my $statement ('COMMIT', 'ROLLBACK')
{
	for my $point ('prepared_found', 'prepared_held')
	{
		my $first = TestServer::Session->new($node);
		my $pid = $first->query('SELECT pg_backend_pid();');

		$a->query("UPDATE inmemory SET v = 42 WHERE id = 4; BEGIN; UPDATE inmemory SET v = 43 WHERE id = 4; PREPARE TRANSACTION 'two';");
		$first->query("SET tsurugi_fdw.failpoints = 'stop:$point';");
		$first->send('COMMIT PREPARED \'two\'; ' . $rows);
		ok(TestServer::has_stopped($pid), "a session stands before PostgreSQL's part ($point)");
		is($b->query("$statement PREPARED 'two';"), 'ERROR 55000', "$statement PREPARED by another one is refused");
		kill 'CONT', $pid;
		is($first->wait, '4:43 5:51', 'the first one ends it, and sees the outcome');
	}
}
{
	my $first = TestServer::Session->new($node);
	my $pid = $first->query('SELECT pg_backend_pid();');

	$a->query("BEGIN; INSERT INTO ordinary VALUES (3); PREPARE TRANSACTION 'two';");
	$first->query("SET tsurugi_fdw.failpoints = 'stop:prepared_found'; SET ROLE other;");
	$first->send("COMMIT PREPARED 'two';");
	is($first->wait, 'ERROR 42501', 'a role that must not end it does not get to where others are kept from it');
	is($a->query("COMMIT PREPARED 'two'; DELETE FROM ordinary WHERE v = 3; SELECT 1;"), 1, 'so its owner ends it');
	$first->query('RESET ROLE;');

	# Otherwise it would end, without its writes here, what gets the identifier next.
	$a->query("BEGIN; INSERT INTO ordinary VALUES (3); PREPARE TRANSACTION 'two';");
	$first->query("SET tsurugi_fdw.failpoints = 'stop:prepared_held';");
	$first->send("COMMIT PREPARED 'two'; SELECT count(*) FROM ordinary WHERE v = 3;");
	ok(TestServer::has_stopped($pid), 'a session stands before PostgreSQL\'s part');
	is($b->query("ROLLBACK PREPARED 'two';"), 'ERROR 55000', 'nor does another one end it if it has changed ordinary tables alone');
	kill 'CONT', $pid;
	is($first->wait, '1', 'the first one ends it');

	$first->query("SET tsurugi_fdw.failpoints = 'stop:prepared_found';");
	$first->send("COMMIT PREPARED 'late';");
	ok(TestServer::has_stopped($pid), 'a session stands before it looks for what is not there');
	$a->query("BEGIN; UPDATE inmemory SET v = 44 WHERE id = 4; INSERT INTO ordinary VALUES (3); PREPARE TRANSACTION 'late';");
	kill 'CONT', $pid;
	is($first->wait, 'ERROR 42704', 'what is prepared meanwhile is not ended');
	is($a->query("ROLLBACK PREPARED 'late'; DELETE FROM ordinary WHERE v = 3; SELECT count(*) FROM pg_prepared_xacts;"), 0, 'it was still prepared');
}
$a->query('UPDATE inmemory SET v = 42 WHERE id = 4;');

# --- a session that ends between the two parts ------------------------------------------------------

for my $end (['COMMIT', '4:42 5:55'], ['ROLLBACK', '4:42 5:55'])
{
	my ($statement, $expected) = @$end;
	my $v = $statement eq 'COMMIT' ? 55 : 56;
	my $dying = TestServer::Session->new($node);
	my $pid = $dying->query('SELECT pg_backend_pid();');

	$a->query("BEGIN; UPDATE inmemory SET v = $v WHERE id = 5; INSERT INTO ordinary VALUES ($v); PREPARE TRANSACTION 'd';");
	$dying->query("SET tsurugi_fdw.failpoints = 'stop:prepared_decided';");
	$dying->send("$statement PREPARED 'd';");
	ok(TestServer::has_stopped($pid), 'a session stands between the two parts');
	$b->send("SELECT v FROM inmemory WHERE id = 5 FOR UPDATE;");
	kill 'TERM', $pid;
	kill 'CONT', $pid;
	is($b->wait, 55, 'whoever waits gets the outcome');
	is_rows($expected, "$statement PREPARED is whole");
}

# --- an end without the statement -----------------------------------------------------------------

$a->query("BEGIN; UPDATE inmemory SET v = 57 WHERE id = 5; PREPARE TRANSACTION 'w';");
$a->query("SET tsurugi_fdw.failpoints = 'skip_prepared_hold'; COMMIT PREPARED 'w';
	SET tsurugi_fdw.failpoints = '';");
ok($node->poll_query_until('postgres', 'SELECT v = 57 FROM inmemory WHERE id = 5'),
	'the worker ends what nobody waits for');

# --- a start ------------------------------------------------------------------------------------------

for my $mode ('fast', 'immediate')
{
	$a->query("BEGIN; INSERT INTO inmemory VALUES (9, 90); INSERT INTO ordinary VALUES (9); PREPARE TRANSACTION 's';");
	$node->stop($mode);
	$node->start;
	$a = TestServer::Session->new($node);
	$a->query("COMMIT PREPARED 's';");
	is($a->query('SELECT count(*) FROM inmemory;'), 0, "$mode: an unlogged table is empty");
	is($a->query('SELECT count(*) FROM ordinary WHERE v = 9;'), $mode eq 'fast' ? 1 : 2, 'the ordinary one is not');
}

# --- xids that lie before the first one ---------------------------------------------------------------

$node->command_ok([ 'vacuumdb', '-aF', '-h', $node->host, '-p', $node->port ], 'nothing has an earlier xid');
$node->stop;
open(my $segment, '>', $node->data_dir . '/pg_xact/0800') or die "$!\n"; # 2^31 / (4 * 8192 * 32)
print $segment "\0" x (32 * 8192);
close($segment);
system_or_bail('pg_resetwal', '-x', '2147484000', '-u', '2147483990', '-D', $node->data_dir);
$node->start;
$a = TestServer::Session->new($node);
$a->query("INSERT INTO inmemory VALUES (1, 1); BEGIN; UPDATE inmemory SET v = 2; PREPARE TRANSACTION 'x';");
select undef, undef, undef, 0.5; # the worker looks
is($a->query("SET lock_timeout = '10ms'; DELETE FROM inmemory;"), 'ERROR 55P03', 'the worker lets what is prepared be');
is($a->query("COMMIT PREPARED 'x'; SELECT v FROM inmemory;"), 2, 'until its end');
is(TestServer::internal_errors($node), '', 'no internal errors');
$node->stop;
done_testing();

# Every serialization failure says why: in its detail, in its fields, and in
# the view tsurugi.conflicts.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('conflicts');
my $session = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE account (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE apart (r int4range, EXCLUDE USING gist (r WITH &&)) SERVER tsurugi;
	CREATE FOREIGN TABLE other (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO account SELECT i, 0 FROM generate_series(1, 9) i;
	INSERT INTO other VALUES (1, 0);
});
$session->query('\set VERBOSITY verbose');
my $pid = $session->query('SELECT pg_backend_pid();');
my $other_pid = $other->query('SELECT pg_backend_pid();');
$other->query("SET tsurugi_fdw.transaction_label = 'beside';");
my $beside = qr/process $other_pid \(transaction "beside"\)/;

sub failures
{
	my ($reason) = @_;

	return $node->safe_psql('postgres', "SELECT failures FROM tsurugi.conflicts WHERE reason = '$reason'");
}

# level, what is read, what another does, how it ends, reason, pattern of the detail
my @cases = (
	[ 'REPEATABLE READ', 'SELECT FROM account', 'UPDATE account SET v = 1 WHERE id = 1', 'UPDATE account SET v = 2 WHERE id = 1',
		'row to be written was changed', qr/Row \(id\)=\(1\) of foreign table "account" was changed by $beside, which committed after/ ],
	[ 'REPEATABLE READ', 'SELECT FROM account', 'DELETE FROM account WHERE id = 2', 'UPDATE account SET v = 2 WHERE id = 2',
		'row to be written was deleted', qr/Row \(id\)=\(2\) of foreign table "account" was deleted by $beside, which committed after/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 3', 'UPDATE account SET v = 1 WHERE id = 3', 'UPDATE other SET v = 1',
		'row read was changed', qr/Row \(id\)=\(3\) of foreign table "account", which this transaction has read, was changed by $beside\./ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 20', 'INSERT INTO account VALUES (20, 0)', 'UPDATE other SET v = 1',
		'key not found was inserted', qr/Key \(id\)=\(20\) of foreign table "account", which this transaction has not found, was inserted by $beside\./ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id > 3 AND id < 6', 'UPDATE account SET v = 3 WHERE id = 4',
		'UPDATE other SET v = 1', 'range read was changed', qr/Row \(id\)=\(4\) of foreign table "account" was changed by $beside, in a range of keys/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE v = 77', 'INSERT INTO account VALUES (30, 77)', 'UPDATE other SET v = 1',
		'table read was changed', qr/Row \(id\)=\(30\) of foreign table "account", which this transaction has read as a whole, was changed by $beside\./ ],
	# found when the snapshot is to be extended, not at the commit
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 3', 'UPDATE account SET v = 9 WHERE id IN (3, 4)',
		'UPDATE account SET v = 5 WHERE id = 4', 'row read was changed', qr/Row \(id\)=\(3\) of .*, which this transaction has read, was changed by $beside/ ],
	# the key of a row that has got another one: as it was seen
	[ 'REPEATABLE READ', 'SELECT FROM account', 'UPDATE account SET id = 40 WHERE id = 5', 'DELETE FROM account WHERE id = 5',
		'row to be written was changed', qr/Row \(id\)=\(5\) of foreign table "account" was changed by $beside, which committed after/ ],
	# of a row that the snapshot has not seen
	[ 'REPEATABLE READ', 'SELECT FROM account', 'INSERT INTO account VALUES (50, 0)',
		'INSERT INTO account VALUES (50, 1) ON CONFLICT (id) DO UPDATE SET v = 2',
		'row to be written was changed', qr/Row \(id\)=\(50\) of foreign table "account" was changed by $beside, which committed after/ ],
);

for my $case (@cases)
{
	my ($level, $read, $change, $write, $reason, $detail) = @$case;
	my $before = failures($reason);

	$session->query('DISCARD ALL;'); # no case is the next try of the one before
	$session->query("BEGIN ISOLATION LEVEL $level;");
	$session->query("$read;");
	$other->query("$change;");
	$session->send("$write;\nCOMMIT;");
	my $messages = $session->wait_messages;
	like($messages, qr/ERROR:\s+40001/, "$level: $reason");
	like($messages, $detail, 'says the detail');
	like($messages, qr/SCHEMA NAME:\s+public/, 'and the schema');
	like($messages, qr/TABLE NAME:\s+account/, 'and the table');
	is(failures($reason), $before + 1, 'and it is counted');
	$session->query("ROLLBACK;");
}

# who may not see the key's columns is not shown them
$node->safe_psql('postgres', q{
	CREATE ROLE blind LOGIN;
	GRANT SELECT (v), UPDATE ON account, other TO blind;
});
$session->query('SET ROLE blind;');
for my $case ([ 'REPEATABLE READ', 'UPDATE account SET v = v + 1' ], [ 'SERIALIZABLE', 'UPDATE other SET v = 2' ])
{
	my ($level, $write) = @$case;

	$session->query("BEGIN ISOLATION LEVEL $level;");
	$session->query('SELECT sum(v) FROM account;');
	$other->query('UPDATE account SET v = v + 1 WHERE id = 6;');
	$session->send("$write;\nCOMMIT;");
	like($session->wait_messages, qr/DETAIL:  A row of foreign table "account"/, "$level: the key is not shown");
	$session->query('ROLLBACK;');
}

# who waits, for whom, and at which level
$session->query('RESET ROLE;');
$session->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE account SET v = 0 WHERE id = 1;');
$other->query('BEGIN ISOLATION LEVEL REPEATABLE READ;');
$other->send('UPDATE account SET v = 1 WHERE id = 1;');
ok($node->poll_query_until('postgres', qq{
	SELECT waits_for = ARRAY[$pid] FROM tsurugi.transactions
	WHERE pid = $other_pid AND isolation = 'repeatable read' AND state = 'running' AND snapshot > 0}),
	'a transaction waits for another');
is($node->safe_psql('postgres', "SELECT isolation, writes, waits_for IS NULL FROM tsurugi.transactions WHERE pid = $pid"),
	'serializable|1|t', 'which waits for nobody');
$session->query('COMMIT;');
$other->wait;
$other->query('COMMIT;');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.transactions'), 0, 'both have ended');

# a LONG that waits for its start, and what those read whom it refuses
$other->query("SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = account;
	SET tsurugi_fdw.transaction_label = 'batch';");
$session->query('BEGIN; UPDATE account SET v = 3 WHERE id = 1;');
$other->query('BEGIN;');
$other->send('SELECT FROM account WHERE id = 2;');
ok($node->poll_query_until('postgres', qq{
	SELECT waits_for = ARRAY[$pid] FROM tsurugi.transactions
	WHERE pid = $other_pid AND kind = 'long' AND label = 'batch' AND write_preserve = '{account}' AND snapshot IS NULL}),
	'a LONG waits for a writer');
$session->query('COMMIT;');
$other->wait;
is($node->safe_psql('postgres', "SELECT snapshot > 0, waits_for IS NULL FROM tsurugi.transactions WHERE pid = $other_pid"),
	't|t', 'and has started');
my $batch = qr/process $other_pid \(long transaction "batch"\)/;
for my $case (
	[ 'short', 'SELECT 1', 'UPDATE account SET v = 4 WHERE id = 1', 'write preserved area', qr/"account" is in the write preserve of $batch/ ],
	[ 'default', 'SELECT FROM other', 'UPDATE account SET v = 4 WHERE id = 1', 'write preserved area', qr/"account" is in the write preserve of $batch/ ],
	[ 'default', 'SELECT FROM account WHERE id = 1; UPDATE other SET v = 3', 'COMMIT', 'read preserved area',
		qr/"account", which this transaction reads, is in the write preserve of $batch/, 'before' ],
	[ 'long', 'SELECT FROM other', 'SELECT FROM account WHERE id = 1', 'read area of earlier LONG',
		qr/"account" is in the write preserve of $batch, which began before/ ])
{
	my ($type, $read, $last, $reason, $detail, $before) = @$case;
	my $count = failures($reason);

	$session->query('DISCARD ALL;');
	$other->query('ROLLBACK;') if $before;
	$session->query("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL tsurugi_fdw.transaction_type = $type; $read;");
	$other->query('BEGIN; SELECT FROM account WHERE id = 2;') if $before;
	$session->send("$last;");
	my $messages = $session->wait_messages;
	like($messages, qr/ERROR:\s+40001/, "$type: $reason");
	like($messages, $detail, 'says whose');
	$session->query('ROLLBACK;');
	is(failures($reason), $count + 1, 'and it is counted');
}
$other->query('ROLLBACK;');

# who holds a row that a SHORT wants
$other->query('RESET tsurugi_fdw.transaction_type; BEGIN; UPDATE account SET v = 5 WHERE id = 1;');
$session->query('BEGIN; SET LOCAL tsurugi_fdw.transaction_type = short;');
$session->send('UPDATE account SET v = 6 WHERE id = 1;');
like($session->wait_messages, qr/Row \(id\)=\(1\) of foreign table "account" is being changed by process $other_pid \(transaction "batch"\), and/,
	'SHORT: a row is held');
$session->query('ROLLBACK;');
$other->query('ROLLBACK;');

# --- whose commit it was: also when the session has gone on to other things, or has gone

sub fails
{
	my ($statement, $detail, $name) = @_;

	$session->send($statement);
	like($session->wait_messages, $detail, $name);
	$session->query('ROLLBACK;');
}

$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM account;');
$other->query('BEGIN; SET LOCAL tsurugi_fdw.transaction_label = nightly; UPDATE account SET v = 7 WHERE id = 1; COMMIT;');
$other->query('UPDATE account SET v = v + 1 WHERE id = 4;') for 1 .. 5;
fails('UPDATE account SET v = 0 WHERE id = 1;', qr/by process $other_pid \(transaction "nightly"\), which committed/, 'its label was another one');
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM account;');
my $gone = $node->safe_psql('postgres', 'SET tsurugi_fdw.transaction_label = gone; SET tsurugi_fdw.transaction_type = short;
	UPDATE account SET v = 8 WHERE id = 1; SELECT pg_backend_pid()');
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $gone");
fails('UPDATE account SET v = 0 WHERE id = 1;', qr/changed by short transaction "gone", which committed/, 'its session has gone');
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM account;');
$other->query('SET tsurugi_fdw.transaction_label = load;');
my $handle = $other->query("SELECT tsurugi.begin_transaction('account');");
$other->query("SELECT tsurugi.attach_transaction('$handle');");
$other->query('UPDATE account SET v = 9 WHERE id = 1;');
$other->query('SELECT tsurugi.detach_transaction();');
$session->query('SET LOCAL lock_timeout = 10;');
$session->query('SAVEPOINT a;');
$session->send('UPDATE account SET v = 0 WHERE id = 1;');
like($session->wait_messages, qr/55P03.*Row \(id\)=\(1\) of foreign table "account" was to be updated once shared transaction "load" had ended/s,
	'a session waits for one that several sessions work in');
$session->query('ROLLBACK TO a;');
$other->query("SELECT tsurugi.commit_transaction('$handle');");
fails('UPDATE account SET v = 0 WHERE id = 1;', qr/changed by shared transaction "load", which committed/, 'several sessions worked in it');

# definitions, and what is done beside all rows
$other->query('SET tsurugi_fdw.transaction_label = rewriting;');
$session->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM account;');
$other->query('TRUNCATE other; INSERT INTO other VALUES (1, 0); CREATE FOREIGN TABLE beside (id int) SERVER tsurugi;');
fails('SELECT FROM other;', qr/"other" was emptied, or its rows were stored anew, by process $other_pid \(transaction "rewriting"\), which committed/, 'the transaction that has emptied a table is named');
$session->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT a; SELECT FROM other; ROLLBACK TO a; UPDATE account SET v = 0 WHERE id = 9;');
$other->query('BEGIN; INSERT INTO beside VALUES (1); TRUNCATE other; COMMIT;');
fails('COMMIT;', qr/"other", which this transaction has read, .* were stored anew, by process $other_pid \(transaction "rewriting"\)\./, 'or what others have read');
$other->query('INSERT INTO other VALUES (1, 0); DROP FOREIGN TABLE beside;');

# a LONG that has committed since
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE third (id int PRIMARY KEY, k int UNIQUE) SERVER tsurugi; INSERT INTO third VALUES (1, 1), (11, 11)');
$other->query("SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = third;
	SET tsurugi_fdw.transaction_label = earlier; BEGIN; SELECT FROM third;");
$session->query("BEGIN; SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = other; SELECT FROM other;");
$other->query('COMMIT;');
fails('SELECT FROM third;', qr/in the write preserve of process $other_pid \(long transaction "earlier"\), which began before/,
	'a LONG that has ended');

# unique keys that a LONG sees otherwise than they are now
$other->query('RESET tsurugi_fdw.transaction_type; SET tsurugi_fdw.transaction_label = beside;');
my $long = 'BEGIN; SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = \'third [{1},{9})\'; SELECT FROM third WHERE id = 1;';
$session->query($long);
$other->query('INSERT INTO third VALUES (12, 2);');
fails('UPDATE third SET k = 2 WHERE id = 1;', qr/A key of foreign table "third", .*, was inserted by $beside/, 'LONG: a unique key was taken');
$session->query($long);
$other->query('UPDATE third SET k = 3 WHERE id = 11;');
fails('UPDATE third SET k = 11 WHERE id = 1;', qr/Row \(id\)=\(11\) of foreign table "third", .*, was changed by $beside/, 'LONG: or given back');

# --- waits that are given up, and deadlocks

$other->query(q|BEGIN; UPDATE account SET v = 1 WHERE id = 1; INSERT INTO account VALUES (60, 0); INSERT INTO apart VALUES ('[1,5)')|);
my $held = qr/once $beside had ended/;
for my $case (
	[ 'UPDATE account SET v = 2 WHERE id = 1', qr/Row \(id\)=\(1\) of foreign table "account" was to be updated $held/ ],
	[ 'DELETE FROM account WHERE v >= 0 AND id = 1', qr/Row \(id\)=\(1\) of foreign table "account" was to be deleted $held/ ],
	[ 'SELECT FROM account WHERE id = 1 FOR UPDATE', qr/Row \(id\)=\(1\) of foreign table "account" was to be locked $held/ ],
	[ 'INSERT INTO account VALUES (60, 1)', qr/inserted into foreign table "account", with its key in "account_pkey", $held/ ],
	[ "INSERT INTO apart VALUES ('[4,9)')", qr/inserted into foreign table "apart", with its key in "apart_r_excl", $held/ ])
{
	my ($statement, $detail) = @$case;

	$session->query('BEGIN; SET LOCAL lock_timeout = 10;');
	fails("$statement;", qr/55P03.*DETAIL:  [^\n]*$detail/s, "lock_timeout: $statement");
}
fails('SELECT FROM account WHERE id = 1 FOR UPDATE NOWAIT;', qr/55P03.*Row \(id\)=\(1\) of foreign table "account" is held by $beside/s, 'NOWAIT');
$session->query('BEGIN; UPDATE account SET v = 3 WHERE id = 4; SET LOCAL deadlock_timeout = 10;');
$other->query("SET LOCAL deadlock_timeout = '1min';");
$other->send('UPDATE account SET v = 3 WHERE id = 4;');
$node->poll_query_until('postgres', "SELECT waits_for = ARRAY[$pid] FROM tsurugi.transactions WHERE pid = $other_pid");
fails('UPDATE account SET v = 3 WHERE id = 1;',
	qr/40P01.*DETAIL:  Process $pid waits for .*Row \(id\)=\(1\) of foreign table "account" was to be updated $held/s, 'a deadlock');
$other->wait;
$other->query('ROLLBACK;');

# a LONG that has announced itself: who wants to write there, and who wants to start
$other->query("SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = account; BEGIN; SELECT FROM account WHERE id = 1;");
my $preserves = qr/process $other_pid \(long transaction "beside"\)/;
$session->query('BEGIN; SET LOCAL lock_timeout = 10;');
fails('UPDATE account SET v = 2 WHERE id = 1;', qr/55P03.*was to be updated once $preserves had ended/s, 'lock_timeout: a LONG preserves it');
$session->query('BEGIN; SET LOCAL lock_timeout = 10; SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = account;');
fails('SELECT FROM other;', qr/55P03.*This transaction has waited for $preserves to end/s, 'lock_timeout: a LONG that waits for its start');
$other->query('ROLLBACK;');

$session->close;
$other->close;
$node->stop;
done_testing();

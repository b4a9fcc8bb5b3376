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
	CREATE FOREIGN TABLE other (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO account SELECT i, 0 FROM generate_series(1, 9) i;
	INSERT INTO other VALUES (1, 0);
});
$session->query('\set VERBOSITY verbose');

sub failures
{
	my ($reason) = @_;

	return $node->safe_psql('postgres', "SELECT failures FROM tsurugi.conflicts WHERE reason = '$reason'");
}

# level, what is read, what another does, how it ends, reason, pattern of the detail
my @cases = (
	[ 'REPEATABLE READ', 'SELECT FROM account', 'UPDATE account SET v = 1 WHERE id = 1', 'UPDATE account SET v = 2 WHERE id = 1',
		'row to be written was changed', qr/Row \(id\)=\(1\) of foreign table "account" was changed by/ ],
	[ 'REPEATABLE READ', 'SELECT FROM account', 'DELETE FROM account WHERE id = 2', 'UPDATE account SET v = 2 WHERE id = 2',
		'row to be written was deleted', qr/Row \(id\)=\(2\) of foreign table "account" was deleted by/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 3', 'UPDATE account SET v = 1 WHERE id = 3', 'UPDATE other SET v = 1',
		'row read was changed', qr/Row \(id\)=\(3\) of foreign table "account", which this transaction has read, was changed/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 20', 'INSERT INTO account VALUES (20, 0)', 'UPDATE other SET v = 1',
		'key not found was inserted', qr/Key \(id\)=\(20\) of foreign table "account", which this transaction has not found/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id > 3 AND id < 6', 'UPDATE account SET v = 3 WHERE id = 4',
		'UPDATE other SET v = 1', 'range read was changed', qr/Row \(id\)=\(4\) of foreign table "account" was changed .* in a range of keys/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE v = 77', 'INSERT INTO account VALUES (30, 77)', 'UPDATE other SET v = 1',
		'table read was changed', qr/Row \(id\)=\(30\) of foreign table "account", which this transaction has read as a whole/ ],
	# found when the snapshot is to be extended, not at the commit
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 3', 'UPDATE account SET v = 9 WHERE id IN (3, 4)',
		'UPDATE account SET v = 5 WHERE id = 4', 'row read was changed', qr/Row \(id\)=\(3\) of .*, which this transaction has read/ ],
	# the key of a row that has got another one: as it was seen
	[ 'REPEATABLE READ', 'SELECT FROM account', 'UPDATE account SET id = 40 WHERE id = 5', 'DELETE FROM account WHERE id = 5',
		'row to be written was changed', qr/Row \(id\)=\(5\) of foreign table "account" was changed by/ ],
	# of a row that the snapshot has not seen
	[ 'REPEATABLE READ', 'SELECT FROM account', 'INSERT INTO account VALUES (50, 0)',
		'INSERT INTO account VALUES (50, 1) ON CONFLICT (id) DO UPDATE SET v = 2',
		'row to be written was changed', qr/Row \(id\)=\(50\) of foreign table "account" was changed by/ ],
);

for my $case (@cases)
{
	my ($level, $read, $change, $write, $reason, $detail) = @$case;
	my $before = failures($reason);

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
my $pid = $session->query('SELECT pg_backend_pid();');
my $other_pid = $other->query('SELECT pg_backend_pid();');
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
like($session->wait_messages, qr/is being changed by process $other_pid, and short transactions do not wait/, 'SHORT: a row is held');
$session->query('ROLLBACK;');
$other->query('ROLLBACK;');

$session->close;
$other->close;
$node->stop;
done_testing();

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
		'row to be written was changed', qr/A row of foreign table "account" was changed by/ ],
	[ 'REPEATABLE READ', 'SELECT FROM account', 'DELETE FROM account WHERE id = 2', 'UPDATE account SET v = 2 WHERE id = 2',
		'row to be written was deleted', qr/A row of foreign table "account" was deleted by/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 3', 'UPDATE account SET v = 1 WHERE id = 3', 'UPDATE other SET v = 1',
		'row read was changed', qr/A row of foreign table "account" that this transaction has read/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 20', 'INSERT INTO account VALUES (20, 0)', 'UPDATE other SET v = 1',
		'key not found was inserted', qr/A key of foreign table "account" that this transaction has not found/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id > 3 AND id < 6', 'UPDATE account SET v = 3 WHERE id = 4',
		'UPDATE other SET v = 1', 'range read was changed', qr/Foreign table "account" was changed .* in a range of keys/ ],
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE v = 77', 'INSERT INTO account VALUES (30, 77)', 'UPDATE other SET v = 1',
		'table read was changed', qr/Foreign table "account", which this transaction has read as a whole/ ],
	# found when the snapshot is to be extended, not at the commit
	[ 'SERIALIZABLE', 'SELECT FROM account WHERE id = 3', 'UPDATE account SET v = 9 WHERE id IN (3, 4)',
		'UPDATE account SET v = 5 WHERE id = 4', 'row read was changed', qr/that this transaction has read/ ],
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

$session->close;
$other->close;
$node->stop;
done_testing();

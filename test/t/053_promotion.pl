# A serializable transaction that has failed twice with 40001 becomes a LONG at its third try (P3), which
# preserves what the failed ones have written; where it does what a LONG refuses it fails with 40001, and the
# next one is an ordinary one (P4).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('promotion', 'max_prepared_transactions' => 2);
my $session = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);
my $pid = $session->query('SELECT pg_backend_pid();');
my $other_pid = $other->query('SELECT pg_backend_pid();');
my $begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE;';
my $read = 'SELECT sum(amount) FROM history';
my $bill = "INSERT INTO bill SELECT 1, sum(amount) FROM history ON CONFLICT (id) DO UPDATE SET total = excluded.total";

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE history (id int PRIMARY KEY, amount int) SERVER tsurugi;
	CREATE FOREIGN TABLE bill (id int PRIMARY KEY, total int) SERVER tsurugi;
	CREATE FOREIGN TABLE other (id int PRIMARY KEY, n int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, n int);
	INSERT INTO ordinary VALUES (1, 1);
	INSERT INTO history SELECT i, 1 FROM generate_series(1, 100) i;
	INSERT INTO other VALUES (1, 0);
	CREATE FOREIGN TABLE small (id int PRIMARY KEY, n int) SERVER tsurugi;
	INSERT INTO small SELECT i, 0 FROM generate_series(1, 17) i;
	CREATE ROLE clerk LOGIN;
	GRANT SELECT, INSERT, UPDATE, DELETE ON history, bill, other TO clerk;
	CREATE ROLE teller;
	GRANT SELECT, INSERT ON history, bill TO teller; GRANT SELECT ON other TO teller;
	GRANT UPDATE (total) ON bill TO teller;
});
$session->query('\set VERBOSITY verbose');

sub kind { return $node->safe_psql('postgres', "SELECT kind FROM tsurugi.transactions WHERE pid = $pid"); }
sub preserves { return $node->safe_psql('postgres', "SELECT write_preserve FROM tsurugi.transactions WHERE pid = $pid"); }
sub counted { return $node->safe_psql('postgres', "SELECT count FROM tsurugi.retries WHERE event = '$_[0]'"); }
sub change { $other->query('UPDATE history SET amount = amount + 1 WHERE id = 7;'); }

# Tries that fail, because the history changes; the last one's messages.
sub try_and_fail
{
	my ($times, $write) = @_;
	my $messages;

	for (1 .. $times)
	{
		$session->query("$begin $read;");
		change();
		$session->send(($write // $bill) . '; COMMIT;');
		$messages = $session->wait_messages;
		$session->query('ROLLBACK;');
	}
	return $messages;
}

# The kind of the next try, which is rolled back.
sub next_kind
{
	my ($how) = @_;
	$session->query(($how // $begin) . " SELECT count(*) FROM other;");
	my $kind = kind();
	$session->query('ROLLBACK;');
	return $kind;
}

sub forget { $session->query('DISCARD ALL;'); }

# --- the third try

like(try_and_fail(1), qr/HINT:  The transaction might succeed if retried\.\n/, 'the first failure says nothing of a LONG');
is(next_kind(), 'default', 'the second try is none');
like(try_and_fail(1), qr/might succeed if retried\. The next serializable transaction of this session is a long one, which preserves: bill\./,
	'the second failure says what the third try is');
is($session->query("$begin $read;"), 102, 'the third try reads');
is(kind(), 'long, promoted after 2', 'and is a LONG');
is(preserves(), '{bill}', 'which preserves what the failed ones have written');
change();
$other->send('INSERT INTO bill VALUES (2, 0);');
ok($node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $other_pid"),
	'others wait there');
is($session->query("$bill; $read;"), 102, 'it reads the moment of its start');
is($session->query('COMMIT;'), '', 'and gets through');
$other->wait;
is($node->safe_psql('postgres', 'SELECT total FROM bill WHERE id = 1'), 102, 'with what it has read');
is(counted('promoted to LONG'), 1, 'it is counted');
is(counted('promoted and committed'), 1, 'and that it got through');
is(next_kind(), 'default', 'the next transaction is an ordinary one');
like(try_and_fail(1), qr/retried\.\n/, 'and counting begins again');
is($session->query("$begin $bill; COMMIT;"), '', 'a success');
try_and_fail(1);
is(next_kind(), 'default', 'after which failures are counted anew');

# --- small tries: each reads another row by its key, which is changed meanwhile

sub fail_small
{
	my ($id, $condition) = @_;
	$session->query("$begin SELECT n FROM small WHERE " . ($condition // "id = $id") . ';');
	$other->query("UPDATE small SET n = n + 1 WHERE id = $id;");
	$session->send("UPDATE small SET n = n + 1 WHERE id = $id; COMMIT;");
	my $messages = $session->wait_messages;
	$session->query('ROLLBACK;');
	return $messages;
}

forget();
like(fail_small($_), qr/retried\. The next serializable transaction of this session locks the row/, "small try $_") for 1 .. 16;
is(next_kind(), 'default', 'after as many as a session remembers rows the next one is none');
like(fail_small(17), qr/is a long one, which preserves: small\./, 'after one more it is');
is(next_kind(), 'long, promoted after 17', 'a LONG');
forget();
fail_small(1);
try_and_fail(1);
is(next_kind(), 'long, promoted after 2', 'a small one counts if the next one to fail is not small');
forget();
like(fail_small(1, 'id IN (1, 2)'), qr/retried\. The next serializable transaction of this session locks the row/, 'a row that is looked up with others');
$session->query("$begin SELECT n FROM small WHERE id IN (1, 2);");
$other->send('UPDATE small SET n = n + 1 WHERE id = 1;');
ok($node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $other_pid"), 'is locked');
is($session->query('UPDATE small SET n = n + 1 WHERE id = 1; COMMIT;'), '', 'and gets through');
$other->wait;
forget();

# --- what changes nothing in between

forget();
try_and_fail(1);
$session->query("BEGIN; UPDATE other SET n = 1; COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ; UPDATE other SET n = 2; COMMIT;
	$begin SELECT 1; COMMIT; $begin $read; ROLLBACK; BEGIN; SET LOCAL tsurugi_fdw.transaction_type = short; $bill; COMMIT;");
$session->query("$begin SELECT 1 / n FROM (SELECT 0 AS n) t;");
$session->query('ROLLBACK;');
$session->query("$begin $read; SAVEPOINT a;");
change();
$session->query("UPDATE history SET amount = amount + 1 WHERE id = 7;");
is($session->query('ROLLBACK TO a; SELECT n FROM other;'), 2, 'a caught error');
$session->query('ROLLBACK;');
$session->query("$begin $read;");
$other->query("BEGIN; INSERT INTO bill VALUES (1, 0) ON CONFLICT (id) DO UPDATE SET total = 0;");
$session->send("$bill;");
$node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid");
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
is($session->wait, 'ERROR 57014', 'a try that is cancelled');
$session->query('ROLLBACK;');
$other->query('ROLLBACK;');
is(next_kind(), 'default', 'neither count');
try_and_fail(1);
is(next_kind(), 'long, promoted after 2', 'nor do they undo what has been counted');

# --- who is not promoted

is(next_kind('BEGIN;'), '', 'READ COMMITTED is not');
is(next_kind('BEGIN ISOLATION LEVEL REPEATABLE READ;'), 'default', 'nor REPEATABLE READ');
is(next_kind('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;'), 'default', 'nor READ ONLY');
is(next_kind('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;'), 'default', 'nor DEFERRABLE');
is(next_kind("$begin SET LOCAL tsurugi_fdw.transaction_type = short;"), 'short', 'nor SHORT');
is(next_kind("$begin SELECT n FROM ordinary;"), 'default', 'nor after ordinary tables were read');
is(next_kind("$begin UPDATE ordinary SET n = n;"), 'default', 'or written');
is(next_kind("$begin TRUNCATE other;"), 'default', 'nor after TRUNCATE');
is(next_kind("$begin SELECT pg_export_snapshot();"), 'default', 'nor with an exported snapshot');
is(next_kind(), 'long, promoted after 2', 'all of them change nothing');
$session->query('SET tsurugi_fdw.promote_after = 3;');
is(next_kind(), 'default', 'promote_after is 3');
$session->query('SET tsurugi_fdw.promote_after = 0;');
is(next_kind(), 'default', 'promote_after is 0');
$session->query('SET tsurugi_fdw.promote_after = 1;');
is(next_kind(), 'long, promoted after 2', 'promote_after is 1');
$session->query('RESET tsurugi_fdw.promote_after;');

# --- rights

$session->query('SET ROLE teller;');
is(next_kind(), 'default', 'a role without the rights of write_preserve is not promoted');
is($session->query('SET tsurugi_fdw.promote_after = 1;'), 'ERROR 42501', 'and cannot change the setting');
$session->query('SET ROLE clerk;');
is(next_kind(), 'long, promoted after 2', 'one with the rights is');
$session->query('RESET ROLE;');
$node->safe_psql('postgres', 'ALTER ROLE clerk SET tsurugi_fdw.promote_after = 0');
my @as_clerk = (extra_params => [ '-U', 'clerk' ]);
is($node->safe_psql('postgres', 'SHOW tsurugi_fdw.promote_after', @as_clerk), 0, 'a role is kept from it');
my (undef, undef, $denied) = $node->psql('postgres', 'SET tsurugi_fdw.promote_after = 2', @as_clerk);
like($denied, qr/permission denied to set parameter/, 'and cannot change that');

# --- a table beyond

forget();
try_and_fail(2);
$session->query("$begin $read;");
$session->send('UPDATE other SET n = n + 1;');
like($session->wait_messages, qr/40001.*could not serialize access in a promoted transaction.*writes table "other", which those had not written.*is a long one, which preserves: bill, other\./s,
	'a promoted transaction writes another table');
$session->query('ROLLBACK;');
like($session->query("$begin $read; UPDATE other SET n = n + 1; $bill; COMMIT;"), qr/^\d+$/, 'the next one may');
is(next_kind(), 'default', 'and has got through');

# --- what a LONG refuses

my $refused = qr/40001.*could not serialize access in a promoted transaction.*long transactions cannot %s.*The next serializable transaction of this session is an ordinary one/s;
for my $case (
	[ 'use ordinary tables', 'SELECT n FROM ordinary', 'SELECT n FROM ordinary' ],
	[ 'use ordinary tables', 'INSERT INTO ordinary VALUES (2, 2)', 'INSERT' ],
	[ 'use ordinary tables', "COPY ordinary FROM PROGRAM 'echo 3' (FORMAT csv)", 'COPY FROM' ],
	[ 'use ordinary tables', 'COPY ordinary TO STDOUT', 'COPY TO' ],
	[ 'truncate or rewrite tables', 'TRUNCATE bill', 'TRUNCATE' ],
	[ 'truncate or rewrite tables', 'ALTER TABLE bill ADD COLUMN extra timestamptz DEFAULT clock_timestamp()', 'ALTER TABLE' ],
	[ 'export their snapshots', 'SELECT pg_export_snapshot()', 'an exported snapshot' ],
	[ 'be prepared', "PREPARE TRANSACTION 'p'", 'PREPARE' ])
{
	my ($what, $statement, $name) = @$case;
	my $pattern = "$refused" =~ s/%s/$what/r;

	forget();
	try_and_fail(2);
	$session->query("$begin $read;");
	$session->send("$statement;");
	like($session->wait_messages, qr/$pattern/, "$name in a promoted transaction");
	$session->query('ROLLBACK;');
	is(next_kind(), 'default', 'the next one is an ordinary one');
}

# a try that has used ordinary tables is followed by an ordinary one
forget();
like(try_and_fail(2, "$bill; SELECT n FROM ordinary"), qr/retried\.\n/, 'tries that use ordinary tables: no LONG is announced');
is(next_kind(), 'default', 'nor comes one');

# --- definitions: a table that is gone, and one that is another

forget();
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE gone (id int) SERVER tsurugi');
try_and_fail(2, "$bill; INSERT INTO gone VALUES (1)");
$node->safe_psql('postgres', 'DROP FOREIGN TABLE gone; TRUNCATE bill');
$session->query("$begin $read;");
is(kind(), 'default', 'a table is gone: what failed was something else');
is($session->query("$bill; ROLLBACK;"), '', 'which it does not matter for');
try_and_fail(1);
is(next_kind(), 'default', 'counting has begun anew');
try_and_fail(1);
$node->safe_psql('postgres', 'TRUNCATE bill');
$session->query("$begin $read;");
is(preserves(), '{bill}', 'a table that was emptied is the same');
is($session->query("$bill; COMMIT;"), '', 'and can be written');

# --- the start waits, and is given up

forget();
try_and_fail(2);
$other->query('BEGIN; INSERT INTO bill VALUES (99, 0);');
$session->query("SET lock_timeout = '10ms';");
is($session->query("$begin $read;"), 'ERROR 55P03', 'a promoted transaction waits for writers of what it preserves');
$session->query('ROLLBACK;');
is(next_kind(), 'default', 'if it cannot start, the next one is an ordinary one');
$other->query('ROLLBACK;');
$session->query('RESET lock_timeout;');

# --- two promoted ones that read what each other preserves

forget();
try_and_fail(2);
$other->query("$begin SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = history; SELECT count(*) FROM other;");
$session->send("$begin $read;");
like($session->wait_messages, qr/40001.*earlier.*|40001.*is in the write preserve of.*is a long one, which preserves: bill, history\./s,
	'what an earlier LONG preserves');
$session->query('ROLLBACK;');
$session->send("$begin $read;");
ok($node->poll_query_until('postgres', "SELECT waits_for = ARRAY[$other_pid] FROM tsurugi.transactions WHERE pid = $pid"),
	'the next one waits for that one');
$other->query('COMMIT;');
$session->wait;
is($session->query("$bill; COMMIT;"), '', 'and gets through');

# --- a try that fails by what a LONG preserves

sub fails_by_long
{
	forget();
	$other->query("$begin SET LOCAL tsurugi_fdw.transaction_type = long; SET LOCAL tsurugi_fdw.write_preserve = bill; $read;");
	$session->query("$begin SELECT count(*) FROM other;");
	$session->send("$bill;");
	my $messages = $session->wait_messages;
	$session->query('ROLLBACK;');
	return $messages;
}

for my $time (1 .. 3)
{
	like(fails_by_long(), qr/40001.*The next serializable transaction of this session waits for the end of that one\./s, 'a LONG preserves what is to be written');
	$session->send("$begin SELECT count(*) FROM other;");
	ok($node->poll_query_until('postgres', "SELECT waits_for = ARRAY[$other_pid] FROM tsurugi.transactions WHERE pid = $pid"),
		'the next try waits for its end');
	$other->query("INSERT INTO bill VALUES (1000 + $time, 0); COMMIT;");
	$session->wait;
	is(kind(), 'default', 'it is an ordinary one, however often that happens');
	is($session->query("SELECT count(*) FROM bill WHERE id = 1000 + $time; $bill; COMMIT;"), 1, 'and sees what the LONG has written');
}

SKIP:
{
	skip 'built without failpoints', 3 if !TestServer::has_failpoints($node);
	forget();
	$session->query("SET tsurugi_fdw.failpoints = 'skip_p3';");
	try_and_fail(2);
	is(next_kind(), 'default', 'P3: without it a transaction may fail for ever');
	fails_by_long();
	$session->query("SET tsurugi_fdw.failpoints = 'skip_p5';");
	$session->query("$begin SELECT count(*) FROM other;");
	is($session->query("$bill;"), 'ERROR 40001', 'P5: without it a try fails at the same place');
	$session->query('ROLLBACK;');
	$other->query('COMMIT;');
	forget();
	try_and_fail(2);
	$session->query("SET tsurugi_fdw.failpoints = 'skip_p4';");
	is($session->query("$begin $read; TRUNCATE bill;"), 'ERROR 0A000', 'P4: without it an error that no try would have had');
	$session->query('ROLLBACK;');
}

$_->close for $session, $other;
$node->stop;
done_testing();

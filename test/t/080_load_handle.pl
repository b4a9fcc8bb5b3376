# tsurugi.load() into a shared transaction by its handle: several load at once, each is rolled back by itself, and
# the whole is there, or nothing; and by sessions that are attached, in their turn.  What is in the way for a while, errors, interrupts, and ends of the transaction.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('load_handle', 'tsurugi_fdw.workers' => 2, deadlock_timeout => '50ms',
	max_prepared_transactions => 2);
my $own = $node->basedir;
my $rows = 5000; # of a file
my ($a, $b, $other) = map { TestServer::Session->new($node) } 1 .. 3;

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub load_of
{
	my ($handle, $file) = @_;

	return "SELECT rows FROM tsurugi.load('t', '{$own/$file}', handle => '$handle')";
}

sub begin { return ask("@_ SELECT tsurugi.begin_transaction('t')") }

sub status { return ask("SELECT tsurugi.transaction_status('$_[0]')") }

sub commit { return by_handle($other, 'commit_transaction', $_[0]) }

# Rows, and how many files they are of.
sub there { return ask('SELECT count(*), count(DISTINCT id / 100000) FROM t') }

sub is_there
{
	my ($files, $name) = @_;

	is(there(), $rows * $files . "|$files", $name);
	ask('DELETE FROM t');
}

sub has_waiter
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'), $name);
}

sub configure { TestServer::configure($node, failpoints => $_[0]) }

sub go_on { TestServer::go_on_to_end($node, shift, '', @_) }

ask(qq{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text NOT NULL) SERVER tsurugi;
	CREATE UNIQUE INDEX t_v ON t (v);
	CREATE FOREIGN TABLE elsewhere (id int, v text) SERVER tsurugi;
	CREATE TABLE source AS SELECT f * 100000 + i AS id, 'value ' || f * 100000 + i AS v FROM generate_series(0, 3) f, generate_series(1, $rows) i});
ask("COPY (SELECT * FROM source WHERE id / 100000 = $_) TO '$own/$_.csv' (FORMAT csv)") for 0 .. 2;
ask("COPY (SELECT * FROM source WHERE id / 100000 = 3) TO '$own/3.parquet' (FORMAT parquet, ROW_GROUP_ROWS 1000)");
ask("COPY (SELECT id, CASE WHEN id % 100000 <> $rows THEN v END FROM source WHERE id / 100000 = 1) TO '$own/null.csv' (FORMAT csv)");

# --- beside each other, at each level -----------------------------------------------------------

for my $level ('read committed', 'repeatable read', 'serializable')
{
	my $handle = begin("SET default_transaction_isolation = '$level';");

	is($a->query('BEGIN; ' . load_of($handle, '0.csv')), $rows, "$level: one loads");
	is($b->query('BEGIN; ' . load_of($handle, '1.csv')), $rows, 'another one, too, before the first has committed');
	is($other->query(load_of($handle, '3.parquet')), $rows, 'and a third one, which commits at once');
	is(status($handle), 'running', 'it is running');
	is($b->query(load_of($handle, '2.csv')), $rows, 'a second load in the same transaction');
	is($a->query('SELECT count(*) FROM t'), '0', 'a session that loads by the handle does not see the rows');
	is($a->query('COMMIT'), '', 'one ends');
	is($b->query('COMMIT'), '', 'the other one ends');
	is(there(), '0|0', 'nobody has seen a row');
	$a->query("SET default_transaction_isolation = '$level'");
	attach($handle, $a);
	is($a->query('SELECT count(*) FROM t; UPDATE t SET v = v WHERE id = 1'), 4 * $rows, 'a session that attaches sees all of them');
	detach($a);
	$a->query('RESET default_transaction_isolation');
	is(commit($handle), '', 'it is committed');
	is_there(4, 'all rows are there');
}

# --- who works in it otherwise, is alone ----------------------------------------------------------

my $handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv'));
attach($handle, $other);
$other->send('SELECT count(*) FROM t;');
has_waiter('a session that is attached waits for a load');
is($a->query('ROLLBACK'), '', 'which is rolled back');
is($other->wait, '0', 'it sees nothing of that');
$other->query('BEGIN; INSERT INTO t VALUES (-1, 0)');
$a->send(load_of($handle, '0.csv') . ';');
has_waiter('a load waits for a session that is attached');
$other->query('COMMIT');
is($a->wait, $rows, 'and loads then');
detach($other);
is(commit($handle), '', 'it is committed');
is(there(), $rows + 1 . '|1', 'without what was rolled back');
ask('DELETE FROM t');

# --- sessions that are attached, or own it: tasks load in their turn -------------------------------

sub attached_load { return "SELECT rows, way FROM tsurugi.load('t', '{$own/$_[0]}')" }

my $caught = q{DO $$ BEGIN PERFORM tsurugi.load('t', '{%s}'); EXCEPTION WHEN unique_violation OR query_canceled THEN NULL; END $$};

for my $level ('read committed', 'repeatable read', 'serializable')
{
	$_->query("SET default_transaction_isolation = '$level'") for $a, $b;
	$handle = begin("SET default_transaction_isolation = '$level';");
	attach($handle, $a, $b);
	is($a->query(attached_load('0.csv')), "$rows|pool", "$level: a session that is attached loads by the pool");
	is($a->query('SELECT count(*) FROM t'), $rows, 'and sees the rows');
	is($b->query('BEGIN; SAVEPOINT s; ' . attached_load('1.csv') . '; ROLLBACK TO s; SELECT count(*) FROM t'), "$rows|pool\n$rows",
		'another one does not see them after a rollback to a savepoint');
	$b->query("INSERT INTO t VALUES (-1, 'of a command before'); DELETE FROM t WHERE id = -1");
	is($b->query('DECLARE c CURSOR FOR SELECT count(*) FROM t WHERE id > 0; ' . attached_load('1.csv') . '; FETCH c; SELECT count(*) FROM t; COMMIT'),
		"$rows|pool\n$rows\n" . 2 * $rows, 'a cursor from before does not, what follows does');
	is($a->query('BEGIN; DELETE FROM t WHERE id / 100000 = 0; ' . attached_load('0.csv') . '; COMMIT'), "$rows|pool", 'in place of rows that it has deleted');
	is($a->query(sprintf($caught, "$own/0.csv")), '', 'one that meets a key is left to the session, whose error is caught');
	detach($a, $b);
	is($a->query(load_of($handle, '3.parquet')), $rows, 'a load by the handle, beside them');
	is(commit($handle), '', 'it is committed');
	is_there(3, 'all of them are there, once');
	$_->query('RESET default_transaction_isolation') for $a, $b;
}
$handle = $a->query(q{BEGIN; SELECT tsurugi.export_transaction('t')});
is($a->query(attached_load('0.csv')), "$rows|pool", 'the owner loads by the pool');
is($a->query('COMMIT'), '', 'it is committed');
is_there(1, 'with these rows');

for my $how ('its owner goes', 'cancelled', 'cancelled, and caught')
{
	my $owner = TestServer::Session->new($node);
	my $pid = $owner->query('SELECT pg_backend_pid()');
	my $loader = $a->query('SELECT pg_backend_pid()');
	my $worker = TestServer::worker_pid($node);

	$handle = $owner->query(q{BEGIN; SELECT tsurugi.export_transaction('t')});
	attach($handle, $a);
	configure('stop:load_stored');
	$a->send(($how =~ /caught/ ? sprintf($caught, "$own/0.csv") : attached_load('0.csv')) . ';');
	TestServer::has_stopped($worker) or die 'no task has stored';
	ask($how =~ /cancelled/ ? "SELECT pg_cancel_backend($loader)" : "SELECT pg_terminate_backend($pid)");
	$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') IN ('aborting', 'aborted')") or die if $how !~ /cancelled/;
	go_on($worker, $a);
	is($a->wait, $how =~ /caught/ ? '' : $how eq 'cancelled' ? 'ERROR 57014' : 'ERROR 25P02', "$how: the load ends");
	is($a->query(attached_load('0.csv')), "$rows|pool", 'and can be done again') if $how =~ /caught/;
	detach($a);
	$owner->query('ROLLBACK') if $how =~ /cancelled/;
	$owner->close;
	is($other->query("INSERT INTO t VALUES (1, 'free')"), '', 'its keys are free');
	is($other->query('DELETE FROM t'), '', 'and nothing is left');
}

# --- its parts, and errors -------------------------------------------------------------------------

$handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv') . '; SAVEPOINT s; ' . load_of($handle, '1.csv'));
$b->query('BEGIN; ' . load_of($handle, '2.csv'));
is($a->query('SAVEPOINT i; ' . load_of($handle, '3.parquet') . '; RELEASE i; ROLLBACK TO s'), $rows, 'a savepoint');
is($b->query('COMMIT'), '', 'another one ends before');
is($a->query(load_of($handle, '3.parquet') . '; COMMIT'), $rows, 'what was rolled back can be loaded again');
is($a->query(load_of($handle, 'null.csv')), 'ERROR 23502', 'a value that does not fit');
is($a->query('BEGIN; ' . load_of($handle, '1.csv') . '; SELECT 1 / 0'), 'ERROR 22012', 'an error after a load');
$a->query('ROLLBACK');
is($a->query("DO \$\$ BEGIN PERFORM * FROM tsurugi.load('t', '{$own/null.csv}', handle => '$handle'); EXCEPTION WHEN not_null_violation THEN NULL; END \$\$"), '', 'an error that is caught');
is(status($handle), 'running', 'the shared transaction goes on');
is(commit($handle), '', 'and is committed');
is(there(), 3 * $rows . '|3', 'with what was not rolled back');
is(ask('SELECT count(*) FROM t WHERE id / 100000 = 1'), '0', 'and nothing else');
ask('DELETE FROM t');

# a load that is rolled back has read that its keys were not there
for my $level ('serializable', 'repeatable read')
{
	$handle = begin("SET default_transaction_isolation = '$level';");
	is($a->query('BEGIN; ' . load_of($handle, '0.csv')), $rows, "$level: a load");
	$a->query('ROLLBACK');
	is($other->query("INSERT INTO t VALUES (7, 'other')"), '', 'somebody has one of its keys then');
	is($a->query(load_of($handle, '1.csv')), $rows, 'another load');
	is(commit($handle), $level eq 'serializable' ? 'ERROR 40001' : '', 'the end of the shared transaction');
	ask('DELETE FROM t');
}

# --- crossing keys ---------------------------------------------------------------------------------

for my $end ('COMMIT', 'ROLLBACK')
{
	$handle = begin();
	$a->query('BEGIN; ' . load_of($handle, '0.csv'));
	$b->send(load_of($handle, '0.csv') . ';');
	has_waiter('a load that has the keys of another one waits for its end');
	is($a->query($end), '', $end);
	is($b->wait, $end eq 'COMMIT' ? 'ERROR 23505' : $rows, 'and fails, or loads');
	is(status($handle), 'running', 'the shared transaction goes on');
	is(commit($handle), '', 'and is committed');
	is_there(1, 'with the rows of one of them');
}
$handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv'));
$b->query('BEGIN; ' . load_of($handle, '1.csv'));
$a->send(load_of($handle, '1.csv') . ';');
has_waiter('one waits for the other one');
is($b->query(load_of($handle, '0.csv')) . ' ' . $a->wait =~ s/\d{4}$/rows/r, "ERROR 40P01 rows", 'which waits for it: a deadlock') or diag(ask('TABLE pg_locks'));
$b->query('ROLLBACK');
is($a->query('COMMIT'), '', 'the other one commits');
is(commit($handle), '', 'as does the shared transaction');
is_there(2, 'with both of its loads');

# two that have loaded side by side, and now wait to be alone, do not wait for each other
my $stopped = TestServer::worker_pid($node);
$handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv'));
configure('stop:load_stored');
$_->send(load_of($handle, '0.csv') . ';') for $b, $other;
$node->poll_query_until('postgres', q{SELECT count(*) = 3 FROM pg_locks WHERE locktype = 'userlock' AND mode = 'ShareLock' AND granted}) or die;
TestServer::has_stopped($stopped) or die;
TestServer::go_on($node, $stopped, '', sub { ask('SELECT count(*) FROM pg_locks WHERE NOT granted') == 2 });
pass('two wait for one');
is($a->query('ROLLBACK'), '', 'which is rolled back');
is(join(' ', sort map { $_->wait } $b, $other), "$rows ERROR 23505", 'one of them loads, and then the other one fails');
is(commit($handle), '', 'the shared transaction is committed');
is_there(1, 'with that load');

# at once, again and again: the same file, or not, of keys that the transaction has deleted
$handle = begin();
for my $files ((['0.csv', '0.csv'], ['3.parquet', '0.csv']) x 5)
{
	my $expected = $files->[0] eq $files->[1] ? "$rows ERROR 23505" : "$rows $rows";

	$a->send(load_of($handle, $files->[0]) . ';');
	$b->send(load_of($handle, $files->[1]) . ';');
	is(join(' ', sort map { $_->wait } $a, $b), $expected, "two load at once: @$files");
	attach($handle, $other);
	is($other->query('SELECT count(*) FROM t; DELETE FROM t'), $expected =~ /ERROR/ ? $rows : 2 * $rows, 'with these rows');
	detach($other);
}
is(commit($handle), '', 'the shared transaction is committed');
is(there(), '0|0', 'without any row');

# --- other transactions ------------------------------------------------------------------------------

for my $end ('ROLLBACK', 'COMMIT')
{
	$handle = begin();
	$other->query("BEGIN; INSERT INTO t VALUES (7, 'other')");
	$a->send(load_of($handle, '0.csv') . ';');
	has_waiter('a load waits for a transaction that has a key');
	$other->query($end);
	is($a->wait, $end eq 'COMMIT' ? 'ERROR 23505' : $rows, "$end of that one");
	is(commit($handle), '', 'the shared transaction is committed');
	is(there(), $end eq 'COMMIT' ? '1|1' : "$rows|1", 'with the load, or without it');
	ask('DELETE FROM t');
}
$handle = begin();
$other->query("BEGIN; INSERT INTO t VALUES (7, 'other')");
is($a->query("SET lock_timeout = '100ms'; " . load_of($handle, '0.csv')), 'ERROR 55P03', 'lock_timeout limits the wait');
is($a->query('RESET lock_timeout; ' . load_of($handle, '1.csv')), $rows, 'there is another file');
$a->send(load_of($handle, '0.csv') . ';');
has_waiter('it waits once more');
is($other->query("INSERT INTO t VALUES (100001, 'other')"), 'ERROR 40P01', 'a transaction that waits for the shared one closes the circle');
$other->query('ROLLBACK');
is($a->wait, $rows, 'and the load goes on');
is(commit($handle), '', 'the shared transaction is committed');
is_there(2, 'with both');

# a circle through ordinary rows, and the turn that loads have together
ask('CREATE TABLE ordinary (id int); INSERT INTO ordinary VALUES (1)');
$handle = begin();
$b->query('BEGIN; ' . load_of($handle, '1.csv'));
$other->query('BEGIN; UPDATE ordinary SET id = 2');
$a->send('BEGIN; ' . load_of($handle, '0.csv') . '; UPDATE ordinary SET id = 3;');
has_waiter('a session that has loaded waits for an ordinary row');
is($other->query("INSERT INTO t VALUES (7, 'other')"), 'ERROR 40P01', 'whose transaction waits for the shared one');
$other->query('ROLLBACK');
is($a->wait, $rows, 'it goes on');
$_->query('COMMIT') for $a, $b;
is(commit($handle), '', 'the shared transaction is committed');
is_there(2, 'with both');

$handle = begin();
$other->query(q{SET tsurugi_fdw.transaction_type = 'long'; SET tsurugi_fdw.write_preserve = 't'; BEGIN; INSERT INTO t VALUES (-1, 'long')});
$a->send(load_of($handle, '0.csv') . ';');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE NOT granted}) or die;
is($other->query('COMMIT'), '', 'a LONG that preserves the table ends');
is($a->wait, $rows, 'and the load goes on');
is(by_handle($a, 'commit_transaction', $handle), '', 'the shared transaction is committed');
is($other->query(q{SET tsurugi_fdw.write_preserve = 't [{-9},{-1}]'; BEGIN; INSERT INTO t VALUES (-2, 'long 2')}), '', 'a LONG preserves a range');
$handle = begin();
is($a->query(load_of($handle, '1.csv')), 'ERROR 55006', 'beside that a load is refused');
attach($handle, $a);
is($a->query("SELECT rows FROM tsurugi.load('t', '{$own/1.csv}')"), $rows, 'but for a session that is attached');
detach($a);
is($other->query('COMMIT; RESET tsurugi_fdw.transaction_type; RESET tsurugi_fdw.write_preserve'), '', 'it ends');
is(commit($handle), '', 'the shared transaction is committed');
is(there(), 2 * $rows + 2 . '|2', 'with both loads');
ask('DELETE FROM t');

# --- interrupts ---------------------------------------------------------------------------------------

for my $how ('cancel', 'terminate')
{
	my $gone = TestServer::Session->new($node);
	my $pid = $gone->query('SELECT pg_backend_pid()');
	my $worker = TestServer::worker_pid($node);

	$handle = begin();
	$b->query('BEGIN; ' . load_of($handle, '1.csv'));
	configure('stop:load_stored');
	$gone->send(load_of($handle, '0.csv') . ';');
	TestServer::has_stopped($worker) or die 'no task has stored';
	ask("SELECT pg_${how}_backend($pid)");
	go_on($worker, $gone);
	is($gone->wait, $how eq 'cancel' ? 'ERROR 57014' : 'ERROR 57P01', "$how: the load ends");
	$gone->close;
	is($b->query('COMMIT'), '', 'another one does not mind');
	is($a->query(load_of($handle, '0.csv')), $rows, 'its keys are free');
	is(commit($handle), '', 'and the shared transaction is committed');
	is_there(2, 'with the rows of others');
}

# --- its end, while it is loaded into ------------------------------------------------------------------

for my $case (
	[ 'its owner rolls back', sub { $_[0]->send('ROLLBACK;') }, 1 ],
	[ 'its owner goes', sub { ask('SELECT pg_terminate_backend(' . $_[1] . ')') }, 1 ],
	[ 'it is ended by its id', sub { $_[0]->send('SELECT tsurugi.abort_transaction(id) FROM tsurugi.shared_transactions ORDER BY id DESC LIMIT 1;') }, 0 ])
{
	my ($name, $ends, $exported) = @$case;
	my $owner = TestServer::Session->new($node);
	my $pid = $owner->query('SELECT pg_backend_pid()');
	my $worker = TestServer::worker_pid($node);

	$handle = $exported ? $owner->query(q{BEGIN; SELECT tsurugi.export_transaction('t')}) : begin();
	$b->query('BEGIN; ' . load_of($handle, '1.csv'));
	configure('stop:load_stored');
	$a->send(load_of($handle, '0.csv') . ';');
	TestServer::has_stopped($worker) or die 'no task has stored';
	$ends->($owner, $pid);
	$node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') IN ('aborting', 'aborted')") or die;
	go_on($worker, $a, $exported && $name =~ /goes/ ? () : $owner);
	is($a->wait, 'ERROR 25P02', "$name: a load that runs ends");
	ok($node->poll_query_until('postgres', "SELECT tsurugi.transaction_status('$handle') = 'aborted'"), 'it is aborted');
	is($other->query("INSERT INTO t VALUES (1, 'free'), (100001, 'free too')"), '', 'the keys of its loads are free at once');
	is($b->query('COMMIT'), 'ERROR 25P02', 'one that has loaded cannot commit');
	is($other->query('DELETE FROM t'), '', 'and has left nothing');
	is($a->query(load_of($handle, '0.csv')), 'ERROR 25P02', 'nobody loads any more');
	$owner->close;
	is(there(), '0|0', 'nothing is there');
}

$handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv'));
is(commit($handle), 'ERROR 25P02', 'no commit beside a load');
is($a->query('COMMIT'), 'ERROR 25P02', 'which cannot commit either');
is(there(), '0|0', 'nothing is there');
$handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv'));
is(by_handle($other, 'abort_transaction', $handle), '', 'an abort');
is(status($handle), 'aborting', 'waits for it');
is($a->query('COMMIT'), 'ERROR 25P02', 'it cannot commit');
is(status($handle), 'aborted', 'and then all is aborted');

# --- what is refused, and leaves the shared transaction alone --------------------------------------------

ask(q{CREATE FOREIGN TABLE checked (id int, v text CHECK (v <> '')) SERVER tsurugi});
$handle = ask(q{SELECT tsurugi.begin_transaction('t', 'checked')});
my $load = load_of($handle, '0.csv');
my $another = begin();
for my $case (
	[ 'another table', "SELECT tsurugi.load('elsewhere', '{$own/0.csv}', handle => '$handle')", '55000' ],
	[ 'a table that only sessions can load', "SELECT tsurugi.load('checked', '{$own/0.csv}', handle => '$handle')", '0A000' ],
	[ 'rows that are left out', "SELECT tsurugi.load('t', '{$own/0.csv}', handle => '$handle', on_error => 'skip')", '0A000' ],
	[ 'a transaction that has written', "BEGIN; INSERT INTO t VALUES (-1, ''); $load", '25001' ],
	[ 'two shared transactions', "BEGIN; $load; " . load_of($another, '1.csv'), '55000' ],
	[ 'a read-only transaction', "BEGIN READ ONLY; $load", '25006' ],
	[ 'PREPARE TRANSACTION', "BEGIN; $load; PREPARE TRANSACTION 'p'", '0A000' ],
	[ 'to attach afterwards', "BEGIN; $load; SELECT tsurugi.attach_transaction('$handle')", '25001' ],
	[ 'a session that is attached', "SELECT tsurugi.attach_transaction('$another'); $load", '55000' ])
{
	my ($name, $sql, $code) = @$case;
	my $session = TestServer::Session->new($node);

	is($session->query($sql), "ERROR $code", "refused: $name");
	$session->close;
	is(status($handle), 'running', 'it is running');
}
is($a->query("SELECT rows, way FROM tsurugi.load('t', '{$own/3.parquet}', handle => '$handle', dry_run => true)"), "$rows|pool", 'a dry run stores nothing');
is(commit($handle), '', 'it is committed');
is(there(), '0|0', 'with nothing');
by_handle($other, 'abort_transaction', $another);
for my $kind ('short', 'long')
{
	$handle = begin("SET tsurugi_fdw.transaction_type = '$kind';");
	is($a->query(load_of($handle, '0.csv')), 'ERROR 0A000', "refused: of kind $kind");
	by_handle($other, 'abort_transaction', $handle);
}

# --- after a crash ------------------------------------------------------------------------------------------

$handle = begin();
$a->query('BEGIN; ' . load_of($handle, '0.csv'));
$b->query(load_of($handle, '1.csv'));
$a->query(load_of($handle, '3.parquet') . '; COMMIT');
is(commit($handle), '', 'committed');
$handle = begin();
$a->query(load_of($handle, '2.csv'));
$node->stop('immediate');
$node->start;
is(ask('SELECT count(*) FROM ((TABLE t EXCEPT SELECT * FROM source WHERE id / 100000 <> 2) UNION ALL (SELECT * FROM source WHERE id / 100000 <> 2 EXCEPT TABLE t)) d'), '0', 'what was committed is there after a crash, and nothing else');
is(ask('SELECT count(*) FROM tsurugi.transactions'), '0', 'no transaction is open');
eval { $_->close } for $a, $b, $other;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

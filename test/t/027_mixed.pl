# A commit that changes foreign and ordinary tables is seen as a whole by every statement, at every
# level: with the committer, or the reader, stopped between PostgreSQL's moment and ours, and under
# load.  The rules are those of src/txn/mixed.c; each is taken out once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

# mixed_keep: what has ended is kept however slow the machine is
my $node = TestServer::start('mixed', 'max_prepared_transactions' => 2, 'tsurugi_fdw.failpoints' => "'mixed_keep'");
my $writer = TestServer::Session->new($node);
my $reader = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);
my @levels = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE');
my $both = 'SELECT (SELECT v FROM ordinary WHERE id = 1) - 100, (SELECT v FROM inmemory WHERE id = 1) - 100,
	(SELECT v FROM inmemory WHERE id = 2);';
my $write = 'UPDATE ordinary SET v = v + 1 WHERE id = 1; UPDATE inmemory SET v = v + 1 WHERE id = 1;';
my $build = 'UPDATE inmemory SET v = (SELECT v - 100 FROM inmemory WHERE id = 1) WHERE id = 2;';

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE inmemory (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, v int);
});
$writer->query('SET tsurugi_fdw.serializable_mixed = relaxed;');
my $pid = $reader->query('SELECT pg_backend_pid();');
my $writer_pid = $writer->query('SELECT pg_backend_pid();');

# The reader is where the condition on its pg_stat_activity says.
sub reader_is
{
	my ($condition) = @_;

	return $node->poll_query_until('postgres', "SELECT $condition FROM pg_stat_activity WHERE pid = $pid");
}

# Both halves at 100, and row 2 of the foreign table, which is built on them, at 0.
sub reset_rows
{
	$other->query('BEGIN; TRUNCATE inmemory, ordinary; INSERT INTO inmemory VALUES (1, 100), (2, 0);
		INSERT INTO ordinary VALUES (1, 100), (2, 0); COMMIT;');
}

# The reader's transaction at a level, stopped between PostgreSQL's snapshot and its time.
sub stop_reader
{
	my ($level, $bug, $statement) = @_;

	$reader->query("BEGIN ISOLATION LEVEL $level; SET LOCAL tsurugi_fdw.failpoints = 'stop:before_time,mixed_keep$bug';");
	$reader->send($statement);
	return TestServer::has_stopped($pid);
}

# It goes on.  Returns what it has seen.
sub go_on
{
	$reader->{in} .= "SET LOCAL tsurugi_fdw.failpoints = 'mixed_keep';\n";
	kill 'CONT', $pid;
	return $reader->wait;
}

# The writer's commit, stopped before PostgreSQL's moment or after it.
sub stop_writer
{
	my ($place, $level, $statements) = @_;

	$writer->query("BEGIN ISOLATION LEVEL $level; SET LOCAL tsurugi_fdw.failpoints = 'stop:$place,mixed_keep'; $statements");
	$writer->send('COMMIT;');
	return TestServer::has_stopped($writer_pid);
}

SKIP:
{
	skip 'built without failpoints', 1
		if !TestServer::has_failpoints($node);

	for my $level (@levels)
	{
		# a committer stops before PostgreSQL's moment: neither half is there, and nobody waits
		reset_rows();
		ok(stop_writer('pre_commit', $level, $write), "$level: a committer has stopped before");
		$reader->query("BEGIN ISOLATION LEVEL $level;");
		is($reader->query($both), '0|0|0', 'neither half is seen');
		kill 'CONT', $writer_pid;
		$writer->wait;
		is($reader->query($both), $level eq 'READ COMMITTED' ? '1|1|0' : '0|0|0', 'nor later, but by the next snapshot');
		$reader->query('COMMIT;');

		# and after it: who sees one half waits for the other (rule 1)
		ok(stop_writer('commit', $level, $write), 'after');
		$reader->send("BEGIN ISOLATION LEVEL $level; $both");
		ok(reader_is(q{wait_event_type = 'Lock'}), 'a reader of both waits');
		kill 'CONT', $writer_pid;
		is($reader->wait, '2|2|0', 'and sees both');
		$reader->query('COMMIT;');
		$writer->wait;

		# the reader stops between its snapshot and its time, and a whole commit comes between, and what is built on it (rule 2)
		for my $bug ('', ',skip_match')
		{
			reset_rows();
			ok(stop_reader($level, $bug, $both), 'a reader has stopped');
			$writer->query("BEGIN ISOLATION LEVEL $level; $write COMMIT;");
			$other->query($build);
			is(go_on(), $bug eq '' ? '0|0|0' : '0|1|1', $bug eq '' ? 'it sees neither half' : 'without the rule it sees one');
			is($reader->query('COMMIT;'), $bug eq '' && $level eq 'SERIALIZABLE' ? 'ERROR 40001' : '',
				'and commits, if that is a moment in the order of commits');
		}

		# without E what was built on the foreign half is seen
		reset_rows();
		ok(stop_reader($level, '', $both), 'a reader has stopped');
		$writer->query("BEGIN ISOLATION LEVEL $level; SET LOCAL tsurugi_fdw.failpoints = 'mixed_no_bound'; $write COMMIT;");
		$other->query($build);
		is(go_on(), '0|0|1', 'without E it sees what was built on the half that it does not see');
		$reader->query('ROLLBACK;');

		# both stop: PREPARED before the reader's time, ended after it
		reset_rows();
		ok(stop_reader($level, '', $both), 'a reader has stopped');
		ok(stop_writer('pre_commit', $level, $write), 'and a committer');
		is(go_on(), '0|0|0', 'it is not waited for');
		kill 'CONT', $writer_pid;
		$writer->wait;
		$reader->query('COMMIT;');

		# what was there before what is excluded stays (rule 5)
		reset_rows();
		my $clock = $node->safe_psql('postgres', 'SELECT clock FROM tsurugi.runtime');
		ok(stop_reader($level, '', 'DECLARE c CURSOR FOR SELECT v - 100 FROM inmemory WHERE id = 1;'), 'a cursor has stopped');
		$writer->query("BEGIN ISOLATION LEVEL $level; $write COMMIT;");
		is($node->safe_psql('postgres', "SELECT horizon <= $clock FROM tsurugi.runtime"), 't', 'the horizon respects a transaction that has no time yet');
		is(go_on(), '', 'its time is before the commit');
		$other->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'mixed_forget'; UPDATE ordinary SET v = 0 WHERE id = 2;
			UPDATE inmemory SET v = 0 WHERE id = 2; COMMIT;");
		is($node->safe_psql('postgres', "SELECT horizon <= $clock FROM tsurugi.runtime"), 't', 'the horizon stays before it');
		$other->query('UPDATE inmemory SET v = v + 1 WHERE id = 1;') for 1 .. 3;
		is($reader->query('FETCH c;'), 0, 'and what was there is read');
		$reader->query('COMMIT;');

		# who has no time yet when it is forgotten
		reset_rows();
		ok(stop_reader($level, '', $both), 'a reader has stopped');
		$writer->query("BEGIN ISOLATION LEVEL $level; $write COMMIT;");
		$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'mixed_forget'; $write COMMIT;");
		is(go_on(), 'ERROR 40001', 'it is too late');
		$reader->query('ROLLBACK;');
		is($reader->query($both), '2|2|0', 'for that snapshot only');
	}

	# what was built on an ordinary half, in foreign tables alone, while the foreign half is not there (rule 8)
	my $other_pid = $other->query('SELECT pg_backend_pid();');
	for my $bug ('', 'mixed_no_follow')
	{
		reset_rows();
		ok(stop_reader('REPEATABLE READ', '', $both), 'a reader has stopped');
		ok(stop_writer('commit', 'READ COMMITTED', $write), 'and a committer, between the two moments');
		$other->query("SET tsurugi_fdw.failpoints = '$bug';");
		$other->send('UPDATE inmemory SET v = (SELECT v - 100 FROM ordinary WHERE id = 1) WHERE id = 2;');
		if ($bug eq '')
		{
			ok($node->poll_query_until('postgres',
				"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $other_pid"), 'a transaction that builds on one half waits for the other');
		}
		else { is($other->wait, '', 'without the rule nobody waits'); }
		is(go_on(), $bug eq '' ? '0|0|0' : '0|0|1', $bug eq '' ? 'and is not seen' : 'and what was built on a half is seen');
		$reader->query('COMMIT;');
		kill 'CONT', $writer_pid;
		$writer->wait;
		$other->wait if $bug eq '';
		is($other->query('RESET tsurugi_fdw.failpoints;' . $both), '1|1|1', 'later all of it is there');
	}

	# a snapshot that shows all that has been forgotten is not too late, be it from before a newer xid completed (rule 6)
	reset_rows();
	$writer->query("BEGIN; $write COMMIT;");
	ok(stop_reader('READ COMMITTED', '', $both), 'a reader has stopped after a commit');
	$other->query('UPDATE ordinary SET v = v WHERE id = 2;');
	$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'mixed_forget'; $write COMMIT;");
	is(go_on(), '1|1|0', 'which is forgotten, but not before the snapshot is old');
	$reader->query('COMMIT;');

	# a statement that waits for a row has its time before, and so is not too late afterwards
	reset_rows();
	$other->query('BEGIN; UPDATE inmemory SET v = v + 1 WHERE id = 2;');
	$reader->send('INSERT INTO inmemory VALUES (2, 7) ON CONFLICT (id) DO UPDATE SET v = inmemory.v + 100 RETURNING v;');
	ok(reader_is("wait_event_type = 'Lock'"), 'an upsert waits for a row');
	$writer->query("BEGIN; $write COMMIT;");
	$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'mixed_forget'; $write COMMIT;");
	$other->query('COMMIT;');
	is($reader->wait, '101', 'and goes on after commits of both kinds that have been forgotten');

	# a row whose newest version is excluded: READ COMMITTED goes on with it, the others would lose an update
	for my $level (@levels)
	{
		reset_rows();
		ok(stop_reader($level, '', 'UPDATE inmemory SET v = v + 10 WHERE id = 1 RETURNING v - 100;'), "$level: a writer has stopped");
		$writer->query("BEGIN; $write COMMIT;");
		is(go_on(), $level eq 'READ COMMITTED' ? 11 : 'ERROR 40001', 'and goes on with the newest version, or not at all');
		$reader->query('COMMIT;');
	}

	# a snapshot with exclusions is no moment in the order of commits: SERIALIZABLE is validated though it writes nothing
	for my $bug ('', ',mixed_reads')
	{
		reset_rows();
		ok(stop_reader('SERIALIZABLE', '', $both), 'a reader has stopped');
		ok(stop_writer('pre_commit', 'SERIALIZABLE', "SELECT v FROM inmemory WHERE id = 2; $write"), 'and a committer that has read');
		is($other->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE inmemory SET v = 7 WHERE id = 2; COMMIT;'), '',
			'what it has read is changed');
		kill 'CONT', $writer_pid;
		$writer->wait;
		is(go_on(), '0|0|7', 'the reader sees that, and neither half');
		$reader->query("SET LOCAL tsurugi_fdw.failpoints = 'mixed_keep$bug';");
		is($reader->query('COMMIT;'), $bug eq '' ? 'ERROR 40001' : '',
			$bug eq '' ? 'it is in a circle' : 'which nobody sees without validation');
		$reader->query('RESET tsurugi_fdw.failpoints;');
	}

	# an extension keeps PostgreSQL's snapshot
	reset_rows();
	$reader->query("BEGIN ISOLATION LEVEL SERIALIZABLE; $both");
	$other->query('UPDATE inmemory SET v = 5 WHERE id = 2;');
	is($reader->query('UPDATE inmemory SET v = v + 1 WHERE id = 2 RETURNING v;'), 'ERROR 40001', 'what was read has changed');
	$reader->query("ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM ordinary WHERE id = 1;");
	$other->query('UPDATE inmemory SET v = 6 WHERE id = 2;');
	is($reader->query('UPDATE inmemory SET v = v + 1 WHERE id = 2 RETURNING v;'), 7, 'it is extended over a foreign commit');
	$reader->query("ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM ordinary WHERE id = 1;");
	$writer->query("BEGIN; $write COMMIT;");
	is($reader->query('UPDATE inmemory SET v = v + 10 WHERE id = 1 RETURNING v;'), 'ERROR 40001', 'and not over a mixed one');
	$reader->query("ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM ordinary WHERE id = 1;");
	$writer->query("BEGIN; $write COMMIT;");
	$other->query('UPDATE inmemory SET v = 8 WHERE id = 2;');
	is($reader->query('UPDATE inmemory SET v = v + 1 WHERE id = 2 RETURNING v;'), 'ERROR 40001', 'nor beyond it');
	$reader->query('ROLLBACK;');

	# interrupts while it waits
	ok(stop_writer('commit', 'READ COMMITTED', $write), 'a committer has stopped');
	$reader->query("SET statement_timeout = '300ms';");
	is($reader->query($both), 'ERROR 57014', 'the wait for it can be interrupted');
	$reader->query('RESET statement_timeout;');
	kill 'CONT', $writer_pid;
	$writer->wait;
	is($writer->query("BEGIN; $write COMMIT;"), '', 'and nobody is hindered afterwards');
}
$node->safe_psql('postgres', 'ALTER SYSTEM SET tsurugi_fdw.failpoints = \'\'');
$node->reload;

# under load: several who commit, some of them slowly, one who looks, at each level
$node->safe_psql('postgres', q{
	CREATE PROCEDURE change(id int, times int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR i IN 1 .. times LOOP
			UPDATE ordinary o SET v = v + 1 WHERE o.id = change.id;
			UPDATE inmemory f SET v = v + 1 WHERE f.id = change.id;
			IF i % 7 = 0 THEN ROLLBACK; ELSE COMMIT; END IF;
		END LOOP;
	END $$;
	TRUNCATE ordinary, inmemory;
	INSERT INTO inmemory SELECT i, 0 FROM generate_series(1, 4) i;
	INSERT INTO ordinary SELECT i, 0 FROM generate_series(1, 4) i;
});
my $script = $node->basedir . '/look.sql';
append_to_file($script, 'SELECT 1 / (count(*) = 0)::int FROM ordinary o JOIN inmemory f USING (id) WHERE o.v <> f.v;');
my @writers = map { TestServer::Session->new($node) } 1 .. 3;
for my $level (@levels)
{
	$writers[$_ - 1]->send("CALL change($_, 700);") for 1 .. 3;
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=' . lc($level) =~ s/ /\\ /r;
	for my $mode (qw(simple prepared))
	{
		# a snapshot with exclusions is not serializable beside what it excludes
		my @retry = $level eq 'SERIALIZABLE' ? ('--max-tries=100') : ();
		$node->command_ok([ 'pgbench', '--random-seed=1', '-n', '-c', '2', '-t', '200', '-M', $mode, @retry, '-f', $script, 'postgres' ],
			"$level, $mode: no half of a commit is seen");
	}
	is($_->wait, '', 'a writer has ended') for @writers;
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM ordinary JOIN inmemory USING (id, v)'), 4, 'all halves are there');

# PREPARE TRANSACTION at SERIALIZABLE: after a change of foreign tables, and after reading them
$writer->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE inmemory SET v = -5 WHERE id = 1;');
is($writer->query("PREPARE TRANSACTION 'a'; ROLLBACK PREPARED 'a'; SELECT count(*) FROM inmemory WHERE v = -5;"), 0, 'a change is prepared');
$writer->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM inmemory; UPDATE ordinary SET v = -1 WHERE id = 1;');
is($writer->query("PREPARE TRANSACTION 'b';"), '', 'what only reads is');
$writer->query("COMMIT PREPARED 'b';");
is($writer->query('SELECT v FROM ordinary WHERE id = 1;'), -1, 'and commits');

# An index gets values of deleted rows, too, as long as they are kept for readers who may come.  A
# cancel in one of them ends the statement, and nothing stays of the subtransaction it is computed in.
SKIP:
{
	skip 'built without failpoints', 1
		if !TestServer::has_failpoints($node);
	$writer->query(q{CREATE FUNCTION cancelled(v int) RETURNS int IMMUTABLE LANGUAGE plpgsql
		AS 'BEGIN PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(100); RETURN v; END';});
	$writer->query('BEGIN; UPDATE ordinary SET v = 7; DELETE FROM inmemory; COMMIT;');
	is($writer->query('CREATE INDEX ON inmemory (cancelled(v));'), 'ERROR 57014', 'the values of a deleted row are cancelled');
	is($writer->query('SELECT count(*) FROM inmemory;'), 0, 'and the session is in no transaction');
}

$_->close for $writer, $reader, $other, @writers;
$node->stop;
done_testing();

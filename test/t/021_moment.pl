# LONG and READ ONLY read foreign and ordinary tables as of one moment (src/txn/moment.c): with committers stopped between
# PostgreSQL's moment and ours, at each level, and with each rule taken out.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use SharedTransaction qw(by_handle);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('moment', 'wal_level' => 'replica'); # a LOCK has an xid
my $writer = TestServer::Session->new($node);
my $reader = TestServer::Session->new($node);
my $other = TestServer::Session->new($node);
my $both = 'SELECT (SELECT v FROM ordinary WHERE id = 1), (SELECT v FROM inmemory WHERE id = 1);';
my $write = 'UPDATE ordinary SET v = v + 1 WHERE id = 1; UPDATE inmemory SET v = v + 1 WHERE id = 1;';

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE inmemory (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE mine (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, v int);
	CREATE TABLE parent (id int PRIMARY KEY);
	CREATE TABLE child (p int REFERENCES parent);
	CREATE TABLE child_inmemory (p int REFERENCES parent) USING tsurugi;
	CREATE TABLE child_deferred (p int REFERENCES parent DEFERRABLE INITIALLY DEFERRED) USING tsurugi;
	CREATE TABLE parent_inmemory (id int PRIMARY KEY) USING tsurugi;
	CREATE TABLE child_of_inmemory (p int REFERENCES parent_inmemory ON DELETE CASCADE);
	INSERT INTO parent_inmemory VALUES (1);
	CREATE FUNCTION count_rows() RETURNS bigint VOLATILE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(v) FROM ordinary WHERE id = 1); END';
	INSERT INTO mine VALUES (1, 0);
});
my $pid = $reader->query('SELECT pg_backend_pid();');
my $writer_pid = $writer->query('SELECT pg_backend_pid();');

sub reset_rows
{
	$other->query('BEGIN; TRUNCATE inmemory, ordinary; INSERT INTO inmemory VALUES (1, 0), (2, 0);
		INSERT INTO ordinary VALUES (1, 0), (2, 0); COMMIT;');
}

sub begin_reader
{
	my ($level, $kind, $bug) = @_;

	$reader->query("BEGIN ISOLATION LEVEL $level; SET LOCAL tsurugi_fdw.transaction_type = '$kind';
		SET LOCAL tsurugi_fdw.write_preserve = '" . ($kind eq 'long' ? 'mine, child_inmemory, child_deferred, parent_inmemory' : '') . "';
		SET LOCAL tsurugi_fdw.failpoints = '" . ($bug // '') . "';");
}

sub stop_writer
{
	my ($place) = @_;

	$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:$place'; $write");
	$writer->send('COMMIT;');
	return TestServer::has_stopped($writer_pid);
}

sub go_on
{
	kill 'CONT', $writer_pid;
	$writer->wait;
}

sub waits
{
	return $node->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid");
}

my $has_failpoints = TestServer::has_failpoints($node);

for my $kind ('long', 'read_only')
{
	for my $level ('READ COMMITTED', 'REPEATABLE READ')
	{
		# a transaction of these kinds stays at its moment, in both kinds of tables
		reset_rows();
		begin_reader($level, $kind);
		is($reader->query($both), '0|0', "$kind, $level: the first statement");
		$writer->query("BEGIN; $write COMMIT;");
		is($reader->query($both), '0|0', 'the next one sees the same of both');
		is($reader->query('SELECT v FROM ordinary WHERE id = 1;'), 0, 'and one of ordinary tables alone');
		is($reader->query('SELECT count_rows() + (SELECT v FROM inmemory WHERE id = 1);'), 0, 'and a function');
		is($reader->query('COPY ordinary TO STDOUT;') =~ s{\s+}{ }gr, '1 0 2 0', 'and COPY');
		is($reader->query('DECLARE c CURSOR WITH HOLD FOR SELECT v FROM ordinary WHERE id = 1; SAVEPOINT a;'), '', 'a cursor');
		is($reader->query('SELECT 1 / 0;'), 'ERROR 22012', 'an error');
		is($reader->query("ROLLBACK TO a; $both"), '0|0', 'after a savepoint, too');
		is($reader->query('COMMIT; FETCH c;'), 0, 'and a cursor that is held');
		is($reader->query('CLOSE c;' . $both), '1|1', 'the next transaction sees all of it');

		next if !$has_failpoints;
		for my $place ('pre_commit', 'commit')
		{
			for my $bug ('', 'mixed_no_gate')
			{
				reset_rows();
				ok(stop_writer($place), "$kind, $level: a committer has stopped at $place");
				begin_reader($level, $kind, $bug);
				$reader->send($both) if $bug eq '' || $place eq 'commit';
				ok(waits(), 'who begins waits for it') if $bug eq '' || $place eq 'commit';
				if ($bug ne '' && $place eq 'pre_commit')
				{
					# what is PREPARED by then would be seen once it has ended: half of it
					$reader->query('SELECT v FROM ordinary WHERE id = 1 AND (SELECT v FROM mine) = 0;');
					go_on();
					is($reader->query($both), '0|1', 'without the gate it sees one half');
				}
				else
				{
					go_on();
					is($reader->wait, '1|1', 'and sees both halves');
				}
				is($reader->query('COMMIT;'), '', 'and ends');
			}
		}

		# without the snapshot each statement reads ordinary tables at its own
		reset_rows();
		begin_reader($level, $kind, 'moment_not_given');
		$reader->query($both);
		$writer->query("BEGIN; $write COMMIT;");
		is($reader->query($both), $level eq 'READ COMMITTED' ? '1|0' : '0|0', 'the rule taken out');
		$reader->query('COMMIT;');
	}

	# at PostgreSQL's SERIALIZABLE both are its own: they fit, or not
	reset_rows();
	begin_reader('SERIALIZABLE', $kind);
	is($reader->query($both), '0|0', "$kind, SERIALIZABLE: no commit between the snapshots");
	$writer->query("BEGIN; $write COMMIT;");
	is($reader->query($both), '0|0', 'nor after them');
	is($reader->query('COMMIT;'), '', 'it ends');
	begin_reader('SERIALIZABLE', $kind);
	$reader->query('SELECT v FROM ordinary WHERE id = 1;');
	$writer->query("BEGIN; $write COMMIT;");
	is($reader->query('SELECT v FROM inmemory WHERE id = 1;'), 2, 'a commit between them');
	is($reader->query($both), 'ERROR 40001', 'is not seen by halves');
	$reader->query('ROLLBACK;');
}

# SHORT stays at its moment, too; one that has not read ordinary tables goes on to another one
for my $bug ($has_failpoints ? ('', 'moment_not_given') : (''))
{
	reset_rows();
	begin_reader('READ COMMITTED', 'short', $bug);
	is($reader->query($both), '0|0', 'SHORT');
	$reader->query('DECLARE c CURSOR FOR SELECT o.v, m.v FROM ordinary o JOIN inmemory m USING (id) ORDER BY id');
	$writer->query("BEGIN; $write COMMIT;");
	is($reader->query($both), $bug eq '' ? '0|0' : '1|0', $bug eq '' ? 'sees the same of both' : 'the rule taken out');
	is($reader->query('FETCH 1 FROM c'), '0|0', 'and a cursor');
	is($reader->query('SELECT v + count_rows() FROM inmemory WHERE id = 1'), $bug eq '' ? 0 : 1, 'and a function');
	is($reader->query('INSERT INTO ordinary VALUES (3, 3); SELECT sum(v) FROM ordinary'), $bug eq '' ? 3 : 4, 'and its own changes');
	is($reader->query('UPDATE inmemory SET v = v + 1 WHERE id = 1'), 'ERROR 40001', 'but cannot go on to what it does not see')
		if $bug eq '';
	$reader->query('ROLLBACK');

	begin_reader('READ COMMITTED', 'short', $bug);
	is($reader->query('SELECT v FROM mine'), 0, 'SHORT in foreign tables alone');
	$writer->query("BEGIN; $write COMMIT;");
	is($reader->query('UPDATE inmemory SET v = v + 1 WHERE id = 1 RETURNING v'), 3, 'goes on to another moment');
	is($reader->query($both), '2|3', 'and both are of it');
	$other->query('UPDATE ordinary SET v = 9 WHERE id = 1');
	is($reader->query($both), $bug eq '' ? '2|3' : '9|3', 'ever after');
	is($reader->query('COMMIT'), '', 'and commits');
}

# READ ONLY that comes to ordinary tables later
reset_rows();
begin_reader('READ COMMITTED', 'read_only');
is($reader->query('SELECT v FROM inmemory WHERE id = 1;'), 0, 'READ ONLY begins with foreign tables alone');
is($reader->query($both), '0|0', 'and reads ordinary ones, while they fit');
$writer->query("BEGIN; $write COMMIT;");
is($reader->query('SELECT v FROM inmemory WHERE id = 1;'), 0, 'foreign ones ever after');
is($reader->query($both), 'ERROR 40001', 'ordinary ones no longer');
$reader->query('ROLLBACK;');

# what LONG does in ordinary tables: its own changes are seen, foreign keys look at what is there now
reset_rows();
$reader->query("SET tsurugi_fdw.serializable_mixed = 'relaxed';");
begin_reader('READ COMMITTED', 'long');
is($reader->query($both), '0|0', 'LONG');
$other->query('INSERT INTO parent VALUES (1); INSERT INTO child_of_inmemory VALUES (1); UPDATE ordinary SET v = 5 WHERE id = 2;');
is($reader->query('SELECT count(*) FROM parent;'), 0, 'does not see what came later');
is($reader->query('INSERT INTO child VALUES (1);'), '', 'but its foreign keys do');
is($reader->query('INSERT INTO child_inmemory VALUES (1);'), '', 'those of foreign tables, too');
is($reader->query('INSERT INTO child_deferred VALUES (1);'), '', 'deferred ones at the end');
is($reader->query('DELETE FROM parent_inmemory;'), '', 'and their actions');
is($reader->query('SELECT count(*) FROM child_of_inmemory;'), 0, 'which leave nothing');
is($reader->query('INSERT INTO ordinary VALUES (3, 3) RETURNING v;'), 3, 'it writes');
is($reader->query('SELECT sum(v) FROM ordinary;'), 3, 'and sees what it wrote');
is($reader->query('UPDATE ordinary SET v = v + 1 WHERE id = 2 RETURNING v;'), 6, 'an update goes on with the newest version');
is($reader->query('ALTER TABLE child ADD CONSTRAINT again FOREIGN KEY (p) REFERENCES parent;'), '', 'a constraint is checked as of now');
is($reader->query('UPDATE mine SET v = v + 1 RETURNING v;'), 1, 'and in its area');
is($reader->query('COMMIT;'), '', 'it commits');
is($other->query('SELECT count(*) FROM child_of_inmemory;'), 0, 'and no orphan is left');

# S before a commit that the snapshot of ordinary tables shows (L6): READ ONLY waits for the LONG
for my $bug ($has_failpoints ? ('', 'moment_late') : (''))
{
	reset_rows();
	$other->query("BEGIN; SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 'mine';
		SELECT v FROM mine;");
	$writer->query("BEGIN; $write COMMIT;");
	begin_reader('READ COMMITTED', 'read_only', $bug);
	if ($bug eq '')
	{
		$reader->send($both);
		ok(waits(), 'READ ONLY waits for a LONG that began before a commit of both');
		$other->query('COMMIT;');
		is($reader->wait, '1|1', 'and sees both halves');
	}
	else
	{
		is($reader->query($both), '1|0', 'without the rule it sees one');
		$other->query('COMMIT;');
	}
	$reader->query('COMMIT;');
}

# a LONG that waits for its start is woken by whoever ends, and closes the gate only when it may start
if ($has_failpoints)
{
	reset_rows();
	$other->query('BEGIN; UPDATE mine SET v = v;');
	$reader->query("SET deadlock_timeout = '100s'");
	begin_reader('READ COMMITTED', 'long');
	$reader->send($both);
	$node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not wait';
	ok(stop_writer('pre_commit'), 'a LONG waits for its start, and a committer has stopped');
	is(TestServer::sqlstate($node, "SET lock_timeout = '10s';"
			. 'BEGIN; UPDATE inmemory SET v = v + 1 WHERE id = 2; UPDATE ordinary SET v = v + 1 WHERE id = 2; COMMIT;' x 20),
		'00000', 'others commit');
	$other->query('COMMIT;');
	ok(waits(), 'when it may start it waits for the committer');
	go_on();
	is($reader->wait, '1|1', 'and sees both halves');
	$reader->query('COMMIT; RESET deadlock_timeout;');

	# an error that is caught opens it
	begin_reader('READ COMMITTED', 'long', 'closed_error');
	is($reader->query('DO $$BEGIN PERFORM v FROM inmemory; EXCEPTION WHEN out_of_memory THEN END$$; SET LOCAL tsurugi_fdw.failpoints = DEFAULT'), '', 'an error while the gate is closed');
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND mode = 'ExclusiveLock'"), 0, 'opens it');
	is($reader->query($both), '1|1', 'and the next attempt is as good as the first');
	$reader->query('COMMIT');
}

# a parallel plan would read at another snapshot
reset_rows();
$reader->query('SET force_parallel_mode = on; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;');
begin_reader('READ COMMITTED', 'long');
$reader->query($both);
$writer->query("BEGIN; $write COMMIT;");
is($reader->query('SELECT sum(v) FROM ordinary;'), 0, 'a parallel plan sees the same');
$reader->query('COMMIT;');
is($reader->query('SELECT sum(v) FROM ordinary;'), 1, 'and later what has been committed');

# a run under way that leads to the first access, at its own snapshot
reset_rows();
$node->safe_psql('postgres', q{CREATE FUNCTION inmemory_row(volatile bool) RETURNS int STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT v FROM inmemory WHERE id = 1); END';
	CREATE FUNCTION commit_both() RETURNS int VOLATILE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_lock(1); RETURN 0; END'});
$other->query('SELECT pg_advisory_lock(1);');
for my $bug ($has_failpoints ? ('', 'skip_fit') : (''))
{
	begin_reader('READ COMMITTED', 'read_only', $bug);
	my $before = $other->query('SELECT v FROM ordinary WHERE id = 1;');
	$reader->send('SELECT commit_both(), v, inmemory_row(true) FROM ordinary WHERE id = 1;');
	waits();
	$writer->query("BEGIN; $write COMMIT;");
	$other->query('SELECT pg_advisory_unlock(1);');
	is($reader->wait, $bug eq '' ? 'ERROR 40001' : "0|$before|" . ($before + 1), $bug eq '' ? 'does not see halves' : 'but without the rule');
	$reader->query('ROLLBACK; SELECT pg_advisory_unlock_all();');
	$other->query('SELECT pg_advisory_lock(1);');
}
$other->query('SELECT pg_advisory_unlock(1);');

# --- several sessions in one transaction -------------------------------------------------------------

# Begins one, owned by the session $other or by its lease, of a kind or ('') REPEATABLE READ or SERIALIZABLE; $reader works in it.
sub share
{
	my ($owner, $level, $kind, $bug, $reader_bug) = @_;
	my $handle;

	$other->query("SET default_transaction_isolation = '$level'; SET tsurugi_fdw.transaction_type = '" . ($kind || 'default') . "';
		SET tsurugi_fdw.write_preserve = '" . ($kind eq 'long' ? 'mine' : '') . "'; SET tsurugi_fdw.failpoints = '$bug';");
	$other->query('BEGIN;') if $owner eq 'session';
	$handle = $other->query('SELECT tsurugi.' . ($owner eq 'session' ? 'export' : 'begin') . "_transaction('mine');");
	$reader->query("SET default_transaction_isolation = '$level'; SET tsurugi_fdw.failpoints = '" . ($reader_bug // '') . "'");
	by_handle($reader, 'attach_transaction', $handle);
	return $handle;
}

sub leave
{
	my ($owner, $handle) = @_;

	$reader->query('SELECT tsurugi.detach_transaction(); RESET default_transaction_isolation; RESET tsurugi_fdw.failpoints;');
	$other->query($owner eq 'session' ? 'ROLLBACK' : "SELECT tsurugi.abort_transaction('$handle'); SELECT tsurugi.dispose_transaction('$handle')");
	$other->query('RESET default_transaction_isolation; RESET tsurugi_fdw.transaction_type; RESET tsurugi_fdw.write_preserve;
		RESET tsurugi_fdw.failpoints;');
}

$other->query('UPDATE mine SET v = 0;');
$reader->query('PREPARE halves AS ' . $both);
for my $owner ('session', 'lease')
{
	for my $kind ('', 'long', 'read_only')
	{
		my $level = $kind eq '' ? 'repeatable read' : 'read committed';
		my $handle;

		# everybody reads at the same moment, in both kinds of tables, from its beginning on
		reset_rows();
		$handle = share($owner, $level, $kind, '');
		$writer->query("BEGIN; $write COMMIT;");
		is($reader->query($both), '0|0', "$owner, $level, '$kind': one statement of an attached session");
		$node->safe_psql('postgres', 'VACUUM ordinary');
		is($reader->query("BEGIN; SELECT v FROM inmemory WHERE id = 1; $both SELECT v FROM ordinary WHERE id = 1; EXECUTE halves; COMMIT;"),
			"0\n0|0\n0\n0|0", 'a transaction of it');
		is($reader->query('BEGIN; SELECT v FROM inmemory WHERE id = 1; COPY ordinary TO STDOUT; COMMIT;') =~ s{\s+}{ }gr, '0 1 0 2 0', 'COPY');
		is($reader->query("BEGIN; DECLARE c CURSOR FOR $both SAVEPOINT a; FETCH c; ROLLBACK TO a; $both COMMIT;"), "0|0\n0|0", 'a cursor');
		is($other->query($both), '0|0', 'the owner') if $owner eq 'session';
		leave($owner, $handle);
		is($reader->query($both), '1|1', 'afterwards all of it');

		# a snapshot of its own, older or newer, has to fit
		reset_rows();
		$reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM ordinary WHERE id = 1;");
		$writer->query("BEGIN; $write COMMIT;");
		$handle = share($owner, $level, $kind, '');
		is($reader->query($both), 'ERROR 40001', 'not at an older one');
		$reader->query('ROLLBACK;');
		leave($owner, $handle);

		next if !$has_failpoints;
		for my $bug ('', 'skip_fit')
		{
			reset_rows();
			$handle = share($owner, $level, $kind, 'skip_lend', $bug);
			is($reader->query($both), '0|0', 'where none is lent one\'s own is good enough');
			$writer->query("BEGIN; $write COMMIT;");
			is($reader->query($both), $bug eq '' ? 'ERROR 40001' : '1|0', $bug eq '' ? 'until it does not fit' : 'without the rule halves are seen');
			leave($owner, $handle);
		}
	}
}

# what who lends has written is under way for who borrows, who would else leave word with the rows that it was aborted
for my $way ('lease', 'owner', 'level')
{
	for my $bug ($has_failpoints ? ('', 'skip_lender') : (''))
	{
		my $level = $way eq 'level' ? 'REPEATABLE READ' : 'READ COMMITTED';
		my %kinds = (lease => 'long', owner => 'read_only', level => 'default');
		my $call = $way eq 'lease' ? 'begin' : 'export';
		my $handle;

		reset_rows();
		$other->query("BEGIN ISOLATION LEVEL $level; SET LOCAL tsurugi_fdw.failpoints = '$bug'; LOCK TABLE child IN ACCESS EXCLUSIVE MODE");
		$other->query('INSERT INTO ordinary VALUES (3, 0)') if $way ne 'level';
		$writer->query('UPDATE ordinary SET v = v WHERE id = 2');
		$handle = $other->query("SET LOCAL tsurugi_fdw.transaction_type = $kinds{$way}; SELECT tsurugi.${call}_transaction(" . ($way eq 'owner' ? "VARIADIC '{}'::text[]" : "'mine'") . ')');
		$other->query('INSERT INTO ordinary VALUES (3, 0)') if $way eq 'level';
		by_handle($reader, 'attach_transaction', $handle);
		is($reader->query("BEGIN ISOLATION LEVEL $level; SELECT v FROM inmemory WHERE id = 1; SELECT count(*) FROM ordinary; COMMIT; SELECT tsurugi.detach_transaction()") =~ s{\s+}{ }gr,
			'0 2 t', "$way: who borrows does not see what the lender has written");
		is($other->query('COMMIT'), '', 'who commits it');
		is($writer->query('SELECT count(*) FROM ordinary'), $bug eq '' ? 3 : 2, $bug eq '' ? 'for everybody' : 'for nobody without the rule');
		$other->query("SELECT tsurugi.abort_transaction('$handle'); SELECT tsurugi.dispose_transaction('$handle')") if $way eq 'lease';
	}
}

# what has been read of ordinary tables before the session was attached, or the transaction exported, is told as well
for my $way ('SELECT v FROM ordinary WHERE id = 1', 'DECLARE c CURSOR FOR SELECT v FROM ordinary', 'COPY ordinary TO STDOUT', 'export')
{
	for my $bug ($has_failpoints ? ('', 'skip_early_reads') : (''))
	{
		for my $level ('REPEATABLE READ', 'SERIALIZABLE')
		{
			next if $way eq 'export' && $level eq 'SERIALIZABLE';
			reset_rows();
			$reader->query("SET tsurugi_fdw.failpoints = '$bug'; BEGIN ISOLATION LEVEL $level; " . ($way eq 'export' ? 'SELECT v FROM ordinary' : $way));
			$writer->query("BEGIN; $write COMMIT");
			my $handle;
			if ($way eq 'export')
			{
				$reader->query("SET LOCAL tsurugi_fdw.transaction_type = long; SELECT tsurugi.export_transaction('mine')");
			}
			else
			{
				$handle = $other->query("SET default_transaction_isolation = '$level'; SELECT tsurugi.begin_transaction('mine')");
				by_handle($other, 'attach_transaction', $handle);
				$other->query('SELECT v FROM mine; SELECT tsurugi.detach_transaction()');
				by_handle($reader, 'attach_transaction', $handle);
			}
			is($reader->query('SELECT v FROM inmemory WHERE id = 1'), $bug eq '' ? 'ERROR 40001' : '1',
				"$level, $way: read before, " . ($bug eq '' ? 'it has to fit' : 'without the rule one half'));
			$reader->query('ROLLBACK; SELECT tsurugi.detach_transaction(); RESET tsurugi_fdw.failpoints');
			$other->query("SELECT tsurugi.abort_transaction('$handle'); SELECT tsurugi.dispose_transaction('$handle')") if defined $handle;
			$other->query('RESET default_transaction_isolation');
		}
	}
}

# who is attached and begins with ordinary tables reads them at the common moment, too; who writes them does so by himself
for my $bug ($has_failpoints ? ('', 'skip_join_for_host') : (''))
{
	for my $begin ('SELECT v FROM ordinary WHERE id = 1', 'COPY (SELECT v FROM ordinary WHERE id = 1) TO STDOUT', 'COPY ordinary (v) TO STDOUT')
	{
		reset_rows();
		my $handle = share('lease', 'repeatable read', '', '', $bug);
		$writer->query("BEGIN; $write COMMIT");
		is($reader->query('BEGIN; UPDATE ordinary SET v = v + 5 WHERE id = 2; COMMIT'), '', 'a session that is attached writes ordinary tables');
		is($reader->query("BEGIN; $begin") =~ s{\n.*}{}gr, $bug eq '' ? 0 : 1, 'or reads them first');
		is($reader->query('SELECT v FROM inmemory WHERE id = 1'), $bug eq '' ? '0' : 'ERROR 40001', $bug eq '' ? 'as of the common moment' : 'without the rule at another one');
		$reader->query('ROLLBACK');
		leave('lease', $handle);
	}
	{
		reset_rows();
		my $handle = share('lease', 'repeatable read', '', '', $bug);
		$writer->query("BEGIN; $write COMMIT");
		is($reader->query('SELECT v FROM ordinary WHERE id = 1'), 1, 'a statement alone reads what is there now');
		is($reader->query('DO $$BEGIN PERFORM v FROM ordinary; PERFORM v FROM inmemory; END$$'), $bug eq '' ? '' : 'ERROR 40001', 'and DO as a block');
		is($reader->query('BEGIN; DO $$BEGIN PERFORM v FROM ordinary; END$$; UPDATE ordinary SET v = v + 5 WHERE id = 2; COMMIT'),
			$bug eq '' ? 'ERROR 0A000' : '', 'a block that reads ordinary tables first works in the shared transaction, and can write none of them');
		leave('lease', $handle);
	}
}
for my $level ('serializable', 'read committed')
{
	for my $bug ($has_failpoints ? ('', 'skip_fit') : (''))
	{
		my $handle;

		# everybody reads at his own; foreign tables follow
		reset_rows();
		$handle = share('lease', $level, $level eq 'serializable' ? '' : 'short', '', $bug);
		is($reader->query('SELECT v FROM mine;'), 0, "$level: an attached session reads");
		$writer->query("BEGIN; $write COMMIT;");
		is($reader->query($both), $bug eq '' ? '1|1' : '1|0', $bug eq '' ? 'the next transaction sees both halves' : 'without the rule one half');
		$writer->query("BEGIN; $write COMMIT;");
		is($reader->query($both), $bug eq '' ? 'ERROR 40001' : '2|0', 'but not when what has been read is changed');
		leave('lease', $handle);
	}
	next if !$has_failpoints;
	for my $place ('pre_commit', 'commit')
	{
		reset_rows();
		my $handle = share('lease', $level, $level eq 'serializable' ? '' : 'short', '');
		is($reader->query('SELECT v FROM mine;'), 0, "$level: an attached session reads");
		$writer->query("BEGIN; $write COMMIT;");
		ok(stop_writer($place), "a committer has stopped at $place, after another one");
		$reader->send($both);
		is($reader->wait, '1|1', 'of whose commit nothing is seen') if $place eq 'pre_commit';
		go_on();
		is($reader->wait, '2|2', 'or all of it') if $place eq 'commit';
		leave('lease', $handle);
	}
}

# without the worker nobody keeps the snapshot: the transaction ends, and the next worker keeps the next one's
reset_rows();
{
	my $handle = share('lease', 'repeatable read', '', '');
	my ($worker) = $node->safe_psql('postgres', 'SELECT pid FROM pg_locks WHERE relation = \'mine\'::regclass AND mode = \'RowExclusiveLock\'') =~ /(\d+)/;

	is($reader->query($both), '0|0', 'a lease has a worker');
	is($node->safe_psql('postgres', "SELECT backend_xmin::text::int BETWEEN 3 AND txid_snapshot_xmax(txid_current_snapshot()) FROM tsurugi.shared_transactions WHERE state = 'running'"),
		't', 'that holds back VACUUM, which a view shows');
	kill 'TERM', $worker;
	ok(TestServer::has_other_worker($node, $worker), 'the worker is stopped');
	$node->poll_query_until('postgres', "SELECT tsurugi.begin_transaction('mine') IS NOT NULL") or die 'no worker';
	is($reader->query($both), 'ERROR 25P02', 'that was stopped');
	leave('lease', $handle);
	$handle = share('lease', 'repeatable read', '', '');
	$writer->query("BEGIN; $write COMMIT;");
	$node->safe_psql('postgres', 'VACUUM ordinary');
	is($reader->query($both), '0|0', 'and started again');
	leave('lease', $handle);
}

# an index that has come since may not have what the older snapshot shows
for my $bug ($has_failpoints ? ('', 'skip_new_index') : (''))
{
	reset_rows();
	$other->query('CREATE TABLE indexed (id int, v int); INSERT INTO indexed VALUES (1, 0);');
	my $handle = share('lease', 'repeatable read', '', '', $bug);
	is($writer->query('UPDATE indexed SET v = 1; CREATE INDEX ON indexed (v); SET enable_seqscan = off;'), '', 'a new index');
	is($reader->query('SET enable_seqscan = off; SET enable_bitmapscan = off; SELECT v FROM mine; SELECT count(*) FROM indexed WHERE v = 0;'), "0\n0", 'for others');
	is($reader->query('BEGIN; SELECT v FROM mine; SELECT count(*) FROM indexed WHERE v = 0; COMMIT;'), "0\n1", 'is not used where that is known when a plan is made');
	is($reader->query('SELECT count(*) FROM indexed, mine WHERE indexed.v = 0;'), $bug eq '' ? 'ERROR 40001' : "0", $bug eq '' ? 'nor later' : 'without the rule a row is missing');
	$reader->query('RESET enable_seqscan; RESET enable_bitmapscan;');
	leave('lease', $handle);
	$writer->query('DROP TABLE indexed;');
}

# nothing is held back afterwards
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
	AND backend_type = 'client backend'"), 0, 'no snapshot is left');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' AND objsubid <> 1"), 0, 'no lock, but those by which leases are shown');
my ($code, $out, $messages) = $node->psql('postgres', 'UPDATE ordinary SET v = v; VACUUM (VERBOSE) ordinary');
like($messages, qr/\b0 are dead but not yet removable/, 'nor rows that nobody sees any more');
unlike(slurp_file($node->logfile), qr/snapshot reference leak|WARNING/, 'nothing leaks');

$_->close for $writer, $reader, $other;
$node->stop;
done_testing();

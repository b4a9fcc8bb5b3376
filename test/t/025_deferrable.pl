# SERIALIZABLE READ ONLY DEFERRABLE reads foreign and ordinary tables as of one moment, a safe one, however long it has waited for it
# (src/txn/moment.c, 8; src/txn/deferrable.c); and above READ COMMITTED the first statement, whatever it is, fixes both.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('deferrable');
my ($reader, $first, $second, $writer) = map { TestServer::Session->new($node) } 1 .. 4;
my $both = 'SELECT (SELECT v FROM ordinary WHERE id = 1), (SELECT v FROM inmemory WHERE id = 1);';
my $write = 'UPDATE ordinary SET v = v + 1 WHERE id = 1; UPDATE inmemory SET v = v + 1 WHERE id = 1;';

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE inmemory (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE TABLE ordinary (id int PRIMARY KEY, v int);
	CREATE TABLE beside (id int PRIMARY KEY, v int);
});
my $pid = $reader->query('SELECT pg_backend_pid();');
my $writer_pid = $writer->query('SELECT pg_backend_pid();');
my $has_failpoints = TestServer::has_failpoints($node);

sub reset_rows
{
	$_->query('ROLLBACK;') for $reader, $first, $second;
	$writer->query('BEGIN; TRUNCATE inmemory, ordinary, beside; INSERT INTO inmemory VALUES (1, 0); INSERT INTO ordinary VALUES (1, 0);
		INSERT INTO beside VALUES (1, 0), (2, 0); COMMIT;');
}

sub begin_reader
{
	my ($bug) = @_;

	$reader->query('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;' .
		($has_failpoints ? "SET LOCAL tsurugi_fdw.failpoints = '" . ($bug // '') . "';" : ''));
}

sub waits_for
{
	my ($event) = @_;

	return $node->poll_query_until('postgres', "SELECT wait_event IS NOT DISTINCT FROM '$event' FROM pg_stat_activity WHERE pid = $pid");
}

sub waits_for_writer
{
	my ($other) = @_;
	my $other_pid = $other->query('SELECT pg_backend_pid();');

	return $node->poll_query_until('postgres', "SELECT pg_safe_snapshot_blocking_pids($pid) = ARRAY[$other_pid]");
}

# nobody in the way: at once, and for good
reset_rows();
begin_reader();
is($reader->query($both), '0|0', 'a safe snapshot');
$writer->query("BEGIN; $write COMMIT;");
is($reader->query($both), '0|0', 'stays what it is');
$reader->query('COMMIT;');

SKIP:
{
	skip 'built without failpoints', 1 if !$has_failpoints;

	# a commit of both is under way
	for my $bug ('', 'skip_deferrable_moment')
	{
		reset_rows();
		$writer->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:pre_commit'; $write");
		$writer->send('COMMIT;');
		ok(TestServer::has_stopped($writer_pid), 'a committer of both has stopped');
		begin_reader($bug);
		$reader->send('EXPLAIN SELECT 1;');
		ok(waits_for('userlock'), 'it is waited for') if $bug eq '';
		like($reader->wait, qr/Result/, 'it is not waited for') if $bug ne '';
		kill 'CONT', $writer_pid;
		$writer->wait;
		$reader->wait if $bug eq '';
		is($reader->query($both), $bug eq '' ? '1|1' : '0|1', $bug eq '' ? 'and both halves are seen' : 'and one half is seen');
		$reader->query('COMMIT;');
	}
}

# PostgreSQL waits for its snapshot; meanwhile others commit, and one of them makes the second one unsafe
for my $bug ($has_failpoints ? ('', 'skip_deferrable_moment', 'skip_deferrable_safe') : (''))
{
	reset_rows();
	$first->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE beside SET v = v WHERE id = 1;');
	begin_reader($bug);
	$reader->send($both);
	ok(waits_for('SafeSnapshot'), 'PostgreSQL waits for a writer');
	$writer->query('UPDATE inmemory SET v = v + 10;');
	$writer->query('UPDATE ordinary SET v = v + 10;');
	$second->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT * FROM ordinary;');
	$writer->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE ordinary SET v = v + 1; UPDATE inmemory SET v = v + 1; SET LOCAL tsurugi_fdw.serializable_mixed = relaxed; COMMIT;');
	$first->query('COMMIT;');
	if ($bug eq 'skip_deferrable_moment')
	{
		is($reader->wait, '0|11', 'its snapshot is of another moment than ours would be');
		next;
	}
	ok(waits_for_writer($second), 'so there is another one, and another writer to wait for');
	$second->query('UPDATE beside SET v = 1 WHERE id = 2; COMMIT;');
	is($reader->wait, '11|11', 'both tables are of its moment');
	is($reader->query('SELECT v FROM beside WHERE id = 2;'), $bug eq '' ? 1 : 0, $bug eq '' ? 'which is a safe one' : 'which need not be safe');
	is($reader->query('COPY ordinary TO STDOUT;'), "1\t11", 'COPY sees the same');
	$writer->query("BEGIN; $write COMMIT;");
	is($reader->query($both), '11|11', 'ever after');
	my $id = $reader->query('SELECT pg_export_snapshot();');
	$second->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$id';");
	is($second->query($both), '11|11', 'and a session that imports it');
	is($reader->query('COMMIT;'), '', 'it ends');
}

# a cancel in the second wait
reset_rows();
$first->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE beside SET v = v WHERE id = 1;');
begin_reader();
$reader->send($both);
waits_for('SafeSnapshot');
$second->query('BEGIN ISOLATION LEVEL SERIALIZABLE; UPDATE beside SET v = v WHERE id = 2;');
$writer->query('UPDATE ordinary SET v = v + 1;');
$first->query('COMMIT;');
ok(waits_for_writer($second), 'there is another writer to wait for');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
is($reader->wait, 'ERROR 57014', 'the wait can be cancelled');
$_->query('ROLLBACK;') for $reader, $second;
is($reader->query($both), '1|0', 'and all goes on');

# the first statement fixes the moment of both, also one that runs nothing
for my $statement ('EXPLAIN SELECT 1;', 'PREPARE p AS SELECT 1; DEALLOCATE p;', 'COPY beside TO STDOUT;', 'CREATE TEMP TABLE fixed (x int);')
{
	for my $level ('REPEATABLE READ', 'SERIALIZABLE', 'SERIALIZABLE READ ONLY DEFERRABLE')
	{
		next if $statement =~ /CREATE/ && $level =~ /READ ONLY/;
		reset_rows();
		$reader->query("BEGIN ISOLATION LEVEL $level; $statement");
		$writer->query('UPDATE inmemory SET v = v + 1;');
		$writer->query('UPDATE ordinary SET v = v + 1;');
		is($reader->query($both), '0|0', "$level: $statement");
		$reader->query('ROLLBACK;');
	}
}

is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()
	AND backend_type = 'client backend'"), 0, 'no snapshot is left');
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_locks WHERE locktype = 'userlock' OR mode = 'SIReadLock'"), 0, 'no lock');
unlike(slurp_file($node->logfile), qr/leak|TRAP|you don't own/, 'nothing leaks');

$_->close for $reader, $first, $second, $writer;
$node->stop;
done_testing();

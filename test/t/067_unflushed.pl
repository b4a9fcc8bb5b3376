# A hot row does not wait for the disk: a session has committed, and stands before its flush; others read and write its row
# meanwhile, and are not told of it before it is flushed: by every way of reading and writing, in every kind of reply; what is
# theirs alone needs no flush.  What a client was told is there after kill -9.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

# Nobody else flushes the log meanwhile.
my $node = TestServer::start('unflushed', 'wal_writer_delay' => "'10s'", 'bgwriter_lru_maxpages' => 0, 'checkpoint_timeout' => "'1h'",
	'tsurugi_fdw.scan_pool_rows' => -1, 'max_parallel_workers_per_gather' => 1, 'wal_level' => 'replica', 'max_wal_senders' => 1);

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE hot (id int PRIMARY KEY, v int, u int UNIQUE) SERVER tsurugi;
	CREATE FOREIGN TABLE fresh (id int PRIMARY KEY) SERVER tsurugi;
	CREATE INDEX ON hot (v);
	INSERT INTO hot SELECT i, i, i FROM generate_series(1, 10) i;
	CREATE TABLE big AS SELECT g FROM generate_series(1, 5000) g;
	ALTER TABLE big SET (parallel_workers = 1);
	CREATE FUNCTION seen() RETURNS int STABLE PARALLEL SAFE LANGUAGE plpgsql AS
		'BEGIN RETURN (SELECT v FROM hot WHERE id = 1); END';
	ALTER DATABASE postgres SET lock_timeout = '10s'; -- nobody waits for a row
});

my ($writer, $writer_pid, $reader, $reader_pid, $watcher);
my $before; # where the log ended, before the writer's commit

sub connect_all
{
	($writer, $reader, $watcher) = map { TestServer::Session->new($node) } 1 .. 3;
	($writer_pid, $reader_pid) = map { $_->query('SELECT pg_backend_pid();') } $writer, $reader;
	# the catalogs, and the plans
	$reader->query('SELECT count(*) FROM hot; SELECT v FROM hot WHERE id = 1; SELECT count(*) FROM fresh, big;');
	$watcher->query('SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn();');
}

# The writer commits this, with a bug perhaps, and stops before it flushes.  (By R7 it might be PostgreSQL that flushes.)
sub commit_unflushed
{
	my ($sql, $bug) = @_;

	$writer->query("SET tsurugi_fdw.failpoints = 'stop:log_unflushed,skip_r7," . ($bug // '') . "'");
	$before = $watcher->query('SELECT pg_current_wal_insert_lsn();');
	$writer->send("$sql;");
	TestServer::has_stopped($writer_pid) or die "the writer does not stop\n";
}

sub is_flushed
{
	return $watcher->query("SELECT pg_current_wal_flush_lsn() > '$before'") eq 't';
}

sub go_on
{
	kill 'CONT', $writer_pid;
	$writer->wait;
	$writer->query("SET tsurugi_fdw.failpoints = 'skip_r7'");
}

# The reader is told something of a commit.
sub is_told
{
	my ($change, $statement, $expected, $name, $flushes) = @_;

	commit_unflushed($change);
	ok(!is_flushed(), "$name: not flushed");
	is($reader->query($statement), $expected, "$name: the answer");
	is(is_flushed() ? 1 : 0, $flushes // 1, $flushes // 1 ? 'comes when it is flushed' : 'does not wait');
	go_on();
}

connect_all();

# --- readers ---------------------------------------------------------------------------------

my $update = 'UPDATE hot SET v = 100 WHERE id = 1';
my $delete = 'DELETE FROM hot WHERE id = 1';
my $put_back = 'INSERT INTO hot VALUES (1, 1, 1)';

is_told($update, 'SELECT v FROM hot WHERE id = 1', 100, 'a look-up');
is_told($update, 'SELECT sum(v) FROM hot', 154, 'a scan');
is_told($update, 'SELECT count(*) FROM hot WHERE v BETWEEN 50 AND 200', 1, 'an index');
$node->safe_psql('postgres', 'UPDATE hot SET v = 1 WHERE id = 1');
is_told($update, 'SELECT count(*) FROM hot WHERE v = 1', 0, 'an index, of what has gone');
is_told($update, 'SET tsurugi_fdw.scan_pool_rows = 0; SELECT sum(v) FROM hot; RESET tsurugi_fdw.scan_pool_rows', 154,
	'a scan by tasks of the pool');
is_told($update, 'SET tsurugi_fdw.jobs = force; SELECT sum(v) FROM hot; RESET tsurugi_fdw.jobs', 154, 'an aggregation by tasks');
is_told($update, 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM hot WHERE id = 1; COMMIT', 100, 'SERIALIZABLE');
is_told($update, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM hot WHERE id = 1; ROLLBACK', 100, 'ROLLBACK');
is_told($update, 'BEGIN; DECLARE c CURSOR FOR SELECT v FROM hot WHERE id = 1; FETCH c; COMMIT', 100, 'a cursor');
is_told($update, 'COPY (SELECT v FROM hot WHERE id = 1) TO STDOUT', 100, 'COPY');
is_told($update, 'SELECT 1 / (v - 100) FROM hot WHERE id = 1', 'ERROR 22012', 'an error made of a row');
is_told($update, q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
	SET parallel_leader_participation = off; SELECT DISTINCT seen() FROM big; RESET ALL}, 100, 'a parallel worker');
is_told($delete, 'SELECT count(*) FROM hot WHERE id = 1', 0, 'a row that is gone');
is_told($put_back, 'SELECT v FROM hot WHERE id = 1', 1, 'a new row');
is_told($update, 'SELECT v FROM hot WHERE id = 2', 2, 'a row beside it', 0);
is_told($update, 'SELECT count(*) FROM fresh', 0, 'another table', 0);

$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM hot WHERE id = 1;');
is_told('UPDATE hot SET v = 200 WHERE id = 1', 'SELECT v FROM hot WHERE id = 1', 100, 'a snapshot from before', 0);
$reader->query('COMMIT');

# --- writers, which need not wait for the row -----------------------------------------------

is_told($update, 'BEGIN; UPDATE hot SET v = v + 1 WHERE id = 1 RETURNING v; ROLLBACK', 101, 'an UPDATE that is rolled back');
is_told($update, 'BEGIN; UPDATE hot SET v = v + 1 WHERE id = 1', '', 'a command tag');
is($reader->query('ROLLBACK'), '', 'and back');
is_told($update, 'BEGIN; SAVEPOINT s; UPDATE hot SET v = v + 1 WHERE id = 1; ROLLBACK TO s; COMMIT', '', 'a savepoint');
is_told($update, 'BEGIN; SELECT v FROM hot WHERE id = 1 FOR UPDATE; COMMIT', 100, 'a row lock');
is_told($update, 'UPDATE hot SET v = v + 1 WHERE id = 1 RETURNING v', 101, 'an UPDATE, committed');
is_told($delete, 'UPDATE hot SET v = v + 1 WHERE id = 1 RETURNING v', '', 'an UPDATE that finds nothing');
is_told($put_back, $put_back, 'ERROR 23505', 'a primary key that is taken');
is_told($update, 'INSERT INTO hot VALUES (11, 0, 1)', 'ERROR 23505', 'a unique key that is taken');
is_told($update, 'INSERT INTO hot VALUES (1, 0, 0) ON CONFLICT DO NOTHING', '', 'ON CONFLICT');
is_told($delete, "BEGIN; $put_back; ROLLBACK", '', 'a key that is free again');
$node->safe_psql('postgres', $put_back);
is_told($update, "SET synchronous_commit = off; UPDATE hot SET v = v + 1 WHERE id = 1 RETURNING v; RESET synchronous_commit", 101,
	'asynchronously');

# --- levels of the commit -------------------------------------------------------------------

my $serializable = "BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT v FROM hot WHERE id = 2; $update; COMMIT";

is_told($serializable, 'BEGIN; UPDATE hot SET v = v + 1 WHERE id = 1 RETURNING v; ROLLBACK', 101, 'a commit at SERIALIZABLE');
is_told($serializable, 'SELECT v FROM hot WHERE id = 2', 2, 'and a row that it has read', 0);
$writer->query("SET synchronous_commit = off; $serializable; RESET synchronous_commit");
$writer->query('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT sum(v) FROM hot; UPDATE hot SET v = 4 WHERE id = 4;');
$node->safe_psql('postgres', 'UPDATE hot SET v = 5 WHERE id = 5');
is($writer->query('COMMIT'), 'ERROR 40001', 'one that cannot be serialized');
is_told($serializable, 'SELECT v FROM hot WHERE id = 1', 100, 'leaves no note');

# --- replies -------------------------------------------------------------------------------

# A row that does not fit into the send buffer leaves at once.
commit_unflushed($update);
$reader->send("SELECT repeat(v::text, 10000) FROM hot WHERE id = 1 UNION ALL SELECT pg_sleep(1000)::text;");
ok($node->poll_query_until('postgres', "SELECT pg_current_wal_flush_lsn() > '$before'"), 'a full buffer waits for the flush');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($reader_pid)");
is($reader->wait, 'ERROR 57014', 'and the statement goes on');
go_on();

# What has been met is due even if nothing of it is told.
commit_unflushed($update);
$reader->query("DO 'BEGIN PERFORM v FROM hot; END'");
ok(is_flushed(), 'a block without a result');
go_on();

# --- a standby that is down -----------------------------------------------------------------

sub waits_for_standby
{
	return $node->poll_query_until('postgres', "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $_[0]");
}

$node->safe_psql('postgres', $_) for "ALTER SYSTEM SET synchronous_standby_names = 'none'", 'SELECT pg_reload_conf()';
$node->poll_query_until('postgres', "SELECT current_setting('synchronous_standby_names') = 'none'");
$node->safe_psql('postgres', 'CHECKPOINT'); # the checkpointer tells all
$writer->query('SET synchronous_commit = on');
$writer->send("$update;");
ok(waits_for_standby($writer_pid), 'a commit waits for it');
is($reader->query('SET synchronous_commit = local; UPDATE hot SET v = v + 1 WHERE id = 1 RETURNING v'), 101, 'its row does not, nor does who reads it');
is($reader->query('SET synchronous_commit = remote_apply; SELECT v FROM hot WHERE id = 2'), 2, 'nor who reads another row at remote_apply');
$reader->query('SET synchronous_commit = local');
$reader->query('DELETE FROM hot WHERE id = 1');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($writer_pid)");
$writer->wait;
$writer->send("INSERT INTO hot VALUES (1, 100, 1);");
ok(waits_for_standby($writer_pid), 'another commit waits for it');
is($reader->query('SELECT v FROM hot WHERE id = 1;'), 100, 'who reads it waits for no standby');
$reader->query('SET synchronous_commit = remote_apply');
$reader->send('SELECT v FROM hot WHERE id = 1;');
ok(waits_for_standby($reader_pid), 'but at remote_apply, also if it has been read before');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($_)") for $writer_pid, $reader_pid;
$writer->wait;
is($reader->wait, 100, 'until that wait is cancelled');
$node->safe_psql('postgres', $_) for 'ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()';
$node->poll_query_until('postgres', "SELECT current_setting('synchronous_standby_names') = ''");
$node->safe_psql('postgres', 'CHECKPOINT');
$_->query('RESET synchronous_commit') for $writer, $reader;

# --- without the rules ----------------------------------------------------------------------

# kill -9 of all; the row is there if it was told, as long as sessions follow the rule.
sub crash
{
	my ($bug) = @_;

	$reader->query("SET tsurugi_fdw.failpoints = '$bug'");
	commit_unflushed('UPDATE hot SET v = 1000 WHERE id = 1');
	is($reader->query('SELECT v FROM hot WHERE id = 1'), 1000, 'a client is told of a commit');
	$node->stop('immediate');
	kill 'KILL', $writer_pid;
	$_->close for $writer, $reader, $watcher;
	$node->start;
	$node->poll_query_until('postgres', 'SELECT count(*) >= 0 FROM hot');
	my $found = $node->safe_psql('postgres', 'SELECT v FROM hot WHERE id = 1');
	$node->safe_psql('postgres', 'UPDATE hot SET v = 1 WHERE id = 1');
	connect_all();
	return $found;
}

is(crash(''), 1000, 'it is there after kill -9');
is(crash('skip_r5'), 1, 'R5: left out, it shows');
is(crash('skip_r5_reply'), 1, 'R5, before the reply: left out, it shows');

# R2: the row would wait for the disk.
$reader->query("SET statement_timeout = '500ms'");
commit_unflushed($update, 'skip_r2');
is($reader->query('UPDATE hot SET v = 5 WHERE id = 1'), 'ERROR 57014', 'R2: left out, it shows');
go_on();

is(TestServer::internal_errors($node), '', 'no internal error');
done_testing();

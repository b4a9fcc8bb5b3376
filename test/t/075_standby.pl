# Queries on a standby: tables in memory follow the log of the primary beside readers.
#
# Clients change tables in memory and ordinary ones on the primary, in the same transactions and
# apart.  Sessions of the standby compare the two at every snapshot: they never see half of a commit.
# Definitions, row ids that are given again, restarts, promotion and a second standby follow.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	'max_connections = 30', "tsurugi_fdw.load_wait = '60s'", 'wal_keep_size = 1GB', 'restart_after_crash = on',
	'max_prepared_transactions = 5', "log_line_prefix = '%m [%p] %q%a %e '", 'max_standby_streaming_delay = -1';
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, client int, n int) SERVER tsurugi;
	CREATE INDEX ON ours (client);
	CREATE TABLE heap (id int PRIMARY KEY, client int, n int);
	CREATE FOREIGN TABLE name (name text COLLATE "en-x-icu" PRIMARY KEY, n int) SERVER tsurugi;
	CREATE SEQUENCE number;
	CREATE FUNCTION change(who int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		next int := nextval('number');
	BEGIN
		INSERT INTO ours VALUES (next, who, 1);
		INSERT INTO heap VALUES (next, who, 1);
		UPDATE ours SET n = n + 1 WHERE id = next - 20;
		UPDATE heap SET n = n + 1 WHERE id = next - 20;
		DELETE FROM ours WHERE id = next - 200;
		DELETE FROM heap WHERE id = next - 200;
		IF next % 10 = 0 THEN
			DELETE FROM name WHERE n < next - 100;
			INSERT INTO name VALUES ('name ' || next, next);
		END IF;
	END $$;
	SELECT change(0) FROM generate_series(1, 300)});
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

my $difference = q{SELECT count(*) FROM (SELECT id, client, n FROM ours) o FULL JOIN heap h USING (id, client, n) WHERE o IS NULL OR h IS NULL};
my $digest = q{SELECT count(*), coalesce(sum(hashtext(ours::text)), 0) FROM ours};

sub catch_up { TestServer::catch_up($primary, $standby) }

# --- reading, and what is refused ----------------------------------------------------------------

catch_up();
is($standby->safe_psql('postgres', 'SELECT state FROM tsurugi.durability'), 'following', 'the standby follows');
is($standby->safe_psql('postgres', $difference), '0', 'it has what the primary had');
is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'the same rows');
is($standby->safe_psql('postgres', "SELECT count(*) > 0 FROM name WHERE name = 'name 300'"), 't',
	'a key in an order of the host finds its row');
is(TestServer::sqlstate($standby, 'INSERT INTO ours VALUES (-1, 1, 1)'), '25006', 'it cannot be written');
is(TestServer::sqlstate($standby, 'SELECT * FROM ours FOR UPDATE'), '25006', 'nor locked');
is(TestServer::sqlstate($standby, 'BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM ours'), '0A000',
	'SERIALIZABLE is refused');
is(TestServer::sqlstate($standby, 'SET tsurugi_fdw.transaction_type = long; SELECT count(*) FROM ours'), '0A000',
	'and so are the kinds of transactions');
$primary->safe_psql('postgres', q{CREATE FOREIGN TABLE brief (id int PRIMARY KEY) SERVER tsurugi OPTIONS (persistence 'unlogged')});
catch_up();
is(TestServer::sqlstate($standby, 'SELECT * FROM brief'), '0A000', 'an unlogged table cannot be read');
like($standby->safe_psql('postgres', 'EXPLAIN SELECT * FROM ours WHERE id = 7'), qr/ours/, 'EXPLAIN works');

# --- under load ---------------------------------------------------------------------------------------

my $script = "${PostgreSQL::Test::Utils::tmp_check}/standby_load.sql";
append_to_file($script, "SELECT change(:client_id);\n");
my $reads = "${PostgreSQL::Test::Utils::tmp_check}/standby_reads.sql";
append_to_file($reads, "SELECT 1 / (count(*) = 0)::int FROM (SELECT id, client, n FROM ours) o FULL JOIN heap h USING (id, client, n) WHERE o IS NULL OR h IS NULL;\n");
my $repeats = "${PostgreSQL::Test::Utils::tmp_check}/standby_repeats.sql";
append_to_file($repeats, "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT sum(n), count(*) FROM heap \\gset h_\nSELECT 1 / (sum(n) = :h_sum AND count(*) = :h_count)::int FROM ours;\nSELECT 1 / (sum(n) = :h_sum AND count(*) = :h_count)::int FROM heap;\nSELECT 1 / (sum(n) = :h_sum AND count(*) = :h_count)::int FROM ours;\nCOMMIT;\n");

sub load_begin
{
	my ($seconds) = @_;

	return IPC::Run::start([ 'pgbench', '-n', '-c', '3', '-R', '100', '-T', $seconds, '-f', $script, '-d', $primary->connstr('postgres') ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null');
}

# The clients end, and what their sessions have begun.
sub load_end
{
	my ($load) = @_;

	$load->kill_kill;
	$primary->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'") or die;
}

sub reads_are_right
{
	my ($file, $transactions, $name, $options) = @_;
	my ($stdout, $stderr) = ('', '');

	$options //= [];

	IPC::Run::run([ 'pgbench', '-n', '-c', '2', '-t', $transactions, @$options, '-f', $file, '-d', $standby->connstr('postgres') ], '<', \undef, '>', \$stdout, '2>', \$stderr);
	like($stdout, qr/processed: (\d+)\/\1\b/, $name) or diag($stderr);
}

my $load = load_begin(600);
reads_are_right($reads, 100, 'READ COMMITTED never sees half of a commit');
# of several statements, which may end in a deadlock with the worker
reads_are_right($repeats, 100, 'REPEATABLE READ sees one state of both kinds of tables', ['--max-tries=100']);

# --- definitions beside readers -------------------------------------------------------------------------

$primary->safe_psql('postgres', q{
	CREATE FOREIGN TABLE fresh (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO fresh SELECT i, 'v' || i FROM generate_series(1, 5000) i});
$primary->safe_psql('postgres', 'CREATE INDEX by_lower ON fresh (lower(v) COLLATE "C")');
$primary->safe_psql('postgres', 'ALTER FOREIGN TABLE fresh ADD COLUMN w int');
$primary->safe_psql('postgres', 'UPDATE fresh SET w = id WHERE id % 2 = 0');
catch_up();
is($standby->safe_psql('postgres', q{SELECT count(*), sum(w), min(v) FROM fresh}), '5000|6252500|v1', 'a new table, a new column');
is($standby->safe_psql('postgres', q{SET enable_seqscan = off; SELECT id FROM fresh WHERE lower(v) COLLATE "C" = 'v77'}), '77', 'a new index');
$primary->safe_psql('postgres', 'TRUNCATE fresh; INSERT INTO fresh VALUES (1)');
catch_up();
is($standby->safe_psql('postgres', 'SELECT count(*) FROM fresh'), '1', 'TRUNCATE');
$primary->safe_psql('postgres', 'DROP INDEX by_lower; DROP FOREIGN TABLE fresh');
catch_up();
is(TestServer::sqlstate($standby, 'SELECT * FROM fresh'), '42P01', 'DROP');

# --- row ids given again ----------------------------------------------------------------------------------

load_end($load);
$primary->safe_psql('postgres', 'CREATE FOREIGN TABLE again (id int PRIMARY KEY) SERVER tsurugi; INSERT INTO again SELECT generate_series(1, 100)');
catch_up();
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
is($reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT sum(id) FROM again'), '5050', 'a reader has a snapshot');
$primary->safe_psql('postgres', 'DELETE FROM again');
$primary->poll_query_until('postgres', 'SELECT logs_waiting = 0 FROM tsurugi.collector') or die;
$primary->safe_psql('postgres', 'INSERT INTO again SELECT generate_series(1001, 1100)');
# replay itself does not wait for the reader: what it has copied, the reader's next statement waits for
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));
is($reader->query_safe('COMMIT; SELECT sum(id) FROM again'), '105050', 'after it, the rows that took the place');
$reader->quit;
$load = load_begin(600);

# --- restartpoints, and processes that are killed ------------------------------------------------------------

$primary->safe_psql('postgres', 'CHECKPOINT');
catch_up();
$standby->safe_psql('postgres', 'CHECKPOINT');
for my $name ('startup', 'worker', 'walreceiver')
{
	my $startup = $standby->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'");
	my $pid = $name eq 'worker' ? TestServer::worker_pid($standby)
		: $standby->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = '$name'");

	kill 'KILL', $pid;
	if ($name eq 'startup')
	{
		# PostgreSQL does not start over by itself then
		$standby->stop('immediate', fail_ok => 1);
		$standby->start;
	}
	# a server that has not noticed yet still has the former process
	$standby->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'startup' AND pid <> $startup") or die;
	$standby->poll_query_until('postgres', "SELECT state = 'following' FROM tsurugi.durability") or die;
	reads_are_right($reads, 20, "after kill -9 of the $name");
}
$primary->stop('immediate');
$load->finish;
$primary->start;
$load = load_begin(600);
reads_are_right($reads, 20, 'after a crash of the primary');

# --- a second standby, promotion -------------------------------------------------------------------------------

$standby->backup('copy');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($standby, 'copy', has_streaming => 1);
$second->start;
$primary->safe_psql('postgres', q{BEGIN; INSERT INTO ours VALUES (-7, 7, 7); PREPARE TRANSACTION 'left'});
load_end($load);
catch_up();
is($standby->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'the same rows after all that');
is($second->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '" . $primary->lsn('flush') . "'"), 1, 'a second standby has all');
is($second->safe_psql('postgres', $digest), $primary->safe_psql('postgres', $digest), 'and the same rows');
my $beside = $standby->background_psql('postgres', on_error_stop => 0);
my $before = $beside->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT sum(n) FROM ours; COMMIT; SELECT 1');
$standby->promote;
is($standby->safe_psql('postgres', $difference), '0', 'promoted: the same in both kinds of tables');
$standby->safe_psql('postgres', q{COMMIT PREPARED 'left'; SELECT change(9) FROM generate_series(1, 100)});
is($standby->safe_psql('postgres', 'SELECT n FROM ours WHERE id = -7'), '7', 'a prepared transaction has come along');
is($standby->safe_psql('postgres', q{INSERT INTO name VALUES ('name 0', 0); SELECT n FROM name WHERE name = 'name 0'}), '0', 'keys in an order of the host are there');
is($beside->query_safe(q{SELECT n FROM ours WHERE id = -7}), '7', 'a session from before goes on');
$beside->quit;
my $sum = $standby->safe_psql('postgres', $digest);
$standby->stop('immediate');
$standby->start;
is($standby->safe_psql('postgres', $digest), $sum, 'what it has survives a crash');
is(join('', grep { !/terminated by signal 9/ } split /^/, TestServer::internal_errors($standby)), '', 'no internal errors');

$second->stop;
$standby->stop;
$primary->stop;
done_testing();

# tsurugi.batches, batch_nodes and cancel_job(): loads and dumps while they wait for something, in each way; who
# sees them, and who may cancel them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('batches', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub waits
{
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted"), $_[0]);
}

# A function that waits, in one row, for this lock.
ask(qq{
	CREATE FUNCTION hold(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN
		IF i = 1700 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN i; END';
	CREATE FUNCTION hold_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM hold(new.id); RETURN new; END';
	CREATE TABLE heap (id int PRIMARY KEY, t text);
	CREATE TRIGGER holds BEFORE INSERT ON heap FOR EACH ROW EXECUTE FUNCTION hold_row();
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY, t text) SERVER tsurugi;
	CREATE VIEW seen AS SELECT kind, relation, state, files_done, files, blocks_done, blocks, rows, rows_expected, rejected, way FROM tsurugi.batches;
	GRANT SELECT ON seen TO PUBLIC;
	CREATE TABLE source AS SELECT i AS id, repeat('x', 50) AS t FROM generate_series(1, 3000) i;
	COPY (SELECT * FROM source WHERE id <= 1000) TO '$own/in_1.csv' (FORMAT csv);
	COPY (SELECT * FROM source WHERE id > 1000) TO '$own/in_2.csv' (FORMAT csv);
	COPY (SELECT * FROM source WHERE id <= 1000) TO '$own/in_1.parquet' (FORMAT parquet, ROW_GROUP_ROWS 300);
	COPY (SELECT * FROM source WHERE id > 1000) TO '$own/in_2.parquet' (FORMAT parquet, ROW_GROUP_ROWS 300);
	COPY (SELECT NULL::int AS id, 'x' AS t FROM generate_series(1, 3)) TO '$own/null.csv' (FORMAT csv);
	CREATE ROLE owner LOGIN; CREATE ROLE member LOGIN IN ROLE owner; CREATE ROLE stranger LOGIN;
	CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats; CREATE ROLE signaller LOGIN IN ROLE pg_signal_backend;
	GRANT pg_read_server_files, pg_write_server_files TO owner; GRANT ALL ON heap, memory, source TO owner});
my %size = map { $_ => -s "$own/$_" } qw(in_1.csv in_2.csv in_1.parquet in_2.parquet null.csv);
my $holder = TestServer::Session->new($node);
my $loader = owners_session();
my $pid = $loader->query('SELECT pg_backend_pid()');

sub owners_session
{
	local $ENV{PGUSER} = 'owner';

	return TestServer::Session->new($node);
}

# Starts a statement that waits for the holder; then $check; then the holder lets it go.
sub while_waiting
{
	my ($name, $sql, $expected, $check) = @_;

	$holder->query('SELECT pg_advisory_lock(7)');
	$loader->send("$sql;");
	waits("$name waits");
	$check->();
	$holder->query('SELECT pg_advisory_unlock(7)');
	is($loader->wait, $expected, "$name goes on");
	is(ask('SELECT count(*) FROM tsurugi.batches'), '0', 'and is shown no more');
	ask('TRUNCATE heap; TRUNCATE memory');
}

# --- the way `session` ---

while_waiting('a load from CSV', "SELECT rows FROM tsurugi.load('heap', '{$own/in_*.csv}')", '3000', sub {
	is(ask('SELECT * FROM seen'), 'load|heap|running|1|2|1|2|1699||0|session', 'CSV: the first file, and some of the second');
	my ($bytes, $all, $seen) = split /\|/, ask("SELECT bytes_done, bytes, pid = $pid AND database = 'postgres' AND usename = 'owner' AND transactions = 0 AND error IS NULL FROM tsurugi.batches");
	is($seen, 't', 'whose it is');
	ok($bytes > $size{'in_1.csv'} && $bytes <= $all && $all == $size{'in_1.csv'} + $size{'in_2.csv'}, "$bytes of $all bytes");
});
while_waiting('a load from Parquet', "SELECT rows FROM tsurugi.load('heap', '{$own/in_*.parquet}')", '3000', sub {
	is(ask('SELECT * FROM seen'), 'load|heap|running|1|2|6|11|1699|3000|0|session', 'Parquet: row groups, and the rows of the footers');
	is(ask('SELECT bytes_done, bytes FROM tsurugi.batches'), ($size{'in_1.parquet'} + int($size{'in_2.parquet'} * 699 / 2000)) . '|' . ($size{'in_1.parquet'} + $size{'in_2.parquet'}),
		'bytes as many as of the rows');
});
while_waiting('a load that leaves rows out', "SELECT rows FROM tsurugi.load('heap', '{$own/null.csv,$own/in_1.csv,$own/in_2.csv}', on_error => 'skip')", '3000', sub {
	is(ask('SELECT * FROM seen'), 'load|heap|running|2|3|2|3|1000||3|session', 'rows that are rejected, and groups of the others');
});
while_waiting('a load with ON CONFLICT', "SELECT rows FROM tsurugi.load('heap', '{$own/in_*.parquet}', on_conflict => 'replace')", '3000', sub {
	is(ask('SELECT files_done, rows >= 1000, way FROM seen'), '1|t|session', 'rows that replace others');
});
ask(qq{CREATE FUNCTION load_more() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN PERFORM tsurugi.load('memory', '{$own/in_1.csv}'); RETURN NULL; END \$\$;
	CREATE TRIGGER a_first BEFORE INSERT ON heap FOR EACH STATEMENT EXECUTE FUNCTION load_more();
	ALTER FUNCTION load_more() SECURITY DEFINER});
while_waiting('a load with a load in a trigger', "SELECT rows FROM tsurugi.load('heap', '{$own/in_2.csv}')", '2000', sub {
	is(ask('SELECT * FROM seen'), 'load|heap|running|0|1|0|1|0||0|session', 'the outer one is shown, without the rows of the other');
});
ask('DROP TRIGGER a_first ON heap');

# --- dumps ---

while_waiting('a dump', "SELECT count(*) FROM tsurugi.dump('SELECT id, public.hold(id) FROM public.source', '$own', prefix => 'out', options => '{\"max_rows_per_file\": 500}')", '6', sub {
	is(ask('SELECT * FROM seen'), 'dump||running|3||0||1699||0|session', 'files that are whole, and rows');
	my $written = 0;
	$written += -s "$own/out_0000$_.parquet" for 1 .. 3;
	is(ask('SELECT bytes_done, bytes FROM tsurugi.batches'), "$written|", 'and their bytes');
});

# --- the way `pool` ---

for my $format ('csv', 'parquet')
{
	$holder->query('BEGIN; INSERT INTO memory VALUES (1000), (3000)');
	$loader->send("SELECT rows FROM tsurugi.load('memory', '{$own/in_*.$format}', transactional => false);");
	waits("a load by the pool from $format waits");
	is(ask('SELECT kind, relation, state, files, blocks, rows_expected, rejected, way FROM seen'), 'load|memory|running|2|' . ($format eq 'csv' ? 2 : 11) . '|3000|0|pool', 'is shown');
	is(ask("SELECT j.kind, j.state FROM tsurugi.jobs j JOIN tsurugi.batches b ON j.id = b.job"), 'load|running', 'its number is that of its job') if $format eq 'csv';
	if ($format eq 'csv')
	{
		my $tree = join(',', 'batch|||activated|', map { ("file|$_||activated|", "block|$_|1|activated|" . 960 * $_, "statement|$_|1|activated|") } 1, 2);

		ok($node->poll_query_until('postgres', "SELECT string_agg(concat(level, '|', file, '|', block, '|', state, '|', rows), ',') FROM tsurugi.batch_nodes", $tree),
			'its files, blocks and statements, and how many rows of the blocks have been stored');
		is(ask('SELECT DISTINCT n.job = b.job FROM tsurugi.batch_nodes n, tsurugi.batches b'), 't', 'of this batch');
		is(ask("SET SESSION AUTHORIZATION $_->[0]; SELECT count(*) FROM tsurugi.batch_nodes"), $_->[1], "what $_->[0] sees of them")
			for ['owner', 7], ['member', 7], ['reader', 7], ['stranger', 0];
	}
	$holder->query('ROLLBACK');
	is($loader->wait, '3000', 'and goes on');
	is(ask('SELECT count(*) FROM tsurugi.batch_nodes'), '0', 'and has no nodes any more');
	ask('TRUNCATE memory');
}

SKIP:
{
	skip 'no failpoints', 1 unless TestServer::has_failpoints($node);

	my $failing = TestServer::Session->new($node);
	my $stopped = $failing->query('SELECT pg_backend_pid()');

	ask("COPY (SELECT i % 10 AS id, 'x' AS t FROM generate_series(1, 20) i) TO '$own/twice.csv' (FORMAT csv)");
	$failing->query("SET tsurugi_fdw.failpoints = 'stop:load_aborts'");
	$failing->send("SELECT rows FROM tsurugi.load('memory', '{$own/twice.csv}', transactional => false);");
	ok(TestServer::has_stopped($stopped), 'a load that fails stops before its end');
	is(ask('SELECT state, error, rows FROM tsurugi.batches'), 'aborting|duplicate key value violates unique constraint "memory_pkey"|0', 'it is shown why it fails');
	kill 'CONT', $stopped;
	is($failing->wait, 'ERROR 23505', 'and it fails so');

	# Its job alone is cancelled, as it is a load in a batch, whose job the view shows; then the user cancels the statement.
	ask("COPY (SELECT 1 AS i) TO '$own/one.csv' (FORMAT csv); COPY (SELECT 5001 AS id, 'x' AS t) TO '$own/fits.csv' (FORMAT csv);
		CREATE FUNCTION load_one(int) RETURNS bigint LANGUAGE sql AS \$\$SELECT rows FROM tsurugi.load('memory', '{$own/fits.csv}', transactional => false)\$\$");
	$failing->query("SET tsurugi_fdw.failpoints = 'stop:load_runs'");
	$failing->query('\set VERBOSITY default');
	$failing->send("SELECT rows FROM tsurugi.batch('SELECT public.load_one(\$1)', '{$own/one.csv}');");
	ok(TestServer::has_stopped($stopped), 'a load in a batch runs, and its tasks wait for a commit');
	is(ask("SELECT tsurugi.cancel_job(id) FROM tsurugi.jobs WHERE kind = 'load' AND pid = $stopped"), 't', 'its job is cancelled');
	ok(ask("SELECT pg_cancel_backend($stopped)"), 'and then the statement');
	kill 'CONT', $stopped;
	like($failing->wait_messages, qr/^ERROR:  canceling statement due to user request$/m, 'the second is not lost while the first is shown as the reason');
	is(ask('SELECT count(*) FROM memory WHERE id = 5001'), '0', 'and nothing is stored');
	$failing->close;
}

# --- who sees them, and who may cancel them ---

$holder->query('SELECT pg_advisory_lock(7)');
$loader->send("SELECT rows FROM tsurugi.load('heap', '{$own/in_*.csv}');");
waits('a load waits');
for my $case (['owner', 't'], ['member', 't'], ['reader', 't'], ['stranger', 'f'], ['signaller', 'f'])
{
	my ($role, $sees) = @$case;

	is(ask("SET SESSION AUTHORIZATION $role; SELECT job > 0, pid = $pid, database, usename, kind IS NOT NULL AND relation IS NOT NULL AND rows IS NOT NULL AND way IS NOT NULL,
			coalesce(kind, relation, state, way, error) IS NULL AND coalesce(files, files_done, blocks, blocks_done, rows, bytes, bytes_done, rejected, transactions) IS NULL FROM tsurugi.batches"),
		"t|t|postgres|owner|$sees|" . ($sees eq 't' ? 'f' : 't'), "what $role sees");
}
my $job = ask('SELECT job FROM tsurugi.batches');
like(psql_error("SET SESSION AUTHORIZATION stranger; SELECT tsurugi.cancel_job($job)"), qr/42501/, 'a stranger cannot cancel it');
is(ask("SELECT tsurugi.cancel_job($job + 1)"), 'f', 'there is none of another number');
is(ask("SELECT kind FROM tsurugi.batches"), 'load', 'it runs');
for my $role ('signaller', 'member')
{
	$job = ask('SELECT job FROM tsurugi.batches');
	is(ask("SET SESSION AUTHORIZATION $role; SELECT tsurugi.cancel_job($job)"), 't', "$role cancels it");
	is($loader->wait, 'ERROR 57014', 'it is cancelled');
	is(ask('SELECT count(*) FROM tsurugi.batches'), '0', 'and is shown no more');
	is(ask("SELECT tsurugi.cancel_job($job)"), 'f', 'a second time there is none');
	is($loader->query('SELECT 1'), '1', 'the session goes on');
	$loader->send("SELECT rows FROM tsurugi.load('heap', '{$own/in_*.csv}');");
	waits('the next one waits');
}
ask("SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'its session is terminated');
is(ask('SELECT count(*) FROM tsurugi.batches'), '0', 'it is shown no more');
$holder->query('SELECT pg_advisory_unlock(7)');

$loader = TestServer::Session->new($node);
$holder->query('BEGIN; INSERT INTO memory VALUES (3000)');
$loader->send("SELECT rows FROM tsurugi.load('memory', '{$own/in_*.parquet}', transactional => false);");
waits('a load by the pool waits');
is(ask('SELECT tsurugi.cancel_job(job) FROM tsurugi.batches'), 't', 'a load by the pool is cancelled');
is($loader->wait, 'ERROR 57014', 'and ends');
$holder->query('ROLLBACK');
ask('TRUNCATE memory');
is($loader->query("SET statement_timeout = '1ms'; SELECT count(*) FROM tsurugi.load('heap', '{$own/in_*.csv}'), pg_sleep(10)"), 'ERROR 57014', 'statement_timeout');
is(ask('SELECT count(*) FROM tsurugi.batches'), '0', 'and nothing is shown');
is(TestServer::internal_errors($node), '', 'no internal error');
$_->close for $holder, $loader;
$node->stop;
done_testing();

# Dumps of queries that are jobs, and of several tables: their rows go to the file by columns, as a
# job hands them out, and the file is byte by byte the one that PostgreSQL's own plan of the query
# gives, row by row.  So is that of a job which gives up, and whose rows come from its fallback.  A
# dump that fails, or is cancelled, in the middle of a job leaves nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('dump_query', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;
my $session = TestServer::Session->new($node);

mkdir("$own/dump");
chmod(0777, "$own/dump");

sub files
{
	return join(' ', map { s{.*/}{}r } glob("$own/dump/* $own/dump/.[!.]*"));
}

# What a dump returns, and its files, each with its bytes.
sub dumped
{
	my ($jobs, $query, $format, $options) = @_;
	my $result = $session->query("SET tsurugi_fdw.jobs = $jobs; SET tsurugi_fdw.scan_pool_rows = -1;"
		. "SELECT string_agg(rows::text, ' ') FROM tsurugi.dump('" . $query =~ s/'/''/gr . "', '$own/dump', '$format', options => '$options')");
	my @files = map { my $text = slurp_file($_); unlink($_); $text } sort glob("$own/dump/part_*");

	return [ $result, @files ];
}

$session->query(q{
	CREATE DOMAIN amount AS numeric(30,4);
	CREATE TYPE mood AS ENUM ('sad', 'glad');
	CREATE TABLE heap (id int PRIMARY KEY, b bool, i2 int2, i8 int8, o oid, f4 float4, f8 float8, n9 numeric(9,3), n38 amount, n numeric, d date,
		t time, tz timetz, ts timestamp, tstz timestamptz, iv interval, short text, v varchar(20), c char(5), long text, by bytea, u uuid, j json, jb jsonb,
		m mood, l int[]);
	INSERT INTO heap SELECT i, i % 2 = 0, i - 32768, i * 10000000000, 4294967295 - i, i / 7.0, sqrt(i), i / 8.0 - 100, i * 12345678901234567890.5 - 5, i / 3.0,
		CASE i % 10 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE date '1999-12-25' + i END, time '00:00' + i * interval '1 min 0.001 s', '01:02:03+05',
		CASE i % 10 WHEN 0 THEN 'infinity' ELSE timestamp '1969-12-31 23:00' + i * interval '1 s 1 us' END, timestamptz '1969-12-31 23:00+00' + i * interval '1 min',
		i * interval '-1 mon 2 d 3.5 s', 'äöü,' || i % 10, repeat('"', i % 20), i % 1000, repeat('long ' || i, i % 30), decode(lpad(to_hex(i), 8, '0'), 'hex'),
		md5(i::text)::uuid, ('{"a" : ' || i || '}')::json, jsonb_build_object('b', i), CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'glad' END::mood, ARRAY[i, NULL, i + 1]
		FROM generate_series(1, 3000) i;
	UPDATE heap SET b = NULL, i8 = NULL, f4 = NULL, n9 = NULL, n38 = NULL, d = NULL, short = NULL, u = NULL, iv = NULL, l = NULL WHERE id % 7 = 3;
	CREATE FOREIGN TABLE types () INHERITS (heap) SERVER tsurugi OPTIONS (persistence 'unlogged');
	ALTER FOREIGN TABLE types NO INHERIT heap;
	INSERT INTO types SELECT * FROM heap ORDER BY id;
	CREATE FOREIGN TABLE other (id int PRIMARY KEY, k int, note text) SERVER tsurugi OPTIONS (persistence 'unlogged');
	INSERT INTO other SELECT i, i % 50, CASE WHEN i % 3 > 0 THEN 'note ' || i END FROM generate_series(1, 2000) i;
	CREATE TABLE parted (k int, id int, n numeric(12,2), t text) PARTITION BY LIST (k);
	CREATE FOREIGN TABLE parted_1 PARTITION OF parted FOR VALUES IN (1) SERVER tsurugi OPTIONS (persistence 'unlogged');
	CREATE FOREIGN TABLE parted_2 (t text, n numeric(12,2), gone int, id int, k int) SERVER tsurugi OPTIONS (persistence 'unlogged');
	ALTER FOREIGN TABLE parted_2 DROP COLUMN gone;
	ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
	CREATE TABLE parted_3 PARTITION OF parted FOR VALUES IN (3);
	INSERT INTO parted SELECT i % 3 + 1, i, i / 4.0, 'text of ' || i FROM generate_series(1, 3000) i;
	CREATE FOREIGN TABLE large (id int, d date, t text) SERVER tsurugi OPTIONS (persistence 'unlogged');
	INSERT INTO large SELECT i, date '2000-01-01' + i % 100, 'text ' || i % 7 FROM generate_series(1, 30000) i;
	ANALYZE types; ANALYZE other; ANALYZE parted; ANALYZE large});

# --- the same file ---

my @queries = (
	['a join, sorted', 'SELECT types.*, o.note FROM types JOIN other o USING (id) ORDER BY id'],
	['a join that hands rows out as they come', 'SELECT o.id, t.short, t.n9, o.note, t.id AS again FROM types t LEFT JOIN other o ON o.id = t.id + 100 ORDER BY t.id'],
	['a sort by what is not dumped', 'SELECT short, n38, d, u FROM types ORDER BY n38 DESC NULLS LAST, id'],
	['computed columns', 'SELECT t.id, t.n9 * 2 AS double, t.l, o.note || t.c AS text FROM types t JOIN other o USING (id) ORDER BY t.id'],
	['groups', 'SELECT k, count(*), sum(n38), min(short), avg(f8) FROM types JOIN other USING (id) GROUP BY k ORDER BY k'],
	['a limit', 'SELECT t.id, t.d, o.note FROM types t JOIN other o USING (id) ORDER BY t.id LIMIT 777'],
	['no rows', 'SELECT t.id, o.note FROM types t JOIN other o USING (id) WHERE o.k > 50 ORDER BY t.id']);
for my $format ('parquet', 'arrow', 'csv')
{
	my $options = $format eq 'csv' ? '{"max_rows_per_file": 777}' : '{"row_group_rows": 300, "max_rows_per_file": 777}';

	for my $case (@queries)
	{
		my ($name, $query) = @$case;
		my $expected = dumped('off', $query, $format, $options);

		unlike($expected->[0], qr/ERROR/, "$format: $name");
		cmp_ok(scalar(@$expected), '>', 1, 'has files');
		is_deeply(dumped('force', $query, $format, $options), $expected, 'which are the same by columns');
	}
	# a job of one task has the rows in the order of the scan
	for my $where ("id > 20 AND d < '2005-01-01'", "n9 > 0", "short LIKE '%3' AND b")
	{
		my $query = "SELECT id, short, n9, d, long, iv, n38 FROM types WHERE $where";

		is_deeply(dumped('force', $query, $format, $options), dumped('off', $query, $format, $options), "$format: rows where $where");
	}
	for my $case (['partitions, one of them ordinary', 'SELECT id, n, t FROM parted', 'SELECT id, n, t FROM (SELECT * FROM parted OFFSET 0) p'],
		['UNION ALL', 'SELECT id, n9, short FROM types UNION ALL SELECT id, k, note FROM other UNION ALL SELECT k, n, t FROM parted_2 UNION ALL SELECT id, n9, short FROM heap',
			'SELECT * FROM (SELECT id, n9, short FROM types UNION ALL SELECT id, k, note FROM other UNION ALL SELECT k, n, t FROM parted_2 UNION ALL SELECT id, n9, short FROM heap OFFSET 0) u'],
		['UNION ALL of numerics of several scales', 'SELECT n9 FROM types UNION ALL SELECT n FROM parted_2', 'SELECT * FROM (SELECT n9 FROM types UNION ALL SELECT n FROM parted_2 OFFSET 0) u'])
	{
		my ($name, $query, $by_rows) = @$case;
		my $expected = dumped('off', $by_rows, $format, $options);

		unlike($expected->[0], qr/ERROR/, "$format: $name");
		is_deeply(dumped('off', $query, $format, $options), $expected, 'the same by columns');
	}
}

# --- a job that gives up ---

for my $format ('parquet', 'csv')
{
	my $query = 'SELECT id, short, n9, d FROM types ORDER BY n38, id';
	my $expected = dumped('off', $query, $format, '{}');

	$session->query("SET tsurugi_fdw.job_memory = '64kB'");
	is_deeply(dumped('force', $query, $format, '{}'), $expected, "$format: rows of the fallback");
	like($session->query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query"), qr/[Ff]allback/, 'which is run');
	$session->query('RESET tsurugi_fdw.job_memory');
}

# --- which way ---

my $worker = TestServer::worker_pid($node);
my $pid = $session->query('SELECT pg_backend_pid()');

# What the view says of a dump while it waits for the pool, which encodes its blocks.
sub way_of
{
	my ($query) = @_;
	my $way = 'none';

	TestServer::stop_worker($node);
	$session->send("SELECT tsurugi.dump('$query', '$own/dump', options => '{\"row_group_rows\": 300}');");
	$way = $node->safe_psql('postgres', 'SELECT way FROM tsurugi.batches')
		if $node->poll_query_until('postgres', "SELECT count(*) > 1 FROM tsurugi.jobs WHERE kind = 'encode' AND pid = $pid");
	kill 'CONT', $worker;
	unlike($session->wait, qr/ERROR/, $query);
	unlink(glob("$own/dump/part_*"));
	return $way;
}

$session->query('SET tsurugi_fdw.jobs = force');
is(way_of('TABLE types'), 'columns', 'a table');
is(way_of('SELECT types.*, o.note FROM types JOIN other o USING (id)'), 'columns', 'a join');
is(way_of('SELECT short, n38, d, u FROM types ORDER BY n38, id'), 'columns', 'a sort, also by what is not dumped');
is(way_of('SELECT short, id, l FROM types WHERE id > 20'), 'columns', 'a table with conditions');
is(way_of('SELECT t, id FROM parted WHERE k < 3 AND id < 2900'), 'columns', 'partitions with conditions');
is(way_of('SELECT id, n, t FROM parted'), 'columns', 'partitions');
is(way_of('SELECT id, note FROM other UNION ALL SELECT id, short FROM types'), 'columns', 'UNION ALL');
is(way_of('SELECT id + 1, note FROM other'), 'session', 'a column that is computed');

# What the server's log says of a dump's plan.
sub plan_of
{
	my ($query) = @_;
	my $from = -s $node->logfile;

	$session->query("SELECT tsurugi.dump('$query', '$own/dump')");
	unlink(glob("$own/dump/part_*"));
	return slurp_file($node->logfile, $from) =~ /Query Text: \Q$query\E\n\s+(\w+ \w+)/ ? $1 : 'none';
}

$session->query("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; SET tsurugi_fdw.jobs = on");
is(plan_of('SELECT * FROM large WHERE id < 29000'), 'Custom Scan', 'a long table with conditions is a job');
is(plan_of('SELECT * FROM large'), 'Foreign Scan', 'not one without, whose rows are there as they are');
is(plan_of('SELECT * FROM types WHERE id > 20'), 'Foreign Scan', 'nor a short one');
$session->query('SET auto_explain.log_min_duration = -1; SET tsurugi_fdw.jobs = force');

# --- in the middle ---

my $join = "SELECT tsurugi.dump('SELECT t.*, o.note FROM types t JOIN other o USING (id)', '$own/dump', options => '{\"row_group_rows\": 300}')";

for my $end ("SELECT pg_cancel_backend($pid)", 'SELECT tsurugi.cancel_job(job) FROM tsurugi.batches')
{
	TestServer::stop_worker($node);
	$session->send("$join;");
	ok($node->poll_query_until('postgres', "SELECT way = 'columns' FROM tsurugi.batches") &&
			$node->poll_query_until('postgres', "SELECT count(*) > 1 FROM tsurugi.jobs WHERE kind = 'encode' AND pid = $pid"), 'a dump is under way');
	is($node->safe_psql('postgres', $end), 't', 'it is cancelled');
	is($session->wait, 'ERROR 57014', "and ends: $end");
	kill 'CONT', $worker;
	is(files(), '', 'no file stays');
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM tsurugi.jobs'), 'nor a job');
}
$session->query("UPDATE types SET n9 = 'NaN' WHERE id = 1900");
is($session->query($join), 'ERROR 22003', 'a value that a file cannot have');
is(files(), '', 'no file stays');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM tsurugi.jobs'), 'nor a job');

$session->close;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

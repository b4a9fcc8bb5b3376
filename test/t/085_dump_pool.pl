# Dumps whose blocks the pool encodes: the file is the one that it is without the pool; a dump that
# waits for a block is cancelled, or fails, leaves no file, and its memory is given back; a job of it
# can be cancelled by its number.  A full arena does not keep one from ending.  Files of rows that are
# taken as a table in memory stores them are those of the same rows in an ordinary one, of all types.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('dump_pool', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.memory' => "'64MB'");
my $own = $node->basedir;

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# What jobs have in the arena.
sub job_bytes
{
	return ask(q{SELECT bytes FROM tsurugi.memory_uses WHERE use = 'job'});
}

sub files
{
	return join(' ', map { s{.*/}{}r } glob("$own/dump/* $own/dump/.[!.]*"));
}

ask(q{
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY, n numeric(12,2), t text, l int[]) SERVER tsurugi OPTIONS (persistence 'unlogged');
	INSERT INTO memory SELECT i, i % 100 / 4.0, 'text ' || i % 7000, CASE WHEN i % 3 > 0 THEN ARRAY[i, NULL] END FROM generate_series(1, 20000) i;
	CREATE TABLE heap AS SELECT * FROM memory});
mkdir("$own/dump");
chmod(0777, "$own/dump");

# --- the same file ---

my $tasks = q{SELECT sum(tasks_run) FROM tsurugi.workers};
my %file;

for my $format ('parquet', 'arrow')
{
	my $before = ask($tasks);

	ask(qq{SELECT tsurugi.dump('SELECT * FROM heap ORDER BY id', '$own/dump', '$format', '$format', '{"row_group_rows": 900}')});
	cmp_ok(ask($tasks), '>', $before + 15, "$format: the pool has encoded blocks");
	$file{$format} = slurp_file("$own/dump/${format}_00001.$format");
	unlink("$own/dump/${format}_00001.$format");
}
ask(q{COPY (SELECT * FROM heap ORDER BY id) TO '} . "$own/one.parquet" . q{' (FORMAT parquet, ROW_GROUP_ROWS 900)});
ok(slurp_file("$own/one.parquet") eq $file{parquet}, 'COPY writes the same file');

# --- options ---

# The bytes and encodings of a dump of both kinds of columns.
sub dumped
{
	my ($options) = @_;

	ask(qq{SELECT tsurugi.dump('SELECT id % 10 AS few, md5(id::text) AS many FROM heap', '$own/dump', 'parquet', 'option', '$options')});
	my $file = slurp_file("$own/dump/option_00001.parquet");
	my $encodings = ask(qq{SELECT encodings FROM tsurugi.describe_file('$own/dump/option_00001.parquet') WHERE name = 'few'});

	unlink("$own/dump/option_00001.parquet");
	return (length($file), $encodings);
}

my ($quick) = dumped('{"codec": "zstd", "level": 1}');
my ($small, $encodings) = dumped('{"codec": "zstd", "level": 19}');
my (undef, $without) = dumped('{"dictionary": false}');
my ($one) = dumped('{"codec": "none"}');
my ($many) = dumped('{"codec": "none", "row_group_bytes": 10000}');

cmp_ok($small, '<', $quick, 'a higher level makes a smaller file');
is((dumped('{"codec": "zstd"}'))[0], $quick, 'the usual level');
like($encodings, qr/dictionary/i, 'a column of few values has a dictionary');
unlike($without, qr/dictionary/i, 'unless none is wanted');
cmp_ok($many, '>', $one + 10000, 'blocks of few bytes are many');

# --- of rows as they are stored ---

# In the order in which they were inserted.
sub dump_table
{
	my ($table, $format, $prefix, $options) = @_;

	ask(qq{SET tsurugi_fdw.scan_pool_rows = -1; SELECT tsurugi.dump('$table', '$own/dump', '$format', '$prefix', '$options')});
	my @files = map { my $text = slurp_file($_); unlink($_); $text } sort glob("$own/dump/${prefix}_*");
	return @files;
}

ask(q{
	CREATE DOMAIN amount AS numeric(30,4);
	CREATE TYPE mood AS ENUM ('sad', 'glad');
	CREATE TABLE heap_types (id int PRIMARY KEY, b bool, i2 int2, i8 int8, o oid, f4 float4, f8 float8, n9 numeric(9,3), n18 numeric(18,0), n38 amount,
		n numeric, d date, t time, tz timetz, ts timestamp, tstz timestamptz, iv interval, short text, v varchar(20), c char(5), long text, by bytea,
		u uuid, j json, jb jsonb, m mood, l int[]);
	INSERT INTO heap_types SELECT i, i % 2 = 0, i - 32768, i * 10000000000, 4294967295 - i, i / 7.0, sqrt(i), i / 8.0 - 100, i * 1000000000000, i * 12345678901234567890.5 - 5, i / 3.0,
		CASE i % 10 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE date '1999-12-25' + i END, time '00:00' + i * interval '1 min 0.001 s', '01:02:03+05',
		CASE i % 10 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE timestamp '1969-12-31 23:00' + i * interval '1 s 1 us' END,
		CASE i % 10 WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' ELSE timestamptz '1969-12-31 23:00+00' + i * interval '1 min' END, i * interval '-1 mon 2 d 3.5 s',
		'äöü' || i % 10, repeat('x', i % 20), i % 1000, repeat('long ' || i, i % 30), decode(lpad(to_hex(i), 8, '0'), 'hex'),
		md5(i::text)::uuid, ('{"a" : ' || i || '}')::json, jsonb_build_object('b', i), CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'glad' END::mood, ARRAY[i, NULL, i + 1]
		FROM generate_series(1, 5000) i;
	INSERT INTO heap_types SELECT i FROM generate_series(5001, 5050) i;
	UPDATE heap_types SET b = NULL, i8 = NULL, f4 = NULL, n9 = NULL, n38 = NULL, d = NULL, short = NULL, u = NULL, iv = NULL, l = NULL WHERE id % 7 = 3;
	CREATE FOREIGN TABLE memory_types () INHERITS (heap_types) SERVER tsurugi OPTIONS (persistence 'unlogged');
	ALTER FOREIGN TABLE memory_types NO INHERIT heap_types;
	INSERT INTO memory_types SELECT * FROM heap_types ORDER BY id});
for my $format ('parquet', 'arrow')
{
	my $options = '{"row_group_rows": 700, "max_rows_per_file": 1777}';
	my @expected = dump_table('SELECT * FROM heap_types ORDER BY id', $format, 'heap', $options);

	is(scalar(@expected), 3, "$format: files of a table of all types");
	is_deeply([dump_table('TABLE memory_types', $format, 'memory', $options)], \@expected, 'are the same of a table in memory');
	is_deeply([dump_table('SELECT n38, id, short, id AS again, iv, d FROM memory_types', $format, 'memory', $options)],
		[dump_table('SELECT n38, id, short, id AS again, iv, d FROM heap_types ORDER BY id', $format, 'heap', $options)], 'and of some of its columns');
}
ask(qq{SET tsurugi_fdw.scan_pool_rows = -1; COPY (TABLE memory_types) TO '$own/memory.arrow' (FORMAT arrow)});
ask(qq{COPY (SELECT * FROM heap_types ORDER BY id) TO '$own/heap.arrow' (FORMAT arrow)});
ok(slurp_file("$own/memory.arrow") eq slurp_file("$own/heap.arrow"), 'so are those of COPY');
for my $case (['n9', 'NaN', '22003', 'cannot write NaN as a DECIMAL'], ['n38', 'NaN', '22003', 'cannot write NaN as a DECIMAL'],
	['ts', '294276-12-31 23:59:59', '22008', 'timestamp out of range'], ['iv', '3000000 hours', '22008', 'interval out of range'])
{
	my ($column, $value, $code, $message) = @$case;
	my ($status, $out, $error) = (0);

	ask("UPDATE memory_types SET $column = '$value' WHERE id = 4000");
	$status = $node->psql('postgres', qq{\\set VERBOSITY verbose\nSELECT tsurugi.dump('TABLE memory_types', '$own/dump', 'arrow')}, stdout => \$out, stderr => \$error);
	like($error, qr/ERROR:  $code: \Q$message\E/, "$column that a file cannot have");
	is(files(), '', 'no file stays');
	ask("UPDATE memory_types SET $column = NULL WHERE id = 4000");
}

# --- that wait for the pool ---

my $worker = TestServer::worker_pid($node);
my $session = TestServer::Session->new($node);
my $pid = $session->query('SELECT pg_backend_pid()');
my $bytes = job_bytes();
my $dump = qq{SELECT tsurugi.dump('SELECT * FROM heap', '$own/dump', options => '{"row_group_rows": 900}')};

sub begins_to_wait
{
	return $node->poll_query_until('postgres', "SELECT wait_event = 'Extension' FROM pg_stat_activity WHERE pid = $pid AND state = 'active'")
		&& $node->poll_query_until('postgres', "SELECT count(*) > 1 FROM tsurugi.jobs WHERE kind = 'encode' AND pid = $pid");
}

for my $end ("SELECT pg_cancel_backend($pid)", 'SELECT bool_and(tsurugi.cancel_job(id)) FROM tsurugi.jobs', 'SELECT tsurugi.cancel_job(job) FROM tsurugi.batches')
{
	TestServer::stop_worker($node);
	$session->send("$dump;");
	ok(begins_to_wait(), 'a dump waits for the pool');
	is(ask($end), 't', 'it is cancelled');
	kill 'CONT', $worker if $end =~ /jobs/;
	is($session->wait, 'ERROR 57014', "and ends: $end");
	is(files(), '', 'no file stays');
	kill 'CONT', $worker;
	ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM tsurugi.jobs WHERE kind = 'encode'"), 'nor a job');
	is(job_bytes(), $bytes, 'nor memory');
}

# --- that fail while the pool encodes ---

is($session->query(qq{SELECT tsurugi.dump('SELECT id, 1 / (19000 - id) FROM heap', '$own/dump', options => '{"row_group_rows": 900}')}),
	'ERROR 22012', 'a dump whose query fails');
is(files(), '', 'no file stays');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM tsurugi.jobs WHERE kind = 'encode'"), 'nor a job');
is(job_bytes(), $bytes, 'nor memory');

# --- without memory ---

ask(q{INSERT INTO memory SELECT i, 1, repeat('x', 1000), NULL FROM generate_series(20001, 50000) i;});
ask(q{ALTER SYSTEM SET tsurugi_fdw.memory = '16MB'});
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT limit_bytes < 64000000 FROM tsurugi.memory}), 'the memory is made smaller than what is in it');
is($session->query(qq{SELECT rows FROM tsurugi.dump('SELECT * FROM heap ORDER BY id', '$own/dump', 'parquet', 'small', '{"row_group_rows": 900}')}), 20000, 'a dump does without');
ok(slurp_file("$own/dump/small_00001.parquet") eq $file{parquet}, 'and writes the same file');
is(job_bytes(), $bytes, 'without memory of the arena');
$session->close;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

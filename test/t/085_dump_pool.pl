# Dumps whose blocks the pool encodes: the file is the one that it is without the pool; a dump that
# waits for a block is cancelled, or fails, leaves no file, and its memory is given back; a job of it
# can be cancelled by its number.  A full arena does not keep one from ending.
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
	kill 'STOP', $worker;
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

# Groups that a job sets aside when the few chunks that have them have been read: that the answers stay those of an ordinary table where other chunks
# have rows of them, too: chunks with values from here and there, chunks that have been written to, by the transaction itself or by others; where
# keys are NULL; and where a task has to spill after it has set groups aside.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('complete', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.jobs' => 'force');

plan skip_all => 'built without failpoints' unless TestServer::has_failpoints($node);

# The rows of 2000 in the middle come from all over the table, and fill chunks of their own.
my $columns = 'k int, n numeric(12,2), sparse int, v int, t text';
my $rows = q{SELECT k, k / 4.0 - 5000, CASE WHEN g % 17 > 0 THEN k END, g % 1000, 'a text that is not short, ' || g FROM (SELECT g, CASE WHEN g BETWEEN 50000 AND 51999 THEN g * 7919 % 40000 ELSE g / 3 END AS k FROM generate_series(1, 120000) g) x};
$node->safe_psql('postgres', "CREATE TABLE h ($columns); CREATE FOREIGN TABLE m ($columns) SERVER tsurugi; CREATE FOREIGN TABLE tick (i int) SERVER tsurugi; INSERT INTO h $rows; INSERT INTO m SELECT * FROM h; ANALYZE h, m");

# What is written elsewhere has the collector look again. Bounds of most chunks are known then, and few have to be looked at row by row.
ok($node->poll_query_until('postgres', "WITH i AS (INSERT INTO tick VALUES (1) RETURNING i) SELECT header_bytes = 0 FROM i, tsurugi.tables WHERE relation = 'm'"), 'the table is at rest');

sub same
{
	my ($query, $what, $before, $after) = @_;
	my ($theirs, $ours) =
	  map { $node->safe_psql('postgres', "SET tsurugi_fdw.failpoints = 'query_clusters'; " . ("$before; $query; $after" =~ s/\bt\b(?! text)/$_/gr)) } 'h', 'm';

	return is($ours, $theirs, "$what: $query");
}

my @queries = map { ("SELECT count(*), sum(c), sum(s), sum(x) FROM (SELECT $_ AS x, count(*) AS c, sum(v) AS s FROM t GROUP BY $_) g", "SELECT count(*), sum(c), sum(s), sum(x) FROM (SELECT $_ AS x, count(*) AS c, sum(v) AS s FROM t GROUP BY $_ HAVING count(*) <> 3) g") } 'k', 'n', 'sparse';

for my $tasks (1, 2)
{
	my $set = "SET tsurugi_fdw.job_tasks = $tasks";

	same($_, "$tasks tasks", $set, '') for @queries;
	same($_, "$tasks tasks, own rows", "$set; BEGIN; UPDATE t SET k = k + 20000, n = n + 5000, v = 7 WHERE k BETWEEN 3000 AND 3100; DELETE FROM t WHERE k BETWEEN 30000 AND 30005; INSERT INTO t (k, v) VALUES (17, 1), (39000, 1), (NULL, 1)", 'ROLLBACK') for @queries[ 0 .. 3 ];
}

my $spilled = $node->safe_psql('postgres', "SET tsurugi_fdw.job_tasks = 1; SET tsurugi_fdw.job_memory = '3MB'; SET tsurugi_fdw.failpoints = 'query_clusters'; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT count(*) FROM (SELECT k, min(v), max(v), min(n), max(n) FROM m GROUP BY k OFFSET 0) g");
like($spilled, qr/120000 read.* spilled/, 'groups are written to files');
same("SELECT count(*), sum(c), sum(a), sum(b), sum(d), sum(e) FROM (SELECT k, count(*) AS c, min(v) AS a, max(v) AS b, min(n) AS d, max(n) AS e FROM t GROUP BY k) g", 'groups that are set aside go to files', "SET tsurugi_fdw.job_memory = '3MB'; SET tsurugi_fdw.job_tasks = $_", '') for 1, 2;

# Rows that others have changed, while a snapshot from before is read.
my ($plain_reader, $reader) = map { $node->background_psql('postgres', on_error_stop => 1) } 1 .. 2;
$reader->query("SET tsurugi_fdw.failpoints = 'query_clusters'");
$_->[0]->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM $_->[1]") for [ $plain_reader, 'h' ], [ $reader, 'm' ];
$node->safe_psql('postgres', "UPDATE $_ SET k = k + 1, v = v + 1 WHERE k % 40 = 7; DELETE FROM $_ WHERE k % 60 = 11; INSERT INTO $_ (k, v) SELECT i * 100, 1 FROM generate_series(1, 300) i") for 'h', 'm';
is($reader->query($_ =~ s/\bt\b/m/r), $plain_reader->query($_ =~ s/\bt\b/h/r), "a snapshot from before: $_") for @queries;
$_->query('COMMIT') for $reader, $plain_reader;
$_->quit for $reader, $plain_reader;
same($_, 'afterwards', '', '') for @queries;

is(TestServer::internal_errors($node), '', 'no error was internal');
done_testing();

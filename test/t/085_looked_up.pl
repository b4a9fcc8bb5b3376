# Scans of joins that look the keys of a small build up in an index, in place of reading all rows: where they do so, and where not; that
# the answers are those of ordinary tables, for keys of each type, whatever has been written meanwhile; and what does not change: errors,
# what a serializable transaction has read.
use strict;
use warnings;
use lib 'test/t';
use List::Util qw(sum0);
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('looked_up', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.jobs' => 'force');

# Of the large table: a key of each type; few, which has three values; some NULLs.
my $columns = 'small smallint, big bigint, day date, at timestamp, n numeric(10,2), wide numeric(30,3), few int, half int, label text';
my $rows = q{g, (g / 4)::smallint, g * 100000000::bigint, date '2020-01-01' + g % 5000, timestamp '2020-01-01' + g * interval '1 minute', g * 0.25, g * 0.125, g % 3, CASE WHEN g % 7 > 0 THEN g % 20000 END, 'label ' || g};
my $wanted = 'id int, ' . $columns;

for my $prefix ('h', 'm')
{
	my $table = $prefix eq 'h' ? 'TABLE' : 'FOREIGN TABLE';
	my $server = $prefix eq 'h' ? '' : 'SERVER tsurugi';

	$node->safe_psql('postgres', "CREATE $table $prefix (id int PRIMARY KEY, $columns) $server; INSERT INTO $prefix SELECT $rows FROM generate_series(1, 60000) g;
		CREATE INDEX ON $prefix (small, big); CREATE INDEX ON $prefix (big DESC); CREATE INDEX ON $prefix (day); CREATE INDEX ON $prefix (at, few); CREATE INDEX ON $prefix (n DESC NULLS LAST); CREATE INDEX ON $prefix (wide);
		CREATE INDEX ON $prefix (few); CREATE INDEX ON $prefix (half NULLS FIRST); CREATE INDEX ON $prefix (label); CREATE INDEX ON $prefix ((id + 1));
		CREATE $table ${prefix}k ($wanted) $server; INSERT INTO ${prefix}k SELECT $rows FROM generate_series(1000, 1010) g; INSERT INTO ${prefix}k SELECT $rows FROM generate_series(1005, 50000, 9000) g;
		INSERT INTO ${prefix}k (id, half) VALUES (NULL, NULL), (-5, 3), (70000, NULL); ANALYZE $prefix, ${prefix}k");
}

# How many keys a query has looked up.
sub looked_up { return sum0($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $_[0]") =~ /(\d+) keys looked up/g) }

sub same
{
	my ($query) = @_;
	my ($theirs, $ours) = map { $node->safe_psql('postgres', $_) } $query =~ s/\bm(k?)\b/h$1/gr, $query;

	return is($ours, $theirs, "the answer: $query");
}

my $figures = 'count(*), sum(a.id), min(a.label), max(b.id)';
my %keys = ('a.id = b.id' => 18, 'a.big = b.big' => 16, 'a.day = b.day' => 16, 'a.at = b.at' => 16, 'a.n = b.n' => 16, 'a.wide = b.wide' => 16, 'a.half = b.half' => 16, 'a.small = b.small AND a.big = b.big' => 16,
	'a.at = b.at AND a.few = b.few' => 16, 'a.id = b.big' => 1, 'a.small = b.id' => 13, 'a.id = b.id AND a.few > 0' => 18, 'a.id = b.id AND length(a.label) = length(b.label)' => 18);
for my $condition (sort keys %keys)
{
	my $query = "SELECT $figures FROM m a JOIN mk b ON $condition";

	cmp_ok(looked_up($query), '>=', $keys{$condition} > 1 ? 5 : 0, "looked up: $condition");
	same($query);
}
for my $query ('SELECT count(*), sum(id) FROM m a WHERE id IN (SELECT id FROM mk)', 'SELECT count(*), sum(id) FROM m a WHERE EXISTS (SELECT FROM mk b WHERE b.n = a.n)', "SELECT $figures FROM m a RIGHT JOIN mk b ON a.id = b.id",
	'SELECT a.id, b.id, a.few FROM m a JOIN mk b USING (half) ORDER BY 1, 2', "SELECT $figures FROM m a JOIN (VALUES (7), (20), (20), (NULL)) b (id) ON a.id = b.id", "SELECT $figures FROM m a JOIN mk b ON a.id = b.id JOIN m c ON c.half = b.half",
	"SELECT $figures FROM mk c LEFT JOIN (m a JOIN mk b ON a.id = b.id) ON c.id = a.id + 1", "SELECT $figures FROM m a JOIN (SELECT max(id) AS id FROM mk GROUP BY few) b ON a.id = b.id")
{
	cmp_ok(looked_up($query), '>', 0, "looked up: $query");
	same($query);
}

# No index, none that all rows are in, a key of too many rows or too many keys; rows that find nothing stay; a condition that fails may come first.
for my $query ("SELECT $figures FROM m a JOIN mk b ON a.label = b.label", "SELECT $figures FROM m a JOIN mk b ON a.few = b.few", "SELECT $figures FROM m a JOIN mk b ON a.id + 1 = b.id", "SELECT $figures FROM m a JOIN m b ON a.id = b.half",
	"SELECT $figures FROM m a LEFT JOIN mk b ON a.id = b.id", "SELECT $figures FROM m a FULL JOIN mk b ON a.id = b.id", 'SELECT count(*), sum(id) FROM m a WHERE NOT EXISTS (SELECT FROM mk b WHERE b.id = a.id)',
	"SELECT $figures FROM m a JOIN mk b ON a.id = b.id WHERE 100 / (a.id + 5) > -1", "SELECT $figures FROM m a JOIN (SELECT id FROM mk WHERE id > 100000) b ON a.id = b.id")
{
	is(looked_up($query), 0, "not looked up: $query");
	same($query);
}
is(TestServer::sqlstate($node, $_), '22012', $_) for map { "SELECT $figures FROM $_ a JOIN ${_}k b ON a.id = b.id WHERE 100 / (a.id - 1005) > -1" } 'h', 'm';

# Many keys that are few beside the table; as in a plan whose estimate is wrong by far.
same("SELECT $figures FROM m a JOIN m b ON a.id = b.id AND b.id % 1000 = 7 AND b.label LIKE '%7'");
like($node->safe_psql('postgres', "EXPLAIN (ANALYZE, FORMAT JSON) SELECT $figures FROM m a JOIN mk b ON a.id = b.id"), qr/"Keys Looked Up": [1-9]/, 'EXPLAIN tells of it in other formats');

# --- estimates ---

# What a join is expected to cost as a job, by several settings.
sub cost
{
	my ($settings, $query) = @_;
	my $plan = $node->safe_psql('postgres', "SET tsurugi_fdw.jobs = on; SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_hashjoin = off; $settings; EXPLAIN $query");

	return $plan =~ /Tsurugi Job\)  \(cost=\S+?\.\.(\S+) / ? $1 : die $plan;
}

cmp_ok(cost('', "SELECT $figures FROM m a JOIN mk b ON a.id = b.id"), '<', 0.6 * cost('', "SELECT $figures FROM m a JOIN mk b ON a.label = b.label"), 'look-ups are expected to cost less than reading all rows');
cmp_ok(cost("SET tsurugi_fdw.job_memory = '1MB'", "SELECT $figures FROM m a JOIN m b ON a.id = b.half"), '>', 1.5 * cost("SET tsurugi_fdw.job_memory = '64MB'", "SELECT $figures FROM m a JOIN m b ON a.id = b.half"), 'a build without room in memory is expected to cost more');

# --- writers ---

my $query = 'SELECT count(*), sum(a.id), sum(a.half) FROM m a JOIN mk b ON a.half = b.half';
my $change = 'UPDATE m SET half = half + 1 WHERE id BETWEEN 900 AND 1200; DELETE FROM m WHERE id = 1002; INSERT INTO m (id, half) VALUES (70001, 1003); INSERT INTO mk (half) VALUES (1100)';
my ($theirs, $ours) = map { my $at = $_; $node->safe_psql('postgres', join '; ', map { s/\bm(k?)\b/$at$1/gr } 'BEGIN', $query, $change, $query, 'SAVEPOINT s', $change =~ s/70001/70002/r, $query, 'ROLLBACK TO s', $query, 'ROLLBACK', $query) } 'h', 'm';
is($ours, $theirs, 'own writes are found, and what was rolled back is not');
my $reader = $node->background_psql('postgres', on_error_stop => 0);
$reader->query('SET tsurugi_fdw.jobs = force; BEGIN ISOLATION LEVEL REPEATABLE READ');
my $before = $reader->query($query);
is($before, $node->safe_psql('postgres', $query =~ s/\bm(k?)\b/h$1/gr), 'a snapshot before');
$node->safe_psql('postgres', $change =~ s/\bm(k?)\b/$_$1/gr) for 'h', 'm';
same($query);
is($reader->query($query), $before, 'and what the snapshot sees');
$node->safe_psql('postgres', 'CREATE INDEX late ON m (half, id)');
is($reader->query($query), $before, 'also when there is an index that is younger');
$reader->query('COMMIT');
same($query);

# A plan that is kept, when an index has gone, and when the table has been stored anew.
$reader->query("SET plan_cache_mode = force_generic_plan; PREPARE p AS $query");
for my $statement ('SELECT 1', 'DROP INDEX late', 'DROP INDEX m_half_idx', 'ALTER FOREIGN TABLE m ADD COLUMN more int', 'CREATE INDEX ON m (half)', 'TRUNCATE mk; INSERT INTO mk SELECT * FROM hk')
{
	$node->safe_psql('postgres', $statement);
	is($reader->query('EXECUTE p'), $node->safe_psql('postgres', $query =~ s/\bm(k?)\b/h$1/gr), "a prepared statement after $statement");
}

# Partitions, each by its own index, or without.
for my $prefix ('h', 'm')
{
	my $table = $prefix eq 'h' ? 'TABLE' : 'FOREIGN TABLE';
	my $server = $prefix eq 'h' ? '' : 'SERVER tsurugi';

	$node->safe_psql('postgres', "CREATE TABLE ${prefix}p (id int, v int, half int) PARTITION BY RANGE (id);
		CREATE $table ${prefix}p1 PARTITION OF ${prefix}p FOR VALUES FROM (0) TO (30000) $server; CREATE $table ${prefix}p2 (half int, v int, id int) $server; ALTER TABLE ${prefix}p ATTACH PARTITION ${prefix}p2 FOR VALUES FROM (30000) TO (90000);
		INSERT INTO ${prefix}p SELECT g, g * 2, g % 20000 FROM generate_series(1, 60000) g; CREATE INDEX ON ${prefix}p1 (half); CREATE INDEX ON ${prefix}p2 (half); CREATE INDEX ON ${prefix}p2 (id); ANALYZE ${prefix}p");
}
for my $column ('half', 'id')
{
	my ($theirs, $ours) = map { $node->safe_psql('postgres', "SELECT count(*), sum(a.v) FROM ${_}p a JOIN ${_}k b USING ($column)") } 'h', 'm';

	is($ours, $theirs, "partitions by $column");
	cmp_ok(looked_up("SELECT count(*), sum(a.v) FROM mp a JOIN mk b USING ($column)"), '>', 5, 'looked up');
}

# The whole table has been read.
$reader->query('BEGIN ISOLATION LEVEL SERIALIZABLE');
$reader->query('SELECT count(*) FROM m a JOIN mk b ON a.id = b.id');
$node->safe_psql('postgres', 'UPDATE m SET few = 5 WHERE id = 3000; INSERT INTO mk (id) VALUES (3000)');
$reader->query('INSERT INTO m (id) VALUES (80000); COMMIT');
is($node->safe_psql('postgres', 'SELECT count(*) FROM m WHERE id = 80000'), 0, 'a serializable transaction cannot commit when a row has come that its join would have found');
$reader->quit;

is(TestServer::internal_errors($node), '', 'no error was internal');
done_testing();

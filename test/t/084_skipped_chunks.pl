# Chunks that a job passes over, as their summaries say that no row in them is wanted: that it does so for each kind of condition and type,
# that the answers stay those of an ordinary table, whatever has been written meanwhile, and what does not change: errors, what a
# serializable transaction has read.
use strict;
use warnings;
use lib 'test/t';
use Chance;
use List::Util qw(sum0);
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('skipped', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.jobs' => 'force');

plan skip_all => 'built without failpoints' unless TestServer::has_failpoints($node);

# In the order of id and of all columns but spread and odd.
my $columns = 'id int, small smallint, big bigint, day date, at timestamp, zoned timestamptz, hour time, n numeric(10,2), wide numeric(30,3), f float8, spread int, label text, half int, odd numeric(10,2)';
my $rows = q{SELECT g, g / 4, g * 1000000000::bigint, date '2020-01-01' + g, timestamp '2020-01-01' + g * interval '1 minute', timestamptz '2020-01-01 00:00+00' + g * interval '1 minute', time '00:00' + g * interval '2 seconds',
	g * 0.25, g * 0.125, CASE WHEN g > 29900 THEN 'NaN'::float8 ELSE g / 8.0 - 1000 END, g * 7919 % 30011, 'label ' || g, CASE WHEN g > 15000 THEN g END, CASE WHEN g > 20000 THEN 'NaN'::numeric ELSE g END FROM generate_series(1, 30000) g};
$node->safe_psql('postgres', "CREATE TABLE h ($columns); CREATE FOREIGN TABLE m ($columns) SERVER tsurugi; CREATE FOREIGN TABLE tick (i int) SERVER tsurugi; SET timezone = 'UTC'; INSERT INTO h $rows; INSERT INTO m SELECT * FROM h; ANALYZE h, m");

# What is written elsewhere has the collector look again.
sub settle { return $node->poll_query_until('postgres', "WITH i AS (INSERT INTO tick VALUES (1) RETURNING i) SELECT header_bytes = 0 FROM i, tsurugi.tables WHERE relation = 'm'") }

# How many chunks a query of the table in memory has passed over, at the second time.
sub skipped
{
	my ($condition, $before) = @_;
	my $query = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*), sum(id) FROM m WHERE $condition";
	my $plan = $node->safe_psql('postgres', ($before // '') . "$query; $query");

	return $plan =~ /\A.*Rows: .*Rows: [^\n]*, (\d+) chunks skipped/s ? $1 : 0;
}

sub same
{
	my ($condition) = @_;
	my ($theirs, $ours) = map { $node->safe_psql('postgres', "SELECT count(*), sum(id), min(label), max(spread) FROM $_ WHERE $condition") } 'h', 'm';

	return is($ours, $theirs, "the answer: $condition");
}

ok(settle(), 'the table is at rest');

for my $condition (
	'id > 29000', 'id >= 29000', 'id < 1000', 'id <= 1000', 'id = 777', '777 = id', '29000 < id', 'id BETWEEN 20000 AND 20100', 'id IN (20000, 20050, 19950)',
	'id > 29000 AND spread < 15000', 'spread >= 0 AND id < 100',
	'id > (SELECT 29000)', "id > length('x') * 29000",
	'small > 7400', 'small = 3::bigint', 'big > 29500000000000', 'big < 3000000000::bigint',
	q{day < '2020-02-01'}, q{day = '2020-02-01'}, q{day >= timestamp '2100-01-01 12:00'}, q{at >= timestamp '2020-01-21'}, q{at < date '2020-01-02'}, q{zoned < '2020-01-02 00:00+00'}, q{hour < '00:10'},
	'n < 10.5', 'n > 7400', 'n = 100.25', 'n IN (1.25, 1.50)', 'n >= 7000.125',
	'wide < 2', 'wide BETWEEN 3700 AND 3720', 'f > 2700', q{f = 'NaN'}, 'f < -999', q{f >= 'NaN'}, q{f <= '-Infinity'}, 'f = -0.0',
	'half IS NULL', 'half IS NOT NULL', 'half < 15100', 'half IS NULL AND id > 14000', 'id IS NULL',
	'id > 30000', 'id < 0')
{
	my $skipped = skipped($condition);

	cmp_ok($skipped, '>=', 10, "passed over: $condition");
	same($condition);
}
for my $condition ('spread < 100', 'id % 1000 = 1', 'id <> 5', 'id > 29000 OR id < 100', 'id > NULL', 'id NOT IN (5, 6)', 'NOT id > 29000', q{label > 'label 9'}, 'spread > id AND spread < id + 100',
	'id + 0 = id AND id < 1000', 'odd > 29000', 'odd < 10', q{odd = 'NaN'}, 'n = 100.255')
{
	skipped($condition);
	same($condition);
}
is(skipped('spread >= 0'), 0, 'nothing is passed over where all rows are wanted');
is(skipped('id = spread'), 0, 'nor where columns are compared');

# --- parameters, joins, other formats ---

is($node->safe_psql('postgres', q{SET plan_cache_mode = force_generic_plan; PREPARE p(int, int) AS SELECT count(*) FROM m WHERE id BETWEEN $1 AND $2; EXECUTE p(1, 20); EXECUTE p(20000, 20030); EXECUTE p(100, 200)}), "20\n31\n101", 'parameters');
my $prepared = $node->safe_psql('postgres', q{SET plan_cache_mode = force_generic_plan; PREPARE p(int) AS SELECT count(*) FROM m WHERE id > $1; EXPLAIN (ANALYZE, COSTS OFF) EXECUTE p(29990)});
like($prepared, qr/chunks skipped/, 'and chunks are passed over for them');
like($node->safe_psql('postgres', 'EXPLAIN (ANALYZE, FORMAT JSON) SELECT count(*) FROM m WHERE id > 29990'), qr/"Chunks Skipped": [1-9]\d/, 'EXPLAIN tells of it in other formats');
is($node->safe_psql('postgres', 'SELECT count(*), sum(a.id) FROM m a JOIN m b ON a.id = b.spread WHERE a.id > 29000 AND b.id < 20000'),
	$node->safe_psql('postgres', 'SELECT count(*), sum(a.id) FROM h a JOIN h b ON a.id = b.spread WHERE a.id > 29000 AND b.id < 20000'), 'in a join');

# --- bounds of the builds that a scan probes ---

# The keys have gaps; some rows of a have none.
$node->safe_psql('postgres', qq{CREATE TABLE hk ($columns); CREATE FOREIGN TABLE mk ($columns) SERVER tsurugi;
	INSERT INTO hk SELECT * FROM h WHERE id BETWEEN 6001 AND 6900 AND id % 3 > 0; INSERT INTO hk (spread) VALUES (1), (2); INSERT INTO mk SELECT * FROM hk; ANALYZE hk, mk});

# The same as of a condition: of a join of m and mk, whichever is built.
sub skipped_by_join
{
	my ($query) = @_;
	my $explain = "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $query";
	my @figures = $node->safe_psql('postgres', "$explain; SELECT 'again'; $explain") =~ s/.*again//sr =~ /(\d+) chunks skipped/g;

	return sum0(@figures);
}

sub same_join
{
	my ($query) = @_;
	my ($theirs, $ours) = map { $node->safe_psql('postgres', $_) } $query =~ s/\bm(k?)\b/h$1/gr, $query;

	return is($ours, $theirs, "the answer: $query");
}

my $figures = 'count(*), sum(a.id), min(a.label), max(a.spread)';
for my $column (qw(id small big day at zoned hour n wide))
{
	my $query = "SELECT $figures FROM m a JOIN mk b ON a.$column = b.$column AND a.id > 5";

	cmp_ok(skipped_by_join($query), '>=', 10, "passed over for a join by $column");
	same_join($query);
}
my $few = 'SELECT id FROM mk WHERE id < 6100';
for my $query ("SELECT $figures FROM m a WHERE a.id IN ($few)", "SELECT $figures FROM m a WHERE EXISTS ($few AND mk.small = a.small)", "SELECT $figures, count(b.id) FROM m a RIGHT JOIN mk b ON a.id = b.id",
	"SELECT $figures FROM mk b JOIN m a ON a.id = b.small AND a.small < b.id", "SELECT $figures FROM m a JOIN mk b ON a.id = b.id JOIN mk c ON a.small = c.small", "SELECT a.id, count(*) FROM m a JOIN mk b USING (id) GROUP BY a.id ORDER BY 1 LIMIT 5",
	"SELECT $figures FROM m a JOIN mk b ON a.id = b.id AND a.small = b.small AND b.id > 6500 WHERE a.f > 0 AND a.label LIKE '%1%'", "SELECT $figures FROM m a JOIN (SELECT id FROM mk WHERE id > 20000) b ON a.id = b.id",
	"SELECT $figures FROM m a JOIN (VALUES (7), (20), (20)) b (id) ON a.id = b.id")
{
	cmp_ok(skipped_by_join($query), '>=', 10, "passed over: $query");
	same_join($query);
}

# Rows that find nothing stay, or what would find something cannot be told of a column.
for my $query ("SELECT $figures, count(b.id) FROM m a LEFT JOIN mk b ON a.id = b.id", "SELECT $figures, count(b.id) FROM m a FULL JOIN mk b ON a.id = b.id", "SELECT $figures FROM m a WHERE NOT EXISTS (SELECT FROM mk WHERE mk.id = a.id)",
	"SELECT $figures FROM m a WHERE a.id NOT IN (SELECT id FROM mk WHERE id > 0)", "SELECT $figures FROM m a JOIN mk b ON a.id + 1 = b.id", "SELECT $figures FROM m a JOIN mk b ON a.label = b.label", "SELECT $figures FROM m a JOIN mk b ON a.f = b.f",
	"SELECT $figures, count(b.id) FROM m a LEFT JOIN mk b ON a.id = b.id JOIN mk c ON a.spread = c.spread")
{
	is(skipped_by_join($query), 0, "nothing is passed over: $query");
	same_join($query);
}

# Rows of a join in which a condition fails before the build is asked: as where nothing is passed over.
for my $query ("SELECT $figures FROM m a JOIN mk b ON a.id = b.id WHERE 100 / (a.id - 5) > -1", "SELECT $figures FROM m a JOIN mk b ON a.id = b.id AND 100 / (a.id - 6200) < b.small")
{
	is(TestServer::sqlstate($node, $_), '22012', $_) for $query =~ s/\bm(k?)\b/h$1/gr, $query;
}

# With rows in files, and with changes of the transaction's own.
{
	my $small = "SET tsurugi_fdw.job_memory = '1MB'; ";
	my $query = "SELECT $figures FROM m a JOIN m b ON a.id = b.id AND b.id BETWEEN 3000 AND 9000 AND b.label <> 'x'";

	is($node->safe_psql('postgres', "$small$query"), $node->safe_psql('postgres', $query =~ s/\bm\b/h/gr), 'a build in little memory');
	is($node->safe_psql('postgres', 'BEGIN; INSERT INTO mk (id) VALUES (29999); SELECT count(*) FROM m a JOIN mk b USING (id); UPDATE m SET id = 6003 WHERE id = 29000; SELECT count(*) FROM m a JOIN mk b USING (id); ROLLBACK; SELECT count(*) FROM m a JOIN mk b USING (id)'), "601\n601\n600",
		'own rows are built, and found');
}

# --- errors ---

# PostgreSQL has the cheaper condition first, so it is the list that comes after the division.
my %state = ('100 / (id - 5) > 1 AND id IN (29001, 29002, 29003, 29004, 29005, 29006, 29007, 29008)' => '22012', '100 / (id - 5) > -1 AND id > 29000' => '00000');
for my $condition (sort keys %state)
{
	is(TestServer::sqlstate($node, "SELECT count(*) FROM $_ WHERE $condition"), $state{$condition}, "$condition: of $_") for 'h', 'm', 'm';
}

# --- writers ---

my $far = 'UPDATE m SET id = 40001, half = 40001 WHERE id = 7000';
is($node->safe_psql('postgres', "BEGIN; SELECT count(*) FROM m WHERE id > 30000; $far; SELECT count(*) FROM m WHERE id > 30000; SAVEPOINT s; DELETE FROM m WHERE id = 40001; SELECT count(*) FROM m WHERE id > 30000; ROLLBACK TO s; SELECT count(*) FROM m WHERE half > 40000; ROLLBACK; SELECT count(*) FROM m WHERE id > 30000"),
	"0\n1\n0\n1\n0", 'own writes are seen');
skipped('id > 30000') for 1 .. 2;
my $reader = $node->background_psql('postgres', on_error_stop => 0);
$reader->query('SET tsurugi_fdw.jobs = force; BEGIN ISOLATION LEVEL REPEATABLE READ');
is($reader->query('SELECT count(*) FROM m WHERE id > 30000'), 0, 'a snapshot before');
$node->safe_psql('postgres', $far);
is($node->safe_psql('postgres', 'SELECT count(*) FROM m WHERE id > 30000'), 1, 'what has been committed is seen');
is($reader->query('SELECT count(*) FROM m WHERE id > 30000'), 0, 'but not as of that snapshot');
is($reader->query('SELECT count(*) FROM m WHERE id = 7000'), 1, 'which sees what was there');
$reader->query('COMMIT');
ok(settle(), 'all is at rest again');
is($node->safe_psql('postgres', 'SELECT count(*) FROM m WHERE id > 30000'), 1, 'it is still seen') for 1 .. 2;
cmp_ok(skipped('id > 30000'), '>=', 10, 'and other chunks are passed over');
$node->safe_psql('postgres', 'UPDATE h SET id = 40001, half = 40001 WHERE id = 7000');
same($_) for 'id > 30000', 'id = 7000', 'half > 30000', 'id BETWEEN 6990 AND 7010';

# A column that is added is NULL in chunks of the former layout.
$node->safe_psql('postgres', 'ALTER TABLE h ADD COLUMN late int; ALTER FOREIGN TABLE m ADD COLUMN late int');
$node->safe_psql('postgres', "UPDATE $_ SET late = id WHERE id > 29500") for 'h', 'm';
for my $round (1 .. 2)
{
	same($_) for 'late > 29900', 'late IS NULL', 'late IS NOT NULL', 'late < 0', 'id < 200';
	ok(settle(), 'at rest');
}

# --- at random: changes, and ranges that are read; between the rounds chunks settle ---

my %values = (id => sub { int rand 32000 }, small => sub { int rand 8000 }, half => sub { int rand 32000 }, n => sub { int(rand 32000) / 4 }, f => sub { int(rand 32000) / 8 - 1000 },
	at => sub { "timestamp '2020-01-01' + " . int(rand 32000) . " * interval '1 minute'" }, day => sub { "date '2020-01-01' + " . int rand 32000 });

sub some_condition
{
	my $column = pick(sort keys %values);
	my ($from, $to) = map { $values{$column}->() } 1 .. 2;

	return pick("$column = $from", "$column < $from", "$column >= $from", "$column BETWEEN $from AND $to", "$column > $from AND $column <= $to", "$column IN ($from, $to)", "$column IS NULL", "$column > $from AND spread < 3000",
		"$column < $from AND " . pick(map { "$_ > " . $values{$_}->() } sort keys %values));
}

sub some_change
{
	my $from = int rand 31000;
	my $to = $from + int rand 40;

	return pick("UPDATE t SET id = 33000 - id, f = -f, at = at + interval '100 days' WHERE id BETWEEN $from AND $to", "UPDATE t SET half = NULL, n = n + 1 WHERE id BETWEEN $from AND $to", "DELETE FROM t WHERE spread BETWEEN $from AND $to",
		"INSERT INTO t (id, small, day, at, n, f, spread) SELECT g, g / 5, date '2020-01-01' + g, timestamp '2020-01-01', g / 7.0, g, g FROM generate_series($from, $to) g", 'BEGIN', 'COMMIT', 'ROLLBACK');
}

# Queries come twice: what the first one finds out serves the second.
sub some_statements { return map { chance(0.2) ? some_change() : ('SELECT count(*), sum(id), sum(spread), min(at) FROM t WHERE ' . some_condition()) x 2 } 1 .. $_[0] }

srand(seed());
for my $round (1 .. 3)
{
	my $script = "SET tsurugi_fdw.failpoints = 'summary_any_chunk'; SET plan_cache_mode = force_generic_plan; PREPARE p(int, int) AS SELECT count(*), sum(spread) FROM t WHERE id BETWEEN \$1 AND \$2;\n" . join '',
		map { "$_;\n" } map { ($_, chance(0.1) ? 'EXECUTE p(' . int(rand 32000) . ', ' . int(rand 32000) . ')' : ()) } some_statements(60);
	my ($theirs, $ours) = map { my ($code, $out) = $node->psql('postgres', $script =~ s/\bt\b/$_/gr); [ split /\n/, $out ] } 'h', 'm';
	my ($different) = grep { $theirs->[$_] ne ($ours->[$_] // '') } 0 .. $#$theirs;

	cmp_ok(scalar @$theirs, '>', 60, 'answers to random statements');
	is(defined $different ? "$ours->[$different] in place of $theirs->[$different]" : '', '', 'are the same');
	ok(settle(), 'at rest');
}
cmp_ok(skipped('id < -5'), '>=', 10, 'and chunks are passed over');

# The whole table has been read, whatever was passed over.
skipped('id > 50000') for 1 .. 2;
$reader->query('BEGIN ISOLATION LEVEL SERIALIZABLE');
is($reader->query('SELECT count(*) FROM m WHERE id > 50000'), 0, 'a serializable transaction reads');
$node->safe_psql('postgres', 'UPDATE m SET id = 50001 WHERE id = 3000');
$reader->query('INSERT INTO m (id) VALUES (60000); COMMIT');
$reader->quit;
is($node->safe_psql('postgres', 'SELECT count(*) FROM m WHERE id = 60000'), 0, 'and cannot commit when a row has come that it would have wanted');

$node->safe_psql('postgres', 'TRUNCATE m; INSERT INTO m (id) SELECT generate_series(1, 5000)');
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM m WHERE id > 4990'), '10|49955', 'truncated, and filled anew') for 1 .. 2;

is(TestServer::internal_errors($node), '', 'no error was internal');
done_testing();

# Texts of few different values that a job computes by codes of their chunk: that codes are made where a scan has read a chunk, once, are on
# the table's account and small, and that the answers stay those of an ordinary table, whatever types, collations, NULLs, blanks and lengths there
# are, and whatever is written meanwhile, by the transaction itself or by others.
use strict;
use warnings;
use lib 'test/t';
use Chance;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('coded', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.jobs' => 'force', 'tsurugi_fdw.failpoints' => "'summary_any_chunk'");

plan skip_all => 'built without failpoints' unless TestServer::has_failpoints($node);

# Texts up to 12 bytes are in their cells, others are not; some differ in blanks, in case, or in the middle of long strings alone.
my $columns = 'id int, flag char(1), mode char(10), long varchar, padded char(25), raw bytea, nocase text COLLATE nocase, blanks text, half text, many text, mixed text, one text';
my $rows = q{SELECT g, chr(65 + g % 3), (ARRAY['AIR', 'MAIL', 'REG AIR', 'SHIP', 'TRUCK'])[1 + g * 7 % 5], 'a long string, number ' || g % 6 || ', that ends alike', (ARRAY['DELIVER IN PERSON', 'NONE', 'TAKE BACK'])[1 + g % 11 % 3],
	decode(lpad(to_hex(g % 5), 2 + g % 2 * 30, '0'), 'hex'), (ARRAY['Ada', 'ADA', 'ada', 'Grace', 'GRACE'])[1 + g % 5], 'x' || repeat(' ', g % 3), CASE WHEN g % 4 > 0 THEN 'half ' || g % 9 END, 'many ' || g % 4000,
	CASE WHEN g < 5000 THEN 'few ' || g % 8 ELSE 'many ' || g END, 'one' FROM generate_series(1, 10000) g};
$node->safe_psql('postgres', "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TABLE h ($columns); CREATE FOREIGN TABLE m ($columns) SERVER tsurugi; CREATE FOREIGN TABLE tick (i int) SERVER tsurugi;
	INSERT INTO h $rows; INSERT INTO m SELECT * FROM h; ALTER TABLE h ADD late text DEFAULT 'late'; ALTER FOREIGN TABLE m ADD late text DEFAULT 'late'; ANALYZE h, m");

# What is written elsewhere has the collector look again.
sub settle { return $node->poll_query_until('postgres', "WITH i AS (INSERT INTO tick VALUES (1) RETURNING i) SELECT header_bytes = 0 FROM i, tsurugi.tables WHERE relation = 'm'") }

sub chunk_bytes { return $node->safe_psql('postgres', "SELECT chunk_bytes FROM tsurugi.tables WHERE relation = 'm'") }

# Queries come twice: what the first one makes serves the second, and itself.
sub same
{
	my ($query, $before) = @_;
	my ($theirs, $ours) = map { $node->safe_psql('postgres', (($before // '') . "$query; $query") =~ s/\bt\b/$_/gr) } 'h', 'm';

	return is($ours, $theirs, "the answer: $query");
}

# --- when codes are made ---

ok(settle(), 'the table is at rest');
my $plain = chunk_bytes();
$node->safe_psql('postgres', 'SELECT id FROM m WHERE id = 77; SELECT count(*), sum(id) FROM m');
is(chunk_bytes(), $plain, 'no codes are made where no text is looked at');
same(q{SELECT count(*) FROM t WHERE mode = 'AIR'});
my $coded = chunk_bytes();
# one byte for each of the slots, which are about as many as rows
cmp_ok($coded - $plain, '>', 9000, 'codes are made by a scan');
same(q{SELECT count(*) FROM t WHERE mode IN ('MAIL', 'SHIP')});
same(q{SELECT mode, count(*) FROM t GROUP BY mode ORDER BY mode});
is(chunk_bytes(), $coded, 'once');
same(q{SELECT count(*) FROM t WHERE many = 'many 7'});
# the first chunks have few slots
cmp_ok(chunk_bytes() - $coded, '<', 2500, 'none of a column with many texts');
$coded = chunk_bytes();
same(q{SELECT count(*) FROM t WHERE mixed LIKE '%w 3'});
cmp_ok(chunk_bytes() - $coded, '<', 9000, 'of a column with many in half of the chunks, in the others');
cmp_ok(chunk_bytes(), '>', $coded, 'there are some');
$coded = chunk_bytes();
same(q{SELECT count(*) FROM t WHERE long < many});
is(chunk_bytes(), $coded, 'none where texts are compared with one another');

# --- answers ---

my @conditions = (
	q{mode = 'AIR'}, q{mode <> 'AIR'}, q{'AIR' = mode}, q{mode = 'AIR   '}, q{mode = 'air'}, q{mode::text = 'AIR'}, q{mode < 'REG'}, q{mode >= 'MAIL'}, q{mode IN ('AIR', 'SHIP', 'BOAT')}, q{mode NOT IN ('AIR', 'SHIP')}, q{mode IN ('AIR', NULL)},
	q{mode LIKE '%AI%'}, q{mode LIKE 'AIR'}, q{mode LIKE 'AIR%'}, q{mode NOT LIKE '_A%'}, q{mode IS NULL}, q{flag = 'B' AND mode = 'AIR'}, q{flag = 'B' OR mode = 'AIR'}, q{(flag = 'B' AND id < 500) OR (mode = 'AIR' AND flag <> 'C')},
	q{long = 'a long string, number 3, that ends alike'}, q{long > 'a long string, number 3'}, q{long LIKE '%number 4%'}, q{length(long) = 41}, q{length(mode) = 4}, q{octet_length(mode) = 10}, q{substr(mode, 1, 2) = 'AI'},
	q{padded = 'NONE'}, q{padded IN ('NONE', 'TAKE BACK')}, q{padded LIKE 'TAKE%'}, q{padded::text = 'NONE'}, q{raw = '\x03'}, q{raw <> '\x03'}, q{raw < '\x02'}, q{raw IN ('\x01', '\x00000000000000000000000000000002')},
	q{nocase = 'ada'}, q{nocase <> 'ADA'}, q{nocase IN ('grace')}, q{nocase > 'b'}, q{nocase COLLATE "C" = 'ada'}, q{blanks = 'x'}, q{blanks = 'x '}, q{blanks > 'x'}, q{blanks LIKE 'x_'}, q{half IS NULL}, q{half IS NOT NULL}, q{half = 'half 7'}, q{half <> 'half 7'},
	q{NOT half = 'half 7'}, q{half = 'half 7' OR half IS NULL}, q{(half = 'half 7') IS NULL}, q{(half > 'half 5') IS NOT TRUE}, q{half IN ('half 1', NULL)}, q{half NOT IN ('half 1', 'half 2')}, q{half = many}, q{late = 'late'}, q{late <> 'late'}, q{one = 'one'},
	q{one <> 'one'}, q{many = 'many 8'}, q{mixed = 'few 3'}, q{mixed > 'many 9'}, q{coalesce(half, 'none') = 'none'}, q{CASE WHEN half = 'half 1' THEN mode = 'AIR' ELSE mode = 'SHIP' END}, q{half = (SELECT 'half 4')},
	q{id > 9000 AND mode = 'AIR'}, q{id % 3 = 0 AND mode = 'AIR'}, q{mode = 'AIR' AND 10 / (id - id % 5 * 0) >= 0});
same("SELECT count(*), sum(id), min(long), max(many) FROM t WHERE $_") for @conditions;

my @keys = (qw(flag mode long padded raw blanks half many mixed late one nocase), 'flag, mode', 'flag, mode, padded', 'half, flag', 'half, half', 'mode, id % 3', 'mode, many', 'flag, mode, long, padded, half', q{mode = 'AIR'}, q{half = 'half 1', flag}, q{length(half)},
	q{substr(mode, 1, 1)}, q{CASE WHEN half = 'half 1' THEN 'this' ELSE 'other' END}, q{coalesce(half, 'none')}, 'padded, late', 'id < 5000, mode');
same("SELECT $_, count(*), sum(id), count(half), sum(CASE WHEN mode = 'AIR' THEN id END) FROM t GROUP BY $_ ORDER BY " . join(', ', map { s/^nocase$/lower(nocase COLLATE "C")/r } $_)) for grep { $_ ne 'nocase' } @keys;
same("SELECT lower(min(nocase COLLATE \"C\")), count(*) FROM t GROUP BY nocase ORDER BY 1");
same("SELECT mode, min(mode), max(padded), min(half), count(DISTINCT half), count(*) FILTER (WHERE half = 'half 2') FROM t GROUP BY mode ORDER BY mode");
same("SELECT sum(id) FILTER (WHERE mode = 'AIR'), sum(CASE WHEN half = 'half 1' OR flag = 'A' THEN id ELSE 0 END), max(half), count(half) FROM t");
same("SELECT mode, half, count(*) FROM t WHERE flag = 'A' AND long LIKE '%number 3%' GROUP BY mode, half ORDER BY 1, 2");
same('SELECT DISTINCT flag, padded FROM t ORDER BY 1, 2');
same('SELECT a.mode, b.half, count(*) FROM t a JOIN t b ON a.id = b.id + 1 WHERE b.flag = \'B\' GROUP BY 1, 2 ORDER BY 1, 2');
same('SELECT mode, half, count(*) FROM t GROUP BY ROLLUP (mode, half) ORDER BY 1, 2, 3');

# Groups that a task has in files: they go there between two batches, when the codes of the second one are there.
same("SELECT $_, count(*), sum(id) FROM t GROUP BY $_ ORDER BY $_", q{SET tsurugi_fdw.failpoints = 'summary_any_chunk,query_rows'; }) for 'flag, mode, long, padded, half', 'mode', 'mode, many';

# --- rows that are written ---

same($_->[1], "BEGIN; $_->[0]; ")
  for (
	[ q{UPDATE t SET mode = 'BOAT' WHERE id % 50 = 1}, q{SELECT mode, count(*) FROM t GROUP BY mode ORDER BY mode} ],
	[ q{DELETE FROM t WHERE flag = 'B'}, q{SELECT flag, count(*) FROM t GROUP BY flag ORDER BY flag} ],
	[ q{INSERT INTO t (id, flag) VALUES (0, 'Z')}, q{SELECT count(*), count(flag) FROM t WHERE flag = 'Z' OR mode IS NULL} ],
	[ q{UPDATE t SET half = NULL WHERE half = 'half 1'}, q{SELECT half, count(*) FROM t WHERE flag > 'A' GROUP BY half ORDER BY half} ]);

# A snapshot from before others write, and headers that come back while its scan has begun.
my ($plain_reader, $reader) = map { $node->background_psql('postgres', on_error_stop => 1) } 1 .. 2;
my $answer = 'SELECT mode, half, count(*), sum(id) FROM t GROUP BY mode, half ORDER BY 1, 2';
my ($h, $m) = map { $answer =~ s/\bt\b/$_/r } 'h', 'm';
ok(settle(), 'at rest');
$plain_reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM h");
$reader->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM m WHERE half = 'half 1'");
$reader->query("DECLARE c CURSOR FOR SELECT id FROM m WHERE half = 'half 1' ORDER BY id; DECLARE d CURSOR FOR SELECT id FROM m WHERE half = 'half 1'");
my $first = $reader->query('FETCH 3 FROM c; FETCH 3 FROM d');
$node->safe_psql('postgres', "UPDATE $_ SET half = 'half ' || id % 70, mode = 'LATER' WHERE id % 3 = 1; DELETE FROM $_ WHERE id % 7 = 2; INSERT INTO $_ (id, half) SELECT g, 'new' FROM generate_series(20000, 20500) g") for 'h', 'm';
is($reader->query($m), $plain_reader->query($h), 'a snapshot from before is answered as before');
is(scalar(() = $reader->query('FETCH ALL FROM c') =~ /^\d+$/mg) + 3, $node->safe_psql('postgres', "SELECT count(*) FROM generate_series(1, 10000) g WHERE g % 4 > 0 AND g % 9 = 1"), 'a cursor goes on');
is(scalar(() = $reader->query('FETCH ALL FROM d') =~ /^\d+$/mg) + 3, $node->safe_psql('postgres', "SELECT count(*) FROM generate_series(1, 10000) g WHERE g % 4 > 0 AND g % 9 = 1"), 'one without order, too');
$_->query('COMMIT') for $reader, $plain_reader;
$_->quit for $reader, $plain_reader;
same($answer);
ok(settle(), 'at rest');
same($answer);
same("SELECT count(*), sum(id), min(long), max(many) FROM t WHERE $_") for @conditions[ 0 .. 12 ];

# --- at random ---

sub some_condition { return join(' AND ', map { pick(@conditions) } 1 .. 1 + int rand 2) }

sub some_query
{
	my $key = pick(grep { !/nocase/ } @keys);

	return chance(0.5) ? 'SELECT count(*), sum(id), min(half), max(mode) FROM t WHERE ' . some_condition() : "SELECT $key, count(*), sum(id) FROM t WHERE " . some_condition() . " GROUP BY $key ORDER BY $key";
}

sub some_change
{
	my $from = int rand 10000;
	my $to = $from + int rand 300;

	return pick("UPDATE t SET mode = 'BOAT', half = 'half ' || id % 100 WHERE id BETWEEN $from AND $to", "UPDATE t SET half = NULL, flag = 'Q' WHERE id BETWEEN $from AND $to", "DELETE FROM t WHERE id BETWEEN $from AND $to AND id % 2 = 0",
		"INSERT INTO t SELECT * FROM t WHERE id BETWEEN $from AND $to", 'BEGIN', 'COMMIT', 'ROLLBACK', 'SAVEPOINT s', 'ROLLBACK TO s');
}

srand(seed());
for my $round (1 .. 3)
{
	my $script = join '', map { "$_;\n" } map { chance(0.2) ? some_change() : (some_query()) x 2 } 1 .. 60;
	my ($theirs, $ours) = map { my ($code, $out) = $node->psql('postgres', $script =~ s/\bt\b/$_/gr, on_error_stop => 0); [ split /\n/, $out ] } 'h', 'm';
	my ($different) = grep { $theirs->[$_] ne ($ours->[$_] // '') } 0 .. $#$theirs;

	cmp_ok(scalar @$theirs, '>', 60, 'answers to random statements');
	is(defined $different ? "$ours->[$different] in place of $theirs->[$different]" : '', '', 'are the same');
	is(scalar @$ours, scalar @$theirs, 'as many');
	ok(settle(), 'at rest');
}

is(TestServer::internal_errors($node), '', 'no error was internal');
done_testing();

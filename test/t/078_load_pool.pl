# tsurugi.load() with transactional => false: rows that tasks of the pool read, convert and store,
# compared with those of COPY; other transactions that hold a row; cancels at such a wait.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('load_pool', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;
my $unlogged = q{SERVER tsurugi OPTIONS (persistence 'unlogged')};
my $logged = 'SERVER tsurugi';

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub load
{
	my ($table, $files, $more) = @_;

	return "tsurugi.load('$table', '{$files}', transactional => false" . (defined $more ? ", $more" : '') . ')';
}

# The way of a load, and why it is that one.
sub way
{
	my ($table, $files, $more) = @_;

	return ask("SELECT way || ': ' || reason FROM " . load($table, $files, join(', ', $more // (), 'dry_run => true')));
}

# Whether the query has no row: what a table has and another has not.
sub same
{
	my ($a, $b, $name) = @_;

	is(ask("SELECT count(*) FROM ((TABLE $a EXCEPT ALL TABLE $b) UNION ALL (TABLE $b EXCEPT ALL TABLE $a)) d"), '0', $name);
}

sub nothing_runs
{
	my ($name) = @_;

	is(ask("SELECT count(*) FROM tsurugi.jobs WHERE kind = 'load' AND state <> 'done'"), '0', $name);
	is(ask("SELECT count(*) FROM tsurugi.transactions"), '0', 'nor is a transaction open');
}

# --- all types, by both ways ---

my $columns = q{id int PRIMARY KEY, i2 smallint, i8 bigint, f4 real, f8 double precision, n8 numeric(8,1), n18 numeric(18,2),
	n38 numeric(38,3), d date, tm time, ts timestamp, tz timestamptz, t text, vc varchar, bo boolean, u uuid, by bytea, nothing text};
ask(qq{
	CREATE FOREIGN TABLE session ($columns) $unlogged;
	CREATE FOREIGN TABLE pool ($columns) $unlogged;
	CREATE INDEX ON pool (d); CREATE UNIQUE INDEX ON pool (u); CREATE INDEX ON pool (ts, n18);
	CREATE TABLE source AS SELECT i AS id, (i - 2500)::smallint AS i2, i * 1844674407370955 - 4611686018427387903 AS i8,
			CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' ELSE i / 3.0 END::float4 AS f4,
			CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' ELSE 1e300 END::float8 AS f8,
			(i * 1.5)::numeric(8,1) AS n8, (i * -1.5)::numeric(18,2) AS n18, (i * 12345678901234567890.5)::numeric(38,3) AS n38,
			CASE i % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE date '0044-03-15 BC' + i END AS d,
			time '00:00' + i * interval '17.28 s' AS tm, timestamp '4713-01-01 00:00 BC' + i * interval '400000 h' AS ts,
			CASE WHEN i % 3 = 0 THEN 'infinity' ELSE timestamptz '1969-12-31 00:00+00' + i * interval '1.000001 h' END AS tz,
			repeat(chr(33 + i % 1000), i % 40) AS t, CASE WHEN i % 7 > 0 THEN 'v' || i END::varchar AS vc, i % 3 = 0 AS bo,
			md5(i::text)::uuid AS u, decode(repeat('00ff', i % 20), 'hex') AS by, NULL::text AS nothing
		FROM generate_series(1, 5000) i;
	COPY (SELECT * FROM source WHERE id <= 2000) TO '$own/in_1.parquet' (FORMAT parquet, ROW_GROUP_ROWS 300);
	COPY (SELECT id, by, u, bo, vc, t, tz, ts, tm, d, n38, n18, n8, f8, f4, i8, i2, nothing FROM source WHERE id BETWEEN 2001 AND 4000)
		TO '$own/in_2.parquet' (FORMAT parquet, CODEC zstd);
	COPY (SELECT * FROM source WHERE false) TO '$own/in_3.parquet' (FORMAT parquet);
	COPY (SELECT * FROM source WHERE id > 4000) TO '$own/in_4.parquet' (FORMAT parquet, ROW_GROUP_ROWS 7, CODEC none)});
is(ask("SELECT rows, files, blocks, transactions, way FROM " . load('pool', "$own/in_*.parquet", 'dry_run => true')), '5000|4|151|0|pool', 'a dry run');
is(ask("SELECT rows, files, blocks, way, reason FROM " . load('pool', "$own/in_*.parquet")),
	'5000|4|151|pool|tasks of the pool can read, convert and store all rows', 'a load by the pool');
ask("SELECT tsurugi.load('session', '{$own/in_*.parquet}')");
same('source', 'pool', 'the rows are those of the table that the files are made of');
same('session', 'pool', 'and those of a load by a session');
for my $where ("d = 'infinity'", "d < '0043-01-01 BC'", "u = md5('17')::uuid", "ts > '100000-01-01' AND n18 < -3", 'id = 4711')
{
	is(ask("SELECT count(*), sum(id) FROM pool WHERE $where"), ask("SELECT count(*), sum(id) FROM source WHERE $where"), "its indexes have them: $where");
}

# --- logged ---

ask("CREATE FOREIGN TABLE logged ($columns) $logged; CREATE INDEX ON logged (d)");
is(ask("SELECT rows, transactions FROM " . load('logged', "$own/in_*.parquet")), '5000|151', 'a table that is logged: a transaction for each row group');
same('source', 'logged', 'has the same rows');
$node->stop('immediate');
$node->start;
same('source', 'logged', 'and has them after a crash');
is(ask("SELECT count(*) FROM logged WHERE d = 'infinity'"), '1000', 'in its index, too');
is(ask('SELECT count(*) FROM pool'), '0', 'one that is not has none');
my $stopper = TestServer::Session->new($node);
my $crashed = TestServer::Session->new($node);
ask('TRUNCATE logged');
$stopper->query('BEGIN; INSERT INTO logged (id) VALUES (1999)');
$crashed->send('SELECT ' . load('logged', "$own/in_1.parquet") . ';');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'), 'a load waits');
# a session that waits commits nothing
my $stored = ask('SELECT count(*), max(id) FROM logged');
like($stored, qr/^(1500|1800)\|/, 'all row groups are stored but the last, and perhaps the one beside it');
$node->stop('immediate');
eval { $_->close } for $stopper, $crashed;
$node->start;
is(ask('SELECT count(*), max(id) FROM logged'), $stored, 'what was committed before a crash is there after it, and nothing else');
like(psql_error("SELECT " . load('logged', "$own/in_1.parquet")), qr/23505.*logged_pkey.*row (1|301); 0 rows are committed/s, 'a load that fails');
is(ask('SELECT count(*), max(id) FROM logged'), $stored, 'stores nothing of the row group');
ask("TRUNCATE logged; SET synchronous_commit = off; SELECT " . load('logged', "$own/in_*.parquet"));
same('source', 'logged', 'with synchronous_commit off');

# --- columns that differ ---

ask(qq{CREATE FOREIGN TABLE narrow (n numeric(10,4), i int, l bigint, f double precision) $unlogged;
	COPY (SELECT i AS n, i::bigint AS i, i::smallint AS l, i::float4 AS f FROM generate_series(-10, 10) i) TO '$own/ints.parquet' (FORMAT parquet)});
like(way('narrow', "$own/ints.parquet"), qr/session: values of column "f" of file/s, 'a conversion that the pool does not know');
ask("COPY (SELECT i AS n, i::bigint AS i, i::smallint AS l FROM generate_series(-10, 10) i) TO '$own/ints.parquet' (FORMAT parquet)");
is(ask("SELECT rows FROM " . load('narrow', "$own/ints.parquet")), '21', 'integers of other widths, a table without a key');
is(ask('SELECT string_agg(concat_ws(\' \', n, i, l, f), \', \' ORDER BY i) FROM narrow WHERE abs(i) < 2'), '-1.0000 -1 -1, 0.0000 0 0, 1.0000 1 1',
	'a column that the file does not have is NULL');

# --- domains: their constraints, defaults and functions are the session's ---

ask(qq{CREATE DOMAIN never_null AS int NOT NULL; CREATE DOMAIN seven AS int DEFAULT 7;
	CREATE FUNCTION is_right(v int) RETURNS bool LANGUAGE plpgsql AS \$\$ BEGIN
		IF v = 5 THEN PERFORM } . load('narrow', "$own/ints.parquet") . qq{; END IF;
		RETURN 1 / (v - 2) > -9;
	EXCEPTION WHEN division_by_zero THEN RETURN true; END \$\$;
	CREATE DOMAIN right_one AS int CHECK (is_right(VALUE));
	CREATE FOREIGN TABLE of_filled (id int PRIMARY KEY, v never_null) $unlogged; CREATE FOREIGN TABLE of_seven (id int PRIMARY KEY, v seven) $unlogged;
	CREATE FOREIGN TABLE of_checked (id int PRIMARY KEY, v right_one) $unlogged;
	COPY (VALUES (1, 1), (2, NULL)) TO '$own/null.csv' (FORMAT csv); COPY (VALUES (1), (2)) TO '$own/id.csv' (FORMAT csv);
	COPY (SELECT i, CASE i % 5 WHEN 0 THEN 1 ELSE 2 END FROM generate_series(1, 100) i) TO '$own/divided.csv' (FORMAT csv);
	COPY (VALUES (200, 5)) TO '$own/nested.csv' (FORMAT csv)});
like(psql_error('SELECT ' . load('of_filled', "$own/null.csv")), qr/23502: domain never_null does not allow null values/, 'NULL in a domain that is NOT NULL');
like(way('of_seven', "$own/id.csv", 'columns => \'{id}\''), qr/session: column "v" is not in file/s, "a domain's default");
is(ask('SELECT rows FROM ' . load('of_checked', "$own/divided.csv")), '100', 'a function of a domain that rolls back a part of its own');
like(psql_error('SELECT ' . load('of_checked', "$own/nested.csv")), qr/25001: a load that is not transactional cannot run in a transaction in which another one runs/, 'or that loads, too');
nothing_runs('no load runs after it');
is(ask('SELECT count(*) FROM of_checked'), '100', 'the next statement works');

# --- what does not fit ---

ask(qq{
	CREATE FOREIGN TABLE few (id int PRIMARY KEY, s smallint NOT NULL, d date, t text, n numeric(4,1)) $unlogged;
	COPY (SELECT i AS id, i AS s, date '2024-01-01' AS d, 'a' AS t, 1.5::numeric(9,1) AS n FROM generate_series(32001, 33000) i) TO '$own/out.parquet' (FORMAT parquet);
	COPY (SELECT i AS id, CASE WHEN i < 1500 THEN i END AS s FROM generate_series(1, 2000) i) TO '$own/null.parquet' (FORMAT parquet);
	COPY (SELECT 1 AS id, 1 AS s, 1000::numeric(9,1) AS n) TO '$own/digits.parquet' (FORMAT parquet);
	COPY (SELECT i % 1500 AS id, 1 AS s FROM generate_series(0, 1999) i) TO '$own/twice.parquet' (FORMAT parquet)});
for my $case (
	['out', qr/22003: value of column "s" is out of range for type smallint.*CONTEXT:  load of few, file ".*out\.parquet", row 768; 0 rows are committed/s, 0, 'a number'],
	['null', qr/23502: null value in column "s" of relation "few".*row 1500; 0 rows are committed.*COLUMN NAME:  s/s, 0, 'a NULL'],
	['digits', qr/22003: value of column "n" is out of range for type numeric\(4,1\)/, 0, 'too many digits'],
	['twice', qr/23505: duplicate key value violates unique constraint "few_pkey".*row 1501; 0 rows are committed.*CONSTRAINT NAME:  few_pkey/s, 0, 'a key twice'])
{
	like(psql_error("TRUNCATE few; SELECT " . load('few', "$own/$case->[0].parquet")), $case->[1], "refused: $case->[3]");
	is(ask('SELECT count(*) FROM few'), $case->[2], 'nothing of the row group stays');
}
# the first row that is refused is told, whichever index refuses it
ask(qq{
	CREATE FOREIGN TABLE keys (id int PRIMARY KEY, u int, w int) $unlogged; CREATE UNIQUE INDEX keys_u ON keys (u); CREATE INDEX keys_w ON keys (w);
	COPY (SELECT CASE i WHEN 1410 THEN 3 ELSE i END AS id, CASE i WHEN 1400 THEN 5 ELSE i END AS u, i % 7 AS w FROM generate_series(1, 2000) i) TO '$own/u_first.parquet' (FORMAT parquet);
	COPY (SELECT CASE i WHEN 1400 THEN 3 ELSE i END AS id, CASE i WHEN 1410 THEN 5 ELSE i END AS u, i % 7 AS w FROM generate_series(1, 2000) i) TO '$own/id_first.parquet' (FORMAT parquet);
	COPY (SELECT 2001 - i AS id, i AS u, i % 7 AS w FROM generate_series(1, 2000) i) TO '$own/keys.parquet' (FORMAT parquet)});
for my $case (['u_first', 'keys_u'], ['id_first', 'keys_pkey'])
{
	like(psql_error("SELECT " . load('keys', "$own/$case->[0].parquet")), qr/23505: duplicate key value violates unique constraint "$case->[1]".*row 1400; 0 rows are committed/s, "refused: a key of $case->[1] twice");
	is(ask('SELECT count(*) FROM keys'), '0', 'nothing of the row group stays');
}
is(ask("SELECT rows, way FROM " . load('keys', "$own/keys.parquet")), '2000|pool', 'other rows are stored');
is(ask("SET enable_seqscan = off; SELECT count(*) FROM keys WHERE w = 3; SELECT id FROM keys WHERE u = 700; SELECT u FROM keys WHERE id = 700"), "286\n1301\n1301", 'and found by each index');
my $bytes = slurp_file("$own/in_2.parquet");
substr($bytes, 1000, 1) = chr(255 ^ ord substr($bytes, 1000, 1));
append_to_file("$own/damaged.parquet", $bytes);
like(psql_error('TRUNCATE pool; SELECT ' . load('pool', "$own/damaged.parquet")), qr/XX001.*could not read Parquet file ".*damaged\.parquet".*checksum/, 'a damaged page');
nothing_runs('no load runs after errors');

# --- rows that are left out ---

ask(qq{
	COPY (SELECT i % 1800 AS id, CASE WHEN i % 500 <> 7 THEN CASE WHEN i % 700 = 9 THEN 99999 ELSE i END END AS s, E'a"\\t\\\\' AS t, ((i % 1998) / 2.0)::numeric(9,1) AS n
		FROM generate_series(1, 2000) i) TO '$own/some.parquet' (FORMAT parquet, ROW_GROUP_ROWS 300);
	CREATE TABLE rejects (file text, block bigint, row bigint, byte bigint, "column" text, sqlstate text, message text, record json)});
for my $persistence ($logged, $unlogged)
{
	ask("DROP FOREIGN TABLE few; CREATE FOREIGN TABLE few (id int PRIMARY KEY, s smallint NOT NULL, d date, t text, n numeric(4,1)) $persistence");
	is(ask("SELECT rows, rejected, way FROM " . load('few', "$own/some.parquet", "on_error => 'skip', reject_file => '$own/pool.rejects'")), '1795|205|pool', 'rows that do not fit are left out');
	is(ask('SELECT count(*), count(DISTINCT id) FROM few'), '1795|1795', 'and the others stored');
	is(ask("TRUNCATE rejects; COPY rejects FROM '$own/pool.rejects' (FORMAT csv, HEADER match); SELECT row, block, \"column\", sqlstate, record->>'id' = (row % 1800)::text, record->>'t' = E'a\"\\t\\\\' FROM rejects WHERE sqlstate <> '23505' ORDER BY row"),
		join("\n", map { my ($row, $column, $code) = @$_; join('|', $row, int(($row - 1) / 300) + 1, $column, $code, 't', 't') } [7, 's', '23502'], [9, 's', '22003'], [507, 's', '23502'],
			[709, 's', '22003'], [1007, 's', '23502'], [1409, 's', '22003'], [1507, 's', '23502']), 'the reject file has them');
	is(ask("SELECT count(DISTINCT (record->>'id')::int), count(*) FROM rejects WHERE sqlstate = '23505' AND message LIKE '%few_pkey%' AND (row > 1800 OR row < 201)"), '198|198', 'and one of each pair with the same key');
	is(ask("SELECT rows, rejected FROM " . load('few', "$own/some.parquet", "on_error => 'skip', on_conflict => 'ignore'")), '0|7', 'keys that are there are ignored');
	like(psql_error("TRUNCATE few; SELECT " . load('few', "$own/some.parquet", "on_error => 'skip', reject_limit => 3")), qr/22P04: more than 3 rows of a load into "few" are rejected\nDETAIL:  The first one: File ".*some\.parquet", row \d+: .*\((23502|22003|23505)\)\./, 'a limit');
	nothing_runs('no load runs after that');
}
is(ask("SELECT way FROM tsurugi.load('few', '{$own/some.parquet}', on_conflict => 'replace', dry_run => true)"), 'session', 'rows are replaced by sessions');

my $skipping = TestServer::Session->new($node);
ask(qq{CREATE FOREIGN TABLE named (id int, name regclass) $unlogged; COPY (VALUES (1, 'pg_class'), (2, 'nowhere')) TO '$own/named.csv' (FORMAT csv)});
like(way('named', "$own/named.csv", "on_error => 'skip'"), qr/^pool/, 'values that the session converts for the pool');
is($skipping->query('SELECT ' . load('named', "$own/named.csv", "on_error => 'skip'")), 'ERROR 42P01', 'an error of one that is not skipped');
is($skipping->query('SELECT count(*) FROM named'), '0', 'leaves the session in no transaction');
$skipping->close;

# --- which loads the pool does not run ---

ask(qq{
	CREATE TABLE heap (id int);
	CREATE FOREIGN TABLE triggered (id int) $unlogged;
	CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
	CREATE TRIGGER t BEFORE INSERT ON triggered FOR EACH ROW EXECUTE FUNCTION nothing();
	CREATE FOREIGN TABLE checked (id int CHECK (id > 0)) $unlogged;
	CREATE FOREIGN TABLE made (id int, twice int GENERATED ALWAYS AS (id * 2) STORED) $unlogged;
	CREATE FOREIGN TABLE defaulted (id int, t text DEFAULT 'x') $unlogged;
	CREATE FOREIGN TABLE indexed (id int) $unlogged; CREATE INDEX ON indexed ((id + 1));
	CREATE FOREIGN TABLE referring (id int REFERENCES few) $unlogged;
	CREATE TABLE whole (id int) PARTITION BY RANGE (id); CREATE FOREIGN TABLE part PARTITION OF whole DEFAULT $unlogged;
	CREATE FOREIGN TABLE deferred (id int UNIQUE DEFERRABLE) $unlogged;
	CREATE DOMAIN small AS int CHECK (value < 10); CREATE FOREIGN TABLE domains (id small) $unlogged;
	COPY (SELECT 1 AS id) TO '$own/id.parquet' (FORMAT parquet); COPY (SELECT 1 AS id) TO '$own/id.csv' (FORMAT csv)});
my %reasons = (heap => 'not in memory', triggered => 'has triggers', checked => 'a CHECK constraint', made => 'a generated column',
	defaulted => 'column "t" is not in file', indexed => 'keys are made by sessions', referring => 'has triggers', whole => 'not in memory', part => 'is a partition',
	deferred => 'has triggers', domains => 'converted by sessions');
like(way($_, "$own/id.parquet"), qr/session: .*$reasons{$_}/s, "not by the pool: $_") for sort keys %reasons;
like(way('few', "$own/id.csv", "options => '{\"encoding\": \"latin1\"}'"), qr/session: files in CSV of other encodings than UTF8 are read by sessions/s, 'nor files in CSV of other encodings');
my $load = 'SELECT ' . load('pool', "$own/in_1.parquet");
like(psql_error("BEGIN; INSERT INTO heap VALUES (1); $load"), qr/25001.*that has written/, 'not in a transaction that has written, ordinary tables');
like(psql_error("BEGIN; INSERT INTO few VALUES (99999, 0); $load"), qr/25001.*that has written/, 'or others');
like(psql_error("BEGIN READ ONLY; $load"), qr/25006/, 'nor in one that is READ ONLY');
ask('CREATE ROLE loader; GRANT pg_read_server_files TO loader; GRANT INSERT (id) ON few TO loader');
like(psql_error("SET ROLE loader; $load"), qr/42501: permission denied for (foreign )?table pool/, 'nor for a role without the right');
like(psql_error('SET ROLE loader; SELECT ' . load('few', "$own/null.parquet")), qr/42501: permission denied for (foreign )?table few/, 'on all columns');

# --- other transactions ---

sub waits
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted"), $name);
}

my $holder = TestServer::Session->new($node);
my $loader = TestServer::Session->new($node);
my $pid = $loader->query('SELECT pg_backend_pid()');
ask('TRUNCATE pool');
for my $case (['ROLLBACK', qr/^2000$/, 2000, 'is undone'], ['COMMIT', qr/^ERROR 23505$/, undef, 'is committed'])
{
	$holder->query('BEGIN; INSERT INTO pool (id) VALUES (1234)');
	$loader->send('SELECT rows FROM ' . load('pool', "$own/in_1.parquet") . ';');
	waits('a load waits for a row of another transaction');
	is(ask("SELECT waits > 0 FROM (SELECT count(*) AS waits FROM pg_locks WHERE NOT granted AND pid = $pid) w"), 't', 'as its session');
	$holder->query($case->[0]);
	like($loader->wait, $case->[1], "until that $case->[3]");
	is(ask('SELECT count(*) FROM pool WHERE id <> 1234 OR u IS NOT NULL'), $case->[2], 'all rows are there') if defined $case->[2];
	ask('TRUNCATE pool');
}
ask('TRUNCATE keys');
for my $case (['ROLLBACK', qr/^2000$/, 2000, 'is undone'], ['COMMIT', qr/^ERROR 23505$/, 1, 'is committed'])
{
	$holder->query('BEGIN; INSERT INTO keys VALUES (5000, 1500, 0)');
	$loader->send('SELECT rows FROM ' . load('keys', "$own/keys.parquet") . ';');
	waits('a load waits for a key of another index');
	$holder->query($case->[0]);
	like($loader->wait, $case->[1], "until that $case->[3]");
	is(ask('SELECT count(*) FROM keys'), $case->[2], 'all rows are there, or none');
	ask('TRUNCATE keys');
}
$holder->query('BEGIN; INSERT INTO pool (id) VALUES (1999)');
$loader->send('SELECT rows FROM ' . load('pool', "$own/in_1.parquet") . ';');
waits('a load waits');
ask("SELECT pg_cancel_backend($pid)");
is($loader->wait, 'ERROR 57014', 'and is cancelled');
nothing_runs('no load runs') if $holder->query('ROLLBACK') eq '';
is(ask('SELECT count(*) < 2000 FROM pool'), 't', 'rows that were committed stay');
ask('TRUNCATE pool');
for my $case (["SET statement_timeout = '300ms'; SELECT LOAD", 'ERROR 57014', 'statement_timeout'],
	["RESET statement_timeout; SET lock_timeout = '300ms'; SELECT LOAD", 'ERROR 55P03', 'lock_timeout'],
	["DO \$\$ BEGIN PERFORM LOAD; EXCEPTION WHEN lock_not_available THEN RAISE NOTICE 'caught'; END \$\$; SELECT 2", '2', 'an error that is caught'])
{
	my $sql = $case->[0] =~ s/LOAD/load('pool', "$own\/in_1.parquet")/er;

	$holder->query('BEGIN; INSERT INTO pool (id) VALUES (5)');
	is($loader->query($sql), $case->[1], $case->[2]);
	$holder->query('ROLLBACK');
	ask('TRUNCATE pool');
}
is($loader->query('RESET lock_timeout; SELECT 1'), '1', 'the session goes on');
nothing_runs('no load runs after them');

ask('TRUNCATE pool');
$holder->query('BEGIN; INSERT INTO pool (id) VALUES (7)');
$loader->send('SELECT rows FROM ' . load('pool', "$own/in_1.parquet") . ';');
waits('a load waits');
my $locked = $holder->query('LOCK TABLE pool IN SHARE MODE');
$holder->query('ROLLBACK');
my $loaded = $loader->wait;
is(($locked eq 'ERROR 40P01') + ($loaded eq 'ERROR 40P01'), 1, "a deadlock of the two is found: '$locked', '$loaded'");

ask('TRUNCATE pool');
$holder->query('BEGIN; INSERT INTO pool (id) VALUES (9)');
$loader->send('SELECT rows FROM ' . load('pool', "$own/in_1.parquet") . ';');
waits('a load waits');
ask("SELECT pg_terminate_backend($pid)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid"), 'its session is terminated');
$holder->query('ROLLBACK');
nothing_runs('no load runs');
is(ask("TRUNCATE pool; SELECT rows FROM " . load('pool', "$own/in_*.parquet")), '5000', 'the next one does');

ask('TRUNCATE pool');
$loader = TestServer::Session->new($node);
$holder->query('BEGIN; INSERT INTO pool (id) VALUES (11)');
$loader->send('SELECT rows FROM ' . load('pool', "$own/in_1.parquet") . ';');
waits('a load waits');
my $worker = TestServer::worker_pid($node);
ask("SELECT pg_terminate_backend($worker)");
ok(TestServer::has_other_worker($node, $worker), 'the worker is terminated');
$holder->query('ROLLBACK');
is($loader->wait, 'ERROR 57014', 'the load has been cancelled');
ok($node->poll_query_until('postgres', "SELECT phase = 'running' FROM tsurugi.scheduler"), 'there is another worker');
is(ask("TRUNCATE pool; SELECT rows FROM " . load('pool', "$own/in_*.parquet")), '5000', 'the next worker runs the next one');
$_->close for $holder, $loader;
my $log = slurp_file($node->logfile);
is_deeply([grep { !/checksum/ } $log =~ /^.* XX001 ERROR: .*$/mg], [], 'only the damaged page is told to be damaged');
$log =~ s/^.* XX001 .*\n//mg;
is(TestServer::internal_errors_in($log), '', 'no internal error');

$node->stop;
done_testing();

# tsurugi.load(): files into both kinds of tables, compared with COPY of the same files.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('load');
my $own = $node->basedir;

sub psql_error
{
	my ($sql) = @_;
	my ($code, $out, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	return $error;
}

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

# Whether the query has no row: what a table has and another has not.
sub same
{
	my ($a, $b, $name) = @_;

	is(ask("SELECT count(*) FROM ((TABLE $a EXCEPT ALL TABLE $b) UNION ALL (TABLE $b EXCEPT ALL TABLE $a)) d"), '0', $name);
}

ask(qq{
	CREATE TABLE source AS SELECT i AS id, i * 1.5 AS n, CASE WHEN i % 3 > 0 THEN E'a "quoted", \\n text ' || i END AS t,
			date '2024-01-01' + i AS d FROM generate_series(1, 1000) i;
	CREATE TABLE heap (LIKE source);
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY, n numeric, t text, d date) SERVER tsurugi;
	COPY (SELECT * FROM source WHERE id <= 400) TO '$own/in_1.csv' (FORMAT csv);
	COPY (SELECT * FROM source WHERE id > 400) TO '$own/in_2.csv' (FORMAT csv);
	COPY (SELECT d, id, t, n FROM source WHERE id <= 400) TO '$own/named_1.csv' (FORMAT csv, HEADER, DELIMITER ';');
	COPY (SELECT t, d, n, id FROM source WHERE id > 400) TO '$own/named_2.csv' (FORMAT csv, HEADER, DELIMITER ';');
	COPY (SELECT * FROM source WHERE id <= 400) TO '$own/in_1.parquet' (FORMAT parquet);
	COPY (SELECT t, d, n, id FROM source WHERE id > 400) TO '$own/in_2.parquet' (FORMAT parquet, ROW_GROUP_ROWS 100)});
my $bytes = -s "$own/in_1.csv";
$bytes += -s "$own/in_2.csv";

for my $table ('heap', 'memory')
{
	for my $case (["'{$own/in_*.csv}'", 'CSV by position'],
		["'{$own/named_*.csv}', options => '{\"header\": true, \"delimiter\": \";\"}'", 'CSV by names in its header'],
		["'{$own/in_*.parquet}'", 'Parquet'], ["'{$own/in_1.csv,$own/in_2.parquet}'", 'both'])
	{
		is(ask("TRUNCATE $table; SELECT rows, rejected, files, transactions, way FROM tsurugi.load('$table', $case->[0])"),
			'1000|0|2|1|session', "$case->[1] into $table");
		same('source', $table, "$case->[1] into $table: its rows");
	}
}
is(ask("TRUNCATE memory; SELECT rows, files, blocks, bytes, transactions, way, reason, elapsed > interval '0' FROM
	tsurugi.load('memory', '{$own/in_*.csv}', dry_run => true)"), "|2|2|$bytes|0|session|its rows are those of the caller's transaction|t",
	'a dry run of CSV');
is(ask("SELECT rows, files, blocks FROM tsurugi.load('memory', '{$own/in_*.parquet}', dry_run => true)"), '1000|2|7',
	'a dry run of Parquet, which knows the rows');
is(ask('SELECT count(*) FROM memory'), '0', 'stores nothing');
is(ask("SELECT rows FROM tsurugi.load('memory', '{$own/in_1.csv}', columns => '{id,n,t,d}', format => 'csv')"), '400', 'with a list of columns');
is(ask("BEGIN; SELECT rows FROM tsurugi.load('memory', '{$own/in_2.csv}'); ROLLBACK; SELECT count(*) FROM memory"), "600\n400",
	'it is part of the transaction');
is(ask(qq{CREATE TABLE "O'dd" ("a ""b" int, c text); INSERT INTO "O'dd" VALUES (1, NULL), (2, 'NULL');
	COPY "O'dd" TO '$own/o''dd.csv' (FORMAT csv, HEADER, NULL 'N''ULL');
	SELECT rows FROM tsurugi.load('"O''dd"', ARRAY['$own/o''dd.csv'], options => '{"header": true, "null": "N''ULL", "force_not_null": ["a \\"b"]}');
	SELECT count(*), count(c) FROM "O'dd"}), "2\n4|2", 'names that are quoted');
is(ask(qq{SELECT rows FROM tsurugi.load('"O''dd"', ARRAY['$own/o''dd.csv'], options => '{"header": "match", "encoding": "utf8", "quote": "\\"", "escape": "\\""}')}),
	'2', 'a header that is compared');

append_to_file("$own/bad.csv", "1,1.5,a,2024-01-01\n2,x,b,2024-01-02\n");
append_to_file("$own/header.csv", "id,nobody\n1,2\n");
ask("COPY (SELECT date '2024-01-01' AS id, 'a' AS t) TO '$own/other.parquet' (FORMAT parquet)");
ask('CREATE ROLE loader; CREATE ROLE stranger; GRANT pg_read_server_files TO loader; GRANT SELECT ON heap TO loader');
for my $case (
	["load('memory', '{$own/in_1.csv}')", qr/23505.*memory_pkey.*CONTEXT:  COPY memory, line 1/s, 'a key that exists'],
	["load('heap', '{$own/bad.csv}')", qr/22P02.*CONTEXT:  COPY heap, line 2, column n: "x"\nSQL statement "COPY .*bad\.csv/s, 'a value, with line and file'],
	["load('heap', '{$own/none.csv}')", qr/58P01.*none\.csv/, 'no such file'],
	["load('heap', '{$own/none*.csv}')", qr/58P01: no file matches/, 'no file of a pattern'],
	["load('heap', '{$own/in_1.csv,$own/header.csv}', options => '{\"header\": true}')", qr/42703: column "1" of relation "heap"/, 'a column that the table has not'],
	["load('heap', '{$own/other.parquet}', columns => '{n,d,t}')", qr/22P04.*has 2 columns, expected 3/, 'another number of columns'],
	["load('heap', '{$own/in_1.csv,$own/other.parquet}')", qr{42804: column "id" is of type integer}, 'columns of another type'],
	["load('heap', '{$own/in_1.parquet}', options => '{\"header\": true}')", qr/22023: options of CSV cannot be used/, 'options of CSV for Parquet'],
	["load('heap', '{$own/in_1.csv}', options => '{\"speed\": \"high\"}')", qr/22023: option "speed" of a load not recognized/, 'an unknown option'],
	["load('heap', '{$own/in_1.csv}', options => '{\"delimiter\": 1}')", qr/22023: option "delimiter" of a load must be a string/, 'an option of another type'],
	["load('heap', '{$own/in_1.csv}', options => '[]')", qr/22023: options of a load must be a JSON object/, 'options that are none'],
	["load('heap', '{$own/in_1.csv}', options => '{\"delimiter\": \"xx\"}')", qr/0A000: COPY delimiter must be a single/, 'an option that COPY refuses'],
	["load('heap', '{$own/data}')", qr/22023: the name of file .* has no known format/, 'no format'],
	["load('heap', '{$own/in_1.csv}', format => 'xml')", qr/22023: format "xml" not recognized/, 'another format'],
	["load('heap', '{}')", qr/22023: a load needs between 1 and/, 'no file'],
	["load('heap', '{NULL}')", qr/22004/, 'a file that is NULL'],
	["load('heap', NULL)", qr/22004/, 'no files'],
	["load('heap', '{$own/in_1.csv}', columns => '{}')", qr/22023: the list of columns must not be empty/, 'no columns'],
	["load('heap', '{$own/in_1.csv}', handle => '7')", qr/0A000/, 'a handle'],
	["load('heap', '{$own/in_1.csv}', on_conflict => 'ignore')", qr/0A000/, 'on_conflict'],
	["load('heap', '{$own/in_1.csv}', on_error => 'skip')", qr/0A000/, 'on_error'],
	["load('heap', '{$own/in_1.csv}', reject_file => '/x')", qr/0A000/, 'a reject file'])
{
	like(psql_error("TRUNCATE heap; SELECT * FROM tsurugi.$case->[0]"), $case->[1], "refused: $case->[2]");
	is(ask('SELECT count(*) FROM heap'), '0', 'and nothing is stored');
}
like(psql_error("SET ROLE stranger; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}')"), qr/42501.*pg_read_server_files/, 'a role that may not read files');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}')"), qr/42501: permission denied for table heap/, 'nor insert');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}', dry_run => true)"), qr/42501: permission denied for table heap/, 'nor look');
like(psql_error("BEGIN READ ONLY; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}')"), qr/25006/, 'a transaction that is READ ONLY');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');

$node->stop;
done_testing();

# tsurugi.load(): files into both kinds of tables, compared with COPY of the same files; rows that
# are left out.  tsurugi.dump(): queries into files, which are loaded again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('load');
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

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
			'1000|0|2|1|' . ($table eq 'memory' && $case->[1] =~ /CSV/ ? 'pool' : 'session'), "$case->[1] into $table");
		same('source', $table, "$case->[1] into $table: its rows");
	}
}
is(ask("TRUNCATE memory; SELECT rows, files, blocks, bytes, transactions, way, reason, elapsed > interval '0' FROM
	tsurugi.load('memory', '{$own/in_*.csv}', dry_run => true)"), "|2|2|$bytes|0|pool|tasks of the pool can read, convert and store all rows|t",
	'a dry run of CSV');
is(ask("SELECT rows, files, blocks FROM tsurugi.load('memory', '{$own/in_*.parquet}', dry_run => true)"), '1000|2|7',
	'a dry run of Parquet, which knows the rows');
is(ask('SELECT count(*) FROM memory'), '0', 'stores nothing');

# --- columns that must not be NULL, and get no values ---

# is said before anything is stored; not where a trigger may give one, rows are left out, or there is none
ask(qq{
	COPY (SELECT 7 AS id, 'x' AS t) TO '$own/null_1.parquet' (FORMAT parquet); COPY (SELECT 8 AS id) TO '$own/null_2.parquet' (FORMAT parquet);
	COPY (SELECT 9 AS id LIMIT 0) TO '$own/null_0.arrow' (FORMAT arrow);
	CREATE FUNCTION give_t() RETURNS trigger LANGUAGE plpgsql AS \$\$BEGIN new.t := coalesce(new.t, 'given'); RETURN new; END\$\$;
	CREATE TABLE heap_not_null (id int, t text NOT NULL, u text NOT NULL DEFAULT 'u', v int GENERATED ALWAYS AS IDENTITY, w int NOT NULL GENERATED ALWAYS AS (id + 1) STORED);
	CREATE FOREIGN TABLE memory_not_null (id int, t text NOT NULL, u text NOT NULL DEFAULT 'u') SERVER tsurugi;
	CREATE TABLE parted_not_null (id int, t text NOT NULL) PARTITION BY LIST (id);
	CREATE TABLE part_not_null PARTITION OF parted_not_null DEFAULT;
	CREATE TRIGGER gives BEFORE INSERT ON part_not_null FOR EACH ROW EXECUTE FUNCTION give_t()});
for my $table ('heap_not_null', 'memory_not_null')
{
	for my $more ('transactional => true', 'transactional => false', 'dry_run => true')
	{
		like(psql_error("SELECT tsurugi.load('$table', '{$own/null_1.parquet,$own/null_2.parquet}', $more)"),
			qr/23502: null value in column "t" of relation "$table" violates not-null constraint\nDETAIL:  File ".*null_2.parquet" has no values for it/, "$more: a file without a column of $table");
		is(ask("SELECT count(*) FROM $table"), '0', 'and nothing of the others is stored');
	}
	is(ask("SELECT rows, rejected FROM tsurugi.load('$table', '{$own/null_1.parquet,$own/null_2.parquet}', on_error => 'skip', transactional => false)"), '1|1', 'rows may be left out');
	is(ask("SELECT rows FROM tsurugi.load('$table', '{$own/null_1.parquet,$own/null_0.arrow}')"), '1', 'a file without rows');
	ask("CREATE TRIGGER gives BEFORE INSERT ON $table FOR EACH ROW EXECUTE FUNCTION give_t()");
	is(ask("SELECT rows FROM tsurugi.load('$table', '{$own/null_2.parquet}')"), '1', 'a trigger may give values');
}
is(ask("SELECT rows FROM tsurugi.load('parted_not_null', '{$own/null_2.parquet}')"), '1', 'and one of a partition');
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
	["load('heap', '{$own/in_1.csv}', options => '{\"force_null\": []}')", qr/22023: option "force_null" of a load must be an array of names of columns/, 'an empty array'],
	["load('heap', '{$own/in_1.csv}', options => '[]')", qr/22023: options of a load must be a JSON object/, 'options that are none'],
	["load('heap', '{$own/in_1.csv}', options => '{\"delimiter\": \"xx\"}')", qr/0A000: COPY delimiter must be a single/, 'an option that COPY refuses'],
	["load('heap', '{$own/data}')", qr/22023: the name of file .* has no known format/, 'no format'],
	["load('heap', '{$own/in_1.csv}', format => 'xml')", qr/22023: format "xml" not recognized/, 'another format'],
	["load('heap', '{}')", qr/22023: a load needs between 1 and/, 'no file'],
	["load('heap', '{NULL}')", qr/22004/, 'a file that is NULL'],
	["load('heap', NULL)", qr/22004/, 'no files'],
	["load('heap', '{$own/in_1.csv}', columns => '{}')", qr/22023: the list of columns must not be empty/, 'no columns'],
	["load('heap', '{$own/in_1.csv}', handle => '7')", qr/22023: invalid handle of a transaction/, 'a handle that is none'],
	["load('heap', '{$own/in_1.csv}', handle => repeat('0', 32))", qr/42704: there is no transaction of this handle/, 'a handle of no transaction'],
	["load('heap', '{$own/in_1.csv}', handle => repeat('0', 32), transactional => false)", qr/22023: a load that is not transactional has no handle/, 'a handle without its transaction'],
	["load('heap', '{$own/in_1.csv}', on_conflict => 'other')", qr/22023: on_conflict "other" not recognized.*"error", "ignore" and "replace"/s, 'on_conflict'],
	["load('heap', '{$own/in_1.csv}', on_error => 'other')", qr/22023: on_error "other" not recognized/, 'on_error'],
	["load('heap', '{$own/in_1.csv}', reject_file => '$own/x')", qr/22023: reject_file and reject_limit need on_error "skip"/, 'a reject file without skip'],
	["load('heap', '{$own/in_1.csv}', reject_limit => 7)", qr/22023: reject_file and reject_limit need/, 'a limit without skip'],
	["load('heap', '{$own/in_1.csv}', on_error => 'skip', reject_limit => -1)", qr/22023: reject_limit must not be negative/, 'a negative limit'],
	["load('heap', '{$own/in_1.csv}', on_error => 'skip', reject_file => 'x')", qr/42602: relative path/, 'a reject file without its directory'],
	["load('heap', '{$own/in_1.csv}', on_error => 'skip', reject_file => '$own')", qr/42809: .* is not a regular file/, 'a directory as reject file'],
	["load('heap', '{$own/in_1.csv}', on_error => 'skip', options => '{\"encoding\": \"sjis\"}')", qr/0A000.*encoding "SJIS"/, 'an encoding whose characters look like ASCII'],
	["load('heap', '{$own/in_1.csv}', on_conflict => 'replace')", qr/42P10: a load that replaces rows needs a primary key on "heap"/, 'replace without a key'])
{
	like(psql_error("TRUNCATE heap; SELECT * FROM tsurugi.$case->[0]"), $case->[1], "refused: $case->[2]");
	is(ask('SELECT count(*) FROM heap'), '0', 'and nothing is stored');
}
like(psql_error("SET ROLE stranger; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}')"), qr/42501.*pg_read_server_files/, 'a role that may not read files');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}')"), qr/42501: permission denied for table heap/, 'nor insert');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}', dry_run => true)"), qr/42501: permission denied for table heap/, 'nor look');
like(psql_error("BEGIN READ ONLY; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}')"), qr/25006/, 'a transaction that is READ ONLY');

# --- rows that are left out ---

ask(qq{CREATE TABLE raising (id int); CREATE FUNCTION raise_always() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
	CREATE TRIGGER raises BEFORE INSERT ON raising FOR EACH ROW EXECUTE FUNCTION raise_always(); COPY (SELECT 1) TO '$own/one.csv' (FORMAT csv)});
my $session = TestServer::Session->new($node);
is($session->query("SELECT tsurugi.load('raising', '{$own/one.csv}', on_error => 'skip')"), 'ERROR P0001', 'an error that is not skipped');
is($session->query('SELECT 1'), '1', 'and leaves the session in no transaction');
$session->close;

ask(q{CREATE TABLE heap_bad (id int PRIMARY KEY, n numeric(4,1) NOT NULL, t text, d date CHECK (d > '2000-01-01'));
	CREATE FOREIGN TABLE memory_bad (id int PRIMARY KEY, n numeric(4,1) NOT NULL, t text, d date CHECK (d > '2000-01-01')) SERVER tsurugi;
	CREATE TABLE rejects (file text, block bigint, row bigint, byte bigint, "column" text, sqlstate text, message text, record text)});
my @lines = map { "$_,$_.5,\"text, of\n\"\"$_\"\"\",2024-01-01" } 1 .. 900;
my %bad = (3 => '3,x,a,2024-01-01', 4 => '4,,a,2024-01-01', 5 => '5,1', 6 => '6,1,a,2024-01-01,more', 17 => '16,1,again,2024-01-01', 18 => '18,1000,a,2024-01-01',
	19 => '19,1,a,1999-01-01', 400 => '400,1,a,2024-13-01', 899 => '1,1,again,2024-01-01', 900 => '900,1,"no end');
$lines[$_ - 1] = $bad{$_} for keys %bad;
append_to_file("$own/rejects.csv", join("\n", 'id,n,t,d', @lines) . "\n");
for my $table ('heap_bad', 'memory_bad')
{
	my $load = "tsurugi.load('$table', '{$own/rejects.csv}', on_error => 'skip', options => '{\"header\": true}'";

	is(ask("SELECT rows, rejected, way FROM $load, reject_file => '$own/$table.rejects')"), '890|10|session', "$table: rows that do not fit are left out");
	is(ask("SELECT count(*), min(t) = E'text, of\\n\"1\"' FROM $table"), '890|t', 'and the others stored');
	is(ask("TRUNCATE rejects; COPY rejects FROM '$own/$table.rejects' (FORMAT csv, HEADER match);
		SELECT row, \"column\", sqlstate, record FROM rejects ORDER BY row"),
		join("\n", map({ my ($row, $column, $code) = @$_; "$row|$column|$code|$bad{$row}" } [3, 'n', '22P02'], [4, 'n', '23502'], [5, '', '22P04'], [6, '', '22P04'],
			[17, '', '23505'], [18, 'n', '22003'], [19, '', '23514'], [400, 'd', '22008'], [899, '', '23505'], [900, '', '22P04'])), 'the reject file has them');
	is(ask("SELECT file, block, byte, message FROM rejects WHERE row = 5"),
		"$own/rejects.csv|1|" . length(join("\n", 'id,n,t,d', @lines[0 .. 3]) . "\n") . '|missing data for column "t"', 'and where they are');
	like(psql_error("TRUNCATE $table; SELECT * FROM $load, reject_file => '$own/$table.limited', reject_limit => 4)"),
		qr/22P04: more than 4 rows of a load into "$table" are rejected\nDETAIL:  The first one: File "\Q$own\E\/rejects.csv", row 3: invalid input syntax for type numeric: "x" \(22P02\)\./, 'a limit');
	is(scalar(split(/\n/, slurp_file("$own/$table.limited"))), 6, 'the reject file is there after that');
	is(ask("SELECT count(*) FROM $table"), '0', 'and no row');
	is(ask("SELECT rows, rejected FROM $load, reject_limit => 10)"), '890|10', 'as many as the limit');
	is(ask("SELECT rows, rejected FROM $load, on_conflict => 'ignore')"), '0|8', 'keys that are there are no rejects if they are ignored');
	is(ask("UPDATE $table SET t = 'other'; SELECT rows, rejected FROM $load, on_conflict => 'replace')"), '892|8', 'or replaced');
	is(ask("SELECT count(*), count(*) FILTER (WHERE t = 'again') FROM $table WHERE t <> 'other'"), '890|2', 'by the last row');
}
ask(qq{COPY (SELECT i AS id, CASE WHEN i <> 7 THEN 1 END AS n, CASE WHEN i = 8 THEN E'a\\t"\\\\' END AS t, date '1999-01-01' + CASE i WHEN 8 THEN 1 ELSE 1000 END AS d
	FROM generate_series(1, 20) i) TO '$own/rejects.parquet' (FORMAT parquet, ROW_GROUP_ROWS 5)});
is(ask("TRUNCATE memory_bad; SELECT rows, rejected FROM tsurugi.load('memory_bad', '{$own/rejects.parquet}', on_error => 'skip', reject_file => '$own/parquet.rejects')"), '18|2', 'rows of Parquet are left out');
is(ask("TRUNCATE rejects; COPY rejects FROM '$own/parquet.rejects' (FORMAT csv, HEADER match); SELECT block, row, byte, \"column\", sqlstate, record::json->>'t' FROM rejects ORDER BY row"),
	"2|7||n|23502|\n2|8|||23514|a\t\"\\", 'their records are objects of JSON');
is(ask("SELECT rows FROM tsurugi.load('memory_bad', '{$own/rejects.parquet}', columns => '{id,n,t,d}', on_error => 'skip', on_conflict => 'ignore')"), '0', 'all others are there');
ask(q{CREATE TABLE parent (id int PRIMARY KEY); INSERT INTO parent VALUES (1); CREATE TABLE child (id int REFERENCES parent, n int)});
append_to_file("$own/child.csv", "1,1\n2,1\n");
like(psql_error("SELECT * FROM tsurugi.load('child', '{$own/child.csv}', on_error => 'skip')"), qr/23503/, 'a foreign key is no reason to leave a row out');
append_to_file("$own/ends.csv", "1,1\r\n2,\"a\nb\"\r\n3,3\n4,4\r\n\\.\r\n5,5\r\n");
is(ask("CREATE TABLE ends (id text, n text); SELECT rows, rejected FROM tsurugi.load('ends', '{$own/ends.csv}', on_error => 'skip', reject_file => '$own/ends.rejects')"), '2|1', 'an end of a line of another kind');
like(slurp_file("$own/ends.rejects"), qr/,1,3,14,,22P04,"unquoted newline found in data","3,3\n4,4"\n\z/, 'is rejected with what follows on its line');
append_to_file("$own/latin.csv", "1,\xe9\n2,b\n");
is(ask("TRUNCATE ends; SELECT rows, rejected FROM tsurugi.load('ends', '{$own/latin.csv}', on_error => 'skip', reject_file => '$own/latin.rejects')"), '1|1', 'bytes that are no characters');
like(slurp_file("$own/latin.rejects"), qr/,22021,"invalid byte sequence[^"]*"".*"",*.*","1,\\xe9"\n\z/s, 'are readable in the reject file');
is(ask("TRUNCATE ends; SELECT rows, rejected FROM tsurugi.load('ends', '{$own/latin.csv}', on_error => 'skip', options => '{\"encoding\": \"latin1\"}'); SELECT count(*) FROM ends WHERE n = 'é'"), "2|0\n1", 'and are characters in another encoding');
like(psql_error("SELECT * FROM tsurugi.load('ends', '{$own/ends.csv}', on_error => 'skip', options => '{\"header\": \"match\"}')"), qr/22P04: column name mismatch/, 'a header that does not match');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}', on_error => 'skip')"), qr/42501: permission denied for table heap/, 'a role that may not insert');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}', on_error => 'skip', reject_file => '$own/y')"), qr/42501.*pg_write_server_files/, 'nor write files');
like(psql_error("BEGIN READ ONLY; SELECT * FROM tsurugi.load('heap', '{$own/in_1.csv}', on_error => 'skip')"), qr/25006/, 'a transaction that is READ ONLY');
is(ask("CREATE FUNCTION loads() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN IF new.id = 2 THEN PERFORM tsurugi.load('child', '{$own/child.csv}', on_error => 'skip'); END IF; RETURN new; END \$\$;
	CREATE TABLE outer_rows (id int, n int); CREATE TRIGGER t BEFORE INSERT ON outer_rows FOR EACH ROW EXECUTE FUNCTION loads(); ALTER TABLE child DROP CONSTRAINT child_id_fkey;
	SELECT rows, rejected FROM tsurugi.load('outer_rows', '{$own/child.csv}', on_error => 'skip'); SELECT count(*) FROM child; SELECT count(*) FROM outer_rows"), "2|0\n2\n2", 'a load in a trigger of a load');
ask('CREATE FOREIGN TABLE from_fifo (id int PRIMARY KEY, n int) SERVER tsurugi');
is(psql_error("SELECT tsurugi.$_, on_error => 'skip', reject_file => '$own/../@{[$own =~ s/.*\///r]}/child.csv')") =~ /ERROR:  (22023: reject file \S+ is one of the files that are read)/, 1, "rejects into a file that is read: $_")
	for "load('ends', '{$own/ends.csv,$own/child.csv}'", "load('from_fifo', '{$own/child.csv}', transactional => false", "batch('SELECT \$1::text, \$2::text', '{$own/child.csv}'";
is(slurp_file("$own/child.csv"), "1,1\n2,1\n", 'it is as it was');
mkfifo("$own/fifo.csv", 0600) or die;
system("cat $own/child.csv >$own/fifo.csv &");
is(ask("SELECT rows, way, reason FROM tsurugi.load('from_fifo', '{$own/fifo.csv}')"), '2|session|files that are not ordinary ones are read by sessions', 'a FIFO');
like(psql_error("SELECT tsurugi.$_, options => '{\"header\": true}')"), qr/42809: "\Q$own\E\/fifo\.csv" is not a regular file.*read twice/s, 'whose header would have to be read before')
	for "load('from_fifo', '{$own/fifo.csv}'", "batch('SELECT \$1::text, \$2::text', '{$own/fifo.csv}'";

# --- dumps ---

sub files { opendir my $d, $_[0] or die; return join ' ', sort grep { !/^\.\.?$/ } readdir $d }

mkdir "$own/out";
is(ask("TRUNCATE memory; INSERT INTO memory TABLE source; SELECT * FROM tsurugi.dump('TABLE memory', '$own/out')") =~ s/\|\d+$/|bytes/r, "$own/out/part_00001.parquet|1000|bytes", 'a dump to Parquet');
is(ask("SELECT count(*), sum(rows), min(bytes) > 0, string_agg(substring(file, '[^/]*\$'), ' ') FROM tsurugi.dump('SELECT * FROM memory ORDER BY id', '$own/out', prefix => 'some', options => '{\"max_rows_per_file\": 300, \"codec\": \"zstd\", \"row_group_rows\": 7}')"),
	'4|1000|t|some_00001.parquet some_00002.parquet some_00003.parquet some_00004.parquet', 'to several files');
is(ask("SELECT string_agg(type, ' ') FROM tsurugi.describe_file('$own/out/some_00004.parquet')"), 'integer text text date', 'which tell their columns');
is(ask("SELECT count(*), sum(rows), sum(bytes) FROM tsurugi.dump('TABLE memory', '$own/out', 'csv', options => '{\"max_rows_per_file\": 400, \"header\": true, \"delimiter\": \";\", \"null\": \"-\", \"quote\": \"|\", \"escape\": \"!\"}')"),
	'3|1000|' . ((-s "$own/out/part_00001.csv") + (-s "$own/out/part_00002.csv") + (-s "$own/out/part_00003.csv")), 'to CSV');
for my $case (["'{$own/out/part_*.parquet}'", 'Parquet'], ["'{$own/out/some_*.parquet}'", 'several files'],
	["'{$own/out/part_*.csv}', options => '{\"header\": true, \"delimiter\": \";\", \"null\": \"-\", \"quote\": \"|\", \"escape\": \"!\"}'", 'CSV'])
{
	is(ask("TRUNCATE heap; SELECT rows FROM tsurugi.load('heap', $case->[0])"), '1000', "a dump to $case->[1] is loaded");
	same('source', 'heap', 'with the same rows');
}
for my $query (q{SELECT NULL::text, '', '\.'}, q{SELECT E'a\r'}, q{SELECT '\.'}, q{SELECT 'a"', 'b,c', E'd\n', 1.5, NULL, ARRAY['x', 'y"'] FROM generate_series(1, 3)}, 'SELECT 1 WHERE false')
{
	my $quoted = $query =~ s/'/''/gr;

	ask("COPY ($query) TO '$own/copy.csv' (FORMAT csv, HEADER); SELECT * FROM tsurugi.dump('$quoted', '$own/out', 'csv', 'same', '{\"header\": true, \"overwrite\": true}')");
	is(slurp_file("$own/out/same_00001.csv"), slurp_file("$own/copy.csv"), "written as by COPY: $query");
}
is(ask("SELECT rows FROM tsurugi.dump('SELECT 1 AS a WHERE false', '$own/out', prefix => 'none')"), '0', 'a query without rows');
my $before = files("$own/out");
for my $case (
	["'TABLE memory', '$own/out'", qr/58P02: file ".*part_00001\.parquet" already exists/, 'a file that is there'],
	["'SELECT 1 / (900 - id) AS a FROM memory ORDER BY id', '$own/out', prefix => 'bad', options => '{\"max_rows_per_file\": 200}'", qr/22012: division by zero/, 'a query that fails'],
	["'SELECT 1 AS a, 2 AS a', '$own/out', prefix => 'bad'", qr/42701: column name "a" is not unique/, 'a name twice'],
	["'SELECT', '$own/out', prefix => 'bad'", qr/0A000: a file in Parquet has at least one column/, 'no column'],
	["'DELETE FROM memory RETURNING id', '$own/out', prefix => 'bad'", qr/42601: a dump needs one query/, 'a query that writes'],
	["'WITH d AS (DELETE FROM memory RETURNING id) TABLE d', '$own/out', prefix => 'bad'", qr/0A000: a dump of a query that writes/, 'likewise'],
	["'SELECT 1; SELECT 2', '$own/out', prefix => 'bad'", qr/42601/, 'two queries'],
	["'SELECT 1 AS a', '$own/nowhere'", qr{58P01: could not open file "$own/nowhere/part_00001\.parquet" for writing}, 'no such directory'],
	["'SELECT 1 AS a', 'out'", qr/42602: relative path/, 'a directory by a part of its name'],
	["'SELECT 1 AS a', '$own/out', prefix => '../x'", qr/42602: prefix/, 'a prefix that leads elsewhere'],
	["'SELECT 1 AS a', '$own/out', 'xml'", qr/22023: format "xml" not recognized/, 'another format'],
	["'SELECT 1 AS a', '$own/out', options => '{\"header\": true}'", qr/22023: option "header" of a dump not recognized/, 'an option of another format'],
	["'SELECT 1 AS a', '$own/out', options => '{\"codec\": \"none!\"}'", qr/22023: codec "none!" not recognized/, 'a codec'],
	["'SELECT 1 AS a', '$own/out', options => '{\"max_rows_per_file\": 0}'", qr/22023: option "max_rows_per_file" of a dump must be a positive/, 'no rows in a file'],
	["'SELECT 1 AS a', '$own/out', options => '{\"level\": 3}'", qr/22023: the codec has no levels/, 'a level'],
	["'SELECT 1 AS a', '$own/out', options => '{\"row_group_bytes\": 1}'", qr/22023: row_group_bytes must be between/, 'a number of bytes'],
	["'SELECT 1 AS a', '$own/out', options => '{\"dictionary\": 1}'", qr/22023: option "dictionary" of a dump must be true or false/, 'a dictionary'],
	["'SELECT 1 AS a', '$own/out', 'arrow', options => '{\"dictionary\": true}'", qr/22023: option "dictionary" of a dump not recognized/, 'one of Arrow'],
	["'SELECT 1 AS a', '$own/out', options => '[]'", qr/22023/, 'options that are none'])
{
	like(psql_error("SELECT * FROM tsurugi.dump($case->[0])"), $case->[1], "no dump: $case->[2]");
	is(files("$own/out"), $before, 'and nothing stays');
}
like(psql_error("SELECT * FROM tsurugi.dump('SELECT 1 / (900 - id) AS a FROM memory ORDER BY id', '$own/out', prefix => 'kept', options => '{\"max_rows_per_file\": 400, \"keep_files\": true}')"), qr/22012/, 'with keep_files');
is(join(' ', grep { !/^kept/ } split / /, files("$own/out")), $before, 'no hidden file stays');
like(files("$own/out"), qr/kept_00001\.parquet kept_00002\.parquet none/, 'but files that are whole do');
like(psql_error("SET ROLE loader; SELECT * FROM tsurugi.dump('SELECT 1 AS a', '$own/out', prefix => 'x')"), qr/42501.*pg_write_server_files/, 'a role that may not write files');
like(psql_error("GRANT pg_write_server_files TO stranger; SET ROLE stranger; SELECT * FROM tsurugi.dump('TABLE memory', '$own/out', prefix => 'x')"), qr/42501: permission denied for (foreign )?table memory/, 'nor read the table');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');

$node->stop;
done_testing();

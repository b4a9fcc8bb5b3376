# COPY of files and streams of Arrow, into both kinds of tables; loads of them, and
# tsurugi.describe_file().
#
# The files of test/files were written by Arrow's implementation in JavaScript (js_*: the same rows
# as a file, as a stream of several record batches, compressed) and by DuckDB; arrow.mjs and
# duckdb.mjs there say how.  What they have is written down here by expressions.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('arrow');
my $files = "$FindBin::RealBin/../files";
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask { return $node->safe_psql('postgres', $_[0]) }

# Whether the query has no row: what a table has and another has not.
sub same
{
	my ($a, $b, $name) = @_;

	is(ask(qq{SELECT count(*) FROM ((TABLE $a EXCEPT ALL TABLE $b) UNION ALL (TABLE $b EXCEPT ALL TABLE $a)) d}), '0', $name);
}

sub cut_file
{
	my ($from, $to, $bytes) = @_;

	unlink $to;
	append_to_file($to, substr(slurp_file($from), 0, $bytes));
}

# --- all types, by Arrow's own implementation ---

my %every = map { $_ => "CASE WHEN i % $_ > 0 THEN" } 2 .. 9;
$node->safe_psql('postgres', qq{
	SET TimeZone = UTC;
	CREATE TABLE expected AS SELECT $every{7} i % 3 = 0 END AS bo, $every{5} i - 60 END::smallint AS i1, (i * 100 - 6000)::smallint AS i2,
			$every{4} i * 1000003 - 5 END AS i4, $every{6} i * 1000000007::bigint - 5 END AS i8, (i * 2)::smallint AS u1,
			$every{3} i * 500 END AS u2, i * 35000000::bigint AS u4, (i + 18446744073709551000)::numeric(20,0) AS u8,
			($every{9} i / 8.0 END)::float4 AS f2, (i / 16.0)::float4 AS f4, $every{5} i / 3.0::float8 END AS f8,
			$every{8} date '1960-01-01' + i END AS d32, $every{8} date '1960-01-01' + i END AS d64,
			timestamp '1970-01-01' + (i * 1000 - 3000) * interval '1 s' AS ts0,
			$every{3} timestamptz '1970-01-01 00:00+00' + (i * 1001 - 3000) * interval '1 ms' END AS ts3,
			$every{6} 'text ' || repeat('ä', i % 9) || i END AS s, $every{5} '\\x00ff'::bytea || decode(lpad(to_hex(i), 2, '0'), 'hex') END AS bl,
			$every{2} 'large' || i END AS ls, decode(lpad(to_hex(i), 2, '0') || '01', 'hex') AS lb,
			$every{3} decode('010203' || lpad(to_hex(i), 2, '0'), 'hex') END AS fb,
			$every{4} 'word' || i % 5 END AS di, (i % 3) * 10000000000 AS du,
			CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY[i, NULL, -i] END AS li,
			$every{5} ARRAY(SELECT 'e' || k || i FROM generate_series(0, i % 4 - 1) k ORDER BY k) END AS lt,
			$every{4} ARRAY[i, i / 2.0]::float8[] END AS fl, NULL::text AS nu,
			($every{5} i * 1.25 - 9 END)::numeric(9,2) AS d9, ((i * 12345678901234567890123::numeric - 900) * 0.00001)::numeric(38,5) AS d38,
			($every{6} -(i::numeric ^ 20) / 1000 END)::numeric(50,3) AS d50, $every{4} time '00:00' + i * interval '61 s' END AS t0,
			time '00:00' + i * interval '61.001 s' AS t3, $every{3} time '00:00' + i * interval '61.000001 s' END AS t6,
			time '00:00' + i * interval '61.000001 s' AS t9,
			$every{3} timestamp '1970-01-01' + interval '-315619200 s' + i * interval '3600.000001 s' END AS ts6,
			timestamptz '1970-01-01 00:00+00' + interval '978307200.123456 s' + i * interval '1 s' AS ts9,
			$every{5} (i - 20) * interval '1 month' END AS ym, (i - 10) * interval '1 day' + i * interval '1.5 s' AS dt,
			$every{4} (i - 10) * interval '1 month' - i * interval '1 day' + i * interval '1.5 s' END AS mdn,
			$every{7} i * interval '90061.001 s' - interval '0.005 s' END AS dur
		FROM generate_series(0, 119) i;
	CREATE TABLE heap (LIKE expected);
	CREATE FOREIGN TABLE memory (LIKE expected) SERVER tsurugi});
for my $file ('js_file.arrow', 'js_batches.arrows', 'js_zstd.arrow', 'js_lz4.arrows')
{
	for my $table ('heap', 'memory')
	{
		$node->safe_psql('postgres', "SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET IntervalStyle = 'sql_standard';
			TRUNCATE $table; COPY $table FROM '$files/$file' (FORMAT arrow)");
		same('expected', $table, "$file: $table has its rows, whatever the settings");
	}
}
is(ask(qq{SELECT string_agg(name || ' ' || type, ', ' ORDER BY n) FROM tsurugi.describe_file('$files/js_zstd.arrow')}),
	ask(q{SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = 'expected'::regclass AND attnum > 0}),
	'describe_file says the types');
is(ask(qq{SELECT string_agg(concat_ws(' ', name, nullable, file_type, encodings, codec), '; ' ORDER BY n)
	FROM tsurugi.describe_file('$files/js_lz4.arrows') WHERE name IN ('i2', 'di', 'd50')}),
	'i2 f Int16 plain lz4; di t Utf8 dictionary lz4; d50 t Decimal256 plain lz4', 'and how they are stored, of a stream, too');
ask("\\copy heap from '$files/js_batches.arrows' (format arrow)");
is(ask('SELECT count(*) FROM heap'), '240', 'a client sends a stream');
ask("TRUNCATE heap; \\copy heap from '$files/js_lz4.arrows' (format arrow)
	\\copy heap from '$files/js_file.arrow' (format arrow)");
is(ask('SELECT count(*) FROM heap'), '240', 'and a file');

# --- by DuckDB ---

$node->safe_psql('postgres', qq{
	SET TimeZone = UTC;
	CREATE TABLE duck_expected AS SELECT i % 3 = 0 AS bo, (i % 100 - 50)::smallint AS i1, (i * 3 - 100)::smallint AS i2,
			(i % 200)::smallint AS u1, i * 300 AS u2, i * 3::bigint AS u4, (i + 18446744073709551000)::numeric(20,0) AS u8,
			(i * 1.25 - 9)::numeric(9,2) AS d9, (i * 1.25 - 9)::numeric(18,4) AS d18, (i * 1.25 - 9)::numeric(38,5) AS d38,
			date '1700-01-01' + i * 999 AS dt, (time '00:00' + i * interval '61 s') AS tm,
			timestamp '1960-01-01 00:00:00.000123' + i * interval '1000 h' AS ts,
			timestamptz '2001-01-01 00:00+00' + i * interval '1 s' AS tz, timestamp '2001-01-01 00:00:00.123456' AS tn,
			timestamp '2001-01-01 00:00:00.123' AS tms, timestamp '2001-01-01' AS tsec, $every{4} md5(i::text)::uuid END AS uu,
			decode('00' || md5(i::text), 'hex') AS bl, i * interval '1 month' + interval '1.5 s' AS iv,
			$every{7} ARRAY[i, NULL, -i]::bigint[] END AS li, $every{6} 'text' || i END AS s,
			CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'happy' END AS mood, ARRAY[i, i + 1] AS fl
		FROM generate_series(0, 99) i;
	CREATE TABLE duck (LIKE duck_expected);
	COPY duck FROM '$files/duckdb_types.arrows' (FORMAT arrow)});
same('duck_expected', 'duck', 'all types of a stream of DuckDB');

# --- other ways of writing ---

ask(qq{CREATE TABLE views (i int, sv text, bv bytea); COPY views FROM '$files/js_views.arrow' (FORMAT arrow); COPY views FROM '$files/js_views.arrows' (FORMAT arrow)});
is(ask(q{SELECT count(*) FROM views WHERE sv IS NOT DISTINCT FROM CASE WHEN i % 5 = 0 THEN NULL WHEN i % 3 = 0 THEN 'short' || i ELSE 'a string that is longer than a view ' || i END
	AND length(bv) IS NOT DISTINCT FROM CASE WHEN i % 4 > 0 THEN i % 30 END AND (i % 30 = 0 OR i % 4 = 0 OR get_byte(bv, i % 30 - 1) = (i + i % 30 - 1) % 256)}),
	'240', 'views of strings and bytes');
ask(qq{CREATE TABLE legacy (i4 int, s text, li int[]); COPY legacy FROM '$files/js_legacy.arrows' (FORMAT arrow)});
is(ask('SELECT count(*) FROM ((TABLE legacy EXCEPT ALL SELECT i4, s, li FROM expected) UNION ALL (SELECT i4, s, li FROM expected EXCEPT ALL TABLE legacy)) d'), '0',
	'a stream as old writers made it');
ask(qq{CREATE TABLE words (word text); COPY words FROM '$files/js_dictionary.arrows' (FORMAT arrow)});
is(ask(q{SELECT string_agg(word, '' ORDER BY n) FROM (SELECT word, row_number() OVER () AS n FROM words) w}), 'abbdcayxy', 'a dictionary that grows, and is replaced');
is(ask(qq{SELECT string_agg(concat_ws(' ', name, type, file_type), '; ' ORDER BY n) FROM tsurugi.describe_file('$files/js_nested.arrow')}),
	'before integer Int32; pair jsonb Struct; map jsonb Map; lists jsonb List; either Union; after text Utf8', 'columns that cannot be read are described');

# days in milliseconds, which are not infinite where numbers of days would be
ask('CREATE TABLE days (d date); CREATE FOREIGN TABLE day_pool (d date) SERVER tsurugi');
for my $table ('days', 'day_pool')
{
	like(psql_error("COPY $table FROM '$files/js_days.arrow' (FORMAT arrow)"), qr/22008.*date out of range/, "days out of range are no dates of $table");
	is(ask("SELECT rows, rejected FROM tsurugi.load('$table', '{$files/js_days.arrow}', transactional => false, on_error => 'skip', reject_file => '$own/days.csv')"), '1|2',
		'their rows can be left out');
	like(slurp_file("$own/days.csv"), qr/"d"": ""5877642-06-2\d BC"".*"d"": ""5877642-06-2\d BC""/s, 'and are in the reject file');
}

# --- loads ---

is(ask("SELECT rows, files, blocks, way FROM tsurugi.load('memory', '{$files/js_batches.arrows,$files/js_zstd.arrow}', dry_run => true)"), '240|2|4|session',
	'a dry run knows the rows and the record batches');
is(ask("TRUNCATE memory; SELECT rows, files, blocks FROM tsurugi.load('memory', '{$files/js_batches.arrows}')"), '120|1|3', 'a load by the session');
same('expected', 'memory', 'has the rows');
ask(q{CREATE FOREIGN TABLE duck_pool (bo boolean, i1 smallint, i2 smallint, u1 smallint, u2 int, u4 bigint, u8 numeric(20,0), d9 numeric(9,2), d18 numeric(18,4),
	d38 numeric(38,5), dt date, tm time, ts timestamp, tz timestamptz, tn timestamp, tms timestamp, tsec timestamp, uu text, bl bytea, iv interval, li bigint[], s text, mood text, fl int[]) SERVER tsurugi});
like(ask("SELECT way || ': ' || reason FROM tsurugi.load('duck_pool', '{$files/duckdb_types.arrows}', transactional => false, dry_run => true)"), qr/session: values of column "[a-z0-9]+" of file/s,
	'the pool says which column it cannot convert');
ask(qq{CREATE FOREIGN TABLE word_pool (word text) SERVER tsurugi; CREATE FOREIGN TABLE view_pool (i int, sv text, bv bytea, PRIMARY KEY (i)) SERVER tsurugi});
is(ask("SELECT rows, blocks, way FROM tsurugi.load('word_pool', '{$files/js_dictionary.arrows}', transactional => false)"), '9|3|pool', 'a load by the pool: record batches');
is(ask(q{SELECT string_agg(word, '' ORDER BY word) FROM word_pool}), 'aabbcdxyy', 'with their dictionaries');
is(ask("SELECT rows, rejected FROM tsurugi.load('view_pool', '{$files/js_views.arrow,$files/js_views.arrows}', transactional => false, on_error => 'skip', reject_file => '$own/rejects.csv')"),
	'120|120', 'rows that are left out by the pool');
is(ask('SELECT count(*) FROM ((TABLE view_pool EXCEPT ALL (SELECT DISTINCT * FROM views)) UNION ALL ((SELECT DISTINCT * FROM views) EXCEPT ALL TABLE view_pool)) d'), '0', 'and those that are stored');
is(() = slurp_file("$own/rejects.csv") =~ /,23505,/g, 120, 'the file of rejects has the others');

# --- files of ours ---

$node->safe_psql('postgres', q{
	CREATE TYPE mood AS ENUM ('sad', 'happy');
	CREATE DOMAIN raw AS bytea;
	CREATE DOMAIN mark AS uuid;
	CREATE TABLE source AS SELECT i AS id, ARRAY['\x5c313031', NULL]::raw[] AS ar, ARRAY[md5(i::text)]::mark[] AS ak, i % 2 = 0 AS bo, i::smallint AS i2, i * 10000000000 AS i8, i::oid AS o, (i / 3.0)::float4 AS f4,
			CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' ELSE 1e300 END::float8 AS f8,
			(i * 1.5)::numeric(8,1) AS n8, (i * -1.5)::numeric(18,2) AS n18,
			(i * -12345678901234567890.5)::numeric(38,3) AS n38, i / 7.0 AS n,
			CASE i % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE date '2000-02-29' + i END AS d,
			time '23:59:59.999999' AS tm, timestamp '0044-03-15 12:00 BC' + i * interval '1 d' AS ts,
			CASE WHEN i % 3 = 0 THEN 'infinity' ELSE timestamptz '2020-01-01 00:00+00' + i * interval '1 h' END AS tz,
			(i - 50) * interval '1 month 2 days -3.5 s' AS iv, E'text \t\\\\ \n "' || i AS t, 'c'::char(5) AS bp,
			CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'happy' END::mood AS m, decode('00ff0a5c', 'hex') AS by,
			CASE WHEN i % 7 > 0 THEN md5(i::text)::uuid END AS u, jsonb_build_object('k', i, 'n', NULL) AS jb,
			int4range(i, i + 5) AS r, ARRAY[i, NULL, -i] AS ai, ARRAY['a "b\', NULL, '', 'null', 'ä']::text[] AS at,
			CASE i % 3 WHEN 0 THEN '{}' WHEN 1 THEN ARRAY[i, NULL] END::numeric(10,2)[] AS an,
			ARRAY[md5(i::text)]::uuid[] AS au, ARRAY[i * interval '1 day'] AS aiv, NULL::int AS none, 'ünï' || i AS "Ünïcode name"
		FROM generate_series(1, 3000) i;
	CREATE TABLE back (LIKE source)});
for my $options ('', ', codec zstd', ', codec lz4, row_group_rows 7', ', codec none, row_group_rows 1000', ', stream, codec lz4')
{
	ask("TRUNCATE back; COPY source TO '$own/source.arrow' (FORMAT arrow$options); COPY back FROM '$own/source.arrow' (FORMAT arrow)");
	same('source', 'back', "what was written is read back$options");
}
is(ask('SELECT count(*) FROM source s JOIN back b USING (id) WHERE s.iv::text <> b.iv::text OR s.n::text <> b.n::text'), '0', 'intervals and scales are the same');
ask("COPY source TO '$own/source.arrow' (FORMAT arrow, codec zstd)");
is(ask("SELECT string_agg(concat_ws(' ', name, type, file_type, codec), '; ' ORDER BY n) FROM tsurugi.describe_file('$own/source.arrow') WHERE name IN ('o', 'n18', 'iv', 'u', 'jb', 'an')"),
	'o bigint UInt32 zstd; n18 numeric(18,2) Decimal128 zstd; iv interval Interval zstd; u uuid FixedSizeBinary zstd; jb json Utf8 zstd; an numeric(10,2)[] Decimal128 zstd',
	'types as they are written');
for my $options ('', ', stream false')
{
	ask("\\copy source to '$own/client.arrow' (format arrow$options)
		TRUNCATE back;
		\\copy back from '$own/client.arrow' (format arrow)");
	same('source', 'back', "a client gets and sends it$options");
	is(substr(slurp_file("$own/client.arrow"), 0, 4), $options eq '' ? "\xff\xff\xff\xff" : 'ARRO', $options eq '' ? 'as a stream' : 'as a file');
}
ask("COPY (SELECT 1 AS i WHERE false) TO '$own/empty.arrow' (FORMAT arrow); CREATE TABLE empty (i int); COPY empty FROM '$own/empty.arrow' (FORMAT arrow)");
is(ask('SELECT count(*) FROM empty'), '0', 'a file without rows');
mkdir "$own/out";
is(ask("SELECT count(*), sum(rows) FROM tsurugi.dump('TABLE source', '$own/out', 'arrow', options => '{\"max_rows_per_file\": 1000, \"codec\": \"lz4\"}')"), '3|3000', 'a dump of several files');
is(ask("TRUNCATE back; SELECT rows, files FROM tsurugi.load('back', '{$own/out/part_*.arrow}')"), '3000|3', 'which are loaded');
same('source', 'back', 'has what was dumped');
for my $refusal (
	["COPY source TO '$own/x.arrow' (FORMAT arrow, codec snappy)", qr/22023: codec "snappy" not recognized.*"lz4"/s, 'a codec of Parquet'],
	["COPY source TO '$own/x.parquet' (FORMAT parquet, stream)", qr/42601: option "stream" not recognized/, 'a stream of Parquet'],
	["COPY (SELECT 1 AS a, 2 AS a) TO '$own/x.arrow' (FORMAT arrow)", qr/42701/, 'a name twice'],
	["COPY (SELECT interval '300 years' * 1.0001 + make_interval(hours => 2147483647) * 2 AS i) TO '$own/x.arrow' (FORMAT arrow)", qr/22008: interval out of range/, 'an interval of more hours than there are ns'],
	["COPY (SELECT 'NaN'::numeric(5,2) AS n) TO '$own/x.arrow' (FORMAT arrow)", qr/22003: cannot write NaN as a DECIMAL/, 'NaN'],
	["SET tsurugi_fdw.batch_memory = '1MB'; COPY (SELECT repeat('x', 3000000) AS t) TO '$own/x.arrow' (FORMAT arrow)", qr/53200.*batch_memory/s, 'memory for a record batch'],
	["SET statement_timeout = '200ms'; COPY (SELECT i, pg_sleep(0.01)::text FROM generate_series(1, 100000) i) TO '$own/x.arrow' (FORMAT arrow)", qr/57014/, 'a statement that is cancelled'],
	["SELECT * FROM tsurugi.dump('TABLE source', '$own/out', 'arrow', options => '{\"header\": true}')", qr/22023: option "header" of a dump not recognized/, 'an option of CSV'])
{
	like(psql_error($refusal->[0]), $refusal->[1], "refused: $refusal->[2]");
	ok(!-e "$own/x.arrow", 'and leaves no file');
}
is_deeply([glob "$own/.x.arrow*"], [], 'nor one under another name');

# --- refusals ---

ask(q{CREATE TABLE before (before int, pair text, map text, lists text, either text, after text); CREATE TABLE narrow (word int)});
cut_file("$files/js_file.arrow", "$own/cut.arrow", 30000);
cut_file("$files/js_batches.arrows", "$own/cut.arrows", 30000);
cut_file("$files/js_file.arrow", "$own/none.arrow", 0);
my $damaged = slurp_file("$files/js_views.arrow");
substr($damaged, length($damaged) - 10, 4) = pack 'V', 0x7fffffff;
append_to_file("$own/long.arrow", $damaged);
append_to_file("$own/huge.arrows", pack('VV', 0xffffffff, 0x7ffffff0) . 'x' x 100);
my $bomb = slurp_file("$files/js_zstd.arrow");
$bomb =~ s/(.{8})(?=\x28\xb5\x2f\xfd)/pack 'Q<', 1 << 30/se; # of the first buffer that is compressed: its length
append_to_file("$own/bomb.arrow", $bomb);
append_to_file("$own/feather.arrow", 'FEA1' . 'x' x 100);
my @refusals = (
	["COPY before FROM '$files/js_nested.arrow' (FORMAT arrow)", qr/0A000: column "either" of file ".*" cannot be read.*Not supported: Union/s, 'a column that cannot be read'],
	["COPY heap FROM '$own/cut.arrow' (FORMAT arrow)", qr/22P04.*could not read Arrow file ".*cut\.arrow".*cut short/, 'a file that is cut short'],
	["COPY heap FROM '$own/cut.arrows' (FORMAT arrow)", qr/22P04.*a message is longer than the file/, 'a stream that is cut short'],
	["COPY heap FROM '$own/none.arrow' (FORMAT arrow)", qr/22P04.*neither a file nor a stream of Arrow/, 'an empty file'],
	["COPY heap FROM '$own/long.arrow' (FORMAT arrow)", qr/22P04.*footer would begin before the file/, 'a length that is huge'],
	["COPY heap FROM '$own/huge.arrows' (FORMAT arrow)", qr/22P04.*neither a file nor a stream of Arrow/, 'another one'],
	["COPY heap FROM '$own/feather.arrow' (FORMAT arrow)", qr/0A000.*version 1 of Feather/, 'another format'],
	["COPY heap FROM '$files/v1_lz4.parquet' (FORMAT arrow)", qr/22P04.*neither a file nor a stream of Arrow/, 'Parquet'],
	["COPY narrow FROM '$files/js_dictionary.arrows' (FORMAT arrow)", qr/22P02.*CONTEXT:  COPY narrow, line 1, column word: "a"/s, 'a value of another type'],
	["COPY narrow (word) FROM '$files/js_views.arrow' (FORMAT arrow)", qr/22P04.*has 3 columns, expected 1/, 'a number of columns'],
	["COPY words FROM '$files/js_dictionary.arrows' (FORMAT arrow, header)", qr/42601: option "header" not recognized for COPY FROM in Arrow format/, 'an option of another format'],
	["COPY words FROM '/dev/null' (FORMAT arrow)", qr/42809.*not a regular file/, 'a device'],
	["SET tsurugi_fdw.batch_memory = '1MB'; COPY heap FROM '$own/bomb.arrow' (FORMAT arrow)", qr/53200.*bomb\.arrow.*column "bo" need more memory.*batch_memory/s, 'memory'],
	["\\copy heap from '$own/cut.arrows' (format arrow)", qr/22P04.*could not read Arrow file "stdin"/, 'what a client sends']);
like(psql_error($_->[0]), $_->[1], "refused: $_->[2]") for @refusals;
is(ask('SELECT count(*) FROM words'), '9', 'and nothing is stored');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');
$node->stop;
done_testing();

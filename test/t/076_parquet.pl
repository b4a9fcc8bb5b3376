# COPY of Parquet files, into and from both kinds of tables, and tsurugi.describe_file().
#
# The files of test/files were written by parquet-rs (v1_*, v2_*: the same rows in several versions
# of pages, encodings and codecs) and by DuckDB (types_*, duckdb_*).  What they have is written down here by
# expressions.  Files of ours are read back, and compared with the table that they come from.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('parquet');
my $files = "$FindBin::RealBin/../files";
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

# Whether the query has no row: what a table has and another has not.
sub same
{
	my ($a, $b, $name) = @_;

	is($node->safe_psql('postgres', qq{
		SELECT count(*) FROM ((TABLE $a EXCEPT ALL TABLE $b) UNION ALL (TABLE $b EXCEPT ALL TABLE $a)) d}), '0', $name);
}

sub damage
{
	my ($from, $to, $place) = @_;
	my $bytes = slurp_file($from);

	substr($bytes, $place, 1) = chr(255 ^ ord substr($bytes, $place, 1));
	unlink $to;
	append_to_file($to, $bytes);
}

# --- files of other programs ---

$node->safe_psql('postgres', q{
	CREATE TABLE expected AS SELECT i * 7 - 500 AS i, i * 1000000007::bigint - 5 AS b, i / 8.0::float8 AS d,
			(i / 16.0)::float4 AS f, CASE WHEN i % 6 > 0 THEN 'prefix/common/' || i * i % 50 END AS s,
			CASE WHEN i % 5 > 0 THEN i % 3 = 0 END AS o,
			CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY['el' || i, NULL, 'x'] END AS l,
			timestamp '2001-09-09 01:46:40' + i * interval '1 s' AS ts
		FROM generate_series(0, 119) i;
	CREATE TABLE heap (LIKE expected);
	CREATE FOREIGN TABLE memory (i int PRIMARY KEY, b bigint, d float8, f float4, s text, o boolean, l text[], ts timestamp)
		SERVER tsurugi});
for my $file (glob "$files/v*.parquet")
{
	my ($name) = $file =~ m{([^/]+)\.parquet$};

	for my $table ('heap', 'memory')
	{
		$node->safe_psql('postgres', "TRUNCATE $table; COPY $table FROM '$file' (FORMAT parquet)");
		same('expected', $table, "$name: $table has its rows");
	}
}
is($node->safe_psql('postgres', qq{SELECT string_agg(name || ' ' || type, ', ' ORDER BY n) FROM tsurugi.describe_file('$files/v2_deltas.parquet')}),
	'i integer, b bigint, d double precision, f real, s text, o boolean, l text[], ts timestamp without time zone',
	'describe_file says the types');
is($node->safe_psql('postgres', qq{SELECT string_agg(concat_ws(' ', name, nullable, file_type, encodings, codec), '; ' ORDER BY n)
	FROM tsurugi.describe_file('$files/v2_deltas.parquet') WHERE name IN ('b', 's')}),
	'b f INT64 rle, delta_binary_packed none; s t BYTE_ARRAY rle, delta_byte_array none', 'and how they are stored');

$node->safe_psql('postgres', q{
	SET TimeZone = UTC;
	CREATE TABLE types_expected AS SELECT i % 3 = 0 AS bo, (i % 100 - 50)::smallint AS i1, (i * 3 - 100)::smallint AS i2,
			(i % 200)::smallint AS u1, i * 300 AS u2, i * 3::bigint AS u4, (i + 18446744073709551000)::numeric(20,0) AS u8,
			(i * 1.25 - 9)::numeric(9,2) AS d9, (i * 1.25 - 9)::numeric(18,4) AS d18, (i * 1.25 - 9)::numeric(38,5) AS d38,
			date '1700-01-01' + i * 999 AS dt, (time '00:00' + i * interval '61 s') AS tm,
			timestamp '1960-01-01 00:00:00.000123' + i * interval '1000 h' AS ts,
			timestamptz '2001-01-01 00:00+00' + i * interval '1 s' AS tz, timestamp '2001-01-01 00:00:00.123456' AS tn,
			timestamp '2001-01-01 00:00:00.123' AS tms, CASE WHEN i % 4 > 0 THEN md5(i::text)::uuid END AS uu,
			decode('00' || md5(i::text), 'hex') AS bl, format('{"k":%s}', i) AS j,
			i * interval '1 month' + interval '1.5 s' AS iv, ARRAY[i, NULL, -i]::bigint[] AS li
		FROM generate_series(0, 99) i;
	CREATE TABLE types (LIKE types_expected)});
for my $version (1, 2)
{
	$node->safe_psql('postgres', "SET TimeZone = 'Asia/Tokyo'; SET DateStyle = 'German'; SET IntervalStyle = 'sql_standard';
		TRUNCATE types; COPY types FROM '$files/types_v$version.parquet' (FORMAT parquet)");
	same('types_expected', 'types', "all types of a file of version $version, whatever the settings");
}
$node->safe_psql('postgres', qq{
	SELECT format('CREATE TABLE described (%s)', string_agg(format('%I %s', name, type), ', ' ORDER BY n))
		FROM tsurugi.describe_file('$files/types_v1.parquet')
	\\gexec
	COPY described FROM '$files/types_v1.parquet' (FORMAT parquet)});
is($node->safe_psql('postgres', 'SELECT count(*) FROM described'), '100', 'a table as described takes all rows');

# --- files of ours ---

$node->safe_psql('postgres', q{
	CREATE TYPE mood AS ENUM ('sad', 'happy');
	CREATE DOMAIN raw AS bytea;
	CREATE DOMAIN mark AS uuid;
	CREATE DOMAIN price AS numeric(12,2) CHECK (value >= 0);
	CREATE TABLE source AS SELECT i AS id, ARRAY['\x5c313031', NULL]::raw[] AS ar, ARRAY[md5(i::text)]::mark[] AS ak, i % 2 = 0 AS bo, i::smallint AS i2, i * 10000000000 AS i8, i / 3.0::float4 AS f4,
			CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' WHEN 2 THEN '-0' ELSE 1e300 END::float8 AS f8,
			(i * 1.5)::numeric(8,1) AS n8, (i * -1.5)::numeric(18,2) AS n18,
			(i * 12345678901234567890.5)::numeric(38,3) AS n38, i / 7.0 AS n, (i * 2)::price AS p,
			CASE i % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' ELSE date '2000-02-29' + i END AS d,
			time '23:59:59.999999' AS tm, timestamp '0044-03-15 12:00 BC' + i * interval '1 d' AS ts,
			CASE WHEN i % 3 = 0 THEN 'infinity' ELSE timestamptz '2020-01-01 00:00+00' + i * interval '1 h' END AS tz,
			i * interval '1 month 2 days 3.5 s' AS iv, E'text \t\\\\ \n "' || i AS t, ('v' || i)::varchar(10) AS vc,
			'c'::char(5) AS bp, CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'happy' END::mood AS m, decode('00ff0a5c', 'hex') AS by,
			md5(i::text)::uuid AS u, jsonb_build_object('k', i, 'n', NULL) AS jb, '{"a": 1}'::json::text AS j,
			int4range(i, i + 5) AS r, ARRAY[i, NULL, -i] AS ai, ARRAY['a "b\', NULL, '', 'null', 'ä']::text[] AS at,
			CASE WHEN i % 3 > 0 THEN '{}'::numeric(10,2)[] END AS an, NULL::int AS none, 'ünï' || i AS "Ünïcode name"
		FROM generate_series(1, 3000) i;
	CREATE TABLE back (LIKE source)});
for my $options ('', ', codec zstd', ', codec gzip, row_group_rows 7', ', codec none, row_group_rows 1000', ", codec 'lz4_raw'")
{
	$node->safe_psql('postgres', "TRUNCATE back; COPY source TO '$own/source.parquet' (FORMAT parquet$options);
		COPY back FROM '$own/source.parquet' (FORMAT parquet)");
	same('source', 'back', "what was written is read back$options");
}
# unconstrained numerics are texts; their scales are kept
is($node->safe_psql('postgres', 'SELECT count(*) FROM source s JOIN back b USING (id) WHERE s.n::text <> b.n::text'), '0', 'scales are the same');

# Infinite dates and times of DuckDB, whose -infinity is not the smallest number, but the next; what is written is the same.
$node->safe_psql('postgres', "CREATE TABLE endless (i int, d date, ts timestamp, tz timestamptz); CREATE TABLE endless_nested (i int, ad date[], st jsonb);
	CREATE FOREIGN TABLE endless_memory (i int PRIMARY KEY, d date, ts timestamp, tz timestamptz) SERVER tsurugi;
	COPY endless FROM '$files/duckdb_endless.parquet' (FORMAT parquet); COPY endless_nested FROM '$files/duckdb_endless_nested.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', "SELECT way FROM tsurugi.load('endless_memory', '{$files/duckdb_endless.parquet}')"), 'pool',
	'infinite dates and times are loaded by the pool');
for my $table ('endless', 'endless_memory')
{
	is($node->safe_psql('postgres', "TABLE $table ORDER BY i"), "1|-infinity|-infinity|-infinity\n2|infinity|infinity|infinity
3|2024-02-29|2024-02-29 01:02:03|2024-02-29 01:02:03+00", "infinite dates and times in $table");
}
is($node->safe_psql('postgres', 'TABLE endless_nested ORDER BY i'), qq(1|{-infinity}|{"ts": "-infinity"}\n2|{infinity}|{"ts": "infinity"}
3|{2024-02-29}|{"ts": "2024-02-29T01:02:03"}), 'and in arrays and structs');
for my $table ('endless', 'endless_memory')
{
	$node->safe_psql('postgres', "COPY (SELECT d, ts, tz FROM $table WHERE i = 1) TO '$own/endless.parquet' (FORMAT parquet, CODEC none, DICTIONARY false)");
	like(slurp_file("$own/endless.parquet"), qr/[^\0]\x01\0\0\x80.*\x01\0{6}\x80.*\x01\0{6}\x80/s, "-infinity of $table is written as DuckDB writes it");
}

# Times beyond a day and decimals of any length, which files of others may have: our own writes them as int8 and bytea, and its
# schema is changed.
sub retype
{
	my ($file, %types) = @_;
	my $bytes = slurp_file($file);
	my $length = length $bytes;

	# an element of the schema ends with its name; what its values are is behind that
	$bytes =~ s/(\x18@{[chr length $_]}$_)\0/$1$types{$_}\0/ for sort keys %types;
	substr($bytes, -8, 4) = pack('V', unpack('V', substr($bytes, -8, 4)) + length($bytes) - $length);
	unlink $file;
	append_to_file($file, $bytes);
}

$node->safe_psql('postgres', "COPY (SELECT * FROM (VALUES (1, -1::bigint, '\\x07'::bytea), (2, 86400000000, '\\x04d2'), (3, 0, '\\x01' || decode(repeat('00', 40), 'hex')),
	(4, 86400000001, '\\xff'), (5, 1, '\\x80' || decode(repeat('00', 60), 'hex')), (6, 259199999999, decode(repeat('ff', 40) || '38', 'hex')),
	(7, 43200000001, NULL)) v (i, tm, de)) TO '$own/far.parquet' (FORMAT parquet, CODEC none)");
retype("$own/far.parquet", tm => "\x25\x10", de => "\x25\x0a\x15\x04\x15\x98\x01");
is($node->safe_psql('postgres', "SELECT string_agg(name || ' ' || type, ', ' ORDER BY n) FROM tsurugi.describe_file('$own/far.parquet')"),
	'i integer, tm time without time zone, de numeric(76,2)', 'a file of times and decimals beyond their types');
$node->safe_psql('postgres', "CREATE TABLE far_text (i int, tm text, de text); COPY far_text FROM '$own/far.parquet' (FORMAT parquet);
	CREATE TABLE far (i int, tm time, de numeric(40,2)); CREATE FOREIGN TABLE far_memory (i int, tm time, de numeric(36,2)) SERVER tsurugi");
is($node->safe_psql('postgres', "SELECT i, tm, de = CASE i WHEN 3 THEN (2::numeric ^ 320 / 100)::numeric(200,2)::text WHEN 5 THEN (-(2::numeric ^ 487) / 100)::numeric(200,2)::text
	ELSE de END, CASE WHEN i NOT IN (3, 5) THEN de END FROM far_text ORDER BY i"),
	"1|-00:00:00.000001|t|0.07\n2|24:00:00.000000|t|12.34\n3|00:00:00.000000|t|\n4|24:00:00.000001|t|-0.01
5|00:00:00.000001|t|\n6|71:59:59.999999|t|-2.00\n7|12:00:00.000001||", 'are texts as they are');
for my $table ('far', 'far_memory')
{
	like(psql_error("COPY $table FROM '$own/far.parquet' (FORMAT parquet)"), qr/22007.*invalid input syntax for type time: "-00:00:00.000001"/, "a time before a day is none of $table");
	for my $transactional ('true', 'false')
	{
		is($node->safe_psql('postgres', "TRUNCATE $table; SELECT rows, rejected, way FROM tsurugi.load('$table', '{$own/far.parquet}', on_error => 'skip', transactional => $transactional, reject_file => '$own/far.csv')"),
			'2|5|' . ($table eq 'far' || $transactional eq 'true' ? 'session' : 'pool'), "rows out of range are left out of $table, transactional: $transactional");
		is($node->safe_psql('postgres', "TABLE $table ORDER BY i"), "2|24:00:00|12.34\n7|12:00:00.000001|", 'others are stored');
		is(join(' ', slurp_file("$own/far.csv") =~ /,(22\d{3}),/g), $table eq 'far' || $transactional eq 'true' ? '22007 22003 22008 22003 22008' : '22008 22003 22008 22003 22008',
			'and all are in the reject file');
	}
}

# whose elements are separated by semicolons
$node->safe_psql('postgres', "CREATE TABLE boxes (b box[]); INSERT INTO boxes VALUES ('{(2,3),(0,1);NULL}'), ('{}'), (NULL);
	COPY boxes TO '$own/boxes.parquet' (FORMAT parquet); TRUNCATE boxes; COPY boxes FROM '$own/boxes.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', 'TABLE boxes'), "{(2,3),(0,1);NULL}\n{}\n", 'arrays of boxes');

$node->safe_psql('postgres', "COPY (SELECT i, s FROM memory ORDER BY i LIMIT 10) TO '$own/query.parquet' (FORMAT parquet);
	CREATE TABLE q (i int, s text, more text DEFAULT 'default'); COPY q FROM '$own/query.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', q{SELECT count(*), min(i), bool_and(more = 'default') FROM q}), '10|-500|t',
	'a query of a table in memory; the other columns have their defaults');
$node->safe_psql('postgres', "COPY memory TO '$own/m1.parquet' (FORMAT parquet); COPY memory (s, i) TO '$own/m2.parquet' (FORMAT parquet);
	CREATE TABLE two (a text, b int); COPY two (a, b) FROM '$own/m2.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', 'SELECT count(*) FROM two t JOIN memory m ON m.i = t.b AND m.s IS NOT DISTINCT FROM t.a'), '120',
	'a list of columns takes those of the file in their order');
$node->safe_psql('postgres', "CREATE TABLE many (LIKE q); COPY q (i, s) TO '$own/part_1.parquet' (FORMAT parquet);
	COPY (SELECT s, i + 1000 AS i FROM q) TO '$own/part_2.parquet' (FORMAT parquet); COPY many FROM '$own/part_?.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT i) FROM many'), '20|20', 'a pattern names several files, columns go by name');
$node->safe_psql('postgres', "TRUNCATE q; COPY (SELECT 1 AS i, 'a' AS s WHERE false) TO '$own/empty.parquet' (FORMAT parquet);
	COPY q FROM '$own/empty.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', 'SELECT count(*) FROM q'), '0', 'a file without rows');
$node->safe_psql('postgres', "COPY (INSERT INTO q (i) VALUES (7) RETURNING i) TO '$own/returning.parquet' (FORMAT parquet)");
is($node->safe_psql('postgres', 'SELECT i FROM q'), '7', 'a query with RETURNING');
# its end uses nothing of the executor's, whose memory has been given back by then
is(psql_error("COPY (SELECT i AS id, i AS s, date '2024-01-01' AS d, 'a' AS t, 1.5::numeric(9,1) AS n FROM generate_series(1, 1000) i)
	TO '$own/thousand.parquet' (FORMAT parquet)"), '', 'a query whose executor has more memory');
ok(-e "$own/thousand.parquet", 'its file has its name');

# --- by the client ---

$node->safe_psql('postgres', "\\copy memory to '$own/client.parquet' (format parquet)
	TRUNCATE heap;
	\\copy heap from '$own/client.parquet' (format parquet)");
same('memory', 'heap', 'a client sends and gets files');
like(psql_error("\\copy heap from '$files/../t/076_parquet.pl' (format parquet)"), qr/22P04.*not a Parquet file/, 'what a client sends is looked at');
is($node->safe_psql('postgres', 'SELECT count(*) FROM heap'), '120', 'and the session goes on');

# --- what COPY does with rows ---

$node->safe_psql('postgres', q{
	CREATE TABLE log (i int);
	CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (new.i); new.s := upper(new.s); RETURN new; END';
	CREATE TABLE parts (i int, s text, twice int GENERATED ALWAYS AS (i * 2) STORED) PARTITION BY RANGE (i);
	CREATE TABLE low PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (500);
	CREATE FOREIGN TABLE high PARTITION OF parts FOR VALUES FROM (500) TO (MAXVALUE) SERVER tsurugi;
	CREATE TRIGGER note BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION note()});
$node->safe_psql('postgres', "COPY parts FROM '$own/part_*.parquet' (FORMAT parquet) WHERE s IS NOT NULL");
is($node->safe_psql('postgres', q{SELECT count(*), count(*) FILTER (WHERE tableoid = 'high'::regclass), bool_and(s = upper(s)), bool_and(twice = 2 * i) FROM parts}),
	$node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE i >= 500), true, true FROM many WHERE s IS NOT NULL'),
	'WHERE, partitions of both kinds, a trigger, a generated column');
is($node->safe_psql('postgres', 'SELECT count(*) FROM log'), $node->safe_psql('postgres', 'SELECT count(*) FROM parts'), 'the trigger was called for each row');
like(psql_error("COPY memory FROM '$own/m1.parquet' (FORMAT parquet)"), qr/23505.*memory_pkey.*CONTEXT:  COPY memory, line 1/s, 'a key that exists, with the line');
is($node->safe_psql('postgres', "BEGIN; SAVEPOINT s; DELETE FROM memory; COPY memory FROM '$own/m1.parquet' (FORMAT parquet); ROLLBACK TO s; COMMIT; SELECT count(*) FROM memory"),
	'120', 'it rolls back to a savepoint');
$node->safe_psql('postgres', "CREATE TABLE narrow (i smallint); COPY (SELECT 100000 AS i) TO '$own/wide.parquet' (FORMAT parquet)");
like(psql_error("COPY narrow FROM '$own/wide.parquet' (FORMAT parquet)"), qr/22003.*CONTEXT:  COPY narrow, line 1, column i: "100000"/s, 'a value out of range');

# --- refusals ---

$node->safe_psql('postgres', "COPY (SELECT date '2000-01-01' AS d, 'a' AS s) TO '$own/dates.parquet' (FORMAT parquet)");
my @refusals = (
	["COPY heap FROM '$own/none.parquet' (FORMAT parquet)", qr/58P01.*none\.parquet/, 'no such file'],
	["COPY heap FROM '$own/none*.parquet' (FORMAT parquet)", qr/58P01: no file matches/, 'no file of a pattern'],
	["COPY heap FROM '$own' (FORMAT parquet)", qr/42809.*is a directory/, 'a directory'],
	["COPY heap FROM '/dev/null' (FORMAT parquet)", qr/42809.*not a regular file/, 'a device'],
	["COPY q FROM '$own/m1.parquet' (FORMAT parquet)", qr/42703: column "b" of file/, 'a column that the table has not'],
	["COPY q (i) FROM '$own/m1.parquet' (FORMAT parquet)", qr/22P04.*has 8 columns, expected 1/, 'another number of columns'],
	["COPY q (i, s) FROM '$own/dates.parquet' (FORMAT parquet)", qr/42804: column "i" is of type integer but column "d" of file .* is of type date/, 'types that do not fit'],
	["COPY q FROM '$own/part_1.parquet' (FORMAT parquet, header)", qr/42601: option "header" not recognized for COPY FROM/, 'an option of another format'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, codec lzo)", qr/22023: codec "lzo" not recognized/, 'another codec'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, row_group_rows 0)", qr/22023: row_group_rows must be between/, 'a number of rows'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, row_group_bytes 1000)", qr/22023: row_group_bytes must be between 1024 and 1073741824/, 'bytes of a block'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, codec zstd, level 23)", qr/22023: level must be between 1 and 22/, 'a level'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, level 9, codec gzip, level 9)", qr/42601: conflicting or redundant options/, 'two levels'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, codec gzip, level 10)", qr/22023: level of codec "gzip" must be between 1 and 9/, 'a level of gzip'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, level 3)", qr/22023: the codec has no levels/, 'a level of snappy'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, dictionary 3)", qr/42601: dictionary requires a Boolean value/, 'a dictionary of another kind'],
	["COPY q TO '$own/x.arrow' (FORMAT arrow, dictionary false)", qr/42601: option "dictionary" not recognized for COPY TO in Arrow format/, 'and of Arrow'],
	["COPY q TO '$own/x.parquet' (FORMAT parquet, format parquet)", qr/42601: conflicting or redundant options/, 'an option twice'],
	["COPY q TO 'x.parquet' (FORMAT parquet)", qr/42602: relative path not allowed/, 'a relative path'],
	["COPY q TO '$own' (FORMAT parquet)", qr/42809.*is a directory/, 'a directory to write'],
	["COPY q TO PROGRAM 'cat' (FORMAT parquet)", qr/0A000: COPY of a program/, 'a program'],
	["COPY parts TO '$own/x.parquet' (FORMAT parquet)", qr/42809: cannot copy from partitioned table "parts"/, 'a partitioned table'],
	["COPY (SELECT 1 AS a, 2 AS a) TO '$own/x.parquet' (FORMAT parquet)", qr/42701/, 'a name twice'],
	["COPY (SELECT) TO '$own/x.parquet' (FORMAT parquet)", qr/0A000: a file in Parquet has at least one column/, 'no column'],
	["COPY (SELECT ARRAY[ARRAY[1]] AS a) TO '$own/x.parquet' (FORMAT parquet)", qr/0A000: cannot write an array of 2 dimensions/, 'dimensions'],
	["COPY (SELECT 'NaN'::numeric(5,2) AS n) TO '$own/x.parquet' (FORMAT parquet)", qr/22003: cannot write NaN as a DECIMAL/, 'NaN'],
	["COPY (DELETE FROM q) TO '$own/x.parquet' (FORMAT parquet)", qr/0A000: COPY query must have a RETURNING clause/, 'no RETURNING'],
	["BEGIN READ ONLY; COPY q FROM '$own/part_1.parquet' (FORMAT parquet)", qr/25006: cannot execute COPY FROM/, 'a transaction that is READ ONLY'],
	["SET tsurugi_fdw.batch_memory = '1MB'; COPY (SELECT repeat('x', 3000000) AS t) TO '$own/x.parquet' (FORMAT parquet)", qr/53200.*batch_memory/s, 'memory for a row group'],
	["COPY (SELECT 1 / (3 - i) AS x FROM generate_series(1, 5) i) TO '$own/x.parquet' (FORMAT parquet)", qr/22012/, 'an error of the query']);
like(psql_error($_->[0]), $_->[1], "refused: $_->[2]") for @refusals;
ok(!-e "$own/x.parquet", 'no file of a statement that failed');
is_deeply([glob "$own/.x.parquet*"], [], 'nor one under another name');
damage("$own/source.parquet", "$own/damaged.parquet", 100);
like(psql_error("COPY back FROM '$own/damaged.parquet' (FORMAT parquet)"), qr/XX001.*damaged\.parquet.*checksum/, 'a page that has been changed');
damage("$own/source.parquet", "$own/damaged.parquet", -20);
like(psql_error("COPY back FROM '$own/damaged.parquet' (FORMAT parquet)"), qr/22P04.*metadata/, 'metadata that have been changed');
unlink "$own/damaged.parquet";
$node->safe_psql('postgres', "COPY (SELECT date '2024-01-01' AS d_named) TO '$own/named.parquet' (FORMAT parquet)");
append_to_file("$own/damaged.parquet", slurp_file("$own/named.parquet") =~ s/d_named/d\xffnamed/gr);
like(psql_error("COPY narrow (i) FROM '$own/damaged.parquet' (FORMAT parquet)"), qr/42804.* but column "d[ -~]+named" of file/, 'a name that is none of the encoding is said in readable bytes');
unlink "$own/damaged.parquet";
append_to_file("$own/damaged.parquet", substr(slurp_file("$own/source.parquet"), 0, 5000));
like(psql_error("COPY back FROM '$own/damaged.parquet' (FORMAT parquet)"), qr/22P04.*not a Parquet file/, 'a file that is cut short');

# --- rights ---

$node->safe_psql('postgres', "CREATE ROLE reader; CREATE ROLE writer; GRANT pg_read_server_files TO reader; GRANT pg_write_server_files TO writer;
	GRANT INSERT ON narrow TO reader; GRANT SELECT, INSERT (i) ON q TO reader, writer");
my @rights = (
	['writer', "COPY q FROM '$own/part_1.parquet' (FORMAT parquet)", qr/42501.*pg_read_server_files/],
	['reader', "COPY q TO '$own/y.parquet' (FORMAT parquet)", qr/42501.*pg_write_server_files/],
	['reader', "COPY two (a, b) FROM '$own/m2.parquet' (FORMAT parquet)", qr/42501: permission denied for table two/],
	['reader', "COPY q FROM '$own/part_1.parquet' (FORMAT parquet)", qr/42501: permission denied for table q/],
	['writer', "COPY two TO '$own/y.parquet' (FORMAT parquet)", qr/42501: permission denied for table two/],
	['writer', "SELECT * FROM tsurugi.describe_file('$own/m2.parquet')", qr/42501.*pg_read_server_files/]);
like(psql_error("SET ROLE $_->[0]; $_->[1]"), $_->[2], "$_->[0]: $_->[1]") for @rights;
is(psql_error("SET ROLE reader; COPY narrow FROM '$own/returning.parquet' (FORMAT parquet)"), '', 'a role with the rights loads');
is(psql_error("SET ROLE writer; COPY (SELECT i FROM q) TO '$own/y.parquet' (FORMAT parquet)"), '', 'and writes');
$node->safe_psql('postgres', 'ALTER TABLE narrow ENABLE ROW LEVEL SECURITY');
like(psql_error("SET ROLE reader; COPY narrow FROM '$own/returning.parquet' (FORMAT parquet)"), qr/0A000: COPY FROM not supported with row-level security/, 'row security');

# --- names that are not in UTF-8 ---

$node->safe_psql('postgres', "COPY (SELECT 1 AS i, 2 AS qzxw) TO '$own/names.parquet' (FORMAT parquet)");
append_to_file("$own/latin.parquet", slurp_file("$own/names.parquet") =~ s/qzxw/q\xe9xw/gr);
for my $sql ("COPY q FROM '$own/latin.parquet' (FORMAT parquet)", "SELECT tsurugi.load('q', '{$own/latin.parquet}')", "SELECT tsurugi.describe_file('$own/latin.parquet')")
{
	like(psql_error($sql), qr/22021: invalid byte sequence for encoding "UTF8": 0xe9 0x78 0x77\n.*name of column 2 of file ".*latin.parquet"/s, "a name that is not in UTF-8: $sql");
}

# --- in the middle ---

like(psql_error("SET statement_timeout = '200ms'; COPY (SELECT i, pg_sleep(0.01)::text FROM generate_series(1, 100000) i) TO '$own/x.parquet' (FORMAT parquet)"),
	qr/57014/, 'a statement that is cancelled');
ok(!-e "$own/x.parquet", 'leaves no file');
is_deeply([glob "$own/.x.parquet*"], [], 'nor one under another name');
like(psql_error("COPY (SELECT i, CASE i WHEN 10 THEN pg_terminate_backend(pg_backend_pid()) END FROM generate_series(1, 100000) i) TO '$own/x.parquet' (FORMAT parquet)"),
	qr/57P01/, 'a session that is terminated');
is_deeply([glob "$own/.x.parquet*"], [], 'leaves no file either');
$node->safe_psql('postgres', "DO \$\$ BEGIN EXECUTE 'COPY q (i, s) FROM ''$own/part_1.parquet'' (FORMAT parquet)'; END \$\$");
is($node->safe_psql('postgres', 'SELECT count(*) FROM q'), '11', 'in a function');
my $log = slurp_file($node->logfile);
is_deeply([grep { !/checksum/ } $log =~ /^.* XX001 ERROR: .*$/mg], [], 'only the damaged page is told to be damaged');
$log =~ s/^.* XX001 .*\n//mg;
is(TestServer::internal_errors_in($log), '', 'no internal error');
$node->stop;
done_testing();

# Files in NDJSON: COPY and dumps write a row a line, as row_to_json() makes it; COPY, loads and
# batches read it as json_populate_record() does.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('ndjson');
my $own = $node->basedir;

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub psql_error { return TestServer::psql_error($node, @_) }

ask(q{CREATE FOREIGN TABLE memory (id int PRIMARY KEY, t text, at timestamptz, n numeric, j json, a int[], "ünï" text) SERVER tsurugi;
	INSERT INTO memory SELECT i, CASE WHEN i % 3 > 0 THEN E'tab\t line\n "quote" \\\\ ä' || repeat('x', i) END, '2024-01-01 00:00+00'::timestamptz + i * interval '1 s',
		i / 7.0, (E'{"k":\n' || i || '}')::json, ARRAY[i, NULL], 'ü' || i FROM generate_series(1, 1000) i});
my $wanted = ask(q{SELECT replace(row_to_json(m)::text, E'\n', ' ') FROM memory m ORDER BY id});
ask("COPY (SELECT * FROM memory ORDER BY id) TO '$own/out.ndjson' (FORMAT ndjson)");
is(slurp_file("$own/out.ndjson"), "$wanted\n", 'a file of the server');
ask("\\copy (SELECT * FROM memory ORDER BY id) to '$own/client.ndjson' (format ndjson)");
is(slurp_file("$own/client.ndjson"), "$wanted\n", 'one of the client');
mkdir "$own/out";
is(ask("SELECT count(*), sum(rows), sum(bytes) FROM tsurugi.dump('SELECT * FROM memory ORDER BY id', '$own/out', 'ndjson', options => '{\"max_rows_per_file\": 300}')"),
	'4|1000|' . length("$wanted\n"), 'a dump of several files');
is(join('', map { slurp_file("$own/out/part_0000$_.ndjson") } 1 .. 4), "$wanted\n", 'has the rows');
ask("COPY (SELECT 1 AS a, 2 AS a) TO '$own/twice.ndjson' (FORMAT ndjson); COPY (SELECT 1 AS a WHERE false) TO '$own/empty.ndjson' (FORMAT ndjson)");
is(slurp_file("$own/twice.ndjson"), "{\"a\":1,\"a\":2}\n", 'a name twice, as of row_to_json()');
is(slurp_file("$own/empty.ndjson"), '', 'no rows');
like(psql_error($_->[0]), $_->[1], "refused: $_->[2]") for (
	["COPY (SELECT 1 AS a) TO '$own/x.ndjson' (FORMAT ndjson, codec zstd)", qr/42601: option "codec" not recognized for COPY TO in NDJSON format/, 'an option of another format'],
	["SELECT * FROM tsurugi.dump('SELECT 1', '$own/out', 'ndjson', 'x', '{\"codec\": \"zstd\"}')", qr/22023: option "codec" of a dump not recognized/, 'the same of a dump'],
	["SET statement_timeout = '200ms'; COPY (SELECT i, pg_sleep(0.01)::text FROM generate_series(1, 100000) i) TO '$own/x.ndjson' (FORMAT ndjson)", qr/57014/, 'a statement that is cancelled']);
ok(!-e "$own/x.ndjson", 'and leaves no file');
is_deeply([glob "$own/.x.ndjson*"], [], 'nor one under another name');

# --- reading: what COPY TO has written ---

ask(q{CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (n int, "te xt" text, list int[]); CREATE DOMAIN positive AS int CHECK (value > 0); CREATE DOMAIN pairs AS pair[];
	CREATE TABLE types (id int PRIMARY KEY, b bool, i2 smallint, i8 bigint, f4 real, f8 float8, n numeric, c char(5), v varchar(9), t text, y bytea, d date, tm time, tz timetz, ts timestamp, tt timestamptz, iv interval,
		u uuid, j json, jb jsonb, e mood, p pair, dom positive, r int4range, mr int4multirange, inet inet, box box, a int[], aa int[], at text[], aj json[], ab box[], ap pair[], ae mood[], dp pairs, ad date[], m money, bits bit(3), x xml, tv tsvector);
	INSERT INTO types SELECT i, i % 2 = 0, i, i * 1000000007::bigint, i / 3.0, CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-Infinity' ELSE i / 7.0 END, CASE WHEN i % 5 > 0 THEN i / 9.0 ELSE 'NaN' END,
		i, 'v' || i, E'tab\t line\n "q" \\\\ \\N ä\u2028' || i, decode(repeat('00ff5c', i % 3), 'hex'), CASE i % 3 WHEN 0 THEN 'infinity' ELSE date '2024-01-01' + i END, time '01:02:03.4' + i * interval '1 s',
		'01:02:03+05', timestamp '2024-01-01' + i * interval '1 us', timestamptz '2024-01-01 00:00+00' - i * interval '100 years', i * interval '1 mon 2 d 3 s', md5(i::text)::uuid,
		json_build_object('k', i, 'a', json_build_array(i, null, 'x')), jsonb_build_array(i, 'text', true), CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'ok' END::mood, ROW(i, E'"(),\\\\', ARRAY[i, NULL])::pair, i,
		int4range(i, 2 * i), int4multirange(int4range(i, 2 * i)), '10.0.0.1', box(point(i, i), point(0, 0)), ARRAY[i, NULL], ARRAY[[1, i], [NULL, 3]], ARRAY['NULL', NULL, '', E'a"\\\\,{}', E'\n'], ARRAY[json_build_object('k', i), '[1,2]', '"s"'],
		ARRAY[box(point(i, i), point(0, 0)), box(point(1, 1), point(0, 0))], ARRAY[ROW(i, NULL, '{}')::pair, NULL], ARRAY['ok', 'sad']::mood[], ARRAY[ROW(i, 'x', NULL)::pair], '{}', i, B'101', '<a b="c">&amp;</a>', 'a fat cat' FROM generate_series(1, 60) i;
	INSERT INTO types (id) VALUES (0);
	COPY types TO '} . "$own" . q{/types.ndjson' (FORMAT ndjson);
	CREATE TABLE back (LIKE types); COPY back FROM '} . "$own" . q{/types.ndjson' (FORMAT ndjson)});
is(ask('SELECT count(*) FROM types written FULL JOIN back found USING (id) WHERE written::text IS DISTINCT FROM found::text'), '0', 'all types come back');
ask("CREATE FOREIGN TABLE mirror (LIKE back) SERVER tsurugi");
is(ask("SELECT rows, way, reason, files, blocks FROM tsurugi.load('mirror', '{$own/types.ndjson}')"), qq(61|session|values of column "tv" of file "$own/types.ndjson" are converted by sessions|1|1), 'a load');
is(ask('SELECT count(*) FROM types written FULL JOIN mirror found USING (id) WHERE written::text IS DISTINCT FROM found::text'), '0', 'has them, too');
is(ask('SELECT count(*), count(*) FILTER (WHERE json_populate_record(NULL::back, row_to_json(found))::text IS DISTINCT FROM found::text) FROM back found'), '61|0', 'as by json_populate_record()');
ask("TRUNCATE back");
ask("\\copy back from '$own/types.ndjson' (format ndjson)");
is(ask('SELECT count(*) FROM types written FULL JOIN back found USING (id) WHERE written::text IS DISTINCT FROM found::text'), '0', 'from the client');
system_or_bail('gzip', '-k', "$own/types.ndjson");
ask("TRUNCATE back");
is(ask("SELECT rows, rejected FROM tsurugi.load('back', '{$own/types.ndjson.gz}', on_error => 'skip')"), '61|0', 'from a compressed file');
is(ask('SELECT count(*) FROM types written FULL JOIN back found USING (id) WHERE written::text IS DISTINCT FROM found::text'), '0', 'with the same rows');

# --- lines, keys and columns ---

sub file
{
	my ($name, $text) = @_;

	open(my $file, '>:raw', "$own/$name.ndjson") or die;
	print $file $text;
	close $file;
	return "$own/$name.ndjson";
}

ask(q{CREATE TABLE t (id int, a text DEFAULT 'none', b int[], c pair, "k y" jsonb); CREATE TABLE two (id int, a text)});
sub rows { my $rows = ask('SELECT * FROM t ORDER BY id NULLS FIRST'); ask('TRUNCATE t'); return $rows }
my $lines = file('lines', qq[\n  {"id": 1, "a": "x"}\r\n\t\r\n{ "b" : [ 1, 2 ], "id":2}\n{"id":3,"k y":{"x": [1,\\u0032]}}\n]);
like(psql_error("COPY t FROM '$lines' (FORMAT ndjson)"), qr/22P04: row 3 of NDJSON file ".*lines.ndjson" is malformed\nDETAIL:  Token "\\" is invalid. At byte 76.\nCONTEXT:  .*COPY t, line 3/s, 'a line that is malformed');
$lines = file('lines', qq[\n  {"id": 1, "a": "\\u00e4\\ud83d\\ude00\\t"}\r\n\t\r\n{ "b" : [ 1, null ], "id":2}\n{"id":3,"k y":{"x": [1, "\\u0032"]}}\n{"c":{"te xt":"y","n":4,"other":1},"id":4}\n{"id":5,"id":6,"k y":"s","c":"(1,x,{})"}\n{"id":7,"a":12.50,"c":null}\n{"id":8,"a":{"x":1},"b":"{1,2}"}\n{"id":9,"a":true,"k y":null}]);
ask("COPY t FROM '$lines' (FORMAT ndjson)");
is(rows(), qq[1|ä\x{1F600}\t|||\n2||{1,NULL}||\n3||||{"x": [1, "2"]}\n4|||(4,y,)|\n6|||(1,x,{})|"s"\n7|12.50|||\n8|{"x":1}|{1,2}||\n9|true|||] =~ s/([^\x00-\x7f])/my $c = $1; utf8::encode($c) if ord($c) > 255; $c/egr, 'values as of json_populate_record(); blank lines; the last of equal keys');
my $default = file('default', qq[{"id":1}\n{"id":2,"b":[]}\n]);
ask("COPY t FROM '$default' (FORMAT ndjson)");
is(rows(), "1|none|||\n2|none|{}||", 'a column that no line has gets its default');
ask("COPY t (id, a, b) FROM '$default' (FORMAT ndjson)");
is(rows(), "1||||\n2||{}||", 'one of the list does not');
ask("COPY t FROM STDIN (FORMAT ndjson);\n{\"id\":1,\"a\":\"x\\\\.\"}\n{\"id\":2}\n\\.\nINSERT INTO t VALUES (3)");
is(rows(), "1|x\\.|||\n2||||\n3|none|||", 'STDIN, with an end');
ask("COPY t FROM '$own/d*t.ndjson' (FORMAT ndjson) WHERE id > 1");
is(rows(), '2|none|{}||', 'WHERE');
my $empty = file('empty', '');
is(ask("SELECT rows FROM tsurugi.load('t', '{$empty,$default}')"), '2', 'an empty file');
ask("TRUNCATE t");
is(ask("SELECT * FROM tsurugi.describe_file('" . file('kinds', qq[{"i":1,"n":1.5,"s":"x","b":true,"o":{},"big":99999999999999999999}\n{"i":null,"n":2,"mixed":1,"s":"y","b":false,"o":[1],"big":1}\nnone\n]) . "')"),
	"1|i|bigint|t|number, null||\n2|n|numeric|t|number||\n3|s|text|t|string||\n4|b|boolean|t|boolean||\n5|o|json|t|object, array||\n6|big|numeric|t|number||\n7|mixed|bigint|t|number||", 'what a file has');
is(ask("SELECT rows FROM tsurugi.load('t', '{$default}', dry_run => true)"), '2', 'a dry run knows how many rows');

# --- rows that do not fit ---

my $broken = file('broken', qq[{"id":1}\n{"id":\n{"id":"x","a":"y"}\n[1]\n"s"\n{"id":4,"b":{"x":1}}\n{"id":5} 1\n{"id":6,"a":"\xff"}\n{"id":7,"a":"\\u0000"}\n\n{"id":8,"c":[1]}\n{"id":9,"b":[[1],[2,3]]}\n{"id":10}\n{"id":99999999999}]);
is(ask("SELECT rows, rejected FROM tsurugi.load('t', '{$broken}', on_error => 'skip', reject_file => '$own/rejects.csv')"), '2|11', 'rows are left out');
is(rows(), "1||||\n10||||", 'others are there');
my @rejects = split /\n/, slurp_file("$own/rejects.csv");
is(shift(@rejects), 'file,block,row,byte,column,sqlstate,message,record', 'the reject file');
is_deeply([map { s/^"[^"]*",//r } @rejects], [
	'1,2,9,,22P04,"row 2 of NDJSON file ""' . $broken . '"" is malformed","{""id"":"', '1,3,16,"id",22P02,"invalid input syntax for type integer: ""x""","{""id"":""x"",""a"":""y""}"',
	'1,4,35,,22P04,"row 4 of NDJSON file ""' . $broken . '"" is malformed","[1]"', '1,5,39,,22P04,"row 5 of NDJSON file ""' . $broken . '"" is malformed","""s"""',
	'1,6,43,"b",22P02,"expected JSON array","{""id"":4,""b"":{""x"":1}}"', '1,7,64,,22P04,"row 7 of NDJSON file ""' . $broken . '"" is malformed","{""id"":5} 1"',
	'1,8,75,,22021,"invalid byte sequence for encoding ""UTF8"": 0xff","{""id"":6,""a"":""\xff""}"', '1,9,92,,22P05,"row 9 of NDJSON file ""' . $broken . '"" is malformed","{""id"":7,""a"":""\u0000""}"',
	'1,10,115,"c",22P02,"expected JSON object","{""id"":8,""c"":[1]}"', '1,11,132,"b",22P02,"malformed array literal: ""{{""1""},{""2"",""3""}}""","{""id"":9,""b"":[[1],[2,3]]}"',
	'1,13,167,"id",22003,"value ""99999999999"" is out of range for type integer","{""id"":99999999999}"'], 'has what is wrong with each');
my $unknown = file('unknown', qq[{"id":1,"a":"x"}\n{"id":2,"zz":3}]);
my $long = file('long', '{"id":1,"a":"' . 'x' x 3000000 . '"}');
like(psql_error($_->[0]), $_->[1], $_->[2]) for (
	["COPY t FROM '$unknown' (FORMAT ndjson)", qr/42703: column "zz" of file ".*unknown.ndjson" does not exist in relation "t"/, 'a key that is no column'],
	["COPY t (id) FROM '$unknown' (FORMAT ndjson)", qr/42703: column "a" of file ".*unknown.ndjson" is none of those that are read/, 'one that is not in the list'],
	["SELECT tsurugi.load('t', '{$unknown}', columns => '{id,a}', on_error => 'skip')", qr/42703: column "zz"/, 'the same of a load'],
	["SELECT tsurugi.load('t', '{$default}', options => '{\"header\": true}')", qr/22023: options of CSV cannot be used for file/, 'options of CSV'],
	["COPY t FROM '$broken' (FORMAT ndjson)", qr/22P04: row 2 of .*At byte 15.\nCONTEXT:  COPY t, line 2/s, 'COPY stops at a row'],
	["COPY t FROM '" . file('value', qq[{"id":1}\n{"id":2,"b":[1,"x"]}]) . "' (FORMAT ndjson)", qr/22P02: invalid input syntax for type integer: "x"\nCONTEXT:  COPY t, line 2, column b: "\{"1","x"\}"/, 'a value that does not fit'],
	["COPY t FROM '" . file('kind', qq[{"id":1}\n{"id":2,"b":{}}]) . "' (FORMAT ndjson)", qr/22P02: expected JSON array\nCONTEXT:  file ".*kind.ndjson", row 2, column b\nCOPY t, line 2\n(.*\n)*COLUMN NAME:  b/, 'one that is no array'],
	["SET tsurugi_fdw.batch_memory = '1MB'; COPY t FROM '$long' (FORMAT ndjson)", qr/53200: out of memory\nDETAIL:  Row 1 of NDJSON file ".*" has more than 1048576 bytes.\nHINT:  Increase tsurugi_fdw.batch_memory./, 'a long line'],
	["SELECT tsurugi.load('t', '{$own/kinds.ndjson.gz}')", qr/58P01/, 'no file'],
	["COPY t FROM PROGRAM 'cat' (FORMAT ndjson)", qr/0A000/, 'a program'],
	["CREATE ROLE poor; GRANT INSERT (id) ON t TO poor; GRANT pg_read_server_files TO poor; SET ROLE poor; COPY t FROM '$lines' (FORMAT ndjson)", qr/42501: permission denied for table t/, 'rights to columns']);
is(rows(), '', 'and nothing is stored');
ask("COPY t FROM '$long' (FORMAT ndjson)");
is(ask('SELECT id, length(a) FROM t'), '1|3000000', 'the long line');
ask('TRUNCATE t; CREATE UNIQUE INDEX ON t (id)');
is(ask("SELECT rows FROM tsurugi.load('t', '{$default,$lines}', on_conflict => 'ignore')"), '8', 'ON CONFLICT');
ask('TRUNCATE t');

# --- batches ---

is(ask("SELECT rows, rejected FROM tsurugi.batch('INSERT INTO t (a, id, b) VALUES (\$1, \$2, \$3)', '{$lines}', columns => '{a,id,b}')"), '8|0', 'a batch takes the keys that it names');
is(rows() =~ s/([^\x00-\x7f]+)/u/gr, qq[1|u\t|||\n2||{1,NULL}||\n3||||\n4||||\n6||||\n7|12.50|||\n8|{"x":1}|{1,2}||\n9|true|||], 'with their values');
is(ask("SELECT rows, rejected FROM tsurugi.batch('INSERT INTO two VALUES (\$1, \$2)', '{" . file('pairs', qq[{"a":1,"b":"x"}\n{"b":"y","a":2}\n{"a":"z"}\n{"a":3}]) . "}', on_error => 'skip')"), '3|1', 'or all of them, in their order');
is(ask('SELECT * FROM two ORDER BY id'), "1|x\n2|y\n3|", 'as parameters');
like(psql_error($_->[0]), $_->[1], $_->[2]) for (
	["SELECT tsurugi.batch('SELECT \$1::int', '{$own/pairs.ndjson}')", qr/22P04: file ".*" has 2 columns, expected 1/, 'more keys than parameters'],
	["SELECT tsurugi.batch('SELECT \$1::int', '{$own/pairs.ndjson}', columns => '{zz}')", qr/42703: file ".*" has no column "zz"/, 'a key that is nowhere'],
	["SELECT tsurugi.batch('SELECT \$1::int', '{$own/pairs.ndjson}', columns => '{a}')", qr/22P02: invalid input syntax for type integer: "z"\nCONTEXT:  batch of file ".*pairs.ndjson", block 1, row 3, column a/, 'where it is']);

# --- another encoding ---

ask("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
$ENV{PGCLIENTENCODING} = 'UTF8';
$node->safe_psql('latin', 'CREATE EXTENSION tsurugi_fdw; CREATE TABLE t (a text, "é" text)');
my $latin = file('latin', qq[{"a":"\xc3\xa9\\u00e9","\xc3\xa9":"x"}\n{"a":"\xff"}\n]);
is($node->safe_psql('latin', "SELECT rows, rejected FROM tsurugi.load('t', '{$latin}', on_error => 'skip'); SELECT encode(a::bytea, 'hex'), \"é\" FROM t"), "1|1\ne9e9|x", 'a database in LATIN1');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');
$node->stop;
done_testing();

# Files in NDJSON, by COPY and dumps: a row a line, as row_to_json() makes it.
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

sub psql_error
{
	my ($sql) = @_;
	my ($code, $out, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$sql");

	return $error;
}

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
	["COPY memory FROM '$own/out.ndjson' (FORMAT ndjson)", qr/0A000: COPY FROM in NDJSON format is not supported/, 'reading'],
	["COPY (SELECT 1 AS a) TO '$own/x.ndjson' (FORMAT ndjson, codec zstd)", qr/42601: option "codec" not recognized for COPY TO in NDJSON format/, 'an option of another format'],
	["SELECT * FROM tsurugi.dump('SELECT 1', '$own/out', 'ndjson', 'x', '{\"codec\": \"zstd\"}')", qr/22023: option "codec" of a dump not recognized/, 'the same of a dump'],
	["SELECT * FROM tsurugi.load('memory', '{$own/out.ndjson}')", qr/22023: the name of file ".*" has no known format/, 'a load'],
	["SELECT * FROM tsurugi.load('memory', '{$own/out.ndjson}', format => 'ndjson')", qr/22023: format "ndjson" not recognized/, 'the same by the format'],
	["SET statement_timeout = '200ms'; COPY (SELECT i, pg_sleep(0.01)::text FROM generate_series(1, 100000) i) TO '$own/x.ndjson' (FORMAT ndjson)", qr/57014/, 'a statement that is cancelled']);
ok(!-e "$own/x.ndjson", 'and leaves no file');
is_deeply([glob "$own/.x.ndjson*"], [], 'nor one under another name');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');
$node->stop;
done_testing();

# tsurugi.batch(): a statement for each row of files, compared with the same statement in SQL; rows
# that are left out; rights; two batches that meet; interrupts.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('batch', 'tsurugi_fdw.workers' => 2, deadlock_timeout => '10ms');
my $own = $node->basedir;

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub batch
{
	my ($statement, $files, $more) = @_;

	return "tsurugi.batch(\$s\$$statement\$s\$, '{$files}'" . (defined $more ? ", $more" : '') . ')';
}

ask(qq{
	CREATE TABLE changes AS SELECT i % 7 AS pick, i AS item, CASE WHEN i % 10 > 0 THEN i * 3 END AS amount, ARRAY[i, NULL] AS list, date '2024-01-01' + i AS day
		FROM generate_series(1, 2500) i;
	COPY (SELECT item, amount FROM changes) TO '$own/plain.csv' (FORMAT csv);
	COPY changes TO '$own/named.csv' (FORMAT csv, HEADER, DELIMITER ';', FORCE_QUOTE *, NULL 'none');
	COPY (SELECT item, amount FROM changes) TO '$own/plain.parquet' (FORMAT parquet, ROW_GROUP_ROWS 300);
	COPY (SELECT *, ROW(1, 2)::text AS other FROM changes) TO '$own/named.parquet' (FORMAT parquet, ROW_GROUP_ROWS 1000)});

# --- each statement, for both kinds of tables ---

my $start = 'INSERT INTO T SELECT i, 100, NULL, NULL FROM generate_series(1, 5000, 2) i';
for my $case (
	['INSERT INTO public.T (id, n) VALUES ($1 + 10000, $2)', 'INSERT INTO T (id, n) SELECT item + 10000, amount FROM changes', 'INSERT'],
	['UPDATE public.T SET n = n + $2 WHERE id = $1', 'UPDATE T SET n = n + amount FROM changes WHERE id = item', 'UPDATE'],
	['DELETE FROM public.T WHERE id = $1 AND $2 > 10', 'DELETE FROM T USING changes WHERE id = item AND amount > 10', 'DELETE'],
	['INSERT INTO public.T (id, n) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = T.n + EXCLUDED.n',
		'INSERT INTO T (id, n) SELECT item, amount FROM changes ON CONFLICT (id) DO UPDATE SET n = T.n + EXCLUDED.n', 'INSERT ... ON CONFLICT'],
	['WITH d AS (DELETE FROM public.T WHERE id = $1 RETURNING id) INSERT INTO public.T (id, n) SELECT -id, $2 FROM d',
		'WITH d AS (DELETE FROM T USING changes WHERE id = item RETURNING id, amount) INSERT INTO T (id, n) SELECT -id, amount FROM d', 'WITH'],
	['SELECT public.T_note($1, $2)', 'SELECT count(T_note(item, amount)) FROM changes', 'SELECT of a function'],
	['CALL public.T_do($1, $2)', 'SELECT count(T_note(item, amount)) FROM changes', 'CALL'])
{
	for my $kind ('heap', 'memory')
	{
		my ($statement, $sql) = map { s/\bT(?=\b|_)/$kind/gr } $case->[0], $case->[1];
		my @tables = $kind eq 'heap' ? ('CREATE TABLE', '') : ('CREATE FOREIGN TABLE', 'SERVER tsurugi');

		ask("DROP FOREIGN TABLE IF EXISTS memory CASCADE") if $kind eq 'memory';
		ask("DROP TABLE IF EXISTS heap CASCADE") if $kind eq 'heap';
		ask("$tables[0] $kind (id int PRIMARY KEY, n bigint, l int[], d date) $tables[1];
			CREATE OR REPLACE FUNCTION ${kind}_note(int, int) RETURNS int LANGUAGE sql AS 'INSERT INTO public.$kind (id, n) VALUES (\$1 + 20000, \$2) RETURNING id';
			CREATE OR REPLACE PROCEDURE ${kind}_do(int, int) LANGUAGE plpgsql AS 'BEGIN PERFORM public.${kind}_note(\$1, \$2); END';" . $start =~ s/\bT\b/$kind/r);
		my $expected = ask("BEGIN; " . $sql . "; SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM $kind t; ROLLBACK") =~ s/.*\n//r;

		for my $files (['plain.csv'], ['named.csv', q{columns => '{item,amount}', options => '{"header": true, "delimiter": ";", "null": "none", "force_null": ["amount"]}'}],
			['plain.parquet'], ['named.parquet', q{columns => '{item,amount}'}])
		{
			my $done = ask("BEGIN; SELECT rows, rejected, files, transactions, way FROM " . batch($statement, "$own/$files->[0]", $files->[1])
				. "; SELECT md5(string_agg(t::text, ',' ORDER BY id)) FROM $kind t; ROLLBACK");

			is($done, "2500|0|1|1|session\n$expected", "$case->[2], $kind, $files->[0]");
		}
	}
}
is(ask("SELECT rows FROM " . batch('INSERT INTO memory (id, l, d) VALUES ($1 + 50000, $2, $3)', "$own/named.parquet", q{columns => '{item,list,day}'})), '2500', 'parameters of other types');
is(ask('SELECT count(*) FROM memory JOIN changes ON id = item + 50000 AND l IS NOT DISTINCT FROM list AND d = day'), '2500', 'have the values');
is(ask("SELECT rows FROM " . batch('SELECT $1::int + $2 + $3', "$own/named.parquet", q{columns => '{item,item,amount}'})), '2500', 'a column that feeds two parameters');
is(ask("SELECT rows, blocks, way, reason FROM " . batch('UPDATE heap SET n = $2 WHERE id = $1', "$own/plain.parquet", 'dry_run => true')),
	'2500|9|session|the statement runs in the caller\'s transaction, row by row', 'a dry run');

# names that are longer than those of columns may be, and are alike so far
my ($first, $second) = map { 'x' x 70 . $_ } 1, 2;
my ($short_first, $short_second) = map { 'x' x 62 . $_ } 1, 2;
append_to_file("$own/long.ndjson", join('', map { qq({"$first": $_, "$second": -$_}\n) } 1 .. 3));
append_to_file("$own/long.csv", "$first,$second\n1,-1\n2,-2\n3,-3\n");
ask("COPY (SELECT i AS $short_first, -i AS $short_second FROM generate_series(1, 3) i) TO '$own/short.parquet' (FORMAT parquet)");
my $bytes = slurp_file("$own/short.parquet"); # whose metadata, at its end, are given other names
my $footer = substr($bytes, -8 - unpack('V', substr($bytes, -8, 4)), -8, '');
$footer =~ s/\x3f(x{62})(?=[12])/\x47$1xxxxxxxx/g;
append_to_file("$own/long.parquet", substr($bytes, 0, -8) . $footer . pack('V', length $footer) . 'PAR1');
for my $format ('csv', 'ndjson', 'parquet')
{
	ask('TRUNCATE memory');
	is(ask("SELECT rows FROM " . batch('INSERT INTO memory (n, id) VALUES ($1, $2)', "$own/long.$format", "columns => '{$second,$first}'" . ($format eq 'csv' ? q{, options => '{"header": true}'} : '')))
		. ask("SELECT string_agg(id || ' ' || n, ',' ORDER BY id) FROM memory"), '31 -1,2 -2,3 -3', "long names, $format");
}

# --- what does not fit ---

append_to_file("$own/bad.csv", join('', map { "$_\n" } '1,10', '2,x', '3,30', '3,31', '4', '5,50', '6,-1', '7,70'));
ask('CREATE TABLE checked (id int PRIMARY KEY, n int CHECK (n > 0)); CREATE FOREIGN TABLE kept (id int PRIMARY KEY, n int CHECK (n > 0)) SERVER tsurugi;
	CREATE TABLE rejects (file text, block bigint, row bigint, byte bigint, "column" text, sqlstate text, message text, record text)');
for my $table ('checked', 'kept')
{
	my $insert = "INSERT INTO $table VALUES (\$1, \$2)";

	like(psql_error('SELECT ' . batch($insert, "$own/bad.csv")), qr/22P02.*CONTEXT:  batch of file ".*bad\.csv", block 1, row 2, column \$2\n/s, "$table: where an error of a value is");
	like(psql_error('SELECT ' . batch("$insert RETURNING 1 / (id - 3)", "$own/plain.parquet")), qr/22012.*CONTEXT:  SQL statement ".*"\nbatch of file ".*plain\.parquet", block 1, row 3\n/s, 'or of the statement');
	is(ask("SELECT count(*) FROM $table"), '0', 'nothing is stored');
	is(ask("SELECT rows, rejected FROM " . batch($insert, "$own/bad.csv", "on_error => 'skip', reject_file => '$own/rejects'")), '4|4', 'rows that do not fit are left out');
	is(ask("SELECT string_agg(id::text, ',' ORDER BY id) FROM $table"), '1,3,5,7', 'and the others done');
	is(ask("TRUNCATE rejects; COPY rejects FROM '$own/rejects' (FORMAT csv, HEADER match); SELECT row, \"column\", sqlstate, record FROM rejects ORDER BY row"),
		join("\n", '2|$2|22P02|2,x', '4||23505|3,31', '5||22P04|4', '7||23514|6,-1'), 'the reject file has them');
	like(psql_error("TRUNCATE $table; SELECT " . batch($insert, "$own/bad.csv", "on_error => 'skip', reject_limit => 2")), qr/22P04: more than 2 rows of a batch are rejected\nDETAIL:  The first one: .*row 2/, 'a limit');
}
for my $case (
	['SELECT 1', "$own/plain.csv", undef, qr/22023: the statement of a batch has no parameters/],
	['SELECT $1', "$own/plain.csv", undef, qr/42P18: could not determine data type of parameter \$1|22P04/],
	['SELECT $2::int', "$own/plain.csv", undef, qr/42P18: could not determine data type of parameter \$1/],
	['SELECT $1::int; SELECT $2::int', "$own/plain.csv", undef, qr/42601: a batch needs one statement/],
	['', "$own/plain.csv", undef, qr/42601: a batch needs one statement/],
	['SELEC', "$own/plain.csv", undef, qr/42601: syntax error/],
	['VACUUM', "$own/plain.csv", undef, qr/0A000: the statement of a batch must be/],
	['COMMIT', "$own/plain.csv", undef, qr/0A000: the statement of a batch must be/],
	['SELECT $1::int INTO x', "$own/plain.csv", undef, qr/0A000: the statement of a batch must be|42P02/],
	['SELECT $1::nothing', "$own/plain.csv", undef, qr/42704/],
	['SELECT n FROM nowhere WHERE id = $1', "$own/plain.csv", undef, qr/42P01/],
	['SELECT $1::int', "$own/plain.csv", undef, qr/22P04: extra data after last expected column/],
	['SELECT $1::int', "$own/plain.parquet", undef, qr/22P04: file ".*plain\.parquet" has 2 columns, expected 1/],
	['SELECT $1::int', "$own/named.parquet", q{columns => '{none}'}, qr/42703: file ".*" has no column "none"/],
	['SELECT $1::int', "$own/named.parquet", q{columns => '{item,amount}'}, qr/22023: the statement has 1 parameters, but 2 columns are named/],
	['SELECT $1::int, $2::text', "$own/named.parquet", q{columns => '{item,item}'}, qr/42804: column "item" .* feeds parameters of types integer and text/],
	['SELECT $1::date', "$own/named.parquet", q{columns => '{item}'}, qr/42804/],
	['SELECT $1::int', "$own/plain.csv", q{columns => '{item}'}, qr/22023: columns of file ".*" have no names/],
	['SELECT $1::int', "$own/named.csv", q{columns => '{item}', options => '{"header": "match"}'}, qr/22023: option "header" of a batch must be true or false/],
	['SELECT $1::int', "$own/none.csv", undef, qr/58P01/],
	['SELECT $1::int', "$own/plain.csv", "handle => '7'", qr/0A000.*HINT:  Attach to the shared transaction/s])
{
	like(psql_error('SELECT ' . batch($case->[0], $case->[1], $case->[2])), $case->[3], "refused: $case->[0]" . (defined $case->[2] ? ", $case->[2]" : ''));
}
like(psql_error("SELECT tsurugi.batch(NULL, '{$own/plain.csv}')"), qr/22004: argument 1 of a batch/, 'no statement');

# --- rights ---

ask(qq{CREATE ROLE reader; CREATE ROLE clerk; CREATE ROLE stranger; GRANT pg_read_server_files TO reader, clerk; GRANT SELECT ON kept, checked TO reader, clerk;
	GRANT UPDATE (n) ON kept, checked TO clerk; GRANT ALL ON kept, checked TO stranger; INSERT INTO kept VALUES (1, 1); INSERT INTO checked VALUES (1, 1)});
for my $table ('kept', 'checked')
{
	for my $case (['reader', "UPDATE $table SET n = \$2 WHERE id = \$1", qr/42501: permission denied for (foreign )?table $table/], ['reader', "SELECT FROM $table WHERE id = \$1 AND n = \$2", qr/^$/],
		['clerk', "UPDATE $table SET n = \$2 WHERE id = \$1", qr/^$/], ['clerk', "UPDATE $table SET id = \$2 WHERE id = \$1", qr/42501/], ['clerk', "DELETE FROM $table WHERE id = \$1 AND n = \$2", qr/42501/],
		['stranger', "UPDATE $table SET n = \$2 WHERE id = \$1", qr/42501.*pg_read_server_files/])
	{
		like(psql_error("SET ROLE $case->[0]; SELECT " . batch($case->[1], "$own/plain.csv")) =~ s/^.*NOTICE.*\n//mgr, $case->[2], "$case->[0]: $case->[1]");
	}
}
like(psql_error('BEGIN READ ONLY; SELECT ' . batch('UPDATE kept SET n = $2 WHERE id = $1', "$own/plain.csv")), qr/25006/, 'a transaction that is READ ONLY');
is(ask('BEGIN READ ONLY; SELECT rows FROM ' . batch('SELECT FROM kept WHERE n = $2 AND id = $1', "$own/plain.csv")), '2500', 'reads');

# --- two that meet, and interrupts ---

ask(qq{CREATE FUNCTION pass(i int) RETURNS bool LANGUAGE plpgsql AS 'BEGIN IF i = 2 THEN PERFORM pg_advisory_xact_lock_shared(7); END IF; RETURN true; END';
	TRUNCATE kept; TRUNCATE checked; INSERT INTO kept VALUES (1, 1), (2, 1); INSERT INTO checked VALUES (1, 1), (2, 1);
	COPY (VALUES (1, 1), (2, 2)) TO '$own/up.csv' (FORMAT csv); COPY (VALUES (2, 1), (1, 2)) TO '$own/down.csv' (FORMAT csv)});
my $holder = TestServer::Session->new($node);
my ($one, $other) = map { TestServer::Session->new($node) } 1 .. 2;
for my $table ('checked', 'kept')
{
	my $sql = "UPDATE $table SET n = n + 1 WHERE pass(\$2) AND id = \$1";

	$holder->query('SELECT pg_advisory_lock(7)');
	$one->send('SELECT rows FROM ' . batch($sql, "$own/up.csv") . ';');
	$other->send('SELECT rows FROM ' . batch($sql, "$own/down.csv") . ';');
	ok($node->poll_query_until('postgres', "SELECT count(*) = 2 FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"), "$table: two batches have a row each");
	is(ask("SELECT count(*), min(kind), min(way), sum(rows) FROM tsurugi.batches"), '2|batch|session|0', 'and are shown');
	$holder->query('SELECT pg_advisory_unlock(7)');
	is_deeply([sort $one->wait, $other->wait], ['2', 'ERROR 40P01'], 'a deadlock of the two is found');
	is(ask("SELECT string_agg(n::text, ',') FROM $table"), '2,2', 'the other one is done');
	ask("UPDATE $table SET n = 1");
}
my $pid = $one->query('SELECT pg_backend_pid()');
for my $case (['tsurugi.cancel_job(job)', 'ERROR 57014'], ['pg_cancel_backend(pid)', 'ERROR 57014'], ['pg_terminate_backend(pid)', undef])
{
	$holder->query('SELECT pg_advisory_lock(7)');
	$one->send('SELECT rows FROM ' . batch('UPDATE kept SET n = n + 1 WHERE pass($2) AND id = $1', "$own/up.csv", "on_error => 'skip'") . ';');
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted"), 'a batch waits');
	is(ask("SELECT $case->[0] FROM tsurugi.batches"), 't', "it is ended by $case->[0]");
	is($one->wait, $case->[1], 'as it says') if defined $case->[1];
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM tsurugi.batches'), 'and is shown no more');
	is(ask("SELECT count(*), max(n) FROM kept"), '2|1', 'nothing of it stays');
	$holder->query('SELECT pg_advisory_unlock(7)');
}
is(TestServer::internal_errors($node), '', 'no internal error');
$_->close for $holder, $other;
eval { $one->close };
$node->stop;
done_testing();

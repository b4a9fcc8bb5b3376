# COPY with options of a load, in all formats and into both kinds of tables; how many files and blocks
# a load works on at a time.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('copy_options', 'tsurugi_fdw.workers' => 4);
my $own = $node->basedir;

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub psql_error { return TestServer::psql_error($node, @_) }

ask(qq{
	CREATE TABLE source AS SELECT i AS id, 'text ' || i AS t FROM generate_series(1, 1000) i;
	CREATE TABLE heap (id int PRIMARY KEY, t text);
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY, t text) SERVER tsurugi;
	CREATE ROLE alice});
ask("COPY source TO '$own/in.$_' (FORMAT $_)") for qw(csv parquet arrow ndjson);
append_to_file("$own/odd.csv", "t;id\nx;1\ny;none\nz;2000\nw;1\n");

# --- what they mean ---

for my $table (qw(heap memory))
{
	for my $format (qw(csv parquet arrow ndjson))
	{
		my $copy = "COPY $table FROM '$own/in.$format' (FORMAT $format";

		is(ask("TRUNCATE $table; $copy, TRANSACTIONAL); SELECT count(*) FROM $table"), '1000', "$table: $format, in a transaction");
		is(ask("BEGIN; TRUNCATE $table; $copy, TRANSACTIONAL true); ROLLBACK; SELECT count(*) FROM $table"), '1000', 'whose rollback takes it back');
		like(psql_error("$copy, TRANSACTIONAL)"), qr/23505/, 'a key that is there');
		ask("DELETE FROM $table WHERE id > 300; UPDATE $table SET t = '' WHERE id <= 10");
		is(ask("$copy, ON_CONFLICT ignore); SELECT count(*), count(*) FILTER (WHERE t = '') FROM $table"), '1000|10', 'is ignored');
		is(ask("$copy, ON_CONFLICT replace); SELECT count(*), count(*) FILTER (WHERE t = '') FROM $table"), '1000|0', 'or replaced');
		ask("TRUNCATE $table");
		is(ask("$copy, TRANSACTIONAL false, COMMIT_ROWS 100); SELECT count(*) FROM $table"), '1000', 'in transactions of its own');
		like(psql_error("BEGIN; DELETE FROM $table; $copy, TRANSACTIONAL off)"), qr/25001/, 'not in one that has written');
		like(psql_error("COPY $table FROM '$own/in.$format' (FORMAT $format, ON_ERROR skip, REJECT_LIMIT 10)"), qr/22P04/, 'more rejects than there may be');
		my (undef, undef, $said) = $node->psql('postgres', "COPY $table FROM '$own/in.$format' (FORMAT $format, ON_ERROR skip)");
		is($said, "psql:<stdin>:1: NOTICE:  1000 rows were rejected", 'a notice has their number');
	}
	ask("TRUNCATE $table");
	like(psql_error("COPY $table (t, id) FROM '$own/odd.csv' (FORMAT csv, DELIMITER ';', HEADER, ON_ERROR skip, REJECT_FILE '$own/rejects.csv')"),
		qr/NOTICE:  00000: 2 rows were rejected/, "$table: options of CSV, and a list of columns");
	is(ask("SELECT string_agg(id || t, ' ' ORDER BY id) FROM $table"), '1x 2000z', 'the rows that fit');
	is(join(' ', map { (split /,/)[1, 2, 4, 5] } grep { !/^file/ } split /\n/, slurp_file("$own/rejects.csv")),
		'1 2 "id" 22P02 1 4  23505', 'and those that do not');
	like(psql_error("COPY $table (t, id) FROM '$own/odd.csv' (FORMAT csv, DELIMITER ';', HEADER match, FORCE_NOT_NULL (t), TRANSACTIONAL)"),
		qr/22P02: .*"none"/, 'all of these are COPY\'s own');
	like(psql_error("COPY $table (id, t) FROM '$own/odd.csv' (FORMAT csv, DELIMITER ';', HEADER match, TRANSACTIONAL)"),
		qr/22P04: column name mismatch/, 'a header that is compared');
}

# --- what is refused ---

for my $case (["heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR sometimes)", qr/22023: on_error "sometimes" not recognized.*\^.*"stop" and "skip"/s],
	["heap FROM '$own/in.csv' (FORMAT csv, ON_CONFLICT wait)", qr/22023: on_conflict "wait" not recognized.*"error", "ignore" and "replace"/s],
	["heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR skip, ON_ERROR skip)", qr/42601: conflicting or redundant options/],
	["heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR skip, CODEC none)", qr/42601: option "codec" not recognized/],
	["heap FROM '$own/in.parquet' (FORMAT parquet, ON_ERROR skip, DELIMITER ';')", qr/42601: option "delimiter" not recognized/],
	["heap FROM '$own/in.csv' (FORMAT csv, REJECT_LIMIT 5)", qr/22023: reject_file and reject_limit need on_error "skip"/],
	["heap FROM '$own/in.csv' (FORMAT csv, COMMIT_ROWS 5)", qr/22023: option "commit_rows" needs .* not transactional/],
	["heap FROM '$own/in.csv' (FORMAT csv, TRANSACTIONAL off, COMMIT_ROWS 0)", qr/22023: option "commit_rows" of a load must be a number of rows/],
	["heap FROM '$own/in.csv' (FORMAT csv, MAX_CONCURRENT_FILES 17)", qr/22023: option "max_concurrent_files" of a load must be .*at most 16/],
	["heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR skip, FREEZE)", qr/0A000/],
	["heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR skip) WHERE id > 1", qr/0A000: COPY FROM with WHERE/],
	["heap FROM PROGRAM 'true' (FORMAT csv, ON_ERROR skip)", qr/0A000: COPY of a program is not supported with options of a load/],
	["heap FROM STDIN (FORMAT csv, ON_ERROR skip)", qr/0A000: COPY FROM STDIN/],
	["heap TO '$own/out.csv' (FORMAT csv, ON_ERROR skip)", qr/42601: option "on_error" not recognized/],
	["heap FROM '$own/in.csv' (ON_ERROR skip)", qr/42601: option "on_error" not recognized/])
{
	like(psql_error("COPY $case->[0]"), $case->[1], $case->[0]);
}
ask('GRANT INSERT ON heap TO alice');
like(psql_error("SET ROLE alice; COPY heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR skip)"), qr/42501/, 'a role that may not read files');
like(psql_error("BEGIN READ ONLY; COPY heap FROM '$own/in.csv' (FORMAT csv, ON_ERROR skip)"), qr/25006/, 'a transaction that only reads');
like(psql_error("SELECT tsurugi.load('heap', '{$own/in.csv}', options => '{\"$_\": 0}')"), qr/22023: option "$_" of a load must be/, "$_ 0")
	for qw(max_concurrent_files max_concurrent_blocks_per_file);
like(psql_error("SELECT tsurugi.batch('SELECT \$1::text', '{$own/in.csv}', options => '{\"max_concurrent_files\": 1}')"), qr/22023: .*not recognized/,
	'the pool runs no statements, so a batch has no such limits');

# --- which right is missing first ---

# PostgreSQL's order: that to name files or programs, then that of the schema, then that of the table.
ask("CREATE SCHEMA closed; CREATE TABLE closed.heap (id int, t text); CREATE FOREIGN TABLE closed.memory (id int, t text) SERVER tsurugi; CREATE ROLE bob");
my $hint = 'HINT:  Anyone can COPY to stdout or from stdin. psql\'s \copy command also works for anyone.';
for my $table ('closed.heap', 'closed.memory', 'closed.none', 'memory', 'none.none')
{
	for my $case (map { (["FROM '$own/in.$_' (FORMAT $_)", 'pg_read_server_files role to COPY from a file'], ["TO '$own/out.$_' (FORMAT $_)", 'pg_write_server_files role to COPY to a file']) } qw(csv text parquet ndjson))
	{
		like(psql_error("SET ROLE bob; COPY $table $case->[0]"), qr/42501: must be superuser or have privileges of the $case->[1]\n\Q$hint\E/, "$table $case->[0]");
	}
	like(psql_error("SET ROLE bob; COPY $table $_"), qr/42501: must be superuser or have privileges of the pg_execute_server_program role to COPY to or from an external program\n\Q$hint\E/, "$table $_")
		for "FROM PROGRAM 'true'", "TO PROGRAM 'true'", "FROM PROGRAM 'true' (FORMAT parquet)";
	my $expected = $table =~ /closed/ ? qr/42501: permission denied for schema closed/ : $table =~ /none/ ? qr/3F000: schema "none" does not exist/ : qr/42501: permission denied for foreign table memory/;
	like(psql_error("SET ROLE bob; COPY $table $_"), $expected, "$table $_") for 'FROM STDIN', 'TO STDOUT', 'FROM STDIN (FORMAT arrow)', 'TO STDOUT (FORMAT ndjson)';
}

# --- how much at a time ---

# Each place in which a block is worked on has a session of the engine, which belongs to no process.
# The load waits for a row of another transaction meanwhile.
ask("COPY source TO '$own/some_$_.parquet' (FORMAT parquet, ROW_GROUP_ROWS 100)") for 1 .. 6;
ask('TRUNCATE memory');
my $places = 'SELECT count(*) FROM tsurugi.sessions WHERE pid IS NULL';
my $idle = ask($places);
my $holder = TestServer::Session->new($node);
my $loader = TestServer::Session->new($node);

for my $case (['', '', 4, 'as many as workers'], ['SET tsurugi_fdw.max_concurrent_files = 1', '', 4, 'one file, by all workers'],
	['SET tsurugi_fdw.max_concurrent_blocks_per_file = 1; SET tsurugi_fdw.max_concurrent_files = 3', '', 3, 'a block of each of three files'],
	['', '"max_concurrent_files": 1, "max_concurrent_blocks_per_file": 2', 2, 'two blocks of a file'],
	['SET tsurugi_fdw.max_concurrent_files = 3', '"max_concurrent_files": 1, "max_concurrent_blocks_per_file": 1', 1, 'options come before settings'])
{
	my ($settings, $options, $expected, $name) = @$case;

	$loader->query("RESET ALL; $settings");
	$holder->query('BEGIN; INSERT INTO memory SELECT generate_series(1, 1000)');
	$loader->send("SELECT tsurugi.load('memory', '{$own/some_*.parquet}', transactional => false, options => '{$options}');");
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'), 'the load waits');
	is(ask($places) - $idle, $expected, $name);
	$holder->query('COMMIT');
	is($loader->wait, 'ERROR 23505', 'and fails');
	ask('TRUNCATE memory');
}
$_->close for $holder, $loader;
is(TestServer::internal_errors($node), '', 'no internal error in the log');
$node->stop;
done_testing();

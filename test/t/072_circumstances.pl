# What a server, its settings and its databases go through, and what tables in memory have afterwards.
#
# Databases that are copied, moved to a tablespace and dropped; the extension dropped and created
# anew; settings that leave PostgreSQL's log with less (wal_level, max_wal_senders, fsync); starts
# one right after the other, without the library, with another C library, with too little memory,
# without the sessions of a start.  After each, the server is killed and started, and the same is
# there.
#
# What PostgreSQL changes in its catalogs while the library is not loaded is not misread afterwards,
# nor are keys that another version of the C library would order in another way.  For the latter,
# gnu_get_libc_version() is replaced, from which PostgreSQL takes the version of collations.
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('circumstances');
my $place = $node->basedir . '/place';

mkdir $place;

sub ask
{
	my ($sql, $database) = @_;
	my ($code, $out, $err) = $node->psql($database // 'postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $code == 0 ? $out : $err;
}

sub crash
{
	Acknowledged::kill_all($node);
	$node->start;
}

# The same before and after a crash, and from a base.
sub stays
{
	my ($name, $sql, $expected, $database) = @_;

	is(ask($sql, $database), $expected, $name);
	crash();
	is(ask($sql, $database), $expected, 'after a crash, too');
	is(ask('SELECT tsurugi.write_base() > 0'), 't', 'a base is written');
	crash();
	is(ask($sql, $database), $expected, 'and read');
}

# A library that takes the place of another version of the C library.
sub another_libc
{
	my $library = $node->basedir . '/libc.so';

	append_to_file("$library.c", "const char *gnu_get_libc_version(void) { return \"2.30\"; }\n");
	system_or_bail('gcc', '-shared', '-fPIC', '-o', $library, "$library.c");
	return $library;
}

# --- databases ----------------------------------------------------------------------------------

my $fill = q{CREATE EXTENSION IF NOT EXISTS tsurugi_fdw;
	CREATE SERVER IF NOT EXISTS tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t SELECT i, 'row ' || i FROM generate_series(1, 100) i};

$node->safe_psql('postgres', "$fill; CREATE DATABASE model; CREATE DATABASE moved; CREATE DATABASE gone");
$node->safe_psql($_, $fill) for qw(model moved gone);
$node->safe_psql('postgres', "CREATE DATABASE copied TEMPLATE model STRATEGY file_copy; CREATE DATABASE logged TEMPLATE model STRATEGY wal_log");
my $missing = qr/55000: the contents of foreign table "t" are missing.*CREATE DATABASE and pg_upgrade do not copy.*missing_contents/s;

for my $database (qw(copied logged))
{
	like(ask('SELECT count(*) FROM t', $database), $missing, 'a database that was copied has its tables, and says that it lacks their rows');
	crash();
	like(ask('INSERT INTO t VALUES (1)', $database), $missing, 'after a crash, too');
	like(ask('SET tsurugi_fdw.missing_contents = empty; SELECT count(*) FROM t', $database), qr/^0$/, 'unless they may be empty');
	stays('then it is empty', 'SELECT count(*) FROM t', '0', $database);
}
is(ask(q{INSERT INTO t VALUES (1, 'own'); SELECT count(*) FROM t}, 'copied'), '1', 'it can be used');
stays('and keeps what it gets', 'SELECT count(*), max(v) FROM t', '1|own', 'copied');
is(ask('SELECT count(*) FROM t', 'model'), '100', 'its model has its own rows');

$node->safe_psql('postgres', "CREATE TABLESPACE place LOCATION '$place'");
$node->safe_psql('postgres', 'ALTER DATABASE moved SET TABLESPACE place');
stays('a database that was moved to a tablespace', 'SELECT count(*), sum(id) FROM t', '100|5050', 'moved');
$node->safe_psql('postgres', 'CREATE DATABASE placed TEMPLATE model TABLESPACE place');
is(ask('TRUNCATE t', 'placed'), '', 'a table whose contents are missing can be truncated');
stays('one that was copied to one', 'SELECT count(*) FROM t', '0', 'placed');

$node->safe_psql('postgres', 'DROP DATABASE gone');
is(ask("SELECT count(*) FROM pg_database WHERE datname = 'gone'"), '0', 'a database is dropped');
crash();
$node->safe_psql('postgres', 'CREATE DATABASE gone');
$node->safe_psql('gone', $fill . '; DELETE FROM t WHERE id > 7');
stays('another one of its name', 'SELECT count(*) FROM t', '7', 'gone');

$node->safe_psql('postgres', 'ALTER DATABASE gone RENAME TO renamed');
stays('a database that was renamed', 'SELECT count(*) FROM t', '7', 'renamed');

# --- the extension --------------------------------------------------------------------------------

$node->safe_psql('renamed', 'DROP EXTENSION tsurugi_fdw CASCADE');
stays('without the extension', "SELECT count(*) FROM pg_class WHERE relname = 't'", '0', 'renamed');
$node->safe_psql('renamed', $fill . '; DELETE FROM t WHERE id > 3');
stays('with the extension created anew', 'SELECT count(*) FROM t', '3', 'renamed');
is(ask('SELECT count(*) FROM t'), '100', 'other databases have their rows');

# --- starts -----------------------------------------------------------------------------------------

for my $way ('fast', 'immediate')
{
	for (1 .. 3)
	{
		$node->stop($way);
		$node->start;
	}
	is(ask('SELECT count(*), sum(id) FROM t'), '100|5050', "three starts one right after the other, $way");
}
for (1 .. 3)
{
	# while the tables are being loaded, or a moment before or after
	Acknowledged::kill_all($node);
	TestServer::begin_start($node);
	select undef, undef, undef, 0.05 * $_;
	Acknowledged::kill_all($node);
	unlink $node->data_dir . '/postmaster.pid';
}
$node->start;
is(ask('SELECT count(*), sum(id) FROM t'), '100|5050', 'starts that are killed on the way');

$node->safe_psql('postgres', q{
	CREATE TYPE mood AS ENUM ('sad', 'glad');
	CREATE FOREIGN TABLE days (id int PRIMARY KEY, day date, mood mood) SERVER tsurugi;
	CREATE FOREIGN TABLE amounts (id int PRIMARY KEY, name varchar(9), amount numeric(10, 2)) SERVER tsurugi;
	INSERT INTO days VALUES (1, '2026-01-02', 'glad');
	INSERT INTO amounts VALUES (1, 'one', 1.25);
	SELECT tsurugi.write_base();
	CREATE FOREIGN TABLE names (id int PRIMARY KEY, name varchar(9), mood mood) SERVER tsurugi;
	CREATE FOREIGN TABLE unkeyed (id int PRIMARY KEY, day date) SERVER tsurugi;
	CREATE FOREIGN TABLE sorted (name text COLLATE "en_US.utf8" PRIMARY KEY, other text COLLATE "C" UNIQUE) SERVER tsurugi;
	CREATE FOREIGN TABLE indexed (id int PRIMARY KEY, name text COLLATE "en_US.utf8") SERVER tsurugi;
	CREATE INDEX ON indexed (name);
	INSERT INTO names VALUES (1, 'one', 'sad');
	ALTER FOREIGN TABLE unkeyed ADD COLUMN later date;
	INSERT INTO unkeyed VALUES (1, '2026-01-02', '2026-01-03');
	INSERT INTO sorted VALUES ('b', 'x'), ('A', 'y'), ('a', 'z');
	INSERT INTO indexed VALUES (1, 'b'), (2, 'A'), (3, 'a')});
$node->stop;
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
$node->start;
$node->safe_psql('postgres', q{
	ALTER FOREIGN TABLE days ALTER day TYPE int;
	ALTER FOREIGN TABLE amounts ALTER amount TYPE numeric(10, 4);
	ALTER FOREIGN TABLE names ALTER name TYPE text;
	DROP TYPE mood CASCADE;
	CREATE TYPE mood AS ENUM ('glad', 'sad');
	ALTER FOREIGN TABLE names ADD COLUMN mood mood;
	ALTER FOREIGN TABLE unkeyed DROP CONSTRAINT unkeyed_pkey});
like(ask('SELECT count(*) FROM t'), qr/shared_preload_libraries/, 'without the library, a statement says what to do');
is(ask('CREATE TABLE ordinary AS SELECT 1 one; SELECT one FROM ordinary'), '1', 'ordinary tables work');
$node->stop;
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'tsurugi_fdw'");
{
	local $ENV{LD_PRELOAD} = another_libc();
	$node->start;
}
is(ask('SELECT count(*), sum(id) FROM t'), '100|5050', 'with it again, all is there');

my $other_type = qr/XX001: column "(?:day|amount)" of foreign table "(?:days|amounts)" was stored with another type/;

like(ask('SELECT * FROM days'), $other_type, 'a column that has another type now is not misread');
like(ask('SELECT * FROM amounts'), qr/$other_type.*of type numeric\(10,2\), and the catalogs have numeric\(10,4\).*truncate or drop/s, 'nor is one of another scale');
like(ask($_), $other_type, $_) for (
	'INSERT INTO days VALUES (2, 3)', 'UPDATE amounts SET amount = 2', 'DELETE FROM days', 'VACUUM FULL days',
	'CREATE INDEX ON days (id, day)', 'ALTER FOREIGN TABLE amounts ALTER amount TYPE text USING amount::text',
	'ALTER FOREIGN TABLE days ADD COLUMN more int DEFAULT 1', 'ALTER FOREIGN TABLE days ADD CHECK (day > 0)');
is(ask('TRUNCATE days; INSERT INTO days VALUES (1, 4); SELECT day FROM days'), '4', 'the table can be truncated');
is(ask('DROP FOREIGN TABLE amounts'), '', 'or dropped');
is(ask('SELECT id, name, mood IS NULL FROM names'), '1|one|t', 'a type that is stored alike is read; a type that was made anew is another one');
is(ask('ALTER FOREIGN TABLE names ALTER name TYPE varchar(3); SELECT name FROM names'), 'one', 'and its column can be altered');
like(ask('SELECT * FROM unkeyed'), qr/XX001: foreign table "unkeyed" was stored with other keys/, 'a table without its former key says so');
is(ask('VACUUM FULL unkeyed; SELECT * FROM unkeyed'), '1|2026-01-02|2026-01-03', 'and is as it was once it is stored anew');

my $other_order = qr/XX001: keys of foreign table "(?:sorted|indexed)" have the order of another version of a collation.*VACUUM FULL/s;

like(ask($_), $other_order, "with another C library: $_") for
	("SELECT * FROM sorted WHERE name = 'b'", 'INSERT INTO indexed VALUES (4)', "BEGIN; LOCK TABLE sorted; DELETE FROM sorted WHERE name = 'b'");
is(ask('VACUUM FULL sorted; SELECT name FROM sorted ORDER BY name'), "a\nA\nb", 'a table that is stored anew has the present order');
is(ask('REINDEX TABLE indexed; SELECT name FROM indexed ORDER BY name'), "a\nA\nb", 'so has one whose indexes are made anew');
is(ask("SELECT other FROM sorted WHERE name = 'A'; SELECT id FROM indexed WHERE name = 'A'"), "y\n2", 'keys are found');
is(ask('DROP FOREIGN TABLE sorted, indexed'), '', 'and go');
is(ask(q{CREATE EXTENSION citext; CREATE FOREIGN TABLE loose (name citext) SERVER tsurugi; INSERT INTO loose VALUES ('one');
	ALTER FOREIGN TABLE loose ALTER name TYPE text; DROP EXTENSION citext}), '', 'a type goes that a column had before');
is(ask('SELECT name FROM loose'), 'one', 'what was stored with it is read');
is(ask("INSERT INTO t VALUES (101, 'last'); SELECT count(*) FROM t"), '101', 'and a change');
Acknowledged::kill_all($node);
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
is($node->start(fail_ok => 1), 0, 'after a crash the server does not start without the library');
like(slurp_file($node->logfile), qr/FATAL:.*resource manager with ID 128 not registered/, 'and names the resource manager');
$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'tsurugi_fdw'");
unlink $node->data_dir . '/postmaster.pid';
$node->start;
is(ask('DELETE FROM t WHERE id > 100 RETURNING v'), 'last', 'with it nothing is lost');

# --- single-user mode ---------------------------------------------------------------------------------

# There is no worker then, and nobody waits for one.
$node->stop;
{
	my $statements = "DROP FOREIGN TABLE t\nSELECT count(*) FROM t\nSELECT tsurugi.write_base()\nCREATE TABLE alone AS SELECT 1 one\n";
	my $answer = '';

	IPC::Run::run([ 'postgres', '--single', '-D', $node->data_dir, '-c', 'tsurugi_fdw.load_wait=-1', 'postgres' ],
		'<', \$statements, '>', \$answer, '2>&1', IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	is(scalar(() = $answer =~ /ERROR: .*tsurugi_fdw (?:cannot be logged now|are not available yet)\n.*DETAIL: .*does not run in single-user mode/g), 3,
		'in single-user mode tables cannot be used or dropped') or diag($answer);
}
$node->start;
is(ask('SELECT count(*), (SELECT one FROM alone) FROM t'), '100|1', 'after it, all is there');

# --- too little memory -------------------------------------------------------------------------------

is(ask("SHOW tsurugi_fdw.memory_max") =~ /^\d+[MG]B$/ ? 1 : 0, 1, 'memory has a limit');
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE large (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO large SELECT i, repeat('x', 1000) FROM generate_series(1, 60000) i});
$node->append_conf('postgresql.conf', "tsurugi_fdw.memory = '32MB'\ntsurugi_fdw.memory_max = '32MB'");
$node->restart;
like(ask('SELECT count(*) FROM large'), qr/57P03.*more than the 32MB that tsurugi_fdw\.memory_max allows/s, 'with too little memory, a statement says how much');
like(ask('SELECT state, last_error FROM tsurugi.durability'), qr/^refused\|.*memory_max/, 'so does the view');
is(ask('SELECT one FROM ordinary'), '1', 'ordinary tables work');
crash();
like(ask('SELECT count(*) FROM large'), qr/57P03/, 'after a crash likewise');
$node->adjust_conf('postgresql.conf', $_, undef, 1) for 'tsurugi_fdw.memory', 'tsurugi_fdw.memory_max';
$node->restart;
is(ask('SELECT count(*), sum(id) FROM large'), '60000|1800030000', 'with enough of it, all is there');

# --- settings ------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE TABLE both_kinds (id int)');
my $rows = 100;

for my $settings (
	"wal_level = minimal\nmax_wal_senders = 0",
	"wal_level = logical\nmax_wal_senders = 5",
	"wal_level = replica\nmax_wal_senders = 0\nfsync = on",
	"fsync = off\nfull_page_writes = off\nwal_compression = on\nwal_init_zero = off")
{
	my $name = $settings =~ s/\n/, /gr;

	$node->append_conf('postgresql.conf', $settings);
	$node->restart;
	$rows += 2;
	$node->safe_psql('postgres', qq{
		INSERT INTO t VALUES ($rows - 1, 'alone');
		BEGIN; INSERT INTO t VALUES ($rows, 'with'); INSERT INTO both_kinds VALUES ($rows); COMMIT;
		BEGIN; CREATE FOREIGN TABLE made_$rows (id int) SERVER tsurugi; INSERT INTO made_$rows VALUES (1); COMMIT;
		TRUNCATE made_$rows; INSERT INTO made_$rows VALUES (2), (3); VACUUM FULL made_$rows; CHECKPOINT});
	stays($name, "SELECT (SELECT count(*) FROM t), (SELECT max(id) FROM both_kinds), (SELECT sum(id) FROM made_$rows)", "$rows|$rows|5");
}
is(TestServer::internal_errors($node) =~ s/^.*(?:terminated by signal 9| XX001 ).*\n//mgr, '', 'no internal error');
$node->stop;
done_testing();

# tsurugi_fdw.file_roots: files below them, for roles that may name no others, in each statement
# that reads or writes files; and names that lead elsewhere: links, .., /proc, FIFOs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use POSIX qw(mkfifo);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('file_roots', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;
my ($alice, $bob, $share) = ("$own/in/alice", "$own/in/bob", "$own/share, too");

sub psql_error { return TestServer::psql_error($node, @_) }

sub ask
{
	return $node->safe_psql('postgres', $_[0]);
}

sub as_alice
{
	return ask("SET SESSION AUTHORIZATION alice; $_[0]");
}

sub alice_fails
{
	my ($sql, $code, $name) = @_;

	like(psql_error("SET SESSION AUTHORIZATION alice; $sql"), qr/^\S+ ERROR:  \Q$code\E/, $name);
}

mkdir $_ for "$own/in", $alice, "$alice/deep", $bob, $share;
ask(qq{
	CREATE ROLE alice; CREATE ROLE bob; CREATE ROLE ".."; CREATE ROLE "alice/deep";
	CREATE TABLE heap (id int PRIMARY KEY, t text);
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY, t text) SERVER tsurugi;
	CREATE TABLE source AS SELECT i AS id, 'text ' || i AS t FROM generate_series(1, 100) i;
	GRANT ALL ON heap, memory, source TO alice, bob, "..", "alice/deep";
	GRANT CREATE ON SCHEMA public TO alice;
	COPY (SELECT * FROM source WHERE id <= 40) TO '$alice/in_1.csv' (FORMAT csv);
	COPY (SELECT * FROM source WHERE id > 40) TO '$alice/in_2.csv' (FORMAT csv);
	COPY (SELECT t, id FROM source) TO '$alice/named.csv' (FORMAT csv, HEADER);
	COPY (SELECT * FROM source) TO '$alice/deep/all.parquet' (FORMAT parquet);
	COPY (SELECT * FROM source) TO '$share/all.parquet' (FORMAT parquet);
	COPY (SELECT * FROM source) TO '$bob/bobs.csv' (FORMAT csv);
	COPY (SELECT * FROM source) TO '$bob/bobs.parquet' (FORMAT parquet)});
append_to_file("$alice/bad.csv", "1,a\nx,b\n");

# --- without roots ---

alice_fails("SELECT tsurugi.load('heap', '{$alice/in_1.csv}')", '42501: must be superuser or have privileges of the pg_read_server_files role to load files', 'without roots: no load');
alice_fails("SELECT tsurugi.dump('SELECT 1', '$alice')", '42501: must be superuser or have privileges of the pg_write_server_files role to dump to files', 'nor a dump');
alice_fails("SET tsurugi_fdw.file_roots = '$alice'", '42501', 'a role cannot set them');
like(psql_error("SET tsurugi_fdw.file_roots = '$_->[0]'"), qr/22023.*$_->[1]/s, "refused: '$_->[0]'")
	for ['relative', 'not the absolute path'], ['/', 'not the absolute path'], ['/a,,/b', 'List syntax'];
ask(qq{ALTER SYSTEM SET tsurugi_fdw.file_roots = '$own/in/%u, "$share"'});
$node->reload;
ok($node->poll_query_until('postgres', "SELECT current_setting('tsurugi_fdw.file_roots') <> ''"), 'roots are set');

# --- what is below ---

for my $table ('heap', 'memory')
{
	for my $case (["'{$alice/in_*.csv}'", 'CSV by a pattern'], ["'{$alice/in_1.csv,$alice/deep/../in_2.csv}'", 'by names, with .. that stays below'],
		["'{$alice/named.csv}', options => '{\"header\": true}'", 'with a header'], ["'{$alice/named.csv}', columns => '{t,id}', options => '{\"header\": \"match\"}'", 'that is compared'],
		["'{$alice/*/all.parquet}'", 'Parquet by a pattern of directories'], ["ARRAY['$share/all.parquet']", 'in another root'],
		["'{$alice/in_*.csv}', on_error => 'skip'", 'row by row'], ["'{$alice/*/all.parquet}', on_conflict => 'ignore'", 'the same of Parquet'])
	{
		my $way = $table eq 'heap' || $case->[0] =~ /on_/ ? 'session' : 'pool';

		is(as_alice("SELECT rows, way FROM tsurugi.load('$table', $case->[0])"), "100|$way", "$table: $case->[1]");
		is(ask("SELECT count(*), max(t) FROM $table; TRUNCATE $table"), '100|text 99', 'has the rows');
	}
}
is(as_alice("SELECT rows, way FROM tsurugi.load('memory', '{$alice/$_}', transactional => false)"), '100|pool', "the pool: $_") && ask('TRUNCATE memory') for 'in_*.csv', 'deep/all.parquet';
is(as_alice("SELECT rows, rejected FROM tsurugi.load('heap', '{$alice/bad.csv}', on_error => 'skip', reject_file => '$alice/rejects')"), '1|1', 'a reject file');
like(slurp_file("$alice/rejects"), qr/22P02.*"x,b"$/m, 'has the row');
ask('TRUNCATE heap');
like(psql_error("SET SESSION AUTHORIZATION alice; SELECT tsurugi.load('heap', '{$alice/bad.csv}')"), qr/22P02.*CONTEXT:  COPY heap, line 2, column id: "x"\nload of file ".*bad\.csv"/s, 'where an error is');
like(psql_error("SET SESSION AUTHORIZATION alice; BEGIN READ ONLY; SELECT tsurugi.load('heap', '{$alice/in_1.csv}')"), qr/25006/, 'a transaction that is READ ONLY');
is(as_alice("SELECT string_agg(name || ' ' || type, ',') FROM tsurugi.describe_file('$alice/deep/*.parquet')"), 'id integer,t text', 'describe_file');
as_alice("COPY heap FROM '$alice/deep/all.parquet' (FORMAT parquet); COPY heap TO '$alice/out.parquet' (FORMAT parquet); COPY heap TO '$alice/out.parquet' (FORMAT parquet)");
is(as_alice("TRUNCATE heap; COPY heap FROM '$alice/out.parquet' (FORMAT parquet); SELECT count(*) FROM heap"), '100', 'COPY, from and to');
for my $format ('csv', 'parquet')
{
	my $dump = "SELECT count(*), sum(rows), max(file) FROM tsurugi.dump('TABLE public.source', '$alice/deep', '$format', 'p', '{\"max_rows_per_file\": 30, \"overwrite\": OVER}')";

	is(as_alice($dump =~ s/OVER/false/r), "4|100|$alice/deep/p_00004.$format", "a dump to $format");
	alice_fails($dump =~ s/OVER/false/r, '58P02', 'does not replace files');
	is(as_alice($dump =~ s/OVER/true/r), "4|100|$alice/deep/p_00004.$format", 'unless it is to');
	alice_fails("SELECT tsurugi.dump('SELECT 1 / (50 - id) FROM public.source ORDER BY id', '$alice/deep', '$format', 'q', '{\"max_rows_per_file\": 10}')", '22012', 'one that fails');
	is_deeply([glob("$alice/deep/{q,.q}*")], [], 'leaves nothing');
	is(scalar(unlink glob("$alice/deep/p_*")), 4, 'and others alone');
	alice_fails("SELECT tsurugi.dump('SELECT 1 / (50 - i) AS a FROM generate_series(1, 50) i', '$alice/deep', '$format', '..', '{\"max_rows_per_file\": 10}')", '22012', 'nor one whose files begin with dots');
	is_deeply([glob("$alice/deep/..[!.]*")], [], 'leaves anything');
}

# --- what is not ---

symlink("$bob/bobs.csv", "$alice/link.csv") or die;
symlink("$bob/bobs.parquet", "$alice/link.parquet") or die;
symlink($bob, "$alice/link") or die;
mkfifo("$alice/fifo.csv", 0600) or die;
mkfifo("$alice/fifo.parquet", 0600) or die;
my $data = $node->data_dir;
for my $case (["$bob/bobs.csv", '42501', "another role's file"], ["$own/in/alicet.csv", '42501', 'a name that only begins as the root does'], ['bobs.csv', '42501', 'a relative one'],
	["$data/PG_VERSION", '42501', "the server's"], ["$alice/../bob/bobs.csv", '42501', 'one by ..'], ["$alice/deep/../../bob/bobs.csv", '42501', 'one by .. further below'],
	["$alice/link.csv", '42501', 'a link'], ["$alice/link/bobs.csv", '42501', 'a link to a directory'], ["$alice/none.csv", '58P01', 'one that is not there'],
	["$alice/fifo.csv", '42809', 'a FIFO'], ["$alice/deep", '42809', 'a directory'], ["$alice/link/*.csv", '58P01', 'a pattern behind a link'],
	["$alice/*/bobs.csv", '58P01', 'a pattern that a link would fit'], ["$alice/../*/bobs.csv", '58P01', 'a pattern by ..'], ["$alice/l*.csv", '42501', 'a link that fits a pattern'])
{
	for my $more ('', ", on_error => 'skip'", ", options => '{\"header\": true}'", ', transactional => false', ', dry_run => true')
	{
		alice_fails("SELECT tsurugi.load('memory', '{$case->[0]}', format => 'csv'$more)", $case->[1], "refused: $case->[2]$more");
	}
}
alice_fails($_->[0] =~ s/FILE/$alice\/$_->[1]/r, $_->[2], "refused: $_->[0], $_->[1]")
	for map { my $sql = $_; map { [$sql, @$_] } ['link.parquet', '42501'], ['link/bobs.parquet', '42501'], ['../bob/bobs.parquet', '42501'], ['fifo.parquet', '42809'] }
	"COPY heap FROM 'FILE' (FORMAT parquet)", "SELECT tsurugi.describe_file('FILE')", "SELECT tsurugi.load('heap', '{FILE}')", "SELECT tsurugi.load('memory', '{FILE}', transactional => false)";
# what would make directories multiply, or glob call itself without end
for my $case (["$alice/*/../in_1.csv", '42602: ".." behind a wildcard is not allowed', '.. behind a wildcard'],
	["$alice/d*/\\.\\./in_1.csv", '42602: ".."', 'the same in other words'], ["$alice/.*/in_1.csv", '58P01: no file matches', 'a wildcard for . or ..'],
	[$alice . '/*' x 10000, '42622: pattern of file names is too long', 'a pattern of very many parts'])
{
	alice_fails("SELECT tsurugi.load('memory', ARRAY['$case->[0]'])", $case->[1], "refused: $case->[2]");
	alice_fails("SELECT tsurugi.describe_file('$case->[0]')", $case->[1], "describe_file: $case->[2]");
	alice_fails("COPY memory FROM '$case->[0]' (FORMAT parquet)", $case->[1], "COPY: $case->[2]");
}
symlink('.', "$alice/again$_") or die for 1 .. 9;
my $endless = "SELECT tsurugi.load('memory', ARRAY['$alice@{['/a*' x 12]}'], format => 'csv')";
like(psql_error($endless), qr/54000: too many files/, 'directories that multiply by links end somewhere');
SKIP:
{
	skip 'no failpoints', 3 unless TestServer::has_failpoints($node);
	my ($one, $many) = map { "SET tsurugi_fdw.failpoints = 'patterns_among_few'; SELECT tsurugi.load('memory', ARRAY[" . join(', ', ("'$alice/in_*.csv'") x $_) . '], dry_run => true)' } 1, 50;

	is(psql_error($one), '', 'a pattern is looked for among some names');
	like(psql_error($many), qr/54000: too many files/, 'many patterns are looked for among no more');
	like(psql_error("SET tsurugi_fdw.failpoints = 'pattern_without_limit'; SET statement_timeout = '100ms'; $endless"), qr/57014/, 'and can be cancelled');
}
unlink "$alice/again$_" or die for 1 .. 9;
for my $case (["$alice/link/new", '42501'], ["$alice/../bob/new", '42501'], ["$bob/new", '42501'], ["$alice/..", '42501'])
{
	alice_fails("SELECT tsurugi.dump('SELECT 1', '$case->[0]', prefix => 'x')", $case->[1], "refused: a dump to $case->[0]");
	alice_fails("COPY heap TO '$case->[0]' (FORMAT parquet)", $case->[0] =~ /\.\.$/ ? '' : $case->[1], "refused: COPY to $case->[0]");
	alice_fails("SELECT tsurugi.load('heap', '{$alice/bad.csv}', on_error => 'skip', reject_file => '$case->[0]')", $case->[0] =~ /\.\.$/ ? '' : $case->[1], "refused: rejects to $case->[0]");
}
for my $file ('link.parquet', 'fifo.parquet')
{
	alice_fails("COPY heap TO '$alice/$file' (FORMAT parquet)", '42809', "COPY does not write into $file");
	alice_fails("SELECT tsurugi.load('heap', '{$alice/bad.csv}', on_error => 'skip', reject_file => '$alice/$file')", '42809', "nor a load its rejects");
}
is_deeply([map { s/.*\///r } glob("$bob/*")], ['bobs.csv', 'bobs.parquet'], 'nothing is written elsewhere');
is(ask("SET SESSION AUTHORIZATION bob; SELECT rows FROM tsurugi.load('memory', '{$bob/bobs.csv}')"), '100', 'each role has its own');
ask('TRUNCATE memory');
for my $role ('..', 'alice/deep')
{
	like(psql_error(qq{SET SESSION AUTHORIZATION "$role"; SELECT tsurugi.load('memory', '{$_}')}), qr/42501/, "role $role has none: $_")
		for "$own/in/$role/bobs.csv", "$own/in/bob/bobs.csv", "$alice/deep/all.parquet";
}
is(ask("SELECT rows FROM tsurugi.load('memory', '{$alice/link.csv}')"), '100', 'a superuser names any file');

# another name of a file that is replaced: only this name is
ask("COPY (SELECT 1) TO '$bob/precious'");
link("$bob/precious", "$alice/second") or die;
as_alice("TRUNCATE heap; SELECT tsurugi.load('heap', '{$alice/bad.csv}', on_error => 'skip', reject_file => '$alice/second')");
is(slurp_file("$bob/precious"), "1\n", 'a file that has a second name is not written into');

# links of the system's own
like(psql_error("SET tsurugi_fdw.file_roots = '/proc'; SET ROLE alice; SELECT tsurugi.load('heap', '{/proc/self/cwd/PG_VERSION}', format => 'csv')"), qr/42501/, '/proc: the working directory');
like(psql_error("SET tsurugi_fdw.file_roots = '/proc'; SET ROLE alice; SELECT tsurugi.load('heap', '{/proc/1/root/etc/passwd}', format => 'csv')"), qr/42501/, 'and the root');

# a link in place of a file that has been looked at
ask(q{CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN new; END';
	TRUNCATE heap; CREATE TRIGGER holds BEFORE INSERT ON heap FOR EACH ROW WHEN (new.id = 40) EXECUTE FUNCTION hold()});
my $holder = TestServer::Session->new($node);
my $loader = TestServer::Session->new($node);
$loader->query('SET SESSION AUTHORIZATION alice');
for my $case (['symlink', sub { symlink("$bob/bobs.csv", "$alice/in_2.csv") }, '42501'], ['file', sub { link("$alice/named.csv", "$alice/in_2.csv") }, 'XX001'], ['FIFO', sub { mkfifo("$alice/in_2.csv", 0600) }, 'XX001'])
{
	$holder->query('SELECT pg_advisory_lock(7)');
	$loader->send("SELECT rows FROM tsurugi.load('heap', '{$alice/in_1.csv,$alice/in_2.csv}');");
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM pg_locks WHERE NOT granted'), 'a load waits');
	rename("$alice/in_2.csv", "$alice/kept") or die;
	$case->[1]->() or die;
	$holder->query('SELECT pg_advisory_unlock(7)');
	is($loader->wait, "ERROR $case->[2]", "a $case->[0] has taken the place of its second file");
	is(ask('SELECT count(*) FROM heap'), '0', 'nothing is loaded');
	rename("$alice/kept", "$alice/in_2.csv") or die;
}

SKIP:
{
	skip 'no failpoints', 1 unless TestServer::has_failpoints($node);
	like(psql_error("SET tsurugi_fdw.failpoints = 'openat2'; SET ROLE alice; SELECT tsurugi.load('heap', '{$alice/in_1.csv}')"), qr/0A000: files below tsurugi_fdw.file_roots are not supported on this system/, 'a system without openat2');
}
$_->close for $holder, $loader;
my $log = slurp_file($node->logfile);
is_deeply([grep { !/has been changed since the load began/ } $log =~ /^.* XX001 ERROR: .*$/mg], [], 'only files that have been changed are told to be');
$log =~ s/^.* XX001 .*\n//mg;
is(TestServer::internal_errors_in($log), '', 'no internal error');
$node->stop;
done_testing();

# Loads of files in CSV that are compressed as a whole, by gzip and zstd: the same rows as without, by the session and
# by the pool, which reads the contents from a temporary file.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('load_packed', 'tsurugi_fdw.workers' => 2);
my $own = $node->basedir;

sub ask { return $node->safe_psql('postgres', $_[0]) }

sub psql_error { return TestServer::psql_error($node, @_) }

sub configure { TestServer::configure($node, failpoints => $_[0]) }

sub is_clean { is(ask('SELECT count(*) FROM pg_ls_tmpdir()'), '0', "no temporary file is left by $_[0]") }

sub write_file
{
	my ($name, $bytes) = @_;

	unlink "$own/$name";
	append_to_file("$own/$name", $bytes);
}

ask(qq{CREATE TABLE source AS SELECT i AS id, 'text, "quoted" \n' || repeat(md5(i::text), i % 5) AS t FROM generate_series(1, 20000) i;
	CREATE FOREIGN TABLE memory (id int PRIMARY KEY, t text) SERVER tsurugi; CREATE TABLE heap (LIKE source);
	COPY source TO '$own/plain.csv' (FORMAT csv, HEADER)});
system("gzip -k '$own/plain.csv' && zstd -q -k '$own/plain.csv' && cat '$own/plain.csv.gz' > '$own/two.csv.gz'") == 0 or die;
my $packed = { gz => slurp_file("$own/plain.csv.gz"), zst => slurp_file("$own/plain.csv.zst") };
for my $ending ('gz', 'zst')
{
	for my $table ('heap', 'memory')
	{
		is(ask("TRUNCATE $table; SELECT rows, blocks, way FROM tsurugi.load('$table', '{$own/plain.csv.$ending}', options => '{\"header\": true}')"),
			'20000|1|' . ($table eq 'heap' ? 'session' : 'pool'), "$ending into $table");
		is(ask("SELECT count(*) FROM ((TABLE source EXCEPT ALL TABLE $table) UNION ALL (TABLE $table EXCEPT ALL TABLE source)) d"), '0', 'has the rows');
	}
	is(ask("SELECT rows, rejected FROM tsurugi.load('memory', '{$own/plain.csv.$ending}', on_error => 'skip', reject_file => '$own/rejects.csv', reject_limit => 20000, options => '{\"header\": true}')"),
		'0|20000', "$ending with rows that are left out");
	my $wanted = index(slurp_file("$own/plain.csv"), "\n2,") + 1;
	like(slurp_file("$own/rejects.csv"), qr/plain\.csv\.$ending"?,1,2,$wanted,/, 'whose places are those of the contents');
	is(ask("TRUNCATE heap; SELECT rows FROM tsurugi.load('heap', '{$own/plain.csv.$ending}', on_conflict => 'ignore', options => '{\"header\": \"match\"}')"), '20000', "$ending row by row");
	write_file("bad.csv.$ending", substr($packed->{$ending}, 0, length($packed->{$ending}) - 20));
	like(psql_error("SELECT * FROM tsurugi.load('heap', '{$own/bad.csv.$ending}', options => '{\"header\": true}')"),
		qr/22P04: could not decompress file ".*bad\.csv\.$ending": it is cut short.*CONTEXT:.*load of file/s, "$ending that is cut short");
	my $damaged = $packed->{$ending};
	substr($damaged, -3, 1) = chr(255 ^ ord substr($damaged, -3, 1)); # of the checksum, or the length
	write_file("bad.csv.$ending", $damaged);
	like(psql_error("SELECT * FROM tsurugi.load('heap', '{$own/bad.csv.$ending}', options => '{\"header\": true}')"), qr/22P04: could not decompress file/, "$ending that is damaged");
	write_file("bad.csv.$ending", slurp_file("$own/plain.csv"));
	like(psql_error("SELECT * FROM tsurugi.load('heap', '{$own/bad.csv.$ending}')"), qr/22P04: could not decompress file ".*": it is damaged, or not compressed/, "$ending that is none");
	is(ask('SELECT count(*) FROM heap'), '20000', 'and nothing of them is stored');
	my $pool = "'memory', '{$own/plain.csv.$ending}', transactional => false, options => '{\"header\": true}'";

	is(ask("SELECT way, reason FROM tsurugi.load($pool, dry_run => true)"), 'pool|tasks of the pool can read, convert and store all rows', "$ending is for the pool");
	unlink "$own/session.csv";
	rename "$own/rejects.csv", "$own/session.csv";
	configure('load_tiny_blocks');
	is(ask("SELECT rows, rejected, blocks, way FROM tsurugi.load($pool, on_error => 'skip', reject_file => '$own/rejects.csv', reject_limit => 20000)"),
		'0|20000|20000|pool', "tasks leave out the rows of $ending, block by block");
	my ($by_pool, $by_session) = map { join "\n", sort map { s/,(\d+),(\d+),(\d+),/,BLOCK,$2,$3,/r } split /\n/, slurp_file("$own/$_.csv") } 'rejects', 'session';
	is($by_pool =~ s/"duplicate[^"]*""[^"]*""[^"]*"//gr, $by_session =~ s/"duplicate[^"]*""[^"]*""[^"]*"//gr, 'the same rows as the session, with the same records');
	is(ask("TRUNCATE memory; SELECT rows, way FROM tsurugi.load($pool)"), '20000|pool', "and store those of $ending");
	is(ask("SELECT count(*) FROM ((TABLE source EXCEPT ALL TABLE memory) UNION ALL (TABLE memory EXCEPT ALL TABLE source)) d"), '0', 'all of them');
	configure('');
	like(psql_error("SELECT * FROM tsurugi.load('memory', '{$own/plain.csv.$ending}', options => '{\"header\": true}')"),
		qr/23505: duplicate key.*CONTEXT:  COPY memory, line 3: .*load of file ".*plain\.csv\.$ending"/s, 'what the pool gives up is loaded by the session, from the file itself');
	write_file("bad.csv.$ending", substr($packed->{$ending}, 0, length($packed->{$ending}) - 20));
	like(psql_error("SELECT * FROM tsurugi.load('memory', '{$own/bad.csv.$ending}', transactional => false, options => '{\"header\": true}')"),
		qr/22P04: could not decompress file ".*bad\.csv\.$ending": it is cut short/, "$ending that is cut short, by the pool");
	like(psql_error("SET temp_file_limit = '1MB'; SELECT * FROM tsurugi.load($pool)"), qr/53400: temporary file size exceeds temp_file_limit/, 'temporary files are limited');
	is_clean('loads');
	like(psql_error("SET statement_timeout = '50ms'; SELECT * FROM tsurugi.load('heap', array_fill('$own/plain.csv.$ending'::text, ARRAY[1000]), options => '{\"header\": true}')"),
		qr/57014/, "$ending that is cancelled");
}
# members of gzip and frames of zstd that follow each other, as split and cat make them; several files beside each other
for my $ending ('gz', 'zst')
{
	my $pack = $ending eq 'gz' ? 'gzip' : 'zstd -q';

	system("cd '$own' && head -c 300000 plain.csv | $pack -c > parts.csv.$ending && tail -c +300001 plain.csv | $pack -c >> parts.csv.$ending") == 0 or die;
	for my $transactional ('true', 'false')
	{
		is(ask("TRUNCATE memory; SELECT rows, way FROM tsurugi.load('memory', '{$own/parts.csv.$ending}', transactional => $transactional, options => '{\"header\": true}')"),
			'20000|pool', "$ending in parts, transactional: $transactional, by the pool");
		is(ask("SELECT count(*) FROM ((TABLE source EXCEPT ALL TABLE memory) UNION ALL (TABLE memory EXCEPT ALL TABLE source)) d"), '0', 'has the rows');
		my $files = join ',', map { ("$own/more_$_.csv.gz", "$own/more_$_.csv.zst", "$own/more_$_.csv") } 1 .. 2;

		is(ask("TRUNCATE memory; COPY (SELECT * FROM source WHERE id % 6 = 0) TO '$own/more_1.csv' (FORMAT csv); COPY (SELECT * FROM source WHERE id % 6 = 1) TO '$own/more_2.csv' (FORMAT csv);
			COPY (SELECT * FROM source WHERE id % 6 = 2) TO PROGRAM 'gzip -c > $own/more_1.csv.gz' (FORMAT csv); COPY (SELECT * FROM source WHERE id % 6 = 3) TO PROGRAM 'gzip -c > $own/more_2.csv.gz' (FORMAT csv);
			COPY (SELECT * FROM source WHERE id % 6 = 4) TO PROGRAM 'zstd -q -c > $own/more_1.csv.zst' (FORMAT csv); COPY (SELECT * FROM source WHERE id % 6 = 5) TO PROGRAM 'zstd -q -c > $own/more_2.csv.zst' (FORMAT csv);
			SELECT rows, files, way FROM tsurugi.load('memory', '{$files}', transactional => $transactional)"), '20000|6|pool', "several files, transactional: $transactional");
		is(ask("SELECT count(*) FROM ((TABLE source EXCEPT ALL TABLE memory) UNION ALL (TABLE memory EXCEPT ALL TABLE source)) d"), '0', 'have the rows');
	}
}
write_file('two.csv.gz', $packed->{gz} . $packed->{gz});
write_file('two.csv.zst', $packed->{zst} . $packed->{zst});
ask('TRUNCATE heap');
is(ask("SELECT rows FROM tsurugi.load('heap', '{$own/two.csv.$_}', columns => '{id,t}', options => '{\"header\": true}', on_error => 'skip')"), '40000', "$_ of several parts")
	for 'gz', 'zst';
like(psql_error("SELECT * FROM tsurugi.load('heap', '{$own/plain.parquet.gz}')"), qr/22023: the name of file ".*" has no known format|58P01/, 'only CSV is compressed so');
is(TestServer::internal_errors_in(slurp_file($node->logfile)), '', 'no internal error');
$node->stop;
done_testing();

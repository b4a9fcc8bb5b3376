# Files that are damaged, missing, or another server's.
#
# Whatever is done to them, the server starts, and ordinary tables work.  Tables in memory come back
# as they were, or say which file is damaged; none is silently empty or old.
#
# Then places one by one: bytes of all files, and the log that ends anywhere in the last
# transaction.  DAMAGE=n takes each n-th of them, in files of all kinds; without it a few are drawn.
# SEED takes others.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Chance;
use File::Path qw(remove_tree);
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('damage', 'tsurugi_fdw.load_wait' => '20s');
my $other = do { local $ENV{TG_INITDB_ANEW} = 1; TestServer::start('other') };
my $files = $node->data_dir . '/pg_tsurugi';
my $digest = q{SELECT (SELECT string_agg(a::text, ',' ORDER BY id) FROM a), (SELECT string_agg(b::text, ',' ORDER BY id) FROM b)};

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE a (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE b (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE TABLE ordinary (id int);
	INSERT INTO ordinary VALUES (1);
	INSERT INTO a SELECT i, 'a' || i FROM generate_series(1, 50) i;
	INSERT INTO b SELECT i, 'b' || i FROM generate_series(1, 50) i});
my $before_bases = $node->safe_psql('postgres', $digest);

# Copies of all files, while the server is stopped.
sub copy_files { my ($from, $to) = @_; remove_tree($to); PostgreSQL::Test::RecursiveCopy::copypath($from, $to) }

sub save
{
	my ($name) = @_;
	$node->stop;
	copy_files($node->data_dir, $node->basedir . "/$name");
	$node->start;
}
sub restore { my ($name) = @_; copy_files($node->basedir . "/$name", $node->data_dir) }

save('journal');
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
$node->restart;
$node->safe_psql('postgres', "UPDATE b SET v = v || '.' WHERE id > 10; DELETE FROM b WHERE id = 3");
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
is(scalar(() = glob "$files/base/part.*.2"), 1, 'a base after a start has files of the tables that have changed alone');
$node->safe_psql('postgres', "UPDATE b SET v = v || '!' WHERE id > 20; DELETE FROM a WHERE id = 4; INSERT INTO a VALUES (1000, 'new')");
my $whole = $node->safe_psql('postgres', $digest);
save('bases');
$node->stop;
$other->stop;

# Turns a byte of a file over: so far from its end, or from its beginning.
sub damage
{
	my ($file, $place) = @_;
	my $bytes = slurp_file($file);

	substr($bytes, $place, 1) = chr(255 ^ ord substr($bytes, $place, 1));
	unlink $file;
	append_to_file($file, $bytes);
}

sub journal { return (sort glob "$files/journal/*")[0] }

# The only file of a storage's rows in a base: of the table with the lower, or the higher id.
sub part
{
	my ($base, $place) = @_;

	return (sort grep { /^\Q$files\E\/base\/part.*\.$base$/ } glob "$files/base/*")[$place];
}

sub answer
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $code == 0 ? $out : $err;
}

# All tables are refused, and the file is named.
sub is_refused
{
	my ($name, $file, $code) = @_;

	$node->start;
	like(answer('SELECT count(*) FROM a'), qr/\Q${\($code \/\/ 'XX001')}\E.*\Q$file\E/s, "$name: the file is named");
	like(answer("INSERT INTO b VALUES (2000, 'x')"), qr/XX001/, 'nothing is written');
	is(answer('INSERT INTO ordinary VALUES (2); SELECT count(*) FROM ordinary'), '2', 'ordinary tables work');
	is(answer('SELECT state FROM tsurugi.durability'), 'refused', 'the view says so');
	$node->restart;
	like(answer('SELECT count(*) FROM a'), qr/XX001/, 'nor is it after the next start');
	$node->stop('immediate');
	$node->start;
	like(answer('SELECT count(*) FROM a'), qr/XX001/, 'nor after a crash');
}

# What can be read is there, and what is added stays.
sub opens_with_what_is_there
{
	my ($name, $rows) = @_;

	$node->stop;
	$node->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = on');
	$node->start;
	cmp_ok(answer('SELECT count(*) FROM a'), '>=', $rows, "$name: what can be read is loaded") if defined $rows;
	answer("CREATE FOREIGN TABLE later (id int PRIMARY KEY) SERVER tsurugi; INSERT INTO later VALUES (1), (2)");
	$node->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = off');
	$node->stop('immediate');
	$node->start;
	is(answer('SELECT count(*) FROM later'), '2', "$name: what comes later stays");
	$node->restart;
	is(answer('SELECT count(*) FROM later'), '2', 'after an orderly end, too');
}

# --- the journal -------------------------------------------------------------------------------

restore('journal');
damage(journal(), length(slurp_file(journal())) / 2);
is_refused('a frame of the journal', journal() =~ s/.*pg_tsurugi/pg_tsurugi/r);
like(answer('SELECT file FROM tsurugi.verify_files()'), qr/^\Q${\(journal() =~ s{.*pg_tsurugi}{pg_tsurugi}r)}\E$/, 'the check names it');
opens_with_what_is_there('a frame of the journal');
$node->stop;

restore('journal');
unlink journal();
is_refused('a missing journal', 'pg_tsurugi/journal');
$node->stop;

# Beside a running server, at the journal's end: a frame that is not whole is damage there, too, because
# all that a base needs of it is durable.
restore('bases');
$node->start;
{
	my ($file) = reverse sort glob "$files/journal/*";
	my $end = (answer('SELECT count(*) FROM a'), -s $file)[1];

	$node->safe_psql('postgres', q{INSERT INTO a VALUES (2000, 'damaged'); CHECKPOINT});
	open(my $handle, '+<:raw', $file) or die;
	sysseek $handle, $end + 1, 0;
	sysread $handle, my $byte, 1;
	sysseek $handle, $end + 1, 0;
	syswrite $handle, chr(255 ^ ord $byte);
	close $handle;
	$node->safe_psql('postgres', q{CREATE FOREIGN TABLE later (id int) SERVER tsurugi; INSERT INTO later VALUES (1)});
	like(answer('SELECT tsurugi.write_base()'), qr/58030: .*\n.*a frame is missing or damaged: file "pg_tsurugi\/journal/,
		'no base is written without what lies behind it');
	is(answer('SELECT id FROM later'), '1', 'which memory has');
}
$node->stop;

# --- the state -----------------------------------------------------------------------------------

restore('journal');
damage("$files/state", 20);
is_refused('a damaged state', 'pg_tsurugi/state');
opens_with_what_is_there('a damaged state', 50);
is(answer($digest), $before_bases, 'nothing is lost with it');
$node->stop;

restore('bases');
unlink "$files/state";
is_refused('a missing state', 'pg_tsurugi/state');
opens_with_what_is_there('a missing state', 50);
is(answer($digest), $whole, 'nothing is lost with it');
$node->stop;

restore('bases');
copy_files($other->data_dir . '/pg_tsurugi', $files);
is_refused("another server's files", 'pg_tsurugi/state');
$node->stop;

# --- bases ------------------------------------------------------------------------------------------

restore('bases');
damage($_, 60) for glob "$files/base/manifest.*";
is_refused('both manifests', 'pg_tsurugi/base/manifest');
$node->stop;

restore('bases');

# The files of rows: of each table in the first base, and of the one that has changed in the second.
my @parts = sort grep { !/manifest/ } glob "$files/base/*";
my ($first_a, $first_b, $second_b) = map { s/.*\///r } @parts;
is(@parts, 3, 'the second base names a file of the first one');
damage("$files/base/$second_b", -1);
$node->start;
is(answer($digest), $whole, 'a file of the last base: the one before it is used');
like(slurp_file($node->logfile), qr/has loaded the base before the last one/, 'and the log says so');
$node->stop;

restore('bases');
damage("$files/base/$first_b", -1);
$node->start;
is(answer($digest), $whole, 'a file of the former base: nothing depends on it');
$node->stop;

# One that both bases need.  Its table alone is lost, and stays so, and the files stay.
restore('bases');
unlink "$files/base/$first_a";
my $kept = join ' ', sort glob "$files/*/*";
for my $round (1 .. 3)
{
	$node->start;
	like(answer('SELECT count(*) FROM a'), qr/XX001/, "a missing file of both bases, start $round: its table is refused");
	like(answer("INSERT INTO a VALUES (1, 'x')"), qr/XX001/, 'for writers, too');
	is(answer('SELECT count(*) FROM b'), '49', 'the other one is there');
	like(answer('SELECT file FROM tsurugi.verify_files()'), qr/\Q$first_a\E$/, 'the check names the file');
	like(answer('SELECT tsurugi.write_base()'), qr/58030.*damaged/s, 'no base is written');
	$round == 2 ? $node->stop('immediate') : $node->stop;
}
is(join(' ', sort glob "$files/*/*"), $kept, 'all files are kept');
$node->start;
answer('BEGIN; TRUNCATE a; ROLLBACK');
like(answer('SELECT count(*) FROM a'), qr/XX001/, 'a TRUNCATE that is rolled back leaves it refused');
is(answer("TRUNCATE a; INSERT INTO a VALUES (1, 'x'); SELECT a FROM a"), '(1,x)', 'when it was truncated, it can be used');
$node->stop('immediate');
$node->start;
is(answer('SELECT a FROM a WHERE id = 1'), '(1,x)', 'after a crash, too');
is(answer('SELECT tsurugi.write_base()'), '3', 'and bases are written again');
$node->restart;
is(answer('SELECT a FROM a WHERE id = 1'), '(1,x)', 'and read');
$node->stop;

restore('bases');
unlink "$files/base/$first_a";
$node->start;
answer('DROP FOREIGN TABLE a');
$node->restart;
is(answer('SELECT tsurugi.write_base()'), '3', 'when the table was dropped, bases are written again');
$node->restart;
is(answer('SELECT count(*) FROM b'), '49', 'and read');
$node->stop;

# --- another format -----------------------------------------------------------------------------------

# Its number is in the eighth byte but one.
sub set_format
{
	my ($file, $format) = @_;

	open my $handle, '+<:raw', $file or die;
	seek $handle, 6, 0;
	print $handle chr $format;
	close $handle;
}

for my $files_of ($ENV{DAMAGE} ? ('state', 'journal/*', 'base/manifest.*', 'base/part.*') : ('state', 'base/manifest.*'))
{
	for my $format ($ENV{DAMAGE} ? (0, 200) : 0)
	{
		my @files = glob "$files/$files_of";

		restore('bases');
		set_format($_, $format) for @files;
		$node->start;
		like(answer('SELECT count(*) FROM b'), qr/XX001.*(?:of this format|base cannot be read)/s, "$files_of of format $format is not read");
		like(slurp_file($node->logfile), qr/\Q${\($files[0] =~ s{.*pg_tsurugi}{pg_tsurugi}r)}\E/, 'and named');
		$node->stop('immediate');
	}
}

# --- all of it ----------------------------------------------------------------------------------

restore('bases');
remove_tree($files);
$node->start;
like(answer($_), qr/55000: the contents of foreign table "[ab]" are missing.*pg_tsurugi/s, "without all files: $_")
	for 'SELECT count(*) FROM a', "INSERT INTO b VALUES (2000, 'x')";
is(answer('SELECT count(*) FROM ordinary'), '1', 'ordinary tables work');
is(answer('TRUNCATE a; SELECT count(*) FROM a'), '0', 'a table can be used again once it is truncated');
$node->stop;

# --- place by place ---------------------------------------------------------------------------------------

srand seed();

# Some of a number of places.
sub chosen
{
	my ($count) = @_;
	my $each = $ENV{DAMAGE};

	return $each ? grep { $_ % $each == 0 } 0 .. $count - 1 : int rand $count;
}

restore('bases');
my @every = map { s{^\Q$files/\E}{}r } glob "$files/state $files/*/*";
for my $file ($ENV{DAMAGE} ? @every : pick(@every))
{
	my $faults = '';

	for my $place (chosen(-s $node->basedir . "/bases/pg_tsurugi/$file"))
	{
		restore('bases');
		damage("$files/$file", $place);
		$node->start;
		for my $table (qw(a b))
		{
			my $got = answer("SELECT string_agg($table\::text, ',' ORDER BY id) FROM $table");

			$faults .= "$place: $got " if $got ne (split /\|/, $whole)[$table eq 'b'] && $got !~ /XX001/;
		}
		$faults .= "$place: ordinary " if answer('SELECT count(*) FROM ordinary') ne '1';
		$node->stop('immediate');
	}
	is($faults, '', "$file: a byte that is turned over leaves tables as they were, or refused");
}

# The log: the records of the last transaction, which is one of both kinds of tables.
restore('bases');
$node->start;
$node->safe_psql('postgres', 'CHECKPOINT; UPDATE ordinary SET id = 1; UPDATE a SET v = v WHERE id = 1');
my $before = answer($digest);
my $xid = $node->safe_psql('postgres', q{BEGIN; UPDATE a SET v = repeat('x', 50) WHERE id = 1; UPDATE ordinary SET id = 2; SELECT pg_current_xact_id(); COMMIT});
my $segment = $node->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
my $after = answer($digest);
$node->stop('immediate');
copy_files($node->data_dir, $node->basedir . '/log');
my ($dumped) = run_command([ 'pg_waldump', $node->data_dir . "/pg_wal/$segment" ]);
my @records = map { /len \(rec\/tot\):\s+\d+\/\s*(\d+), tx:\s+$xid, lsn: \w+\/(\w+)/ ? [ hex($2) % (16 << 20), $1 ] : () } split /\n/, $dumped;
my $first = $records[0][0];
my $end = $records[-1][0] + $records[-1][1];
my $faults = '';
cmp_ok(@records, '>=', 3, 'the last transaction has records of both kinds');
for my $place (chosen($end - $first), $ENV{DAMAGE} ? $end - $first : ())
{
	my $cut;

	restore('log');
	open my $log, '+<:raw', $node->data_dir . "/pg_wal/$segment" or die;
	seek $log, $first + $place, 0;
	read $log, $cut, $end - $first - $place;
	seek $log, $first + $place, 0;
	print $log "\0" x ((16 << 20) - $first - $place);
	close $log;
	$node->start;
	my $got = answer("$digest; SELECT max(id) FROM ordinary");

	$faults .= "$place: $got " if $got ne ($cut =~ /[^\0]/ ? "$before\n1" : "$after\n2");
	$node->stop('immediate');
}
is($faults, '', 'a log that ends within the last transaction: it is absent from both kinds of tables, all else is there');

done_testing();

# One script, two kinds of tables, the same answers.
#
# Each file of test/same is run twice by psql, in databases of its own: with
# ordinary tables and, through tsurugi_fdw.create_table, with tables in memory.
# Everything psql prints has to be equal: rows, command tags, notices, and
# errors with their SQLSTATE and all their fields (schema, table, column, data
# type, constraint).  Rewritten before they are compared are only the words
# "foreign table" where PostgreSQL says what kind of table it is.
#
# Where the answers cannot be equal a file says so:
#   \if :memory ... \else ... \endif
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use File::Basename;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('same', max_connections => 20, jit => 'off'); # compiled plans would take a minute, where ways to scan are off
my $directory = dirname($0) . '/../same';

$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', $_)
	for 'CREATE EXTENSION tsurugi_fdw', 'CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw',
	'GRANT USAGE ON FOREIGN SERVER tsurugi TO PUBLIC', 'GRANT CREATE ON SCHEMA public TO PUBLIC';

sub database_name
{
	my ($file, $memory) = @_;

	return basename($file, '.sql') . ($memory ? '_memory' : '_ordinary');
}

# Begins to make the databases of a file, while those of the file before are at work.
sub begin_databases
{
	my ($file) = @_;
	my @commands = map { ('-c', 'CREATE DATABASE ' . database_name($file, $_) . ' TEMPLATE model STRATEGY file_copy') } 0, 1;

	return IPC::Run::start([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), @commands ], '<', \undef);
}

# What psql prints for a file, with tables in memory or not.
sub answers
{
	my ($file, $memory) = @_;
	my $database = database_name($file, $memory);
	my $out = '';

	# one name, so that a script may print it
	IPC::Run::run(
		[
			'psql', '-XaqA', '-v', 'VERBOSITY=verbose', '-v', 'SHOW_CONTEXT=never', '-v', "memory=$memory",
			'-v', 'ECHO=all', '-f', $file,
			'-d', $node->connstr($database)
			  . " options='-c tsurugi_fdw.create_table=" . ($memory ? 'on' : 'off') . "'"
		],
		'<', \undef, '>', \$out, '2>&1');
	# a script that leaves nothing in memory compares nothing
	my $tables = $node->safe_psql($database, 'SELECT count(*) FROM pg_foreign_table');
	$out .= "no table in memory\n" if $memory && $tables == 0;
	$node->safe_psql('postgres', "DROP DATABASE $database");
	$out =~ s/^LOCATION:.*\n//mg;
	$out =~ s/^psql:.*?: //mg;
	$out =~ s/_memory\b|_ordinary\b//g;
	$out =~ s/\bforeign table\b/table/g;
	$out =~ s/\bFOREIGN TABLE\b/TABLE/g;
	return $out;
}

my @files = @ARGV ? @ARGV : sort glob("$directory/*.sql");
my %named = map { $_ => 1 } split(' ', $ENV{TESTS} // '');
my @named = grep { $named{ basename($_, '.sql') } } @files;
@files = @named if @named; # TESTS names some of them
my $begun = begin_databases($files[0]);
for my $i (0 .. $#files)
{
	my $file = $files[$i];

	# What REINDEX finds in an ordinary table depends on the oldest transaction of all databases.
	my $alone = slurp_file($file) =~ /^-- alone\b/m;

	$begun->finish or die 'databases could not be made';
	$begun = $i < $#files && !$alone ? begin_databases($files[ $i + 1 ]) : undef;
	my $ordinary = answers($file, 0);
	my $memory = answers($file, 1);
	$begun = begin_databases($files[ $i + 1 ]) if $i < $#files && $alone;

	if (!ok($ordinary eq $memory, basename($file, '.sql')))
	{
		my $path = PostgreSQL::Test::Utils::tempdir();
		PostgreSQL::Test::Utils::append_to_file("$path/ordinary", $ordinary);
		PostgreSQL::Test::Utils::append_to_file("$path/memory", $memory);
		diag(scalar `diff -U3 $path/ordinary $path/memory`);
	}
}
$node->stop;
done_testing();

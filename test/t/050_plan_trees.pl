# Plans survive PostgreSQL's own means of handling them: with a library that copies, writes and reads
# each plan before it is executed (test/plan_trees), statements have the same answers and the same
# plans as without it.  The statements are those of other tests, for every way to read a table.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = "$ENV{TESTDIR}/plan_trees.so";
my $include = `pg_config --includedir-server`;
chomp $include;
system("gcc -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -fPIC -shared -I'$include' -o '$library' test/plan_trees/plan_trees.c") == 0
	or die 'the library cannot be built';

my $node = TestServer::start('plan_trees');
my $number = 0;

# All that psql prints for a file, in a database of its own; tables of test/same are in memory, too.
sub run_file
{
	my ($file, $options) = @_;
	my $database = 'plan_trees_' . ++$number;
	my $output;

	-f $file or die "there is no $file";
	$options .= ' -c tsurugi_fdw.create_table=on' if $file =~ m{^test/same/};
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');
	{
		local $ENV{PGOPTIONS} = $options;
		run_log([ 'psql', '-Xaq', '-v', 'memory=1', '-d', $node->connstr($database), '-f', $file ], '>', \$output, '2>&1');
	}
	$node->safe_psql('postgres', "DROP DATABASE $database");
	return $output =~ s/\bplan_trees_\d+\b/database/gr;
}

my $with_library = "-c session_preload_libraries=$library";
{
	local $ENV{PGOPTIONS} = $with_library;
	is($node->safe_psql('postgres', q{SELECT pg_read_file('/proc/self/maps') ~ 'plan_trees'}), 't', 'the library is loaded');
}
for my $file ((map { "sql/$_.sql" } qw(index_scan index_bound or_scan and_scan gin space_nearest tid modify prepared row_lock)),
	(map { "test/same/$_.sql" } qw(modify prepared prepared_modify current_of paths store)))
{
	is(run_file($file, $with_library), run_file($file, ''), "$file: the same answers by plans that were copied, written and read");
}
is(TestServer::internal_errors($node), '', 'no internal error');

$node->stop;
done_testing;

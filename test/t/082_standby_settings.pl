# A standby whose settings differ from the primary's: too little memory for the tables that there
# are, more than the primary has, and no library.
#
# Ordinary tables can be read, redo and the journal go on, and what is missing is named.  With enough
# of it, all is there.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off', 'wal_keep_size = 1GB',
	"log_line_prefix = '%m [%p] %q%a %e '", 'max_standby_streaming_delay = -1', "tsurugi_fdw.load_wait = '20s'";
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE TABLE ordinary (id int);
	INSERT INTO t SELECT i, repeat('v', 1000) FROM generate_series(1, 30000) i;
	INSERT INTO ordinary VALUES (1)});
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
my $digest = 'SELECT count(*), sum(id), sum(length(v)) FROM t';

sub memory { $standby->append_conf('postgresql.conf', "tsurugi_fdw.memory = '$_[0]'\ntsurugi_fdw.memory_max = '$_[1]'") }
sub add { $primary->safe_psql('postgres', "INSERT INTO t SELECT i, repeat('v', 1000) FROM generate_series($_[0], $_[1]) i; INSERT INTO ordinary VALUES ($_[0])") }
sub catch_up { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')) }
sub ask
{
	my ($code, $out, $err) = $standby->psql('postgres', $_[0], extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $code == 0 ? $out : $err;
}

# --- too little for what there is --------------------------------------------------------------------

$standby->init_from_backup($primary, 'copy', has_streaming => 1);
memory('20MB', '20MB');
$standby->start;
like(ask($digest), qr/57P03.*more than the 20MB that tsurugi_fdw\.memory_max allows/s, 'a statement says how much there may be');
like(ask('SELECT state, last_error FROM tsurugi.durability'), qr/^refused\|.*memory_max/, 'so does the view');
add(30001, 30010);
catch_up();
is(ask('SELECT count(*) FROM ordinary'), '2', 'ordinary tables are read, and follow');
memory('1GB', '2GB');
$standby->restart;
catch_up();
is(ask($digest), $primary->safe_psql('postgres', $digest), 'with more than the primary, all is there');

# --- without the library --------------------------------------------------------------------------------

$standby->stop;
add(200001, 200010);
$standby->adjust_conf('postgresql.conf', 'shared_preload_libraries', "''");
is($standby->start(fail_ok => 1), 0, 'without the library a standby does not start');
like(slurp_file($standby->logfile), qr/FATAL:.*resource manager with ID 128 not registered/, 'and names the resource manager');
$standby->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'tsurugi_fdw'");
unlink $standby->data_dir . '/postmaster.pid';
$standby->start;
catch_up();
is(ask($digest), $primary->safe_psql('postgres', $digest), 'with it, all is there');
is(TestServer::internal_errors($standby), '', 'no internal errors');
$standby->stop;
$primary->stop;
done_testing();

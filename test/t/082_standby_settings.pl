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
sub catch_up { TestServer::catch_up($primary, $standby) }
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

# --- too little for what comes --------------------------------------------------------------------------

my $begun = time;
my $logged = -s $standby->logfile;

# How often it is told, against how often it would be at every tenth second.
sub is_told_seldom
{
	my $count = () = substr(slurp_file($standby->logfile), $logged) =~ /cannot follow the log for now/g;

	cmp_ok($count, '<=', 2 + (time - $begun) / 10, $_[0]);
}

memory('80MB', '80MB');
$standby->restart;
is(ask('SELECT count(*) > 0 FROM t'), 't', 'the tables fit');
$primary->safe_psql('postgres', q{DO $$ BEGIN FOR i IN 1 .. 100 LOOP INSERT INTO t SELECT n, repeat('v', 1000) FROM generate_series(i * 1000000, i * 1000000 + 999) n; COMMIT; END LOOP; END $$});
$standby->wait_for_log('cannot follow the log for now', $logged);
$primary->safe_psql('postgres', 'UPDATE t SET v = v WHERE id = 1') for 1 .. 60;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')); # redo goes on, the tables do not
is_told_seldom('memory that runs out is told from time to time, not for each record');
$primary->stop;
$standby->promote;
is(ask('SELECT count(*) > 0 FROM ordinary'), 't', 'promoted, ordinary tables work');
is(ask('SELECT state FROM tsurugi.durability'), 'following', 'tables in memory wait');
is_told_seldom('that is told from time to time, too');
is(TestServer::internal_errors($standby), '', 'no internal errors');
$standby->stop;
done_testing();

# What a client was told is there on a synchronous standby whose power was cut, and which is promoted:
# pages and names of its journal, its bases and its log that were not synced are lost, or not (Power.pm,
# Acknowledged.pm).
#
# The power is cut while it follows, with restartpoints and bases under way, and during the start after
# that.  The primary is killed for good; the one that is promoted is the next one's primary.
#
# CYCLES: how many standbys (2).  SEED takes another seed.
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use Chance;
use Power;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

srand seed();

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1, extra => ['--wal-segsize=1']);
$primary->append_conf('postgresql.conf', $_) for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off', "log_line_prefix = '%m [%p] %q%a %e '",
	"max_wal_size = '8MB'", "min_wal_size = '2MB'", "wal_keep_size = '64MB'", "tsurugi_fdw.journal_size = '1MB'", "tsurugi_fdw.load_wait = '60s'";
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');

my $clients = Acknowledged->new($primary, 3);

# Something that writes files, on either side, until the standby has gone.
sub work
{
	my ($standby) = @_;
	my $until = time + 2;

	while (time < $until)
	{
		$primary->psql('postgres', pick('CHECKPOINT', 'SELECT pg_switch_wal()', 'SELECT pg_sleep(0.1)'));
		# a base waits for the next record of the primary, which the clients make
		$standby->psql('postgres', pick('CHECKPOINT', "SET statement_timeout = '5s'; SELECT tsurugi.write_base()"));
	}
	Acknowledged::kill_all($standby);
	Acknowledged::kill_all($primary);
}

# It is killed before it has recovered what it has, or while tables are loaded.
sub cut_start
{
	my ($standby, $power) = @_;

	{
		local %ENV = (%ENV, %{ $power->environment });
		TestServer::begin_start($standby);
	}
	select undef, undef, undef, rand 0.5;
	Acknowledged::kill_all($standby);
	$power->cut;
}

for my $cycle (1 .. $ENV{CYCLES} // 2)
{
	my $standby = PostgreSQL::Test::Cluster->new("standby_$cycle");

	$primary->backup("copy_$cycle");
	$standby->init_from_backup($primary, "copy_$cycle", has_streaming => 1);

	my $power = Power->new($standby);

	$power->start;
	$primary->append_conf('postgresql.conf', q{synchronous_standby_names = '*'});
	$primary->reload;
	$primary->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'") or die;
	$clients->run(0.2, sub { work($standby) });
	$power->cut;
	cut_start($standby, $power) if $cycle % 2 == 0;
	$standby->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
	$power->start;
	$standby->promote;
	$clients->{node} = $standby;
	$clients->check("standby $cycle");
	ok($clients->has_worked, 'and the clients have done something');
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
	is(TestServer::internal_errors($standby), '', 'no internal error');
	$primary = $standby;
}
$primary->stop;
done_testing();

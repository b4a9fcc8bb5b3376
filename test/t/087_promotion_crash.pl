# The worker of a standby is killed at named places: as it begins to follow, in a commit over both kinds
# of tables, and while the standby is promoted after its primary was killed.
#
# Clients work at synchronous_commit = remote_apply.  What they were told is there on the promoted
# server, each transaction whole; a transaction that was prepared goes on, with its key in an order that
# only PostgreSQL knows, for which a promotion has more to do; and what is done then survives a crash.
#
# POINTS: how many places are taken (2), by SEED, or "all"; CYCLES: how many times (make soak-crash: all,
# many times).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use Chance;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

# whether it is on the way to following, or to a server of its own
my %promotes = (follower_looks => 0, follower_begins => 0, follower_prepared => 0, follower_ends => 1, first_record => 1);
my $points = $ENV{POINTS} // 2;
my $number = 0;

# of its next start
sub set_failpoints { TestServer::configure_start($_[0], failpoints => $_[1]) }

sub start_primary
{
	my $primary = PostgreSQL::Test::Cluster->new('primary_' . ++$number);

	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
		"log_line_prefix = '%m [%p] %q%a %e '", 'restart_after_crash = on', "tsurugi_fdw.load_wait = '60s'",
		'max_prepared_transactions = 2';
	$primary->start;
	$primary->safe_psql('postgres', q{
		CREATE EXTENSION tsurugi_fdw; CREATE EXTENSION ltree; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
		CREATE FOREIGN TABLE path (way ltree PRIMARY KEY) SERVER tsurugi});
	return $primary;
}

sub start_standby
{
	my ($primary, $failpoints) = @_;
	my $standby = PostgreSQL::Test::Cluster->new("standby_$number");

	$primary->backup('copy');
	$standby->init_from_backup($primary, 'copy', has_streaming => 1);
	set_failpoints($standby, $failpoints);
	$standby->start(fail_ok => 1);
	return $standby;
}

# Until the log says that a process was killed.
sub is_killed
{
	my ($standby, $name) = @_;

	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return pass($name) if slurp_file($standby->logfile) =~ /was terminated by signal 9/;
		select undef, undef, undef, 0.1;
	}
	return fail($name);
}

# Whatever the server does by itself: it is started without the failpoint.
sub come_back
{
	my ($standby) = @_;
	my $postmaster = $standby->{_pid};

	set_failpoints($standby, '');
	$standby->stop('immediate', fail_ok => 1);
	select undef, undef, undef, 0.01 while defined $postmaster && kill 0, $postmaster;
	$standby->{_pid} = undef;
	$standby->start;
}

# The clients work until the primary is killed, and the standby has been promoted.
sub work
{
	my ($acknowledged, $primary, $standby, $promote) = @_;

	$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'\nsynchronous_commit = remote_apply");
	$primary->reload;
	$primary->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'") or die;
	$acknowledged->run(0.3, sub { Acknowledged::kill_all($primary); $promote->() });
	$acknowledged->{node} = $standby;
}

sub check
{
	my ($acknowledged, $standby, $name) = @_;

	$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die;
	$acknowledged->check($name);
	is($standby->safe_psql('postgres', "COMMIT PREPARED 'p'; SELECT way FROM path WHERE way = 'prepared'"), 'prepared', 'the prepared one goes on');
	$acknowledged->run(0.1, sub { Acknowledged::kill_all($standby); $standby->start });
	ok($acknowledged->has_worked, 'it works on');
	$acknowledged->check("$name, after a crash");
	is($standby->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
	is(TestServer::internal_errors($standby) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
	$standby->stop;
}

sub kill_at
{
	my ($point) = @_;
	my $primary = start_primary();
	my $acknowledged = Acknowledged->new($primary, 2);
	my $early = $point =~ /looks|begins/; # on each start

	$primary->safe_psql('postgres', "BEGIN; INSERT INTO path VALUES ('prepared'); PREPARE TRANSACTION 'p'");
	my $standby = start_standby($primary, $early ? "kill:$point" : '');
	if (!$promotes{$point})
	{
		if (!$early)
		{
			set_failpoints($standby, "kill:$point");
			$standby->restart;
			TestServer::catch_up($primary, $standby); # so that it does not load what comes now
			$primary->safe_psql('postgres', 'BEGIN; UPDATE account SET amount = amount; UPDATE purse SET amount = amount; COMMIT');
		}
		is_killed($standby, "$point: the worker was killed there");
		come_back($standby);
	}
	work($acknowledged, $primary, $standby, sub {
		TestServer::configure($standby, failpoints => "kill:$point") if $promotes{$point};
		system_log('pg_ctl', '-W', '-D', $standby->data_dir, '-l', $standby->logfile, 'promote');
		return if !$promotes{$point};
		is_killed($standby, "$point: the worker was killed there, in a promotion");
		come_back($standby);
	});
	check($acknowledged, $standby, $point);
}

{
	my $primary = start_primary();
	my $there = TestServer::has_failpoints($primary);

	$primary->stop;
	plan skip_all => 'no failpoints' unless $there;
}
srand seed();
for my $cycle (1 .. $ENV{CYCLES} // 1)
{
	my @taken = shuffled(sort keys %promotes);

	kill_at($_) for $points eq 'all' ? @taken : splice @taken, 0, $points;
}
done_testing();

# Histories across crashes and promotion: acknowledged reads and writes from before and after are one
# history (test/history).  Clients run random transactions; the server is killed and started again
# while they are at work, or its standby is promoted, and they go on.
#
# A commit that was acknowledged is there at the end, and what a client was shown stays, at READ
# COMMITTED and SERIALIZABLE, of tables in memory alone and of both kinds.  With synchronous_commit =
# off, where neither is promised, the checker finds what is lost; and so it does where a standby
# is promoted that was not waited for.
#
# ROUNDS: of promotions (1); behind the first one also in Tsurugi's kinds, each with another seed (make
# hunt: many).
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use Chance;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $program = "$ENV{TESTDIR}/history_crash";
my $include = `pg_config --includedir`;
chomp $include;
system("gcc -std=gnu11 -O2 -Wall -Wextra -Werror -I. -I'$include' -I/usr/include/postgresql -o '$program' test/history/*.c -lpq") == 0
	or die 'the checker cannot be built';

my $node = PostgreSQL::Test::Cluster->new('history');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'tsurugi_fdw'
restart_after_crash = on
log_line_prefix = '%m [%p] %q%a %e '
log_statement = none
autovacuum = off
deadlock_timeout = '20ms'
wal_writer_delay = '10s'
wal_writer_flush_after = '100MB'
});
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE history (id int, items text, code int, side int, tags int[], PRIMARY KEY (id), UNIQUE (code)) SERVER tsurugi;
	CREATE INDEX ON history (side); CREATE INDEX ON history USING gin (tags);
	CREATE TABLE shadow (id int PRIMARY KEY, items text)});

# Clients' progress: the highest key that has items.
sub has_reached
{
	my ($server, $key) = @_;

	return $server->poll_query_until('postgres', "SELECT coalesce(max(id), 0) >= $key FROM history WHERE items <> ''");
}

# The output of a run, during which each of the calls is made when the clients have come so far.
sub history
{
	my ($address, $level, $setting, $seed, @calls) = @_;
	my $output = '';
	my $transactions = 600 * (1 + @calls); # they must not end before the last call

	# the crash of the run before may have come after its clients' end
	$node->poll_query_until('postgres', 'WITH gone AS (DELETE FROM history RETURNING 1) SELECT count(*) >= 0 FROM gone') or die;
	my $timer = IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default);
	my $run = IPC::Run::start([ $program, $address, $level, $level, 6, $transactions, $seed, 'at-once', $setting, 'crashes' ],
		'<', \undef, '>', \$output, '2>&1', $timer);
	my $key = 0;

	for my $call (@calls)
	{
		has_reached($node, $key += 25) or die 'the clients do nothing';
		$call->();
	}
	$run->finish;
	return ($output, $? >> 8);
}

my @crashes = (
	sub { Acknowledged::kill_all($node); $node->start },
	sub { $node->safe_psql('postgres', 'SELECT tsurugi.write_base(); CHECKPOINT'); $node->stop('immediate'); $node->start },
	sub { kill 'KILL', TestServer::worker_pid($node) });
my $seed = seed();

for my $level (qw(rc ser))
{
	for my $setting (qw(plain mixed))
	{
		my ($output, $status) = history($node->connstr('postgres'), $level, $setting, $seed, @crashes);

		is($status, 0, "$level, $setting, seed $seed: one history across three crashes") or diag($output);
		like($output, qr/[1-9]\d* transactions lost their server/, 'in which some were lost');
	}
}

my ($lossy, $found) = history($node->connstr('postgres') . " options='-c synchronous_commit=off'", 'rc', 'plain', $seed, $crashes[0]);

is($found, 1, 'with synchronous_commit = off, something is lost');
like($lossy, qr/lost|not there at the end/, 'as what it is');

# --- promotion --------------------------------------------------------------------------------------

# A synchronous standby of the node.
sub start_standby
{
	my ($name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$node->backup($name);
	$standby->init_from_backup($node, $name, has_streaming => 1);
	$standby->append_conf('postgresql.conf', "primary_conninfo = '" . $node->connstr . " application_name=$name'\nsynchronous_standby_names = ''");
	$standby->start;
	$node->append_conf('postgresql.conf', "synchronous_standby_names = '$name'");
	$node->reload;
	$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'") or die;
	return $standby;
}

# The output of a run whose server is killed, after a call, and its standby promoted, which is the node from then on.
sub promoted_history
{
	my ($standby, $level, $setting, $commit, $before) = @_;
	my $address = 'dbname=postgres target_session_attrs=read-write host=' . join(',', map { $_->host } $node, $standby)
		. ' port=' . join(',', map { $_->port } $node, $standby) . " options='-c synchronous_commit=$commit'";
	my @found = history($address, $level, $setting, $seed, sub { $before->(); Acknowledged::kill_all($node); $standby->promote });

	is(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
	$node = $standby;
	return @found;
}

my $promotions = 0;

for my $round (1 .. $ENV{ROUNDS} // 1)
{
	for my $taken ([ 'rc', 'mixed' ], [ 'ser', 'plain' ], $round > 1 ? ([ 'ser', 'mixed' ], [ 'kinds', 'plain' ]) : ())
	{
		my ($level, $setting) = @$taken;
		my ($output, $status) = promoted_history(start_standby('standby_' . ++$promotions), $level, $setting, 'remote_apply', sub { });

		is($status, 0, "$level, $setting, seed $seed: one history across a promotion") or diag($output);
		like($output, qr/[1-9]\d* transactions lost their server/, 'in which some were lost');
	}
	$seed++;
}

# --- a standby that lacks commits -------------------------------------------------------------------

my $cut_off = start_standby('cut_off');

($lossy, $found) = promoted_history($cut_off, 'ser', 'plain', 'local', sub {
	$cut_off->safe_psql('postgres', q{ALTER SYSTEM SET primary_conninfo = ''});
	$cut_off->reload;
	$cut_off->poll_query_until('postgres', 'SELECT count(*) = 0 FROM pg_stat_wal_receiver') or die;
	has_reached($node, 50) or die 'the clients do nothing'; });

is($found, 1, 'a standby that was not waited for lacks something');
like($lossy, qr/lost|not there at the end/, 'and it is found');
is(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
$node->stop;
done_testing();

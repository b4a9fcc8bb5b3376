# Settings of the pool's threads, as a server's configuration sets them: each is in force in the
# worker process after a reload, or a restart, and its effect is seen in the views.  What the
# scheduler does by each of them in detail is shown in test/unit.
#
# No check depends on how fast the machine is.  Either it waits for something that would come much
# too late, or never, without the setting, or it compares with a bound that holds by construction.
#
# Not here: steal_first and check_local_first_ratio, which only change an order, and
# distribution_spin, a trade of CPU for latency.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;
use Time::HiRes qw(time sleep);

# The collector gives the pool no tasks, and nothing is analyzed meanwhile.
my $node = TestServer::start('pool_settings',
	'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.distribution' => 'off', 'tsurugi_fdw.failpoints' => 'collector_pool');

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO t SELECT i, i FROM generate_series(1, 100000) i;
});

sub configure { TestServer::configure($node, @_) }

# Figures of all workers together, or of the pool.
sub figure
{
	my ($name) = @_;

	return $node->safe_psql('postgres', $name =~ /^(?:ticks|hangs|distributions)$/
		? "SELECT $name FROM tsurugi.scheduler"
		: "SELECT sum($name) FROM tsurugi.workers");
}

# Whether a figure grows by so much.
sub grows
{
	my ($name, $by, $action) = @_;
	my $before = figure($name);

	return TestServer::eventually(sub { $action->() if $action; figure($name) >= $before + $by });
}

# By how much a figure grows, a second.
sub rate
{
	my ($name) = @_;
	my ($before, $began) = (figure($name), time());

	sleep(1);
	my $grown = figure($name) - $before;
	return $grown / (time() - $began);
}

sub scan
{
	$node->safe_psql('postgres', 'SELECT count(v) FROM t; ' x ($_[0] // 1));
}

# --- sleep ---

configure(worker_suspend_timeout => '1ms');
ok(grows('suspensions', 1000), 'worker_suspend_timeout: workers without work wake after it');

configure(busy_worker => 'on');
ok(TestServer::eventually(sub { rate('suspensions') == 0 }), 'busy_worker: they do not sleep at all');

configure(task_polling_wait => '100ms');
ok(TestServer::eventually(sub { rate('steal_misses') <= 2 * 11 }), 'task_polling_wait: they look for work no more often');
configure(task_polling_wait => '0');
ok(grows('steal_misses', 10000), 'at 0 they look on and on');

# --- the watcher ---

configure(watcher_interval => '1s');
ok(TestServer::eventually(sub { rate('ticks') <= 2 }), 'watcher_interval: ticks come no more often');
configure(watcher_interval => '1ms');
ok(grows('ticks', 1000), 'and as often');
configure(watcher_interval => '0.1ms', hang_timeout => '1ms');
ok(grows('hangs', 1, sub { $node->safe_psql('postgres', 'CREATE INDEX i ON t (v); DROP INDEX i') }), 'hang_timeout: a task that runs for longer is counted');
ok(TestServer::eventually(sub { $node->log_contains('a task of job \d+ .* has been running for') }), 'and reported');
configure(watcher_interval => '1s', hang_timeout => '1h', worker_suspend_timeout => '1h', busy_worker => 'off');

# --- stealing ---

configure(worker_try_count => 100000, stealing_wait => 0);
ok(grows('steal_misses', 50000, \&scan), 'worker_try_count: so many rounds without work end in a sleep');
configure(stealing_wait => 1000000);
ok(TestServer::eventually(sub { my $before = figure('steal_misses'); scan(); sleep(0.2); figure('steal_misses') - $before < 1000 }),
	'stealing_wait: before them workers do not steal, but for a last look');
configure(worker_try_count => 16, stealing_wait => 1, stealing => 'off');
ok(TestServer::eventually(sub { my $before = figure('steal_misses'); scan(5); figure('steal_misses') == $before }), 'stealing: workers do not even try');

# Which workers take tasks of a session's scans.
sub takers
{
	my $run = 'SELECT array_agg(tasks_run ORDER BY worker) FROM tsurugi.workers';
	my ($before, $after) = split /\n/, $node->safe_psql('postgres', "$run; " . 'DO $$ BEGIN PERFORM count(v) FROM t; END $$; ' x 4 . $run);
	my @before = $before =~ /\d+/g;
	my @after = $after =~ /\d+/g;

	return grep { $after[$_] > $before[$_] } 0 .. $#before;
}
# A worker that has been in one task for longer than a tick is passed over.
ok(TestServer::eventually(sub { (my @preferred = takers()) == 1 }), 'preferred_worker: all tasks of a session go to one worker');
configure(preferred_worker => 'off');
ok(TestServer::eventually(sub { (my @all = takers()) == 2 }), 'off: to each in turn');

# --- what a start decides ---

is(figure('distributions'), 0, 'distribution: with off there was no distributor');

my @threads = TestServer::threads($node);
is_deeply([ sort grep { /^tg / } @threads ], [ 'tg watcher', 'tg worker 0', 'tg worker 1' ], 'nor a thread for it');

my ($core) = PostgreSQL::Test::Utils::slurp_file('/proc/self/status') =~ /^Cpus_allowed_list:.*?(\d+)$/m;
$node->append_conf('postgresql.conf', "tsurugi_fdw.distribution = thread\ntsurugi_fdw.core_affinity = on\ntsurugi_fdw.initial_core = $core\ntsurugi_fdw.workers = 1\ntsurugi_fdw.huge_pages = off");
isnt($node->safe_psql('postgres', 'SELECT huge_pages FROM tsurugi.memory'), 'off', 'huge_pages: they are asked for');
$node->restart;
$node->poll_query_until('postgres', "SELECT phase = 'running' FROM tsurugi.scheduler");
@threads = TestServer::threads($node);
is_deeply([ sort grep { /^tg / } @threads ], [ 'tg distributor', 'tg watcher', 'tg worker 0' ], 'with thread there is one');
is($node->safe_psql('postgres', 'SELECT core FROM tsurugi.workers'), $core, 'core_affinity and initial_core: the worker stays on that core');
is($node->safe_psql('postgres', 'SELECT huge_pages FROM tsurugi.memory'), 'off', 'huge_pages: they are not, with off');

is(TestServer::internal_errors($node), '', 'no internal errors');
$node->stop;
done_testing();

# Settings of jobs, as SQL meets them: which scans and builds the workers do, which the session.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

# Tasks of the pool are counted below: it collects nothing, and nothing is analyzed meanwhile.
my $node = TestServer::start('jobs', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.failpoints' => 'collector_pool');

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO t SELECT i, i FROM generate_series(1, 200000) i;
	CREATE ROLE small;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO small;
	GRANT SELECT ON t TO small;
});

# Puts settings of the configuration into force, in the worker process as well.
sub configure
{
	my (%settings) = @_;

	$node->safe_psql('postgres', "ALTER SYSTEM SET tsurugi_fdw.$_ = '$settings{$_}'") for keys %settings;
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	$node->poll_query_until('postgres', "SELECT current_setting('tsurugi_fdw.$_') = '$settings{$_}'") or die for keys %settings;
}

# What says who scanned: "pool" or "session".
sub scanned_by
{
	my $plan = $node->safe_psql('postgres',
		'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT v FROM t WHERE v < 10');

	return $plan =~ /Source: tasks of the pool/ ? 'pool' : $plan =~ /Source: in place/ ? 'session' : $plan;
}

# How an aggregation was computed: "job", or "fallback" if that was left to PostgreSQL's plan.
sub aggregated_by
{
	my ($setting) = @_;
	my $plan = $node->safe_psql('postgres',
		($setting // '') . 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT sum(v) FROM t GROUP BY v % 10');

	return $plan =~ /Fallback: .*Aggregate/s ? 'fallback' : $plan =~ /Tsurugi Job/ ? 'job' : $plan;
}

# Whether the workers took part in a build, by the number of tasks that they have run.
sub built_by
{
	my ($setting) = @_;
	my $tasks = 'SELECT sum(tasks_run) FROM tsurugi.workers';
	my $before = $node->safe_psql('postgres', $tasks);

	$node->safe_psql('postgres', ($setting // '') . 'CREATE INDEX i ON t (v)');
	my $after = $node->safe_psql('postgres', $tasks);
	is($node->safe_psql('postgres', 'SET enable_seqscan = off; SELECT id FROM t WHERE v = 77'), '77', 'the index has its entries');
	$node->safe_psql('postgres', 'DROP INDEX i');
	return $after > $before ? 'pool' : 'session';
}

is(scanned_by(), 'pool', 'hybrid: a scan of a whole table is above the level of what a session does itself');
is(built_by(), 'pool', 'so is the build of an index');
is(aggregated_by(), 'job', 'an aggregation is a job');

configure(lightweight_job_level => 40);
is(scanned_by(), 'session', 'with that level at 40 it is not');
is(built_by(), 'session', 'nor is the build');

configure(scheduler => 'stealing');
is(scanned_by(), 'pool', 'stealing: the workers scan, whatever the level');
is(built_by(), 'pool', 'and build');

configure(scheduler => 'serial', lightweight_job_level => 0);
is(scanned_by(), 'session', 'serial: the session scans, whatever the level');
is(built_by(), 'session', 'and builds');
is(aggregated_by(), 'fallback', 'and aggregates by PostgreSQL\'s plan, which can be interrupted');

configure(scheduler => 'hybrid', lightweight_job_level => 30);
$node->safe_psql('postgres', "ALTER ROLE small SET tsurugi_fdw.job_memory = '1kB'");
is($node->safe_psql('postgres', "SET tsurugi_fdw.job_memory = '1kB'; SELECT count(v) FROM t"), '200000', 'a scan that a job has too little memory for');
is(scanned_by(), 'pool', 'without a bound it is the workers again');
is(aggregated_by("SET tsurugi_fdw.job_memory = '100kB'; "), 'fallback', 'an aggregation that a job has too little memory for');
is(aggregated_by(), 'job', 'and with enough');
is($node->safe_psql('postgres', "SET ROLE small; SHOW tsurugi_fdw.job_memory"), '0', 'a role has its setting by its login');
is((TestServer::sqlstate($node, "SET ROLE small; SET tsurugi_fdw.job_memory = '1GB'")), '42501', 'and does not set it itself');
$node->safe_psql('postgres', 'ALTER ROLE small LOGIN');
is($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT v FROM t WHERE v < 10", extra_params => [ '-U', 'small' ]) =~ /Source: in place/ ? 'session' : 'pool',
	'session', 'where it has none, the session scans');
is(built_by("SET tsurugi_fdw.job_memory = '64kB'; "), 'pool', 'with little job_memory, too, the workers build, and every entry is there');

# keys that the session's own transaction has written are nobody's to wait for
for my $twin (1, 0)
{
	my $key = $twin ? 7 : 300000;
	is(TestServer::sqlstate($node, "SET tsurugi_fdw.job_memory = '64kB'; SET statement_timeout = '60s'; BEGIN; INSERT INTO t VALUES (300000, $key); CREATE UNIQUE INDEX i ON t (v); ROLLBACK"),
		$twin ? '23505' : '00000', 'so does that of a unique one in a transaction that has written ' . ($twin ? 'a key twice' : 'to the table'));
}

$node->stop;
done_testing();

# Jobs as SQL meets them: which scans, builds and queries the workers do, and which the session, in
# place, by the settings; rows that tasks store, beside other transactions, interrupts and crashes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

# Tasks of the pool are counted below: it collects nothing, and nothing is analyzed meanwhile.
my $node = TestServer::start('jobs', 'tsurugi_fdw.workers' => 2, 'tsurugi_fdw.failpoints' => 'collector_pool');

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO t SELECT i, i FROM generate_series(1, 200000) i;
	ANALYZE t;
	CREATE ROLE small;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO small;
	GRANT SELECT ON t TO small;
});

sub configure { TestServer::configure($node, @_) }

# What says who scanned: "pool" or "session".
sub scanned_by
{
	my $plan = $node->safe_psql('postgres',
		'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT v FROM t WHERE v < 10');

	return $plan =~ /Source: tasks of the pool/ ? 'pool' : $plan =~ /Source: in place/ ? 'session' : $plan;
}

# Where the plan of a job was run: "pool", "session" (in place), or "fallback" if that was left to
# PostgreSQL's plan.
sub place_of
{
	my ($plan) = @_;

	return $plan =~ /Fallback: .*Aggregate/s ? 'fallback' : $plan !~ /Tsurugi Job/ ? $plan
	  : $plan =~ /Tasks: \d/ ? 'pool' : $plan =~ /Source: in place/ ? 'session' : $plan;
}

my $explain = 'EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF)';
my $long = 'SELECT sum(v) FROM t GROUP BY v % 10';
my $short = 'SELECT sum(v) FROM t WHERE id BETWEEN 1 AND 100';

sub aggregated_by
{
	my ($setting, $query) = @_;

	return place_of($node->safe_psql('postgres', 'SET tsurugi_fdw.jobs = force; ' . ($setting // '') . "$explain " . ($query // $long)));
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
is(aggregated_by(), 'pool', 'and an aggregation of it');
is(aggregated_by('', $short), 'session', 'one of few rows is not');
is(aggregated_by('', 'SELECT count(*) FROM t a JOIN t b USING (v) WHERE a.id < 100 AND b.id < 100'), 'session', 'nor is a join of few');

my $cost = 'SET tsurugi_fdw.jobs = on; ';
is(aggregated_by($cost, $short), 'session', 'by costs, too, an aggregation of few rows is a job');
like(aggregated_by($cost, 'SELECT sum(v) FROM t WHERE id BETWEEN 1 AND 5'), qr/Aggregate.*Foreign Scan/s, 'but for very few');

# A generic plan expects few rows between two parameters.
my $prepared = "SET plan_cache_mode = force_generic_plan; PREPARE p AS SELECT sum(v) FROM t WHERE id BETWEEN \$1 AND \$2; ";
is(aggregated_by($prepared, 'EXECUTE p(1, 1000)'), 'session', 'what is expected to be short begins in the session');
is(aggregated_by($prepared, 'EXECUTE p(1, 200000)'), 'pool', 'and goes to the workers, if it is not');
is($node->safe_psql('postgres', "SET tsurugi_fdw.jobs = force; ${prepared}EXECUTE p(1, 200000)"), '20000100000', 'with the same answer');

configure(lightweight_job_level => 60);
is(aggregated_by(), 'session', 'with that level at 60 the session aggregates all');

configure(lightweight_job_level => 40);
is(aggregated_by(), 'pool', 'at 40 the workers do');
is(scanned_by(), 'session', 'with that level at 40 it is not');
is(built_by(), 'session', 'nor is the build');

configure(scheduler => 'stealing');
is(scanned_by(), 'pool', 'stealing: the workers scan, whatever the level');
is(built_by(), 'pool', 'and build');
is(aggregated_by('', $short), 'pool', 'and aggregate even few rows');

configure(scheduler => 'serial', lightweight_job_level => 0);
is(scanned_by(), 'session', 'serial: the session scans, whatever the level');
is(built_by(), 'session', 'and builds');
is(aggregated_by(), 'session', 'and aggregates');

# In place a query is interrupted, also within a batch: none of the pairs goes on.
my $pairs = 'SELECT count(*) FROM t a JOIN t b ON a.v % 2 = b.v % 2 WHERE a.v + b.v < 0';
is(aggregated_by('', $pairs =~ s/< 0/< 0 AND a.id < 10 AND b.id < 10/r), 'session', 'and joins');
my $client = TestServer::Session->new($node);
$client->query('SET tsurugi_fdw.jobs = force');
is($client->query("SET statement_timeout = '100ms'; $pairs"), 'ERROR 57014', 'a timeout ends what would take an hour');
my $client_pid = $client->query("SET statement_timeout = 0; SET tsurugi_fdw.failpoints = 'stop:query_in_place'; SELECT pg_backend_pid()");
$client->send("$short;");
TestServer::has_stopped($client_pid) or die 'it does not run in place';
$node->safe_psql('postgres', "SELECT pg_cancel_backend($client_pid)");
kill 'CONT', $client_pid;
is($client->wait, 'ERROR 57014', 'a cancel ends one of few rows');
$client->query("SET tsurugi_fdw.failpoints = ''");

# Errors are those of PostgreSQL's plan; rows that were read, or stored, by then do not count.
is($client->query('SELECT sum(1 / (v - 50)) FROM t WHERE id < 100'), 'ERROR 22012', 'an error in place');
is($client->query($short), '5050', 'and the next statement');
is($client->query("SET tsurugi_fdw.job_memory = '64kB'; $short"), '5050', 'with little memory');
is(aggregated_by("SET tsurugi_fdw.job_memory = '64kB'; ", $short), 'fallback', 'that is left to PostgreSQL\'s plan');
$client->close;

configure(scheduler => 'hybrid', lightweight_job_level => 30);
$node->safe_psql('postgres', "ALTER ROLE small SET tsurugi_fdw.job_memory = '1kB'");
is($node->safe_psql('postgres', "SET tsurugi_fdw.job_memory = '1kB'; SELECT count(v) FROM t"), '200000', 'a scan that a job has too little memory for');
is(scanned_by(), 'pool', 'without a bound it is the workers again');
is(aggregated_by("SET tsurugi_fdw.job_memory = '100kB'; "), 'fallback', 'an aggregation that a job has too little memory for');
is(aggregated_by(), 'pool', 'and with enough');
is($node->safe_psql('postgres', "SET ROLE small; SHOW tsurugi_fdw.job_memory"), '0', 'a role has its setting by its login');
is((TestServer::sqlstate($node, "SET ROLE small; SET tsurugi_fdw.job_memory = '1GB'")), '42501', 'and does not set it itself');
$node->safe_psql('postgres', 'ALTER ROLE small LOGIN');
is($node->safe_psql('postgres', "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT v FROM t WHERE v < 10", extra_params => [ '-U', 'small' ]) =~ /Source: in place/ ? 'session' : 'pool',
	'session', 'where it has none, the session scans');
is(built_by("SET tsurugi_fdw.job_memory = '64kB'; "), 'pool', 'with little job_memory, too, the workers build, and every entry is there');

# The worker process ends, and no other one is started yet.
my $idle = TestServer::Session->new($node);
$idle->query('SET tsurugi_fdw.jobs = force');
my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
kill 'STOP', $postmaster;
$idle->query('SELECT pg_terminate_backend(' . TestServer::worker_pid($node) . ')');
for (1 .. 6000) { last if $idle->query('SELECT phase FROM tsurugi.scheduler') eq 'stopped'; select undef, undef, undef, 0.01 }
is($idle->query('SELECT phase FROM tsurugi.scheduler'), 'stopped', 'there is no worker');
is(place_of($idle->query("$explain $long")), 'session', 'without one the session aggregates all');
is($idle->query('SELECT sum(v) FROM t'), '20000100000', 'with the same answer');
kill 'CONT', $postmaster;
$node->poll_query_until('postgres', q{SELECT phase = 'running' FROM tsurugi.scheduler}) or die;
is(place_of($idle->query("$explain $long")), 'pool', 'then the workers do it again');
$idle->close;

# keys that the session's own transaction has written are nobody's to wait for
for my $twin (1, 0)
{
	my $key = $twin ? 7 : 300000;
	is(TestServer::sqlstate($node, "SET tsurugi_fdw.job_memory = '64kB'; SET statement_timeout = '60s'; BEGIN; INSERT INTO t VALUES (300000, $key); CREATE UNIQUE INDEX i ON t (v); ROLLBACK"),
		$twin ? '23505' : '00000', 'so does that of a unique one in a transaction that has written ' . ($twin ? 'a key twice' : 'to the table'));
}

# --- INSERT ... SELECT whose tasks store the rows ---

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE k (id int PRIMARY KEY, v int UNIQUE) SERVER tsurugi;
	CREATE FOREIGN TABLE other (id int PRIMARY KEY) SERVER tsurugi});
my $insert = 'INSERT INTO k SELECT id, v FROM t WHERE id <= 200000';

# What ran it: "job", or "fallback" with the reason; it is rolled back.
sub stored_by
{
	my ($before) = @_;
	my $plan = $node->safe_psql('postgres', "BEGIN; $before; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) $insert; ROLLBACK");

	return $plan =~ /Fallback: (.*)/ ? $1 : $plan =~ /store into k/ ? 'job' : $plan;
}

is(stored_by('SELECT'), 'job', 'INSERT ... SELECT is a job');
like(stored_by('DELETE FROM k; SET LOCAL tsurugi_fdw.job_memory = \'100kB\''), qr/not enough memory/, 'or left to the session, where it has too little memory');
like(stored_by("SET LOCAL tsurugi_fdw.transaction_type = 'long'; SET LOCAL tsurugi_fdw.write_preserve = 'k'"), qr/tasks cannot write for/, 'or in a LONG');
is($node->safe_psql('postgres', 'SELECT count(*) FROM k'), '0', 'nothing is left of any');

# Another transaction has a key that comes late.
my $holder = TestServer::Session->new($node);
my $storer = TestServer::Session->new($node);
my $waits = q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'INSERT INTO k%'};

for my $column ('id', 'v')
{
	for my $end ('ROLLBACK', 'COMMIT')
	{
		$holder->query('BEGIN; INSERT INTO k VALUES (' . ($column eq 'id' ? '150000, -1' : '-1, 150000') . ')');
		$storer->send("$insert;");
		$node->poll_query_until('postgres', $waits) or die;
		$holder->query($end);
		is($storer->wait, $end eq 'COMMIT' ? 'ERROR 23505' : '', "it waits for a transaction that has a key in $column: $end");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM k'), $end eq 'COMMIT' ? '1' : '200000', 'then has stored all rows, or none');
		$node->safe_psql('postgres', 'DELETE FROM k');
	}
}
$holder->query('BEGIN; INSERT INTO k VALUES (150000, -1)');
$storer->query('BEGIN; INSERT INTO other VALUES (1)');
$storer->send("$insert;");
$node->poll_query_until('postgres', $waits) or die;
$holder->send('INSERT INTO other VALUES (1);');
my ($storer_ends, $holder_ends);
if ($node->poll_query_until('postgres', q{SELECT count(*) < 2 FROM pg_stat_activity WHERE wait_event_type = 'Lock'}))
{
	# one of the two was the victim; its end lets the other go on
	$_->send('ROLLBACK;') for $storer, $holder;
	($storer_ends, $holder_ends) = map { $_->wait } $storer, $holder;
}
is(join(',', sort grep { /ERROR/ } $storer_ends, $holder_ends), 'ERROR 40P01', 'a cycle of waits through it is found');
is($node->safe_psql('postgres', 'SELECT count(*) FROM k'), '0', 'and nothing is stored');

# The pool is stopped in the middle of a task, and the session is interrupted.
my $pid = $storer->query('SELECT pg_backend_pid()');
for my $what ('cancel', 'terminate', 'rollback to')
{
	my $worker = TestServer::worker_pid($node);

	$storer->query($what eq 'rollback to' ? 'BEGIN; INSERT INTO k VALUES (-5, -5); SAVEPOINT s' : 'BEGIN');
	configure(failpoints => 'collector_pool,stop:store_rows');
	$storer->send("$insert;");
	TestServer::has_stopped($worker) or die 'no task has stored';
	$node->safe_psql('postgres', 'SELECT pg_' . ($what eq 'terminate' ? 'terminate' : 'cancel') . "_backend($pid)");
	TestServer::go_on_to_end($node, $worker, 'collector_pool', $storer);
	is($storer->wait, $what eq 'terminate' ? 'ERROR 57P01' : 'ERROR 57014', "$what: the statement ends");
	$storer->query('ROLLBACK TO s; COMMIT') if $what eq 'rollback to';
	$storer->query('ROLLBACK') if $what eq 'cancel';
	if ($what eq 'terminate')
	{
		$storer->close;
		$storer = TestServer::Session->new($node);
		$pid = $storer->query('SELECT pg_backend_pid()');
	}
	is($node->safe_psql('postgres', 'SELECT count(*), min(id) FROM k'), $what eq 'rollback to' ? '1|-5' : '0|', 'and none of its rows is left');
}
is($storer->query("DELETE FROM k; $insert; SELECT count(*), sum(v) FROM k"), '200000|20000100000', 'the next one stores them');

# Memory that is refused in the middle: the session inserts all rows once more.
configure(failpoints => 'collector_pool,store_refused');
like(stored_by('DELETE FROM k'), qr/not enough memory/, 'a task that gets no memory leaves the rows to the session');
configure(failpoints => 'collector_pool');
is($storer->query('SELECT count(*), sum(v) FROM k'), '200000|20000100000', 'whose rollback leaves those that were there');

# A crash in the middle, and one after the commit.
$storer->query('DELETE FROM k WHERE id % 2 = 0');
$storer->query("BEGIN; INSERT INTO k SELECT id, v FROM t WHERE id % 2 = 0");
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*), sum(v) FROM k'), '100000|10000000000', 'after a crash before the commit the rows are not there');
$node->safe_psql('postgres', 'INSERT INTO k SELECT id, v FROM t WHERE id % 2 = 0');
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*), sum(v), count(DISTINCT id) FROM k'), '200000|20000100000|200000', 'after one that comes later they are');

# A function in SQL keeps its plan for the statement, whatever happens to the table meanwhile: programs
# are made anew then, and the former ones go.
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE altered (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO altered SELECT i, i FROM generate_series(1, 100) i;
	CREATE FUNCTION total() RETURNS bigint LANGUAGE sql AS 'SELECT sum(v) FROM altered WHERE id < 50';
	CREATE FUNCTION alter_it(i int) RETURNS void LANGUAGE plpgsql AS
		$$BEGIN EXECUTE 'ALTER FOREIGN TABLE altered ALTER v SET STATISTICS ' || i; END$$;
	CREATE FUNCTION kept() RETURNS bigint LANGUAGE sql AS
		$$SELECT max(total_bytes) FROM pg_backend_memory_contexts WHERE name = 'job kept by tsurugi_fdw'$$;
});

my $totals = 'SELECT sum(a) FROM (SELECT total() AS a, alter_it(i) AS b, total() AS c FROM generate_series(1, %d) i) _;';

$storer = TestServer::Session->new($node);
$storer->query('SET tsurugi_fdw.jobs = force');
is($storer->query(sprintf($totals, 2)), '2450', 'a function in SQL beside changes of its table');
my $kept = $storer->query('SELECT kept()');
ok($kept, 'has its job kept');
is($storer->query(sprintf($totals, 50)), '61250', 'more changes');
is($storer->query('SELECT kept()'), $kept, 'make it no larger');

$node->stop;
done_testing();

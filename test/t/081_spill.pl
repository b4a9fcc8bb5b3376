# Jobs that write rows to temporary files: where these lie and what they are called, who is told of them; limits, faults of the disk, and ends at any moment. No file stays behind.
#
# That the answers are those of ordinary tables is shown by test/same/job_spill.sql and 035_queries.
use strict;
use warnings;
use lib 'test/t';
use Errno qw(EIO ENOSPC);
use Power;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('spill', 'tsurugi_fdw.workers' => 2, log_temp_files => 0, max_parallel_workers_per_gather => 0);
my $data = $node->data_dir;

plan skip_all => 'built without failpoints' unless TestServer::has_failpoints($node);

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int, k int, v text) SERVER tsurugi;
	INSERT INTO t SELECT g, g * 7919 % 100003, repeat('long ', g % 9) || g FROM generate_series(1, 100000) g;
	ANALYZE t});
$node->stop;
my $power = Power->new($node);
$power->start;

my $before = "SET tsurugi_fdw.job_memory = '3MB'; SET tsurugi_fdw.jobs = 'force'";
my %statements = (
	sort => 'SELECT count(*) FROM (SELECT id, k, v FROM t ORDER BY k, id OFFSET 0) x',
	groups => 'SELECT count(*) FROM (SELECT id, count(*), min(v) FROM t GROUP BY id OFFSET 0) x',
	join => 'SELECT count(*) FROM t JOIN t o ON o.id = t.id AND o.v = t.v');

# The temporary files that there are.
sub files { return map { glob("$data/$_") } 'base/pgsql_tmp/*', 'pg_tblspc/*/PG_15_*/pgsql_tmp/*' }

# The lines that the log has got about temporary files while something was done.
sub logged
{
	my ($do) = @_;
	my $from = -s $node->logfile;

	$do->();
	return slurp_file($node->logfile, $from) =~ /LOG:.*temporary file: (.*)/mg;
}

sub ask { return $node->safe_psql('postgres', "$before; $_[0]") }

sub configure { TestServer::configure($node, @_) }

# --- where they lie, who is told ---

for my $what (sort keys %statements)
{
	my $statement = $statements{$what};
	my @logged = logged(sub { is(ask($statement), '100000', "$what: the answer") });

	is(scalar @logged, 1, "$what: the log tells of a file");
	like($logged[0], qr{^path "base/pgsql_tmp/pgsql_tmp\d+\.\d+\.0", size [1-9]\d{6,}$}, "$what: its name and size");
	like(ask("EXPLAIN (ANALYZE, COSTS OFF) $statement"), qr/, [1-9]\d{3,} kB spilled/, "$what: EXPLAIN tells of it");
	is(join(' ', files()), '', "$what: it is gone");
}
like(ask("EXPLAIN (ANALYZE, COSTS OFF, FORMAT JSON) $statements{sort}"), qr/"Spilled": [1-9]\d{3,},/, 'so it does in other formats');
cmp_ok($node->safe_psql('postgres', "SELECT temp_files > 2 AND temp_bytes > 1000000 FROM pg_stat_database WHERE datname = 'postgres'"), 'eq', 't', 'and the statistics');

my $space = PostgreSQL::Test::Utils::tempdir();
$node->safe_psql('postgres', "CREATE TABLESPACE other LOCATION '$space'");
my ($line) = logged(sub { ask("SET temp_tablespaces = other; $statements{sort}") });
like($line, qr{^path "pg_tblspc/\d+/PG_15_\w+/pgsql_tmp/pgsql_tmp\d+\.\d+\.0"}, 'in another tablespace');
is(join(' ', files()), '', 'it is gone, too');

# --- limits, faults ---

sub fails
{
	my ($what, $setting, $state, $message) = @_;
	my ($code, $out, $error) = $node->psql('postgres', "$before; $setting; $statements{$what}", extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	like($error, qr/ERROR:  $state: $message/, "$what: $state");
	is(join(' ', files()), '', "$what: nothing is left");
}

for my $what (sort keys %statements)
{
	fails($what, "SET temp_file_limit = '256kB'", '53400', 'temporary file size exceeds temp_file_limit \(256kB\)');
	$power->fail('write', 'base/pgsql_tmp', 3, ENOSPC);
	fails($what, 'SELECT', '53100', 'could not write to file "base/pgsql_tmp/pgsql_tmp\d+\.\d+\.0": No space left on device');
	$power->fail('write', 'base/pgsql_tmp', 1, EIO);
	fails($what, 'SELECT', '58030', 'could not write to file "base/pgsql_tmp/pgsql_tmp\d+\.\d+\.0": Input/output error');
	$power->fail('open', 'base/pgsql_tmp', 1, EIO);
	fails($what, 'SELECT', '58030', 'could not create temporary file "base/pgsql_tmp/pgsql_tmp\d+\.\d+\.0": Input/output error');
	$power->fail_nothing;
	is(ask($statements{$what}), '100000', "$what: and without a fault all goes on");
}

# --- ends in the middle: a task has written, and the worker stops ---

my $session = TestServer::Session->new($node);

for my $what (sort keys %statements)
{
	for my $how ('cancel', 'terminate', 'rollback to')
	{
		my $worker = TestServer::worker_pid($node);
		my $pid = $session->query('SELECT pg_backend_pid()');

		$session->query($_) for $before, 'BEGIN', 'SAVEPOINT s';
		configure(failpoints => 'stop:query_spilled');
		$session->send("$statements{$what};");
		TestServer::has_stopped($worker) or die 'no task has written';
		is(scalar(my @there = files()), 1, "$what, $how: there is a file");
		$node->safe_psql('postgres', 'SELECT pg_' . ($how eq 'terminate' ? 'terminate' : 'cancel') . "_backend($pid)");
		TestServer::go_on_to_end($node, $worker, '', $session);
		is($session->wait, $how eq 'terminate' ? 'ERROR 57P01' : 'ERROR 57014', "$what, $how: the statement ends");
		if ($how eq 'terminate')
		{
			$session->close;
			$session = TestServer::Session->new($node);
		}
		else { $session->query($how eq 'rollback to' ? 'ROLLBACK TO s' : 'ROLLBACK') }
		# the process of a session that is terminated ends after its client knows
		ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_ls_tmpdir()"), "$what, $how: no file is left");
		$session->query('ROLLBACK') if $how eq 'rollback to';
	}
}
is($session->query('SELECT count(*) FROM tsurugi.jobs'), '0', 'nor a job');

# What a crash leaves is removed by the next start.
configure(failpoints => 'stop:query_spilled');
my $worker = TestServer::worker_pid($node);
$session->query($before);
$session->send("$statements{sort};");
TestServer::has_stopped($worker) or die 'no task has written';
is($node->safe_psql('postgres', "SELECT spilled > 0 FROM tsurugi.jobs WHERE kind = 'query'"), 't', 'the view of jobs tells what is written');
$node->append_conf('postgresql.auto.conf', "tsurugi_fdw.failpoints = ''");
$node->stop('immediate');
is(scalar(my @left = files()), 1, 'a crash leaves a file');
$power->start;
is(join(' ', files()), '', 'which is gone after the next start');
is(ask($statements{sort}), '100000', 'and the statement has its answer');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

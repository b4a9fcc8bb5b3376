# kill -9 while sessions load into a shared transaction by its handle: of the worker, of a session that
# loads, of one that has loaded, of the server, and of the session that commits, at places of the commit;
# then of a standby that follows.
#
# Each time two sessions load a file each into one transaction.  Afterwards all rows are there or none,
# on the primary and on the standby, and if none, all can be loaded again.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use SharedTransaction;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $rows = 1500; # of a file
my $node = PostgreSQL::Test::Cluster->new('primary');

$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "tsurugi_fdw.load_wait = '60s'", 'restart_after_crash = on', 'wal_keep_size = 1GB', 'tsurugi_fdw.workers = 2';
$node->start;
plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);

my $own = $node->basedir;

sub ask { return $node->safe_psql('postgres', $_[0]) }

ask(qq{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text NOT NULL, filler text) SERVER tsurugi;
	CREATE UNIQUE INDEX t_v ON t (v);
	INSERT INTO t VALUES (-1, 'before', '');
	CREATE TABLE source AS SELECT f * 100000 + i AS id, 'value ' || f * 100000 + i AS v, repeat('x', 1000) AS filler
		FROM generate_series(0, 1) f, generate_series(1, $rows) i});
ask("COPY (SELECT * FROM source WHERE id / 100000 = $_) TO '$own/$_.csv' (FORMAT csv)") for 0, 1;
$node->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;

sub begin { return ask(q{SELECT tsurugi.begin_transaction('t')}) }

sub load_of
{
	my ($handle, $file) = @_;

	return "SELECT rows FROM tsurugi.load('t', '{$own/$file.csv}', handle => '$handle')";
}

# The server has all rows of the source, beside the one from before, or none of them.
sub check
{
	my ($name, $all) = @_;
	my $found = ask('SELECT count(*) FROM t WHERE id >= 0');

	ok(defined $all ? $found == ($all ? 2 * $rows : 0) : $found == 0 || $found == 2 * $rows, "$name: all rows are there, or none")
		or diag("$found rows");
	is(ask('SELECT count(*) FROM ((TABLE t EXCEPT TABLE source) UNION ALL (SELECT * FROM source WHERE ' . ($found > 0 ? 'true' : 'false') . ' EXCEPT TABLE t)) d'),
		'1', 'and nothing else');
	same_on_standby();
}

sub same_on_standby
{
	my $digest = 'SELECT count(*), sum(hashtext(t::text)) FROM t';

	TestServer::catch_up($node, $standby);
	is($standby->safe_psql('postgres', $digest), ask($digest), 'the standby has the same rows');
}

# After a crash: what was open has gone, and is in nobody's way.
sub check_crash
{
	my ($name, $all) = @_;

	check($name, $all);
	is(ask('SELECT (SELECT count(*) FROM tsurugi.transactions) + (SELECT count(*) FROM tsurugi.shared_transactions) + (SELECT count(*) FROM tsurugi.verify_files())'), '0',
		'no transaction is open, and the files are whole');
	ask('DELETE FROM t WHERE id >= 0');

	my $handle = begin();

	ask(load_of($handle, $_)) for 0, 1;
	ask("SELECT tsurugi.commit_transaction('$handle')");
	check('loaded again', 1);
	ask('DELETE FROM t WHERE id >= 0');
}

# The server starts over by itself; its worker may stand at a failpoint, and then ends when it goes on.
sub wait_for_restart
{
	my ($worker) = @_;

	until ((TestServer::worker_pid($node) // $worker) != $worker)
	{
		kill 'CONT', $worker;
		select undef, undef, undef, 0.01;
	}
	$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM t') or die "the server does not come back\n";
}

sub abandon
{
	eval { $_->close } for @_; # what they talked to has gone
}

# --- in the middle of a load ------------------------------------------------------------------------

# who: of the worker, the session that loads, and the one that has loaded
for my $case ([ 'the worker', 0 ], [ 'a session that loads', 1 ], [ 'a session that has loaded', 2 ], [ 'the server' ])
{
	my ($name, $who) = @$case;
	my ($loaded, $loads) = map { TestServer::Session->new($node) } 1, 2;
	my @victims = (TestServer::worker_pid($node), map { $_->query('SELECT pg_backend_pid()') } $loads, $loaded);
	my $handle = begin();

	is($loaded->query('BEGIN; ' . load_of($handle, 0)), $rows, 'a session has loaded');
	TestServer::configure($node, failpoints => 'stop:load_stored');
	$loads->send(load_of($handle, 1) . ';');
	TestServer::has_stopped($victims[0]) or die 'no task has stored';
	TestServer::write_settings($node, failpoints => ''); # for processes that start from now on
	if (defined $who)
	{
		kill 'KILL', $victims[$who];
		wait_for_restart($victims[0]);
	}
	else
	{
		Acknowledged::kill_all($node);
		$node->start;
	}
	abandon($loaded, $loads);
	check_crash("$name is killed", 0);
}

# --- at the end -----------------------------------------------------------------------------------------

# Where the session is killed that commits, or aborts: whether all rows are there then.
for my $case ([ 'shared_committing', 0 ], [ 'log_part', 0 ], [ 'log_commit' ], [ 'log_durable', 1 ], [ 'shared_aborting', 0, 'abort' ])
{
	my ($place, $all, $end) = @$case;
	my $session = TestServer::Session->new($node);
	my $worker = TestServer::worker_pid($node);
	my $handle = begin();

	ask(load_of($handle, $_)) for 0, 1;
	$session->query("SET tsurugi_fdw.failpoints = 'kill:$place'");
	$session->send('SELECT tsurugi.' . ($end // 'commit') . "_transaction('$handle');");
	wait_for_restart($worker);
	abandon($session);
	check_crash("killed at $place", $all);
}

# --- a standby ------------------------------------------------------------------------------------------

# It has the log of all, and has applied nothing of it when it is killed.
{
	my $handle = begin();

	TestServer::stop_worker($standby);
	ask(load_of($handle, $_)) for 0, 1;
	ask("SELECT tsurugi.commit_transaction('$handle')");
	$node->wait_for_catchup($standby, 'flush', $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()'));
	Acknowledged::kill_all($standby);
	$standby->start;
	check('the standby is killed', 1);
	ask('DELETE FROM t WHERE id >= 0');
	same_on_standby();
}
is(TestServer::internal_errors($_) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error on ' . $_->name) for $node, $standby;
$standby->stop;
$node->stop;
done_testing();

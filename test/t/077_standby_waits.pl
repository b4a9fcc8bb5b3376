# Readers of a standby that wait for the worker, and the worker when it is behind (txn/mixed.c, 10 to 12).
#
# The worker stops in the middle of a commit over both kinds of tables.  A reader that comes when
# another one has been received has to see that one, too, and none of the later ones, whatever the
# worker does meanwhile.  Then a reader that stands still, so that the worker has no room for more
# commits; reads of what was acknowledged at remote_apply; and a journal that is damaged meanwhile.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", 'max_standby_streaming_delay = -1', "deadlock_timeout = '100ms'";
$primary->start;
plan skip_all => 'no failpoints' unless TestServer::has_failpoints($primary);
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (n int) SERVER tsurugi;
	CREATE FOREIGN TABLE altered (n int) SERVER tsurugi;
	CREATE TABLE heap (n int);
	CREATE TABLE more (n int);
	CREATE FOREIGN TABLE again (id int PRIMARY KEY) SERVER tsurugi;
	CREATE FOREIGN TABLE sorted (name text COLLATE "en_US.utf8" PRIMARY KEY, n int) SERVER tsurugi;
	CREATE INDEX ON sorted (n);
	INSERT INTO sorted VALUES ('b', 1), ('A', 2), ('a', 3);
	INSERT INTO ours VALUES (0)});
$primary->safe_psql('postgres', $_) for 'INSERT INTO heap VALUES (0)', 'INSERT INTO again SELECT generate_series(1, 100)';
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'stop:follower_prepared,mixed_forget'");
$standby->start;
$standby->poll_query_until('postgres', "SELECT state = 'following' FROM tsurugi.durability") or die;
my $worker = TestServer::worker_pid($standby);

# Redo has passed on what there is; the worker may stand.
sub pass_on { $primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert')) }
sub change { $primary->safe_psql('postgres', 'BEGIN; UPDATE ours SET n = n + 1; UPDATE heap SET n = n + 1; COMMIT'); pass_on() }

# For sessions of the standby that begin a statement from now on.
sub set_delay
{
	my ($delay) = @_;

	$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = $delay");
	$standby->reload;
	$standby->poll_query_until('postgres', 'SHOW max_standby_streaming_delay', $delay) or die;
}

# Others take the places of these rows, once no reader of the primary sees them.
sub give_again
{
	my ($delete, $first) = @_;

	$primary->safe_psql('postgres', $delete);
	$primary->poll_query_until('postgres', 'SELECT logs_waiting = 0 FROM tsurugi.collector') or die;
	$primary->safe_psql('postgres', "INSERT INTO again SELECT generate_series($first, $first + 99)");
	pass_on();
}

# The worker goes on, wherever it stops again, until it has applied everything.
sub goes_on
{
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		kill 'CONT', $worker;
		return 1 if $standby->safe_psql('postgres', 'SELECT behind_ms = 0 FROM tsurugi.durability') eq 't';
		select undef, undef, undef, 0.01;
	}
	return 0;
}

# Other failpoints of the worker, from its next look at the journal on.
sub set_failpoints
{
	my ($names) = @_;

	$standby->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = '$names'");
	$standby->reload;
}

# A session that has planned a statement, so that it waits for nothing before PostgreSQL's snapshot.
sub session
{
	my ($statement) = @_;
	my $session = TestServer::Session->new($standby);
	my $pid = $session->query('SELECT pg_backend_pid()');

	$session->query("SET plan_cache_mode = force_generic_plan; PREPARE it AS $statement; EXECUTE it");
	return ($session, $pid);
}

# It begins the statement, and waits for the worker.
sub waits
{
	my ($session, $pid) = @_;

	$session->send('EXECUTE it;');
	$standby->poll_query_until('postgres', "SELECT wait_event = 'tsurugi_fdw_follower' FROM pg_stat_activity WHERE pid = $pid") or die;
}

# The answer to a statement, while the worker goes on wherever it stops again.
sub answer
{
	my ($session) = @_;

	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		kill 'CONT', $worker;
		return $session->wait if $session->has_answered;
		select undef, undef, undef, 0.01;
	}
	return 'no answer';
}

my $both = 'SELECT (SELECT n FROM heap), (SELECT n FROM ours)';
my $view = 'SELECT applied_lsn < pg_last_wal_replay_lsn(), behind_ms > 0 FROM tsurugi.durability';
my $reader = TestServer::Session->new($standby);
my @early = session($both);
my @late = session($both);
my @now = session($both);

is($reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT sum(id) FROM again'), '5050', 'a reader has a snapshot');
$late[0]->query("SET tsurugi_fdw.failpoints = 'stop:mixed_match'");
change();
ok(TestServer::has_stopped($worker), 'the worker stands in a commit');
change();
is($standby->safe_psql('postgres', $view), 't|t', 'the view tells that it is behind');
is($now[0]->query("SET statement_timeout = '50ms'; EXECUTE it"), 'ERROR 57014', 'a reader that waits can be cancelled');
$now[0]->query('RESET statement_timeout');
waits(@now);
$standby->safe_psql('postgres', "SELECT pg_cancel_backend($now[1])");
is($now[0]->wait, 'ERROR 57014', 'also by another session');
waits(@$_) for \@early, \@late;
change();
give_again('DELETE FROM again', 1001);
is(answer($early[0]), '2|2', 'a reader gets what there was when it began, while the worker waits for another one');
ok(TestServer::has_stopped($late[1]), 'a second one stands before it takes its time');
kill 'CONT', $late[1];
is($late[0]->wait, '2|2', 'what that one needs has stayed');
$reader->query('COMMIT');
is(answer($now[0]->send('EXECUTE it;')), '3|3', 'after the reader from before, the worker goes on');

# A reader for which the worker waits comes to a table that it has not read yet.
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT sum(id) FROM again');
give_again('DELETE FROM again', 3001);
is($reader->query('SELECT n FROM ours'), '3', 'a reader for which the worker waits can read another table');
$primary->safe_psql('postgres', 'ALTER FOREIGN TABLE altered ADD COLUMN m int');
pass_on();
is(answer($reader->send('SELECT n FROM altered;')), 'ERROR 40P01', 'unless it has been altered since: they do not wait for each other');
$reader->query('ROLLBACK');
is(answer($now[0]->send('EXECUTE it;')), '3|3', 'then the worker goes on');

# The worker is behind by more than the time for which a snapshot may look for its time.  So nothing
# holds it back where rows have taken the places of others meanwhile.
$_->close for $early[0], $late[0], $now[0], $reader;
$standby->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'stop:follower_prepared,mixed_young'");
# The standby has another C library than the primary from now on.
my $libc = $standby->basedir . '/libc.so';
append_to_file("$libc.c", "const char *gnu_get_libc_version(void) { return \"2.30\"; }\n");
system_or_bail('gcc', '-shared', '-fPIC', '-o', $libc, "$libc.c");
{
	local $ENV{LD_PRELOAD} = $libc;
	$standby->restart;
}
$standby->poll_query_until('postgres', "SELECT state = 'following' FROM tsurugi.durability") or die;
$worker = TestServer::worker_pid($standby);
my $plan = sub { $_[0]->safe_psql('postgres', "SET enable_seqscan = off; EXPLAIN (COSTS OFF) SELECT FROM sorted WHERE $_[1]") };
like($plan->($primary, "name = 'A'"), qr/Key Cond/, 'the primary looks up a key that its C library orders');
unlike($plan->($standby, "name = 'A'"), qr/Key Cond/, 'a standby with another one does not');
like($plan->($standby, 'n = 2'), qr/sorted_n_idx/, 'but other keys');
is($standby->safe_psql('postgres', "SELECT n FROM sorted WHERE name = 'A'; SELECT n FROM sorted ORDER BY name; SELECT name FROM sorted WHERE n = 2"),
	"2\n3\n2\n1\nA", 'and finds the rows');
my @last = session('SELECT sum(id) FROM again');
change();
ok(TestServer::has_stopped($worker), 'the worker stands in a commit again');
set_delay('50ms');
is($last[0]->query('EXECUTE it'), 'ERROR 40001', 'a reader waits no longer than readers may hold up redo');
set_delay('-1');
give_again('BEGIN; UPDATE heap SET n = n + 1; DELETE FROM again; COMMIT', 2001);
$standby->safe_psql('postgres', 'SELECT pg_sleep(1.5)'); # that time
waits(@last);
is(answer($last[0]), '205050', 'the worker does not wait for commits that are shown to all');
$last[0]->close;

# A reader has begun to wait, and stands still.  The worker has to keep the commits that it has not
# looked at, and has room for 16384 of them.  Their ordinary halves remove nothing that it sees, for
# which redo would wait.
my @still = session($both);
change();
ok(TestServer::has_stopped($worker), 'the worker stands once more');
waits(@still);
kill 'STOP', $still[1];
set_failpoints('stop:follower_full');
ok(goes_on(), 'it has applied what that reader waits for');
$primary->safe_psql('postgres', q{SET synchronous_commit = off;
	DO $$ BEGIN FOR i IN 1 .. 16500 LOOP UPDATE ours SET n = n + 1; INSERT INTO more VALUES (i); COMMIT; END LOOP; END $$});
pass_on();
ok(TestServer::has_stopped($worker), 'without room for more commits the worker waits');
is($standby->safe_psql('postgres', $view), 't|t', 'and is behind');
kill 'CONT', $still[1];
is(answer($still[0]), '6|5', 'the reader gets what there was when it began');
ok(goes_on(), 'and the worker goes on');
is($standby->safe_psql('postgres', 'SELECT n, (SELECT count(*) FROM more) FROM ours'), '16505|16500', 'to the end');

# What COMMIT has returned from, a session of the standby sees.
$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$primary->reload;
$primary->poll_query_until('postgres', "SELECT sync_state = 'sync' FROM pg_stat_replication") or die;
my $acknowledged = '';
my $seen = '';
for my $n (1 .. 20)
{
	my $more = $n % 2 == 0 ? '; UPDATE heap SET n = n + 1' : '';

	$primary->safe_psql('postgres', "SET synchronous_commit = remote_apply; BEGIN; UPDATE ours SET n = $n$more; COMMIT");
	$acknowledged .= "$n ";
	$seen .= $still[0]->query('SELECT n FROM ours') . ' ';
}
is($seen, $acknowledged, 'a reader sees what was acknowledged at remote_apply');
is(join('', map { TestServer::internal_errors($_) } $primary, $standby), '', 'no internal errors');

# The journal is damaged behind the worker.
$primary->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$primary->reload;
set_failpoints('stop:follower_prepared');
change() while slurp_file("/proc/$worker/stat") !~ /\) T /;
change();
my $journal = (sort glob $standby->data_dir . '/pg_tsurugi/journal/*')[-1];
open my $file, '+<:raw', $journal or die;
seek $file, -1, 2;
read $file, my $byte, 1;
seek $file, -1, 2;
print $file chr(255 ^ ord $byte);
close $file;
set_failpoints('');
kill 'CONT', $worker;
is(answer($still[0]->send('SELECT n FROM ours;')), 'ERROR XX001', 'tables that cannot follow are refused');
like($standby->safe_psql('postgres', 'SELECT state, last_error FROM tsurugi.durability'), qr/^refused\|.*pg_tsurugi\/journal/, 'and the file is named');
is($primary->safe_psql('postgres', 'UPDATE heap SET n = -1 RETURNING n'), '-1', 'the primary goes on');
pass_on();
is($standby->safe_psql('postgres', 'SELECT n FROM heap'), '-1', 'so do ordinary tables, and redo');
$still[0]->close;

$standby->stop;
$primary->stop;
done_testing();

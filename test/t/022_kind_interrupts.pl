# Whoever waits for a LONG, as a LONG, for a safe snapshot or for the turn in a shared transaction can be ended at
# any time, in each of PostgreSQL's ways: at once, with its SQLSTATE, and nothing is left behind; those who
# were waited for, and those who wait beside, go on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;
use Time::HiRes qw(time);

my $node = TestServer::start('kind_interrupts', 'client_connection_check_interval' => "'50ms'");
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE u (id int PRIMARY KEY, v int) SERVER tsurugi;
	CREATE FOREIGN TABLE w (id int PRIMARY KEY, v int UNIQUE) SERVER tsurugi;
	INSERT INTO t SELECT i, 0 FROM generate_series(1, 10) i;
	INSERT INTO u SELECT * FROM t;
});
my $watch = TestServer::Session->new($node);

# What is waited for: a LONG, a writer, somebody's turn.
my ($long, $writer, $turn) = map { TestServer::Session->new($node) } 1 .. 3;

# The sessions that wait: for what, what each does before, and which statement then waits.
my @waits = (
	[ 'DEFERRABLE', 'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE', 'SELECT sum(v) FROM t' ],
	[ "a LONG's start, for a writer", q{SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = u; BEGIN}, 'SELECT sum(v) FROM t' ],
	[ "a LONG's start, for another LONG", q{SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = t; BEGIN}, 'SELECT sum(v) FROM u' ],
	[ 'a LONG, for a unique key', q{SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = 'w [{1},{50}]'; BEGIN;
		INSERT INTO w VALUES (1, 1)}, 'INSERT INTO w VALUES (2, 100)' ],
	[ 'READ ONLY and DEFERRABLE', 'SET tsurugi_fdw.transaction_type = read_only; BEGIN DEFERRABLE', 'SELECT sum(v) FROM t' ],
	[ 'SERIALIZABLE, to write what a LONG preserves', 'BEGIN ISOLATION LEVEL SERIALIZABLE', 'UPDATE t SET v = 1 WHERE id = 1' ],
	[ 'SERIALIZABLE, to read it', 'BEGIN ISOLATION LEVEL SERIALIZABLE', 'SELECT v FROM t WHERE id = 1' ],
	[ 'READ COMMITTED, to write it', 'BEGIN', 'INSERT INTO t VALUES (20, 1)' ],
	[ 'the turn in a shared transaction', 'ATTACH; BEGIN', 'INSERT INTO u VALUES (30, 1)' ],
);

sub waits_of
{
	my ($pids) = @_;

	return $watch->query("SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids) AND state = 'active' AND wait_event_type IN ('Lock', 'Extension')");
}

# Until the condition holds; false after a while.
sub until_true
{
	my ($condition) = @_;

	for (1 .. 50 * $PostgreSQL::Test::Utils::timeout_default)
	{
		return 1 if $condition->();
		select undef, undef, undef, 0.02;
	}
	return 0;
}

# All of it waits at once, and is ended in one way.
sub end_all
{
	my ($end, $deadlock_timeout, $state) = @_;
	my @sessions = map { TestServer::Session->new($node) } @waits;
	my @pids = map { $_->query('SELECT pg_backend_pid()') } @sessions;
	my $pids = join(', ', @pids);
	my $handle = $turn->query(q{SELECT tsurugi.begin_transaction('u')});

	my $go = sub {
		my ($i) = @_;

		$sessions[$i]->query("SET $end = '300ms'") if $end =~ /timeout/;
		$sessions[$i]->send("$waits[$i][2];");
	};

	$long->query("SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = t; BEGIN; UPDATE t SET v = v + 1 WHERE id = 1");
	$watch->query('INSERT INTO w VALUES (99, 99)'); # so that a fresh snapshot is after the LONG's start
	for my $i (0 .. $#waits)
	{
		(my $before = $waits[$i][1]) =~ s/ATTACH/SELECT FROM tsurugi.attach_transaction('$handle')/;

		$sessions[$i]->query("SET deadlock_timeout = '$deadlock_timeout'");
		$sessions[$i]->query($before);
		# PostgreSQL's own safe snapshot would wait for the SERIALIZABLE ones that are there, so it is taken before them
		next if $waits[$i][0] ne 'DEFERRABLE';
		$go->($i);
		until_true(sub { waits_of($pids[$i]) || $watch->query("SELECT state FROM pg_stat_activity WHERE pid = $pids[$i]") =~ /aborted/ })
			or diag('DEFERRABLE does not wait');
	}
	$turn->query("SELECT tsurugi.attach_transaction('$handle'); BEGIN; INSERT INTO u VALUES (40, 1)");
	$writer->query('BEGIN; UPDATE u SET v = v + 1 WHERE id = 1; INSERT INTO w VALUES (100, 100)');

	my $began = time;
	$go->($_) for grep { $waits[$_][0] ne 'DEFERRABLE' } 0 .. $#waits;
	if ($end !~ /timeout/)
	{
		ok(until_true(sub { waits_of($pids) == @waits }), "$end: all of them wait") or diag($watch->query(
			"SELECT pid, state, wait_event_type, query FROM pg_stat_activity WHERE pid IN ($pids)"));
		# long enough for what comes after the first deadlock_timeouts
		select undef, undef, undef, 0.2;
		$began = time;
		$watch->query("SELECT count(pg_${end}_backend(pid)) FROM pg_stat_activity WHERE pid IN ($pids)") if $end ne 'gone';
		$_->{run}->kill_kill(grace => 0) for $end eq 'gone' ? @sessions : ();
	}
	for my $i (0 .. $#waits)
	{
		is($sessions[$i]->wait, "ERROR $state", "$end, deadlock_timeout $deadlock_timeout: $waits[$i][0]") if $end ne 'gone';
		$sessions[$i]->query('ROLLBACK') if $end =~ /timeout|cancel/;
	}
	if ($end =~ /gone|terminate/)
	{
		ok(until_true(sub { $watch->query("SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids)") == 0 }), 'they are gone');
	}
	cmp_ok(time - $began, '<', 50, 'at once');
	$_->close for $end =~ /timeout|cancel/ ? @sessions : ();

	# those who were waited for go on, but for the shared transaction, which is whole or nothing
	is($turn->query('COMMIT'), 'ERROR 25P02', 'a session that works in the shared transaction is told of its end');
	$turn->query('ROLLBACK');
	$turn->query('SELECT tsurugi.detach_transaction()');
	$turn->query("SELECT tsurugi.dispose_transaction('$handle')");
	is($writer->query('COMMIT'), '', 'the writer commits');
	is($long->query('UPDATE t SET v = v + 1 WHERE id = 2; COMMIT; RESET ALL; SELECT sum(v) FROM t WHERE id <= 2'), '2', 'and so does the LONG');
	is($watch->query("SELECT (SELECT sum(v) FROM t) || ' ' || (SELECT sum(v) FROM u) || ' ' || (SELECT sum(v) FROM w)"), '2 1 199', 'nothing else is there');
	ok(until_true(sub { $watch->query('SELECT count(*) FROM tsurugi.transactions') == 0 }), 'no transaction is left')
		or diag($watch->query('SELECT * FROM tsurugi.transactions'));
	is($watch->query("SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND pid <> 0 AND relation >= 16384"), '0', 'and no lock');
	$watch->query('UPDATE t SET v = 0; UPDATE u SET v = 0; DELETE FROM w');
}

end_all('statement_timeout', '100s', '57014');
end_all('lock_timeout', '100s', '55P03');
end_all('lock_timeout', '20ms', '55P03');
end_all('cancel', '100s', '57014');
end_all('cancel', '20ms', '57014');
end_all('terminate', '20ms', '57P01');
end_all('gone', '100s');

# A look for circles that comes as the wait ends cancels nothing, but hides no request that comes beside it: at the
# stop the request comes before the look, or after it.
SKIP: {
	skip 'built without failpoints', 8
		if !TestServer::has_failpoints($node);

	my $pid = $writer->query('SELECT pg_backend_pid()');
	my %outcomes = ('circle_late' => '', 'circle_late,stop:circle_late' => 'ERROR 57014', 'circle_late,stop:wait_over' => 'ERROR 57014');

	for my $failpoints (sort keys %outcomes)
	{
		$long->query('SET tsurugi_fdw.transaction_type = long; SET tsurugi_fdw.write_preserve = t; BEGIN; UPDATE t SET v = v + 1 WHERE id = 1');
		$writer->query("SET tsurugi_fdw.failpoints = '$failpoints'");
		$writer->send('UPDATE t SET v = v + 1 WHERE id = 1;');
		ok(until_true(sub { waits_of($pid) }), 'a writer waits for a LONG');
		$long->query('ROLLBACK; RESET ALL');
		if ($failpoints =~ /stop/)
		{
			ok(TestServer::has_stopped($pid), 'it is stopped as the wait ends');
			$watch->query("SELECT pg_cancel_backend($pid)");
			kill 'CONT', $pid;
		}
		is($writer->wait, $outcomes{$failpoints}, "$failpoints: the statement goes on unless it is cancelled");
		$writer->query('RESET tsurugi_fdw.failpoints');
	}
}

$_->close for $watch, $long, $writer, $turn;
ok($node->poll_query_until('postgres', "SELECT coalesce(sum(bytes), 0) = 0 FROM tsurugi.memory_uses WHERE use IN ('logs', 'locks')"),
	'no memory of transactions is left in use');
$node->stop;
done_testing();

# What a COMMIT waits for, by tsurugi_fdw.commit_response: nothing, the flush of its record, or a
# standby.  Of transactions that changed tables in memory, or both kinds of tables, and of those that
# are committed by their handles.
#
# The WAL writer is stopped, so only a commit that waits flushes the log; the standby that is named is
# not there, so a commit that waits for it waits until it is cancelled.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use Test::More;

my $node = TestServer::start('response', wal_writer_delay => '10s', wal_level => 'replica', max_wal_senders => 1);
my $other = TestServer::Session->new($node);

$other->query('SET synchronous_commit = local');

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE m (v int) SERVER tsurugi;
	CREATE FOREIGN TABLE unlogged (v int) SERVER tsurugi OPTIONS (persistence 'unlogged');
	CREATE TABLE h (v int);
});

# The ways to commit a row: each takes a session, and may send what the caller waits for.
my %commits = (
	'memory alone' => sub { $_[0]->send('INSERT INTO m VALUES (1);') },
	'both kinds' => sub { $_[0]->send('BEGIN; INSERT INTO m VALUES (1); INSERT INTO h VALUES (1); COMMIT;') },
	'TRUNCATE' => sub { $_[0]->send('TRUNCATE m;') },
	'by its handle' => sub {
		my $handle = $_[0]->query(q{SELECT tsurugi.begin_transaction('m')});

		$_[0]->query("SELECT tsurugi.attach_transaction('$handle')");
		$_[0]->query('INSERT INTO m VALUES (1)');
		$_[0]->query('SELECT tsurugi.detach_transaction()');
		$_[0]->send("SELECT tsurugi.commit_transaction('$handle');");
	});

# A session with these settings.
sub session
{
	my ($response, $level) = @_;
	my $session = TestServer::Session->new($node);

	$session->query('SET synchronous_commit = ' . ($level // 'on'));
	$session->query("SET tsurugi_fdw.commit_response = $response");
	return $session;
}

# How a commit by this session ends: whether its record is flushed, or that it waits for a standby.
sub ending
{
	my ($session, $commit) = @_;
	my $pid = $session->query('SELECT pg_backend_pid()');
	my $waits = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = $pid AND wait_event = 'SyncRep'";
	my $mark;

	$other->query('SELECT txid_current()'); # (flushes what was there before)
	$mark = $other->query('SELECT pg_current_wal_insert_lsn()');
	$commit->($session);
	for (1 .. 3000)
	{
		if (index($session->{out}, "done $session->{number}\n") >= 0)
		{
			$session->wait;
			return $other->query("SELECT CASE WHEN pg_current_wal_flush_lsn() > '$mark' THEN 'flushed' ELSE 'not flushed' END");
		}
		if ($other->query($waits) eq 't')
		{
			$session->wait;
			return 'waits';
		}
		$session->{run}->pump_nb;
		select undef, undef, undef, 0.01;
	}
	return 'no end';
}

my $wal_writer = TestServer::stop_wal_writer($other);

# Without a standby.
for my $commit (sort keys %commits)
{
	for my $case (
		[ 'default', 'off', 'not flushed' ],
		[ 'default', 'on', 'flushed' ],
		[ 'accepted', 'on', 'not flushed' ],
		[ 'available', 'on', 'not flushed' ],
		[ 'stored', 'off', 'flushed' ],
		[ 'propagated', 'off', 'flushed' ])
	{
		my ($response, $level, $ending) = @$case;
		my $session = session($response, $level);

		is(ending($session, $commits{$commit}), $ending, "$commit: $response, synchronous_commit = $level");
		is($session->query('SHOW synchronous_commit'), $level, 'afterwards it is what it was');
		$session->close;
	}
}

# A block's own SET LOCAL gives way, too; a rollback leaves nothing behind.
my $session = session('available');
is(ending($session, sub { $_[0]->send('BEGIN; SET LOCAL synchronous_commit = on; INSERT INTO m VALUES (1); COMMIT;') }),
	'not flushed', 'SET LOCAL synchronous_commit');
$session->query('BEGIN; INSERT INTO m VALUES (1); ROLLBACK');
is($session->query('SHOW synchronous_commit'), 'on', 'after a rollback');
is(ending($session, sub { $_[0]->send('INSERT INTO h VALUES (1);') }), 'flushed', 'ordinary tables alone keep synchronous_commit');
is(ending($session, sub { $_[0]->send('BEGIN; INSERT INTO unlogged VALUES (1); INSERT INTO h VALUES (1); COMMIT;') }),
	'flushed', 'so do they with unlogged tables');
is($session->query("SET tsurugi_fdw.commit_response = 'durable'"), 'ERROR 22023', 'another word is an error');
$session->close;

# A standby that never comes.
$node->append_conf('postgresql.conf', q{synchronous_standby_names = 'nobody'});
$node->reload;
# (the checkpointer lets sessions wait, some time after the reload)
my $waits = session('default');
my $ending;
for (1 .. 1000)
{
	$ending = ending($waits, sub { $_[0]->send('INSERT INTO m VALUES (1);') });
	last if $ending eq 'waits';
}
is($ending, 'waits', 'by default, a commit waits for the standby');
$waits->close;
for my $commit (sort keys %commits)
{
	for my $case (
		[ 'available', 'on', 'not flushed' ],
		[ 'stored', 'on', 'flushed' ],
		[ 'stored', 'off', 'flushed' ],
		[ 'propagated', 'off', 'waits' ],
		[ 'propagated', 'local', 'waits' ],
		[ 'propagated', 'remote_apply', 'waits' ])
	{
		my ($response, $level, $ending) = @$case;
		my $session = session($response, $level);

		is(ending($session, $commits{$commit}), $ending, "with a standby, $commit: $response, synchronous_commit = $level");
		$session->close;
	}
}
kill 'CONT', $wal_writer;
$other->close;
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

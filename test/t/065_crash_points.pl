# kill -9 at named places: what was acknowledged is there afterwards, each transaction whole.
#
# A client inserts, into a table in memory and into an ordinary one, and says the number of each
# transaction that was acknowledged.  Meanwhile a process is killed where it passes a failpoint: the
# worker, or the startup process, at its files; the worker in the middle of a start, or where it writes
# a large transaction's records; a backend where it commits, aborts or prepares a large transaction, of
# one kind of tables or of both.  Those of a promotion are in 087_promotion_crash.pl.
#
# POINTS: how many places are taken (12), by SEED, or "all"; CYCLES: how many times (make soak-crash: all,
# many times).
use strict;
use warnings;
use lib 'test/t';
use Chance;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('points', 'tsurugi_fdw.load_wait' => '60s', 'max_prepared_transactions' => 2);
my $cycles = $ENV{CYCLES} // 1;
my $points = $ENV{POINTS} // 12;

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE ours (n int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE TABLE heap (n int PRIMARY KEY)});

my $told = 0; # the last number that was acknowledged
my $script = "${PostgreSQL::Test::Utils::tmp_check}/client.sql";

sub set_failpoint
{
	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = '$_[0]'");
}

sub start_client
{
	my $run = { out => '', err => '' };

	unlink $script;
	append_to_file($script, join '', map {
		"BEGIN; INSERT INTO ours VALUES ($_, 'row $_'); " . ($_ % 2 ? "INSERT INTO heap VALUES ($_); " : '') . "COMMIT;\n\\echo $_\n"
	} $told + 1 .. $told + 50000);
	$run->{handle} = IPC::Run::start([ 'psql', '-Xqat', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'), '-f', $script ],
		'<', \undef, '>', \$run->{out}, '2>', \$run->{err});
	$run->{handle}->pump until $run->{out} =~ /^\d+\n/m; # the first one was acknowledged
	return $run;
}

# Until the server has gone, with its sessions.
sub end_client
{
	my ($run) = @_;

	$run->{handle}->finish;
	$told = $1 if $run->{out} =~ /.*^(\d+)$/ms;
}

# Whatever the server does by itself meanwhile: it is started without the failpoint.
sub come_back
{
	my $postmaster = $node->{_pid};

	set_failpoint('');
	$node->stop('immediate', fail_ok => 1);
	select undef, undef, undef, 0.01 while kill 0, $postmaster;
	$node->{_pid} = undef;
	$node->start;
	$node->poll_query_until('postgres', 'SELECT count(*) >= 0 FROM ours') or die "the server does not come back\n";
}

sub check
{
	my ($name) = @_;
	my ($count, $last) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*), max(n) FROM ours');

	cmp_ok($last, '>=', $told, "$name: what the client was told is there");
	is($count, $last, 'without a gap');
	is($node->safe_psql('postgres',
			'SELECT count(*) FROM ours FULL JOIN heap USING (n) WHERE (n % 2 = 1) <> (heap IS NOT NULL) OR ours IS NULL'),
		'0', 'each transaction is whole');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
	$told = $last;
}

my $kills = 0;

# What the log has of processes that were killed.
sub has_killed
{
	my $count = () = slurp_file($node->logfile) =~ /was terminated by signal 9/g;
	my $more = $count > $kills;

	$kills = $count;
	return $more;
}

my $rows = 4000; # in the transaction of a backend that is killed: it logs some parts

# A session in a transaction with that many rows.
sub begin_large
{
	my ($count, $of_both) = @_;
	my $session = TestServer::Session->new($node);

	$session->query("BEGIN; INSERT INTO ours SELECT -i, repeat('x', 1000) FROM generate_series(1, $count) i");
	$session->query('INSERT INTO heap VALUES (-1)') if $of_both;
	return $session;
}

# All of its rows, or none, or those that are expected.
sub check_large
{
	my ($count, $expected) = @_;
	my $found = $node->safe_psql('postgres', 'WITH gone AS (DELETE FROM ours WHERE n < 0 RETURNING 1) SELECT count(*) FROM gone');

	ok(defined $expected ? $found == $expected : $found == 0 || $found == $count, 'the large transaction is there, or not')
		or diag "$found rows";
	$node->safe_psql('postgres', 'DELETE FROM heap WHERE n < 0');
}

# The worker, or the startup process, while something asks for its files.
sub kill_at_files
{
	my ($point) = @_;
	my $client = start_client();

	set_failpoint("kill:$point");
	$node->reload;
	# until a session is told that the server goes down
	1 while ($node->psql('postgres', $point =~ /base/ ? 'SELECT tsurugi.write_base()' : 'CHECKPOINT'))[0] == 0;
	end_client($client);
	come_back();
	ok(has_killed(), "$point: a process was killed there");
	check($point);
}

sub kill_in_start
{
	my ($point) = @_;
	my $client = start_client();
	my $killed;

	$node->stop('immediate');
	end_client($client);
	set_failpoint("kill:$point");
	$node->start(fail_ok => 1);
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last if $killed = has_killed();
		select undef, undef, undef, 0.1;
	}
	come_back();
	ok($killed, "$point: the worker was killed there");
	has_killed(); # more than once, perhaps
	check($point);
}

# Where tasks of the pool write the records of a COMMIT.
sub kill_pool
{
	my ($point) = @_;
	my $client = start_client();
	my $large = 'INSERT INTO ours SELECT -i FROM generate_series(1, 40000) i; DELETE FROM ours WHERE n < 0';

	set_failpoint("kill:$point");
	$node->reload;
	1 while ($node->psql('postgres', $large))[0] == 0;
	end_client($client);
	come_back();
	ok(has_killed(), "$point: the worker was killed there");
	check_large(40000, undef);
	check($point);
}

sub kill_backend
{
	my ($point, $how, $expected, $is_prepared) = @_;
	my ($end, $of_both) = $how =~ /^(.*?)( of both kinds)?$/;
	my $client = start_client();
	my $session = begin_large($rows, defined $of_both);
	my $failpoints = "kill:$point,skip_r7";

	$session->query("PREPARE TRANSACTION 'p'") if $end =~ / PREPARED/;
	$failpoints .= ',stop:log_part' if $point eq 'log_given_up';
	my $pid = $session->query('SELECT pg_backend_pid()');
	$session->send("SET tsurugi_fdw.failpoints = '$failpoints'; $end;");
	if ($point eq 'log_given_up')
	{
		TestServer::has_stopped($pid) or die 'the COMMIT logs no part';
		$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
		kill 'CONT', $pid;
	}
	end_client($client);
	come_back();
	ok(has_killed(), "$point of $how: a backend was killed there");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), $is_prepared ? '1' : '0', 'what is prepared goes on');
	$node->safe_psql('postgres', "$is_prepared 'p'") if $is_prepared;
	check_large($rows, $expected);
	check($point);
}

my @places = (
	(map { [ \&kill_at_files, $_ ] } qw(journal_write journal_sync state_write state_sync state_written state_renamed
		base_write base_sync base_finished base_counts)),
	(map { [ \&kill_in_start, $_ ] } qw(load_begin load_goes_on load_end first_record)),
	[ \&kill_pool, 'parts_write' ],
	# how many rows are there (undef: all or none), and the end of what is prepared
	(map { [ \&kill_backend, @$_ ] } (
		[ pre_commit => 'COMMIT', 0 ], [ log_part => 'COMMIT', 0 ], [ log_with => 'COMMIT of both kinds', 0 ], [ commit => 'COMMIT', 0 ],
		[ commit => 'COMMIT of both kinds', $rows ], [ log_commit => 'COMMIT' ], [ txn_committing => 'COMMIT' ], [ txn_committed => 'COMMIT' ],
		[ txn_committed => 'COMMIT of both kinds', $rows ], [ log_unflushed => 'COMMIT' ], [ log_durable => 'COMMIT', $rows ],
		[ abort => 'ROLLBACK', 0 ], [ abort => 'ROLLBACK of both kinds', 0 ], [ txn_aborted => 'ROLLBACK', 0 ], [ log_given_up => 'COMMIT', 0 ],
		[ log_with => "PREPARE TRANSACTION 'p'", 0 ], [ commit => "PREPARE TRANSACTION 'p' of both kinds", $rows, 'COMMIT PREPARED' ],
		[ prepared_held => "COMMIT PREPARED 'p'", 0, 'ROLLBACK PREPARED' ], [ prepared_decided => "COMMIT PREPARED 'p' of both kinds", $rows ],
		[ prepared_held => "ROLLBACK PREPARED 'p'", $rows, 'COMMIT PREPARED' ], [ prepared_decided => "ROLLBACK PREPARED 'p'", 0 ])));

srand seed();
for my $cycle (1 .. $cycles)
{
	my @taken = shuffled(@places);

	for my $place ($points eq 'all' ? @taken : splice @taken, 0, $points)
	{
		my ($kill, @where) = @$place;

		$kill->(@where);
	}
}
unlike(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, qr/./, 'no internal error');
$node->stop;
done_testing();

# kill -9 at named places: what was acknowledged is there afterwards, each transaction whole.
#
# A client inserts, into a table in memory and into an ordinary one, and says the number of each
# transaction that was acknowledged.  Meanwhile a process is killed where it passes a failpoint: the
# worker, or the startup process, at its files; the worker in the middle of a start; a backend in its
# commit, of a large transaction, too, and of one that is prepared.
#
# CYCLES: how many times all places are taken (make soak-crash: many).
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('points', 'tsurugi_fdw.load_wait' => '60s', 'max_prepared_transactions' => 2);
my $cycles = $ENV{CYCLES} // 1;

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
	$run->{handle}->pump until $run->{out} =~ /\n/; # at work
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

for my $cycle (1 .. $cycles)
{
	for my $point (qw(journal_write journal_sync state_write state_written state_renamed base_write base_sync base_finished base_counts))
	{
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
	for my $point (qw(load_begin load_end first_record))
	{
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
	# how many rows are there: of 2,000 in one transaction; undef: all or none
	for (
		[ pre_commit => 0 ], [ log_part => 0 ], [ log_with => 0 ], [ log_commit => undef ], [ log_unflushed => undef ],
		[ log_durable => 2000 ], [ prepared_held => 0 ], [ prepared_decided => 2000 ])
	{
		my ($point, $expected) = @$_;
		my $client = start_client();
		my $session = TestServer::Session->new($node);
		my $end = 'COMMIT';

		$session->query("BEGIN; INSERT INTO ours SELECT -i, repeat('x', 1000) FROM generate_series(1, 2000) i");
		$session->query('INSERT INTO heap VALUES (-1)') if $point eq 'log_with';
		if ($point =~ /prepared/)
		{
			$session->query("PREPARE TRANSACTION 'p'");
			$end = "COMMIT PREPARED 'p'";
		}
		$session->send("SET tsurugi_fdw.failpoints = 'kill:$point,skip_r7'; $end;");
		end_client($client);
		come_back();
		ok(has_killed(), "$point: a backend was killed there");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), $point eq 'prepared_held' ? '1' : '0', 'what is prepared goes on');
		$node->safe_psql('postgres', "ROLLBACK PREPARED 'p'") if $point eq 'prepared_held';
		my $rows = $node->safe_psql('postgres', 'WITH gone AS (DELETE FROM ours WHERE n < 0 RETURNING 1) SELECT count(*) FROM gone');

		ok(defined $expected ? $rows == $expected : $rows == 0 || $rows == 2000, 'the transaction is there, or not')
			or diag "$rows rows";
		check($point);
	}
}
unlike(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, qr/./, 'no internal error');
$node->stop;
done_testing();

# What a client was told is there after a crash.
#
# Clients insert, into a table in memory and in every other transaction into an ordinary one, too,
# and move amounts between rows of both kinds, until the server is gone.  They say the number of each
# transaction that was acknowledged.  Afterwards each of those is there; each transaction is whole, in
# both tables, or absent; those of a client are there without a gap; and no amount is lost.
#
# CYCLES: how many times (one for each way in which the server, or a part of it, ends).
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $clients = 4;
my @ways = (
	[ 'the postmaster and all others killed', sub { kill_all() } ],
	[ 'an immediate stop', sub { $_[0]->stop('immediate') } ],
	[ 'the worker killed', sub { kill 'KILL', TestServer::worker_pid($_[0]) } ],
	[ 'a fast stop', sub { $_[0]->stop('fast') } ],
	[ 'the worker terminated, then all killed', sub { kill 'TERM', TestServer::worker_pid($_[0]); kill_all() } ],
	[ 'a backend killed', sub { kill 'KILL', a_backend($_[0]) } ]);
my $cycles = $ENV{CYCLES} // scalar @ways;
my $node = TestServer::start('crash', 'checkpoint_timeout' => '30s', 'max_wal_size' => '64MB',
	'max_connections' => 30);

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE ours (client int, n int, v text, PRIMARY KEY (client, n)) SERVER tsurugi;
	CREATE INDEX ON ours (n);
	CREATE TABLE heap (client int, n int, PRIMARY KEY (client, n));
	CREATE FOREIGN TABLE account (id int PRIMARY KEY, amount int) SERVER tsurugi;
	CREATE TABLE purse (id int PRIMARY KEY, amount int);
	INSERT INTO account SELECT i, 100 FROM generate_series(1, 20) i;
	INSERT INTO purse SELECT i, 100 FROM generate_series(1, 20) i});

# All processes of the server at once, none of which can do anything any more.
sub kill_all
{
	my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
	my @children = split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");

	kill 'KILL', $postmaster, @children;
	# the next start would find them in shared memory
	while (grep { kill 0, $_ } $postmaster, @children) { select undef, undef, undef, 0.01; waitpid -1, 1 }
	$node->{_pid} = undef;
}

sub a_backend
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY pid LIMIT 1");
}

# A client's statements from its number first on, in a file.
sub write_script
{
	my ($client, $first) = @_;
	my $file = "${PostgreSQL::Test::Utils::tmp_check}/client_$client.sql";
	my $text = '';

	for my $n ($first .. $first + 20000)
	{
		my ($from, $to) = (1 + ($n * 7 + $client) % 20, 1 + ($n * 13 + $client * 3) % 20);
		my $more = $n % 2 ? "INSERT INTO heap VALUES ($client, $n); " : '';

		$more .= "UPDATE account SET amount = amount - 1 WHERE id = $from; UPDATE purse SET amount = amount + 1 WHERE id = $to; "
			if $n % 10 == 1;
		$more .= "UPDATE account SET amount = amount + 1 WHERE id = $to; UPDATE purse SET amount = amount - 1 WHERE id = $from; "
			if $n % 10 == 3;
		$more .= "SAVEPOINT s; DELETE FROM ours WHERE client = $client; ROLLBACK TO s; " if $n % 10 == 5;
		# a row that stays, and is changed, and one that goes
		$more .= "UPDATE ours SET v = v || '.' WHERE client = $client AND n = 1; " if $n % 10 == 6;
		$text .= "BEGIN; INSERT INTO ours VALUES ($client, $n, 'row $n'); ${more}COMMIT;\n\\echo $n\n";
	}
	append_to_file($file, $text);
	return $file;
}

my @told = (0) x $clients; # the last number that was acknowledged
my $way;

sub run_clients
{
	my ($end) = @_;
	my @runs;

	for my $client (0 .. $clients - 1)
	{
		my $file = write_script($client, $told[$client] + 1);
		my $run = { out => '', err => '' };

		$run->{handle} = IPC::Run::start(
			[ 'psql', '-Xqat', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres') . ' application_name=client', '-f', $file ],
			'<', \undef, '>', \$run->{out}, '2>', \$run->{err});
		push @runs, [ $run, $file ];
	}
	select undef, undef, undef, 1.5;
	$end->();
	for my $client (0 .. $clients - 1)
	{
		my ($run, $file) = @{ $runs[$client] };

		# those whose server goes on are ended
		select undef, undef, undef, 0.2;
		$run->{handle}->kill_kill(grace => 0);
		$run->{handle}->finish;
		unlink $file;
		$told[$client] = $1 if $run->{out} =~ /.*^(\d+)$/ms;
	}
}

for my $cycle (1 .. $cycles)
{
	my ($name, $end) = @{ $ways[ ($cycle - 1) % @ways ] };
	my @before = @told;

	run_clients(
		sub {
			$node->safe_psql('postgres', 'CHECKPOINT') if $cycle % 2;
			$end->($node);
		});
	$node->start unless -e $node->data_dir . '/postmaster.pid' && $node->{_pid};
	$node->poll_query_until('postgres', 'SELECT count(*) >= 0 FROM ours') or die "the server does not come back\n";
	# backends that were at work have ended
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'client'");

	for my $client (0 .. $clients - 1)
	{
		my ($count, $last) = split /\|/, $node->safe_psql('postgres',
			"SELECT count(*), coalesce(max(n), 0) FROM ours WHERE client = $client");

		cmp_ok($last, '>=', $told[$client], "$name: what client $client was told is there");
		is($count, $last, 'without a gap');
		$told[$client] = $last;
	}
	cmp_ok($told[0], '>', $before[0], 'and the clients have done something');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM ours FULL JOIN heap USING (client, n) WHERE (n % 2 = 1) <> (heap IS NOT NULL) OR ours IS NULL'),
		'0', 'each transaction is whole');
	is($node->safe_psql('postgres', 'SELECT (SELECT sum(amount) FROM account) + (SELECT sum(amount) FROM purse)'), '4000',
		'no amount is lost');
}
is(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
$node->stop;
done_testing();

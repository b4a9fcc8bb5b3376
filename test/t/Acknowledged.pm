# Clients that count what was acknowledged, and what has to be there of it after the server has ended.
#
# They insert, into a table in memory and in every other transaction into an ordinary one, too, and
# move amounts between rows of both kinds, until the server is gone.  They say the number of each
# transaction that was acknowledged.  Afterwards each of those is there; each transaction is whole, in
# both tables, or absent; those of a client are there without a gap; and no amount is lost.
package Acknowledged;

use strict;
use warnings;
use PostgreSQL::Test::Utils;
use TestServer;
use Test::More;

# Of a running server: makes its tables.
sub new
{
	my ($class, $node, $clients) = @_;
	my $self = bless { node => $node, clients => $clients, told => [ (0) x $clients ], before => [ (0) x $clients ] }, $class;

	$node->safe_psql('postgres', q{
		CREATE FOREIGN TABLE ours (client int, n int, v text, PRIMARY KEY (client, n)) SERVER tsurugi;
		CREATE INDEX ON ours (n);
		CREATE TABLE heap (client int, n int, PRIMARY KEY (client, n));
		CREATE FOREIGN TABLE account (id int PRIMARY KEY, amount int) SERVER tsurugi;
		CREATE TABLE purse (id int PRIMARY KEY, amount int);
		INSERT INTO account SELECT i, 100 FROM generate_series(1, 20) i;
		INSERT INTO purse SELECT i, 100 FROM generate_series(1, 20) i});
	return $self;
}

# A client's statements from its number first on, in a file; tests that run at once share the directory.
sub write_script
{
	my ($client, $first) = @_;
	my $file = "${PostgreSQL::Test::Utils::tmp_check}/client_" . $$ . "_$client.sql";
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
	unlink $file;
	append_to_file($file, $text);
	return $file;
}

# The clients work until each has been told of a transaction, or has ended, for so long more, and then
# until the call has ended the server, or a part of it.
sub run
{
	my ($self, $seconds, $end) = @_;
	my @runs;

	for my $client (0 .. $self->{clients} - 1)
	{
		my $file = write_script($client, $self->{told}[$client] + 1);
		my $run = { out => '', err => '' };

		$run->{handle} = IPC::Run::start(
			[ 'psql', '-Xqat', '-v', 'ON_ERROR_STOP=1', '-d', $self->{node}->connstr('postgres') . ' application_name=client', '-f', $file ],
			'<', \undef, '>', \$run->{out}, '2>', \$run->{err});
		push @runs, $run;
	}
	for my $run (@runs)
	{
		# psql says each statement, too
		$run->{handle}->pump while $run->{out} !~ /^\d+\n/m && $run->{handle}->pumpable;
	}
	select undef, undef, undef, $seconds;
	$end->();
	$self->{before} = [ @{ $self->{told} } ];
	for my $client (0 .. $self->{clients} - 1)
	{
		my $run = $runs[$client];

		# those whose server goes on are ended
		select undef, undef, undef, 0.2;
		$run->{handle}->kill_kill(grace => 0);
		$run->{handle}->finish;
		$self->{told}[$client] = $1 if $run->{out} =~ /.*^(\d+)\n/ms; # of a killed client the last line may be cut
	}
}

# The server is there again: is all of it?
sub check
{
	my ($self, $name) = @_;
	my $node = $self->{node};

	$node->poll_query_until('postgres', 'SELECT count(*) >= 0 FROM ours') or die "the server does not come back\n";
	# backends that were at work have ended
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'client'");
	for my $client (0 .. $self->{clients} - 1)
	{
		my ($count, $last) = split /\|/, $node->safe_psql('postgres',
			"SELECT count(*), coalesce(max(n), 0) FROM ours WHERE client = $client");

		cmp_ok($last, '>=', $self->{told}[$client], "$name: what client $client was told is there");
		is($count, $last, 'without a gap');
		$self->{told}[$client] = $last;
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM ours FULL JOIN heap USING (client, n) WHERE (n % 2 = 1) <> (heap IS NOT NULL) OR ours IS NULL'),
		'0', 'each transaction is whole');
	is($node->safe_psql('postgres', 'SELECT (SELECT sum(amount) FROM account) + (SELECT sum(amount) FROM purse)'), '4000',
		'no amount is lost');
}

# Whether the clients have done anything since the run before.
sub has_worked
{
	my ($self) = @_;

	return $self->{told}[0] > $self->{before}[0];
}

# All processes of the server at once, none of which can do anything any more.  It may be gone.
sub kill_all
{
	my ($node) = @_;
	my ($postmaster) = TestServer::read_if_there($node->data_dir . '/postmaster.pid') =~ /^(\d+)/ or return;

	kill 'STOP', $postmaster; # it makes no more children
	my @children = split ' ', TestServer::read_if_there("/proc/$postmaster/task/$postmaster/children");

	kill 'KILL', $postmaster, @children;
	# the next start would find them in shared memory
	while (grep { kill 0, $_ } $postmaster, @children) { select undef, undef, undef, 0.01; waitpid -1, 1 }
	$node->{_pid} = undef;
}

1;

# What a client was told is there after a crash (Acknowledged.pm).
#
# CYCLES: how many times (one for each way in which the server, or a part of it, ends).
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my @ways = (
	[ 'the postmaster and all others killed', sub { Acknowledged::kill_all($_[0]) } ],
	[ 'an immediate stop', sub { $_[0]->stop('immediate') } ],
	[ 'the worker killed', sub { TestServer::crash_by($_[0], TestServer::worker_pid($_[0])) } ],
	[ 'a fast stop', sub { $_[0]->stop('fast') } ],
	[ 'the worker terminated, then all killed', sub { kill 'TERM', TestServer::worker_pid($_[0]); Acknowledged::kill_all($_[0]) } ],
	[ 'a backend killed', sub { TestServer::crash_by($_[0], a_backend($_[0])) } ]);
my $cycles = $ENV{CYCLES} // scalar @ways;
my $node = TestServer::start('crash', 'checkpoint_timeout' => '30s', 'max_wal_size' => '64MB',
	'max_connections' => 30);
my $clients = Acknowledged->new($node, 4);

sub a_backend
{
	return $node->safe_psql('postgres',
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'client' ORDER BY pid LIMIT 1");
}

for my $cycle (1 .. $cycles)
{
	my ($name, $end) = @{ $ways[ ($cycle - 1) % @ways ] };

	$clients->run(1.5,
		sub {
			$node->safe_psql('postgres', 'CHECKPOINT') if $cycle % 2;
			$end->($node);
		});
	$node->start unless -e $node->data_dir . '/postmaster.pid' && $node->{_pid};
	$clients->check($name);
	ok($clients->has_worked, 'and the clients have done something');
}
is(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
$node->stop;
done_testing();

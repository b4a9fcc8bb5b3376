# The journal is filled and the log is kept until it is: checkpoints beside a running worker,
# orderly stops, crashes of every kind, a worker that is terminated, a server without one.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $node = TestServer::start('durable', 'tsurugi_fdw.load_wait' => '20s');
my $state = $node->data_dir . '/pg_tsurugi/state';
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY) SERVER tsurugi;
	INSERT INTO t VALUES (1);
	CREATE TABLE ordinary (id int);
});

# The file's D, and whether the log has nothing behind it (runtime/durable/state.h).
sub state_of
{
	my $bytes = slurp_file($state);
	my (undef, undef, undef, $low, $high, undef, undef, undef, undef, undef, undef, $clean) = unpack 'V14', "\0" x 0 . $bytes;
	my @words = unpack 'Q<6 V V', $bytes;

	return ($words[3], $words[6]);
}

# pg_lsn of a number.
sub lsn { sprintf '%X/%X', $_[0] >> 32, $_[0] & 0xffffffff }

sub is_covered
{
	my ($name) = @_;
	my ($durable) = state_of();
	my $lsn = lsn($durable);

	is($node->safe_psql('postgres', "SELECT redo_lsn <= '$lsn' FROM pg_control_checkpoint()"), 't', $name);
}

# Checkpoints complete, quickly, and never before the journal has what is below them.
my $longest = 0;
for (1 .. 20)
{
	$node->safe_psql('postgres', 'INSERT INTO ordinary SELECT generate_series(1, 100)');
	my $since = time;
	$node->safe_psql('postgres', 'CHECKPOINT');
	my $took = time - $since;
	$longest = $took if $took > $longest;
}
is_covered('a checkpoint that has completed is covered');
cmp_ok($longest, '<', 5, 'none is held for long');
is((state_of())[1], 0, 'while the server runs, the log may have more');

# An orderly stop.
$node->stop('fast');
is((state_of())[1], 1, 'an orderly end leaves a log that has no more');
$node->start;
is($node->safe_psql('postgres', 'INSERT INTO t VALUES (2); SELECT count(*) > 0 FROM t WHERE id = 2'), 't', 'tables work after the start');
is((state_of())[1], 0, 'the state says so before anything is logged');

# Every crash.
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM ordinary'), '2000', 'an immediate stop');
is_covered('the checkpoint at the end of recovery is covered');

sub await_restart
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', 'SELECT count(*) = 2000 FROM ordinary'), $name);
	is($node->safe_psql('postgres', 'INSERT INTO t VALUES (3) ON CONFLICT DO NOTHING; SELECT 1'), '1', 'tables work afterwards');
	$node->safe_psql('postgres', 'CHECKPOINT');
	is_covered('the next checkpoint is covered');
}

kill 'KILL', TestServer::worker_pid($node);
sleep 0.5;
await_restart('the worker is killed: the server starts over');

my $backend = TestServer::Session->new($node, 'backend');
my ($pid) = $backend->query('SELECT pg_backend_pid()') =~ /(\d+)/;
kill 'KILL', $pid;
sleep 0.5;
await_restart('a backend is killed: the server starts over');

my $postmaster = (split /\n/, slurp_file($node->data_dir . '/postmaster.pid'))[0];
$node->kill9;
sleep 0.1 while kill 0, $postmaster;
for (1 .. 100)
{
	last unless grep { TestServer::read_if_there($_) =~ /^PPid:\s*(?:1|$postmaster)$/m && TestServer::read_if_there($_) =~ /^Name:\s*postgres/m } glob '/proc/[0-9]*/status';
	sleep 0.1;
}
$node->start;
await_restart('the postmaster is killed');

# A worker that is terminated closes the log, and another one takes over.
my $worker = TestServer::worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'tsurugi_fdw worker' AND pid <> $worker"), 'a terminated worker is replaced');
is($node->safe_psql('postgres', 'SELECT id FROM t WHERE id = 3'), '3', 'and the tables are as they were');
$node->safe_psql('postgres', 'CHECKPOINT');
is_covered('checkpoints are covered by the new one');
unlike(slurp_file($node->logfile), qr/PANIC|could not \w+ file .* of tsurugi_fdw/, 'no file was in the way');
$node->stop;

done_testing();

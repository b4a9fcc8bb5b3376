# A base rests where sessions have no CPU to spare: after a stint of the pool's task, for as long as
# that has cost; but not while the journal is so long that changes may soon be refused.
#
# The kernel is said to have taken the task's CPU away again and again, for hours of work.  So a base
# that rests does so for days: it is only written if the worker hurries.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('rests');

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t SELECT i, md5(i::text) FROM generate_series(1, 50000) i});

my $worker = TestServer::worker_pid($node);
my $session = TestServer::Session->new($node);

# the rate makes a stint of each step: some thousands of rows
TestServer::configure($node, failpoints => 'base_loses_cpu,stop:base_rests', base_rate => '2MB');
$session->send('SELECT tsurugi.write_base();');
ok(TestServer::has_stopped($worker), 'a base rests after a stint');
TestServer::go_on($node, $worker, 'base_loses_cpu', sub { 1 });
ok(!$session->has_answered, 'and is not written meanwhile');
TestServer::configure($node, journal_max => '1MB');
is($session->wait, '1', 'it goes on when the journal is long');
$session->close;
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'its files are whole');
is(TestServer::internal_errors($node), '', 'no internal error');
$node->stop;
done_testing();

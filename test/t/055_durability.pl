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
	my @words = unpack 'Q<6 V', slurp_file($state);

	return @words[3, 6];
}

sub eventually { return TestServer::eventually(@_) }

# Each start of the server has a worker of its own.
sub has_another_worker { return TestServer::has_other_worker($node, $_[0]) }

# pg_lsn of a number.
sub lsn { sprintf '%X/%X', $_[0] >> 32, $_[0] & 0xffffffff }

# Nothing of ours lies between D and the redo position, or there is nothing behind D at all.
sub is_covered
{
	my ($name) = @_;
	my ($durable, $clean) = state_of();
	my $lsn = lsn($durable);

	is($node->safe_psql('postgres', "SELECT $clean = 1 OR redo_lsn <= '$lsn' FROM pg_control_checkpoint()"), 't', $name);
}

# Checkpoints complete, quickly, and never before the journal has what is below them.
my @took;
for (1 .. 20)
{
	$node->safe_psql('postgres', 'INSERT INTO ordinary SELECT generate_series(1, 100)');
	my $since = time;
	$node->safe_psql('postgres', 'CHECKPOINT');
	push @took, time - $since;
}
@took = sort { $a <=> $b } @took;
is_covered('a checkpoint that has completed is covered');
cmp_ok($took[10], '<', 5, 'they are not held for long');
cmp_ok($took[-1], '<', 60, 'and none for so long that no load of the machine explains it');
is((state_of())[1], 0, 'while the server runs, the log may have more');

# An orderly stop.
$node->stop('fast');
is((state_of())[1], 1, 'an orderly end leaves a log that has no more');
$node->start;
is($node->safe_psql('postgres', 'INSERT INTO t VALUES (2); SELECT count(*) > 0 FROM t WHERE id = 2'), 't', 'tables work after the start');
ok(eventually(sub { (state_of())[1] == 0 }), 'the state says so once something may be logged');

# Every crash.
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*) FROM ordinary'), '2000', 'an immediate stop');
is_covered('the checkpoint at the end of recovery is covered');
# headers take memory, and scans look at them
ok($node->poll_query_until('postgres', 'SELECT rows > 0 AND header_bytes = 0 FROM tsurugi.tables'),
	'rows that came from the journal lose their headers, though nothing is written');

sub await_restart
{
	my ($name, $before) = @_;

	ok(has_another_worker($before), $name);
	ok($node->poll_query_until('postgres', 'SELECT count(*) = 2000 FROM ordinary'), 'ordinary tables are as they were');
	is($node->safe_psql('postgres', 'INSERT INTO t VALUES (3) ON CONFLICT DO NOTHING; SELECT 1'), '1', 'tables work afterwards');
	$node->safe_psql('postgres', 'CHECKPOINT');
	is_covered('the next checkpoint is covered');
}

my $worker = TestServer::worker_pid($node);
kill 'KILL', $worker;
await_restart('the worker is killed: the server starts over', $worker);

$worker = TestServer::worker_pid($node);
my $backend = TestServer::Session->new($node);
my $pid = $backend->query('SELECT pg_backend_pid()');
kill 'KILL', $pid;
await_restart('a backend is killed: the server starts over', $worker);

# The worker is idle, and the checkpointer waits for nobody: both see by themselves that the
# postmaster has died.
$worker = TestServer::worker_pid($node);
$node->kill9;
ok(eventually(sub { !kill 0, $worker }), 'the postmaster is killed: the worker leaves');
ok(eventually(sub { $node->start(fail_ok => 1) }), 'and the server can be started');
await_restart('with another worker', $worker);

# Nothing is logged between a start and a checkpoint, and nothing behind it.
for (1 .. 3)
{
	$node->safe_psql('postgres', 'SELECT count(*) FROM t');
	eventually(sub { (state_of())[1] == 0 }) or die 'the log is not opened';
	$node->safe_psql('postgres', 'CHECKPOINT');
	is_covered('a checkpoint without anything before it');
	$node->stop('immediate');
	$node->start;
	is($node->safe_psql('postgres', 'INSERT INTO t VALUES (3) ON CONFLICT DO NOTHING; SELECT id FROM t WHERE id = 3'), '3', 'a crash right behind it');
}

# A worker that is terminated closes the log, and another one takes over.
$worker = TestServer::worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
ok(has_another_worker($worker), 'a terminated worker is replaced');
is($node->safe_psql('postgres', 'SELECT id FROM t WHERE id = 3'), '3', 'and the tables are as they were');
$node->safe_psql('postgres', 'CHECKPOINT');
is_covered('checkpoints are covered by the new one');
# A base, and another one; what a start reads.
is($node->safe_psql('postgres', 'SELECT tsurugi.write_base()'), '1', 'a base is written');
$node->safe_psql('postgres', 'INSERT INTO t SELECT generate_series(1000, 2000)');
is($node->safe_psql('postgres', 'SELECT tsurugi.write_base()'), '2', 'another one');
$node->safe_psql('postgres', 'INSERT INTO t VALUES (3000)');
# What one worker has written for a request, the next one does not write again.
$worker = TestServer::worker_pid($node);
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
ok(has_another_worker($worker), 'the worker is replaced once more');
# it looks whether a base is due beside each of them
$node->safe_psql('postgres', $_) for ('INSERT INTO t VALUES (3001)', 'CHECKPOINT', 'DELETE FROM t WHERE id = 3001', 'CHECKPOINT');
is($node->safe_psql('postgres', 'SELECT tsurugi.write_base()'), '3', 'it writes the base that it is asked for, and no other');
my $rows = $node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t');
$node->restart;
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), $rows, 'rows come back');
is($node->safe_psql('postgres', 'SELECT state, base, last_error IS NULL FROM tsurugi.durability, (SELECT count(*) FROM t) waited'), 'open|3|t',
	'a start begins with it');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');

# By itself, once the journal is long; and not again while nothing is added.
$node->append_conf('postgresql.conf', 'tsurugi_fdw.journal_size = 1MB');
$node->reload;
# scattered, because neighbours that ascend take a byte each in the log
my $logged_before = $node->lsn('insert');
$node->safe_psql('postgres', 'INSERT INTO t SELECT 10000 + i * 1009 % 1000003 FROM generate_series(1, 500000) i');
my $logged = $node->safe_psql('postgres', "SELECT trunc((pg_current_wal_insert_lsn() - '$logged_before') / 1048576)");
ok($node->poll_query_until('postgres', 'SELECT base > 3 FROM tsurugi.durability'), 'a long journal leads to a base');
$rows = $node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t');
sleep 1;
# the first one may have begun while the journal still grew
cmp_ok($node->safe_psql('postgres', 'SELECT base FROM tsurugi.durability'), '<=', 3 + $logged, "once for each MB of $logged");
$node->stop('immediate');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), $rows, 'rows come back from the base');

# The last base is damaged: the one before it is used, with its journal.
$node->stop;
my ($last) = sort { $b cmp $a } glob $node->data_dir . '/pg_tsurugi/base/manifest.*';
append_to_file($last, 'damage');
$node->start;
is($node->safe_psql('postgres', 'SELECT count(*), sum(id) FROM t'), $rows, 'a damaged base: rows come back from the one before it');
ok(eventually(sub { $node->safe_psql('postgres', 'SELECT tsurugi.write_base()') > 0 }), 'and the next one can be written');
unlike(slurp_file($node->logfile), qr/PANIC|could not \w+ file .* of tsurugi_fdw/, 'no file was in the way');

# With a limit, 3 MB take more than 2 seconds.  (The worker may follow the configuration a moment
# later.)
$node->append_conf('postgresql.conf', 'tsurugi_fdw.base_rate = 1MB');
$node->reload;
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE wide (v text) SERVER tsurugi');
my $took = 0;
for (1 .. 10)
{
	$node->safe_psql('postgres', q{TRUNCATE wide; INSERT INTO wide SELECT repeat(md5(i::text), 32) FROM generate_series(1, 3000) i});
	my $since = time;
	$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
	$took = time - $since;
	last if $took > 2;
}
cmp_ok($took, '>', 2, 'a base is written as slowly as base_rate says');
$node->append_conf('postgresql.conf', 'tsurugi_fdw.base_rate = 0');
$node->reload;

# A storage that is made for an older relation is logged at once: an error there is one of the
# statement, and the transaction may go on.
$node->safe_psql('postgres', 'CREATE DATABASE model');
$node->safe_psql('model', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE c (id int PRIMARY KEY) SERVER tsurugi});
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE model');
my $session = TestServer::Session->new($node, 'copy');
$session->query('SET tsurugi_fdw.missing_contents = empty; SET tsurugi_fdw.failpoints = log_insert; BEGIN; SAVEPOINT a;');
is($session->query('INSERT INTO c VALUES (1);'), 'ERROR 53200', 'a storage that cannot be logged');
is($session->query('ROLLBACK TO a; RESET tsurugi_fdw.failpoints; INSERT INTO c VALUES (2); COMMIT; SELECT id FROM c;'), '2',
	'after the savepoint, it is');
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
$session->close;
$node->stop;

done_testing();

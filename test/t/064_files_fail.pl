# Files that cannot be written, or opened: no acknowledged change is lost, and what goes wrong is told.
#
# A journal, or a state, without space: no checkpoint completes until there is space again, and a base
# that is asked for is an error; recovery does not pass it.  A base that cannot be written, or synced: it is given up, and the next one is
# written.  A journal or a state whose sync fails: PANIC, because nobody knows what it has; but with
# data_sync_retry = on, the state is written again.  A journal that cannot be opened: it is tried again.
# A journal that cannot be cut, because there is no base: beyond a most, changes are refused.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = TestServer::start('files', 'tsurugi_fdw.load_wait' => '20s', 'log_checkpoints' => 'on');

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi');

my $inserted = 0;

sub insert
{
	my ($count) = @_;

	$node->safe_psql('postgres', "INSERT INTO t SELECT i, 'row ' || i FROM generate_series($inserted + 1, $inserted + $count) i");
	$inserted += $count;
}

sub all_are_there
{
	my ($name) = @_;

	is($node->safe_psql('postgres', "SELECT count(*), sum(id) FROM t WHERE v = 'row ' || id"),
		"$inserted|" . $inserted * ($inserted + 1) / 2, $name);
}

# The worker has it; or the startup process of the next start.
sub set_failpoint { TestServer::configure($node, failpoints => $_[0]) }
sub set_failpoint_of_start { TestServer::configure_start($node, failpoints => $_[0]) }

# How often the log has it.
sub count_log
{
	my ($pattern) = @_;

	return scalar(() = slurp_file($node->logfile) =~ /$pattern/g);
}

# The redo position of the last checkpoint that has completed is not above what is durable.
sub is_covered
{
	my ($name) = @_;

	is($node->safe_psql('postgres', 'SELECT c.redo_lsn <= durable_lsn FROM pg_control_checkpoint() c, tsurugi.durability'), 't', $name);
}

# --- no space ---------------------------------------------------------------------------------

for my $file ([ 'journal_write', 'could not write file "pg_tsurugi/journal/[0-9A-F]+" of tsurugi_fdw: No space left on device' ],
	[ 'state_write', 'could not write file "pg_tsurugi/state.new" of tsurugi_fdw: No space left on device' ],
	[ 'state_sync', 'could not sync file "pg_tsurugi/state.new" of tsurugi_fdw: Input/output error' ])
{
	my ($point, $message) = @$file;
	my $reason = $message =~ s/.*: //r;
	my ($checkpoint, $completed, $since);

	if ($point eq 'state_sync')
	{
		$node->append_conf('postgresql.conf', 'data_sync_retry = on');
		$node->restart;
	}
	insert(100);
	$since = time;
	set_failpoint($point);
	insert(100);
	$checkpoint = TestServer::Session->new($node);
	$completed = count_log('checkpoint complete');
	$checkpoint->send('CHECKPOINT;');
	ok($node->poll_query_until('postgres', qq{SELECT last_error LIKE '%$reason' FROM tsurugi.durability}), "$point: it is told");
	insert(100);
	all_are_there('clients go on');
	is(count_log('checkpoint complete'), $completed, 'no checkpoint completes');
	is_covered('the last one is covered');
	is(TestServer::sqlstate($node, "SET statement_timeout = '60s'; SELECT tsurugi.write_base()"), $point eq 'state_sync' ? '58030' : '53100',
		'a base that is asked for is an error');
	cmp_ok(count_log($message), '>=', 1, 'the log has it');
	cmp_ok(count_log($message), '<=', 1 + (time - $since) / 10, 'every 10 seconds at most');
	set_failpoint('');
	is($checkpoint->wait, '', 'without the error, the checkpoint completes');
	is_covered('and is covered');
	is(TestServer::sqlstate($node, 'SELECT tsurugi.write_base()'), '00000', 'a base is written, too');
	is(TestServer::sqlstate($node, 'SELECT tsurugi.write_base()'), '00000', 'and another one');
	$checkpoint->close;
	$node->stop('immediate');
	$node->start;
	all_are_there('after a crash, all rows are there');
}

# A crash while there is no space, and a recovery that has none.
set_failpoint('journal_write');
my $told = '';
for (my $end = time + $PostgreSQL::Test::Utils::timeout_default; $told ne 't' && time < $end;)
{
	insert(1);
	$told = $node->safe_psql('postgres', q{SELECT last_error LIKE '%No space left on device' FROM tsurugi.durability});
}
is($told, 't', 'the journal has no space');
$node->stop('immediate');
my $fatal = qr/FATAL: .*could not write file "pg_tsurugi\/journal/;
my $before = count_log($fatal);
ok(!$node->start(fail_ok => 1), 'recovery ends where the journal has no space');
is(count_log($fatal), $before + 1, 'and says so');
set_failpoint_of_start('');
$node->start;
all_are_there('with space, all rows are there');

# --- the check of files beside bases ------------------------------------------------------------

# While the files of a base are about to be read, two others take its place.
{
	my $session = TestServer::Session->new($node);
	my $pid = $session->query('SELECT pg_backend_pid()');

	$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
	$session->send("SET tsurugi_fdw.failpoints = 'stop:verify_files'; SELECT count(*) FROM tsurugi.verify_files();");
	for (1 .. 2)
	{
		ok(TestServer::has_stopped($pid), 'a session has found the base');
		if ($_ == 1)
		{
			for (1 .. 2)
			{
				insert(10);
				$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
			}
		}
		kill 'CONT', $pid;
	}
	is($session->wait, '0', 'files that are gone because of later bases are no damage');
	$session->close;
}

# --- files that cannot be opened for a while ------------------------------------------------------

{
	my $told = q{SELECT last_error LIKE 'could not cut file "pg_tsurugi/journal/%": Input/output error' FROM tsurugi.durability};
	my $worker = TestServer::worker_pid($node);

	set_failpoint('journal_cut');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
	ok($node->poll_query_until('postgres', $told), 'a worker that takes over cannot open the journal: it is told');
	all_are_there('the tables can be read');
	set_failpoint('');
	insert(10);
	all_are_there('and changed, without the error');

	set_failpoint('journal_cut');
	$node->restart; # without redo, so the worker alone opens the files
	ok($node->poll_query_until('postgres', $told), 'nor can one that is to load the tables');
	set_failpoint('');
	all_are_there('it loads them without the error');
}

# --- bases ------------------------------------------------------------------------------------

for my $point ('base_write', 'base_sync')
{
	my $given_up = count_log('could not write a base: ');

	insert(100);
	set_failpoint($point);
	is(TestServer::sqlstate($node, 'SELECT tsurugi.write_base()'), $point eq 'base_write' ? '53100' : '58030',
		"$point: a base that cannot be written is an error of its request") for 1 .. 2;
	is(count_log('could not write a base: '), $given_up + 2, 'each is reported once');
	insert(100);
	$node->safe_psql('postgres', 'CHECKPOINT'); # (after which the worker tells its figures anew)
	like($node->safe_psql('postgres', 'SELECT last_error FROM tsurugi.durability WHERE last_error_at IS NOT NULL'),
		qr/could not (?:write|sync) file "pg_tsurugi\/base/, 'the view has the last one');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
	set_failpoint('');
	is(TestServer::sqlstate($node, 'SELECT tsurugi.write_base()'), '00000', 'without the error, one is written');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'and is whole');
	$node->stop('immediate');
	$node->start;
	all_are_there('after a crash, all rows are there');
}

# --- a journal that becomes too long ------------------------------------------------------------

my $session = TestServer::Session->new($node);
my $state = '00000';
my $handle;

$node->safe_psql('postgres', q{CREATE FOREIGN TABLE other (v text) SERVER tsurugi; INSERT INTO other VALUES ('a');
	CREATE FOREIGN TABLE unlogged (v text) SERVER tsurugi OPTIONS (persistence 'unlogged'); CREATE TABLE h (v int);
	CREATE FOREIGN TABLE bulk (v text) SERVER tsurugi});
$handle = $session->query(q{SELECT tsurugi.begin_transaction('other')});
$session->query("SELECT tsurugi.attach_transaction('$handle')");
$session->query(q{INSERT INTO other VALUES ('b')});
$session->query('SELECT tsurugi.detach_transaction()');
TestServer::configure($node, failpoints => 'base_write', journal_max => '2MB');
for (my $bytes = 0; $bytes < 100 && $state eq '00000'; $bytes++)
{
	$state = TestServer::sqlstate($node, "INSERT INTO bulk VALUES (repeat('x', 1000000))");
}
is($state, '53100', 'changes are refused when the journal is too long');
is(TestServer::sqlstate($node, "BEGIN; INSERT INTO h VALUES (1); INSERT INTO bulk VALUES ('both'); COMMIT"), '53100', 'of both kinds of tables');
is($session->query("SELECT tsurugi.commit_transaction('$handle')"), 'ERROR 53100', 'by a handle');
is(TestServer::sqlstate($node, 'VACUUM FULL t'), '53100', 'of a table that is stored anew');

# The transaction that a load was called in goes on, and logs what it does later.
my $csv = $node->data_dir . "/bulk.csv";

append_to_file($csv, "1\n");
my $caught = q{BEGIN; DO $$BEGIN
	PERFORM tsurugi.load('bulk', '{%s}', transactional => false);
EXCEPTION WHEN disk_full THEN NULL;
END$$; %s COMMIT};
is(TestServer::sqlstate($node, sprintf($caught, $csv, '')), '00000', 'by a load, whose error is caught');
is(TestServer::sqlstate($node, sprintf($caught, $csv, "INSERT INTO bulk VALUES ('x');")), '53100', 'and by what follows in its transaction');
is(TestServer::sqlstate($node, q{INSERT INTO unlogged VALUES ('a')}), '00000', 'not those of unlogged tables');
is(TestServer::sqlstate($node, 'TRUNCATE other; DROP FOREIGN TABLE other'), '00000', 'nor those of definitions');
cmp_ok(count_log('refuses changes, because its journal is longer'), '==', 1, 'it is told once');
set_failpoint('');
is(TestServer::sqlstate($node, 'SELECT tsurugi.write_base()'), '00000', 'a base can be written again');
1 while TestServer::sqlstate($node, "INSERT INTO bulk VALUES ('x')") ne '00000';
is($node->safe_psql('postgres', 'SELECT count(*) FROM h'), '0', 'after a base, changes are accepted, and what was refused is not there');
insert(100);
TestServer::configure($node, journal_max => '0');
$session->close;
all_are_there('all rows are there');

# --- a sync that fails ------------------------------------------------------------------------

$node->append_conf('postgresql.conf', 'data_sync_retry = off');
$node->restart;
for my $file ('journal', 'state')
{
	my $panic = qr/PANIC: .*could not sync file "pg_tsurugi\/$file/;
	my $before = count_log($panic);
	my $pidfile = $node->data_dir . '/postmaster.pid';

	insert(100);
	set_failpoint_of_start("${file}_sync");
	$node->reload;
	# The worker ends, once it has the failpoint, and so does the startup process of the restart after it.
	for (1 .. 100 * $PostgreSQL::Test::Utils::timeout_default)
	{
		last unless -e $pidfile;
		$node->psql('postgres', 'UPDATE t SET v = v WHERE id = 1; CHECKPOINT');
		select undef, undef, undef, 0.01;
	}
	ok(!-e $pidfile, "a sync of the $file fails: the server goes down");
	cmp_ok(count_log($panic), '>', $before, 'by PANIC');
	$node->{_pid} = undef;
	set_failpoint_of_start('');
	$node->start;
	all_are_there('all rows are there');
	$node->safe_psql('postgres', 'CHECKPOINT');
	is_covered('checkpoints are covered');
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
$node->stop;
done_testing();

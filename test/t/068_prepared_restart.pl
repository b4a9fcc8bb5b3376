# PREPARE TRANSACTION with logged tables in memory: what is prepared survives starts of the server.
#
# Until its end, by whichever server, nobody sees it, and its rows, keys and locks are held, and what
# it has read at SERIALIZABLE; a start
# may come before the end, behind it, and between PostgreSQL's part and ours; a base may be written in
# between; a standby that is promoted has it, too.  Others are not kept from their end while tables
# are loaded.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('prepared');

$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', $_) for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	'max_prepared_transactions = 10', 'restart_after_crash = on', "log_line_prefix = '%m [%p] %q%a %e '",
	'wal_keep_size = 1GB';
$node->start;
plan skip_all => 'no failpoints' unless $node->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	SELECT current_setting('tsurugi_fdw.failpoints', true) IS NOT NULL}) eq 't';
$node->safe_psql('postgres', q{
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, v int UNIQUE, t text) SERVER tsurugi;
	CREATE INDEX ON ours (upper(t));
	CREATE FOREIGN TABLE plain (v int, t text) SERVER tsurugi;
	CREATE FOREIGN TABLE parent (id text PRIMARY KEY) SERVER tsurugi;
	CREATE FOREIGN TABLE child (id int PRIMARY KEY, parent text REFERENCES parent) SERVER tsurugi;
	CREATE UNLOGGED TABLE fleeting (id int PRIMARY KEY) USING tsurugi;
	CREATE TABLE heap (v int);
	INSERT INTO ours SELECT i, 10 * i, 't' || i FROM generate_series(1, 9) i;
	INSERT INTO plain SELECT i, repeat('x', 100 * i) FROM generate_series(1, 9) i;
	INSERT INTO parent VALUES ('a'), ('b')});

my $rows = q{SELECT string_agg(id || ':' || v || ':' || t, ' ' ORDER BY id) FROM ours;};
my $plain = q{SELECT string_agg(v || ':' || length(t), ' ' ORDER BY v) FROM plain;};
my $heap = 'SELECT count(*) FROM heap;';

sub ask
{
	my ($sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "SET lock_timeout = '100ms'; $sql",
		extra_params => [ '-v', 'VERBOSITY=sqlstate', '-v', 'ON_ERROR_STOP=1' ]);

	return $err =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? "ERROR $1" : $out;
}

sub start_anew
{
	my ($mode) = @_;

	$node->stop($mode);
	$node->start;
}

# --- two that are prepared, and locks ----------------------------------------------------------------

# To be committed: each kind of write; a row that is deleted and inserted again; a key that is given
# away again; a key that is changed; what a savepoint takes back.
ask(q{BEGIN;
	INSERT INTO ours VALUES (20, 200, 'new');
	UPDATE ours SET t = 'T1' WHERE id = 1;
	UPDATE ours SET v = 21 WHERE id = 2; UPDATE ours SET v = 22 WHERE id = 2;
	DELETE FROM ours WHERE id = 3;
	DELETE FROM ours WHERE id = 4; INSERT INTO ours VALUES (4, 44, 'again');
	UPDATE ours SET id = 50 WHERE id = 5;
	SAVEPOINT s; UPDATE ours SET t = 'gone' WHERE id = 6; INSERT INTO ours VALUES (21, 210, 'gone'); ROLLBACK TO s;
	INSERT INTO plain VALUES (10, repeat('y', 5000)); DELETE FROM plain WHERE v = 1;
	UPDATE plain SET v = 20 WHERE v = 2; UPDATE plain SET v = 30 WHERE v = 20;
	INSERT INTO child VALUES (1, 'a'); INSERT INTO fleeting VALUES (1); INSERT INTO heap VALUES (1);
	PREPARE TRANSACTION 'c'});
# To be rolled back.
ask(q{BEGIN; INSERT INTO ours VALUES (30, 300, 'never'); UPDATE ours SET v = 71, t = 'never' WHERE id = 7;
	DELETE FROM ours WHERE id = 8; DELETE FROM plain WHERE v = 3; INSERT INTO heap VALUES (2); PREPARE TRANSACTION 'r'});
# Locks alone.
ask(q{BEGIN; SELECT FROM ours WHERE id = 9 FOR SHARE; SELECT FROM plain WHERE v = 9 FOR UPDATE; PREPARE TRANSACTION 'l'});

my $before = '1:10:t1 2:20:t2 3:30:t3 4:40:t4 5:50:t5 6:60:t6 7:70:t7 8:80:t8 9:90:t9';
my $after = '1:10:T1 2:22:t2 4:44:again 6:60:t6 7:70:t7 8:80:t8 9:90:t9 20:200:new 50:50:t5';
my $plain_before = join ' ', map { "$_:" . 100 * $_ } 1 .. 9;
my $plain_after = '3:300 4:400 5:500 6:600 7:700 8:800 9:900 10:5000 30:200';

sub check_prepared
{
	my ($name) = @_;

	is(ask($rows), $before, "$name: nobody sees what is prepared");
	is(ask($plain), $plain_before, "$name: in a table without a key, either");
	is(ask(q{SELECT count(*) FROM ours WHERE upper(t) IN ('NEW', 'T1', 'NEVER')}), 1, "$name: nor in an index");
	is(ask('SELECT count(*) FROM pg_prepared_xacts'), 3, "$name: they are shown");
	is(ask($_), 'ERROR 55P03', "$name: $_") for 'UPDATE ours SET v = 1 WHERE id = 1', 'DELETE FROM ours WHERE id = 3',
		'UPDATE ours SET v = 1 WHERE id = 5', "INSERT INTO ours VALUES (20, 1, '')", "INSERT INTO ours VALUES (50, 1, '')",
		"INSERT INTO ours VALUES (99, 44, '')", "INSERT INTO ours VALUES (99, 21, '')","INSERT INTO ours VALUES (99, 22, '')", 'UPDATE plain SET v = 1 WHERE v = 2',
		'UPDATE ours SET v = 1 WHERE id = 8', "INSERT INTO ours VALUES (30, 1, '')", 'UPDATE ours SET v = 1 WHERE id = 9',
		'SELECT FROM plain WHERE v = 9 FOR KEY SHARE', "DELETE FROM parent WHERE id = 'a'";
	is(ask('SELECT count(*) FROM (SELECT FROM ours WHERE id = 9 FOR KEY SHARE) r'), 1, "$name: a lock that passes");
	is(ask("BEGIN; UPDATE ours SET v = 61 WHERE id = 6; INSERT INTO ours VALUES (21, 210, 'free'); ROLLBACK"), '',
		"$name: what a savepoint has taken back is free");
}

sub check_ended
{
	my ($name) = @_;

	is(ask($rows), $after, "$name: one is committed, the other rolled back");
	is(ask($plain), $plain_after, "$name: in a table without a key, too");
	is(ask(q{SELECT count(*) FROM ours WHERE upper(t) IN ('NEW', 'T1', 'NEVER')}), 2, "$name: and in an index");
	is(ask($heap . "SELECT count(*) FROM child JOIN parent ON parent.id = parent"), "1\n1", "$name: and in other tables");
	is(ask('BEGIN; ' . join('; ', map { "UPDATE ours SET v = v + 1000 WHERE id = $_" } 1 .. 9)
		. '; UPDATE plain SET v = 1; DELETE FROM child; DELETE FROM parent; ROLLBACK'), '', "$name: nothing is held");
}

check_prepared('before a start');
start_anew('immediate');
check_prepared('after a crash');
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
start_anew('fast');
check_prepared('after a base and an orderly start');
is(ask("INSERT INTO ours SELECT i, i, '' FROM generate_series(1001, 1100) i; DELETE FROM ours WHERE id > 1000"), '',
	'others work on');
$node->safe_psql('postgres', 'SELECT tsurugi.write_base(); CHECKPOINT');
TestServer::crash_by($node, TestServer::worker_pid($node));
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM ours') or die "the server does not come back\n";
check_prepared('after further changes, two bases and a crash');

# --- both ends -----------------------------------------------------------------------------------------

is(ask("COMMIT PREPARED 'c'"), '', 'COMMIT PREPARED by a later server');
is(ask("ROLLBACK PREPARED 'r'"), '', 'ROLLBACK PREPARED');
is(ask("COMMIT PREPARED 'l'"), '', 'COMMIT PREPARED of locks');
check_ended('at once');
start_anew('immediate');
check_ended('after a crash');
$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
start_anew('immediate');
check_ended('after a base');

# --- ends that a crash or a signal breaks off -------------------------------------------------------------

my $session = TestServer::Session->new($node);
my $pid = $session->query('SELECT pg_backend_pid();');

$session->query("SET tsurugi_fdw.failpoints = 'stop:log_with'");
$session->send("BEGIN; DELETE FROM ours; PREPARE TRANSACTION 'half'");
$session->send(';');
ok(TestServer::has_stopped($pid), 'a session stands behind its record, and is not prepared');
ask('INSERT INTO heap VALUES (3); DELETE FROM heap WHERE v = 3'); # which flushes
$node->stop('immediate');
$node->start;
check_ended('its server has ended');
is(ask('SELECT count(*) FROM pg_prepared_xacts'), 0, 'and nothing is prepared');

for my $end (['COMMIT', '11'], ['ROLLBACK', '11'])
{
	my ($statement, $expected) = @$end;
	my $v = $statement eq 'COMMIT' ? 11 : 12;

	ask("BEGIN; UPDATE ours SET v = $v WHERE id = 1; PREPARE TRANSACTION 'd'");
	start_anew('immediate');
	$session = TestServer::Session->new($node);
	$pid = $session->query('SELECT pg_backend_pid();');
	$session->query("SET tsurugi_fdw.failpoints = 'stop:prepared_decided'");
	$session->send("$statement PREPARED 'd';");
	ok(TestServer::has_stopped($pid), 'a session stands between PostgreSQL\'s part and ours');
	if ($statement eq 'COMMIT')
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		kill 'TERM', $pid;
		kill 'CONT', $pid;
	}
	is(ask('UPDATE ours SET v = v WHERE id = 1; SELECT v FROM ours WHERE id = 1'), $expected, "$statement PREPARED is whole");
}

# --- what SERIALIZABLE has read ----------------------------------------------------------------------------

my $serializable = 'BEGIN ISOLATION LEVEL SERIALIZABLE;';

for my $case (['', 'ERROR 40001'], ['skip_h6', ''])
{
	my ($failpoint, $expected) = @$case;

	ask("SET tsurugi_fdw.failpoints = '$failpoint'; $serializable SELECT FROM parent WHERE id = 'a';
		UPDATE ours SET t = 'held' WHERE id = 6; PREPARE TRANSACTION 's'");
	ask("BEGIN; SELECT count(*) FROM plain; UPDATE ours SET t = 'held' WHERE id = 7; PREPARE TRANSACTION 'o'");
	is(ask("$serializable INSERT INTO parent VALUES ('c'); COMMIT; DELETE FROM parent WHERE id = 'c'"), '',
		'before a start a prepared transaction holds what it has read');
	start_anew('immediate');
	is(ask("$serializable INSERT INTO parent VALUES ('c'); COMMIT"), $expected, 'after one it holds the table' . ($failpoint && ", but $failpoint"));
	is(ask("INSERT INTO parent VALUES ('d'); DELETE FROM parent WHERE id IN ('c', 'd')"), '', 'other levels ignore that');
	is(ask("$serializable INSERT INTO plain VALUES (99, ''); COMMIT; DELETE FROM plain WHERE v = 99"), '',
		'one at another level holds nothing, and another table is free');
	is(ask("$serializable SELECT t FROM ours WHERE id = 7; INSERT INTO plain VALUES (99, ''); PREPARE TRANSACTION 't'; ROLLBACK PREPARED 't'"), 't7',
		'nor is it met by one that is prepared');
	is(ask("$serializable SELECT t FROM ours WHERE id = 6; INSERT INTO plain VALUES (99, ''); PREPARE TRANSACTION 't'"), 'ERROR 40001',
		'what the first one has written is') unless $failpoint;
	is(ask("ROLLBACK PREPARED 's'; ROLLBACK PREPARED 'o'; $serializable INSERT INTO parent VALUES ('c'); COMMIT; DELETE FROM parent WHERE id = 'c'"), '',
		'nothing is held after the end');
}

# --- while tables are loaded -------------------------------------------------------------------------------

ask("BEGIN; UPDATE ours SET v = 13 WHERE id = 1; PREPARE TRANSACTION 'w'");
ask("BEGIN; INSERT INTO heap VALUES (4); PREPARE TRANSACTION 'h'");
$node->stop('immediate');
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'stop:load_begin'");
$node->start;
my $worker;
for (1 .. 1000) { last if defined($worker = TestServer::worker_pid($node)); select undef, undef, undef, 0.01 }
ok(TestServer::has_stopped($worker), 'the worker stands before a load');
is(ask("SET tsurugi_fdw.load_wait = '50ms'; COMMIT PREPARED 'w'"), 'ERROR 57P03', 'the end of what is to be restored waits');
is(ask("COMMIT PREPARED 'h'"), '', 'that of others does not');
$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
kill 'CONT', $worker;
is(ask("COMMIT PREPARED 'w'; SELECT v FROM ours WHERE id = 1"), 13, 'it is done when the tables are there');

# --- while they are refused ---------------------------------------------------------------------------------

my $state = $node->data_dir . '/pg_tsurugi/state';

ask("BEGIN; UPDATE ours SET v = 14 WHERE id = 1; PREPARE TRANSACTION 'r'");
$node->stop;
rename $state, "$state.away" or die;
$node->start;
is(ask("COMMIT PREPARED 'r'"), 'ERROR XX001', 'what is to be restored is not committed without its tables');
is(ask("ROLLBACK PREPARED 'r'; SELECT count(*) FROM pg_prepared_xacts"), 0, 'it can be rolled back');
$node->stop('immediate');
rename "$state.away", $state or die;
$node->start;
is(ask('SELECT v FROM ours WHERE id = 1'), 13, 'and is not there when the tables are');
is(ask('UPDATE ours SET v = 13 WHERE id = 1'), '', 'nor is its row held');

# --- a large one, and a standby -------------------------------------------------------------------------------

ask(q{BEGIN; INSERT INTO ours SELECT i, i, repeat('z', 200) FROM generate_series(10001, 40000) i;
	DELETE FROM ours WHERE id = 9; PREPARE TRANSACTION 'large'});
$node->backup('copy', backup_options => [ '--checkpoint=fast' ]);
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;
ask("BEGIN; DELETE FROM ours WHERE id = 8; PREPARE TRANSACTION 'later'");
ask("$serializable SELECT FROM parent WHERE id = 'a'; INSERT INTO plain VALUES (98, ''); PREPARE TRANSACTION 'reader'");
TestServer::catch_up($node, $standby);
$node->stop;
$standby->promote;
$node = $standby;
is(ask('SELECT count(*) FROM ours'), 9, 'a promoted standby does not show what is prepared');
is(ask("DELETE FROM ours WHERE id = $_"), 'ERROR 55P03', "row $_ is held there") for 8, 9;
is(ask("INSERT INTO ours VALUES (10001, 1, '')"), 'ERROR 55P03', 'and a key');
is(ask("$serializable INSERT INTO parent VALUES ('c'); COMMIT"), 'ERROR 40001', 'and what was read');
ask("COMMIT PREPARED 'reader'");
is(ask("$serializable INSERT INTO parent VALUES ('c'); COMMIT"), '', 'until the end');
ask("COMMIT PREPARED 'large'");
ask("ROLLBACK PREPARED 'later'");
start_anew('immediate');
is(ask('SELECT count(*), sum(length(t)) > 6000000 FROM ours'), '30008|t', 'both ends are there after a crash');
is(ask('SELECT count(*) FROM tsurugi.verify_files()'), 0, 'the files are whole');
is(TestServer::internal_errors($_), '', 'no internal errors') for $node;
$node->stop;
done_testing();

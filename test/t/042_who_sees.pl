# What of other roles, sessions and databases the views show to whom, and who may cancel whose jobs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('who_sees', max_connections => 20);

sub session_of
{
	my ($role, $database) = @_;

	local $ENV{PGUSER} = $role;
	return TestServer::Session->new($node, $database // 'postgres');
}

$node->safe_psql('postgres', q{
	CREATE ROLE alice LOGIN;
	CREATE ROLE bob LOGIN;
	CREATE ROLE signaller LOGIN IN ROLE pg_signal_backend;
	CREATE ROLE reader LOGIN IN ROLE pg_read_all_stats;
	CREATE FOREIGN TABLE big (v text) SERVER tsurugi;
	INSERT INTO big SELECT repeat('w', 200) || i FROM generate_series(1, 30000) i;
	GRANT SELECT ON big TO alice;
	CREATE FOREIGN TABLE own (id int PRIMARY KEY, v int) SERVER tsurugi;
	INSERT INTO own VALUES (1, 1);
	ALTER TABLE own OWNER TO alice});

# --- figures of tables

my $bob = session_of('bob');
my $alice = session_of('alice');
my $seen = q{SELECT (SELECT string_agg(relation, ',' ORDER BY relation) FROM tsurugi.tables WHERE database = current_database()),
	(SELECT string_agg(relation, ',' ORDER BY relation) FROM tsurugi.garbage WHERE database = current_database()),
	(SELECT string_agg(index, ',') FROM tsurugi.indexes), tsurugi.table_size('own') > 0};
is($bob->query($seen), '|||', 'without any right on a table nothing is seen of it');
is($alice->query($seen), 'big,own|big,own|own_pkey|t', 'its owner sees it, and who may read it');
is(session_of('reader')->query($seen), 'big,own|big,own|own_pkey|t', 'and so does who may read all statistics');
$node->safe_psql('postgres', 'GRANT UPDATE (v) ON own TO bob');
is($bob->query($seen), 'own|own|own_pkey|t', 'a right on a column will do');
$node->safe_psql('postgres', 'REVOKE ALL ON own FROM alice');
is($alice->query($seen), 'big,own|big,own|own_pkey|t', 'an owner may have taken the rights from himself');
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', 'CREATE EXTENSION tsurugi_fdw');
my $elsewhere = "SELECT count(*) FROM tsurugi.tables WHERE database = 'postgres'";
is(session_of('alice', 'other')->query($elsewhere), '0', 'tables of other databases are not shown');
is(session_of('reader', 'other')->query($elsewhere), '2', 'but to who may read all statistics');

# --- jobs

sub job_of
{
	my ($session) = @_;
	my $pid = $session->query('SELECT pg_backend_pid()');

	$session->query('SET tsurugi_fdw.scan_pool_rows = 0');
	$session->query('BEGIN');
	$session->query('DECLARE slow CURSOR FOR SELECT * FROM big');
	$session->query('MOVE 1 FROM slow');
	return $node->safe_psql('postgres', "SELECT id FROM tsurugi.jobs WHERE pid = $pid AND state = 'running'");
}

my $super = TestServer::Session->new($node);
my $signaller = session_of('signaller');
my $job = job_of($super);
is($signaller->query("SELECT tsurugi.cancel_job($job)"), 'ERROR 42501', "a superuser's job is cancelled by superusers alone");
is($super->query('MOVE ALL FROM slow'), '', 'it goes on');
$super->query('ROLLBACK');
$job = job_of($alice);
is($bob->query("SELECT tsurugi.cancel_job($job)"), 'ERROR 42501', 'nobody cancels jobs of another role');
is($signaller->query("SELECT tsurugi.cancel_job($job)"), 't', 'but a member of pg_signal_backend');
is($alice->query('MOVE ALL FROM slow'), 'ERROR 57014', 'whose statement hears of it');
$alice->query('ROLLBACK');
$job = job_of($alice);
is(session_of('alice')->query("SELECT tsurugi.cancel_job($job)"), 't', "one's own role's jobs may be cancelled");
$alice->query('ROLLBACK');
$job = job_of($alice);
is($super->query("SELECT tsurugi.cancel_job($job)"), 't', 'a superuser cancels all');
$alice->query('ROLLBACK');
is($bob->query('SELECT tsurugi.cancel_job(999999)'), 'f', 'there need be none');

# --- SET SESSION AUTHORIZATION

my $pid = $super->query('SELECT pg_backend_pid()');
my $shown = "SELECT (SELECT role FROM tsurugi.sessions WHERE pid = $pid), (SELECT role FROM tsurugi.transactions WHERE pid = $pid)";
my $own = 'SELECT count(*) FROM tsurugi.transactions WHERE pid = pg_backend_pid()';
my $login = $super->query('SELECT session_user');
$super->query('SET SESSION AUTHORIZATION alice');
$super->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
$super->query('SELECT count(*) FROM big');
is($node->safe_psql('postgres', $shown), 'alice|alice', 'a session belongs to the role that it works as');
is($super->query($own), '1', 'which sees its own transaction');
is(session_of('alice')->query("SELECT count(*) FROM tsurugi.transactions WHERE pid = $pid"), '1', "and so do the role's other sessions");
$super->query('COMMIT');
$super->query('RESET SESSION AUTHORIZATION');
is($node->safe_psql('postgres', $shown), "$login|", 'as soon as it is changed back');
$super->query('BEGIN');
$super->query('SET LOCAL SESSION AUTHORIZATION alice');
is($node->safe_psql('postgres', $shown), 'alice|', 'or changed for a transaction');
$super->query('ROLLBACK');
$super->query('SELECT count(*) FROM big');
is($node->safe_psql('postgres', $shown), "$login|", 'until the next one');
$_->close for $super, $signaller, $alice, $bob;
$node->stop;
done_testing();

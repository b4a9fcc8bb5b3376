# A standby that has no record to replay: it begins behind the checkpoint of a server that was stopped.
#
# It answers with all that the log had of the tables, by base and journal, and goes on from there: with
# records that come later, as a promoted server, and as one that is no standby any more.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $digest = q{SELECT (SELECT md5(string_agg(ctid::text || t::text, ',' ORDER BY id)) FROM ours t) || ' '
	|| (SELECT count(*) || ' ' || count(v) FROM ours) || ' ' || (SELECT string_agg(id::text, ',' ORDER BY id) FROM heap)
	|| ' ' || (SELECT sum(id) FROM later)};
my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "wal_keep_size = '256MB'", "tsurugi_fdw.load_wait = '60s'";
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, v text) SERVER tsurugi; CREATE INDEX ON ours (v);
	CREATE TABLE heap (id int PRIMARY KEY);
	INSERT INTO ours SELECT i, 'base ' || i FROM generate_series(1, 1000) i;
	SELECT tsurugi.write_base()});
$primary->backup('copy');

my ($next, $left) = map { PostgreSQL::Test::Cluster->new($_) } qw(next left);

for my $standby ($next, $left)
{
	$standby->init_from_backup($primary, 'copy', has_streaming => 1);
	$standby->start;
}
$primary->safe_psql('postgres', q{
	UPDATE ours SET v = 'changed' WHERE id % 3 = 0;
	DELETE FROM ours WHERE id % 5 = 0;
	CREATE FOREIGN TABLE later (id int PRIMARY KEY) SERVER tsurugi; INSERT INTO later SELECT generate_series(1, 10);
	BEGIN; INSERT INTO ours VALUES (2000, NULL); INSERT INTO heap VALUES (1); COMMIT});

my $expected = $primary->safe_psql('postgres', $digest);

$primary->stop;
my ($end) = `pg_controldata '${\$primary->data_dir}'` =~ /Latest checkpoint location:\s+(\S+)/;
$_->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() > '$end'") or die for $next, $left;
$primary->backup_fs_cold('stopped');

# Promoted, or no standby any more, it has what it had, and works on.
sub works_on
{
	my ($node, $name) = @_;

	is($node->safe_psql('postgres', $digest), $expected, "$name: it has all rows");
	is($node->safe_psql('postgres', 'SELECT state FROM tsurugi.durability'), 'open', 'and is open');
	$node->safe_psql('postgres', q{
		BEGIN; UPDATE ours SET v = v || '.' WHERE id % 7 = 0; INSERT INTO heap VALUES (2); COMMIT;
		INSERT INTO later VALUES (100)});
	my $rows = $node->safe_psql('postgres', $digest);
	Acknowledged::kill_all($node);
	$node->start;
	is($node->safe_psql('postgres', $digest), $rows, 'what is added survives a crash');
	$node->safe_psql('postgres', 'SELECT tsurugi.write_base(); INSERT INTO later VALUES (101)');
	$rows = $node->safe_psql('postgres', $digest);
	$node->restart;
	is($node->safe_psql('postgres', $digest), $rows, 'and is in a base');
	is(TestServer::internal_errors($node) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
}

sub follows
{
	my ($node, $name) = @_;

	is($node->safe_psql('postgres', $digest), $expected, "$name: it has all rows");
	is($node->safe_psql('postgres', 'SELECT state FROM tsurugi.durability'), 'following', 'and follows');
}

# --- of a server that was stopped ----------------------------------------------------------------

my $alone = PostgreSQL::Test::Cluster->new('alone');

$alone->init_from_backup($primary, 'stopped');
$alone->set_standby_mode;
$alone->start;
follows($alone, 'a stopped server becomes a standby of nobody');
is($alone->safe_psql('postgres', q{SET enable_seqscan = off; SELECT count(*) FROM ours WHERE v = 'changed'}),
	$alone->safe_psql('postgres', q{SELECT count(*) FROM ours WHERE v || '' = 'changed'}), 'its indexes lead there');
$alone->restart;
follows($alone, 'after a restart');
Acknowledged::kill_all($alone);
$alone->start;
follows($alone, 'after a crash');
$alone->promote;
works_on($alone, 'promoted');
$alone->stop;

# --- of a standby that has replayed the primary's last checkpoint --------------------------------------

$_->restart for $left, $next;
follows($_, 'a standby is restarted while the primary is down') for $left, $next;
$left->stop;
unlink $left->data_dir . '/standby.signal';
$left->start;
works_on($left, 'a standby becomes a server of its own');
$left->stop;

# A former primary, whose successor is not promoted yet.
$primary->enable_streaming($next);
$primary->start;
follows($primary, 'a former primary');

$next->promote;
works_on($next, 'its successor, promoted');
TestServer::catch_up($next, $primary);
is($primary->safe_psql('postgres', $digest), $next->safe_psql('postgres', $digest), 'the former primary has what came later');

# --- redo begins while the worker looks at the files -------------------------------------------------

SKIP:
{
	skip 'no failpoints in this build', 3 unless TestServer::has_failpoints($next);
	my $late = PostgreSQL::Test::Cluster->new('late');

	$late->init_from_backup($primary, 'stopped');
	$late->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'stop:follower_looks'");
	$late->set_standby_mode;
	$late->start;
	ok(TestServer::has_stopped(TestServer::worker_pid($late)), 'the worker sees that redo has not begun');
	$late->enable_streaming($next);
	$late->reload;
	$next->wait_for_catchup($late, 'replay', $next->lsn('insert'));
	kill 'CONT', TestServer::worker_pid($late);
	is($late->safe_psql('postgres', $digest), $next->safe_psql('postgres', $digest), 'it goes on from there');
	is(TestServer::internal_errors($late), '', 'no internal error');
	$late->stop;
}

# --- without its journal, redo goes on -------------------------------------------------------------

my $gap = PostgreSQL::Test::Cluster->new('gap');
$gap->init_from_backup($primary, 'stopped', has_streaming => 0);
$gap->enable_streaming($next);
my ($journal) = glob $gap->data_dir . '/pg_tsurugi/journal/*';
rename $journal, $gap->basedir . '/journal' or die;
$gap->start;
TestServer::catch_up($next, $gap);
is(TestServer::sqlstate($gap, 'SELECT * FROM ours'), 'XX001', 'a file of the journal is missing');
$next->safe_psql('postgres', 'CHECKPOINT');
TestServer::catch_up($next, $gap);
$gap->safe_psql('postgres', 'CHECKPOINT');
$gap->stop;
rename $gap->basedir . '/journal', $journal or die;
$gap->start;
like(($gap->psql('postgres', 'SELECT * FROM ours'))[2], qr/the file is older than the log: file "pg_tsurugi\/state"/, 'when it is there again, it lacks what was replayed meanwhile');
$gap->stop;
is(TestServer::internal_errors($primary), '', 'no internal error of the former primary');
$_->stop for $primary, $next;
done_testing();

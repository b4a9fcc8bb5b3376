# Copies of a server whose files change meanwhile: they have what recovery gives them, and no more.
#
# A standby's copy may end recovery before the journal that it was copied with.  The last manifest may
# be missing, or damaged; then the base before it is used, with the journal from there on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Acknowledged;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "wal_keep_size = '1GB'", "tsurugi_fdw.load_wait = '60s'";
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE TABLE heap (id int PRIMARY KEY);
	INSERT INTO ours SELECT i, 'first' FROM generate_series(1, 100) i;
	INSERT INTO heap SELECT generate_series(1, 100)});
$primary->backup('copy');

my ($first) = map { s/.*\///r } sort glob $primary->data_dir . '/pg_tsurugi/journal/*';
my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->append_conf('postgresql.conf', 'bgwriter_lru_maxpages = 0'); # no page moves the end of the copy's recovery
$standby->start;

my $difference = q{SELECT count(*) FROM ours FULL JOIN heap USING (id) WHERE ours IS NULL OR heap IS NULL};

# Copies a server's files, all but some.
sub copy_files
{
	my ($node, $to, $left_out) = @_;

	PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir, $to, filterfn => sub { $_[0] !~ $left_out });
}

# --- of a standby, which is ahead of what the copy recovers to ---------------------------------------

$primary->safe_psql('postgres', 'CHECKPOINT');
TestServer::catch_up($primary, $standby);
$standby->safe_psql('postgres', 'CHECKPOINT');

my $files = $standby->backup_dir . '/ahead';
my $backup = TestServer::Session->new($standby);

mkdir $standby->backup_dir;
$backup->query(q{SELECT pg_backup_start('ahead', true)});
$primary->safe_psql('postgres', "BEGIN; INSERT INTO ours VALUES ($_, 'both'); INSERT INTO heap VALUES ($_); COMMIT") for 101 .. 110;
TestServer::catch_up($primary, $standby);
copy_files($standby, $files, qr{^(postmaster\.\w+|log|standby.signal)$});
append_to_file("$files/backup_label", $backup->query('SELECT labelfile FROM pg_backup_stop()') . "\n");
$backup->close;
my ($end) = `pg_controldata '$files'` =~ /Minimum recovery ending location:\s+(\S+)/;
is($standby->safe_psql('postgres', "SELECT '$end' < pg_last_wal_replay_lsn()"), 't', 'the copy ends before what the standby has replayed');

my $restored = PostgreSQL::Test::Cluster->new('restored');

$restored->init_from_backup($standby, 'ahead');
$restored->append_conf('postgresql.conf', "$_") for q{restore_command = 'false'}, q{recovery_target = 'immediate'}, q{recovery_target_action = 'pause'};
$restored->set_recovery_mode;
$restored->start;
is($restored->safe_psql('postgres', $difference), '0', 'paused at its end, it has each transaction whole or not at all');
$restored->promote;
is($restored->safe_psql('postgres', $difference), '0', 'promoted, too');
is($restored->safe_psql('postgres', 'SELECT count(*) FROM ours'), '100', 'what came behind the target is not there');
$restored->safe_psql('postgres', q{INSERT INTO ours VALUES (1000, 'new'); UPDATE ours SET v = 'changed' WHERE id = 7; BEGIN; INSERT INTO ours VALUES (1001, 'both'); INSERT INTO heap VALUES (1000), (1001); COMMIT});
Acknowledged::kill_all($restored);
$restored->start;
is($restored->safe_psql('postgres', q{SELECT count(*), max(id), (SELECT v FROM ours WHERE id = 7) FROM ours}), '102|1001|changed', 'what is committed then survives a crash');
is($restored->safe_psql('postgres', $difference), '0', 'in both kinds of tables');
is(TestServer::internal_errors($restored) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error');
$restored->stop;
$standby->stop;

# --- the last manifest is damaged, and the journal does not go back to its beginning --------------------

for my $round (1, 2)
{
	$primary->safe_psql('postgres', "INSERT INTO ours SELECT i, md5(i::text) || repeat('v', 1500) FROM generate_series($round * 100000, $round * 100000 + 50000) i");
	$primary->safe_psql('postgres', 'SELECT tsurugi.write_base()');
}
$primary->safe_psql('postgres', q{SELECT tsurugi.write_base(); INSERT INTO ours VALUES (-1, 'behind the bases')});
my $digest = q{SELECT count(*), sum(hashtext(ours::text)) FROM ours};
my $expected = $primary->safe_psql('postgres', $digest);
my $base = $primary->safe_psql('postgres', 'SELECT base FROM tsurugi.durability');
$primary->stop;
isnt(join(' ', map { s/.*\///r } (sort glob $primary->data_dir . '/pg_tsurugi/journal/*')[0]), $first, 'the first file of the journal has gone');
my $manifest = $primary->data_dir . sprintf('/pg_tsurugi/base/manifest.%x', $base);
rename $manifest, $primary->basedir . '/manifest' or die;
append_to_file($manifest, 'damaged');
$primary->append_conf('postgresql.conf', 'tsurugi_fdw.ignore_damage = on');
$primary->start;
is($primary->safe_psql('postgres', $digest), $expected, 'with ignore_damage the base before it, and the journal, have all');
is(TestServer::internal_errors($primary), '', 'no internal error');
$primary->stop;
done_testing();

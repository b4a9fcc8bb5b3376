# Copies of a running server: base backups and standbys.
#
# Clients change tables in memory and ordinary ones, in the same transactions, while copies are made.
# A copy that was started as a server of its own, or promoted, has the same in both kinds of tables;
# so it has what PostgreSQL gives it, and each transaction is whole.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('primary');

$node->init(allows_streaming => 1, has_archiving => 1);
$node->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	'max_connections = 30', "tsurugi_fdw.load_wait = '20s'", 'tsurugi_fdw.journal_size = 32MB', 'wal_keep_size = 1GB';
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, client int, v text) SERVER tsurugi;
	CREATE INDEX ON ours (client);
	CREATE TABLE heap (id int PRIMARY KEY, client int, v text);
	CREATE SEQUENCE number;
	CREATE FUNCTION change(who int) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		next int := nextval('number');
	BEGIN
		INSERT INTO ours VALUES (next, who, repeat('x', next % 300));
		INSERT INTO heap VALUES (next, who, repeat('x', next % 300));
		UPDATE ours SET v = v || '.' WHERE id = next - 50;
		UPDATE heap SET v = v || '.' WHERE id = next - 50;
		DELETE FROM ours WHERE id = next - 2000;
		DELETE FROM heap WHERE id = next - 2000;
	END $$});

my $script = "${PostgreSQL::Test::Utils::tmp_check}/backup_load.sql";
append_to_file($script, "SELECT change(:client_id);\n");

sub load_begin
{
	return IPC::Run::start([ 'pgbench', '--random-seed=1', '-n', '-c', '2', '-T', '60', '-f', $script, '-d', $node->connstr('postgres') ],
		'<', \undef, '>', '/dev/null', '2>', '/dev/null');
}

my $difference = q{SELECT (SELECT count(*) FROM ours) > 0, count(*) FROM (SELECT id, client, v FROM ours) o FULL JOIN heap h USING (id, client, v) WHERE o IS NULL OR h IS NULL};
my $digest = q{SELECT count(*), md5(string_agg(ours::text, ',' ORDER BY id)), (SELECT md5(string_agg(heap::text, ',' ORDER BY id)) FROM heap) FROM ours};

sub is_whole
{
	my ($copy, $name) = @_;

	is($copy->safe_psql('postgres', $difference), 't|0', "$name: the same in both kinds of tables");
	is($copy->safe_psql('postgres', 'SELECT count(*) FROM ours a WHERE NOT EXISTS (SELECT FROM ours b WHERE b.client = a.client AND b.id = a.id)'), '0',
		"$name: indexes lead there");
}

sub works_on
{
	my ($copy, $name) = @_;

	is_whole($copy, $name);
	$copy->safe_psql('postgres', 'SELECT change(9) FROM generate_series(1, 100)');
	is($copy->safe_psql('postgres', 'SELECT count(*) FROM ours WHERE client = 9'), '100', "$name: it works on");
	my $before = $copy->safe_psql('postgres', $digest);
	$copy->stop('immediate');
	$copy->start;
	is($copy->safe_psql('postgres', $digest), $before, "$name: what is added survives a crash");
	is_whole($copy, "$name, after it");
	is($copy->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', "$name: the files are whole");
	$copy->stop;
}

sub write_base { return TestServer::sqlstate($node, 'SELECT tsurugi.write_base()') }

# --- bases and backups --------------------------------------------------------------------------------

# A backup that takes long: the files of bases are copied first, and the state last.  Bases that were
# written in between would not be in it.
my $long = TestServer::Session->new($node);
my $files = $node->backup_dir . '/long';

mkdir $node->backup_dir;
$node->safe_psql('postgres', 'SELECT change(0) FROM generate_series(1, 1000); SELECT tsurugi.write_base()');
$long->query(q{SELECT pg_backup_start('long', true)});
PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir . '/pg_tsurugi/base', "$files.base");
for (1 .. 3)
{
	$node->safe_psql('postgres', 'SELECT change(0) FROM generate_series(1, 1000)');
	is(write_base(), '55000', 'no base is written on demand while a backup is made');
}
PostgreSQL::Test::RecursiveCopy::copypath($node->data_dir, $files, filterfn => sub { $_[0] !~ m{^(pg_tsurugi/base|postmaster\.\w+|log)$} });
rename("$files.base", "$files/pg_tsurugi/base") or die;
append_to_file("$files/backup_label", $long->query('SELECT labelfile FROM pg_backup_stop()') . "\n");
is(write_base(), '00000', 'after it a base is written');
is($long->query(q{SELECT pg_backup_start('left', true)}) ne '', 1, 'another one');
is(write_base(), '55000', 'again none is written');
$long->close;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()}),
	'its session ends');
is(write_base(), '00000', 'so it is over');

# By a walsender, which goes on to wait for commands when the backup has ended.
my ($in, $err) = ('', '');
my $sender = IPC::Run::start([ 'psql', '-Xq', '-d', $node->connstr('postgres') . ' replication=database' ],
	'<', \$in, '>', '/dev/null', '2>', \$err);
my $slow = IPC::Run::start([ 'pg_basebackup', '-h', $node->host, '-p', $node->port, '-D', "$files.slow", '-X', 'none', '-c', 'fast', '-r', '32k' ],
	'<', \undef, '>', '/dev/null', '2>', '/dev/null');
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'backup'}) or die;
is(write_base(), '55000', 'nor while a walsender sends one');
my $logged = -s $node->logfile;
$node->safe_psql('postgres', q{ALTER SYSTEM SET tsurugi_fdw.journal_size = '1MB'; SELECT pg_reload_conf()});
$node->safe_psql('postgres', 'SELECT change(0) FROM generate_series(1, 10000)');
$node->wait_for_log('writes no base until the base backup has ended', $logged);
my $base = $node->safe_psql('postgres', 'SELECT base FROM tsurugi.durability');
$slow->kill_kill;
ok($node->poll_query_until('postgres', "SELECT base > $base FROM tsurugi.durability"), 'a base that was due is written after it');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET tsurugi_fdw.journal_size; SELECT pg_reload_conf()');
$in = "BASE_BACKUP (CHECKPOINT 'fast', WAL false, WAIT false);\n";
$sender->pump_nb;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity a JOIN pg_stat_replication r USING (pid) WHERE r.state = 'backup' AND a.wait_event = 'ClientRead'}),
	'a walsender that has sent one is there');
is(write_base(), '00000', 'and keeps no base from being written');
$sender->kill_kill;

my $long_copy = PostgreSQL::Test::Cluster->new('long_copy');
$long_copy->init_from_backup($node, 'long', has_restoring => 1, standby => 0);
$long_copy->append_conf('postgresql.conf', 'archive_mode = off');
$long_copy->start;
$long_copy->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die;
works_on($long_copy, 'a backup that took long');

# --- base backups under load -------------------------------------------------------------------------

my $load = load_begin();
$node->poll_query_until('postgres', 'SELECT count(*) > 500 FROM ours');
for my $how (qw(stream fetch))
{
	$node->backup("backup_$how", backup_options => [ '-X', $how, '--checkpoint=fast' ]);
	$node->safe_psql('postgres', 'SELECT tsurugi.write_base()') if $how eq 'stream';
}
# A standby that follows while the load goes on.
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup_stream', has_streaming => 1);
$standby->start;
select undef, undef, undef, 1;
is($standby->safe_psql('postgres', $difference), 't|0', 'a standby answers, with the same in both kinds of tables');
$standby->stop('immediate');
$standby->start;
$standby->restart;
$node->safe_psql('postgres', 'CHECKPOINT');
select undef, undef, undef, 0.5;

# What a shell has started in the background ignores SIGINT, and so does what that starts.
$load->signal('TERM');
$load->finish;
$node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'});
is_whole($node, 'the primary');
my $last = $node->safe_psql('postgres', $digest);

for my $how (qw(stream fetch))
{
	my $copy = PostgreSQL::Test::Cluster->new("copy_$how");

	$copy->init_from_backup($node, "backup_$how");
	$copy->start;
	works_on($copy, "a backup with its log ($how)");
}

# A standby says at once that it has applied a commit which is waited for, though it goes on with what follows: here with
# a commit that it delays.
sub is_awaited
{
	my ($bug, $ends) = @_;
	my $startup = $standby->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'startup'});
	my $waits = TestServer::Session->new($node);
	my $pid = $waits->query("SET tsurugi_fdw.failpoints = 'skip_r7,$bug'; SET synchronous_commit = remote_apply; SELECT pg_backend_pid()");

	kill 'STOP', $startup;
	$waits->send('UPDATE ours SET v = v WHERE id = (SELECT min(id) FROM ours);');
	$node->poll_query_until('postgres', "SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $pid");
	my $position = $node->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()');
	my $next = $node->safe_psql('postgres', 'SET synchronous_commit = off; SELECT txid_current() > 0; SELECT pg_current_wal_insert_lsn()') =~ s/^.*\n//sr;
	$node->poll_query_until('postgres', "SELECT flush_lsn >= '$next' FROM pg_stat_replication");
	kill 'CONT', $startup;
	$standby->poll_query_until('postgres', "SELECT pg_last_wal_replay_lsn() >= '$position'");
	$node->poll_query_until('postgres', "SELECT wait_event IS DISTINCT FROM 'SyncRep' FROM pg_stat_activity WHERE pid = $pid") if $ends;
	select undef, undef, undef, 1 unless $ends;
	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event = 'SyncRep'"), $ends ? 0 : 1,
		'a commit that waits until it is applied' . ($ends ? ' ends' : ", $bug"));
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	$waits->wait;
	$waits->close;
}
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = '1h'");
$standby->reload;
$node->append_conf('postgresql.conf', q{synchronous_standby_names = '*'});
$node->reload;
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'});
is_awaited('', 1);
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = 0");
$standby->reload;
$node->append_conf('postgresql.conf', q{synchronous_standby_names = ''});
$node->reload;

TestServer::catch_up($node, $standby);
$standby->promote;
is($standby->safe_psql('postgres', $digest), $last, 'a promoted standby has all');
works_on($standby, 'a promoted standby');

# --- the files' modes: where the group may read PostgreSQL's, to copy them, it may read these -------------

my $shared = PostgreSQL::Test::Cluster->new('shared');
$shared->init(extra => ['--allow-group-access']);
$shared->append_conf('postgresql.conf', "shared_preload_libraries = 'tsurugi_fdw'");
$shared->start;
$shared->safe_psql('postgres', 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int) SERVER tsurugi; INSERT INTO ours VALUES (1); SELECT tsurugi.write_base()');
for my $server ([$shared, 0750, 0640], [$node, 0700, 0600])
{
	my ($of, $directories, $files) = @$server;

	ok(check_mode_recursive($of->data_dir . '/pg_tsurugi', $directories, $files), $of->name . ': files have the modes of others');
}
$shared->stop;

$node->stop;
done_testing();

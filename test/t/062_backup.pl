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
	return IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-T', '60', '-f', $script, '-d', $node->connstr('postgres') ],
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
is(TestServer::sqlstate($standby, 'SELECT count(*) FROM ours'), '0A000', 'a standby refuses to read');
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

$node->wait_for_catchup($standby, 'replay');
$standby->promote;
is($standby->safe_psql('postgres', $digest), $last, 'a promoted standby has all');
works_on($standby, 'a promoted standby');

$node->stop;
done_testing();

# What a client was told is there after a power cut: pages and names that were not synced are lost, or
# not (Power.pm, Acknowledged.pm).
#
# The power is cut under load, with checkpoints and bases under way, and during the start after it.
# Where syncs of the journal, of the state, of a base or of their names keep nothing, tables are
# refused afterwards, or loaded from the former base: so this finds a sync that is missing, and a disk
# that lies.
#
# CYCLES: how many cuts (4).  SEED takes another seed.
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use Chance;
use Power;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $cycles = $ENV{CYCLES} // 4;
srand seed();

my $node = PostgreSQL::Test::Cluster->new('power');
$node->init(extra => ['--wal-segsize=1']);
$node->append_conf('postgresql.conf', q{
shared_preload_libraries = 'tsurugi_fdw'
restart_after_crash = on
log_line_prefix = '%m [%p] %q%a %e '
autovacuum = off
max_wal_size = '8MB'
min_wal_size = '2MB'
tsurugi_fdw.journal_size = '1MB'
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw');

my $clients = Acknowledged->new($node, 3);

$node->stop;
my $power = Power->new($node);

# Until the clients are killed with it.
sub work
{
	my $until = time + 1;

	while (time < $until)
	{
		$node->psql('postgres', pick('CHECKPOINT', 'SELECT tsurugi.write_base()', 'SELECT pg_switch_wal()', 'SELECT pg_sleep(0.1)'));
	}
	Acknowledged::kill_all($node);
}

# The power is cut before recovery has ended, or while tables are loaded.
sub cut_start
{
	{
		local %ENV = (%ENV, %{ $power->environment });
		TestServer::begin_start($node);
	}
	select undef, undef, undef, rand 0.5;
	Acknowledged::kill_all($node);
	$power->cut;
}

$power->start;
for my $cycle (1 .. $cycles)
{
	$clients->run(0.2, \&work);
	$power->cut;
	cut_start() if $cycle % 2 == 0;
	$power->start;
	$clients->check("cut $cycle");
	ok($clients->has_worked, 'and the clients have done something');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
}
is(TestServer::internal_errors($node), '', 'no internal error');

# Syncs that keep nothing, and what the next start says.
for my $case (
	[ 'sync', 'pg_tsurugi/journal/', qr/a frame is missing or damaged.*journal/s ],
	[ 'sync', 'pg_tsurugi/state', qr/damaged.*pg_tsurugi\/state/s ],
	[ 'sync_directory', 'pg_tsurugi/base', qr/^$/ ],
	[ 'sync', 'pg_tsurugi/base/', qr/^$/ ],
	[ 'sync_directory', 'pg_tsurugi', qr/older than the log.*pg_tsurugi\/state/s ])
{
	my ($kind, $text, $expected) = @$case;
	my $files = $node->basedir . '/files';
	my $data = $node->data_dir;
	my ($code, $stdout, $stderr, $log_before);

	$node->stop;
	$power->keep_all;
	system("rm -rf '$files' && cp -a '$data' '$files'") == 0 or die;
	$power->start;
	# the log is open once a change is committed; before, the state could still be clean
	$node->safe_psql('postgres', 'UPDATE account SET amount = amount WHERE id = 1');
	$power->fail($kind, $text, 1, 0, 1);
	$node->safe_psql('postgres', 'INSERT INTO ours VALUES (9, 1); SELECT tsurugi.write_base(); INSERT INTO ours VALUES (9, 2); CHECKPOINT');
	Acknowledged::kill_all($node);
	$power->cut(all => 1);
	cmp_ok($power->failures, '>', 0, "$kind $text: it was not done");
	$power->fail_nothing;
	$log_before = -s $node->logfile;
	$power->start;
	($code, $stdout, $stderr) = $node->psql('postgres', 'SELECT count(*) FROM ours WHERE client = 9');
	like($stderr, $expected, 'a start finds that') or diag("$stdout $stderr");
	if ($stderr eq '')
	{
		is($stdout, '2', 'all is there');
		like(slurp_file($node->logfile, $log_before), qr/has loaded the base before the last one/, 'from the former base');
	}
	is($node->safe_psql('postgres', 'SELECT count(*) > 0 FROM heap'), 't', 'ordinary tables are there');
	$node->stop;
	system("rm -rf '$data' && mv '$files' '$data'") == 0 or die;
	$power->keep_all;
	$power->start;
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM ours WHERE client = 9'), '0', 'with the files of before, all is there');
$node->stop;
done_testing();

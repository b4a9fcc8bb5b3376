# kill -9 at named places of transactions that define and change: all of one is there, or nothing.
#
# Each is done to a table in memory and to an ordinary twin, which are the same before it and after the
# crash, on the standby, too.  They empty a table, store it anew, with rows enough for parts of a record,
# replace it, change its persistence and its access method, with savepoints that are rolled back.
#
# POINTS: how many of them are killed (6), at places by SEED; "all": each at each place (make soak-crash).
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use Chance;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $points = $ENV{POINTS} // 6;
my $node = TestServer::start('points', 'tsurugi_fdw.load_wait' => '60s', 'tsurugi_fdw.create_table' => 'on', wal_level => 'replica',
	max_wal_senders => 3, wal_keep_size => '1GB', 'tsurugi_fdw.journal_size' => '8MB');

plan skip_all => 'no failpoints' unless TestServer::has_failpoints($node);
srand seed();

my $fill = q{SELECT i, i % 50, repeat('v', 500) || i FROM generate_series(1, 3000) i};

$node->safe_psql('postgres', qq{
	CREATE TABLE t (id int PRIMARY KEY, n int, v text) USING tsurugi; INSERT INTO t $fill;
	CREATE TABLE twin (id int PRIMARY KEY, n int, v text) USING heap; INSERT INTO twin $fill;
	CREATE TABLE marker (n int) USING heap});
$node->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'copy', has_streaming => 1);
$standby->start;

# T: the table; M: its access method
my @definitions = (
	'TRUNCATE T',
	"TRUNCATE T; INSERT INTO T (id, n, v) $fill",
	'ALTER TABLE T ALTER n TYPE numeric; UPDATE T SET n = n + 1 WHERE id < 100',
	"UPDATE T SET n = n + 1; ALTER TABLE T ALTER n TYPE bigint; DELETE FROM T WHERE id % 3 = 0; INSERT INTO T (id, n, v) VALUES (-1, 1, 'after') ON CONFLICT DO NOTHING",
	"SAVEPOINT s; TRUNCATE T; INSERT INTO T (id) VALUES (1); ROLLBACK TO s; DELETE FROM T WHERE id % 2 = 0",
	"SAVEPOINT s; ALTER TABLE T ALTER v TYPE varchar; UPDATE T SET v = 'x'; ROLLBACK TO s; UPDATE T SET n = 0 WHERE id < 100",
	'ALTER TABLE T DROP COLUMN IF EXISTS x; ALTER TABLE T ADD COLUMN x int DEFAULT 7; UPDATE T SET x = id WHERE id < 50',
	'DELETE FROM T WHERE id > 2000; CREATE INDEX ON T (lower(v)); UPDATE T SET v = upper(v) WHERE id < 20',
	'CREATE TABLE made (LIKE T INCLUDING ALL) USING M; INSERT INTO made SELECT * FROM T WHERE id <> 7; DROP TABLE T; ALTER TABLE made RENAME TO T',
	'ALTER TABLE T SET UNLOGGED; UPDATE T SET n = 1 WHERE id < 10; ALTER TABLE T SET LOGGED',
	'ALTER TABLE T SET ACCESS METHOD heap; DELETE FROM T WHERE id = 5; ALTER TABLE T SET ACCESS METHOD M',
	"DROP TABLE T; CREATE TABLE T (id int PRIMARY KEY, n int, v text) USING M; INSERT INTO T $fill");

# whether the failpoint is set for the statements, and how they end
my @places = (
	[ storage_add => 1, 'COMMIT' ], [ pre_commit => 0, 'COMMIT' ], [ log_part => 0, 'COMMIT' ], [ log_with => 0, 'COMMIT' ], [ commit => 0, 'COMMIT' ],
	[ txn_committing => 0, 'COMMIT' ], [ txn_committed => 0, 'COMMIT' ], [ abort => 0, 'ROLLBACK' ], [ txn_aborted => 0, 'ROLLBACK' ]);

# Rows, and those that the index of the key leads to.
my $rows = join ', ', map {
	"(SELECT md5(string_agg(r::text, ',' ORDER BY id)) || ' ' || count(*) || ' ' || (SELECT count(*) FROM $_ a WHERE EXISTS (SELECT FROM $_ b WHERE b.id = a.id)) FROM $_ r)"
} 't', 'twin';

sub is_same
{
	my ($server, $name) = @_;
	my ($ours, $twin) = split /\|/, $server->safe_psql('postgres', "SELECT $rows"), -1;

	return is($ours, $twin, $name);
}

# The server is started without the processes of before, whatever it does by itself.
sub come_back
{
	my $postmaster = $node->{_pid};

	$node->stop('immediate', fail_ok => 1);
	select undef, undef, undef, 0.01 while kill 0, $postmaster;
	$node->{_pid} = undef;
	$node->start;
}

my $kills = 0;

sub kill_at
{
	my ($definition, $point, $at_once, $end) = @_;
	my $set = "SET tsurugi_fdw.failpoints = 'kill:$point,skip_r7'";
	my $statements = join '; ', map { my $table = $_; $definition =~ s/\bT\b/$table/gr =~ s/\bM\b/$table eq 't' ? 'tsurugi' : 'heap'/gre } 't', 'twin';
	my $marker = ++$kills;
	my ($code) = $node->psql('postgres', join ";\n", $at_once ? $set : (), 'BEGIN', $statements, "INSERT INTO marker VALUES ($marker)", $at_once ? () : $set, $end);

	come_back() if $code != 0;
	my $is_there = $node->safe_psql('postgres', "SELECT count(*) FROM marker WHERE n = $marker");
	my $name = "$point, $definition, " . ($code != 0 ? 'killed' : 'not met') . ($is_there ? ', done' : '');

	$name =~ s/\n//g;
	isnt($code, 3, 'no statement fails') or diag($statements);
	is_same($node, $name);
	TestServer::catch_up($node, $standby);
	is_same($standby, 'likewise on a standby');
	$node->safe_psql('postgres', "TRUNCATE t, twin; INSERT INTO t (id, n, v) $fill; INSERT INTO twin (id, n, v) $fill") if $is_there;
}

my @cases = shuffled(map { my $definition = $_; map { [ $definition, @$_ ] } @places } @definitions);

kill_at(@$_) for $points eq 'all' ? @cases : splice @cases, 0, $points;
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
$node->stop;
$standby->promote;
is_same($standby, 'promoted');
is(TestServer::internal_errors($_) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error') for $node, $standby;
$standby->stop;
done_testing();

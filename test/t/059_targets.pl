# Restore to a point in time: what came before the target, in both kinds of tables, and nothing else.
use strict;
use warnings;
use lib 'test/t';
use TestServer;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('origin');

sub sql { return $node->safe_psql('postgres', $_[0]) }

$node->init(has_archiving => 1, allows_streaming => 1);
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'tsurugi_fdw'\nautovacuum = off");
$node->start;
sql(q{CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi; CREATE TABLE h (id int PRIMARY KEY);
	INSERT INTO t SELECT i, 'first' FROM generate_series(1, 3) i});
$node->backup('base');
sql(q{BEGIN; INSERT INTO t VALUES (4, 'both'); INSERT INTO h VALUES (4); COMMIT;
	UPDATE t SET v = 'changed' WHERE id = 1; DELETE FROM t WHERE id = 2;
	SELECT pg_create_restore_point('here')});
my $here = "1 changed, 3 first, 4 both; 4";

sql(q{INSERT INTO t VALUES (5, 'alone'); BEGIN; INSERT INTO t VALUES (6, 'both'); INSERT INTO h VALUES (6); COMMIT;
	UPDATE t SET v = 'changed again' WHERE id = 1});
my $xid = sql('BEGIN; INSERT INTO t VALUES (7, $$both$$); INSERT INTO h VALUES (7); SELECT txid_current(); COMMIT');
my $there = "1 changed again, 3 first, 4 both, 5 alone, 6 both, 7 both; 4, 6, 7";

# A position: exactly; the record that begins there belongs to it, and is another one.
sql('INSERT INTO t VALUES (99, $$before$$)');
my $lsn = sql('SELECT pg_current_wal_insert_lsn()');
my $at_lsn = $there =~ s/;/, 99 before;/r;
sql('SELECT pg_logical_emit_message(false, $$$$, $$$$); DELETE FROM t WHERE id = 99');

# A time: commits of tables in memory alone tell it, once a second, by an xid of PostgreSQL's.  What
# comes before such a commit is restored, and that commit is not.  (SERIALIZABLE refuses to commit both
# kinds of tables, so the xid does not count as a change of ordinary ones.)
my $time = sql('INSERT INTO t VALUES (100, $$before$$); SELECT clock_timestamp()');
my $then = $there =~ s/;/, 100 before;/r;
my $next_xid = 'SELECT pg_snapshot_xmax(pg_current_snapshot())';
for (my ($n, $xid) = (101, sql($next_xid)); $n < 900; $n++)
{
	sql("BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO t VALUES ($n, 'after'); COMMIT");
	last if sql($next_xid) ne $xid;
	$then =~ s/;/, $n after;/;
	select undef, undef, undef, 0.05;
}

sql('INSERT INTO t VALUES (8, $$later$$); TRUNCATE h');
my $last = sql('SELECT pg_walfile_name(pg_current_wal_lsn())');
sql('SELECT pg_switch_wal()');
$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$last' FROM pg_stat_archiver") or die "nothing is archived\n";
$node->stop;

for my $case ([ 'name', "'here'", $here ], [ 'xid', "'$xid'", $there ], [ 'time', "'$time'", $then ], [ 'lsn', "'$lsn'", $at_lsn ])
{
	my ($kind, $target, $rows) = @$case;
	my $restored = PostgreSQL::Test::Cluster->new("to_$kind");

	$restored->init_from_backup($node, 'base', has_restoring => 1);
	$restored->append_conf('postgresql.conf', "recovery_target_$kind = $target");
	$restored->append_conf('postgresql.conf', "recovery_target_action = 'promote'\narchive_mode = off");
	$restored->start;
	$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()');

	my $found = q{SELECT (SELECT string_agg(id || ' ' || v, ', ' ORDER BY id) FROM t) || '; ' || (SELECT string_agg(id::text, ', ' ORDER BY id) FROM h)};
	is($restored->safe_psql('postgres', $found), $rows, "up to a $kind");
	$restored->safe_psql('postgres', "INSERT INTO t VALUES (1000, 'new')");
	$restored->restart;
	is($restored->safe_psql('postgres', $found), $rows =~ s/;/, 1000 new;/r, 'and goes on from there');
	$restored->stop;
}
done_testing();

# pg_rewind: a primary that went on after its standby was promoted becomes that one's standby.
#
# Both have changed tables in memory and ordinary ones since, made and dropped tables, and written
# bases, whose files have the same names.  The one that is rewound has the other's contents, keeps up
# with it, and is promoted in its turn.
use strict;
use warnings;
use lib 'test/t';
use Acknowledged;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $digest = q{SELECT (SELECT md5(string_agg(ctid::text || t::text, ',' ORDER BY id)) FROM ours t) || ' '
	|| (SELECT count(*) FROM ours WHERE v LIKE 'b%') || ' ' || (SELECT string_agg(id::text, ',' ORDER BY id) FROM heap)
	|| ' ' || (SELECT count(*) FROM pg_class WHERE relname ~ '^made_')};
my $a = PostgreSQL::Test::Cluster->new('a');

$a->init(allows_streaming => 1);
$a->append_conf('postgresql.conf', q{
shared_preload_libraries = 'tsurugi_fdw'
log_line_prefix = '%m [%p] %q%a %e '
autovacuum = off
wal_log_hints = on
wal_keep_size = '256MB'
});
$a->start;
$a->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, v text) SERVER tsurugi; CREATE INDEX ON ours (v);
	CREATE TABLE heap (id int PRIMARY KEY);
	INSERT INTO ours SELECT i, 'common ' || i FROM generate_series(1, 1000) i;
	SELECT tsurugi.write_base()});
$a->backup('copy');

my $b = PostgreSQL::Test::Cluster->new('b');

$b->init_from_backup($a, 'copy', has_streaming => 1);
$b->start;
$a->safe_psql('postgres', q{INSERT INTO ours VALUES (1001, 'both have it'); INSERT INTO heap VALUES (1)});
TestServer::catch_up($a, $b);
$b->promote;

# Each goes its own way.
sub diverge
{
	my ($node, $name) = @_;

	$node->safe_psql('postgres', qq{
		UPDATE ours SET v = '$name ' || id WHERE id % 3 = 0;
		BEGIN; INSERT INTO ours VALUES (2000, '$name'); INSERT INTO heap VALUES (ascii('$name')); COMMIT;
		CREATE FOREIGN TABLE made_by_$name (id int) SERVER tsurugi; INSERT INTO made_by_$name VALUES (1)});
	$node->safe_psql('postgres', 'SELECT tsurugi.write_base()');
	$node->safe_psql('postgres', qq{DELETE FROM ours WHERE id % 5 = 0 AND v LIKE '$name%'; CHECKPOINT; INSERT INTO ours VALUES (3000, '$name')});
}

diverge($a, 'a');
diverge($b, 'b');
is(() = glob($a->data_dir . '/pg_tsurugi/base/manifest.2 ' . $b->data_dir . '/pg_tsurugi/base/manifest.2'), 2, 'both have a second base');
$a->stop;
$b->safe_psql('postgres', 'CHECKPOINT');

my $conf = $a->basedir . '/postgresql.conf';
my $expected = $b->safe_psql('postgres', $digest);

rename $a->data_dir . '/postgresql.conf', $conf;
system("cp '$conf' '" . $a->data_dir . "/postgresql.conf'");
command_ok([ 'pg_rewind', '--target-pgdata', $a->data_dir, '--source-server', $b->connstr('postgres'), '--no-sync' ], 'pg_rewind');
rename $conf, $a->data_dir . '/postgresql.conf';
$a->enable_streaming($b);
$a->start;
$b->safe_psql('postgres', q{INSERT INTO ours VALUES (4000, 'b later'); BEGIN; INSERT INTO ours VALUES (4001, 'b'); INSERT INTO heap VALUES (4001); COMMIT});
isnt($b->safe_psql('postgres', $digest), $expected, 'the other one goes on');
$expected = $b->safe_psql('postgres', $digest);
TestServer::catch_up($b, $a);
Acknowledged::kill_all($b);
$a->promote;
is($a->safe_psql('postgres', $digest), $expected, 'the one that was rewound has its contents');
is($a->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.verify_files()'), '0', 'the files are whole');
Acknowledged::kill_all($a);
$a->start;
is($a->safe_psql('postgres', $digest), $expected, 'after a crash, too');
is($a->safe_psql('postgres', q{INSERT INTO ours VALUES (5000, 'new'); SELECT tsurugi.write_base() > 0}), 't', 'it works on');
$a->restart;
is($a->safe_psql('postgres', 'SELECT v FROM ours WHERE id = 5000'), 'new', 'also after a start');
is(TestServer::internal_errors($_) =~ s/^.*terminated by signal 9.*\n//mgr, '', 'no internal error') for $a, $b;
$a->stop;
done_testing();

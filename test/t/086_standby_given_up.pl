# What a transaction of the primary has made and rolled back is not kept by a standby.
#
# An index of a table that is there already is in the log before it is filled (src/table/storage_log.c,
# 3).  When it is rolled back, with its transaction or to a savepoint, a standby drops it, too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');

$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "$_") for "shared_preload_libraries = 'tsurugi_fdw'", 'autovacuum = off',
	"log_line_prefix = '%m [%p] %q%a %e '", "tsurugi_fdw.load_wait = '60s'";
$primary->start;
$primary->safe_psql('postgres', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE ours (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO ours SELECT i, 'row ' || i FROM generate_series(1, 500) i});
$primary->backup('copy');

my $standby = PostgreSQL::Test::Cluster->new('standby');

$standby->init_from_backup($primary, 'copy', has_streaming => 1);
$standby->start;

# Bytes of keys and indexes of the standby's table, in those of the primary's, which maintains none that
# has been rolled back.
sub share
{
	my $bytes = 'SELECT index_bytes FROM tsurugi.tables';

	TestServer::catch_up($primary, $standby);
	is($standby->safe_psql('postgres', 'SELECT count(*), min(id), max(id) FROM ours'), $_[0], 'the standby follows');
	return $standby->safe_psql('postgres', $bytes) / $primary->safe_psql('postgres', $bytes);
}

# The more rows come, the more an index takes that gets their entries.
$primary->safe_psql('postgres', q{
	BEGIN;
	CREATE INDEX ON ours (v);
	CREATE UNIQUE INDEX ON ours (upper(v));
	INSERT INTO ours VALUES (501, 'row 501');
	ROLLBACK;
	INSERT INTO ours SELECT i, 'row ' || i FROM generate_series(502, 10000) i});
cmp_ok(share('9999|1|10000'), '<', 1.3, 'indexes that were rolled back are gone');
$primary->safe_psql('postgres', q{
	BEGIN;
	DELETE FROM ours WHERE id = 1;
	SAVEPOINT s;
	CREATE INDEX ON ours (v);
	CREATE INDEX ON ours (upper(v));
	UPDATE ours SET v = v || '!' WHERE id = 2;
	ROLLBACK TO s;
	CREATE INDEX kept ON ours (v);
	COMMIT;
	INSERT INTO ours SELECT i, 'row ' || i FROM generate_series(10001, 40000) i});
cmp_ok(share('39998|2|40000'), '<', 1.3, 'those that were rolled back to a savepoint are, one behind it is not');
isnt($primary->psql('postgres', "CREATE UNIQUE INDEX ON ours (length(v))"), 0, 'an index that fails');
$primary->safe_psql('postgres', q{INSERT INTO ours SELECT i, 'row ' || i FROM generate_series(40001, 100000) i});
cmp_ok(share('99998|2|100000'), '<', 1.3, 'is gone, too');
$standby->restart;
share('99998|2|100000');
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', "SET enable_seqscan = off; SELECT count(*) FROM ours WHERE v = 'row 90000'"), '1', 'promoted, the index is used');
is(TestServer::internal_errors($standby), '', 'no internal errors');
$standby->stop;
done_testing();

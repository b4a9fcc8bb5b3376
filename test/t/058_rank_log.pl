# Each value that only its operator class can compare is in the log once, with its rank, before the
# first row with it; queries, and tables that the log does not know yet, log none by itself.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('rank_log');
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_walinspect;
	CREATE EXTENSION ltree;
	CREATE FOREIGN TABLE t (n int PRIMARY KEY, k ltree) SERVER tsurugi;
	CREATE INDEX t_k ON t (k);
	CREATE INDEX t_n ON t (n, k);
});

# The kinds of our records that a session inserts, in order.  A commit may have an xid, to tell the time.
sub records
{
	my ($sql) = @_;
	my $from = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	my $to;

	$node->psql('postgres', $sql);
	$to = $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	return $node->safe_psql('postgres', qq{
		SELECT coalesce(string_agg(replace(record_type, 'COMMIT_WITH', 'COMMIT'), ' ' ORDER BY start_lsn), '') FROM pg_get_wal_records_info('$from', '$to')
		WHERE resource_manager = 'tsurugi_fdw' AND record_type <> 'MARK'});
}

is(records("INSERT INTO t VALUES (1, 'a.b')"), 'NOW COMMIT', 'a new value');
is(records("INSERT INTO t VALUES (2, 'a.b')"), 'COMMIT', 'the same value again, in another session');
is(records("INSERT INTO t VALUES (3, 'a'), (4, 'b'), (5, 'a')"), 'NOW NOW COMMIT', 'several values');
is(records("SELECT FROM t WHERE k > 'x.y' ORDER BY k"), '', 'a value that is looked for');
is(records("UPDATE t SET k = 'c' WHERE n = 1"), 'NOW COMMIT', 'an update');
is(records("BEGIN; INSERT INTO t VALUES (6, 'd'); ROLLBACK"), 'NOW', 'a transaction that is rolled back');
is(records("INSERT INTO t VALUES (6, 'd')"), 'COMMIT', 'its value is logged already');
is(records("UPDATE t SET n = 7 WHERE n = 6"), 'COMMIT', 'a row that keeps its value');
unlike(records(q{
	BEGIN;
	CREATE FOREIGN TABLE new (n int PRIMARY KEY, k ltree) SERVER tsurugi;
	CREATE INDEX ON new (k);
	INSERT INTO new SELECT i, i::text::ltree FROM generate_series(1, 100) i;
	COMMIT}), qr/NOW/, 'values of a new table come with its creation');
is($node->safe_psql('postgres', "SELECT string_agg(k::text, ' ' ORDER BY k) FROM t WHERE k > 'a'"), 'a.b b c d', 'rows are right');
is(TestServer::internal_errors($node), '', 'no internal error');
done_testing();

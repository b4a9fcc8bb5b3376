# Which records a session inserts.
#
# Each value that only its operator class can compare is in the log once, with its rank, before the
# first row with it; queries, and tables that the log does not know yet, log none by itself.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('rank_log', max_prepared_transactions => 1);
$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_walinspect;
	CREATE EXTENSION ltree;
	CREATE FOREIGN TABLE t (n int PRIMARY KEY, k ltree) SERVER tsurugi;
	CREATE INDEX t_k ON t (k);
	CREATE INDEX t_n ON t (n, k);
});

# The kinds of our records that are inserted meanwhile, in order.  A commit may have an xid, to tell the
# time.
sub records_during
{
	my ($act) = @_;
	my $from = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
	my $to;

	$act->();
	$to = $node->safe_psql('postgres', 'SELECT pg_switch_wal()');
	return $node->safe_psql('postgres', qq{
		SELECT coalesce(string_agg(replace(record_type, 'COMMIT_WITH', 'COMMIT'), ' ' ORDER BY start_lsn), '') FROM pg_get_wal_records_info('$from', '$to')
		WHERE resource_manager = 'tsurugi_fdw' AND record_type <> 'MARK'});
}

# Those of a session.
sub records
{
	my ($sql) = @_;

	return records_during(sub { $node->psql('postgres', $sql) });
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
# A large transaction that is aborted between its parts says so.
SKIP:
{
	skip 'no failpoints', 2 unless TestServer::has_failpoints($node);
	$node->safe_psql('postgres', q{CREATE FOREIGN TABLE big (n int, t text) SERVER tsurugi;
		INSERT INTO big SELECT i, repeat('x', 1000) FROM generate_series(1, 3000) i});
	my $session = TestServer::Session->new($node);
	my $pid = $session->query('SELECT pg_backend_pid()');

	is(records_during(
			sub {
				$session->send("SET tsurugi_fdw.failpoints = 'stop:log_part'; VACUUM FULL big;");
				TestServer::has_stopped($pid) or die;
				$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
				kill 'CONT', $pid;
				is($session->wait, 'ERROR 57014', 'a VACUUM FULL is cancelled');
			}),
		'PART GIVEN_UP', 'a transaction that is aborted between its parts');
	$session->close;
}

# No record is longer than PostgreSQL can read it: with 4 MB in the place of some 1 GB.
sub state_with_short_records { return TestServer::sqlstate($node, "SET tsurugi_fdw.failpoints = 'log_record_short'; $_[0]") }

SKIP:
{
	my $contents = q{SELECT count(*), sum(n), md5(string_agg(k::text, ',' ORDER BY k)) FROM named;
		SELECT count(*) FROM (SELECT FROM many FOR UPDATE SKIP LOCKED) _};
	my $before;

	skip 'no failpoints', 9 unless TestServer::has_failpoints($node);
	is(state_with_short_records(q{INSERT INTO big VALUES (0, repeat('x', 5000000))}), '54000', 'a row that no record has room for is refused');
	is(state_with_short_records(q{BEGIN; CREATE TABLE heap (v int); INSERT INTO big VALUES (0, repeat('x', 5000000)); COMMIT}),
		'54000', 'in a transaction of both kinds, too');
	is(state_with_short_records(q{INSERT INTO big SELECT 0, repeat('x', 3000000) FROM generate_series(1, 3)}), '00000', 'three shorter ones are not');
	is(state_with_short_records('DELETE FROM big WHERE n = 0'), '00000', 'nor is their end');
	like(
		records_during(
			sub {
				is( state_with_short_records(q{
						CREATE FOREIGN TABLE named (n int PRIMARY KEY, k ltree) SERVER tsurugi;
						CREATE FOREIGN TABLE many (n int PRIMARY KEY) SERVER tsurugi}), '00000', 'tables');
				is( state_with_short_records(q{
						BEGIN;
						DROP FOREIGN TABLE named;
						CREATE FOREIGN TABLE named (n int PRIMARY KEY, k ltree) SERVER tsurugi;
						CREATE INDEX ON named (k);
						INSERT INTO named SELECT i, (repeat('long', 50) || i)::ltree FROM generate_series(1, 25000) i;
						COMMIT}), '00000', 'many values of a new table');
			}),
		qr/^[A-Z ]*(?: PART){10,} COMMIT$/, 'are in parts');
	$node->safe_psql('postgres', 'INSERT INTO many SELECT generate_series(1, 300000)');
	like(
		records_during(
			sub {
				$node->safe_psql('postgres', q{BEGIN; SELECT FROM many FOR UPDATE; PREPARE TRANSACTION 'p'});
			}),
		qr/^PART COMMIT$/, 'and many row locks');
	$before = $node->safe_psql('postgres', $contents);
	like($before, qr/^25000\|.*\n0$/, 'they are there');
	$node->stop('immediate');
	$node->start;
	is($node->safe_psql('postgres', $contents), $before, 'also after a crash');
	$node->safe_psql('postgres', q{ROLLBACK PREPARED 'p'});
}
is($node->safe_psql('postgres', "SELECT string_agg(k::text, ' ' ORDER BY k) FROM t WHERE k > 'a'"), 'a.b b c d', 'rows are right');
is(TestServer::internal_errors($node), '', 'no internal error');
done_testing();

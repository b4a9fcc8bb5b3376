# Many clients write unique keys and read by indexes, while indexes come and go:
# nobody gets an error, and afterwards every index has what the table has.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = 5;
my $node = TestServer::start('index_clients');
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, u int UNIQUE, a int, b text COLLATE "C") SERVER tsurugi;
	CREATE INDEX t_a ON t (a, b);
	CREATE UNIQUE INDEX t_e ON t (lower(b)) WHERE a > 50;
	INSERT INTO t SELECT i, i, i % 100, 'k' || i FROM generate_series(1, 500) i;
});

sub script
{
	my ($name, $text) = @_;
	my $file = $node->basedir . "/$name.sql";

	append_to_file($file, $text);
	return $file;
}

# as many threads as clients: pgbench prepares statements without looking after the others
# Only waits, no errors: a row with a > 50 never gets another b, nor one with another b an a > 50; the id that ON CONFLICT (u)
# inserts is one that only rows with the same u have; of those that change several rows one works at a time.
my $write = script('write', q{
\set id random(1, 700)
\set u random(1, 700)
\set a random(0, 99)
\set k random(1, 700)
\set w random(1, 6)
\if :w = 1
INSERT INTO t VALUES (:id, :u, :a, 'K' || :k) ON CONFLICT DO NOTHING;
\elif :w = 2
INSERT INTO t VALUES (:u + 10000, :u, :a % 50, 'k' || :k) ON CONFLICT (u) DO UPDATE SET a = excluded.a, b = t.b || 'x' WHERE t.a <= 50 AND length(t.b) < 20;
\elif :w = 3
DELETE FROM t WHERE u = :u;
\elif :w = 4
BEGIN;
SELECT pg_advisory_xact_lock(1);
UPDATE t SET a = :a WHERE id = :id AND a <= 50 AND :a <= 50;
DELETE FROM t WHERE a = :a AND b = 'k' || :k;
ROLLBACK;
\elif :w = 5
BEGIN;
SELECT pg_advisory_xact_lock(1);
UPDATE t SET b = 'q' || :k WHERE a = :a AND a <= 50;
COMMIT;
\else
SELECT count(*) FROM t WHERE a BETWEEN :a AND :a + 3;
\endif
});
my $define = script('define', q{
CREATE INDEX t_more ON t (b DESC, id);
CREATE UNIQUE INDEX t_pair ON t (u, a);
\sleep 50 ms
DROP INDEX t_more;
BEGIN;
CREATE INDEX t_expr ON t ((a + id));
ROLLBACK;
DROP INDEX t_pair;
REINDEX INDEX CONCURRENTLY t_a;
REINDEX TABLE CONCURRENTLY t;
CREATE INDEX CONCURRENTLY t_free ON t (b, a);
DROP INDEX CONCURRENTLY t_free;
\sleep 50 ms
});
my @common = ('pgbench', '--random-seed=1', '-n', '-T', $seconds);
my ($out1, $err1, $out2, $err2) = ('') x 4;
my $writers = IPC::Run::start([ @common, '-M', 'prepared', '-c', 6, '-j', 6, '-f', $write, $node->connstr('postgres') ], '>', \$out1, '2>', \$err1);
my $definer = IPC::Run::start([ @common, '-c', 1, '-f', $define, $node->connstr('postgres') ], '>', \$out2, '2>', \$err2);
ok($writers->finish, 'who writes has no errors') or diag $err1;
ok($definer->finish, 'who makes indexes has none') or diag $err2;
unlike($err1 . $err2, qr/ERROR/, 'no client was aborted');

my ($rows, $part) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE a > 50) FROM t');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT id), count(DISTINCT u), count(DISTINCT lower(b)) FILTER (WHERE a > 50) FROM t'), "$rows|$rows|$part", 'unique keys are unique');
sub by_index
{
	my ($index, $count, $query) = @_;

	like($node->safe_psql('postgres', "EXPLAIN (COSTS OFF) $query"), qr/Index Name: $index/, "$index is read");
	is($node->safe_psql('postgres', $query), $count, 'and has all rows');
}
$node->safe_psql('postgres', 'CREATE INDEX t_late ON t (b)');
by_index('t_u_key', $rows, 'SELECT count(*) FROM t s JOIN LATERAL (SELECT FROM t o WHERE o.u = s.u OFFSET 0) x ON true');
by_index('t_a', $rows, 'SELECT count(*) FROM (SELECT FROM t WHERE a >= 0 ORDER BY a, b OFFSET 0) x');
by_index('t_e', $part, 'SELECT count(*) FROM t s JOIN LATERAL (SELECT FROM t o WHERE lower(o.b) = lower(s.b) AND o.a > 50 OFFSET 0) x ON true WHERE s.a > 50');
by_index('t_late', $rows, "SELECT count(*) FROM (SELECT FROM t WHERE b >= '' ORDER BY b OFFSET 0) x");
$node->poll_query_until('postgres', "SELECT bool_and(entries = CASE index WHEN 't_e' THEN $part ELSE $rows END) FROM tsurugi.indexes WHERE relation = 't'");
is($node->safe_psql('postgres', "SELECT string_agg(index || ' ' || entries, ' ' ORDER BY index) FROM tsurugi.indexes WHERE relation = 't'"),
	"t_a $rows t_e $part t_late $rows t_pkey $rows t_u_key $rows", 'and nothing else, once the collector has been there');
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

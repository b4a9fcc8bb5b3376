# A full memory: the statement that does not fit fails alone, and everything
# that makes room again works.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('limits', 'tsurugi_fdw.memory' => "'32MB'");

my $in_use = 'SELECT sum(bytes) FROM tsurugi.memory_uses';
my $at_start = $node->safe_psql('postgres', $in_use);

$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE u (id int, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE narrow (id int) SERVER tsurugi;
	INSERT INTO narrow SELECT generate_series(1, 250000);
});

my ($code, $out, $err) = $node->psql('postgres', "INSERT INTO u VALUES (1, repeat('x', 100000000))");
like($err, qr/ERROR:  out of memory/, 'a value too large for the arena is refused');
like($err, qr/tsurugi_fdw\.memory/, 'with a hint that names the setting');
is($node->safe_psql('postgres', 'SELECT count(*) FROM u'), '0', 'and leaves nothing');

# Fill it up, in a committed part and one that fails.
my $filled = 0;
for my $round (1 .. 100)
{
	my $from = $round * 10000;

	last if TestServer::sqlstate($node,
		"INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series($from, $from + 9999) i") ne '00000';
	$filled += 10000;
}
cmp_ok($filled, '>=', 10000, "$filled rows fit");
is(TestServer::sqlstate($node, "INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series(2000000, 2500000) i"),
	'53200', 'a statement too big for the memory fails');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), $filled, 'alone: what was there stays');
is(TestServer::sqlstate($node, "UPDATE t SET v = v || 'z'"), '53200', 'an update of everything fails too');
is($node->safe_psql('postgres', "SELECT count(*) FROM t WHERE v LIKE '%z'"), '0', 'and is taken back');
is($node->safe_psql('postgres', "BEGIN; DELETE FROM t; ROLLBACK; SELECT count(*) FROM t"), $filled, 'DELETE and ROLLBACK work at the limit');
is(TestServer::sqlstate($node, 'DELETE FROM t WHERE id % 2 = 0'), '00000', 'DELETE works at the limit');
ok($node->poll_query_until('postgres', q{
		SELECT used < limit_bytes * 0.7 FROM tsurugi.memory}), 'and what it leaves is collected');
is(TestServer::sqlstate($node, "INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series(3000000, 3005000) i"),
	'00000', 'so that there is room again');

# A transaction that has claimed much is refused before one that has not: one that has filled what
# it could of the memory, down to the last row, leaves some of it to others.
my $greedy = TestServer::Session->new($node);
$greedy->query('BEGIN');
my $next = 5000000;
for my $rows (10000, 1000, 100, 10, 1)
{
	for (;;)
	{
		my $last = $next + $rows - 1;
		$greedy->query('SAVEPOINT s');
		last if $greedy->query("INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series($next, $last) i") eq 'ERROR 53200';
		$greedy->query('RELEASE s');
		$next += $rows;
	}
	$greedy->query('ROLLBACK TO s');
}
is(TestServer::sqlstate($node, "INSERT INTO u SELECT i, repeat('z', 200) FROM generate_series(1, 1000) i"), '00000',
	'beside a transaction that has taken all it could get others go on');
is(TestServer::sqlstate($node, "UPDATE u SET v = v || 'z'"), '00000', 'with updates, too');
is($greedy->query('INSERT INTO t SELECT 4999999, repeat($$y$$, 500000)'), 'ERROR 53200', 'which itself is refused');
$greedy->close;

# Garbage is no reason to refuse: who meets the limit collects it first.  Each
# statement here leaves as much garbage as there is data.
$node->safe_psql('postgres', "CREATE FOREIGN TABLE g (id int PRIMARY KEY, v text) SERVER tsurugi");
is(TestServer::sqlstate($node, 'TRUNCATE t'), '00000', 'emptied');
is(TestServer::sqlstate($node, "INSERT INTO g SELECT i, repeat('y', 200) FROM generate_series(1, 25000) i"), '00000', 'a table of a third of the memory');
my $updates = $node->safe_psql('postgres', join(';', ("UPDATE g SET v = repeat('z', 200)") x 20) . '; SELECT count(*) FROM g');
is($updates, '25000', 'is updated as a whole, again and again');
is($node->safe_psql('postgres', "DROP FOREIGN TABLE g; INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series(1, 40000) i; SELECT count(*) FROM t"), '40000', 'and dropped');

# Nor is what a statement leaves that was refused: the next one may store a whole table or index.
$node->safe_psql('postgres', "TRUNCATE t; CREATE FOREIGN TABLE g (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO g SELECT i, repeat('y', 200) FROM generate_series(1, 10000) i");
my $refused = TestServer::Session->new($node);
my @answers;
for my $definition (('REINDEX TABLE g', 'VACUUM FULL g', 'ALTER TABLE g ALTER id TYPE bigint', 'ALTER TABLE g ALTER id TYPE int') x 3)
{
	push @answers, map { $refused->query($_) } "INSERT INTO t SELECT i, repeat('y', 10000) FROM generate_series(1, 10000) i", $definition;
}
is(join(',', @answers), join(',', ('ERROR 53200', '') x 12), 'right after it, tables and indexes are stored anew');
$refused->close;
$node->safe_psql('postgres', "DROP FOREIGN TABLE g; INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series(1, 40000) i");

# A lower limit than what is in use refuses new data, and nothing else.
$node->append_conf('postgresql.conf', "tsurugi_fdw.memory = '16MB'");
$node->reload;
$node->poll_query_until('postgres', 'SELECT limit_bytes = 16 * 1024 * 1024 FROM tsurugi.memory');
is(TestServer::sqlstate($node, "INSERT INTO t SELECT i, repeat('y', 200) FROM generate_series(4000000, 4100000) i"),
	'53200', 'below what is in use inserts are refused');
is(TestServer::sqlstate($node, 'TRUNCATE t'), '00000', 'TRUNCATE works');
is(TestServer::sqlstate($node, "INSERT INTO t VALUES (1, 'room')"), '00000', 'and makes room');

# A DELETE takes three times as much as rows of a number that have been at rest.
ok($node->poll_query_until('postgres', "SELECT header_bytes = 0 FROM tsurugi.tables WHERE relation = 'narrow'"), 'narrow rows, at rest');
ok($node->poll_query_until('postgres', 'SELECT committed < limit_bytes * 0.45 FROM tsurugi.memory'), 'and what TRUNCATE left has come back');
is(TestServer::sqlstate($node, "INSERT INTO t SELECT -i, repeat('y', 300000) FROM generate_series(1, 28) i"), '00000', 'and large ones beside them');
is($node->safe_psql('postgres', 'BEGIN; DELETE FROM narrow; SELECT committed > limit_bytes * 1.4 FROM tsurugi.memory; ROLLBACK'), 't', 'DELETE of all of them works, and ROLLBACK');
is(TestServer::sqlstate($node, 'DELETE FROM narrow'), '00000', 'and once more');
is($node->safe_psql('postgres', 'SELECT count(*) FROM narrow'), '0', 'to the end');
ok($node->poll_query_until('postgres', 'SELECT used < limit_bytes * 0.7 FROM tsurugi.memory'), 'and what it leaves is collected');
is(TestServer::sqlstate($node, 'DROP FOREIGN TABLE t, u, narrow'), '00000', 'DROP works');
ok($node->poll_query_until('postgres', "SELECT ($in_use) = $at_start"), "what is in use is what was at the start, to the byte ($at_start)")
	or diag($node->safe_psql('postgres', 'SELECT * FROM tsurugi.memory_uses'));
ok($node->poll_query_until('postgres', 'SELECT committed < 12 * 1024 * 1024 FROM tsurugi.memory'), 'pages go back to the system');
$node->stop;
done_testing();

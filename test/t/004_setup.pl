# The library not preloaded, no place for the worker, several databases.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Not preloaded.
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init;
$plain->start;
my ($code, $out, $err) = $plain->psql('postgres', 'CREATE EXTENSION tsurugi_fdw');
isnt($code, 0, 'CREATE EXTENSION is refused where the library is not preloaded');
like($err, qr/shared_preload_libraries = 'tsurugi_fdw'/, 'and says what to write where');
$plain->stop;

# No place for the worker: the tables are never loaded, and everything else works.
my $node = TestServer::start('crowded', 'max_worker_processes' => 0, 'tsurugi_fdw.load_wait' => '300ms');
is($node->safe_psql('postgres', 'CREATE TABLE ordinary AS SELECT 1 AS id; CHECKPOINT; SELECT id FROM ordinary'), '1', 'without a worker ordinary tables work');
is(TestServer::sqlstate($node, 'CREATE FOREIGN TABLE t (id int PRIMARY KEY) SERVER tsurugi'), '57P03', 'and ours are refused');
($code, $out, $err) = $node->psql('postgres', 'CREATE FOREIGN TABLE t (id int PRIMARY KEY) SERVER tsurugi');
like($err, qr/DETAIL:  The tsurugi_fdw worker is not running.*HINT:  .*max_worker_processes/s, 'with the reason');
$node->stop;

# Two databases.
$node = TestServer::start('databases');
my $in_use = "SELECT sum(bytes) FROM tsurugi.memory_uses WHERE use IN ('tables', 'chunks', 'headers', 'blobs', 'indexes', 'logs')";
my $at_start = $node->safe_psql('postgres', $in_use);
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t SELECT i, repeat('v', 30) FROM generate_series(1, 20000) i;
});
$node->safe_psql('postgres', 'CREATE DATABASE second TEMPLATE template0');
$node->safe_psql('second', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v text) SERVER tsurugi;
	INSERT INTO t VALUES (1, 'second');
});
is($node->safe_psql('second', 'SELECT * FROM t'), '1|second', 'two databases have tables of their own');
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), '20000', 'the first one is as it was');
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE second');
is($node->safe_psql('copy', 'SET tsurugi_fdw.missing_contents = empty; SELECT count(*) FROM t'), '0', 'a copied database has the table, but not its rows');
$node->safe_psql('copy', "INSERT INTO t VALUES (1, 'copy')");
is($node->safe_psql('second', 'SELECT * FROM t'), '1|second', 'and they do not mix');
$node->safe_psql('postgres', 'DROP DATABASE copy');
$node->safe_psql('postgres', 'DROP DATABASE second');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.tables'), '1', 'a dropped database takes its tables along');
$node->safe_psql('postgres', 'DROP EXTENSION tsurugi_fdw CASCADE; CREATE EXTENSION tsurugi_fdw');
ok($node->poll_query_until('postgres', "SELECT ($in_use) = $at_start"), 'DROP EXTENSION CASCADE frees all memory');
$node->stop;
done_testing();

# pg_dump writes the key, and its output restores, rows included where asked for.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('dump');
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (a int, b text COLLATE "C", c numeric(10,2) NOT NULL DEFAULT 1.5 CHECK (c > 0), d jsonb,
		CONSTRAINT t_key PRIMARY KEY (b, a)) SERVER tsurugi;
	COMMENT ON CONSTRAINT t_key ON t IS 'the key';
	INSERT INTO t SELECT i, 'b' || i % 10, i, '{"a": [1, 2]}' FROM generate_series(1, 1000) i;
});
my $dump = $node->basedir . '/dump.sql';

$node->command_ok([ 'pg_dump', '--include-foreign-data=tsurugi', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
like(slurp_file($dump), qr/ADD CONSTRAINT t_key PRIMARY KEY \(b, a\)/, 'writes the key');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('restored'), '-f', $dump ], 'its output restores');
is($node->safe_psql('restored', 'SELECT count(*), sum(a), sum(c), min(d::text) FROM t'), '1000|500500|500500.00|{"a": [1, 2]}', 'with the rows');
is($node->safe_psql('restored', "SELECT a FROM t WHERE b = 'b3' AND a = 13"), '13', 'the key finds them');
is(TestServer::sqlstate($node, "INSERT INTO t VALUES (13, 'b3', 1)", 'restored'), '23505', 'and is unique');
is($node->safe_psql('restored', "SELECT obj_description(oid) FROM pg_constraint WHERE conname = 't_key'"), 'the key', 'comments too');
$node->command_ok([ 'pg_dump', '--include-foreign-data=tsurugi', '-f', "$dump.2", $node->connstr('restored') ], 'dumped again');
is(slurp_file("$dump.2") =~ s/restrict \w+//gr, slurp_file($dump) =~ s/restrict \w+//gr, 'it is the same');
$node->stop;
done_testing();

# Values of keys that come and go, ranked by their operator class or because they are long: the memory that they took comes back by
# itself, though two hundred times as much as there is at a time comes, beside clients that look and read in order; what one
# transaction has looked at stays as long as that.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

# A thread that the system does not let run keeps what is out of use meanwhile, so there is room for some of it.
my $node = TestServer::start('key_churn', 'tsurugi_fdw.memory' => "'64MB'", 'tsurugi_fdw.workers' => 1);

$node->safe_psql('postgres', q{
	CREATE EXTENSION ltree;
	CREATE FOREIGN TABLE queue (id int PRIMARY KEY, path ltree, body text) SERVER tsurugi;
	CREATE INDEX queue_path ON queue (path);
	CREATE UNIQUE INDEX queue_body ON queue (body COLLATE "C");
	CREATE FOREIGN TABLE documents (body text COLLATE "C" PRIMARY KEY, n int) SERVER tsurugi;
	-- a few that stay, between those that come and go
	CREATE PROCEDURE fill() LANGUAGE sql AS $$
		INSERT INTO documents SELECT repeat('x', 3000) || lpad((i * 1000)::text, 6, '0'), i FROM generate_series(1, 20) i;
	$$;
	CREATE PROCEDURE churn(first int, last int) LANGUAGE plpgsql AS $$
	BEGIN
		FOR r IN first .. last LOOP
			INSERT INTO queue SELECT r * 10000 + i, ('queue.' || r || '.' || i)::ltree, repeat('y', 3000) || r || ' ' || i FROM generate_series(1, 200) i;
			INSERT INTO documents SELECT repeat('x', 3000) || lpad((i * 100 + r % 89 + 1)::text, 6, '0') || r, 0 FROM generate_series(1, 200) i;
			COMMIT;
			IF (SELECT count(*) FROM queue WHERE path <@ ('queue.' || r)::ltree) <> 200 OR
				NOT EXISTS (SELECT FROM queue WHERE path = ('queue.' || r || '.7')::ltree) OR
				(SELECT n FROM documents WHERE body = repeat('x', 3000) || '007000') IS DISTINCT FROM 7 THEN
				RAISE 'lost in round %', r;
			END IF;
			DELETE FROM queue WHERE id / 10000 = r;
			DELETE FROM documents WHERE n = 0 AND body LIKE '%' || r;
			COMMIT;
		END LOOP;
	END $$});

sub index_bytes
{
	return $node->safe_psql('postgres', q{SELECT bytes FROM tsurugi.memory_uses WHERE use = 'indexes'});
}

my ($code, $stdout, $stderr);

# No thread of the pool has time: a session that writes without a pause sweeps out itself what it has put in before.
SKIP:
{
	skip 'built without failpoints', 1
		if !TestServer::has_failpoints($node);
	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = 'collector_pool'");
	$node->restart;
	($code, $stdout, $stderr) = $node->psql('postgres', 'CALL fill(); CALL churn(1, 100)');
	is($code, 0, 'nobody else collects') or diag $stderr;
	$node->append_conf('postgresql.conf', "tsurugi_fdw.failpoints = ''");
	$node->restart;
}

# 200 * 2 * 3,000 bytes a round, of which there is one at a time
$node->safe_psql('postgres', 'TRUNCATE queue, documents; CALL fill()');
($code, $stdout, $stderr) = $node->psql('postgres', 'CALL churn(1, 200)');
is($code, 0, 'several times the limit comes and goes') or diag $stderr;

# What is left to the last sweep goes when the next one finds it.
my $bytes;
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	$bytes = index_bytes();
	last if $bytes < 8 << 20;
	select undef, undef, undef, 0.1;
}
cmp_ok($bytes, '<', 8 << 20, 'and is given back');
is($node->safe_psql('postgres', q{SELECT string_agg(n::text, ' ' ORDER BY o) FROM (SELECT n, row_number() OVER () AS o FROM (SELECT n FROM documents ORDER BY body) d) s}),
	join(' ', 1 .. 20), 'what stays is in order');

# What a transaction has seen of a value that is not there holds until its end.
my $reader = TestServer::Session->new($node);
$reader->query(q{BEGIN ISOLATION LEVEL SERIALIZABLE});
is($reader->query(q{SELECT n FROM documents WHERE body = repeat('x', 3000) || '007500'}), '', 'a value that is not there');
($code, $stdout, $stderr) = $node->psql('postgres', 'CALL churn(1, 3)');
is($code, 0, 'others go on') or diag $stderr;
$node->safe_psql('postgres', q{INSERT INTO documents VALUES (repeat('x', 3000) || '007500', 75)});
$reader->query(q{INSERT INTO documents VALUES (repeat('x', 3000) || 'z', 1)});
is($reader->query('COMMIT'), 'ERROR 40001', 'comes, and is noticed');
$reader->close;

$node->append_conf('postgresql.conf', "tsurugi_fdw.memory = '256MB'");
$node->reload;

# What a transaction has put into an index and taken back it has read as not there, and holds.
my $writer = TestServer::Session->new($node);
$writer->query(q{BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT s});
$writer->query(q{INSERT INTO queue VALUES (-1, NULL, repeat('y', 3000) || 'mine'); ROLLBACK TO s});
($code, $stdout, $stderr) = $node->psql('postgres', 'CALL churn(4, 30)');
is($code, 0, 'others go on') or diag $stderr;
$node->safe_psql('postgres', q{INSERT INTO queue VALUES (-2, NULL, repeat('y', 3000) || 'mine')});
$writer->query(q{INSERT INTO queue VALUES (-3)});
is($writer->query('COMMIT'), 'ERROR 40001', 'a value that was put in and taken back comes, and is noticed');
$writer->close;

# Several clients, and one that reads in order; what is out of use goes when transactions have ended, which here overlap.
my @clients = map { TestServer::Session->new($node)->send("CALL churn($_ * 1000, $_ * 1000 + 60);") } 1 .. 3;
my $wrong = 0;
for (1 .. 20)
{
	$wrong += $node->safe_psql('postgres', q{
		SELECT count(*) FROM (SELECT body < lag(body) OVER () AS wrong FROM (SELECT body FROM documents ORDER BY body) d) s WHERE wrong});
}
is($wrong, 0, 'in order beside clients that write');
is($_->wait, '', 'a client has found all that it has written') for @clients;
$_->close for @clients;
is(TestServer::internal_errors($node), '', 'no error was internal');
$node->stop;
done_testing();

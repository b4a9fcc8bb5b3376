# Foreign keys and row locks beyond one server's SQL: dump and restore, the moment between the two
# halves of a commit, short memory, many clients at once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = TestServer::start('foreign_key', 'deadlock_timeout' => "'50ms'");

# --- dump and restore -----------------------------------------------------------------

$node->safe_psql('postgres', q{CREATE DATABASE source TEMPLATE template0});
$node->safe_psql('source', q{
	CREATE EXTENSION tsurugi_fdw;
	CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	CREATE TABLE mp (id int PRIMARY KEY, code text UNIQUE) USING tsurugi;
	CREATE TABLE hp (a int, b int, PRIMARY KEY (a, b));
	CREATE TABLE mc (id int PRIMARY KEY, p int REFERENCES mp ON DELETE CASCADE, c text REFERENCES mp (code) ON UPDATE SET NULL,
		a int, b int, up int REFERENCES mc, FOREIGN KEY (a, b) REFERENCES hp MATCH FULL ON DELETE SET NULL (b)) USING tsurugi;
	CREATE TABLE hc (p int CONSTRAINT "odd name" REFERENCES mp);
	INSERT INTO mp SELECT i, 'c' || i FROM generate_series(1, 100) i;
	INSERT INTO hp SELECT i, i FROM generate_series(1, 10) i;
	INSERT INTO mc SELECT i, i, 'c' || i, 1 + i % 10, 1 + i % 10, (i + 1) / 2 FROM generate_series(1, 100) i;
	INSERT INTO hc SELECT generate_series(1, 100);
	ALTER TABLE hc ADD CONSTRAINT late FOREIGN KEY (p) REFERENCES mp NOT VALID;
	COMMENT ON CONSTRAINT "odd name" ON hc IS 'odd';
	CREATE TABLE pp (id int PRIMARY KEY, up int REFERENCES pp) PARTITION BY RANGE (id);
	CREATE TABLE pp1 PARTITION OF pp FOR VALUES FROM (0) TO (50) USING tsurugi;
	CREATE TABLE pp2 PARTITION OF pp FOR VALUES FROM (50) TO (100);
	CREATE TABLE pc (id int, p int REFERENCES pp ON UPDATE CASCADE DEFERRABLE, m int REFERENCES mp) PARTITION BY HASH (id);
	CREATE TABLE pc1 PARTITION OF pc FOR VALUES WITH (MODULUS 2, REMAINDER 0) USING tsurugi;
	CREATE TABLE pc2 PARTITION OF pc FOR VALUES WITH (MODULUS 2, REMAINDER 1);
	INSERT INTO pp SELECT i, NULLIF(i - 1, 0) FROM generate_series(1, 99) i;
	INSERT INTO pc SELECT i, i, i FROM generate_series(1, 99) i;
});
my $archive = $node->basedir . '/archive';
my $definitions = q{SELECT conrelid::regclass, conname, convalidated, pg_get_constraintdef(oid), obj_description(oid),
	conparentid <> 0, (SELECT count(*) FROM pg_trigger WHERE tgconstraint = c.oid)
	FROM pg_constraint c WHERE contype = 'f' ORDER BY conrelid::regclass::text, conname};
$node->command_ok([ 'pg_dump', '-Fc', '--include-foreign-data=*', '-f', $archive, $node->connstr('source') ], 'a dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'pg_restore', '-e', '-d', $node->connstr('restored'), $archive ], 'restores');
is($node->safe_psql('restored', $definitions), $node->safe_psql('source', $definitions), 'with its foreign keys');
is(TestServer::sqlstate($node, 'INSERT INTO mc (id, p) VALUES (1000, 1000)', 'restored'), '23503', 'which are checked');
is(TestServer::sqlstate($node, 'DELETE FROM mp WHERE id = 1', 'restored'), '23503', 'on both sides');
is(TestServer::sqlstate($node, 'INSERT INTO pc VALUES (100, 100)', 'restored'), '23503', 'also of partitioned tables');
is(TestServer::sqlstate($node, 'UPDATE pp SET id = 100 - id WHERE id = 1', 'restored'), '23505', 'whose keys are there');
is(TestServer::sqlstate($node, 'DELETE FROM pp WHERE id = 98', 'restored'), '23503', 'and actions');

# --- a commit in ordinary tables and here --------------------------------------------------

SKIP:
{
	skip 'built without failpoints', 5
		if !TestServer::has_failpoints($node);
	$node->safe_psql('postgres', q{
		CREATE TABLE hp (id int PRIMARY KEY);
		CREATE TABLE mc (id int, p int REFERENCES hp) USING tsurugi;
	});
	my $orphans = 'SELECT count(*) FROM mc WHERE p NOT IN (SELECT id FROM hp)';
	for my $bug ('', 'prepared_unseen')
	{
		my $child = TestServer::Session->new($node);
		my $parent = TestServer::Session->new($node);
		my $pid = $child->query('SELECT pg_backend_pid();');

		$node->safe_psql('postgres', 'TRUNCATE hp, mc; INSERT INTO hp VALUES (1)');
		$parent->query("SET tsurugi_fdw.failpoints = '$bug';");
		$child->query("BEGIN; SET LOCAL tsurugi_fdw.failpoints = 'stop:commit'; INSERT INTO mc VALUES (1, 1);");
		$child->send('COMMIT;');
		ok(TestServer::has_stopped($pid), 'a transaction has committed in the ordinary tables, and not yet here');
		$parent->send('DELETE FROM hp WHERE id = 1;');
		$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query = 'DELETE FROM hp WHERE id = 1;'
			AND (state = 'idle' OR wait_event_type IN ('Lock', 'Extension'))}) or die 'it neither ends nor waits';
		kill 'CONT', $pid;
		$child->wait;
		is($parent->wait, $bug eq '' ? 'ERROR 23503' : '', $bug eq '' ? 'who deletes the referenced row waits for it' : 'without the wait');
		is($node->safe_psql('postgres', $orphans), $bug eq '' ? 0 : 1, $bug eq '' ? 'no orphan' : 'an orphan is left');
		$_->close for $child, $parent;
	}
	$node->safe_psql('postgres', 'DROP TABLE mc, hp');
}

# --- short memory ---------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	CREATE TABLE wide (id int PRIMARY KEY) USING tsurugi;
	INSERT INTO wide SELECT generate_series(1, 200000);
});
my $used = $node->safe_psql('postgres', 'SELECT committed / 1048576 + 3 FROM tsurugi.memory');
$node->safe_psql('postgres', "ALTER SYSTEM SET tsurugi_fdw.memory = '${used}MB'");
$node->reload;
$node->poll_query_until('postgres', "SELECT limit_bytes <= $used * 1048576::bigint FROM tsurugi.memory");
is(TestServer::sqlstate($node, 'SELECT id FROM wide FOR SHARE'), '53200', 'too little memory for so many locks');
is($node->safe_psql('postgres', "SELECT bytes FROM tsurugi.memory_uses WHERE use = 'locks'"), '0', 'they are all gone');
is(TestServer::sqlstate($node, 'BEGIN; SELECT id FROM wide WHERE id <= 100 FOR UPDATE; DELETE FROM wide WHERE id <= 100; COMMIT'),
	'00000', 'a few find room');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET tsurugi_fdw.memory');
$node->reload;
$node->safe_psql('postgres', 'DROP TABLE wide');

# --- a queue --------------------------------------------------------------------------------

$node->safe_psql('postgres', q{
	CREATE TABLE job (id int PRIMARY KEY, taken boolean NOT NULL DEFAULT false) USING tsurugi;
	CREATE TABLE log (id int) USING tsurugi;
	INSERT INTO job SELECT generate_series(1, 1500);
});
my $take = $node->basedir . '/take.sql';
append_to_file($take, q{
WITH next AS (SELECT id FROM job WHERE NOT taken ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED),
	done AS (UPDATE job SET taken = true FROM next WHERE job.id = next.id RETURNING job.id)
INSERT INTO log SELECT id FROM done;
});
$node->command_ok([ 'pgbench', '--random-seed=1', '-n', '-c', '4', '-j', '2', '-t', '370', '-f', $take, $node->connstr('postgres') ], 'four consumers');
is($node->safe_psql('postgres', 'SELECT count(*) = count(DISTINCT id) FROM log'), 't', 'nobody takes a job twice');
is($node->safe_psql('postgres', 'SELECT count(*), (SELECT count(*) FROM job WHERE taken) FROM log'), '1480|1480', 'none is lost');

# --- at random --------------------------------------------------------------------------------

for my $pair ([ 'memory', 'USING tsurugi', 'USING tsurugi' ], [ 'to memory', 'USING tsurugi', '' ], [ 'from memory', '', 'USING tsurugi' ])
{
	my ($name, $parent, $child) = @$pair;
	my $script = $node->basedir . '/random.sql';

	$node->safe_psql('postgres', qq{
		CREATE TABLE p (id int PRIMARY KEY, v int DEFAULT 0) $parent;
		CREATE TABLE c (id bigint, p int REFERENCES p) $child;
		CREATE TABLE k (id bigint, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE) $child;
		INSERT INTO p SELECT generate_series(1, 12);
		CREATE FUNCTION step(what int, a int, b int) RETURNS void LANGUAGE plpgsql AS \$\$
		BEGIN
			CASE what
				WHEN 0 THEN INSERT INTO c VALUES (1, a), (2, b);
				WHEN 1 THEN INSERT INTO k VALUES (1, a);
				WHEN 2 THEN DELETE FROM p WHERE id = a;
				WHEN 3 THEN UPDATE p SET id = b WHERE id = a;
				WHEN 4 THEN INSERT INTO p VALUES (a) ON CONFLICT DO NOTHING;
				WHEN 5 THEN UPDATE c SET p = b WHERE p = a;
				WHEN 6 THEN UPDATE p SET v = v + 1 WHERE id = a;
				ELSE DELETE FROM c WHERE p = a;
			END CASE;
		EXCEPTION WHEN foreign_key_violation OR unique_violation OR deadlock_detected THEN NULL;
		END \$\$;
	});
	for my $level ('read committed', 'repeatable read')
	{
		unlink $script;
		append_to_file($script, qq{
\\set x random(0, 8)
\\set y random(0, 8)
\\set a random(1, 12)
\\set b random(1, 12)
BEGIN ISOLATION LEVEL $level;
SELECT step(:x, :a, :b);
SELECT step(:y, :b, :a);
COMMIT;
});
		$node->command_ok([ 'pgbench', '--random-seed=1', '-n', '-c', '4', '-j', '2', '-t', '150', '--max-tries=0', '--latency-limit=60000', '-f', $script,
			$node->connstr('postgres') ], "$name, $level: clients that insert and delete at both ends");
		is($node->safe_psql('postgres', q{SELECT count(*) FROM (SELECT p FROM c UNION ALL SELECT p FROM k) x
			WHERE p NOT IN (SELECT id FROM p)}), '0', 'leave no orphan');
		is($node->safe_psql('postgres', "SELECT bytes FROM tsurugi.memory_uses WHERE use = 'locks'"), '0', 'and no lock');
	}
	$node->safe_psql('postgres', 'DROP TABLE c, k, p; DROP FUNCTION step');
}

done_testing();

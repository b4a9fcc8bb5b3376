# Prepared look-ups, which keep their executor state, as drivers use them:
# binary results, several portals over one statement, portals that are run in
# parts; next to other libraries that hook into the executor; altered and ended
# from elsewhere.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Wire;
use Test::More;

my $node = TestServer::start('prepared', 'shared_preload_libraries' => "'tsurugi_fdw, pg_stat_statements'",
	'pg_stat_statements.track' => 'all', 'log_min_messages' => 'log');

$node->safe_psql('postgres', q{
	CREATE EXTENSION pg_stat_statements;
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v bigint, name text) SERVER tsurugi;
	INSERT INTO t SELECT i, i, 'n' || i FROM generate_series(1, 100) i;
});
my $kept = q{SELECT count(*) FROM pg_backend_memory_contexts WHERE ident = 'kept by tsurugi_fdw'};
my $running = q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'tsurugi_fdw execution' AND ident = 'running'};

# --- the extended protocol ------------------------------------------------------------

my $wire = Wire->new($node);
my $one = '31';
$wire->parse('', 'SET plan_cache_mode = force_generic_plan')->bind('', '', 0)->execute('', 0)->sync;
is($wire->parse('look', 'SELECT v, name FROM t WHERE id = $1')->sync, '', 'a statement is prepared');
for my $i (1 .. 4)
{
	is($wire->bind('', 'look', 0, $i)->execute('', 0)->sync, sprintf('3%d,6e3%d SELECT 1', $i, $i), "text, execution $i");
	is($wire->bind('', 'look', 1, $i)->execute('', 0)->sync, sprintf('%016x,6e3%d SELECT 1', $i, $i), "binary, execution $i");
}
is($wire->parse('', $kept)->bind('', '', 0)->execute('', 0)->sync, "$one SELECT 1", 'one state is kept');
is($wire->bind('', 'look', 0, 1000)->execute('', 0)->sync, 'SELECT 0', 'no row');
is($wire->bind('', 'look', 0, 'x')->execute('', 0)->sync, 'ERROR 22P02', 'a parameter that is none');
is($wire->bind('', 'look', 0, 5)->execute('', 1)->execute('', 1)->sync, '35,6e35 suspended SELECT 0', 'in parts');
is($wire->bind('', 'look', 0, 5)->sync, '', 'started and never run');
is($wire->bind('', 'look', 0, 5)->execute('', 1)->sync, '35,6e35 suspended', 'begun and never finished');

# Every type, text and binary, by settings that change what is written: a state is kept from the second execution
# on, and what it sends is what PostgreSQL has sent for the first one.
my @types = (
	int2 => '-32768', int4 => '-2147483648', int8 => '-9223372036854775808', oid => '4294967295', bool => 't', char3 => 'a', name => 'nämé',
	text => 'täxt', varchar => '', bytea => '\x00ff', float4 => '0.1', float8 => '1e-300', numeric => '-1.50', "numeric(6,2)" => '1234.56', date => '2020-02-29',
	time => '23:59:59.5', timestamp => '1999-12-31 23:59:59.999999', timestamptz => '2020-02-29 12:00:00+00', interval => '1 mon 2 days 3.5s', uuid => '00112233-4455-6677-8899-aabbccddeeff',
	json => '{"a": [1]}', jsonb => '{"ä": [1]}', inet => '10.0.0.1/8', macaddr => '08:00:2b:01:02:03', bit3 => '101', varbit => '1', point => '(1,2)', money => '$1.00',
	'int4[]' => '{1,NULL,-3}', 'text[]' => '{ä,"b c",NULL}', int4range => '[1,5)', regclass => 'pg_class', tsvector => "''a'':1", xid => '7', pg_lsn => '0/16', '"char"' => 'x');
my (@names, @values);
while (my ($type, $value) = splice @types, 0, 2)
{
	push @names, sprintf('c%d %s', scalar @names, $type =~ s/^(char|bit)3$/$1(3)/r);
	push @values, "'$value'";
}
my $columns = join ', ', map { (split)[0] } @names;
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE every (id int PRIMARY KEY, ' . join(', ', @names) . ') SERVER tsurugi');
$node->safe_psql('postgres', 'INSERT INTO every VALUES (1, ' . join(', ', @values) . '), (2' . ', NULL' x @names . '), (3, ' .
	join(', ', map { /\b(text|varchar)$/ ? "repeat('wide ä', 20000)" : 'NULL' } @names) . ')');
$wire->parse('every', "SELECT $columns, id FROM every WHERE id = \$1")->sync;
for my $setting ('DateStyle = ISO', 'DateStyle = German', 'IntervalStyle = iso_8601', 'TimeZone = "Asia/Tokyo"', 'bytea_output = escape', 'extra_float_digits = -5', 'client_encoding = latin1')
{
	$wire->parse('', "SET $setting")->bind('', '', 0)->execute('', 0)->sync;
	for my $id (1 .. 3)
	{
		for my $binary (0, 1)
		{
			# a plan that nobody has run is PostgreSQL's
			$wire->parse('fresh', "SELECT $columns, id FROM every WHERE id = \$1")->sync;
			my $expected = $wire->bind('', 'fresh', $binary, $id)->execute('', 0)->sync;
			$wire->add('C', pack('a Z*', 'S', 'fresh'))->sync;
			my @seen = map { $wire->bind('', 'every', $binary, $id)->execute('', 0)->sync } 1 .. 3;
			ok($expected =~ / SELECT 1$/ && $seen[0] eq $expected && $seen[1] eq $expected && $seen[2] eq $expected,
				"every type, row $id, " . ($binary ? 'binary' : 'text') . ", $setting");
		}
	}
}
is($wire->bind('', 'every', 2, 1)->execute('', 0)->sync, 'ERROR 22023', 'a format that is none');
is($wire->parse('', q{SET client_encoding = utf8})->bind('', '', 0)->execute('', 0)->sync, 'SET', 'and on');
# types that somebody may change are PostgreSQL's affair
$node->safe_psql('postgres', q{CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN small AS int CHECK (VALUE < 10);
	CREATE FOREIGN TABLE felt (id int PRIMARY KEY, m mood, d small) SERVER tsurugi; INSERT INTO felt VALUES (1, 'glad', 7)});
$wire->parse('felt', 'SELECT m, d FROM felt WHERE id = $1')->sync;
is($wire->bind('', 'felt', 0, 1)->execute('', 0)->sync, '676c6164,37 SELECT 1', 'of a type made by a user') for 1 .. 3;
$node->safe_psql('postgres', q{ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'});
is($wire->bind('', 'felt', 0, 1)->execute('', 0)->sync, '6861707079,37 SELECT 1', 'which has changed');
$node->safe_psql('postgres', 'DROP FOREIGN TABLE felt, every; DROP TYPE mood; DROP DOMAIN small');
is($wire->parse('', 'DEALLOCATE every')->bind('', '', 0)->execute('', 0)->parse('', 'DEALLOCATE felt')->bind('', '', 0)->execute('', 0)->sync,
	'DEALLOCATE DEALLOCATE', 'done with them');

# privileges are those of each execution, also where another session has changed them
$node->safe_psql('postgres', q{CREATE ROLE reader; CREATE ROLE group_of_readers; GRANT SELECT ON t TO group_of_readers; GRANT group_of_readers TO reader});
$wire->parse('', 'SET ROLE reader')->bind('', '', 0)->execute('', 0)->sync;
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e31 SELECT 1', 'allowed by a group') for 1 .. 3;
$node->safe_psql('postgres', q{REVOKE group_of_readers FROM reader});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, 'ERROR 42501', 'which the role has left');
$node->safe_psql('postgres', q{GRANT SELECT (id, name, v) ON t TO reader});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e31 SELECT 1', 'allowed by column') for 1 .. 3;
$node->safe_psql('postgres', q{REVOKE SELECT (v) ON t FROM reader});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, 'ERROR 42501', 'not any more');
$node->safe_psql('postgres', q{GRANT pg_read_all_data TO reader});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e31 SELECT 1', 'allowed to read everything');
$node->safe_psql('postgres', q{DROP OWNED BY reader; REVOKE pg_read_all_data FROM reader});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, 'ERROR 42501', 'nor that');
$wire->parse('', 'RESET ROLE')->bind('', '', 0)->execute('', 0)->sync;
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e31 SELECT 1', 'a role that is allowed goes on');

# two portals over the same statement, and a third after the first has been closed
is($wire->parse('', 'BEGIN')->bind('', '', 0)->execute('', 0)->bind('a', 'look', 0, 1)->bind('b', 'look', 1, 2)
		->parse('', $running)->bind('', '', 0)->execute('', 0)
		->execute('b', 1)->execute('a', 1)->close_portal('a')->bind('c', 'look', 0, 3)
		->execute('b', 1)->execute('c', 0)->sync,
	"BEGIN $one SELECT 1 " . sprintf('%016x,6e32 suspended 31,6e31 suspended SELECT 0 33,6e33 SELECT 1', 2),
	'several portals at once');
is($wire->bind('', 'look', 0, 'x')->sync, 'ERROR 22P02', 'an error with portals open');
is($wire->parse('', 'ROLLBACK')->bind('', '', 0)->execute('', 0)->sync, 'ROLLBACK', 'ends them');
is($wire->parse('', $running)->bind('', '', 0)->execute('', 0)->sync, '30 SELECT 1', 'and their executions');
for my $i (1 .. 3)
{
	is($wire->bind('', 'look', 0, $i)->execute('', 0)->sync, sprintf('3%d,6e3%d SELECT 1', $i, $i), "afterwards, execution $i");
}

# modifications: what PostgreSQL tells of them, also of errors, and privileges that another session has changed
$node->safe_psql('postgres', q{CREATE FOREIGN TABLE w (id int PRIMARY KEY, v bigint, name text) SERVER tsurugi; GRANT INSERT, SELECT, UPDATE, DELETE ON w TO reader});
$wire->parse('ins', 'INSERT INTO w VALUES ($1, $2, $3)')->parse('up', 'UPDATE w SET v = v + $2 WHERE id = $1')->parse('del', 'DELETE FROM w WHERE id = $1')->sync;
for my $i (1 .. 4)
{
	is($wire->bind('', 'ins', 0, $i, 10 * $i, 'wide ' x 2000)->execute('', 0)->bind('', 'up', 0, $i, $i)->execute('', 0)->bind('', 'up', 0, $i, 1)->execute('', 0)->sync,
		'INSERT 0 1 UPDATE 1 UPDATE 1', "inserted and updated in one transaction, $i");
	is($wire->bind('', 'ins', 0, $i, 0, '')->execute('', 0)->sync, 'ERROR 23505', "not twice, $i");
	is($wire->bind('', 'up', 0, -$i, 1)->execute('', 0)->bind('', 'up', 0, $i, 'x')->sync, 'UPDATE 0 ERROR 22P02', "no row, and no value, $i");
}
is($wire->bind('', 'del', 0, $_)->execute('', 0)->bind('', 'del', 0, $_)->execute('', 0)->sync, 'DELETE 1 DELETE 0', "deleted, $_") for 1 .. 3;
is($node->safe_psql('postgres', 'SELECT id, v, length(name) FROM w'), '4|45|10000', 'all of it was done once');
is($wire->parse('', 'SET ROLE reader')->bind('', '', 0)->execute('', 0)->bind('', 'up', 0, 4, 1)->execute('', 0)->bind('', 'del', 0, 1)->execute('', 0)->sync,
	'SET UPDATE 1 DELETE 0', 'allowed to another role');
$node->safe_psql('postgres', q{REVOKE UPDATE, DELETE ON w FROM reader});
is($wire->bind('', $_, 0, 4, ('1') x ($_ eq 'up'))->execute('', 0)->sync, 'ERROR 42501', "not any more: $_") for 'up', 'del';
is($wire->bind('', 'ins', 0, 5, 5, '')->execute('', 0)->sync, 'INSERT 0 1', 'but this is');
$node->safe_psql('postgres', q{GRANT UPDATE ON w TO reader});
is($wire->bind('', 'up', 0, 4, 1)->execute('', 0)->sync, 'UPDATE 1', 'and this, once more');
$node->safe_psql('postgres', q{REVOKE EXECUTE ON FUNCTION int8pl(bigint, bigint) FROM PUBLIC});
is($wire->bind('', 'up', 0, 4, 1)->execute('', 0)->sync, 'ERROR 42501', 'nor to call a function');
$node->safe_psql('postgres', q{GRANT EXECUTE ON FUNCTION int8pl(bigint, bigint) TO PUBLIC});
is($wire->bind('', 'up', 0, 4, 1)->execute('', 0)->parse('', 'RESET ROLE')->bind('', '', 0)->execute('', 0)->sync, 'UPDATE 1 RESET', 'allowed again');
# in the log of another library, which takes the plan from the state
is($wire->parse('', "LOAD 'auto_explain'")->bind('', '', 0)->execute('', 0)->parse('', 'SET auto_explain.log_min_duration = 0')->bind('', '', 0)->execute('', 0)
		->bind('', 'up', 0, 4, 1)->execute('', 0)->bind('', 'ins', 0, 6, 6, '')->execute('', 0)
		->parse('', 'SET auto_explain.log_min_duration = -1')->bind('', '', 0)->execute('', 0)->sync, 'LOAD SET UPDATE 1 INSERT 0 1 SET', 'logged');
like(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/Update on w.*Foreign Update on w.*Key Cond: \(id = \$1\).*Insert on w/s, 'with their plans');
is($node->safe_psql('postgres', q{SELECT string_agg(calls || ' ' || rows, ', ' ORDER BY query) FROM
		(SELECT query, sum(calls) AS calls, sum(rows) AS rows FROM pg_stat_statements WHERE query ~ '^(INSERT INTO|UPDATE|DELETE FROM) w' GROUP BY query) s}),
	'7 3, 6 6, 16 12', 'pg_stat_statements counts them');
is($wire->parse('', $running)->bind('', '', 0)->execute('', 0)->sync, '30 SELECT 1', 'none runs');
$node->safe_psql('postgres', 'DROP FOREIGN TABLE w');
is($wire->bind('', 'up', 0, 4, 1)->execute('', 0)->sync, 'ERROR 42P01', 'the table is gone');

# an interrupt in the middle of the rows
$node->safe_psql('postgres', 'CREATE FOREIGN TABLE many (id int PRIMARY KEY) SERVER tsurugi; INSERT INTO many SELECT generate_series(1, 200000)');
$wire->parse('range', 'SELECT id FROM many WHERE id > $1 ORDER BY id')->sync;
is($wire->bind('', 'range', 0, 199998)->execute('', 0)->sync, '313939393939 323030303030 SELECT 2', 'a range') for 1 .. 3;
$wire->parse('', 'SET statement_timeout = 2')->bind('', '', 0)->execute('', 0)->sync;
like($wire->bind('', 'range', 0, 0)->execute('', 0)->sync, qr/ERROR 57014$/, 'a timeout') for 1 .. 3;
# which on a busy machine may take too long itself
1 while $wire->parse('', 'RESET statement_timeout')->bind('', '', 0)->execute('', 0)->sync =~ /ERROR 57014/;
is($wire->parse('', $running)->bind('', '', 0)->execute('', 0)->sync, '30 SELECT 1', 'ends the execution');
like($wire->bind('', 'range', 0, 0)->execute('', 0)->sync, qr/323030303030 SELECT 200000$/, 'and the next one finds all') for 1 .. 3;
$node->safe_psql('postgres', 'DROP FOREIGN TABLE many');

# --- other libraries, and other sessions ------------------------------------------------

is($node->safe_psql('postgres', q{
	SELECT sum(calls) > 15 AND sum(rows) > 10 FROM pg_stat_statements WHERE query = 'SELECT v, name FROM t WHERE id = $1'}),
	't', 'pg_stat_statements counts them');

$node->safe_psql('postgres', q{UPDATE t SET name = 'new' WHERE id = 1});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e6577 SELECT 1', 'what another session has committed is seen');
$node->safe_psql('postgres', q{ALTER FOREIGN TABLE t ADD COLUMN w int; ALTER FOREIGN TABLE t DROP COLUMN v;
	ALTER FOREIGN TABLE t ADD COLUMN v text DEFAULT 'text'});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, 'ERROR 0A000', 'another type is refused');
$node->safe_psql('postgres', q{ALTER FOREIGN TABLE t DROP COLUMN v; ALTER FOREIGN TABLE t ADD COLUMN v bigint DEFAULT 9});
for my $i (1 .. 3)
{
	is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '39,6e6577 SELECT 1', "another column of the name, execution $i");
}
$node->safe_psql('postgres', q{TRUNCATE t});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, 'SELECT 0', 'emptied');
$node->safe_psql('postgres', q{DROP FOREIGN TABLE t});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, 'ERROR 42P01', 'dropped');

# a session that is ended in the middle of an execution
$node->safe_psql('postgres', q{
	CREATE FOREIGN TABLE t (id int PRIMARY KEY, v bigint, name text) SERVER tsurugi; INSERT INTO t VALUES (1, 1, 'n1')});
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e31 SELECT 1', 'there again') for 1 .. 3;
$wire->parse('', 'BEGIN')->bind('', '', 0)->execute('', 0)->bind('a', 'look', 0, 1)->execute('a', 1)->sync;
is($node->safe_psql('postgres', 'SELECT count(*) FROM tsurugi.sessions WHERE pid IS NOT NULL AND oldest_snapshot IS NOT NULL'), 1, 'it holds a snapshot');
$node->safe_psql('postgres', q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'});
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM tsurugi.sessions WHERE pid IS NOT NULL AND oldest_snapshot IS NOT NULL'),
	'which goes with it');

# --- not the first library --------------------------------------------------------------

$node->adjust_conf('postgresql.conf', 'shared_preload_libraries', "'pg_stat_statements, tsurugi_fdw'");
$node->restart;
like(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/tsurugi_fdw is not the first library that hooks into the executor/,
	'the log says what to do where another library comes first');
$node->safe_psql('postgres', 'SELECT pg_stat_statements_reset()');
$wire = Wire->new($node);
$wire->parse('', 'SET plan_cache_mode = force_generic_plan')->bind('', '', 0)->execute('', 0)->sync;
$wire->parse('look', 'SELECT v, name FROM t WHERE id = $1')->sync;
is($wire->bind('', 'look', 0, 1)->execute('', 0)->sync, '31,6e31 SELECT 1', 'executions are as they were') for 1 .. 4;
is($wire->parse('', $kept)->bind('', '', 0)->execute('', 0)->sync, '30 SELECT 1', 'but nothing is kept');
is($node->safe_psql('postgres', q{SELECT calls FROM pg_stat_statements WHERE query = 'SELECT v, name FROM t WHERE id = $1'}),
	4, 'and all are counted');

done_testing();

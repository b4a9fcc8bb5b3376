# Memory quotas: what the tables of a role, of a database, of a role in a database may take
# together; what is refused then, and what goes on; and the books agree with the tables.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use TestServer;
use Test::More;

my $node = TestServer::start('quota', 'tsurugi_fdw.memory' => "'256MB'");
my $MB = 1024 * 1024;

# What a session may store of long values before it asks, for each table: the bound of the error.
my $unasked = 64 * 1024;

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]) }
sub state_of { return TestServer::sqlstate($node, $_[0], $_[1]) }

sub error_of
{
	my ($code, $out, $err) = $node->psql($_[1] // 'postgres', $_[0]);

	return $err;
}

# Bytes, quota or refusals of a role, a database, or both.
sub quota
{
	my ($figure, $role, $database) = @_;

	return sql("SELECT coalesce($figure, -1) FROM tsurugi.memory_quotas WHERE role IS NOT DISTINCT FROM "
		  . (defined $role ? "'$role'" : 'NULL') . ' AND database IS NOT DISTINCT FROM ' . (defined $database ? "'$database'" : 'NULL'));
}

# Inserts rows, half a megabyte by each statement, until one is refused; the SQLSTATE.
my $next = 0;
sub fill
{
	my ($role, $table, $database) = @_;
	my $state = '00000';

	for (my $round = 0; $round < 200 && $state eq '00000'; $round++)
	{
		my $from = $next;
		$next += 1000;
		$state = state_of("SET ROLE $role; INSERT INTO $table SELECT i, repeat('x', 500) FROM generate_series($from, $from + 999) i", $database);
	}
	return $state;
}

sub single
{
	my ($role, $table, $database) = @_;

	$next++;
	return state_of("SET ROLE $role; INSERT INTO $table VALUES ($next, repeat('y', 5000))", $database);
}

# Sums of accounts are those of the tables.
sub is_balanced
{
	my ($name) = @_;
	my $tables = 'SELECT sum(total_bytes) FROM tsurugi.tables';

	# what has been dropped goes when nobody can see it any more
	ok($node->poll_query_until('postgres', "SELECT (SELECT sum(bytes) FROM tsurugi.memory_quotas WHERE role IS NOT NULL AND database IS NULL) = ($tables)
		AND (SELECT sum(bytes) FROM tsurugi.memory_quotas WHERE role IS NULL) = ($tables)
		AND (SELECT sum(bytes) FROM tsurugi.memory_quotas WHERE role IS NOT NULL AND database IS NOT NULL) = ($tables)"),
		"the books agree with the tables $name")
	  or diag(sql('TABLE tsurugi.memory_quotas'), "\n", sql('TABLE tsurugi.tables'));
}

# So are those of each owner in this database, as of the tables that are its own.
sub is_of_owners
{
	my ($name) = @_;

	ok($node->poll_query_until('postgres', q{SELECT bool_and(coalesce(q.bytes, 0) = coalesce(t.bytes, 0)) FROM
		(SELECT relowner::regrole::text AS role, sum(tsurugi.table_size(oid)) AS bytes FROM pg_class WHERE relkind = 'f' GROUP BY 1) t
		FULL JOIN (SELECT role, bytes FROM tsurugi.memory_quotas WHERE role IS NOT NULL AND database = current_database()) q USING (role)}), $name)
	  or diag(sql('TABLE tsurugi.memory_quotas'), "\n", sql('SELECT oid::regclass, relowner::regrole, tsurugi.table_size(oid) FROM pg_class WHERE relkind = $$f$$'));
}

sql(q{
	CREATE ROLE alice; CREATE ROLE bob; CREATE ROLE carol;
	CREATE DATABASE other;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO alice, bob, carol;
	GRANT CREATE ON SCHEMA public TO alice, bob, carol;
	ALTER ROLE alice SET tsurugi_fdw.memory_quota = '8MB';
	SET ROLE alice;
	CREATE FOREIGN TABLE a (id int PRIMARY KEY, v text) SERVER tsurugi;
	CREATE FOREIGN TABLE a2 (id int PRIMARY KEY, v text) SERVER tsurugi;
	GRANT ALL ON a TO bob;
	SET ROLE bob;
	CREATE FOREIGN TABLE b (id int PRIMARY KEY, v text) SERVER tsurugi;
	RESET ROLE;
	CREATE FOREIGN TABLE s (id int PRIMARY KEY, v text) SERVER tsurugi;
});
sql(q{
	CREATE EXTENSION tsurugi_fdw; CREATE SERVER tsurugi FOREIGN DATA WRAPPER tsurugi_fdw;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO alice, bob;
	GRANT CREATE ON SCHEMA public TO alice, bob;
	SET ROLE alice;
	CREATE FOREIGN TABLE a (id int PRIMARY KEY, v text) SERVER tsurugi;
	SET ROLE bob;
	CREATE FOREIGN TABLE b (id int PRIMARY KEY, v text) SERVER tsurugi;
}, 'other');

# --- a role's quota

is(quota('quota', 'alice'), 8 * $MB, 'the quota of a role is known with its first table');
is(quota('quota', 'bob'), -1, 'another one has none');
is(fill('alice', 'a'), '53200', 'a role with a quota is refused');
cmp_ok(quota('bytes', 'alice'), '<=', 8 * $MB + $unasked, 'its tables take no more than that');
cmp_ok(quota('bytes', 'alice'), '>', 7 * $MB, 'and not much less');
like(error_of("SET ROLE alice; INSERT INTO a SELECT i, repeat('x', 500) FROM generate_series(1000000, 1005000) i"),
	qr/ERROR:  out of memory quota of role "alice" for tables.*\nDETAIL:  Its tables take \d+ kB, and tsurugi_fdw.memory_quota allows 8192 kB/,
	'the error names the role, what it has and what it may have');
cmp_ok(quota('refused', 'alice'), '>', 0, 'refusals are counted');
is(fill('alice', 'a2'), '53200', 'another table of that role gets nothing');
is(fill('alice', 'a', 'other'), '53200', 'nor does one in another database');
is(fill('bob', 'a'), '53200', 'nor somebody else who writes to it');
is(single('bob', 'b'), '00000', 'another role goes on');
is(single('bob', 'b', 'other'), '00000', 'in other databases, too');
is(single('postgres', 's'), '00000', 'and so does the superuser');
is(state_of('SET ROLE alice; CREATE INDEX ON a (v)'), '53200', 'an index on the table is refused');
is(state_of('CREATE INDEX ON a (v)'), '53200', "the superuser's, too, since it would be the owner's");
like(error_of('VACUUM FULL a'), qr/out of memory quota of role "alice"/, 'so is storing the table anew: both would be there for a while');
is_balanced('when a quota is used up');

is(state_of("SET ROLE alice; UPDATE a SET v = v || 'z'"), '53200', 'an update of everything is refused');
is(state_of('SET ROLE alice; BEGIN; DELETE FROM a; ROLLBACK'), '00000', 'DELETE and ROLLBACK work');
is(state_of('SET ROLE alice; DELETE FROM a WHERE id % 2 = 0'), '00000', 'so does a DELETE that stays');
is(single('alice', 'a'), '00000', 'and makes room');
is(state_of('SET ROLE alice; TRUNCATE a'), '00000', 'TRUNCATE works');
ok($node->poll_query_until('postgres', "SELECT bytes < $MB FROM tsurugi.memory_quotas WHERE role = 'alice' AND database IS NULL"), 'and gives the bytes back');
is(state_of("SET ROLE alice; INSERT INTO a SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i"), '00000', 'so that there is room again');
is(state_of("SET ROLE alice; INSERT INTO a2 VALUES (-1, repeat('x', 9000000))"), '53200', 'a value larger than the quota is refused');
is_balanced('after a refusal');
is(state_of("SET ROLE alice; BEGIN; CREATE FOREIGN TABLE gone (id int, v text) SERVER tsurugi; INSERT INTO gone SELECT i, repeat('x', 500) FROM generate_series(1, 2000) i; ROLLBACK"),
	'00000', 'a table that is rolled back');
is_balanced('and it leaves nothing');

# --- changes of a quota

my $used = quota('bytes', 'alice');
cmp_ok($used, '>', $MB, 'the role has more than a megabyte');
sql("ALTER ROLE alice SET tsurugi_fdw.memory_quota = '1MB'");
is(quota('quota', 'alice'), $MB, 'a quota may be lowered below what is in use');
is(fill('alice', 'a'), '53200', 'then everything is refused');
is(sql('SELECT count(*) FROM a'), '2000', 'nothing is lost');
is(state_of('SET ROLE alice; CREATE FOREIGN TABLE a3 (id int) SERVER tsurugi'), '53200', 'and no further table is made, since empty ones take memory, too');
is(state_of("BEGIN; ALTER ROLE alice SET tsurugi_fdw.memory_quota = '64MB'; ROLLBACK"), '00000', 'a change that is rolled back');
is(quota('quota', 'alice'), $MB, 'is none');
is(state_of("BEGIN; SAVEPOINT s; ALTER ROLE alice SET tsurugi_fdw.memory_quota = '64MB'; ROLLBACK TO s; COMMIT"), '00000', 'to a savepoint');
is(quota('quota', 'alice'), $MB, 'neither');
sql('ALTER ROLE alice RESET ALL');
is(quota('quota', 'alice'), -1, 'RESET ALL takes it away');
is(single('alice', 'a'), '00000', 'and the role goes on');
sql("ALTER ROLE ALL SET tsurugi_fdw.memory_quota = '2MB'; ALTER ROLE bob SET tsurugi_fdw.memory_quota = 0; ALTER ROLE postgres SET tsurugi_fdw.memory_quota = -1");
is(quota('quota', 'alice'), 2 * $MB, 'that of all roles is of each that has none');
is(quota('quota', 'bob'), -1, 'and not of one that has 0');
sql('ALTER ROLE ALL RESET tsurugi_fdw.memory_quota; ALTER ROLE bob RESET tsurugi_fdw.memory_quota');

is(state_of("SET ROLE alice; ALTER ROLE alice SET tsurugi_fdw.memory_quota = '64MB'"), '42501', 'only a superuser may set it');
is(state_of("SET tsurugi_fdw.memory_quota = '1MB'"), '22023', 'it is of no session');
my $holder = TestServer::Session->new($node);
$holder->query('BEGIN; SET ROLE alice; ALTER ROLE alice RESET ALL');
is(state_of("SET lock_timeout = '10s'; ALTER ROLE carol SET tsurugi_fdw.memory_quota = '4MB'"), '00000', 'who may not change it is in nobody\'s way');
$holder->query('ROLLBACK');
$holder->query("BEGIN; ALTER ROLE carol SET tsurugi_fdw.memory_quota = '2MB'");
is(state_of("SET lock_timeout = '100ms'; CREATE ROLE dora; GRANT USAGE ON FOREIGN SERVER tsurugi TO carol; SET ROLE carol; CREATE FOREIGN TABLE c (id int, v text) SERVER tsurugi"),
	'55P03', 'who makes an account waits for whoever is changing a quota');
$holder->query('COMMIT');
sql('SET ROLE carol; CREATE FOREIGN TABLE c (id int, v text) SERVER tsurugi');
is(quota('quota', 'carol'), 2 * $MB, 'and finds the new one');

# --- a database's quota, and that of a role in a database

sql("ALTER DATABASE other SET tsurugi_fdw.memory_quota = '4MB'");
is(quota('quota', undef, 'other'), 4 * $MB, 'the quota of a database');
is(fill('bob', 'b', 'other'), '53200', 'bounds the tables of a role there');
is(fill('alice', 'a', 'other'), '53200', 'and of all others');
like(error_of("SET ROLE bob; INSERT INTO b SELECT i, repeat('x', 500) FROM generate_series(1000000, 1005000) i", 'other'),
	qr/out of memory quota of database "other".*\n.*\nHINT:.*ALTER DATABASE/, 'the error names the database');
cmp_ok(quota('bytes', undef, 'other'), '<=', 4 * $MB + 2 * $unasked, 'they take no more together');
is(single('bob', 'b'), '00000', 'in another database the role goes on');
sql('ALTER DATABASE other RESET tsurugi_fdw.memory_quota');
sql("ALTER ROLE bob IN DATABASE other SET tsurugi_fdw.memory_quota = '6MB'");
is(fill('bob', 'b', 'other'), '53200', 'the quota of a role in a database');
like(error_of("SET ROLE bob; INSERT INTO b SELECT i, repeat('x', 500) FROM generate_series(1000000, 1005000) i", 'other'),
	qr/out of memory quota of role "bob" in database "other"/, 'is named so');
is(single('bob', 'b'), '00000', 'and is of no other database');
is(single('alice', 'a', 'other'), '00000', 'and no other role');
is_balanced('over two databases');

# --- owners

sql('SET ROLE bob; CREATE FOREIGN TABLE m (id int PRIMARY KEY, v text) SERVER tsurugi; CREATE INDEX ON m (v); CREATE INDEX ON m (lower(v))');
sql("SET ROLE bob; INSERT INTO m SELECT i, md5(i::text) FROM generate_series(1, 5000) i");
my $size = sql("SELECT tsurugi.table_size('m')");
cmp_ok($size, '>', $MB / 4, 'a table with indexes');
is_of_owners('is on the account of its owner');
sql('ALTER TABLE m OWNER TO alice');
is_of_owners('goes to that of its new owner');
is(quota('quota', 'alice'), -1, '(which has no quota)');
sql('BEGIN; ALTER TABLE m OWNER TO bob; ROLLBACK; BEGIN; SAVEPOINT s; ALTER TABLE m OWNER TO bob; TRUNCATE m; ROLLBACK TO s; COMMIT');
is_of_owners('and back where that is rolled back');
sql("ALTER ROLE carol SET tsurugi_fdw.memory_quota = '100kB'; ALTER TABLE m OWNER TO carol");
cmp_ok(quota('bytes', 'carol'), '>', 100 * 1024, 'a role may get a table that is larger than its quota');
is_of_owners('which is on its account as a whole');
is(state_of("SET ROLE carol; INSERT INTO c SELECT i, repeat('x', 500) FROM generate_series(1, 5000) i"), '53200', 'and nothing more then');
sql('REASSIGN OWNED BY carol TO bob');
is(sql("SELECT count(*) FROM tsurugi.memory_quotas WHERE role = 'carol'"), '0', 'REASSIGN OWNED leaves no account');
sql('DROP OWNED BY carol; DROP ROLE carol');
is_balanced('after changes of owners');

# --- moves, rewrites, the ends of tables

sql('ALTER TABLE m SET ACCESS METHOD heap');
is_of_owners('a table that moves out of memory is on no account');
sql('ALTER TABLE m SET ACCESS METHOD tsurugi; ALTER TABLE m ALTER id TYPE bigint; DROP INDEX m_v_idx; VACUUM FULL m');
is_balanced('after moves and rewrites');
sql('ALTER TABLE m DROP COLUMN v; CREATE TABLE p (id int, v text) PARTITION BY RANGE (id); CREATE FOREIGN TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10) SERVER tsurugi; ALTER TABLE p1 OWNER TO alice; INSERT INTO p VALUES (1)');
is_balanced('with a partition of another owner');

# --- who sees what

sub seen { return sql("SET ROLE $_[0]; SELECT string_agg(DISTINCT coalesce(role, '-'), ',' ORDER BY coalesce(role, '-')) FROM tsurugi.memory_quotas") }
is(seen('bob'), 'bob', 'a role sees its own accounts');
sql('GRANT pg_read_all_stats TO bob');
is(seen('bob'), '-,alice,bob,postgres', 'with pg_read_all_stats all, and those of databases');

# --- a restart, and the end of everything

sql("ALTER ROLE bob SET tsurugi_fdw.memory_quota = '3MB'");
$node->restart;
sql('SELECT count(*) FROM b');
is(quota('quota', 'bob'), 3 * $MB, 'a quota outlives a restart');
sql('SELECT count(*) FROM a; SELECT count(*) FROM b', 'other');
is(quota('quota', 'bob', 'other'), 6 * $MB, 'so does that in a database');
sql('DROP DATABASE other');
is(sql('SELECT count(*) FROM tsurugi.memory_quotas WHERE database IS DISTINCT FROM current_database() AND database IS NOT NULL'), '0', 'DROP DATABASE leaves no account');
sql('DROP OWNED BY alice, bob CASCADE');
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM tsurugi.memory_quotas WHERE role <> 'postgres'"), 'DROP OWNED leaves none');
sql('DROP FOREIGN TABLE s; DROP TABLE p');
ok($node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM tsurugi.memory_quotas'), 'and without tables there is none at all');

done_testing();

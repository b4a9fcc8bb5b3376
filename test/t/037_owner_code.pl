# Functions that a table's owner has put into it run as the owner, whichever role maintains,
# verifies, moves or imports the table, and however that ends; and they cannot write to the table
# while it is being built.
#
# Each function says what it is called for and as which role, and tries to make its author a
# superuser.
use strict;
use warnings;
use lib 'test/t';
use PostgreSQL::Test::Utils;
use TestServer;
use Test::More;

my $node = TestServer::start('owner_code', autovacuum_naptime => '1s', autovacuum_analyze_threshold => 10);

$node->safe_psql('postgres', q{
	CREATE ROLE eve;
	GRANT CREATE ON SCHEMA public TO eve;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO eve;
	CREATE SCHEMA own AUTHORIZATION eve;
	CREATE SCHEMA imported;
	SET ROLE eve;
	SET search_path = own;
	CREATE FUNCTION say(what text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			RAISE WARNING 'said: % as %', what, current_user;
			BEGIN
				ALTER ROLE eve SUPERUSER;
			EXCEPTION WHEN insufficient_privilege THEN
			END;
		END $$;
	-- what else is done, if a superuser's session says so
	CREATE FUNCTION act() RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			IF current_setting('door.act', true) <> '' THEN EXECUTE current_setting('door.act'); END IF;
		END $$;
	CREATE FUNCTION f(what text, x int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM own.say(what), own.act();
			RETURN CASE current_setting('door.lies', true) WHEN 'on' THEN 0 ELSE x END;
		END $$;
	CREATE FUNCTION keys(what text, x int) RETURNS int[] IMMUTABLE LANGUAGE sql AS 'SELECT ARRAY[own.f(what, x)]';
	CREATE DOMAIN positive AS int;
	CREATE TABLE t (id int PRIMARY KEY, v int, w int DEFAULT f('default', 1), n int,
		CHECK (f('check', v) > 0), g int GENERATED ALWAYS AS (f('generated', v)) STORED) USING tsurugi;
	CREATE INDEX by_index ON t (f('index', v));
	CREATE INDEX by_predicate ON t (v) WHERE f('predicate', v) > 0;
	CREATE INDEX by_keys ON t USING gin (keys('keys', v));
	CREATE INDEX by_hash ON t USING hash (f('hash', v));
	CREATE UNIQUE INDEX by_unique ON t (f('unique', v));
	CREATE TABLE h (LIKE t INCLUDING ALL);
	CREATE TABLE d (v positive) USING tsurugi;
	INSERT INTO d VALUES (1);
	CREATE VIEW seen AS SELECT id, f('view', id) AS v FROM t;
	INSERT INTO t SELECT g, g, g, g FROM generate_series(1, 3) g;
	INSERT INTO h SELECT id, v, w, n FROM t});

# What is said while a superuser runs statements, and by whom; and the SQLSTATE that they end with.
sub said
{
	my ($sql) = @_;
	my ($code, $stdout, $stderr) = $node->psql('postgres', $sql, on_error_stop => 1, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	my %said;

	$said{"$1 as $2"} = 1 while $stderr =~ /said: (\w+) as (\w+)/g;
	return join(', ', sort keys %said) . ($stderr =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? " $1" : '');
}

# That all of it is said by the table's owner.
sub by_owner
{
	my ($sql, $what, $state) = @_;

	is(said($sql), join(', ', map { "$_ as eve" } sort split / /, $what) . (defined $state ? " $state" : ''), $sql);
}

sub as_owner
{
	$node->safe_psql('postgres', "SET ROLE eve; SET search_path = own; $_[0]");
}

my $indexes = 'hash index keys predicate unique';
my $stored = "check generated $indexes";

# --- indexes are made, and made anew
by_owner("CREATE INDEX made ON own.t (own.f('made', v)) WHERE own.f('kept', v) > 0", 'kept made');
by_owner('DROP INDEX own.made', '');
by_owner("CREATE INDEX CONCURRENTLY made ON own.t (own.f('made', v)) WHERE own.f('kept', v) > 0", 'kept made');
by_owner('DROP INDEX own.made', '');
by_owner("CREATE INDEX made ON own.t USING gin (own.keys('made', v))", 'made');
by_owner('DROP INDEX own.made', '');
by_owner('REINDEX TABLE own.t', $indexes);
by_owner('REINDEX TABLE CONCURRENTLY own.t', $indexes);
by_owner("REINDEX INDEX own.by_$_", $_) for split / /, $indexes;
by_owner("REINDEX INDEX CONCURRENTLY own.by_$_", $_) for split / /, $indexes;
by_owner('REINDEX SCHEMA own', $indexes);
by_owner('VACUUM FULL own.t', $indexes);
by_owner('CLUSTER own.t USING by_index', $indexes);
by_owner('ANALYZE own.t', $indexes);

# --- what an index is on is planned, which calls functions with constant arguments; each in a new
# session
as_owner(q{
	CREATE TABLE folds (v int NOT NULL, w int) USING tsurugi;
	CREATE UNIQUE INDEX folded ON folds ((v + f('folded', 1))) WHERE v > f('bound', 0)});
unlike(said($_), qr/as postgres/, "not the caller's: $_") for
	'ALTER TABLE own.folds REPLICA IDENTITY USING INDEX folded',
	'ALTER TABLE own.folds ADD UNIQUE USING INDEX folded',
	'ALTER TABLE own.folds ALTER w TYPE bigint',
	'ALTER TABLE own.folds ALTER v TYPE bigint',
	'REINDEX TABLE own.folds',
	'IMPORT FOREIGN SCHEMA own LIMIT TO (folds) FROM SERVER tsurugi INTO imported';
is($node->safe_psql('postgres', q{SELECT DISTINCT relowner::regrole, count(*) FROM pg_class WHERE relnamespace = 'imported'::regnamespace GROUP BY 1}),
	'postgres|2', 'an imported table and its index are of the role that imports');
$node->safe_psql('postgres', 'DROP TABLE own.folds; DROP FOREIGN TABLE imported.folds');

# --- constraints, columns
by_owner("ALTER TABLE own.t ADD CONSTRAINT added CHECK (own.f('added', v) > 0) NOT VALID", '');
by_owner('ALTER TABLE own.t VALIDATE CONSTRAINT added', 'added');
by_owner('ALTER TABLE own.t DROP CONSTRAINT added', '');
by_owner("ALTER TABLE own.t ADD CONSTRAINT added CHECK (own.f('added', v) > 0)", 'added');
by_owner('ALTER TABLE own.t DROP CONSTRAINT added', '');
by_owner("ALTER TABLE own.t ADD CONSTRAINT excluded EXCLUDE (own.f('excluded', v) WITH =)", 'excluded');
by_owner('ALTER TABLE own.t DROP CONSTRAINT excluded', '');
by_owner('ALTER TABLE own.t ADD UNIQUE (n)', '');
by_owner('ALTER TABLE own.t ALTER n TYPE bigint', $indexes); # the CHECK is about another column
by_owner('ALTER TABLE own.t ADD by_whom text DEFAULT current_user', $indexes);
by_owner('ALTER TABLE own.t ALTER n TYPE text USING current_user || n', $indexes);
is($node->safe_psql('postgres', 'SELECT DISTINCT by_whom, left(n, 8) FROM own.t'), 'postgres|postgres', 'what the statement itself says is evaluated as its role');
by_owner('ALTER TABLE own.t DROP by_whom, DROP n', '');
as_owner("ALTER DOMAIN positive ADD CONSTRAINT domain CHECK (f('domain', VALUE) > 0) NOT VALID");
by_owner('ALTER DOMAIN own.positive VALIDATE CONSTRAINT domain', 'domain');

# --- moves
by_owner('ALTER TABLE own.t SET ACCESS METHOD heap', $stored);
by_owner('ALTER TABLE own.t SET ACCESS METHOD tsurugi', $stored);
by_owner("IMPORT FOREIGN SCHEMA own FROM SERVER tsurugi INTO imported OPTIONS (data 'true')", "$stored view");
is($node->safe_psql('postgres', 'SELECT (SELECT count(*) FROM imported.t), (SELECT count(*) FROM imported.h), (SELECT count(*) FROM imported.seen)'),
	'3|3|3', 'rows are imported');
$node->safe_psql('postgres', 'DROP SCHEMA imported CASCADE; CREATE SCHEMA imported');

# a role without the owner's rights is not lent them: its search_path says what is called
$node->safe_psql('postgres', q{
	CREATE ROLE carl;
	CREATE SCHEMA carls AUTHORIZATION carl;
	GRANT USAGE ON FOREIGN SERVER tsurugi TO carl;
	GRANT USAGE ON SCHEMA own TO carl;
	SET ROLE eve;
	CREATE TABLE own.folds (v int) USING tsurugi;
	CREATE INDEX ON own.folds ((v + own.f('folded', 1)));
	GRANT SELECT ON own.t, own.folds TO carl});
is(said("SET ROLE carl; IMPORT FOREIGN SCHEMA own LIMIT TO (t) FROM SERVER tsurugi INTO carls OPTIONS (data 'true')"),
	join(', ', map { "$_ as carl" } sort split / /, $stored), 'another role imports as itself');
is(said('SET ROLE carl; SELECT FROM own.folds'), 'folded as carl', 'and plans as itself');
is(said('SELECT FROM own.folds'), 'folded as eve', 'a superuser plans as the owner');
$node->safe_psql('postgres', 'DROP TABLE own.folds; DROP SCHEMA carls CASCADE');

# --- partitions, of which some have another owner
as_owner(q{
	CREATE TABLE p (id int, v int) PARTITION BY RANGE (f('bound', v));
	CREATE TABLE p1 (id int, v int) USING tsurugi;
	CREATE TABLE p2 (id int, v int) USING tsurugi;
	CREATE TABLE rest (id int, v int) USING tsurugi;
	INSERT INTO p1 VALUES (1, 1);
	INSERT INTO p2 VALUES (2, 12);
	INSERT INTO rest VALUES (3, 23)});
$node->safe_psql('postgres', 'CREATE ROLE bob; GRANT USAGE ON SCHEMA own TO bob; ALTER TABLE own.p2 OWNER TO bob');
by_owner('ALTER TABLE own.p ATTACH PARTITION own.p1 FOR VALUES FROM (0) TO (10)', 'bound');
by_owner('ALTER TABLE own.p ATTACH PARTITION own.rest DEFAULT', 'bound');
by_owner('ALTER TABLE own.p ATTACH PARTITION own.p2 FOR VALUES FROM (10) TO (20)', 'bound');
by_owner('CREATE TABLE own.p3 PARTITION OF own.p FOR VALUES FROM (30) TO (40) USING tsurugi', 'bound');
is(said(q{CREATE INDEX by_part ON own.p (id) WHERE own.f('part', v) > 0}), 'part as bob, part as eve', 'each part of an index is its table\'s');

for my $method ('heap', 'tsurugi')
{
	by_owner("ALTER TABLE own.p1 SET ACCESS METHOD $method", 'bound part');
	is(said("ALTER TABLE own.p2 SET ACCESS METHOD $method"), 'bound as eve, part as bob', "a partition of bob's moves to $method");
	by_owner("ALTER TABLE own.rest SET ACCESS METHOD $method", 'bound part');
}
is($node->safe_psql('postgres', q{SELECT DISTINCT relowner::regrole FROM pg_class WHERE oid = 'own.p2'::regclass
	OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'own.p2'::regclass)}), 'bob', 'and stays bob\'s with its indexes');

# --- foreign keys of moved tables, whose columns have different types
as_owner(q{
	CREATE TYPE digit AS ENUM ('1', '2', '3', '9');
	CREATE FUNCTION value_of(digit) RETURNS int LANGUAGE plpgsql AS $$BEGIN PERFORM own.say('cast'); RETURN $1::text::int; END$$;
	CREATE CAST (digit AS int) WITH FUNCTION value_of AS IMPLICIT;
	CREATE TABLE parent (id int PRIMARY KEY) USING tsurugi;
	CREATE TABLE parents (id int PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TABLE parents1 PARTITION OF parents FOR VALUES FROM (0) TO (3) USING tsurugi;
	CREATE TABLE parents2 PARTITION OF parents FOR VALUES FROM (3) TO (9);
	CREATE TABLE child (a digit CONSTRAINT a REFERENCES parent DEFERRABLE, b digit, c digit CONSTRAINT c REFERENCES parents DEFERRABLE) USING tsurugi;
	INSERT INTO parent VALUES (1), (2), (3);
	INSERT INTO parents VALUES (1), (2), (3);
	INSERT INTO child VALUES ('1', '9', '1'), ('2', NULL, '3');
	ALTER TABLE child ADD CONSTRAINT b FOREIGN KEY (b) REFERENCES parent NOT VALID});
for my $method ('heap', 'tsurugi')
{
	by_owner("ALTER TABLE own.$_ SET ACCESS METHOD $method", '') for 'child', 'parent', 'parents1';
	is($node->safe_psql('postgres', q{SELECT string_agg(conname || ' ' || convalidated, ', ' ORDER BY conname)
		FROM pg_constraint WHERE conrelid = 'own.child'::regclass AND contype = 'f' AND conparentid = 0}),
		'a true, b false, c true', "keys are as valid as they were, in $method");
	by_owner("INSERT INTO own.child VALUES ('9', NULL, NULL)", 'cast', '23503');
	by_owner("INSERT INTO own.child VALUES (NULL, '9', NULL)", 'cast', '23503');
	by_owner("INSERT INTO own.child VALUES (NULL, NULL, '9')", 'cast', '23503');
	by_owner("DELETE FROM own.$_", 'cast', '23503') for 'parent', 'parents1', 'parents2';
	my $back = $method eq 'heap' ? 'tsurugi' : 'heap';
	like(said("BEGIN; SET CONSTRAINTS ALL DEFERRED; DELETE FROM own.$_->[0] WHERE id = 1; ALTER TABLE own.$_->[1] SET ACCESS METHOD $back"),
		qr/^(cast as eve)? 55006$/, "a deferred check on $_->[0] is not lost where $_->[1] moves to $back")
	  for [ 'parent', 'child' ], [ 'parents', 'child' ], [ 'parents', 'parents1' ];
}
by_owner("BEGIN; SET CONSTRAINTS ALL DEFERRED; DELETE FROM own.parents WHERE id = 3; ALTER TABLE own.parents1 SET ACCESS METHOD heap", '', '55006');

# --- errors, which describe keys
sub lies
{
	my ($sql, $what, $state) = @_;

	by_owner("SET door.lies = on; $sql", $what, $state);
}

lies('REINDEX TABLE own.t', $indexes, '23505');
lies('REINDEX INDEX own.by_unique', 'unique', '23505');
lies('REINDEX INDEX CONCURRENTLY own.by_unique', 'unique', '23505');
lies('VACUUM FULL own.t', $indexes, '23505');
lies('CLUSTER own.t USING by_index', $indexes, '23505');
lies("CREATE UNIQUE INDEX made ON own.t (own.f('made', v)) WHERE own.f('kept', v) = 0", 'kept made', '23505');
lies("CREATE UNIQUE INDEX CONCURRENTLY made ON own.t (own.f('made', v))", 'made', '23505');
by_owner('DROP INDEX own.made', '');
lies("ALTER TABLE own.t ADD EXCLUDE (own.f('excluded', v) WITH =) WHERE (own.f('kept', v) = 0)", 'excluded kept', '23P01');
lies("ALTER TABLE own.t ADD CHECK (own.f('added', v) > 0)", 'added', '23514');
lies('ALTER TABLE own.t ALTER g TYPE bigint', "$indexes", '23505');
lies('ALTER DOMAIN own.positive DROP CONSTRAINT domain; ALTER DOMAIN own.positive ADD CHECK (own.f(\'domain\', VALUE) > 0)', 'domain', '23514');
lies('ALTER TABLE own.t SET ACCESS METHOD heap', 'check generated', '23514');
lies('ALTER TABLE own.h SET ACCESS METHOD tsurugi', 'check generated', '23514');
lies("IMPORT FOREIGN SCHEMA own LIMIT TO (t) FROM SERVER tsurugi INTO imported OPTIONS (data 'true')", 'check generated', '23514');

# --- writes to the table that is being built
my @builders = (
	"CREATE INDEX ON own.t (own.f('made', v))",
	"CREATE INDEX ON own.t (v) WHERE own.f('made', v) > 0",
	"CREATE INDEX ON own.t USING gin (own.keys('made', v))",
	"CREATE INDEX ON own.t USING hash (own.f('made', v))",
	"CREATE UNIQUE INDEX ON own.t (own.f('made', v))",
	"ALTER TABLE own.t ADD EXCLUDE (own.f('made', v) WITH =)",
	'REINDEX TABLE own.t', 'REINDEX INDEX own.by_index', 'REINDEX INDEX own.by_predicate', 'REINDEX INDEX own.by_keys',
	'REINDEX INDEX CONCURRENTLY own.by_index', 'VACUUM FULL own.t', 'CLUSTER own.t USING by_index', 'ALTER TABLE own.t ALTER g TYPE bigint');

for my $act ('INSERT INTO own.t VALUES (9, 9, 9)', 'UPDATE own.t SET v = v', 'DELETE FROM own.t', 'TRUNCATE own.t', 'DROP TABLE own.t CASCADE')
{
	is(said("SET door.act = '$act'; $_") =~ s/.* //r, '55006', "$act in $_") for @builders;
}
as_owner(q{
	CREATE FUNCTION store(at int) RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO own.t VALUES (at, at, at); END';
	CREATE FUNCTION remove(at int) RETURNS void LANGUAGE plpgsql AS 'BEGIN DELETE FROM own.t WHERE id = at; END'});
my $kept = 'SELECT own.store(g), own.remove(g) FROM generate_series(11, 20) g';
like(said("SET ROLE eve; $kept; SET door.act = 'SELECT own.$_(9)'; REINDEX INDEX own.by_index"), qr/ 55006$/, "a plan that is kept, of $_()") for 'store', 'remove';
is($node->safe_psql('postgres', 'SELECT id, v, w, g FROM own.t ORDER BY id'), "1|1|1|1\n2|2|2|2\n3|3|3|3", 'nothing was written');
as_owner('CREATE TABLE plain (a int, b int) USING tsurugi; INSERT INTO plain VALUES (1, 1)');
is(said("SET tsurugi_fdw.jobs = force; SET door.act = 'INSERT INTO own.plain SELECT a, b FROM own.plain'; CREATE INDEX ON own.plain (own.f('made', b))") =~ s/.* //r,
	'55006', 'rows that tasks would store');

# a check at the commit would be the superuser's
as_owner(q{CREATE TABLE later (v int, EXCLUDE (keys('later', v) WITH =) DEFERRABLE INITIALLY DEFERRED) USING tsurugi});
as_owner(q{CREATE FUNCTION twice() RETURNS void LANGUAGE plpgsql AS
	$$BEGIN PERFORM set_config('door.act', '', true); INSERT INTO own.later VALUES (1), (1); END$$});
by_owner("SET door.act = 'SELECT own.twice()'; REINDEX INDEX own.by_index", 'index later', '42501');

# --- ANALYZE in the background
$node->safe_psql('postgres', 'ALTER SYSTEM SET autovacuum = on');
as_owner(q{INSERT INTO t SELECT g, g, g FROM generate_series(100, 200) g});
my $log = -s $node->logfile;
$node->reload;
ok($node->poll_query_until('postgres', q{SELECT count(*) > 0 FROM pg_stats WHERE tablename = 't' AND attname = 'v'}, 't'), 'the table is analyzed');
my %roles = map { $_ => 1 } slurp_file($node->logfile, $log) =~ /said: \w+ as (\w+)/g;
is(join(' ', keys %roles), 'eve', 'as its owner');

is($node->safe_psql('postgres', q{SELECT rolname FROM pg_roles WHERE rolsuper AND rolname IN ('eve', 'bob')}), '', 'nobody has become a superuser');
$node->stop;
done_testing();

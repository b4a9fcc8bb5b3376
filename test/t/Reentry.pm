# Scripts of psql in which user code runs inside a statement: where it is called (a point), what it
# does there (an action), and the statement. Each combination makes its tables in a schema of its
# own and prints, after its mark, how the statement has ended and what the tables hold.
package Reentry;

use strict;
use warnings;

# What the function does.
my %actions = (
	reads => 'PERFORM count(*) FROM t; PERFORM * FROM t WHERE k = 2; PERFORM * FROM t WHERE k > 3 FOR UPDATE',
	inserts => q{INSERT INTO t (k, n) VALUES ((SELECT max(k) FROM t) + 100 * (remaining + 1), 7)},
	updates => 'UPDATE t SET s = s || s WHERE k IN (1, 3)',
	updates_key => 'UPDATE t SET k = k + 500 WHERE k = 4',
	deletes => 'DELETE FROM t WHERE k IN (2, 5)',
	upserts => q{INSERT INTO t (k, n) VALUES (3, 3) ON CONFLICT (k) DO UPDATE SET s = 'again'},
	moves => q{DELETE FROM t WHERE k = 6; INSERT INTO t (k, n) VALUES (6, 6)},
	writes_others => q{INSERT INTO m SELECT max(k) + 1, 0 FROM m; UPDATE h SET n = n + 1; DELETE FROM m WHERE k = 2; UPDATE m SET n = n + 1 WHERE k = 1},
	fails => q{INSERT INTO m VALUES (100, 1); RAISE EXCEPTION 'no'},
	fails_caught => q{BEGIN INSERT INTO m VALUES (100, 1); UPDATE h SET n = -1; UPDATE t SET s = 'gone' WHERE k = 3; RAISE EXCEPTION 'no'; EXCEPTION WHEN raise_exception THEN NULL; END},
	collides => q{BEGIN INSERT INTO t (k, n) VALUES (50, 50), (1, 1); EXCEPTION WHEN unique_violation THEN UPDATE h SET n = n + 1; END},
	nests => q{BEGIN UPDATE m SET n = 10; BEGIN UPDATE t SET s = 'kept' WHERE k = 5; PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN UPDATE m SET n = n + 1; END; END},
	cancels => 'PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(20)',
	cancels_caught => q{BEGIN UPDATE m SET n = 20; PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(20); EXCEPTION WHEN query_canceled THEN UPDATE h SET n = n + 1; END},
	recurses => q{EXECUTE current_setting('reentry.statement')},
	recurses_caught => q{BEGIN EXECUTE current_setting('reentry.statement'); RAISE EXCEPTION 'no'; EXCEPTION WHEN OTHERS THEN NULL; END},
	fetches => q{OPEN c FOR SELECT * FROM t ORDER BY k; FETCH c INTO r; MOVE NEXT FROM c; CLOSE c},
	loops => q{FOR r IN SELECT * FROM t LOOP UPDATE m SET n = r.k WHERE k = 1; EXIT WHEN r.k > 2; END LOOP},
	indexes => 'CREATE INDEX ON t (s)',
	indexes_other => 'CREATE INDEX ON m (n)',
	reindexes => 'REINDEX TABLE t',
	widens => 'ALTER TABLE t ADD COLUMN IF NOT EXISTS more int DEFAULT 3',
	widens_other => 'ALTER TABLE m ADD COLUMN IF NOT EXISTS more int DEFAULT 3',
	retypes_other => 'ALTER TABLE m ALTER COLUMN n TYPE bigint',
	truncates => 'TRUNCATE t',
	truncates_other => 'TRUNCATE m; INSERT INTO m VALUES (7, 7)',
	drops => 'DROP TABLE t CASCADE',
	drops_other => 'DROP TABLE IF EXISTS m',
	makes => q{CREATE TABLE made (k int PRIMARY KEY) USING tsurugi; INSERT INTO made VALUES (1), (2); DROP TABLE made},
	makes_caught => q{BEGIN CREATE TABLE made (k int PRIMARY KEY) USING tsurugi; INSERT INTO made VALUES (1), (1); EXCEPTION WHEN unique_violation THEN NULL; END},
	analyzes => 'ANALYZE t; ANALYZE m',
	sets_trigger => 'ALTER TABLE t DISABLE TRIGGER ALL; ALTER TABLE t ENABLE TRIGGER ALL',
);

# Statements, by kind; \n ends one.
my %changes = (
	insert => q{INSERT INTO t (k, n) VALUES (10, 10)},
	insert_select => q{INSERT INTO t (k, n) SELECT g, g FROM generate_series(20, 23) g},
	insert_itself => q{INSERT INTO t (k, n) SELECT k + 30, n FROM t},
	insert_returning => q{INSERT INTO t (k, n) VALUES (10, 10), (11, 11) RETURNING k, f(n)},
	conflict_nothing => q{INSERT INTO t (k, n) VALUES (1, 1), (10, 10) ON CONFLICT DO NOTHING},
	conflict_update => q{INSERT INTO t (k, n) VALUES (1, 60), (10, 10) ON CONFLICT (k) DO UPDATE SET n = t.n + 200},
	copy => "COPY t (k, n) FROM stdin;\n40\t40\n41\t41\n\\.\n",
	update_key => 'UPDATE t SET n = n + 100 WHERE k = 1',
	update_scan => 'UPDATE t SET n = n + 100 WHERE n < 4',
	update_of_key => 'UPDATE t SET k = k + 1000 WHERE k <= 2',
	update_from => 'UPDATE t SET n = t.n + h.n FROM h WHERE h.k = t.k',
	update_returning => 'UPDATE t SET n = n + 100 WHERE k BETWEEN 2 AND 4 RETURNING k, n, s',
	delete_key => 'DELETE FROM t WHERE k = 1',
	delete_scan => 'DELETE FROM t WHERE n > 3',
	delete_using => 'DELETE FROM t USING h WHERE h.k = t.k RETURNING t.k',
);
my %reads = (
	select_key => 'SELECT f(n) FROM t WHERE k = 1',
	select_range => 'SELECT k, f(n) FROM t WHERE k BETWEEN 2 AND 4 ORDER BY k',
	select_whole => 'SELECT f(n) FROM t ORDER BY 1',
	select_where => 'SELECT k FROM t WHERE f(n) > 0 ORDER BY k',
	select_update => 'SELECT f(n) FROM t WHERE k <= 2 ORDER BY k FOR UPDATE',
	select_join => 'SELECT a.k, f(b.n) FROM t a JOIN t b ON b.k = f(a.n) ORDER BY a.k',
	select_aggregate => 'SELECT sum(f(n)) FROM t GROUP BY f(n) > 2 ORDER BY 1',
	cursor => "BEGIN;\nDECLARE c CURSOR FOR SELECT f(n) FROM t WHERE k > 0;\nFETCH 2 FROM c;\nMOVE 1 IN c;\nFETCH 1 FROM c;\nCLOSE c;\nCOMMIT",
	cursor_held => "BEGIN;\nDECLARE c CURSOR WITH HOLD FOR SELECT f(n) FROM t WHERE k > 0;\nFETCH 2 FROM c;\nCOMMIT;\nFETCH 1 FROM c;\nCLOSE c",
	cursor_current => "BEGIN;\nDECLARE c CURSOR FOR SELECT f(n) FROM t WHERE k > 1 FOR UPDATE;\nFETCH 2 FROM c;\nUPDATE t SET n = f(n) WHERE CURRENT OF c;\nCOMMIT",
	update_function => 'UPDATE t SET n = f(n) + 100 WHERE f(n) > 0 RETURNING f(n)',
	update_key_function => 'UPDATE t SET n = f(n) + 100 WHERE k = 3',
	update_where_function => 'UPDATE t SET n = n + 100 WHERE k = 3 AND f(n) > 0',
	update_of_key_function => 'UPDATE t SET k = f(k) + 1000 WHERE k > 4',
	delete_function => 'DELETE FROM t WHERE f(n) > 3 RETURNING f(n)',
	delete_where_function => 'DELETE FROM t WHERE f(n) > 3',
	delete_key_function => 'DELETE FROM t WHERE k = 3 AND f(n) > 0',
	insert_function => 'INSERT INTO t (k, n) VALUES (10, v()), (11, f(11)) RETURNING f(n)',
	insert_select_function => 'INSERT INTO t (k, n) SELECT f(k) + 30, f(n) FROM t',
	conflict_where => 'INSERT INTO t (k, n) VALUES (1, 60), (10, 10) ON CONFLICT (k) DO UPDATE SET n = f(t.n) + 200 WHERE f(excluded.n) > 0 RETURNING f(t.n)',
	savepoint => "BEGIN;\nSAVEPOINT a;\nUPDATE t SET n = f(n) + 100 WHERE k < 4;\nROLLBACK TO a;\nUPDATE t SET n = f(n) + 200 WHERE k < 3;\nCOMMIT",
	serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT f(n) FROM t WHERE k = 2;\nUPDATE t SET n = f(n) WHERE k = 2;\nCOMMIT",
	long => "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT count(f(n)) FROM t;\nDELETE FROM t WHERE f(n) = 2;\nCOMMIT",
	copy_where => "COPY t (k, n) FROM stdin WHERE f(n) > 0;\n40\t40\n41\t41\n\\.\n",
	ctas => "CREATE TABLE made_of USING tsurugi AS SELECT k, f(n) AS n FROM t;\nSELECT count(*) FROM made_of",
	alter_using => 'ALTER TABLE t ALTER COLUMN n TYPE bigint USING f(n)',
	alter_using_text => 'ALTER TABLE t ALTER COLUMN s DROP DEFAULT, ALTER COLUMN s TYPE int USING f(n)',
	add_default => 'ALTER TABLE t ADD COLUMN c int DEFAULT v()',
	add_check => 'ALTER TABLE t ADD CHECK (f(n) > 0)',
	add_generated => 'ALTER TABLE t ADD COLUMN c int GENERATED ALWAYS AS (f(n)) STORED',
	add_domain => 'ALTER TABLE t ADD COLUMN c d DEFAULT 1',
	to_domain => 'ALTER TABLE t ALTER COLUMN n TYPE d',
	domain_check => 'ALTER DOMAIN d ADD CHECK (f(value) > -5)',
	create_index => 'CREATE INDEX ON t (f(n))',
	create_unique => 'CREATE UNIQUE INDEX ON t (f(n))',
	create_partial => 'CREATE INDEX ON t (n) WHERE f(n) > 2',
	create_hash => 'CREATE INDEX ON t USING hash (f(n))',
	create_concurrently => 'CREATE INDEX CONCURRENTLY ON t (f(n))',
	add_exclude => 'ALTER TABLE t ADD EXCLUDE (f(n) WITH =)',
	attach => "CREATE TABLE p (k int NOT NULL, n int, s text) PARTITION BY RANGE (f(n));\nALTER TABLE p ATTACH PARTITION t FOR VALUES FROM (0) TO (100)",
	returning_only => 'DELETE FROM t WHERE k < 3 RETURNING f(n)',
	with_changes => 'WITH a AS (UPDATE t SET n = f(n) WHERE k = 1 RETURNING n), b AS (INSERT INTO t (k, n) SELECT 10, f(n) FROM a RETURNING n) SELECT * FROM b',
);
my %views = (
	view => 'UPDATE seen SET n = n + 100 WHERE k < 3 RETURNING n',
	view_update => 'UPDATE seen SET n = n + 100 WHERE k < 3',
	view_insert => 'INSERT INTO seen VALUES (10, 10) RETURNING n',
	view_delete => 'DELETE FROM seen WHERE n < 3',
	view_select => 'SELECT sum(n) FROM seen WHERE n > 2',
);
my %definitions = (
	reindex => 'REINDEX TABLE t',
	reindex_concurrently => 'REINDEX TABLE CONCURRENTLY t',
	vacuum_full => 'VACUUM FULL t',
	vacuum_analyze => 'VACUUM ANALYZE t',
	analyze => 'ANALYZE t',
	cluster => 'CLUSTER t USING t_pkey',
	truncate => 'TRUNCATE t',
	add_column => 'ALTER TABLE t ADD COLUMN c int DEFAULT v()',
	alter_type => 'ALTER TABLE t ALTER COLUMN n TYPE bigint',
	add_index => 'CREATE INDEX ON t (s, n)',
	set_not_null => 'ALTER TABLE t ALTER COLUMN n SET NOT NULL',
	add_constraint => 'ALTER TABLE t ADD CHECK (n < 1000)',
	add_unique => 'ALTER TABLE t ADD UNIQUE (n, k)',
	out_and_in => "ALTER TABLE t SET ACCESS METHOD heap;\nALTER TABLE t SET ACCESS METHOD tsurugi",
	lookup => 'SELECT k FROM t WHERE n = 2',
	lookup_function => 'SELECT k FROM t WHERE f(n) = 2',
);

# Statements by the operators of a type whose functions are user code.
my %operators = (
	own_key => 'SELECT k, n FROM t WHERE n = 2::own',
	own_range => 'SELECT k, n FROM t WHERE n > 2::own AND n <= 5::own ORDER BY n',
	own_in => 'SELECT k FROM t WHERE n IN (2::own, 3::own) ORDER BY k FOR UPDATE',
	own_update => 'UPDATE t SET n = 77::own WHERE n = 2::own RETURNING n',
	own_delete => 'DELETE FROM t WHERE n >= 4::own',
	own_join => 'SELECT a.k FROM t a JOIN t b ON a.n = b.n ORDER BY a.n DESC',
	own_prepared => "PREPARE q(int) AS SELECT k FROM t WHERE n = \$1::own;\nEXECUTE q(1);\nEXECUTE q(2);\nEXECUTE q(3);\nDEALLOCATE q",
	own_conflict => 'INSERT INTO t (k, n) VALUES (90, 2), (91, 91) ON CONFLICT DO NOTHING',
);

# Functions whose plans are known before: executor states that are kept are running when the action
# changes the table.
my %walks = (
	walk => 'SELECT walk(1)',
	walk_caught => 'DO $$ BEGIN PERFORM walk(1); EXCEPTION WHEN OTHERS THEN PERFORM walk(5); END $$;' . "\nSELECT walk(4)",
	walk_twice => 'SELECT walk(g) FROM generate_series(3, 5) g',
	change => 'SELECT change(1), change(2)',
	change_caught => 'DO $$ BEGIN PERFORM change(1); EXCEPTION WHEN OTHERS THEN PERFORM change(5); END $$;' . "\nSELECT change(4)",
);

# Transactions of kinds that PostgreSQL does not have.
my %kinds = (
	kind_long => "BEGIN;\nSET LOCAL tsurugi_fdw.transaction_type = 'long';\nSET LOCAL tsurugi_fdw.write_preserve = 't';\nUPDATE t SET n = f(n) + 10 WHERE f(n) > 1;\nDELETE FROM t WHERE f(n) = 15;\nCOMMIT",
	kind_long_both => "BEGIN;\nSET LOCAL tsurugi_fdw.transaction_type = 'long';\nSET LOCAL tsurugi_fdw.write_preserve = 't, m';\nUPDATE t SET n = f(n) + 10 WHERE f(n) = 1;\nINSERT INTO t (k, n) SELECT k + 50, f(n) FROM t;\nCOMMIT",
	kind_read_only => "BEGIN;\nSET LOCAL tsurugi_fdw.transaction_type = 'read_only';\nSELECT k, f(n) FROM t ORDER BY k;\nSELECT k FROM t WHERE f(n) = 2;\nCOMMIT",
);

# Points at which the function is called: what the table looks like, and which statements reach it.
my $seen = 'CREATE VIEW seen AS SELECT k, f(n::int) AS n FROM t';
my $trigger = sub {
	my ($when, $for) = @_;
	return { after => "CREATE TRIGGER a $when INSERT OR UPDATE OR DELETE ON t FOR EACH $for EXECUTE FUNCTION triggered()", statements => [ keys %changes ] };
};
my %points = (
	query => { statements => [ keys %reads, keys %kinds ] },
	# the pool scans, while what the session does with the first rows goes on
	pool => {
		after => "INSERT INTO t (k, n) SELECT g, g FROM generate_series(7, 3000) g;\nSET tsurugi_fdw.scan_pool_rows = 0;\nSET enable_indexscan = off",
		statements => [qw(select_whole select_where select_aggregate cursor cursor_held update_key_function update_scan delete_where_function delete_scan insert_select_function ctas)]
	},
	# values that lie beside the rows, which the transaction itself has written
	own_rows => { before => "BEGIN;\nUPDATE t SET s = repeat(s, 5000);\nINSERT INTO t VALUES (7, 7, repeat('7', 5000));\n", statements => [ grep { !/^(?:cursor|savepoint|serializable|long|create_conc)/ } keys %reads, keys %changes ] },
	index_expression => { after => 'CREATE INDEX t_f ON t (f(n))', statements => [ keys %changes, keys %definitions ] },
	unique_expression => { after => 'CREATE UNIQUE INDEX t_f ON t (f(n))', statements => [ keys %changes, keys %definitions ] },
	index_predicate => { after => 'CREATE INDEX t_f ON t (n) WHERE f(n) > 2', statements => [ keys %changes, keys %definitions ] },
	exclude => { after => 'ALTER TABLE t ADD EXCLUDE (f(n) WITH =)', statements => [ keys %changes ] },
	check => { column => 'int CHECK (f(n) > 0)', statements => [ keys %changes ] },
	default => { more => ', x int DEFAULT v()', statements => [ grep { /insert|copy|conflict/ } keys %changes ] },
	generated => { more => ', x int GENERATED ALWAYS AS (f(n)) STORED', statements => [ keys %changes, qw(vacuum_full out_and_in add_column alter_type) ] },
	domain => { column => 'checked', statements => [ keys %changes ] },
	before_row => $trigger->('BEFORE', 'ROW'),
	after_row => $trigger->('AFTER', 'ROW'),
	before_statement => $trigger->('BEFORE', 'STATEMENT'),
	after_statement => $trigger->('AFTER', 'STATEMENT'),
	type_key => { column => 'own', after => 'CREATE UNIQUE INDEX t_n ON t (n)', statements => [ keys %changes, keys %definitions, keys %operators ] },
	type_hash => { column => 'own', after => 'CREATE INDEX t_n ON t USING hash (n)', statements => [ keys %changes, keys %definitions, keys %operators ] },
	type_array => { column => 'own', more => ', x own[] DEFAULT ARRAY[1::int::own, 2::int::own]', after => 'CREATE INDEX t_x ON t USING gin (x)', statements => [ keys %changes, keys %definitions ] },
	type_exclude => { column => 'own', after => 'ALTER TABLE t ADD EXCLUDE (n WITH =)', statements => [ keys %changes, keys %operators ] },
	type_primary => { key => 'own', statements => [ keys %changes, keys %definitions ] },
	type_deferrable => { column => 'own UNIQUE DEFERRABLE INITIALLY DEFERRED', statements => [ keys %changes, 'own_key', 'own_update' ] },
	type_reference => {
		column => 'own UNIQUE',
		after => "CREATE TABLE child (k int PRIMARY KEY, n own REFERENCES t (n) ON UPDATE CASCADE ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED) USING tsurugi;\nINSERT INTO child SELECT k, n FROM t",
		statements => [ keys %changes, qw(own_update own_delete) ],
		look => 'child'
	},
	rule => { after => "$seen;\n" . 'CREATE RULE a AS ON UPDATE TO seen DO INSTEAD UPDATE t SET n = f(new.n) + 1 WHERE k = old.k', statements => ['view_update'] },
	statistics => { after => 'CREATE STATISTICS st ON (f(n)), k FROM t', statements => [qw(analyze vacuum_analyze alter_type out_and_in)] },
	kept => {
		after => <<'END',
CREATE FUNCTION walk(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	w record;
	total int := 0;
BEGIN
	FOR w IN SELECT k, n FROM t WHERE k >= i ORDER BY k LOOP
		IF i < 3 THEN
			total := total + r.walk(i + 1);
		END IF;
		PERFORM r.act();
		UPDATE t SET s = 'w' WHERE k = w.k;
		EXIT WHEN w.k > 4;
	END LOOP;
	FOR w IN SELECT k, n FROM t WHERE k = i LOOP
		PERFORM r.act();
		SELECT n + total INTO total FROM t WHERE k = i;
	END LOOP;
	RETURN total;
END $$;
CREATE FUNCTION change(i int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	found_n int;
BEGIN
	INSERT INTO t (k, n) VALUES (i * 1000, i);
	PERFORM r.act();
	UPDATE t SET n = i WHERE k = i * 1000;
	IF i < 3 THEN
		PERFORM r.change(i + 10);
	END IF;
	DELETE FROM t WHERE k = i * 1000;
	PERFORM r.act();
	SELECT n INTO found_n FROM t WHERE k = i;
	RETURN found_n;
END $$;
SELECT walk(1), change(2) FROM generate_series(1, 8) \g /dev/null
UPDATE t SET s = 's'
END
		statements => [ keys %walks ]
	},
	partitioned => { partitioned => 1, statements => [ keys %changes ] },
	cascade => {
		after => "CREATE TABLE child (k int PRIMARY KEY, n int REFERENCES t ON UPDATE CASCADE ON DELETE CASCADE) USING tsurugi;\nINSERT INTO child SELECT k, k FROM t;\n"
		  . 'CREATE TRIGGER a BEFORE UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION triggered()',
		statements => [qw(update_of_key delete_key delete_scan delete_using)],
		look => 'child'
	},
	cascade_after => {
		after => "CREATE TABLE child (k int PRIMARY KEY, n int DEFAULT v() REFERENCES t ON UPDATE SET NULL ON DELETE SET DEFAULT) USING tsurugi;\nINSERT INTO child SELECT k, k FROM t;\n"
		  . 'CREATE TRIGGER a AFTER UPDATE OR DELETE ON child FOR EACH ROW EXECUTE FUNCTION triggered()',
		statements => [qw(update_of_key delete_key delete_scan delete_using)],
		look => 'child'
	},
	instead => {
		after => "$seen;\n" . 'CREATE TRIGGER a INSTEAD OF INSERT OR UPDATE OR DELETE ON seen FOR EACH ROW EXECUTE FUNCTION triggered()',
		statements => [ keys %views ]
	},
);

my %statements = (%changes, %reads, %views, %definitions, %operators, %walks, %kinds);

# The function that does it, at most three times within a statement: what it does may call it again.
# All others call it.
my $functions = <<'END';
CREATE FUNCTION act() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	remaining int := coalesce(nullif(current_setting('reentry.remaining', true), ''), '0');
	c refcursor;
	r record;
BEGIN
	IF remaining <= 0 THEN
		RETURN;
	END IF;
	PERFORM set_config('reentry.remaining', (remaining - 1)::text, false);
	ACTION;
END $$;
CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM r.act(); RETURN $1; END';
CREATE FUNCTION f(bigint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM r.act(); RETURN $1; END';
CREATE FUNCTION v() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM r.act(); RETURN 1; END';
CREATE FUNCTION triggered() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN PERFORM r.act(); IF TG_OP = ''DELETE'' THEN RETURN OLD; END IF; RETURN NEW; END';
CREATE DOMAIN d AS int;
CREATE DOMAIN checked AS int CHECK (r.f(value) > 0);
END

# Tables of a point: t, which the statements are about, another one in memory, and an ordinary one.
sub tables
{
	my ($column, $key, %of) = @_;
	my $t = "CREATE TABLE t (k $key PRIMARY KEY, n $column, s text DEFAULT 's'" . ($of{more} // '') . ") USING tsurugi;\n";

	$t = <<'END' if $of{partitioned};
CREATE TABLE t (k int, n int, s text DEFAULT 's') PARTITION BY RANGE (f(n));
CREATE TABLE t_low PARTITION OF t FOR VALUES FROM (0) TO (50) USING tsurugi;
CREATE TABLE t_high PARTITION OF t FOR VALUES FROM (50) TO (5000) USING tsurugi;
END
	return $t . <<'END' . join '', map { "$_;\n" } grep { defined } $of{after};
CREATE TABLE m (k int PRIMARY KEY, n int) USING tsurugi;
CREATE TABLE h (k int PRIMARY KEY, n int);
INSERT INTO t (k, n) SELECT g, g FROM generate_series(1, 6) g;
INSERT INTO m VALUES (1, 1), (2, 2);
INSERT INTO h VALUES (1, 1), (2, 2), (3, 3);
END
}

# What is left: no snapshot, the rows of the tables, and what differs between the table and its
# indexes.
sub looks
{
	my ($partitioned, @tables) = @_;
	my $once = $partitioned ? '' : '(SELECT count(*) FROM t b WHERE b.k = a.k) <> 1 OR ';

	return <<'END' . join('', map { "SELECT to_jsonb($_) FROM $_ ORDER BY to_jsonb($_);\n" } @tables) . <<"END";
SELECT 'a snapshot is left' FROM tsurugi.sessions WHERE pid = pg_backend_pid() AND (in_transaction OR oldest_snapshot IS NOT NULL);
\echo contents
END
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
\\echo consistent
SELECT a.k FROM (SELECT * FROM t ORDER BY k LIMIT 20) a
	WHERE $once(SELECT count(*) FROM t b WHERE b.n = a.n) <> (SELECT count(*) FROM t b WHERE b.n::text = a.n::text)
	OR (SELECT count(*) FROM t b WHERE f(b.n) = a.n::int) <> (SELECT count(*) FROM t b WHERE b.n::text = a.n::text);
SELECT k FROM t WHERE f(n) > 2 AND n > 0 EXCEPT SELECT k FROM t WHERE n::text::int > 2;
SELECT k FROM t WHERE n::text::int > 2 EXCEPT SELECT k FROM t WHERE f(n) > 2 AND n > 0;
\\echo indexes
SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'r'::regnamespace AND i.indisvalid;
END
}

# The script of one combination.
sub script
{
	my ($point, $action, $statement) = @_;
	my %of = %{ $points{$point} };
	my $column = $of{column} // 'int';
	my $key = $of{key} // 'int';
	my $text = $statements{$statement};
	# what is sent to psql in several parts is not for EXECUTE
	my $again = $text =~ /\n/ ? 'SELECT count(*) FROM t' : $text =~ s/'/''/gr;

	return join '', "\\echo @ $point $action $statement\n", <<'END', $functions =~ s/ACTION/$actions{$action}/r, own_type("$column $key"), tables($column, $key, %of),
RESET ALL;
SET client_min_messages = error;
SET statement_timeout = '60s';
SET tsurugi_fdw.serializable_mixed = relaxed;
DROP SCHEMA IF EXISTS r CASCADE;
CREATE SCHEMA r;
SET search_path = r, public;
SET check_function_bodies = off;
END
	  "SELECT set_config('reentry.statement', '$again', false) \\g /dev/null\n", "SET reentry.remaining = 3;\n", $of{before} // '', $text, $text =~ /\n\z/ ? '' : ";\n",
	  $of{before} ? "COMMIT;\n" : '', "ROLLBACK;\nSET reentry.remaining = 0;\n", looks($of{partitioned}, 't', 'm', 'h', grep { defined } $of{look});
}

# A type whose comparisons are written in PL/pgSQL.
sub own_type
{
	my ($column) = @_;
	my $text;

	return '' if $column !~ /\bown\b/;
	$text = <<'END';
CREATE TYPE own;
CREATE FUNCTION own_in(cstring) RETURNS own IMMUTABLE STRICT LANGUAGE internal AS 'int4in';
CREATE FUNCTION own_out(own) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'int4out';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out, LIKE = int);
CREATE CAST (own AS int) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (int AS own) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION own_plus(own, int) RETURNS own IMMUTABLE LANGUAGE sql AS 'SELECT ($1::int + $2)::own';
CREATE OPERATOR + (LEFTARG = own, RIGHTARG = int, FUNCTION = own_plus);
CREATE FUNCTION own_cmp(own, own) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM r.act(); RETURN btint4cmp($1::int, $2::int); END';
CREATE FUNCTION own_hash(own) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM r.act(); RETURN hashint4($1::int); END';
END
	my %operator = (lt => '<', le => '<=', eq => '=', ge => '>=', gt => '>');
	for (sort keys %operator)
	{
		$text .= "CREATE FUNCTION own_$_(own, own) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM r.act(); RETURN \$1::int $operator{$_} \$2::int; END';\n"
		  . "CREATE OPERATOR $operator{$_} (LEFTARG = own, RIGHTARG = own, FUNCTION = own_$_"
		  . ($_ eq 'eq' ? ', COMMUTATOR = =, HASHES, MERGES' : '') . ");\n";
	}
	return $text . <<'END';
CREATE OPERATOR CLASS own_ops DEFAULT FOR TYPE own USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 own_cmp(own, own);
CREATE OPERATOR CLASS own_hash_ops DEFAULT FOR TYPE own USING hash AS OPERATOR 1 =, FUNCTION 1 own_hash(own);
END
}

# Whether PostgreSQL lays down what comes of it. It does not say when, or how often, a function is
# called that is to be the same for ever, and what a statement that defines may do to tables which
# such a function changes meanwhile.
sub is_defined
{
	my ($point, $action, $statement) = @_;

	return 0 if $point =~ /^(?:index|unique|type)_|^exclude$/;
	# REINDEX refuses a table that is in use, PostgreSQL's an index
	return 0 if $action eq 'reindexes';
	return 0 if $definitions{$statement} || $statement =~ /^(?:add|alter|create|to|attach|domain|kind)_?/;
	return 1;
}

# All combinations, each [point, action, statement].
sub combinations
{
	my @all;

	for my $point (sort keys %points)
	{
		for my $statement (sort @{ $points{$point}{statements} })
		{
			# PostgreSQL's btree loses its locks where the comparison of keys catches an error: no
			# key of such a type becomes an ordinary one's
			next if $statement eq 'out_and_in' && $point =~ /^type_/;
			push @all, map { [ $point, $_, $statement ] } sort keys %actions;
		}
	}
	return @all;
}

1;

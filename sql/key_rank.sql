-- Keys of types that only their own operator class can compare: of extensions, and of users.  What is
-- taken, found and referred to by such keys is in test/same as well.
SET client_min_messages = warning;
CREATE SERVER key_rank FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE SCHEMA key_rank;
SET search_path = key_rank, public;
CREATE EXTENSION IF NOT EXISTS isn SCHEMA key_rank;
CREATE EXTENSION IF NOT EXISTS ltree SCHEMA key_rank;
CREATE EXTENSION IF NOT EXISTS cube SCHEMA key_rank;
CREATE EXTENSION IF NOT EXISTS seg SCHEMA key_rank;
RESET client_min_messages;

-- The same statements on a table in memory and on an ordinary one: every way to look by the key, its order, what is taken
CREATE FUNCTION check_rank(type text, list text[], class text = '') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	wrong text := '';
	plan text;
	line text;
	here_count int;
	there_count int;
	other text;
BEGIN
	EXECUTE format('CREATE TABLE there (k %s, n int)', type);
	EXECUTE format('CREATE UNIQUE INDEX there_key ON there (k %s)', class);
	EXECUTE format('CREATE FOREIGN TABLE here (k %s, n int) SERVER key_rank', type);
	EXECUTE format('CREATE UNIQUE INDEX here_key ON here (k %s)', class);
	EXECUTE format('CREATE INDEX here_down ON here (k %s DESC)', class);
	FOR i IN 1..cardinality(list) LOOP
		EXECUTE format('INSERT INTO there VALUES (%L, %s) ON CONFLICT DO NOTHING', list[i], i);
		EXECUTE format('INSERT INTO here VALUES (%L, %s) ON CONFLICT DO NOTHING', list[i], i);
	END LOOP;
	UPDATE here SET n = n + 100 WHERE n % 2 = 0;
	UPDATE there SET n = n + 100 WHERE n % 2 = 0;
	FOREACH line IN ARRAY ARRAY['k', 'k DESC', 'k NULLS FIRST'] LOOP
		EXECUTE format('SELECT count(*) FROM (SELECT row_number() OVER (), n FROM (SELECT n FROM here WHERE k >= (SELECT k FROM there WHERE n = 1) ORDER BY %s) s
			EXCEPT SELECT row_number() OVER (), n FROM (SELECT n FROM there WHERE k >= (SELECT k FROM there WHERE n = 1) ORDER BY %s) s) d', line, line) INTO here_count;
		IF here_count > 0 THEN
			wrong := wrong || format(' order by %s', line);
		END IF;
	END LOOP;
	SELECT count(*) INTO there_count FROM there;
	FOREACH line IN ARRAY ARRAY['<', '<=', '=', '>=', '>'] LOOP
		FOREACH other IN ARRAY list LOOP
			EXECUTE format('SELECT count(*) FROM here WHERE k %s %L', line, other) INTO here_count;
			EXECUTE format('SELECT count(*) FROM there WHERE k %s %L', line, other) INTO there_count;
			IF here_count <> there_count THEN
				wrong := wrong || format(' %s %s: %s', line, other, here_count);
			END IF;
		END LOOP;
	END LOOP;
	SELECT count(*) INTO here_count FROM here JOIN there USING (k, n);
	SELECT count(*) INTO there_count FROM there;
	plan := '';
	FOR line IN EXECUTE format('EXPLAIN (COSTS OFF) SELECT n FROM here WHERE k > %L ORDER BY k', list[1]) LOOP
		plan := plan || ' ' || trim(line);
	END LOOP;
	DROP TABLE there;
	DROP FOREIGN TABLE here;
	RETURN format('%s: %s of %s rows,%s%s', type, here_count, there_count, wrong, plan);
END $$;

-- A composite type whose order is the distance from the origin: (3,4) and (5,0) are equal.  And a class that is not a type's default one
CREATE TYPE point_like AS (x int, y int);
CREATE FUNCTION point_distance(point_like) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1.x * $1.x + $1.y * $1.y';
CREATE FUNCTION point_cmp(point_like, point_like) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN btint4cmp(point_distance($1), point_distance($2)); END';
CREATE FUNCTION point_lt(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) < point_distance($2); END';
CREATE FUNCTION point_le(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) <= point_distance($2); END';
CREATE FUNCTION point_eq(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) = point_distance($2); END';
CREATE FUNCTION point_ge(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) >= point_distance($2); END';
CREATE FUNCTION point_gt(point_like, point_like) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN point_distance($1) > point_distance($2); END';
CREATE OPERATOR < (FUNCTION = point_lt, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = >);
CREATE OPERATOR <= (FUNCTION = point_le, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = >=);
CREATE OPERATOR = (FUNCTION = point_eq, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = =, MERGES);
CREATE OPERATOR >= (FUNCTION = point_ge, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = <=);
CREATE OPERATOR > (FUNCTION = point_gt, LEFTARG = point_like, RIGHTARG = point_like, COMMUTATOR = <);
CREATE OPERATOR CLASS point_ops DEFAULT FOR TYPE point_like USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 point_cmp(point_like, point_like);
CREATE DOMAIN near AS point_like CHECK (point_distance(value) < 100);

SELECT check_rank(t, l) FROM (VALUES
	('isbn', '{0-393-04002-X,1-4012-2117-3,978-0-393-04002-9,0-201-03801-3}'::text[]),
	('ean13', '{978-0-393-04002-9,4012345678901,0000000000017}'),
	('ltree', '{Top,Top.Science,Top.Science.Astronomy,Top.Hobbies,"",a.b,a,b,a.b.c}'),
	('cube', '{"(1,2)","(1,2),(1,2)","(0)","(1)","(1,2),(3,4)","(3,4),(1,2)","(1,2,3)","(0),(1)"}'),
	('seg', '{"1.5 .. 2","1.50 .. 2","1.5","<1","~1","1 .. ","1"}'),
	('ltree[]', '{"{Top,Top.Science}","{Top}","{NULL}","{}","{a,b}"}'),
	('point_like', '{"(3,4)","(5,0)","(0,1)","(0,-1)","(4,3)","(0,0)","(0,2)"}'),
	('near', '{"(3,4)","(5,0)","(0,1)","(6,6)"}')) x (t, l);
CREATE FUNCTION backwards(int, int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS int4_backwards FOR TYPE int4 USING btree AS
	OPERATOR 1 >, OPERATOR 2 >=, OPERATOR 3 =, OPERATOR 4 <=, OPERATOR 5 <, FUNCTION 1 backwards(int, int);
CREATE FOREIGN TABLE numbers (n int) SERVER key_rank;
INSERT INTO numbers VALUES (3), (NULL), (-1), (7);
CREATE INDEX ON numbers (n int4_backwards);
EXPLAIN (COSTS OFF) SELECT * FROM numbers WHERE n > 1 ORDER BY n USING >;

-- what is below a path is a range
CREATE FOREIGN TABLE tree (id int PRIMARY KEY, n int, path ltree) SERVER key_rank;
CREATE INDEX tree_gist ON tree USING gist (path);
CREATE INDEX tree_n ON tree (n, path DESC);
INSERT INTO tree SELECT i, i % 5, ('Top.L' || i % 30 || '.x' || i)::ltree FROM generate_series(1, 900) i;
ANALYZE tree;
EXPLAIN (COSTS OFF) SELECT id FROM tree WHERE path <@ 'Top.L2';
EXPLAIN (COSTS OFF) SELECT path FROM tree WHERE 'Top.L2' @> path AND n = 2 ORDER BY path;
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM tree a JOIN tree b ON b.path <@ a.path WHERE a.id = 7;
EXPLAIN (COSTS OFF) DELETE FROM tree WHERE path <@ 'Top.L2';
EXPLAIN (COSTS OFF) SELECT id FROM tree WHERE path @> 'Top.L2';
DROP FOREIGN TABLE tree;
-- a value that was looked for gets no rank, nor where somebody notes that it was
CREATE FOREIGN TABLE sought (k ltree PRIMARY KEY) SERVER key_rank;
INSERT INTO sought VALUES ('b');
CREATE FUNCTION seek(value ltree) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	size bigint := tsurugi.table_size('sought');
	found int;
BEGIN
	SELECT count(*) INTO found FROM sought WHERE k = value;
	RETURN format('%s rows, %s', found, CASE WHEN tsurugi.table_size('sought') > size THEN 'ranked' ELSE 'not ranked' END);
END $$;
SELECT seek('a');
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT seek('b'), seek('c');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT seek('d'), seek('d');
COMMIT;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = 'read_only';
SELECT seek('e'), seek('f');
COMMIT;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = 'long';
SELECT seek('g'), seek('h');
COMMIT;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = 'short';
SELECT seek('i'), seek('j');
COMMIT;
-- no look-up before a view's own condition, by an operator that might tell what it has seen
CREATE VIEW guarded WITH (security_barrier) AS SELECT k FROM sought WHERE nlevel(k) > 1;
EXPLAIN (COSTS OFF) DELETE FROM guarded WHERE k = 'b';
DELETE FROM guarded WHERE k = 'b';

-- a type gets a column that keys made of its bytes need ranks for; those of ranks do not mind
CREATE TYPE growing AS (n int);
CREATE FOREIGN TABLE grows (k growing PRIMARY KEY) SERVER key_rank;
CREATE FOREIGN TABLE grow_lists (n int PRIMARY KEY, l growing[]) SERVER key_rank;
CREATE INDEX ON grow_lists USING gin (l);
INSERT INTO grows VALUES ('(1)'), ('(2)');
INSERT INTO grow_lists VALUES (1, ARRAY[ROW(1), ROW(2)]::growing[]);
BEGIN;
ALTER TYPE growing ADD ATTRIBUTE t ltree;
INSERT INTO grows VALUES ('(1,a)');
ROLLBACK;
SELECT * FROM grows WHERE k = '(1)'::growing;
SELECT * FROM grow_lists WHERE l @> ARRAY[ROW(2)]::growing[];
ALTER TYPE growing ADD ATTRIBUTE t ltree;
INSERT INTO grows VALUES ('(1,)');
INSERT INTO grows VALUES ('(1,b)'), ('(1,a)');
SELECT * FROM grows ORDER BY k;
SELECT * FROM grow_lists WHERE l @> ARRAY[ROW(2, NULL)]::growing[];
EXPLAIN (COSTS OFF) SELECT * FROM grow_lists WHERE l @> ARRAY[ROW(2, NULL)]::growing[];
ALTER TYPE growing ADD ATTRIBUTE more ltree;
INSERT INTO grows VALUES ('(1,a,)');
INSERT INTO grows VALUES ('(1,a,x)');
BEGIN;
ALTER TYPE growing ADD ATTRIBUTE uncompared json;
ROLLBACK;
SELECT * FROM grows WHERE k > '(1,a,)'::growing ORDER BY k;
ALTER TYPE growing DROP ATTRIBUTE t;
CREATE FOREIGN TABLE bad (k xml PRIMARY KEY) SERVER key_rank;

-- An enum gets an operator class of its own, which is the default from then on: each index goes by the one that it has
CREATE TYPE size AS ENUM ('s', 'm', 'l');
CREATE FOREIGN TABLE sizes (id int PRIMARY KEY, k size) SERVER key_rank;
CREATE INDEX usual ON sizes (k);
CREATE INDEX hashed ON sizes USING hash (k);
INSERT INTO sizes VALUES (1, 's'), (2, 'm'), (3, 'l');
CREATE FUNCTION backwards(size, size) RETURNS int IMMUTABLE LANGUAGE internal AS 'enum_cmp';
CREATE FUNCTION size_backwards(a size, b size) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT key_rank.backwards(b, a)';
CREATE FUNCTION size_before(a size, b size) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT key_rank.backwards(b, a) < 0';
CREATE OPERATOR <<< (FUNCTION = size_before, LEFTARG = size, RIGHTARG = size);
CREATE FUNCTION size_same(a size, b size) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT key_rank.backwards(a, b) = 0';
CREATE OPERATOR === (FUNCTION = size_same, LEFTARG = size, RIGHTARG = size);
CREATE OPERATOR CLASS size_backwards DEFAULT FOR TYPE size USING btree AS OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 size_backwards(size, size);
INSERT INTO sizes VALUES (4, 'm');
SELECT id FROM sizes WHERE k = 'm' ORDER BY id;
CREATE INDEX own ON sizes (k);
SELECT c.relname, pg_get_indexdef(c.oid) FROM pg_class c WHERE relname IN ('usual', 'own') ORDER BY 1;
EXPLAIN (COSTS OFF) SELECT id, k FROM sizes ORDER BY k USING <<<;
SELECT id, k FROM sizes WHERE k > 's' ORDER BY k, id;
SELECT k FROM sizes ORDER BY k USING <<<;
-- which is how parts of values are compared: tables with keys of those are stored anew
CREATE FOREIGN TABLE sets (k size[] PRIMARY KEY, v int) SERVER key_rank;
INSERT INTO sets VALUES ('{s,m}', 1), ('{m}', 2), ('{l,s}', 3);
SELECT k FROM sets WHERE k > '{l}' ORDER BY k;
DROP OPERATOR CLASS size_backwards USING btree CASCADE;
SELECT k FROM sets WHERE k > '{l}' ORDER BY k;
SELECT k FROM sets ORDER BY k;
DROP FOREIGN TABLE sets;
SELECT id FROM sizes WHERE k = 'm' ORDER BY id;
EXPLAIN (COSTS OFF) SELECT id FROM sizes WHERE k = 'm';
-- but there has to be one: PostgreSQL's indexes would only raise errors
BEGIN;
ALTER EXTENSION ltree DROP OPERATOR CLASS ltree_ops USING btree;
DROP OPERATOR CLASS ltree_ops USING btree CASCADE;
ROLLBACK;
-- arrays, ranges and composites may get some, too; bounds are compared as their type was told
CREATE TYPE two AS (a int, b int);
CREATE TYPE sized AS RANGE (SUBTYPE = size, SUBTYPE_OPCLASS = enum_ops);
CREATE FOREIGN TABLE kinds (a int[] PRIMARY KEY, r int4range, m int4multirange, c two, s sized) SERVER key_rank;
CREATE INDEX kinds_range ON kinds (r);
CREATE INDEX ON kinds (m);
CREATE INDEX ON kinds (c);
CREATE INDEX kinds_sized ON kinds (s);
INSERT INTO kinds VALUES ('{2,1}', '[1,5)', '{[1,5)}', '(1,2)', '[s,m]'), ('{1,3}', '[2,3)', '{[2,3)}', '(2,1)', '[m,l]');
DO $$
DECLARE t text;
BEGIN
	FOREACH t IN ARRAY '{int[],int4range,int4multirange,two}'::text[] LOOP
		EXECUTE format('CREATE FUNCTION back(a %1$s, b %1$s) RETURNS int IMMUTABLE LANGUAGE sql AS ''SELECT CASE WHEN a > b THEN -1 WHEN a = b THEN 0 ELSE 1 END''', t);
		EXECUTE format('CREATE OPERATOR CLASS %I DEFAULT FOR TYPE %s USING btree AS FUNCTION 1 back(%2$s, %2$s)', 'back_' || t, t);
	END LOOP;
END $$;
INSERT INTO kinds VALUES ('{0}', '[3,9)', '{[3,9)}', '(0,1)', '[s,s]');
SELECT a FROM kinds WHERE a = '{1,3}';
EXPLAIN (COSTS OFF) SELECT r FROM kinds WHERE r > '[1,2)' AND r < '[3,3]';
SELECT r FROM kinds WHERE r > '[1,2)' AND r < '[3,3]';
SELECT s FROM kinds WHERE s = '[m,l]';
DROP OPERATOR FAMILY "back_int[]" USING btree CASCADE;
DROP OPERATOR FAMILY back_int4range USING btree CASCADE;
DROP OPERATOR FAMILY back_int4multirange USING btree CASCADE;
DROP OPERATOR FAMILY back_two USING btree CASCADE;
SELECT a FROM kinds ORDER BY a;

-- An attribute that is taken back: what is kept of values that had it goes, too
CREATE TYPE labelled AS (l ltree, n int);
CREATE FOREIGN TABLE labels (k labelled PRIMARY KEY, v int) SERVER key_rank;
CREATE FOREIGN TABLE label_lists (id int PRIMARY KEY, l labelled[]) SERVER key_rank;
CREATE INDEX ON label_lists (l);
INSERT INTO labels VALUES ('(a.b,1)', 1), ('(a.c,2)', 2);
INSERT INTO label_lists VALUES (1, ARRAY['(a.b,1)'::labelled, '(a.c,2)']);
BEGIN;
ALTER TYPE labelled ADD ATTRIBUTE later int;
INSERT INTO labels VALUES ('(b.a,3,1)', 3), ('(a.b,1,9)', 4);
INSERT INTO label_lists VALUES (2, ARRAY['(b.a,3,1)'::labelled]);
SELECT k FROM labels ORDER BY k;
ROLLBACK;
BEGIN;
DECLARE reader CURSOR FOR SELECT k FROM labels;
ALTER TYPE labelled ADD ATTRIBUTE later text;
ROLLBACK;
ALTER TYPE labelled ADD ATTRIBUTE later text;
INSERT INTO labels VALUES ('(b.a,3,one)', 3), ('(a.b,1,x)', 4);
INSERT INTO labels VALUES ('(b.a,3,one)', 5);
INSERT INTO label_lists VALUES (2, ARRAY['(b.a,3,one)'::labelled]);
SELECT k FROM labels ORDER BY k;
SELECT id FROM label_lists ORDER BY l;

SET client_min_messages = warning;
DROP SERVER key_rank CASCADE;
DROP SCHEMA key_rank CASCADE;

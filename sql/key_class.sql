-- Types whose keys are of another type's operator class, and parts of values: a default class of their own comes, and goes.
SET client_min_messages = warning;
CREATE SERVER key_class FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE SCHEMA key_class;
SET search_path = key_class, public;
CREATE FOREIGN TABLE names (n varchar PRIMARY KEY, c cidr UNIQUE, r regclass) SERVER key_class;
CREATE INDEX ordered ON names (n);
CREATE INDEX hashed ON names USING hash (n);
CREATE INDEX ranges ON names USING brin (n);
CREATE INDEX ON names USING hash (c);
CREATE INDEX ON names (r);
INSERT INTO names VALUES ('b', '10.0.0.0/8', 'pg_class'), ('a', '10.1.0.0/16', 'pg_proc');
CREATE FUNCTION back(a varchar, b varchar) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.bttextcmp(b, a)';
CREATE FUNCTION back(a cidr, b cidr) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.network_cmp(b, a)';
CREATE FUNCTION back(a regclass, b regclass) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.btoidcmp(b, a)';
CREATE FUNCTION one(a varchar) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE OPERATOR CLASS back_varchar DEFAULT FOR TYPE varchar USING btree AS
	OPERATOR 1 > (text, text), OPERATOR 3 = (text, text), OPERATOR 5 < (text, text), FUNCTION 1 back(varchar, varchar);
CREATE OPERATOR CLASS one_varchar DEFAULT FOR TYPE varchar USING hash AS OPERATOR 1 = (text, text), FUNCTION 1 one(varchar);
CREATE OPERATOR CLASS back_cidr DEFAULT FOR TYPE cidr USING btree AS
	OPERATOR 1 > (inet, inet), OPERATOR 3 = (inet, inet), OPERATOR 5 < (inet, inet), FUNCTION 1 back(cidr, cidr);
CREATE OPERATOR CLASS back_regclass DEFAULT FOR TYPE regclass USING btree AS
	OPERATOR 1 > (oid, oid), OPERATOR 3 = (oid, oid), OPERATOR 5 < (oid, oid), FUNCTION 1 back(regclass, regclass);
\c
SET search_path = key_class, public;
INSERT INTO names VALUES ('c', '10.2.0.0/16', 'pg_type');
INSERT INTO names VALUES ('b', '10.3.0.0/16');
INSERT INTO names VALUES ('d', '10.0.0.0/8');
SELECT n FROM names WHERE n = 'a';
SELECT n FROM names WHERE n > 'a' ORDER BY n USING <;
SELECT n FROM names WHERE c = '10.1.0.0/16';
SELECT n FROM names WHERE r = 'pg_type'::regclass;
EXPLAIN (COSTS OFF) SELECT n FROM names WHERE n = 'a';
EXPLAIN (COSTS OFF) SELECT n FROM names WHERE n > 'a' ORDER BY n USING <;
DROP OPERATOR FAMILY back_varchar USING btree CASCADE;
DROP OPERATOR FAMILY one_varchar USING hash CASCADE;
DROP OPERATOR FAMILY back_cidr USING btree CASCADE;
DROP OPERATOR FAMILY back_regclass USING btree CASCADE;
\c
SET search_path = key_class, public;
INSERT INTO names VALUES ('a');
SELECT n FROM names WHERE n >= 'b' ORDER BY n;

-- entries made in another way than is right by now, behind everybody's back, are of no use to anybody
CREATE TYPE level AS ENUM ('low', 'high');
CREATE FUNCTION back(a level, b level) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.enum_cmp(b, a)';
CREATE OPERATOR CLASS back_level FOR TYPE level USING btree AS FUNCTION 1 back(level, level);
CREATE FOREIGN TABLE lists (l level[]) SERVER key_class;
CREATE INDEX ON lists USING gin (l);
CREATE FOREIGN TABLE keys (l level[] PRIMARY KEY) SERVER key_class;
INSERT INTO lists VALUES ('{low,high}');
INSERT INTO keys VALUES ('{low,high}');
SET allow_system_table_mods = on;
UPDATE pg_opclass SET opcdefault = true WHERE opcname = 'back_level';
\c
\set VERBOSITY sqlstate
SELECT FROM key_class.lists WHERE l @> '{high}';
SELECT FROM key_class.keys WHERE l = '{low,high}';
\set VERBOSITY default
SET allow_system_table_mods = on;
UPDATE pg_opclass SET opcdefault = false WHERE opcname = 'back_level';
\c
SET search_path = key_class, public;
SELECT * FROM lists WHERE l @> '{high}';
SELECT * FROM keys WHERE l = '{low,high}';

-- statements that bring such a thing about have the tables stored anew: of parts, and of keys in the default order of their type
CREATE EXTENSION IF NOT EXISTS btree_gin SCHEMA key_class;
CREATE FOREIGN TABLE words (l varchar[] PRIMARY KEY, v varchar[] UNIQUE, id int) SERVER key_class;
CREATE INDEX ON words ((l || v));
INSERT INTO words VALUES ('{b}', '{x}', 1), ('{a}', '{y}', 2), ('{c}', '{z}', 3);
PREPARE in_order AS SELECT l, v FROM words ORDER BY l;
EXECUTE in_order;
CREATE OPERATOR CLASS back_varchar DEFAULT FOR TYPE varchar USING btree AS OPERATOR 3 = (text, text), FUNCTION 1 back(varchar, varchar);
EXECUTE in_order;
SELECT l FROM words WHERE l > '{b}' OR l < '{b}' ORDER BY id;
SELECT id FROM words WHERE l = '{a}' AND v = '{y}';
SELECT id FROM words WHERE l || v > '{b,x}' ORDER BY id;
INSERT INTO words VALUES ('{d}', '{x}');
INSERT INTO words VALUES ('{d}', '{w}', 4), ('{a}', '{}', 5) ON CONFLICT DO NOTHING;
EXECUTE in_order;
BEGIN;
DROP OPERATOR FAMILY back_varchar USING btree CASCADE;
EXECUTE in_order;
ROLLBACK;
EXECUTE in_order;
BEGIN;
DECLARE reader CURSOR FOR SELECT * FROM words;
FETCH reader;
DROP OPERATOR FAMILY back_varchar USING btree CASCADE;
ROLLBACK;
DROP OPERATOR FAMILY back_varchar USING btree CASCADE;
EXECUTE in_order;
SELECT id FROM words WHERE l > '{b}' ORDER BY l;
DEALLOCATE in_order;
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE FUNCTION back(a colour, b colour) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.enum_cmp(b, a)';
CREATE FUNCTION one(a colour) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION same(a colour, b colour) RETURNS bool IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.enum_cmp(a, b) = 0';
CREATE OPERATOR === (FUNCTION = same, LEFTARG = colour, RIGHTARG = colour, HASHES);
CREATE FOREIGN TABLE colours (c colour, n int) SERVER key_class;
CREATE INDEX by_colour ON colours USING gin (c);
CREATE INDEX by_both ON colours USING gin (c, n);
INSERT INTO colours VALUES ('red', 1), ('blue', 2);
EXPLAIN (COSTS OFF) SELECT n FROM colours WHERE c = 'red';
CREATE OPERATOR CLASS back_colour DEFAULT FOR TYPE colour USING btree AS FUNCTION 1 back(colour, colour);
EXPLAIN (COSTS OFF) SELECT n FROM colours WHERE c = 'red' AND n = 1;
SELECT n FROM colours WHERE c = 'red' AND n = 1;
CREATE INDEX again ON colours USING gin (c);
INSERT INTO colours VALUES ('red', 3);
SELECT n FROM colours WHERE c = 'red' ORDER BY n;
CREATE TYPE painted AS (c colour, n int);
CREATE FOREIGN TABLE things (list painted[], one painted) SERVER key_class;
CREATE INDEX ON things USING hash (list);
CREATE INDEX ON things USING hash (one);
INSERT INTO things VALUES (ARRAY['(red,1)'::painted], '(blue,2)');
SELECT one FROM things WHERE list = ARRAY['(red,1)'::painted];
CREATE OPERATOR CLASS one_colour DEFAULT FOR TYPE colour USING hash AS OPERATOR 1 ===, FUNCTION 1 one(colour);
INSERT INTO things VALUES (ARRAY['(red,2)'::painted], '(blue,3)');
SELECT one FROM things WHERE list = ARRAY['(red,1)'::painted];
SELECT list FROM things WHERE one = '(blue,3)'::painted;
EXPLAIN (COSTS OFF) SELECT one FROM things WHERE list = ARRAY['(red,1)'::painted];
-- hashes of values that had fewer columns are made again
ALTER TYPE painted ADD ATTRIBUTE more int;
SELECT one FROM things WHERE one = '(blue,2,)'::painted;
SELECT list FROM things WHERE list = ARRAY['(red,1,)'::painted];
EXPLAIN (COSTS OFF) SELECT one FROM things WHERE one = '(blue,2,)'::painted;
ALTER TYPE painted DROP ATTRIBUTE n;
SELECT list FROM things WHERE list = ARRAY['(red,)'::painted];
SELECT one FROM things WHERE one = '(blue,)'::painted;

-- rows are stored anew once, also where an index has to be another one: its expression is computed once for each of them
CREATE FOREIGN TABLE counted (id int PRIMARY KEY, l varchar[]) SERVER key_class;
CREATE SEQUENCE computed;
CREATE FUNCTION computed(l varchar[]) RETURNS varchar[] IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	PERFORM nextval('key_class.computed');
	RETURN l;
END $$;
CREATE INDEX ON counted (computed(l));
INSERT INTO counted VALUES (1, '{b}'), (2, '{a}');
SELECT last_value FROM computed;
CREATE OPERATOR CLASS back_varchar DEFAULT FOR TYPE varchar USING btree AS OPERATOR 3 = (text, text), FUNCTION 1 back(varchar, varchar);
SELECT last_value FROM computed;

SET client_min_messages = warning;
DROP SERVER key_class CASCADE;
DROP SCHEMA key_class CASCADE;

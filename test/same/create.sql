-- What CREATE TABLE takes and refuses.
CREATE TABLE a (t text COLLATE "C", u text COLLATE "POSIX");
INSERT INTO a VALUES ('x', 'y');
CREATE TABLE b AS SELECT t || u AS tu FROM a;
CREATE TABLE b AS SELECT (t || u) COLLATE "C" AS tu FROM a;
CREATE TABLE c (k int) ON COMMIT DELETE ROWS;
CREATE TABLE c ON COMMIT DROP AS SELECT 1 AS one;
CREATE TABLE c (k int) WITH (fillfactor = 70);
CREATE TABLE d (k int) WITH (fillfactor = 7);
CREATE TABLE d (k int) WITH ("Fillfactor" = 70);
CREATE TABLE d WITH (nothing = 1) AS SELECT 1 AS one;
CREATE TABLE d WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off) AS SELECT 1 AS one;
CREATE TABLE e (LIKE nowhere);
CREATE SEQUENCE numbers;
CREATE TABLE e (k int, LIKE numbers);
CREATE TABLE e (k int, LIKE a INCLUDING ALL, x text DEFAULT 'x');
INSERT INTO e VALUES (1, 'a', 'b');
SELECT * FROM e;
SELECT * FROM d;
CREATE TABLE a (k int);
CREATE TABLE IF NOT EXISTS a (k int);
CREATE TABLE IF NOT EXISTS a AS SELECT 1;
CREATE TABLE x (k int, k text);
CREATE TABLE x (k nothing);
CREATE TABLE x (k int DEFAULT 'x');
CREATE TABLE x (k int CHECK (l > 0));
CREATE TABLE x AS SELECT 1 AS k, 2 AS k;

-- rows that are there when a partition comes beside a default one, which is a table of tables
CREATE TABLE whole (k int, v text) PARTITION BY LIST (v);
CREATE TABLE rest PARTITION OF whole DEFAULT PARTITION BY RANGE (k);
CREATE TABLE rest_low (v text, k int);
ALTER TABLE rest ATTACH PARTITION rest_low FOR VALUES FROM (0) TO (10);
INSERT INTO whole VALUES (1, 'a'), (2, 'b');
CREATE TABLE part_b (k int, v text);
-- PostgreSQL warns that it does not look into foreign tables; we do
SET client_min_messages = error;
ALTER TABLE whole ATTACH PARTITION part_b FOR VALUES IN ('b');
CREATE TABLE part_a PARTITION OF whole FOR VALUES IN ('a');
DELETE FROM whole WHERE v = 'b';
ALTER TABLE whole ATTACH PARTITION part_b FOR VALUES IN ('b');
INSERT INTO whole VALUES (3, 'b') RETURNING tableoid::regclass;
INSERT INTO rest VALUES (3, 'b');
INSERT INTO rest_low VALUES ('b', 3);

-- no right to INSERT is needed to fill what one creates
CREATE ROLE same_maker;
ALTER DEFAULT PRIVILEGES FOR ROLE same_maker REVOKE INSERT ON TABLES FROM same_maker;
GRANT CREATE ON SCHEMA public TO same_maker;
SET SESSION AUTHORIZATION same_maker;
CREATE TABLE filled AS SELECT 1 AS a;
INSERT INTO filled VALUES (2);
SELECT * FROM filled;
PREPARE one_row AS SELECT 1 AS a;
EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, TIMING OFF) CREATE TABLE explained AS EXECUTE one_row;
EXPLAIN (ANALYZE, COSTS OFF, SUMMARY OFF, TIMING OFF) CREATE TABLE explained_none (a) AS SELECT 1 WITH NO DATA;
EXPLAIN (ANALYZE, FORMAT json) CREATE TABLE IF NOT EXISTS explained_none AS SELECT 1 AS a;
EXPLAIN (ANALYZE, FORMAT xml) CREATE TABLE IF NOT EXISTS explained_none AS EXECUTE one_row;
EXPLAIN ANALYZE CREATE TABLE explained_none AS SELECT 1 AS a;
DEALLOCATE one_row;
ALTER TABLE explained SET ACCESS METHOD heap;
RESET SESSION AUTHORIZATION;
TABLE explained;
TABLE explained_none;
DROP TABLE filled, explained, explained_none;
ALTER DEFAULT PRIVILEGES FOR ROLE same_maker GRANT INSERT ON TABLES TO same_maker;
REVOKE CREATE ON SCHEMA public FROM same_maker;
DROP ROLE same_maker;
-- AS EXECUTE
CREATE TABLE src (a int, b text COLLATE "C", n numeric(5,2)); INSERT INTO src VALUES (1, 'x', 1.5), (2, 'y', 2.5), (3, NULL, NULL);
PREPARE q(int) AS SELECT a, b, n, a + 1 AS next FROM src WHERE a >= $1 ORDER BY a;
CREATE TABLE x1 AS EXECUTE q(2); SELECT * FROM x1; CREATE TABLE x2 (k, l) AS EXECUTE q(1 + 1); SELECT * FROM x2;
CREATE TABLE x3 (a, b, c, d, e) AS EXECUTE q(1); CREATE TABLE x3 AS EXECUTE q(1) WITH NO DATA; SELECT * FROM x3; CREATE TABLE IF NOT EXISTS x3 AS EXECUTE q(1); CREATE TABLE x3 AS EXECUTE q(1); CREATE TABLE x4 AS EXECUTE nope; CREATE TABLE x4 AS EXECUTE q; CREATE TABLE x4 AS EXECUTE q('x'); CREATE TABLE x4 AS EXECUTE q(a); PREPARE ins AS INSERT INTO src VALUES (9) RETURNING a; CREATE TABLE x4 AS EXECUTE ins; PREPARE fail AS SELECT 1 / (a - 2) AS z FROM src; CREATE TABLE x4 AS EXECUTE fail; SELECT to_regclass('x4');
DO $$ BEGIN EXECUTE 'CREATE TABLE x5 AS EXECUTE q(3)'; END $$; SELECT * FROM x5;
ALTER TABLE src ADD z int DEFAULT 5; CREATE TABLE x6 AS EXECUTE q(1); SELECT count(*) FROM x6;
SELECT count(*) FROM pg_class WHERE relname IN ('x1', 'x2', 'x3', 'x5', 'x6') AND relkind = (SELECT relkind FROM pg_class WHERE relname = 'src');
CREATE ROLE makes; GRANT CREATE ON SCHEMA public TO makes; GRANT SELECT ON src TO makes; ALTER DEFAULT PRIVILEGES FOR ROLE makes REVOKE INSERT ON TABLES FROM makes;
SET ROLE makes; CREATE TABLE x7 AS EXECUTE q(1); CREATE TABLE x8 AS SELECT a FROM src; SELECT count(*) FROM x7, x8; INSERT INTO x7 VALUES (1); RESET ROLE;
DROP OWNED BY makes; DROP ROLE makes;
-- what is there already is passed over with all that its definition names
CREATE TABLE there (a int);
CREATE TABLE IF NOT EXISTS there (LIKE nothing INCLUDING ALL);
CREATE TABLE IF NOT EXISTS there (a int PRIMARY KEY REFERENCES nothing, UNIQUE (b));
CREATE TABLE there (a, b) AS SELECT 1;
CREATE TABLE IF NOT EXISTS there (a, b) AS SELECT 1;
-- several at once, of which one is not there
DROP TABLE there, nothing;
DROP TABLE nothing, there;
DROP TABLE there, nowhere.nothing;
DROP TABLE IF EXISTS nowhere.nothing, there, nothing;
-- the sequence of an identity column has the column's type, also where the table has moved
CREATE TABLE moved (i int GENERATED ALWAYS AS IDENTITY, s smallint GENERATED BY DEFAULT AS IDENTITY (START 7 INCREMENT -2 MINVALUE -100 MAXVALUE 50), b bigint GENERATED ALWAYS AS IDENTITY, v text);
INSERT INTO moved (v) VALUES ('a'), ('b');
ALTER TABLE moved SET ACCESS METHOD heap;
INSERT INTO moved (v) VALUES ('c') RETURNING *;
SELECT sequencename, data_type, start_value, min_value, max_value, increment_by, last_value FROM pg_sequences WHERE sequencename ~ '^moved' ORDER BY 1;
DROP TABLE moved;
-- and with LIKE it is a bigint, with the bounds of the model's, which the column's type may not have
CREATE TABLE model (i int GENERATED ALWAYS AS IDENTITY, s smallint GENERATED BY DEFAULT AS IDENTITY (START -7 INCREMENT -2 MINVALUE -100 MAXVALUE -6 CYCLE));
CREATE TABLE alike (a text, LIKE model INCLUDING IDENTITY);
ALTER SEQUENCE alike_i_seq MAXVALUE 9223372036854775807 RESTART 2147483647;
CREATE TABLE further (LIKE alike INCLUDING ALL, b text);
INSERT INTO alike (a) VALUES ('a') RETURNING *;
INSERT INTO further (b) VALUES ('b'), ('b') RETURNING *;
DO $$ BEGIN
	IF (SELECT relkind FROM pg_class WHERE oid = 'alike'::regclass) = 'f' THEN
		ALTER TABLE alike SET ACCESS METHOD heap;
		ALTER TABLE alike SET ACCESS METHOD tsurugi;
	END IF;
END $$;
SELECT sequencename, data_type, start_value, min_value, max_value, increment_by, cycle, cache_size, last_value FROM pg_sequences ORDER BY 1;
INSERT INTO alike (a) VALUES ('a') RETURNING *;
DROP TABLE model, alike, further;

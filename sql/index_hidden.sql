-- Indexes on expressions, with predicates, and of types that are compared otherwise than by their bytes: what they keep of each row
-- comes and goes with them, and the rows stay where they are.  With others at work: the specifications index_create, index_hidden.

SET client_min_messages = warning;
CREATE SERVER index_hidden FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE FOREIGN TABLE t (id int PRIMARY KEY, k int, x text, tags text[]) SERVER index_hidden;
INSERT INTO t SELECT i, i % 100, 'X' || i, ARRAY['t' || i % 10, repeat('long', i % 20)] FROM generate_series(1, 3000) i;
\pset format unaligned
\pset tuples_only on
-- whether the index is used, and the same rows are found as without it
CREATE FUNCTION finds(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	how text := 'not used';
	found bigint[];
	meant bigint[];
BEGIN
	SET LOCAL enable_seqscan = off;
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT id FROM t WHERE ' || condition LOOP
		IF line LIKE '%Index%' THEN how := trim(line); END IF;
	END LOOP;
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM t WHERE ' || condition INTO found;
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM t WHERE (' || condition || ') IS TRUE' INTO meant;
	RETURN format('%s, %s rows%s', how, cardinality(found), CASE WHEN found IS DISTINCT FROM meant THEN ', which are WRONG' ELSE '' END);
END $$;
CREATE TEMP TABLE place AS SELECT id, ctid AS was FROM t;
CREATE INDEX t_low ON t (lower(x));
CREATE INDEX t_part ON t (k) WHERE k > 90;
CREATE INDEX t_tags ON t (tags, id);
SELECT finds('lower(x) = ''x77''');
SELECT finds('k > 90 AND k = 95');
SELECT finds('tags = ARRAY[''t7'', repeat(''long'', 17)]');
SELECT index, entries, bytes > 40000 AS large FROM tsurugi.indexes WHERE index IN ('t_low', 't_part', 't_tags') ORDER BY index;
-- writes
UPDATE t SET x = 'Y' || id WHERE id % 7 = 0;
UPDATE t SET k = 95 WHERE id BETWEEN 100 AND 110;
UPDATE t SET id = id + 10000 WHERE id % 11 = 0;
DELETE FROM t WHERE id % 13 = 0;
INSERT INTO t VALUES (20001, 95, 'X77', '{}'), (20002, NULL, NULL, NULL);
SELECT finds('lower(x) = ''x77'''), finds('lower(x) = ''y700'''), finds('k > 90 AND k = 95'), finds('tags = ''{}''');
BEGIN;
UPDATE t SET x = 'Z';
SAVEPOINT s;
UPDATE t SET x = 'U';
ROLLBACK TO s;
SELECT finds('lower(x) = ''z''');
ROLLBACK;
SELECT finds('lower(x) = ''z'''), finds('lower(x) = ''y700''');
-- columns come and go beside them, the rows where they are
ALTER FOREIGN TABLE t ADD COLUMN later int;
ALTER FOREIGN TABLE t ADD COLUMN latest text;
UPDATE t SET later = 5, latest = 'L' || id WHERE id % 2 = 0;
CREATE INDEX t_latest ON t (upper(latest)) WHERE later > 4;
SELECT finds('upper(latest) = ''L2000'' AND later > 4'), finds('lower(x) = ''y700''');
ALTER FOREIGN TABLE t DROP COLUMN later;
SELECT finds('lower(x) = ''y700''');
SELECT count(*) AS moved FROM t JOIN place USING (id) WHERE t.ctid IS DISTINCT FROM was;
-- one goes, younger ones stay
DROP INDEX CONCURRENTLY t_low;
SELECT finds('k > 90 AND k = 95'), finds('lower(x) = ''y700''');
CREATE INDEX CONCURRENTLY t_low ON t (lower(x));
SELECT finds('lower(x) = ''y700''');
-- made anew its values are computed anew: a function is not what it was
CREATE FUNCTION half(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 / 2; END';
CREATE INDEX t_half ON t (half(k));
CREATE OR REPLACE FUNCTION half(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 / 2 + 1000; END';
SET enable_seqscan = off;
SELECT count(*) FROM t WHERE half(k) = 1010;
REINDEX INDEX t_half;
SELECT count(*) FROM t WHERE half(k) = 1010;
CREATE OR REPLACE FUNCTION half(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 / 2 + 2000; END';
REINDEX INDEX CONCURRENTLY t_half;
SELECT count(*) FROM t WHERE half(k) = 2010;
RESET enable_seqscan;
DROP INDEX t_half;

-- What cannot be computed; of rows that are no more nothing is
CREATE FOREIGN TABLE d (id int PRIMARY KEY, v int) SERVER index_hidden;
INSERT INTO d SELECT i, i FROM generate_series(-5, 5) i;
CREATE INDEX d_inverse ON d ((100 / v));
SELECT count(*) FROM tsurugi.indexes WHERE index = 'd_inverse';
INSERT INTO d VALUES (10, 0);
-- the predicate comes first
CREATE INDEX d_inverse ON d ((100 / v)) WHERE v <> 0;
INSERT INTO d VALUES (11, 0);
UPDATE d SET v = 0 WHERE id = 5;
DROP INDEX d_inverse;
CREATE INDEX CONCURRENTLY d_inverse ON d ((100 / v));
SELECT indisvalid FROM pg_index WHERE indexrelid = 'd_inverse'::regclass;
INSERT INTO d VALUES (12, 0);
DROP INDEX d_inverse;
DELETE FROM d WHERE v = 0;
CREATE INDEX d_inverse ON d ((100 / v));
INSERT INTO d VALUES (12, 0);
DROP INDEX d_inverse;
INSERT INTO d VALUES (12, 0), (13, 0);
CREATE TABLE beside (v int);
CREATE FUNCTION inverse(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN 100 / $1; END';
BEGIN;
INSERT INTO beside VALUES (1);
DELETE FROM d WHERE v = 0;
COMMIT;
CREATE INDEX d_inverse ON d (inverse(v));
SELECT count(*) FROM d WHERE inverse(v) = 25;
BEGIN;
INSERT INTO beside VALUES (2);
DELETE FROM d WHERE id < -3;
COMMIT;
REINDEX INDEX d_inverse;
SELECT count(*) FROM d WHERE inverse(v) = 25;
DROP INDEX d_inverse;
CREATE INDEX d_inverse ON d ((100 / v));
-- keys that are there twice
CREATE UNIQUE INDEX d_square ON d ((v * v));
CREATE UNIQUE INDEX CONCURRENTLY d_square ON d ((v * v));
SELECT indisvalid FROM pg_index WHERE indexrelid = 'd_square'::regclass;
DELETE FROM d WHERE v < 0;
REINDEX INDEX CONCURRENTLY d_square;
SELECT indisvalid FROM pg_index WHERE indexrelid = 'd_square'::regclass;
INSERT INTO d VALUES (20, -3);
INSERT INTO d VALUES (20, -3) ON CONFLICT ((v * v)) DO UPDATE SET v = 30 RETURNING id, v;
INSERT INTO d VALUES (20, -3) ON CONFLICT ((v * v)) DO UPDATE SET v = 40 RETURNING id, v;
-- in the transaction that makes the index: own rows, a rollback to before it, and a key of such a type
BEGIN;
INSERT INTO d VALUES (21, 21), (22, 22);
DELETE FROM d WHERE id = 22;
SAVEPOINT s;
CREATE UNIQUE INDEX d_cube ON d ((v * v * v));
INSERT INTO d VALUES (23, 21);
ROLLBACK TO s;
CREATE UNIQUE INDEX d_cube ON d ((v * v * v));
INSERT INTO d VALUES (23, 23);
COMMIT;
SET enable_seqscan = off;
SELECT id, v FROM d WHERE v * v * v IN (27, 9261, 10648, 12167) ORDER BY id;
RESET enable_seqscan;
CREATE FOREIGN TABLE n (id numeric PRIMARY KEY, v numeric) SERVER index_hidden;
INSERT INTO n SELECT i, i * 1.10 FROM generate_series(1, 50) i;
CREATE UNIQUE INDEX n_v ON n (v, (v + 1)) WHERE v > 2;
ALTER FOREIGN TABLE n ADD COLUMN more text DEFAULT 'more';
SELECT * FROM n WHERE id = 7.00;
SELECT * FROM n WHERE v = 7.7 AND v > 2;
INSERT INTO n VALUES (7.0, 1), (51, 1);
INSERT INTO n VALUES (51, 7.700);

DROP TABLE beside;
DROP SERVER index_hidden CASCADE;

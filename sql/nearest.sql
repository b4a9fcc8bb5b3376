-- ORDER BY number <-> value: which queries read an index from the value outwards, and in which order their rows come.
SET client_min_messages = warning;
SET jit = off;
CREATE EXTENSION btree_gist;
CREATE SERVER line FOREIGN DATA WRAPPER tsurugi_fdw;
SET tsurugi_fdw.default_server = line;
SET tsurugi_fdw.create_table = on;
CREATE TABLE reading (id int PRIMARY KEY, room int, value int, at timestamp, weight float8, name text);
CREATE INDEX value ON reading USING gist (value);
CREATE INDEX room_at ON reading USING gist (room, at);
CREATE INDEX weight ON reading (weight);
CREATE INDEX half ON reading USING gist ((value / 2)) WHERE room = 3;
-- nothing there, one row, and NULL
SET enable_sort = off;
SELECT id FROM reading ORDER BY value <-> 7;
INSERT INTO reading VALUES (0, 3, 10);
SELECT id, value <-> 7 FROM reading ORDER BY value <-> 7;
INSERT INTO reading VALUES (-1), (-2);
SELECT id, value <-> 7 FROM reading ORDER BY value <-> 7, id DESC;
PREPARE from_null(int) AS SELECT id FROM reading ORDER BY value <-> $1, id;
SET plan_cache_mode = force_generic_plan;
EXECUTE from_null(NULL);
EXECUTE from_null(3);
RESET plan_cache_mode;
RESET enable_sort;
INSERT INTO reading SELECT i, i % 10, i * 10, timestamp '2020-01-01' + i * interval '1 hour', i / 8.0, 'n' || i FROM generate_series(1, 3000) i;
ANALYZE reading;
-- plans
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY value <-> 500 LIMIT 5;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM reading WHERE value > 100 AND 600 >= value AND name <> '' ORDER BY 500 <-> value LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM reading WHERE room = 3 AND at < '2020-02-01' ORDER BY at <-> '2020-02-03', id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM reading WHERE room = 3 ORDER BY value / 2 <-> 77 LIMIT 5 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT o.id, t.id FROM reading o, LATERAL (SELECT t.id FROM reading t ORDER BY t.value <-> o.value LIMIT 2) t WHERE o.id IN (7, 9);
-- by any index that has the column in its order
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY id <-> 500 LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY weight <-> 500 LIMIT 5;
-- and those that sort
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY value <-> 500 DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY value <-> 500 NULLS FIRST LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY value <-> id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY value <-> (random() * 9)::int LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM reading WHERE room IN (3, 4) ORDER BY at <-> '2020-02-03' LIMIT 5;
CREATE FUNCTION how_far(int, int) RETURNS int LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 # $2';
CREATE OPERATOR <#> (LEFTARG = int, RIGHTARG = int, FUNCTION = how_far, COMMUTATOR = <#>);
EXPLAIN (COSTS OFF) SELECT id FROM reading ORDER BY value <#> 500 LIMIT 5;
-- answers
SELECT id, value <-> 503 FROM reading ORDER BY value <-> 503 LIMIT 4;
SELECT id FROM reading WHERE room = 3 AND at < '2020-02-01' ORDER BY at <-> '2020-02-03', id LIMIT 3;
SELECT id, value / 2 <-> 77 FROM reading WHERE room = 3 ORDER BY value / 2 <-> 77 LIMIT 3;
SELECT id FROM reading ORDER BY id <-> 77 LIMIT 4;
SELECT id FROM reading WHERE value > 100 AND 600 >= value AND id % 2 = 0 ORDER BY 500 <-> value LIMIT 5;
SELECT o.id, array_agg(t.id ORDER BY t.id) FROM reading o, LATERAL (SELECT t.id FROM reading t ORDER BY t.value <-> o.value, id LIMIT 3) t WHERE o.id IN (10, 770, -1) GROUP BY o.id ORDER BY 1;
-- a distance that has no place in its type is an error where a row is handed out, not on the way
INSERT INTO reading (id, value) VALUES (5000, -2147483648), (5001, 2147483647);
SELECT id, value <-> 2147483640 FROM reading ORDER BY value <-> 2147483640 LIMIT 2;
SET enable_sort = off;
SELECT id FROM reading WHERE id NOT BETWEEN 1 AND 4000 ORDER BY value <-> 2147483640 LIMIT 2;
SELECT id FROM reading WHERE id NOT BETWEEN 1 AND 4000 AND id <> 5000 ORDER BY value <-> 2147483640, id;
SELECT id FROM reading WHERE id NOT BETWEEN 1 AND 4000 ORDER BY value <-> 2147483640;
RESET enable_sort;
DELETE FROM reading WHERE id >= 5000;
-- how much is read
CREATE FUNCTION source_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Source:%' THEN
			RETURN trim(line);
		END IF;
	END LOOP;
END $$;
SELECT source_of('SELECT id FROM reading ORDER BY value <-> 503 LIMIT 4'), source_of('SELECT id FROM reading ORDER BY value <-> 503 LIMIT 100');
SELECT source_of('SELECT id FROM reading WHERE value > 20000 ORDER BY value <-> 503 LIMIT 4'), source_of('SELECT id FROM reading WHERE value > 100000 ORDER BY value <-> 503 LIMIT 4');
-- cursors, prepared statements, locks, changes meanwhile
BEGIN;
DECLARE c CURSOR FOR SELECT id, value <-> 504 AS d FROM reading ORDER BY 2, id;
DECLARE s SCROLL CURSOR FOR SELECT id FROM reading ORDER BY value <-> 504 LIMIT 100;
FETCH 2 FROM c;
DELETE FROM reading WHERE id = 49;
UPDATE reading SET value = 504 WHERE id = 2900;
INSERT INTO reading (id, value) VALUES (4000, 503);
FETCH 2 FROM c;
FETCH ABSOLUTE 60 FROM s;
FETCH ABSOLUTE 1 FROM s;
SELECT id, value FROM reading ORDER BY value <-> 503 LIMIT 3 FOR UPDATE;
DECLARE d CURSOR FOR SELECT id FROM reading ORDER BY value <-> 29000 LIMIT 10;
FETCH 2 FROM d;
DELETE FROM reading WHERE CURRENT OF d RETURNING id;
SELECT id FROM reading ORDER BY value <-> 29000 LIMIT 2;
ROLLBACK;
PREPARE near(int) AS SELECT id FROM reading ORDER BY value <-> $1 LIMIT 1;
EXECUTE near(200);
SET plan_cache_mode = force_generic_plan;
EXECUTE near(301);
EXECUTE near(317);
EXPLAIN (COSTS OFF) EXECUTE near(317);
RESET plan_cache_mode;
-- partitions, one of them an ordinary table
CREATE TABLE parted (id int, value int) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (2000);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (2000) TO (4000);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (4000) TO (6000) USING heap;
CREATE INDEX ON parted USING gist (value);
INSERT INTO parted SELECT i, i * 71 % 5003 FROM generate_series(1, 5000) i;
ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT id FROM parted ORDER BY value <-> 500 LIMIT 3;
SELECT id, value <-> 500 AS d FROM parted ORDER BY value <-> 500, id LIMIT 6;
DROP TABLE parted;
DROP SERVER line CASCADE;
DROP OPERATOR <#> (int, int);
DROP FUNCTION how_far, source_of;
DROP EXTENSION btree_gist;

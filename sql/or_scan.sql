-- OR of conditions that several indexes find: plans, and that each row comes once.

SET tsurugi_fdw.jobs = off;
SET client_min_messages = warning;
CREATE SERVER or_scan FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE TABLE heap (id int PRIMARY KEY, a int, b int, c text COLLATE "C", n int, tags int[], during int4range, at point, h text);
INSERT INTO heap SELECT i, i % 200, nullif(i % 150, 7), 'c' || i % 160, i % 10, ARRAY[i % 120, 1000 + i % 3], int4range(i, i + i % 7), point(i % 50, i / 50), 'h' || i % 180
	FROM generate_series(1, 3000) i;
CREATE FOREIGN TABLE ours (id int PRIMARY KEY, a int, b int, c text COLLATE "C", n int, tags int[], during int4range, at point, h text) SERVER or_scan;
INSERT INTO ours TABLE heap;
CREATE INDEX ours_a ON ours (a);
CREATE INDEX ours_b ON ours (b, n);
CREATE INDEX ours_c ON ours (c);
CREATE INDEX ours_part ON ours (n, id) WHERE c = 'c5';
CREATE INDEX ours_sum ON ours ((a + b));
CREATE INDEX ours_tags ON ours USING gin (tags);
CREATE INDEX ours_during ON ours USING gist (during);
CREATE INDEX ours_at ON ours USING spgist (at);
CREATE INDEX ours_h ON ours USING hash (h);
ANALYZE heap, ours;

-- the plan of a query of ours, and whether its answer is the ordinary table's
CREATE FUNCTION check_query(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	answer text[] = '{}';
	t text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '#', 'ours') LOOP
		RETURN NEXT line;
	END LOOP;
	FOREACH t IN ARRAY ARRAY['heap', 'ours'] LOOP
		EXECUTE format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(x::text, '';'' ORDER BY x::text)), '''') FROM (%s) x', replace(query, '#', t)) INTO line;
		answer := answer || line;
	END LOOP;
	RETURN NEXT CASE WHEN answer[1] = answer[2] THEN split_part(answer[1], ' ', 1) || ' rows' ELSE 'DIFFERS: ' || answer::text END;
END $$;
\pset tuples_only on
\pset format unaligned
-- look-ups, ranges, lists, NULLs, prefixes
SELECT check_query('SELECT * FROM # WHERE a = 1 OR b = 2');
SELECT check_query('SELECT id FROM # WHERE id = 201 OR a = 1 OR b = 51');
SELECT check_query('SELECT * FROM # WHERE id < 20 OR a IN (3, 4, NULL) OR b IS NULL OR c LIKE ''c15%''');
SELECT check_query('SELECT * FROM # WHERE id IN (5, 6, 5) OR id > 2990 OR (b, n) > (149, 5)');
SELECT check_query('SELECT count(*) FROM # WHERE a = NULL::int OR b = 2');
-- one index for several arms
SELECT check_query('SELECT * FROM # WHERE a = 1 OR b = 2 OR a = 3 OR b = 4 OR a = 5');
SELECT check_query('SELECT * FROM # WHERE (b = 1 AND n = 1) OR a = 3 OR (b = 2 AND n = 2)');
SELECT check_query('SELECT * FROM # WHERE a = 1 OR (b = 2 AND n = 2) OR (b = 3 AND n > 3)');
-- arms that say more; conditions beside the OR; an OR in an arm, and another beside it
SELECT check_query('SELECT * FROM # WHERE (a = 1 AND id % 2 = 0) OR (b = 2 AND c > ''c1'')');
SELECT check_query('SELECT * FROM # WHERE (a = 1 OR b = 2) AND id % 3 = 0');
SELECT check_query('SELECT * FROM # WHERE n = 3 AND (a = 1 OR b = 13)');
SELECT check_query('SELECT * FROM # WHERE a = 1 OR ((b = 2 OR c = ''c3'') AND n < 5)');
SELECT check_query('SELECT * FROM # WHERE (a = 1 OR b = 2) AND (c = ''c1'' OR n = 2)');
SELECT check_query('SELECT * FROM # WHERE NOT (a <> 1 AND b <> 2)');
-- expressions; a partial index where its predicate is in the arm, and all of one
SELECT check_query('SELECT * FROM # WHERE a + b = 100 OR a = 5');
SELECT check_query('SELECT * FROM # WHERE (c = ''c5'' AND n = 5) OR b = 5');
SELECT check_query('SELECT id FROM # WHERE (c = ''c5'' AND id > 0) OR b = 5 OR id = 5');
-- a row outside of the partial index, whose other columns are as its arm says, is the other arm's
BEGIN;
DROP INDEX ours_c;
SELECT check_query('SELECT id FROM # WHERE (c = ''c5'' AND n = 5 AND id > 100) OR b = 65');
SELECT check_query('SELECT id FROM # WHERE (c = ''c5'' AND id % 2 = 1) OR a = 165');
DROP INDEX ours_h;
CREATE INDEX ours_low ON ours (h) WHERE n < 5;
SELECT check_query('SELECT id FROM # WHERE (h = ''h9'' AND n = 3) OR a = 9');
ROLLBACK;
-- other methods
SELECT check_query('SELECT * FROM # WHERE tags @> ''{5}'' OR a = 5');
SELECT check_query('SELECT * FROM # WHERE during @> 77 OR tags && ''{3,4}'' OR h = ''h9'' OR at <@ box ''(3,3),(1,1)''');
-- too much of the table; an arm without an index
SELECT check_query('SELECT count(*) FROM # WHERE a < 100 OR b > 50');
SELECT check_query('SELECT count(*) FROM # WHERE a = 1 OR n = 3');
-- order and LIMIT, above
SELECT check_query('SELECT id, a, b FROM # WHERE a = 1 OR b = 2 ORDER BY id DESC LIMIT 5');
-- a volatile condition is evaluated once for a row
CREATE SEQUENCE calls;
CREATE FUNCTION called(int) RETURNS boolean LANGUAGE sql VOLATILE AS 'SELECT nextval(''calls'') > 0';
SELECT check_query('SELECT id FROM # WHERE (a = 1 AND called(id)) OR b = 1');
SELECT currval('calls'), (SELECT 2 * count(*) FROM heap WHERE a = 1) AS wanted;
-- not asked twice of a row, either: there is no arm by the columns before a volatile one
SELECT check_query('SELECT id FROM # WHERE (a, n) > (199, random()::int / 2) OR b = 1');
-- whether an arm's index has a row is one thing, whether the arm holds for it another
SELECT check_query('SELECT id FROM # WHERE (a = 1 AND id % 400 = 1) OR b = 1');
SELECT check_query('SELECT id FROM # WHERE (a = 1 AND random() < 0) OR b = 1');

-- inner side of a nested loop; all of the values are the outer's, or some
SELECT check_query('SELECT o.id AS one, i.id AS other FROM heap o JOIN # i ON i.a = o.b OR i.id = o.id + 3 WHERE o.id < 10');
SELECT check_query('SELECT o.id, count(i.id) FROM heap o LEFT JOIN # i ON (i.a = o.b AND i.n = 1) OR i.b = 3 WHERE o.id < 5 GROUP BY o.id');
SELECT check_query('SELECT o.id, i.* FROM heap o, LATERAL (SELECT * FROM # WHERE a = o.id OR c = o.c) i WHERE o.id < 5');
SELECT check_query('SELECT id FROM heap o WHERE id < 9 AND EXISTS (SELECT FROM # i WHERE i.a = o.id + 195 OR i.b = o.id)');

-- prepared, generic; what is not known when it is planned
SET plan_cache_mode = force_generic_plan;
PREPARE either (int, int) AS SELECT count(*), sum(id) FROM ours WHERE a = $1 OR b = $2;
EXPLAIN (COSTS OFF) EXECUTE either (1, 2);
EXECUTE either (1, 2);
EXECUTE either (1, 1);
EXECUTE either (NULL, 2);
EXECUTE either (1, NULL);
SELECT count(*), sum(id) FROM heap WHERE a = 1 OR b = 2;
SELECT count(*), sum(id) FROM heap WHERE a = 1 OR b = 1;
RESET plan_cache_mode;

-- what was read, and what for nothing; other formats
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM ours WHERE a = 1 OR b = 1 OR during @> 60;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) SELECT id FROM ours WHERE id = 1 OR b = 1;
EXPLAIN (COSTS OFF, FORMAT YAML) SELECT id FROM ours WHERE id = 1 OR b = 1;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(i.id) FROM generate_series(1, 3) g LEFT JOIN ours i ON i.a = g OR i.b = g;

-- UPDATE and DELETE as a whole: what is written is not found by a later arm
EXPLAIN (COSTS OFF) UPDATE ours SET a = 1, b = 2 WHERE a = 1 OR b = 2;
BEGIN;
UPDATE ours SET a = b, b = a WHERE a = 1 OR b = 1;
UPDATE heap SET a = b, b = a WHERE a = 1 OR b = 1;
SELECT check_query('SELECT * FROM #');
UPDATE ours SET id = id + 10000, b = 2 WHERE id < 5 OR (b = 2 AND id % 2 = 0) OR id > 9000 RETURNING id, b;
UPDATE heap SET id = id + 10000, b = 2 WHERE id < 5 OR (b = 2 AND id % 2 = 0) OR id > 9000;
SELECT check_query('SELECT * FROM #');
EXPLAIN (COSTS OFF) DELETE FROM ours WHERE (a = 3 AND n > 2) OR id = 10001 OR tags @> '{7}';
DELETE FROM ours WHERE (a = 3 AND n > 2) OR id = 10001 OR tags @> '{7}';
DELETE FROM heap WHERE (a = 3 AND n > 2) OR id = 10001 OR tags @> '{7}';
SELECT check_query('SELECT * FROM #');
INSERT INTO ours SELECT id + 20000, a, b, c, n, tags, during, at, h FROM ours WHERE a = 5 OR b = 5;
INSERT INTO heap SELECT id + 20000, a, b, c, n, tags, during, at, h FROM heap WHERE a = 5 OR b = 5;
SELECT check_query('SELECT * FROM #');
ROLLBACK;
-- row by row, and locked as they are read
CREATE FUNCTION count_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.n := NEW.n + 1; RETURN NEW; END $$;
BEGIN;
CREATE TRIGGER up BEFORE UPDATE ON ours FOR EACH ROW EXECUTE FUNCTION count_up();
CREATE TRIGGER up BEFORE UPDATE ON heap FOR EACH ROW EXECUTE FUNCTION count_up();
UPDATE ours SET a = 2, b = 2 WHERE a = 1 OR b = 2;
UPDATE heap SET a = 2, b = 2 WHERE a = 1 OR b = 2;
SELECT check_query('SELECT * FROM #');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TRIGGER up BEFORE UPDATE ON ours FOR EACH ROW EXECUTE FUNCTION count_up();
UPDATE ours SET a = 2, b = 2 WHERE a = 1 OR b = 2;
ROLLBACK;
SELECT count(*) FROM (SELECT FROM ours WHERE a = 1 OR b = 2 FOR UPDATE) l;
-- cursors
BEGIN;
DECLARE c CURSOR FOR SELECT id FROM ours WHERE id = 201 OR a = 1 OR b = 51;
FETCH 2 FROM c;
UPDATE ours SET a = -1, b = -1 WHERE CURRENT OF c;
UPDATE ours SET b = 51 WHERE id BETWEEN 100 AND 110;
FETCH ALL FROM c;
SELECT id, a, b FROM ours WHERE a = -1;
ROLLBACK;
BEGIN;
DECLARE s SCROLL CURSOR FOR SELECT id FROM ours WHERE id < 3 OR a = 1999 OR b = 1 AND id < 200;
FETCH ALL FROM s;
FETCH BACKWARD 2 FROM s;
ROLLBACK;

-- partitions, some of them in memory; a join of partitions
CREATE TABLE whole (k int, p int, a int, b int) PARTITION BY RANGE (p);
CREATE FOREIGN TABLE whole_1 PARTITION OF whole FOR VALUES FROM (0) TO (1000) SERVER or_scan;
CREATE FOREIGN TABLE whole_2 PARTITION OF whole FOR VALUES FROM (1000) TO (2000) SERVER or_scan;
CREATE TABLE whole_3 PARTITION OF whole FOR VALUES FROM (2000) TO (3000);
CREATE INDEX ON whole (a);
CREATE INDEX ON whole (b);
INSERT INTO whole SELECT i, i, i % 300, i % 250 FROM generate_series(0, 2999) i;
ANALYZE whole, whole_1, whole_2;
EXPLAIN (COSTS OFF) SELECT * FROM whole WHERE a = 1 OR b = 1;
SELECT count(*), sum(k) FROM whole WHERE a = 1 OR b = 1;
UPDATE whole SET a = 1, b = 1, p = (p + 1001) % 3000 WHERE a = 1 AND p < 1000 OR b = 1 AND p > 2200;
SELECT count(*), sum(k), sum(p) FROM whole WHERE a = 1 OR b = 1;
SET enable_partitionwise_join = on;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT count(*) FROM whole o JOIN whole i ON i.p = o.p AND (i.a = o.a OR i.b = o.b + 1) WHERE o.a = 3;
SELECT count(*), sum(i.k) FROM whole o JOIN whole i ON i.p = o.p AND (i.a = o.a OR i.b = o.b + 1) WHERE o.a = 3;
RESET enable_partitionwise_join;
RESET enable_hashjoin;
RESET enable_mergejoin;
SELECT count(*), sum(i.k) FROM whole o JOIN whole i ON i.p = o.p AND (i.a = o.a OR i.b = o.b + 1) WHERE o.a = 3;

-- behind a view's security barrier no arm is looked up by somebody's function
CREATE VIEW own WITH (security_barrier) AS SELECT * FROM ours WHERE c <> 'c1';
CREATE FUNCTION tell(int) RETURNS int LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS $$ BEGIN RAISE WARNING 'told %', $1; RETURN $1; END $$;
EXPLAIN (COSTS OFF) SELECT id FROM own WHERE a = 1 OR b = 1;
EXPLAIN (COSTS OFF) SELECT id FROM own WHERE a = 1 OR (b = 1 AND tell(id) = 2);

DROP TABLE whole, heap;
DROP VIEW own;
DROP SERVER or_scan CASCADE;
DROP FUNCTION check_query, called, tell, count_up;
DROP SEQUENCE calls;

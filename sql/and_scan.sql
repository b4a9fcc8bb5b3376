-- Conditions that are all to hold, by several indexes: plans, and that the rows are those of the ordinary table.

SET client_min_messages = warning;
SET tsurugi_fdw.jobs = off; -- scans alone
CREATE SERVER and_scan FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE TABLE heap (id int PRIMARY KEY, a int, b int, c text COLLATE "C", n int, tags int[], during int4range, h text);
INSERT INTO heap SELECT i, hashint4(i) & 31, nullif(hashint4(i + 1) & 63, 7), 'c' || (hashint4(i + 2) & 31), i % 100, ARRAY[hashint4(i + 3) & 31, 1000 + i % 3],
	int4range(hashint4(i + 4) & 63, (hashint4(i + 4) & 63) + i % 4), 'h' || (hashint4(i + 5) & 31) FROM generate_series(1, 20000) i;
CREATE FOREIGN TABLE ours (id int PRIMARY KEY, a int, b int, c text COLLATE "C", n int, tags int[], during int4range, h text) SERVER and_scan;
INSERT INTO ours TABLE heap;
CREATE INDEX ours_a ON ours (a);
CREATE INDEX ours_b ON ours (b, n);
CREATE INDEX ours_c ON ours (c);
CREATE INDEX ours_part ON ours (n) WHERE id < 10000;
CREATE INDEX ours_sum ON ours ((a + b));
CREATE INDEX ours_tags ON ours USING gin (tags);
CREATE INDEX ours_during ON ours USING gist (during);
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
-- values, ranges, lists, NULLs, prefixes, the primary key
SELECT check_query('SELECT * FROM # WHERE a = 1 AND b = 2');
SELECT check_query('SELECT id FROM # WHERE a BETWEEN 3 AND 4 AND b > 45');
SELECT check_query('SELECT id FROM # WHERE a IN (1, 2, NULL) AND b IN (3, 4)');
SELECT check_query('SELECT id FROM # WHERE a = 5 AND b IS NULL');
SELECT check_query('SELECT id FROM # WHERE a = 6 AND c LIKE ''c3%''');
SELECT check_query('SELECT id FROM # WHERE id BETWEEN 2000 AND 3999 AND a = 7');
SELECT check_query('SELECT id FROM # WHERE a = NULL::int AND b = 2');
-- three; of a fourth it is of no use
SELECT check_query('SELECT id FROM # WHERE a = 8 AND b = 9 AND h = ''h8''');
SELECT check_query('SELECT id FROM # WHERE a < 20 AND b < 20 AND h < ''h20'' AND c < ''c20''');
-- an index that has less rows than it costs to read others; one that has all that the other has
SELECT check_query('SELECT id FROM # WHERE a = 8 AND id < 20');
SELECT check_query('SELECT id FROM # WHERE a > 1 AND a < 4');
-- expressions, partial indexes, other methods
SELECT check_query('SELECT id FROM # WHERE a + b = 30 AND a = 9');
SELECT check_query('SELECT id FROM # WHERE n < 5 AND a = 10 AND id < 10000');
SELECT check_query('SELECT id FROM # WHERE tags @> ''{5}'' AND a = 11');
SELECT check_query('SELECT id FROM # WHERE tags && ''{6,7}'' AND h = ''h9''');
SELECT check_query('SELECT id FROM # WHERE during @> 33 AND a = 12');
SELECT check_query('SELECT id FROM # WHERE h = ''h13'' AND a = 13');
-- what is beside; what is volatile
SELECT check_query('SELECT id FROM # WHERE a = 14 AND b = 15 AND id % 3 = 0');
SELECT check_query('SELECT id FROM # WHERE a = 14 AND b = 15 AND random() >= 0');
SELECT check_query('SELECT id FROM # WHERE a = 14 AND b = (random() * 0)::int');
SELECT check_query('SELECT id FROM # WHERE (a = 1 OR n = 7) AND b = 15');
-- order and LIMIT
SELECT check_query('SELECT a FROM # WHERE a BETWEEN 3 AND 9 AND b BETWEEN 4 AND 20 AND c = ''c2'' ORDER BY a DESC LIMIT 30');
SELECT check_query('SELECT id FROM # WHERE a = 3 AND b = 4 ORDER BY id LIMIT 3');
-- inner side of a nested loop
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT check_query('SELECT o.id, i.id AS other FROM heap o JOIN # i ON i.a = o.a AND i.b = 15 WHERE o.id < 5');
SELECT check_query('SELECT o.id, i.id AS other FROM heap o JOIN # i ON i.a = o.n AND i.b = o.b WHERE o.id < 5');
RESET enable_hashjoin;
RESET enable_mergejoin;
-- prepared, generic; what is not known when it is planned
SET plan_cache_mode = force_generic_plan;
PREPARE both_of (int, int) AS SELECT count(*), sum(id) FROM ours WHERE a = $1 AND b = $2;
EXPLAIN (COSTS OFF) EXECUTE both_of (1, 2);
EXECUTE both_of (1, 2);
EXECUTE both_of (1, 3);
EXECUTE both_of (NULL, 2);
EXECUTE both_of (1, NULL);
SELECT count(*), sum(id) FROM heap WHERE a = 1 AND b = 2;
SELECT count(*), sum(id) FROM heap WHERE a = 1 AND b = 3;
RESET plan_cache_mode;
-- what was read; other formats; executed several times
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT id FROM ours WHERE a = 1 AND b = 2;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) SELECT id FROM ours WHERE a = 1 AND b = 2;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(i.id) FROM generate_series(1, 3) g LEFT JOIN LATERAL (SELECT id FROM ours WHERE a = g AND b = 2 OFFSET 0) i ON true;
-- UPDATE and DELETE
EXPLAIN (COSTS OFF) UPDATE ours SET a = 1, b = 2 WHERE a = 2 AND b = 3 AND id % 2 = 0;
BEGIN;
UPDATE ours SET a = 16, b = 17, n = n + 1 WHERE a = 16 AND b IN (16, 17);
UPDATE heap SET a = 16, b = 17, n = n + 1 WHERE a = 16 AND b IN (16, 17);
SELECT check_query('SELECT * FROM # WHERE a = 16 AND b = 17');
DELETE FROM ours WHERE a = 18 AND b > 40;
DELETE FROM heap WHERE a = 18 AND b > 40;
SAVEPOINT one;
UPDATE ours SET a = 19 WHERE a = 20 AND b < 10;
SELECT count(*) FROM ours WHERE a = 19 AND b < 10;
ROLLBACK TO one;
SELECT check_query('SELECT * FROM # WHERE a = 19 AND b < 10');
SELECT check_query('SELECT * FROM #');
ROLLBACK;
-- an index that is asked for no value
BEGIN;
EXPLAIN (COSTS OFF) DELETE FROM ours WHERE id < 250 AND b IS NULL;
DELETE FROM ours WHERE id < 250 AND b IS NULL;
DELETE FROM heap WHERE id < 250 AND b IS NULL;
SELECT check_query('SELECT * FROM #');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE ours SET b = 21 WHERE a = 20 AND b = 20;
SELECT count(*) FROM ours WHERE a = 20 AND b = 21;
SELECT count(*) FROM heap WHERE a = 20 AND b IN (20, 21);
ROLLBACK;

DROP SERVER and_scan CASCADE;
DROP TABLE heap;
DROP FUNCTION check_query;

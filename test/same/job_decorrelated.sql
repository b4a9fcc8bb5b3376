-- Correlated scalar aggregates, which are planned as joins with groups, too: values of no rows,
-- NULLs, keys of several types, what stays a subquery.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- Whether the plan of a statement has such a line, or none; true for ordinary tables, so that
-- answers are equal
CREATE FUNCTION has(statement text, pattern text, wanted boolean DEFAULT true) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found boolean := false;
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN true;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		found := found OR line LIKE pattern;
		IF line LIKE '%Fallback:%' THEN
			RETURN false;
		END IF;
	END LOOP;
	RETURN found = wanted;
END $$;
CREATE FUNCTION stays(statement text) RETURNS boolean LANGUAGE sql AS $$ SELECT has(statement, '%SubPlan 1%') $$;
CREATE FUNCTION joined(statement text) RETURNS boolean LANGUAGE sql AS $$ SELECT has(statement, '%SubPlan%', false) $$;
CREATE TABLE items (id int PRIMARY KEY, k int, k8 int8, n numeric(10,2), u numeric, w numeric(6,1), d date, t text, v varchar(20), c char(4), f float8, b bool);
INSERT INTO items SELECT g, CASE WHEN g % 11 = 0 THEN NULL ELSE g % 700 END, g % 300, g % 97 / 4.0, g % 50, g % 13 / 2.0, date '2020-01-01' + g % 60, 'text ' || g % 40, 'v' || g % 20,
	'c' || g % 9, g / 8.0, g % 3 = 0 FROM generate_series(1, 6000) g;
CREATE TABLE keys (id int PRIMARY KEY, k int, k8 int8, w numeric(8,3), d date, t text, c char(4), x int);
INSERT INTO keys SELECT g, g * 10 % 900, g * 7 % 400, g % 13 / 2.0, date '2020-01-01' + g, 'text ' || g, 'c' || g % 12, g % 5 FROM generate_series(1, 120) g;
INSERT INTO keys VALUES (1000, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (1001, 10, 5000, 99, '1999-01-01', 'nobody', 'none', 3);
CREATE TABLE none (k int, n numeric(8,2));
ANALYZE;

-- in conditions
SELECT joined('SELECT count(*) FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k)');
SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE x * 20 > (SELECT max(n) FROM items i WHERE i.k = keys.k AND i.b) ORDER BY id;
SELECT joined('SELECT id FROM keys WHERE x * 20 > (SELECT max(n) FROM items i WHERE i.k = keys.k AND i.b)');
SELECT id FROM keys WHERE (SELECT max(n) FROM items i WHERE i.k = keys.k AND i.b) IS NULL ORDER BY id;
SELECT id FROM keys WHERE (SELECT count(*) FROM items i WHERE i.k = keys.k) = 0 ORDER BY id;
SELECT joined('SELECT id FROM keys WHERE (SELECT count(*) FROM items i WHERE i.k = keys.k) = 0');
SELECT id FROM keys WHERE (SELECT count(n) FROM items i WHERE i.k = keys.k AND i.n > 3) < x + 3 ORDER BY id;
SELECT id FROM keys WHERE coalesce((SELECT sum(n) FROM items i WHERE i.k = keys.k), -1) < 80 ORDER BY id;
SELECT id FROM keys WHERE (SELECT coalesce(sum(n), -1) FROM items i WHERE i.k = keys.k) < 80 ORDER BY id;
SELECT joined('SELECT id FROM keys WHERE (SELECT coalesce(sum(n), -1) FROM items i WHERE i.k = keys.k) < 80');
SELECT id FROM keys WHERE (SELECT CASE WHEN count(*) > 3 THEN NULL WHEN count(*) = 0 THEN 17 ELSE 4 END FROM items i WHERE i.k8 = keys.k8) = 17 ORDER BY id;
SELECT id FROM keys WHERE x = 1 OR x > (SELECT avg(n) FROM items i WHERE i.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE (SELECT min(t COLLATE "C") FROM items i WHERE i.k = keys.k) > t COLLATE "C" ORDER BY id;
SELECT id FROM keys WHERE (SELECT bool_or(b) FROM items i WHERE i.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE (SELECT bool_and(b) IS NULL FROM items i WHERE i.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE (SELECT sum(n) FILTER (WHERE b) FROM items i WHERE i.k = keys.k) > 20 ORDER BY id;
SELECT id FROM keys WHERE (SELECT count(DISTINCT n) FROM items i WHERE i.k = keys.k) > 7 ORDER BY id;
SELECT count(*) FROM keys, items o WHERE o.k = keys.k AND o.n < (SELECT 0.5 * avg(n) FROM items i WHERE i.k = keys.k);
SELECT count(*), sum(o.n) FROM keys, items o WHERE o.k = keys.k AND keys.x = 2 AND o.n = (SELECT min(n) FROM items i WHERE i.k = keys.k);
SELECT joined('SELECT count(*), sum(o.n) FROM keys, items o WHERE o.k = keys.k AND keys.x = 2 AND o.n = (SELECT min(n) FROM items i WHERE i.k = keys.k)');
SELECT count(*) FROM keys WHERE x < (SELECT count(*) FROM none WHERE none.k = keys.k);
SELECT count(*) FROM none WHERE n < (SELECT sum(i.n) FROM items i WHERE i.k = none.k);

-- the keys of the few are looked up before rows get into groups
SELECT has('SELECT count(*), sum(i.n) FROM keys JOIN items i USING (k) WHERE x = 1 AND i.n > (SELECT sum(n) / min(j.id) FROM items j WHERE j.k = keys.k)', '%SubPlan%');
SELECT has('SELECT count(*), sum(i.n) FROM keys JOIN items i USING (k) WHERE x = 1 AND i.n > (SELECT sum(n) / 9.0 FROM items j WHERE j.k = keys.k)', '%SubPlan%', false);
SELECT has('SELECT count(*), sum(i.n) FROM keys JOIN items i USING (k) WHERE x = 1 AND i.n > (SELECT 0.1 * sum(n) FROM items j WHERE j.k = keys.k)', '%SubPlan%', false);
SELECT count(*), sum(i.n) FROM keys JOIN items i USING (k) WHERE x = 1 AND i.n > (SELECT 0.1 * sum(n) FROM items j WHERE j.k = keys.k);
CREATE TABLE grouped (k int, k2 int, n numeric(8,2));
INSERT INTO grouped SELECT CASE WHEN g % 17 = 0 THEN NULL ELSE g % 4000 END, g % 3, g % 100 FROM generate_series(1, 20000) g;
ANALYZE grouped;
SELECT has('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM grouped g WHERE g.k = keys.k)', '%scan grouped%semi probe 1%group by%');
SELECT id FROM keys WHERE x < (SELECT sum(n) FROM grouped g WHERE g.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE (SELECT count(*) FROM grouped g WHERE g.k = keys.k) IN (0, 4) ORDER BY id;
SELECT has('SELECT id FROM keys WHERE (SELECT count(*) FROM grouped g WHERE g.k = keys.k) IN (0, 4)', '%semi probe 1%');
SELECT id FROM keys WHERE (SELECT count(*) FROM grouped g WHERE g.k = keys.k AND g.k2 = keys.x) = 0 ORDER BY id;
SELECT has('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM grouped g WHERE g.k = keys.k AND g.k2 = keys.x)', '%semi probe 1%k2%');
SELECT id FROM keys WHERE x < (SELECT sum(n) FROM grouped g WHERE g.k = keys.k AND g.k2 = keys.x) ORDER BY id;
SELECT id FROM keys WHERE x < (SELECT sum(g.n) FROM grouped g JOIN items i ON i.id = g.k WHERE g.k = keys.k AND i.b) ORDER BY id;
SELECT id FROM keys WHERE x < (SELECT sum(g.n) FROM grouped g LEFT JOIN items i ON i.id = g.k2 AND i.b WHERE g.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE 3 < (SELECT count(*) FROM items i LEFT JOIN grouped g ON i.id = g.k WHERE g.k = keys.k) ORDER BY id;
SELECT id FROM keys WHERE 3 < (SELECT count(DISTINCT g.n) FROM grouped g WHERE g.k = keys.k) ORDER BY id;

-- in the select list, in subqueries of other kinds, several of them, one in another
SELECT joined('SELECT id, (SELECT sum(n) FROM items i WHERE i.k = keys.k), (SELECT count(*) FROM items i WHERE i.k8 = keys.k8) FROM keys');
SELECT id, (SELECT sum(n) FROM items i WHERE i.k = keys.k), (SELECT count(*) FROM items i WHERE i.k8 = keys.k8) FROM keys ORDER BY id;
SELECT id, (SELECT avg(n) FROM items i WHERE i.k = keys.k) AS a FROM keys ORDER BY a DESC NULLS LAST, id LIMIT 5;
SELECT id FROM keys o WHERE EXISTS (SELECT 1 FROM keys WHERE keys.x = o.x AND keys.id > o.id AND 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k)) ORDER BY id;
SELECT id FROM items WHERE k IN (SELECT k FROM keys WHERE 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k) AND x = 3) ORDER BY id LIMIT 20;
SELECT joined('SELECT id FROM items WHERE k IN (SELECT k FROM keys WHERE 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k) AND x = 3)');
SELECT id FROM items WHERE id < 200 AND k NOT IN (SELECT k FROM keys WHERE 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k) AND x = 3) ORDER BY id LIMIT 20;
SELECT x, count(*), sum(id) FROM keys WHERE 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k) GROUP BY x ORDER BY x;
SELECT x, sum((SELECT sum(n) FROM items i WHERE i.k = keys.k)) FROM keys GROUP BY x ORDER BY x;
SELECT x, (SELECT sum(n) FROM items i WHERE i.k = keys.x) FROM keys GROUP BY x ORDER BY x;
WITH w AS MATERIALIZED (SELECT id FROM keys WHERE 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k)) SELECT count(*) FROM w a JOIN w b USING (id);
SELECT id FROM keys WHERE x > 3 AND 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k) UNION ALL SELECT id FROM keys WHERE x < 1 AND 9 > (SELECT max(n) FROM items i WHERE i.k8 = keys.k8) ORDER BY 1;
SELECT id FROM keys LEFT JOIN none USING (k) WHERE (SELECT sum(i.n) FROM items i WHERE i.k = none.k) IS NULL AND id < 5 ORDER BY id;
SELECT keys.id FROM keys JOIN none ON none.k = keys.k OR 30 < (SELECT sum(i.n) FROM items i WHERE i.k = keys.k) ORDER BY 1;
CREATE TABLE made AS SELECT id FROM keys WHERE 30 < (SELECT sum(n) FROM items i WHERE i.k = keys.k);
INSERT INTO made SELECT id + 5000 FROM keys WHERE 30 > (SELECT sum(n) FROM items i WHERE i.k = keys.k);
SELECT count(*), sum(id) FROM made;

-- keys of several types, several keys, expressions
SELECT id FROM keys WHERE 20 < (SELECT count(*) FROM items i WHERE i.k8 = keys.k) ORDER BY id;
SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.w = keys.w) ORDER BY id;
SELECT id FROM keys WHERE 3 < (SELECT count(*) FROM items i WHERE i.d = keys.d AND i.k8 = keys.k8 + 100) ORDER BY id;
SELECT id FROM keys WHERE 140 < (SELECT count(*) FROM items i WHERE i.t = keys.t) ORDER BY id;
SELECT id FROM keys WHERE 140 < (SELECT count(*) FROM items i WHERE i.v = keys.t) ORDER BY id;
SELECT id FROM keys WHERE 600 < (SELECT count(*) FROM items i WHERE i.c = keys.c) ORDER BY id;
SELECT id FROM keys WHERE 5 < (SELECT count(*) FROM items i WHERE i.f = keys.k) ORDER BY id;
SELECT id FROM keys WHERE 5 < (SELECT count(*) FROM items i WHERE keys.k + 1 = i.k) ORDER BY id;
SELECT id FROM keys WHERE 5 < (SELECT count(*) FROM items i WHERE keys.k8 - keys.x = i.k8) ORDER BY id;
SELECT id FROM keys WHERE 5 < (SELECT count(*) FROM items i WHERE keys.d + 3 = i.d AND i.id > 40) ORDER BY id;

-- what stays a subquery: what may fail, other correlations, volatile functions, rows that are
-- locked or changed
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(1 / (i.k - 5)) FROM items i WHERE i.k = keys.k)');
SELECT id FROM keys WHERE x < (SELECT sum(10 / (i.k - 5)) FROM items i WHERE i.k = keys.k AND i.k <> 5) ORDER BY id;
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(u * u) FROM items i WHERE i.k = keys.k)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(f) FROM items i WHERE i.k = keys.k)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k > keys.k AND i.id < 30)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k OR i.id = keys.id)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n + keys.x) FROM items i WHERE i.k = keys.k)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) + keys.x FROM items i WHERE i.k = keys.k)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k HAVING count(*) > 2)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k AND random() < 2)');
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k) FOR UPDATE');
SELECT id FROM keys WHERE x < (SELECT sum(n + keys.x) FROM items i WHERE i.k = keys.k) ORDER BY id LIMIT 5;
SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k) ORDER BY id LIMIT 3 FOR UPDATE;
UPDATE keys SET x = x + 1 WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k) AND id < 20;
DELETE FROM keys WHERE x > (SELECT sum(n) FROM items i WHERE i.k = keys.k) AND id < 60;
SELECT count(*), sum(x) FROM keys;
SELECT id FROM keys WHERE x < (SELECT n FROM items i WHERE i.k = keys.k) ORDER BY id LIMIT 3;
SELECT stays('SELECT id FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k ORDER BY 1)');
SELECT id, (SELECT sum(n) FROM items i WHERE i.k = keys.k ORDER BY sum(n)) FROM keys ORDER BY id LIMIT 3;

-- what the planner drops without evaluating it
SELECT id FROM keys WHERE x < (SELECT sum(CASE WHEN false THEN 1 / 0 ELSE n END) FROM items i WHERE i.k = keys.k AND coalesce(true, 1 / 0 = 1)) ORDER BY id LIMIT 3;
SELECT id FROM keys WHERE x < (SELECT sum(CASE WHEN false THEN 1e131000 * 1e1000 ELSE n END) FROM items i WHERE i.k = keys.k) ORDER BY id LIMIT 3;
SELECT CASE WHEN false THEN (SELECT sum(n) FROM items i WHERE i.k = keys.k AND i.d < date '5000000-01-01' + 2147483647) END FROM keys WHERE id = 1;
SELECT joined('SELECT id FROM keys WHERE x < (SELECT sum(n) / 7 FROM items i WHERE i.k = keys.k AND i.d < date ''2020-01-01'' + interval ''1 month'' AND i.id IN (1, 2, 3))');

-- rights, policies, plans that are kept
CREATE ROLE decorrelated_reader;
GRANT SELECT ON keys TO decorrelated_reader;
GRANT SELECT (k) ON items TO decorrelated_reader;
SET ROLE decorrelated_reader;
SELECT count(*) FROM keys WHERE 3 < (SELECT count(*) FROM items i WHERE i.k = keys.k);
SELECT count(*) FROM keys WHERE 3 < (SELECT sum(n) FROM items i WHERE i.k = keys.k);
RESET ROLE;
SET plan_cache_mode = force_generic_plan;
PREPARE p (int) AS SELECT count(*) FROM keys WHERE x < (SELECT sum(n) FROM items i WHERE i.k = keys.k AND i.id > $1);
EXECUTE p (0);
EXECUTE p (5000);
EXECUTE p (NULL);
SET ROLE decorrelated_reader;
EXECUTE p (0);
RESET ROLE;
ALTER TABLE items DROP COLUMN f;
EXECUTE p (2000);
CREATE INDEX ON items (k);
EXECUTE p (2000);
ALTER TABLE items RENAME COLUMN n TO m;
EXECUTE p (2000);
ALTER TABLE items RENAME COLUMN m TO n;
BEGIN;
INSERT INTO items (id, k, n) SELECT 10000 + g, 20, 1000 FROM generate_series(1, 5) g;
EXECUTE p (0);
SELECT id FROM keys WHERE 1000 < (SELECT max(n) + 1 FROM items i WHERE i.k = keys.k) ORDER BY id;
ROLLBACK;
REVOKE SELECT ON keys FROM decorrelated_reader;
SET ROLE decorrelated_reader;
EXECUTE p (0);
RESET ROLE;
RESET plan_cache_mode;
DROP OWNED BY decorrelated_reader;
DROP ROLE decorrelated_reader;
CREATE TABLE parts (k int, n numeric(8,2)) PARTITION BY LIST (k);
CREATE TABLE parts_one PARTITION OF parts FOR VALUES IN (1, 10, 20);
CREATE TABLE parts_other PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT k, n FROM items;
ANALYZE parts;
SELECT id FROM keys WHERE 3 < (SELECT count(*) FROM parts WHERE parts.k = keys.k) AND id < 30 ORDER BY id;
SELECT id, (SELECT sum(n) FROM parts WHERE parts.k = keys.k) FROM keys WHERE id < 30 ORDER BY id;

-- keys that CASE and OR spare a row, and an equality that is not immutable
CREATE TABLE outside (k int, z timestamptz);
INSERT INTO outside VALUES (0, '2023-03-12 03:30 America/New_York'), (1, NULL);
CREATE TABLE inside (k int, v int, t timestamp);
INSERT INTO inside VALUES (10, 1, '2023-03-12 02:30'), (10, 2, '2023-03-12 03:30');
SELECT CASE WHEN o.k <> 0 THEN (SELECT sum(v) FROM inside i WHERE i.k = 10 / o.k) END FROM outside o ORDER BY k;
SELECT o.k FROM outside o WHERE o.k = 0 OR 5 > (SELECT sum(v) FROM inside i WHERE i.k = 10 / o.k) ORDER BY k;
SET timezone = 'America/New_York';
SELECT o.k, (SELECT sum(v) FROM inside i WHERE i.t = o.z) FROM outside o ORDER BY k;
RESET timezone;

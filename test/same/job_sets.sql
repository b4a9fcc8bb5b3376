-- Jobs that compute UNION, INTERSECT and EXCEPT: NULLs, counts of the ALL variants, types that are cast, collations, empty sides, nested ones, what is above them, parameters, rescans, spilled rows.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- The steps of the statement's job, by what they begin with; for ordinary tables what is expected, so that answers are equal
CREATE FUNCTION steps(statement text, expected text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	was text := '';
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN expected;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		was := was || CASE WHEN line LIKE '%Fallback:%' THEN line WHEN line LIKE '%spilled%' THEN ' spilled'
			WHEN line ~ 'Step \d+:' THEN coalesce(', ' || substring(line FROM ': (\w+)') || substring(line FROM ' append to \d+'), ', ' || substring(line FROM ': (\w+)')) ELSE '' END;
	END LOOP;
	RETURN substr(was, 3);
END $$;
CREATE TABLE a (id int PRIMARY KEY, k int, x int2, n numeric(10,2), u numeric, t text, v varchar(10), c char(4), d date, f float8, b bool);
CREATE TABLE b (id int PRIMARY KEY, k int, x int8, n numeric(12,4), u numeric, t text, v varchar(20), c char(4), d date, f float8, b bool);
CREATE TABLE none (LIKE a INCLUDING ALL);
CREATE TABLE unit (k int PRIMARY KEY, name text);
INSERT INTO a SELECT g, nullif(g % 20, 7), g % 300, g % 50 * 1.25, nullif(g % 9, 4) * 0.5, nullif('text ' || g % 30, 'text 4'), 'v' || g % 6, 'c' || g % 5, date '2020-01-01' + g % 100, g / 8.0, nullif(g % 2 = 0, g % 7 = 0) FROM generate_series(1, 3000) g;
INSERT INTO b SELECT g, nullif(g % 30, 9), g % 500, g % 60 * 2.5, nullif(g % 12, 5) * 0.5, nullif('text ' || g % 40, 'text 5'), 'v' || g % 9, 'c' || g % 8, date '2020-02-01' + g % 100, g / 4.0, nullif(g % 3 = 0, g % 5 = 0) FROM generate_series(1, 2000) g;
INSERT INTO unit SELECT g, 'unit ' || g FROM generate_series(0, 14) g;
ANALYZE;

-- each operation, of one column and of several; NULLs are equal
SELECT steps('SELECT k FROM a UNION SELECT k FROM b', 'scan append to 2, scan');
SELECT k FROM a UNION SELECT k FROM b ORDER BY k;
SELECT steps('SELECT k FROM a INTERSECT SELECT k FROM b', 'scan append to 2, scan');
SELECT k FROM a INTERSECT SELECT k FROM b ORDER BY k;
SELECT steps('SELECT k FROM b EXCEPT SELECT k FROM a', 'scan append to 2, scan');
SELECT k FROM b EXCEPT SELECT k FROM a ORDER BY k;
SELECT k FROM a EXCEPT SELECT k FROM b ORDER BY k NULLS FIRST;
SELECT k, t, b FROM a WHERE id < 200 UNION SELECT k, t, b FROM b WHERE id < 150 ORDER BY 1, 2, 3;
SELECT k, b FROM a INTERSECT SELECT k, b FROM b ORDER BY 1, 2;
SELECT k, b, v FROM a EXCEPT SELECT k, b, v FROM b ORDER BY 1, 2, 3;
SELECT NULL::int AS x, 'text' AS y FROM a UNION SELECT NULL, 'text' FROM b;
SELECT d, c FROM a EXCEPT SELECT d, c FROM b ORDER BY 1, 2 LIMIT 10;

-- the counts of ALL
SELECT steps('SELECT k FROM a INTERSECT ALL SELECT k FROM b', 'scan append to 2, scan');
SELECT steps('SELECT k, count(*) FROM (SELECT k FROM a EXCEPT ALL SELECT k FROM b) x GROUP BY k', 'scan append to 2, scan, groups');
SELECT count(*) FROM unit WHERE k NOT IN (SELECT k FROM a WHERE k > 4 EXCEPT ALL SELECT k FROM b WHERE k > 5);
SELECT x.k, unit.name FROM (SELECT k FROM a WHERE id < 70 EXCEPT ALL SELECT k FROM b WHERE id < 60) x LEFT JOIN unit USING (k) ORDER BY 1;
(SELECT k FROM a WHERE id < 90 INTERSECT ALL SELECT k FROM b WHERE id < 50) EXCEPT ALL SELECT k FROM unit ORDER BY 1;
SELECT count(*) FROM (SELECT b FROM a INTERSECT ALL SELECT b FROM b) x;
SELECT b FROM a EXCEPT ALL SELECT b FROM b WHERE id < 1990 ORDER BY 1 LIMIT 5;
SELECT k, count(*) FROM (SELECT k FROM a INTERSECT ALL SELECT k FROM b) x GROUP BY k ORDER BY k;
SELECT k, count(*) FROM (SELECT k FROM a EXCEPT ALL SELECT k FROM b) x GROUP BY k ORDER BY k;
SELECT k, count(*) FROM (SELECT k FROM b EXCEPT ALL SELECT k FROM a) x GROUP BY k ORDER BY k;
SELECT k, b, count(*) FROM (SELECT k, b FROM a UNION ALL SELECT k, b FROM b) x GROUP BY k, b ORDER BY 1, 2;
SELECT k FROM a WHERE id < 60 INTERSECT ALL SELECT k FROM b WHERE id < 90 ORDER BY 1;
SELECT k FROM a WHERE id < 60 EXCEPT ALL SELECT k FROM b WHERE id < 40 ORDER BY 1;
SELECT k FROM a WHERE id < 60 INTERSECT ALL SELECT k FROM none;
SELECT count(*) FROM (SELECT x FROM a EXCEPT ALL SELECT x::int2 FROM b) y;

-- types that are cast, texts and their collations
SELECT steps('SELECT x FROM a UNION SELECT x FROM b', 'scan append to 2, scan');
SELECT count(*), sum(x) FROM (SELECT x FROM a UNION SELECT x FROM b) y;
SELECT k FROM a UNION SELECT n FROM b WHERE id < 20 ORDER BY 1;
SELECT count(*), sum(n) FROM (SELECT n FROM a EXCEPT SELECT n FROM b) y;
SELECT trim_scale(n) FROM (SELECT n FROM a INTERSECT SELECT n FROM b) y ORDER BY 1;
SELECT trim_scale(u) FROM (SELECT u FROM a UNION SELECT u FROM b) y ORDER BY 1;
SELECT t FROM a UNION SELECT v FROM b ORDER BY 1;
SELECT v FROM a INTERSECT SELECT v FROM b ORDER BY 1;
SELECT c FROM a UNION SELECT c FROM b ORDER BY 1;
SELECT t COLLATE "C" AS t FROM a EXCEPT SELECT t COLLATE "C" FROM b ORDER BY 1;
CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT count(*) FROM (SELECT t COLLATE blind FROM a UNION SELECT upper(t) COLLATE blind FROM b) x;
SELECT count(*) FROM (SELECT upper(t) COLLATE blind FROM a INTERSECT SELECT t COLLATE blind FROM b) x;
SELECT count(*) FROM (SELECT f FROM a UNION SELECT f FROM b) x;
SELECT count(*) FROM (SELECT f::numeric FROM a INTERSECT SELECT f::numeric FROM b) x;
SELECT k FROM a UNION SELECT t::int FROM b WHERE id = 5;
SELECT k FROM a UNION SELECT t FROM b;

-- empty sides, conditions, joins, groups and nested operations as sides
SELECT k FROM none UNION SELECT k FROM none;
SELECT k FROM none INTERSECT SELECT k FROM a;
SELECT k FROM a EXCEPT SELECT k FROM none ORDER BY 1;
SELECT k FROM none EXCEPT SELECT k FROM a;
SELECT k FROM a WHERE k > 15 UNION SELECT k FROM b WHERE k < 3 ORDER BY 1;
SELECT k FROM a WHERE false UNION SELECT k FROM b WHERE k < 3 ORDER BY 1;
SELECT name FROM a JOIN unit USING (k) WHERE id < 9 UNION SELECT name FROM unit WHERE k > 12 ORDER BY 1;
SELECT k, count(*) FROM a GROUP BY k HAVING count(*) > 100 INTERSECT SELECT k, 150 FROM b ORDER BY 1;
SELECT k, sum(n) FROM a GROUP BY k UNION SELECT k, min(n) FROM b GROUP BY k ORDER BY 1, 2;
SELECT steps('(SELECT k FROM a UNION SELECT k FROM b) INTERSECT SELECT k FROM unit', 'scan append to 2, scan, scan append to 4, groups');
(SELECT k FROM a UNION SELECT k FROM b) INTERSECT SELECT k FROM unit ORDER BY 1;
(SELECT k FROM a EXCEPT SELECT k FROM unit) UNION (SELECT k FROM unit EXCEPT SELECT k FROM a) ORDER BY 1;
SELECT k FROM a EXCEPT (SELECT k FROM b INTERSECT SELECT k FROM unit) ORDER BY 1;
((SELECT k FROM a UNION SELECT k FROM b) EXCEPT (SELECT k FROM unit UNION SELECT x FROM a WHERE x > 20)) INTERSECT SELECT k FROM a ORDER BY 1;
SELECT k FROM a UNION SELECT k FROM b UNION SELECT k + 40 FROM unit EXCEPT SELECT 50 FROM unit ORDER BY 1;
SELECT k FROM (SELECT k FROM a EXCEPT SELECT k FROM unit) x UNION SELECT k FROM unit WHERE k IN (SELECT k FROM a INTERSECT SELECT k FROM b) ORDER BY 1;
(SELECT k FROM a ORDER BY id LIMIT 5) UNION SELECT k FROM b WHERE id < 3 ORDER BY 1;
VALUES (1), (2), (NULL) UNION SELECT k FROM a WHERE k < 3 ORDER BY 1;

SELECT steps('SELECT k FROM unit UNION (SELECT k FROM a INTERSECT SELECT k FROM b)', 'scan append to 2, scan, scan append to 4, groups');
SELECT k FROM unit UNION (SELECT k FROM a INTERSECT SELECT k FROM b) ORDER BY 1;
SELECT steps('(SELECT k FROM a EXCEPT ALL SELECT k FROM b) INTERSECT ALL SELECT x FROM b', 'scan append to 2, scan, scan append to 4, groups');
SELECT k, count(*) FROM ((SELECT k FROM a EXCEPT ALL SELECT k FROM b) INTERSECT ALL SELECT x FROM b) x GROUP BY k ORDER BY k;
SELECT k FROM unit EXCEPT ALL (SELECT x FROM a EXCEPT ALL SELECT n FROM b) ORDER BY 1;
SELECT x FROM b INTERSECT SELECT n FROM b UNION SELECT k FROM unit WHERE k < 3 ORDER BY 1;

-- what is above
SELECT steps('SELECT count(*), sum(k) FROM (SELECT k, c FROM a EXCEPT SELECT k, c FROM b) x', 'scan append to 2, scan, groups');
SELECT count(*), sum(k), min(c) FROM (SELECT k, c FROM a EXCEPT SELECT k, c FROM b) x;
SELECT c, count(*), sum(k) FROM (SELECT k, c FROM a UNION SELECT k, c FROM b) x WHERE k > 3 GROUP BY c ORDER BY c;
SELECT name, x.k FROM unit LEFT JOIN (SELECT k FROM a INTERSECT SELECT k FROM b) x USING (k) ORDER BY name;
SELECT name FROM unit WHERE k NOT IN (SELECT k FROM a WHERE k IS NOT NULL EXCEPT SELECT k FROM b WHERE k > 5) ORDER BY 1;
SELECT name FROM unit WHERE k IN (SELECT k FROM a UNION SELECT k FROM b) ORDER BY 1;
SELECT k, row_number() OVER (ORDER BY k) FROM (SELECT k FROM a UNION SELECT k FROM b) x ORDER BY 1;
SELECT DISTINCT k % 5 FROM (SELECT k FROM a UNION SELECT k FROM b) x ORDER BY 1;
SELECT k FROM a UNION SELECT k FROM b ORDER BY k DESC LIMIT 4 OFFSET 2;
SELECT count(*) FROM (SELECT k FROM a UNION SELECT k FROM b LIMIT 4) x;
SELECT k + 1 AS y FROM (SELECT k FROM a EXCEPT SELECT k FROM b) x ORDER BY 1 DESC LIMIT 3;
WITH x AS (SELECT k FROM a UNION SELECT k FROM b) SELECT count(*), (SELECT max(k) FROM x) FROM x;
WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT (n + k) % 12 FROM r JOIN unit ON k < 3) SELECT * FROM r ORDER BY 1;
CREATE TABLE copy AS SELECT k, c FROM a UNION SELECT k, c FROM b;
SELECT count(*), sum(k) FROM copy;
INSERT INTO copy SELECT k, c FROM a INTERSECT SELECT k, c FROM b;
SELECT count(*), sum(k) FROM copy;
CREATE VIEW either AS SELECT k, c FROM a UNION SELECT k, c FROM b;
SELECT c, count(*) FROM either WHERE k = 3 GROUP BY c ORDER BY c;
SELECT * FROM either x JOIN either y ON x.k = y.k AND x.c < y.c WHERE x.k < 2 ORDER BY 1, 2, 3, 4;

-- parameters and scans that are begun again
PREPARE rest_ AS SELECT k FROM a WHERE k > $1 EXCEPT SELECT k FROM b WHERE id < $2 ORDER BY k;
EXECUTE rest_(3, 10);
EXECUTE rest_(10, 5);
EXECUTE rest_(NULL, 5);
SET plan_cache_mode = force_generic_plan;
EXECUTE rest_(3, 10);
EXECUTE rest_(15, NULL);
INSERT INTO b (id, k) VALUES (0, 19);
EXECUTE rest_(15, 1);
DELETE FROM b WHERE id = 0;
EXECUTE rest_(15, 1);
RESET plan_cache_mode;
SELECT unit.k, (SELECT count(*) FROM (SELECT c FROM a WHERE a.k = unit.k EXCEPT SELECT c FROM b WHERE b.k > unit.k) x) FROM unit ORDER BY 1;
SELECT unit.k, x.* FROM unit, LATERAL (SELECT count(*) FROM (SELECT k FROM a UNION SELECT k FROM b) y WHERE y.k > unit.k) x ORDER BY 1;
DECLARE cursor_ SCROLL CURSOR WITH HOLD FOR SELECT k FROM a UNION SELECT k FROM b ORDER BY 1;
FETCH 2 FROM cursor_;
FETCH LAST FROM cursor_;
FETCH FIRST FROM cursor_;
CLOSE cursor_;
CREATE ROLE set_reader;
GRANT SELECT ON a TO set_reader;
GRANT USAGE ON SCHEMA public TO set_reader;
SET ROLE set_reader;
SELECT k FROM a UNION SELECT k FROM b;
SELECT k FROM a WHERE k < 2 UNION SELECT x FROM a WHERE x < 3 ORDER BY 1;
RESET ROLE;
DROP OWNED BY set_reader;
DROP ROLE set_reader;

-- spilled
SET tsurugi_fdw.job_memory = '3MB';
CREATE TABLE large (id int PRIMARY KEY, k int, t text);
INSERT INTO large SELECT g, g % 50000, 'a text ' || g % 50000 FROM generate_series(1, 60000) g;
CREATE TABLE large2 (id int PRIMARY KEY, k int, t text);
INSERT INTO large2 SELECT g, g % 50000, 'a text ' || g % 40000 FROM generate_series(1, 60000) g;
ANALYZE large, large2;
SELECT steps('SELECT count(*) FROM (SELECT k, t FROM large UNION SELECT k, t FROM large2) x', 'scan append to 2 spilled, scan spilled, groups');
SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM large UNION SELECT k, t FROM large2) x;
SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM large INTERSECT SELECT k, t FROM large2) x;
SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM large EXCEPT SELECT k, t FROM large2) x;
SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM large INTERSECT ALL SELECT k, t FROM large2) x;
SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM large EXCEPT ALL SELECT k, t FROM large2) x;
SELECT md5(string_agg(x::text, ',')) FROM (SELECT k, t FROM large UNION SELECT k, t FROM large2 ORDER BY k, t) x;

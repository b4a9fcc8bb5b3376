-- Jobs that read UNION ALL: what is above it is done in each branch, and all branches have one sink. Every kind of branch and of what is above, forms of columns, NULLs, empty branches, parameters, rescans, spilled rows.
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
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE a (id int PRIMARY KEY, k int, n numeric(10,2), w numeric(30,4), u numeric, t text, c char(4), v varchar(10), d date, ts timestamp, f float8, b bool, m mood, i8 int8);
CREATE TABLE b (LIKE a INCLUDING ALL);
CREATE TABLE other (id int PRIMARY KEY, k int, n numeric(12,4), w numeric(30,4), u numeric, t text, c char(6), v varchar(20), d date, ts timestamp, f float8, b bool, m mood, i8 int8);
CREATE TABLE none (LIKE a INCLUDING ALL);
CREATE TABLE unit (k int PRIMARY KEY, name text);
CREATE TABLE part (id int, k int, n numeric(10,2)) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (500);
CREATE TABLE part2 PARTITION OF part FOR VALUES FROM (500) TO (100000);
SET tsurugi_fdw.create_table = off;
CREATE TABLE heap (LIKE a INCLUDING ALL);
RESET tsurugi_fdw.create_table;
INSERT INTO a SELECT g, nullif(g % 20, 7), g * 1.25, g * 1.5, g / 8.0, 'text ' || g % 30, 'c' || g % 5, 'v' || g % 6, date '2020-01-01' + g % 100, timestamp '2020-01-01' + g * interval '1 hour', g / 8.0, g % 2 = 0, (ARRAY['sad', 'ok', NULL])[1 + g % 3]::mood, g FROM generate_series(1, 3000) g;
INSERT INTO b SELECT g, nullif(g % 30, 9), g * 2.5, nullif(g, 8) * 2, nullif(g, 9) / 4.0, nullif('a rather long text ' || g % 40, 'a rather long text 5'), 'c' || g % 7, 'v' || g % 3, date '2020-02-01' + g % 100, NULL, g / 4.0, nullif(g % 3 = 0, g % 5 = 0), (ARRAY['happy', 'ok'])[1 + g % 2]::mood, -g FROM generate_series(1, 2000) g;
INSERT INTO other SELECT g, g % 10, g * 0.0625, g, g, 'text ' || g % 15, 'c' || g % 3, 'v' || g % 2, date '2020-03-01' + g % 10, timestamp '2021-01-01', g, NULL, NULL, g FROM generate_series(1, 500) g;
INSERT INTO heap SELECT * FROM b WHERE id <= 700;
INSERT INTO unit SELECT g, 'unit ' || g FROM generate_series(0, 14) g;
INSERT INTO part SELECT g, g % 20, g FROM generate_series(1, 1500) g;
CREATE VIEW both_ AS SELECT 'a' AS tag, a.* FROM a UNION ALL SELECT 'b', b.* FROM b;
CREATE VIEW all_ AS SELECT * FROM a UNION ALL SELECT * FROM other WHERE k < 8 UNION ALL SELECT * FROM heap UNION ALL SELECT * FROM none;
ANALYZE;

-- aggregates of a view, with conditions and without
SELECT steps('SELECT tag, count(*), sum(n) FROM both_ GROUP BY tag', 'scan append to 2, scan');
SELECT tag, count(*), sum(n), avg(n), min(n), max(w), sum(w), avg(w), sum(u), avg(u), min(u), max(u), min(t), max(t), min(d), max(ts), sum(f), avg(f), bool_and(b), bool_or(b), sum(i8), count(m), count(DISTINCT k) FROM both_ GROUP BY tag ORDER BY tag;
SELECT count(*), sum(n), sum(n) + avg(n), min(w), sum(u), count(t), count(DISTINCT t), sum(k) FILTER (WHERE tag = 'b'), sum(DISTINCT k) FROM both_;
SELECT tag, k, count(*), sum(n * k), sum(CASE WHEN b THEN n ELSE 0 END) FROM both_ WHERE k > 3 AND d < '2020-04-01' GROUP BY tag, k HAVING count(*) > 20 ORDER BY 1, 2;
SELECT m, b, count(*) FROM both_ GROUP BY m, b ORDER BY 1, 2;
SELECT v, c, count(*) FROM both_ GROUP BY v, c ORDER BY 1, 2;
SELECT t, count(*) FROM both_ WHERE t LIKE '%long%' OR t IS NULL GROUP BY t ORDER BY 1;
SELECT extract(year FROM ts), count(*) FROM both_ GROUP BY 1 ORDER BY 1;
SELECT sum(n) FROM both_ WHERE tag = 'a';
SELECT sum(n) FROM both_ WHERE tag = 'c';
SELECT DISTINCT k FROM both_ ORDER BY k;
SELECT DISTINCT u FROM both_ WHERE u < 3 ORDER BY u;

-- branches: with conditions, fed, empty, of other precision and length
SELECT steps('SELECT count(*), sum(n) FROM all_', 'scan append to 4, scan append to 4, feed append to 4, scan');
SELECT count(*), sum(n), avg(n), min(n), max(n), sum(w), min(t), max(d), sum(f), bool_or(b) FROM all_;
SELECT n, count(*) FROM all_ WHERE n < 20 GROUP BY n ORDER BY n, 2;
SELECT c, count(*) FROM all_ GROUP BY c ORDER BY 1, 2;
SELECT v, count(*), min(n), max(n) FROM all_ GROUP BY v ORDER BY 1;
SELECT count(*), sum(x) FROM (SELECT n AS x FROM none UNION ALL SELECT n FROM none) s;
SELECT x, count(*) FROM (SELECT k AS x FROM none UNION ALL SELECT k FROM none) s GROUP BY x;
SELECT count(*), count(x), sum(x), max(y) FROM (SELECT k AS x, NULL::numeric(10,2) AS y FROM a UNION ALL SELECT NULL, n FROM b) s;
SELECT x, y, count(*) FROM (SELECT NULL::int AS x, 1 AS y FROM a UNION ALL SELECT k, 2 FROM b) s GROUP BY x, y ORDER BY 1, 2;
SELECT sum(x), count(*) FROM (SELECT 0 AS x FROM a UNION ALL SELECT k FROM b) s;
SELECT sum(x), avg(x) FROM (SELECT n * 2 AS x FROM a UNION ALL SELECT n FROM b UNION ALL SELECT 0 FROM unit UNION ALL SELECT 1.12345 FROM unit) s;
SELECT sum(CASE WHEN x > 100 THEN x END), sum(coalesce(x, 0)) FROM (SELECT n AS x FROM a UNION ALL SELECT NULL FROM b UNION ALL SELECT 0.00 FROM unit) s;
SELECT sum(x), sum(y) FROM (SELECT i8 AS x, i8 AS y FROM a UNION ALL SELECT i8, id FROM b) s;
SELECT steps('SELECT k, count(*), sum(n) FROM (SELECT id, k, n FROM part UNION ALL SELECT id, k, n FROM a UNION ALL SELECT id, k, sum(n) FROM b GROUP BY id, k) x GROUP BY k', 'scan, scan append to 4, scan append to 4, groups');
SELECT k, count(*), sum(n) FROM (SELECT id, k, n FROM part UNION ALL SELECT id, k, n FROM a UNION ALL SELECT id, k, sum(n) FROM b GROUP BY id, k) x GROUP BY k ORDER BY k;
SELECT steps('SELECT name, sum(n) FROM (SELECT name, n FROM a JOIN unit USING (k) UNION ALL SELECT ''none'', n FROM b WHERE k IS NULL) x GROUP BY name', 'scan, scan append to 3, scan');
SELECT name, sum(n), count(*) FROM (SELECT name, n FROM a JOIN unit USING (k) UNION ALL SELECT 'none', n FROM b WHERE k IS NULL) x GROUP BY name ORDER BY name;
SELECT name, sum(n), count(*) FROM (SELECT name, n FROM a FULL JOIN unit USING (k) UNION ALL SELECT 'left', n FROM b LEFT JOIN unit USING (k) WHERE name IS NULL) x GROUP BY name ORDER BY name;
SELECT count(*), sum(n) FROM (SELECT n FROM a WHERE k NOT IN (SELECT k FROM unit) UNION ALL SELECT n FROM b WHERE EXISTS (SELECT FROM unit WHERE unit.k = b.k)) x;
SELECT count(*), sum(q) FROM (SELECT x.n + 1 AS q FROM (SELECT n FROM a UNION ALL SELECT n FROM b) x WHERE n > 5 UNION ALL SELECT n FROM b) y;

-- joins with it, on both sides; rows of the other side that have no match
SELECT steps('SELECT name, count(*) FROM both_ JOIN unit USING (k) GROUP BY name', 'scan, scan append to 3, scan');
SELECT name, count(*), sum(n) FROM both_ JOIN unit USING (k) GROUP BY name ORDER BY 1;
SELECT name, count(x.id), sum(n) FROM unit LEFT JOIN both_ x USING (k) GROUP BY name ORDER BY 1;
SELECT name, count(x.id), sum(n) FROM unit RIGHT JOIN both_ x USING (k) GROUP BY name ORDER BY 1;
SELECT name, count(x.id), sum(n) FROM unit FULL JOIN both_ x USING (k) GROUP BY name ORDER BY 1;
SELECT count(x.id), count(y.id), sum(x.n), sum(y.n) FROM (SELECT * FROM both_ WHERE id < 300) x FULL JOIN (SELECT * FROM all_ WHERE id < 50) y ON x.n = y.n;
SELECT steps('SELECT x.tag, count(*) FROM both_ x JOIN both_ y ON x.id = y.id AND x.n > y.n GROUP BY 1', 'scan append to 2, scan, scan append to 4, scan');
SELECT x.tag, y.tag, count(*), sum(x.n + y.w) FROM both_ x JOIN both_ y ON x.id = y.id AND x.n > y.n GROUP BY 1, 2 ORDER BY 1, 2;
SELECT x.tag, count(*), min(y.t) FROM both_ x LEFT JOIN all_ y ON x.t = y.t AND x.id > y.id + 100 WHERE x.id < 400 GROUP BY 1 ORDER BY 1;
SELECT count(*), min(name) FROM unit WHERE EXISTS (SELECT FROM both_ x WHERE x.k = unit.k AND x.n > 100);
SELECT count(*), min(name) FROM unit WHERE NOT EXISTS (SELECT FROM both_ x WHERE x.k = unit.k AND x.n > 7000);
SELECT count(*), sum(id) FROM both_ x WHERE EXISTS (SELECT FROM unit WHERE x.k = unit.k);
SELECT count(*), sum(id) FROM both_ x WHERE NOT EXISTS (SELECT FROM unit WHERE x.k = unit.k);
SELECT count(*), sum(id) FROM both_ x WHERE k NOT IN (SELECT k FROM unit);
SELECT count(*) FROM unit WHERE k NOT IN (SELECT id FROM both_ WHERE n > 20);
SELECT x.k, x.s, unit.name FROM unit JOIN (SELECT k, sum(n) AS s FROM both_ GROUP BY k) x USING (k) WHERE unit.k < 4 ORDER BY 1;

-- order
SELECT steps('SELECT id, n, t FROM both_ ORDER BY n DESC, id LIMIT 7', 'scan append to 2, scan');
SELECT id, n, t FROM both_ ORDER BY n DESC, id LIMIT 7;
SELECT id, u, t FROM both_ ORDER BY u NULLS FIRST, id DESC LIMIT 7 OFFSET 2;
SELECT id, n FROM all_ ORDER BY n, id LIMIT 9;
SELECT id, k, m FROM both_ ORDER BY m, k, id, n LIMIT 5;
SELECT md5(string_agg(x::text, ',')) FROM (SELECT id, k, t, d, i8 FROM both_ ORDER BY t, d, id, i8) x;
SELECT id, sum(n) OVER (PARTITION BY k ORDER BY id, n) FROM both_ WHERE id < 20 ORDER BY 1, 2;
SELECT tag, max(n) FROM both_ GROUP BY tag ORDER BY 2 DESC;
SELECT id FROM both_ WHERE k = 3 ORDER BY id, n LIMIT 0;

-- parameters: plans that are kept; scans that are begun again
PREPARE sums AS SELECT tag, count(*), sum(n) FROM both_ WHERE k = $1 AND n > $2 GROUP BY tag ORDER BY tag;
EXECUTE sums(3, 10);
EXECUTE sums(4, 500.5);
EXECUTE sums(5, 0);
EXECUTE sums(NULL, 0);
EXECUTE sums(6, 10);
EXECUTE sums(7, 10);
EXECUTE sums(9, 10);
PREPARE tops AS SELECT id, n FROM both_ ORDER BY n DESC, id LIMIT $1;
EXECUTE tops(3);
EXECUTE tops(1);
SET plan_cache_mode = force_generic_plan;
EXECUTE tops(2);
EXECUTE sums(8, 10);
INSERT INTO b (id, k, n) VALUES (5001, 8, 1000000);
EXECUTE sums(8, 10);
EXECUTE tops(2);
DELETE FROM b WHERE id = 5001;
EXECUTE tops(2);
RESET plan_cache_mode;
SELECT unit.k, (SELECT sum(n) FROM both_ x WHERE x.k = unit.k), (SELECT count(*) FROM all_ x WHERE x.k > unit.k) FROM unit ORDER BY 1;
SELECT unit.k, x.* FROM unit, LATERAL (SELECT tag, count(*) FROM both_ y WHERE y.k = unit.k GROUP BY tag) x ORDER BY 1, 2;
BEGIN;
INSERT INTO a (id, k, n) VALUES (9001, 3, 5);
SELECT count(*), sum(n) FROM both_ WHERE k = 3;
SAVEPOINT s;
UPDATE b SET n = n + 1 WHERE k = 3;
SELECT count(*), sum(n) FROM both_ WHERE k = 3;
ROLLBACK TO s;
SELECT count(*), sum(n) FROM both_ WHERE k = 3;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(n) FROM both_ WHERE k = 3;
COMMIT;

-- errors are raised as anywhere else
SELECT sum(1 / (id - 1500)) FROM both_;
SELECT sum(i8 * 9223372036854775807) FROM both_;
SELECT count(*) FROM both_ WHERE 10 / (id - 2000) > 5;

-- what a job does not do
SELECT count(*) FROM (SELECT f AS x FROM a UNION ALL SELECT random() FROM b) s;
SELECT count(DISTINCT x) FROM (SELECT f AS x FROM a UNION ALL SELECT f FROM b) s;
SELECT x, count(*) FROM (SELECT c AS x FROM a UNION ALL SELECT c FROM other) s GROUP BY x ORDER BY 1;
SELECT x COLLATE "C" AS y, count(*) FROM (SELECT t AS x FROM a UNION ALL SELECT t FROM b) s GROUP BY 1 ORDER BY 1 LIMIT 3;

-- spilled
SET tsurugi_fdw.job_memory = '3MB';
CREATE TABLE large (id int PRIMARY KEY, k int, t text);
INSERT INTO large SELECT g, g % 20000, 'text ' || g % 30000 FROM generate_series(1, 60000) g;
CREATE TABLE large2 (id int PRIMARY KEY, k int, t text);
INSERT INTO large2 SELECT g, g % 30000, 'text ' || g % 20000 FROM generate_series(1, 60000) g;
CREATE VIEW large_ AS SELECT * FROM large UNION ALL SELECT * FROM large2;
ANALYZE large, large2;
SELECT steps('SELECT count(*) FROM (SELECT k, t, count(*) AS n, sum(id) AS s FROM large_ GROUP BY k, t) x', 'scan append to 2 spilled, scan spilled, groups');
SELECT count(*), sum(n), sum(s), sum(k) FROM (SELECT k, t, count(*) AS n, sum(id) AS s FROM large_ GROUP BY k, t) x;
SELECT steps('SELECT * FROM large_ ORDER BY t, id, k', 'scan append to 2 spilled, scan spilled');
SELECT md5(string_agg(x::text, ',')) FROM (SELECT * FROM large_ ORDER BY t, id, k) x;
SELECT steps('SELECT count(*) FROM large_ x JOIN large_ y ON x.id = y.id AND x.k < y.k', 'scan append to 2 spilled, scan spilled, scan append to 4, scan');
SELECT count(*), sum(x.id::int8 * y.k) FROM large_ x JOIN large_ y ON x.id = y.id AND x.k < y.k;
SELECT count(*), count(y.id), sum(x.id) FROM large x LEFT JOIN large_ y ON x.k = y.id AND y.t > x.t;

-- rows of joins that are handed out
CREATE FUNCTION rows_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(x::text, '','' ORDER BY x::text COLLATE "C")) FROM (' || statement || ' OFFSET 0) x' INTO answer;
	RETURN answer;
END $$;
SELECT steps('SELECT x.*, unit.name FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k)', 'scan, scan append to 3, scan');
SELECT rows_of('SELECT x.*, unit.name FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k)');
SELECT rows_of('SELECT x.*, unit.name FROM (SELECT * FROM a WHERE id < 10 UNION ALL SELECT * FROM b WHERE d < ''2020-03-01'' UNION ALL SELECT * FROM none) x LEFT JOIN unit USING (k)');
SELECT rows_of('SELECT x.id, x.m, x.c, length(x.t), x.n * 2, unit.name FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit ON unit.k = x.k AND x.n > unit.k * 100 WHERE x.n < 2000');
SELECT rows_of('SELECT x.id, x.u, y.s FROM (SELECT * FROM a UNION ALL SELECT * FROM heap) x JOIN (SELECT k, sum(i8) s FROM other GROUP BY k) y USING (k)');
SELECT rows_of('SELECT x.id, y.id AS id2, y.u FROM unit JOIN (SELECT * FROM a UNION ALL SELECT * FROM b) x USING (k) JOIN (SELECT * FROM a UNION ALL SELECT * FROM b) y ON y.id = x.id');
SELECT rows_of('SELECT x.id, unit.name FROM (SELECT id, k FROM part UNION ALL SELECT id, k FROM a UNION ALL SELECT max(id), k FROM b GROUP BY k) x JOIN unit USING (k)');
SELECT rows_of('SELECT x.id, unit.name FROM unit LEFT JOIN (SELECT id, k, n FROM a UNION ALL SELECT id, k, n FROM b) x ON x.k = unit.k AND x.id % 3 = 1');
SELECT rows_of('SELECT x.tag, x.id, unit.name FROM both_ x JOIN unit USING (k)');
SELECT count(*) FROM (SELECT x.id FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k) LIMIT 7) y;
-- of which one is too large for the job's memory, or has a value that is not computed
SET tsurugi_fdw.job_memory = '3MB';
SELECT rows_of('SELECT x.*, unit.name, y.t AS t2, y.v AS v2 FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k) JOIN other y USING (k)');
RESET tsurugi_fdw.job_memory;
SELECT rows_of('SELECT x.id, unit.name FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k) WHERE 1 / (x.id - 1500) = 0');
SELECT rows_of('SELECT x.id, unit.name FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k) WHERE CASE WHEN x.id <> 1500 THEN 1 / (x.id - 1500) = 0 END');
BEGIN;
DECLARE rows_ CURSOR FOR SELECT x.id, unit.name FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k) WHERE x.id = 5;
FETCH 1 FROM rows_;
INSERT INTO b (id, k) VALUES (-5, 5);
FETCH ALL FROM rows_;
ROLLBACK;
CREATE TABLE into_ (id int, name text, u numeric);
INSERT INTO into_ SELECT x.id, unit.name, x.u FROM (SELECT * FROM a UNION ALL SELECT * FROM b) x JOIN unit USING (k);
SELECT count(*), sum(id), sum(u), count(DISTINCT name) FROM into_;

-- columns of several types, which the branches are cast to
SELECT steps('SELECT count(*), sum(x) FROM (SELECT k FROM a UNION ALL SELECT i8 FROM b) y(x)', 'scan append to 2, scan');
SELECT count(*), sum(x), min(x), max(x), avg(x), pg_typeof(max(x)) FROM (SELECT k FROM a UNION ALL SELECT i8 FROM b) y(x);
SELECT x, count(*), sum(n), min(n), pg_typeof(x) FROM (SELECT k, n FROM a UNION ALL SELECT i8 % 10, n FROM other UNION ALL SELECT 3, u FROM b WHERE id < 50) y(x, n) GROUP BY x ORDER BY x;
SELECT x, count(*), avg(n), pg_typeof(x), pg_typeof(avg(n)) FROM (SELECT k, id FROM a UNION ALL SELECT u, f FROM other) y(x, n) GROUP BY x ORDER BY x LIMIT 30;
SELECT t, count(*), pg_typeof(t) FROM (SELECT t FROM a UNION ALL SELECT v FROM b UNION ALL SELECT NULL FROM none UNION ALL SELECT 'a constant' FROM a) y(t) GROUP BY t ORDER BY t COLLATE "C";
SELECT c, count(*) FROM (SELECT c, k FROM a UNION ALL SELECT v, id FROM b) y(c, x) GROUP BY c ORDER BY c COLLATE "C";
SELECT min(d), max(d), count(d) FROM (SELECT d FROM a UNION ALL SELECT ts FROM other UNION ALL SELECT timestamp '2022-01-01' FROM b WHERE id = 4) y(d);
SELECT steps('SELECT unit.name, sum(x) FROM unit JOIN (SELECT k, i8 FROM a UNION ALL SELECT i8, k FROM b) y(x, z) ON unit.k = y.x GROUP BY 1', 'scan, scan append to 3, scan');
SELECT unit.name, sum(x), count(z) FROM unit JOIN (SELECT k, i8 FROM a UNION ALL SELECT i8, k FROM b) y(x, z) ON unit.k = y.x GROUP BY 1 ORDER BY 1;
SELECT unit.name, sum(x), count(z) FROM unit LEFT JOIN (SELECT k, i8 FROM a WHERE id < 20 UNION ALL SELECT i8, k FROM b WHERE id < 20) y(x, z) ON unit.k = y.x GROUP BY 1 ORDER BY 1;
SELECT count(*), sum(k) FROM unit WHERE k IN (SELECT k FROM a WHERE k > 4 UNION ALL SELECT i8 FROM b WHERE id < 3);
SELECT count(*), sum(k) FROM unit WHERE NOT EXISTS (SELECT FROM (SELECT k FROM a WHERE k > 4 UNION ALL SELECT i8 FROM b WHERE id < 3) y(x) WHERE y.x = unit.k);
SELECT count(*), sum(x) FROM (SELECT k FROM a UNION ALL SELECT i8 FROM b) y(x) WHERE x > 5 AND x < (SELECT max(k) FROM unit);
SELECT count(*), sum(x), sum(s) FROM (SELECT k, sum(id) FROM a GROUP BY k UNION ALL SELECT i8, id FROM b WHERE i8 > (SELECT avg(k) FROM unit) UNION ALL SELECT y.k, y.id FROM a y JOIN unit USING (k)) z(x, s);
SELECT count(*), sum(x) FROM ((SELECT k FROM a UNION SELECT i8 FROM b) UNION ALL SELECT n FROM other) y(x);
SELECT count(*), sum(x) FROM ((SELECT k FROM a UNION ALL SELECT i8 FROM b) UNION ALL SELECT n FROM other) y(x);
SELECT count(*), sum(x) FROM ((SELECT k FROM a UNION ALL SELECT i8 FROM b) UNION SELECT n FROM other) y(x);
SELECT count(*), sum(x) FROM ((SELECT k FROM a UNION ALL SELECT i8 FROM b) EXCEPT SELECT n FROM other) y(x);
SELECT count(*), sum(x) FROM (SELECT k FROM a UNION ALL SELECT i8 FROM heap) y(x);
SELECT count(*), sum(x) FROM (SELECT k FROM part UNION ALL SELECT i8 FROM b UNION ALL SELECT id FROM none) y(x);
SELECT count(*), sum(x) FROM (SELECT k FROM a UNION ALL SELECT i8 FROM b LIMIT 10) y(x) WHERE x < -1;
SELECT x FROM (SELECT k FROM a WHERE id < 20 UNION ALL SELECT i8 FROM b WHERE id < 20) y(x) ORDER BY x LIMIT 12;
SELECT rows_of('SELECT y.x, unit.name FROM (SELECT k FROM a UNION ALL SELECT i8 FROM b) y(x) JOIN unit ON unit.k = y.x');
SELECT sum(a.k + (SELECT count(*) FROM (SELECT k FROM b UNION ALL SELECT i8 FROM other) y(x) WHERE y.x = a.id)) FROM a WHERE a.id < 5;
PREPARE q(int) AS SELECT count(*), sum(x) FROM (SELECT k FROM a WHERE id < $1 UNION ALL SELECT i8 FROM b WHERE id > $1) y(x);
EXECUTE q(100);
EXECUTE q(1000);
SET plan_cache_mode = force_generic_plan;
EXECUTE q(100);
EXECUTE q(1000);
RESET plan_cache_mode;
CREATE VIEW wide AS SELECT k AS x, n FROM a UNION ALL SELECT i8, u FROM b;
CREATE ROLE append_reader;
GRANT SELECT ON wide TO append_reader;
GRANT USAGE ON SCHEMA public TO append_reader;
SET ROLE append_reader;
SELECT count(*), sum(x), sum(n) FROM wide;
SELECT count(*) FROM (SELECT k FROM a UNION ALL SELECT i8 FROM b) y(x);
RESET ROLE;
DROP OWNED BY append_reader;
DROP ROLE append_reader;

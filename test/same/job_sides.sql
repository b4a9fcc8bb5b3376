-- Joins of which jobs build the side that costs less: left and full joins whose build has rows
-- without a match, beside other joins and filters.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- Whether the statement is a job with such a step, and was computed by it; true for ordinary
-- tables, so that answers are equal
CREATE FUNCTION shows(statement text, pattern text) RETURNS boolean LANGUAGE plpgsql AS $$
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
	RETURN found;
END $$;
CREATE TABLE few (k int, v int, t text, n numeric(6,2), j jsonb);
INSERT INTO few SELECT g % 30, g, 'few ' || g, g / 4.0, jsonb_build_object('g', g) FROM generate_series(1, 40) g;
INSERT INTO few VALUES (NULL, 100, 'no key', NULL, NULL), (NULL, 101, NULL, 1, '[]'), (500, NULL, 'nobody', NULL, '{}');
CREATE TABLE many (id int PRIMARY KEY, k int, w int8, s text, d date);
INSERT INTO many SELECT g, CASE WHEN g % 9 = 0 THEN NULL ELSE g % 50 END, g * 3, 'many ' || g % 17, date '2020-01-01' + g % 400 FROM generate_series(1, 4000) g;
CREATE TABLE other (k int, x int);
INSERT INTO other SELECT g % 120, g FROM generate_series(1, 1500) g;
CREATE TABLE none (k int, y text);
ANALYZE;

-- left joins whose left side is built
SELECT shows('SELECT f.v, count(m.id) FROM few f LEFT JOIN many m ON m.k = f.k GROUP BY f.v', '%right probe%');
SELECT f.v, count(m.id), sum(m.w), min(m.d), count(*) FROM few f LEFT JOIN many m ON m.k = f.k GROUP BY f.v ORDER BY f.v;
SELECT f.t, count(m.id), max(m.s COLLATE "C") FROM few f LEFT JOIN many m ON m.k = f.k AND m.w > f.v * 200 GROUP BY f.t ORDER BY f.t;
SELECT shows('SELECT f.t, count(m.id) FROM few f LEFT JOIN many m ON m.k = f.k AND m.w > f.v * 200 GROUP BY f.t', '%right probe%');
SELECT f.v, count(m.id) FROM few f LEFT JOIN many m ON m.k = f.k AND f.v < 10 GROUP BY f.v ORDER BY f.v;
SELECT f.v, count(m.id) FROM few f LEFT JOIN many m ON m.k = f.k AND m.id < 20 WHERE f.v > 5 GROUP BY f.v ORDER BY f.v;
SELECT count(*), sum(f.n) FROM few f LEFT JOIN many m ON m.k = f.k WHERE m.id IS NULL;
SELECT count(*), sum(f.n) FROM few f LEFT JOIN many m ON m.k = f.k WHERE m.id IS NULL OR m.id > 3900;
SELECT count(*), sum(f.n), count(coalesce(m.w, f.v)), sum(coalesce(m.w, f.v)) FROM many m RIGHT JOIN few f ON m.k = f.k;
SELECT f.v, count(n.y) FROM few f LEFT JOIN none n ON n.k = f.k GROUP BY f.v ORDER BY f.v LIMIT 3;
SELECT count(*), count(m.k), count(f.v) FROM none n LEFT JOIN many m ON m.k = n.k LEFT JOIN few f ON f.k = n.k;

-- rows that are handed out, sorted, limited
SELECT shows('SELECT f.*, m.id, m.s FROM few f LEFT JOIN many m ON m.k = f.k', '%right probe%');
SELECT f.*, m.id, m.s, m.d FROM few f LEFT JOIN many m ON m.k = f.k AND m.id % 40 = 7 ORDER BY f.v, m.id;
SELECT f.j, m.id FROM few f LEFT JOIN many m ON m.k = f.k ORDER BY m.id DESC, f.v LIMIT 9;
SELECT shows('SELECT f.j, m.id FROM few f LEFT JOIN many m ON m.k = f.k ORDER BY m.id DESC, f.v LIMIT 9', '%right probe%top 9%');
SELECT count(*) FROM (SELECT f.v FROM few f LEFT JOIN many m ON m.k = f.k LIMIT 60) x;
SELECT m.id, f.v, f.t IS NULL FROM few f LEFT JOIN many m ON m.k = f.k AND m.w % 50 = 1 ORDER BY m.w NULLS FIRST, f.v NULLS LAST LIMIT 12;

-- full joins
SELECT shows('SELECT count(*) FROM few f FULL JOIN many m ON m.k = f.k', '%full probe%');
SELECT count(*), count(f.v), count(m.id), sum(f.v), sum(m.w) FROM few f FULL JOIN many m ON m.k = f.k;
SELECT count(*), count(f.v), count(m.id), sum(f.v), sum(m.w) FROM many m FULL JOIN few f ON m.k = f.k AND m.w % 7 > f.v % 5;
SELECT k, count(*), count(f.v), count(m.id) FROM few f FULL JOIN many m USING (k) GROUP BY k ORDER BY k;
SELECT count(*), sum(f.v), sum(m.w) FROM (SELECT * FROM few WHERE v > 10) f FULL JOIN (SELECT * FROM many WHERE id < 300) m ON m.k = f.k;
SELECT count(*), sum(f.v), sum(m.w) FROM few f FULL JOIN many m ON m.k = f.k WHERE f.v > 10 OR f.v IS NULL;
SELECT count(*), sum(f.v), sum(m.w) FROM few f FULL JOIN many m ON m.k = f.k WHERE coalesce(f.v, 0) + coalesce(m.w, 0) > 100;
SELECT f.v, m.id, f.j FROM few f FULL JOIN many m ON m.k = f.k AND m.id < 60 WHERE m.id < 40 OR m.id IS NULL ORDER BY 1, 2;
SELECT shows('SELECT f.v, m.id FROM few f FULL JOIN many m ON m.k = f.k ORDER BY 1, 2', '%full probe%sort%');
SELECT count(*), count(n.y) FROM none n FULL JOIN few f USING (k);
SELECT count(*), count(a.y) FROM none a FULL JOIN none b USING (k);
SELECT count(*) FROM few f FULL JOIN many m ON m.k = f.k AND m.w > 5 AND f.v < 0;
SELECT count(*) FROM few f FULL JOIN many m ON m.k > f.k;

-- several of them in one step; behind and below other joins
SELECT count(*), count(f.v), count(m.id), count(o.x), sum(o.x) FROM few f LEFT JOIN many m ON m.k = f.k LEFT JOIN other o ON o.k = m.k + 60;
SELECT count(*), count(f.v), count(m.id), count(o.x), sum(o.x) FROM few f LEFT JOIN (many m LEFT JOIN other o ON o.k = m.k AND o.x < 90) ON m.k = f.k;
SELECT count(*), count(f.v), count(m.id), count(o.x), sum(o.x) FROM few f FULL JOIN many m ON m.k = f.k FULL JOIN other o ON o.k = f.k;
SELECT shows('SELECT count(*) FROM few f FULL JOIN many m ON m.k = f.k FULL JOIN other o ON o.k = f.k', '%full probe%full probe%');
SELECT count(*), count(f.v), count(m.id), count(o.x), sum(o.x) FROM few f FULL JOIN (many m FULL JOIN other o ON o.k = m.k AND o.x > 900) ON m.k = f.k;
SELECT count(*), count(f.v), count(o.x), sum(f2.v) FROM few f FULL JOIN other o ON o.k = f.k JOIN few f2 ON f2.k = o.k;
SELECT count(*), sum(f.v) FROM few f LEFT JOIN other o ON o.k = f.k WHERE NOT EXISTS (SELECT 1 FROM many m WHERE m.k = f.k AND m.id < 20);
SELECT count(*), sum(f.v) FROM few f LEFT JOIN other o ON o.k = f.k WHERE EXISTS (SELECT 1 FROM many m WHERE m.w = o.x);
SELECT count(*), sum(f.v), sum(x.s) FROM few f LEFT JOIN (SELECT k, sum(w) AS s FROM many GROUP BY k) x ON x.k = f.k;
SELECT count(*), sum(f.v), sum(x.s), count(x.c), sum(x.c) FROM few f FULL JOIN (SELECT k, sum(w) AS s, count(*) AS c, max(s COLLATE "C") AS m FROM many GROUP BY k) x ON x.k = f.k;
SELECT count(*), count(x.c), sum(x.c), sum(x.s), max(x.m) FROM (SELECT k, sum(w) AS s, count(*) AS c, max(s COLLATE "C") AS m FROM many WHERE id < 10 GROUP BY k) x FULL JOIN other o ON x.k = o.k AND o.x < 100;
SELECT x.v, count(*) FROM (SELECT f.v, 7 AS seven, m.id FROM few f LEFT JOIN (SELECT id, k, coalesce(k, 1) AS one FROM many) m ON m.k = f.k) x GROUP BY x.v ORDER BY x.v LIMIT 5;
SELECT f.v, count(x.one) FROM few f LEFT JOIN (SELECT k, coalesce(k, 1) AS one FROM many) x ON x.k = f.k GROUP BY f.v ORDER BY f.v;

-- groups of a subquery that are joined with few rows: only rows with their keys get into groups
CREATE TABLE keys (id int PRIMARY KEY, k int, k8 int8, w numeric(8,3), x int, t text);
INSERT INTO keys SELECT g, g * 10 % 900, g * 7 % 400, g % 13 / 2.0, g % 5, 'text ' || g FROM generate_series(1, 120) g;
INSERT INTO keys VALUES (1000, NULL, NULL, NULL, NULL, NULL), (1001, 10, 5000, 99, 2, 'text 10');
CREATE TABLE grouped (k int, k2 int, n numeric(8,2), w numeric(6,1), t text);
INSERT INTO grouped SELECT CASE WHEN g % 17 = 0 THEN NULL ELSE g % 4000 END, g % 3, g % 100, g % 4100 / 2.0, 'text ' || g % 4200 FROM generate_series(1, 20000) g;
ANALYZE keys, grouped;
SELECT shows('SELECT count(*), sum(g.s) FROM keys JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k', '%scan grouped, semi probe 1%group by%');
SELECT count(*), sum(g.s) FROM keys JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k;
SELECT shows('SELECT keys.id FROM keys JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k AND g.s > 100', '%scan grouped, semi probe 1%group by%');
SELECT keys.id, g.s FROM keys JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k WHERE keys.x = 2 ORDER BY 1;
SELECT keys.id FROM keys JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k AND g.s > 100 ORDER BY 1;
SELECT x, count(*), count(g.s), sum(g.c), sum(g.s) FROM keys LEFT JOIN (SELECT k, sum(n) AS s, count(*) AS c FROM grouped GROUP BY k HAVING count(*) < 5) g ON g.k = keys.k AND g.s > 100 GROUP BY x ORDER BY x;
SELECT shows('SELECT x, count(*), count(g.s) FROM keys LEFT JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k AND g.s > 100 GROUP BY x', '%semi probe 1%');
SELECT count(*), count(g.s), sum(g.s) FROM (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g LEFT JOIN keys ON g.k = keys.k;
SELECT count(*), count(g.s), sum(g.s) FROM (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g FULL JOIN keys ON g.k = keys.k;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT k + 1 AS k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k AND g.s > keys.x;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT k, k2, sum(n) AS s FROM grouped GROUP BY k, k2) g ON g.k = keys.k AND g.k2 = keys.x AND g.s > keys.k8;
SELECT shows('SELECT count(*) FROM keys JOIN (SELECT k, k2, sum(n) AS s FROM grouped GROUP BY k, k2) g ON g.s > keys.k8 AND g.k = keys.k AND g.k2 = keys.x', '%semi probe 1%k2%');
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT k, k2, sum(n) AS s FROM grouped GROUP BY k, k2) g ON g.s = keys.k AND g.k = keys.k;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT k::int8 AS k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k8;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT w, sum(n) AS s FROM grouped GROUP BY w) g ON g.w = keys.w;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT t, sum(n) AS s FROM grouped GROUP BY t) g ON g.t = keys.t;
SELECT shows('SELECT count(*), sum(g.s) FROM keys JOIN (SELECT t, sum(n) AS s FROM grouped GROUP BY t) g ON g.t = keys.t', '%semi probe 1%');
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT k, count(DISTINCT n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT g.k, sum(g.n) AS s FROM grouped g LEFT JOIN other o ON o.k = g.k GROUP BY g.k) g ON g.k = keys.k;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT g.k, count(*) AS s FROM other o LEFT JOIN grouped g ON o.k = g.k AND g.n > 7 GROUP BY g.k) g ON g.k = keys.k;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT g.k, count(*) AS s FROM grouped g FULL JOIN other o ON o.k = g.k AND g.n > 7 GROUP BY g.k) g ON g.k = keys.k;
SELECT count(*), sum(g.s), sum(keys.id) FROM keys JOIN (SELECT g.k, count(*) AS s FROM grouped g WHERE NOT EXISTS (SELECT 1 FROM other o WHERE o.k = g.k) GROUP BY g.k) g ON g.k = keys.k;
SELECT count(*), sum(f.v) FROM few f JOIN keys ON keys.k = f.k JOIN (SELECT k, sum(n) AS s FROM grouped GROUP BY k) g ON g.k = keys.k JOIN (SELECT k, max(n) AS m FROM grouped GROUP BY k) h ON h.k = f.k AND h.m <= g.s;
SELECT count(*) FROM (SELECT id FROM keys WHERE k IN (SELECT k FROM grouped GROUP BY k HAVING sum(n) > 100) OFFSET 0) x;

-- values and errors that jobs do not compute
SELECT sum(1 / (m.w - 9)) FROM few f LEFT JOIN many m ON m.k = f.k;
SELECT count(*) FROM few f FULL JOIN many m ON m.k = f.k WHERE 10 / coalesce(m.w - 12, 1) > 0;
SELECT count(*), sum(f.n) FROM few f FULL JOIN many m ON m.k = f.k AND f.n < m.w;
INSERT INTO few VALUES (1, 200, 'not a number', 'NaN', NULL);
SELECT count(*), sum(f.n) FROM few f FULL JOIN many m ON m.k = f.k AND f.n < m.w;
DELETE FROM few WHERE v = 200;

-- own writes, cursors, plans that are kept
BEGIN;
INSERT INTO few SELECT 1000 + g, g, 'own', 0, NULL FROM generate_series(1, 100) g;
DELETE FROM many WHERE k = 5;
SELECT count(*), count(f.v), count(m.id) FROM few f FULL JOIN many m ON m.k = f.k;
DECLARE c CURSOR FOR SELECT f.v, m.id FROM few f LEFT JOIN many m ON m.k = f.k;
MOVE 50 IN c;
DELETE FROM few;
MOVE ALL IN c;
ROLLBACK;
PREPARE p (int) AS SELECT count(*), sum(f.v), sum(m.w) FROM few f FULL JOIN many m ON m.k = f.k AND m.id > $1;
SET plan_cache_mode = force_generic_plan;
EXECUTE p (100);
EXECUTE p (NULL);
ALTER TABLE few DROP COLUMN j;
EXECUTE p (3000);

-- what a side without a match has is NULL, also its constants, whichever side is built
CREATE TABLE ours (id int, v int);
INSERT INTO ours SELECT g, g * 2 FROM generate_series(1, 2000) g;
CREATE TABLE theirs (id int, v int);
INSERT INTO theirs SELECT g * 3, g FROM generate_series(1, 300) g;
ANALYZE ours, theirs;
SELECT count(k.one), count(*), max(k.one), sum(coalesce(k.one, 7)) FROM ours t LEFT JOIN (SELECT id, 1 AS one FROM theirs) k ON t.id = k.id WHERE k.id IS NULL;
SELECT count(k.one), count(*), max(k.one), sum(coalesce(k.one, 7)) FROM theirs t LEFT JOIN (SELECT id, 1 AS one FROM ours) k ON t.id = k.id AND t.v > 100 WHERE k.id IS NULL;
SELECT t.id, k.one, coalesce(k.two, 'none') FROM theirs t LEFT JOIN (SELECT id, 1 AS one, 'two' AS two FROM ours) k ON t.v = k.id * 2 WHERE k.id IS NULL AND t.id < 20 ORDER BY t.id;
SELECT k.one, count(*) FROM ours t LEFT JOIN (SELECT id, coalesce(v, 3) AS one FROM theirs) k ON t.id = k.id WHERE k.id IS NULL GROUP BY k.one;

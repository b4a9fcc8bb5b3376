-- Jobs that get rows of plans of PostgreSQL's: of ordinary tables, functions, VALUES, CTEs, subqueries; every type, all kinds of joins, groups, order and set operations, parameters, errors.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- What feeds the statement's job has; for ordinary tables what is expected, so that answers are equal
CREATE FUNCTION fed(statement text, expected text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	was text := '';
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN expected;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		was := was || coalesce(' ' || substring(line FROM ': feed ("[^"]*"|[^, ]*)'), '') || CASE WHEN line LIKE '%Fallback:%' THEN line ELSE '' END;
	END LOOP;
	RETURN ltrim(was);
END $$;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS int CHECK (VALUE < 100000);
SET tsurugi_fdw.create_table = off;
CREATE TABLE o (id int PRIMARY KEY, k int, i2 int2, i8 int8, n numeric(12,2), w numeric(30,4), u numeric, f4 float4, f8 float8, d date, ts timestamp,
	tz timestamptz, tm time, tt timetz, iv interval, b bool, t text, v varchar(30), c char(3), by bytea, uu uuid, j jsonb, ar int[], m mood, p pair, bit bit(5),
	name name, ch "char", o oid, ip inet, pt point, dom small, long text);
CREATE TABLE o2 (k int, x int, t text);
CREATE TABLE op (k int, x int) PARTITION BY LIST (k);
CREATE TABLE op1 PARTITION OF op FOR VALUES IN (0, 1, 2, 3);
RESET tsurugi_fdw.create_table;
CREATE TABLE op2 PARTITION OF op DEFAULT;
INSERT INTO o SELECT g, g % 50, g % 100, g * 10000000000, g * 1.25 - 300, g * 0.0625, g / 7.0, g / 3.0, g / 8.0 - 20, date '1999-12-01' + g % 70,
	timestamp '2000-01-01' + g * interval '1 hour', timestamptz '2000-01-01 00:00+00' + g * interval '1 minute', time '00:00' + g * interval '1 second',
	timetz '00:00+02' + g * interval '1 second', g * interval '3 hour', g % 3 = 0, 'text ' || g % 13, repeat('long ', g % 5) || g % 11, 'c' || g % 7,
	convert_to(repeat('x', g % 30), 'UTF8'), md5(g::text)::uuid, jsonb_build_object('k', g), ARRAY[g, g + 1], (ARRAY['sad', 'ok', 'happy'])[1 + g % 3]::mood,
	ROW(g, 'x' || g)::pair, (g % 32)::bit(5), 'name ' || g, 'q', g, ('10.0.0.' || g % 200)::inet, point(g, g), g, CASE WHEN g % 100 = 0 THEN repeat(g::text || ',', 3000) ELSE 'short' END FROM generate_series(1, 3000) g;
INSERT INTO o (id, k) SELECT g, g % 50 FROM generate_series(3001, 3020) g;
INSERT INTO o2 SELECT g % 60, g, 'of ' || g % 5 FROM generate_series(1, 200) g;
INSERT INTO op SELECT g % 8, g FROM generate_series(1, 100) g;
CREATE TABLE m (k int PRIMARY KEY, n numeric(5,1), t text, v int);
INSERT INTO m SELECT g, g + 0.5, repeat('a text of the other side ', g % 3), g % 7 FROM generate_series(0, 39) g;
CREATE TABLE big (id int PRIMARY KEY, k int, t text);
INSERT INTO big SELECT g, g % 60, 'text ' || g % 20 FROM generate_series(1, 5000) g;
CREATE TABLE none (k int, x text);
ANALYZE;

-- every type, fed or looked up
SELECT fed('SELECT o.*, m.t FROM o JOIN m ON o.k = m.k', 'o');
SELECT (o.*)::text, m.t FROM o JOIN m ON o.k = m.k WHERE o.id IN (3, 500, 3001) ORDER BY o.id;
SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM (SELECT o.id, i2, i8, o.n, w, u, f4, f8, d, ts, tz, tm, tt, iv, b, o.t, o.v, c, by, uu, j, ar, m, p, bit, name, ch, o.o, ip, pt, dom, long, m.v AS mv FROM o JOIN m ON o.k = m.k) r;
SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM (SELECT o2.x, big.t FROM o2 LEFT JOIN big USING (k)) r;
SELECT count(*), sum(o.n), min(o.n), max(o.w), sum(o.w), sum(i2), sum(i8), min(d), max(ts), min(o.t), max(o.v), count(u), sum(f8), bool_and(b) FROM o JOIN m ON o.k = m.k;
SELECT c, count(*), sum(o.n * m.n) FROM o JOIN m ON o.k = m.k GROUP BY c ORDER BY c;
SELECT o.v, m.t, count(*), sum(m.v), avg(o.n) FROM o JOIN m ON o.k = m.k GROUP BY 1, 2 ORDER BY 1, 2, 3;
SELECT d, count(DISTINCT m.v) FROM o LEFT JOIN m ON o.k = m.k GROUP BY d ORDER BY d;
SELECT m, count(*) FROM o JOIN big ON big.id = o.id GROUP BY m ORDER BY 1;

-- kinds of joins, by either side
SELECT fed('SELECT count(*) FROM big LEFT JOIN o2 ON big.k = o2.k AND o2.x > 100', 'o2');
SELECT count(*), count(o2.x), sum(o2.x), sum(big.id) FROM big LEFT JOIN o2 ON big.k = o2.k AND o2.x > 100;
SELECT count(*), count(o2.x), sum(o2.x), sum(big.id) FROM o2 LEFT JOIN big ON big.k = o2.k AND o2.x > big.id % 100;
SELECT count(*), count(o2.x), sum(o2.x), sum(m.v) FROM m FULL JOIN o2 USING (k);
SELECT count(*), sum(m.v) FROM m WHERE EXISTS (SELECT 1 FROM o2 WHERE o2.k = m.k AND o2.x < 20);
SELECT count(*), sum(x) FROM o2 WHERE k IN (SELECT k FROM big WHERE t LIKE 'text 1%');
SELECT count(*), sum(x) FROM o2 WHERE NOT EXISTS (SELECT 1 FROM m WHERE m.k = o2.k);
SELECT count(*), sum(id) FROM big WHERE NOT EXISTS (SELECT 1 FROM o2 WHERE o2.k = big.k AND o2.t = 'of 3');
SELECT count(*), sum(o2.x) FROM o2 JOIN none USING (k);
SELECT count(*), sum(o2.x) FROM o2 LEFT JOIN none USING (k) WHERE none.x IS NULL;
SELECT fed('SELECT count(*) FROM o2 a JOIN big USING (k) JOIN o2 b ON b.x = big.id JOIN m ON m.k = a.k', 'b a');
SELECT count(*), sum(a.x), sum(b.x), sum(m.v) FROM o2 a JOIN big USING (k) JOIN o2 b ON b.x = big.id JOIN m ON m.k = a.k;
-- conditions that only PostgreSQL computes, on the ordinary side
SELECT fed($$SELECT count(*) FROM o JOIN m ON o.k = m.k WHERE o.j ->> 'k' LIKE '%7' AND o.ip << '10.0.0.0/25'$$, 'o');
SELECT count(*), sum(o.id) FROM o JOIN m ON o.k = m.k WHERE o.j ->> 'k' LIKE '%7' AND o.ip << '10.0.0.0/25';
SELECT count(*) FROM o JOIN m ON o.k = m.k WHERE o.t ~ '1$' AND m.v < o.id % 9;

-- and on tables in memory
CREATE TABLE docs (k int, j jsonb, tags int[], n numeric(6,1));
INSERT INTO docs SELECT g % 50, jsonb_build_object('a', g % 7, 'b', 'x' || g), ARRAY[g % 3, g % 5], g / 2.0 FROM generate_series(1, 3000) g;
ANALYZE docs;
SELECT fed($$SELECT count(*), sum(docs.n) FROM docs JOIN m USING (k) WHERE j @> '{"a": 3}' AND docs.n > 100$$, 'docs');
SELECT count(*), sum(docs.n), sum(m.v) FROM docs JOIN m USING (k) WHERE j @> '{"a": 3}' AND docs.n > 100;
SELECT m.v, count(*), max(docs.n) FROM docs JOIN m USING (k) WHERE tags && ARRAY[4] GROUP BY m.v HAVING count(*) > 5 ORDER BY 1;
SELECT fed($$SELECT docs.j, m.t FROM docs LEFT JOIN m USING (k) WHERE j ->> 'b' ~ '9$'$$, 'docs');
SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM (SELECT docs.j, docs.n, m.t FROM docs LEFT JOIN m USING (k) WHERE j ->> 'b' ~ '9$') r;
SELECT count(*) FROM docs JOIN m USING (k) JOIN o2 USING (k) WHERE tags @> ARRAY[2, 4] AND o2.x > 50;
BEGIN;
DELETE FROM docs WHERE n < 50;
SELECT count(*), sum(docs.n) FROM docs JOIN m USING (k) WHERE j @> '{"a": 3}';
ROLLBACK;

-- order, limits, windows
SELECT fed('SELECT o.id, m.v FROM o JOIN m ON o.k = m.k ORDER BY o.n DESC, o.id LIMIT 5', 'o');
SELECT o.id, m.v, left(o.long, 10) FROM o JOIN m ON o.k = m.k ORDER BY o.n DESC NULLS LAST, o.id LIMIT 5;
SELECT k, sum(v) FROM o2 JOIN m USING (k) GROUP BY k ORDER BY 2 DESC, 1 LIMIT 4;
SELECT x, v, rank() OVER (PARTITION BY v ORDER BY x) FROM o2 JOIN m USING (k) WHERE x < 30 ORDER BY x;
SELECT DISTINCT o2.t, m.v FROM o2 JOIN m USING (k) ORDER BY 1, 2;

-- functions, VALUES, CTEs, recursion, partitions of both kinds
SELECT fed('SELECT sum(v) FROM m JOIN generate_series(0, 1000) g ON g = m.k', 'g');
SELECT sum(v), sum(g) FROM m JOIN generate_series(0, 1000) g ON g = m.k;
SELECT m.v, x FROM m JOIN (VALUES (1, 'one'), (3, 'three'), (NULL, 'none'), (77, 'far')) r (k, x) USING (k) ORDER BY 1, 2;
SELECT m.k, a.x, a.o FROM m JOIN unnest(ARRAY[3, 5, 7], ARRAY['3', '5', 'seven']) WITH ORDINALITY a (k, x, o) USING (k) ORDER BY 1;
WITH r AS MATERIALIZED (SELECT k, count(*) AS n FROM o GROUP BY k) SELECT sum(r.n * m.v), count(*) FROM r JOIN m USING (k);
WITH r AS MATERIALIZED (SELECT k, x FROM o2 WHERE x < 50) SELECT count(*), sum(a.x), sum(b.x) FROM r a JOIN m USING (k) JOIN r b ON b.k = m.v;
WITH RECURSIVE r (n, depth) AS (SELECT 1, 0 UNION ALL SELECT m.v + 2, depth + 1 FROM r JOIN m ON m.k = r.n WHERE depth < 6) SELECT * FROM r ORDER BY depth;
SELECT fed('SELECT m.v, count(*), sum(op.x) FROM op JOIN m USING (k) GROUP BY m.v', 'op');
SELECT m.v, count(*), sum(op.x) FROM op JOIN m USING (k) GROUP BY m.v ORDER BY 1;
-- type modifiers that nobody has enforced
CREATE FUNCTION loose() RETURNS TABLE (k int, n numeric, c bpchar) LANGUAGE sql STABLE AS 'SELECT g, g / 3.0, chr(65 + g % 26) || '' '' FROM generate_series(0, 20) g';
SELECT m.k, r.n, r.c FROM loose() r JOIN m USING (k) WHERE m.v = 3 ORDER BY 1;
CREATE FUNCTION record() RETURNS SETOF record LANGUAGE sql STABLE AS 'SELECT g, g / 3.0, (g || ''abc'')::char(5) FROM generate_series(0, 20) g';
SELECT sum(r.n), max(r.n), min(c) FROM record() AS r (k int, n numeric, c char(5)) JOIN m USING (k);
-- what may be run once only is not fed
CREATE SEQUENCE s;
SELECT fed('SELECT count(*) FROM o2 JOIN m USING (k) WHERE nextval(''s'') > 0', '');
SELECT count(*) FROM (SELECT k, nextval('s') AS n FROM o2 OFFSET 0) r JOIN m USING (k);
WITH w AS (INSERT INTO o2 SELECT 3, 1000 + g, 'new' FROM generate_series(1, 10) g RETURNING k, x) SELECT count(*), sum(w.x), sum(m.v) FROM w JOIN m USING (k);
WITH w AS (INSERT INTO m VALUES (1000, 1, 'new', 1) RETURNING k) SELECT count(*) FROM w JOIN m USING (k) JOIN o2 USING (k);
DELETE FROM o2 WHERE x > 1000;
DELETE FROM m WHERE k = 1000;

-- sides of set operations: counts, NULLs, types that are cast, collations, what is above and around them
SELECT fed('SELECT k FROM m UNION SELECT k FROM o2', '"*SELECT* 2"');
SELECT k FROM m WHERE v < 2 UNION SELECT k FROM o2 ORDER BY 1 DESC LIMIT 25 OFFSET 3;
SELECT fed('SELECT k, t FROM o2 EXCEPT SELECT k, t FROM big', '"*SELECT* 1"');
SELECT k, t FROM o2 EXCEPT SELECT k, replace(t, 'text', 'of') FROM big WHERE id < 100 ORDER BY k, t LIMIT 20;
SELECT fed('SELECT t FROM m INTERSECT ALL SELECT long FROM o', '"*SELECT* 2"');
SELECT k, count(*) FROM (SELECT k FROM big INTERSECT ALL SELECT k FROM o2) r GROUP BY k ORDER BY k;
SELECT k, count(*) FROM (SELECT k % 5 AS k FROM o2 EXCEPT ALL SELECT v FROM m) r GROUP BY k ORDER BY k;
SELECT k, count(*) FROM (SELECT v AS k FROM m EXCEPT ALL (SELECT k % 3 FROM o2 WHERE x < 6 UNION ALL SELECT NULL)) r GROUP BY k ORDER BY k;
SELECT v FROM m UNION SELECT i8 FROM o WHERE id < 3 OR id > 3018 ORDER BY 1;
SELECT trim_scale(r.n) FROM (SELECT n FROM m EXCEPT SELECT o.n FROM o) r ORDER BY 1 LIMIT 10;
SELECT u FROM o WHERE id < 4 UNION SELECT n FROM m WHERE k < 3 ORDER BY 1;
SELECT k FROM m WHERE k < 2 UNION SELECT f8 FROM o WHERE id < 20 ORDER BY 1;
SELECT t FROM m UNION SELECT v FROM o WHERE id < 6 UNION SELECT c FROM o WHERE id < 9 ORDER BY 1;
SELECT t COLLATE "C" AS t FROM big INTERSECT SELECT t FROM o ORDER BY 1;
SELECT count(*), min(d), max(d) FROM (SELECT d FROM o INTERSECT SELECT date '1999-12-01' + k FROM m) r;
SELECT count(*), max(uu::text) FROM (SELECT uu FROM o EXCEPT SELECT md5(k::text)::uuid FROM m) r;
SELECT k::text FROM m WHERE k < 3 UNION SELECT j ->> 'k' FROM o WHERE id < 5 ORDER BY 1;
SELECT m FROM o WHERE id < 5 UNION SELECT 'ok' FROM m ORDER BY 1;
SELECT fed('SELECT v FROM m UNION SELECT * FROM generate_series(3, 300)', '"*SELECT* 2"');
SELECT v FROM m UNION SELECT * FROM generate_series(3, 12) EXCEPT (VALUES (4), (5), (NULL)) ORDER BY 1;
SELECT fed('VALUES (1, NULL), (NULL, ''x'') UNION SELECT v, t FROM m', '"*SELECT* 1"');
VALUES (1, NULL), (NULL, 'x') UNION SELECT v, 'y' FROM m ORDER BY 1, 2;
SELECT fed('SELECT v FROM m EXCEPT SELECT x FROM op WHERE k < 3 GROUP BY x HAVING count(*) = 1', '"*SELECT* 2"');
SELECT v FROM m EXCEPT SELECT x FROM op WHERE k < 3 GROUP BY x HAVING count(*) = 1 ORDER BY 1;
SELECT v FROM m UNION SELECT k FROM op ORDER BY 1;
SELECT fed('SELECT k FROM m INTERSECT SELECT x FROM (SELECT x FROM op UNION ALL SELECT x FROM o2) r WHERE x < 9', '"*SELECT* 2"');
SELECT k FROM m INTERSECT SELECT x FROM (SELECT x FROM op UNION ALL SELECT x FROM o2) r WHERE x < 9 ORDER BY 1;
SELECT k FROM m EXCEPT (SELECT x FROM op ORDER BY x OFFSET 12) ORDER BY 1;
SELECT k FROM m INTERSECT ALL SELECT a.x FROM op a JOIN op b USING (k, x) ORDER BY 1 LIMIT 7;
SELECT fed('SELECT v FROM m EXCEPT SELECT k FROM o2 GROUP BY k HAVING count(*) > 3', '"*SELECT* 2"');
SELECT v FROM m EXCEPT SELECT k FROM o2 GROUP BY k HAVING count(*) > 3 ORDER BY 1;
SELECT v FROM m INTERSECT (SELECT o2.k FROM o2 JOIN o ON o.id = o2.x WHERE o.k < 5 ORDER BY x LIMIT 3) ORDER BY 1;
SELECT v FROM m UNION (SELECT x / 10 FROM o2 JOIN big USING (k) ORDER BY x, id LIMIT 3) ORDER BY 1;
SELECT v FROM m UNION SELECT max(x) FROM o2 UNION SELECT max(id) FROM o UNION SELECT k FROM o2 WHERE x > (SELECT avg(x) + 95 FROM o2) ORDER BY 1;
SELECT v FROM m EXCEPT SELECT k FROM o2 WHERE k NOT IN (SELECT k FROM o WHERE id > 10) ORDER BY 1;
(SELECT k FROM m EXCEPT SELECT k FROM o2) UNION (SELECT k FROM o2 EXCEPT SELECT k FROM m) ORDER BY 1;
(SELECT k FROM o2 UNION SELECT v FROM m) INTERSECT (SELECT k FROM o WHERE id < 30 EXCEPT SELECT 7) ORDER BY 1;
SELECT k FROM none UNION SELECT k FROM o2 WHERE false;
SELECT count(*) FROM (SELECT k FROM m EXCEPT SELECT k FROM o2 WHERE false) r;
SELECT count(*), sum(x) FROM o2 WHERE k IN (SELECT k FROM m INTERSECT SELECT k FROM o2 WHERE x < 30);
SELECT m.k, r.k FROM m LEFT JOIN (SELECT k FROM big EXCEPT SELECT k FROM o2 WHERE x % 3 = 0) r USING (k) ORDER BY 1 LIMIT 12;
WITH r AS (SELECT k FROM m EXCEPT SELECT k FROM o2 WHERE x < 20) SELECT count(*), (SELECT max(k) FROM r) FROM r;
WITH r AS MATERIALIZED (SELECT x AS k FROM o2 WHERE x < 20) SELECT k FROM r INTERSECT SELECT v + 1 FROM m INTERSECT SELECT k FROM r WHERE k > 2 ORDER BY 1;
WITH RECURSIVE r (n) AS (SELECT 1 UNION (SELECT n + v FROM r JOIN m ON m.k = n % 40 WHERE n < 60)) SELECT n FROM r INTERSECT SELECT k FROM m ORDER BY 1;
SELECT k, sum(k) OVER (ORDER BY k ROWS 2 PRECEDING) FROM (SELECT v AS k FROM m UNION SELECT k FROM o2 WHERE x < 15) r ORDER BY 1;
SELECT x, (SELECT count(*) FROM (SELECT k FROM m WHERE m.v > o2.x EXCEPT SELECT i.k FROM o2 i WHERE i.x < o2.x * 4) r) FROM o2 WHERE x < 8 ORDER BY x;
SELECT o2.x, r.* FROM o2, LATERAL (SELECT v FROM m WHERE k < 4 INTERSECT SELECT g FROM generate_series(1, o2.x) g) r WHERE o2.x < 5 ORDER BY 1, 2;
SELECT k FROM m EXCEPT SELECT k FROM o2 WHERE nextval('s') < 0 ORDER BY 1 LIMIT 3;
SELECT fed('SELECT k FROM m UNION SELECT k FROM (SELECT k FROM o2 FOR UPDATE) r', '');
WITH w AS (INSERT INTO o2 VALUES (3, 1000, 'new') RETURNING k) SELECT k FROM w UNION SELECT v FROM m ORDER BY 1;
DELETE FROM o2 WHERE x = 1000;
PREPARE q (int, text) AS SELECT v, 'of 1' FROM m WHERE v <> $1 EXCEPT SELECT k, t FROM o2 WHERE x < $1 * 10 OR t = $2 ORDER BY 1;
EXECUTE q (2, 'of 3');
SET plan_cache_mode = force_generic_plan;
EXECUTE q (2, 'of 3');
EXECUTE q (5, 'of 4');
EXECUTE q (NULL, 'of 1');
DELETE FROM o2 WHERE x BETWEEN 1 AND 3;
EXECUTE q (5, 'of 4');
INSERT INTO o2 SELECT g % 60, g, 'of ' || g % 5 FROM generate_series(1, 3) g;
RESET plan_cache_mode;
CREATE ROLE feed_reader;
GRANT SELECT ON m TO feed_reader;
GRANT SELECT (k) ON o2 TO feed_reader;
ALTER TABLE o2 ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON o2 USING (x < 10);
SET ROLE feed_reader;
SELECT v FROM m EXCEPT SELECT k FROM o2 ORDER BY 1;
SELECT v FROM m EXCEPT SELECT x FROM o2;
SELECT t FROM m INTERSECT SELECT t FROM o;
RESET ROLE;
ALTER TABLE o2 DISABLE ROW LEVEL SECURITY;
DROP POLICY few ON o2;
DROP OWNED BY feed_reader;
DROP ROLE feed_reader;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k FROM o2 EXCEPT SELECT v FROM m ORDER BY 1;
FETCH 2 FROM c;
DELETE FROM o2;
DELETE FROM m;
FETCH 2 FROM c;
SELECT k FROM o2 UNION SELECT v FROM m;
FETCH ABSOLUTE 1 FROM c;
ROLLBACK;
SELECT v FROM m EXCEPT SELECT 10 / (x - 150) FROM o2;
SELECT 10 / (v - 3) FROM m EXCEPT SELECT k FROM o2;
SELECT v FROM m UNION SELECT k FROM o2 UNION SELECT (j ->> 'k')::int / (id - 2900) FROM o;
BEGIN;
SAVEPOINT a;
SET LOCAL statement_timeout = '100ms';
SELECT v FROM m EXCEPT ALL SELECT a.id + b.id + c.id + d.id FROM o a, o b, o c, o d;
ROLLBACK TO a;
SELECT count(*) FROM (SELECT v FROM m UNION SELECT k FROM o2) r;
COMMIT;
SET tsurugi_fdw.job_memory = '256kB';
SELECT count(*), sum(id) FROM (SELECT id FROM big EXCEPT SELECT id FROM o WHERE id % 3 = 0) r;
SELECT count(*), sum(length(long)) FROM (SELECT long FROM o UNION SELECT t FROM big) r;
RESET tsurugi_fdw.job_memory;

-- subqueries that no job computes, joined and appended: of ordinary tables, with LIMIT, windows, conditions above, parameters
SELECT fed('SELECT count(*), sum(r.n) FROM m JOIN (SELECT k, count(*) AS n FROM o2 GROUP BY k) r USING (k)', 'r');
SELECT count(*), sum(r.n), max(r.t) FROM m JOIN (SELECT k, count(*) AS n, max(t) AS t FROM o2 GROUP BY k) r USING (k);
SELECT fed('SELECT k, sum(n) FROM (SELECT k, v AS n FROM m UNION ALL SELECT k, count(*)::int FROM o2 GROUP BY k) r GROUP BY k', '"*SELECT* 2"');
SELECT k, sum(n) FROM (SELECT k, v AS n FROM m UNION ALL SELECT k, count(*)::int FROM o2 GROUP BY k) r GROUP BY k HAVING sum(n) > 7 ORDER BY 1;
SELECT k, sum(n) FROM (SELECT k, v AS n FROM m UNION ALL SELECT k, count(*) FROM o2 GROUP BY k) r GROUP BY k HAVING sum(n) > 7 ORDER BY 1;
SELECT m.v, count(*), sum(r.x) FROM m LEFT JOIN (SELECT k, x FROM o2 ORDER BY x DESC LIMIT 30) r USING (k) GROUP BY 1 ORDER BY 1;
SELECT m.k, r.x, r.i FROM m FULL JOIN (SELECT k, x, rank() OVER (PARTITION BY t ORDER BY x) AS i FROM o2) r ON m.k = r.k AND r.i < 3 WHERE m.v = 2 OR r.x > 195 ORDER BY 1, 2;
SELECT fed('SELECT m.k, r.i FROM m JOIN (SELECT id, rank() OVER (PARTITION BY k ORDER BY t) AS i FROM big) r ON m.k = r.id WHERE r.i < 3', 'r');
SELECT m.k, r.i FROM m JOIN (SELECT id, rank() OVER (PARTITION BY k ORDER BY t) AS i FROM big) r ON m.k = r.id WHERE r.i < 70 ORDER BY 1;
SELECT count(*), sum(r.id) FROM m JOIN (SELECT DISTINCT ON (k) k, id FROM big ORDER BY k, id DESC) r USING (k);
SELECT fed('SELECT count(*) FROM m JOIN (SELECT k FROM big EXCEPT SELECT k FROM o2 WHERE x < 50) r USING (k)', 'r "*SELECT* 2"');
SELECT count(*) FROM m JOIN (SELECT k FROM big EXCEPT SELECT k FROM o2 WHERE x < 50) r USING (k);
SELECT count(*) FROM m WHERE EXISTS (SELECT 1 FROM (SELECT k, t FROM o2 GROUP BY ROLLUP (k, t) HAVING count(*) > 2) r WHERE r.k = m.k);
SELECT m.k, r.* FROM m LEFT JOIN (SELECT k, t, grouping(k, t) AS g, count(*) AS n FROM o2 GROUP BY GROUPING SETS ((k), (k, t), ())) r USING (k) WHERE m.k < 3 ORDER BY 1, 4, 3;
SELECT count(*) FROM m JOIN (SELECT k FROM o2 WHERE x > (SELECT avg(x) FROM o2) OFFSET 0) r USING (k);
SELECT count(*) FROM m JOIN (SELECT max(x) / 10 AS k, max(t) AS t FROM o2) r USING (k);
SELECT count(*) FROM m JOIN (SELECT max(id) / 100 AS k, min(id) AS i FROM o) r USING (k);
SELECT fed('SELECT count(*) FROM m JOIN (SELECT k FROM op OFFSET 0) r USING (k)', 'r');
SELECT count(*) FROM m JOIN (SELECT k FROM op OFFSET 0) r USING (k);
SELECT m.v, count(*), sum(r.n) FROM m JOIN (SELECT k, sum(x) AS n FROM (SELECT * FROM op UNION ALL SELECT k, x FROM (SELECT DISTINCT k, x FROM op) q) p GROUP BY k) r USING (k) GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM m JOIN (SELECT k FROM o2 FOR UPDATE) r USING (k);
SELECT count(*) FROM m JOIN (SELECT k FROM o2 WHERE random() < 2 OFFSET 0) r USING (k);
SELECT o2.x, (SELECT sum(r.n * m.v) FROM m JOIN (SELECT k, count(*) AS n FROM o2 i WHERE i.x < o2.x * 10 GROUP BY k) r USING (k)) FROM o2 WHERE x < 8 ORDER BY 1;
SELECT o2.x, r.* FROM o2, LATERAL (SELECT m.v, q.n FROM m JOIN (SELECT k, x + o2.x AS n FROM o2 ORDER BY x LIMIT 5) q USING (k) ORDER BY 2, 1 LIMIT 2) r WHERE o2.x < 5 ORDER BY 1, 2, 3;
PREPARE r (int) AS SELECT count(*), sum(r.n) FROM m JOIN (SELECT k, count(*) AS n FROM o2 WHERE x < $1 GROUP BY k HAVING count(*) < $1) r USING (k);
SET plan_cache_mode = force_generic_plan;
EXECUTE r (100);
EXECUTE r (4);
EXECUTE r (NULL);
PREPARE pruned (int) AS SELECT v FROM m EXCEPT SELECT x FROM op WHERE k = $1 OR k = $1 + 3 ORDER BY 1;
EXECUTE pruned (1);
EXECUTE pruned (5);
EXECUTE pruned (NULL);
ALTER TABLE op DETACH PARTITION op2;
EXECUTE pruned (1);
ALTER TABLE op ATTACH PARTITION op2 DEFAULT;
EXECUTE pruned (1);
RESET plan_cache_mode;
SELECT count(*) FROM m JOIN (SELECT k, 10 / (sum(x) - 150) AS n FROM o2 GROUP BY k, x) r USING (k);
CREATE FUNCTION sums() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	was text := '';
BEGIN
	FOR line IN SELECT m.k, r.n FROM m JOIN (SELECT k, sum(x) AS n FROM o2 GROUP BY k) r USING (k) ORDER BY 1 LOOP
		INSERT INTO m VALUES (100 + line.k, 1, 'new', line.n);
		DELETE FROM o2 WHERE k = line.k + 1;
		was := was || line.k || ':' || line.n || ' ';
	END LOOP;
	RETURN was;
END $$;
BEGIN;
SELECT sums();
SELECT count(*), sum(v) FROM m;
ROLLBACK;

-- parameters: of a subquery around it, that runs again, of init plans, of prepared statements
SELECT x, (SELECT sum(m.v) FROM generate_series(0, o2.x % 40) g JOIN m ON m.k = g) FROM o2 WHERE x < 15 ORDER BY x;
SELECT x, (SELECT count(*) FROM o2 i JOIN big USING (k) WHERE i.x < o2.x) FROM o2 WHERE x < 12 ORDER BY x;
SELECT o2.x, r.* FROM o2, LATERAL (SELECT count(*), max(b.x) FROM o2 b JOIN m USING (k) WHERE b.x > o2.x AND b.t = o2.t) r WHERE o2.x < 9 ORDER BY o2.x;
SELECT count(*), sum(m.v) FROM o2 JOIN m USING (k) WHERE o2.x > (SELECT avg(id) / 50 FROM big);
PREPARE p (int, text) AS SELECT count(*), sum(m.v) FROM o2 JOIN m USING (k) WHERE o2.x < $1 AND o2.t = $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE p (100, 'of 2');
EXECUTE p (50, 'of 4');
EXECUTE p (NULL, 'of 4');
ALTER TABLE o2 ALTER x TYPE int8, ADD y int DEFAULT 5;
EXECUTE p (100, 'of 2');
ALTER TABLE o2 DROP t;
EXECUTE p (100, 'of 2');
ALTER TABLE o2 ADD t text;
UPDATE o2 SET t = 'of ' || x % 5;
EXECUTE p (100, 'of 2');
RESET plan_cache_mode;

-- errors of the child, of the job, after some rows
SELECT count(*) FROM o2 JOIN m USING (k) WHERE 10 / (o2.x - 150) < 100;
SELECT sum(10 / (o2.x - 150)) FROM o2 JOIN m USING (k);
SELECT count(*) FROM o JOIN m ON o.k = m.k WHERE (o.j ->> 'k')::int / (o.id - 2900) > 1000000;
BEGIN;
SAVEPOINT a;
SELECT sum(m.v) FROM o JOIN m ON o.k = m.k WHERE 1 / (o.id - 3000) < 100;
ROLLBACK TO a;
SELECT sum(m.v) FROM o JOIN m ON o.k = m.k;
INSERT INTO m VALUES (41, 1, 'mine', 1000);
INSERT INTO o2 (k, x) VALUES (41, 9999);
SELECT sum(m.v) FROM o2 JOIN m USING (k);
ROLLBACK;
SELECT sum(m.v) FROM o2 JOIN m USING (k);

-- cursors, beside changes and savepoints; one that is closed early
BEGIN;
DECLARE c CURSOR FOR SELECT o2.x, m.v FROM o2 JOIN m USING (k) ORDER BY 1, 2;
FETCH 3 FROM c;
DELETE FROM o2 WHERE x < 100;
DELETE FROM m WHERE k < 30;
FETCH 3 FROM c;
SAVEPOINT a;
DECLARE d CURSOR FOR SELECT o.id FROM o JOIN m ON o.k = m.k;
MOVE 100 IN d;
ROLLBACK TO a;
FETCH 3 FROM c;
DECLARE e SCROLL CURSOR FOR SELECT o2.x, m.v FROM o2 JOIN m USING (k) ORDER BY 1;
FETCH 2 FROM e;
FETCH ABSOLUTE 1 FROM e;
CLOSE e;
ROLLBACK;
SELECT count(*) FROM (SELECT o.long FROM o JOIN m ON o.k = m.k LIMIT 7) r;

-- rows that are stored come from the session
CREATE TABLE copy (id int, v int);
INSERT INTO copy SELECT o.id, m.v FROM o JOIN m ON o.k = m.k;
SELECT count(*), sum(id), sum(v) FROM copy;
UPDATE copy SET v = r.x FROM (SELECT o2.k, max(x) AS x FROM o2 JOIN m USING (k) GROUP BY o2.k) r WHERE copy.v = r.k;
SELECT count(*), sum(id), sum(v) FROM copy;

-- a round of a recursive query, which can be read once, when the job is left to the fallback
CREATE TABLE edge (a int, b int, w numeric(10,2));
INSERT INTO edge SELECT g % 100, g % 100 + 1, CASE WHEN g = 5 THEN 'NaN'::numeric ELSE 1 END FROM generate_series(1, 5000) g;
ANALYZE edge;
WITH RECURSIVE r (i) AS (SELECT 0 UNION SELECT b FROM r JOIN edge ON a = r.i WHERE r.i < 30 AND w > 0) SELECT count(*), sum(i) FROM r;
WITH RECURSIVE r (i) AS (SELECT 0 UNION SELECT n.b FROM (SELECT b, sum(w) FROM r JOIN edge ON a = r.i WHERE r.i < 30 GROUP BY b) n) SELECT count(*), sum(i) FROM r;
WITH RECURSIVE r (i) AS (SELECT 0 UNION SELECT edge.b FROM (SELECT DISTINCT i FROM r) n JOIN edge ON a = n.i WHERE n.i < 30 AND w > 0) SELECT count(*), sum(i) FROM r;
WITH RECURSIVE r (i) AS (SELECT 0 UNION SELECT * FROM (SELECT i + 1 FROM r WHERE i < 30 UNION SELECT b FROM edge WHERE a < 10 AND w > 0) n) SELECT count(*), sum(i) FROM r;

-- Joins whose rows jobs hand out: columns of every type, expressions above them, all kinds of joins, values that jobs do not compute, cursors.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- 'job': the statement was a job and was computed by it; for ordinary tables, too, so that answers are equal
CREATE FUNCTION ran(statement text, expected text DEFAULT 'job') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	was text := 'plan';
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN expected;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		IF line LIKE '%Tsurugi Job%' THEN
			was := 'job';
		ELSIF line LIKE '%Fallback:%' THEN
			was := 'fallback';
		END IF;
	END LOOP;
	RETURN was;
END $$;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a int, b text);
CREATE TABLE a (id int PRIMARY KEY, k int, i2 int2, i8 int8, n numeric(12,2), w numeric(30,4), u numeric, f4 float4, f8 float8, d date, ts timestamp,
	tz timestamptz, tm time, tt timetz, iv interval, b bool, t text, v varchar(30), c char(3), by bytea, uu uuid, j jsonb, ar int[], m mood, p pair, bit bit(5),
	name name, ch "char", o oid, ip inet, pt point);
INSERT INTO a SELECT g, g % 50, g % 100, g * 10000000000, g * 1.25 - 300, g * 0.0625, g / 7.0, g / 3.0, g / 8.0 - 20, date '1999-12-01' + g % 70,
	timestamp '2000-01-01' + g * interval '1 hour', timestamptz '2000-01-01 00:00+00' + g * interval '1 minute', time '00:00' + g * interval '1 second',
	timetz '00:00+02' + g * interval '1 second', g * interval '3 hour', g % 3 = 0, 'text ' || g % 13, repeat('long ', g % 5) || g % 11, 'c' || g % 7,
	convert_to(repeat('x', g % 30), 'UTF8'), md5(g::text)::uuid, jsonb_build_object('k', g), ARRAY[g, g + 1], (ARRAY['sad', 'ok', 'happy'])[1 + g % 3]::mood,
	ROW(g, 'x' || g)::pair, (g % 32)::bit(5), 'name ' || g, 'q', g, ('10.0.0.' || g % 200)::inet, point(g, g) FROM generate_series(1, 2000) g;
INSERT INTO a (id, k) SELECT g, g % 50 FROM generate_series(2001, 2020) g;
CREATE TABLE b (k int, n numeric(5,1), t text, j jsonb, v int);
INSERT INTO b SELECT g % 40, g + 0.5, repeat('a text of the other side ', g % 3), jsonb_build_array(g), g FROM generate_series(0, 59) g;
INSERT INTO b VALUES (NULL, NULL, 'no key', NULL, 7);
CREATE TABLE c (v int PRIMARY KEY, s text);
INSERT INTO c SELECT g, 's' || g FROM generate_series(0, 200) g;
CREATE TABLE none (k int, x text);
ANALYZE;

-- every type, from either side
SELECT ran('SELECT * FROM a JOIN b ON a.k = b.k');
SELECT a.*, b.t, b.j FROM a JOIN b ON a.k = b.k WHERE a.id % 97 = 0 ORDER BY a.id, b.v;
SELECT b.v, x.* FROM b JOIN a x ON x.k = b.k WHERE b.v < 4 AND x.i2 < 20 ORDER BY b.v, x.id;
SELECT md5(string_agg(r::text, ',' ORDER BY r::text)) FROM (SELECT a, b FROM a JOIN b ON a.k = b.k) r;
SELECT count(x) FROM (SELECT a.id || b.t AS x FROM a JOIN b ON a.k = b.k OFFSET 0) x;

-- kinds of joins; several steps
SELECT ran('SELECT a.id, b.v, c.s FROM a JOIN b ON a.k = b.k JOIN c ON c.v = b.v');
SELECT a.id, b.v, c.s FROM a JOIN b ON a.k = b.k JOIN c ON c.v = b.v WHERE a.id > 1900 ORDER BY 1, 2;
SELECT ran('SELECT a.id, b.t, b.n FROM a LEFT JOIN b ON a.k = b.k AND b.v > 20');
SELECT a.id, b.t, b.n, b.n IS NULL FROM a LEFT JOIN b ON a.k = b.k AND b.v > 20 WHERE a.id < 200 ORDER BY 1, 2, 3;
SELECT b.v, c.s FROM c RIGHT JOIN b ON c.v = b.v + 150 ORDER BY 1, 2;
SELECT ran('SELECT a.id, a.u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)');
SELECT a.id, a.u FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AND a.id < 60 ORDER BY 1;
SELECT a.id, a.j FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k) AND a.id < 150 ORDER BY 1;
SELECT c.v FROM c WHERE c.v IN (SELECT k FROM a) ORDER BY 1;
SELECT a.id, none.x FROM a LEFT JOIN none USING (k) WHERE a.id < 5 ORDER BY 1;
SELECT a.id, none.x FROM a JOIN none USING (k);
SELECT 1 AS one FROM a JOIN b ON a.k = b.k WHERE a.id < 9;

-- above: expressions, sorts, limits, windows, set operations, subqueries
SELECT ran('SELECT upper(a.t) || b.t, a.n / 3, random() < 2 FROM a JOIN b ON a.k = b.k');
SELECT upper(a.t) || b.t AS x, a.n / 3, random() < 2 FROM a JOIN b ON a.k = b.k WHERE a.id < 30 ORDER BY a.u DESC, b.v;
SELECT a.id, b.v FROM a JOIN b ON a.k = b.k ORDER BY a.w DESC NULLS LAST, b.v DESC LIMIT 7 OFFSET 3;
SELECT count(*) FROM (SELECT 1 FROM a JOIN b ON a.k = b.k LIMIT 5) x;
SELECT count(*) FROM (SELECT 1 FROM a JOIN b ON a.k = b.k LIMIT 0) x;
SELECT a.id, rank() OVER (PARTITION BY b.v ORDER BY a.n DESC), sum(b.n) OVER (ORDER BY a.id) FROM a JOIN b ON a.k = b.k WHERE a.id < 40 ORDER BY a.id, b.v;
SELECT a.id FROM a JOIN b ON a.k = b.k WHERE b.v = 3 UNION SELECT c.v FROM c JOIN b ON c.v = b.v EXCEPT SELECT a.id FROM a JOIN c ON a.id = c.v WHERE a.id > 20 ORDER BY 1;
SELECT a.id, generate_series(1, b.k) FROM a JOIN b ON a.k = b.k WHERE a.id < 4 ORDER BY 1, 2;
SELECT c.v, (SELECT max(b.v) FROM b JOIN a ON a.k = b.k WHERE a.id = c.v) FROM c WHERE c.v < 5 ORDER BY 1;
SELECT c.v, x.id FROM c, LATERAL (SELECT a.id FROM a JOIN b ON a.k = b.k WHERE b.v = c.v ORDER BY a.id LIMIT 2) x WHERE c.v < 4 ORDER BY 1, 2;
WITH x AS MATERIALIZED (SELECT a.id, b.v FROM a JOIN b ON a.k = b.k) SELECT count(*), sum(y.v) FROM x JOIN x y ON x.id = y.v;

-- what only PostgreSQL computes
SELECT ran('SELECT a.id, b.v FROM a JOIN b ON a.k = b.k FOR UPDATE OF a', 'plan'), ran('SELECT a FROM a JOIN b ON a.k = b.k', 'plan'),
	ran('SELECT a.ctid FROM a JOIN b ON a.k = b.k', 'plan'), ran('SELECT a.id FROM a JOIN b ON a.u = b.n'), ran('SELECT a.id FROM a JOIN b ON a.id < b.v', 'plan');

-- values that jobs do not compute: in a build, where rows stream, where they are kept
INSERT INTO b VALUES (5, 'NaN', 'not a number', NULL, 60);
SELECT ran('SELECT a.id, b.n FROM a JOIN b ON a.k = b.k', 'job'), ran('SELECT a.id FROM b JOIN a ON a.k = b.k AND b.n + 1 > 50', 'fallback');
SELECT a.id, b.n FROM a JOIN b ON a.k = b.k WHERE a.k = 5 ORDER BY 1, 2 LIMIT 5;
SELECT a.id, b.n FROM b JOIN a ON a.k = b.k AND b.n + 1 > 50 WHERE a.k = 5 ORDER BY 1, 2 LIMIT 5;
SELECT a.id FROM a JOIN b ON a.k = b.k AND a.i8 * 9000000 > b.v ORDER BY 1 LIMIT 3;
SELECT a.id FROM a JOIN b ON a.k = b.k WHERE a.id / (a.i2 - 5) > 100;
SELECT a.id / (a.i2 - 5) FROM a JOIN b ON a.k = b.k ORDER BY 1;
SELECT a.id FROM a JOIN b ON a.k = b.k AND a.n > b.n WHERE a.id < 300 ORDER BY 1 DESC LIMIT 4;

-- cursors, own writes, savepoints
BEGIN;
DECLARE x CURSOR FOR SELECT a.id FROM a JOIN b ON a.k = b.k;
MOVE 100 IN x;
INSERT INTO a (id, k) VALUES (3000, 5);
DELETE FROM b WHERE v = 0;
MOVE 1000 IN x;
CREATE TEMP TABLE counted AS SELECT count(*) FROM a JOIN b ON a.k = b.k;
MOVE ALL IN x;
SAVEPOINT s;
INSERT INTO b SELECT 5, 1, 'more', NULL, g FROM generate_series(1, 100) g;
DECLARE y CURSOR FOR SELECT a.id FROM a JOIN b ON a.k = b.k;
MOVE 1 IN y;
ROLLBACK TO s;
SELECT count(*) FROM (SELECT a.id FROM a JOIN b ON a.k = b.k OFFSET 0) x;
FETCH 1 FROM y;
ROLLBACK;
BEGIN;
DECLARE x SCROLL CURSOR FOR SELECT a.id, b.v FROM a JOIN b ON a.k = b.k ORDER BY a.id, b.v;
FETCH 3 FROM x;
FETCH BACKWARD 2 FROM x;
FETCH LAST FROM x;
COMMIT;
BEGIN;
DECLARE x CURSOR WITH HOLD FOR SELECT a.id, b.v FROM a JOIN b ON a.k = b.k WHERE a.id < 20 ORDER BY 1, 2;
COMMIT;
FETCH 4 FROM x;
CLOSE x;
INSERT INTO c SELECT a.id + 1000, b.t FROM a JOIN b ON a.k = b.k WHERE a.id < 20 AND b.v < 30 ON CONFLICT DO NOTHING;
SELECT count(*) FROM c;
UPDATE c SET s = 'changed' FROM a JOIN b ON a.k = b.k WHERE c.v = a.id AND a.id < 10;
SELECT count(*) FROM c WHERE s = 'changed';
PREPARE p (int) AS SELECT a.id, b.t FROM a JOIN b ON a.k = b.k WHERE a.id = $1 ORDER BY b.v;
EXECUTE p (7);
EXECUTE p (8);
SET plan_cache_mode = force_generic_plan;
EXECUTE p (9);
ALTER TABLE b DROP COLUMN j;
EXECUTE p (9);
-- a job is the first to read in a LONG transaction, in parallel mode
RESET plan_cache_mode;
SET force_parallel_mode = on; SET max_parallel_workers_per_gather = 2;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = long;
SELECT count(*) FROM a JOIN b ON a.k = b.k WHERE a.id < 20;
COMMIT;

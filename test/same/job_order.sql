-- ORDER BY and LIMIT as jobs: every type and direction, rows of scans and joins, groups, values that jobs do not compute, cursors.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- 'sorted': a job has put the rows in order; for ordinary tables, too, so that answers are equal
CREATE FUNCTION ran(statement text, expected text DEFAULT 'sorted') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	was text := 'plan';
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN expected;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		IF line ~ '(top .*|sort) by' THEN
			was := 'sorted';
		ELSIF line LIKE '%Fallback:%' THEN
			was := 'fallback';
		END IF;
	END LOOP;
	RETURN was;
END $$;
-- the same with a sort of all rows, and with tops of several sizes
CREATE FUNCTION check_order(what text, source text, keys text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	size int;
	statement text := format('SELECT %s FROM %s ORDER BY %s', what, source, keys);
	digest text := '';
	part text;
BEGIN
	FOREACH size IN ARRAY ARRAY[1, 7, 100, 1024, 3000, 9000] LOOP
		EXECUTE format('SELECT md5(string_agg(x::text, chr(10) ORDER BY n)) FROM (SELECT row_number() OVER () AS n, y AS x FROM (%s LIMIT %s) y) z', statement, size) INTO part;
		digest := digest || substr(part, 1, 6) || ' ';
	END LOOP;
	EXECUTE format('SELECT md5(string_agg(x::text, chr(10) ORDER BY n)) FROM (SELECT row_number() OVER () AS n, y AS x FROM (%s) y) z', statement) INTO part;
	RETURN ran(statement) || ' ' || ran(statement || ' LIMIT 5') || ' ' || digest || part;
END $$;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE a (id int PRIMARY KEY, k int, i2 int2, i8 int8, n numeric(12,2), w numeric(30,4), u numeric, f4 float4, f8 float8, d date, ts timestamp,
	tz timestamptz, tm time, iv interval, b bool, t text COLLATE "C", v varchar(60) COLLATE "C", c char(6) COLLATE "C", by bytea, uu uuid, m mood, o oid, other text COLLATE "POSIX");
INSERT INTO a SELECT g, g % 50, (g * 7919 % 20011 - 10000)::int2, (g * 7919 % 20011 - 10000) * 100000000000, (g * 7919 % 20011) * 0.01 - 100, (g * 7919 % 20011 - 10000) * 100000000000000000000.0001,
	g / 7.0, g / 3.0, (g * 7919 % 20011 - 10000) / 8.0, date '1999-12-01' + g * 7919 % 701, timestamp '2000-01-01' + (g * 7919 % 20011 - 10000) * interval '1 hour',
	timestamptz '2000-01-01 00:00+00' + (g * 7919 % 20011 - 10000) * interval '1 minute', time '00:00' + g * 7919 % 20011 * interval '1 second', g * interval '3 hour', g % 3 = 0,
	'text ' || g * 7919 % 1999, repeat('long ', g % 5) || g * 7919 % 1999, left('c' || g * 7919 % 1999 || (ARRAY['', E'\t', '!', '  '])[1 + g % 4], 6), convert_to(repeat('x', g % 30), 'UTF8') || decode(to_hex(g % 150 + 16), 'hex'),
	md5(g::text)::uuid, (ARRAY['sad', 'ok', 'happy'])[1 + g % 3]::mood, g, 'other ' || g % 17 FROM generate_series(1, 12000) g;
INSERT INTO a (id, k) SELECT g, g % 50 FROM generate_series(12001, 12020) g;
INSERT INTO a (id, n, w, f8, d, ts, tz, t, v, c, by) VALUES
	(20001, 'NaN', 'NaN', 'NaN', 'infinity', 'infinity', 'infinity', '', '', '', ''), (20002, -9999999999.99, -99999999999999999999999999.9999, '-infinity', '-infinity', '-infinity', '-infinity', E'\x01', ' ', ' ', '\x00'),
	(20003, 9999999999.99, 99999999999999999999999999.9999, 'infinity', '5874897-12-31', '294276-12-31', '294276-12-31', 'täxt', E'\t', E'\t', '\x0000'), (20004, 0, 0, '-0', '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC', 'text', 'text', 'c1', '\xff'),
	(20005, 0, 0, 0, '2000-01-01', '2000-01-01', '2000-01-01', 'text ', 'text ', E'c1\t', '\xff00');
INSERT INTO a (id, f4, o, iv, uu, m) VALUES (20006, 'NaN', 4294967295, '1 month', 'ffffffff-ffff-ffff-ffff-ffffffffffff', 'happy'), (20007, '-infinity', 3000000000, '30 days', '00000000-0000-0000-0000-000000000000', 'sad'),
	(20008, 'infinity', 0, '29 days 24:00:00.000001', 'ffffffff-ffff-ffff-ffff-fffffffffffe', 'sad'), (20009, '-0', 2147483648, '-1 month', '7fffffff-0000-0000-0000-000000000000', 'ok'),
	(20010, 0, 2147483647, '-178000000 years', '80000000-0000-0000-0000-000000000000', 'ok'), (20011, -1e-40, 1, '178000000 years', '80000000-0000-0000-0000-000000000001', 'happy');
CREATE TABLE b (k int, n numeric(5,1), t text COLLATE "C", v int);
INSERT INTO b SELECT g % 40, g + 0.5, repeat('a text of the other side ', g % 3), g FROM generate_series(0, 59) g;
INSERT INTO b VALUES (NULL, NULL, 'no key', 7);
CREATE TABLE none (k int, x text);
CREATE TABLE p (k int, x numeric(8,2)) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (1000);
INSERT INTO p SELECT g % 1000, g * 7919 % 6007 FROM generate_series(1, 6000) g;
ANALYZE;

-- every type, both directions, NULLs on both sides
SELECT k.column_name, o.direction, check_order('id, ' || k.column_name, 'a', k.column_name || o.direction || ', id')
FROM information_schema.columns k, (VALUES (''), (' DESC'), (' NULLS FIRST'), (' DESC NULLS LAST')) o (direction)
WHERE k.table_name = 'a' AND k.column_name NOT IN ('u') ORDER BY k.ordinal_position, o.direction;
SELECT ran(format('SELECT id FROM a ORDER BY %s LIMIT 3', k), 'plan') FROM unnest(ARRAY['t COLLATE "en-x-icu"', 'a']) k;
-- an enum whose labels are not in the order of their numbers any more
SELECT id, m FROM a WHERE id > 11990 ORDER BY m DESC NULLS LAST, id LIMIT 4;
ALTER TYPE mood ADD VALUE 'glad' BEFORE 'happy';
SELECT ran('SELECT id, m FROM a ORDER BY m DESC NULLS LAST, id LIMIT 4', 'plan');
INSERT INTO a (id, m) VALUES (20012, 'glad');
SELECT id, m FROM a WHERE id > 11990 ORDER BY m, id LIMIT 15;
-- several keys, many equal, all equal; expressions; nothing but a key
SELECT check_order('id, k, b, d', 'a', 'k DESC, b, d DESC NULLS LAST, id');
SELECT check_order('k, b', 'a', 'b, k');
SELECT check_order('k', 'a', 'k');
SELECT check_order('1 AS one', 'a', 'k % 2');
SELECT check_order('id', 'a', 'k % 7, -id');
SELECT check_order('id', 'a WHERE id < 20000', 'n * 2 + id, id');
SELECT check_order('id', 'a', 'coalesce(f8, 0) DESC, CASE WHEN b THEN id ELSE -id END');
SELECT check_order('id, length(v), i8 / 3', 'a WHERE k < 9 AND v LIKE ''long%''', 't, substring(v from 1 for 7), id DESC');
SELECT check_order('id', 'a WHERE id < 20000', 'extract(year FROM ts), date_trunc(''month'', ts) DESC, id');
SELECT id, upper(t), random() < 2 AS r, n / 3, (SELECT count(*) FROM b WHERE b.k = a.k) FROM a WHERE id % 3 = 0 ORDER BY i2, id LIMIT 4;
SELECT a.*, o FROM a ORDER BY i8 DESC NULLS LAST, id LIMIT 3;

-- joins
SELECT check_order('a.id, b.v, b.t, a.uu, a.m', 'a JOIN b ON a.k = b.k', 'b.n DESC, a.w, a.id');
SELECT check_order('a.id, b.v', 'a LEFT JOIN b ON a.k = b.k AND b.v > 20', 'b.t NULLS FIRST, b.v DESC, a.id');
SELECT check_order('a.id', 'a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)', 'a.f8 DESC, a.id');
SELECT check_order('a.id', 'a WHERE a.k NOT IN (SELECT k FROM b WHERE k IS NOT NULL)', 'a.f8 DESC, a.id');
SELECT check_order('b.v, x.v AS w', 'b JOIN b x ON x.k = b.k', 'x.v - b.v, b.v');
SELECT a.id, none.x FROM a LEFT JOIN none USING (k) ORDER BY a.t DESC NULLS LAST, a.id LIMIT 3;
SELECT a.id FROM a JOIN none USING (k) ORDER BY 1;
SELECT check_order('k, x', 'p', 'x DESC, k');
SELECT check_order('a.id, q.k', 'a JOIN p q ON q.k = a.id', 'q.x DESC, a.id, q.k');

-- groups
SELECT ran('SELECT k, sum(n), count(*) FROM a WHERE id < 20000 GROUP BY k ORDER BY 2 DESC, 1 LIMIT 3');
SELECT check_order('k, sum(i8) AS s, avg(n) AS m', 'a WHERE id < 20000 GROUP BY k', 'sum(i8) DESC, k');
SELECT check_order('t, max(d) AS d', 'a GROUP BY t', 'max(d) DESC NULLS LAST, t DESC');
SELECT check_order('t, k, count(*) AS c', 'a GROUP BY t, k HAVING count(*) > 1 AND min(id) > 50', 'count(*) DESC, k NULLS FIRST, t');
SELECT check_order('id, sum(b.n) AS s', 'a JOIN b USING (k) GROUP BY id', 'min(b.t), sum(b.n) DESC, id');
SELECT check_order('DISTINCT k', 'a', 'k DESC');
SELECT k, count(DISTINCT b) FROM a GROUP BY k ORDER BY 2, 1 DESC LIMIT 3;
SELECT k, avg(f8) FROM a WHERE id < 20000 GROUP BY k ORDER BY avg(f8), k LIMIT 3;
SELECT sum(k) FROM a ORDER BY 1 LIMIT 1;
SELECT k + 1, count(*) + 2 FROM a GROUP BY k + 1 ORDER BY 2 + count(*), 1 DESC LIMIT 4 OFFSET 2;
SELECT a.id, a.d FROM a GROUP BY a.id ORDER BY a.d, a.id LIMIT 2;
SELECT k, sum(n / (k - 7)) FROM a GROUP BY k ORDER BY 2 LIMIT 1;
SELECT ran('SELECT k, rank() OVER (ORDER BY k + f4) FROM a ORDER BY 2 LIMIT 3', 'plan'), ran('SELECT k, sum(n) FROM a GROUP BY GROUPING SETS ((u), (k), ()) ORDER BY 2 LIMIT 1', 'plan');

-- LIMIT and OFFSET of all kinds
SELECT id FROM a ORDER BY i2, id LIMIT 0;
SELECT id FROM a ORDER BY i2, id LIMIT 2 OFFSET 11999;
SELECT id FROM a ORDER BY i2, id LIMIT 2 OFFSET 100000;
SELECT id FROM a WHERE id < 5 ORDER BY i2, id LIMIT ALL OFFSET 1;
SELECT id FROM a WHERE id < 5 ORDER BY i2, id LIMIT NULL OFFSET NULL;
SELECT id FROM a WHERE id < 5 ORDER BY i2, id OFFSET 2;
SELECT id FROM a ORDER BY i2, id LIMIT -1;
SELECT id FROM a ORDER BY i2, id LIMIT 1 OFFSET -1;
SELECT id FROM a ORDER BY i2, id LIMIT (SELECT 2) OFFSET (SELECT min(v) FROM b);
SELECT k FROM a ORDER BY k FETCH FIRST 2 ROWS WITH TIES;
SELECT count(*) FROM (SELECT k FROM a ORDER BY k FETCH FIRST 2 ROWS WITH TIES) x;
SELECT id FROM a ORDER BY i2, id LIMIT 9223372036854775807 OFFSET 12020;
SELECT x.id FROM b, LATERAL (SELECT id FROM a WHERE a.k = b.k ORDER BY a.f8, id LIMIT b.v) x WHERE b.v < 4 ORDER BY b.v, x.id;
PREPARE few (bigint, bigint) AS SELECT id FROM a WHERE k = $2 ORDER BY d, id LIMIT $1 OFFSET $2;
EXECUTE few (2, 1);
SET plan_cache_mode = force_generic_plan;
SELECT ran('EXECUTE few (2, 1)');
EXECUTE few (2, 1);
EXECUTE few (NULL, 45);
EXECUTE few (1, NULL);
EXECUTE few (-1, 1);
RESET plan_cache_mode;
SELECT id, generate_series(1, 2) FROM a ORDER BY i2, id LIMIT 3;
SELECT id, generate_series(1, k % 3) FROM a ORDER BY i2, id LIMIT 3;
SELECT id FROM a ORDER BY i2, id LIMIT 1 FOR UPDATE;
(SELECT id FROM a ORDER BY i2, id LIMIT 2) UNION ALL (SELECT v FROM b ORDER BY n DESC, v LIMIT 2) ORDER BY 1 DESC LIMIT 3;
SELECT count(*), sum(x.id) FROM (SELECT id FROM a ORDER BY f8 DESC, id LIMIT 500) x JOIN b ON b.v = x.id % 60;
CREATE TABLE copy AS SELECT id, t FROM a ORDER BY t, id LIMIT 50;
INSERT INTO copy SELECT id, v FROM a ORDER BY v DESC, id LIMIT 50;
SELECT count(*), sum(id) FROM copy;
DELETE FROM copy WHERE id IN (SELECT id FROM copy ORDER BY t DESC, id LIMIT 10);
SELECT count(*), sum(id) FROM copy;

-- values that jobs do not compute, errors
SELECT ran('SELECT id FROM a ORDER BY n * 100000000000000, id LIMIT 3', 'fallback');
SELECT id FROM a ORDER BY n * 100000000000000, id LIMIT 3;
SELECT id FROM a ORDER BY i8 * 10000000, id LIMIT 3;
SELECT id FROM a ORDER BY 1 / (k - 3), id LIMIT 3;
SELECT id, 1 / (i2 - i2) FROM a ORDER BY i2 LIMIT 1;
SET tsurugi_fdw.job_memory = '64kB';
SELECT ran('SELECT id, t FROM a ORDER BY v, id', 'fallback');
SELECT count(*) FROM (SELECT id, t FROM a ORDER BY v, id OFFSET 0) x;
RESET tsurugi_fdw.job_memory;

-- cursors, own writes, savepoints
BEGIN;
DECLARE x CURSOR FOR SELECT id, k FROM a ORDER BY n DESC, id;
FETCH 3 FROM x;
UPDATE a SET n = n + 1000 WHERE id < 100;
MOVE 1500 IN x;
FETCH 2 FROM x;
SELECT id, n FROM a ORDER BY n DESC, id LIMIT 3 OFFSET 8;
UPDATE a SET k = 1 WHERE CURRENT OF x;
ROLLBACK;
BEGIN;
DECLARE x SCROLL CURSOR FOR SELECT id FROM a ORDER BY n DESC, id LIMIT 20;
FETCH 3 FROM x;
FETCH BACKWARD 2 FROM x;
FETCH LAST FROM x;
SAVEPOINT s;
INSERT INTO a (id, n) VALUES (30000, 5000);
DECLARE y CURSOR FOR SELECT id FROM a ORDER BY n DESC, id;
FETCH 3 FROM y;
ROLLBACK TO s;
FETCH 1 FROM y;
ROLLBACK;
BEGIN;
DECLARE x CURSOR WITH HOLD FOR SELECT id FROM a ORDER BY n, id LIMIT 9;
COMMIT;
FETCH 4 FROM x;
-- a value that is seen as of another type
SELECT o FROM (VALUES (1::oid), (4294967295)) x(o) ORDER BY o::int4;
CREATE TABLE as_other (o oid);
INSERT INTO as_other VALUES (1), (4294967295), (7);
SELECT o FROM as_other ORDER BY o::int4;
SELECT o FROM as_other ORDER BY o DESC LIMIT 2;

-- Jobs below window functions, DISTINCT ON, grouping sets and aggregates that no job computes: rows
-- and groups in order, in place of a Sort.
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
		IF line ~ ' sort by' THEN
			was := 'sorted';
		ELSIF line LIKE '%Fallback:%' THEN
			was := 'fallback';
		END IF;
	END LOOP;
	RETURN was;
END $$;
-- rows as a set: nodes above may hand them out in any order
CREATE FUNCTION digest(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(t, chr(10) ORDER BY t COLLATE "C")) FROM (SELECT x::text AS t FROM (%s) x) y', statement) INTO result;
	RETURN result;
END $$;
CREATE FUNCTION same(statement text, expected text DEFAULT 'sorted') RETURNS text LANGUAGE sql AS
	$$ SELECT ran(statement, expected) || ' ' || digest(statement) $$;

CREATE TABLE a (id int PRIMARY KEY, k int, g int, v varchar(20) COLLATE "C", n numeric(12,2), f float8, d date, t text COLLATE "C", u text);
INSERT INTO a SELECT g, nullif(g % 50, 9), g % 7, 'v' || g % 20, nullif(g * 7919 % 2003, 100), g * 7919 % 20011 / 8.0, date '2020-01-01' + g % 300, 'text ' || g % 91, 'other ' || g % 30
	FROM generate_series(1, 6000) g;
CREATE TABLE b (k int, x int, t text COLLATE "C");
INSERT INTO b SELECT g, g % 4, 'b' || g % 6 FROM generate_series(0, 44) g;
INSERT INTO b VALUES (NULL, NULL, NULL);
CREATE TABLE none (k int, n int);
CREATE TABLE p (k int, x numeric(8,2)) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (100) TO (1000);
INSERT INTO p SELECT g % 1000, g * 7919 % 607 FROM generate_series(1, 3000) g;
ANALYZE;

-- window functions: order and partition, both directions, ties, NULLs, frames
SELECT w, same(format('SELECT id, %s FROM a', w)) FROM unnest(ARRAY[
	'row_number() OVER (PARTITION BY k ORDER BY id)',
	'row_number() OVER (ORDER BY n DESC NULLS LAST, id)',
	'rank() OVER (PARTITION BY g ORDER BY n NULLS FIRST), dense_rank() OVER (PARTITION BY g ORDER BY n NULLS FIRST)',
	'lag(n, 2, -1) OVER (PARTITION BY v ORDER BY d DESC, id), lead(t) OVER (PARTITION BY v ORDER BY d DESC, id)',
	'sum(n) OVER (PARTITION BY k ORDER BY d), count(*) OVER (PARTITION BY k)',
	'sum(n) OVER (PARTITION BY k ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW)',
	'count(*) OVER (PARTITION BY g ORDER BY n RANGE BETWEEN 10 PRECEDING AND 5 FOLLOWING)',
	'max(f) OVER (PARTITION BY g ORDER BY d GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING)',
	'first_value(id) OVER (PARTITION BY t ORDER BY id), nth_value(id, 3) OVER (PARTITION BY t ORDER BY id), ntile(4) OVER (PARTITION BY t ORDER BY id)',
	'sum(g) FILTER (WHERE n > 1000) OVER (PARTITION BY v ORDER BY id), string_agg(t, '','') OVER (PARTITION BY v ORDER BY id ROWS 2 PRECEDING)',
	'percent_rank() OVER (PARTITION BY id % 5 ORDER BY -n), cume_dist() OVER (PARTITION BY id % 5 ORDER BY -n)',
	'avg(n) OVER (PARTITION BY k, g), sum(id) OVER (PARTITION BY k)',
	'rank() OVER (ORDER BY d), rank() OVER (PARTITION BY v ORDER BY n), rank() OVER (PARTITION BY v)']) w;
-- an order that jobs do not compute is PostgreSQL's
SELECT same('SELECT id, rank() OVER (PARTITION BY md5(u) COLLATE "C" ORDER BY n) FROM a', 'plan');
-- over joins, groups, partitions, no rows
SELECT same('SELECT a.id, b.t, row_number() OVER (PARTITION BY b.t ORDER BY a.id) FROM a JOIN b USING (k)');
SELECT same('SELECT a.id, b.x, row_number() OVER (PARTITION BY b.k ORDER BY a.k, a.id) FROM a JOIN b ON a.k = b.k WHERE a.g < 3');
SELECT same('SELECT a.id, b.x, rank() OVER (PARTITION BY b.x ORDER BY a.n) FROM a LEFT JOIN b ON a.k = b.k AND b.x > 1');
SELECT same('SELECT k, sum(n), rank() OVER (ORDER BY sum(n) DESC) FROM a GROUP BY k');
SELECT same('SELECT k, g, sum(n), sum(sum(n)) OVER (PARTITION BY g ORDER BY k), count(*) * 100 / sum(count(*)) OVER (PARTITION BY g) FROM a GROUP BY k, g HAVING count(*) > 1');
SELECT same('SELECT *, rank() OVER (PARTITION BY k % 10 ORDER BY x) FROM p');
SELECT same('SELECT k, row_number() OVER (ORDER BY n) FROM none');
-- in subqueries, with a bound on the rank; with LIMIT and ORDER BY above
SELECT same('SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY n DESC, id) AS r FROM a) x WHERE r <= 3');
SELECT * FROM (SELECT id, k, row_number() OVER (PARTITION BY k ORDER BY n DESC, id) AS r FROM a) x WHERE r = 1 ORDER BY id LIMIT 5;
SELECT x.id, x.r, (SELECT max(r) FROM (SELECT rank() OVER (ORDER BY a.n) AS r FROM a WHERE a.k = x.id % 50) y) FROM (SELECT id, rank() OVER (ORDER BY id DESC) AS r FROM a WHERE id < 8) x ORDER BY id;
SELECT id, lag(id) OVER (ORDER BY id) FROM a ORDER BY id DESC LIMIT 3;

-- DISTINCT ON
SELECT same('SELECT DISTINCT ON (k) k, id, n FROM a ORDER BY k, n DESC NULLS LAST, id');
SELECT same('SELECT DISTINCT ON (b.t, a.g) b.t, a.g, a.id FROM a JOIN b USING (k) ORDER BY b.t, a.g DESC, a.id');
SELECT DISTINCT ON (g) g, id FROM a ORDER BY g, id DESC;
-- aggregates that no job computes, by groups
SELECT same('SELECT k, string_agg(t, '','' ORDER BY id), array_agg(id ORDER BY id DESC) FROM a GROUP BY k');
SELECT same('SELECT v, percentile_disc(0.5) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY g) FROM a GROUP BY v');
SELECT same('SELECT b.t, jsonb_agg(a.id ORDER BY a.id) FROM a JOIN b USING (k) GROUP BY b.t');
-- grouping sets
SELECT same('SELECT k, g, sum(n), count(*), grouping(k, g) FROM a GROUP BY ROLLUP (k, g)');
SET enable_hashagg = off;
SELECT same('SELECT v, g, d, sum(n) FROM a GROUP BY CUBE (v, g), d');
SELECT same('SELECT b.x, a.g, avg(a.n) FROM a JOIN b USING (k) GROUP BY GROUPING SETS ((b.x, a.g), (b.x), ()) HAVING count(*) > 100');
RESET enable_hashagg;

-- own writes, savepoints; parameters; cursors
BEGIN;
UPDATE a SET n = n + 5000 WHERE k = 3;
INSERT INTO a (id, k, n) VALUES (10001, 3, 1), (10002, NULL, NULL);
SELECT same('SELECT id, rank() OVER (PARTITION BY k ORDER BY n) FROM a');
SAVEPOINT s;
DELETE FROM a WHERE g = 2;
SELECT same('SELECT id, rank() OVER (PARTITION BY k ORDER BY n) FROM a');
ROLLBACK TO s;
SELECT same('SELECT id, rank() OVER (PARTITION BY k ORDER BY n) FROM a');
ROLLBACK;
PREPARE ranks(int, int) AS SELECT id, rank() OVER (PARTITION BY k % $2 ORDER BY n, id) FROM a WHERE g = $1 ORDER BY id LIMIT 4;
SET plan_cache_mode = force_generic_plan;
EXECUTE ranks(3, 5);
EXECUTE ranks(NULL, 5);
EXECUTE ranks(4, 11);
EXECUTE ranks(4, 0);
RESET plan_cache_mode;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id, row_number() OVER (PARTITION BY g ORDER BY n, id) FROM a;
FETCH 2 FROM c;
MOVE 3000 IN c;
FETCH 2 FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;
-- stored
CREATE TABLE best AS SELECT DISTINCT ON (k) k, id FROM a ORDER BY k, n DESC NULLS LAST, id;
INSERT INTO best SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) FROM a WHERE g = 5;
SELECT count(*), sum(k), sum(id) FROM best;

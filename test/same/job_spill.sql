-- Jobs whose rows do not fit into job_memory: sorts, groups, joins.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
SET tsurugi_fdw.job_memory = '3MB';
-- 'spilled': a job has written rows to temporary files; for ordinary tables, too, so that answers are equal
CREATE FUNCTION ran(statement text, expected text DEFAULT 'spilled') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	was text := 'plan';
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN expected;
	END IF;
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
		IF line LIKE '%Fallback:%' OR line ~ ' spilled' THEN
			was := CASE WHEN line LIKE '%Fallback:%' THEN line ELSE 'spilled' END;
		ELSIF line LIKE '%Tsurugi Job%' AND was = 'plan' THEN
			was := 'job';
		END IF;
	END LOOP;
	RETURN was;
END $$;
-- what ran it, the number of rows, and a digest of them in their order
CREATE FUNCTION answer(statement text, expected text DEFAULT 'spilled') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(x::text, chr(10) ORDER BY n)) FROM (SELECT row_number() OVER () AS n, y AS x FROM (%s) y) z', statement) INTO digest;
	RETURN ran(statement, expected) || ' ' || digest;
END $$;
CREATE TABLE a (id int PRIMARY KEY, k int, big bigint, n numeric(12,2), w numeric(30,4), f float8, b bool, d date, t text COLLATE "C", v varchar(80) COLLATE "C", uu uuid);
INSERT INTO a SELECT g, g % 997, g::bigint * 7919 % 100003, (g * 7919 % 20011) * 0.01 - 100, (g * 7919 % 20011 - 10000) * 100000000000000000000.0001, CASE WHEN g % 11 > 0 THEN g / 3.0 END, g % 3 = 0,
	date '1999-12-01' + g * 7919 % 701, 'text ' || g % 1999, CASE WHEN g % 7 > 0 THEN repeat('long ', g % 9) || g % 5003 END, md5(g::text)::uuid FROM generate_series(1, 60000) g;
CREATE TABLE b (k int, t text COLLATE "C");
INSERT INTO b SELECT g % 500, 'b ' || g FROM generate_series(1, 1000) g;
ANALYZE a, b;

-- sorts
SELECT answer('SELECT * FROM a ORDER BY big, id');
SELECT answer('SELECT id, v, t FROM a ORDER BY v DESC NULLS LAST, id DESC');
SELECT answer('SELECT id, f, b FROM a ORDER BY b, f DESC, id');
SELECT answer('SELECT w, uu, id FROM a WHERE id % 10 > 0 ORDER BY w, id');
SELECT answer('SELECT a.id, b.t, a.v FROM a JOIN b ON b.k = a.k ORDER BY b.t DESC, a.id');
SELECT answer('SELECT a.id, b.t FROM a LEFT JOIN b ON b.k = a.k ORDER BY a.v, a.id, b.t');
SELECT answer('SELECT id, t, v FROM a ORDER BY t, id LIMIT 20000');
SELECT answer('SELECT id, t, v FROM a ORDER BY t, id LIMIT 20000 OFFSET 30000');
SELECT answer('SELECT a.id, a.t FROM a ORDER BY a.id DESC LIMIT 7', 'job');
SELECT count(*), sum(r) FROM (SELECT rank() OVER (PARTITION BY k ORDER BY v, id) AS r FROM a) x;
SELECT ran('SELECT rank() OVER (PARTITION BY k ORDER BY v, id) AS r FROM a');

-- groups: many, of several keys, of texts and NULLs, of groups, sorted
CREATE FUNCTION digest(statement text, expected text DEFAULT 'spilled') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest text;
BEGIN
	EXECUTE format('SELECT count(*) || '' '' || md5(string_agg(x::text, chr(10) ORDER BY x::text COLLATE "C")) FROM (SELECT y AS x FROM (%s) y) z', statement) INTO digest;
	RETURN ran(statement, expected) || ' ' || digest;
END $$;
SELECT digest('SELECT id, count(*), sum(n), min(v), max(t), avg(n), bool_and(b) FROM a GROUP BY id');
SELECT digest('SELECT v, t, count(*), sum(big), max(d) FROM a GROUP BY v, t');
SELECT digest('SELECT DISTINCT v, f, k FROM a');
SELECT digest('SELECT big, count(*) FILTER (WHERE b), sum(n) FILTER (WHERE k < 500) FROM a GROUP BY big HAVING count(*) > 0');
SELECT digest('SELECT a.id, b.t, count(*) FROM a JOIN b ON b.k = a.k GROUP BY a.id, b.t');
SELECT digest('SELECT k, count(DISTINCT v), count(DISTINCT v) FROM a GROUP BY k');
SELECT digest('SELECT count(DISTINCT id), sum(DISTINCT id) FROM a');
SELECT digest('SELECT c, count(*), max(k) FROM (SELECT id % 20000 AS i, count(*) AS c, max(k) AS k FROM a GROUP BY id % 20000) x GROUP BY c');
SELECT digest('SELECT a.id, x.c FROM a JOIN (SELECT big, count(*) AS c FROM a GROUP BY big) x ON x.big = a.id WHERE a.id % 100 = 0');
SELECT answer('SELECT id, count(*), min(v), max(t) FROM a GROUP BY id ORDER BY min(v) DESC, id');
SELECT answer('SELECT v, t, sum(n) AS s FROM a GROUP BY v, t ORDER BY s, v, t LIMIT 30000');
SELECT answer('SELECT id, min(v) FROM a GROUP BY id ORDER BY id DESC LIMIT 5');
SELECT k, count(*) FROM a GROUP BY k ORDER BY k LIMIT 3;
-- numerics with a scale of each row: as keys, in sums of several tasks, in order, in the rows of a join
SELECT digest('SELECT id, n / 7, sum(n / 3), avg(n / (k + 1)), max(n / 3), min(-n / 9) FROM a GROUP BY id, n / 7');
SELECT answer('SELECT id, n FROM a ORDER BY n / (k + 1), id');
SELECT answer('SELECT id, avg(n) * 2 AS m FROM a GROUP BY id ORDER BY avg(n) / 3 DESC, id');
SELECT digest('SELECT a.id, sum(x.m) FROM a JOIN (SELECT id AS i, n / 7 AS q, avg(n) AS m FROM a GROUP BY id, n / 7) x ON x.q = a.n / 7 AND x.i = a.id WHERE a.n > x.m - 1 GROUP BY a.id');
SELECT digest('SELECT sum(n / (k + 1)), avg(n / (k + 1)), min(n / (k + 1)), max(n / (k + 1)) FROM a', 'job');
SELECT digest('SELECT k % 5, sum(n / (k + 1)), avg(n / (k + 1)), sum(n) / sum(k) FROM a GROUP BY k % 5', 'job');
SELECT count(*), sum(n) FROM a;
CREATE TABLE copy (id int PRIMARY KEY, c bigint, v text);
INSERT INTO copy SELECT id, count(*), min(v) FROM a GROUP BY id;
SELECT count(*), sum(id), sum(c), min(v), max(v) FROM copy;
BEGIN;
DECLARE x CURSOR FOR SELECT id, count(*), min(v) FROM a GROUP BY id;
MOVE 30000 IN x;
MOVE 50000 IN x;
ROLLBACK;

-- joins of each kind, with builds that have no room; keys that are NULL, and that many rows have
CREATE TABLE c (id int, big bigint, t text COLLATE "C", v varchar(80) COLLATE "C");
INSERT INTO c SELECT g, CASE WHEN g % 13 > 0 THEN g::bigint * 31 % 70001 END, 'c ' || g % 3001, repeat('long ', g % 7) || g FROM generate_series(1, 50000) g;
ANALYZE c;
SELECT digest('SELECT a.id, c.id, c.t, c.v FROM a JOIN c ON c.big = a.id');
SELECT digest('SELECT a.id, c.id, c.v FROM a LEFT JOIN c ON c.big = a.id AND c.v > a.t');
SELECT digest('SELECT a.id, a.v, c.id, c.v FROM a RIGHT JOIN c ON c.big = a.id');
SELECT digest('SELECT a.id, a.v, c.id, c.v FROM a FULL JOIN c ON c.big = a.id');
SELECT digest('SELECT a.id, a.v FROM a WHERE EXISTS (SELECT FROM c WHERE c.big = a.id)');
SELECT digest('SELECT a.id, a.v FROM a WHERE EXISTS (SELECT FROM c WHERE c.big = a.id AND c.v > a.t)');
SELECT digest('SELECT a.id, a.v FROM a WHERE NOT EXISTS (SELECT FROM c WHERE c.big = a.id)');
SELECT digest('SELECT a.id, a.v FROM a WHERE NOT EXISTS (SELECT FROM c WHERE c.big = a.big AND c.t <> a.t)');
SELECT digest('SELECT a.id FROM a WHERE a.id NOT IN (SELECT big FROM c WHERE big IS NOT NULL)', 'plan');
SELECT digest('SELECT a.id FROM a WHERE a.id NOT IN (SELECT big FROM c)');
SELECT digest('SELECT x.id, y.id, c.id FROM a x JOIN a y ON y.big = x.id JOIN c ON c.id = y.id');
SELECT digest('SELECT x.id, y.id, c.id FROM a x LEFT JOIN a y ON y.big = x.id FULL JOIN c ON c.big = x.id');
SELECT count(*), sum(a.n), min(c.v) FROM a JOIN c ON c.big = a.id;
SELECT ran('SELECT count(*), sum(a.n), min(c.v) FROM a JOIN c ON c.big = a.id');
SELECT answer('SELECT a.id, c.id, c.v FROM a JOIN c ON c.big = a.id ORDER BY c.v, c.id, a.id');
BEGIN;
DECLARE x CURSOR FOR SELECT a.id, c.v FROM a JOIN c ON c.big = a.id;
MOVE 20000 IN x;
MOVE 100000 IN x;
ROLLBACK;

-- cursors: others between their rows, an end in the middle
BEGIN;
DECLARE x CURSOR FOR SELECT id, v FROM a ORDER BY v, id;
FETCH 3 FROM x;
DECLARE y CURSOR FOR SELECT id, t FROM a ORDER BY t DESC, id;
FETCH 3 FROM y;
MOVE 40000 IN x;
FETCH 3 FROM x;
CLOSE x;
MOVE 59990 IN y;
FETCH ALL FROM y;
ROLLBACK;
BEGIN;
SAVEPOINT s;
DECLARE x CURSOR FOR SELECT id FROM a ORDER BY v, id;
FETCH 2 FROM x;
ROLLBACK TO s;
FETCH 2 FROM x;
ROLLBACK;

-- limits
SET temp_file_limit = '256kB';
SELECT count(*) FROM (SELECT id, v, t FROM a ORDER BY v, id OFFSET 0) x;
RESET temp_file_limit;

-- all rows of one key, which have no room together: PostgreSQL's join
CREATE TABLE many (id int PRIMARY KEY, k int, t text);
INSERT INTO many SELECT g, CASE WHEN g % 10 = 0 THEN g ELSE 7 END, 'a text that is long enough not to have room ' || g FROM generate_series(1, 60000) g;
CREATE TABLE other (id int PRIMARY KEY, k int);
INSERT INTO other SELECT g, g FROM generate_series(1, 70000) g;
ANALYZE many, other;
SELECT count(*), max(many.t), sum(other.id) FROM many JOIN other USING (k);
SELECT count(*), max(many.t), sum(other.id) FROM many FULL JOIN other USING (k);
SELECT count(*), sum(other.id) FROM other WHERE k IN (SELECT k FROM many);
SELECT count(*), sum(other.id) FROM other LEFT JOIN many ON many.k = other.k AND many.t > 'a text' WHERE many.id IS NULL;

-- what goes to files costs more
SET tsurugi_fdw.jobs = on;
CREATE FUNCTION costs_more(statement text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	costs float8[];
	memory text;
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN true;
	END IF;
	FOREACH memory IN ARRAY ARRAY['1GB', '3MB'] LOOP
		PERFORM set_config('tsurugi_fdw.job_memory', memory, true);
		EXECUTE 'EXPLAIN (FORMAT JSON) ' || statement INTO plan;
		IF plan -> 0 -> 'Plan' ->> 'Custom Plan Provider' IS DISTINCT FROM 'Tsurugi Job' THEN
			RETURN NULL;
		END IF;
		costs := costs || (plan -> 0 -> 'Plan' ->> 'Total Cost')::float8;
	END LOOP;
	RETURN costs[2] > costs[1];
END $$;
SELECT costs_more('SELECT k, t FROM many ORDER BY k'), costs_more('SELECT id, count(*), max(t) FROM many GROUP BY id % 59999, id');
SELECT costs_more('SELECT count(*), sum(id), min(t) FROM many') IS NOT TRUE OR NOT current_setting('tsurugi_fdw.create_table')::bool;

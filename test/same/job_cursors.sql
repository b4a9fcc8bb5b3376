-- Definitions between the begin of a statement that is a job and its first row: refused, as the tables and indexes of the plan are in use.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
SET enable_seqscan = off; -- ranges are read by an index
SET enable_bitmapscan = off;
CREATE TABLE z (id int, a int, x text, n numeric(10,2));
INSERT INTO z SELECT g, g % 7, 'text ' || g, g / 4.0 FROM generate_series(1, 3000) g;
CREATE INDEX zi ON z (id);
CREATE TABLE o (a int, v int);
INSERT INTO o SELECT g % 7, g FROM generate_series(1, 20) g;
CREATE TABLE part (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (100) TO (300);
INSERT INTO part SELECT g, g * 2 FROM generate_series(0, 299) g;
CREATE TABLE into_it (a int, s numeric);
ANALYZE;
-- The code that the definition is answered while a cursor of the query has handed out nothing, and then its first row
CREATE FUNCTION during(query text, definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	r record;
	answer text := 'done';
	line text;
	jobs int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		jobs := jobs + (line LIKE '%Tsurugi Job%')::int;
	END LOOP;
	IF current_setting('tsurugi_fdw.create_table')::bool AND jobs = 0 THEN
		RETURN 'no job';
	END IF;
	OPEN c FOR EXECUTE query;
	BEGIN
		EXECUTE definition;
	EXCEPTION WHEN object_in_use THEN
		answer := sqlstate;
	END;
	FETCH c INTO r;
	CLOSE c;
	RETURN answer || ', ' || r;
END $$;

\set grouped 'SELECT a, max(x COLLATE "C"), sum(n) FROM z GROUP BY a ORDER BY a'
SELECT during(:'grouped', definition) FROM unnest(ARRAY['ALTER TABLE z DROP COLUMN x', 'TRUNCATE z', 'ALTER TABLE z ALTER n TYPE float8', 'ALTER TABLE z ADD COLUMN y int DEFAULT 7',
	'DROP TABLE z', 'CREATE INDEX ON z (a)', 'ALTER TABLE z RENAME COLUMN id TO another', 'CREATE TABLE p (LIKE z)', 'DROP TABLE o']) definition;
ALTER TABLE z RENAME COLUMN another TO id;
CREATE TABLE o (a int, v int);
INSERT INTO o SELECT g % 7, g FROM generate_series(1, 20) g;
ANALYZE o;
\set ranged 'SELECT sum(n), count(*) FROM z WHERE id BETWEEN 100 AND 120'
SELECT during(:'ranged', definition) FROM unnest(ARRAY['DROP INDEX zi', 'ALTER TABLE z DROP COLUMN x']) definition;
-- rows, joins, subqueries, partitions
SELECT during('SELECT z.id, o.v FROM z JOIN o USING (a) ORDER BY 1, 2', definition) FROM unnest(ARRAY['ALTER TABLE z DROP COLUMN x', 'ALTER TABLE o DROP COLUMN v']) definition;
SELECT during('SELECT sum(o.v), sum(s) FROM o JOIN (SELECT a, sum(n) AS s FROM z GROUP BY a) g USING (a)', definition)
	FROM unnest(ARRAY['ALTER TABLE z ALTER n TYPE float8', 'TRUNCATE o', 'TRUNCATE z']) definition;
SELECT during('SELECT count(*) FROM o WHERE v < (SELECT avg(n) FROM z WHERE z.a = o.a)', definition) FROM unnest(ARRAY['TRUNCATE z', 'ALTER TABLE o DROP COLUMN v']) definition;
SELECT during('SELECT count(*), sum(v) FROM part', definition)
	FROM unnest(ARRAY['ALTER TABLE part DROP COLUMN v', 'TRUNCATE part_2', 'DROP TABLE part_1', 'DROP TABLE part', 'SELECT 1']) definition;
-- when the cursor is closed they pass
BEGIN;
DECLARE c CURSOR FOR SELECT count(*), sum(n) FROM z WHERE id BETWEEN 100 AND 120;
CLOSE c;
DROP INDEX zi;
DECLARE c CURSOR FOR SELECT count(*), sum(n) FROM z WHERE id BETWEEN 100 AND 120;
SAVEPOINT s;
ALTER TABLE z DROP COLUMN x;
ROLLBACK TO s;
FETCH ALL FROM c;
CLOSE c;
ALTER TABLE z ADD COLUMN y int DEFAULT 7;
SELECT sum(y) FROM z;
ROLLBACK;

-- of a plan that is kept
CREATE FUNCTION kept(definition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c CURSOR FOR SELECT count(*), sum(n) FROM z WHERE id BETWEEN 100 AND 120;
	r record;
	answer text := 'done';
BEGIN
	OPEN c;
	BEGIN
		EXECUTE definition;
	EXCEPTION WHEN object_in_use THEN
		answer := sqlstate || ' ' || sqlerrm;
	END;
	FETCH c INTO r;
	CLOSE c;
	RETURN answer || ', ' || r;
END $$;
SELECT kept('SELECT 1') FROM generate_series(1, 4);
SELECT kept(definition) FROM unnest(ARRAY['ALTER TABLE z ALTER n TYPE float8', 'DROP INDEX zi', 'TRUNCATE z', 'DROP TABLE z', 'SELECT 1']) definition;

-- an INSERT, of which a part may run before the job
CREATE FUNCTION define(definition text) RETURNS int LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE definition;
	RETURN 3;
EXCEPTION WHEN object_in_use THEN
	RAISE NOTICE '% %', sqlstate, sqlerrm;
	RETURN 3;
END $$;
INSERT INTO into_it SELECT a, sum(n) FROM z WHERE a < (SELECT define('ALTER TABLE into_it DROP COLUMN s')) GROUP BY a;
INSERT INTO into_it SELECT a, sum(n) FROM z WHERE a < (SELECT define('TRUNCATE z')) GROUP BY a;
INSERT INTO into_it SELECT a, n FROM z WHERE a < (SELECT define('DROP TABLE into_it'));
SELECT a, count(*), sum(s) FROM into_it GROUP BY a ORDER BY a;

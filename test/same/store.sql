-- INSERT ... SELECT as jobs whose tasks store the rows: values of every type, what refuses a row,
-- and what is left to PostgreSQL.
SET tsurugi_fdw.jobs = force;
SET max_parallel_workers_per_gather = 0;
-- how the statement was run, and undone: 'job', 'fallback' after a job, or 'plan'; for ordinary
-- tables, too, so that answers are equal
CREATE FUNCTION ran(statement text, expected text DEFAULT 'job') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	was text := 'plan';
BEGIN
	IF NOT current_setting('tsurugi_fdw.create_table')::bool THEN
		RETURN expected;
	END IF;
	BEGIN
		FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) ' || statement LOOP
			IF line LIKE '%, store into %' THEN
				was := 'job';
			ELSIF line LIKE '%Fallback:%' THEN
				was := 'fallback';
			END IF;
		END LOOP;
		RAISE EXCEPTION USING errcode = 'UNDO1';
	EXCEPTION WHEN SQLSTATE 'UNDO1' THEN
		NULL;
	END;
	RETURN was;
END $$;
CREATE TYPE mood AS ENUM ('sad', 'fine');
CREATE TABLE source (id int PRIMARY KEY, i2 int2, i8 int8, n numeric(12,2), w numeric(30,4), u numeric, r float4, f float8, d date, ts timestamp,
	tz timestamptz, tm time, iv interval, b bool, t text, v varchar(40), c char(5), y bytea, g uuid, j jsonb, a int[], m mood, o oid);
INSERT INTO source SELECT i, i % 100, i * 10000000000, i * 1.25 - 300, i * 0.0625, i / 7.0, i / 3.0, i / 8.0 - 20, date '1999-12-01' + i % 70,
	timestamp '2000-01-01' + i * interval '1 hour', timestamptz '2000-01-01 00:00+00' + i * interval '1 minute', time '00:00' + i * interval '1 second',
	i * interval '1 day', i % 3 = 0, 'text ' || i % 13, repeat('long ', i % 8) || i % 11, 'c' || i % 7, decode(md5(i::text), 'hex'),
	md5(i::text)::uuid, jsonb_build_object('i', i, 'long', repeat('x', i % 50)), ARRAY[i, i + 1], CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'fine' END::mood, i
	FROM generate_series(1, 2500) i;
INSERT INTO source (id) SELECT i FROM generate_series(2501, 2520) i;
INSERT INTO source (id, n, w, u, f, r, d, ts, t) VALUES (2600, 'NaN', 'NaN', 'NaN', 'NaN', 'Infinity', 'infinity', '-infinity', ''),
	(2601, 9999999999.99, 99999999999999999999999999.9999, 1e100, -0.0, -0.0, '-infinity', 'infinity', repeat('très long ', 1000));
ANALYZE source;

-- all types, as they are
CREATE TABLE whole (LIKE source INCLUDING ALL);
SELECT ran('INSERT INTO whole SELECT * FROM source');
INSERT INTO whole SELECT * FROM source;
SELECT count(*), min(id), max(id) FROM whole;
SELECT * FROM whole EXCEPT SELECT * FROM source;
SELECT * FROM source EXCEPT SELECT * FROM whole;
SELECT sum(hashtext(whole::text)::int8) FROM whole;
DELETE FROM whole WHERE id % 3 = 0;
INSERT INTO whole SELECT * FROM source WHERE id % 3 = 0;
SELECT count(*), sum(hashtext(whole::text)::int8) FROM whole;

-- computed columns, constants, columns in other places, defaults, NULLs
CREATE TABLE computed (k int8 PRIMARY KEY, i2 int2, i4 int4 DEFAULT 7, n numeric(14,2), b bool, f float8, t text DEFAULT 'by default', v varchar, d date, w numeric(30,4), x text);
SELECT ran('INSERT INTO computed (k, i4, b, n) SELECT i8 / 10000000000 + 1, id * 2, n > 10, n FROM source WHERE i8 IS NOT NULL');
INSERT INTO computed (k, i4, b, n) SELECT i8 / 10000000000 + 1, id * 2, n > 10, n FROM source WHERE i8 IS NOT NULL;
INSERT INTO computed SELECT id + 100000, i2, NULL, n, NULL, f * 2, t, v, d, w, 'a constant that is long' FROM source WHERE id < 500;
INSERT INTO computed (k, x, f, b) SELECT id + 200000, CASE WHEN b THEN 'yes' ELSE 'no' END, 0.5, true FROM source WHERE id % 7 = 0;
SELECT count(*), sum(hashtext(computed::text)::int8) FROM computed;
SELECT * FROM computed WHERE k % 100 = 3 ORDER BY k LIMIT 20;
PREPARE store(int, text) AS INSERT INTO computed (k, t) SELECT id + $1, $2 FROM source WHERE id < $1;
EXECUTE store(300, NULL);
EXECUTE store(400000, 'a parameter that is long');
SELECT count(*), count(t), sum(k), sum(hashtext(computed::text)::int8) FROM computed;

-- joins, groups, the same table
CREATE TABLE other (id int PRIMARY KEY, name varchar(20) NOT NULL, factor int);
INSERT INTO other SELECT i, 'name ' || i, i % 5 FROM generate_series(0, 99) i;
CREATE TABLE joined (id int PRIMARY KEY, name varchar(20), product int8);
SELECT ran('INSERT INTO joined SELECT s.id, o.name, s.i8 * o.factor FROM source s JOIN other o ON s.i2 = o.id');
INSERT INTO joined SELECT s.id, o.name, s.i8 * o.factor FROM source s JOIN other o ON s.i2 = o.id;
SELECT count(*), sum(product), sum(hashtext(joined::text)::int8) FROM joined;
INSERT INTO joined SELECT s.id + 10000, o.name, o.id FROM source s LEFT JOIN other o ON s.i2 = o.id AND o.factor = 2;
SELECT count(*), count(name), sum(product), sum(hashtext(joined::text)::int8) FROM joined;
CREATE TABLE grouped (k int2, n int8, most date);
SELECT ran('INSERT INTO grouped SELECT i2, count(*), max(d) FROM source GROUP BY i2');
INSERT INTO grouped SELECT i2, count(*), max(d) FROM source GROUP BY i2;
SELECT * FROM grouped ORDER BY k NULLS FIRST LIMIT 10;
INSERT INTO joined SELECT id + 100000, name, product FROM joined;
SELECT count(*), sum(id) FROM joined;
INSERT INTO grouped SELECT * FROM grouped;
INSERT INTO grouped SELECT * FROM grouped;
SELECT count(*), sum(n) FROM grouped;
INSERT INTO grouped SELECT i2, id, d FROM source WHERE false;
CREATE TABLE empty_one (LIKE grouped);
INSERT INTO grouped SELECT * FROM empty_one;

-- what refuses a row
CREATE TABLE strict (id int PRIMARY KEY, k int4 UNIQUE, t text NOT NULL, v varchar(8));
INSERT INTO strict VALUES (1500, -1, 'there', NULL), (-1, 1700, 'key there', NULL);
SELECT ran('INSERT INTO strict SELECT id + 5000, id + 5000, t FROM source WHERE id < 1000');
INSERT INTO strict SELECT id, id + 5000, t FROM source WHERE id <= 2500;
INSERT INTO strict SELECT id + 5000, id, t FROM source WHERE id <= 2500;
INSERT INTO strict SELECT id + 5000, id + 5000, t FROM source WHERE id BETWEEN 2400 AND 2600;
INSERT INTO strict SELECT i2, id + 5000, t FROM source WHERE id <= 2500;
INSERT INTO strict SELECT id + 5000, id + 5000, t, v FROM source WHERE id <= 2500;
INSERT INTO strict SELECT id + 5000, id + 5000 + 0 / (id - 900), t FROM source WHERE id <= 2500;
INSERT INTO strict SELECT NULL, id, t FROM source WHERE id <= 2500;
SELECT count(*) FROM strict;
BEGIN;
INSERT INTO strict SELECT id + 5000, id + 5000, t FROM source WHERE id < 100;
SAVEPOINT s;
INSERT INTO strict SELECT id + 6000, id + 6000, t FROM source WHERE id < 200;
SELECT count(*), sum(id) FROM strict;
INSERT INTO strict SELECT id + 6100, id + 7000, t FROM source WHERE id <= 2500;
ROLLBACK TO s;
SELECT count(*), sum(id) FROM strict;
INSERT INTO strict SELECT id + 7000, id + 7000, t FROM source WHERE id < 300;
RELEASE s;
UPDATE strict SET t = 'changed' WHERE id % 10 = 0;
DELETE FROM strict WHERE id % 10 = 1;
INSERT INTO strict SELECT id + 7000, id + 7000, 'again' FROM source WHERE id < 300 AND id % 10 = 1;
COMMIT;
SELECT count(*), sum(id), sum(hashtext(strict::text)::int8) FROM strict;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM strict;
SELECT ran('INSERT INTO strict SELECT id + 9000, id + 9000, t FROM source WHERE id < 200');
INSERT INTO strict SELECT id + 9000, id + 9000, t FROM source WHERE id < 200;
SELECT count(*) FROM strict;
COMMIT;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO strict SELECT id + 10000, id + 10000, t FROM source WHERE id < 200;
SELECT count(*) FROM strict;
ROLLBACK;
SELECT count(*) FROM strict;
BEGIN READ ONLY;
INSERT INTO strict SELECT id + 10000, id + 10000, t FROM source WHERE id < 200;
ROLLBACK;

-- CHECK constraints
CREATE TABLE checked (id int PRIMARY KEY CHECK (id > 0), n numeric(12,2) CHECK (n < 2000 OR n IS NULL), v varchar(40),
	CONSTRAINT both_of CHECK (v LIKE 'long%' OR v <> '7' OR id % 11 = 7), d date CHECK (d >= '1999-12-01'));
SELECT ran('INSERT INTO checked SELECT id, n, v, d FROM source WHERE id < 1500');
INSERT INTO checked SELECT id, n, v, d FROM source WHERE id < 1500;
INSERT INTO checked SELECT id, n, v, d FROM source WHERE id BETWEEN 2000 AND 2550;
INSERT INTO checked SELECT id - 1000, n, v, d FROM source WHERE id < 1001;
INSERT INTO checked SELECT id + 5000, n, '7', d FROM source WHERE id < 100;
INSERT INTO checked SELECT id + 5000, n + 1990, NULL, NULL FROM source WHERE id < 1500;
INSERT INTO checked SELECT id + 5000, NULL, v FROM source WHERE id < 1500;
SELECT count(*), sum(hashtext(checked::text)::int8) FROM checked;
ALTER TABLE checked ADD CHECK (v ~ 'l|[0-9]') NOT VALID;
SELECT ran('INSERT INTO checked SELECT id + 10000, n, v, d FROM source WHERE id < 100 AND i2 < 0', 'plan');
ALTER TABLE checked ADD CHECK (length(checked::text) < 1000) NOT VALID;
INSERT INTO checked SELECT id + 10000, n, v, d FROM source WHERE id < 100;

-- secondary indexes
CREATE TABLE indexed (id int8 PRIMARY KEY, g int, t text, d date);
CREATE INDEX ON indexed (g);
CREATE INDEX ON indexed (t, d);
INSERT INTO indexed SELECT id, i2, v, d FROM source;
SET enable_seqscan = off;
SELECT count(*), sum(id) FROM indexed WHERE g = 17;
SELECT count(*), min(d) FROM indexed WHERE t = '3';
RESET enable_seqscan;

-- views, rights, rules, WITH
CREATE VIEW shown AS SELECT id, g FROM indexed;
SELECT ran('INSERT INTO shown SELECT id + 5000, 1 FROM source');
INSERT INTO shown SELECT id + 5000, 1 FROM source;
SELECT count(*) FROM indexed;
CREATE ROLE storer;
GRANT SELECT ON source TO storer;
GRANT SELECT, INSERT (id, g) ON indexed TO storer;
SET ROLE storer;
INSERT INTO indexed (id, g) SELECT id + 10000, 2 FROM source;
INSERT INTO indexed (id, g, t) SELECT id + 20000, 2, t FROM source;
INSERT INTO strict SELECT id + 5000, id + 5000, t FROM source;
INSERT INTO indexed (id, g) SELECT id + 20000, 2 FROM strict;
RESET ROLE;
DROP OWNED BY storer;
DROP ROLE storer;
WITH w AS (INSERT INTO grouped SELECT i2, id, d FROM source WHERE id < 50 RETURNING n) SELECT count(*), sum(n) FROM w;
WITH w AS (INSERT INTO grouped SELECT i2, id, d FROM source WHERE id < 50) INSERT INTO grouped SELECT i2, id, NULL FROM source WHERE id < 20;
SELECT count(*), sum(n) FROM grouped;
WITH w AS (SELECT i2 FROM source WHERE id < 30) INSERT INTO grouped SELECT i2 FROM w;
SELECT count(*), sum(n) FROM grouped;

-- what PostgreSQL does for a row besides storing it
CREATE SEQUENCE numbers;
CREATE TABLE left_alone (id int DEFAULT nextval('numbers'), v int, twice int GENERATED ALWAYS AS (v * 2) STORED);
INSERT INTO left_alone (v) SELECT id FROM source WHERE id < 30;
SELECT count(*), sum(id), sum(twice) FROM left_alone;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'fired'; RETURN NULL; END $$;
CREATE TRIGGER told AFTER INSERT ON joined FOR EACH STATEMENT EXECUTE FUNCTION tell();
INSERT INTO joined SELECT id + 1000000, NULL, 1 FROM source;
SELECT ran('INSERT INTO indexed SELECT id FROM source WHERE id < 4 ON CONFLICT DO NOTHING', 'plan');
INSERT INTO indexed SELECT id FROM source WHERE id < 4 ON CONFLICT DO NOTHING;
INSERT INTO indexed SELECT id + 30000 FROM source WHERE id < 4 RETURNING id;
SELECT ran('INSERT INTO indexed SELECT id + (random() * 0)::int + 40000 FROM source', 'plan');
ALTER TABLE indexed ADD CHECK (g < 50);
INSERT INTO indexed SELECT id + 60000, i2 FROM source;

-- plans that were made before the table was changed
PREPARE again AS INSERT INTO strict (id, k, t) SELECT id + 20000, id + 20000, 'x' FROM source WHERE id BETWEEN 10 AND 20;
EXECUTE again;
ALTER TABLE strict ADD COLUMN more int DEFAULT 5;
DELETE FROM strict WHERE id > 20000;
EXECUTE again;
SELECT id, more FROM strict WHERE id > 20000 ORDER BY id LIMIT 3;
ALTER TABLE strict ADD CHECK (id < 20015);
DELETE FROM strict WHERE id > 20000;
EXECUTE again;
ALTER TABLE strict DROP COLUMN v;
INSERT INTO strict SELECT id + 15000, id + 15000, t, id FROM source WHERE id < 100;
SELECT count(*), sum(more) FROM strict;
CREATE TABLE made AS SELECT id, n * 2 AS n, t FROM source WHERE id < 1000;
SELECT count(*), sum(n), sum(hashtext(made::text)::int8) FROM made;

-- a CHECK that spares the rows what fails
CREATE TABLE spared (a int, b int, CHECK (b = 0 OR 100 / b > a));
INSERT INTO spared SELECT i, 0 FROM generate_series(1, 3) i;
INSERT INTO spared SELECT a, 0 FROM spared;
INSERT INTO spared SELECT a, 50 FROM spared WHERE a < 2;
INSERT INTO spared SELECT a, 50 FROM spared;
SELECT * FROM spared ORDER BY a, b;
SET plan_cache_mode = force_generic_plan;
PREPARE spared_rows(int) AS SELECT count(*) FROM spared WHERE $1 = 0 OR 100 / $1 > a;
EXECUTE spared_rows(0);
EXECUTE spared_rows(60);
RESET plan_cache_mode;

-- numerics, each with a scale of its own
CREATE TABLE exact (id int PRIMARY KEY, u numeric, q numeric, s numeric DEFAULT 0.50, c numeric(20,3), e numeric CHECK (e > -1e30));
SELECT ran('INSERT INTO exact SELECT id, u * id, n / 7, i8 * 1.50, u / 3, CASE WHEN b THEN n ELSE u END FROM source WHERE id < 2600');
INSERT INTO exact SELECT id, u * id, n / 7, i8 * 1.50, u / 3, CASE WHEN b THEN n ELSE u END FROM source WHERE id < 2600;
SELECT count(*), count(u), sum(u), sum(q), sum(s), sum(c), sum(e), md5(string_agg(exact::text, ',' ORDER BY id)) FROM exact;
SELECT * FROM exact WHERE id IN (1, 7, 240, 241, 2500, 2510) ORDER BY id;
SELECT id FROM exact WHERE u = (SELECT u FROM exact WHERE id = 77);
TRUNCATE exact;
SELECT ran('INSERT INTO exact SELECT id, id * 1.000, n - n, -u * 1000000000, round(u, 5), 0.00 * id FROM source WHERE id < 2500');
INSERT INTO exact SELECT id, id * 1.000, n - n, -u * 1000000000, round(u, 5), 0.00 * id FROM source WHERE id < 2500;
SELECT count(*), count(u), sum(u), sum(q), sum(s), sum(c), sum(e), md5(string_agg(exact::text, ',' ORDER BY id)) FROM exact;
SELECT * FROM exact WHERE id IN (1, 2, 240, 2400) ORDER BY id;
-- of which one is no number, and one fails
INSERT INTO exact SELECT id, u + 1, n * 2 FROM source WHERE id >= 2600;
SELECT * FROM exact WHERE id >= 2600;
INSERT INTO exact SELECT id + 10000, u * 1000000, n * 2, 0, 0, -1e30 * id FROM source WHERE id < 2500;
SELECT count(*) FROM exact;

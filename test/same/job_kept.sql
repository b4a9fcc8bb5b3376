-- Jobs of cached plans, whose translation is kept: executed again and again, while their tables change, beside each other.
SET tsurugi_fdw.jobs = force;
SET plan_cache_mode = force_generic_plan;
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TABLE t (id int PRIMARY KEY, k int, v int, n numeric(10,2), m mood, p positive, s text);
INSERT INTO t SELECT g, g % 5, g * 3, g * 0.25, CASE WHEN g % 2 = 0 THEN 'low' ELSE 'high' END::mood, g, 'text ' || g % 7 FROM generate_series(1, 2000) g;
CREATE INDEX t_k ON t (k);
CREATE TABLE part (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE TABLE part_2 (v int, gone int, id int NOT NULL);
ALTER TABLE part_2 DROP COLUMN gone;
ALTER TABLE part ATTACH PARTITION part_2 FOR VALUES FROM (100) TO (300);
INSERT INTO part SELECT g, g * 2 FROM generate_series(0, 299) g;

-- ranges are of each execution, constants of the plan
PREPARE ranges AS SELECT count(*), sum(v), max(n) FROM t WHERE id BETWEEN $1 AND $2;
EXECUTE ranges(1, 10);
EXECUTE ranges(1, 20);
EXECUTE ranges(1, 30);
EXECUTE ranges(40, 30);
EXECUTE ranges(NULL, 30);
EXECUTE ranges(1990, 3000);
PREPARE constants AS SELECT k, m, count(*), sum(n * 2 + 1), min(s COLLATE "C") FROM t WHERE v > 30 AND m = 'low' AND s LIKE 'text%' AND p IN (20, 22, 24, 26, 500, 700, 900, 902, 904, 906) GROUP BY k, m ORDER BY k;
EXECUTE constants;
EXECUTE constants;
EXECUTE constants;

-- parameters go into programs
PREPARE parameters AS SELECT k, count(*), sum(v + $2) FROM t WHERE v > $1 GROUP BY k ORDER BY k;
EXECUTE parameters(100, 1);
EXECUTE parameters(5000, 2);
EXECUTE parameters(5900, 3);
EXECUTE parameters(NULL, 3);
PREPARE stable AS SELECT count(*) FROM t WHERE s LIKE current_setting('test.pattern');
SET test.pattern = 'text 1';
EXECUTE stable;
EXECUTE stable;
SET test.pattern = '%';
EXECUTE stable;
EXECUTE stable;

-- what comes in between
PREPARE changes AS SELECT count(*), sum(v), avg(n) FROM t WHERE k < 3;
EXECUTE changes;
EXECUTE changes;
INSERT INTO t SELECT g, 1, g, g, 'low', g, 'more' FROM generate_series(3001, 3010) g;
EXECUTE changes;
ALTER TABLE t ADD COLUMN another int DEFAULT 7;
EXECUTE changes;
EXECUTE changes;
EXECUTE changes;
ALTER TABLE t ALTER COLUMN v TYPE bigint;
EXECUTE changes;
EXECUTE changes;
EXECUTE changes;
DROP INDEX t_k;
EXECUTE changes;
EXECUTE changes;
EXECUTE changes;
ALTER TYPE mood ADD VALUE 'middle' BEFORE 'high';
EXECUTE constants;
EXECUTE changes;
BEGIN;
TRUNCATE t;
EXECUTE changes;
INSERT INTO t (id, k, v, n) VALUES (1, 1, 1, 1);
EXECUTE changes;
ROLLBACK;
EXECUTE changes;
ANALYZE t;
EXECUTE changes;
EXECUTE changes;
PREPARE parts AS SELECT count(*), sum(v) FROM part WHERE id >= 50 AND v < 500;
EXECUTE parts;
EXECUTE parts;
EXECUTE parts;
ALTER TABLE part DETACH PARTITION part_1;
EXECUTE parts;
EXECUTE parts;
EXECUTE parts;

-- errors leave nothing behind that is not as it was
PREPARE errors AS SELECT k, sum(v / (id - $1)) FROM t GROUP BY k ORDER BY k;
EXECUTE errors(0);
EXECUTE errors(7);
EXECUTE errors(0);
EXECUTE errors(7);
EXECUTE errors(-1);

-- one execution within another
CREATE FUNCTION nested(depth int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT k, sum(v) AS total FROM t WHERE id BETWEEN depth * 10 AND depth * 20 GROUP BY k ORDER BY k LOOP
		RETURN NEXT depth || ': ' || r.k || ' ' || r.total;
		IF depth > 1 THEN
			RETURN QUERY SELECT nested(depth - 1);
		END IF;
	END LOOP;
END $$;
SELECT * FROM nested(1);
SELECT * FROM nested(1);
SELECT count(*), md5(string_agg(n, ',' ORDER BY n)) FROM nested(3) n;
CREATE FUNCTION total_to(last int) RETURNS bigint STABLE LANGUAGE plpgsql AS $$
DECLARE
	inner_total bigint := 0;
BEGIN
	IF last > 5 THEN
		inner_total := total_to(last - 1);
	END IF;
	RETURN inner_total + (SELECT sum(v) FROM t WHERE id BETWEEN 1 AND (CASE WHEN last > 5 THEN total_to(5) / 9 ELSE last END));
END $$;
SELECT total_to(9);
SELECT total_to(9);
DO $$
DECLARE
	a refcursor;
	b refcursor;
	k int;
	total bigint;
BEGIN
	FOR i IN 1 .. 4 LOOP
		OPEN a FOR SELECT t.k, sum(v) FROM t WHERE id <= 10 * i GROUP BY t.k ORDER BY t.k;
		FETCH a INTO k, total;
		RAISE NOTICE 'a % %', k, total;
		BEGIN
			OPEN b FOR SELECT t.k, sum(v) FROM t WHERE id <= 10 * i GROUP BY t.k ORDER BY t.k;
			FETCH b INTO k, total;
			RAISE NOTICE 'b % %', k, total;
			PERFORM 1 / (i % 2);
			CLOSE b;
		EXCEPTION WHEN division_by_zero THEN
			RAISE NOTICE 'b is gone';
		END;
		FETCH a INTO k, total;
		RAISE NOTICE 'a % %', k, total;
		CLOSE a;
	END LOOP;
END $$;

-- ORDER BY place <-> point by indexes USING gist and spgist: which queries go by them, and in which order their rows come.
SET client_min_messages = warning;
SET extra_float_digits = 0;
SET jit = off;
CREATE SERVER space FOREIGN DATA WRAPPER tsurugi_fdw;
SET tsurugi_fdw.default_server = space;
SET tsurugi_fdw.create_table = on;
CREATE TABLE site (id int PRIMARY KEY, room int, at point, plot box, reach circle, field polygon);
CREATE INDEX at ON site USING gist (at);
CREATE INDEX plot ON site USING spgist (plot);
CREATE INDEX reach ON site USING gist (reach);
CREATE INDEX field ON site USING gist (field);
CREATE INDEX middle ON site USING spgist ((point(reach))) WHERE room = 3;
-- nothing there, one row, and NULL
SET enable_sort = off;
SELECT id FROM site ORDER BY at <-> '(0,0)';
INSERT INTO site VALUES (0, 3, '(1,2)', '(1,2),(3,4)', '<(1,2),1>', '((0,0),(1,1),(2,0))');
SELECT id, at <-> '(0,0)' FROM site ORDER BY at <-> '(0,0)' LIMIT 3;
INSERT INTO site VALUES (-1), (-2);
SELECT id, at <-> '(0,0)' FROM site ORDER BY at <-> '(0,0)', id DESC;
SELECT id, at <-> NULL FROM site ORDER BY at <-> NULL, id;
SELECT id FROM site ORDER BY at <-> '(nan,0)', id;
RESET enable_sort;
INSERT INTO site SELECT i, i % 10, point(i % 100, i / 100), box(point(i % 100, i / 100), point(i % 100 + 0.5, i / 100 + 0.5)), circle(point(i % 100, i / 100), 0.25),
		polygon(box(point(i % 100, i / 100), point(i % 100 + 0.5, i / 100 + 0.5))) FROM generate_series(1, 5000) i;
CREATE TABLE model (LIKE site) USING heap;
INSERT INTO model TABLE site;
ANALYZE site;
-- plans
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> '(3,4)' LIMIT 5;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id FROM site ORDER BY at <-> '(3,4)' LIMIT 5;
EXPLAIN (COSTS OFF, FORMAT json) SELECT at FROM site WHERE at >> '(20,30)' AND room = 4 ORDER BY at <-> '(3,4)' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM site WHERE plot IS NOT NULL ORDER BY point '(3,4)' <-> plot, id LIMIT 5;
EXPLAIN (COSTS OFF) SELECT * FROM site WHERE room = 3 ORDER BY point(reach) <-> '(3,4)' LIMIT 5 FOR UPDATE;
EXPLAIN (COSTS OFF) SELECT o.id, t.id FROM site o, LATERAL (SELECT t.id FROM site t ORDER BY t.field <-> o.at LIMIT 2) t WHERE o.id IN (7, 9);
-- and those that sort
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> '(3,4)' DESC LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> '(3,4)' NULLS FIRST LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> '{1,2,3}'::line LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> center(reach) LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> point(random(), 0) LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM site ORDER BY at <-> '(3,4)';
EXPLAIN (COSTS OFF) SELECT id FROM site WHERE id < 4 ORDER BY at <-> '(3,4)' LIMIT 5;
-- Which do not come as the model's: their distances are compared.
CREATE FUNCTION compare(queries text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	plan text;
	ours text;
	wanted text;
BEGIN
	FOREACH query IN ARRAY queries LOOP
		FOR plan IN EXECUTE 'EXPLAIN ' || format(query, 'site') LOOP
			EXIT WHEN plan LIKE '%Order By%';
		END LOOP;
		EXECUTE format('SELECT array_agg(d)::text || count(DISTINCT id) FROM (' || query || ') q', 'site') INTO ours;
		EXECUTE format('SELECT array_agg(d)::text || count(DISTINCT id) FROM (' || query || ') q', 'model') INTO wanted;
		RETURN NEXT format('%s  |  %s%s', query, substring(plan from 'Order By.*'), CASE WHEN ours IS DISTINCT FROM wanted THEN ', WRONG: ' || ours END);
	END LOOP;
END $$;
SELECT compare(ARRAY['SELECT id, at <-> ''(3,4)'' AS d FROM %s ORDER BY 2 LIMIT 20', 'SELECT id, at <-> ''(3.3,4.4)'' AS d FROM %s ORDER BY 2 LIMIT 700 OFFSET 3', 'SELECT id, plot <-> point ''(-50,1e5)'' AS d FROM %s ORDER BY 2 LIMIT 9',
	'SELECT id, point ''(5,1)'' <-> field AS d FROM %s WHERE field IS NOT NULL ORDER BY 2 LIMIT 20',
	'SELECT id, point(reach) <-> ''(4,4)'' AS d FROM %s WHERE room = 3 ORDER BY 2 LIMIT 20', 'SELECT id, at <-> (SELECT at FROM model WHERE id = 77) AS d FROM %s ORDER BY 2 LIMIT 5']);
SET enable_sort = off;
SET work_mem = 64; -- so that the nearest ones that wait to be handed out are a part of all
SELECT compare(ARRAY['SELECT id, at <-> ''(1e6,4)'' AS d FROM %s ORDER BY 2', 'SELECT id, at <-> ''(50,25)'' AS d FROM %s ORDER BY 2 LIMIT 4990', 'SELECT id, plot <-> point ''(50,25)'' AS d FROM %s ORDER BY 2',
	'SELECT id, field <-> point ''(inf,3)'' AS d FROM %s ORDER BY 2', 'SELECT id, at <-> ''(50,25)'' AS d FROM %s WHERE at <@ ''(40,30),(10,0)''::box ORDER BY 2',
	'SELECT id, reach <-> point ''(7,7)'' AS d FROM %s WHERE reach && ''<(8,8),3>'' AND reach >> ''<(3,3),1>'' AND id %% 3 = 1 ORDER BY 2', 'SELECT id, reach <-> point ''(7,7)'' AS d FROM %s WHERE reach && NULL ORDER BY 2']);
-- many in one place
UPDATE site SET at = '(1,1)' WHERE id % 10 > 0;
UPDATE model SET at = '(1,1)' WHERE id % 10 > 0;
SELECT compare(ARRAY['SELECT id, at <-> ''(1,1)'' AS d FROM %s ORDER BY 2 LIMIT 4600', 'SELECT id, at <-> ''(1e6,4)'' AS d FROM %s ORDER BY 2']);
SELECT id, at <-> '(90,0)' FROM site ORDER BY at <-> '(90,0)' LIMIT 1;
RESET work_mem;
RESET enable_sort;
-- from one point after the other; cursors, prepared statements, locks, changes meanwhile
SELECT o.id, array_agg(t.id ORDER BY d, t.id) FROM model o, LATERAL (SELECT t.id, t.plot <-> o.at AS d FROM site t ORDER BY t.plot <-> o.at, id LIMIT 3) t WHERE o.id IN (10, 770, -1) GROUP BY o.id ORDER BY 1;
BEGIN;
DECLARE c CURSOR FOR SELECT id, plot <-> point '(30,20)' AS d FROM site ORDER BY 2, id;
DECLARE s SCROLL CURSOR FOR SELECT id FROM site ORDER BY plot <-> point '(30,20)' LIMIT 100;
FETCH 2 FROM c;
DELETE FROM site WHERE id = 2031;
UPDATE site SET plot = '(30,20),(30,20)' WHERE id = 5000;
FETCH 2 FROM c;
FETCH ABSOLUTE 60 FROM s;
FETCH ABSOLUTE 1 FROM s;
SELECT id FROM site ORDER BY plot <-> point '(30.1,20.1)' LIMIT 1 FOR UPDATE;
DECLARE d CURSOR FOR SELECT id FROM site ORDER BY plot <-> point '(99,49.9)' LIMIT 10;
FETCH 1 FROM d;
DELETE FROM site WHERE CURRENT OF d RETURNING id;
ROLLBACK;
PREPARE near(point) AS SELECT id FROM site ORDER BY plot <-> $1 LIMIT 1;
EXECUTE near('(20,10)');
SET plan_cache_mode = force_generic_plan;
EXECUTE near('(30,10)');
EXECUTE near('(31,10)');
EXPLAIN (COSTS OFF) EXECUTE near('(31,10)');
-- columns before that are fixed
CREATE EXTENSION btree_gist;
CREATE INDEX room_plot ON site USING gist (room, plot);
EXPLAIN (COSTS OFF) SELECT id FROM site WHERE room = 7 ORDER BY plot <-> point '(30,20)' LIMIT 3;
SELECT compare(ARRAY['SELECT id, plot <-> point ''(50,25)'' AS d FROM %s WHERE room = 7 ORDER BY 2 LIMIT 30', 'SELECT id, plot <-> point ''(50,25)'' AS d FROM %s WHERE room = 77 ORDER BY 2 LIMIT 30']);
-- partitions, one of them an ordinary table
CREATE TABLE parted (id int, at point) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (2000);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (2000) TO (4000);
CREATE TABLE parted_3 PARTITION OF parted FOR VALUES FROM (4000) TO (6000) USING heap;
CREATE INDEX ON parted USING gist (at);
INSERT INTO parted SELECT i, point(i % 1000, i % 71) FROM generate_series(1, 5000) i;
ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT id FROM parted ORDER BY at <-> '(500,10)' LIMIT 3;
SELECT id, at <-> '(500,10)' AS d FROM parted ORDER BY at <-> '(500,10)' LIMIT 6;
-- how much is read: at all scales, with a LIMIT near to the end; of many in one place, and others, far away from it, no more than a part
CREATE TABLE far (id int, at point, plot box);
CREATE INDEX ON far USING gist (at);
CREATE INDEX ON far USING spgist (plot);
INSERT INTO far SELECT i, at, box(at, at * '(1.1,0)') FROM (SELECT i, point(exp(i * 0.01 - 11), exp(i * 0.01 - 11 + i % 7) * (i % 5 - 2)) AS at FROM generate_series(1, 6200) i) v;
CREATE FUNCTION read_by(query text) RETURNS TABLE (rows int, boxes int) LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line LIKE '%Source: in place, % rows in % boxes' THEN
			RETURN QUERY SELECT m[1]::int, m[2]::int FROM regexp_match(line, '(\d+) rows in (\d+) boxes') m;
		END IF;
	END LOOP;
END $$;
SET enable_sort = off;
SELECT query, rows BETWEEN 6000 AND 4 * 6200 AS "few rows", boxes <= 15 AS "few boxes" FROM unnest(ARRAY['SELECT FROM far ORDER BY at <-> ''(0,0)'' LIMIT 6100', 'SELECT FROM far ORDER BY at <-> ''(3,3)''',
	'SELECT FROM far ORDER BY plot <-> point ''(0,0)'' LIMIT 6100', 'SELECT FROM far ORDER BY plot <-> point ''(1e10,1e10)''']) query, read_by(query);
TRUNCATE far;
INSERT INTO far SELECT i, point(i % 100, i / 100) FROM generate_series(1, 9999) i;
INSERT INTO far SELECT i, '(50,50)' FROM generate_series(10000, 10020) i;
SELECT query, rows BETWEEN 30 AND 1000 AS "few rows" FROM unnest(ARRAY['SELECT FROM far ORDER BY at <-> ''(50,50)'' LIMIT 30']) query, read_by(query);
RESET enable_sort;
DROP TABLE parted, model;
DROP SERVER space CASCADE;
DROP EXTENSION btree_gist;

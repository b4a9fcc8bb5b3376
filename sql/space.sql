-- Indexes USING gist and spgist: which conditions go by them, and what of a row they find by it.
SET client_min_messages = warning;
SET extra_float_digits = 0;
CREATE SERVER space FOREIGN DATA WRAPPER tsurugi_fdw;
SET tsurugi_fdw.default_server = space;
SET tsurugi_fdw.create_table = on;
CREATE TABLE site (id int PRIMARY KEY, room int, during int4range, often int4multirange, at point, plot box, reach circle, field polygon, net inet, name text);
CREATE TABLE model (LIKE site) USING heap;
INSERT INTO site SELECT i, i % 10, int4range(i, i + i % 20), int4multirange(int4range(i, i + 3), int4range(i + 10, i + 12)),
		point(i % 100, i / 100), box(point(i % 100, i / 100), point(i % 100 + 0.5, i / 100 + 0.5)), circle(point(i % 100, i / 100), 0.25),
		polygon(box(point(i % 100, i / 100), point(i % 100 + 0.5, i / 100 + 0.5))), inet '10.0.0.0' + i * 4, 'name ' || i FROM generate_series(1, 5000) i;
INSERT INTO model SELECT * FROM site;
CREATE INDEX during ON site USING gist (during);
CREATE INDEX room_during ON site USING gist (during) WHERE room = 3;
CREATE INDEX often ON site USING gist (often);
CREATE INDEX at ON site USING spgist (at);
CREATE INDEX plot ON site USING gist (plot) INCLUDE (name);
CREATE INDEX reach ON site USING gist (reach);
CREATE INDEX middle ON site USING spgist ((field::box));
CREATE INDEX net ON site USING spgist (net);
CREATE INDEX name ON site USING spgist (name);
CREATE INDEX two ON site USING gist (reach, plot);
\d site
-- What does not come out of an index as it comes out of the model, and what does not go by an index.
CREATE FUNCTION compare(conditions text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	plan json;
	ours int[];
	wanted int[];
BEGIN
	FOREACH condition IN ARRAY conditions LOOP
		EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM site WHERE ' || condition INTO plan;
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM site WHERE ' || condition INTO ours;
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM model WHERE ' || condition INTO wanted;
		RETURN NEXT format('%s  |  %s  |  %s rows%s', condition, coalesce(plan -> 0 -> 'Plan' ->> 'Index Name', plan -> 0 -> 'Plan' ->> 'Tsurugi Scan'), cardinality(wanted),
			CASE WHEN ours IS DISTINCT FROM wanted THEN ', WRONG: ' || ours::text END);
	END LOOP;
END $$;
SELECT compare(ARRAY['during && ''[100,103)''', 'during @> 77', '77 <@ during', 'during @> ''[3000,3010)''', 'during <@ ''[500,510)''', 'during = ''[7,14)''', 'during << ''[20,30)''',
	'during >> ''[4990,5000)''', 'during -|- ''[40,50)''', 'during &< ''[8,30)''', 'during && ''[100,103)'' AND room = 3', 'during && ''[100,103)'' AND during @> 101', 'isempty(during)', 'during = ''empty''',
	'during && ''{[5,6),[4000,4001)}''::int4multirange', 'often && ''[100,103)''::int4range', 'often @> 100', 'often <@ ''{[0,20)}''', 'often << ''[14,20)''::int4range', 'during IS NULL', 'during < ''[4,5)''',
	'at <@ ''(20,30),(18,28)''::box', 'at <@ ''<(50,25),2>''::circle', 'at <@ ''((1,1),(1,3),(3,1))''::polygon', 'at ~= ''(7,7)''', 'at << ''(1,0)''', 'at |>> ''(0,49)''', 'at <@ ''(20,30),(10,20)''::box AND at >> ''(15,0)'' AND at <<| ''(0,22)''',
	'plot && ''(20,30),(18.6,28)''', 'plot @> ''(20.1,30.1),(20.2,30.2)''', 'plot <@ ''(3,3),(0,0)''', 'plot ~= ''(20.5,30.5),(20,30)''', 'plot << ''(1,1),(0.6,0)''', 'plot &<| ''(100,1),(0,0)''',
	'reach && ''<(5,5),1>''', 'reach @> ''<(5,5),0.1>''', 'reach <@ ''<(5,5),2>''', 'reach ~= ''<(5,5),0.25>''', 'reach @> ''(9,9)''::point', 'reach && ''<(5,5),3>'' AND plot && ''(6,6),(5,5)''',
	'field::box && ''(2,2),(1,1)''', 'net << ''10.0.1.0/24''', 'net = ''10.0.0.8''', 'net >>= ''10.0.0.8''', 'net <= ''10.0.0.16''', 'net && ''10.0.2.0/25''', 'name = ''name 100''',
	'at <-> ''(5,5)'' < 1', 'during <> ''empty''', 'during && NULL', 'at <@ NULL::box']);
-- joins, plans of a prepared statement, cursors, changes of rows by it
EXPLAIN (COSTS OFF) SELECT x.id, y.id FROM site x JOIN site y ON y.plot && x.plot AND y.reach @> x.reach WHERE x.id = 100;
EXPLAIN (COSTS OFF) SELECT * FROM site WHERE during && '[100,103)' AND room = 3 AND id > 5;
EXPLAIN (COSTS OFF, VERBOSE) DELETE FROM site WHERE reach && '<(5,5),1>' AND room = 4;
EXPLAIN (COSTS OFF) UPDATE site SET during = '[0,2)' WHERE during && '[2000,2004)';
PREPARE around(box) AS SELECT id FROM site WHERE plot && $1 ORDER BY id;
EXECUTE around('(1.5,0.4),(1.1,0.1)');
SET plan_cache_mode = force_generic_plan;
EXECUTE around('(3.5,0.4),(1.1,0.1)');
EXECUTE around(NULL);
BEGIN;
UPDATE site SET during = '[0,2)', plot = plot + '(1000,0)' WHERE during && '[2000,2004)';
SELECT count(*) FROM site WHERE during && '[2000,2004)';
SELECT count(*), min(id) FROM site WHERE plot && '(1100,100),(999,0)';
SAVEPOINT s;
DELETE FROM site WHERE plot && '(1100,100),(999,0)';
SELECT count(*) FROM site WHERE during <@ '[0,2)';
ROLLBACK TO s;
SELECT id FROM site WHERE during <@ '[0,2)' ORDER BY id LIMIT 3;
SELECT id FROM site WHERE plot && '(1001,100),(999,0)' ORDER BY id FOR UPDATE;
ROLLBACK;
SELECT count(*) FROM site WHERE plot && '(1100,100),(999,0)';
-- EXCLUDE: scans go by what is kept for it
CREATE TABLE booking (id int, during int4range, CONSTRAINT apart EXCLUDE USING gist (during WITH &&));
INSERT INTO booking SELECT i, int4range(i * 10, i * 10 + 9) FROM generate_series(1, 2000) i;
EXPLAIN (COSTS OFF) SELECT * FROM booking WHERE during @> 1234;
SELECT * FROM booking WHERE during @> 1234;
-- by the keys that an operator class of gin makes, and then the index depends on it
CREATE EXTENSION intarray;
CREATE INDEX words ON site USING gist (to_tsvector('simple', name));
CREATE INDEX list ON site USING gist ((ARRAY[room, id % 7]) gist__int_ops, during, (ARRAY[id]) gist__intbig_ops (siglen = 64)) WHERE room <> 5;
CREATE INDEX then_words ON site USING gist (often, to_tsvector('simple', name), plot);
SELECT compare(ARRAY['to_tsvector(''simple'', name) @@ ''name & 77''', 'to_tsvector(''simple'', name) @@ ''499:* & !4999''', 'to_tsvector(''simple'', name) @@ ''!name''', 'to_tsvector(''simple'', name) @@ NULL',
	'to_tsvector(''simple'', name) @@ ''77 | 78'' AND often @> 78', 'ARRAY[room, id % 7] @> ''{8,6}'' AND room <> 5', 'ARRAY[room, id % 7] @@ ''9&!(1|2|3|4|5|6)'' AND room <> 5 AND during && ''[100,900)''',
	'ARRAY[id] && ''{77,78}'' AND room <> 5', 'ARRAY[id] @@ ''77|75'' AND ARRAY[room, id % 7] @> ''{7}'' AND room <> 5', 'ARRAY[room, id % 7] @> ''{8,6}''']);
EXPLAIN (COSTS OFF) SELECT * FROM site WHERE ARRAY[id] && '{77}' AND during @> 78 AND room <> 5;
ALTER EXTENSION intarray DROP OPERATOR CLASS gin__int_ops USING gin;
DROP OPERATOR CLASS gin__int_ops USING gin;
UPDATE site SET room = 8 WHERE ARRAY[room, id % 7] @> '{7,0}' AND room <> 5 AND id < 100 RETURNING id;
SELECT compare(ARRAY['ARRAY[id] && ''{77,78}'' AND room <> 5']);
CREATE INDEX ON site USING gist ((ARRAY[id])); -- it is no longer of the same extension
DROP OPERATOR CLASS gin__int_ops USING gin CASCADE;
CLUSTER site USING words;
SELECT count(*), sum(id) FROM site;
SELECT compare(ARRAY['to_tsvector(''simple'', name) @@ ''77 | 78''']);
-- nothing serves an index that was made while there was no such class, also when there is one
CREATE INDEX late ON site USING gist ((ARRAY[room, id % 3]) gist__int_ops, during);
CREATE OPERATOR CLASS later FOR TYPE int[] USING gin AS OPERATOR 3 &&, OPERATOR 7 @>,
	FUNCTION 1 btint4cmp(int, int), FUNCTION 2 ginarrayextract(anyarray, internal, internal),
	FUNCTION 3 ginint4_queryextract(int[], internal, int2, internal, internal, internal, internal),
	FUNCTION 4 ginint4_consistent(internal, int2, int[], int4, internal, internal, internal, internal), STORAGE int4;
ALTER EXTENSION intarray ADD OPERATOR CLASS later USING gin;
ALTER FOREIGN TABLE site ALTER name SET STATISTICS 10; -- its definition is looked at anew
UPDATE site SET room = room + 100 WHERE id IN (4, 5);
SELECT id, room FROM site WHERE ARRAY[room, id % 3] @> '{104}';
SELECT compare(ARRAY['during && ''[100,103)''']);
UPDATE site SET room = room - 100 WHERE id IN (4, 5);
DROP EXTENSION intarray CASCADE;
DROP OPERATOR FAMILY later USING gin;
-- what none serves: the index is there, and answers nothing
CREATE INDEX ON site USING gist (plainto_tsquery('simple', name));
ALTER OPERATOR FAMILY tsquery_ops USING gist ADD OPERATOR 20 < (tsquery, tsquery); -- in that order it is stored anew
UPDATE site SET room = room WHERE id = 1;
SELECT count(*) FROM site WHERE plainto_tsquery('simple', name) < 'name';
ALTER OPERATOR FAMILY tsquery_ops USING gist DROP OPERATOR 20 (tsquery, tsquery);
ALTER OPERATOR FAMILY tsquery_ops USING gist ADD OPERATOR 20 <> (tsquery, tsquery);
UPDATE site SET room = room WHERE id = 1;
ALTER OPERATOR FAMILY tsquery_ops USING gist DROP OPERATOR 20 (tsquery, tsquery);
CREATE TABLE parted (name text, q tsquery) PARTITION BY LIST (name);
CREATE INDEX ON parted USING gist (q);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN ('a');
SELECT a.amname, i.indexrelid::regclass FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am a ON a.oid = relam WHERE indrelid IN ('site'::regclass, 'booking'::regclass) ORDER BY 2;
DROP TABLE booking, site, model;
DROP TABLE parted;
DROP FUNCTION compare;
DROP SERVER space;

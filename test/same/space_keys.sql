-- Operator classes of gist whose operators an operator class of gin has (tsvector, pg_trgm, hstore, intarray): what such indexes are in
-- the catalogs, and which rows every operator finds, those that gin lacks, too, alone and beside other columns.
CREATE EXTENSION btree_gist;
CREATE EXTENSION pg_trgm;
CREATE EXTENSION hstore;
CREATE EXTENSION intarray;
CREATE EXTENSION ltree;
SET enable_indexscan = off;	-- the model: an ordinary table, and no index
SET enable_bitmapscan = off;
CREATE DOMAIN tags AS int[];
CREATE TABLE doc (id int PRIMARY KEY, v tsvector, s text, c varchar(40), h hstore, a int[], d tags, p ltree, room int);
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO doc SELECT i, CASE i % 50 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN 'mats:1 77:2'
			ELSE setweight(to_tsvector('simple', 'the cat ' || i % 90), 'A') || to_tsvector('simple', 'sat on mats ' || i % 5) END,
		CASE i % 60 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'word' || i || ' Text ' || i % 17 END, repeat('ab', i % 5) || i % 30,
		CASE i % 40 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN hstore('k1', NULL) ELSE hstore('k' || i % 7, 'v' || i % 50) || hstore('k' || i % 5, NULL) END,
		CASE i % 30 WHEN 0 THEN NULL WHEN 1 THEN '{}' WHEN 2 THEN '{3,3,1}' ELSE ARRAY[i % 7, i % 11, i % 13] END, ARRAY[i % 4, i % 9],
		CASE WHEN i % 20 > 0 THEN text2ltree('top.n' || i % 4 || '.m' || i % 9) END, i % 5 FROM generate_series(first, last) i $$;
SELECT fill(1, 300);
CREATE INDEX words ON doc USING gist (v);
CREATE INDEX ON doc USING gist (v) INCLUDE (id) WITH (buffering = on) WHERE room = 3;
CREATE INDEX ON doc USING gist (to_tsvector('simple', s));
CREATE INDEX CONCURRENTLY ON doc USING gist (s gist_trgm_ops (siglen = 32));
CREATE INDEX ON doc USING gist (c gist_trgm_ops, lower(s) gist_trgm_ops);
CREATE INDEX ON doc USING gist (h);
CREATE INDEX ON doc USING gist (a);
CREATE INDEX ON doc USING gist (d gist__int_ops);
CREATE INDEX ON doc USING gist (a gist__intbig_ops (siglen = 64), room, s gist_trgm_ops);
CREATE INDEX ON doc USING gist (room, v, id);
CREATE INDEX ON doc USING gist (p);
SELECT replace(pg_get_indexdef(indexrelid), ' ONLY', '') FROM pg_index WHERE indrelid = 'doc'::regclass ORDER BY 1;
SELECT c.relname, m.amname, (SELECT array_agg(k.opcname ORDER BY o) FROM unnest(i.indclass) WITH ORDINALITY u (class, o) JOIN pg_opclass k ON k.oid = class)
	FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am m ON m.oid = relam WHERE indrelid = 'doc'::regclass ORDER BY 1;
CREATE INDEX ON doc USING gist (s gist_trgm_ops (siglen = 0));
CREATE INDEX ON doc USING gist (h gist_trgm_ops);
CREATE INDEX ON doc USING gist (s);
CREATE UNIQUE INDEX ON doc USING gist (v);
SELECT fill(301, 600);
INSERT INTO doc (id) VALUES (1000);
UPDATE doc SET v = v || 'new:1B', s = s || 'x', h = h || 'new=>1', a = a || 99 WHERE id % 3 = 0;
DELETE FROM doc WHERE id % 10 = 3;
CREATE FUNCTION ask(conditions text[]) RETURNS TABLE (condition text, rows int, which text) LANGUAGE plpgsql AS $$
DECLARE
	ids int[];
BEGIN
	FOREACH condition IN ARRAY conditions LOOP
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM doc WHERE ' || condition INTO ids;
		rows = cardinality(ids);
		which = left(md5(ids::text), 8);
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION ask_all() RETURNS TABLE (condition text, rows int, which text) LANGUAGE sql AS $$
	SELECT * FROM ask(ARRAY['v @@ ''cat & 7''', 'v @@ ''mat:* & 7''', 'v @@ ''7 | 8 | 9''', 'v @@ ''!cat''', 'v @@ ''77 & !cat''', 'v @@ ''cat:A''', 'v @@ ''new:C | 7:B''', 'v @@ ''sat <-> on''',
		'v @@ ''on <-> sat''', 'v @@ ''''', 'v @@ NULL', '''new''::tsquery @@ v', 'v @@ ''cat'' AND room = 3', 'room = 3 AND v @@ ''7'' AND id < 200', 'v IS NULL', 'v = ''''',
		'to_tsvector(''simple'', s) @@ ''text & 4''', 'to_tsvector(''simple'', s) @@ ''word9:*''', 's LIKE ''%word99%''', 's ILIKE ''%WORD9%''', 's LIKE ''%w%''', 's LIKE ''''', 's ~ ''word(12|34)''', 's ~* ''TEXT 1$''',
		's % ''word99 text''', '''word99'' <% s', 's %> ''word 4''', '''wrd 99'' <<% s', 's = ''word77 Text 9''', 's <-> ''word99'' < 0.3', 's !~ ''word''', 's IS NULL', 'c LIKE ''ab%12''', 'c LIKE ''%bab%'' AND lower(s) LIKE ''%text 3%''',
		'lower(s) % ''word99''', 'h @> ''k1=>v7''', 'h @> ''''', 'h ? ''k1''', 'h ?& ''{k1,k4}''', 'h ?| ''{k2,new}''', 'h ?| ''{}''', 'h <@ ''k1=>NULL,k2=>v1''', '''k1=>v7'' <@ h', 'h = ''k1=>NULL''', 'h @> ''k1=>NULL''', 'h -> ''k1'' = ''v7''',
		'a && ''{3,5}''', 'a && ''{}''', 'a @> ''{3,5}''', 'a @> ''{}''', 'a <@ ''{1,2,3,4}''', 'a <@ ''{}''', 'a = ''{3,3,1}''', 'a = ''{}''', 'a @@ ''1&(2|3)''', 'a @@ ''!99''', '''99''::query_int ~~ a', 'a && ''{3}'' AND room = 2 AND s LIKE ''%9%''',
		'd && ''{3}''', 'd @> ''{1,8}''', 'd::int[] @@ ''2&4''', 'room = 2 AND v @@ ''new''', 'p ~ ''*.n1.*''', 'p <@ ''top.n2''', 'p = ''top.n1.m1''', 'p @> ''top.n3.m3.x''']) $$;
SELECT * FROM ask_all();
SELECT id, s <-> 'word101 text 3' FROM doc WHERE s % 'word101 text' ORDER BY 2, 1 LIMIT 5;
SELECT x.id, count(*) FROM doc x JOIN doc y ON y.a @> x.d WHERE x.id < 20 GROUP BY 1 ORDER BY 1;
SELECT x.id, count(*) FROM doc x JOIN doc y ON y.h @> x.h WHERE x.id < 20 GROUP BY 1 ORDER BY 1;
SET pg_trgm.similarity_threshold = 0.8;
SELECT * FROM ask(ARRAY['s % ''word99 text''']);
RESET pg_trgm.similarity_threshold;
BEGIN;
UPDATE doc SET v = 'mine', a = '{1000}' WHERE v @@ 'new' AND id < 100;
SELECT * FROM ask(ARRAY['v @@ ''mine''', 'v @@ ''new''', 'a @> ''{1000}''', 'a @@ ''1000 & !1''']);
ROLLBACK;
-- what else there is
REINDEX INDEX words;
CLUSTER doc USING words;
SELECT count(*), sum(id) FROM doc;
VACUUM FULL doc;
SELECT count(*), sum(id) FROM doc;
ALTER TABLE doc ALTER c TYPE text, ALTER room TYPE bigint;
SELECT * FROM ask_all();
ALTER INDEX words RENAME TO moved;
DROP INDEX moved;
ALTER TABLE doc DROP COLUMN h;
TRUNCATE doc;
INSERT INTO doc (id, v) VALUES (1, 'one'), (2, 'two');
SELECT * FROM ask(ARRAY['v @@ ''one''']);
-- EXCLUDE by them
CREATE TABLE apart (id int, a int[], EXCLUDE USING gist (a WITH &&));
INSERT INTO apart VALUES (1, '{1,2}'), (2, '{3}'), (3, NULL), (4, '{}');
INSERT INTO apart VALUES (5, '{2,9}');
-- partitions
CREATE TABLE parted (id int, v tsvector, s text) PARTITION BY RANGE (id);
CREATE INDEX ON parted USING gist (v);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (100) TO (200);
CREATE INDEX ON parted USING gist (s gist_trgm_ops);
INSERT INTO parted SELECT i, to_tsvector('simple', 'n' || i % 7), 'word' || i FROM generate_series(1, 199) i;
SELECT id FROM parted WHERE v @@ 'n3' AND s LIKE '%word1%' ORDER BY 1;
SELECT inhrelid::regclass, inhparent::regclass, amname FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid JOIN pg_am a ON a.oid = relam WHERE amname <> 'heap' ORDER BY 1;

-- Access methods of extensions and of users: what an index is in the catalogs, what is refused and in which words, and that it finds the same rows.
\set indexes 'SELECT indexrelid::regclass, replace(pg_get_indexdef(indexrelid), ''ONLY '', ''''), indisvalid FROM pg_index WHERE indrelid ='
SET client_min_messages = warning; -- that the operators of a class are evaluated on each row is told of tables in memory alone
CREATE EXTENSION bloom;
CREATE ACCESS METHOD hash2 TYPE INDEX HANDLER hashhandler;
CREATE ACCESS METHOD gist2 TYPE INDEX HANDLER gisthandler;
CREATE ACCESS METHOD gin2 TYPE INDEX HANDLER ginhandler;
CREATE ACCESS METHOD brin2 TYPE INDEX HANDLER brinhandler;
CREATE TABLE m (id int PRIMARY KEY, a int, b text, c text COLLATE "C", n numeric, plot box, list int[], x xid);
INSERT INTO m SELECT g, g % 50, 'b' || g % 30, 'c' || g % 20, g % 10, box(point(g, g), point(g + 2, g + 3)), ARRAY[g % 7, g % 5], (g % 11)::text::xid FROM generate_series(1, 500) g;
INSERT INTO m (id) VALUES (0);
-- no operator class, and then one
CREATE INDEX ON m USING gist2 (plot);
CREATE INDEX ON m USING bloom (n);
CREATE INDEX ON m USING nothing (n);
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING hash2 AS OPERATOR 1 =, FUNCTION 1 hashtext(text);
CREATE OPERATOR CLASS box_ops DEFAULT FOR TYPE box USING gist2 AS OPERATOR 1 <<, OPERATOR 2 &<, OPERATOR 3 &&, OPERATOR 4 &>, OPERATOR 5 >>, OPERATOR 6 ~=, OPERATOR 7 @>, OPERATOR 8 <@,
	OPERATOR 9 &<|, OPERATOR 10 <<|, OPERATOR 11 |>>, OPERATOR 12 |&>,
	FUNCTION 1 gist_box_consistent(internal, box, smallint, oid, internal), FUNCTION 2 gist_box_union(internal, internal), FUNCTION 5 gist_box_penalty(internal, internal, internal),
	FUNCTION 6 gist_box_picksplit(internal, internal), FUNCTION 7 gist_box_same(box, box, internal);
CREATE OPERATOR CLASS list_ops DEFAULT FOR TYPE int[] USING gin2 AS OPERATOR 1 &&(anyarray, anyarray), OPERATOR 2 @>(anyarray, anyarray), FUNCTION 1 btint4cmp(int, int), FUNCTION 2 ginarrayextract(anyarray, internal, internal),
	FUNCTION 3 ginqueryarrayextract(anyarray, internal, smallint, internal, internal, internal, internal), FUNCTION 4 ginarrayconsistent(internal, smallint, anyarray, int, internal, internal, internal, internal), STORAGE int;
CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING brin2 AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 brin_minmax_opcinfo(internal),
	FUNCTION 2 brin_minmax_add_value(internal, internal, internal, internal), FUNCTION 3 brin_minmax_consistent(internal, internal, internal), FUNCTION 4 brin_minmax_union(internal, internal, internal);
CREATE OPERATOR CLASS xid_ops DEFAULT FOR TYPE xid USING bloom AS OPERATOR 1 =(xid, xid), FUNCTION 1 hashint4(int);
CREATE INDEX bl ON m USING bloom (a, b, c) WITH (length = 100, col1 = 3, col2 = 4);
CREATE INDEX bl_b ON m USING bloom (b) WHERE a > 10;
CREATE INDEX bl_expr ON m USING bloom (lower(c), (a + 1));
CREATE INDEX bl_xid ON m USING bloom (x);
CREATE INDEX ha ON m USING hash2 (b);
CREATE INDEX gi ON m USING gist2 (plot) INCLUDE (b);
CREATE INDEX ge ON m USING gin2 (list);
CREATE INDEX br ON m USING brin2 (n) WITH (pages_per_range = 4);
:indexes 'm'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
SELECT relname, reloptions FROM pg_class WHERE relname IN ('bl', 'br') ORDER BY 1;
SELECT pg_index_has_property('bl', 'index_scan'), pg_index_has_property('gi', 'index_scan'), pg_index_column_has_property('bl', 1, 'orderable');
-- parameters
ALTER INDEX bl SET (length = 200), RESET (col1);
ALTER INDEX bl SET (length = 100000);
ALTER INDEX bl SET (fillfactor = 50);
ALTER INDEX gi SET (fillfactor = 50);
SELECT relname, reloptions FROM pg_class WHERE relname IN ('bl', 'gi') ORDER BY 1;
-- refused
CREATE UNIQUE INDEX ON m USING bloom (a);
CREATE UNIQUE INDEX ON m USING gist2 (plot);
CREATE INDEX ON m USING bloom (a) INCLUDE (b);
CREATE INDEX ON m USING bloom (a DESC);
CREATE INDEX ON m USING gist2 (plot NULLS FIRST);
CREATE INDEX ON m USING hash2 (b, c);
CREATE INDEX ON m USING bloom (a) WITH (length = 100000);
CREATE INDEX ON m USING bloom (a) WITH (fillfactor = 10);
CREATE INDEX ON m USING bloom (a) WITH (col33 = 1);
CREATE INDEX ON m USING bloom (a nothing_ops);
CREATE INDEX ON m USING bloom (b int4_ops);
ALTER TABLE m ADD EXCLUDE USING bloom (a WITH =);
ALTER TABLE m ADD EXCLUDE USING gin2 (list WITH &&);
CLUSTER m USING bl;
-- what is found
SET enable_seqscan = off;
CREATE FUNCTION found(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
	EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM m WHERE ' || condition INTO found;
	RETURN condition || ': ' || found;
END $$;
CREATE FUNCTION all_found() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT found(c) FROM unnest(ARRAY['a = 3', 'a = 3::bigint', 'a > 40', 'a BETWEEN 3 AND 5', 'a = 3 AND b = ''b3''', 'a = 3 AND c = ''c3'' AND b = ''b13''', 'b = ''b3''', 'c = ''c3''', 'a = NULL', 'a IS NULL', 'b IS NULL',
	'b = ''b3'' AND a > 10', 'b IN (''b3'', ''b4'', NULL) AND a > 10', 'lower(c) = ''c7''', 'lower(c) = ''c7'' AND a + 1 = 8', 'x = ''5''', 'plot && ''(10,10),(11,11)''', 'plot <@ ''(20,20),(11,11)''', 'plot << ''(5,5),(4,4)''', 'plot ~= ''(3,4),(1,1)''',
	'list && ''{6}''', 'list @> ''{6,4}''', 'list = ''{6,4}''', 'n = 3.0', 'n < 2', 'n IS NULL']) c $$;
SELECT all_found();
UPDATE m SET a = a + 1, b = repeat(b, 1000), plot = plot + '(1,1)', list = list || 6 WHERE b = 'b7' AND a > 10;
SELECT id FROM m WHERE b = repeat('b7', 1000) AND a > 10 ORDER BY id;
DELETE FROM m WHERE a = 9 AND b = 'b9';
SELECT all_found();
BEGIN;
UPDATE m SET a = 3 WHERE a = 4;
SELECT found('a = 3'), found('a = 4');
SAVEPOINT s;
DELETE FROM m WHERE a = 3 AND b = 'b3';
ROLLBACK TO s;
SELECT found('a = 3');
ROLLBACK;
SELECT found('a = 3'), found('a = 4');
-- definitions
ALTER INDEX bl RENAME TO filter;
COMMENT ON INDEX filter IS 'a comment';
REINDEX INDEX filter;
REINDEX TABLE m;
REINDEX INDEX CONCURRENTLY filter;
CREATE INDEX CONCURRENTLY later ON m USING bloom (c, a);
DROP INDEX CONCURRENTLY later;
ALTER TABLE m ALTER a TYPE bigint;
ALTER TABLE m ALTER c TYPE varchar;
SELECT all_found();
CREATE TABLE m_like (LIKE m INCLUDING ALL);
:indexes 'm_like'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
INSERT INTO m_like SELECT * FROM m;
SELECT count(*) FROM m_like WHERE b = 'b3' AND a > 10;
-- EXCLUDE
CREATE TABLE e (id int, plot box, EXCLUDE USING gist2 (plot WITH &&));
INSERT INTO e VALUES (1, '(1,1),(0,0)'), (2, '(3,3),(2,2)');
INSERT INTO e VALUES (3, '(4,4),(3,3)');
INSERT INTO e VALUES (3, '(4,4),(3,3)') ON CONFLICT DO NOTHING;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'e'::regclass;
-- partitions
CREATE TABLE p (k int, a int, b text) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE INDEX p_b ON p USING bloom (b, a) WITH (length = 100);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);
CREATE TABLE p3 (k int, a int, b text);
CREATE INDEX p3_own ON p3 USING bloom (b, a);
ALTER TABLE p ATTACH PARTITION p3 FOR VALUES FROM (20) TO (30);
INSERT INTO p SELECT g, g % 3, 'b' || g % 4 FROM generate_series(0, 29) g;
:indexes 'p1'::regclass;
:indexes 'p2'::regclass;
:indexes 'p3'::regclass;
SELECT k FROM p WHERE b = 'b3' ORDER BY k;
CREATE UNIQUE INDEX ON p USING bloom (k);
DROP INDEX p_b;
-- what depends
DROP OPERATOR CLASS box_ops USING gist2;
DROP ACCESS METHOD gist2;
DROP ACCESS METHOD gist2 CASCADE;
DROP EXTENSION bloom CASCADE;
:indexes 'm'::regclass ORDER BY indexrelid::regclass::text COLLATE "C";
INSERT INTO m (id, a, b, plot) VALUES (1000, 3, 'b3', '(1,1),(0,0)');
INSERT INTO e VALUES (3, '(4,4),(3,3)');
SELECT all_found();

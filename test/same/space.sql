-- Indexes USING gist and spgist: what they are in the catalogs and what is refused; and which rows every operator of their operator
-- classes finds, among random values, values that are near to each other, not finite, no numbers, empty, or NULL.
CREATE EXTENSION btree_gist;
SET enable_indexscan = off;	-- the model: an ordinary table, and no index
SET enable_bitmapscan = off;
SET extra_float_digits = 3;
CREATE TABLE space (id int PRIMARY KEY, ir int4range, nr numrange, tr tsrange, im int4multirange, n inet,
	p point, b box, c circle, g polygon, t text, room int);
CREATE FUNCTION odd(scale float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.5 THEN scale * (random() - 0.5) WHEN r < 0.75 THEN round((random() * 8)::numeric)::float8 - 4
		WHEN r < 0.85 THEN round((random() * 4)::numeric)::float8 + (random() - 0.5) * 4e-6 WHEN r < 0.93 THEN (random() - 0.5) * 1e-5
		WHEN r < 0.97 THEN exp(random() * 100 - 50) WHEN r < 0.98 THEN 'inf' WHEN r < 0.99 THEN '-inf' ELSE 'nan' END
	FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE FUNCTION some_int() RETURNS int LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.9 THEN (random() * 200)::int - 100 WHEN r < 0.95 THEN (random() * 2e9)::int - 1000000000 END
	FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE FUNCTION some_range() RETURNS int4range LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.6 THEN int4range(least(a, b), greatest(a, b), (ARRAY['[)', '[]', '()', '(]'])[1 + (r * 1000)::int % 4])
		WHEN r < 0.97 THEN int4range(a, a + (r * 10)::int) ELSE 'empty' END
	FROM (SELECT random() AS r, some_int() AS a, some_int() AS b OFFSET 0) x $$;
CREATE FUNCTION fill(first int, last int) RETURNS void LANGUAGE sql AS $$
	INSERT INTO space SELECT i, CASE WHEN r < 0.97 THEN some_range() END,
		CASE WHEN r > 0.03 THEN numrange(some_int() / 8.0, NULL, '(]') * numrange(NULL, some_int() + 100, '[]') END,
		CASE WHEN r > 0.03 THEN tsrange('2000-01-01'::timestamp + lower(some_range()) % 100 * interval '1 hour', '2000-02-01'::timestamp + upper(some_range()) % 100 * interval '1 hour') END,
		CASE WHEN r < 0.95 THEN int4multirange(some_range(), some_range()) WHEN r < 0.98 THEN '{}' END,
		CASE WHEN r < 0.7 THEN set_masklen(inet '10.0.0.0' + (random() * 70000)::int, (random() * 32)::int)
			WHEN r < 0.98 THEN set_masklen(inet '2001:db8::' + (random() * 70000)::int, (random() * 128)::int) END,
		CASE WHEN r > 0.02 THEN point(x, y) END, CASE WHEN r > 0.03 THEN box(point(x, y), point(x + d, y + e)) END,
		CASE WHEN r > 0.04 THEN circle(point(y, x), CASE WHEN r > 0.8 AND i % 10 <> 7 THEN d ELSE abs(d) END) END,
		CASE WHEN r < 0.5 THEN polygon(box(point(y, x), point(d, e))) WHEN r < 0.98 THEN polygon(6, circle(point(x, y), abs(d) + 1e-5)) END,
		CASE WHEN r < 0.98 THEN chr(65 + (r * 26)::int) || i % 10 END, i % 5
	FROM (SELECT i, random() AS r, odd(20) AS x, odd(20) AS y, odd(5) AS d, odd(50) AS e FROM generate_series(first, last) i) v $$;
SELECT setseed(0.25);
SELECT fill(1, 400);
CREATE INDEX ON space USING gist (ir);
CREATE INDEX ON space USING spgist (nr);
CREATE INDEX ON space USING gist (tr, id) INCLUDE (t) WHERE room < 4;
CREATE INDEX ON space USING gist (im);
CREATE INDEX ON space USING gist (n inet_ops);
CREATE INDEX ON space USING spgist (n);
CREATE INDEX points ON space USING gist (p);
CREATE INDEX ON space USING spgist (p) WHERE abs(p[0]) < 1e9 AND abs(p[1]) < 1e9; -- all that PostgreSQL's can do
CREATE INDEX ON space USING spgist (p kd_point_ops);
CREATE INDEX CONCURRENTLY ON space USING gist (b);
CREATE INDEX ON space USING spgist (b);
CREATE INDEX ON space USING gist (c);
CREATE INDEX ON space USING gist (g);
CREATE INDEX ON space USING spgist (g);
CREATE INDEX ON space USING spgist (t);
CREATE INDEX ON space USING gist (room, (box(p, p)), t);
SELECT replace(pg_get_indexdef(indexrelid), ' ONLY', '') FROM pg_index WHERE indrelid = 'space'::regclass ORDER BY 1;
SELECT c.relname, m.amname, (SELECT array_agg(k.opcname ORDER BY o) FROM unnest(i.indclass) WITH ORDINALITY u (class, o) JOIN pg_opclass k ON k.oid = class)
	FROM pg_index i JOIN pg_class c ON c.oid = indexrelid JOIN pg_am m ON m.oid = relam WHERE indrelid = 'space'::regclass ORDER BY 1;
CREATE UNIQUE INDEX ON space USING gist (ir);
CREATE INDEX ON space USING gist (ir DESC);
CREATE INDEX ON space USING spgist (p, b);
CREATE INDEX ON space USING spgist (ir, p) INCLUDE (b);
CREATE INDEX ON space USING gist (g circle_ops);
CREATE INDEX ON space USING gist (g) WITH (buffering = maybe);
CREATE INDEX ON space USING spgist (c);
SELECT fill(401, 600);
UPDATE space SET ir = ir * '[-50,50)', nr = nr * '[-50,50)', p = p + '(1,1)', b = b + '(1,1)', c = c + '(1,1)', g = polygon(box(g)), n = n + 1 WHERE id % 3 = 0;
DELETE FROM space WHERE id % 10 = 3;

-- Every operator, every kind of right side.
CREATE TABLE asked (type regtype, value text);
INSERT INTO asked SELECT v.* FROM space, LATERAL (VALUES ('int4range'::regtype, ir::text), ('integer', lower(ir)::text), ('numrange', nr::text), ('numeric', upper(nr)::text),
	('tsrange', tr::text), ('timestamp', lower(tr)::text), ('int4multirange', im::text), ('inet', n::text), ('point', p::text), ('box', b::text),
	('circle', c::text), ('polygon', g::text), ('text', t)) v WHERE id % 100 = 7;
INSERT INTO asked VALUES ('int4range', 'empty'), ('int4range', '(,)'), ('int4range', NULL), ('int4multirange', '{}'), ('numrange', 'empty'), ('inet', '0.0.0.0/0'), ('inet', '::/0'),
	('point', '(nan,nan)'), ('point', '(inf,0)'), ('point', '(1,nan)'), ('box', '(nan,1),(2,inf)'), ('box', '(inf,inf),(-inf,-inf)'), ('box', '(3,3),(-3,-3)'),
	('circle', '<(0,0),inf>'), ('circle', '<(0,0),nan>'), ('circle', '<(0,0),4>'), ('polygon', '((0,0),(1,0),(nan,1))'), ('polygon', '((-3,-3),(-3,3),(3,3),(3,-3))');
CREATE FUNCTION ask() RETURNS TABLE (col name, operator text, type regtype, rows bigint, which text) LANGUAGE plpgsql AS $$
DECLARE
	question record;
	ids int[];
	list text;
BEGIN
	FOR col, operator, type IN SELECT DISTINCT a.attname, o.oprname::text, t.t FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
			JOIN pg_opclass k ON k.oid = i.indclass[0] JOIN pg_amop f ON f.amopfamily = k.opcfamily AND f.amoppurpose = 's' JOIN pg_operator o ON o.oid = f.amopopr,
			LATERAL (SELECT CASE o.oprright::regtype::text
				WHEN 'anyrange' THEN CASE a.attname WHEN 'im' THEN 'int4range'::regtype ELSE a.atttypid::regtype END
				WHEN 'anyelement' THEN CASE a.attname WHEN 'nr' THEN 'numeric'::regtype WHEN 'tr' THEN 'timestamp' ELSE 'integer' END
				WHEN 'anymultirange' THEN CASE WHEN a.attname IN ('ir', 'im') THEN 'int4multirange'::regtype END
				ELSE o.oprright::regtype END t) t
			WHERE i.indrelid = 'space'::regclass AND t.t IS NOT NULL AND (o.oprleft = a.atttypid OR o.oprleft::regtype::text LIKE 'any%range'
				AND (o.oprleft::regtype::text LIKE '%multirange') = (a.attname = 'im')) ORDER BY 1, 2, 3
	LOOP
		rows = 0;
		list = '';
		FOR question IN SELECT q.value FROM asked q WHERE q.type = ask.type ORDER BY q.value COLLATE "C" LOOP
			EXECUTE format('SELECT array_agg(id ORDER BY id) FROM space WHERE %I %s %L::%s AND room < 4', col, operator, question.value, type) INTO ids;
			rows = rows + coalesce(cardinality(ids), 0);
			list = list || coalesce(ids::text, '') || ';';
		END LOOP;
		which = md5(list);
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM ask();
-- several conditions, columns before, expressions, other sides; what is NULL
SELECT id FROM space WHERE b && '(3,3),(-1,-1)' AND b &< '(2,2),(1,1)' AND p <@ '(5,5),(-5,-5)'::box ORDER BY 1;
SELECT id FROM space WHERE room = 2 AND box(p, p) <@ '(2,2),(-4,-4)' AND t > 'C' ORDER BY 1;
SELECT id FROM space WHERE room IN (1, 3, 7) AND box(p, p) <@ '(2,2),(0,0)' ORDER BY 1;
SELECT id FROM space WHERE '(1,1),(0,0)'::box @> b ORDER BY 1;
SELECT count(*), sum(id) FROM space WHERE ir IS NULL;
SELECT count(*), sum(id) FROM space WHERE p IS NOT NULL AND b IS NULL;
SELECT x.id, count(*) FROM space x JOIN space y ON y.b && x.b WHERE x.id < 20 GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM space x JOIN space y ON x.ir -|- y.ir WHERE x.id < 20;
-- what else there is
REINDEX INDEX points;
ALTER TABLE space ALTER room TYPE bigint, ALTER p TYPE point USING point(p[1], p[0]);
CLUSTER space USING points;
SELECT * FROM ask() WHERE col = 'p';
ALTER INDEX points RENAME TO moved;
DROP INDEX moved;
TRUNCATE space;
SELECT fill(1, 10);
SELECT * FROM ask() WHERE col = 'b';
-- partitions
CREATE TABLE parted (id int, b box, r int4range) PARTITION BY RANGE (id);
CREATE INDEX ON parted USING gist (b);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (100);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (100) TO (200);
CREATE INDEX ON parted USING spgist (r);
INSERT INTO parted SELECT i, box(point(i, i), point(i + 1, i + 1)), int4range(i, i + 3) FROM generate_series(1, 199) i;
SELECT id FROM parted WHERE b && '(101,101),(98,98)' AND r @> 100 ORDER BY 1;
SELECT inhrelid::regclass, inhparent::regclass, amname FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid JOIN pg_am a ON a.oid = relam WHERE amname <> 'heap' ORDER BY 1;
-- a discrete range type of somebody's own
CREATE TYPE span;
CREATE FUNCTION span_canonical(span) RETURNS span LANGUAGE internal IMMUTABLE STRICT AS 'int4range_canonical';
CREATE TYPE span AS RANGE (subtype = int4, canonical = span_canonical, multirange_type_name = spans);
CREATE TABLE spanned (id int, s span, m spans);
INSERT INTO spanned SELECT i, span(i, i + 4, '[]'), spans(span(i, i), span(i, i + i % 7, '[]')) FROM generate_series(1, 200) i;
CREATE INDEX ON spanned USING gist (s);
CREATE INDEX ON spanned USING gist (m);
SELECT id FROM spanned WHERE s -|- '[50,60]' ORDER BY 1;
SELECT id FROM spanned WHERE m -|- '[50,60]'::span ORDER BY 1;
SELECT id FROM spanned WHERE s -|- '{[50,60],[70,80]}'::spans AND s && '[60,62]' ORDER BY 1;

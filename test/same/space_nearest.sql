-- The nearest first: the distances in the order in which they come, among random values, values that are near to each other, not finite, no numbers, or
-- NULL, from such points.  On ordinary tables that is a sort, in memory it is an index USING gist or spgist.
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET jit = off;
SET work_mem = 64;
SET extra_float_digits = 3;
CREATE TABLE space (id int PRIMARY KEY, p point, b box, c circle, g polygon);
CREATE FUNCTION odd(scale float8) RETURNS float8 LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.5 THEN scale * (random() - 0.5) WHEN r < 0.75 THEN round((random() * 8)::numeric)::float8 - 4
		WHEN r < 0.85 THEN round((random() * 4)::numeric)::float8 + (random() - 0.5) * 4e-6 WHEN r < 0.93 THEN (random() - 0.5) * 1e-5
		WHEN r < 0.97 THEN exp(random() * 100 - 50) WHEN r < 0.98 THEN 'inf' WHEN r < 0.99 THEN '-inf' ELSE 'nan' END
	FROM (SELECT random() AS r OFFSET 0) x $$;
SELECT setseed(0.25);
INSERT INTO space SELECT i, CASE WHEN r > 0.02 THEN point(x, y) END, CASE WHEN r > 0.03 THEN box(point(x, y), point(x + d, y + e)) END,
		CASE WHEN r > 0.04 THEN circle(point(y, x), CASE WHEN r > 0.8 AND i % 10 <> 7 THEN d ELSE abs(d) END) END,
		CASE WHEN r < 0.5 THEN polygon(box(point(y, x), point(d, e))) WHEN r < 0.98 THEN polygon(6, circle(point(x, y), abs(d) + 1e-5)) END
	FROM (SELECT i, random() AS r, odd(20) AS x, odd(20) AS y, odd(5) AS d, odd(50) AS e FROM generate_series(1, 700) i) v;
CREATE INDEX ON space USING gist (p);
CREATE INDEX ON space USING spgist (b);
CREATE INDEX ON space USING gist (c);
CREATE INDEX ON space USING gist (g);
CREATE TABLE asked (id int, at point);
INSERT INTO asked SELECT i, point(odd(40), odd(40)) FROM generate_series(1, 25) i;
INSERT INTO asked VALUES (26, '(inf,0)'), (27, '(1,nan)'), (28, NULL), (29, '(1e20,-1e20)'), (30, '(0,0)');
CREATE FUNCTION nearest(which text, at point, most int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE format('SELECT count(DISTINCT id) || '' '' || md5(array_agg(d)::text) FROM (SELECT id, %s <-> %L::point AS d FROM space ORDER BY 2 LIMIT %s) q', which, at, most) INTO found;
	RETURN found;
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN sqlerrm;
END $$;
SELECT id, which, most, nearest(which, at, most) FROM asked, unnest(ARRAY['p', 'b', 'c', 'g']) which, unnest(ARRAY[1, 10, 100, 1000]) most ORDER BY 1, 2, 3;
-- moved, gone, and come
UPDATE space SET p = p + '(1,1)', b = b + '(1,1)', c = c * '(2,0)', g = polygon(box(g)) WHERE id % 3 = 0;
DELETE FROM space WHERE id % 10 = 3;
INSERT INTO space SELECT i, '(1,1)', '(1,1),(1,1)', '<(1,1),0>', '((1,1),(1,1))' FROM generate_series(701, 5400) i; -- more than work_mem has room for
SELECT id, which, most, nearest(which, at, most) FROM asked, unnest(ARRAY['p', 'b', 'c', 'g']) which, unnest(ARRAY[1, 10000]) most WHERE id > 20 ORDER BY 1, 2, 3;

-- The nearest first along a line: the distances in the order in which they come, of each of the types that btree_gist measures, among random values, values that
-- are near to each other, the ends of the type, infinite, no numbers, or NULL, from such values.  On ordinary tables that is a sort, in memory it is an index, from
-- the value outwards.  No two values are so far from each other that their distance is an error.
SET client_min_messages = warning;
CREATE EXTENSION btree_gist;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET jit = off;
SET extra_float_digits = 3;
CREATE FUNCTION some_of(width float8, step float8) RETURNS float8 VOLATILE LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.5 THEN width * random() WHEN r < 0.8 THEN width / 2 + step * round((random() * 8)::numeric)::float8
		WHEN r < 0.97 THEN width / 2 + step * (random() * 3000) WHEN r < 0.985 THEN 0 ELSE width END FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE FUNCTION odd() RETURNS float8 VOLATILE LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.4 THEN 20 * (random() - 0.5) WHEN r < 0.7 THEN round((random() * 8)::numeric)::float8 - 4 WHEN r < 0.8 THEN 3 + random() * 1e-6
		WHEN r < 0.9 THEN exp(random() * 100 - 50) WHEN r < 0.92 THEN 0 WHEN r < 0.96 THEN 'inf' WHEN r < 0.98 THEN '-inf' ELSE 'nan' END
	FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE FUNCTION moment() RETURNS timestamp VOLATILE LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.05 THEN 'infinity' WHEN r < 0.1 THEN '-infinity' WHEN r < 0.15 THEN '4713-01-01 BC' WHEN r < 0.2 THEN '280000-12-31' ELSE timestamp '2000-01-01' + some_of(1e6, 1) * interval '1 second' END
	FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE FUNCTION span() RETURNS interval VOLATILE LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.03 THEN '80000000 years' WHEN r < 0.06 THEN '-80000000 years' ELSE make_interval(months => some_of(100, 1)::int - 50, days => some_of(1000, 30)::int - 500, secs => some_of(1e6, 1) - 5e5) END
	FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE TABLE line (id int PRIMARY KEY, room int, i2 smallint, i4 int, i8 bigint, f4 real, f8 float8, m money, o oid, d date, t time, ts timestamp, tz timestamptz, v interval);
CREATE FUNCTION fill(first int, last int) RETURNS void VOLATILE LANGUAGE sql AS $$
	INSERT INTO line SELECT i, i % 7, some_of(32767, 1)::int::smallint, (some_of(2147483000, 1) - 1e9)::int, (some_of(2e15, 1) - 1e15)::bigint * (CASE WHEN i % 9 = 0 THEN 4000 ELSE 1 END),
		odd()::real, odd(), (some_of(1e6, 1) - 5e5)::numeric::money, some_of(4294967295, 1)::bigint::oid, date '2000-01-01' + (some_of(2e6, 1) - 1e6)::int, time '00:00' + some_of(86399, 1) * interval '1 second', moment(), moment(), span()
	FROM generate_series(first, last) i $$;
SELECT setseed(0.75);
SELECT fill(1, 600);
INSERT INTO line (id, room) SELECT i, i % 7 FROM generate_series(601, 620) i;
SELECT format('CREATE INDEX ON line USING gist (%I)', name) FROM unnest('{i2,i4,i8,f4,f8,m,o,d,t,ts,tz,v}'::text[]) name \gexec
CREATE INDEX ON line USING gist (room, i4, f8);
CREATE INDEX ON line USING gist ((i4 / 2)) WHERE id % 3 = 0;
CREATE TABLE asked AS SELECT * FROM line WHERE id % 20 = 1;
CREATE FUNCTION nearest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text;
BEGIN
	EXECUTE 'SELECT count(DISTINCT id) || '' '' || coalesce(md5(array_agg(d)::text), '''') FROM (' || query || ') q' INTO found;
	RETURN found;
END $$;
SELECT asked.id, name, most, nearest(format('SELECT id, %4$s(%1$s <-> %2$L) AS d FROM line ORDER BY %1$s <-> %2$L LIMIT %3$s', name, to_jsonb(asked) ->> name, most, CASE name WHEN 'v' THEN 'justify_interval' ELSE '' END)) FROM asked, unnest('{i2,i4,i8,f4,f8,o,d,t,ts,tz,v}'::text[]) name, unnest(ARRAY[1, 10, 200, 1000]) most ORDER BY 1, 2, 3;
SELECT asked.id, nearest(format('SELECT id, %L <-> m AS d FROM line ORDER BY 2', m)) FROM asked ORDER BY 1;
-- with bounds, on either side of the value, of the column and of what is before it and behind; of an expression, in a part of the table
SELECT asked.id, low, nearest(format('SELECT id, f8 <-> %1$L AS d FROM line WHERE f8 %2$s ORDER BY f8 <-> %1$L LIMIT 100', f8, low)) FROM asked, unnest('{> 2,>= 3,< 2,<= 3,BETWEEN 1 AND 4,BETWEEN 4 AND 1,IS NOT NULL,IS NULL,"> NULL"}'::text[]) low ORDER BY 1, 2;
SELECT asked.id, low, nearest(format('SELECT id, i4 <-> %1$L AS d FROM line WHERE room = %3$s AND %2$s ORDER BY i4 <-> %1$L LIMIT 100', i4, low, room)) FROM asked, unnest('{i4 > 70000000,i4 < 70000000,"(i4, f8) > (73741824, 2)","(i4, f8) <= (73741830, 3)",i4 > 73741824 AND i4 <= 73741830,f8 < 3}'::text[]) low ORDER BY 1, 2;
SELECT asked.id, nearest(format('SELECT id, i4 / 2 <-> %1$L AS d FROM line WHERE id %% 3 = 0 ORDER BY i4 / 2 <-> %1$L LIMIT 50', i4 / 2)) FROM asked ORDER BY 1;
SELECT asked.id, array_agg(far ORDER BY far) FROM asked, LATERAL (SELECT l.f8 <-> asked.f8 AS far FROM line l WHERE l.room = asked.room ORDER BY l.f8 <-> asked.f8 LIMIT 5) l GROUP BY 1 ORDER BY 1;
-- moved, gone, and come, by the transaction itself, too
BEGIN;
UPDATE line SET i4 = i4 + 1, f8 = f8 + 1, ts = ts + interval '1 day' WHERE id % 3 = 0;
DELETE FROM line WHERE id % 10 = 3;
SELECT fill(701, 900);
SELECT asked.id, name, most, nearest(format('SELECT id, %1$s <-> %2$L AS d FROM line ORDER BY %1$s <-> %2$L LIMIT %3$s', name, to_jsonb(asked) ->> name, most)) FROM asked, unnest('{i4,f8,ts}'::text[]) name, unnest(ARRAY[10, 1000]) most ORDER BY 1, 2, 3;
ROLLBACK;
SELECT asked.id, name, nearest(format('SELECT id, %1$s <-> %2$L AS d FROM line ORDER BY %1$s <-> %2$L', name, to_jsonb(asked) ->> name)) FROM asked, unnest('{i4,f8,ts}'::text[]) name ORDER BY 1, 2;

-- What is below a path of ltree, by indexes in its order: among random paths, with labels that begin alike, of which many are there in part only; and what comes later.
CREATE EXTENSION ltree;
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_seqscan = off;
CREATE FUNCTION some_path() RETURNS ltree VOLATILE LANGUAGE sql AS $$
	SELECT CASE WHEN r < 0.97 THEN (SELECT coalesce(string_agg((ARRAY['a', 'aa', 'ab', 'b', 'Aé', 'a_', 'z9', 'abcdefg', 'abcdef', 'abcdefgh'])[1 + floor(random() * 10)::int], '.'), '')
		FROM generate_series(1, floor(r * 5)::int))::ltree END FROM (SELECT random() AS r OFFSET 0) x $$;
CREATE TABLE tree (id int PRIMARY KEY, n int, path ltree, key ltree);
SELECT setseed(0.125);
INSERT INTO tree SELECT i, i % 3, some_path(), ('k' || i % 10 || '.' || i)::ltree FROM generate_series(1, 800) i;
CREATE INDEX ON tree (path);
CREATE INDEX ON tree (n, path DESC NULLS LAST, id);
CREATE INDEX ON tree USING gist (path);
ALTER TABLE tree ADD UNIQUE (key);
CREATE INDEX ON tree ((CASE WHEN nlevel(path) > 1 THEN subpath(path, 1) END)) WHERE n > 0;
CREATE TABLE asked AS SELECT id, some_path() AS path FROM generate_series(1, 60) id;
INSERT INTO asked VALUES (61, ''), (62, NULL), (63, 'a'), (64, 'abcdefgh.abcdefgh'), (65, 'no'), (66, 'a.b.c.d.e.f.g');
-- the answers of a condition with each of the paths, by a plan of its own and by one for all
CREATE FUNCTION found(condition text) RETURNS TABLE (asked int, ids text) LANGUAGE plpgsql AS $$
DECLARE
	a record;
	again text;
BEGIN
	FOR a IN SELECT * FROM asked ORDER BY id LOOP
		asked := a.id;
		EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(array_agg(id ORDER BY id)::text), '''') FROM tree WHERE ' || condition, quote_nullable(a.path) || '::ltree') INTO ids;
		EXECUTE format('SELECT count(*) || '' '' || coalesce(md5(array_agg(id ORDER BY id)::text), '''') FROM tree WHERE ' || condition, '$1') INTO again USING a.path;
		IF ids <> again THEN
			RAISE 'one plan: %, another: %', ids, again;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT condition, (found(condition)).* FROM unnest(ARRAY['path <@ %s', '%s @> path', 'n = 1 AND path <@ %s', 'n = 2 AND path <@ %s AND path > ''a.b''', 'n > 0 AND CASE WHEN nlevel(path) > 1 THEN subpath(path, 1) END <@ %s', 'path <@ %s OR id = 7', 'path @> %s']) condition;
SELECT id, path FROM tree WHERE path <@ 'ab.aa' ORDER BY path, id;
SELECT id, path FROM tree WHERE n = 0 AND path <@ 'abcdefg' ORDER BY path DESC, id;
SELECT id FROM tree WHERE key <@ 'k7' AND id < 40 ORDER BY key;
SELECT a.id, count(t.id) FROM asked a LEFT JOIN tree t ON t.path <@ a.path GROUP BY 1 ORDER BY 1;
-- moved, gone and come, before and after the end of what is below
UPDATE tree SET path = path || 'b' WHERE id % 4 = 0;
WITH deleted AS (DELETE FROM tree WHERE path <@ 'z9' AND n = 1 RETURNING id) SELECT id FROM deleted ORDER BY id;
WITH changed AS (UPDATE tree SET n = 9 WHERE path <@ 'aa.b' RETURNING id) SELECT id FROM changed ORDER BY id;
INSERT INTO tree VALUES (1001, 1, 'a0.b', 'x'), (1002, 1, 'a.a0', 'a.y'), (1003, 1, 'a', 'z'), (1004, 1, 'a.zz.zz', 'a');
SELECT found('path <@ %s'), found('n = 1 AND path <@ %s'), found('key <@ %s');

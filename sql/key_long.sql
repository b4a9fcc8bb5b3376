-- Keys longer than a place in a B-tree: of arrays, jsonb, tsvector and the like, in order as any others.
SET client_min_messages = warning;
CREATE SERVER key_long FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE SCHEMA key_long;
SET search_path = key_long, public;

CREATE TABLE there (k int[], n int);
CREATE FOREIGN TABLE here (k int[] PRIMARY KEY, n int) SERVER key_long;
-- equal up to somewhere before, at and behind where keys are cut
INSERT INTO there SELECT array_fill(16843009, ARRAY[same]) || array_fill(rest, ARRAY[more]), row_number() OVER ()
	FROM unnest('{1,60,78,79,80,81,82,300,1200}'::int[]) same, unnest('{0,16843008,16843010,-5}'::int[]) rest, unnest('{0,1,2,700}'::int[]) more
	WHERE more > 0 OR rest = 0 ORDER BY md5(same || ' ' || more || ' ' || rest);
INSERT INTO here TABLE there;
CREATE INDEX ON here (k DESC, n);
CREATE FUNCTION differences(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	found int;
BEGIN
	EXECUTE format('SELECT count(*) FROM (%s) a FULL JOIN (%s) b USING (r, n) WHERE a.n IS NULL OR b.n IS NULL',
		replace(query, '@', 'here'), replace(query, '@', 'there')) INTO found;
	RETURN found;
END $$;
EXPLAIN (COSTS OFF) SELECT n FROM here WHERE k > '{1}' ORDER BY k;
SELECT count(*) FROM here;
SELECT differences('SELECT row_number() OVER () AS r, n FROM (SELECT n FROM @ ORDER BY k) o');
SELECT differences('SELECT row_number() OVER () AS r, n FROM (SELECT n FROM @ ORDER BY k DESC, n) o');
-- each as a bound, and what is not there
SELECT differences('SELECT row_number() OVER (ORDER BY n) AS r, n FROM (SELECT b.n * 1000000 + count(x.n) AS n FROM there b LEFT JOIN LATERAL (SELECT n FROM @ WHERE k < b.k) x ON true GROUP BY b.n) c');
SELECT differences('SELECT row_number() OVER (ORDER BY n) AS r, n FROM (SELECT b.n * 1000000 + count(x.n) AS n FROM there b LEFT JOIN LATERAL (SELECT n FROM @ WHERE k >= b.k || 7) x ON true GROUP BY b.n) c');
SELECT differences('SELECT row_number() OVER (ORDER BY n) AS r, n FROM (SELECT b.n * 1000000 + count(x.n) AS n FROM there b LEFT JOIN LATERAL (SELECT n FROM @ WHERE k <= b.k[:cardinality(b.k) - 1]) x ON true GROUP BY b.n) c');
SELECT count(*) FROM here JOIN there USING (k, n);
SELECT count(*) FROM here JOIN there ON here.k = there.k || 7;
\set VERBOSITY terse
INSERT INTO here SELECT k, 0 FROM there WHERE cardinality(k) > 1000 LIMIT 1;
\set VERBOSITY default
INSERT INTO here SELECT k, 0 FROM there ON CONFLICT (k) DO UPDATE SET n = here.n + 1000;
SELECT count(*) FILTER (WHERE n > 1000), count(*) FROM here;
DELETE FROM here USING there WHERE here.k = there.k AND cardinality(there.k) > 250;
SELECT count(*) FROM here;
-- long ones in several columns
CREATE INDEX ON here (k NULLS FIRST, n, k DESC, (k || 0));

-- what fits a key has no rank, and leaves nothing behind
CREATE FOREIGN TABLE fits (id int PRIMARY KEY, k int[]) SERVER key_long;
CREATE INDEX ON fits (k);
CREATE FUNCTION offer(size int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	before bigint := tsurugi.table_size('fits');
BEGIN
	FOR i IN 1..50 LOOP
		INSERT INTO fits VALUES (1, array_fill(i, ARRAY[size])) ON CONFLICT (id) DO NOTHING;
	END LOOP;
	RETURN (SELECT count(*) FROM fits) || CASE WHEN tsurugi.table_size('fits') - before > 10000 THEN ' row, and values' ELSE ' row' END;
END $$;
INSERT INTO fits VALUES (1, '{}');
SELECT offer(90), offer(1000);

-- SERIALIZABLE: a long key that was not there, and comes
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT n FROM here WHERE k = array_fill(5, ARRAY[1000]);
INSERT INTO here VALUES (array_fill(5, ARRAY[1000]), 1), (array_fill(5, ARRAY[999]), 2);
SELECT n FROM here WHERE k = array_fill(5, ARRAY[1000]);
COMMIT;

-- Several columns; jsonb and texts; a foreign key
CREATE FOREIGN TABLE documents (j jsonb, v tsvector, n numeric, PRIMARY KEY (j, v), UNIQUE (v, n)) SERVER key_long;
INSERT INTO documents SELECT jsonb_build_object('a', repeat('x', 5000 + i)), to_tsvector('simple', array_to_string(ARRAY(SELECT 'w' || g FROM generate_series(i, i + 400) g), ' ')), i::numeric / 3
	FROM generate_series(1, 5) i;
SELECT round(n, 2) FROM documents WHERE j = jsonb_build_object('a', repeat('x', 5003)) AND v @@ 'w5';
SELECT round(n, 2) FROM documents WHERE j = jsonb_build_object('a', repeat('x', 6000));
CREATE FOREIGN TABLE notes (j jsonb, v tsvector, t text, FOREIGN KEY (j, v) REFERENCES documents) SERVER key_long;
INSERT INTO notes SELECT j, v, 'good' FROM documents WHERE n < 1;
\set VERBOSITY terse
INSERT INTO notes SELECT j || '{"b": 1}', v, 'bad' FROM documents WHERE n < 1;
DELETE FROM documents WHERE n < 1;
\set VERBOSITY default
VACUUM FULL documents;
SELECT count(*) FROM notes JOIN documents USING (j, v);

-- details have as much of a key as one of PostgreSQL's could be long, whole characters of it
CREATE FUNCTION detail_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	EXECUTE statement;
	RETURN 'none';
EXCEPTION WHEN unique_violation OR foreign_key_violation OR exclusion_violation THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN format('%s bytes: %s ... %s', octet_length(detail), left(detail, 20), right(detail, 30));
END $$;
CREATE FOREIGN TABLE wide (k text PRIMARY KEY, n int, EXCLUDE (k WITH =, n WITH =)) SERVER key_long;
CREATE FOREIGN TABLE refers (k text REFERENCES wide) SERVER key_long;
INSERT INTO wide SELECT before || repeat(chr(228), 100000), 1 FROM unnest('{"", x}'::text[]) before;
INSERT INTO wide VALUES (repeat('k', 2690));
SELECT detail_of($$INSERT INTO wide SELECT * FROM wide WHERE n = 1 AND k NOT LIKE 'x%'$$);
SELECT detail_of($$INSERT INTO wide SELECT * FROM wide WHERE k LIKE 'x%'$$);
SELECT detail_of($$INSERT INTO wide VALUES (repeat('k', 2690))$$);
SELECT detail_of($$INSERT INTO refers VALUES (repeat('n', 100000))$$);
ALTER FOREIGN TABLE wide DROP CONSTRAINT wide_pkey CASCADE;
SELECT detail_of($$INSERT INTO wide SELECT * FROM wide WHERE k LIKE 'x%'$$);

SET client_min_messages = warning;
DROP SERVER key_long CASCADE;
DROP SCHEMA key_long CASCADE;

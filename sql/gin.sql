-- Indexes USING gin: what they find is what there is, for each operator class, and at random; plans.
-- Own writes, cursors and changes of the table are in test/same, other transactions in the specification gin.

SET client_min_messages = warning;
CREATE SCHEMA gin;
SET search_path = gin;
CREATE EXTENSION pg_trgm;
CREATE SERVER gin FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE FOREIGN TABLE t (id int PRIMARY KEY, tags int[], names text[], j jsonb, s text, v tsvector) SERVER gin;
CREATE FUNCTION row_of(i int) RETURNS t IMMUTABLE LANGUAGE sql AS $$
	SELECT ROW(i, ARRAY[i % 7, i % 11, i % 13], ARRAY['n' || i % 5, repeat('long', 150) || i % 9, CASE WHEN i % 10 > 0 THEN 'x' END],
		jsonb_build_object('a', i % 5, 'b', jsonb_build_array(i % 3, 'x' || i % 40)), 'word' || i || ' text ' || i % 17,
		to_tsvector('simple', 'the cat ' || i % 90 || ' sat on mats ' || i % 5))::t
$$;
INSERT INTO t SELECT (row_of(i)).* FROM generate_series(1, 400) i;
CREATE INDEX ON t USING gin (tags);
CREATE INDEX t_names ON t USING gin (names array_ops) WITH (fastupdate = off);
CREATE INDEX ON t USING gin (j);
CREATE INDEX t_path ON t USING gin (j jsonb_path_ops);
CREATE INDEX ON t USING gin (s gin_trgm_ops);
CREATE INDEX CONCURRENTLY t_v ON t USING gin (v tsvector_ops, tags) WHERE id <> 77;
INSERT INTO t SELECT (row_of(i)).* FROM generate_series(401, 1000) i;
INSERT INTO t VALUES (2000, '{}', '{}', '{}', '', ''), (2001, NULL, NULL, NULL, NULL, NULL), (2002, '{NULL,1}', '{NULL}', '[]', '%', 'a b'),
	(2003, '{3,3,3}', '{{a,b},{a,c}}', '"x"', 'word', 'word:3A'), (2004, '{5}', '{""}', '{"a":{"a":[{"b":null}]}}', 'WORD99', NULL);
\d t
SELECT pg_get_indexdef('t_v'::regclass), am.amname FROM pg_class c JOIN pg_am am ON am.oid = c.relam WHERE c.oid = 't_v'::regclass;
\pset format unaligned
\pset tuples_only on
-- whether the index is used, and the same rows are found as without it
CREATE FUNCTION finds(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	how text := 'not used';
	found bigint[];
	meant bigint[];
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) SELECT id FROM t WHERE ' || condition LOOP
		IF line LIKE '%Index%' THEN how := trim(line); END IF;
	END LOOP;
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM t WHERE ' || condition INTO found;
	EXECUTE 'SELECT array_agg(id ORDER BY id) FROM t WHERE (' || condition || ') IS TRUE' INTO meant;
	RETURN format('%s, %s rows%s', left(how, 60), coalesce(cardinality(found), 0),
		CASE WHEN found IS DISTINCT FROM meant THEN ', which are WRONG' ELSE '' END);
END $$;
SELECT finds(format(c, o)) FROM unnest(ARRAY['@>', '&&', '<@', '=']) o, unnest(ARRAY['tags %s ''{3,5}''', 'tags %s ''{}''', 'tags %s ''{3,NULL}''',
	'tags %s NULL', 'names %s ARRAY[repeat(''long'', 150) || 5, ''n1'']', 'names %s ''{NULL}''', 'tags %s ''{3,5,0,1,2}''']) c;
SELECT finds(c) FROM unnest(ARRAY['''{3}'' <@ tags', 'j @> ''{"a":3}''', 'j @> ''{}''', 'j @> ''{"b":["x7"]}''', 'j ? ''a''', 'j ?| ''{x,z}''', 'j ?& ''{a,b}''',
	'j @? ''$.b[*] ? (@ == "x7")''', 'j @@ ''$.a == 3''', 'j ?| ''{}''', 'j ?& ''{}''', 'j @@ ''$.a != 3''', 's LIKE ''%word99%''', 's ILIKE ''%WORD99%''', 's LIKE ''%w%''', 's ~ ''word(12|34)7''',
	's % ''word99 text''', '''word99'' <% s', 's = ''word'' AND s LIKE ''%word%''']) c;
SELECT finds('id <> 77 AND ' || c) FROM unnest(ARRAY['v @@ ''cat & 7''', 'v @@ ''mat:* & 7''', 'v @@ ''7 | 8 | 9''', 'v @@ ''!cat''', 'v @@ ''77 & !cat''', 'v @@ ''word:A''', 'v @@ ''word:B''',
	'v @@ ''sat <-> on''', 'v @@ ''on <-> sat''', 'v @@ ''!7 & !8''', 'v @@ ''''', 'v @@ ''7:* & 3:*''', 'v @@ ''cat & 7'' AND tags @> ''{3}''', 'tags && ''{5}'' AND v @@ ''word | 12''', 'tags @> ''{}'' AND v @@ ''12''']) c;
\pset tuples_only off
\pset format aligned
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE j @> '{"a":3}' AND id > 900;
EXPLAIN (COSTS OFF) UPDATE t SET s = s WHERE tags @> '{3,5}' AND s LIKE '%word99%';

-- the inner side of a join
CREATE TEMP TABLE w (a int[]);
INSERT INTO w VALUES ('{3,5}'), ('{6,10}'), (NULL), ('{1000}');
EXPLAIN (COSTS OFF) SELECT * FROM w JOIN t ON t.tags @> w.a AND t.tags @> '{1}';

ALTER INDEX t_path SET (gin_pending_list_limit = 64);
SELECT pg_get_indexdef('t_path'::regclass), pg_get_indexdef('t_names'::regclass);
-- there is no list of pending entries, and no row is left out
SELECT gin_clean_pending_list('t_path');
SET gin_fuzzy_search_limit = 2;
SELECT count(*) FROM t WHERE tags && '{3}';
RESET gin_fuzzy_search_limit;

-- moved, and partitioned
CREATE FOREIGN TABLE u (a bigint[], e text) SERVER gin;
CREATE INDEX u_a ON u USING gin (a, (string_to_array(e, ' ')));
INSERT INTO u SELECT ARRAY[i, i + 1], i || ' ' || -i FROM generate_series(1, 300) i;
EXPLAIN (COSTS OFF) SELECT * FROM u WHERE a @> '{7}' AND string_to_array(e, ' ') && '{7}';
SET tsurugi_fdw.default_server = 'gin';
ALTER TABLE u SET ACCESS METHOD heap;
\d u
ALTER TABLE u SET ACCESS METHOD tsurugi;
SELECT count(*) FROM u WHERE a && '{7,300}';
CREATE TABLE p (id int, a int[]) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (500);
CREATE FOREIGN TABLE p2 PARTITION OF p FOR VALUES FROM (500) TO (1000) SERVER gin;
CREATE INDEX p_a ON p USING gin (a);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM p WHERE a @> '{3,503}';
RESET enable_seqscan;

-- at random, beside an ordinary table; with an old snapshot, too
CREATE TABLE h (id int PRIMARY KEY, a int[], x text[], j jsonb, s text, v tsvector);
CREATE FOREIGN TABLE r (LIKE h) SERVER gin;
ALTER TABLE r ADD PRIMARY KEY (id);
CREATE INDEX ON r USING gin (a, x);
CREATE INDEX ON r USING gin (j, v);
CREATE INDEX ON r USING gin (s gin_trgm_ops);
CREATE INDEX ON r USING gin (j jsonb_path_ops) WHERE id % 2 = 0;
CREATE FUNCTION one_of(n int) RETURNS int LANGUAGE sql AS 'SELECT floor(random() * n)::int';
CREATE FUNCTION ints() RETURNS int[] LANGUAGE sql AS 'SELECT nullif(array_agg(nullif(one_of(8), 0)), ''{7}'') FROM generate_series(0, one_of(5)) WHERE one_of(9) > 0';
CREATE FUNCTION json() RETURNS jsonb LANGUAGE sql AS $$
	SELECT CASE one_of(4) WHEN 0 THEN jsonb_build_object('k' || one_of(3), one_of(4)) WHEN 1 THEN to_jsonb(ints()) WHEN 2 THEN jsonb_build_object('k' || one_of(3), ints())
		ELSE jsonb_build_object('k0', one_of(3), 'k1', jsonb_build_object('k' || one_of(3), one_of(3)::text)) END
$$;
CREATE FUNCTION words() RETURNS text LANGUAGE sql AS 'SELECT coalesce(string_agg(substr(''abcabdxyz'', 1 + one_of(7), 1 + one_of(3)), '' ''), '''') FROM generate_series(1, one_of(5))';
CREATE FUNCTION asked() RETURNS text LANGUAGE sql AS $$
	SELECT CASE one_of(6)
		WHEN 0 THEN format('a %s %L', (ARRAY['@>', '&&', '<@', '='])[1 + one_of(4)], ints())
		WHEN 1 THEN format('x %s %L', (ARRAY['@>', '&&', '<@', '='])[1 + one_of(4)], ints()::text[])
		WHEN 2 THEN format('j @> %L', json())
		WHEN 3 THEN format('j %s', (ARRAY['? ''k1''', '?| ''{k0,k2}''', '?& ''{k0,k1}''', '@? ''$.k1.k0''', '@@ ''$.k0 > 1'''])[1 + one_of(5)])
		WHEN 4 THEN format('s %s %L', (ARRAY['LIKE', '~', '%'])[1 + one_of(3)], replace(words(), ' ', '.*') || '%')
		ELSE format('v @@ %L', array_to_string(ARRAY(SELECT (ARRAY['', '!'])[1 + one_of(2)] || chr(97 + one_of(4)) || (ARRAY['', ':*'])[1 + one_of(2)] FROM generate_series(0, one_of(3))), (ARRAY['&', '|'])[1 + one_of(2)]))
	END
$$;
CREATE FUNCTION differ(times int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	ours int[];
	theirs int[];
	line text;
	by_index int := 0;
BEGIN
	FOR i IN 1 .. times LOOP
		condition := asked() || CASE one_of(3) WHEN 0 THEN ' AND ' || asked() ELSE '' END || CASE one_of(4) WHEN 0 THEN ' AND id % 2 = 0' ELSE '' END;
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM r WHERE ' || condition INTO ours;
		EXECUTE 'SELECT array_agg(id ORDER BY id) FROM h WHERE ' || condition INTO theirs;
		IF ours IS DISTINCT FROM theirs THEN
			RETURN NEXT condition;
		END IF;
		FOR line IN EXECUTE 'EXPLAIN SELECT FROM r WHERE ' || condition LOOP
			by_index := by_index + (line LIKE '%index keys%')::int;
		END LOOP;
	END LOOP;
	IF by_index < times / 2 THEN
		RETURN NEXT 'only ' || by_index || ' by an index';
	END IF;
END $$;
SELECT setseed(0.5);
INSERT INTO h SELECT i, ints(), ints()::text[], json(), words(), words()::tsvector FROM generate_series(1, 300) i;
INSERT INTO r SELECT * FROM h;
SELECT differ(150);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) > 0 FROM r;
UPDATE h SET a = ints(), j = json(), s = words() WHERE id % 3 = 0;
UPDATE r SET a = h.a, j = h.j, s = h.s FROM h WHERE h.id = r.id AND r.id % 3 = 0;
SELECT differ(100);
SAVEPOINT a;
DELETE FROM r WHERE id % 5 = 0;
UPDATE r SET v = words()::tsvector, x = ints()::text[] WHERE id % 7 = 0;
ROLLBACK TO a;
SELECT differ(100);
COMMIT;
VACUUM r;
SELECT differ(100);
ALTER TABLE r ALTER COLUMN s TYPE varchar(100);
SELECT differ(50);
DELETE FROM h WHERE id % 4 = 0;
DELETE FROM r WHERE id % 4 = 0;
SELECT differ(100);
EXPLAIN (COSTS OFF) SELECT id FROM r WHERE a @> '{1}' AND x && '{2}';

-- a query that is computed once stays what it is, whatever is computed for the rows; a key of the length at which longer ones are cut is not certain
SET default_text_search_config = simple;
SET enable_seqscan = off;
CREATE FOREIGN TABLE computed (s text, v tsvector) SERVER gin;
CREATE INDEX ON computed USING gin (v);
INSERT INTO computed SELECT repeat('q', 150), ('d ' || i / 100)::tsvector FROM generate_series(0, 199) i;
SELECT count(*) FROM computed WHERE v @@ to_tsquery('d & (0 | !1)') AND length(s || s) > 0;
DELETE FROM computed WHERE v @@ to_tsquery('d & (0 | !1)') AND length(s || s) > 0;
SELECT count(*) FROM computed;
TRUNCATE computed;
INSERT INTO computed VALUES ('1', ('cat ' || repeat('x', 600))::tsvector), ('2', ('cat ' || repeat('x', 500))::tsvector), ('3', 'cat');
SELECT array_agg(s ORDER BY s) FROM computed WHERE v @@ ('cat & !' || repeat('x', 500))::tsquery;
-- joins by equality, of a class that GIN has for scalars
CREATE EXTENSION btree_gin;
CREATE FOREIGN TABLE scalar (i bigint, t text) SERVER gin;
CREATE INDEX ON scalar USING gin (i, t);
INSERT INTO scalar SELECT i, 't' || i FROM generate_series(1, 1000) i;
ANALYZE scalar;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
EXPLAIN (COSTS OFF) SELECT * FROM (VALUES (3::bigint), (5)) v (x) JOIN scalar ON scalar.i = v.x;
SELECT * FROM (VALUES (3::bigint), (5)) v (x) JOIN scalar ON scalar.i = v.x;
RESET enable_hashjoin;
RESET enable_mergejoin;
SET jit = off; -- costs are, as sequential scans are off
-- comparisons of scalars read the keys on one side, where our order is the type's
CREATE TYPE size AS ENUM ('s', 'm', 'l');
CREATE FOREIGN TABLE sides (n numeric, e size, f float8, d date, c text COLLATE "C", x text, b bytea, y interval) SERVER gin;
INSERT INTO sides SELECT i / 2.0, ('{s,m,l}'::size[])[1 + i % 3], CASE i WHEN 8 THEN 'nan' WHEN 10 THEN '-0' ELSE i / 3.0 END, '2000-01-01'::date + i, 'c' || i,
	repeat('x', i) || 'y', decode(to_hex(1000 + i), 'escape'), make_interval(days => i) FROM generate_series(0, 299, 2) i;
INSERT INTO sides VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('nan', 's', 'inf', 'infinity', '', repeat('x', 600), '', '1 mon'), ('-inf', 'l', '-inf', '-infinity', 'c299', repeat('x', 600) || 'y', NULL, '-1 day');
CREATE TABLE beside AS SELECT * FROM sides;
CREATE INDEX ON sides USING gin (n, e, f, d, c, x, b, y);
CREATE FUNCTION sides_differ() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	condition text;
	ours bigint;
	theirs bigint;
BEGIN
	FOR condition IN SELECT format('%I %s %L', c, o, v) FROM unnest(ARRAY['<', '<=', '=', '>=', '>']) o, (VALUES ('n', '7.50'), ('n', '149'), ('n', 'nan'), ('n', '-inf'), ('n', '1e400'),
		('e', 's'), ('e', 'm'), ('e', 'l'), ('f', '2'), ('f', '0'), ('f', 'nan'), ('d', '2000-03-01'), ('d', '-infinity'), ('c', 'c20'), ('c', ''), ('c', 'd'),
		('x', 'xxy'), ('x', repeat('x', 600)), ('x', repeat('x', 500)), ('b', '\x3432'), ('y', '1 mon'), ('y', '30 days')) v (c, v)
	LOOP
		EXECUTE 'SELECT sum(hashtext(s::text)) FROM sides s WHERE ' || condition INTO ours;
		EXECUTE 'SELECT sum(hashtext(s::text)) FROM beside s WHERE ' || condition INTO theirs;
		IF ours IS DISTINCT FROM theirs THEN
			RETURN NEXT condition;
		END IF;
	END LOOP;
END $$;
SELECT sides_differ();
CREATE FUNCTION rows_met(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	met text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT FROM sides WHERE ' || condition LOOP
		IF line ~ 'Removed|actual' THEN met := concat_ws(', ', met, substring(line from '(?:rows=|Removed by Filter: )(\d+)')); END IF;
	END LOOP;
	RETURN condition || ': ' || met;
END $$;
SELECT rows_met(c) FROM unnest(ARRAY['n < 5', 'n > 140 AND n <= 145', 'e > ''m'' AND d < ''2000-01-11''', 'x < ''xxy''', 'c >= ''c50'' AND c < ''c52''']) c;
ALTER TYPE size ADD VALUE 'xs' BEFORE 's';
INSERT INTO sides (n, e) VALUES (1000, 'xs');
INSERT INTO beside (n, e) VALUES (1000, 'xs');
SELECT sides_differ();
SELECT count(*) FROM sides WHERE e < 's';
-- behind a security barrier no operator that might tell of rows
CREATE VIEW guarded WITH (security_barrier) AS SELECT * FROM t WHERE id > 0;
EXPLAIN (COSTS OFF) UPDATE guarded SET id = id WHERE tags @> '{5}';
-- more conditions than an index can have columns
DO $$
BEGIN
	EXECUTE 'CREATE TEMP TABLE many AS SELECT id FROM t WHERE ' || (SELECT string_agg(format('tags && ''{3,%s}''', i), ' AND ') FROM generate_series(20, 60) i) || ' AND tags @> ''{5}''';
END $$;
SELECT count(*), (SELECT count(*) FROM t WHERE (tags @> '{3,5}') IS TRUE) FROM many;

DROP SCHEMA gin CASCADE;
DROP SERVER gin;

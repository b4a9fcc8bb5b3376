-- Plans over indexes, and that what they find is what an ordinary table has.

SET tsurugi_fdw.jobs = off;
SET client_min_messages = warning;
CREATE SERVER index_scan FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE TYPE index_mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN index_word AS varchar(20) COLLATE "C";
CREATE TABLE heap (id int PRIMARY KEY, a int, b text COLLATE "C", c numeric, d date, e index_mood, f boolean, g int[], w index_word, l text COLLATE "und-x-icu");
CREATE FOREIGN TABLE ours (id int PRIMARY KEY, a int, b text COLLATE "C", c numeric, d date, e index_mood, f boolean, g int[], w index_word, l text COLLATE "und-x-icu") SERVER index_scan;
INSERT INTO heap SELECT i, nullif(i % 50, 7), CASE WHEN i % 11 > 0 THEN chr(97 + i % 26) || i % 7 END, (i % 90 - 45) / CASE WHEN i % 2 = 0 THEN 8.0 ELSE 4 END,
	CASE WHEN i % 5 > 0 THEN DATE '2020-01-01' + i % 60 END, (enum_range(NULL::index_mood))[1 + i % 3], i % 13 = 0,
	CASE WHEN i % 4 > 0 THEN ARRAY[i % 10, i % 3] END, 'w' || i % 40, chr(65 + i % 26 + (i % 2) * 32) FROM generate_series(1, 2000) i;
INSERT INTO ours TABLE heap;
SELECT format('CREATE INDEX ON %s %s', t, columns) FROM unnest(ARRAY['(a, b DESC, d)', '(b)', '(c DESC NULLS LAST, a)', '(d NULLS FIRST)', '(e)', '(g)', '(w)', '(l)',
	'(lower(b), a)', '((a + id))', '(d) WHERE a < 5', '(id, c) WHERE f', '(f, a)']) columns, unnest(ARRAY['heap', 'ours']) t \gexec
ANALYZE ours;
ANALYZE heap;

-- the plan of a query of ours, and whether its answer is the ordinary table's; as it comes, if it has ORDER BY
CREATE FUNCTION check_query(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	answer text[] = '{}';
	i int = 0;
	t text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'ours') LOOP
		RETURN NEXT line;
	END LOOP;
	FOREACH t IN ARRAY ARRAY['heap', 'ours'] LOOP
		EXECUTE format('SELECT count(*) || '' rows '' || md5(string_agg(x::text, '';'' %s)) FROM (%s) x',
			CASE WHEN query ~ 'ORDER BY' THEN '' ELSE 'ORDER BY x::text' END, replace(query, '@', t)) INTO line;
		answer := answer || line;
	END LOOP;
	RETURN NEXT CASE WHEN answer[1] IS NOT DISTINCT FROM answer[2] THEN split_part(coalesce(answer[1], '0'), ' ', 1) || ' rows' ELSE 'DIFFERS: ' || answer::text END;
END $$;
\pset tuples_only on
\pset format unaligned
-- equality, prefixes, ranges, both directions
SELECT check_query('SELECT * FROM @ WHERE a = 3');
SELECT check_query('SELECT * FROM @ WHERE a = 3 AND b = ''d1''');
SELECT check_query('SELECT * FROM @ WHERE a = 3 AND b > ''d1'' AND b <= ''x''');
SELECT check_query('SELECT id, a, b FROM @ WHERE a = 3 AND b IS NOT NULL ORDER BY b DESC');
SELECT check_query('SELECT a, b FROM @ WHERE a BETWEEN 3 AND 4 ORDER BY a, b DESC NULLS FIRST LIMIT 20');
SELECT check_query('SELECT a, b FROM @ ORDER BY a DESC, b NULLS LAST LIMIT 100');
SELECT check_query('SELECT a, b FROM @ ORDER BY a DESC NULLS LAST, b LIMIT 10');
SELECT check_query('SELECT a FROM @ WHERE a > 45 ORDER BY a DESC');
SELECT check_query('SELECT c, a FROM @ WHERE c < -5.50 ORDER BY c DESC NULLS LAST, a');
SELECT check_query('SELECT c, a FROM @ WHERE c >= 5.5 AND c < 5.875 ORDER BY c, a DESC');
SELECT check_query('SELECT c FROM @ WHERE c = 1.250000');
SELECT check_query('SELECT * FROM @ WHERE b >= ''y'' AND b < ''z''');
SELECT check_query('SELECT id FROM @ WHERE w = ''w7''');
SELECT check_query('SELECT id FROM @ WHERE lower(b) = ''c3'' AND a IN (1, 2, 3)');
SELECT check_query('SELECT id FROM @ WHERE a + id > 2040');
-- values that no row can have
SELECT check_query('SELECT * FROM @ WHERE a = 99999999999');
SELECT check_query('SELECT * FROM @ WHERE a > 99999999999');
SELECT check_query('SELECT count(*) FROM @ WHERE a < 99999999999 AND a > 48');
SELECT check_query('SELECT * FROM @ WHERE a = NULL::int');
SELECT check_query('SELECT * FROM @ WHERE b = (SELECT repeat(''x'', 5000))');
SELECT check_query('SELECT * FROM @ WHERE a = 48 AND b > (SELECT repeat(''x'', 5000))');
SELECT check_query('SELECT * FROM @ WHERE a = 48 AND b < (SELECT repeat(''x'', 5000))');
-- NULLs
SELECT check_query('SELECT id FROM @ WHERE a IS NULL');
SELECT check_query('SELECT id FROM @ WHERE a IS NULL AND b = ''h0''');
SELECT check_query('SELECT id FROM @ WHERE a = 3 AND b IS NULL AND d > ''2020-02-01''');
SELECT check_query('SELECT d FROM @ WHERE d IS NOT NULL ORDER BY d LIMIT 5');
SELECT check_query('SELECT d FROM @ ORDER BY d NULLS FIRST LIMIT 500');
SELECT check_query('SELECT d FROM @ WHERE d < ''2020-01-03'' ORDER BY d DESC');
-- lists
SELECT check_query('SELECT * FROM @ WHERE id IN (5, 3, 3, NULL, 7, 9999) ORDER BY id DESC');
SELECT check_query('SELECT * FROM @ WHERE id = ANY (''{}'')');
SELECT check_query('SELECT * FROM @ WHERE a IN (30, 10, 20) AND b IN (''k3'', ''u6'', ''a'') ORDER BY a, b DESC');
SELECT check_query('SELECT a, d FROM @ WHERE a = ANY (ARRAY[3, 2]::bigint[]) AND b = ''d1''');
SELECT check_query('SELECT count(*) FROM @ WHERE b IN (''a0'', ''b1'', ''c2'')');
SELECT check_query('SELECT id FROM @ WHERE c IN (1, 1.0, 2.5)');
SELECT check_query('SELECT id FROM @ WHERE id IN (SELECT a FROM @ WHERE b = ''d1'') ORDER BY id');
-- partial indexes: only where the predicate follows from the conditions
SELECT check_query('SELECT id FROM @ WHERE d = ''2020-01-05'' AND a < 5');
SELECT check_query('SELECT id FROM @ WHERE d = ''2020-01-05'' AND a < 4');
SELECT check_query('SELECT id FROM @ WHERE d = ''2020-01-05'' AND a < 6');
SELECT check_query('SELECT id, c FROM @ WHERE f AND id > 1900 ORDER BY id');
SELECT check_query('SELECT count(*) FROM @ WHERE f AND a = 3');
SELECT check_query('SELECT count(*) FROM @ WHERE NOT f AND a = 3');
-- enums, arrays; and text in a language's order, by equality only: no order, no ranges
SELECT check_query('SELECT id FROM @ WHERE e = ''ok'' AND id < 10');
SELECT check_query('SELECT e FROM @ WHERE e > ''ok'' ORDER BY e LIMIT 3');
SELECT check_query('SELECT id FROM @ WHERE g = ''{3,1}''');
SELECT check_query('SELECT id FROM @ WHERE l = ''e''');
SELECT check_query('SELECT l FROM @ WHERE l > ''x'' ORDER BY l LIMIT 3');

-- what follows from other conditions: they are evaluated all the same
CREATE INDEX ours_l_pattern ON ours (l text_pattern_ops);
CREATE INDEX ON heap (l text_pattern_ops);
SELECT check_query(query) FROM unnest(ARRAY[
	'SELECT id FROM @ WHERE b LIKE ''c1%''', 'SELECT id FROM @ WHERE b LIKE ''c1%'' AND b > ''c2'' ORDER BY b', 'SELECT id FROM @ WHERE b LIKE ''c1''',
	'SELECT id FROM @ WHERE b LIKE ''%1''', 'SELECT id FROM @ WHERE b LIKE ''c_1%''', 'SELECT id FROM @ WHERE b ~ ''^d[23]''',
	'SELECT id FROM @ WHERE starts_with(b, ''d'') AND a = 3', 'SELECT id FROM @ WHERE a = 3 AND b LIKE ''d%'' ORDER BY b DESC', 'SELECT id FROM @ WHERE w LIKE ''w3%''',
	'SELECT id FROM @ WHERE lower(b) LIKE ''f%''', 'SELECT l FROM @ WHERE l LIKE ''d%''', 'SELECT l FROM @ WHERE l LIKE ''d'' ORDER BY l', 'SELECT l FROM @ WHERE l COLLATE "C" LIKE ''d%''',
	'SELECT id FROM @ WHERE b NOT LIKE ''c%''', 'SELECT id FROM @ WHERE b LIKE NULL']) query;
CREATE FOREIGN TABLE hosts (a inet) SERVER index_scan;
INSERT INTO hosts SELECT format('10.%s.%s.1/%s', i % 20, i, 24 + i % 9)::inet FROM generate_series(1, 250) i;
CREATE INDEX ON hosts (a);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM hosts WHERE a <<= '10.3.0.0/18';
SELECT * FROM hosts WHERE a <<= '10.3.0.0/18';
RESET enable_seqscan;
PREPARE pattern (text) AS SELECT count(*) FROM ours WHERE b LIKE $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE pattern ('c1%');
EXECUTE pattern ('c1%');
RESET plan_cache_mode;
-- inner sides of nested loops
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT check_query('SELECT x.id, y.id FROM @ x JOIN @ y ON y.a = x.id AND y.b = x.b WHERE x.id < 10');
SELECT check_query('SELECT x.id, y.id FROM generate_series(1, 3) x (id) JOIN @ y ON y.id = ANY (ARRAY[x.id, x.id * 2, NULL])');
SELECT check_query('SELECT x.id, y.id FROM generate_series(1995, 1997) x (id) LEFT JOIN @ y ON y.a + y.id = x.id');
RESET enable_hashjoin;
RESET enable_mergejoin;
-- modifications
EXPLAIN (COSTS OFF) UPDATE ours SET a = 7 WHERE b = 'c3' AND id > 50;
UPDATE ours SET a = 7 WHERE b = 'c3' AND id > 50;
UPDATE heap SET a = 7 WHERE b = 'c3' AND id > 50;
-- its own changes of the column that it is read by
EXPLAIN (COSTS OFF) UPDATE ours SET a = a + 1 WHERE a > 40;
UPDATE ours SET a = a + 1 WHERE a > 40;
UPDATE heap SET a = a + 1 WHERE a > 40;
EXPLAIN (COSTS OFF) DELETE FROM ours WHERE a IN (1, 2) AND b > 'k';
DELETE FROM ours WHERE a IN (1, 2) AND b > 'k';
DELETE FROM heap WHERE a IN (1, 2) AND b > 'k';
UPDATE ours SET id = id + 5000, c = -c WHERE d = '2020-01-05';
UPDATE heap SET id = id + 5000, c = -c WHERE d = '2020-01-05';
SELECT check_query('SELECT * FROM @ WHERE a IS NULL OR a = 42');
SELECT check_query('SELECT * FROM @ WHERE a = 7');
SELECT check_query('SELECT * FROM @ WHERE c = 2.5');
SELECT check_query('SELECT * FROM @ ORDER BY a, b DESC, d, id');
-- rows that are compared: as far as the index has their columns, in one direction
EXPLAIN (COSTS OFF) SELECT id FROM ours WHERE (a, b) > (3, 'c') ORDER BY a, b DESC LIMIT 3;
BEGIN;
CREATE INDEX ours_rows ON ours (a, d, id);
EXPLAIN (COSTS OFF) SELECT id FROM ours WHERE (a, d) > (3, '2020-01-09') ORDER BY a, d LIMIT 3;
EXPLAIN (COSTS OFF) SELECT id FROM ours WHERE a = 3 AND (d, id) <= ('2020-01-09', 40) AND ('2020-01-02', 7) < (d, id);
-- an OR as arrays
EXPLAIN (COSTS OFF) SELECT * FROM ours WHERE id = 3 OR id = 7;
EXPLAIN (COSTS OFF) SELECT id FROM ours WHERE (a, d) IN ((1, '2020-01-09'), (2, '2020-01-10'));
EXPLAIN (COSTS OFF) SELECT id FROM ours WHERE (a = 1 AND d = '2020-01-09') OR (a = 2 AND id > 5);
EXPLAIN (COSTS OFF) SELECT id FROM ours WHERE a = 1 OR id = 2;
ROLLBACK;
-- a condition with another table's values is paid for each row that the index finds
CREATE FUNCTION is_below(int, text) RETURNS bool LANGUAGE plpgsql STABLE COST 1 AS 'BEGIN RETURN $1::text < $2; END';
CREATE FUNCTION join_cost() RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json) SELECT * FROM heap h, ours o WHERE h.id < 5 AND o.a = h.a AND is_below(h.id, o.b)' INTO plan;
	RETURN plan -> 0 -> 'Plan' -> 'Total Cost';
END $$;
BEGIN;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
CREATE TEMP TABLE cheap AS SELECT join_cost();
ALTER FUNCTION is_below COST 10000;
SELECT join_cost() / join_cost > 10 AS dear FROM cheap;
ROLLBACK;
DROP FUNCTION is_below, join_cost;
-- prepared: parameters, arrays of them, and an index that comes and goes
PREPARE by_list(int[], text) AS SELECT id FROM ours WHERE a = ANY ($1) AND b = $2 ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE by_list('{1,2}', 'b1');
EXECUTE by_list('{22,40,9}', 'w1');
PREPARE by_a(int) AS SELECT a, b FROM ours WHERE a = $1 AND b = 'w1';
EXECUTE by_a(22);
EXECUTE by_a(22);
EXECUTE by_a(22);
BEGIN;
DROP INDEX ours_a_b_d_idx;
EXECUTE by_a(22);
ROLLBACK;
EXECUTE by_a(22);
TRUNCATE ours;
EXECUTE by_a(22);
RESET plan_cache_mode;

SET client_min_messages = warning;
DROP TABLE heap;
DROP SERVER index_scan CASCADE;
DROP FUNCTION check_query(text);
DROP DOMAIN index_word;
DROP TYPE index_mood;

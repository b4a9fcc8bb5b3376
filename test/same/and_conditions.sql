-- Conditions on several indexed columns that are all to hold, at random: NULLs, values without an order, other types' values, lists, ranges, what the statement itself writes.
CREATE TABLE t (id int PRIMARY KEY, a int, b bigint, c text, f float8, d date, m boolean, tags int[], v int);
INSERT INTO t SELECT g, hashint4(g) & 31, nullif(hashint4(g + 1) & 15, 4), CASE WHEN g % 9 > 0 THEN 'c' || (hashint4(g + 2) & 31) END,
	CASE hashint4(g + 3) & 15 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0'::float8 ELSE hashint4(g + 3) & 15 END, DATE '2024-01-01' + (hashint4(g + 4) & 31), hashint4(g + 5) & 15 = 0,
	ARRAY[hashint4(g + 6) & 31, 100 + g % 3], 0 FROM generate_series(1, 12000) g;
CREATE INDEX ON t (a);
CREATE INDEX ON t (b DESC, a);
CREATE INDEX ON t (c);
CREATE INDEX ON t (f);
CREATE INDEX ON t (d) WHERE a < 20;
CREATE INDEX ON t (m);
CREATE INDEX ON t USING gin (tags);
ANALYZE t;
-- from two to four conditions of these
CREATE FUNCTION some_conditions(n int) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(one, ' AND ') FROM (SELECT format((ARRAY['a = %s', 'a IN (%s, 3, NULL)', 'a BETWEEN %s AND 20', 'a < %s', 'b = %s', 'b > %s', 'b IS NULL', 'b <= %s::numeric / 2',
		'c = ''c%s''', 'c > ''c%s''', 'c LIKE ''c%s%%''', 'c IS NULL', 'f = %s', 'f > %s', 'f = ''NaN''', 'd = date ''2024-01-01'' + %s', 'd > date ''2024-01-20'' + %s AND a < 20', 'm',
		'tags @> ARRAY[%s]', 'tags && ARRAY[%s, 7]', 'id < 300 * %s', '(a = %s OR b = 3)'])[1 + (hashint4extended(n, k)::bit(31)::int) % 22],
		(hashint4extended(n, k + 10)::bit(31)::int) % 16) AS one FROM generate_series(1, 2 + n % 3) k) s $$;
CREATE FUNCTION answers(first int, last int) RETURNS TABLE (condition text, answer text) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN first .. last LOOP
		condition := some_conditions(n);
		EXECUTE 'SELECT count(*) || '' '' || coalesce(sum(id), 0) FROM t WHERE ' || condition INTO answer;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM answers(1, 200);
-- rows that come, go and change; what older snapshots see
BEGIN ISOLATION LEVEL REPEATABLE READ;
DECLARE old CURSOR FOR SELECT id FROM t WHERE a = 3 AND b < 9 ORDER BY v, id;
FETCH old;
UPDATE t SET b = b + 1, v = 1 WHERE a = 3 AND b < 8;
UPDATE t SET a = a + 1 WHERE a = 3 AND b BETWEEN 5 AND 9;
DELETE FROM t WHERE a = 3 AND f > 9;
INSERT INTO t SELECT id + 20000, 3, 2, c, f, d, m, tags, 2 FROM t WHERE a = 4 AND b = 5;
SELECT count(*), sum(id), sum(v) FROM t WHERE a = 3 AND b < 9;
SELECT * FROM answers(201, 240);
FETCH 3 FROM old;
MOVE ALL FROM old;
COMMIT;
CREATE FUNCTION change(first int, last int) RETURNS TABLE (condition text, changed bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN first .. last LOOP
		condition := some_conditions(n);
		EXECUTE format(CASE n % 3 WHEN 0 THEN 'DELETE FROM t WHERE %s' WHEN 1 THEN 'UPDATE t SET a = (a + 1) %% 32, v = v + 1 WHERE %s' ELSE 'UPDATE t SET b = coalesce(b, 0) + 1, c = ''c3'' WHERE %s' END, condition);
		GET DIAGNOSTICS changed = ROW_COUNT;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT * FROM change(300, 360);
SELECT count(*), md5(string_agg(t::text, ';' ORDER BY id)) FROM t;
SELECT * FROM answers(401, 440);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM change(500, 520);
SELECT * FROM answers(441, 450);
COMMIT;
SELECT count(*), md5(string_agg(t::text, ';' ORDER BY id)) FROM t;
PREPARE both_of (int, bigint, text) AS SELECT count(*), sum(id) FROM t WHERE a = $1 AND b = $2 AND c > $3;
SET plan_cache_mode = force_generic_plan;
EXECUTE both_of (1, 2, 'c1');
EXECUTE both_of (1, NULL, 'c1');
EXECUTE both_of (7, 99999999999, NULL);
RESET plan_cache_mode;
SELECT o.a, count(*), sum(t.id) FROM (VALUES (1, 2), (NULL, 3), (5, NULL), (6, 7)) o (a, b) JOIN t ON t.a = o.a AND t.b = o.b AND t.f > 2 GROUP BY 1 ORDER BY 1;

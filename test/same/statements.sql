-- Statements that read and write: joins, RETURNING, WITH, ON CONFLICT, MERGE from a table, cursors, prepared ones, errors.
CREATE TABLE t (k int PRIMARY KEY, v text, n int DEFAULT 0, CONSTRAINT few CHECK (n < 100));
CREATE TABLE s (k int, v text);
CREATE TABLE heap (k int PRIMARY KEY, v text) USING heap;
CREATE DOMAIN even AS int CONSTRAINT is_even CHECK (value % 2 = 0);
CREATE TABLE d (k even NOT NULL, j jsonb, a int[], c s);
INSERT INTO t SELECT g, 'v' || g FROM generate_series(1, 10) g;
INSERT INTO s SELECT g % 12, 's' || g FROM generate_series(1, 24) g;

-- joins in modifications
UPDATE t SET v = s.v FROM s WHERE s.k = t.k AND s.v LIKE 's_' AND t.k < 4 RETURNING t.*, s.v;
UPDATE t SET v = x.m, n = x.c FROM (SELECT k, max(v) AS m, count(*) AS c FROM s GROUP BY k) x WHERE x.k = t.k AND t.k = 5 RETURNING *;
UPDATE t SET (v, n) = (SELECT max(v), count(*) FROM s WHERE s.k = t.k) WHERE k IN (6, 7, 99) RETURNING k, v, n;
UPDATE t a SET n = b.n + 1 FROM t b WHERE b.k = a.k + 1 AND a.k = 8 RETURNING a.*, b.*;
DELETE FROM t USING s WHERE t.k = s.k AND s.v = 's9' RETURNING t, s;
DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.k = t.k AND s.v = 's10');
DELETE FROM t WHERE k NOT IN (SELECT k FROM s) RETURNING *;
INSERT INTO t SELECT k + 100, v FROM t WHERE k < 3 RETURNING *;
INSERT INTO t (k) SELECT k FROM s WHERE k = 11 ON CONFLICT DO NOTHING RETURNING k;
INSERT INTO t (k, v) VALUES (1, 'x'), (200, 'y') ON CONFLICT (k) DO UPDATE SET v = t.v || excluded.v, n = t.n + 1 WHERE t.k < 5 RETURNING *;
INSERT INTO t AS target (k) VALUES (2) ON CONFLICT ON CONSTRAINT t_pkey DO UPDATE SET v = (SELECT max(v) FROM s), (n) = ROW (7) RETURNING target.*;
INSERT INTO t (k) VALUES (300), (300) ON CONFLICT (k) DO UPDATE SET n = 1;
INSERT INTO t (k) VALUES (301), (301) ON CONFLICT (k) DO NOTHING;
INSERT INTO t (k) VALUES (301) ON CONFLICT (v) DO NOTHING;
INSERT INTO t (k) VALUES (302) ON CONFLICT (k) DO UPDATE SET n = 1000;
INSERT INTO t (k) VALUES (302) ON CONFLICT (k) DO UPDATE SET n = 1000;
INSERT INTO t (k) VALUES (302) ON CONFLICT (k) DO UPDATE SET k = 1;
WITH gone AS (DELETE FROM t WHERE k > 100 RETURNING *), made AS (INSERT INTO s SELECT k, v FROM gone RETURNING *)
	SELECT count(*), sum(k) FROM made;
WITH a AS (UPDATE t SET n = n + 1 RETURNING k), b AS (INSERT INTO heap SELECT k, 'h' FROM a RETURNING k) SELECT count(*) FROM b;
WITH RECURSIVE r (k) AS (SELECT min(k) FROM t UNION ALL SELECT (SELECT min(t.k) FROM t WHERE t.k > r.k) FROM r WHERE r.k IS NOT NULL) SELECT * FROM r;
MERGE INTO heap h USING (SELECT k, v FROM t) x ON h.k = x.k
	WHEN MATCHED AND x.k < 3 THEN DELETE
	WHEN MATCHED THEN UPDATE SET v = x.v
	WHEN NOT MATCHED THEN INSERT VALUES (x.k, x.v);
MERGE INTO heap h USING s ON h.k = s.k AND s.v LIKE 's1_' WHEN NOT MATCHED THEN DO NOTHING WHEN MATCHED THEN UPDATE SET v = h.v || s.v;
SELECT * FROM heap ORDER BY k;
TABLE t ORDER BY k;
TRUNCATE t, heap;
SELECT count(*) FROM t;

-- rows as a whole, tableoid, system columns of what was written
INSERT INTO t VALUES (1, 'one'), (2, NULL) RETURNING tableoid::regclass, t, t.v IS NULL, (t).n, t.*::text;
SELECT t, t = (1, 'one', 0)::t AS same FROM t ORDER BY k;
SELECT t.k, s IS NULL FROM t LEFT JOIN s ON s.k = t.k + 50 ORDER BY 1;
SELECT count(t), count(t.v) FROM t;
SELECT row_to_json(t), to_jsonb(t) -> 'v' FROM t ORDER BY k;
CREATE FUNCTION of_row(t) RETURNS text LANGUAGE sql AS $$ SELECT $1.v || '!' $$;
SELECT of_row(t), t.of_row FROM t ORDER BY k;
SELECT (SELECT x FROM t x WHERE x.k = t.k) FROM t ORDER BY k;
UPDATE t SET v = 'two' WHERE t IS DISTINCT FROM (1, 'one', 0)::t RETURNING t;
SELECT tableoid::regclass, count(*) FROM t GROUP BY tableoid;
SELECT (t).* FROM (SELECT t FROM t ORDER BY k LIMIT 1) x;

-- errors
INSERT INTO t VALUES (1, 'again');
INSERT INTO t VALUES (NULL);
INSERT INTO t VALUES (3, 'x', 100);
INSERT INTO t VALUES (3, 'x', 'y');
INSERT INTO t VALUES (3, 'x', 1, 1);
INSERT INTO t (k, k) VALUES (1, 2);
INSERT INTO t (nothing) VALUES (1);
UPDATE t SET k = 2 WHERE k = 1;
UPDATE t SET k = NULL WHERE k = 1;
UPDATE t SET n = n + 1000;
UPDATE t SET v = 1 / (k - 1);
INSERT INTO d VALUES (1);
INSERT INTO d VALUES (NULL);
INSERT INTO d (k, j) VALUES (2, '{');
INSERT INTO d VALUES (2, '{"a": 1}', '{1,2,3}', (1, 'x')) RETURNING *;
UPDATE d SET k = 3;
UPDATE d SET j['b'] = '2', a[2:3] = '{8,9}', c.v = 'y' RETURNING *;
UPDATE d SET a[7] = 7, k = DEFAULT;
SELECT nothing FROM t;
SELECT * FROM t WHERE k = 'x';
SELECT k FROM t GROUP BY v;
SELECT v FROM t GROUP BY k ORDER BY v;

-- cursors
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT k, v FROM t ORDER BY k;
FETCH ALL FROM c;
FETCH BACKWARD 1 FROM c;
FETCH ABSOLUTE 1 FROM c;
MOVE LAST IN c;
FETCH RELATIVE -1 FROM c;
DECLARE h CURSOR WITH HOLD FOR SELECT k FROM t ORDER BY k;
COMMIT;
DELETE FROM t;
FETCH ALL FROM h;
CLOSE h;
BEGIN;
DECLARE c CURSOR FOR SELECT count(*) FROM t;
INSERT INTO t VALUES (1);
FETCH c;
ROLLBACK;

-- prepared
PREPARE p (int, text) AS INSERT INTO t VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = $2 || '2' RETURNING *;
EXECUTE p (1, 'a');
EXECUTE p (1, 'b');
EXECUTE p (NULL, 'b');
PREPARE q (int) AS SELECT * FROM t WHERE k = $1;
EXECUTE q (1); EXECUTE q (1); EXECUTE q (1); EXECUTE q (1); EXECUTE q (1); EXECUTE q (1); EXECUTE q (NULL);
ALTER TABLE t ADD COLUMN more int DEFAULT 4;
EXECUTE q (1);
EXECUTE p (2, 'c');
ALTER TABLE t DROP COLUMN more;
EXECUTE q (2);
DROP TABLE t CASCADE;
EXECUTE q (1);
-- ON CONFLICT DO UPDATE of a row that what SET asks for has changed: the first change stays
CREATE TABLE twice (k int PRIMARY KEY, v text);
INSERT INTO twice VALUES (2, 'Yellow');
WITH first AS (INSERT INTO twice VALUES (2, 'Blue') ON CONFLICT (k) DO UPDATE SET v = excluded.v || '!' RETURNING k, v)
INSERT INTO twice VALUES (2, 'Red') ON CONFLICT (k) DO UPDATE SET (k, v) = (SELECT k, v FROM first WHERE first.k = twice.k) RETURNING k, v;
TABLE twice;
WITH first AS (DELETE FROM twice WHERE k = 2 RETURNING k, v)
INSERT INTO twice VALUES (2, 'Red') ON CONFLICT (k) DO UPDATE SET v = (SELECT v || '?' FROM first) RETURNING k, v;
TABLE twice;
CREATE FUNCTION change_twice() RETURNS text LANGUAGE plpgsql AS $$ BEGIN UPDATE twice SET v = 'inside' WHERE k = 3; RETURN 'outside'; END $$;
INSERT INTO twice VALUES (3, 'Green');
INSERT INTO twice VALUES (3, 'Red') ON CONFLICT (k) DO UPDATE SET v = change_twice();
TABLE twice;
DROP TABLE twice;
DROP FUNCTION change_twice;
\echo a row that one statement changes twice: the second time it is looked at, and let be
CREATE TABLE twice (id int PRIMARY KEY, v int CHECK (v < 50), CONSTRAINT loop FOREIGN KEY (id) REFERENCES twice);
INSERT INTO twice VALUES (1, 1), (2, 2);
WITH x AS (UPDATE twice SET v = 55 WHERE id = 1), y AS (DELETE FROM twice RETURNING id) SELECT id FROM y;
WITH x AS (UPDATE twice SET v = 45 WHERE id = 1), y AS (DELETE FROM twice RETURNING id) SELECT id FROM y;
SELECT * FROM twice;
DROP TABLE twice;
CREATE TABLE twice (id int PRIMARY KEY, v int CONSTRAINT low CHECK (v < 50));
INSERT INTO twice VALUES (1, 1), (2, 2);
WITH x AS (UPDATE twice SET v = 3 WHERE id = 1) UPDATE twice SET v = 55 WHERE id = 1;
WITH x AS (UPDATE twice SET v = 3 WHERE id = 1) UPDATE twice SET v = v + 48;
WITH x AS (UPDATE twice SET v = 3 WHERE id = 1) UPDATE twice SET v = v + 49 WHERE v < 2;
WITH x AS (UPDATE twice SET v = 3 WHERE id = 1) UPDATE twice SET v = 55 WHERE id = 1 AND v = 3;
WITH x AS (DELETE FROM twice WHERE id = 1) UPDATE twice SET v = 55 WHERE id = 1;
SELECT * FROM twice ORDER BY id;
\echo or a function that it calls changes: the conditions, the new row, and then who did it
CREATE FUNCTION change_row(int) RETURNS int LANGUAGE plpgsql AS $$BEGIN UPDATE twice SET v = 4 WHERE id = $1; RETURN 5; END$$;
UPDATE twice SET v = change_row(2) WHERE id < 3;
UPDATE twice SET v = 50 + change_row(2) WHERE id < 3 AND id > (SELECT 0);
UPDATE twice SET v = 55 WHERE id = (SELECT change_row(1) - 4);
UPDATE twice SET v = 45 WHERE id = (SELECT change_row(1) - 4);
UPDATE twice SET v = 55 WHERE id = (SELECT change_row(1) - 4) AND v > 100;
DELETE FROM twice WHERE id = (SELECT change_row(1) - 4) AND v > 100;
DELETE FROM twice WHERE id = (SELECT change_row(1) - 4);
CREATE FUNCTION let() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN new; END$$;
CREATE TRIGGER let BEFORE UPDATE ON twice FOR EACH ROW EXECUTE FUNCTION let();
WITH x AS (UPDATE twice SET v = 3 WHERE id = 1) UPDATE twice SET v = 55 WHERE id = 1;
SELECT * FROM twice ORDER BY id;
DROP TABLE twice;
DROP FUNCTION change_row, let;
\echo of several keys that a row violates the one that was made first is told of
CREATE TABLE several (id int, a int UNIQUE, b int, c int UNIQUE, d int DEFAULT 0);
ALTER TABLE several ADD PRIMARY KEY (id), ADD UNIQUE (b);
INSERT INTO several VALUES (1, 1, 1, 1), (2, 2, 2, 2);
INSERT INTO several VALUES (1, 1, 1, 1);
INSERT INTO several VALUES (1, 3, 1, 1);
INSERT INTO several VALUES (1, 3, 1, 3);
INSERT INTO several VALUES (1, 3, 3, 1) ON CONFLICT (b) DO NOTHING;
INSERT INTO several VALUES (2, 2, 2, 2) ON CONFLICT (id) DO UPDATE SET id = 1, b = 1, c = 1;
UPDATE several SET id = 1, c = 1 WHERE id = 2;
UPDATE several SET id = 1, b = 1 WHERE id = 2;
UPDATE several SET id = 1, c = 1 FROM generate_series(2, 2) g WHERE id = g;
UPDATE several SET id = 3 - id, d = 1;
ALTER TABLE several DROP CONSTRAINT several_a_key, ADD UNIQUE (a);
INSERT INTO several VALUES (1, 1, 1, 3);
DROP TABLE several;

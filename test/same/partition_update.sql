-- UPDATE that takes a row to another partition; triggers on the way, RETURNING, check options, policies.
CREATE TABLE whole (k int, v text, w int GENERATED ALWAYS AS (k * 2) STORED) PARTITION BY RANGE (k);
CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10);
-- another order of columns, one that is gone, a default that does not count
CREATE TABLE middle (w int GENERATED ALWAYS AS (k * 2) STORED, gone int, v text DEFAULT 'default', k int NOT NULL);
ALTER TABLE middle DROP COLUMN gone;
ALTER TABLE whole ATTACH PARTITION middle FOR VALUES FROM (10) TO (20);
-- always an ordinary one
CREATE TABLE high PARTITION OF whole FOR VALUES FROM (20) TO (30) USING heap;
CREATE TABLE names (k int PRIMARY KEY, name text);

INSERT INTO whole SELECT g, 'v' || g FROM generate_series(0, 29) g;
INSERT INTO names SELECT g, 'name' || g FROM generate_series(0, 29) g;
SELECT tableoid::regclass, count(*), sum(w) FROM whole GROUP BY 1 ORDER BY 1;

-- there and back, with RETURNING of the place it comes to
UPDATE whole SET k = k + 10 WHERE k IN (1, 11) RETURNING tableoid::regclass, *;
UPDATE whole SET k = 2 WHERE k = 21 RETURNING tableoid::regclass, whole, k + w AS sum;
UPDATE whole SET k = k - 1 WHERE k = 10 RETURNING tableoid::regclass, *;
UPDATE whole w SET k = n.k + 15, v = n.name FROM names n WHERE w.k = n.k AND n.k = 3 RETURNING w.tableoid::regclass, w.*, n.*;
UPDATE whole SET v = repeat('long', 1000) WHERE k = 4;
UPDATE whole SET k = 14 WHERE v LIKE 'longlong%' RETURNING tableoid::regclass, length(v);
UPDATE whole SET k = 24 WHERE v LIKE 'longlong%' RETURNING tableoid::regclass, length(v);
-- every row moves once
UPDATE whole SET k = (k + 10) % 30;
UPDATE whole SET k = (k + 10) % 30 RETURNING k IS NULL;
SELECT tableoid::regclass, count(*), sum(k), sum(w) FROM whole GROUP BY 1 ORDER BY 1;
WITH moved AS (UPDATE whole SET k = k + 20 WHERE k < 3 RETURNING *) SELECT * FROM moved ORDER BY k, v;
-- nowhere to go
UPDATE whole SET k = 99 WHERE k = 5;
UPDATE whole SET k = NULL WHERE k = 5;
UPDATE low SET k = 15 WHERE k = 5;
UPDATE middle SET k = 5 WHERE k = 15;
SELECT tableoid::regclass, count(*), sum(k), sum(w) FROM whole GROUP BY 1 ORDER BY 1;

-- triggers of all kinds
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE NOTICE '% % % on %: % -> %', tg_when, tg_op, tg_level, tg_table_name,
		CASE WHEN tg_op IN ('UPDATE', 'DELETE') AND tg_level = 'ROW' THEN old::text END,
		CASE WHEN tg_op IN ('UPDATE', 'INSERT') AND tg_level = 'ROW' THEN new::text END;
	RETURN CASE WHEN tg_op = 'DELETE' THEN old ELSE new END;
END $$;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION mark() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN new.v := new.v || '!'; RETURN new; END $$;
TRUNCATE whole;
INSERT INTO whole VALUES (1, 'one'), (2, 'two'), (11, 'eleven'), (12, 'twelve'), (21, 'twenty-one');
CREATE TRIGGER before_row BEFORE INSERT OR UPDATE OR DELETE ON whole FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER after_row AFTER INSERT OR UPDATE OR DELETE ON whole FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER before_statement BEFORE INSERT OR UPDATE OR DELETE ON whole EXECUTE FUNCTION tell();
CREATE TRIGGER after_statement AFTER INSERT OR UPDATE OR DELETE ON whole EXECUTE FUNCTION tell();
UPDATE whole SET k = 13 WHERE k = 1 RETURNING *;
UPDATE whole SET k = 22 WHERE k = 2;
UPDATE whole SET k = 3 WHERE k = 21;
UPDATE whole SET v = 'stays' WHERE k = 11;
-- a move, and a row that stays, by one statement
UPDATE whole SET k = k + 7 WHERE k IN (11, 13);
CREATE TRIGGER mark BEFORE INSERT ON middle FOR EACH ROW EXECUTE FUNCTION mark();
UPDATE whole SET k = 14 WHERE k = 3 RETURNING tableoid::regclass, *;
-- a trigger keeps the row from leaving, another one swallows it
CREATE TRIGGER keep BEFORE DELETE ON middle FOR EACH ROW EXECUTE FUNCTION refuse();
UPDATE whole SET k = 4 WHERE k = 14 RETURNING *;
DROP TRIGGER keep ON middle;
CREATE TRIGGER swallow BEFORE INSERT ON low FOR EACH ROW EXECUTE FUNCTION refuse();
UPDATE whole SET k = 4 WHERE k = 14 RETURNING *;
DROP TRIGGER swallow ON low;
SELECT tableoid::regclass, * FROM whole ORDER BY k, v;
DROP TRIGGER before_row ON whole;
DROP TRIGGER after_row ON whole;
DROP TRIGGER before_statement ON whole;
DROP TRIGGER after_statement ON whole;

-- constraints of the place it comes to
ALTER TABLE low ADD CONSTRAINT short CHECK (length(v) < 10);
UPDATE whole SET k = 5, v = 'far too long for it' WHERE k = 12;
UPDATE whole SET k = 5, v = NULL WHERE k = 12;
SELECT tableoid::regclass, * FROM whole ORDER BY k, v;

-- views
CREATE VIEW under AS SELECT k, v FROM whole WHERE k < 25 WITH CHECK OPTION;
UPDATE under SET k = 26 WHERE k = 5;
UPDATE under SET k = 16 WHERE k = 5 RETURNING *;

-- policies
CREATE ROLE sam;
GRANT SELECT, UPDATE ON whole TO sam;
ALTER TABLE whole ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON whole USING (true) WITH CHECK (k <> 17);
SET ROLE sam;
UPDATE whole SET k = 17 WHERE k = 22;
UPDATE whole SET k = 18 WHERE k = 22;
UPDATE whole SET k = 17 WHERE k = 18;
UPDATE whole SET k = 8 WHERE k = 18 RETURNING tableoid::regclass, *;
RESET ROLE;
SELECT tableoid::regclass, * FROM whole ORDER BY k, v;
DROP TABLE whole CASCADE;
DROP ROLE sam;

-- two levels
CREATE TABLE top (a int, b text) PARTITION BY LIST (b);
CREATE TABLE top_x PARTITION OF top FOR VALUES IN ('x') PARTITION BY RANGE (a);
CREATE TABLE top_x_low PARTITION OF top_x FOR VALUES FROM (0) TO (10);
CREATE TABLE top_rest PARTITION OF top DEFAULT;
INSERT INTO top VALUES (1, 'x'), (2, 'y');
UPDATE top SET b = 'z' WHERE b = 'x' RETURNING tableoid::regclass, *;
UPDATE top SET b = 'x' WHERE a = 2 RETURNING tableoid::regclass, *;
UPDATE top_x SET b = 'y';
UPDATE top_x SET a = 11;
BEGIN;
UPDATE top SET b = CASE b WHEN 'x' THEN 'y' ELSE 'x' END;
SAVEPOINT s;
UPDATE top SET b = CASE b WHEN 'x' THEN 'y' ELSE 'x' END;
ROLLBACK TO s;
SELECT tableoid::regclass, * FROM top ORDER BY a;
ROLLBACK;
SELECT tableoid::regclass, * FROM top ORDER BY a;
-- conditions of a row that goes straight into a partition come before its bound, those of one that leaves it after
CREATE TABLE bounded (a int, b int NOT NULL, c int, CHECK (c > 0)) PARTITION BY RANGE (a);
CREATE TABLE bounded_1 PARTITION OF bounded FOR VALUES FROM (0) TO (10);
INSERT INTO bounded_1 VALUES (50, NULL, 1);
INSERT INTO bounded_1 VALUES (50, 1, -1);
INSERT INTO bounded_1 VALUES (50, 1, 1);
CREATE UNIQUE INDEX ON bounded_1 (b);
INSERT INTO bounded_1 VALUES (1, 1, 1);
UPDATE bounded_1 SET a = 50, c = -1 WHERE b = 1;
UPDATE bounded_1 SET b = NULL, a = 50;
DROP TABLE bounded;
-- the row has been changed by a function of the command
CREATE TABLE own (id int, v int, t text) PARTITION BY LIST (id);
CREATE TABLE own_1 PARTITION OF own FOR VALUES IN (1);
CREATE TABLE own_2 PARTITION OF own FOR VALUES IN (2);
INSERT INTO own VALUES (1, 1);
CREATE FUNCTION change_own(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE own SET v = v + 1 WHERE id = $1; RETURN 1; END $$;
CREATE FUNCTION move_own(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN UPDATE own SET id = 2 WHERE id = $1; RETURN 1; END $$;
CREATE FUNCTION let_own() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN coalesce(NEW, OLD); END $$;
UPDATE own SET v = change_own(id);
UPDATE own SET id = id + change_own(id);
UPDATE own SET v = move_own(id);
UPDATE own SET id = id + move_own(id);
DELETE FROM own WHERE move_own(id) = 1;
CREATE TRIGGER let BEFORE UPDATE ON own FOR EACH ROW EXECUTE FUNCTION let_own();
UPDATE own SET id = id + change_own(id);
UPDATE own SET id = id + move_own(id);
DROP TRIGGER let ON own;
CREATE TRIGGER let BEFORE DELETE ON own FOR EACH ROW EXECUTE FUNCTION let_own();
UPDATE own SET id = id + change_own(id);
UPDATE own SET id = id + move_own(id);
SELECT tableoid::regclass, * FROM own;
DROP TABLE own;
DROP FUNCTION change_own, move_own, let_own;

-- INSERT, COPY, and the UPDATE and DELETE that go through the executor row by
-- row: joins, triggers, generated columns, partitions; ON CONFLICT.

CREATE TABLE item (
	id int PRIMARY KEY,
	name text NOT NULL,
	amount int DEFAULT 1 CHECK (amount >= 0),
	double_amount int GENERATED ALWAYS AS (amount * 2) STORED,
	note text
);

-- INSERT: defaults, RETURNING, system columns, several rows, a SELECT
INSERT INTO item (id, name) VALUES (1, 'one') RETURNING *;
INSERT INTO item (id, name, amount, note) VALUES (2, 'two', 2, repeat('x', 20)), (3, 'three', 3, NULL)
	RETURNING id, double_amount, tableoid::regclass, ctid IS NOT NULL AS has_ctid;
INSERT INTO item (id, name, amount, note) SELECT i, 'row ' || i, i, repeat('long', i * 100) FROM generate_series(4, 9) i;
SELECT id, name, amount, double_amount, length(note) FROM item ORDER BY id;

-- what an INSERT refuses, and that nothing of it stays
INSERT INTO item (id, name) VALUES (10, 'ten'), (1, 'again');
INSERT INTO item (id, name) VALUES (11, 'a'), (11, 'b');
INSERT INTO item (id, name) VALUES (NULL, 'null');
INSERT INTO item (id) VALUES (12);
INSERT INTO item (id, name, amount) VALUES (13, 'negative', -1);
SELECT count(*) FROM item WHERE id >= 10;

-- ON CONFLICT
INSERT INTO item (id, name) VALUES (1, 'x'), (20, 'twenty'), (20, 'twice') ON CONFLICT DO NOTHING RETURNING id, name;
INSERT INTO item (id, name) VALUES (1, 'x'), (21, 'twenty-one') ON CONFLICT (id) DO NOTHING RETURNING id;
INSERT INTO item (id, name) VALUES (2, 'x') ON CONFLICT ON CONSTRAINT item_pkey DO NOTHING;
INSERT INTO item AS i (id, name, amount) VALUES (1, 'x', 10), (22, 'twenty-two', 22)
	ON CONFLICT (id) DO UPDATE SET amount = i.amount + excluded.amount, note = excluded.name
	RETURNING id, name, amount, double_amount, note;
INSERT INTO item (id, name, amount) VALUES (1, 'x', 5)
	ON CONFLICT (id) DO UPDATE SET amount = 0 WHERE item.amount > 100 RETURNING id;
INSERT INTO item (id, name, amount) VALUES (1, 'x', 5) ON CONFLICT (id) DO UPDATE SET id = 30 RETURNING id, name;
INSERT INTO item (id, name, amount) VALUES (30, 'x', 5) ON CONFLICT (id) DO UPDATE SET id = 2;
INSERT INTO item (id, name, amount) VALUES (30, 'x', 5) ON CONFLICT (id) DO UPDATE SET amount = -1;
INSERT INTO item (id, name) VALUES (30, 'x'), (30, 'y') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
INSERT INTO item (id, name) VALUES (31, 'x'), (31, 'y') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
INSERT INTO item (id, name) VALUES (30, 'x') ON CONFLICT (name) DO NOTHING;
SELECT id, name, amount, double_amount, note FROM item WHERE id IN (1, 30, 31);

-- UPDATE with a join: generated columns, RETURNING of both sides
CREATE TABLE delta (id int, amount int) USING heap;
INSERT INTO delta VALUES (2, 100), (3, 200), (99, 1);
UPDATE item SET amount = item.amount + delta.amount FROM delta WHERE item.id = delta.id
	RETURNING item.id, item.amount, double_amount, delta.amount AS added, item.ctid IS NOT NULL AS has_ctid;
-- a row that is found twice is changed once
INSERT INTO delta VALUES (3, 200);
UPDATE item SET amount = item.amount + delta.amount FROM delta WHERE item.id = delta.id AND item.id = 3
	RETURNING item.id, item.amount;
-- changes of the key, one that would collide, one that goes round
UPDATE item SET id = item.id + 1000 FROM delta WHERE item.id = delta.id AND item.id = 2 RETURNING item.id, name;
UPDATE item SET id = 4 FROM delta WHERE item.id = 1002 AND delta.id = 99;
UPDATE item SET id = 2 FROM delta WHERE item.id = 1002 AND delta.id = 99;
UPDATE item SET amount = -5 FROM delta WHERE item.id = delta.id;
UPDATE item SET name = NULL FROM delta WHERE item.id = delta.id;
-- long values that are not changed
UPDATE item SET amount = 0 FROM delta WHERE item.id = 9 AND delta.id = 99 RETURNING length(note);
SELECT id, note = repeat('long', id * 100) AS same FROM item WHERE id BETWEEN 4 AND 9 ORDER BY id;

-- DELETE with a join
DELETE FROM item USING delta WHERE item.id = delta.id RETURNING item.id, item.name, delta.amount;
SELECT id FROM item ORDER BY id;

-- own changes: seen by later commands, not by the command itself; taken back
BEGIN;
INSERT INTO item (id, name) SELECT id + 500, name FROM item WHERE id < 500;
SELECT count(*) FROM item;
SAVEPOINT s;
DELETE FROM item USING delta WHERE delta.id = 99;
INSERT INTO item (id, name) VALUES (4, 'again') RETURNING id;
SELECT id, name FROM item;
ROLLBACK TO s;
SELECT count(*) FROM item;
INSERT INTO item (id, name) VALUES (4, 'again') ON CONFLICT DO NOTHING;
ROLLBACK;
SELECT count(*) FROM item;
WITH gone AS (DELETE FROM item WHERE id = 9 RETURNING id, name)
	INSERT INTO item (id, name) SELECT id + 900, name FROM gone RETURNING id, name;

-- triggers
CREATE TABLE log (line serial, text text) USING heap;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO log (text) VALUES (concat_ws(' ', tg_when, tg_op, tg_level,
		CASE WHEN tg_op <> 'INSERT' AND tg_level = 'ROW' THEN concat(old.id, '/', old.amount) END,
		CASE WHEN tg_op <> 'DELETE' AND tg_level = 'ROW' THEN concat('-> ', new.id, '/', new.amount) END));
	IF tg_level = 'STATEMENT' OR tg_when = 'AFTER' THEN
		RETURN NULL;
	ELSIF tg_op = 'DELETE' THEN
		RETURN CASE WHEN old.amount <> 77 THEN old END;
	END IF;
	new.note := tg_op;
	RETURN CASE WHEN new.amount <> 77 THEN new END;
END $$;
CREATE TRIGGER row_before BEFORE INSERT OR UPDATE OR DELETE ON item FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER row_after AFTER INSERT OR UPDATE OR DELETE ON item FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER all_before BEFORE INSERT OR UPDATE OR DELETE ON item EXECUTE FUNCTION note();
CREATE TRIGGER all_after AFTER INSERT OR UPDATE OR DELETE ON item EXECUTE FUNCTION note();
INSERT INTO item (id, name, amount) VALUES (40, 'forty', 4), (41, 'not', 77) RETURNING id, note;
UPDATE item SET amount = 5 WHERE id = 40 RETURNING id, amount, double_amount, note;
UPDATE item SET amount = 77 WHERE id = 40;
INSERT INTO item (id, name, amount) VALUES (40, 'x', 6)
	ON CONFLICT (id) DO UPDATE SET amount = excluded.amount RETURNING id, amount, double_amount, note;
INSERT INTO item (id, name, amount) VALUES (40, 'x', 7), (42, 'y', 8)
	ON CONFLICT (id) DO UPDATE SET amount = excluded.amount RETURNING id, amount;
DELETE FROM item WHERE id = 40 RETURNING id, amount;
SELECT text FROM log ORDER BY line;
TRUNCATE log;
DROP TRIGGER row_before ON item;
DROP TRIGGER row_after ON item;
DROP TRIGGER all_before ON item;
DROP TRIGGER all_after ON item;

-- a trigger that changes the row it is fired for
CREATE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE item SET note = 'meddled' WHERE id = old.id;
	RETURN CASE WHEN tg_op = 'DELETE' THEN old ELSE new END;
END $$;
CREATE TRIGGER meddle BEFORE UPDATE OR DELETE ON item FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION meddle();
UPDATE item SET amount = 9 WHERE id = 42;
DELETE FROM item WHERE id = 42;
SELECT id, amount, note FROM item WHERE id = 42;
DROP TRIGGER meddle ON item;
DROP FUNCTION meddle();

-- COPY
COPY item (id, name, amount) FROM stdin;
50	fifty	5
51	fifty-one	\N
\.
COPY item (id, name, amount) FROM stdin;
52	fifty-two	5
50	again	5
\.
COPY item (id, name, amount) FROM stdin;
53	fifty-three	-5
\.
COPY (SELECT id, name, amount, double_amount FROM item WHERE id BETWEEN 50 AND 59 ORDER BY id) TO stdout;

-- a table without a key: equal rows are different rows
CREATE TABLE bag (v int, t text);
INSERT INTO bag VALUES (1, 'a'), (1, 'a'), (NULL, NULL);
INSERT INTO bag VALUES (1, 'a') ON CONFLICT DO NOTHING;
UPDATE bag SET v = bag.v + 1 FROM delta WHERE delta.id = 99;
SELECT * FROM bag ORDER BY v;
DELETE FROM bag USING delta WHERE delta.id = 99 AND v IS NULL;
DELETE FROM bag USING delta WHERE delta.id = 99 RETURNING *;

-- columns that were dropped or added
ALTER TABLE bag DROP COLUMN v;
ALTER TABLE bag ADD COLUMN n numeric(10,2) DEFAULT 7.5;
ALTER TABLE bag ADD CONSTRAINT whole CHECK (bag IS DISTINCT FROM ('no', 0)::bag);
INSERT INTO bag VALUES ('b', 1) RETURNING bag, *;
INSERT INTO bag SELECT t || '+' FROM bag RETURNING *;
INSERT INTO bag VALUES ('no', 0);
UPDATE bag SET n = bag.n + delta.amount FROM delta WHERE delta.id = 99 RETURNING bag.*;
DELETE FROM bag USING delta WHERE delta.id = 99 RETURNING bag;

-- a key of several columns, of which one is a string
CREATE TABLE pair (a text COLLATE "C", b bigint, v int, PRIMARY KEY (a, b));
INSERT INTO pair VALUES ('x', 1, 1), ('x', 2, 2), (repeat('y', 100), 1, 3);
INSERT INTO pair VALUES ('x', 2, 9) ON CONFLICT (b, a) DO UPDATE SET v = pair.v + excluded.v RETURNING *;
UPDATE pair SET a = a || '!' FROM delta WHERE delta.id = 99;
SELECT left(a, 3) AS a, right(a, 1) AS last, b, v FROM pair ORDER BY pair.a, b;
INSERT INTO pair VALUES (repeat('z', 5000), 1, 1);

-- partitions
CREATE TABLE part (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE part_heap PARTITION OF part FOR VALUES FROM (0) TO (100) USING heap;
CREATE TABLE part_fast PARTITION OF part FOR VALUES FROM (100) TO (200);
CREATE TABLE part_more (v text, k int);
ALTER TABLE part ATTACH PARTITION part_more FOR VALUES FROM (200) TO (300);
INSERT INTO part VALUES (1, 'one'), (101, 'a'), (102, 'b'), (201, 'c') RETURNING tableoid::regclass, *;
INSERT INTO part VALUES (103, 'c') ON CONFLICT DO NOTHING;
INSERT INTO part_fast VALUES (1, 'wrong');
INSERT INTO part_more VALUES ('wrong', 1);
COPY part FROM stdin;
5	five
105	hundred and five
205	two hundred and five
\.
COPY part_fast FROM stdin;
5	wrong
\.
UPDATE part SET v = v || '+' WHERE k > 0;
UPDATE part SET k = k + 100 WHERE k = 1 RETURNING tableoid::regclass, *;
UPDATE part SET k = 250 WHERE k = 102;
UPDATE part SET k = 250 WHERE k = 201 RETURNING tableoid::regclass, *;
DELETE FROM part USING delta WHERE delta.id = 99 AND k IN (5, 105) RETURNING part.*;
SELECT tableoid::regclass, * FROM part ORDER BY k, v;
-- all partitions in one go: RETURNING finds the one that a row was in
INSERT INTO part VALUES (50, 'gone'), (150, 'gone'), (250, 'gone');
DELETE FROM part WHERE v = 'gone' RETURNING tableoid::regclass, *;
-- policies of the parent
CREATE ROLE modify_reader;
GRANT ALL ON part TO modify_reader;
ALTER TABLE part ENABLE ROW LEVEL SECURITY;
CREATE POLICY short_only ON part USING (true) WITH CHECK (length(v) < 10);
SET ROLE modify_reader;
INSERT INTO part VALUES (110, 'fine');
INSERT INTO part VALUES (111, 'much too long');
UPDATE part SET v = 'much too long' WHERE k = 110;
UPDATE part SET v = 'still fine' WHERE k = 110;
UPDATE part SET v = 'is fine' WHERE k = 110 RETURNING *;
RESET ROLE;

-- views: WITH CHECK OPTION
CREATE VIEW cheap AS SELECT id, name, amount FROM item WHERE amount < 10 WITH CHECK OPTION;
INSERT INTO cheap VALUES (60, 'sixty', 6);
INSERT INTO cheap VALUES (61, 'sixty-one', 61);
UPDATE cheap SET amount = 61 WHERE id = 60;
INSERT INTO cheap VALUES (60, 'x', 1) ON CONFLICT (id) DO UPDATE SET amount = 99;
SELECT * FROM cheap WHERE id >= 60 ORDER BY id;

-- prepared, with a generic plan
PREPARE add(int, text) AS INSERT INTO item (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = excluded.name;
EXECUTE add(70, 'a');
EXECUTE add(70, 'b');
EXECUTE add(70, 'c');
EXECUTE add(70, 'd');
EXECUTE add(70, 'e');
EXECUTE add(70, 'f');
EXECUTE add(71, 'g');
SELECT id, name FROM item WHERE id >= 70 AND id < 80;

-- whole rows of the target beside those that the planner asks for, in conditions that a join alone can evaluate
CREATE TABLE price (id int PRIMARY KEY, gone int, active bool, amount numeric);
ALTER TABLE price DROP COLUMN gone, ADD COLUMN note text DEFAULT 'n';
INSERT INTO price VALUES (1, false, 42), (10, false, 100), (11, true, 17.99);
CREATE FUNCTION key_of(price) RETURNS text LANGUAGE sql AS $$ SELECT $1.id || $1.note $$;
CREATE FUNCTION text_of(price, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN $1 || $2; END $$;
UPDATE price SET active = true, amount = v.amount FROM (VALUES (10, 123.00), (11, 99.99)) v (id, amount)
	WHERE key_of(price.*) = v.id || 'n' RETURNING price.*, text_of(price.*, v.id::text);
UPDATE price SET note = text_of(price.*, v.x) FROM (VALUES ('a'), ('b')) v (x)
	WHERE price.*::text || v.x LIKE '(1,%a' OR text_of(price.*, v.x) LIKE '(11,%b' RETURNING note;
DELETE FROM price USING (VALUES ('a'), ('b')) v (x) WHERE text_of(price.*, v.x) LIKE '(1,%a' RETURNING price.*;
SELECT * FROM price ORDER BY id;
DROP FUNCTION key_of(price), text_of(price, text);
DROP TABLE price;

-- statistics
ANALYZE item;
SELECT reltuples = (SELECT count(*) FROM item) AS same FROM pg_class WHERE oid = 'item'::regclass;
SELECT attname, null_frac, n_distinct FROM pg_stats WHERE tablename = 'item' AND attname IN ('id', 'double_amount') ORDER BY 1;

-- read-only transactions
BEGIN READ ONLY;
INSERT INTO item (id, name) VALUES (80, 'eighty');
ROLLBACK;

DROP OWNED BY modify_reader;
DROP ROLE modify_reader;

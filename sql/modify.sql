-- Plans of INSERT ... ON CONFLICT, and of the UPDATE and DELETE that go through the executor row by
-- row: joins, triggers; and of several partitions at once.  What they do is in test/same.
SET client_min_messages = warning;
CREATE SERVER modify FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE item (
	id int PRIMARY KEY,
	name text NOT NULL,
	amount int DEFAULT 1 CHECK (amount >= 0),
	double_amount int GENERATED ALWAYS AS (amount * 2) STORED,
	note text
) SERVER modify;
CREATE TABLE delta (id int, amount int);
EXPLAIN (COSTS OFF) INSERT INTO item (id, name) VALUES (1, 'x') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
EXPLAIN (COSTS OFF) UPDATE item SET amount = item.amount + delta.amount FROM delta WHERE item.id = 2 AND delta.id = 2;
EXPLAIN (COSTS OFF) DELETE FROM item USING delta WHERE item.id = 2 AND delta.id = 2;
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER row_before BEFORE UPDATE ON item FOR EACH ROW EXECUTE FUNCTION note();
EXPLAIN (COSTS OFF) UPDATE item SET amount = 5 WHERE id = 40;

CREATE TABLE part (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE part_heap PARTITION OF part FOR VALUES FROM (0) TO (100);
CREATE FOREIGN TABLE part_fast PARTITION OF part FOR VALUES FROM (100) TO (200) SERVER modify;
CREATE FOREIGN TABLE part_more (v text, k int) SERVER modify;
ALTER TABLE part ATTACH PARTITION part_more FOR VALUES FROM (200) TO (300);
EXPLAIN (COSTS OFF) DELETE FROM part WHERE v = 'gone';

DROP TABLE part, delta;
DROP FOREIGN TABLE item;
DROP FUNCTION note();
DROP SERVER modify;

-- Rows that are there when a table becomes a partition, or another one comes beside it.
CREATE TABLE whole (k int, v text) PARTITION BY RANGE (k);
CREATE TABLE low (v text, k int);
INSERT INTO low VALUES ('one', 1), ('ten', 10);

-- ATTACH
ALTER TABLE whole ATTACH PARTITION low FOR VALUES FROM (0) TO (10);
ALTER TABLE whole ATTACH PARTITION low FOR VALUES FROM (0) TO (11);
SELECT tableoid::regclass, * FROM whole ORDER BY k;
ALTER TABLE whole DETACH PARTITION low;
INSERT INTO low VALUES ('null', NULL);
ALTER TABLE whole ATTACH PARTITION low FOR VALUES FROM (0) TO (11);
DELETE FROM low WHERE k IS NULL;
ALTER TABLE whole ATTACH PARTITION low FOR VALUES FROM (0) TO (11);

-- a table of tables
CREATE TABLE higher (k int, v text) PARTITION BY LIST (v);
CREATE TABLE high_a PARTITION OF higher FOR VALUES IN ('a');
INSERT INTO higher VALUES (20, 'a'), (30, 'a');
ALTER TABLE whole ATTACH PARTITION higher FOR VALUES FROM (11) TO (30);
ALTER TABLE whole ATTACH PARTITION higher FOR VALUES FROM (11) TO (31);

-- a default partition, whose rows are examined
CREATE TABLE rest PARTITION OF whole DEFAULT;
INSERT INTO whole VALUES (50, 'fifty');
CREATE TABLE fifties PARTITION OF whole FOR VALUES FROM (50) TO (60) USING heap;
CREATE TABLE fifties PARTITION OF whole FOR VALUES FROM (50) TO (60);
CREATE TABLE fifties (k int, v text) USING heap;
ALTER TABLE whole ATTACH PARTITION fifties FOR VALUES FROM (50) TO (60);
ALTER TABLE whole ATTACH PARTITION fifties FOR VALUES FROM (60) TO (70);
SELECT tableoid::regclass, * FROM whole ORDER BY k;

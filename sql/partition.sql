-- Rows that are there when a table becomes a partition, or another one comes beside it.
SET client_min_messages = warning;
CREATE SERVER partition FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE TABLE whole (k int, v text) PARTITION BY RANGE (k);
CREATE FOREIGN TABLE low (v text, k int) SERVER partition;
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
CREATE FOREIGN TABLE high_a PARTITION OF higher FOR VALUES IN ('a') SERVER partition;
INSERT INTO higher VALUES (20, 'a'), (30, 'a');
ALTER TABLE whole ATTACH PARTITION higher FOR VALUES FROM (11) TO (30);
ALTER TABLE whole ATTACH PARTITION higher FOR VALUES FROM (11) TO (31);

-- a default partition in memory: PostgreSQL warns that it does not look, but we do
CREATE FOREIGN TABLE rest PARTITION OF whole DEFAULT SERVER partition;
INSERT INTO whole VALUES (50, 'fifty');
CREATE TABLE fifties PARTITION OF whole FOR VALUES FROM (50) TO (60);
CREATE FOREIGN TABLE fifties PARTITION OF whole FOR VALUES FROM (50) TO (60) SERVER partition;
CREATE TABLE fifties (k int, v text);
ALTER TABLE whole ATTACH PARTITION fifties FOR VALUES FROM (50) TO (60);
ALTER TABLE whole ATTACH PARTITION fifties FOR VALUES FROM (60) TO (70);
SELECT tableoid::regclass, * FROM whole ORDER BY k;

-- indexes that tables in memory cannot have, and partitions that are others'
CREATE FOREIGN DATA WRAPPER other;
CREATE SERVER other FOREIGN DATA WRAPPER other;
CREATE OPERATOR CLASS others FOR TYPE int USING btree AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int);
CREATE TABLE mixed (k int, v text, a int[], d int) PARTITION BY RANGE (k);
CREATE INDEX mixed_hash ON mixed USING hash (v);
CREATE TABLE mixed_low PARTITION OF mixed FOR VALUES FROM (0) TO (10);
CREATE FOREIGN TABLE mixed_high PARTITION OF mixed FOR VALUES FROM (10) TO (20) SERVER partition;
CREATE INDEX ON mixed USING hash (k);
CREATE INDEX ON mixed USING gin (a);
CREATE INDEX ON mixed (a);
CREATE INDEX ON mixed (d others, k);
CREATE INDEX ON mixed ((v || '!')) INCLUDE (d);
CREATE INDEX ON mixed USING nothing (k);
BEGIN;
CREATE UNIQUE INDEX ON mixed (d others, k);
ROLLBACK;
EXPLAIN (COSTS OFF) SELECT * FROM mixed WHERE a = '{1}' AND k > 9;
CREATE FOREIGN TABLE mixed_other PARTITION OF mixed FOR VALUES FROM (20) TO (30) SERVER other;
CREATE INDEX ON mixed (v, k);
CREATE UNIQUE INDEX ON mixed (k);
\d mixed
\d mixed_high
DROP TABLE mixed;
DROP OPERATOR FAMILY others USING btree;
DROP FOREIGN DATA WRAPPER other CASCADE;

-- transition tables, which PostgreSQL refuses of foreign partitions
CREATE TABLE watched (k int PRIMARY KEY, v int) PARTITION BY RANGE (k);
CREATE TABLE watched_low PARTITION OF watched FOR VALUES FROM (0) TO (10);
CREATE FOREIGN TABLE watched_high PARTITION OF watched DEFAULT SERVER partition;
CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', (SELECT array_agg(n) FROM n); RETURN NULL; END $$;
CREATE TRIGGER watch AFTER UPDATE ON watched REFERENCING NEW TABLE AS n FOR EACH STATEMENT EXECUTE FUNCTION watch();
INSERT INTO watched VALUES (1, 1), (11, 1) ON CONFLICT (k) DO UPDATE SET v = watched.v + 1;
INSERT INTO watched VALUES (1, 1) ON CONFLICT (k) DO UPDATE SET v = watched.v + 1;
INSERT INTO watched VALUES (1, 1), (11, 1) ON CONFLICT (k) DO UPDATE SET v = watched.v + 1;
UPDATE watched SET v = 5;
DROP TABLE watched;
DROP FUNCTION watch();

SET client_min_messages = warning;
DROP TABLE whole;
DROP SERVER partition CASCADE;

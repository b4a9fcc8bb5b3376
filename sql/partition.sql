-- Indexes of partitioned tables that tables in memory cannot have, partitions of other wrappers,
-- transition tables.
SET client_min_messages = warning;
CREATE SERVER partition FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
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
DROP SERVER partition CASCADE;

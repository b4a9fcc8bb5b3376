-- CREATE INDEX CONCURRENTLY in one session, and indexes that are not valid.  With others: the specification of that name.

SET client_min_messages = warning;
CREATE SERVER index_concurrent FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE FOREIGN TABLE t (id int PRIMARY KEY, k int, x text) SERVER index_concurrent;
INSERT INTO t SELECT i, i % 500, 'x' || i FROM generate_series(1, 1000) i;
\pset format unaligned
\pset tuples_only on
CREATE FUNCTION say() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '% of %', tg_tag, (SELECT string_agg(object_identity, ' ') FROM pg_event_trigger_ddl_commands()); END $$;
CREATE EVENT TRIGGER said ON ddl_command_end EXECUTE FUNCTION say();
CREATE INDEX CONCURRENTLY t_k ON t (k);
DROP EVENT TRIGGER said;
CREATE INDEX CONCURRENTLY IF NOT EXISTS t_k ON t (x);
CREATE INDEX CONCURRENTLY t_k ON t (x);
SELECT index, is_valid, entries FROM tsurugi.indexes WHERE index LIKE 't_k%';
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE k = 3;
SELECT id FROM t WHERE k = 3 ORDER BY id;
CREATE UNIQUE INDEX CONCURRENTLY t_id ON t (id DESC);
-- in blocks and functions it is refused
BEGIN;
CREATE INDEX CONCURRENTLY ON t (x);
ROLLBACK;
DO $$ BEGIN CREATE INDEX CONCURRENTLY ON t (x); END $$;
-- expressions and predicates: the rows are written anew
CREATE INDEX CONCURRENTLY t_part ON t (lower(x)) WHERE k < 10;
SELECT index, is_valid, entries FROM tsurugi.indexes WHERE index = 't_part';

-- What a failure leaves behind
CREATE UNIQUE INDEX CONCURRENTLY t_unique ON t (k);
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_unique'::regclass;
\pset tuples_only off
\d t
\pset tuples_only on
DROP INDEX t_k;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE k = 3;
INSERT INTO t VALUES (1, 1) ON CONFLICT (k) DO NOTHING;
ALTER TABLE t ADD UNIQUE USING INDEX t_unique;
CREATE TABLE refers (k int REFERENCES t (k));
-- nobody respects it, as PostgreSQL's that finds a key twice in its first scan
BEGIN;
INSERT INTO t VALUES (2001, 1);
ROLLBACK;
SELECT count(*) FROM tsurugi.indexes WHERE index = 't_unique';
INSERT INTO t VALUES (2001, 2001);
CREATE UNIQUE INDEX CONCURRENTLY t_unique ON t (x);
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS t_unique ON t (k);
-- what stores the rows anew leaves it out
ALTER TABLE t ADD COLUMN y int DEFAULT 5;
INSERT INTO t VALUES (2002, 1);
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_unique'::regclass;
REINDEX INDEX t_unique;
DELETE FROM t WHERE id > 500;
REINDEX INDEX t_unique;
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_unique'::regclass;
EXPLAIN (COSTS OFF) SELECT id FROM t WHERE k = 3;
INSERT INTO t VALUES (1, 1) ON CONFLICT (k) DO NOTHING;
INSERT INTO t VALUES (2002, 1);
DROP INDEX CONCURRENTLY t_unique;
-- dropped while it is not valid
INSERT INTO t SELECT id + 1000, k FROM t;
CREATE UNIQUE INDEX CONCURRENTLY t_unique ON t (k);
DROP INDEX t_unique;
INSERT INTO t VALUES (3000, 1);
SELECT count(*) FROM tsurugi.indexes WHERE index = 't_unique';
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 't'::regclass;

-- DROP INDEX and REINDEX CONCURRENTLY; with others: index_concurrent_drop
CREATE UNIQUE INDEX t_x ON t (x);
CREATE INDEX t_y ON t (y);
PREPARE by_x AS SELECT id FROM t WHERE x = 'x7';
SET plan_cache_mode = force_generic_plan;
EXECUTE by_x;
EXECUTE by_x;
REINDEX INDEX CONCURRENTLY t_x;
EXECUTE by_x;
INSERT INTO t VALUES (3001, 3001, 'x7');
REINDEX TABLE CONCURRENTLY t;
REINDEX INDEX CONCURRENTLY t_pkey;
REINDEX (CONCURRENTLY off) INDEX t_x;
SELECT index, is_valid, entries >= (SELECT count(*) FROM t) AS complete FROM tsurugi.indexes WHERE index IN ('t_x', 't_y');
CREATE EVENT TRIGGER said ON ddl_command_end EXECUTE FUNCTION say();
CREATE FUNCTION say_dropped() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING '%: %', tg_tag, (SELECT string_agg(object_identity, ' ') FROM pg_event_trigger_dropped_objects()); END $$;
CREATE EVENT TRIGGER said_dropped ON sql_drop EXECUTE FUNCTION say_dropped();
DROP INDEX CONCURRENTLY t_x;
DROP EVENT TRIGGER said_dropped;
DROP EVENT TRIGGER said;
DROP FUNCTION say_dropped();
EXECUTE by_x;
INSERT INTO t VALUES (3001, 3001, 'x7');
DROP INDEX CONCURRENTLY t_x;
DROP INDEX CONCURRENTLY IF EXISTS t_x;
DROP INDEX CONCURRENTLY t_pkey;
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_pkey'::regclass;
DROP INDEX CONCURRENTLY t_y CASCADE;
BEGIN;
DROP INDEX CONCURRENTLY t_y;
ROLLBACK;
BEGIN;
REINDEX INDEX CONCURRENTLY t_y;
ROLLBACK;
DO $$ BEGIN REINDEX TABLE CONCURRENTLY t; END $$;
CREATE ROLE index_concurrent_other;
SET ROLE index_concurrent_other;
DROP INDEX CONCURRENTLY t_y;
REINDEX INDEX CONCURRENTLY t_y;
REINDEX TABLE CONCURRENTLY t;
RESET ROLE;
DROP ROLE index_concurrent_other;
-- a failure leaves it as it was; one that is not valid is afterwards
CREATE UNIQUE INDEX CONCURRENTLY t_unique ON t (k);
REINDEX TABLE CONCURRENTLY t;
REINDEX INDEX CONCURRENTLY t_unique;
SELECT indisvalid FROM pg_index WHERE indexrelid = 't_unique'::regclass;
DELETE FROM t a USING t b WHERE a.k = b.k AND a.id > b.id;
REINDEX INDEX CONCURRENTLY t_unique;
SELECT index, is_valid, entries >= (SELECT count(*) FROM t) AS complete FROM tsurugi.indexes WHERE index = 't_unique';
INSERT INTO t VALUES (4000, 1);
-- hidden columns that would get other numbers: the rows are stored anew
CREATE INDEX t_abs ON t (abs(k));
CREATE INDEX t_low ON t (lower(x));
DROP INDEX CONCURRENTLY t_abs;
SELECT id FROM t WHERE lower(x) = 'x9';
REINDEX INDEX CONCURRENTLY t_low;
SELECT id FROM t WHERE lower(x) = 'x9';
DROP INDEX CONCURRENTLY t_low;
INSERT INTO t VALUES (4001, 4001, 'x9');
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 't'::regclass;

DROP SERVER index_concurrent CASCADE;
DROP FUNCTION say();

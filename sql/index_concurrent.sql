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
-- who writes respects it, as PostgreSQL's
INSERT INTO t VALUES (2001, 1);
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

DROP SERVER index_concurrent CASCADE;
DROP FUNCTION say();

-- Statements that PostgreSQL has for its own tables only: COPY TO, LOCK, VACUUM, COMMENT, DROP TABLE.
CREATE TABLE t (id int PRIMARY KEY, v text, twice int GENERATED ALWAYS AS (id * 2) STORED);
INSERT INTO t VALUES (1, 'one'), (2, NULL), (3, 'th"ree');
CREATE TABLE heap (id int) USING heap;

-- COPY t TO
COPY t TO STDOUT;
COPY t (v, id) TO STDOUT WITH (FORMAT csv, HEADER, FORCE_QUOTE (v));
COPY t (id, nothing) TO STDOUT;
COPY t (id, id) TO STDOUT;
COPY t (twice) TO STDOUT;
COPY t FROM STDIN (FREEZE);
4	four
\.
COPY t FROM STDIN;
4	four
5	five
\.
COPY t TO STDOUT (DELIMITER '|', NULL '-');
CREATE ROLE commands_stranger;
GRANT SELECT (id) ON t TO commands_stranger;
SET ROLE commands_stranger;
COPY t (id) TO STDOUT;
COPY t TO STDOUT;
RESET ROLE;
CREATE FUNCTION copy_in_function() RETURNS void LANGUAGE plpgsql AS $$ BEGIN COPY t TO '/dev/null'; END $$;
SELECT copy_in_function();
SELECT copy_in_function();

-- LOCK TABLE
LOCK TABLE t;
BEGIN;
LOCK TABLE heap, t IN SHARE ROW EXCLUSIVE MODE;
SELECT relation::regclass, mode FROM pg_locks
WHERE pid = pg_backend_pid() AND relation IN ('t'::regclass, 'heap'::regclass) AND mode LIKE 'Share%' ORDER BY 1, 2;
LOCK TABLE t IN ACCESS SHARE MODE NOWAIT;
COMMIT;
BEGIN;
SET LOCAL ROLE commands_stranger;
LOCK TABLE t IN EXCLUSIVE MODE;
ROLLBACK;

-- VACUUM, ANALYZE
VACUUM t;
VACUUM (ANALYZE, VERBOSE off) t, heap;
SELECT relname, reltuples FROM pg_class WHERE oid = 't'::regclass;
VACUUM ANALYZE t (id);
BEGIN;
VACUUM t;
ROLLBACK;

-- COMMENT ON TABLE, and columns
COMMENT ON TABLE t IS 'in memory';
COMMENT ON COLUMN t.v IS 'a value';
SELECT obj_description('t'::regclass), col_description('t'::regclass, 2);
COMMENT ON TABLE t IS NULL;

-- DROP TABLE
CREATE TABLE u (id int);
CREATE VIEW on_both AS SELECT t.id FROM t, heap;
DROP TABLE u;
DROP TABLE u;
DROP TABLE IF EXISTS u;
DROP TABLE t;
SET ROLE commands_stranger;
DROP TABLE t;
DROP TABLE t, heap;
RESET ROLE;
DROP TABLE t, heap;
BEGIN;
DROP TABLE t, heap CASCADE;
ROLLBACK;
SELECT count(*) FROM t;
CREATE MATERIALIZED VIEW stored AS SELECT 1 AS one;
CREATE INDEX stored_one ON stored (one);
CREATE SEQUENCE counted;
CREATE TYPE composed AS (a int);
DROP TABLE t, on_both;
DROP TABLE t, stored;
DROP TABLE t, stored_one;
DROP TABLE t, counted;
DROP TABLE t, composed;
DROP TABLE on_both, t;
DROP TABLE IF EXISTS t, heap, u CASCADE;
SELECT to_regclass('t'), to_regclass('heap'), to_regclass('on_both');

DROP ROLE commands_stranger;
CREATE TABLE t ();

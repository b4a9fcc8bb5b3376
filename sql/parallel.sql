-- Functions that read tables in memory in parallel workers: they see what the leader sees.

SET client_min_messages = warning;
CREATE SERVER parallel FOREIGN DATA WRAPPER tsurugi_fdw;
CREATE FOREIGN TABLE item (id int PRIMARY KEY, v int) SERVER parallel;
CREATE TABLE big AS SELECT g FROM generate_series(1, 2000) g;
ANALYZE big;
RESET client_min_messages;
INSERT INTO item SELECT g, g FROM generate_series(1, 100) g;

CREATE FUNCTION rows_of() RETURNS bigint PARALLEL SAFE STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM item); END';
CREATE FUNCTION rows_now() RETURNS bigint PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM item); END';
CREATE FUNCTION value_of(int) RETURNS int PARALLEL SAFE STABLE LANGUAGE sql AS 'SELECT v FROM item WHERE id = $1 LIMIT 1';
CREATE FUNCTION range_of(int) RETURNS bigint PARALLEL SAFE STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT sum(v) FROM item WHERE id BETWEEN $1 AND $1 + 9); END';
CREATE FUNCTION process() RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN PERFORM count(*) FROM item; RETURN pg_backend_pid(); END';

-- all of it in workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SELECT count(*) FILTER (WHERE p = pg_backend_pid()) AS leader, count(*) FROM (SELECT process() AS p FROM big OFFSET 0) s;
EXPLAIN (COSTS OFF) SELECT count(*), sum(rows_of()) FROM big;

-- at each level, in each way to read, own changes included
\set reads 'SELECT min(rows_of()), max(rows_of()), min(rows_now()), max(rows_now()), sum(value_of(g)), sum(range_of(g)) FROM big;'
:reads
SET tsurugi_fdw.scan_pool_rows = 0;
:reads
RESET tsurugi_fdw.scan_pool_rows;
BEGIN;
:reads
DELETE FROM item WHERE id <= 10;
:reads
SAVEPOINT s;
UPDATE item SET v = 0;
:reads
INSERT INTO item SELECT g, 1 FROM generate_series(1001, 1010) g;
:reads
ROLLBACK TO s;
:reads
SAVEPOINT s;
INSERT INTO item VALUES (-1, 0);
RELEASE s;
:reads
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
:reads
UPDATE item SET v = v + 1;
:reads
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
:reads
UPDATE item SET v = v - 1;
:reads
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY;
:reads
COMMIT;
:reads

-- what a command has made is not seen by what the command calls, nor a table that is new, or stored anew, missed
BEGIN;
CREATE FOREIGN TABLE fresh (id int) SERVER parallel;
INSERT INTO fresh VALUES (1);
CREATE FUNCTION rows_fresh() RETURNS bigint PARALLEL SAFE STABLE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM fresh); END';
SELECT max(rows_fresh()) AS rows FROM big;
INSERT INTO fresh SELECT rows_fresh() FROM big LIMIT 3;
SELECT * FROM fresh;
TRUNCATE fresh;
SELECT max(rows_fresh()) AS rows FROM big;
ROLLBACK;
BEGIN;
CREATE TABLE made AS SELECT value_of(g) AS v FROM big;
SELECT count(v), sum(v) FROM made;
ROLLBACK;

-- statements with workers in functions of statements with workers
CREATE FUNCTION nested() RETURNS bigint LANGUAGE plpgsql PARALLEL RESTRICTED AS 'BEGIN RETURN (SELECT sum(rows_of()) FROM big); END';
SELECT sum(nested()), sum(n) FROM (SELECT rows_of() AS n FROM big WHERE g <= 3 OFFSET 0) s;
PREPARE p AS SELECT sum(value_of(g)) FROM big;
EXECUTE p;
UPDATE item SET v = v * 2;
EXECUTE p;
UPDATE item SET v = v / 2;
EXECUTE p;

-- errors in workers, caught and not
CREATE FUNCTION fails(int) RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN 1 / (SELECT v - 7 FROM item WHERE id = $1); END';
\set VERBOSITY terse
SELECT count(fails(g)) FROM big;
DO 'BEGIN PERFORM count(fails(g)) FROM big; EXCEPTION WHEN division_by_zero THEN RAISE NOTICE ''caught''; END';
SELECT count(*), max(rows_of()) AS rows FROM big;

-- nobody writes, or locks, in a worker
CREATE FUNCTION writes() RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN INSERT INTO item VALUES (0, 0); RETURN 1; END';
CREATE FUNCTION locks(int) RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT v FROM item WHERE id = $1 FOR UPDATE); END';
SELECT count(writes()) FROM big;
SELECT count(*) FROM big WHERE g = 1 AND locks(g) > 0;

-- Tsurugi's kinds, and DEFERRABLE: without workers
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = 'short';
SELECT count(*) FILTER (WHERE p = pg_backend_pid()) AS leader FROM (SELECT process() AS p FROM big OFFSET 0) s;
COMMIT;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = 'long';
SET LOCAL tsurugi_fdw.write_preserve = 'item';
UPDATE item SET v = v + 1;
SELECT count(*) FILTER (WHERE p = pg_backend_pid()) AS leader, sum(v) FROM (SELECT process() AS p, value_of(g) AS v FROM big OFFSET 0) s;
ROLLBACK;
BEGIN;
SET LOCAL tsurugi_fdw.transaction_type = 'read_only';
SET LOCAL tsurugi_fdw.exclusive_read_areas = 'item';
SELECT count(*) FILTER (WHERE p = pg_backend_pid()) AS leader FROM (SELECT process() AS p FROM big OFFSET 0) s;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
:reads
COMMIT;

-- a statement with workers that accesses no table in memory leaves open what the transaction is
CREATE FUNCTION harmless(int) RETURNS int PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
BEGIN;
SELECT count(harmless(g)) FROM big;
SET LOCAL tsurugi_fdw.transaction_type = 'read_only';
SELECT count(*) FROM item;
UPDATE item SET v = 0;
ROLLBACK;
BEGIN;
SELECT max(rows_of()) AS rows FROM big;
SET LOCAL tsurugi_fdw.transaction_type = 'read_only';
UPDATE item SET v = 0 WHERE id = 1;
ROLLBACK;

SET client_min_messages = warning;
DROP FUNCTION rows_of(), rows_now(), value_of, range_of, process(), nested(), fails, writes(), locks, harmless;
DROP TABLE big;
DROP SERVER parallel CASCADE;

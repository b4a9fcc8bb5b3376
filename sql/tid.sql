-- Plans by ctid and by cursor; test/same/current_of.sql has what they do.
SET client_min_messages = warning;
CREATE SERVER tid FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE tid_t (k int PRIMARY KEY, v text) SERVER tid;
INSERT INTO tid_t VALUES (1, 'one'), (2, 'two');
EXPLAIN (COSTS OFF) SELECT * FROM tid_t WHERE ctid = '(0,1)' AND v <> 'x';
EXPLAIN (COSTS OFF) SELECT * FROM tid_t WHERE ctid IN ('(0,1)', '(0,2)');
EXPLAIN (COSTS OFF) UPDATE tid_t SET v = 'x' WHERE CURRENT OF c;
PREPARE p (tid) AS DELETE FROM tid_t WHERE ctid = $1 RETURNING *;
EXPLAIN (COSTS OFF) EXECUTE p ('(0,1)');
EXECUTE p ('(0,1)');
EXECUTE p ('(0,1)');
-- a scroll cursor keeps its rows, without their places
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT * FROM tid_t;
FETCH c;
UPDATE tid_t SET v = 'x' WHERE CURRENT OF c;
ROLLBACK;
-- PostgreSQL has no place for these in the rows of foreign tables
SELECT xmin FROM tid_t;
INSERT INTO tid_t VALUES (3, 'three') RETURNING xmin;
INSERT INTO tid_t VALUES (2, 'x') ON CONFLICT (k) DO UPDATE SET v = tid_t.xmin;
INSERT INTO tid_t VALUES (2, 'x') ON CONFLICT (k) DO UPDATE SET v = 'y' WHERE tid_t.cmin IS NULL;
UPDATE tid_t SET v = 'x' RETURNING k, xmax;
UPDATE tid_t SET v = 'x' FROM generate_series(1, 2) i WHERE k = i RETURNING cmin;
DELETE FROM tid_t USING generate_series(1, 2) i WHERE k = i RETURNING (SELECT cmax);
CREATE TABLE tid_parent (k int, v text) PARTITION BY LIST (k);
CREATE TABLE tid_heap PARTITION OF tid_parent FOR VALUES IN (1);
CREATE FOREIGN TABLE tid_memory PARTITION OF tid_parent FOR VALUES IN (2) SERVER tid;
-- (PostgreSQL has none for the ordinary partition, either: the row comes by way of the parent)
INSERT INTO tid_parent VALUES (1, 'one') RETURNING xmin IS NULL AS null;
INSERT INTO tid_parent VALUES (2, 'two') RETURNING xmin IS NULL AS null;
UPDATE tid_parent SET k = 2 RETURNING xmin IS NULL AS null;
TABLE tid_parent;
DROP TABLE tid_parent;
DROP FOREIGN TABLE tid_t;
DROP SERVER tid;

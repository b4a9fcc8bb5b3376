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
DROP FOREIGN TABLE tid_t;
DROP SERVER tid;

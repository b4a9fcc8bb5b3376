-- Row locks: how the plan looks, and the memory that locks take.  What SELECT ... FOR UPDATE and its
-- like accept and refuse is in test/same, which transaction waits for which in test/specs.
SET client_min_messages = warning;
CREATE SERVER row_lock FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE job (id int PRIMARY KEY, state text, owner int) SERVER row_lock;
INSERT INTO job SELECT i, 'new', i % 3 FROM generate_series(1, 9) i;
CREATE FUNCTION locks() RETURNS bigint LANGUAGE sql AS $$ SELECT bytes FROM tsurugi.memory_uses WHERE use = 'locks' $$;

-- locks are there until the end
SELECT locks();
BEGIN;
SELECT * FROM job WHERE id = 1 FOR UPDATE;
SELECT locks() > 0;
COMMIT;
SELECT locks();

-- late: a LIMIT locks what it returns
EXPLAIN (VERBOSE, COSTS off) SELECT * FROM job WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
BEGIN;
SELECT locks() AS before \gset
SELECT id FROM job WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT locks() - :before AS of_one;
SELECT id FROM job WHERE id = 1 FOR SHARE;
SELECT locks() - :before AS covered;
ROLLBACK;

-- they are gone with changes of the locked rows, and with errors
BEGIN;
SELECT id FROM job WHERE id < 4 ORDER BY id FOR UPDATE;
UPDATE job SET id = 30 WHERE id = 3;
DELETE FROM job WHERE id = 2;
SAVEPOINT s;
SELECT id FROM job ORDER BY id FOR UPDATE;
ROLLBACK TO s;
COMMIT;
SELECT locks();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT id FROM job WHERE id = 4 FOR SHARE;
PREPARE TRANSACTION 'locked';
SELECT locks();

-- many
CREATE FOREIGN TABLE many (id int PRIMARY KEY) SERVER row_lock;
INSERT INTO many SELECT generate_series(1, 20000);
BEGIN;
SELECT count(*) FROM (SELECT * FROM many FOR SHARE) s;
SELECT locks() BETWEEN 20000 * 40 AND 20000 * 80;
SELECT count(*) FROM (SELECT * FROM many FOR KEY SHARE) s;
UPDATE many SET id = -id;
ROLLBACK;
SELECT locks();

SET client_min_messages = warning;
DROP SERVER row_lock CASCADE;
DROP FUNCTION locks;

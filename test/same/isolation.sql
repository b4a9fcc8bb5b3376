-- REPEATABLE READ and SERIALIZABLE in one session: how the level is chosen, what a transaction
-- sees of itself, what is refused.  What others do meanwhile is in test/specs.
CREATE TABLE account (id int PRIMARY KEY, v int);
CREATE TABLE history (account int, delta int);
INSERT INTO account SELECT i, 0 FROM generate_series(1, 5) i;

BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*), sum(v) FROM account;
UPDATE account SET v = v + 1 WHERE id <= 2;
INSERT INTO account VALUES (6, 6) RETURNING *;
DELETE FROM account WHERE id = 3;
INSERT INTO account VALUES (3, 33) ON CONFLICT (id) DO UPDATE SET v = -1;
INSERT INTO account VALUES (3, 34) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
INSERT INTO account VALUES (1, 0) ON CONFLICT DO NOTHING;
INSERT INTO history SELECT id, v FROM account;
SAVEPOINT s;
UPDATE account SET v = v + 100;
UPDATE account SET id = id + 10 WHERE id = 1 RETURNING *;
SELECT * FROM account ORDER BY id;
ROLLBACK TO s;
SELECT * FROM account ORDER BY id;
COMMIT;
SELECT * FROM account ORDER BY id;
SELECT count(*) FROM history;

-- a row by the executor's own way: a trigger makes it so
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO history VALUES (new.id, new.v - old.v);
	RETURN new;
END $$;
CREATE TRIGGER note BEFORE UPDATE ON account FOR EACH ROW EXECUTE FUNCTION note();
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE account SET v = v + 1 WHERE id = 1;
UPDATE account SET v = v + 1 WHERE id = 1 RETURNING *;
COMMIT;
SELECT * FROM history WHERE account = 1;
DROP TRIGGER note ON account;

-- the usual ways to choose a level
SET default_transaction_isolation = 'repeatable read';
SHOW transaction_isolation;
UPDATE account SET v = v + 1 WHERE id = 2 RETURNING v;
RESET default_transaction_isolation;
CREATE ROLE isolation_role;
ALTER ROLE isolation_role SET default_transaction_isolation = 'repeatable read';
SELECT rolconfig FROM pg_roles WHERE rolname = 'isolation_role';
DROP ROLE isolation_role;
BEGIN;
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY;
SELECT v FROM account WHERE id = 2;
UPDATE account SET v = 0;
ROLLBACK;

-- COPY and DDL
BEGIN ISOLATION LEVEL REPEATABLE READ;
COPY account FROM stdin;
100	1
101	2
\.
SELECT count(*) FROM account WHERE id >= 100;
ALTER TABLE account ADD COLUMN w int DEFAULT 7;
SELECT * FROM account WHERE id >= 100 ORDER BY id;
TRUNCATE history;
SELECT count(*) FROM history;
ROLLBACK;
SELECT count(*) FROM history;

-- SERIALIZABLE: the same, and every way of reading is validated
CREATE TABLE ordinary (id int PRIMARY KEY, v int) USING heap;
CREATE TEMP TABLE temporary (v int);
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*), sum(v) FROM account;
SELECT * FROM account WHERE id = 2;
SELECT * FROM account WHERE id = 200;
SELECT * FROM account WHERE id > 2 ORDER BY id DESC LIMIT 1;
UPDATE account SET v = v + 1 WHERE id = 2 RETURNING *;
UPDATE account SET v = v + 1 WHERE id >= 2 AND v > 3;
UPDATE account SET v = v + 1 WHERE v > 30;
DELETE FROM account WHERE id = 6 RETURNING *;
INSERT INTO account VALUES (6, 66), (7, 77);
INSERT INTO account VALUES (7, 78) ON CONFLICT (id) DO UPDATE SET v = 0;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO account VALUES (7, 77);
INSERT INTO account VALUES (7, 78) ON CONFLICT (id) DO UPDATE SET v = excluded.v RETURNING *;
SAVEPOINT s;
INSERT INTO account VALUES (8, 88);
UPDATE account SET id = 9 WHERE id = 7;
UPDATE account SET v = 0;
SELECT * FROM account ORDER BY id;
ROLLBACK TO s;
INSERT INTO account VALUES (7, 0);
ROLLBACK TO s;
UPDATE account SET id = 6 WHERE id = 7;
ROLLBACK TO s;
INSERT INTO temporary VALUES (1);
SELECT count(*) FROM ordinary;
COMMIT;
SELECT * FROM account ORDER BY id;

-- READ ONLY and DEFERRABLE
BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE;
SELECT * FROM account WHERE id = 1;
UPDATE account SET v = 0;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SAVEPOINT s;
SET TRANSACTION READ ONLY;
SELECT * FROM account WHERE id = 1;
ROLLBACK TO s;
UPDATE account SET v = v + 1 WHERE id = 1 RETURNING *;
COMMIT;

-- more rows and ranges than are noted one by one
CREATE TABLE big (id int PRIMARY KEY, v int);
INSERT INTO big SELECT i, 0 FROM generate_series(1, 70000) i;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SELECT count(*), sum(big.v) FROM generate_series(1, 200000) i LEFT JOIN big ON big.id = i;
SELECT count(*) FROM generate_series(1, 20000) i, LATERAL (SELECT v FROM big WHERE id > i AND id < i + 3) b;
UPDATE account SET v = v + 1 WHERE id = 1;
COMMIT;

-- REPEATABLE READ in one session: how the level is chosen, what a transaction
-- sees of itself, what is refused.  What others do meanwhile is in test/specs.
SET client_min_messages = warning;
CREATE SERVER isolation FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
CREATE FOREIGN TABLE account (id int PRIMARY KEY, v int) SERVER isolation;
CREATE FOREIGN TABLE history (account int, delta int) SERVER isolation;
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
ALTER FOREIGN TABLE account ADD COLUMN w int DEFAULT 7;
SELECT * FROM account WHERE id >= 100 ORDER BY id;
TRUNCATE history;
SELECT count(*) FROM history;
ROLLBACK;
SELECT count(*) FROM history;

SET client_min_messages = warning;
DROP SERVER isolation CASCADE;
DROP FUNCTION note();

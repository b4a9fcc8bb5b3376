-- Transactions: what READ ONLY refuses of the statements that only tables in memory have, and PREPARE
-- TRANSACTION.  The rest is in test/same.
SET client_min_messages = warning;
CREATE SERVER transaction FOREIGN DATA WRAPPER tsurugi_fdw;
RESET client_min_messages;
SET tsurugi_fdw.default_server = transaction;
CREATE FOREIGN TABLE account (id int PRIMARY KEY, v int) SERVER transaction;
CREATE TABLE ordinary (id int PRIMARY KEY, v int);
INSERT INTO account SELECT i, 0 FROM generate_series(1, 3) i;

BEGIN READ ONLY;
SAVEPOINT s;
CREATE TABLE new (id int) USING tsurugi;
ROLLBACK TO s;
CREATE FOREIGN TABLE new (id int) SERVER transaction;
ROLLBACK TO s;
ALTER FOREIGN TABLE account ADD COLUMN w int;
ROLLBACK TO s;
ALTER FOREIGN TABLE account ADD CONSTRAINT more CHECK (v > 0);
ROLLBACK TO s;
ALTER TABLE ordinary SET ACCESS METHOD tsurugi;
ROLLBACK TO s;
COMMENT ON FOREIGN TABLE account IS 'x';
ROLLBACK;

-- PREPARE TRANSACTION: what cannot be prepared
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO account VALUES (50, 0);
PREPARE TRANSACTION 'foreign';
BEGIN;
TRUNCATE account;
PREPARE TRANSACTION 'truncated';
BEGIN;
UPDATE account SET v = 0 WHERE false;
SELECT count(*) FROM account;
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM account;
INSERT INTO ordinary VALUES (50, 0);
PREPARE TRANSACTION 'ordinary'; -- the server's own word
SELECT count(*) FROM account;

SET client_min_messages = warning;
DROP TABLE ordinary;
DROP SERVER transaction CASCADE;
